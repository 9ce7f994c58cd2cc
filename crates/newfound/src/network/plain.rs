//! A model's weights under the names that torchvision's networks have.
//!
//! The body has them anyway. What comes after it is called `fc` there:
//!
//! | ours                                      | torchvision's, without bottleneck | with it                |
//! |-------------------------------------------|-----------------------------------|------------------------|
//! | `bottleneck.weight`, `.bias`              |                                   | `fc.0.weight`, `.bias` |
//! | `bottleneck_norm.weight`, …               |                                   | `fc.1.weight`, …       |
//! | `classifier.weight_v`, `.weight_g` → W    | `fc.weight`                       | `fc.2.weight`          |
//! | `classifier.bias`                         | `fc.bias`                         | `fc.2.bias`            |
//!
//! So `fc` is one linear layer, or `nn.Sequential(Linear, BatchNorm1d, Linear)`. The rows of the classifier are the
//! effective ones, W\[i\] = g\[i\] · v\[i\] / ‖v\[i\]‖: nobody else need know that they were learned as direction and length.

use std::collections::BTreeMap;

use super::model::Model;
use super::{Architecture, Head};
use crate::weights::Array;

/// What only a network with a bottleneck has: our beginning of the names, and torchvision's.
const BOTTLENECK: [(&str, &str); 2] = [("bottleneck.", "fc.0."), ("bottleneck_norm.", "fc.1.")];

/// What the classifier is called.
fn classifier(architecture: &Architecture) -> &'static str {
    match architecture.bottleneck {
        Some(_) => "fc.2",
        None => "fc",
    }
}

/// The weights of a model under torchvision's names; none is copied but the classifier's.
pub(crate) fn from_own(model: Model) -> BTreeMap<String, Array> {
    let Head { prototypes, bias } = model.head();
    let classifier = classifier(&model.description.architecture);
    let ours = model
        .arrays
        .into_iter()
        .filter(|(name, _)| !name.starts_with("classifier."));
    let mut plain: BTreeMap<String, Array> = ours
        .map(|(name, array)| (renamed(&name, BOTTLENECK), array))
        .collect();
    let bias = Array::new([bias.len()], bias);
    plain.insert(format!("{classifier}.weight"), prototypes);
    plain.insert(format!("{classifier}.bias"), bias);
    plain
}

/// Gives a network's tensors our names where they have torchvision's.
///
/// What does not have the shape that the architecture wants is left as it is, to be named when the tensors are
/// reconciled with the network.
pub(crate) fn to_own(tensors: &mut BTreeMap<String, Array>, architecture: &Architecture) {
    let [outputs, features] = [architecture.outputs, architecture.features()];
    let classifier = classifier(architecture);
    let [weight, bias] = ["weight", "bias"].map(|kind| format!("{classifier}.{kind}"));
    let has = |name: &str, shape: &[usize]| {
        let array = tensors.get(name);
        array.is_some_and(|array| array.shape == shape)
    };
    if !has(&weight, &[outputs, features]) || !has(&bias, &[outputs]) {
        return;
    }
    if let (Some(prototypes), Some(bias)) = (tensors.remove(&weight), tensors.remove(&bias)) {
        let bias = bias.values;
        tensors.extend(Head { prototypes, bias }.into_arrays());
    }
    let back = BOTTLENECK.map(|(ours, theirs)| (theirs, ours));
    *tensors = std::mem::take(tensors)
        .into_iter()
        .map(|(name, array)| (renamed(&name, back), array))
        .collect();
}

/// The name with its beginning exchanged, if it is the first of one of these pairs.
fn renamed(name: &str, pairs: [(&str, &str); 2]) -> String {
    let exchanged = pairs.into_iter().find_map(|(from, to)| {
        let rest = name.strip_prefix(from)?;
        Some(format!("{to}{rest}"))
    });
    exchanged.unwrap_or_else(|| name.to_string())
}
