//! What labels say about the result.

use super::{checked, occurrences};
use crate::example::{class, report};
use crate::*;

#[test]
fn whether_it_helped_is_answered_with_and_without_labels() {
    let mut report = report();
    let answer = |report: &Report| {
        let page = checked(report);
        let (_, rest) = page
            .split_once("Did the adaptation help?</dt><dd>")
            .expect("the question");
        rest.split_once("</dd>").expect("its answer").0.to_owned()
    };
    assert!(answer(&report).starts_with("The adaptation raised HOS from 48.0 to 66.7;"));
    report.evaluation = None;
    assert!(answer(&report).contains("went from 60\u{a0}% to 80\u{a0}%, and 13\u{a0}images changed label in the last epoch, 40 in the first."));
    report.evidence.epochs.clear();
    assert_eq!(answer(&report), "That needs labels to tell.");
}

#[test]
fn sixty_classes_with_very_long_names() {
    let mut report = report();
    let long = "säge-".repeat(60);
    let kind = |i| {
        if i < 30 {
            ClassKind::Known
        } else {
            ClassKind::Discovered
        }
    };
    report.classes = (0..60)
        .map(|i| class(&format!("{long}{i}"), kind(i), 1000 + i))
        .collect();
    let evaluation = report.evaluation.as_mut().expect("the example has one");
    let names: Vec<String> = report
        .classes
        .iter()
        .map(|class| class.name.clone())
        .collect();
    evaluation.confusion = Confusion {
        rows: names.clone(),
        columns: names,
        known: 30,
        counts: (0..60)
            .map(|row| (0..60).map(|column| usize::from(row == column)).collect())
            .collect(),
    };
    let page = checked(&report);
    assert_eq!(occurrences(&page, "<article"), 60);
    assert_eq!(occurrences(&page, "--q:var(--"), 60);
    assert!(page.contains("1,059\u{a0}images"));
    assert!(
        page.len() < 1_000_000,
        "{} bytes without any picture to speak of",
        page.len()
    );
}

#[test]
fn a_short_confusion_matrix_does_not_panic() {
    let mut report = report();
    let evaluation = report.evaluation.as_mut().expect("the example has one");
    evaluation.confusion.rows.clear();
    evaluation.confusion.counts[1].clear();
    checked(&report);
}

#[test]
fn the_verdict_is_honest() {
    let verdict = |before: f64, after: f64| {
        let mut report = report();
        let evaluation = report.evaluation.as_mut().expect("the example has one");
        evaluation.source.hos = Some(before);
        evaluation.adapted.hos = Some(after);
        let page = checked(&report);
        let (_, rest) = page.split_once("<p class=\"verdict\">").expect("a verdict");
        rest.split_once(';').expect("two halves").0.to_owned()
    };
    assert_eq!(
        verdict(48.0, 66.7),
        "The adaptation raised HOS from 48.0 to 66.7"
    );
    assert_eq!(
        verdict(66.7, 48.0),
        "The adaptation lowered HOS from 66.7 to 48.0"
    );
    assert_eq!(
        verdict(48.01, 48.04),
        "The adaptation left HOS where it was, at 48.0"
    );
}
