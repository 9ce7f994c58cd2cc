//! Stochastic gradient descent and its rates.

use std::sync::Arc;

use burn::tensor::{Device, Tensor};
use newfound::network::{Parameters, Part, Spec, Start, download, upload};
use newfound::optimiser::{Rates, Sgd, at_rest};
use proptest::prelude::*;

use crate::fixture::{FORWARD, assert_close, cases};
use crate::generate::{Draw, generated};

fn vector(values: &[f64]) -> Tensor<1> {
    upload(values.iter().map(|&x| x as f32).collect(), &Device::flex())
}

/// PyTorch's formulas, number by number.
fn plain(sgd: Sgd, p: &mut [f64], v: &mut [f64], gradient: &[f64], rate: f64) {
    for i in 0..p.len() {
        let g = gradient[i] + sgd.weight_decay * p[i];
        v[i] = sgd.momentum * v[i] + g;
        p[i] -= rate * (g + sgd.momentum * v[i]);
    }
}

#[test]
fn by_hand() {
    // p = 1, ∇ = 1, λ = 1/2: g = v = 3/2, and the step is 0.1 (3/2 + 0.9 · 3/2) = 0.285.
    let sgd = Sgd {
        momentum: 0.9,
        weight_decay: 0.5,
    };
    let (p, v) = sgd.update(vector(&[1.0]), vector(&[0.0]), vector(&[1.0]), 0.1);
    assert_close("first p", &download(p.clone()), &[0.715], FORWARD);
    assert_close("first v", &download(v.clone()), &[1.5], FORWARD);
    // g = 1 + 0.3575, v = 0.9 · 1.5 + g = 2.7075.
    let (p, v) = sgd.update(p, v, vector(&[1.0]), 0.1);
    assert_close(
        "second p",
        &download(p),
        &[0.715 - 0.1 * (1.3575 + 0.9 * 2.7075)],
        FORWARD,
    );
    assert_close("second v", &download(v), &[2.7075], FORWARD);
}

#[test]
fn limits() {
    let still = Sgd {
        momentum: 0.9,
        weight_decay: 0.0,
    };
    let (p, v) = still.update(vector(&[3.0]), vector(&[0.0]), vector(&[0.0]), 0.1);
    assert_eq!(
        (download(p), download(v)),
        (vec![3.0], vec![0.0]),
        "nothing pulls"
    );
    let (p, v) = still.update(vector(&[3.0]), vector(&[2.0]), vector(&[1.0]), 0.0);
    assert_close("rate 0: the velocity only", &download(v), &[2.8], FORWARD);
    assert_eq!(download(p), [3.0]);
    let plain = Sgd {
        momentum: 0.0,
        weight_decay: 0.0,
    };
    let (p, _) = plain.update(vector(&[3.0]), vector(&[9.0]), vector(&[1.0]), 0.5);
    assert_eq!(download(p), [2.5], "without momentum: plain descent");
}

#[test]
fn rates() {
    let rates = Rates {
        base: 0.01,
        body: 0.1,
    };
    for part in [Part::Bottleneck, Part::Classifier] {
        assert_eq!(rates.at(part, 0.0), 0.01);
        assert!((rates.at(part, 1.0) / 0.01 - 11f64.powf(-0.75)).abs() < 1e-12);
        assert!((rates.at(part, 0.5) / 0.01 - 6f64.powf(-0.75)).abs() < 1e-12);
    }
    for part in [Part::Body(0), Part::Body(4)] {
        assert!(
            (rates.at(part, 0.0) - 0.001).abs() < 1e-15,
            "a share for the stem and for every stage"
        );
        assert!((rates.at(part, 1.0) / rates.at(Part::Classifier, 1.0) - 0.1).abs() < 1e-12);
    }
    let all: Vec<f64> = (0..=10)
        .map(|i| rates.at(Part::Classifier, f64::from(i) / 10.0))
        .collect();
    assert!(all.is_sorted_by(|a, b| a > b), "falling: {all:?}");
}

/// Parameters of any sizes; every third is measured, not learned.
fn parameters(sizes: &[usize], draw: &mut Draw) -> Parameters {
    let specs = sizes.iter().enumerate().map(|(i, &size)| Spec {
        name: format!("p{i}"),
        shape: vec![size],
        part: if i % 2 == 0 {
            Part::Body(i)
        } else {
            Part::Classifier
        },
        learned: i % 3 != 2,
        start: Start::Constant(0.0),
    });
    let values = sizes
        .iter()
        .map(|&size| vector(&draw.normal(1, size, 1.0).values))
        .collect();
    Parameters {
        specs: Arc::new(specs.collect()),
        values,
    }
}

/// A whole step: only what was tracked moves, each part at its own rate.
#[test]
fn twin() {
    let values = |tensor: &Tensor<1>| -> Vec<f64> {
        download(tensor.clone())
            .into_iter()
            .map(f64::from)
            .collect()
    };
    proptest!(generated(48), |(sizes in prop::collection::vec(1..5usize, 1..7), trained_from in 0..4usize, seed: u64)| {
        let mut draw = Draw::new(seed);
        let mut found = parameters(&sizes, &mut draw);
        let mut velocity = at_rest(&found);
        let sgd = Sgd { momentum: 0.9, weight_decay: 0.01 };
        let rates = Rates { base: 0.5, body: 0.25 };
        let mut p: Vec<Vec<f64>> = found.values.iter().map(values).collect();
        let mut v: Vec<Vec<f64>> = sizes.iter().map(|&size| vec![0.0; size]).collect();
        let trains = |spec: &Spec| spec.part >= Part::Body(trained_from);
        for _ in 0..3 {
            // The loss is Σ p², its gradient 2p.
            let tracked = found.tracked(trains);
            let squares = tracked.values.iter().map(|value| value.clone().square().sum());
            let loss = squares.reduce(|a, b| a + b).expect("at least one parameter");
            let rate = |spec: &Spec| rates.at(spec.part, 0.1);
            let specs = found.specs.clone();
            if specs.iter().any(|spec| spec.learned && trains(spec)) {
                let mut gradients = loss.backward();
                sgd.step(&mut found, &mut velocity, tracked, &mut gradients, rate);
            }
            for (i, spec) in specs.iter().enumerate() {
                if spec.learned && trains(spec) {
                    let gradient: Vec<f64> = p[i].iter().map(|p| 2.0 * p).collect();
                    plain(sgd, &mut p[i], &mut v[i], &gradient, rate(spec));
                }
            }
        }
        for i in 0..sizes.len() {
            assert_close("parameter", &download(found.values[i].clone()), &p[i], FORWARD);
            assert_close("velocity", &download(velocity[i].clone()), &v[i], FORWARD);
        }
    });
}

/// Three steps of two parameter groups, as PyTorch's own optimiser makes them.
#[test]
fn golden() {
    for case in cases("equations/optimiser") {
        let sgd = Sgd {
            momentum: case.number("momentum"),
            weight_decay: case.number("weight_decay"),
        };
        let base = case.number("head_learning_rate");
        let rates = Rates {
            base,
            body: case.number("body_learning_rate") / base,
        };
        let progress = download(case.tensor::<1>("progress"));
        for (key, part) in [("body", Part::Body(3)), ("head", Part::Classifier)] {
            let gradients: Tensor<2> = case.tensor(&format!("{key}_gradients"));
            let mut p: Tensor<1> = case.tensor(key);
            let mut v = Tensor::zeros_like(&p);
            let (mut ps, mut vs, mut factors) = (vec![], vec![], vec![]);
            for (step, &progress) in progress.iter().enumerate() {
                let rate = rates.at(part, f64::from(progress));
                let gradient = gradients
                    .clone()
                    .slice_dim(0, step..step + 1)
                    .squeeze_dim(0);
                (p, v) = sgd.update(p, v, gradient, rate);
                factors.push((rate / rates.at(part, 0.0)) as f32);
                ps.extend(download(p.clone()));
                vs.extend(download(v.clone()));
            }
            assert_close(&case.name, &factors, &case.expected("factor"), FORWARD);
            assert_close(&case.name, &ps, &case.expected(key), FORWARD);
            assert_close(
                &case.name,
                &vs,
                &case.expected(&format!("{key}_buffer")),
                FORWARD,
            );
        }
    }
}
