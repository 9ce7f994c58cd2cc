//! How well each known class found its cluster.

use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use crate::words::{self, counted, decimal};

/// The cluster that a known class started from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Match {
    /// The class.
    pub class: String,
    /// Images in its cluster.
    pub images: usize,
    /// Cosine of the class's prototype and the cluster's centre.
    pub similarity: f64,
    /// By how much that beats the best other cluster; negative if another one was nearer.
    pub margin: f64,
    /// Whether the match looks arbitrary.
    pub doubtful: bool,
    /// Whether the class seems not to be among the images at all.
    #[serde(default)]
    pub absent: bool,
}

impl Match {
    /// The cluster of a class that is not here is bound to be arbitrary.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.doubtful && !self.absent
    }
}

pub fn table(matches: &[Match]) -> Markup {
    let doubtful = matches.iter().filter(|m| m.is_doubtful()).count();
    html! {
        h3 { "Known classes and their clusters" }
        @if matches.is_empty() { p.aside { "No matches were recorded." } } @else {
            p {
                "Before the adaptation the images were clustered, and each known class was matched with the cluster most like it. "
                "Good is a margin well above 0: a small one means that another cluster would have done as well. "
                @if doubtful == 0 { "No match looks arbitrary." } @else {
                    strong.warn { (counted(doubtful, "match looks", "matches look")) " arbitrary." }
                }
            }
            div.scroll tabindex="0" role="region" aria-label="Known classes and their clusters" {
                table.numbers {
                    thead {
                        tr {
                            th scope="col" { "Class" }
                            th scope="col" { "Images" }
                            th scope="col" { "Similarity" }
                            th scope="col" { "Margin" }
                        }
                    }
                    tbody { @for found in matches { (row(found)) } }
                }
            }
        }
    }
}

fn row(found: &Match) -> Markup {
    html! {
        tr.doubtful[found.is_doubtful()] {
            th scope="row" {
                (words::name(&found.class))
                @if found.is_doubtful() { " " span.tag { "doubtful" } }
                @if found.absent { " " span.tag { "not here?" } }
            }
            td { (words::count(found.images)) }
            td { (decimal(found.similarity, 3)) }
            td { (decimal(found.margin, 3)) }
        }
    }
}
