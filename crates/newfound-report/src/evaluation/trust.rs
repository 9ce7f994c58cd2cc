//! Whether probabilities mean what they say, and what leaving out doubtful images gains.

use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use super::Scores;
use crate::words::{self, decimal, decimal_or_dash};

/// Images with about the same probability of being new.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stated {
    /// How many.
    pub images: usize,
    /// Their mean probability of being new, in percent.
    pub stated: f64,
    /// Those that are new, in percent.
    pub new: f64,
}

/// The figures when the most doubtful images are left out.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Abstained {
    /// Images left out, in percent.
    pub left_out: f64,
    /// The figures of the others.
    pub scores: Scores,
}

/// A bar for what was stated above one for what was true.
pub fn calibration(bins: &[Stated]) -> Markup {
    html! {
        @if !bins.is_empty() {
            h3 { "Does the probability of being new mean what it says?" }
            table.numbers.scores {
                thead { tr { @for head in ["Stated", "New", "Images"] { th scope="col" { (head) } } } }
                tbody {
                    @for bin in bins {
                        tr {
                            td { (super::measured(Some(bin.stated))) }
                            td { (super::measured(Some(bin.new))) }
                            td { (words::count(bin.images)) }
                        }
                    }
                }
            }
            p.note { "Images with about the same probability of being new: its mean, and how many of them are. The two should be equal. In percent." }
        }
    }
}

pub fn abstention(steps: &[Abstained]) -> Markup {
    html! {
        @if !steps.is_empty() {
            h3 { "What if the most doubtful images are left out?" }
            table.numbers {
                thead { tr { @for head in ["Left out", "OS*", "UNK", "HOS"] { th scope="col" { (head) } } } }
                tbody {
                    @for step in steps {
                        tr {
                            th scope="row" { (decimal(step.left_out, 0)) " %" }
                            @for figure in [step.scores.os_star, step.scores.unk, step.scores.hos] { td { (decimal_or_dash(figure, 1)) } }
                        }
                    }
                }
            }
        }
    }
}
