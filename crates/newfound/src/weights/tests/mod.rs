//! The readers and the writer on whole files: real ones, hostile ones, damaged ones.

mod mutations;
mod pytorch;
mod safetensors;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Array, FileError, Problem, TensorFile, check_finite, read, write};

/// A file that `make.py` made in the folder of fixtures.
fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/weights")
        .join(name)
}

/// The network of every fixture: element i of the k-th tensor by name is k + (i − 3) / 4.
fn network() -> BTreeMap<String, Array> {
    let shapes: [(&str, &[usize]); 7] = [
        ("bn1.bias", &[3]),
        ("bn1.running_mean", &[3]),
        ("bn1.running_var", &[3]),
        ("bn1.weight", &[3]),
        ("conv1.weight", &[3, 2, 2, 2]),
        ("fc.bias", &[4]),
        ("fc.weight", &[4, 3]),
    ];
    let array = |(k, (name, shape)): (usize, (&str, &[usize]))| {
        let values = (0..shape.iter().product()).map(|i: usize| k as f32 + (i as f32 - 3.0) / 4.0);
        (name.to_string(), Array::new(shape, values.collect()))
    };
    shapes.into_iter().enumerate().map(array).collect()
}

/// Reads a file that holds these bytes.
fn read_bytes(bytes: &[u8]) -> Result<TensorFile, FileError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, bytes).unwrap();
    read(path)
}

#[test]
fn what_is_no_file_is_said_to_be_none() {
    let folder = tempfile::tempdir().unwrap();
    let error = read(folder.path()).unwrap_err();
    assert!(matches!(error.problem, Problem::NotAFile), "{error}");
    let error = read(folder.path().join("absent.pth")).unwrap_err();
    assert!(matches!(error.problem, Problem::Read(_)), "{error}");
    assert!(error.to_string().ends_with("absent.pth"), "{error}");
    assert_eq!(error.hint().as_deref(), Some("check the path"));
    assert!(matches!(
        read_bytes(b"").unwrap_err().problem,
        Problem::Empty
    ));
}

#[test]
fn non_finite_tensors_are_named() {
    let mut tensors = network();
    assert!(check_finite(&tensors).is_empty());
    tensors.get_mut("fc.weight").unwrap().values[5] = f32::NAN;
    tensors.get_mut("bn1.bias").unwrap().values[0] = f32::NEG_INFINITY;
    assert_eq!(check_finite(&tensors), ["bn1.bias", "fc.weight"]);
}

#[test]
fn unwrapping_names_keeps_everything_else() {
    let wrapped = network()
        .into_iter()
        .map(|(name, array)| (format!("model.{name}"), array));
    let mut file = TensorFile {
        tensors: wrapped.collect(),
        metadata: BTreeMap::from([("model.".into(), "model.".into())]),
        ignored: vec!["model.bn1.num_batches_tracked".into(), "other".into()],
    };
    let metadata = file.metadata.clone();
    assert_eq!(file.unwrap_names().as_deref(), Some("model."));
    assert_eq!(file.tensors, network());
    assert_eq!(file.metadata, metadata);
    assert_eq!(file.ignored, ["bn1.num_batches_tracked", "other"]);
    assert_eq!(file.unwrap_names(), None);
}

#[test]
#[should_panic(expected = "does not fit")]
fn an_array_must_fit_its_shape() {
    Array::new([2, 3], vec![0.0; 5]);
}
