//! What a run was made from, so that it can be repeated and a checkpoint recognised.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::atomic;
use crate::error::{Error, Result};

/// `manifest.json`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of newfound.
    pub newfound: String,
    /// Version of Burn.
    pub burn: String,
    /// The seed.
    pub seed: u64,
    /// The device.
    pub device: String,
    /// The source model.
    pub model: HashedFile,
    /// The folder or list that was given.
    pub source: String,
    /// The benchmark's split that was asked for, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<String>,
    /// Every image that was read, in order.
    pub images: Vec<HashedFile>,
    /// Every image that could not be read.
    pub bad: Vec<BadFile>,
}

/// A file and the blake3 hash of its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HashedFile {
    /// Its path; relative to the source folder for images.
    pub path: String,
    /// In hexadecimal.
    pub blake3: String,
}

/// A file that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BadFile {
    /// Its path.
    pub path: String,
    /// Why.
    pub reason: String,
}

impl Manifest {
    /// Writes it, whole or not at all.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_vec_pretty(self).expect("a manifest is plain data");
        atomic::write(path, &text).map_err(|source| Error::io("write the manifest", path, source))
    }

    /// Reads it.
    pub fn read(path: &Path) -> Result<Self> {
        let text =
            std::fs::read(path).map_err(|source| Error::io("read the manifest", path, source))?;
        serde_json::from_slice(&text).map_err(|error| {
            let message = format!(
                "the manifest cannot be understood ({error}): {}",
                path.display()
            );
            Error::request(
                message,
                "it is damaged or from another version; run adapt again",
            )
        })
    }

    /// The first difference that makes two runs different functions, in words.
    pub fn difference(&self, other: &Self) -> Option<String> {
        if self.model.blake3 != other.model.blake3 {
            return Some(format!(
                "the model differs: {} then, {} now",
                other.model.path, self.model.path
            ));
        }
        if self.seed != other.seed {
            return Some(format!(
                "the seed differs: {} then, {} now",
                other.seed, self.seed
            ));
        }
        if self.device != other.device {
            return Some(format!(
                "the device differs: {} then, {} now",
                other.device, self.device
            ));
        }
        if self.newfound != other.newfound || self.burn != other.burn {
            return Some(format!(
                "the version differs: newfound {} with Burn {} then, {} with {} now",
                other.newfound, other.burn, self.newfound, self.burn
            ));
        }
        if self.images.len() != other.images.len() {
            let (then, now) = (other.images.len(), self.images.len());
            return Some(format!("the images differ: {then} then, {now} now"));
        }
        let pair = self
            .images
            .iter()
            .zip(&other.images)
            .find(|(now, then)| now != then);
        pair.map(|(now, then)| format!("an image differs: {} then, {} now", then.path, now.path))
    }
}

/// One hash for many.
pub fn digest(hashes: &[&str]) -> String {
    blake3::hash(hashes.join("\n").as_bytes())
        .to_hex()
        .to_string()
}
