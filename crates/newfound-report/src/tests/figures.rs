//! Curves and figures, also those that are none.

use super::{checked, occurrences};
use crate::example::{epoch, report};
use crate::*;

#[test]
fn one_epoch_is_a_point() {
    let mut report = report();
    report.evidence.epochs = vec![epoch(1)];
    let page = checked(&report);
    let curves = 6;
    assert_eq!(occurrences(&page, "<circle"), curves);
    assert_eq!(occurrences(&page, ">epoch 1</text>"), curves);
}

#[test]
fn constant_figures_are_drawn() {
    for value in [0.0, -2.5, 1e-12, 1e12] {
        let mut report = report();
        for epoch in &mut report.evidence.epochs {
            epoch.loss = value;
            epoch.classification = value;
            epoch.contrastive = value;
            epoch.diversity = value;
            epoch.selected = 1.0;
            epoch.label_changes = 0;
        }
        report
            .images
            .iter_mut()
            .for_each(|image| image.unknown = 0.5);
        assert_eq!(occurrences(&checked(&report), "<circle"), 6 * 3, "{value}");
    }
}

#[test]
fn what_is_not_a_number_is_left_out_and_breaks_the_line() {
    let mut report = report();
    report.evidence.epochs[1].loss = f64::NAN;
    report.evidence.epochs[1].diversity = f64::INFINITY;
    report.evidence.matches[0].margin = f64::NAN;
    report.classes[0].confidence = Some(f64::NAN);
    report.classes[4].separation = Some(f64::NAN);
    report.classes[4].nearest = Some(Nearest {
        class: 99,
        distance: f64::NAN,
    });
    for image in &mut report.images[..3] {
        image.confidence = f64::NAN;
        image.unknown = f64::NAN;
        (image.u_nc, image.u_cs) = (Some(f64::NAN), Some(f64::INFINITY));
        image.typicality = Some(f64::NAN);
        image
            .guesses
            .iter_mut()
            .for_each(|guess| guess.probability = f64::NAN);
        (image.before, image.after) = (Some([f64::NAN, 0.0]), Some([0.0, f64::NEG_INFINITY]));
    }
    let evaluation = report.evaluation.as_mut().expect("the example has one");
    evaluation.adapted.hos = Some(f64::NAN);
    evaluation.per_class[0].accuracy = Some(f64::NAN);
    let page = checked(&report);
    assert_eq!(occurrences(&page, "<circle"), 6 * 3 - 2);
    assert_eq!(occurrences(&page, "<polyline"), 6 + 2);
    for epoch in &mut report.evidence.epochs {
        epoch.loss = f64::NAN;
    }
    assert!(checked(&report).contains("Nothing to draw."));
}
