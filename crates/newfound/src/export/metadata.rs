//! What a file for other tools says about the model in it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::network::model::Description;

/// Who takes the mean from the images and divides by the deviation.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) enum Scaling {
    /// The file's own graph.
    #[serde(rename = "in the graph")]
    Inside,
    /// Whoever uses the weights.
    #[serde(rename = "before the network")]
    Outside,
}

/// How an image becomes the network's input.
#[derive(Serialize)]
struct Preprocessing {
    colours: &'static str,
    /// Side of the square an image is resized to, whatever its proportions.
    resize: u32,
    interpolation: &'static str,
    /// Side of the square in its centre that is used.
    crop: u32,
    mean: [f32; 3],
    std: [f32; 3],
    normalised: Scaling,
}

/// The notes, each a number or JSON: `architecture`, `classes`, `known` (C), `private` (P), `preprocessing`.
pub(super) fn notes(description: &Description, scaling: Scaling) -> BTreeMap<String, String> {
    let Description {
        architecture,
        classes,
        known,
        private,
        geometry,
        normalisation,
    } = description;
    let preprocessing = Preprocessing {
        colours: "RGB, 0 to 1",
        resize: geometry.resize,
        interpolation: "bilinear, antialiased",
        crop: geometry.crop,
        mean: normalisation.mean,
        std: normalisation.std,
        normalised: scaling,
    };
    BTreeMap::from([
        ("architecture".to_string(), json(architecture)),
        ("classes".to_string(), json(classes)),
        ("known".to_string(), known.to_string()),
        ("private".to_string(), private.to_string()),
        ("preprocessing".to_string(), json(&preprocessing)),
    ])
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain data")
}
