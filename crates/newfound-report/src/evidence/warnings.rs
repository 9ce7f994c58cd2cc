//! What the reader should know before believing anything, in plain words.

use maud::{Markup, html};

use crate::gallery::Gallery;
use crate::words::{self, counted, percent};
use crate::{Class, ClassKind, Report};

/// A class with this share of all images may have swallowed the others …
const COLLAPSED: f64 = 0.8;

/// … if there are so many images that it is no accident.
const ENOUGH: usize = 20;

/// More images than this share have not settled.
const UNSETTLED: f64 = 0.02;

/// More images than this share have another label by their neighbours.
const DISPUTED: f64 = 0.1;

/// All warnings: those of the run, then those that the figures of the report give rise to.
pub fn warnings(report: &Report, gallery: &Gallery) -> Vec<Markup> {
    let given = report
        .evidence
        .warnings
        .iter()
        .map(|warning| words::name(warning));
    let seen = [
        collapse(&report.classes),
        all_on_one_side(&report.classes),
        empty(report),
        doubtful_classes(&report.classes),
        absent(report),
        doubtful_matches(report),
        unsettled(gallery),
        disputed(gallery),
        unreadable(report),
    ];
    given.chain(seen.into_iter().flatten()).collect()
}

/// The warnings in a box, or a word of caution where there are none.
pub fn boxed(warnings: &[Markup]) -> Markup {
    html! {
        @if warnings.is_empty() {
            p { "There are no warnings. That does not prove the result right: look at the images above, and at the figures below." }
        } @else {
            div.warnings {
                p { strong { (counted(warnings.len(), "warning", "warnings")) } }
                ul { @for warning in warnings { li { (warning) } } }
            }
        }
    }
}

fn total(classes: &[Class]) -> usize {
    classes.iter().map(|class| class.count).sum()
}

fn collapse(classes: &[Class]) -> Option<Markup> {
    let total = total(classes);
    let largest = classes.iter().max_by_key(|class| class.count)?;
    let share = largest.count as f64 / total.max(1) as f64;
    (total >= ENOUGH && classes.len() > 2 && share >= COLLAPSED).then(|| {
        html! {
            (percent(share)) " of the images were given to one class, " (words::name(&largest.name))
            ". Unless that is what they are, the adaptation has collapsed: try a lower learning rate, or fewer epochs."
        }
    })
}

/// Nothing new, or nothing known, in many images.
fn all_on_one_side(classes: &[Class]) -> Option<Markup> {
    let images = |kind| {
        classes
            .iter()
            .filter(|class| class.kind == kind)
            .map(|class| class.count)
            .sum::<usize>()
    };
    let kept = classes
        .iter()
        .any(|class| class.kind == ClassKind::Discovered);
    let (known, new) = (images(ClassKind::Known), images(ClassKind::Discovered));
    if known + new < ENOUGH || !kept {
        return None;
    }
    match (known, new) {
        (0, _) => Some(
            html! { "Every image was taken for something new. Is this the model for these images?" },
        ),
        (_, 0) => Some(
            html! { "No image was taken for anything new, although classes were kept for that." },
        ),
        _ => None,
    }
}

fn empty(report: &Report) -> Option<Markup> {
    let classes = &report.classes;
    let absent = |name: &str| {
        let mut matches = report.evidence.matches.iter();
        matches.any(|found| found.absent && found.class == name)
    };
    let empty: Vec<&str> = classes
        .iter()
        .filter(|class| class.kind == ClassKind::Known && class.count == 0)
        .filter(|class| !absent(&class.name))
        .map(|class| class.name.as_str())
        .collect();
    (!empty.is_empty() && total(classes) > 0).then(|| {
        html! {
            "No image was given to the known " @if empty.len() == 1 { "class " } @else { "classes " }
            (words::listed(empty)) ". Either there are none, or they were taken for something else."
        }
    })
}

fn doubtful_classes(classes: &[Class]) -> Option<Markup> {
    let is_doubtful = |class: &&Class| {
        class.kind == ClassKind::Discovered && class.count > 0 && !class.doubts.is_empty()
    };
    let doubtful: Vec<&str> = classes
        .iter()
        .filter(is_doubtful)
        .map(|class| class.name.as_str())
        .collect();
    let many = doubtful.len() != 1;
    (!doubtful.is_empty()).then(|| {
        html! {
            @if many { "These discovered classes are doubtful: " } @else { "One discovered class is doubtful: " }
            (words::listed(doubtful)) ". " @if many { "Their cards say" } @else { "Its card says" } " why."
        }
    })
}

fn absent(report: &Report) -> Option<Markup> {
    let absent = report.evidence.matches.iter().filter(|m| m.absent);
    let absent: Vec<&str> = absent.map(|m| m.class.as_str()).collect();
    let many = absent.len() != 1;
    (!absent.is_empty()).then(|| {
        html! {
            @if many { "These known classes seem not to be here: " } @else { "One known class seems not to be here: " }
            (words::listed(absent)) ". Images that are a little like " @if many { "them" } @else { "it" } " are more likely of something new."
        }
    })
}

fn doubtful_matches(report: &Report) -> Option<Markup> {
    let matches = &report.evidence.matches;
    let doubtful: Vec<&str> = matches
        .iter()
        .filter(|m| m.is_doubtful())
        .map(|m| m.class.as_str())
        .collect();
    (!doubtful.is_empty()).then(|| {
        html! {
            "The adaptation started from clusters that were hardly more like " (words::listed(doubtful))
            " than other clusters were: these classes may have been mixed up."
        }
    })
}

fn unsettled(gallery: &Gallery) -> Option<Markup> {
    let changed = gallery
        .images
        .iter()
        .filter(|image| image.changed == Some(true))
        .count();
    let share = changed as f64 / gallery.images.len().max(1) as f64;
    (share > UNSETTLED).then(|| {
        html! {
            (counted(changed, "image", "images")) " (" (percent(share))
            ") still changed label in the last epochs: the run had not settled, and more epochs may help."
        }
    })
}

fn disputed(gallery: &Gallery) -> Option<Markup> {
    let disputed = gallery
        .images
        .iter()
        .filter(|image| image.refined != image.class)
        .count();
    let share = disputed as f64 / gallery.images.len().max(1) as f64;
    (share > DISPUTED).then(|| {
        html! {
            "The model and the images most like an image disagree about the label of "
            (counted(disputed, "image", "images")) " (" (percent(share)) ")."
        }
    })
}

fn unreadable(report: &Report) -> Option<Markup> {
    let files = report.evidence.unreadable.len();
    (files > 0).then(|| {
        html! {
            (counted(files, "file", "files")) " could not be read and "
            @if files == 1 { "was" } @else { "were" } " left out: "
            a href="#unreadable" { "which, and why" } "."
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{class, report};

    /// The warnings about these classes, each with its count of images; the known ones first.
    fn about(known: &[usize], discovered: &[usize]) -> String {
        let mut report = report();
        report.evidence.warnings.clear();
        report.evidence.matches.clear();
        report.evidence.unreadable.clear();
        report.images.clear();
        let known = known.iter().map(|&n| class("cat", ClassKind::Known, n));
        let new = discovered
            .iter()
            .map(|&n| class("unknown-1", ClassKind::Discovered, n));
        report.classes = known.chain(new).collect();
        let gallery = Gallery::new(&report);
        warnings(&report, &gallery)
            .into_iter()
            .map(|warning| warning.into_string())
            .collect()
    }

    #[test]
    fn an_even_result_gives_no_warning() {
        assert_eq!(about(&[10, 10], &[10]), "");
        assert_eq!(about(&[0], &[]), "");
    }

    #[test]
    fn a_collapse_is_noticed() {
        assert!(about(&[79, 11], &[10]).is_empty());
        assert!(about(&[80, 10], &[10]).contains("has collapsed"));
        assert!(!about(&[15, 1], &[1]).contains("has collapsed"));
        assert!(about(&[0, 0], &[10, 10]).contains("Every image was taken for something new."));
        assert!(about(&[10, 10], &[0]).contains("No image was taken for anything new"));
        assert_eq!(about(&[10, 10], &[]), "");
    }

    #[test]
    fn classes_that_are_not_here_are_named() {
        let mut report = report();
        let text = |report: &Report| -> String {
            let all = warnings(report, &Gallery::new(report)).into_iter();
            all.map(|warning| warning.into_string()).collect()
        };
        assert!(!text(&report).contains("not to be here"));
        report.evidence.matches[0].absent = true;
        let one = text(&report);
        assert!(one.contains("One known class seems not to be here: "));
        assert!(one.contains("a little like it are more likely of something new."));
        report
            .evidence
            .matches
            .iter_mut()
            .for_each(|m| m.absent = true);
        assert!(text(&report).contains("These known classes seem not to be here: "));
        // They are not doubted as well.
        assert!(!text(&report).contains("hardly more like"));
    }

    #[test]
    fn images_that_have_not_settled_are_counted() {
        let mut report = report();
        report.evidence.unreadable.clear();
        let count = |report: &Report| {
            let text: String = warnings(report, &Gallery::new(report))
                .into_iter()
                .map(|w| w.into_string())
                .collect();
            (
                text.contains("still changed label"),
                text.contains("disagree about the label"),
            )
        };
        for image in &mut report.images {
            (image.changed, image.refined) = (None, image.class);
        }
        assert_eq!(count(&report), (false, false));
        for image in &mut report.images[..2] {
            (image.changed, image.refined) = (Some(true), image.class + 1);
        }
        assert_eq!(count(&report), (true, true));
    }
}
