//! Writing safetensors files.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use ::safetensors::Dtype;
use ::safetensors::tensor::TensorInfo;
use serde::Serialize;

use super::safetensors::{MAX_HEADER, METADATA};
use super::{Array, FileError, Problem};
use crate::atomic;

/// Numbers converted to bytes at a time.
const CHUNK: usize = 1 << 14;

/// Writes the tensors as a safetensors file of `f32`, whole or not at all.
///
/// Equal tensors and notes make equal bytes: everything is in the order of its name. (The header is
/// made here because the `safetensors` crate keeps the notes in a hash map, whose order changes from
/// run to run.)
///
/// # Errors
///
/// [`Problem::Write`] if the operating system fails, [`Problem::ReservedName`] for a tensor called
/// `__metadata__`. A file already at `path` is then left as it was.
///
/// # Panics
///
/// If an array has more or fewer values than its shape says.
pub fn write(
    path: impl AsRef<Path>,
    tensors: &BTreeMap<String, Array>,
    metadata: &BTreeMap<String, String>,
) -> Result<(), FileError> {
    let path = path.as_ref();
    let file_error = |problem| FileError {
        path: path.to_path_buf(),
        problem,
    };
    let header = header(tensors, metadata).map_err(file_error)?;
    atomic::write_with(path, |file| {
        file.write_all(&(header.len() as u64).to_le_bytes())?;
        file.write_all(&header)?;
        tensors
            .values()
            .try_for_each(|array| write_values(file, &array.values))
    })
    .map_err(|error| file_error(Problem::Write(error)))
}

/// One entry of the header.
#[derive(Serialize)]
#[serde(untagged)]
enum Entry<'a> {
    Metadata(&'a BTreeMap<String, String>),
    Tensor(TensorInfo),
}

/// The JSON header, padded with spaces so that the data begins at a multiple of eight bytes.
fn header(
    tensors: &BTreeMap<String, Array>,
    metadata: &BTreeMap<String, String>,
) -> Result<Vec<u8>, Problem> {
    let mut entries = BTreeMap::new();
    let mut end = 0;
    for (name, Array { shape, values }) in tensors {
        let count: usize = shape.iter().product();
        assert_eq!(
            count,
            values.len(),
            "`{name}` of shape {shape:?} has the wrong length"
        );
        let start = end;
        end += values.len() * size_of::<f32>();
        let (dtype, shape) = (Dtype::F32, shape.clone());
        let info = TensorInfo {
            dtype,
            shape,
            data_offsets: (start, end),
        };
        entries.insert(name.as_str(), Entry::Tensor(info));
    }
    if entries.contains_key(METADATA) {
        return Err(Problem::ReservedName {
            name: METADATA.to_string(),
        });
    }
    if !metadata.is_empty() {
        entries.insert(METADATA, Entry::Metadata(metadata));
    }
    let mut header = serde_json::to_vec(&entries).expect("names, numbers and text are valid JSON");
    header.resize(header.len().next_multiple_of(8), b' ');
    match header.len() as u64 {
        claimed if claimed > MAX_HEADER => Err(Problem::HeaderTooLarge {
            claimed,
            limit: MAX_HEADER,
        }),
        _ => Ok(header),
    }
}

fn write_values(file: &mut impl Write, values: &[f32]) -> io::Result<()> {
    for chunk in values.chunks(CHUNK) {
        let bytes: Vec<u8> = chunk.iter().flat_map(|value| value.to_le_bytes()).collect();
        file.write_all(&bytes)?;
    }
    Ok(())
}
