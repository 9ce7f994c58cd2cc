//! The graph gives what the model gives: features, logits, probabilities, the mass of the unknown.

use burn::tensor::activation::softmax;
use burn::tensor::{Device, Tensor, TensorData};
use newfound::export::{self, Format};
use newfound::network::model::Model;
use newfound::network::{Backbone, Engine, Pass, StridePlacement, download};
use newfound::weights::Array;

use crate::file::{self, OnnxFile};
use crate::interpreter;
use crate::model::{images, model};

/// The model computes in single precision, the interpreter in double: their distance is the model's own rounding, for which
/// the project's tolerance of a forward pass holds.
const FORWARD: f64 = 1e-5;

/// What newfound itself computes: features, logits, probabilities.
pub fn outputs(model: &Model, images: &Array) -> [Vec<f32>; 3] {
    let normalisation = &model.description.normalisation;
    let area = images.shape[2] * images.shape[3];
    let scaled = images.values.iter().enumerate().map(|(i, value)| {
        let channel = i / area % 3;
        (value - normalisation.mean[channel]) / normalisation.std[channel]
    });
    let shape: [usize; 4] = images.shape[..].try_into().unwrap();
    let device = Device::flex();
    let data = TensorData::new(scaled.collect::<Vec<f32>>(), shape);
    let (network, parameters) = model.load(Engine::for_cpu(), &device);
    let input = Tensor::<4>::from_data(data, &device);
    let features = network.features(&parameters, input, &Pass::evaluation());
    let logits = network.logits(&parameters, features.clone());
    let probabilities = softmax(logits.clone(), 1);
    [features, logits, probabilities].map(download)
}

fn exported(model: &Model) -> OnnxFile {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    export::write(model.clone(), Format::Onnx, &path).unwrap();
    OnnxFile::read(&std::fs::read(path).unwrap())
}

/// ‖found − expected‖ / ‖expected‖
fn distance(found: &[f64], expected: &[f32]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let expected = expected.iter().map(|&e| f64::from(e));
    let apart = found.iter().zip(expected.clone()).map(|(f, e)| f - e);
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt();
    norm(&mut apart.into_iter()) / norm(&mut expected.into_iter())
}

/// Odd sides, so that windows of stride 2 meet the border in both ways.
fn check(backbone: Backbone, stride: StridePlacement, bottleneck: Option<usize>, side: u32) {
    let model = model(backbone, stride, bottleneck, 3, side);
    let images = images(2, side);
    let file = exported(&model);
    let input = file::Array {
        shape: images.shape.clone(),
        values: images.values.iter().map(|&v| v.into()).collect(),
    };
    let found = interpreter::run(&file, &input);
    let names: Vec<&str> = file.outputs.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["probabilities", "logits", "features", "unknown"]);
    let [features, logits, probabilities] = outputs(&model, &images);
    let certain = probabilities.iter().any(|&p| p > 0.99);
    assert!(!certain, "certainty would hide a difference: {logits:?}");
    let private = probabilities
        .chunks_exact(5)
        .map(|row| row[2..].iter().sum());
    let expected = [
        ("features", &features),
        ("logits", &logits),
        ("probabilities", &probabilities),
        ("unknown", &private.collect()),
    ];
    for (name, expected) in expected {
        let apart = distance(&found[name].values, expected);
        let what = format!("{backbone} {stride} {bottleneck:?}: {name} off by {apart:.1e}");
        println!("{what}");
        assert!(apart <= FORWARD, "{what}");
    }
}

#[test]
fn small() {
    check(Backbone::Small, StridePlacement::Spatial, Some(7), 21);
    check(Backbone::Small, StridePlacement::Spatial, None, 16);
}

#[test]
fn resnet18() {
    check(Backbone::Resnet18, StridePlacement::Spatial, Some(16), 49);
    check(Backbone::Resnet18, StridePlacement::Spatial, None, 64);
}

#[test]
fn resnet34() {
    check(Backbone::Resnet34, StridePlacement::Spatial, Some(16), 49);
}

#[test]
fn resnet50() {
    for stride in [StridePlacement::Spatial, StridePlacement::First] {
        check(Backbone::Resnet50, stride, Some(16), 49);
        check(Backbone::Resnet50, stride, None, 33);
    }
}

#[test]
fn resnet101() {
    check(Backbone::Resnet101, StridePlacement::Spatial, Some(16), 49);
    check(Backbone::Resnet101, StridePlacement::First, None, 33);
}

#[test]
fn a_model_without_private_classes_knows_no_unknown() {
    let model = model(Backbone::Small, StridePlacement::Spatial, Some(7), 0, 16);
    let input = file::Array {
        shape: vec![3, 3, 16, 16],
        values: vec![0.5; 3 * 3 * 16 * 16],
    };
    let found = interpreter::run(&exported(&model), &input);
    assert_eq!(found["unknown"].values, [0.0; 3]);
}

#[test]
fn the_file_says_what_it_is() {
    let model = model(
        Backbone::Resnet18,
        StridePlacement::Spatial,
        Some(16),
        1,
        48,
    );
    let file = exported(&model);
    let note = |key: &str| -> serde_json::Value {
        serde_json::from_str(&file.metadata[key]).expect("a number or JSON")
    };
    assert_eq!(note("known"), 2);
    assert_eq!(note("private"), 1);
    let classes = serde_json::json!(["cup", "plate, \"deep\"", "unknown-1"]);
    assert_eq!(note("classes"), classes);
    assert_eq!(note("architecture")["backbone"], "resnet18");
    let preprocessing = note("preprocessing");
    assert_eq!(preprocessing["crop"], 48);
    assert_eq!(preprocessing["resize"], 55);
    assert_eq!(preprocessing["mean"].to_string(), "[0.4,0.5,0.6]");
    assert_eq!(preprocessing["normalised"], "in the graph");
    let image = [None, Some(3), Some(48), Some(48)];
    assert_eq!(file.inputs, [("images".to_string(), image.to_vec())]);
}
