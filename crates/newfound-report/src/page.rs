//! The page around the sections.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::{Report, evaluation, evidence, found, making, next, overview, words};

const STYLE: &str = include_str!("style.css");

/// The browser's own guard behind our escaping: no script and no request, whatever a name contains.
const POLICY: &str = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; \
                      base-uri 'none'; form-action 'none'";

struct Section {
    id: &'static str,
    title: &'static str,
    body: Markup,
}

pub fn page(report: &Report) -> Markup {
    let sections = sections(report);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "What was found in " (words::visible(&report.overview.images)) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (overview::header(report))
                nav aria-label="Sections" {
                    @for section in &sections { a href={ "#" (section.id) } { (section.title) } }
                }
                main {
                    @for section in &sections {
                        section id=(section.id) aria-labelledby={ (section.id) "-title" } {
                            h2 id={ (section.id) "-title" } { (section.title) }
                            (section.body)
                        }
                    }
                }
            }
        }
    }
}

fn sections(report: &Report) -> Vec<Section> {
    let section = |id, title, body| Section { id, title, body };
    let believed = evidence::section(&report.evidence, &report.classes);
    let mut sections = vec![
        section("found", "What was found", found::section(&report.classes)),
        section("believe", "Can I believe it?", believed),
    ];
    if let Some(evaluation) = &report.evaluation {
        sections.push(section(
            "measured",
            "Measured with labels",
            evaluation::section(evaluation),
        ));
    }
    sections.push(section("next", "What next", next::section(&report.next)));
    sections.push(section(
        "made",
        "How it was made",
        making::section(&report.making),
    ));
    sections
}
