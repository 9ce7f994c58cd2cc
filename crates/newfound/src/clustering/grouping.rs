//! From clusters to classes: which images an adaptation starts with in which class.

use burn::tensor::{Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::kmeans::{KMeans, KMeansOptions, k_means};
use super::matching::{Match, Matching, match_prototypes};
use super::prototypes::ordered_centroids;
use crate::discovery::Discovery;
use crate::geometry::normalise_rows;
use crate::metrics::assignment::AssignmentError;
use crate::network::{download, upload};
use crate::pseudo_labels::first_fill;

/// How many clusters a known class may own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KnownClusters {
    /// Several where the number of private classes is estimated, one where it is given.
    Auto,
    /// One, the best match of its prototype: the paper.
    One,
    /// As many as are close to it: [`crate::discovery`].
    Several,
}

/// The classes that an adaptation starts with, known ones first.
pub struct Grouping {
    /// Unit centroid of each class: [K, D].
    pub centroids: Tensor<2>,
    /// First probabilities p' of every image: [N, K]; the largest is that of its class.
    pub first: Tensor<2>,
    /// Images of each class.
    pub sizes: Vec<usize>,
    /// How well the centroid of each known class fits its prototype.
    pub matches: Vec<Match>,
    /// Sum over the images of the squared distance to their class's centroid.
    pub inertia: f64,
}

/// One cluster for every class: K-means with K = C + P, and prototypes matched with centroids one to one.
///
/// **Section III-B.** The private classes are the clusters that no prototype was matched with, largest first.
///
/// # Shapes
///
/// `features` z [N, D], `prototypes` [C, D]
pub fn one_to_one(
    features: Tensor<2>,
    prototypes: Tensor<2>,
    options: &KMeansOptions,
    matching: Matching,
    temperature: f64,
    seed: u64,
) -> Result<Grouping, AssignmentError> {
    let found = k_means(features.clone(), options, seed);
    let cosines = cosines(prototypes, found.centroids.clone());
    let matches = match_prototypes(&cosines, options.clusters, matching)?;
    let mut sizes = vec![0; options.clusters];
    found.labels.iter().for_each(|&label| sizes[label] += 1);
    let order = ordered_centroids(&matches, &sizes);
    let centroids = rows(found.centroids, &order);
    Ok(Grouping {
        first: first_fill(features, centroids.clone(), temperature),
        centroids,
        sizes: order.iter().map(|&cluster| sizes[cluster]).collect(),
        matches,
        inertia: found.inertia,
    })
}

/// As many clusters for a known class as are close to it; the rest, the new images, in `private` classes by k-means.
///
/// The first probabilities of an image are those of being its known class and its new one; nothing else is in question.
///
/// # Shapes
///
/// `features` z [N, D], `prototypes` [C, D]
pub fn several(
    features: Tensor<2>,
    prototypes: Tensor<2>,
    discovery: &Discovery,
    private: usize,
    restarts: usize,
    seed: u64,
) -> Result<Grouping, AssignmentError> {
    let device = features.device();
    let unit = normalise_rows(features);
    let [images, width] = unit.dims();
    let known = prototypes.dims()[0];
    let is_new = |image: usize| discovery.novelty[image] > 0.5;
    let new: Vec<usize> = (0..images).filter(|&image| is_new(image)).collect();
    let mut private = private.min(new.len());
    let new = if private == 0 { vec![] } else { new };

    let mut labels = discovery.known.clone();
    let mut groups = vec![0; images];
    if private > 0 {
        let options = KMeansOptions {
            geometry: KMeans::Spherical,
            clusters: private,
            restarts,
            rounds: 300,
        };
        let found = k_means(rows(unit.clone(), &new), &options, seed);
        let mut sizes = vec![0; private];
        found.labels.iter().for_each(|&label| sizes[label] += 1);
        // Images that are all the same are one cluster, however many were asked for.
        private = sizes.iter().filter(|&&size| size > 0).count();
        let mut order = ordered_centroids(&[], &sizes);
        order.truncate(private);
        for (&image, cluster) in new.iter().zip(found.labels) {
            let place = order.iter().position(|&other| other == cluster);
            labels[image] = known + place.expect("the order has every cluster");
        }
        // The new class that a known image would be.
        let all = cosines(unit.clone(), rows(found.centroids, &order));
        let best = |row: &[f64]| (1..private).fold(0, |b, c| if row[c] > row[b] { c } else { b });
        groups = all.chunks_exact(private).map(best).collect();
    }

    let outputs = known + private;
    let values = download(unit.clone());
    let own = download(normalise_rows(prototypes.clone()));
    let mut sums = vec![0.0f64; outputs * width];
    let mut sizes = vec![0; outputs];
    for (row, &label) in values.chunks_exact(width).zip(&labels) {
        sizes[label] += 1;
        let sum = sums[label * width..][..width].iter_mut();
        sum.zip(row).for_each(|(sum, x)| *sum += f64::from(*x));
    }
    // A known class that has no images here stays where it was.
    let centroids = (0..outputs).flat_map(|class| match sizes[class] {
        0 => own[class * width..][..width].to_vec(),
        _ => sums[class * width..][..width]
            .iter()
            .map(|&x| x as f32)
            .collect(),
    });
    let centroids = upload(centroids.collect(), &device).reshape([outputs, width]);
    let centroids = normalise_rows(centroids);

    let mut first = vec![0.0; images * outputs];
    for image in 0..images {
        let row = &mut first[image * outputs..][..outputs];
        let novelty = match labels[image] < known {
            // No new classes, or a known image: at most even.
            true if private == 0 => 0.0,
            true => discovery.novelty[image].min(0.5),
            false => discovery.novelty[image],
        };
        let group = match labels[image] < known {
            true => known + groups[image],
            false => labels[image],
        };
        if private > 0 {
            row[group] = novelty;
        }
        row[discovery.known[image]] = 1.0 - novelty;
    }
    let similarities = cosines(prototypes, centroids.clone());
    let matches = similarities.chunks_exact(outputs).enumerate();
    let matches = matches.map(|(class, row)| Match::of(row, class)).collect();
    let own = download((unit * rows(centroids.clone(), &labels)).sum_dim(1));
    Ok(Grouping {
        centroids,
        first: upload(first, &device).reshape([images, outputs]),
        sizes,
        matches,
        inertia: own
            .iter()
            .map(|&cosine| 2.0 - 2.0 * f64::from(cosine))
            .sum(),
    })
}

/// All cosines between the rows of `a` and those of `b`, row by row.
fn cosines(a: Tensor<2>, b: Tensor<2>) -> Vec<f64> {
    let product = normalise_rows(a).matmul(normalise_rows(b).transpose());
    download(product).into_iter().map(f64::from).collect()
}

/// Some rows of a matrix.
fn rows(matrix: Tensor<2>, which: &[usize]) -> Tensor<2> {
    let numbers: Vec<i64> = which.iter().map(|&row| row as i64).collect();
    let count = numbers.len();
    let device = matrix.device();
    matrix.select(
        0,
        Tensor::from_data(TensorData::new(numbers, [count]), &device),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::place;
    use crate::discovery::{Estimate, Kind};

    fn table<const N: usize>(values: &[[f32; 2]; N]) -> Tensor<2> {
        upload(values.concat(), &place("cpu").unwrap().device).reshape([N, 2])
    }

    /// Four images: two of the first known class in two places, two new ones; the second known class has none.
    fn found() -> Discovery {
        Discovery {
            novelty: vec![0.1, 0.2, 0.9, 0.7],
            known: vec![0, 0, 1, 0],
            presence: None,
            estimate: Estimate::certain(Kind::Open, 1),
        }
    }

    const IMAGES: [[f32; 2]; 4] = [[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0], [-0.8, -0.6]];
    const PROTOTYPES: [[f32; 2]; 2] = [[2.0, 0.0], [0.0, 3.0]];

    #[test]
    fn known_classes_own_all_that_is_close() {
        let group = several(table(&IMAGES), table(&PROTOTYPES), &found(), 1, 3, 0).unwrap();
        assert_eq!(group.sizes, [2, 0, 2]);
        let centroids = download(group.centroids);
        // Half-way between both images, the prototype of the class without images, and half-way between the new ones.
        let expected = [
            0.894_427_2,
            0.447_213_6,
            0.0,
            1.0,
            -0.948_683_3,
            -0.316_227_8,
        ];
        for (a, b) in centroids.iter().zip(expected) {
            assert!((a - b).abs() < 1e-6, "{centroids:?}");
        }
        let first = download(group.first);
        let expected = [0.9, 0.0, 0.1, 0.8, 0.0, 0.2, 0.0, 0.1, 0.9, 0.3, 0.0, 0.7];
        for (a, b) in first.iter().zip(expected) {
            assert!((a - b).abs() < 1e-6, "{first:?}");
        }
    }

    #[test]
    fn images_that_are_all_the_same_are_one_new_class() {
        let same = [[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0], [-1.0, 0.0]];
        let found = found();
        let group = several(table(&same), table(&PROTOTYPES), &found, 2, 3, 0).unwrap();
        assert_eq!(group.sizes, [2, 0, 2]);
        assert_eq!(group.first.dims(), [4, 3]);
    }

    #[test]
    fn without_new_classes_every_image_is_known() {
        let group = several(table(&IMAGES), table(&PROTOTYPES), &found(), 0, 3, 0).unwrap();
        assert_eq!(group.sizes, [3, 1]);
        assert_eq!(
            download(group.first),
            [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0]
        );
    }
}
