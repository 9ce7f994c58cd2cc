//! A run as a folder: what is in it, and that it is whole at every moment.
//!
//! | file | what |
//! |---|---|
//! | `config.toml` | the resolved configuration |
//! | `manifest.json` | model, images, versions, seed, device, with hashes |
//! | `clustering.json` | which known class got which cluster, and how clearly |
//! | `events.jsonl` | one JSON object per step and epoch |
//! | `checkpoint/` | the state to resume from, while the run is under way |
//! | `model.safetensors` | the adapted model |
//! | `predictions.csv` | a line per image |
//! | `probabilities.safetensors` | all class probabilities: adapted, refined, source, clustering |
//! | `bank.safetensors` | features and probabilities of the target, for refined predictions of new images |
//! | `verdict.json` | whether the result can be believed |
//! | `evaluation.json` | scores, where the run was evaluated |
//! | `map.safetensors` | every image as a point, before and after adaptation |
//! | `thumbnails.zip` | a small picture of each image |
//! | `report.html` | what was found, to look at |

mod checkpoint;
mod event_log;
mod folder;
mod json;
mod manifest;
mod predictions;
mod thumbnails;

pub use checkpoint::{Checkpoint, Integers};
pub use event_log::EventLog;
pub use folder::RunFolder;
pub(crate) use json::{read_json, write_json};
pub use manifest::{BadFile, HashedFile, Manifest, digest};
pub(crate) use predictions::take_matrix;
pub use predictions::{
    Probabilities, Row, csv_line, doubt_limit, read_predictions, write_predictions,
};
pub use thumbnails::{Thumbnails, keep_thumbnails, read_thumbnails};
