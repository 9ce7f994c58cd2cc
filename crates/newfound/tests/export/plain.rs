//! Plain weights: torchvision's names, effective rows, and the way back.

use std::collections::BTreeMap;
use std::path::Path;

use newfound::export::{self, Format};
use newfound::network::model::{Foreign, Model};
use newfound::network::{Backbone, StridePlacement};
use newfound::weights::{self, Array, TensorFile};

use crate::graph::outputs;
use crate::model::{images, model};

/// The rows are rounded once more on the way: a unit in the last place of each weight.
const ROUNDED_ONCE: f32 = 2e-6;

fn exported(model: &Model, path: &Path) -> TensorFile {
    export::write(model.clone(), Format::Safetensors, path).unwrap();
    weights::read(path).unwrap()
}

#[test]
fn what_is_exported_is_read_as_the_same_model() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let cases = [
        (Backbone::Small, StridePlacement::Spatial, Some(7)),
        (Backbone::Small, StridePlacement::Spatial, None),
        (Backbone::Resnet50, StridePlacement::First, Some(16)),
    ];
    for (backbone, stride, bottleneck) in cases {
        let model = model(backbone, stride, bottleneck, 3, 32);
        let file = exported(&model, &path);
        assert_eq!(
            newfound::network::model::stated_stride(&file),
            Some(stride),
            "for train --weights"
        );
        let again = Model::read(&path, &Foreign::default()).unwrap();
        assert_eq!(again.description, model.description);
        let images = images(2, 32);
        let pairs = outputs(&model, &images)
            .into_iter()
            .zip(outputs(&again, &images));
        for (before, after) in pairs {
            assert_eq!(before.len(), after.len());
            for (before, after) in before.iter().zip(&after) {
                let apart = (before - after).abs();
                assert!(apart <= ROUNDED_ONCE * before.abs().max(1.0), "{apart:.1e}");
            }
        }
    }
}

#[test]
fn names_and_rows_are_those_of_other_tools() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let last = |file: &TensorFile| -> BTreeMap<String, Vec<usize>> {
        let last = file.tensors.iter().filter(|(name, _)| !is_body(name));
        last.map(|(name, array)| (name.clone(), array.shape.clone()))
            .collect()
    };
    let names = |pairs: &[(&str, &[usize])]| -> BTreeMap<String, Vec<usize>> {
        let owned = |&(name, shape): &(&str, &[usize])| (name.to_string(), shape.to_vec());
        pairs.iter().map(owned).collect()
    };
    let plain = model(Backbone::Resnet18, StridePlacement::Spatial, None, 1, 32);
    let file = exported(&plain, &path);
    let expected = names(&[("fc.weight", &[3, 512]), ("fc.bias", &[3])]);
    assert_eq!(last(&file), expected);

    let ours = model(Backbone::Small, StridePlacement::Spatial, Some(7), 1, 32);
    let file = exported(&ours, &path);
    let expected = names(&[
        ("fc.0.weight", &[7, 128]),
        ("fc.0.bias", &[7]),
        ("fc.1.weight", &[7]),
        ("fc.1.bias", &[7]),
        ("fc.1.running_mean", &[7]),
        ("fc.1.running_var", &[7]),
        ("fc.2.weight", &[3, 7]),
        ("fc.2.bias", &[3]),
    ]);
    assert_eq!(last(&file), expected);
    // Each row has the length that was learned, in the direction that was learned.
    let rows = file.tensors["fc.2.weight"].values.chunks_exact(7);
    let directions = ours.arrays["classifier.weight_v"].values.chunks_exact(7);
    let gains = &ours.arrays["classifier.weight_g"].values;
    for ((row, direction), gain) in rows.zip(directions).zip(gains) {
        let norm = direction.iter().map(|x| x * x).sum::<f32>().sqrt();
        for (w, v) in row.iter().zip(direction) {
            assert!((w - v / norm * gain).abs() < 1e-6);
        }
    }
}

fn is_body(name: &str) -> bool {
    ["conv1.", "bn1.", "layer"]
        .iter()
        .any(|start| name.starts_with(start))
}

#[test]
fn a_file_that_lies_about_its_classifier_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let model = model(Backbone::Small, StridePlacement::Spatial, Some(7), 1, 32);
    let file = exported(&model, &path);
    let lies = [
        ("fc.2.weight", vec![21]),
        ("fc.2.weight", vec![7, 3]),
        ("fc.2.weight", vec![3, 0]),
        ("fc.2.weight", vec![]),
        ("fc.2.bias", vec![1]),
        ("fc.2.bias", vec![3, 1]),
        ("fc.0.weight", vec![128, 7]),
        ("fc.1.running_var", vec![8]),
    ];
    for (name, shape) in lies {
        let mut tensors = file.tensors.clone();
        let count = shape.iter().product();
        tensors.insert(name.into(), Array::new(shape.clone(), vec![0.5; count]));
        weights::write(&path, &tensors, &file.metadata).unwrap();
        let error = Model::read(&path, &Foreign::default()).unwrap_err();
        assert!(error.is_request(), "{name} {shape:?}: {error}");
        let missing = file.tensors.keys().filter(|other| *other != name);
        let rest = missing.map(|other| (other.clone(), file.tensors[other].clone()));
        weights::write(&path, &rest.collect(), &file.metadata).unwrap();
        assert!(Model::read(&path, &Foreign::default()).is_err(), "{name}");
    }
}
