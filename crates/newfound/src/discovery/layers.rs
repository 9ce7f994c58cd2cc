//! A count that knows nothing of prototypes: clusters by one layer of the network, judged by another.
//!
//! With too few clusters by the body's features, classes share one, and by the bottleneck's features its images do not hang together;
//! with too many, a class is cut, and images of one cluster lie among those of the next. Clusters judged by
//! the features that made them would always look good.

use burn::tensor::{Device, Tensor};

use super::Target;
use super::consensus::Opinion;
use super::division::Cosines;
use super::evidence::{averages, means};
use super::rows::{Rows, dot};
use crate::adapt::matrix;
use crate::clustering::{Matching, match_prototypes};
use crate::network::download;

/// Numbers of clusters that are tried, in equal ratios from half as many as there are known classes to eight times as many.
const NUMBERS: usize = 22;

/// Images of a class that there must be on average: smaller clusters are single objects, seen several times.
const IMAGES_PER_CLASS: usize = 12;

/// By how much a silhouette must be better to count e times as much.
const TEMPERATURE: f64 = 0.01;

/// Divisions of the target into more and more clusters.
pub(super) struct Layers {
    divisions: Vec<Division>,
    known: usize,
    /// As many clusters as there were images for.
    most: usize,
}

struct Division {
    clusters: usize,
    /// The cluster of each image.
    labels: Vec<usize>,
    /// How well this number of clusters fits, beside the others: the sum is 1.
    weight: f64,
}

impl Layers {
    /// # Shapes
    ///
    /// `features` [N, D] of unit length, `body` of N images
    pub fn of(features: &Rows, body: &Cosines, known: usize, seed: u64, device: &Device) -> Self {
        let most = (features.len() / IMAGES_PER_CLASS).max(known + 1);
        // Other draws than those of the fine clusterings.
        let seed = seed.wrapping_add(1 << 32);
        let divided: Vec<(usize, Vec<usize>)> = numbers(known, most)
            .into_iter()
            .map(|clusters| (clusters, body.divide(clusters, seed)))
            .collect();
        let uploaded = matrix(&features.array(), device);
        let fit = |(clusters, labels): &(usize, Vec<usize>)| {
            silhouette(features, &uploaded, labels, *clusters)
        };
        let weights = weights(&divided.iter().map(fit).collect::<Vec<_>>());
        let divisions = divided.into_iter().zip(weights);
        Self {
            divisions: divisions
                .map(|((clusters, labels), weight)| Division {
                    clusters,
                    labels,
                    weight,
                })
                .collect(),
            known,
            most,
        }
    }

    /// That there are so many clusters, without a doubt, and one division into others.
    #[cfg(test)]
    pub fn certain(clusters: usize, known: usize, labels: Vec<usize>) -> Self {
        let division = |clusters, weight, labels| Division {
            clusters,
            labels,
            weight,
        };
        let others = labels.iter().max().map_or(1, |last| last + 1);
        let divisions = vec![
            division(clusters, 1.0, vec![]),
            division(others.max(known + 1), 0.0, labels),
        ];
        Self {
            divisions,
            known,
            most: usize::MAX,
        }
    }

    /// The same if there were images for so many clusters only.
    #[cfg(test)]
    pub fn with_most(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// How many classes there are, known and new: the weighted geometric mean.
    pub fn classes(&self) -> f64 {
        let logarithms = self.divisions.iter();
        logarithms
            .map(|d| d.weight * (d.clusters as f64).ln())
            .sum::<f64>()
            .exp()
    }

    /// How many new classes there are if all known ones are here and there is at least one new one; none where there are too few images to try half as many clusters
    /// again as there are known classes: what then fits best is what could be tried.
    pub fn private(&self) -> Option<f64> {
        if 2 * self.most < 3 * self.known {
            return None;
        }
        let (mut sum, mut all) = (0.0, 0.0);
        for (division, weight) in self.beyond() {
            sum += weight * ((division.clusters - self.known) as f64).ln();
            all += weight;
        }
        Some(if all > 0.0 { (sum / all).exp() } else { 1.0 })
    }

    /// New clusters for each known one, in all divisions into more clusters than there are known classes; a cluster is what the mean of its images is.
    ///
    /// By the body's features: the bottleneck's, taught to tell known classes apart, would cut these into more pieces than new ones.
    pub fn new_over_known(&self, novelty: &[f64]) -> f64 {
        let (mut new, mut known) = (0.0, 0.0);
        for (division, _) in self.beyond() {
            let Division {
                clusters, labels, ..
            } = division;
            let mut filled = vec![false; *clusters];
            labels.iter().for_each(|&label| filled[label] = true);
            let means = averages(novelty, labels, *clusters);
            for (mean, _) in means.iter().zip(filled).filter(|(_, filled)| *filled) {
                match *mean > 0.5 {
                    true => new += 1.0,
                    false => known += 1.0,
                }
            }
        }
        new / f64::max(known, 1.0)
    }

    /// The most new classes that are looked for where there are images enough.
    pub fn most(&self) -> f64 {
        (LARGEST - 1.0) * self.known as f64
    }

    /// Divisions into more clusters than there are known classes. Where they hardly fit, they are all the same.
    fn beyond(&self) -> impl Iterator<Item = (&Division, f64)> {
        let more = |d: &&Division| d.clusters > self.known;
        let fitting: f64 = self.divisions.iter().filter(more).map(|d| d.weight).sum();
        let weight = move |d: &Division| if fitting > 1e-9 { d.weight } else { 1.0 };
        self.divisions
            .iter()
            .filter(more)
            .map(move |d| (d, weight(d)))
    }

    /// What prototypes matched with clusters one to one say, as in the paper: an image is new if its cluster is left over.
    pub fn opinion(&self, target: &Target, prototypes: &Rows) -> Opinion {
        let images = target.features.len();
        let mut opinion = Opinion::none(images, self.known);
        let all: f64 = self.beyond().map(|(_, weight)| weight).sum();
        for (division, weight) in self.beyond() {
            let share = weight / all;
            let labels = &division.labels;
            let classes = self.classes_of(division.clusters, labels, target, prototypes);
            for (image, &cluster) in labels.iter().enumerate() {
                match classes[cluster] {
                    Some(class) => opinion.add(image, class, 1.0, share),
                    None => opinion.novelty[image] += share,
                }
            }
        }
        opinion
    }

    /// The known class of each cluster that has one.
    fn classes_of(
        &self,
        clusters: usize,
        labels: &[usize],
        target: &Target,
        prototypes: &Rows,
    ) -> Vec<Option<usize>> {
        let means = means(&target.features, labels, clusters);
        let similarities: Vec<f64> = prototypes
            .iter()
            .flat_map(|prototype| means.iter().map(|mean| dot(prototype, mean)))
            .collect();
        let matches = match_prototypes(&similarities, clusters, Matching::Hungarian)
            .expect("cosines of finite features, and more clusters than classes");
        let mut classes = vec![None; clusters];
        for (class, found) in matches.iter().enumerate() {
            classes[found.centroid] = Some(class);
        }
        classes
    }
}

/// Clusters for each known class, at most.
const LARGEST: f64 = 8.0;

/// Which numbers of clusters to try, ascending.
fn numbers(known: usize, most: usize) -> Vec<usize> {
    let (low, high) = (0.5 * known as f64, LARGEST * known as f64);
    let number = |step: usize| {
        let part = step as f64 / (NUMBERS - 1) as f64;
        (low * (high / low).powf(part)).round() as usize
    };
    let mut numbers: Vec<usize> = (0..NUMBERS)
        .map(number)
        .chain([known + 1])
        .map(|number| number.clamp(2, most))
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// How much each number of clusters counts, by silhouettes that are smoothed over the next numbers.
fn weights(silhouettes: &[f64]) -> Vec<f64> {
    let last = silhouettes.len() - 1;
    let smooth = |at: usize| {
        let (below, above) = (at.saturating_sub(1), (at + 1).min(last));
        0.25 * silhouettes[below] + 0.5 * silhouettes[at] + 0.25 * silhouettes[above]
    };
    let smoothed: Vec<f64> = (0..silhouettes.len()).map(smooth).collect();
    let best = smoothed.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let raw: Vec<f64> = smoothed
        .iter()
        .map(|s| ((s - best) / TEMPERATURE).exp())
        .collect();
    let sum: f64 = raw.iter().sum();
    raw.into_iter().map(|weight| weight / sum).collect()
}

/// The mean silhouette (Rousseeuw 1987) by cosine distance, of features of unit length.
///
/// By the sum of each cluster's rows: the mean distance of an image to a cluster needs no pairs.
/// `uploaded` are the features on a device.
fn silhouette(features: &Rows, uploaded: &Tensor<2>, labels: &[usize], clusters: usize) -> f64 {
    let mut sizes = vec![0.0; clusters];
    labels.iter().for_each(|&label| sizes[label] += 1.0);
    let sums = features.sums(labels, clusters);
    let sums = matrix(&sums.array(), &uploaded.device());
    let products = uploaded.clone().matmul(sums.transpose()); // [N, K]
    let products = download(products);
    let mut total = 0.0;
    for (row, &own) in products.chunks_exact(clusters).zip(labels) {
        if sizes[own] < 2.0 {
            continue;
        }
        let within = 1.0 - (f64::from(row[own]) - 1.0) / (sizes[own] - 1.0);
        let between = (0..clusters)
            .filter(|&other| other != own && sizes[other] > 0.0)
            .map(|other| 1.0 - f64::from(row[other]) / sizes[other])
            .fold(f64::INFINITY, f64::min);
        if between.is_finite() {
            total += (between - within) / between.max(within).max(1e-12);
        }
    }
    total / labels.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::place;
    use crate::discovery::rows::plane as rows;

    #[test]
    fn numbers_of_clusters_reach_from_fewer_than_the_known_classes_to_many_more() {
        let numbers = numbers(10, 1000);
        assert_eq!((numbers[0], *numbers.last().unwrap()), (5, 80));
        assert!(numbers.contains(&11) && numbers.windows(2).all(|w| w[0] < w[1]));
        assert_eq!(self::numbers(10, 20).last(), Some(&20));
        assert_eq!(self::numbers(1, 4), [2, 3, 4]);
    }

    #[test]
    fn the_silhouette_is_rousseeuws() {
        let device = place("cpu").unwrap().device;
        let features = rows(&[[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [-1.0, 0.0]]);
        let uploaded = matrix(&features.array(), &device);
        let found = silhouette(&features, &uploaded, &[0, 0, 1, 2], 3);
        // Distances 1 − cosine: images 0 and 1 are 0.4 apart; the nearest other cluster is 1 and 0.2 away; the others are alone.
        let expected = ((1.0 - 0.4) / 1.0 + (0.2 - 0.4) / 0.4 + 0.0 + 0.0) / 4.0;
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }

    #[test]
    fn better_silhouettes_count_more() {
        let weights = weights(&[0.1, 0.3, 0.3, 0.3, 0.1]);
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        // Smoothed: 0.15, 0.25, 0.3, 0.25, 0.15.
        assert!((weights[2] / weights[1] - 5f64.exp()).abs() < 1e-6);
        assert!(weights[0] < 1e-6);
    }

    #[test]
    fn clusters_are_what_most_of_their_images_are() {
        // Two known and one new cluster, one that nothing is in, and one with as much for as against.
        let layers = Layers::certain(3, 2, vec![0, 0, 1, 2, 2, 4, 4]);
        let ratio = layers.new_over_known(&[0.1, 0.2, 0.3, 0.9, 0.6, 0.9, 0.1]);
        assert!((ratio - 1.0 / 3.0).abs() < 1e-12, "{ratio}");
        assert_eq!(layers.new_over_known(&[0.9; 7]), 4.0, "no known cluster");
    }

    #[test]
    fn what_is_left_over_is_new() {
        let features = rows(&[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]);
        let target = Target {
            body: features.clone(),
            lengths: features.lengths(),
            features,
        };
        let division = |clusters, weight, labels: &[usize]| Division {
            clusters,
            labels: labels.to_vec(),
            weight,
        };
        let layers = Layers {
            divisions: vec![
                division(2, 0.5, &[0, 0, 0, 1]),
                division(3, 0.3, &[0, 0, 1, 2]),
                division(4, 0.2, &[0, 1, 2, 3]),
            ],
            known: 2,
            most: 8,
        };
        let prototypes = rows(&[[1.0, 0.0], [0.0, 1.0]]);
        let opinion = layers.opinion(&target, &prototypes);
        // Of the divisions with a cluster to spare, three clusters count 0.6 and four 0.4; in the second, one of the two equal
        // images is left over, too.
        let expected = [0.0, 0.4, 0.0, 1.0];
        for (found, expected) in opinion.novelty.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{:?}", opinion.novelty);
        }
        assert!((opinion.votes[0] - 1.0).abs() < 1e-12 && (opinion.votes[2] - 0.6).abs() < 1e-12);
        // One more with 0.6, two more with 0.4.
        assert!((layers.private().unwrap() - 2f64.powf(0.4)).abs() < 1e-12);
        let classes = 2f64.powf(0.5) * 3f64.powf(0.3) * 4f64.powf(0.2);
        assert!((layers.classes() - classes).abs() < 1e-12);
    }
}
