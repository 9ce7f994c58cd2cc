//! Do the neighbours agree? Eq. (3).

use newfound::network::download;
use newfound::uncertainty::neighbour_consensus_uncertainty;
use proptest::prelude::*;

use crate::fixture::{FORWARD, GRADIENT, assert_close, cases};
use crate::generate::{Draw, Matrix, generated};

fn u_nc(refined: &Matrix) -> Vec<f32> {
    download(neighbour_consensus_uncertainty(refined.tensor()))
}

/// Bits of entropy, class by class, over the bits of K equal classes.
fn plain(refined: &Matrix) -> Vec<f64> {
    let most = (refined.cols as f64).log2();
    let bits = |&p: &f64| if p > 0.0 { -p * p.log2() } else { 0.0 };
    refined
        .iter()
        .map(|row| row.iter().map(bits).sum::<f64>() / most)
        .collect()
}

#[test]
fn by_hand() {
    // (1/2, 1/4, 1/8, 1/8) has 1/2 + 1/2 + 3/8 + 3/8 = 7/4 bits of 2.
    let refined = Matrix::of([[0.5, 0.25, 0.125, 0.125], [0.5, 0.5, 0.0, 0.0]]);
    assert_close("u_nc", &u_nc(&refined), &[7.0 / 8.0, 0.5], FORWARD);
}

#[test]
fn limits() {
    for classes in [2, 7, 65] {
        let uniform = Matrix {
            rows: 1,
            cols: classes,
            values: vec![1.0 / classes as f64; classes],
        };
        let found = u_nc(&uniform);
        assert_close(&format!("uniform over {classes}"), &found, &[1.0], FORWARD);
        assert!(found[0] <= 1.0, "rounding must not pass 1: {found:?}");
        let mut one_hot = Matrix {
            values: vec![0.0; classes],
            ..uniform
        };
        one_hot.values[classes / 2] = 1.0;
        assert_eq!(u_nc(&one_hot), [0.0], "one-hot of {classes}");
    }
    // A single class leaves nothing to disagree about.
    assert_eq!(u_nc(&Matrix::of([[1.0]])), [0.0]);
    // A sum slightly above 1, as rounded probabilities have, must not give a negative entropy.
    assert_eq!(u_nc(&Matrix::of([[1.000_001, 0.0]])), [0.0]);
}

#[test]
fn twin() {
    proptest!(generated(64), |(batch in 1..9usize, classes in 2..12usize, seed: u64)| {
        let mut draw = Draw::new(seed);
        let (refined, probe) = (draw.probabilities(batch, classes), draw.normal(1, batch, 1.0));
        // At the clamp there is no slope.
        prop_assume!(plain(&refined).iter().all(|u| (1e-3..0.999).contains(u)));
        let leaf = refined.leaf();
        let found = neighbour_consensus_uncertainty(leaf.clone());
        assert_close("u_nc", &download(found.clone()), &plain(&refined), FORWARD);
        let weighted = found * probe.tensor().reshape([batch]).autodiff();
        let found = download(leaf.grad(&weighted.sum().backward()).unwrap());
        // The slope of −p log p is −1 − log p, which no difference quotient gets right near 0.
        let most = (classes as f64).ln();
        let slope = |(p, probe): (&f64, &f64)| probe * (-1.0 - p.ln()) / most;
        let probes = probe.values.iter().flat_map(|p| std::iter::repeat_n(p, classes));
        let expected: Vec<f64> = refined.values.iter().zip(probes).map(slope).collect();
        assert_close("gradient", &found, &expected, GRADIENT);
    });
}

#[test]
fn golden() {
    for case in cases("equations/u_nc") {
        let refined = case.leaf("probabilities");
        let found = neighbour_consensus_uncertainty(refined.clone());
        case.check("u_nc", &found);
        if case.has_gradients(&["probabilities"]) {
            let gradients = (found * case.tensor("probe").autodiff()).sum().backward();
            case.check_gradient("probabilities", &refined, &gradients);
        }
    }
}
