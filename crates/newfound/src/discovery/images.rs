//! Does an image belong to a known class, by itself?
//!
//! Where the classes of a target lie apart, a cluster knows more than any of its images. Where they run into each other, as with drawings, a cluster
//! has images of several classes, and what the model says of each of them alone is worth more.

use super::consensus::{Neighbourhoods, Opinion};
use super::evidence::{FineClustering, LEAST, nearest_classes};
use super::rows::Rows;

/// What speaks for each image being of the known class nearest to it.
pub(super) struct Images {
    /// That class.
    class: Vec<usize>,
    /// Cosine of its prototype and the image, as a share of that of the images most similar to it.
    relative: Vec<f64>,
    /// Mean cosine of each known class and the images most similar to it.
    pub best: Vec<f64>,
}

/// The images most similar to a prototype: a quarter of those nearest to it, and no more than a quarter of an equal share of all.
const BEST: f64 = 0.25;
const FEWEST: usize = 3;

/// The relative similarity at which an image is as likely new as known, and how steeply the probability falls with it.
///
/// Logistic regressions put the line at 0.755 and at 0.759, with slopes of 9.0 and 7.4: for 19 divisions of photographs (Office-31) and for 6 of icons in
/// three styles of drawing.
const LINE: f64 = 0.755;
const SLOPE: f64 = 8.0;

/// Neighbours with which a similarity is averaged.
const NEIGHBOURS: usize = 5;

/// How often images and their clusters must agree for clusters to have all the say, and where they have none.
const AGREED: f64 = 0.9;
const ARBITRARY: f64 = 0.6;

impl Images {
    /// # Shapes
    ///
    /// `features` [N, D] and `prototypes` [C, D], centred and of unit length
    pub fn new(features: &Rows, prototypes: &Rows) -> Self {
        let (images, known) = (features.len(), prototypes.len());
        let nearest = nearest_classes(features, prototypes);
        let mut similarities: Vec<Vec<f64>> = vec![Vec::new(); known];
        for &(class, similarity) in &nearest {
            similarities[class].push(similarity);
        }
        let best: Vec<f64> = similarities
            .into_iter()
            .map(|mut all| {
                all.sort_by(|a, b| b.total_cmp(a));
                let share = all.len().min(images / known) as f64;
                all.truncate(((BEST * share) as usize).max(FEWEST));
                all.iter().sum::<f64>() / all.len().max(1) as f64
            })
            .collect();
        let relative = nearest.iter();
        Self {
            relative: relative
                .map(|&(class, similarity)| similarity / best[class].max(LEAST))
                .collect(),
            class: nearest.into_iter().map(|(class, _)| class).collect(),
            best,
        }
    }

    /// What images say by themselves.
    ///
    /// ```text
    /// σ(8 · (0.755 − relative)),  relative averaged with five neighbours'
    /// ```
    pub fn opinion(&self, neighbourhoods: &Neighbourhoods) -> Opinion {
        let mut opinion = Opinion::none(self.class.len(), self.best.len());
        let smooth = neighbourhoods.only(NEIGHBOURS).smooth(&self.relative, 1);
        for (image, (&class, relative)) in self.class.iter().zip(smooth).enumerate() {
            let unlike = 1.0 / (1.0 + (-SLOPE * (LINE - relative)).exp());
            opinion.add(image, class, 1.0 - unlike, 1.0);
        }
        opinion
    }

    /// How much clusters are to be trusted, from 0 to 1: whether the images most like known classes are nearest to the same class as their clusters.
    ///
    /// The others do not count: images of new classes are nearest to one known class or another whatever their cluster is.
    pub fn trust(&self, clusterings: &[FineClustering]) -> f64 {
        let mut sorted = self.relative.clone();
        sorted.sort_by(f64::total_cmp);
        let median = sorted[sorted.len() / 2];
        let (mut same, mut all) = (0.0, 0.0);
        for clustering in clusterings {
            for (image, &cluster) in clustering.labels.iter().enumerate() {
                if self.relative[image] >= median {
                    all += 1.0;
                    same += f64::from(clustering.evidence[cluster].class == self.class[image]);
                }
            }
        }
        ((same / f64::max(all, 1.0) - ARBITRARY) / (AGREED - ARBITRARY)).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::evidence::Evidence;
    use crate::discovery::rows::plane;

    /// Four images of the first class, three of the second and one between them that is nearer to the first.
    fn images() -> Images {
        let prototypes = plane(&[[1.0, 0.0], [0.0, 1.0]]);
        let near = [0.96, 0.28];
        let features = plane(&[
            near,
            near,
            near,
            near,
            [0.0, 1.0],
            [0.0, 1.0],
            [0.0, 1.0],
            [0.8, -0.6],
        ]);
        Images::new(&features, &prototypes)
    }

    #[test]
    fn similarity_is_a_share_of_that_of_the_best_images() {
        let images = images();
        assert_eq!(images.class, [0, 0, 0, 0, 1, 1, 1, 0]);
        // The three best of the first class have 0.96.
        let wanted = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.8 / 0.96];
        let close = |(a, b): (&f64, f64)| (a - b).abs() < 1e-12;
        assert!(images.relative.iter().zip(wanted).all(close));
    }

    #[test]
    fn clusters_are_trusted_as_far_as_images_agree_with_them() {
        let images = images();
        let evidence = |class| Evidence {
            class,
            similarity: 1.0,
            relative: 1.0,
            kinship: 1.0,
            length: 1.0,
        };
        let clustering = |labels: [usize; 8]| FineClustering {
            labels: labels.to_vec(),
            evidence: vec![evidence(0), evidence(1)],
        };
        let right = clustering([0, 0, 0, 0, 1, 1, 1, 1]);
        // The last image is below the median and does not count; of the others one in seven is elsewhere: (6/7 − 0.6) / 0.3.
        let nearly = clustering([0, 0, 0, 1, 1, 1, 1, 1]);
        let arbitrary = clustering([1, 0, 1, 0, 1, 0, 1, 0]);
        let trust = |clustering: FineClustering| images.trust(&[clustering]);
        assert_eq!(trust(right), 1.0);
        assert!((trust(nearly) - (6.0 / 7.0 - 0.6) / 0.3).abs() < 1e-12);
        assert_eq!(trust(arbitrary), 0.0);
    }
}
