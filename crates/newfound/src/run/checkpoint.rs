//! The state of a loop in one file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::weights::{self, Array};

/// Names of the metadata entries.
const INTEGERS: &str = "state";
const IDENTITY: &str = "identity";
const DIGEST: &str = "digest";

/// Everything a loop needs besides tensors.
pub trait Integers: Serialize + DeserializeOwned {}

impl<T: Serialize + DeserializeOwned> Integers for T {}

/// A snapshot: named tensors, everything else as JSON, and what the snapshot belongs to.
#[derive(Debug, Clone)]
pub struct Checkpoint<S> {
    /// The tensors.
    pub tensors: BTreeMap<String, Array>,
    /// The rest of the state.
    pub state: S,
    /// Configuration, model and images in one text: a checkpoint of another run is refused.
    pub identity: String,
}

impl<S: Integers> Checkpoint<S> {
    /// The file of a checkpoint in this folder.
    pub fn path(folder: &Path) -> PathBuf {
        folder.join("state.safetensors")
    }

    /// Refuses a state from which nothing good can follow, so that the last good one stays.
    pub fn ensure_finite(&self) -> Result<()> {
        match weights::check_finite(&self.tensors).first() {
            None => Ok(()),
            Some(first) => Err(Error::failed(
                format!("the weights are no longer finite: {first} for example"),
                "the last good checkpoint is kept; a smaller learning-rate usually helps",
            )),
        }
    }

    /// Writes it, whole or not at all: one file, so state and tensors can never be of different moments.
    pub fn write(&self, folder: &Path) -> Result<PathBuf> {
        let path = Self::path(folder);
        let state = serde_json::to_string(&self.state).expect("a state is plain data");
        let metadata = BTreeMap::from([
            (DIGEST.to_string(), digest(&self.tensors, &state)),
            (INTEGERS.to_string(), state),
            (IDENTITY.to_string(), self.identity.clone()),
        ]);
        weights::write(&path, &self.tensors, &metadata)?;
        Ok(path)
    }

    /// Reads it; none where there is none.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        let path = Self::path(folder);
        if !path.is_file() {
            return Ok(None);
        }
        let mut file = weights::read(&path)?;
        let damaged = || {
            let message = format!("the checkpoint cannot be understood: {}", path.display());
            Error::failed(
                message,
                "it is damaged or from another version; start again in another folder",
            )
        };
        let identity = file.metadata.remove(IDENTITY).ok_or_else(damaged)?;
        let text = file.metadata.remove(INTEGERS).ok_or_else(damaged)?;
        // What was written is what is read: nothing after this looks at sizes again.
        if file.metadata.get(DIGEST) != Some(&digest(&file.tensors, &text)) {
            return Err(damaged());
        }
        let state = serde_json::from_str(&text).map_err(|_| damaged())?;
        Ok(Some(Self {
            tensors: file.tensors,
            state,
            identity,
        }))
    }
}

/// One hash of names, shapes, values and the rest of the state.
fn digest(tensors: &BTreeMap<String, Array>, state: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(state.as_bytes());
    for (name, array) in tensors {
        hasher.update(format!("\n{name} {:?}\n", array.shape).as_bytes());
        for chunk in array.values.chunks(16 * 1024) {
            let bytes: Vec<u8> = chunk.iter().flat_map(|value| value.to_le_bytes()).collect();
            hasher.update(&bytes);
        }
    }
    hasher.finalize().to_hex().to_string()
}
