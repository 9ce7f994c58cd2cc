//! A target in clusters, dozens of times.
//!
//! Spherical k-means needs nothing of the images but the cosines between them: that of an image and a centroid is the sum of its cosines with the cluster's images,
//! over the length of their sum. These are computed once for all clusterings, and a round costs as much as images change their clusters:
//! N · moves, where products of features with centroids cost N · K · D.

use burn::tensor::{Tensor, TensorData};
use rayon::prelude::*;

use crate::clustering::{KMeans, assign, fill_empty, means, plus_plus};
use crate::geometry::normalise_rows;
use crate::network::download;
use crate::random::Stream;

/// Images that clusters are made of; of more, so many, evenly, and the others go to the nearest. Their cosines take 270 MB.
const MOST_IMAGES: usize = 8192;

/// Most rounds of a clustering. It ends earlier when no image changes its cluster.
const ROUNDS: usize = 100;

/// The cosines between images.
pub(super) struct Cosines {
    /// All images: [N, ·], of unit length.
    rows: Tensor<2>,
    /// Those that clusters are made of.
    sample: Tensor<2>,
    /// Between these, row by row.
    values: Vec<f32>,
    count: usize,
}

impl Cosines {
    /// # Shapes
    ///
    /// `rows` [N, ·]
    pub fn of(rows: &Tensor<2>) -> Self {
        let rows = normalise_rows(rows.clone());
        let sample = sample(&rows, MOST_IMAGES);
        let [count, _] = sample.dims();
        let values = download(sample.clone().matmul(sample.clone().transpose()));
        Self {
            rows,
            sample,
            values,
            count,
        }
    }

    /// The cluster of each image: Lloyd's algorithm from a k-means++ start.
    ///
    /// From one start: clusterings are averaged over, so none need be the best of many.
    pub fn divide(&self, clusters: usize, seed: u64) -> Vec<usize> {
        let labels = self.lloyd(clusters, seed);
        if self.count == self.rows.dims()[0] {
            return labels;
        }
        let centroids = means(&self.sample, &labels, clusters, KMeans::Spherical);
        assign(&self.rows, &centroids).0
    }

    fn lloyd(&self, clusters: usize, seed: u64) -> Vec<usize> {
        let mut draws = Stream::new(seed, "k-means", &[0]);
        let first = plus_plus(self.count, clusters, &mut draws, |images| {
            images.iter().map(|&image| self.distances(image)).collect()
        });
        // An image that is no cluster's yet.
        let mut labels = vec![clusters; self.count];
        let mut centroids = Centroids {
            products: first.iter().map(|&image| self.products(image)).collect(),
            lengths: vec![1.0; clusters],
        };
        for round in 0..ROUNDS {
            let (mut next, distances) = centroids.nearest(self.count);
            fill_empty(&mut next, distances, clusters);
            if next == labels {
                break;
            }
            if round == 0 {
                centroids.products = vec![vec![0.0; self.count]; clusters];
            }
            self.move_to(&mut centroids, &labels, &next);
            labels = next;
        }
        centroids.nearest(self.count).0
    }

    fn row(&self, image: usize) -> &[f32] {
        &self.values[image * self.count..][..self.count]
    }

    fn products(&self, image: usize) -> Vec<f64> {
        self.row(image).iter().map(|&x| f64::from(x)).collect()
    }

    /// The squared distance of each image to one.
    fn distances(&self, image: usize) -> Vec<f64> {
        let square = |image: usize| f64::from(self.values[image * (self.count + 1)]);
        let own = square(image);
        let distance = |(other, &x): (usize, &f32)| own + square(other) - 2.0 * f64::from(x);
        let row = self.row(image).iter().enumerate();
        row.map(distance).map(|d| d.max(0.0)).collect()
    }

    /// Takes images out of the clusters they leave and into those they enter, one after the other.
    fn move_to(&self, centroids: &mut Centroids, old: &[usize], new: &[usize]) {
        let Centroids { products, lengths } = centroids;
        let clusters = products.par_iter_mut().zip(lengths).enumerate();
        clusters.for_each(|(cluster, (products, length))| {
            let mut square = 0.0;
            let mut moved = false;
            for (image, (&old, &new)) in old.iter().zip(new).enumerate() {
                let sign = match (old == cluster, new == cluster) {
                    (false, true) => 1.0,
                    (true, false) => -1.0,
                    _ => continue,
                };
                moved = true;
                let row = self.row(image).iter();
                products
                    .iter_mut()
                    .zip(row)
                    .for_each(|(sum, &x)| *sum += sign * f64::from(x));
            }
            if moved {
                let members = products.iter().zip(new).filter(|&(_, &new)| new == cluster);
                members.for_each(|(product, _)| square += product);
                // A cluster of opposite images has no direction: no image is like it.
                *length = square.max(TINY).sqrt();
            }
        });
    }
}

/// The square of the shortest sum of images that has a direction.
const TINY: f64 = 1e-12;

/// Sums of images of unit length, as they are seen from the images.
struct Centroids {
    /// Of each image with each sum, cluster by cluster.
    products: Vec<Vec<f64>>,
    /// Of each sum.
    lengths: Vec<f64>,
}

impl Centroids {
    /// The nearest cluster of each image and the squared distance to it; ties go to the lower cluster.
    fn nearest(&self, images: usize) -> (Vec<usize>, Vec<f64>) {
        const TOGETHER: usize = 512;
        let starts: Vec<usize> = (0..images).step_by(TOGETHER).collect();
        let parts = starts.into_par_iter().map(|start| {
            let count = TOGETHER.min(images - start);
            let mut best = vec![(0, f64::NEG_INFINITY); count];
            for (cluster, (products, length)) in self.products.iter().zip(&self.lengths).enumerate()
            {
                let scale = length.recip();
                for (best, product) in best.iter_mut().zip(&products[start..]) {
                    let cosine = product * scale;
                    if cosine > best.1 {
                        *best = (cluster, cosine);
                    }
                }
            }
            best
        });
        let best: Vec<(usize, f64)> = parts.flatten_iter().collect();
        let distance = |(cluster, cosine): (usize, f64)| (cluster, (2.0 - 2.0 * cosine).max(0.0));
        best.into_iter().map(distance).unzip()
    }
}

/// So many rows at most, evenly.
pub(super) fn sample(rows: &Tensor<2>, most: usize) -> Tensor<2> {
    let count = rows.dims()[0];
    if count <= most {
        return rows.clone();
    }
    let chosen: Vec<i64> = (0..most).map(|i| (i * count / most) as i64).collect();
    let chosen = Tensor::from_data(TensorData::new(chosen, [most]), &rows.device());
    rows.clone().select(0, chosen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clustering::{KMeansOptions, k_means};
    use crate::device::place;
    use crate::network::upload;

    #[test]
    fn by_cosines_clusters_are_those_of_features() {
        let device = place("cpu").unwrap().device;
        let (count, width) = (300, 40);
        let mut draws = Stream::new(5, "features", &[]);
        // Twelve loose groups, and images between them: clusters take several rounds to settle.
        let centre: Vec<f64> = (0..12 * width).map(|_| draws.normal()).collect();
        let mut values = Vec::new();
        for image in 0..count {
            let group = image % 12;
            values.extend(
                (0..width).map(|i| (centre[group * width + i] + 1.5 * draws.normal()) as f32),
            );
        }
        let rows = upload(values, &device).reshape([count, width]);
        let cosines = Cosines::of(&rows);
        for clusters in [1, 2, 7, 12, 40, count] {
            let options = KMeansOptions {
                geometry: KMeans::Spherical,
                clusters,
                restarts: 1,
                rounds: ROUNDS,
            };
            let found = k_means(rows.clone(), &options, 3).labels;
            assert!(cosines.divide(clusters, 3) == found, "{clusters} clusters");
        }
        assert!(
            cosines.divide(7, 3) != cosines.divide(7, 4),
            "another start"
        );
    }

    #[test]
    fn images_that_are_all_the_same_or_opposite_have_clusters() {
        let device = place("cpu").unwrap().device;
        for signs in [[1.0, 1.0], [1.0, -1.0], [0.0, 0.0]] {
            let values: Vec<f32> = (0..10).flat_map(|i| [signs[i % 2], 0.0]).collect();
            let rows = upload(values, &device).reshape([10, 2]);
            let labels = Cosines::of(&rows).divide(3, 0);
            assert!(labels.len() == 10 && labels.iter().all(|&label| label < 3));
        }
    }
    #[test]
    fn of_very_many_images_all_have_a_cluster() {
        let device = place("cpu").unwrap().device;
        let count = MOST_IMAGES + 5;
        // One direction for the first 100 images, another for all others.
        let row = |i: usize| if i < 100 { [1.0, 0.0] } else { [0.0, 1.0] };
        let values: Vec<f32> = (0..count).flat_map(row).collect();
        let rows = upload(values, &device).reshape([count, 2]);
        assert_eq!(sample(&rows, MOST_IMAGES).dims(), [MOST_IMAGES, 2]);
        let labels = Cosines::of(&rows).divide(2, 0);
        assert_eq!(labels.len(), count);
        assert!((0..count).all(|i| (labels[i] == labels[0]) == (i < 100)));
    }
}
