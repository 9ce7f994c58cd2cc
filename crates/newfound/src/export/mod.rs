//! A model as a file for other tools.
//!
//! In reading order: `metadata` (what both kinds of file say about the model), `safetensors` (plain weights), `graph` (the
//! layers as an ONNX graph), `onnx` (the parts of such a file), `protobuf` (how it is written).

mod metadata;
mod safetensors;
mod graph;
mod onnx;
mod protobuf;

use std::path::Path;

use crate::atomic;
use crate::error::{Error, Result};
use crate::network::model::Model;
use metadata::Scaling;

/// The kinds of file a model can be exported as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A graph that computes probabilities, logits, features and the mass of the unknown.
    Onnx,
    /// Weights under torchvision's names.
    Safetensors,
}

impl Format {
    /// What the ending of a file's name asks for.
    fn of(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        match ending.as_str() {
            "onnx" => Some(Self::Onnx),
            "safetensors" => Some(Self::Safetensors),
            _ => None,
        }
    }
}

/// The kind of file that can be written at `out`; asked before a model is read, so that a mistake is told at once.
///
/// # Errors
///
/// A request error for an ending that is not `.onnx` or `.safetensors`, for a place that is taken, and for a folder that
/// is not there.
pub fn destination(out: &Path) -> Result<Format> {
    let shown = out.display();
    let Some(format) = Format::of(out) else {
        let message = format!("a model is exported as .onnx or .safetensors, not as this: {shown}");
        let hint = "give a file such as --out model.onnx or --out model.safetensors";
        return Err(Error::request(message, hint));
    };
    if out.is_dir() {
        let message = format!("this is a folder, not a file: {shown}");
        let hint = "give a file in it, such as --out model.onnx";
        return Err(Error::request(message, hint));
    }
    // A link that leads nowhere is something, too.
    if out.symlink_metadata().is_ok() {
        let message = format!("there is a file here already: {shown}");
        let hint = "give another one with --out, or remove it";
        return Err(Error::request(message, hint));
    }
    let folder = out.parent().filter(|folder| *folder != Path::new(""));
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        let message = format!("there is no such folder to write to: {}", folder.display());
        let hint = "make it first, or give another place with --out";
        return Err(Error::request(message, hint));
    }
    Ok(format)
}

/// Writes a model for other tools, whole or not at all, replacing what is there.
///
/// The weights are in memory once: the model is used up, or borrowed until its last byte is on the disk.
///
/// # Errors
///
/// What the operating system says, and a model of more than 2 GB as ONNX, which no reader would accept.
pub fn write(model: Model, format: Format, out: &Path) -> Result<()> {
    match format {
        Format::Safetensors => safetensors::write(model, out),
        Format::Onnx => {
            let notes = metadata::notes(&model.description, Scaling::Inside);
            let extra = graph::Extra::of(&model);
            let message = graph::message(&model, &extra, &notes);
            check_length(message.length(), out)?;
            atomic::write_with(out, |file| message.write(file))
                .map_err(|source| Error::io("write the model", out, source))
        }
    }
}

fn check_length(length: usize, out: &Path) -> Result<()> {
    if length <= onnx::LARGEST {
        return Ok(());
    }
    let message = format!(
        "the model has {:.1} GB, and an ONNX file at most 2: {}",
        length as f64 / 1e9,
        out.display()
    );
    let hint = "export it as .safetensors";
    Err(Error::request(message, hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_decides() {
        let of = |name: &str| Format::of(Path::new(name));
        assert_eq!(of("a/b.onnx"), Some(Format::Onnx));
        assert_eq!(of("B.ONNX"), Some(Format::Onnx));
        assert_eq!(of("m.v2.safetensors"), Some(Format::Safetensors));
        for name in ["onnx", ".onnx", "m.onnx.zip", "m.pth", "m", "", "m."] {
            assert_eq!(of(name), None, "{name}");
        }
    }

    #[test]
    fn a_model_that_no_reader_takes_is_refused() {
        let out = Path::new("m.onnx");
        assert!(check_length(onnx::LARGEST, out).is_ok());
        let error = check_length(onnx::LARGEST + 1, out).unwrap_err();
        assert!(error.is_request());
        assert!(error.to_string().starts_with("the model has 2.1 GB"));
    }
}
