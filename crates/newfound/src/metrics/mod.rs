//! How good a labelling of the target is: the figures of `evaluate`.
//!
//! This is the only part of the library that knows the truth about a target image. The adaptation
//! has no access to it, and nothing here feeds back into it. Everything is plain counting on
//! slices.
//!
//! ```text
//! truth, predictions ─┬─ confusion ─┬─ open_set    OS*, UNK, HOS, OS
//!                     │             └─ clustering  novel-class accuracy, NMI, ARI (by assignment)
//!                     ├─ ranking                   AUROC, FPR95, OSCR of the scores
//!                     ├─ calibration               does a probability mean what it says
//!                     └─ coverage                  what abstention gains
//! ```
//!
//! Three conventions hold throughout:
//! - **Every figure is a percentage**, 0–100 (the adjusted Rand index alone can be negative).
//! - **What does not exist is `None`**, and `null` in JSON: never a NaN, never a flattering 0 or
//!   100. A target without unknown images has no UNK, and a target without known images has no OS*.
//! - Classes without an image count in no mean.
//!
//! From the paper: "Evaluation metrics" (section IV) and "Discovery of the underlying semantics of
//! novel classes" (section IV, analysis).

pub mod input;
pub mod confusion;
pub mod open_set;
pub mod ranking;
pub mod calibration;
pub mod coverage;
pub mod clustering;
pub mod assignment;
pub mod stats;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use calibration::Calibration;
pub use confusion::Confusion;
pub use coverage::Coverage;
pub use input::{BestKnown, Classes, MetricsError, Prediction, Truth};
pub use stats::Summary;

use clustering::{adjusted_rand_index, normalised_mutual_information, novel_accuracy};
use open_set::{Tally, harmonic_mean, os, os_star, unk, unk_macro};
use ranking::{KnownImage, auroc, fpr95, oscr};
use serde::{Deserialize, Serialize};

/// All figures of one evaluation. Serialises to the keys of `evaluate --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// Mean accuracy over the known classes: [`os_star`].
    pub os_star: Option<f64>,
    /// Share of all unknown images put into any private class: [`unk`].
    pub unk: Option<f64>,
    /// The same as a mean over the private classes: [`unk_macro`].
    pub unk_macro: Option<f64>,
    /// Harmonic mean of OS* and UNK, the headline figure: [`harmonic_mean`].
    pub hos: Option<f64>,
    /// Harmonic mean of OS* and `unk_macro`.
    pub hos_macro: Option<f64>,
    /// Mean over the known classes and "unknown" as one more: [`os`].
    pub os: Option<f64>,
    /// Area under the ROC curve of the unknown score: [`auroc`].
    pub auroc: Option<f64>,
    /// Known images lost when 95 % of the unknown ones are found: [`fpr95`].
    pub fpr95: Option<f64>,
    /// Area under the open-set classification rate curve: [`oscr`].
    pub oscr: Option<f64>,
    /// Whether the probability of being new means what it says, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// The figures when the most doubtful images are left out, where doubts are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coverage: Vec<Coverage>,
    /// How well the truly private images are sorted into classes.
    pub novel: Novel,
    /// One entry per true class, the known ones first.
    pub per_class: Vec<ClassScore>,
    /// Who was taken for whom.
    pub confusion: Confusion,
}

/// How well the truly private images are sorted into classes of their own.
///
/// A private image that was predicted as a known class counts as wrong for the accuracy, and as a
/// member of that predicted class, a cluster like any other, for NMI and ARI.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Novel {
    /// Share of images in the cluster matched with their class: [`novel_accuracy`].
    pub accuracy: Option<f64>,
    /// Normalised mutual information: [`normalised_mutual_information`].
    pub nmi: Option<f64>,
    /// Adjusted Rand index: [`adjusted_rand_index`].
    pub ari: Option<f64>,
    /// The same figures with the true number of private classes, where they were computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub true_p: Option<Box<Novel>>,
}

/// The result for one true class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassScore {
    /// The name of the class.
    pub name: String,
    /// How many images it has.
    pub images: u64,
    /// Known class: share of its images predicted as it. Private class: share of its images put
    /// into any private class. So OS* and `unk_macro` are plain means of this column.
    pub accuracy: Option<f64>,
}

/// All figures for `predictions` against `truth`, one of each per image in the same order.
///
/// No image at all is not an error: every figure is then absent.
pub fn evaluate(
    classes: &Classes,
    truth: &[Truth],
    predictions: &[Prediction],
) -> Result<Scores, MetricsError> {
    input::check(classes, truth, predictions)?;
    let confusion = Confusion::count(classes, truth, predictions);
    let (known, private) = (confusion.known_tallies(), confusion.private_tallies());
    let (os_star, unk, unk_macro) = (os_star(&known), unk(&private), unk_macro(&private));

    let mut known_scores = Vec::new();
    let mut unknown_scores = Vec::new();
    for (truth, prediction) in truth.iter().zip(predictions) {
        match truth {
            Truth::Known(_) => known_scores.push(prediction.unknown),
            Truth::Private(_) => unknown_scores.push(prediction.unknown),
        }
    }
    let novel_rows = confusion.private_rows();
    let per_class = confusion.rows.iter().zip(known.iter().chain(&private));
    Ok(Scores {
        os_star,
        unk,
        unk_macro,
        hos: os_star.zip(unk).map(|(a, b)| harmonic_mean(a, b)),
        hos_macro: os_star.zip(unk_macro).map(|(a, b)| harmonic_mean(a, b)),
        os: os(&known, &private),
        auroc: auroc(&known_scores, &unknown_scores),
        fpr95: fpr95(&known_scores, &unknown_scores),
        oscr: oscr_of(truth, predictions),
        calibration: None,
        coverage: Vec::new(),
        novel: Novel {
            accuracy: novel_accuracy(novel_rows, classes.known.len()),
            nmi: normalised_mutual_information(novel_rows),
            ari: adjusted_rand_index(novel_rows),
            true_p: None,
        },
        per_class: per_class
            .map(|(name, tally)| class_score(name, tally))
            .collect(),
        confusion,
    })
}

fn class_score(name: &str, tally: &Tally) -> ClassScore {
    ClassScore {
        name: name.to_owned(),
        images: tally.images,
        accuracy: tally.accuracy(),
    }
}

/// OSCR from the best known class of every image; absent if one of them is.
fn oscr_of(truth: &[Truth], predictions: &[Prediction]) -> Option<f64> {
    let mut known = Vec::new();
    let mut unknown = Vec::new();
    for (truth, prediction) in truth.iter().zip(predictions) {
        let best = prediction.best_known?;
        match *truth {
            Truth::Known(class) => {
                known.push(KnownImage {
                    score: best.score,
                    correct: best.class == class,
                });
            }
            Truth::Private(_) => unknown.push(best.score),
        }
    }
    oscr(&known, &unknown)
}
