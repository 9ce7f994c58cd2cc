//! The page that shows what a run has found, and whether to believe it.
//!
//! Plain data in, one HTML file out: [`render`] turns a [`Report`] into a page that opens by double
//! click, needs no network and no server, works without scripts, and reads well in the light, in the dark, on a
//! phone and on paper. This crate knows nothing of tensors, models or run folders.
//!
//! ```text
//! Report ─┬─ overview    what was adapted, and the result in a few sentences
//!         ├─ found       what was found: a card with images for each class
//!         ├─ map         what looks alike to the model, before and after
//!         ├─ evidence    can I believe it: curves, matches, warnings, unreadable files
//!         ├─ evaluation  only if labels were at hand: how good it really is
//!         ├─ next        commands to go on with
//!         └─ making      all that is needed to repeat it
//! ```
//!
//! Each section is a file (or a folder) that holds both its data and its markup, so a new section is
//! a new file, a field of [`Report`] and a line in `page.rs`.
//!
//! # Invariants
//!
//! - **Nothing from outside is trusted.** Names of files and classes are escaped wherever they stand,
//!   and the page's own content policy forbids every request and every script but one: the few lines of
//!   `script.js`, told by their hash, which add keys and nothing else.
//! - **The page is a function of the report.** No clock, no random number, no hash order.
//! - **No figure is made up.** What is absent or not a number is shown as a dash and not drawn.
//!
//! [`render_comparison`] does the same for several runs: their figures side by side, their curves on
//! top of each other, the images whose label differs, and the settings that do.
//!
//! # Images
//!
//! Every image can be looked at: small on the card of its class and beside its neighbours, as a mark
//! on the map, and large with the reason for its label. `gallery.rs` works out which image stands
//! where, `doubts.rs` what speaks against its label, `view.rs` shows it large, and `picture.rs` writes
//! its picture, once.
//!
//! # Size
//!
//! The page stays below 15 MB however many images there are: pictures take at most
//! [`PICTURE_BYTES`], of more than 2,500 images only those on a card or in a list and the most
//! doubtful ones can be seen large,
//! and a map has 5,000 marks. What was left out is said on the page. [`picture_budget`] tells how
//! large a picture should be so that all fit.

mod words;
mod base64;
mod picture;
mod image;
mod charts;
mod doubts;
mod gallery;
mod script;
mod page;
mod overview;
mod found;
mod view;
mod map;
mod evidence;
mod evaluation;
mod next;
mod making;
mod comparison;
#[cfg(test)]
mod example;
#[cfg(test)]
mod tests;

pub use charts::{DotChart, DotRow, ReliabilityChart, ReliabilityCurve};
pub use comparison::{ComparedImage, ComparedLabel, ComparedRun, Comparison};
pub use evaluation::{Abstained, ClassScore, Confusion, Evaluation, Scores, Stated};
pub use evidence::{Epoch, Evidence, Match, Unreadable};
pub use found::{Class, ClassKind, Nearest};
pub use image::{Guess, Image};
pub use making::{Fact, Making};
pub use next::Command;
pub use overview::Overview;
pub use picture::{ImageType, PICTURE_BYTES, Picture, picture_budget};

use serde::{Deserialize, Serialize};

/// Everything the page shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// What was adapted.
    pub overview: Overview,
    /// Every class of the adapted model, also the empty ones, in the model's order: the known
    /// classes, then the discovered ones. The numbers of images in the summary are the sums of their
    /// counts.
    pub classes: Vec<Class>,
    /// Every image that was looked at, in any order.
    pub images: Vec<Image>,
    /// What speaks for and against the result without any label.
    pub evidence: Evidence,
    /// How good the result is, if labels were at hand.
    pub evaluation: Option<Evaluation>,
    /// What can be done next, in order of likelihood.
    pub next: Vec<Command>,
    /// How the result was made.
    pub making: Making,
}

/// The page, from `<!DOCTYPE html>` to the end.
///
/// The same report always gives the same text, byte for byte.
pub fn render(report: &Report) -> String {
    page::page(report).into_string()
}

/// The page that compares several runs, from `<!DOCTYPE html>` to the end.
///
/// The same invariants hold as for [`render`].
pub fn render_comparison(comparison: &Comparison) -> String {
    comparison::page(comparison).into_string()
}
