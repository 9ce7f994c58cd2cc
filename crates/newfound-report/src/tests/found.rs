//! What was found: the summary and the cards.

use super::{checked, occurrences};
use crate::example::{class, report};
use crate::*;

#[test]
fn the_clearest_discovered_class_comes_first_and_empty_ones_in_one_line() {
    let page = checked(&report());
    let place = |what: &str| page.find(what).expect("on the page");
    let card = |name: &str| place(&format!("<h4><span><bdi class=\"name\">{name}<"));
    assert!(card("unknown-3") < card("unknown-1"));
    assert!(card("unknown-1") < card("cat"));
    assert!(!page.contains("<h4><span><bdi class=\"name\">dog<"));
    assert!(page.contains("No image was given to <bdi class=\"name\">dog</bdi>."));
    assert!(page.contains("left empty: <bdi class=\"name\">unknown-2</bdi>."));
}

#[test]
fn without_a_measure_the_largest_discovered_class_comes_first() {
    let mut report = report();
    let figures = [Some(f64::NAN), Some(0.9), None];
    report.classes[2..]
        .iter_mut()
        .zip(figures)
        .for_each(|(class, figure)| class.separation = figure);
    // unknown-2 is empty, however clear; unknown-3 has more images than unknown-1.
    assert_eq!(found::discovered(&report.classes), [4, 2, 3]);
}

#[test]
fn a_card_says_what_speaks_against_the_class_and_what_is_near() {
    let page = checked(&report());
    assert!(page.contains(
        "<ul class=\"doubts\"><li><bdi class=\"name\">It has only one image.</bdi></li></ul>"
    ));
    assert!(page.contains("Nearest known class: <bdi class=\"name\">cat</bdi>, 0.38 away."));
    assert!(page.contains(
        "By the labels: 5 <bdi class=\"name\">cat</bdi>, 1 <bdi class=\"name\">dog</bdi>."
    ));
}

#[test]
fn the_summary_counts_what_the_cards_show() {
    let page = checked(&report());
    let lead = "Of 10\u{a0}images, <strong class=\"known\">6</strong> were given to known classes and \
                <strong class=\"new\">4</strong> were sorted into 2\u{a0}discovered classes.";
    assert!(page.contains(lead));
    assert!(page.contains("1\u{a0}file could not be read and was left out."));
    assert!(page.contains("There are <a href=\"#believe\">5\u{a0}warnings</a>."));
    assert_eq!(occurrences(&page, "<strong>5\u{a0}warnings</strong>"), 1);
}

#[test]
fn no_images_no_epochs_no_evaluation() {
    let mut report = report();
    report
        .classes
        .iter_mut()
        .for_each(|c| *c = class(&c.name, c.kind, 0));
    report.evidence = Evidence {
        warnings: vec![],
        epochs: vec![],
        matches: vec![],
        unreadable: vec![],
    };
    report.images.clear();
    report.evaluation = None;
    report.next = vec![];
    let page = checked(&report);
    assert!(page.contains("There was no image to look at."));
    assert!(page.contains("No epoch was run."));
    assert!(page.contains("There are no warnings."));
    assert!(!page.contains("id=\"measured\""));
    assert!(!page.contains("id=\"map\""));
    report.classes.clear();
    assert!(checked(&report).contains("There are none in this model."));
}

#[test]
fn nothing_new_is_said_so() {
    let mut report = report();
    report
        .classes
        .retain(|class| class.kind == ClassKind::Known);
    assert!(
        checked(&report)
            .contains("<strong class=\"new\">none</strong> was taken for anything new.")
    );
}
