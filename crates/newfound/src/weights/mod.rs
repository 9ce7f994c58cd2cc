//! Files of named tensors.
//!
//! Weights come from elsewhere: a `.safetensors` file, or what PyTorch's `torch.save` wrote in one of
//! its four containers over the years. [`read()`] tells them apart by their content, never by their
//! name, and gives back plain arrays of `f32`. [`write()`] writes safetensors only. [`reconcile()`]
//! holds what was read against what a network needs.
//!
//! **Invariants.** A file is data: nothing in it is ever executed, however it was pickled. Every size
//! a file claims is held against the file's length before memory is taken. What [`write()`] wrote,
//! [`read()`] gives back bit for bit, and equal tensors make equal bytes.
//!
//! The folder in reading order: `format` (which kind of file), `safetensors` and `pytorch` (one reader
//! each, the second guarded by `containers`, `pickle` and `rehearsal`), `floats` (every kind of float
//! to `f32`), `names` (prefixes that wrappers leave), `reconcile`, `write`, `error`.

mod format;
mod safetensors;
mod pytorch;
mod containers;
mod pickle;
mod rehearsal;
mod floats;
mod names;
mod reconcile;
mod write;
mod error;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

pub use error::{FileError, Problem};
pub use reconcile::{Mismatch, Misshapen, Tolerated, reconcile};
pub use write::write;

use format::Format;

/// A tensor outside of any tensor library: its extents and its elements in row-major order.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    /// The extents, outermost first; empty for a single number.
    pub shape: Vec<usize>,
    /// The elements, the last index running fastest.
    pub values: Vec<f32>,
}

impl Array {
    /// An array of this shape with these values.
    ///
    /// # Panics
    ///
    /// If the number of values is not the product of the extents.
    pub fn new(shape: impl Into<Vec<usize>>, values: Vec<f32>) -> Self {
        let shape = shape.into();
        let count: usize = shape.iter().product();
        assert_eq!(
            count,
            values.len(),
            "the shape {shape:?} does not fit the number of values"
        );
        Self { shape, values }
    }
}

/// What a file of tensors holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TensorFile {
    /// The floating-point tensors by name, converted to `f32`.
    pub tensors: BTreeMap<String, Array>,
    /// The file's own notes; only safetensors files have them.
    pub metadata: BTreeMap<String, String>,
    /// Entries that are not floating-point tensors, which a network does not need: counters such as
    /// `bn1.num_batches_tracked`. Sorted.
    pub ignored: Vec<String>,
}

impl TensorFile {
    /// Removes what wrappers such as `DataParallel` have put in front of every name, and returns it.
    ///
    /// First `module.`, as often as all names begin with it; then one more prefix, whatever it is, if
    /// all names begin with it and removing it uncovers `conv1.weight`, the first layer of a ResNet.
    /// A prefix that only some names have stays: it says which part of a larger model they belong to.
    ///
    /// [`read()`] does this to PyTorch files, never to safetensors files, whose names may be our own.
    pub fn unwrap_names(&mut self) -> Option<String> {
        let prefix = names::wrapper_prefix(self.tensors.keys())?;
        self.tensors = std::mem::take(&mut self.tensors)
            .into_iter()
            .map(|(name, array)| (name[prefix.len()..].to_string(), array))
            .collect();
        for name in &mut self.ignored {
            if let Some(rest) = name.strip_prefix(&prefix) {
                *name = rest.to_string();
            }
        }
        self.ignored.sort();
        Some(prefix)
    }
}

/// Reads a file of tensors: safetensors, or anything `torch.save` made of a state dict.
///
/// Tensors of `f16`, `bf16`, `f32` and `f64` become `f32`; an `f64` beyond its range becomes infinite,
/// which [`check_finite`] finds. In a PyTorch file the state dict may be the whole file, or lie under
/// `state_dict`, `model_state_dict`, `model_state`, `model`, `net`, `network`, `module`, `weights`,
/// `params`, `state_dict_ema`, `model_ema` or `ema`: the first of these, in this order, that holds a
/// tensor. Its names lose the prefixes that [`TensorFile::unwrap_names`] describes.
///
/// # Errors
///
/// [`FileError`] says what is wrong with which file; its `hint()` says what to do about it.
pub fn read(path: impl AsRef<Path>) -> Result<TensorFile, FileError> {
    let path = path.as_ref();
    read_path(path).map_err(|problem| FileError {
        path: path.to_path_buf(),
        problem,
    })
}

fn read_path(path: &Path) -> Result<TensorFile, Problem> {
    // Opening a pipe would wait for its writer, so the kind of file comes first.
    if !std::fs::metadata(path).map_err(Problem::Read)?.is_file() {
        return Err(Problem::NotAFile);
    }
    let mut file = File::open(path).map_err(Problem::Read)?;
    match format::detect(&mut file)? {
        Format::Safetensors => safetensors::read(file),
        Format::Pytorch(container) => pytorch::read(path, container),
    }
}

/// The names of the tensors that hold a NaN or an infinity, sorted.
pub fn check_finite(tensors: &BTreeMap<String, Array>) -> Vec<&str> {
    let broken = |array: &Array| array.values.iter().any(|value| !value.is_finite());
    tensors
        .iter()
        .filter(|(_, array)| broken(array))
        .map(|(name, _)| name.as_str())
        .collect()
}
