//! The name of a cached file: a hash of all that its content is a function of.

use super::Wanted;
use crate::network::{Parameters, Part, download};

/// Changed whenever the same inputs give other numbers.
const VERSION: u32 = 2;

/// The file for these images, views and frozen weights.
pub(super) fn name(wanted: &Wanted) -> String {
    let description = wanted.description;
    let architecture = description.architecture;
    let mut hasher = blake3::Hasher::new();
    let text = format!(
        "{VERSION} {:?} {:?} {:?} {:?} {:?} {:?} {:?}\n{}",
        wanted.network.engine(),
        architecture.backbone,
        architecture.stride,
        wanted.frontier,
        description.geometry,
        description.normalisation,
        wanted.plan,
        wanted.hashes.join("\n"),
    );
    hasher.update(text.as_bytes());
    frozen(wanted.parameters, wanted.frontier, &mut hasher);
    format!("{}.safetensors", &hasher.finalize().to_hex()[..32])
}

/// Every weight and statistic before the frontier.
fn frozen(parameters: &Parameters, frontier: Part, hasher: &mut blake3::Hasher) {
    let parts = parameters.specs.iter().zip(&parameters.values);
    for (spec, value) in parts.filter(|(spec, _)| spec.part < frontier) {
        hasher.update(spec.name.as_bytes());
        let bytes: Vec<u8> = download(value.clone())
            .into_iter()
            .flat_map(f32::to_le_bytes)
            .collect();
        hasher.update(&bytes);
    }
}
