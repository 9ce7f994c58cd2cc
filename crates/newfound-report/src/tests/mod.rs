//! The page as a whole.

mod comparison;
mod images;
mod size;

use crate::example::{class, epoch, report};
use crate::*;

const HOSTILE: &str = "<script>alert(1)</script>";
const BREAKOUT: &str = r#""'><img src=x onerror=alert(1)>&lt;"#;

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
    for word in ["NaN", "nan", "inf,", "\"inf", "inf%", "<script", "Infinity"] {
        assert!(!body.contains(word), "{word} in the page");
    }
    assert!(!rules.contains("<script"));
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
fn it_needs_no_network_and_no_script() {
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
    assert_eq!(
        occurrences(&page, "url("),
        occurrences(&page, "url(data:image/")
    );
    assert!(page.contains("url(data:image/"));
}

/// Puts a name wherever a name can stand.
fn named(name: &str) -> Report {
    let text = || name.to_owned();
    let mut report = report();
    report.overview.model = text();
    report.overview.images = text();
    for class in &mut report.classes {
        class.name = text();
        class.doubts = vec![text()];
    }
    for image in &mut report.images {
        image.path = text();
        image.truth = Some(text());
    }
    report.evidence.warnings = vec![text()];
    report
        .evidence
        .matches
        .iter_mut()
        .for_each(|found| found.class = text());
    report.evidence.unreadable = vec![Unreadable {
        path: text(),
        reason: text(),
    }];
    let evaluation = report.evaluation.as_mut().expect("the example has one");
    evaluation
        .per_class
        .iter_mut()
        .for_each(|class| class.name = text());
    evaluation.confusion.rows.fill(text());
    evaluation.confusion.columns.fill(text());
    report.next = vec![Command {
        purpose: text(),
        command: text(),
    }];
    report.making.facts = vec![Fact {
        name: text(),
        value: text(),
    }];
    report.making.configuration = text();
    report
}

#[test]
fn hostile_names_are_text_everywhere() {
    let plain = render(&named("name"));
    for name in [
        HOSTILE,
        BREAKOUT,
        "--></style></title></svg>",
        "a\0b\nc\u{202e}d",
    ] {
        let page = checked(&named(name));
        assert!(!page.contains("<img src=x"));
        assert!(!page.contains(" onerror=alert(1)>"));
        // No name adds or removes an element: the page has as many tags as with a harmless one. (The
        // words of a command are elements of their own.)
        let words = 2 * (name.split(' ').count() - 1);
        assert_eq!(
            occurrences(&page, "<"),
            occurrences(&plain, "<") + words,
            "{name}"
        );
        assert_eq!(
            occurrences(&page, "\""),
            occurrences(&plain, "\""),
            "{name}"
        );
    }
    assert!(render(&named(HOSTILE)).contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
}

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
    assert_eq!(occurrences(&page, "--c:var("), 60 + 3);
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
