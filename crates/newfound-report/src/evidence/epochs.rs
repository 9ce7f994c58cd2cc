//! The course of the adaptation, epoch by epoch.

use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use crate::charts::{Axis, Line, Series};
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
    /// Its diversity term; negative, and lower if the classes that are expected are used more evenly.
    pub diversity: f64,
    /// Share of the images that were selected for the classification term, 0–1.
    pub selected: f64,
    /// Images whose pseudo-label differs from the epoch before.
    pub label_changes: usize,
}

pub fn section(epochs: &[Epoch]) -> Markup {
    html! {
        h3 { "Course of the adaptation" }
        @if epochs.is_empty() {
            p.aside { "No epoch was run." }
        } @else {
            p { "Curves that flatten out, and few changed labels at the end, mean that the run has settled." }
            (curves(&[(None, epochs)]))
            (table(epochs))
        }
    }
}

/// A run with its name, if there are several.
pub type Course<'a> = (Option<&'a str>, &'a [Epoch]);

/// The charts of one run, or of several on top of each other.
pub fn curves(runs: &[Course]) -> Markup {
    let plain = |value| decimal(value, 3);
    let chart = |title,
                 note,
                 axis: fn(Vec<f64>) -> Axis,
                 format: fn(f64) -> String,
                 of: fn(&Epoch) -> f64| {
        let points = |epochs: &[Epoch]| {
            epochs
                .iter()
                .map(|epoch| (epoch.epoch, of(epoch)))
                .collect()
        };
        let series: Vec<_> = runs
            .iter()
            .map(|&(name, epochs)| Series {
                name,
                points: points(epochs),
            })
            .collect();
        let axis = axis(
            runs.iter()
                .flat_map(|(_, epochs)| *epochs)
                .map(of)
                .collect(),
        );
        let line = Line {
            title,
            note,
            series: &series,
            axis,
            format,
        };
        line.render()
    };
    let (shares, counts, covering) = (
        |_| Axis::shares(),
        Axis::counts::<Vec<f64>>,
        Axis::covering::<Vec<f64>>,
    );
    let counted = |value| words::count(value as usize);
    html! {
        div.charts {
            (chart("Selected images", "Share trusted enough to learn from. Good: it rises, then stays.", shares, words::percent, |e| e.selected))
            (chart("Changed labels", "Images that moved since the epoch before. Good: it falls towards 0.", counts, counted, |e| e.label_changes as f64))
            (chart("Total loss", "The sum of the three terms, weighted. Good: it falls and flattens out.", covering, plain, |e| e.loss))
            (chart("Classification loss", "Learning what an image is not. Good: it falls and stays low.", covering, plain, |e| e.classification))
            (chart("Contrastive loss", "Two views of one image should look alike. Good: it falls slowly.", covering, plain, |e| e.contrastive))
            (chart("Diversity loss", "Lower means that the images spread more evenly over the classes that are expected here. Good: no sudden jump.", covering, plain, |e| e.diversity))
        }
    }
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
