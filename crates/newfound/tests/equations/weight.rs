//! From an uncertainty to a probability of being used, Eqs. (5) and (6).

use burn::tensor::{Device, Tensor, TensorData};
use newfound::network::download;
use newfound::uncertainty::{
    WeightFunction, class_separation, neighbour_consensus_uncertainty, weight,
};
use proptest::prelude::*;

use crate::fixture::{FORWARD, assert_close, cases};
use crate::generate::{Draw, generated};

const FUNCTIONS: [(WeightFunction, &str); 2] = [
    (WeightFunction::Linear, "w_linear"),
    (WeightFunction::Exponential, "w_exponential"),
];

fn weights(u: &[f64], function: WeightFunction) -> Vec<f32> {
    let values: Vec<f32> = u.iter().map(|&x| x as f32).collect();
    let count = values.len();
    let u: Tensor<1> = Tensor::from_data(TensorData::new(values, [count]), &Device::flex());
    download(weight(u, function))
}

#[test]
fn by_hand() {
    let u = [0.25, 2f64.ln()];
    assert_close(
        "linear",
        &weights(&u, WeightFunction::Linear),
        &[0.75, 1.0 - 2f64.ln()],
        FORWARD,
    );
    let expected = [(-0.25f64).exp(), 0.5];
    assert_close(
        "exponential",
        &weights(&u, WeightFunction::Exponential),
        &expected,
        FORWARD,
    );
}

#[test]
fn limits() {
    assert_eq!(weights(&[0.0, 1.0], WeightFunction::Linear), [1.0, 0.0]);
    assert_eq!(weights(&[0.0, 1.0], WeightFunction::None), [1.0, 1.0]);
    let found = weights(&[0.0, 1.0], WeightFunction::Exponential);
    assert_close(
        "exponential",
        &found,
        &[1.0, 1.0 / std::f64::consts::E],
        FORWARD,
    );
}

#[test]
fn twin() {
    proptest!(generated(32), |(count in 1..20usize, seed: u64)| {
        let u = Draw::new(seed).uniform(count);
        let linear: Vec<f64> = u.iter().map(|u| 1.0 - u).collect();
        assert_close("linear", &weights(&u, WeightFunction::Linear), &linear, FORWARD);
        let exponential: Vec<f64> = u.iter().map(|u| (-u).exp()).collect();
        assert_close("exponential", &weights(&u, WeightFunction::Exponential), &exponential, FORWARD);
    });
}

/// Both uncertainties through both functions.
#[test]
fn golden() {
    for case in cases("equations/u_nc") {
        for (function, key) in FUNCTIONS {
            let u = neighbour_consensus_uncertainty(case.tensor("probabilities"));
            case.check(key, &weight(u, function));
        }
    }
    for case in cases("equations/u_cs") {
        for (function, key) in FUNCTIONS {
            let [z, p, w] = ["features", "probabilities", "prototypes"].map(|key| case.tensor(key));
            case.check(
                key,
                &weight(class_separation(z, p, w).uncertainty, function),
            );
        }
    }
}
