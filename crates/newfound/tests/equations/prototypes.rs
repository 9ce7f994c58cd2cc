//! The extended classifier W_T = [W_S | W_P], sections III-A and III-B.

use newfound::clustering::{Match, SharedPrototypes, extend, ordered_centroids};
use newfound::network::Head;
use newfound::weights::Array;
use proptest::prelude::*;

use crate::fixture::{FORWARD, assert_close, cases_of};
use crate::generate::{Draw, Matrix, dot, generated};

fn array(matrix: &Matrix) -> Array {
    Array::new(
        [matrix.rows, matrix.cols],
        matrix.values.iter().map(|&x| x as f32).collect(),
    )
}

fn head(prototypes: &Matrix, bias: &[f64]) -> Head {
    Head {
        prototypes: array(prototypes),
        bias: bias.iter().map(|&b| b as f32).collect(),
    }
}

fn at(centroid: usize) -> Match {
    Match {
        centroid,
        similarity: 1.0,
        margin: 1.0,
    }
}

#[test]
fn by_hand() {
    // Rows of length 5 and 1: mean 3; biases 1 and 2: mean 3/2. The third centroid is the private one.
    let source = head(&Matrix::of([[3.0, 4.0], [0.0, 1.0]]), &[1.0, 2.0]);
    let centroids = array(&Matrix::of([[1.0, 1.0], [1.0, 0.0], [0.0, 0.1]]));
    let found = extend(&source, &centroids, SharedPrototypes::Source);
    assert_eq!(found.prototypes.shape, [3, 2]);
    assert_close(
        "source",
        &found.prototypes.values,
        &[3.0, 4.0, 0.0, 1.0, 0.0, 3.0],
        FORWARD,
    );
    assert_close("bias", &found.bias, &[1.0, 2.0, 1.5], FORWARD);
    // Known rows turn to their centroid, and keep their own length and bias.
    let half = 0.5f64.sqrt();
    let found = extend(&source, &centroids, SharedPrototypes::Centroid);
    let expected = [5.0 * half, 5.0 * half, 1.0, 0.0, 0.0, 3.0];
    assert_close("centroid", &found.prototypes.values, &expected, FORWARD);
    assert_close("bias", &found.bias, &[1.0, 2.0, 1.5], FORWARD);
    // Half-way: the second row ends at 45° between its own axis and its centroid's.
    let found = extend(&source, &centroids, SharedPrototypes::Blend);
    assert_close(
        "blend",
        &found.prototypes.values[2..],
        &[half, half, 0.0, 3.0],
        FORWARD,
    );
    let length = f64::from(found.prototypes.values[0]).hypot(f64::from(found.prototypes.values[1]));
    assert_close("length", &[length as f32], &[5.0], FORWARD);
}

#[test]
fn limits() {
    let source = head(&Matrix::of([[3.0, 4.0], [0.0, 1.0]]), &[1.0, 2.0]);
    // No private class: the source's classifier.
    let centroids = array(&Matrix::of([[1.0, 1.0], [1.0, 0.0]]));
    let found = extend(&source, &centroids, SharedPrototypes::Source);
    assert_close(
        "no private class",
        &found.prototypes.values,
        &[3.0, 4.0, 0.0, 1.0],
        FORWARD,
    );
    assert_eq!(found.bias, [1.0, 2.0]);
    // A centroid of zero has no direction: its prototype is zero, not NaN.
    let centroids = array(&Matrix::of([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]]));
    let found = extend(&source, &centroids, SharedPrototypes::Source);
    assert_eq!(found.prototypes.values[4..], [0.0, 0.0]);
}

#[test]
fn matched_clusters_come_first_then_the_largest() {
    let matches = [at(4), at(1)];
    assert_eq!(
        ordered_centroids(&matches, &[5, 9, 7, 5, 1]),
        [4, 1, 2, 0, 3]
    );
    assert_eq!(
        ordered_centroids(&[], &[2, 2, 3]),
        [2, 0, 1],
        "equal sizes: the lower cluster"
    );
    assert_eq!(
        ordered_centroids(&matches[..1], &[0, 0, 0, 0, 0]),
        [4, 0, 1, 2, 3],
        "empty clusters too"
    );
}

#[test]
fn twin() {
    let sizes = (1..6usize, 0..6usize, 1..6usize);
    proptest!(generated(64), |((known, private, width) in sizes, seed: u64)| {
        let mut draw = Draw::new(seed);
        let (source, bias) = (draw.features(known, width), draw.normal(1, known, 1.0).values);
        let centroids = draw.features(known + private, width);
        let length = |row: &[f64]| dot(row, row).sqrt();
        let mean_length = source.iter().map(length).sum::<f64>() / known as f64;
        let mean_bias = bias.iter().sum::<f64>() / known as f64;
        for shared in [SharedPrototypes::Source, SharedPrototypes::Blend, SharedPrototypes::Centroid] {
            let mut rows = Vec::new();
            for (class, centroid) in centroids.iter().enumerate() {
                let (own, share) = match shared {
                    _ if class >= known => (None, 1.0),
                    SharedPrototypes::Source => (Some(source.row(class)), 0.0),
                    SharedPrototypes::Blend => (Some(source.row(class)), 0.5),
                    SharedPrototypes::Centroid => (Some(source.row(class)), 1.0),
                };
                let direction: Vec<f64> = (0..width)
                    .map(|i| {
                        let own = own.map_or(0.0, |own| own[i] / length(own));
                        (1.0 - share) * own + share * centroid[i] / length(centroid)
                    })
                    .collect();
                // Opposite directions have no half-way: the sum is rounding alone.
                prop_assume!(length(&direction) > 0.05);
                let to = own.map_or(mean_length, length);
                rows.extend(direction.iter().map(|x| x / length(&direction) * to));
            }
            let found = extend(&head(&source, &bias), &array(&centroids), shared);
            assert_close(&format!("{shared:?}"), &found.prototypes.values, &rows, FORWARD);
            let biases = [bias.clone(), vec![mean_bias; private]].concat();
            assert_close("bias", &found.bias, &biases, FORWARD);
        }
    });
}

#[test]
fn golden() {
    for case in cases_of("equations/classifier", "extension/") {
        let [centroids, weight] = ["centroids", "source_weight"].map(|key| case.tensor::<2>(key));
        let [clusters, width] = centroids.dims();
        let values = newfound::network::download(centroids);
        let matches: Vec<Match> = case.indices("matched").into_iter().map(at).collect();
        // Clusters of one size keep their order, as in the fixture.
        let order = ordered_centroids(&matches, &vec![1; clusters]);
        let private: Vec<i64> = order[matches.len()..].iter().map(|&k| k as i64).collect();
        assert_eq!(private, case.expected_ints("unmatched"), "{}", case.name);
        let ordered = order
            .iter()
            .flat_map(|&k| values[k * width..][..width].to_vec())
            .collect();
        let source = Head {
            prototypes: Array::new(weight.dims(), newfound::network::download(weight)),
            bias: newfound::network::download(case.tensor::<1>("source_bias")),
        };
        let ordered = Array::new([clusters, width], ordered);
        let found = extend(&source, &ordered, SharedPrototypes::Source);
        let expected = case.expected("extended_weight");
        assert_close(&case.name, &found.prototypes.values, &expected, FORWARD);
        assert_close(
            &case.name,
            &found.bias,
            &case.expected("extended_bias"),
            FORWARD,
        );
        // The private part by itself, so that long known rows do not hide it.
        let known = matches.len();
        let expected = case.expected("private_weight");
        assert_close(
            &case.name,
            &found.prototypes.values[known * width..],
            &expected,
            FORWARD,
        );
        assert_close(
            &case.name,
            &found.bias[known..],
            &case.expected("private_bias"),
            FORWARD,
        );
    }
}
