//! A model as a file: weights, and all that is needed to use them.

use std::collections::BTreeMap;
use std::path::Path;

use burn::tensor::Device;
use serde::{Deserialize, Serialize};

use super::{
    Architecture, Backbone, Engine, Head, Network, Parameters, StridePlacement, plain, shapes,
};
use crate::error::{Error, ErrorKind, Result};
use crate::views::{Geometry, Normalisation};
use crate::weights::{self, Array, TensorFile, Tolerated};

/// The metadata key under which our own models describe themselves.
const DESCRIPTION: &str = "newfound";

/// What a model is, beside its weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// The network.
    pub architecture: Architecture,
    /// Names of all outputs: the known classes, then `unknown-1`, ….
    pub classes: Vec<String>,
    /// Number of known classes, C.
    pub known: usize,
    /// Number of private classes, P: 0 in a source model.
    pub private: usize,
    /// How images are resized and cropped.
    pub geometry: Geometry,
    /// How pixel values are scaled.
    pub normalisation: Normalisation,
}

/// The largest side of a view: beyond it, one batch would not fit any memory.
const MAX_SIDE: u32 = 8192;

/// A model in memory.
#[derive(Debug, Clone)]
pub struct Model {
    /// What it is.
    pub description: Description,
    /// Its weights by name.
    pub arrays: BTreeMap<String, Array>,
}

/// What a file that was made elsewhere does not say about itself.
#[derive(Debug, Clone, Default)]
pub struct Foreign {
    /// Names of its classes, in the order of its outputs.
    pub classes: Option<Vec<String>>,
    /// Where its stride is.
    pub stride: Option<StridePlacement>,
    /// Side of the images it expects.
    pub crop: Option<u32>,
}

impl Description {
    /// The entry of a file's metadata by which [`Model::read`] knows one of our own models.
    pub(crate) fn note(&self) -> (String, String) {
        let text = serde_json::to_string(self).expect("a description is plain data");
        (DESCRIPTION.to_string(), text)
    }

    /// Whether a model that says everything about itself is said to be something else.
    fn agrees(&self, foreign: &Foreign, path: &Path) -> Result<()> {
        let stride = self.architecture.stride;
        let contradiction = if foreign.classes.as_ref().is_some_and(|c| *c != self.classes) {
            "--classes gives other names than the model has itself".to_string()
        } else if let Some(asked) = foreign.stride.filter(|&asked| asked != stride) {
            format!("--stride says {asked}, but the model says {stride}")
        } else if let Some(asked) = foreign.crop.filter(|&asked| asked != self.geometry.crop) {
            let crop = self.geometry.crop;
            format!("--size says {asked}, but the model was made for {crop}")
        } else {
            return Ok(());
        };
        let message = format!("{contradiction}: {}", path.display());
        Err(Error::request(
            message,
            "leave the flag out: a model made by newfound says this itself",
        ))
    }
}

impl Model {
    /// Reads one of our own models, or a torchvision-style one (a body and one `fc`) as it is.
    pub fn read(path: &Path, foreign: &Foreign) -> Result<Self> {
        let file = weights::read(path)?;
        let model = match file.metadata.get(DESCRIPTION).cloned() {
            Some(text) => own(&text, file, path).and_then(|model| {
                model.description.agrees(foreign, path)?;
                Ok(model)
            }),
            None => from_elsewhere(file, foreign, path),
        }?;
        let broken = weights::check_finite(&model.arrays);
        if let Some(first) = broken.first() {
            let message = format!(
                "{} of the model's tensors hold values that are not finite, {first} among them: {}",
                broken.len(),
                path.display()
            );
            return Err(Error::request(
                message,
                "the file is damaged or its training had diverged; use another one",
            ));
        }
        Ok(model)
    }

    /// Writes it, whole or not at all.
    pub fn write(&self, path: &Path) -> Result<()> {
        let metadata = BTreeMap::from([self.description.note()]);
        Ok(weights::write(path, &self.arrays, &metadata)?)
    }

    /// The layers, and the weights on a device.
    pub fn load(&self, engine: Engine, device: &Device) -> (Network, Parameters) {
        let network = Network::new(self.description.architecture, engine);
        let parameters =
            Parameters::from_arrays(network.specs().clone(), self.arrays.clone(), device);
        (network, parameters)
    }

    /// The classifier's prototypes and biases.
    pub fn head(&self) -> Head {
        let [v, g, bias] =
            ["weight_v", "weight_g", "bias"].map(|n| &self.arrays[&format!("classifier.{n}")]);
        let width = v.shape[1];
        let rows = v.values.chunks_exact(width).zip(&g.values);
        let scaled = rows.flat_map(|(row, &gain)| {
            let length = super::norm(row).max(f32::MIN_POSITIVE);
            row.iter().map(move |x| x / length * gain)
        });
        Head {
            prototypes: Array {
                shape: v.shape.clone(),
                values: scaled.collect(),
            },
            bias: bias.values.clone(),
        }
    }
}

/// Whether every class can be told from the others and from the private ones.
pub fn check_names(classes: &[String]) -> Result<()> {
    for (at, name) in classes.iter().enumerate() {
        let problem = if is_private_name(name) {
            "is a name that newfound gives to new classes"
        } else if classes[..at].contains(name) {
            "is the name of two classes"
        } else {
            continue;
        };
        return Err(Error::request(
            format!("{name:?} {problem}"),
            "give every class a name of its own, other than unknown-1, unknown-2, …",
        ));
    }
    Ok(())
}

/// Whether this is `unknown-j`, the name of a private class.
pub fn is_private_name(name: &str) -> bool {
    let number = name.strip_prefix("unknown-");
    number.is_some_and(|number| number.parse::<usize>().is_ok())
}

/// What is wrong with a description that a file carries.
fn contradiction(description: &Description) -> Option<String> {
    let Description {
        architecture,
        classes,
        known,
        private,
        geometry,
        normalisation,
    } = description;
    let outputs = architecture.outputs;
    let sides = 1..=MAX_SIDE;
    if classes.len() != outputs || known.checked_add(*private) != Some(outputs) || *known == 0 {
        let names = classes.len();
        return Some(format!(
            "the classifier has {outputs} outputs but the model names {names} classes ({known} known, {private} private)"
        ));
    }
    if !sides.contains(&geometry.crop) || !(geometry.crop..=MAX_SIDE).contains(&geometry.resize) {
        let (crop, resize) = (geometry.crop, geometry.resize);
        return Some(format!(
            "the model wants images of {crop} out of {resize} pixels, which cannot be"
        ));
    }
    let usable = normalisation.std.iter().all(|s| s.is_finite() && *s > 0.0);
    if !usable || normalisation.mean.iter().any(|m| !m.is_finite()) {
        return Some("the model's mean or standard deviation of colours cannot be".into());
    }
    None
}

fn own(text: &str, mut file: TensorFile, path: &Path) -> Result<Model> {
    let description: Description = serde_json::from_str(text).map_err(|error| {
        let message = format!(
            "the model's description cannot be understood ({error}): {}",
            path.display()
        );
        Error::request(
            message,
            "it was made by another version of newfound; train or adapt again with this one",
        )
    })?;
    if let Some(contradiction) = contradiction(&description) {
        return Err(Error::request(
            format!("{contradiction}: {}", path.display()),
            "the file is damaged; use another one",
        ));
    }
    check_names(&description.classes[..description.known])?;
    plain::to_own(&mut file.tensors, &description.architecture);
    let network = Network::new(description.architecture, Engine::Burn);
    let arrays = fitting(file, &network, path)?;
    Ok(Model {
        description,
        arrays,
    })
}

/// The tensors that a network needs, and no others.
fn fitting(file: TensorFile, network: &Network, path: &Path) -> Result<BTreeMap<String, Array>> {
    weights::reconcile(file, &shapes(network.specs()), Tolerated::default()).map_err(|mismatch| {
        ErrorKind::Mismatch {
            path: path.into(),
            mismatch,
        }
        .into()
    })
}

/// What the tensors of a torchvision-style file say about the network.
pub fn recognise(file: &TensorFile, path: &Path) -> Result<Backbone> {
    let has = |name: &str| file.tensors.contains_key(name);
    let stem = file
        .tensors
        .get("conv1.weight")
        .map(|array| array.shape.clone());
    let backbone = match (stem.as_deref(), has("layer1.0.conv3.weight")) {
        (Some([32, 3, 3, 3]), false) => Some(Backbone::Small),
        (Some([64, 3, 7, 7]), false) if has("layer3.5.conv1.weight") => Some(Backbone::Resnet34),
        (Some([64, 3, 7, 7]), false) => Some(Backbone::Resnet18),
        (Some([64, 3, 7, 7]), true) if has("layer3.22.conv1.weight") => Some(Backbone::Resnet101),
        (Some([64, 3, 7, 7]), true) => Some(Backbone::Resnet50),
        _ => None,
    };
    backbone.ok_or_else(|| {
        let first: Vec<&str> = file.tensors.keys().take(3).map(String::as_str).collect();
        let message = format!(
            "these are not the weights of a residual network newfound knows ({} tensors: {}, …): {}",
            file.tensors.len(),
            first.join(", "),
            path.display()
        );
        Error::request(message, "give the state dict of a torchvision-style ResNet-18, -34, -50 or -101, or a model made by newfound train")
    })
}

/// Where a file's metadata says its stride is.
pub fn stated_stride(file: &TensorFile) -> Option<StridePlacement> {
    match file.metadata.get("stride_in").map(String::as_str) {
        Some("1x1") => Some(StridePlacement::First),
        Some("3x3") => Some(StridePlacement::Spatial),
        _ => None,
    }
}

fn from_elsewhere(mut file: TensorFile, foreign: &Foreign, path: &Path) -> Result<Model> {
    file.unwrap_names();
    let backbone = recognise(&file, path)?;
    let stride = foreign.stride.or(stated_stride(&file)).unwrap_or_default();
    let Some(weight) = file.tensors.remove("fc.weight") else {
        let message = format!(
            "there is no classifier in this file (no tensor fc.weight): {}",
            path.display()
        );
        return Err(Error::request(
            message,
            "train one on top of it: newfound train IMAGES --weights FILE --out MODEL",
        ));
    };
    let features = backbone.features();
    if weight.shape.len() != 2 || weight.shape[1] != features {
        let message = format!(
            "fc.weight has the shape {:?}, but the features of a {backbone} are {features}: {}",
            weight.shape,
            path.display()
        );
        return Err(Error::request(
            message,
            "only a single linear layer after the pooled features can be taken as it is",
        ));
    }
    let outputs = weight.shape[0];
    let bias = file
        .tensors
        .remove("fc.bias")
        .map_or(vec![0.0; outputs], |array| array.values);
    if bias.len() != outputs {
        let message = format!(
            "fc.bias has {} values for {outputs} classes: {}",
            bias.len(),
            path.display()
        );
        return Err(Error::request(
            message,
            "the file is damaged; use another one",
        ));
    }
    let classes = match &foreign.classes {
        None => (0..outputs).map(|class| format!("class-{class}")).collect(),
        Some(names) if names.len() == outputs => names.clone(),
        Some(names) => {
            let message = format!(
                "the classifier has {outputs} outputs but the class list has {} names: {}",
                names.len(),
                path.display()
            );
            return Err(Error::request(
                message,
                "pass the list the model was trained with",
            ));
        }
    };
    file.tensors.extend(
        Head {
            prototypes: weight,
            bias,
        }
        .into_arrays(),
    );
    check_names(&classes)?;
    let architecture = Architecture {
        backbone,
        stride,
        bottleneck: None,
        outputs,
    };
    let network = Network::new(architecture, Engine::Burn);
    let arrays = fitting(file, &network, path)?;
    let description = Description {
        architecture,
        classes,
        known: outputs,
        private: 0,
        geometry: Geometry::for_crop(foreign.crop.unwrap_or(backbone.usual_crop())),
        normalisation: Normalisation::default(),
    };
    Ok(Model {
        description,
        arrays,
    })
}
