//! The name of a cached file: hashes of all that its content is a function of.

use super::Wanted;
use crate::network::{Parameters, Part, download};

/// Changed whenever the same inputs give other numbers.
const VERSION: u32 = 3;

/// How the names of all files begin that hold the same views of images, seen by the same frozen weights.
pub(super) fn prefix(wanted: &Wanted) -> String {
    let description = wanted.description;
    let architecture = description.architecture;
    let mut hasher = blake3::Hasher::new();
    let text = format!(
        "{VERSION} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        wanted.network.engine(),
        architecture.backbone,
        architecture.stride,
        wanted.frontier,
        description.geometry,
        description.normalisation,
        wanted.plan,
    );
    hasher.update(text.as_bytes());
    frozen(wanted.parameters, wanted.frontier, &mut hasher);
    hasher.finalize().to_hex()[..32].to_string()
}

/// The file for these images.
pub(super) fn name(prefix: &str, hashes: &[String]) -> String {
    let images = blake3::hash(hashes.join("\n").as_bytes()).to_hex();
    format!("{prefix}-{}.safetensors", &images[..32])
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
