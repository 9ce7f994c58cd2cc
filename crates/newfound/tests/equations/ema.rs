//! The momentum model's moving average.

use std::sync::Arc;

use burn::tensor::Device;
use newfound::config::Ema;
use newfound::network::{Parameters, Part, Spec, Start, download, upload};
use proptest::prelude::*;

use crate::fixture::{FORWARD, assert_close, cases};
use crate::generate::{Draw, generated};

/// Two parameters of this length: a learned one and a running statistic.
fn parameters(values: [Vec<f32>; 2]) -> Parameters {
    let spec = |learned, size| Spec {
        name: format!("learned: {learned}"),
        shape: vec![size],
        part: Part::Classifier,
        learned,
        start: Start::Constant(0.0),
    };
    let specs = vec![spec(true, values[0].len()), spec(false, values[1].len())];
    Parameters {
        specs: Arc::new(specs),
        values: values
            .into_iter()
            .map(|values| upload(values, &Device::flex()))
            .collect(),
    }
}

/// Both parameters after one update.
fn averaged(m: f64, slow: [Vec<f32>; 2], fast: [Vec<f32>; 2]) -> Vec<f32> {
    let mut slow = parameters(slow);
    slow.moving_average(&parameters(fast), m);
    slow.values.into_iter().flat_map(download).collect()
}

#[test]
fn by_hand() {
    let found = averaged(
        0.75,
        [vec![4.0], vec![0.0, 1.0]],
        [vec![8.0], vec![4.0, 1.0]],
    );
    assert_eq!(found, [5.0, 1.0, 1.0], "running statistics too");
}

#[test]
fn limits() {
    let (slow, fast) = ([vec![1.5], vec![-2.0]], [vec![7.0], vec![3.0]]);
    assert_eq!(
        averaged(0.0, slow.clone(), fast.clone()),
        [7.0, 3.0],
        "m = 0 copies"
    );
    assert_eq!(averaged(1.0, slow, fast), [1.5, -2.0], "m = 1 keeps");
}

/// Many small steps arrive: (1 − m)^n of the way is left, and rounding does not hold it up.
#[test]
fn many_steps_converge() {
    let mut slow = parameters([vec![0.0], vec![0.0]]);
    let fast = parameters([vec![1.0], vec![1.0]]);
    (0..5000).for_each(|_| slow.moving_average(&fast, 0.999));
    let left = 0.999f64.powi(5000); // 0.7 %
    assert_close(
        "after 5000 steps",
        &download(slow.values[0].clone()),
        &[1.0 - left],
        1e-4,
    );
}

#[test]
fn the_automatic_momentum_remembers_a_fifth_of_the_run() {
    assert_eq!(Ema::AUTO.at(100), 0.95);
    assert_eq!(Ema::AUTO.at(50), 0.9);
    assert_eq!(Ema::AUTO.at(1000), 0.995);
    for few in [0, 1, 10, 49] {
        assert_eq!(Ema::AUTO.at(few), 0.9, "{few} steps: never below 0.9");
    }
    for many in [5000, 1_000_000] {
        assert_eq!(
            Ema::AUTO.at(many),
            0.999,
            "{many} steps: never above the paper's value"
        );
    }
    assert_eq!(
        Ema::Momentum(0.42).at(7),
        0.42,
        "a given value is taken as it is"
    );
    // What it promises: after the run less than 1 % of the source model is left.
    for steps in [50, 100, 500, 5000] {
        assert!(
            Ema::AUTO.at(steps).powi(steps as i32) < 0.01,
            "{steps} steps"
        );
    }
}

#[test]
fn twin() {
    proptest!(generated(32), |(size in 1..9usize, m in 0.0..1.0, seed: u64)| {
        let mut draw = Draw::new(seed);
        let mut single = || -> Vec<f32> { draw.normal(1, size, 1.0).values.iter().map(|&x| x as f32).collect() };
        let (slow, fast) = ([single(), single()], [single(), single()]);
        let expected: Vec<f64> = slow
            .concat()
            .into_iter()
            .zip(fast.concat())
            .map(|(slow, fast)| m * f64::from(slow) + (1.0 - m) * f64::from(fast))
            .collect();
        assert_close("average", &averaged(m, slow, fast), &expected, FORWARD);
    });
}

#[test]
fn golden() {
    for case in cases("equations/ema") {
        let [slow, fast] =
            ["momentum_parameters", "parameters"].map(|key| download(case.tensor::<2>(key)));
        let found = averaged(case.number("m"), [slow.clone(), slow], [fast.clone(), fast]);
        let expected = case.expected("momentum_parameters");
        assert_close(
            &case.name,
            &found,
            &[expected.clone(), expected].concat(),
            FORWARD,
        );
    }
}
