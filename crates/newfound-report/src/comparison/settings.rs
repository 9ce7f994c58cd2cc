//! The settings that differ between the runs.

use maud::{Markup, html};

use super::ComparedRun;
use crate::words::{self, ABSENT};

pub fn section(runs: &[ComparedRun]) -> Markup {
    let differing = differing(runs);
    html! {
        @if differing.is_empty() { p { "Nothing: all runs have the same settings." } } @else {
            div.scroll tabindex="0" role="region" aria-label="Settings that differ" {
                table.numbers {
                    thead { tr { th scope="col" { "Setting" } @for run in runs { th scope="col" { (words::name(&run.name)) } } } }
                    tbody {
                        @for (name, values) in &differing {
                            tr {
                                th scope="row" { code { (words::name(name)) } }
                                @for value in values { td.long { (value.map_or(words::name(ABSENT), words::name)) } }
                            }
                        }
                    }
                }
            }
            p.aside { "All other settings are the same." }
        }
    }
}

/// The settings that not all runs have with the same value, in the order they first appear.
fn differing(runs: &[ComparedRun]) -> Vec<(&str, Vec<Option<&str>>)> {
    let mut names: Vec<&str> = Vec::new();
    for fact in runs.iter().flat_map(|run| &run.settings) {
        if !names.contains(&fact.name.as_str()) {
            names.push(&fact.name);
        }
    }
    let values = |name: &str| -> Vec<Option<&str>> {
        let of = |run: &'_ ComparedRun| run.settings.iter().position(|fact| fact.name == name);
        runs.iter()
            .map(|run| Some(run.settings[of(run)?].value.as_str()))
            .collect()
    };
    let rows = names.into_iter().map(|name| (name, values(name)));
    rows.filter(|(_, values)| values.windows(2).any(|pair| pair[0] != pair[1]))
        .collect()
}
