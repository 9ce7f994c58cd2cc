//! The whole objective, Eq. (10).

use burn::tensor::{Device, Tensor};
use newfound::losses::total;
use newfound::network::download;
use proptest::prelude::*;

use crate::fixture::{FORWARD, GRADIENT, assert_close, cases, scalar};

fn term(value: f64) -> Tensor<1> {
    Tensor::from_data([value as f32], &Device::flex())
}

#[test]
fn by_hand() {
    let leaves = [2.0, 3.0, -1.0].map(|value| term(value).autodiff().require_grad());
    let [cls, ctr, div] = leaves.clone();
    let loss = total(cls, ctr, div, [1.0, 0.5, 2.0]);
    assert_eq!(scalar(&loss), 1.5);
    // Each term is pulled by its own weight.
    let gradients = loss.backward();
    let found: Vec<f32> = leaves
        .iter()
        .flat_map(|leaf| download(leaf.grad(&gradients).unwrap()))
        .collect();
    assert_close("gradient", &found, &[1.0, 0.5, 2.0], GRADIENT);
}

#[test]
fn limits() {
    assert_eq!(
        scalar(&total(term(4.0), term(5.0), term(6.0), [0.0, 0.0, 0.0])),
        0.0
    );
    for only in 0..3 {
        let mut gammas = [0.0; 3];
        gammas[only] = 1.0;
        let found = scalar(&total(term(4.0), term(5.0), term(6.0), gammas));
        assert_eq!(found, [4.0, 5.0, 6.0][only], "only one term");
    }
}

#[test]
fn twin() {
    let term_range = -10.0f32..10.0;
    let terms = [term_range.clone(), term_range.clone(), term_range];
    proptest!(crate::generate::generated(64), |(terms in terms, gammas in [0.0..5.0, 0.0..5.0, 0.0..5.0])| {
        let [cls, ctr, div] = terms.map(f64::from);
        let found = scalar(&total(term(cls), term(ctr), term(div), gammas)) as f32;
        let mut expected = 0.0;
        let mut size = 0.0;
        for (gamma, term) in gammas.into_iter().zip([cls, ctr, div]) {
            expected += gamma * term;
            size += (gamma * term).abs();
        }
        // The terms may cancel: compared with their sizes.
        assert_close("loss", &[found + size as f32], &[expected + size], FORWARD);
    });
}

#[test]
fn golden() {
    for case in cases("equations/total") {
        let [cls, ctr, div] = ["cls", "ctr", "div"].map(|key| term(case.number(key)));
        let gammas = ["gamma_1", "gamma_2", "gamma_3"].map(|key| case.number(key));
        case.check("loss", &total(cls, ctr, div, gammas));
        assert!(!case.has_gradients(&[]), "{}", case.name);
    }
}
