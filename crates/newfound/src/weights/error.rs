//! One problem per way a file of tensors can disappoint.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// A file that could not be read or written, and why.
#[derive(Debug, Error)]
#[error("{problem}: {}", path.display())]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    #[source]
    pub problem: Problem,
}

impl FileError {
    /// What a person can do about it.
    pub fn hint(&self) -> Option<String> {
        self.problem.hint()
    }
}

/// What is wrong with a file of tensors.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Problem {
    /// The operating system could not read it.
    #[error("cannot read the file ({0})")]
    Read(#[source] io::Error),
    /// The operating system could not write it.
    #[error("cannot write the file ({0})")]
    Write(#[source] io::Error),
    /// It is a folder, a pipe or a device.
    #[error("not a regular file")]
    NotAFile,
    /// It has no bytes.
    #[error("the file is empty")]
    Empty,
    /// It begins like neither a safetensors nor a PyTorch file.
    #[error("neither a safetensors nor a PyTorch file{}", looks_like.map(|what| format!(", it looks like {what}")).unwrap_or_default())]
    UnknownFormat {
        /// What it begins like instead, where that is known.
        looks_like: Option<&'static str>,
    },

    /// A safetensors header longer than the format allows.
    #[error("the header claims to be {claimed} bytes long, the format allows {limit}")]
    HeaderTooLarge {
        /// The length in the file's first eight bytes.
        claimed: u64,
        /// The longest header there can be.
        limit: u64,
    },
    /// A safetensors header that ends behind the end of the file.
    #[error("the header claims to be {claimed} bytes long, the file has only {length} bytes")]
    HeaderBeyondEnd {
        /// The length in the file's first eight bytes.
        claimed: u64,
        /// The length of the file.
        length: u64,
    },
    /// A safetensors header that is not the JSON it should be.
    #[error("the header is not a valid safetensors header ({0})")]
    HeaderInvalid(#[source] serde_json::Error),
    /// One name for two tensors.
    #[error("the name `{name}` appears twice")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// A name that the safetensors format keeps for itself.
    #[error("`{name}` cannot be the name of a tensor")]
    ReservedName {
        /// The name.
        name: String,
    },
    /// A tensor of numbers that have no faithful `f32`.
    #[error("the tensor `{name}` has the type {dtype}, which is not supported")]
    UnsupportedType {
        /// The tensor.
        name: String,
        /// The type, as the file names it.
        dtype: String,
    },
    /// Tensors inside a Python object that is no plain tensor: sparse, quantised, complex.
    #[error("the file holds tensors as `{object}`, which is not supported")]
    UnsupportedObject {
        /// The object's function or class in Python.
        object: String,
    },
    /// A shape whose product is beyond any memory.
    #[error("the tensor `{name}` claims the impossible shape {shape:?}")]
    ShapeTooLarge {
        /// The tensor.
        name: String,
        /// Its shape.
        shape: Vec<usize>,
    },
    /// A shape that does not fit the bytes.
    #[error("the tensor `{name}` of shape {shape:?} needs {needed} bytes but has {found}")]
    SizeMismatch {
        /// The tensor.
        name: String,
        /// Its shape.
        shape: Vec<usize>,
        /// The bytes that its shape and type need.
        needed: u64,
        /// The bytes between its offsets.
        found: u64,
    },
    /// Bytes that end before they begin.
    #[error("the tensor `{name}` begins at byte {start} and ends at byte {end}")]
    OffsetsReversed {
        /// The tensor.
        name: String,
        /// Its first byte.
        start: u64,
        /// The byte behind its last.
        end: u64,
    },
    /// Two tensors that share bytes.
    #[error("the tensor `{name}` begins at byte {start}, inside the tensor before it")]
    Overlap {
        /// The second tensor.
        name: String,
        /// Its first byte.
        start: u64,
    },
    /// Bytes between two tensors that belong to none.
    #[error("nothing claims the {bytes} bytes before the tensor `{name}`")]
    Gap {
        /// The tensor behind the gap.
        name: String,
        /// The length of the gap.
        bytes: u64,
    },
    /// A tensor that ends behind the end of the file.
    #[error("the tensor `{name}` ends at byte {end} of the data, which has only {length} bytes")]
    BeyondEnd {
        /// The tensor.
        name: String,
        /// The byte behind its last.
        end: u64,
        /// The bytes that the file holds behind its header.
        length: u64,
    },
    /// Bytes behind the last tensor.
    #[error("{bytes} bytes follow the last tensor")]
    TrailingBytes {
        /// How many.
        bytes: u64,
    },

    /// A PyTorch file that contradicts itself or is cut off.
    #[error("the PyTorch file is damaged ({0})")]
    Damaged(String),
    /// A PyTorch archive with compressed entries, whose true size is unknown.
    #[error("the entry `{entry}` of the archive is compressed, which PyTorch never does")]
    Compressed {
        /// The entry.
        entry: String,
    },
    /// A pickle that would take far more memory to read than the file has bytes.
    #[error("reading the pickle would take more than {limit} bytes of memory")]
    PickleTooLarge {
        /// The most we give it.
        limit: usize,
    },
    /// A pickle that would run code if Python read it.
    #[error(
        "the file asks Python to call `{callable}`, which no weights need (it was not called here)"
    )]
    Call {
        /// The function or class it names.
        callable: String,
    },
    /// A pickled `nn.Module`: code by reference, not only weights.
    #[error("the file holds a whole pickled model, not a state dict")]
    WholeModule,
    /// An archive of `torch.jit.save`.
    #[error("the file is a TorchScript program, not a state dict")]
    TorchScript,
    /// No dictionary of tensors where one is looked for.
    #[error("no state dict found (the file's entries: {})", list(entries))]
    NoStateDict {
        /// The entries of the file's outermost dictionary, sorted.
        entries: Vec<String>,
    },
    /// Tensors deeper down than a state dict has them.
    #[error("the entry `{entry}` of the state dict is itself a collection of tensors")]
    Nested {
        /// The first such entry.
        entry: String,
    },
    /// Views that repeat a few stored numbers a great many times.
    #[error("the tensors would take {bytes} bytes, the file has only {length}")]
    TensorsTooLarge {
        /// The bytes of all tensors.
        bytes: u64,
        /// The length of the file.
        length: u64,
    },
}

/// The first few of a list of names.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 10;
    let mut text = names
        .iter()
        .take(SHOWN)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    if names.is_empty() {
        text.push_str("none");
    } else if names.len() > SHOWN {
        text.push_str(&format!(", … and {} more", names.len() - SHOWN));
    }
    text
}

impl Problem {
    /// What a person can do about it.
    pub fn hint(&self) -> Option<String> {
        const SAVE_STATE_DICT: &str =
            "in Python, save only the weights: torch.save(model.state_dict(), \"weights.pth\")";
        const GET_AGAIN: &str = "the file seems cut off or damaged: copy or download it again";
        const NOT_TRUSTED: &str = "the file breaks the rules of its format: \
            get it from a source you trust, or save it again with the library that made it";
        let hint = match self {
            Self::Read(error) if error.kind() == io::ErrorKind::NotFound => "check the path",
            Self::Read(_) | Self::Write(_) => return None,
            Self::NotAFile => "pass the file itself, ending in .safetensors, .pth or .pt",
            Self::UnknownFormat {
                looks_like: Some("a web page"),
            } => "the download gave a page instead of the file: open its address in a browser",
            Self::UnknownFormat {
                looks_like: Some("a Git LFS pointer"),
            } => "fetch the file it stands for: git lfs pull",
            Self::UnknownFormat { .. } => {
                "in Python, save the weights with safetensors.torch.save_file or torch.save"
            }
            Self::Empty
            | Self::HeaderBeyondEnd { .. }
            | Self::BeyondEnd { .. }
            | Self::Damaged(_) => GET_AGAIN,
            Self::HeaderTooLarge { .. }
            | Self::HeaderInvalid(_)
            | Self::DuplicateName { .. }
            | Self::ShapeTooLarge { .. }
            | Self::SizeMismatch { .. }
            | Self::OffsetsReversed { .. }
            | Self::Overlap { .. }
            | Self::Gap { .. }
            | Self::TrailingBytes { .. } => NOT_TRUSTED,
            Self::ReservedName { .. } => "give the tensor another name",
            Self::UnsupportedType { .. } | Self::UnsupportedObject { .. } => {
                "in Python, convert the model first: model.float()"
            }
            Self::Call { .. } => {
                "do not open this file in Python; get the weights from a source you trust, \
                 best as safetensors"
            }
            Self::TorchScript => {
                "in Python: torch.save(torch.jit.load(\"model.pt\").state_dict(), \"weights.pth\")"
            }
            Self::Compressed { .. }
            | Self::PickleTooLarge { .. }
            | Self::WholeModule
            | Self::NoStateDict { .. }
            | Self::Nested { .. } => SAVE_STATE_DICT,
            Self::TensorsTooLarge { .. } => {
                "in Python, save each tensor once: {name: t.contiguous() for name, t in …}"
            }
        };
        Some(hint.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_comes_last_and_the_hint_says_what_to_do() {
        let error = FileError {
            path: "model.pth".into(),
            problem: Problem::WholeModule,
        };
        assert_eq!(
            error.to_string(),
            "the file holds a whole pickled model, not a state dict: model.pth"
        );
        assert!(error.hint().unwrap().contains("model.state_dict()"));
    }

    #[test]
    fn long_lists_are_cut() {
        let entries = |n: usize| (0..n).map(|i| format!("e{i}")).collect::<Vec<_>>();
        assert_eq!(list(&entries(0)), "none");
        assert_eq!(list(&entries(2)), "e0, e1");
        assert!(list(&entries(12)).ends_with("e9, … and 2 more"));
    }
}
