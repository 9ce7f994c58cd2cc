//! Can I believe it? What the run itself says, without any label.

mod epochs;
mod matches;
mod problems;

pub use epochs::Epoch;
pub use matches::Match;
pub use problems::Unreadable;

use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use crate::charts::{Bar, bars, histogram};
use crate::words::{self, counted};
use crate::{Class, ClassKind};

/// An unknown probability between these is undecided.
const UNDECIDED: std::ops::RangeInclusive<f64> = 0.25..=0.75;

/// The sizes of up to so many classes stand beside the histogram; those of more take the whole width.
const BESIDE: usize = 16;

/// What speaks for and against the result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// What the run warned about, in plain words.
    pub warnings: Vec<String>,
    /// The figures of each epoch, in order.
    pub epochs: Vec<Epoch>,
    /// The probability of each image to be of a new class, 0–1, in any order.
    pub unknown: Vec<f64>,
    /// The cluster that each known class started from.
    pub matches: Vec<Match>,
    /// Files that were left out.
    pub unreadable: Vec<Unreadable>,
}

pub fn section(evidence: &Evidence, classes: &[Class]) -> Markup {
    html! {
        (problems::warnings(&evidence.warnings))
        h3 { "Known or new" }
        (undecided(&evidence.unknown))
        div.charts.wide {
            (histogram(
                "Probability of being new",
                "Two heaps far apart are good: the images fall clearly on one side or the other.",
                &evidence.unknown,
                ["surely known", "surely new"],
            ))
            figure.chart.full[classes.len() > BESIDE] {
                figcaption {
                    b { "Class sizes" } " "
                    span { "Images given to each class." }
                }
                (sizes(classes))
            }
        }
        (epochs::curves(&evidence.epochs))
        (matches::table(&evidence.matches))
        (problems::unreadable(&evidence.unreadable))
    }
}

fn undecided(unknown: &[f64]) -> Markup {
    let known = unknown.iter().filter(|p| p.is_finite()).count();
    let open = unknown.iter().filter(|p| UNDECIDED.contains(*p)).count();
    html! {
        @if known > 0 {
            p {
                (counted(open, "image is", "images are")) " undecided ("
                (words::percent(open as f64 / known as f64)) "): a probability of being new between "
                (words::percent(*UNDECIDED.start())) " and " (words::percent(*UNDECIDED.end())) "."
            }
        }
    }
}

/// Known classes in their order, then the discovered ones from large to small, as on the cards.
fn sizes(classes: &[Class]) -> Markup {
    let largest = classes
        .iter()
        .map(|class| class.count)
        .max()
        .unwrap_or(0)
        .max(1);
    let mut order: Vec<&Class> = classes.iter().collect();
    order.sort_by_key(|class| match class.kind {
        ClassKind::Known => (0, 0),
        ClassKind::Discovered => (1, usize::MAX - class.count),
    });
    let bar = |class| size(class, largest);
    bars(&order.into_iter().map(bar).collect::<Vec<_>>())
}

fn size(class: &Class, largest: usize) -> Bar<'_> {
    let images = counted(class.count, "image", "images");
    Bar {
        name: &class.name,
        kind: class.kind,
        share: Some(class.count as f64 / largest as f64),
        mark: None,
        value: words::count(class.count),
        title: format!("{}: {images}", words::visible(&class.name)),
    }
}
