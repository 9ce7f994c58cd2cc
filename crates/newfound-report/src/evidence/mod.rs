//! Can I believe it? What the run itself says, without any label.

mod doubtful;
mod epochs;
mod matches;
mod unreadable;
mod warnings;

pub use epochs::Epoch;
pub(crate) use epochs::curves;
pub use matches::Match;
pub use unreadable::Unreadable;
pub(crate) use warnings::warnings;

use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use crate::charts::{Bar, bars, histogram};
use crate::doubts::UNDECIDED;
use crate::found::discovered;
use crate::gallery::Gallery;
use crate::words::{self, counted};
use crate::{Class, ClassKind};

/// The sizes of up to so many classes stand beside the histogram; those of more take the whole width.
const BESIDE: usize = 16;

/// What speaks for and against the result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// What the run warned about, in plain words.
    ///
    /// The page itself warns of what the figures show: empty known classes, doubtful classes and
    /// matches, a collapse, labels that have not settled or that the neighbours dispute, unreadable
    /// files. None of these is to be repeated here.
    pub warnings: Vec<String>,
    /// The figures of each epoch, in order.
    pub epochs: Vec<Epoch>,
    /// The cluster that each known class started from.
    pub matches: Vec<Match>,
    /// Files that were left out.
    pub unreadable: Vec<Unreadable>,
}

pub fn section(evidence: &Evidence, gallery: &Gallery, warnings: &[Markup]) -> Markup {
    let unknown: Vec<f64> = gallery.images.iter().map(|image| image.unknown).collect();
    let classes = gallery.classes;
    html! {
        (warnings::boxed(warnings))
        (doubtful::list(gallery))
        h3 { "Known or new" }
        (undecided(&unknown))
        div.charts.wide {
            (histogram(
                "Probability of being new",
                "Two heaps far apart are good: the images fall clearly on one side or the other.",
                &unknown,
                ["surely known", "surely new"],
            ))
            figure.chart.full[classes.len() > BESIDE] {
                figcaption {
                    b { "Class sizes" } " "
                    span { "Images given to each class. Good is what you would expect of these images; one class with nearly all of them is not." }
                }
                (sizes(classes))
            }
        }
        (epochs::section(&evidence.epochs))
        (matches::table(&evidence.matches))
        (unreadable::list(&evidence.unreadable))
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

/// Known classes in their order, then the discovered ones as on the cards.
fn sizes(classes: &[Class]) -> Markup {
    let largest = classes
        .iter()
        .map(|class| class.count)
        .max()
        .unwrap_or(0)
        .max(1);
    let known = classes
        .iter()
        .filter(|class| class.kind == ClassKind::Known);
    let new = discovered(classes).into_iter().map(|i| &classes[i]);
    bars(
        &known
            .chain(new)
            .map(|class| size(class, largest))
            .collect::<Vec<_>>(),
    )
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
