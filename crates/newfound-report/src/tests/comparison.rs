//! The page with several runs.

use super::names::{BREAKOUT, HOSTILE};
use super::{assert_sound, occurrences};
use crate::example::comparison;
use crate::*;

fn checked(comparison: &Comparison) -> String {
    let page = render_comparison(comparison);
    assert_sound(&page);
    page
}

/// The cells of the row that begins with a name.
fn row(page: &str, name: &str) -> Vec<String> {
    let start = format!("<th scope=\"row\">{name}</th>");
    let (_, rest) = page
        .split_once(&start)
        .unwrap_or_else(|| panic!("no row {name}"));
    let cells = rest
        .split_once("</tr>")
        .expect("its end")
        .0
        .split("<td>")
        .skip(1);
    cells
        .map(|cell| cell.trim_end_matches("</td>").to_owned())
        .collect()
}

#[test]
fn figures_stand_side_by_side() {
    let page = checked(&comparison());
    assert_eq!(row(&page, "HOS"), ["66.7", "70.0"]);
    assert_eq!(row(&page, "UNK"), ["–", "–"]);
    assert_eq!(row(&page, "Images given to known classes"), ["2", "2"]);
    assert_eq!(
        row(&page, "Same label as the first run"),
        ["100\u{a0}%", "60\u{a0}%"]
    );
    assert_eq!(row(&page, "Time"), ["3 min", "5 min"]);
    assert!(page.contains("<bdi class=\"name\">runs/b</bdi> has the best HOS."));
}

#[test]
fn only_images_that_differ_are_listed_the_surest_first() {
    let page = checked(&comparison());
    assert_eq!(occurrences(&page, "url("), 2);
    let place = |what: &str| page.find(what).expect("on the page");
    assert!(place("class=\"p p4\"") < place("class=\"p p1\""));
    assert!(page.contains("like unknown-2 of the first"));
    assert!(page.contains(">2</a> (40\u{a0}%) have different labels."));
}

#[test]
fn curves_lie_on_top_of_each_other() {
    let page = checked(&comparison());
    assert_eq!(occurrences(&page, "<g class=\"s0\">"), 6);
    assert_eq!(occurrences(&page, "<g class=\"s1\">"), 6);
    assert!(page.contains("<title>runs/b, epoch 5, "));
    assert_eq!(occurrences(&page, ">epoch 5</text>"), 6);
}

#[test]
fn only_settings_that_differ_are_shown() {
    let page = checked(&comparison());
    assert!(page.contains("<code><bdi class=\"name\">epochs</bdi></code>"));
    assert!(!page.contains("<code><bdi class=\"name\">seed</bdi></code>"));
    let mut same = comparison();
    same.runs[1].settings = same.runs[0].settings.clone();
    assert!(checked(&same).contains("all runs have the same settings"));
    same.runs[1].settings.remove(0);
    assert!(checked(&same).contains("<code><bdi class=\"name\">seed</bdi></code>"));
}

#[test]
fn few_or_no_runs_are_no_reason_to_fail() {
    let empty = Comparison {
        runs: vec![],
        images: vec![],
    };
    assert!(checked(&empty).contains("No image was seen by more than one run."));
    let mut one = comparison();
    one.runs.truncate(1);
    one.runs[0].epochs.clear();
    assert!(checked(&one).contains("No epoch was run."));
    one.images[0].labels[0] = Some(ComparedLabel {
        class: 99,
        confidence: f64::NAN,
    });
    checked(&one);
}

#[test]
fn hostile_names_are_text() {
    let named = |name: &str| {
        let mut comparison = comparison();
        for run in &mut comparison.runs {
            run.name = name.to_owned();
            run.classes
                .iter_mut()
                .for_each(|class| *class = name.to_owned());
            for fact in run.figures.iter_mut().chain(&mut run.settings) {
                fact.name = format!("{name}{}", fact.name);
                fact.value = format!("{name}{}", fact.value);
            }
        }
        for image in &mut comparison.images {
            (image.path, image.truth) = (name.to_owned(), Some(name.to_owned()));
        }
        checked(&comparison)
    };
    let plain = named("name");
    for name in [
        HOSTILE,
        BREAKOUT,
        "--></style></title></svg>",
        "a\0b\nc\u{202e}d",
    ] {
        let page = named(name);
        assert_eq!(occurrences(&page, "<"), occurrences(&plain, "<"), "{name}");
        assert_eq!(
            occurrences(&page, "\""),
            occurrences(&plain, "\""),
            "{name}"
        );
    }
}

#[test]
fn it_survives_json() {
    let comparison = comparison();
    let text = serde_json::to_string(&comparison).expect("plain data");
    assert_eq!(
        comparison,
        serde_json::from_str(&text).expect("our own text")
    );
}
