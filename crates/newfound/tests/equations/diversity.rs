//! L_div, section III-G.

use newfound::losses::{diversity, diversity_of};
use newfound::network::download;
use proptest::prelude::*;

use crate::fixture::{FORWARD, GRADIENT, assert_close, cases, scalar};
use crate::generate::{Draw, Matrix, generated, slope, softmax};

fn loss(logits: &Matrix) -> f64 {
    scalar(&diversity(logits.tensor()))
}

fn gradient(logits: &Matrix) -> Vec<f32> {
    let leaf = logits.leaf();
    download(leaf.grad(&diversity(leaf.clone()).backward()).unwrap())
}

/// Class by class: the mean probability, then its share of the entropy.
fn plain(logits: &Matrix) -> f64 {
    let mut sum = 0.0;
    for class in 0..logits.cols {
        let mean = logits.iter().map(|row| softmax(row)[class]).sum::<f64>() / logits.rows as f64;
        sum += mean * mean.ln();
    }
    sum
}

#[test]
fn by_hand() {
    // The softmaxes (1/4, 3/4) and (3/4, 1/4) have the mean (1/2, 1/2).
    let log3 = 3f64.ln();
    let found = loss(&Matrix::of([[0.0, log3], [log3, 0.0]])) as f32;
    assert_close("two rows", &[found], &[-(2f64.ln())], FORWARD);
    let one = Matrix::of([[0.0, log3]]);
    let expected = 0.25 * 0.25f64.ln() + 0.75 * 0.75f64.ln();
    assert_close("one row", &[loss(&one) as f32], &[expected], FORWARD);
    // p (1 − p) (log p − log(1 − p)) with p = 1/4
    let slope = 3.0 / 16.0 * (1f64 / 3.0).ln();
    assert_close("gradient", &gradient(&one), &[slope, -slope], GRADIENT);
}

#[test]
fn limits() {
    let uniform = Matrix {
        rows: 3,
        cols: 7,
        values: vec![2.0; 21],
    };
    assert_close(
        "uniform",
        &[loss(&uniform) as f32],
        &[-(7f64.ln())],
        FORWARD,
    );
    // Each row certain of another class: as diverse as can be, though no row is uncertain.
    let balanced = Matrix::of([[1e4, 0.0], [0.0, 1e4]]);
    assert_close(
        "balanced",
        &[loss(&balanced) as f32],
        &[-(2f64.ln())],
        FORWARD,
    );
    let collapsed = Matrix::of([[1e4, 0.0, 0.0], [1e4, 0.0, 0.0]]);
    assert_eq!(loss(&collapsed), 0.0, "all in one class");
    let gradient = gradient(&collapsed);
    assert!(gradient.iter().all(|x| x.is_finite()), "{gradient:?}");
}

#[test]
fn twin() {
    proptest!(generated(64), |(batch in 1..9usize, classes in 2..9usize, seed: u64)| {
        let logits = Draw::new(seed).normal(batch, classes, 2.0);
        assert_close("loss", &[loss(&logits) as f32], &[plain(&logits)], FORWARD);
        assert_close("gradient", &gradient(&logits), &slope(&logits, plain), GRADIENT);
    });
}

#[test]
fn golden() {
    for case in cases("equations/diversity") {
        let logits = case.leaf("logits");
        let loss = diversity(logits.clone());
        case.check("loss", &loss);
        assert!(case.has_gradients(&["logits"]), "{}", case.name);
        case.check_gradient("logits", &logits, &loss.backward());
    }
}

/// Σ p̄ ln (p̄ / (K s)), as printed.
fn apart(logits: &Matrix, shares: &Matrix) -> f64 {
    let mut sum = 0.0;
    for class in 0..logits.cols {
        let mean = logits.iter().map(|row| softmax(row)[class]).sum::<f64>() / logits.rows as f64;
        sum += mean * (mean / (logits.cols as f64 * shares.values[class])).ln();
    }
    sum
}

#[test]
fn expected_shares_by_hand() {
    // The mean of (1/4, 3/4) and (3/4, 1/4) is (1/2, 1/2): ½ ln(½ / (2 · ¼)) + ½ ln(½ / (2 · ¾)).
    let log3 = 3f64.ln();
    let logits = Matrix::of([[0.0, log3], [log3, 0.0]]);
    let found = |shares: [f64; 2]| {
        scalar(&diversity_of(
            logits.tensor(),
            Matrix::of([shares]).tensor(),
        ))
    };
    let wanted = 0.5 * (1f64 / 3.0).ln();
    assert_close("uneven", &[found([0.25, 0.75]) as f32], &[wanted], FORWARD);
    // As expected: the least there is.
    assert_close(
        "even",
        &[found([0.5, 0.5]) as f32],
        &[-(2f64.ln())],
        FORWARD,
    );
}

#[test]
fn expected_shares_limits() {
    // All in one class that is expected, and in one that hardly is: far, but a number, and so is its gradient.
    let logits = Matrix::of([[1e4, 0.0], [1e4, 0.0]]);
    for (shares, wanted) in [
        ([1.0, 1e-11], -(2f64.ln())),
        ([1e-11, 1.0], 1e11f64.ln() - 2f64.ln()),
    ] {
        let leaf = logits.leaf();
        let loss = diversity_of(leaf.clone(), Matrix::of([shares]).tensor().autodiff());
        assert_close("collapsed", &[scalar(&loss) as f32], &[wanted], FORWARD);
        let gradient = download(leaf.grad(&loss.backward()).unwrap());
        assert!(gradient.iter().all(|x| x.is_finite()), "{gradient:?}");
    }
}

#[test]
fn expected_shares_twin() {
    proptest!(generated(64), |(batch in 1..9usize, classes in 2..9usize, seed: u64)| {
        let mut draw = Draw::new(seed);
        let logits = draw.normal(batch, classes, 2.0);
        let mut shares = draw.normal(1, classes, 2.0);
        shares.values = softmax(&shares.values).into_iter().map(|p| f64::from(p as f32)).collect();
        let leaf = logits.leaf();
        let loss = diversity_of(leaf.clone(), shares.tensor().autodiff());
        assert_close("loss", &[scalar(&loss) as f32], &[apart(&logits, &shares)], FORWARD);
        let gradient = download(leaf.grad(&loss.backward()).unwrap());
        assert_close("gradient", &gradient, &slope(&logits, |at| apart(at, &shares)), GRADIENT);
        let equal = Matrix { rows: 1, cols: classes, values: vec![1.0 / classes as f64; classes] };
        let found = scalar(&diversity_of(logits.tensor(), equal.tensor()));
        assert_close("equal shares", &[found as f32], &[plain(&logits)], FORWARD);
    });
}
