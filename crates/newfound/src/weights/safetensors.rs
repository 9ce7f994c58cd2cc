//! Reading safetensors files.
//!
//! ```text
//! 8 bytes      n, the length of the header, little-endian
//! n bytes      JSON: {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, …,
//!                     "__metadata__": {"key": "value", …}}
//! the rest     the tensors' bytes, without gaps; offsets count from here
//! ```
//!
//! The header is checked completely before the first tensor is read, and each check has a message of
//! its own: the `safetensors` crate accepts and refuses the same files, but does not say which tensor
//! is at fault, and takes the last of two tensors with the same name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read};

use ::safetensors::Dtype;
use ::safetensors::tensor::TensorInfo;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use super::floats::Float;
use super::{Array, Problem, TensorFile};

/// The longest header there may be: the limit of the `safetensors` crate.
pub(super) const MAX_HEADER: u64 = 100_000_000;

/// The one name in the header that is not a tensor.
pub(super) const METADATA: &str = "__metadata__";

/// Reads the file from its start.
pub(super) fn read(file: File) -> Result<TensorFile, Problem> {
    let length = file.metadata().map_err(Problem::Read)?.len();
    let mut reader = BufReader::new(file);
    let header_length = header_length(&mut reader, length)?;
    let mut header = vec![0; header_length as usize];
    reader.read_exact(&mut header).map_err(Problem::Read)?;
    let Header {
        metadata,
        mut tensors,
    } = serde_json::from_slice(&header).map_err(Problem::HeaderInvalid)?;
    tensors.sort_by_key(|(_, info)| info.data_offsets);
    check(&tensors, length - 8 - header_length)?;

    let mut file = TensorFile {
        metadata,
        ..TensorFile::default()
    };
    for (name, info) in tensors {
        // No larger than the file, as `check` has made sure.
        let mut bytes = vec![0; info.data_offsets.1 - info.data_offsets.0];
        reader.read_exact(&mut bytes).map_err(Problem::Read)?;
        match kind(&name, info.dtype)? {
            Kind::Float(float) => {
                let array = Array {
                    shape: info.shape,
                    values: float.decode(&bytes),
                };
                file.tensors.insert(name, array);
            }
            Kind::Integer => file.ignored.push(name),
        }
    }
    file.ignored.sort();
    Ok(file)
}

/// The length in the first eight bytes, once it is known to be inside the file.
fn header_length(reader: &mut impl Read, length: u64) -> Result<u64, Problem> {
    let mut bytes = [0; 8];
    reader.read_exact(&mut bytes).map_err(Problem::Read)?;
    let claimed = u64::from_le_bytes(bytes);
    if claimed > MAX_HEADER {
        Err(Problem::HeaderTooLarge {
            claimed,
            limit: MAX_HEADER,
        })
    } else if claimed > length - 8 {
        Err(Problem::HeaderBeyondEnd { claimed, length })
    } else {
        Ok(claimed)
    }
}

/// Checks that the tensors, sorted by their offsets, are well-formed and fill the data exactly.
fn check(tensors: &[(String, TensorInfo)], length: u64) -> Result<(), Problem> {
    let mut names = BTreeSet::new();
    let mut filled = 0;
    for (name, info) in tensors {
        let name = name.clone();
        if !names.insert(name.clone()) {
            return Err(Problem::DuplicateName { name });
        }
        kind(&name, info.dtype)?;
        let (start, end) = (info.data_offsets.0 as u64, info.data_offsets.1 as u64);
        let Some(needed) = bytes_needed(info) else {
            return Err(Problem::ShapeTooLarge {
                name,
                shape: info.shape.clone(),
            });
        };
        if end < start {
            return Err(Problem::OffsetsReversed { name, start, end });
        } else if end > length {
            return Err(Problem::BeyondEnd { name, end, length });
        } else if end - start != needed {
            let (shape, found) = (info.shape.clone(), end - start);
            return Err(Problem::SizeMismatch {
                name,
                shape,
                needed,
                found,
            });
        } else if start < filled {
            return Err(Problem::Overlap { name, start });
        } else if start > filled {
            return Err(Problem::Gap {
                name,
                bytes: start - filled,
            });
        }
        filled = end;
    }
    match length - filled {
        0 => Ok(()),
        bytes => Err(Problem::TrailingBytes { bytes }),
    }
}

/// The product of the extents and the size of an element, unless it is beyond any memory.
fn bytes_needed(info: &TensorInfo) -> Option<u64> {
    let extents = info.shape.iter().map(|extent| *extent as u64);
    let elements = extents.clone().try_fold(1u64, u64::checked_mul);
    elements?.checked_mul(info.dtype.bitsize() as u64 / 8)
}

/// What a network does with a type of number.
enum Kind {
    Float(Float),
    Integer,
}

fn kind(name: &str, dtype: Dtype) -> Result<Kind, Problem> {
    Ok(match dtype {
        Dtype::F16 => Kind::Float(Float::F16),
        Dtype::BF16 => Kind::Float(Float::Bf16),
        Dtype::F32 => Kind::Float(Float::F32),
        Dtype::F64 => Kind::Float(Float::F64),
        Dtype::BOOL | Dtype::U8 | Dtype::U16 | Dtype::U32 | Dtype::U64 => Kind::Integer,
        Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64 => Kind::Integer,
        // Floats of 4 to 8 bits mean nothing without scales kept elsewhere; complex numbers have
        // no f32.
        other => {
            let (name, dtype) = (name.to_string(), other.to_string());
            return Err(Problem::UnsupportedType { name, dtype });
        }
    })
}

/// The header as the file spells it: a name that appears twice is here twice.
struct Header {
    metadata: BTreeMap<String, String>,
    tensors: Vec<(String, TensorInfo)>,
}

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Header;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("a table of tensors")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Header, M::Error> {
                let (mut metadata, mut tensors) = (None, Vec::new());
                while let Some(name) = map.next_key::<String>()? {
                    if name != METADATA {
                        tensors.push((name, map.next_value()?));
                    } else if metadata.replace(map.next_value()?).is_some() {
                        return Err(serde::de::Error::duplicate_field(METADATA));
                    }
                }
                Ok(Header {
                    metadata: metadata.unwrap_or_default(),
                    tensors,
                })
            }
        }

        deserializer.deserialize_map(Entries)
    }
}
