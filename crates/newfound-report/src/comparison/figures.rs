//! The figures of the runs side by side.

use maud::{Markup, html};

use super::labels::Agreement;
use super::{ComparedRun, Comparison};
use crate::words::{self, ABSENT, counted, decimal_or_dash, percent};

/// The run with the highest HOS, if at least two were evaluated and one is ahead of the rest.
pub fn best(runs: &[ComparedRun]) -> Option<&ComparedRun> {
    let hos = |run: &ComparedRun| run.scores?.hos.filter(|hos| hos.is_finite());
    let mut scored: Vec<(f64, &ComparedRun)> = runs
        .iter()
        .filter_map(|run| Some((hos(run)?, run)))
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    match scored[..] {
        [(first, run), (second, _), ..] if first > second => Some(run),
        _ => None,
    }
}

pub fn section(comparison: &Comparison, agreement: &Agreement) -> Markup {
    let runs = &comparison.runs;
    let scored = runs.iter().any(|run| run.scores.is_some());
    let score = |run: &ComparedRun| {
        let scores = run.scores;
        [
            scores.and_then(|s| s.os_star),
            scores.and_then(|s| s.unk),
            scores.and_then(|s| s.hos),
        ]
    };
    html! {
        div.scroll tabindex="0" role="region" aria-label="The figures" {
            table.numbers {
                thead { tr { th scope="col" { "" } @for run in runs { th scope="col" { (words::name(&run.name)) } } } }
                tbody {
                    @if scored {
                        @for (place, name) in ["OS*", "UNK", "HOS"].into_iter().enumerate() {
                            (row(name, runs, |_, run| decimal_or_dash(score(run)[place], 1)))
                        }
                    }
                    (row("Images given to known classes", runs, |i, run| given(comparison, i, |class| class < run.known)))
                    (row("Images given to discovered classes", runs, |i, run| given(comparison, i, |class| class >= run.known)))
                    (row("Classes kept for new ones", runs, |_, run| words::count(run.classes.len().saturating_sub(run.known))))
                    (row("Same label as the first run", runs, |i, _| same(agreement.with_first[i])))
                    (row("Epochs", runs, |_, run| words::count(run.epochs.len())))
                    (row("Labels that changed in the last epoch", runs, |_, run| last(run)))
                    @for name in names(runs) { (row(name, runs, |_, run| named(run, name))) }
                }
            }
        }
        @if scored {
            p.note {
                b { "OS*" } " is the mean accuracy over the known classes, " b { "UNK" }
                " the share of images of new classes that were recognised as new, " b { "HOS" } " the harmonic mean of both, all in percent: higher is better."
            }
        }
        p.note {
            "The numbers of discovered classes are arbitrary. For “same label”, each was paired with the class of the first run that has most images in common with it."
        }
    }
}

fn row(name: &str, runs: &[ComparedRun], figure: impl Fn(usize, &ComparedRun) -> String) -> Markup {
    html! {
        tr {
            th scope="row" { (words::visible(name)) }
            @for (i, run) in runs.iter().enumerate() { td { (figure(i, run)) } }
        }
    }
}

fn given(comparison: &Comparison, run: usize, to: impl Fn(usize) -> bool) -> String {
    let labels = comparison
        .images
        .iter()
        .filter_map(|image| image.labels.get(run).copied().flatten());
    words::count(labels.filter(|label| to(label.class)).count())
}

fn same((shared, same): (usize, usize)) -> String {
    match shared {
        0 => ABSENT.to_owned(),
        _ => percent(same as f64 / shared as f64),
    }
}

fn last(run: &ComparedRun) -> String {
    let changed = |epoch: &crate::Epoch| counted(epoch.label_changes, "image", "images");
    run.epochs.last().map_or(ABSENT.to_owned(), changed)
}

/// The names of all further figures, in the order they first appear.
fn names(runs: &[ComparedRun]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for fact in runs.iter().flat_map(|run| &run.figures) {
        if !names.contains(&fact.name.as_str()) {
            names.push(&fact.name);
        }
    }
    names
}

fn named(run: &ComparedRun, name: &str) -> String {
    let fact = run.figures.iter().find(|fact| fact.name == name);
    fact.map_or(ABSENT.to_owned(), |fact| words::visible(&fact.value))
}
