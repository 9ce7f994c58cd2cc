//! A model as plain weights.
//!
//! `RUN/model.safetensors` is for going on: its classifier is direction and length, as it was learned, and its names are
//! ours. What is exported is for use elsewhere: torchvision's names throughout, and the classifier's effective rows. So
//!
//! ```python
//! model = torchvision.models.resnet50(num_classes=20)
//! model.fc = nn.Sequential(nn.Linear(2048, 256), nn.BatchNorm1d(256), nn.Linear(256, 20))
//! model.load_state_dict(load_file("model.safetensors"))
//! ```
//!
//! is all that PyTorch needs. Batch normalisations stay what they are: so the file is exact, and can be trained further.
//! `newfound predict --model` and `inspect` take it as they take one of our own.

use std::path::Path;

use super::metadata::{self, Scaling};
use crate::error::Result;
use crate::network::StridePlacement;
use crate::network::model::Model;
use crate::network::plain;
use crate::weights;

/// Writes the model, whole or not at all.
pub(super) fn write(model: Model, path: &Path) -> Result<()> {
    let description = &model.description;
    let mut notes = metadata::notes(description, Scaling::Outside);
    notes.extend([description.note()]);
    // Where other weights say it too: `newfound train --weights` looks there.
    let stride = match description.architecture.stride {
        StridePlacement::Spatial => "3x3",
        StridePlacement::First => "1x1",
    };
    notes.insert("stride_in".into(), stride.into());
    // What PyTorch's own writers put there, and some of its readers insist on.
    notes.insert("format".into(), "pt".into());
    Ok(weights::write(path, &plain::from_own(model), &notes)?)
}
