//! Which images take part in the classification loss, Eq. (7).

use burn::tensor::{Device, Tensor, TensorData};
use newfound::uncertainty::{Combination, select};
use proptest::prelude::*;

use crate::fixture::{bits, cases};
use crate::generate::{Draw, generated};

fn vector(values: &[f64]) -> Tensor<1> {
    let values: Vec<f32> = values.iter().map(|&x| x as f32).collect();
    let count = values.len();
    Tensor::from_data(TensorData::new(values, [count]), &Device::flex())
}

fn selected(weights: [&[f64]; 2], draws: [&[f64]; 2], combination: Combination) -> Vec<i64> {
    bits(select(weights.map(vector), draws.map(vector), combination))
}

#[test]
fn by_hand() {
    // Both draws below their weights; only the consensus's; only the separation's; none.
    let weights: [&[f64]; 2] = [&[0.5, 0.5, 0.5, 0.5], &[0.8, 0.8, 0.8, 0.8]];
    let draws: [&[f64]; 2] = [&[0.4, 0.4, 0.6, 0.6], &[0.7, 0.9, 0.7, 0.9]];
    assert_eq!(selected(weights, draws, Combination::And), [1, 0, 0, 0]);
    assert_eq!(selected(weights, draws, Combination::Or), [1, 1, 1, 0]);
}

#[test]
fn limits() {
    // Draws lie in [0, 1): weight 1 always succeeds and weight 0 never does.
    let almost_one = f64::from(1f32.next_down());
    let draws: [&[f64]; 2] = [&[0.0, almost_one], &[0.0, almost_one]];
    for (weight, expected) in [(1.0, [1, 1]), (0.0, [0, 0])] {
        let weights: [&[f64]; 2] = [&[weight; 2], &[weight; 2]];
        assert_eq!(
            selected(weights, draws, Combination::And),
            expected,
            "weight {weight}"
        );
        assert_eq!(
            selected(weights, draws, Combination::Or),
            expected,
            "weight {weight}"
        );
    }
    let equal: [&[f64]; 2] = [&[0.5], &[0.5]];
    assert_eq!(
        selected(equal, equal, Combination::Or),
        [0],
        "a draw at its weight is not below it"
    );
}

#[test]
fn twin() {
    proptest!(generated(64), |(count in 1..40usize, seed: u64)| {
        let mut draw = Draw::new(seed);
        let [w_nc, w_cs, d_nc, d_cs] = std::array::from_fn(|_| draw.uniform(count));
        for combination in [Combination::And, Combination::Or] {
            let expected: Vec<i64> = (0..count)
                .map(|i| {
                    let (nc, cs) = (d_nc[i] < w_nc[i], d_cs[i] < w_cs[i]);
                    i64::from(if combination == Combination::And { nc && cs } else { nc || cs })
                })
                .collect();
            prop_assert_eq!(selected([&w_nc, &w_cs], [&d_nc, &d_cs], combination), expected);
        }
    });
}

#[test]
fn golden() {
    for case in cases("equations/selection") {
        for (combination, key) in [(Combination::And, "and"), (Combination::Or, "or")] {
            let weights = ["w_nc", "w_cs"].map(|key| case.tensor(key));
            let draws = ["draw_nc", "draw_cs"].map(|key| case.tensor(key));
            let found = bits(select(weights, draws, combination));
            assert_eq!(found, case.expected_ints(key), "{}: {key}", case.name);
        }
    }
}
