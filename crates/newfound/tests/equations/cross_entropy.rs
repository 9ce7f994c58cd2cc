//! The loss of source training.

use newfound::losses::cross_entropy;
use newfound::network::download;
use proptest::prelude::*;

use crate::fixture::{FORWARD, GRADIENT, assert_close, cases, index_tensor, scalar};
use crate::generate::{Draw, Matrix, generated, slope, softmax};

fn loss(logits: &Matrix, labels: &[usize], smoothing: f64) -> f64 {
    scalar(&cross_entropy(
        logits.tensor(),
        index_tensor(labels),
        smoothing,
    ))
}

fn gradient(logits: &Matrix, labels: &[usize], smoothing: f64) -> Vec<f32> {
    let leaf = logits.leaf();
    let loss = cross_entropy(leaf.clone(), index_tensor(labels), smoothing);
    download(leaf.grad(&loss.backward()).unwrap())
}

/// Class by class, with the smoothed target written out.
fn plain(logits: &Matrix, labels: &[usize], smoothing: f64) -> f64 {
    let mut sum = 0.0;
    for (row, &label) in logits.iter().zip(labels) {
        for (class, p) in softmax(row).into_iter().enumerate() {
            let hard = if class == label { 1.0 - smoothing } else { 0.0 };
            sum -= (hard + smoothing / logits.cols as f64) * p.ln();
        }
    }
    sum / logits.rows as f64
}

#[test]
fn by_hand() {
    // The softmax of (log 3, 0) is (3/4, 1/4); smoothing by 0.1 makes the target (0.95, 0.05).
    let logits = Matrix::of([[3f64.ln(), 0.0]]);
    let (likely, unlikely) = (-(0.75f64.ln()), -(0.25f64.ln()));
    let found = [
        loss(&logits, &[0], 0.0),
        loss(&logits, &[1], 0.0),
        loss(&logits, &[0], 0.1),
    ];
    let expected = [likely, unlikely, 0.95 * likely + 0.05 * unlikely];
    for (found, expected) in found.into_iter().zip(expected) {
        assert_close("loss", &[found as f32], &[expected], FORWARD);
    }
    // softmax − target
    assert_close(
        "gradient",
        &gradient(&logits, &[0], 0.1),
        &[-0.2, 0.2],
        GRADIENT,
    );
}

#[test]
fn limits() {
    let uniform = Matrix {
        rows: 2,
        cols: 7,
        values: vec![3.0; 14],
    };
    for smoothing in [0.0, 0.1, 1.0] {
        let found = loss(&uniform, &[0, 6], smoothing) as f32;
        assert_close("uniform", &[found], &[7f64.ln()], FORWARD);
    }
    let certain = Matrix::of([[1e4, -1e4]]);
    assert_eq!(loss(&certain, &[0], 0.0), 0.0, "certain and right");
    assert_eq!(
        loss(&certain, &[1], 0.0),
        2e4,
        "certain and wrong: large, not infinite"
    );
    assert_eq!(gradient(&certain, &[1], 0.0), [1.0, -1.0]);
}

#[test]
fn twin() {
    proptest!(generated(64), |(batch in 1..9usize, classes in 2..9usize, smoothing in 0.0..0.5, seed: u64)| {
        let mut draw = Draw::new(seed);
        let (logits, labels) = (draw.normal(batch, classes, 3.0), draw.below(classes, batch));
        let found = loss(&logits, &labels, smoothing) as f32;
        assert_close("loss", &[found], &[plain(&logits, &labels, smoothing)], FORWARD);
        let expected = slope(&logits, |logits| plain(logits, &labels, smoothing));
        assert_close("gradient", &gradient(&logits, &labels, smoothing), &expected, GRADIENT);
    });
}

#[test]
fn golden() {
    for case in cases("equations/cross_entropy") {
        let logits = case.leaf("logits");
        let labels = index_tensor(&case.indices("labels"));
        let loss = cross_entropy(logits.clone(), labels, case.number("smoothing"));
        case.check("loss", &loss);
        assert!(case.has_gradients(&["logits"]), "{}", case.name);
        case.check_gradient("logits", &logits, &loss.backward());
    }
}
