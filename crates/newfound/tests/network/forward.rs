//! Logits, pooled features and running statistics.

use newfound::network::{Engine, download};

use crate::fixture::{Case, FORWARD, cases};
use crate::formula;
use crate::model::{ENGINES, distance, model, named, pass};

/// Batch statistics of a 64-pixel image are taken over 8 values in the last stage, and each of tens of layers of them
/// multiplies the rounding of the layers before: PyTorch's own single precision is off by up to 8e-6.
const TENS_OF_LAYERS_IN_TRAINING: f64 = 3e-5;

/// As above, for fifty layers: PyTorch's own single precision is off by 7e-5.
const FIFTY_LAYERS_IN_TRAINING: f64 = 3e-4;

/// As above, for a hundred layers: PyTorch's own single precision is off by 4e-4.
const HUNDRED_LAYERS_IN_TRAINING: f64 = 2e-3;

fn check(name: &str, in_training: f64) {
    for case in cases(&format!("network/{name}")) {
        let training = case.name == "training";
        assert!(
            training || case.name == "evaluation",
            "{name}: {}",
            case.name
        );
        for engine in ENGINES {
            let tolerance = if training { in_training } else { FORWARD };
            for (key, found) in run(name, engine, &case, training) {
                let apart = distance(&found, &case.expected(key));
                let what = format!(
                    "{name}, {}, {engine:?}: {key} off by {apart:.1e}",
                    case.name
                );
                println!("{what}");
                assert!(apart <= tolerance, "{what}");
            }
        }
    }
}

/// All that the case has an expectation of.
fn run(name: &str, engine: Engine, case: &Case, training: bool) -> Vec<(&'static str, Vec<f32>)> {
    let shape: [usize; 4] = case
        .indices("input_shape")
        .try_into()
        .expect("four extents");
    let (network, mut parameters) = model(name, engine, 0.0);
    let pass = pass(training);
    let input = formula::tensor(case.text("input_name"), shape);
    let pooled = network.features(&parameters, input, &pass);
    let logits = network.logits(&parameters, pooled.clone());
    pass.update(&mut parameters);
    let mut found = vec![("pooled", download(pooled)), ("logits", download(logits))];
    for statistic in ["layer1.0.bn1.running_mean", "layer1.0.bn1.running_var"] {
        if training {
            found.push((statistic, download(named(&parameters, statistic).clone())));
        }
    }
    found
}

#[test]
fn small() {
    check("small", FORWARD);
}

#[test]
fn resnet18() {
    check("resnet18", TENS_OF_LAYERS_IN_TRAINING);
}

#[test]
fn resnet34() {
    check("resnet34", TENS_OF_LAYERS_IN_TRAINING);
}

#[test]
fn resnet50_v1() {
    check("resnet50_v1", FIFTY_LAYERS_IN_TRAINING);
}

#[test]
fn resnet50_v1_5() {
    check("resnet50_v1_5", FIFTY_LAYERS_IN_TRAINING);
}

#[test]
fn resnet101() {
    check("resnet101", HUNDRED_LAYERS_IN_TRAINING);
}
