//! The head of the page: what was adapted, and the result in a few sentences.

use std::collections::BTreeMap;

use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use crate::found::discovered;
use crate::gallery::{Gallery, STRIP};
use crate::words::{self, counted, percent};
use crate::{Class, ClassKind, Report, evaluation};

/// As many discovered classes are named in the answer.
const NAMED: usize = 12;

/// As many reasons to doubt a label are named in the answer.
const REASONS: usize = 3;

/// What was adapted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overview {
    /// The source model, as its user calls it: a file name or a path.
    pub model: String,
    /// The folder or the list of images, as it was given.
    pub images: String,
    /// Epochs of adaptation that were run.
    pub epochs: usize,
    /// The seed of all random choices.
    pub seed: u64,
    /// How many new classes there seem to be, and why, in words.
    pub estimate: Option<String>,
    /// Whether the result can be believed, and why not, in words.
    pub verdict: Option<String>,
}

/// The counts that the summary speaks of.
#[derive(Debug, PartialEq, Eq)]
struct Tally {
    /// Images given to a class of this kind.
    images: usize,
    /// Classes of this kind.
    classes: usize,
    /// Those of them that have an image.
    occupied: usize,
}

impl Tally {
    fn of(classes: &[Class], kind: ClassKind) -> Self {
        let ours = || classes.iter().filter(|class| class.kind == kind);
        Self {
            images: ours().map(|class| class.count).sum(),
            classes: ours().count(),
            occupied: ours().filter(|class| class.count > 0).count(),
        }
    }
}

pub fn header(report: &Report, gallery: &Gallery, warnings: usize) -> Markup {
    let known = Tally::of(&report.classes, ClassKind::Known);
    let new = Tally::of(&report.classes, ClassKind::Discovered);
    let total = known.images + new.images;
    let Overview {
        model,
        images,
        epochs,
        seed,
        ..
    } = &report.overview;
    html! {
        header {
            p.product { "newfound" }
            h1 { "What was found in " (words::name(images)) }
            (summary(report, &known, &new, warnings))
            (shares(&known, &new))
            (answers(report, gallery))
            dl.facts {
                div { dt { "Model" } dd { (words::name(model)) } }
                div { dt { "Images" } dd { (words::count(total)) } }
                div {
                    dt { "Classes" }
                    dd { (known.classes) " known, " (new.classes) " kept for new ones" }
                }
                div { dt { "Epochs" } dd { (words::count(*epochs)) } }
                div { dt { "Seed" } dd { (seed) } }
            }
        }
    }
}

fn summary(report: &Report, known: &Tally, new: &Tally, warnings: usize) -> Markup {
    let total = known.images + new.images;
    let unreadable = report.evidence.unreadable.len();
    html! {
        div.lead {
            @if total == 0 {
                p { "There was no image to look at." }
            } @else {
                p {
                    "Of " (counted(total, "image", "images")) ", "
                    strong.known { (words::count(known.images)) }
                    @if known.images == 1 { " was given to a known class and " }
                    @else { " were given to known classes and " }
                    @if new.images == 0 { strong.new { "none" } " was taken for anything new." }
                    @else {
                        strong.new { (words::count(new.images)) }
                        @if new.images == 1 { " was" } @else { " were" } " sorted into "
                        (counted(new.occupied, "discovered class", "discovered classes")) "."
                    }
                }
            }
            p.aside {
                @if unreadable == 0 { "Every file could be read. " } @else {
                    (counted(unreadable, "file", "files")) " could not be read and "
                    @if unreadable == 1 { "was" } @else { "were" } " left out. "
                }
                @if warnings == 0 { "There are no warnings." } @else {
                    @if warnings == 1 { "There is " } @else { "There are " }
                    a href="#believe" { (counted(warnings, "warning", "warnings")) } "."
                }
            }
        }
    }
}

/// One bar, split between known and new.
fn shares(known: &Tally, new: &Tally) -> Markup {
    let total = known.images + new.images;
    let known_share = known.images as f64 / total.max(1) as f64;
    let percent = |share: f64| format!("{:.2}%", 100.0 * share);
    html! {
        @if total > 0 {
            svg.shares role="img"
                aria-label={ (words::percent(known_share)) " known, " (words::percent(1.0 - known_share)) " new" }
            {
                rect class="new" width="100%" height="100%" {}
                rect class="known" width=(percent(known_share)) height="100%" {}
            }
        }
    }
}

/// The three questions that everybody asks first.
fn answers(report: &Report, gallery: &Gallery) -> Markup {
    html! {
        dl.answers {
            @if let Some(verdict) = &report.overview.verdict {
                div { dt { "Can it be believed?" } dd { (verdict) } }
            }
            @if let Some(estimate) = &report.overview.estimate {
                div { dt { "How many new classes are there?" } dd { (estimate) } }
            }
            div { dt { "Which new classes are there?" } dd { (new_classes(gallery)) } }
            div { dt { "Which images are doubtful?" } dd { (doubtful(gallery)) } }
            div { dt { "Did the adaptation help?" } dd { (helped(report)) } }
        }
    }
}

/// Each with its most typical image: a look says more than a number.
fn new_classes(gallery: &Gallery) -> Markup {
    let classes = gallery.classes;
    let order = discovered(classes);
    let found: Vec<usize> = order
        .into_iter()
        .filter(|&i| classes[i].count > 0)
        .collect();
    html! {
        @if found.is_empty() { "None." }
        @for &i in found.iter().take(NAMED) {
            span.item {
                @if let Some(&image) = gallery.strips[i].typical.first() { (gallery.tile(image)) " " }
                a href={ "#c" (i) } { (words::name(&classes[i].name)) } " " span.count { (words::count(classes[i].count)) }
                @if !classes[i].doubts.is_empty() { " " span.tag { "doubtful" } }
            }
            " "
        }
        @if found.len() > NAMED { " and " a href="#found" { (found.len() - NAMED) " more" } }
    }
}

fn doubtful(gallery: &Gallery) -> Markup {
    let (doubtful, all) = (gallery.doubtful.len(), gallery.images.len());
    html! {
        @if doubtful == 0 { "None." } @else {
            (words::count(doubtful)) " of " (words::count(all)) " (" (percent(doubtful as f64 / all as f64)) "), most often because: "
            @for (i, (kind, n)) in reasons(gallery).into_iter().enumerate() {
                @if i > 0 { "; " }
                (kind) " " span.count { "(" (words::count(n)) ")" }
            }
            ". " a href="#doubtful" { "Which, and why" }
            div { @for &image in gallery.doubtful.iter().take(STRIP) { (gallery.tile(image)) " " } }
        }
    }
}

/// The commonest reasons to doubt a label, each with the number of images.
fn reasons(gallery: &Gallery) -> Vec<(&'static str, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for doubt in gallery.doubts.iter().flatten() {
        *counts.entry(doubt.kind()).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|&(_, n)| std::cmp::Reverse(n));
    counts.truncate(REASONS);
    counts
}

/// Measured if there are labels; otherwise what the run itself tells.
fn helped(report: &Report) -> Markup {
    let verdict = report.evaluation.as_ref().and_then(evaluation::verdict);
    html! {
        @match (verdict, &report.evidence.epochs[..]) {
            (Some(verdict), _) => { (verdict) " " a href="#measured" { "More" } },
            (None, [first, .., last]) => {
                "That needs labels to tell. Without them: the share of images trusted enough to learn from went from "
                (percent(first.selected)) " to " (percent(last.selected)) ", and "
                (counted(last.label_changes, "image", "images")) " changed label in the last epoch, "
                (words::count(first.label_changes)) " in the first. " a href="#believe" { "More" }
            },
            (None, _) => "That needs labels to tell.",
        }
    }
}
