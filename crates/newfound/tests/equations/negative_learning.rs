//! L_cls, Eq. (8), on one complementary label and on all of them.

use newfound::losses::{negative_learning, negative_learning_of_all};
use newfound::network::download;
use proptest::prelude::*;

use crate::fixture::{FORWARD, GRADIENT, assert_close, cases, index_tensor, scalar};
use crate::generate::{Draw, Matrix, generated, slope, softmax};

fn loss(logits: &Matrix, complementary: &[usize], selected: &[bool]) -> f64 {
    scalar(&negative_learning(
        logits.tensor(),
        index_tensor(complementary),
        weights(selected),
    ))
}

fn gradient(logits: &Matrix, complementary: &[usize], selected: &[bool]) -> Vec<f32> {
    let leaf = logits.leaf();
    let selected = weights(selected).autodiff();
    let loss = negative_learning(leaf.clone(), index_tensor(complementary), selected);
    download(leaf.grad(&loss.backward()).unwrap())
}

fn weights(selected: &[bool]) -> burn::tensor::Tensor<1> {
    let selected: Vec<usize> = selected.iter().map(|&s| usize::from(s)).collect();
    index_tensor(&selected).float()
}

/// Eq. (8) as it is written, with 1 − p by subtraction.
fn plain(logits: &Matrix, complementary: &[usize], selected: &[bool]) -> f64 {
    let mut sum = 0.0;
    let mut count = 0.0;
    for ((row, &other), &selected) in logits.iter().zip(complementary).zip(selected) {
        if selected {
            sum -= (1.0 - softmax(row)[other]).clamp(1e-5, 1.0).ln();
            count += 1.0;
        }
    }
    if count == 0.0 { 0.0 } else { sum / count }
}

#[test]
fn by_hand() {
    // The softmax of (log 1, log 1, log 2) is (1/4, 1/4, 1/2).
    let logits = Matrix::of([[0.0, 0.0, 2f64.ln()], [0.0, 0.0, 2f64.ln()]]);
    let found = [
        loss(&logits, &[2, 0], &[true, false]),
        loss(&logits, &[2, 0], &[false, true]),
        loss(&logits, &[2, 0], &[true, true]),
    ];
    let (half, quarter) = (2f64.ln(), (4f64 / 3.0).ln());
    for (found, expected) in found
        .into_iter()
        .zip([half, quarter, (half + quarter) / 2.0])
    {
        assert_close("loss", &[found as f32], &[expected], FORWARD);
    }
    // d −log(1 − p) / d logits = p / (1 − p) · (one-hot − softmax), here with p = 1/2.
    let found = gradient(&logits, &[2, 0], &[true, false]);
    assert_close(
        "gradient",
        &found,
        &[-0.25, -0.25, 0.5, 0.0, 0.0, 0.0],
        GRADIENT,
    );
}

#[test]
fn limits() {
    let huge = Matrix::of([[80.0, -80.0, -80.0], [-1e4, 1e4, 0.0]]);
    assert_eq!(
        loss(&huge, &[0, 1], &[false, false]),
        0.0,
        "an empty selection"
    );
    assert_eq!(
        gradient(&huge, &[0, 1], &[false, false]),
        [0.0; 6],
        "an empty selection"
    );
    // The complementary label is certain: the clamp holds, and lets no gradient through.
    let clamped = loss(&huge, &[0, 1], &[true, true]);
    assert_close(
        "at the clamp",
        &[clamped as f32],
        &[-(1e-5f64.ln())],
        FORWARD,
    );
    assert_eq!(
        gradient(&huge, &[0, 1], &[true, true]),
        [0.0; 6],
        "at the clamp"
    );
    // It is impossible: nothing to learn.
    assert_eq!(loss(&huge, &[1, 0], &[true, true]), 0.0);
    assert_eq!(gradient(&huge, &[1, 0], &[true, true]), [0.0; 6]);
    for classes in [2, 3, 65] {
        let uniform = Matrix {
            rows: 1,
            cols: classes,
            values: vec![7.0; classes],
        };
        let found = loss(&uniform, &[classes - 1], &[true]);
        let expected = (classes as f64 / (classes - 1) as f64).ln();
        assert_close(
            &format!("uniform over {classes}"),
            &[found as f32],
            &[expected],
            FORWARD,
        );
    }
}

/// Near p = 1 the plain formula 1 − softmax has lost its digits; the sum over the other classes has not.
#[test]
fn close_to_the_clamp_all_digits_are_there() {
    for logit in [5.0, 8.0, 11.0] {
        let logits = Matrix::of([[logit, 0.0]]);
        let rest = 1.0 / (1.0 + f64::exp(logit)); // above the clamp: 1.7e-5 at 11
        let found = loss(&logits, &[0], &[true]);
        assert_close(
            &format!("logit {logit}"),
            &[found as f32],
            &[-rest.ln()],
            FORWARD,
        );
        // p / (1 − p) · (1 − p) = p
        let found = gradient(&logits, &[0], &[true]);
        assert_close(
            &format!("logit {logit}"),
            &found,
            &[1.0 - rest, rest - 1.0],
            GRADIENT,
        );
    }
}

#[test]
fn twin() {
    proptest!(generated(128), |(batch in 1..9usize, classes in 2..12usize, seed: u64)| {
        let mut draw = Draw::new(seed);
        let logits = draw.normal(batch, classes, 2.0);
        let complementary = draw.below(classes, batch);
        let selected = draw.mask(batch, 0.6);
        let found = loss(&logits, &complementary, &selected) as f32;
        let expected = plain(&logits, &complementary, &selected);
        // An image whose complementary label has hardly any probability has a loss of that size: compared with 1.
        assert_close("loss", &[found + 1.0], &[expected + 1.0], FORWARD);
        let expected = slope(&logits, |logits| plain(logits, &complementary, &selected));
        let found = gradient(&logits, &complementary, &selected);
        assert_close("gradient", &found, &expected, GRADIENT);
    });
}

#[test]
fn golden() {
    for case in cases("equations/negative_learning") {
        let logits = case.leaf("logits");
        let complementary = index_tensor(&case.indices("complementary"));
        let selected = case.tensor::<1>("selected").autodiff();
        let loss = negative_learning(logits.clone(), complementary, selected);
        case.check("loss", &loss);
        assert!(case.has_gradients(&["logits"]), "{}", case.name);
        case.check_gradient("logits", &logits, &loss.backward());
    }
}

fn loss_of_all(logits: &Matrix, labels: &[usize], selected: &[bool]) -> f64 {
    scalar(&negative_learning_of_all(
        logits.tensor(),
        index_tensor(labels),
        weights(selected),
    ))
}

fn gradient_of_all(logits: &Matrix, labels: &[usize], selected: &[bool]) -> Vec<f32> {
    let leaf = logits.leaf();
    let selected = weights(selected).autodiff();
    let loss = negative_learning_of_all(leaf.clone(), index_tensor(labels), selected);
    download(leaf.grad(&loss.backward()).unwrap())
}

/// K − 1 times the mean of Eq. (8) over all draws of the complementary labels.
fn plain_of_all(logits: &Matrix, labels: &[usize], selected: &[bool]) -> f64 {
    let classes = logits.cols;
    (1..classes)
        .map(|k| {
            let others: Vec<usize> = labels.iter().map(|label| (label + k) % classes).collect();
            plain(logits, &others, selected)
        })
        .sum()
}

#[test]
fn of_all_by_hand() {
    // The softmax of (log 1, log 1, log 2) is (1/4, 1/4, 1/2).
    let logits = Matrix::of([[0.0, 0.0, 2f64.ln()]]);
    let found = [
        loss_of_all(&logits, &[2], &[true]),
        loss_of_all(&logits, &[0], &[true]),
    ];
    let (half, quarter) = (2f64.ln(), (4f64 / 3.0).ln());
    let expected = [2.0 * quarter, half + quarter];
    assert_close("loss", &found.map(|loss| loss as f32), &expected, FORWARD);
    // Σ_{c ≠ ȳ} p_c / (1 − p_c) · (one-hot_c − softmax), here with ȳ = 2: 1/3 · (e₀ + e₁ − 2 softmax).
    let found = gradient_of_all(&logits, &[2], &[true]);
    let sixth = 1.0 / 6.0;
    assert_close("gradient", &found, &[sixth, sixth, -2.0 * sixth], GRADIENT);
}

#[test]
fn of_all_limits() {
    let huge = Matrix::of([[80.0, -80.0, -80.0], [-1e4, 1e4, 0.0]]);
    for labels in [[0, 1], [1, 0]] {
        assert_eq!(loss_of_all(&huge, &labels, &[false, false]), 0.0);
        assert_eq!(gradient_of_all(&huge, &labels, &[false, false]), [0.0; 6]);
        assert_eq!(gradient_of_all(&huge, &labels, &[true, true]), [0.0; 6]);
    }
    assert_eq!(loss_of_all(&huge, &[0, 1], &[true, true]), 0.0, "certain");
    let clamped = loss_of_all(&huge, &[1, 0], &[true, true]) as f32;
    assert_close("at the clamp", &[clamped], &[-(1e-5f64.ln())], FORWARD);
    // Two classes leave one complementary label: both losses are one.
    let two = Matrix::of([[0.3, -1.2], [4.0, 9.0]]);
    let one = loss(&two, &[1, 0], &[true, true]) as f32;
    let all = loss_of_all(&two, &[0, 1], &[true, true]);
    assert_close("two classes", &[one], &[all], FORWARD);
}

#[test]
fn of_all_twin() {
    proptest!(generated(128), |(batch in 1..9usize, classes in 2..12usize, seed: u64)| {
        let mut draw = Draw::new(seed);
        let logits = draw.normal(batch, classes, 2.0);
        let labels = draw.below(classes, batch);
        let selected = draw.mask(batch, 0.6);
        let found = loss_of_all(&logits, &labels, &selected) as f32;
        let expected = plain_of_all(&logits, &labels, &selected);
        assert_close("loss", &[found + 1.0], &[expected + 1.0], FORWARD);
        let expected = slope(&logits, |logits| plain_of_all(logits, &labels, &selected));
        let found = gradient_of_all(&logits, &labels, &selected);
        assert_close("gradient", &found, &expected, GRADIENT);
    });
}

#[test]
fn of_all_golden() {
    for case in cases("equations/negative_learning_of_all") {
        let logits = case.leaf("logits");
        let labels = index_tensor(&case.indices("labels"));
        let selected = case.tensor::<1>("selected").autodiff();
        let loss = negative_learning_of_all(logits.clone(), labels, selected);
        case.check("loss", &loss);
        assert!(case.has_gradients(&["logits"]), "{}", case.name);
        case.check_gradient("logits", &logits, &loss.backward());
    }
}
