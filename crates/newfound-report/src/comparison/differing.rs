//! The images whose label differs, with what each run says.

use maud::{Markup, html};

use super::labels::Agreement;
use super::{ComparedImage, ComparedRun, Comparison};
use crate::picture;
use crate::words::{self, ABSENT, percent, visible};

/// As many images are listed.
const LISTED: usize = 300;

/// The rules with the pictures, and the list.
pub fn section(comparison: &Comparison, agreement: &Agreement) -> (String, Markup) {
    let listed = &agreement.differing[..agreement.differing.len().min(LISTED)];
    let wanted = listed
        .iter()
        .map(|&i| (i, comparison.images[i].picture.as_ref()));
    let pictured = picture::affordable(wanted, comparison.images.len());
    let rule = |&i: &usize| {
        Some(
            comparison.images[i]
                .picture
                .as_ref()
                .filter(|_| pictured[i])?
                .rule(i),
        )
    };
    let rules = listed.iter().filter_map(rule).collect();
    (rules, list(comparison, agreement, listed, &pictured))
}

fn list(
    comparison: &Comparison,
    agreement: &Agreement,
    listed: &[usize],
    pictured: &[bool],
) -> Markup {
    let judged = listed.iter().any(|&i| comparison.images[i].truth.is_some());
    let all = agreement.differing.len();
    html! {
        @if listed.is_empty() { p { "There is none." } } @else {
            p {
                "Where two runs disagree, at least one is wrong. Those where both are surest come first."
                @if all > listed.len() { " These are " (listed.len()) " of " (words::count(all)) "." }
            }
            div.scroll tabindex="0" role="region" aria-label="Images whose label differs" {
                table.differing {
                    thead { tr {
                        th scope="col" { "Image" }
                        @for run in &comparison.runs { th scope="col" { (words::name(&run.name)) } }
                        @if judged { th scope="col" { "True class" } }
                    } }
                    tbody { @for &i in listed { (row(comparison, agreement, i, pictured[i], judged)) } }
                }
            }
        }
    }
}

fn row(
    comparison: &Comparison,
    agreement: &Agreement,
    index: usize,
    pictured: bool,
    judged: bool,
) -> Markup {
    let image = &comparison.images[index];
    html! {
        tr {
            th scope="row" {
                @if pictured { i class={ "p p" (index) } {} }
                (words::name(&image.path))
            }
            @for (i, run) in comparison.runs.iter().enumerate() { td { (label(comparison, agreement, image, i, run)) } }
            @if judged { td { (visible(image.truth.as_deref().unwrap_or(ABSENT))) } }
        }
    }
}

/// A run's label, and for a discovered class what the first run calls it.
fn label(
    comparison: &Comparison,
    agreement: &Agreement,
    image: &ComparedImage,
    index: usize,
    run: &ComparedRun,
) -> Markup {
    let Some(label) = image.labels.get(index).copied().flatten() else {
        return html! { (ABSENT) };
    };
    let kind = if label.class < run.known {
        "known"
    } else {
        "new"
    };
    let same = agreement.meaning[index].get(label.class).copied().flatten();
    let called = same.map(|class| comparison.runs[0].class(class));
    html! {
        strong class=(kind) { (visible(run.class(label.class))) } " " span.count { (percent(label.confidence)) }
        @if label.class >= run.known && index > 0 {
            span.same {
                @match called {
                    Some(name) => { "like " (visible(name)) " of the first" },
                    None => "like no class of the first",
                }
            }
        }
    }
}
