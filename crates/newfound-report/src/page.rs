//! The page around the sections.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::gallery::Gallery;
use crate::{
    Report, evaluation, evidence, found, making, map, next, overview, script, view, words,
};

const STYLE: &str = concat!(
    include_str!("style/page.css"),
    include_str!("style/images.css"),
    include_str!("style/map.css"),
    include_str!("style/compare.css"),
);

/// The browser's own guard behind our escaping: no request and no script but ours, whatever a name
/// contains.
fn policy() -> String {
    format!(
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src '{}'; \
         base-uri 'none'; form-action 'none'",
        script::HASH
    )
}

/// Everything around the content. The rules are our own text: no name from outside is in them.
pub fn document(title: &str, rules: &str, body: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
                style { (PreEscaped(rules)) }
            }
            body { (body) }
        }
    }
}

/// A part of the page with a place in its contents.
pub struct Section {
    pub id: &'static str,
    pub title: &'static str,
    pub body: Markup,
}

/// The contents, then the sections.
pub fn body(sections: &[Section]) -> Markup {
    html! {
        nav aria-label="Sections" {
            @for section in sections { a href={ "#" (section.id) } { (section.title) } }
        }
        main {
            @for section in sections {
                section id=(section.id) aria-labelledby={ (section.id) "-title" } {
                    h2 id={ (section.id) "-title" } { (section.title) }
                    (section.body)
                }
            }
        }
    }
}

pub fn page(report: &Report) -> Markup {
    let gallery = Gallery::new(report);
    let warnings = evidence::warnings(report, &gallery);
    let title = format!(
        "What was found in {}",
        words::visible(&report.overview.images)
    );
    let rules = map::rules(&gallery) + &gallery.rules();
    let content = html! {
        (overview::header(report, &gallery, warnings.len()))
        (body(&sections(report, &gallery, &warnings)))
        (view::views(&gallery))
        (script::script())
    };
    document(&title, &rules, content)
}

fn sections(report: &Report, gallery: &Gallery, warnings: &[Markup]) -> Vec<Section> {
    let section = |id, title, body| Some(Section { id, title, body });
    let measured = |evaluation| {
        section(
            "measured",
            "Measured with labels",
            evaluation::section(evaluation),
        )
    };
    [
        section(
            "found",
            "What was found",
            html! { (view::note(gallery)) (found::section(gallery)) },
        ),
        map::section(gallery).and_then(|map| section("map", "The map", map)),
        section(
            "believe",
            "Can I believe it?",
            evidence::section(&report.evidence, gallery, warnings),
        ),
        report.evaluation.as_ref().and_then(measured),
        section("next", "What next", next::section(&report.next, gallery)),
        section("made", "How it was made", making::section(&report.making)),
    ]
    .into_iter()
    .flatten()
    .collect()
}
