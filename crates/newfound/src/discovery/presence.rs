//! Do the known classes occur here at all, and which of them do?

use std::cmp::Ordering;

use super::doubt;
use super::evidence::LEAST;
use super::rows::{Rows, dot};
use super::turned::{Span, turns};

/// How well the prototypes fit the images nearest to them, and how well prototypes would that know nothing of the images: the same ones, with all their
/// angles among each other, but turned at random.
///
/// Only directions in the space that the prototypes span count: how much of the features lies in it depends on how long the model was
/// trained, not on the target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Alignment {
    /// Of all pairs of a prototype and a turned one, in how many the first fits better: 0.5 is chance, 1 is best.
    ///
    /// How much better does not count. It depends on how tightly images of a class lie together, which differs from place to place more than
    /// between targets with and without known classes.
    pub ahead: f64,
    /// Mean over the known classes of the cosine with the images nearest to each.
    pub real: f64,
    /// The same for turned prototypes.
    pub by_chance: f64,
    /// How much the model doubts, beside models that know nothing of the images: see `doubt.rs`.
    pub doubt: f64,
    /// C.
    pub known: usize,
}

/// Turned prototypes in all, and the fewest and most turns of all prototypes: with more classes there is more to compare in each.
///
/// They are the same for every look and every run, so that what is found depends on the images. With a quarter of them, other turns move it by about 0.01.
const TURNED: usize = 4800;
const TURNS: [usize; 2] = [12, 240];

/// The images nearest to a prototype are a quarter of those that each known class would have if there were no others.
const NEAREST: usize = 4;

/// Neighbours with which the features of an image are averaged: what it shares with them is its class, more than what it has alone.
pub(super) const NEIGHBOURS: usize = 5;

/// Images that are looked at; of more, every n-th one.
const MOST_IMAGES: usize = 16384;

impl Alignment {
    /// Where a model with so many classes wins fewer pairs than this, none of them is here: 0.79, and less below ten classes, where a few odd
    /// ones count for more.
    ///
    /// In a study, none of 210 targets with 10 to 24 known classes had less, and 67 of 72 without any had. With drawings instead of photographs, where
    /// models are right about 40 to 80 % of the known images, 8 of 87 had less.
    pub fn present(known: usize) -> f64 {
        f64::min(0.79, 1.0 - 0.66 / (known as f64).sqrt())
    }

    /// With fewer pairs than this, how well known classes fit is a reason to doubt: in the same study, targets of known classes alone had 0.91 and more (drawings: 2 of
    /// 23 less than this), others in which hardly any image looks new at most 0.827.
    pub fn weak(known: usize) -> f64 {
        Self::present(known) + 0.04
    }

    /// Clusters to be trusted more than this tell known classes from others by themselves.
    ///
    /// Of 18 targets of Office-31 without any of the ten known classes, prototypes lie in clusters of several classes: trust is at most 0.94, and 0.11 and more of the images are
    /// surely new. Of 17 with five to nine of them, nothing new and no image surely new, it is 1; by 0.83, the line there was for these, 12 of them had no known classes, by 0.79 two.
    pub(super) const FIRM: f64 = 0.95;

    /// With fewer known classes, chance may do as well as this: a weak alignment is a reason to doubt, but no more.
    pub const ENOUGH: usize = 5;

    /// A model that doubts less than this knows some of the images, however few of its classes are here.
    ///
    /// Of 18 runs of Office-31 without any of the ten known classes, none has less than 0.41; with five of ten known classes and nothing new 11 of 12 have 0.15 and less, but win
    /// only 57 to 78 % of the pairs. Models that are sure of few images have more in any case (icons with all of 25 known classes 0.45 and more): for them, pairs alone speak.
    const SURE: f64 = 0.2;

    /// See [`knows_nothing`](Self::knows_nothing).
    const IGNORANT: f64 = 0.97;

    /// How well two ways of telling new images must agree to speak for known classes, and the pairs that must be won nevertheless.
    ///
    /// In the study it keeps 14 of 98 targets of drawings from being called so, at the price of 2 of 72 without known classes (with 0.7 for both). Of 12 targets
    /// of icons without any of 25 known classes, one is missed for it.
    const AGREED: f64 = 0.65;
    const SOME: f64 = 0.7;

    /// See [`deserted`](Self::deserted).
    const DESERTED: f64 = 0.7;

    /// How far those pairs may be fewer where the two agree better still, for as much more agreement.
    ///
    /// Of Office-31 without known classes no run has an agreement above 0.66; a target of photographs for a model of paintings has 0.88 and an
    /// alignment of 0.68.
    const RELIEF: f64 = 0.5;

    /// Whether it can be said that none of the known classes is here.
    ///
    /// `alone`: how much clusters are to be trusted, from 0 to 1, where hardly any image looks new; none where many do. `agreement`: the
    /// correlation of what clusters that are like no prototype say is new with what one-to-one matching leaves over. Both follow the prototypes; without known
    /// classes, each follows them elsewhere.
    pub fn absent(&self, alone: Option<f64>, agreement: f64) -> bool {
        let weak = self.above() < 0.0;
        let witnessed = match alone {
            Some(trust) => trust > Self::FIRM,
            None => {
                let some = Self::SOME - Self::RELIEF * (agreement - Self::AGREED);
                agreement > Self::AGREED && self.ahead > some
            }
        };
        self.known >= Self::ENOUGH && weak && !witnessed
    }

    /// How far above the line the known classes are, by the pairs won or by how little the model doubts, whichever speaks for them more.
    ///
    /// Pairs are won by classes that are here, images are known by their own class: where half of the known classes are missing and nothing is new, 57 to 78 % of the pairs
    /// are won, as few as where none is here, but the model doubts as little as ever.
    fn above(&self) -> f64 {
        let by_pairs = self.ahead - Self::present(self.known);
        let spare = Self::SURE - self.doubt;
        // Less than a model that is sure may doubt counts for a half; more, for so much that pairs soon decide alone.
        by_pairs.max(spare * if spare > 0.0 { 0.5 } else { 2.0 })
    }

    /// Whether so few pairs are won that hardly any image is like a class that is missing: there are few new classes, if any.
    ///
    /// A model keeps its own classes apart, so that images of other known classes are farther from a missing one than chance would have it, and images of new classes are not.
    /// Of targets of Office-31 on which the model is sure, with five of ten or eight of 20 known classes, those with nothing new have 0.53 to 0.84 (Webcam's up to 0.71), those with two or five new
    /// classes 0.59 to 0.86, those with eleven 0.71 and more.
    pub(super) fn deserted(&self) -> bool {
        self.ahead < Self::DESERTED.min(Self::present(self.known))
    }

    /// Whether the model knows some of the images, however few of its classes are here.
    pub fn sure(doubt: f64) -> bool {
        doubt <= Self::SURE
    }

    /// Whether it is no surer of the images than models that know nothing of them.
    ///
    /// Office-31 without any of the ten known classes has 0.41 to 0.72, icons without any of 25 have 0.76 to 0.94; models with shuffled labels and targets of noise 0.98 and more.
    pub fn knows_nothing(doubt: f64) -> bool {
        doubt > Self::IGNORANT
    }
}

/// How probable it is of each known class that it is here, by how similar its best images are to its prototype; none for fewer classes than can
/// be told from chance.
///
/// ```text
/// σ(12.7 best / top + 11.4 above − 8.1),  top: the mean of the best third
/// ```
///
/// A class that is not here has best images all the same, of other classes, and they would be the measure for all others that are most like it. They are less similar
/// than those of classes that are here: of 1980 known classes of 180 targets, with all, 60 % or 40 % of them, similarity as a share of that of the best third told which were here with an
/// AUROC of 89 for photographs and 88 for icons. How many are here is told by all of them together: the alignment. Both weights are of a logistic regression on these; the same
/// with the lengths of features, margins or turned prototypes beside them was no better. Constant 8.1 instead of 10.1: being wrong about a class that is here
/// costs all of its images.
pub(super) fn presence(best: &[f64], alignment: Option<Alignment>) -> Option<Vec<f64>> {
    let fit = alignment.filter(|fit| fit.known >= Alignment::ENOUGH)?;
    let mut sorted = best.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    sorted.truncate((best.len() / 3).max(2));
    let top = sorted.iter().sum::<f64>() / sorted.len() as f64;
    let overall = OVERALL * fit.above();
    let here = |best: &f64| {
        let own = OWN * best / top.max(LEAST);
        1.0 / (1.0 + (CONSTANT - overall - own).exp())
    };
    Some(best.iter().map(here).collect())
}

/// The weights of [`presence`].
const OWN: f64 = 12.7;
const OVERALL: f64 = 11.4;
const CONSTANT: f64 = 8.1;

/// How well prototypes and images fit; none for fewer than four known classes, whose few angles prove nothing, or for classes
/// that are all the same.
///
/// `features` and `prototypes` are centred and as long as they are; `smooth` are features of unit length, averaged with a few [neighbours](NEIGHBOURS).
pub(super) fn alignment(features: &Rows, smooth: &Rows, prototypes: &Rows) -> Option<Alignment> {
    let known = prototypes.len();
    if known < 4 {
        return None;
    }
    let span = Span::of(prototypes)?;
    let own = span.inside(&prototypes.unit()).unit();
    let images = span.inside(&smooth.sample(MOST_IMAGES)).unit();
    let count = TURNED.div_ceil(known).clamp(TURNS[0], TURNS[1]);
    let turned: Vec<f64> = turns(&own, count)
        .flat_map(|turned| fits(&images, &turned))
        .collect();
    let real = fits(&images, &own);
    let mean = |fits: &[f64]| fits.iter().sum::<f64>() / fits.len() as f64;
    let some = span.inside(&features.sample(doubt::MOST_IMAGES));
    Some(Alignment {
        ahead: ahead(&real, &turned),
        real: mean(&real),
        by_chance: mean(&turned),
        doubt: doubt::doubt(&some, &span.inside(prototypes)),
        known,
    })
}

/// Of all pairs of one of the first and one of the second, in how many the first is greater; equal ones are half of each.
fn ahead(first: &[f64], second: &[f64]) -> f64 {
    let won = |a: f64| -> f64 {
        let points = second.iter().map(|&b| match a.total_cmp(&b) {
            Ordering::Greater => 1.0,
            Ordering::Equal => 0.5,
            Ordering::Less => 0.0,
        });
        points.sum()
    };
    first.iter().map(|&a| won(a)).sum::<f64>() / (first.len() * second.len()) as f64
}

/// Of each prototype, the mean similarity with the images nearest to it.
fn fits(images: &Rows, prototypes: &Rows) -> Vec<f64> {
    let count = images.len();
    let nearest = (count / (NEAREST * prototypes.len())).clamp(3, count);
    let of_prototype = |prototype: &[f64]| {
        let mut all: Vec<f64> = images.iter().map(|image| dot(image, prototype)).collect();
        all.select_nth_unstable_by(nearest - 1, |a, b| b.total_cmp(a));
        all[..nearest].iter().sum::<f64>() / nearest as f64
    };
    prototypes.iter().map(of_prototype).collect()
}

#[cfg(test)]
mod tests {
    use super::super::turned::turned;
    use super::*;
    use crate::random::Stream;

    impl Rows {
        fn repeated(&self, times: usize) -> Self {
            Self {
                values: self.values.repeat(times),
                width: self.width,
            }
        }
    }

    /// Centred prototypes of five classes in eight dimensions.
    fn prototypes() -> Rows {
        let mut draws = Stream::new(3, "test", &[]);
        let values = (0..5 * 8).map(|_| draws.normal()).collect();
        Rows { values, width: 8 }.centred().unit()
    }

    #[test]
    fn pairs_are_won_lost_or_shared() {
        assert_eq!(ahead(&[0.5, 0.9], &[0.1, 0.5, 0.7, 0.8]), (1.5 + 4.0) / 8.0);
    }

    #[test]
    fn a_class_whose_best_images_are_less_similar_than_others_is_not_here() {
        let fit = |ahead: f64| Alignment {
            ahead,
            real: 0.8,
            by_chance: 0.5,
            doubt: 0.6,
            known: 10,
        };
        let mut best = [0.8; 10];
        best[3] = 0.5;
        let here = |ahead: f64| presence(&best, Some(fit(ahead))).unwrap();
        // The best third have 0.8, and the line of all is just reached: σ(12.7 − 8.1) and σ(12.7 · 0.625 − 8.1).
        let sigma = |x: f64| 1.0 / (1.0 + (-x).exp());
        assert!((here(0.79)[0] - sigma(4.6)).abs() < 1e-12);
        assert!((here(0.79)[3] - sigma(-0.1625)).abs() < 1e-12);
        // Where known classes as a whole fit well, more is forgiven; where they do not, less.
        assert!(here(0.97)[3] > 0.85 && here(0.65)[3] < 0.2);
        // Unless the model is sure of most images: then it is as if the line were passed by half of what is missing to a doubt of 0.2.
        let sure = Alignment {
            doubt: 0.04,
            ..fit(0.65)
        };
        let raised = presence(&best, Some(sure)).unwrap();
        assert!((raised[3] - sigma(-0.1625 + 11.4 * 0.08)).abs() < 1e-12);
        // Nothing is said of a few classes, and nothing fails where no image is like any.
        assert_eq!(presence(&[0.9, 0.1], None), None);
        let known = Alignment::ENOUGH - 1;
        let few = Alignment { known, ..fit(0.9) };
        assert_eq!(presence(&[0.9; 4], Some(few)), None);
        let unlike = presence(&[0.0; 5], Some(fit(0.5))).unwrap();
        assert!(unlike.iter().all(|p| p.is_finite()));
    }

    #[test]
    fn images_of_the_known_classes_fit_better_than_chance() {
        let rows = prototypes();
        let present = alignment(&rows.repeated(20), &rows.repeated(20), &rows).unwrap();
        assert!((present.real - 1.0).abs() < 1e-12);
        assert!(present.by_chance < 0.9 && present.ahead == 1.0 && !present.absent(Some(1.0), 0.0));
        // The same images, turned: the prototypes fit them no better than chance.
        let elsewhere = turned(&rows, &mut Stream::new(9, "test", &[]));
        let absent = alignment(&elsewhere.repeated(20), &elsewhere.repeated(20), &rows).unwrap();
        assert!((absent.ahead - 0.5).abs() < 0.25, "{absent:?}");
        assert!(absent.absent(None, 0.6) && absent.absent(Some(0.8), 0.9));
        // Unless no image looks new and all clusters are of one mind: some of the classes are here.
        assert!(!absent.absent(Some(1.0), 0.9));
        // A little better than the line.
        let weak = Alignment {
            ahead: 0.8,
            known: 10,
            ..absent
        };
        assert!(!weak.absent(Some(0.5), 0.9) && !weak.absent(None, 0.0));
        // A little weaker, another witness must speak for them.
        let weaker = Alignment {
            ahead: 0.75,
            ..weak
        };
        assert!(weaker.absent(None, 0.5) && !weaker.absent(None, 0.8));
        // The better it agrees, the weaker.
        let weakest = Alignment {
            ahead: 0.65,
            ..weak
        };
        assert!(weakest.absent(None, 0.7) && !weakest.absent(None, 0.8));
        // A model that hardly doubts knows some of the images, however few pairs are won.
        let sure = Alignment {
            doubt: 0.1,
            ..absent
        };
        assert!(!sure.absent(None, 0.0) && !sure.absent(Some(0.8), 0.0));
        // Four classes are too few to say so.
        let known = Alignment::ENOUGH - 1;
        assert!(!Alignment { known, ..absent }.absent(Some(1.0), 0.0));
        let two = Rows {
            values: vec![1.0; 6],
            width: 2,
        };
        assert!(alignment(&rows, &rows, &two).is_none());
    }
}
