//! K-means with k-means++ starts.

use burn::tensor::{Device, Int, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use crate::geometry::normalise_rows;
use crate::indicator::indicator;
use crate::network::download;
use crate::random::Stream;

/// On which features, and with which centroids, k-means works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KMeans {
    /// Features and centroids of unit length: clusters are directions.
    Spherical,
    /// Features as they are: the paper's literal choice.
    Euclidean,
}

/// How k-means is run.
#[derive(Debug, Clone, Copy)]
pub struct KMeansOptions {
    /// Spherical or Euclidean.
    pub geometry: KMeans,
    /// Number of clusters, K.
    pub clusters: usize,
    /// Independent starts; the one with the least inertia wins.
    pub restarts: usize,
    /// Most rounds of one start. It ends earlier when no image changes its cluster.
    pub rounds: usize,
}

/// The result of k-means.
#[derive(Debug, Clone)]
pub struct Clusters {
    /// Centroids: [K, D]; of unit length when spherical.
    pub centroids: Tensor<2>,
    /// The cluster of each image.
    pub labels: Vec<usize>,
    /// Sum over the images of the squared distance to their centroid.
    pub inertia: f64,
}

/// Groups features into K clusters.
///
/// **Section III-B**: c_k = mean of the features of cluster S_k. Lloyd's algorithm from k-means++ starts
/// (Arthur and Vassilvitskii 2007), each next centre the best of 2 + ln K candidates, as scikit-learn does. A cluster
/// that loses all its images takes the image that is farthest from its own centroid. All products run on
/// the device; the random draws are a function of `seed`, and equal restarts go to the first.
///
/// # Shapes
///
/// `features` [N, D], N ≥ K → see [`Clusters`]
///
/// # Panics
///
/// If there are fewer images than clusters: check before.
pub fn k_means(features: Tensor<2>, options: &KMeansOptions, seed: u64) -> Clusters {
    let [count, _] = features.dims();
    assert!(
        count >= options.clusters,
        "{count} images for {} clusters",
        options.clusters
    );
    let features = match options.geometry {
        KMeans::Spherical => normalise_rows(features),
        KMeans::Euclidean => features,
    };
    (0..options.restarts.max(1))
        .map(|restart| {
            let mut draws = Stream::new(seed, "k-means", &[restart as u64]);
            let squares = row_squares(&features);
            let away = |images: &[usize]| distances(&features, &squares, images);
            let first = plus_plus(count, options.clusters, &mut draws, away);
            let first = rows(&first, &features.device());
            lloyd(&features, features.clone().select(0, first), options)
        })
        .reduce(|best, next| {
            if next.inertia < best.inertia {
                next
            } else {
                best
            }
        })
        .expect("at least one restart")
}

/// The nearest centroid of each image and the squared distance to it.
///
/// # Shapes
///
/// `features` [N, D], `centroids` [K, D] → N of each; ties go to the lower cluster
pub fn assign(features: &Tensor<2>, centroids: &Tensor<2>) -> (Vec<usize>, Vec<f64>) {
    let [clusters, _] = centroids.dims();
    let squares = row_squares(features);
    // ‖x − c‖² = ‖x‖² − 2 x·c + ‖c‖²: one product for all pairs.
    let cross = features.clone().matmul(centroids.clone().transpose()) * -2.0; // [N, K]
    let partial = download(cross + centroids.clone().square().sum_dim(1).transpose());
    let nearest = |(row, square): (&[f32], f32)| {
        let (mut best, mut least) = (0, f32::INFINITY);
        for (cluster, &value) in row.iter().enumerate() {
            if value < least {
                (best, least) = (cluster, value);
            }
        }
        // Rounding may leave a coinciding pair slightly below 0.
        (best, (f64::from(least) + f64::from(square)).max(0.0))
    };
    partial
        .chunks_exact(clusters)
        .zip(squares)
        .map(nearest)
        .unzip()
}

fn row_squares(features: &Tensor<2>) -> Vec<f32> {
    download(features.clone().square().sum_dim(1))
}

/// K different images as first centroids, far from each other. `distances` gives the squared distances of all images to each of some.
pub(crate) fn plus_plus(
    count: usize,
    clusters: usize,
    draws: &mut Stream,
    distances: impl Fn(&[usize]) -> Vec<Vec<f64>>,
) -> Vec<usize> {
    let candidates_per_centre = 2 + (clusters as f64).ln() as usize;
    let mut chosen = vec![draws.below(count as u64) as usize];
    let mut nearest = vec![f64::INFINITY; count];
    shrink(&mut nearest, &distances(&chosen)[0]);
    while chosen.len() < clusters {
        let candidates: Vec<usize> = (0..candidates_per_centre)
            .map(|_| proportional(&nearest, draws.unit()))
            .collect();
        let (mut best, mut best_total, mut best_nearest) = (candidates[0], f64::INFINITY, vec![]);
        for (&candidate, distance) in candidates.iter().zip(distances(&candidates)) {
            let mut with = nearest.clone();
            shrink(&mut with, &distance);
            let total: f64 = with.iter().sum();
            if total < best_total {
                (best, best_total, best_nearest) = (candidate, total, with);
            }
        }
        chosen.push(best);
        nearest = best_nearest;
    }
    chosen
}

/// Squared distances of all images to each of some images.
fn distances(features: &Tensor<2>, squares: &[f32], images: &[usize]) -> Vec<Vec<f64>> {
    let centres = features.clone().select(0, rows(images, &features.device()));
    let cross = download(centres.matmul(features.clone().transpose())); // [images, N]
    let of_image = |(row, &image): (&[f32], &usize)| -> Vec<f64> {
        let own = f64::from(squares[image]);
        let distance = |(&x, &square): (&f32, &f32)| own + f64::from(square) - 2.0 * f64::from(x);
        row.iter()
            .zip(squares)
            .map(distance)
            .map(|d| d.max(0.0))
            .collect()
    };
    cross
        .chunks_exact(squares.len())
        .zip(images)
        .map(of_image)
        .collect()
}

fn shrink(nearest: &mut [f64], distances: &[f64]) {
    nearest
        .iter_mut()
        .zip(distances)
        .for_each(|(least, &d)| *least = least.min(d));
}

/// The position at which a draw from [0, 1) falls when positions are as long as their weights.
fn proportional(weights: &[f64], draw: f64) -> usize {
    let total: f64 = weights.iter().sum();
    let mut left = draw * total;
    for (position, weight) in weights.iter().enumerate() {
        if left < *weight {
            return position;
        }
        left -= weight;
    }
    // All images coincide with a centre, or rounding ran over the end: any will do, the last is definite.
    weights.len() - 1
}

fn lloyd(features: &Tensor<2>, mut centroids: Tensor<2>, options: &KMeansOptions) -> Clusters {
    let mut previous: Vec<usize> = Vec::new();
    for _ in 0..options.rounds.max(1) {
        let (mut labels, distances) = assign(features, &centroids);
        fill_empty(&mut labels, distances, options.clusters);
        if labels == previous {
            break;
        }
        centroids = means(features, &labels, options.clusters, options.geometry);
        previous = labels;
    }
    let (labels, distances) = assign(features, &centroids);
    Clusters {
        centroids,
        labels,
        inertia: distances.iter().sum(),
    }
}

/// Gives each empty cluster the image farthest from its centroid, out of a cluster that can spare one.
pub(crate) fn fill_empty(labels: &mut [usize], mut distances: Vec<f64>, clusters: usize) {
    let mut sizes = vec![0usize; clusters];
    labels.iter().for_each(|&label| sizes[label] += 1);
    for empty in 0..clusters {
        if sizes[empty] > 0 {
            continue;
        }
        let farthest = (0..labels.len())
            .filter(|&image| sizes[labels[image]] > 1)
            .max_by(|&a, &b| distances[a].total_cmp(&distances[b]).then(b.cmp(&a)))
            .expect("no fewer images than clusters");
        sizes[labels[farthest]] -= 1;
        (labels[farthest], sizes[empty], distances[farthest]) = (empty, 1, 0.0);
    }
}

/// The mean of each cluster's features: one product of the membership matrix with the features.
pub(crate) fn means(
    features: &Tensor<2>,
    labels: &[usize],
    clusters: usize,
    geometry: KMeans,
) -> Tensor<2> {
    let membership = indicator(rows(labels, &features.device()), clusters).float(); // [N, K]
    let sizes = membership.clone().sum_dim(0).transpose(); // [K, 1]
    let means = membership.transpose().matmul(features.clone()) / sizes;
    match geometry {
        KMeans::Spherical => normalise_rows(means),
        KMeans::Euclidean => means,
    }
}

fn rows(numbers: &[usize], device: &Device) -> Tensor<1, Int> {
    let numbers: Vec<i64> = numbers.iter().map(|&n| n as i64).collect();
    let count = numbers.len();
    Tensor::from_data(TensorData::new(numbers, [count]), device)
}
