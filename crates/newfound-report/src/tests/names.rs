//! Names from outside, wherever they stand.

use super::{checked, occurrences};
use crate::example::report;
use crate::*;

pub const HOSTILE: &str = "<script>alert(1)</script>";
pub const BREAKOUT: &str = r#""'><img src=x onerror=alert(1)>&lt;"#;

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
