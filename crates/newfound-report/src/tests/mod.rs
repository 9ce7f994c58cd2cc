//! The page as a whole.

mod comparison;
mod evaluation;
mod figures;
mod found;
mod images;
mod names;
mod size;

use crate::example::report;
use crate::*;

/// A page that every browser can take: balanced, every link leads somewhere, and no coordinate that
/// is not a number.
fn checked(report: &Report) -> String {
    let page = render(report);
    assert_sound(&page);
    page
}

pub fn assert_sound(page: &str) {
    // The letters of a picture may spell anything.
    let (rules, body) = page.rsplit_once("</style>").expect("a style sheet");
    assert!(!rules.contains("<script"));
    // The only script is ours.
    let body = &body.replace(&crate::script::script().into_string(), "");
    for word in ["NaN", "nan", "inf,", "\"inf", "inf%", "<script", "Infinity"] {
        assert!(!body.contains(word), "{word} in the page");
    }
    assert_balanced(body);
    assert_linked(body);
}

/// Every element that is opened is closed, in order. A name that slipped through unescaped would
/// open one that is not.
fn assert_balanced(body: &str) {
    let mut open = vec!["html", "head"];
    for tag in body.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').expect("a tag ends");
        let name = tag.split_whitespace().next().unwrap_or("");
        match name.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(closed), "closed by </{closed}>"),
            None if matches!(name, "input" | "meta") => {}
            None => open.push(name),
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
}

/// Every link leads to an element of the page, and no two elements have the same name.
fn assert_linked(body: &str) {
    let values = |attribute: &str| {
        let parts: Vec<&str> = body.split(attribute).skip(1).collect();
        parts
            .into_iter()
            .map(|rest| rest.split('"').next().expect("a quote"))
            .collect::<Vec<_>>()
    };
    let mut ids = std::collections::HashSet::new();
    for id in values(" id=\"") {
        assert!(ids.insert(id), "{id} twice");
    }
    for link in values(" href=\"") {
        let target = link
            .strip_prefix('#')
            .unwrap_or_else(|| panic!("{link} leaves the page"));
        assert!(ids.contains(target), "{link} leads nowhere");
    }
}

fn occurrences(page: &str, what: &str) -> usize {
    page.matches(what).count()
}

#[test]
fn the_whole_page() {
    let page = checked(&report());
    // The style sheet is read as a file, and a line per element makes a difference readable.
    let (head, rest) = page.split_once("<style>").expect("a style sheet");
    let (_, body) = rest.split_once("</style>").expect("its end");
    let page = format!("{head}<style></style>{body}").replace("><", ">\n<");
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/src/snapshots/the_whole_page.html"
    );
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(path, &page).expect("the snapshot can be written");
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    let differing = page
        .lines()
        .zip(expected.lines())
        .find(|(is, was)| is != was);
    assert!(
        page.trim_end() == expected.trim_end(),
        "the page has changed, first here: {differing:?}. If that is meant: UPDATE_SNAPSHOTS=1 cargo test --release"
    );
}

#[test]
fn it_is_a_function_of_the_report_and_survives_json() {
    let report = report();
    let text = serde_json::to_string(&report).expect("plain data");
    let back: Report = serde_json::from_str(&text).expect("our own text");
    assert_eq!(report, back);
    assert_eq!(render(&report), render(&back));
}

#[test]
fn it_needs_no_network() {
    let page = checked(&report());
    for word in [
        "http:",
        "https:",
        "src=",
        "@import",
        "<link",
        "javascript:",
        " onload",
    ] {
        assert!(!page.contains(word), "{word} in the page");
    }
    assert!(page.contains("default-src 'none'"));
    assert!(page.contains(&format!("script-src '{}'", script::HASH)));
    assert_eq!(occurrences(&page, "<script"), 1);
    assert_eq!(
        occurrences(&page, "url("),
        occurrences(&page, "url(data:image/")
    );
    assert!(page.contains("url(data:image/"));
}
