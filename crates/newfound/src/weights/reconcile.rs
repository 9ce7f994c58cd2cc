//! What a file holds against what a network needs.

use std::collections::BTreeMap;
use std::fmt;

use super::{Array, TensorFile};

/// Names whose absence or presence is no mismatch, by how they begin.
///
/// The default tolerates nothing. `Tolerated { unexpected: &["fc."], ..Default::default() }` loads a
/// classifier's body and leaves its last layer behind.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tolerated<'a> {
    /// Beginnings of names that the file may lack.
    pub missing: &'a [&'a str],
    /// Beginnings of names that the file may have and the network does not need.
    pub unexpected: &'a [&'a str],
}

/// A tensor of another shape than the network's.
#[derive(Debug, Clone, PartialEq)]
pub struct Misshapen {
    /// The tensor.
    pub name: String,
    /// Its shape in the file.
    pub found: Vec<usize>,
    /// Its shape in the network.
    pub expected: Vec<usize>,
}

/// All differences between a file and a network, each list sorted by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mismatch {
    /// Tensors of the network that the file lacks.
    pub missing: Vec<String>,
    /// Tensors of the file that the network lacks.
    pub unexpected: Vec<String>,
    /// Tensors that both have, in different shapes.
    pub misshapen: Vec<Misshapen>,
}

/// The tensors that the network needs, in the shapes that it needs.
///
/// The result has every name of `expected`, except those that are tolerated to be missing, and no
/// other. `expected` says for each name the shape; a wrong shape is never tolerated.
///
/// # Errors
///
/// [`Mismatch`] with all differences at once.
pub fn reconcile(
    file: TensorFile,
    expected: &BTreeMap<String, Vec<usize>>,
    tolerated: Tolerated<'_>,
) -> Result<BTreeMap<String, Array>, Mismatch> {
    let begins = |name: &str, starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    let mut mismatch = Mismatch::default();
    let mut fitting = BTreeMap::new();
    for (name, array) in file.tensors {
        match expected.get(&name) {
            Some(shape) if *shape == array.shape => {
                fitting.insert(name, array);
            }
            Some(shape) => {
                let (found, expected) = (array.shape, shape.clone());
                mismatch.misshapen.push(Misshapen {
                    name,
                    found,
                    expected,
                });
            }
            None if begins(&name, tolerated.unexpected) => {}
            None => mismatch.unexpected.push(name),
        }
    }
    let misshapen = |name: &str| mismatch.misshapen.iter().any(|tensor| tensor.name == name);
    mismatch.missing = expected
        .keys()
        .filter(|name| !fitting.contains_key(*name) && !misshapen(name))
        .filter(|name| !begins(name, tolerated.missing))
        .cloned()
        .collect();
    if mismatch == Mismatch::default() {
        Ok(fitting)
    } else {
        Err(mismatch)
    }
}

impl Mismatch {
    /// What a person can do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self {
                missing,
                unexpected,
                misshapen,
            } if misshapen.is_empty() && !missing.is_empty() && !unexpected.is_empty() => {
                "the names differ: check that the file belongs to this architecture"
            }
            Self { misshapen, .. } if !misshapen.is_empty() => {
                "the shapes differ: check the architecture's size and the number of classes"
            }
            Self { missing, .. } if !missing.is_empty() => {
                "the file is incomplete: save all of model.state_dict()"
            }
            _ => "the file holds more than this network: check the architecture",
        };
        Some(hint.to_string())
    }
}

impl std::error::Error for Mismatch {}

/// As many lines of each kind as a person reads.
const SHOWN: usize = 10;

impl fmt::Display for Mismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("the weights do not fit the network")?;
        let shapes = self.misshapen.iter().map(
            |Misshapen {
                 name,
                 found,
                 expected,
             }| { format!("{name}: {found:?} instead of {expected:?}") },
        );
        section(
            formatter,
            "missing from the file",
            self.missing.iter().cloned(),
        )?;
        section(
            formatter,
            "unknown to the network",
            self.unexpected.iter().cloned(),
        )?;
        section(formatter, "of another shape", shapes)
    }
}

/// A heading with the count, the first few lines, and how many more there are.
fn section(
    formatter: &mut fmt::Formatter,
    heading: &str,
    lines: impl ExactSizeIterator<Item = String>,
) -> fmt::Result {
    let count = lines.len();
    if count == 0 {
        return Ok(());
    }
    write!(formatter, "\n{count} {heading}:")?;
    for line in lines.take(SHOWN) {
        write!(formatter, "\n  {line}")?;
    }
    match count.saturating_sub(SHOWN) {
        0 => Ok(()),
        more => write!(formatter, "\n  … and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of zeros with these names and shapes, and the same as an expectation.
    fn file(entries: &[(&str, &[usize])]) -> (TensorFile, BTreeMap<String, Vec<usize>>) {
        let zeros = |shape: &[usize]| Array::new(shape, vec![0.0; shape.iter().product()]);
        let tensors = entries
            .iter()
            .map(|(name, shape)| (name.to_string(), zeros(shape)));
        let expected = entries
            .iter()
            .map(|(name, shape)| (name.to_string(), shape.to_vec()));
        (
            TensorFile {
                tensors: tensors.collect(),
                ..TensorFile::default()
            },
            expected.collect(),
        )
    }

    #[test]
    fn what_fits_is_given_back() {
        let (held, expected) = file(&[("a", &[2, 3]), ("b", &[])]);
        let tensors = held.tensors.clone();
        assert_eq!(
            reconcile(held, &expected, Tolerated::default()),
            Ok(tensors)
        );
    }

    #[test]
    fn every_difference_is_listed_once() {
        let (held, _) = file(&[("a", &[2, 3]), ("b", &[6]), ("extra", &[1])]);
        let (_, expected) = file(&[("a", &[2, 3]), ("b", &[2, 3]), ("gone", &[1])]);
        let mismatch = reconcile(held, &expected, Tolerated::default()).unwrap_err();
        assert_eq!(mismatch.missing, ["gone"]);
        assert_eq!(mismatch.unexpected, ["extra"]);
        let (found, expected) = (vec![6], vec![2, 3]);
        assert_eq!(
            mismatch.misshapen,
            [Misshapen {
                name: "b".into(),
                found,
                expected
            }]
        );
        assert_eq!(
            mismatch.to_string(),
            "the weights do not fit the network\n\
             1 missing from the file:\n  gone\n\
             1 unknown to the network:\n  extra\n\
             1 of another shape:\n  b: [6] instead of [2, 3]"
        );
    }

    #[test]
    fn tolerated_names_are_left_out() {
        let (held, _) = file(&[("a", &[1]), ("fc.weight", &[9])]);
        let (_, expected) = file(&[("a", &[1]), ("head.weight", &[2])]);
        let tolerated = Tolerated {
            missing: &["head."],
            unexpected: &["fc."],
        };
        let tensors = reconcile(held.clone(), &expected, tolerated).unwrap();
        assert_eq!(tensors.keys().collect::<Vec<_>>(), ["a"]);
        // The beginnings are not interchangeable, and a wrong shape is never tolerated.
        let swapped = Tolerated {
            missing: &["fc."],
            unexpected: &["head."],
        };
        assert!(reconcile(held, &expected, swapped).is_err());
        let (held, _) = file(&[("a", &[1]), ("head.weight", &[3])]);
        assert_eq!(
            reconcile(held, &expected, tolerated)
                .unwrap_err()
                .misshapen
                .len(),
            1
        );
    }

    #[test]
    fn hundreds_of_differences_stay_readable() {
        let mismatch = Mismatch {
            missing: (0..52).map(|i| format!("layer{i:02}")).collect(),
            unexpected: (0..10).map(|i| format!("other{i}")).collect(),
            ..Mismatch::default()
        };
        let text = mismatch.to_string();
        assert_eq!(text.lines().count(), 1 + (1 + 10 + 1) + (1 + 10));
        assert!(
            text.contains("  layer09\n  … and 42 more\n10 unknown to the network:"),
            "{text}"
        );
        assert!(
            !text.contains("layer10") && text.ends_with("other9"),
            "{text}"
        );
    }

    #[test]
    fn the_hint_names_the_likely_cause() {
        let hint = |mismatch: Mismatch| mismatch.hint().unwrap();
        let one = || vec!["x".to_string()];
        let missing = || Mismatch {
            missing: one(),
            ..Mismatch::default()
        };
        assert!(hint(missing()).contains("incomplete"));
        assert!(
            hint(Mismatch {
                unexpected: one(),
                ..missing()
            })
            .contains("names differ")
        );
        assert!(
            hint(Mismatch {
                unexpected: one(),
                ..Mismatch::default()
            })
            .contains("more than")
        );
    }
}
