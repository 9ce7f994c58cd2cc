//! Measured with labels: how good the result really is.

mod confusion;
mod per_class;
mod trust;

pub use confusion::Confusion;
pub use per_class::ClassScore;
pub use trust::{Abstained, Stated};

use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use crate::words::{decimal, decimal_or_dash};

/// The figures of an evaluation, all in percent, 0–100.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The model before the adaptation.
    pub source: Scores,
    /// The clustering that the adaptation started from.
    pub clustering: Scores,
    /// The adapted model: the headline.
    pub adapted: Scores,
    /// The adapted model, corrected by the nearest images.
    pub refined: Scores,
    /// The adapted model's result for each true class, known classes first.
    pub per_class: Vec<ClassScore>,
    /// What the adapted model took for what.
    pub confusion: Confusion,
    /// Stated probabilities of being new against the truth, from low to high.
    pub calibration: Vec<Stated>,
    /// The figures when more and more doubtful images are left out.
    pub abstention: Vec<Abstained>,
}

/// Three figures of one labelling, in percent; `None` where there is nothing to measure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// Mean accuracy over the known classes.
    pub os_star: Option<f64>,
    /// Share of the images of new classes that were recognised as new.
    pub unk: Option<f64>,
    /// Harmonic mean of the two.
    pub hos: Option<f64>,
}

pub fn section(evaluation: &Evaluation) -> Markup {
    html! {
        @if let Some(verdict) = verdict(evaluation) { p.verdict { (verdict) } }
        (side_by_side(evaluation))
        p.note {
            b { "OS*" } " is the mean accuracy over the known classes. "
            b { "UNK" } " is the share of images of new classes that were recognised as new. "
            b { "HOS" } " is the harmonic mean of both: high only if both are. All in percent. "
            "Labels were used here and nowhere else: the adaptation never saw them."
        }
        (per_class::chart(&evaluation.per_class))
        (confusion::table(&evaluation.confusion))
        (trust::calibration(&evaluation.calibration))
        (trust::abstention(&evaluation.abstention))
    }
}

/// Whether the adaptation helped, in a sentence.
pub fn verdict(evaluation: &Evaluation) -> Option<String> {
    let figure = |scores: &Scores| scores.hos.filter(|hos| hos.is_finite());
    let (before, after) = (figure(&evaluation.source)?, figure(&evaluation.adapted)?);
    let (from, to) = (decimal(before, 1), decimal(after, 1));
    let course = match (from == to, after > before) {
        (true, _) => format!("The adaptation left HOS where it was, at {to}"),
        (false, true) => format!("The adaptation raised HOS from {from} to {to}"),
        (false, false) => format!("The adaptation lowered HOS from {from} to {to}"),
    };
    Some(match figure(&evaluation.clustering) {
        Some(alone) => format!("{course}; clustering alone reached {}.", decimal(alone, 1)),
        None => format!("{course}."),
    })
}

fn side_by_side(evaluation: &Evaluation) -> Markup {
    let rows = [
        ("Source model", &evaluation.source),
        ("Clustering alone", &evaluation.clustering),
        ("Adapted", &evaluation.adapted),
        ("Adapted, refined by neighbours", &evaluation.refined),
    ];
    html! {
        table.numbers.scores {
            thead { tr { th scope="col" { "" } @for head in ["OS*", "UNK", "HOS"] { th scope="col" { (head) } } } }
            tbody {
                @for (name, scores) in rows {
                    tr.headline[name == "Adapted"] {
                        th scope="row" { (name) }
                        @for figure in [scores.os_star, scores.unk, scores.hos] { td { (measured(figure)) } }
                    }
                }
            }
        }
    }
}

/// A percentage above a bar of its length.
fn measured(figure: Option<f64>) -> Markup {
    let drawn = figure.filter(|figure| figure.is_finite());
    html! {
        (decimal_or_dash(figure, 1))
        svg.meter aria-hidden="true" {
            rect class="track" width="100%" height="100%" {}
            @if let Some(figure) = drawn {
                rect class="known" width={ (format!("{:.1}", figure.clamp(0.0, 100.0))) "%" } height="100%" {}
            }
        }
    }
}
