//! Logits, pooled features and running statistics.

use newfound::network::download;

use crate::fixture::{FORWARD, cases};
use crate::formula;
use crate::model::{distance, model, named, pass};

/// Batch statistics of a 64-pixel image are taken over 8 values in the last stage, and each of fifty layers of them
/// multiplies the rounding of the layers before: PyTorch's own single precision is off by 7e-5.
const FIFTY_LAYERS_IN_TRAINING: f64 = 3e-4;

/// As above, for a hundred layers: PyTorch's own single precision is off by 4e-4.
const HUNDRED_LAYERS_IN_TRAINING: f64 = 2e-3;

/// As above, for 18 and 34 layers: PyTorch's own single precision is off by 3e-6 and 8e-6.
const TENS_OF_LAYERS_IN_TRAINING: f64 = 3e-5;

fn check(name: &str, in_training: f64) {
    for case in cases(&format!("network/{name}")) {
        let training = case.name == "training";
        assert!(training || case.name == "evaluation", "{name}: {}", case.name);
        let tolerance = if training { in_training } else { FORWARD };
        let shape: [usize; 4] = case.indices("input_shape").try_into().expect("four extents");
        let (network, mut parameters) = model(name, 0.0);
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
        for (key, found) in found {
            let apart = distance(&found, &case.expected(key));
            println!("{name}, {}: {key} off by {apart:.1e}", case.name);
            assert!(apart <= tolerance, "{name}, {}: {key} off by {apart:.1e}", case.name);
        }
    }
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
