//! How many new classes?

use serde::{Deserialize, Serialize};

use super::consensus::Consensus;
use super::evidence::FineClustering;
use super::presence::Alignment;

/// What kind of target this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Known and new classes.
    Open,
    /// Known classes only.
    NoNew,
    /// New classes only.
    NoKnown,
}

/// How many new classes, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// P.
    pub private: usize,
    /// It is hardly smaller than this.
    pub low: usize,
    /// It is hardly larger than this.
    pub high: usize,
    /// Known classes, new classes, or both.
    pub kind: Kind,
    /// The reason in words.
    pub reason: String,
    /// [`Alignment::strength`], where it was measured.
    pub alignment: Option<f64>,
    /// Share of the images that are surely new.
    pub surely_new: f64,
}

/// An image above this is surely new.
const SURELY: f64 = 0.8;

/// With fewer images surely new than this share, there are no new classes.
///
/// Odd images of known classes look new as well: on targets with known classes only they were up to an eighth of all images.
const NO_NEW: f64 = 0.12;

/// Where the line between known and new might as well be drawn: the interval.
const LINES: [f64; 2] = [0.35, 0.65];

/// Counts the new classes by comparison with the known ones.
///
/// A new class is taken to be like a known one: of about as many images, and spread over about as many fine clusters. Both counts are
/// made, and their geometric mean is the estimate.
pub(super) fn estimate(
    clusterings: &[FineClustering],
    consensus: &Consensus,
    known: usize,
    alignment: Option<Alignment>,
) -> Estimate {
    let images = consensus.novelty.len() as f64;
    let surely = consensus.novelty.iter().filter(|&&p| p > SURELY).count() as f64 / images;
    let shared = |private, [low, high]: [usize; 2], kind, reason| Estimate {
        private,
        low,
        high,
        kind,
        reason,
        alignment: alignment.map(|fit| fit.strength()),
        surely_new: surely,
    };
    if let Some(fit) = alignment.filter(|fit| !fit.present()) {
        let reason = format!(
            "the known classes fit these images little better than chance (cosine {:.2} on average, {:.2} by chance): no known classes \
             here; how many new ones there are cannot be told by comparison, so there are as many as the model knows",
            fit.real, fit.by_chance
        );
        return shared(known, [2, 2 * known], Kind::NoKnown, reason);
    }
    let at = |line: f64| Sizes::of(consensus, line);
    let middle = at(0.5);
    let by_images = middle.ratio();
    let by_clusters = by_clusters(clusterings, consensus) * middle.classes();
    if surely < NO_NEW {
        let reason = format!(
            "{:.0} % of the images are surely unlike every known class, no more than odd images of known classes: no new classes here",
            100.0 * surely
        );
        let high = by_images.ceil() as usize;
        return shared(0, [0, high], Kind::NoNew, reason);
    }
    let private = ((by_images * by_clusters).sqrt().round() as usize).max(1);
    let [many, few] = LINES.map(|line| at(line).ratio());
    let doubt = middle.standard_error();
    let low = few.min(by_clusters) * (1.0 - doubt);
    let high = many.max(by_clusters) * (1.0 + doubt);
    let [low, high] = [low.floor() as usize, high.ceil() as usize];
    let reason = format!(
        "{} images are unlike every known class; a known class has {:.0} images here on average, which makes about {:.0} new ones, and \
         by the number of fine clusters there are about {:.0}",
        middle.new,
        middle.mean(),
        by_images,
        by_clusters
    );
    shared(
        private,
        [low.clamp(1, private), high.max(private)],
        Kind::Open,
        reason,
    )
}

/// Images that are new, and those of each known class that has any.
struct Sizes {
    new: usize,
    known: Vec<f64>,
}

impl Sizes {
    /// With images above `line` taken as new.
    fn of(consensus: &Consensus, line: f64) -> Self {
        let classes = 1 + consensus.known.iter().copied().max().unwrap_or(0);
        let mut known = vec![0.0; classes];
        let mut new = 0;
        for (&p, &class) in consensus.novelty.iter().zip(&consensus.known) {
            if p > line {
                new += 1;
            } else {
                known[class] += 1.0;
            }
        }
        known.retain(|&size| size > 0.0);
        Self { new, known }
    }

    fn classes(&self) -> f64 {
        self.known.len() as f64
    }

    fn mean(&self) -> f64 {
        match self.known.len() {
            0 => 1.0,
            count => self.known.iter().sum::<f64>() / count as f64,
        }
    }

    /// New images over the images of a known class.
    fn ratio(&self) -> f64 {
        self.new as f64 / self.mean()
    }

    /// Of the mean, as a share of it.
    fn standard_error(&self) -> f64 {
        let (mean, count) = (self.mean(), self.classes().max(1.0));
        let variance = self
            .known
            .iter()
            .map(|size| (size - mean).powi(2))
            .sum::<f64>()
            / count;
        (variance / count).sqrt() / mean
    }
}

/// New clusters over known ones, in all clusterings together; a cluster is what the mean of its images is.
fn by_clusters(clusterings: &[FineClustering], consensus: &Consensus) -> f64 {
    let (mut new, mut known) = (0.0, 0.0);
    for clustering in clusterings {
        let clusters = clustering.evidence.len();
        let mut sums = vec![(0.0, 0.0); clusters];
        for (&cluster, p) in clustering.labels.iter().zip(&consensus.novelty) {
            sums[cluster].0 += p;
            sums[cluster].1 += 1.0;
        }
        for (sum, count) in sums.into_iter().filter(|(_, count)| *count > 0.0) {
            if sum > 0.5 * count {
                new += 1.0;
            } else {
                known += 1.0;
            }
        }
    }
    new / f64::max(known, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::evidence::Evidence;
    use crate::discovery::rows::Rows;

    /// One cluster for every ten images of a class; images of class c < known are known.
    fn target(known: &[usize], new: usize) -> (Vec<FineClustering>, Consensus) {
        let mut consensus = Consensus {
            novelty: vec![],
            known: vec![],
        };
        for (class, &size) in known.iter().enumerate() {
            consensus.known.extend(vec![class; size]);
            consensus.novelty.extend(vec![0.1; size]);
        }
        consensus.known.extend(vec![0; new]);
        consensus.novelty.extend(vec![0.9; new]);
        let images = consensus.known.len();
        let labels: Vec<usize> = (0..images).map(|image| image / 10).collect();
        let clusters = images.div_ceil(10);
        let none = Evidence {
            class: 0,
            similarity: 0.0,
            relative: 0.0,
            kinship: 0.0,
        };
        let clustering = FineClustering {
            labels,
            means: Rows {
                values: vec![],
                width: 1,
            },
            evidence: vec![none; clusters],
        };
        (vec![clustering], consensus)
    }

    #[test]
    fn new_classes_are_counted_in_known_ones() {
        let (clusterings, consensus) = target(&[20, 40], 90);
        let found = estimate(&clusterings, &consensus, 2, None);
        // 90 images at 30 a class, and nine clusters at three a class.
        assert_eq!((found.kind, found.private), (Kind::Open, 3));
        assert!(
            found.low < 3 && found.high > 3 && found.high < 6,
            "{found:?}"
        );
        assert!(found.reason.contains("90 images") && found.reason.contains("30 images"));
    }

    #[test]
    fn a_few_odd_images_are_no_new_class() {
        let (clusterings, consensus) = target(&[50, 50], 10);
        let found = estimate(&clusterings, &consensus, 2, None);
        assert_eq!((found.kind, found.private, found.low), (Kind::NoNew, 0, 0));
        assert!(found.reason.contains("no new classes here"));
    }

    #[test]
    fn prototypes_that_fit_nothing_are_of_classes_that_are_not_here() {
        let (clusterings, consensus) = target(&[50, 50], 100);
        let fit = Alignment {
            real: 0.6,
            by_chance: 0.55,
        };
        let found = estimate(&clusterings, &consensus, 2, Some(fit));
        assert_eq!(found.kind, Kind::NoKnown);
        assert!(found.reason.contains("no known classes"));
    }
}
