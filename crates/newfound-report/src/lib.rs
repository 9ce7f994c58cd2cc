//! The page that shows what a run has found, and whether to believe it.
//!
//! Plain data in, one HTML file out: [`render`] turns a [`Report`] into a page that opens by double
//! click, needs no network, no server and no script, and reads well in the light, in the dark, on a
//! phone and on paper. This crate knows nothing of tensors, models or run folders.
//!
//! ```text
//! Report ─┬─ overview    what was adapted, and the result in a few sentences
//!         ├─ classes     what was found: a card with images for each class
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
//!   and the page's own content policy forbids scripts and every request.
//! - **The page is a function of the report.** No clock, no random number, no hash order.
//! - **No figure is made up.** What is absent or not a number is shown as a dash and not drawn.
//!
//! # Size
//!
//! Markup takes about 2 kB per class and 1 kB per epoch; the rest is thumbnails, at 4/3 of their
//! bytes. Only the first [`THUMBNAILS_PER_CLASS`] of a class are shown, however many images there
//! are: with 60 classes and JPEG thumbnails of 5 kB (about 128 × 128 pixels) the page has 5 MB. To
//! stay under 15 MB, keep the thumbnails of all classes together below 11 MB.

mod words;
mod base64;
mod charts;
mod page;
mod overview;
mod found;
mod thumbnail;
mod evidence;
mod evaluation;
mod next;
mod making;
#[cfg(test)]
mod example;
#[cfg(test)]
mod tests;

pub use charts::{DotChart, DotRow};
pub use evaluation::{ClassScore, Confusion, Evaluation, Scores};
pub use evidence::{Epoch, Evidence, Match, Unreadable};
pub use found::{Class, ClassKind};
pub use making::{Fact, Making};
pub use next::Command;
pub use overview::Overview;
pub use thumbnail::{ImageType, THUMBNAILS_PER_CLASS, Thumbnail};

use serde::{Deserialize, Serialize};

/// Everything the page shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// What was adapted.
    pub overview: Overview,
    /// Every class of the adapted model, also the empty ones: the known classes in the model's
    /// order, then the discovered ones in any order. The numbers of images in the summary are the
    /// sums of their counts.
    pub classes: Vec<Class>,
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
