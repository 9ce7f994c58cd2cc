//! Reading what `torch.save` wrote.
//!
//! The `pytorch_reader` crate knows the containers and plays the pickle without calling anything. Here
//! is what it leaves to us: to examine the file before (see [`containers`](super::containers)), to
//! find the state dict in it, and to take its tensors.

use std::collections::HashMap;
use std::path::Path;

use pytorch_reader::{DType, PickleError, PickleValue, PytorchError, PytorchReader, Tensor};

use super::containers::inventory;
use super::floats::Float;
use super::format::Container;
use super::{Array, Problem, TensorFile};

/// Where a state dict lies, most telling name first; averaged weights only if there are no others.
const STATE_DICTS: [&str; 12] = [
    "state_dict",
    "model_state_dict",
    "model_state",
    "model",
    "net",
    "network",
    "module",
    "weights",
    "params",
    "state_dict_ema",
    "model_ema",
    "ema",
];

/// What `state_dict()` notes about the versions of a model's layers, beside its tensors.
const VERSIONS: &str = "_metadata";

/// How many times its own length a file's tensors may take. Tied weights count twice and f16 is
/// stored as it is, so honest files stay near 1; a view may repeat one number without end.
const MAX_EXPANSION: u64 = 16;

/// Reads the state dict of a PyTorch file.
pub(super) fn read(path: &Path, container: Container) -> Result<TensorFile, Problem> {
    let inventory = inventory(path, container)?;
    if let Some(callable) = inventory.reaching_call() {
        return Err(Problem::Call {
            callable: callable.to_string(),
        });
    }
    let explain = |error| match error {
        // A model's own classes get in the way of reading it.
        _ if inventory.has_module => Problem::WholeModule,
        error => problem(error),
    };
    let root = PytorchReader::read_pickle_data(path, None).map_err(explain)?;
    let PickleValue::Dict(root) = root else {
        return Err(Problem::NoStateDict {
            entries: Vec::new(),
        });
    };
    let key = STATE_DICTS
        .into_iter()
        .find(|key| root.get(*key).is_some_and(has_tensor));
    let state_dict = match key.map(|key| (key, &root[key])) {
        Some((_, PickleValue::Dict(state_dict))) => state_dict,
        _ if inventory.has_module => return Err(Problem::WholeModule),
        Some((key, _)) => {
            return Err(Problem::Nested {
                entry: key.to_string(),
            });
        }
        None if root.values().any(is_tensor) => &root,
        None => {
            return Err(Problem::NoStateDict {
                entries: sorted(root.keys()),
            });
        }
    };
    let nested = |name: &&String| !is_tensor(&state_dict[*name]) && has_tensor(&state_dict[*name]);
    if let Some(entry) = state_dict.keys().filter(nested).min() {
        // A module's children are dictionaries in it; a state dict is flat.
        return Err(match inventory.has_module {
            true => Problem::WholeModule,
            false => Problem::Nested {
                entry: entry.clone(),
            },
        });
    }
    let reader = match key {
        Some(key) => PytorchReader::with_top_level_key(path, key),
        None => PytorchReader::new(path),
    };
    let length = std::fs::metadata(path).map_err(Problem::Read)?.len();
    let mut file = take(reader.map_err(problem)?.into_tensors(), length)?;
    let others = state_dict
        .iter()
        .filter(|(_, value)| !is_tensor(value))
        .map(|(name, _)| name);
    file.ignored
        .extend(others.filter(|name| *name != VERSIONS).cloned());
    file.ignored.sort();
    file.unwrap_names();
    Ok(file)
}

/// Reads the floating-point tensors, once they are known not to be absurdly large.
fn take(tensors: HashMap<String, Tensor>, length: u64) -> Result<TensorFile, Problem> {
    let mut file = TensorFile::default();
    let mut floats = Vec::new();
    for (name, tensor) in tensors {
        match float(tensor.dtype()) {
            Some(kind) => floats.push((name, kind, tensor)),
            None => file.ignored.push(name),
        }
    }
    // Each is at most 10 GiB, or the crate would have refused it, so the sum cannot overflow.
    let bytes = floats
        .iter()
        .map(|(_, _, tensor)| tensor.byte_len() as u64)
        .sum();
    if bytes > length.saturating_mul(MAX_EXPANSION) {
        return Err(Problem::TensorsTooLarge { bytes, length });
    }
    for (name, kind, tensor) in floats {
        let mut bytes = tensor.read().map_err(|error| match error.raw_os_error() {
            Some(_) => Problem::Read(error),
            None => Problem::Damaged(error.to_string()),
        })?;
        if cfg!(target_endian = "big") {
            // The crate gives the machine's own order.
            bytes
                .chunks_exact_mut(tensor.dtype().size())
                .for_each(<[u8]>::reverse);
        }
        let shape = tensor.shape().to_vec();
        file.tensors.insert(
            name,
            Array {
                shape,
                values: kind.decode(&bytes),
            },
        );
    }
    Ok(file)
}

fn float(dtype: DType) -> Option<Float> {
    match dtype {
        DType::F16 => Some(Float::F16),
        DType::BF16 => Some(Float::Bf16),
        DType::F32 => Some(Float::F32),
        DType::F64 => Some(Float::F64),
        DType::I64 | DType::I32 | DType::I16 | DType::I8 => None,
        DType::U64 | DType::U32 | DType::U16 | DType::U8 | DType::Bool => None,
    }
}

fn is_tensor(value: &PickleValue) -> bool {
    matches!(value, PickleValue::Unsupported(kind) if kind == "torch.Tensor")
}

/// Whether there is a tensor in it, however deep.
fn has_tensor(value: &PickleValue) -> bool {
    match value {
        PickleValue::Dict(entries) => entries.values().any(has_tensor),
        PickleValue::List(items) => items.iter().any(has_tensor),
        other => is_tensor(other),
    }
}

fn sorted<'a>(names: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut names: Vec<String> = names.cloned().collect();
    names.sort();
    names
}

fn problem(error: PytorchError) -> Problem {
    match error {
        PytorchError::Io(error) if error.raw_os_error().is_some() => Problem::Read(error),
        PytorchError::Pickle(PickleError::UnsupportedType(object)) => {
            Problem::UnsupportedObject { object }
        }
        other => Problem::Damaged(other.to_string()),
    }
}
