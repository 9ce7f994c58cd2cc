//! The course of the adaptation, epoch by epoch.

use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use crate::charts::{Axis, Line};
use crate::words::{self, decimal};

/// The figures of one epoch: means over its steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Counted from 1.
    pub epoch: usize,
    /// The total loss.
    pub loss: f64,
    /// Its classification term.
    pub classification: f64,
    /// Its contrastive term.
    pub contrastive: f64,
    /// Its diversity term; negative, and lower if the classes are used more evenly.
    pub diversity: f64,
    /// Share of the images that were selected for the classification term, 0–1.
    pub selected: f64,
    /// Images whose pseudo-label differs from the epoch before.
    pub label_changes: usize,
}

pub fn curves(epochs: &[Epoch]) -> Markup {
    html! {
        h3 { "Course of the adaptation" }
        @if epochs.is_empty() {
            p.aside { "No epoch was run." }
        } @else {
            p { "Curves that flatten out, and few changed labels at the end, mean that the run has settled." }
            div.charts {
                (shares("Selected images", "Share trusted enough to learn from.", epochs, |e| e.selected))
                (changes(epochs))
                (loss("Total loss", "The sum of the three terms, weighted.", epochs, |e| e.loss))
                (loss("Classification", "What an image is not.", epochs, |e| e.classification))
                (loss("Contrastive", "Two views of an image against others.", epochs, |e| e.contrastive))
                (loss("Diversity", "Lower: the classes are used more evenly.", epochs, |e| e.diversity))
            }
            (table(epochs))
        }
    }
}

fn points(epochs: &[Epoch], value: impl Fn(&Epoch) -> f64) -> Vec<(usize, f64)> {
    epochs
        .iter()
        .map(|epoch| (epoch.epoch, value(epoch)))
        .collect()
}

fn loss(title: &str, note: &str, epochs: &[Epoch], value: impl Fn(&Epoch) -> f64) -> Markup {
    let points = points(epochs, value);
    let axis = Axis::covering(points.iter().map(|&(_, value)| value));
    Line {
        title,
        note,
        points: &points,
        axis,
        format: |value| decimal(value, 3),
    }
    .render()
}

fn shares(title: &str, note: &str, epochs: &[Epoch], value: impl Fn(&Epoch) -> f64) -> Markup {
    let points = points(epochs, value);
    Line {
        title,
        note,
        points: &points,
        axis: Axis::shares(),
        format: words::percent,
    }
    .render()
}

fn changes(epochs: &[Epoch]) -> Markup {
    let points = points(epochs, |epoch| epoch.label_changes as f64);
    let axis = Axis::counts(points.iter().map(|&(_, value)| value));
    let (title, note) = (
        "Changed labels",
        "Images that moved since the epoch before.",
    );
    Line {
        title,
        note,
        points: &points,
        axis,
        format: |value| words::count(value as usize),
    }
    .render()
}

/// The same figures to read and to copy.
fn table(epochs: &[Epoch]) -> Markup {
    let heads = [
        "Epoch",
        "Selected",
        "Changed",
        "Total",
        "Classification",
        "Contrastive",
        "Diversity",
    ];
    html! {
        details {
            summary { "The figures of every epoch" }
            div.scroll tabindex="0" role="region" aria-label="The figures of every epoch" {
                table.numbers {
                    thead { tr { @for head in heads { th scope="col" { (head) } } } }
                    tbody {
                        @for e in epochs {
                            tr {
                                th scope="row" { (e.epoch) }
                                td { (words::percent(e.selected)) }
                                td { (words::count(e.label_changes)) }
                                @for term in [e.loss, e.classification, e.contrastive, e.diversity] {
                                    td { (decimal(term, 4)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
