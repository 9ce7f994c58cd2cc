//! Does a cluster belong to a known class?

use super::Target;
use super::rows::{Rows, dot};

/// What speaks for and against a cluster being part of the known class nearest to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// The known class with the most similar prototype.
    pub class: usize,
    /// Cosine of that prototype and the cluster's mean, both less what all of their kind have in common.
    pub similarity: f64,
    /// The similarity as a share of the largest that any cluster has with this class.
    pub relative: f64,
    /// Cosine of the cluster and that most similar cluster of the class, by the body's features.
    pub kinship: f64,
    /// Mean length of the features of the cluster's images, as a share of that of the most similar cluster's: features of classes that a model never
    /// saw are shorter.
    pub length: f64,
}

/// How steeply the probability falls with the evidence; see [`Evidence::novelty`].
const SLOPE: f64 = 10.0;

/// What kinship and length count for beside similarity.
const KINSHIP: f64 = 0.5;
const LENGTH: f64 = 0.8;

impl Evidence {
    /// How much speaks for the known class: relative + 0.5 kinship + 0.8 length.
    pub fn support(&self) -> f64 {
        self.relative + KINSHIP * self.kinship + LENGTH * self.length
    }

    /// The probability that the cluster is of a new class.
    ///
    /// ```text
    /// σ(10 · (even − relative − 0.5 kinship − 0.8 length))
    /// ```
    ///
    /// `even` is the support at which both are taken to be equally likely.
    ///
    /// The best cluster of a class has 1, 1 and 1 and is known; one that is half as similar must be nearly all of a kind with it and as long to be so, too. A logistic
    /// regression on clusters of known origin has this form. Scaled to a relative that counts 1, kinship counts 0.5 to 0.7 on five sets of divisions of
    /// Office-31, with models whose features hang on the prototypes loosely (mean cosine 0.55) or tightly (0.8); with
    /// kinship by the bottleneck's features that is not so. Length counts 0.5 to 0.9, most where features hang tightly. Averages over clusterings are
    /// softer than each of them, hence a slope of 10 where the regressions have 4 to 5.
    pub fn novelty(&self, even: f64) -> f64 {
        1.0 / (1.0 + (-SLOPE * (even - self.support())).exp())
    }
}

/// The least similarity that the best of a class is taken to have: below it, shares of it mean nothing.
pub(super) const LEAST: f64 = 0.05;

/// One division of the target into many clusters.
#[derive(Debug, Clone)]
pub(super) struct FineClustering {
    /// The cluster of each image.
    pub labels: Vec<usize>,
    /// One for each cluster.
    pub evidence: Vec<Evidence>,
}

impl FineClustering {
    pub fn new(target: &Target, labels: Vec<usize>, clusters: usize, prototypes: &Rows) -> Self {
        let means = means(&target.features, &labels, clusters);
        let body = self::means(&target.body, &labels, clusters);
        let lengths = averages(&target.lengths, &labels, clusters);
        let evidence = evidence(&means, &body, &lengths, prototypes);
        Self { labels, evidence }
    }
}

/// The mean of the values of each cluster's images; 0 for a cluster without any.
pub(super) fn averages(values: &[f64], labels: &[usize], clusters: usize) -> Vec<f64> {
    let (mut sums, mut sizes) = (vec![0.0; clusters], vec![0.0; clusters]);
    for (value, &label) in values.iter().zip(labels) {
        sums[label] += value;
        sizes[label] += 1.0;
    }
    let mean = |(sum, size): (f64, f64)| sum / size.max(1.0);
    sums.into_iter().zip(sizes).map(mean).collect()
}

/// The direction of the mean of each cluster's rows.
pub(super) fn means(rows: &Rows, labels: &[usize], clusters: usize) -> Rows {
    rows.sums(labels, clusters).unit()
}

/// The class with the most similar prototype, and how similar it is, for each row.
pub(super) fn nearest_classes(rows: &Rows, prototypes: &Rows) -> Vec<(usize, f64)> {
    let better = |best: (usize, f64), next: (usize, f64)| {
        if next.1 > best.1 { next } else { best }
    };
    rows.iter()
        .map(|row| {
            let similarities = prototypes.iter().map(|prototype| dot(row, prototype));
            similarities
                .enumerate()
                .reduce(better)
                .expect("there are known classes")
        })
        .collect()
}

/// The evidence for each cluster, given its means by features and by the body's and the prototypes, all of unit length, and how long its features were.
fn evidence(means: &Rows, body: &Rows, lengths: &[f64], prototypes: &Rows) -> Vec<Evidence> {
    let nearest = nearest_classes(means, prototypes);
    let mut best: Vec<Option<usize>> = vec![None; prototypes.len()];
    for (cluster, &(class, similarity)) in nearest.iter().enumerate() {
        let beaten = best[class].is_none_or(|other| similarity > nearest[other].1);
        if beaten {
            best[class] = Some(cluster);
        }
    }
    let of_cluster = |(cluster, &(class, similarity)): (usize, &(usize, f64))| {
        let first = best[class].expect("this cluster is a candidate");
        Evidence {
            class,
            similarity,
            relative: similarity / nearest[first].1.max(LEAST),
            kinship: dot(body.row(cluster), body.row(first)),
            length: lengths[cluster] / lengths[first].max(f64::MIN_POSITIVE),
        }
    };
    nearest.iter().enumerate().map(of_cluster).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::rows::plane as rows;

    #[test]
    fn a_class_may_own_several_clusters() {
        let prototypes = rows(&[[1.0, 0.0], [-1.0, 0.0]]);
        // The best of the first class, another one close to it, one across, and the only one of the second class.
        let means = rows(&[[0.8, 0.6], [0.6, 0.8], [0.0, 1.0], [-0.6, -0.8]]);
        let found = evidence(&means, &means, &[4.0, 3.0, 2.0, 5.0], &prototypes);
        assert_eq!(found[0].class, 0);
        let lengths: Vec<f64> = found.iter().map(|e| e.length).collect();
        assert_eq!(lengths, [1.0, 0.75, 0.5, 1.0]);
        assert!((found[0].relative - 1.0).abs() < 1e-12 && (found[0].kinship - 1.0).abs() < 1e-12);
        assert!(
            (found[1].relative - 0.75).abs() < 1e-12 && (found[1].kinship - 0.96).abs() < 1e-12
        );
        assert!((found[2].relative - 0.0).abs() < 1e-12 && (found[2].kinship - 0.6).abs() < 1e-12);
        assert_eq!((found[3].class, found[3].relative), (1, 1.0));
        let new: Vec<bool> = found.iter().map(|e| e.novelty(1.8) > 0.5).collect();
        assert_eq!(new, [false, false, true, false]);
        // 1 / (1 + e^{−10 (1.8 − 0.75 − 0.5 · 0.96 − 0.8 · 0.75)})
        assert!((found[1].novelty(1.8) - 1.0 / (1.0 + 0.3f64.exp())).abs() < 1e-12);
    }

    #[test]
    fn averages_are_of_the_images_of_a_cluster() {
        assert_eq!(averages(&[1.0, 2.0, 4.0], &[2, 0, 2], 3), [2.0, 0.0, 2.5]);
    }

    #[test]
    fn nothing_to_measure_by_is_no_evidence_for_a_known_class() {
        // All clusters point away from the only prototype: shares of a negative similarity would be large.
        let away = rows(&[[-0.6, 0.8], [0.0, -1.0]]);
        let found = evidence(&away, &away, &[1.0, 1.0], &rows(&[[1.0, 0.0]]));
        assert!(found.iter().all(|e| e.relative <= 0.0));
        assert!(found.iter().all(|e| e.novelty(1.8) > 0.5));
    }
}
