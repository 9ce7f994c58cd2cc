//! Directions and angles.

use burn::tensor::{Device, Tensor};
use newfound::geometry::{cosine_distance, normalise_rows};
use newfound::network::download;
use proptest::prelude::*;

use crate::fixture::{FORWARD, GRADIENT, assert_close, cases};
use crate::generate::{self, Draw, Matrix, dot, generated, slope};

fn distance(a: Matrix, b: Matrix) -> Vec<f32> {
    download(cosine_distance(a.tensor(), b.tensor()))
}

#[test]
fn by_hand() {
    let rows = Matrix::of([[3.0, 4.0], [0.0, -2.0]]);
    let unit = download(normalise_rows(rows.tensor()));
    assert_close("unit rows", &unit, &[0.6, 0.8, 0.0, -1.0], FORWARD);
    // (3, 4) has the cosines 3/5 and 4/5 with the axes.
    let found = distance(
        Matrix::of([[3.0, 4.0]]),
        Matrix::of([[7.0, 0.0], [0.0, 2.0]]),
    );
    assert_close("distances", &found, &[0.4, 0.2], FORWARD);
}

#[test]
fn limits() {
    let zero = Matrix::of([[0.0, 0.0], [1.0, 0.0]]);
    assert_eq!(
        download(normalise_rows(zero.tensor())),
        [0.0, 0.0, 1.0, 0.0]
    );
    // A row without direction is as far from everything as a right angle.
    assert_eq!(distance(zero.clone(), Matrix::of([[0.0, 3.0]])), [1.0, 1.0]);
    let axis = Matrix::of([[2.0, 0.0]]);
    let around = Matrix::of([[5.0, 0.0], [0.0, 5.0], [-5.0, 0.0]]);
    assert_eq!(distance(axis, around), [0.0, 1.0, 2.0]);
    for length in [1e-8, 1.0, 1e15] {
        let unit = normalise_rows(Matrix::of([[3.0 * length, 4.0 * length]]).tensor());
        assert_close(
            &format!("rows of length {length}"),
            &download(unit),
            &[0.6, 0.8],
            FORWARD,
        );
    }
}

#[test]
fn a_distance_stays_within_0_and_2_though_cosines_round() {
    let rows = Draw::new(3).features(200, 7);
    let opposite = rows.tensor().neg();
    let to_itself = download(cosine_distance(rows.tensor(), rows.tensor()));
    let to_opposite = download(cosine_distance(rows.tensor(), opposite));
    for i in 0..200 {
        assert!(
            (0.0..1e-6).contains(&to_itself[i * 201]),
            "{}",
            to_itself[i * 201]
        );
        assert!(
            (1.999_999..=2.0).contains(&to_opposite[i * 201]),
            "{}",
            to_opposite[i * 201]
        );
    }
}

#[test]
fn the_gradient_of_a_zero_row_is_finite() {
    let rows = Tensor::<2>::zeros([1, 3], &Device::flex())
        .autodiff()
        .require_grad();
    let gradients = normalise_rows(rows.clone()).sum().backward();
    let gradient = download(rows.grad(&gradients).unwrap());
    assert!(gradient.iter().all(|x| x.is_finite()), "{gradient:?}");
}

#[test]
fn twin() {
    proptest!(generated(64), |(n in 1..7usize, m in 1..7usize, d in 2..9usize, seed: u64)| {
        let mut draw = Draw::new(seed);
        let (a, b, probe) = (draw.features(n, d), draw.features(m, d), draw.normal(n, m, 1.0));
        let all = |a: &Matrix| -> Vec<f64> {
            a.iter().flat_map(|x| b.iter().map(|y| generate::cosine_distance(x, y))).collect()
        };
        let leaf = a.leaf();
        let found = cosine_distance(leaf.clone(), b.tensor().autodiff());
        assert_close("distances", &download(found.clone()), &all(&a), FORWARD);
        let gradients = (found * probe.tensor().autodiff()).sum().backward();
        let gradient = download(leaf.grad(&gradients).unwrap());
        let expected = slope(&a, |a| dot(&all(a), &probe.values));
        assert_close("gradient", &gradient, &expected, GRADIENT);
    });
}

/// The distances that the class separation is made of.
#[test]
fn golden() {
    for case in cases("equations/u_cs") {
        let found = cosine_distance(case.tensor("features"), case.tensor("prototypes"));
        let [_, classes] = found.dims();
        let found = download(found);
        for (class, distance) in [("i", "d_i"), ("j", "d_j")] {
            let rows = found.chunks_exact(classes).zip(case.expected_ints(class));
            let of_class: Vec<f32> = rows.map(|(row, class)| row[class as usize]).collect();
            let what = format!("{}: {distance}", case.name);
            assert_close(&what, &of_class, &case.expected(distance), FORWARD);
        }
    }
}
