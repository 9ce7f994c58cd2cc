//! Several runs side by side: which is better, where they differ, and what was done differently.

mod differing;
mod figures;
mod labels;
mod settings;

use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use crate::charts::SERIES;
use crate::page::{Section, body, document};
use crate::words::{self, counted};
use crate::{Epoch, Fact, Picture, Scores, evidence};
use labels::Agreement;

/// Everything that the page with several runs shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The runs, in the order they were given; the others are compared with the first.
    pub runs: Vec<ComparedRun>,
    /// Every image that at least one of the runs has seen, in any order.
    pub images: Vec<ComparedImage>,
}

/// What one run contributes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparedRun {
    /// The run as its user calls it: a folder. Different for each run.
    pub name: String,
    /// Names of all its classes, the known ones first.
    pub classes: Vec<String>,
    /// Number of known classes: where the discovered ones begin.
    pub known: usize,
    /// The adapted model's scores in percent, if the run was evaluated.
    pub scores: Option<Scores>,
    /// Further figures to put side by side, as `(what, value)`: time, memory, images per second. A
    /// figure that a run lacks is shown as a dash.
    pub figures: Vec<Fact>,
    /// The figures of each epoch, in order.
    pub epochs: Vec<Epoch>,
    /// Every setting of the resolved configuration with its dotted name (`loss.contrastive`); also
    /// the model and the images, by name and hash. Those that differ are shown.
    pub settings: Vec<Fact>,
}

/// One image and what each run made of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparedImage {
    /// The file, relative to the folder that was given.
    pub path: String,
    /// A small picture of it; only the pictures of images that are listed become part of the page.
    pub picture: Option<Picture>,
    /// For each run, in their order, what it said; `None` if it has not seen the image.
    pub labels: Vec<Option<ComparedLabel>>,
    /// The name of its true class; only if one of the runs was evaluated.
    pub truth: Option<String>,
}

/// A run's label of an image.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ComparedLabel {
    /// Index into the run's classes.
    pub class: usize,
    /// Its probability, 0–1.
    pub confidence: f64,
}

impl ComparedRun {
    /// The name of a class.
    fn class(&self, index: usize) -> &str {
        self.classes
            .get(index)
            .map_or(words::ABSENT, String::as_str)
    }
}

pub fn page(comparison: &Comparison) -> Markup {
    let agreement = Agreement::of(comparison);
    let courses: Vec<_> = comparison
        .runs
        .iter()
        .map(|run| (Some(run.name.as_str()), &run.epochs[..]))
        .collect();
    let drawn = comparison.runs.iter().any(|run| !run.epochs.is_empty());
    let curves = html! {
        @if drawn { (legend(comparison)) (evidence::curves(&courses)) } @else { p.aside { "No epoch was run." } }
    };
    let (rules, differing) = differing::section(comparison, &agreement);
    let section = |id, title, body| Section { id, title, body };
    let sections = [
        section(
            "figures",
            "The figures",
            figures::section(comparison, &agreement),
        ),
        section("differing", "Images whose label differs", differing),
        section("course", "Course of the adaptation", curves),
        section(
            "settings",
            "What was done differently",
            settings::section(&comparison.runs),
        ),
    ];
    let title = format!("{} compared", counted(comparison.runs.len(), "run", "runs"));
    let content = html! {
        (header(comparison, &agreement))
        (body(&sections))
    };
    document(&title, &rules, content)
}

fn header(comparison: &Comparison, agreement: &Agreement) -> Markup {
    let differing = agreement.differing.len();
    html! {
        header {
            p.product { "newfound" }
            h1 { (counted(comparison.runs.len(), "run", "runs")) " compared" }
            div.lead {
                @if let Some(best) = figures::best(&comparison.runs) {
                    p { (words::name(&best.name)) " has the best HOS." }
                } @else if comparison.runs.len() > 1 {
                    @if comparison.runs.iter().any(|run| run.scores.is_none()) {
                        p { "Without labels there is no telling which run is better: look at the images where they differ." }
                    } @else {
                        p { "By the labels, no run is ahead of all others: look at the images where they differ." }
                    }
                }
                p.aside {
                    @if agreement.shared == 0 { "No image was seen by more than one run." } @else {
                        "Of " (counted(agreement.shared, "image", "images")) " that more than one run has seen, "
                        @if differing == 0 { "all have the same label in all of them." } @else {
                            a href="#differing" { (words::count(differing)) } " (" (words::percent(differing as f64 / agreement.shared as f64))
                            ") " @if differing == 1 { "has" } @else { "have" } " different labels."
                        }
                    }
                }
            }
        }
    }
}

/// The runs with the curves that stand for them.
fn legend(comparison: &Comparison) -> Markup {
    html! {
        ul.runs {
            @for (i, run) in comparison.runs.iter().enumerate() {
                li {
                    svg class={ "s" (i % SERIES) } viewBox="0 0 36 8" aria-hidden="true" { polyline class="curve" points="1,4 35,4" {} }
                    (words::name(&run.name))
                }
            }
        }
    }
}
