//! Is one prototype clearly nearer than the other? Eq. (4).

use newfound::network::download;
use newfound::uncertainty::class_separation;
use proptest::prelude::*;

use crate::fixture::{FORWARD, GRADIENT, assert_close, cases, ints};
use crate::generate::{self, Draw, Matrix, arg_max, dot, generated, slope};

/// i, j and u_cs of each image.
fn separated(z: &Matrix, refined: &Matrix, prototypes: &Matrix) -> (Vec<i64>, Vec<i64>, Vec<f32>) {
    let found = class_separation(z.tensor(), refined.tensor(), prototypes.tensor());
    (
        ints(found.first),
        ints(found.second),
        download(found.uncertainty),
    )
}

/// The two largest entries by search, then the quotient.
fn plain(z: &Matrix, refined: &Matrix, prototypes: &Matrix) -> (Vec<i64>, Vec<i64>, Vec<f64>) {
    let (mut first, mut second, mut u_cs) = (vec![], vec![], vec![]);
    for (z, p) in z.iter().zip(refined.iter()) {
        let i = arg_max(p);
        let mut rest = p.to_vec();
        rest[i] = f64::NEG_INFINITY;
        let j = arg_max(&rest);
        let [d_i, d_j] = [i, j].map(|class| generate::cosine_distance(z, prototypes.row(class)));
        first.push(i as i64);
        second.push(j as i64);
        u_cs.push(d_i / (d_i + d_j));
    }
    (first, second, u_cs)
}

#[test]
fn by_hand() {
    // z = (3, 4) has the cosine 4/5 with class 2, the first, and 3/5 with class 0, the second: 0.2 / (0.2 + 0.4).
    let prototypes = Matrix::of([[2.0, 0.0], [1.0, 1.0], [0.0, 7.0]]);
    let (first, second, found) = separated(
        &Matrix::of([[3.0, 4.0]]),
        &Matrix::of([[0.3, 0.1, 0.6]]),
        &prototypes,
    );
    assert_eq!((first, second), (vec![2], vec![0]));
    assert_close("u_cs", &found, &[1.0 / 3.0], FORWARD);
}

#[test]
fn limits() {
    let prototypes = Matrix::of([[2.0, 0.0], [0.0, 7.0], [-1.0, 0.0]]);
    // On the label's prototype; on the runner-up's; against the label's; between both.
    let z = Matrix::of([[5.0, 0.0], [0.0, 5.0], [-5.0, 0.0], [1.0, 1.0]]);
    let refined = Matrix {
        rows: 4,
        cols: 3,
        values: [0.6, 0.3, 0.1].repeat(4),
    };
    let (_, _, found) = separated(&z, &refined, &prototypes);
    assert_close("u_cs", &found, &[0.0, 1.0, 2.0 / 3.0, 0.5], FORWARD);
    // Both prototypes where the image is: 0 / 0, which must read as undecided.
    let twins = Matrix::of([[2.0, 0.0], [9.0, 0.0], [0.0, 1.0]]);
    let (_, _, found) = separated(
        &Matrix::of([[5.0, 0.0]]),
        &Matrix::of([[0.6, 0.3, 0.1]]),
        &twins,
    );
    assert_eq!(found, [0.5]);
    // Ties go to the lower class, also behind a one-hot first.
    let refined = Matrix::of([
        [0.25, 0.5, 0.25],
        [0.4, 0.2, 0.4],
        [0.0, 0.0, 1.0],
        [0.0, 1.0, 0.0],
    ]);
    let (first, second, _) = separated(&z, &refined, &prototypes);
    assert_eq!((first, second), (vec![1, 0, 2, 1], vec![0, 2, 0, 0]));
}

#[test]
fn twin() {
    proptest!(generated(128), |(batch in 1..9usize, classes in 2..9usize, width in 2..7usize, seed: u64)| {
        let mut draw = Draw::new(seed);
        let z = draw.features(batch, width);
        let (refined, prototypes) = (draw.probabilities(batch, classes), draw.features(classes, width));
        let (first, second, u_cs) = plain(&z, &refined, &prototypes);
        // Two tiny distances are differences of nearly equal numbers: their quotient has few digits.
        let far = |(row, (&i, &j)): (&[f64], (&i64, &i64))| {
            let d = |class: i64| generate::cosine_distance(row, prototypes.row(class as usize));
            d(i) + d(j) > 0.05
        };
        prop_assume!(z.iter().zip(first.iter().zip(&second)).all(far));
        let leaf = z.leaf();
        let [p, w] = [&refined, &prototypes].map(|matrix| matrix.tensor().autodiff());
        let found = class_separation(leaf.clone(), p, w);
        prop_assert_eq!((ints(found.first), ints(found.second)), (first, second));
        assert_close("u_cs", &download(found.uncertainty.clone()), &u_cs, FORWARD);
        let probe = draw.normal(1, batch, 1.0);
        let weighted = found.uncertainty * probe.tensor().reshape([batch]).autodiff();
        let found = download(leaf.grad(&weighted.sum().backward()).unwrap());
        let expected = slope(&z, |z| dot(&plain(z, &refined, &prototypes).2, &probe.values));
        assert_close("gradient", &found, &expected, GRADIENT);
    });
}

#[test]
fn golden() {
    for case in cases("equations/u_cs") {
        let [z, prototypes] = ["features", "prototypes"].map(|key| case.leaf::<2>(key));
        let refined = case.tensor::<2>("probabilities").autodiff();
        let found = class_separation(z.clone(), refined, prototypes.clone());
        assert_eq!(ints(found.first), case.expected_ints("i"), "{}", case.name);
        assert_eq!(ints(found.second), case.expected_ints("j"), "{}", case.name);
        case.check("u_cs", &found.uncertainty);
        if case.has_gradients(&["features", "prototypes"]) {
            let probe = case.tensor("probe").autodiff();
            let gradients = (found.uncertainty * probe).sum().backward();
            case.check_gradient("features", &z, &gradients);
            case.check_gradient("prototypes", &prototypes, &gradients);
        }
    }
}
