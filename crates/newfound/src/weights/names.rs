//! What wrappers put in front of every name of a state dict.

/// What `DataParallel` and `DistributedDataParallel` put there.
const DATA_PARALLEL: &str = "module.";

/// The first layer of every ResNet, by torchvision's name.
const FIRST_LAYER: &str = "conv1.weight";

/// The prefix that all names share and that a wrapper put there, or `None`.
///
/// See [`TensorFile::unwrap_names`](super::TensorFile::unwrap_names) for the rule.
pub(super) fn wrapper_prefix<'a>(names: impl Iterator<Item = &'a String>) -> Option<String> {
    let names: Vec<&str> = names.map(String::as_str).collect();
    let wraps = |prefix: &str, name: &str| name.starts_with(prefix) && name.len() > prefix.len();
    let shared = |prefix: &str| names.iter().all(|name| wraps(prefix, name));
    if names.is_empty() {
        return None;
    }
    let mut prefix = String::new();
    while shared(&format!("{prefix}{DATA_PARALLEL}")) {
        prefix.push_str(DATA_PARALLEL);
    }
    // The shortest: `layer1.0.conv1.weight` of the same network has a longer one.
    let uncovering = names
        .iter()
        .filter_map(|name| name.strip_suffix(FIRST_LAYER))
        .filter(|start| start.ends_with('.') && start.len() > prefix.len() && shared(start))
        .min_by_key(|start| start.len());
    if let Some(longer) = uncovering {
        prefix = longer.to_string();
    }
    (!prefix.is_empty()).then_some(prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_all_names_share_and_only_wrappers() {
        let cases: [(&[&str], Option<&str>); 9] = [
            (&["conv1.weight", "fc.bias"], None),
            (&["module.conv1.weight", "module.fc.bias"], Some("module.")),
            (&["module.conv1.weight", "fc.bias"], None),
            (&["module.module.fc.bias"], Some("module.module.")),
            (
                &["backbone.conv1.weight", "backbone.layer1.0.conv1.weight"],
                Some("backbone."),
            ),
            (
                &["module.a.b.conv1.weight", "module.a.b.fc.bias"],
                Some("module.a.b."),
            ),
            // `encoder.` hides no first layer, so it is part of the model's own names.
            (&["encoder.stem.weight", "encoder.fc.bias"], None),
            (&["myconv1.weight"], None),
            (&[], None),
        ];
        for (names, expected) in cases {
            let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
            assert_eq!(
                wrapper_prefix(names.iter()).as_deref(),
                expected,
                "{names:?}"
            );
        }
    }

    #[test]
    fn a_name_is_never_stripped_to_nothing() {
        let names = ["module.".to_string()];
        assert_eq!(wrapper_prefix(names.iter()), None);
    }
}
