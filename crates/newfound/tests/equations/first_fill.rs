//! The probabilities the bank starts with, Eq. (2).

use newfound::network::download;
use newfound::pseudo_labels::first_fill;
use proptest::prelude::*;

use crate::fixture::{FORWARD, GRADIENT, assert_close, cases};
use crate::generate::{self, Draw, Matrix, arg_max, dot, generated, slope, softmax};

fn filled(features: &Matrix, centroids: &Matrix, temperature: f64) -> Vec<f32> {
    download(first_fill(
        features.tensor(),
        centroids.tensor(),
        temperature,
    ))
}

/// Image by image: distances, their largest, similarities, softmax.
fn plain(features: &Matrix, centroids: &Matrix, temperature: f64) -> Vec<f64> {
    let mut all = Vec::new();
    for z in features.iter() {
        let distances: Vec<f64> = centroids
            .iter()
            .map(|c| generate::cosine_distance(z, c))
            .collect();
        let largest = distances.iter().copied().fold(0.0, f64::max);
        let scaled: Vec<f64> = distances
            .iter()
            .map(|d| (1.0 - d / largest) / temperature)
            .collect();
        all.extend(softmax(&scaled));
    }
    all
}

#[test]
fn by_hand() {
    // Distances 0, 1 and 2: similarities 1, 1/2 and 0, at τ2 = 1/2 the softmax of (2, 1, 0).
    let centroids = Matrix::of([[2.0, 0.0], [0.0, 5.0], [-1.0, 0.0]]);
    let found = filled(&Matrix::of([[3.0, 0.0]]), &centroids, 0.5);
    assert_close("probabilities", &found, &softmax(&[2.0, 1.0, 0.0]), FORWARD);
}

#[test]
fn limits() {
    let centroids = Matrix::of([[2.0, 0.0], [0.0, 5.0], [-1.0, 0.0]]);
    let near_first = Matrix::of([[3.0, 1.0]]);
    assert_eq!(
        filled(&near_first, &centroids, 1e-4),
        [1.0, 0.0, 0.0],
        "cold: the own cluster"
    );
    assert_close(
        "hot",
        &filled(&near_first, &centroids, 1e6),
        &[1.0 / 3.0; 3],
        FORWARD,
    );
    let equal = Matrix::of([[0.0, 5.0], [0.0, 1.0], [0.0, 2.0]]);
    assert_close(
        "equal centroids",
        &filled(&near_first, &equal, 0.1),
        &[1.0 / 3.0; 3],
        FORWARD,
    );
    // On all centroids at once every distance is 0: nothing to tell them apart, and no 0 / 0.
    let on_all = filled(&Matrix::of([[0.0, 9.0]]), &equal, 0.1);
    assert_close("on all centroids", &on_all, &[1.0 / 3.0; 3], FORWARD);
    assert_eq!(
        filled(&near_first, &Matrix::of([[1.0, 0.0]]), 0.1),
        [1.0],
        "a single centroid"
    );
}

/// The sentence after the equation: the most probable class is the one the clustering gave.
#[test]
fn the_most_probable_class_is_the_nearest_centroid() {
    let mut draw = Draw::new(7);
    let (features, centroids) = (draw.features(200, 6), draw.features(9, 6));
    let found = filled(&features, &centroids, 0.1);
    for (z, p) in features.iter().zip(found.chunks_exact(9)) {
        let closeness: Vec<f64> = centroids
            .iter()
            .map(|c| -generate::cosine_distance(z, c))
            .collect();
        let p: Vec<f64> = p.iter().map(|&x| f64::from(x)).collect();
        assert_eq!(arg_max(&p), arg_max(&closeness));
        assert!((p.iter().sum::<f64>() - 1.0).abs() < FORWARD);
    }
}

#[test]
fn twin() {
    let sizes = (1..9usize, 2..8usize, 2..7usize, 0.05..5.0);
    proptest!(generated(64), |((images, clusters, width, temperature) in sizes, seed: u64)| {
        let mut draw = Draw::new(seed);
        let (features, centroids) = (draw.features(images, width), draw.features(clusters, width));
        let probe = draw.normal(images, clusters, 1.0);
        let leaf = features.leaf();
        let found = first_fill(leaf.clone(), centroids.tensor().autodiff(), temperature);
        let expected = plain(&features, &centroids, temperature);
        assert_close("probabilities", &download(found.clone()), &expected, FORWARD);
        let gradients = (found * probe.tensor().autodiff()).sum().backward();
        let found = download(leaf.grad(&gradients).unwrap());
        let expected = slope(&features, |z| dot(&plain(z, &centroids, temperature), &probe.values));
        // A softmax of a single likely class leaves a gradient that is rounding alone: compared with 1.
        let shifted: Vec<f32> = found.iter().map(|x| x + 1.0).collect();
        let expected: Vec<f64> = expected.iter().map(|x| x + 1.0).collect();
        assert_close("gradient", &shifted, &expected, GRADIENT);
    });
}

#[test]
fn golden() {
    for case in cases("equations/first_fill") {
        let [features, centroids] = ["features", "centroids"].map(|key| case.leaf::<2>(key));
        let found = first_fill(
            features.clone(),
            centroids.clone(),
            case.number("temperature"),
        );
        case.check("probabilities", &found);
        if case.has_gradients(&["features", "centroids"]) {
            let gradients = (found * case.tensor("probe").autodiff()).sum().backward();
            case.check_gradient("features", &features, &gradients);
            case.check_gradient("centroids", &centroids, &gradients);
        }
    }
}
