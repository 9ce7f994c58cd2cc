//! Small JSON files of a run.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::atomic;
use crate::error::{Error, Result};

/// Writes a file, whole or not at all; `action` is "write the verdict" or the like.
pub(crate) fn write_json(path: &Path, action: &'static str, value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_vec_pretty(value).expect("plain data");
    atomic::write(path, &text).map_err(|source| Error::io(action, path, source))
}

/// Reads a file; `action` is "read the verdict" or the like, and `command` what makes it anew.
pub(crate) fn read_json<T: DeserializeOwned>(
    path: &Path,
    action: &'static str,
    command: &str,
) -> Result<T> {
    let text = std::fs::read(path).map_err(|source| Error::io(action, path, source))?;
    serde_json::from_slice(&text).map_err(|error| {
        let what = action.trim_start_matches("read ");
        let message = format!("{what} cannot be understood ({error}): {}", path.display());
        let hint = format!("the file is damaged; run {command} again");
        Error::request(message, hint)
    })
}
