//! Weights that are packed once for many passes.

use newfound::network::{Engine, Pass, download};

use crate::formula;
use crate::model::{model, pass};

/// Features of the same images by these parameters, in a pass.
fn features(scale: f32, pass: &Pass) -> Vec<f32> {
    let (network, mut parameters) = model("resnet18", Engine::for_cpu(), 0.0);
    for value in &mut parameters.values {
        value.inplace(|value| value.mul_scalar(scale));
    }
    let input = formula::tensor("input", [2, 3, 64, 64]);
    download(network.features(&parameters, input, pass))
}

#[test]
fn other_parameters_are_never_taken_for_those_that_were_packed() {
    for training in [false, true] {
        let shared = pass(training);
        let first = features(1.0, &shared);
        // The first parameters are gone; what is packed of them must not serve the second.
        let second = features(0.5, &shared);
        assert_eq!(first, features(1.0, &pass(training)));
        assert_eq!(second, features(0.5, &pass(training)));
        assert_ne!(first, second);
    }
}

#[test]
fn a_pass_again_is_the_same_pass() {
    let (network, mut parameters) = model("resnet18", Engine::for_cpu(), 0.0);
    let input = || formula::tensor("input", [2, 3, 64, 64]);
    let first = pass(true);
    let mut answers = vec![download(network.features(&parameters, input(), &first))];
    let again = first.again();
    answers.push(download(network.features(&parameters, input(), &again)));
    assert_eq!(answers[0], answers[1]);

    // An update in place, as between two steps: the pack is of the old values, and is not used.
    let before = parameters.clone();
    let (_, fast) = model("resnet18", Engine::for_cpu(), 0.5);
    parameters.moving_average(&fast, 0.5);
    let after = download(network.features(&parameters, input(), &first.again()));
    assert_eq!(
        after,
        download(network.features(&parameters, input(), &pass(true)))
    );
    assert_ne!(after, answers[0]);
    assert_eq!(
        answers[0],
        download(network.features(&before, input(), &pass(true)))
    );
}
