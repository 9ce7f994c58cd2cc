//! Where images are shown, and where they lead.

use super::{checked, occurrences};
use crate::example::{image, large, png, report};
use crate::*;

#[test]
fn a_picture_is_written_once_and_shown_with_words() {
    let page = checked(&report());
    assert_eq!(occurrences(&page, "url(data:image/png;base64,"), 10);
    let tile = "<a class=\"p p3\" href=\"#i3\" title=\"site/3.png: cat, 91\u{a0}%\"></a>";
    assert!(page.contains(tile));
    // On the card and beside three neighbours and on two maps.
    assert!(occurrences(&page, "p3\"") >= 6);
}

#[test]
fn a_view_shows_the_reason_for_the_label() {
    let page = checked(&report());
    let (_, view) = page.split_once("id=\"i5\"").expect("its view");
    let view = view.split_once("class=\"view\"").expect("the next one").0;
    for part in [
        "<a href=\"#page\" data-key=\"Escape\">Close</a>",
        "<a href=\"#i4\" data-key=\"ArrowLeft\">Previous</a>",
        "<h2>site/5.png</h2>",
        "<strong class=\"known\">cat</strong> 91\u{a0}% · truly <b>dog</b>: wrong",
        "<li style=\"--w:91%\">cat 91\u{a0}%</li>",
        "0 of the 3 images most like it have the same label:",
        "<a class=\"other p6\" href=\"#i6\">unknown-1</a>",
        "<li>undecided between known and new: 50\u{a0}% new</li>",
        "<li>the images most like it say <bdi class=\"name\">unknown-3</bdi></li>",
    ] {
        assert!(view.contains(part), "{part} is not in {view}");
    }
    let (_, other) = page.split_once("id=\"i7\"").expect("its view");
    assert!(other.contains("truly <b>fox</b>: right"));
    assert!(other.contains("Nothing speaks against the label."));
}

#[test]
fn doubtful_images_are_listed_with_the_reasons() {
    let page = checked(&report());
    assert!(
        page.contains(
            "1\u{a0}image of 10 (10\u{a0}%) has something that speaks against the label."
        )
    );
    let (_, list) = page.split_once("<ul class=\"reasons\">").expect("a list");
    assert!(list.starts_with("<li><a class=\"p p5\" href=\"#i5\""));
}

#[test]
fn the_strips_of_a_class_are_typical_borderline_and_outlying() {
    let mut report = report();
    report.images = (0..20)
        .map(|i| {
            let mut image = image(&format!("{i}.png"), 0);
            image.typicality = Some(1.0 - 0.01 * f64::from(i));
            image.guesses[1].probability = 0.01 * f64::from(i % 10);
            image
        })
        .collect();
    let gallery = gallery::Gallery::new(&report);
    let strips = &gallery.strips[0];
    assert_eq!(strips.typical, [0, 1, 2, 3, 4, 5]);
    // The second guess is most probable in 9 and 19, then 8 and 18, then 7 and 17.
    assert_eq!(strips.borderline, [9, 19, 8, 18, 7, 17]);
    assert_eq!(strips.outliers, [16, 15, 14, 13, 12, 11]);
    assert_eq!(strips.all, (0..20).collect::<Vec<_>>());
    report
        .images
        .iter_mut()
        .for_each(|image| image.typicality = None);
    assert!(gallery::Gallery::new(&report).strips[0].outliers.is_empty());
}

#[test]
fn an_image_without_a_picture_has_its_name_instead() {
    let mut report = report();
    report.images[0].picture = None;
    report.images[1].picture = Some(Picture {
        image_type: ImageType::Jpeg,
        bytes: Vec::new(),
    });
    let page = checked(&report);
    assert_eq!(occurrences(&page, "url("), 8);
    assert!(page.contains("title=\"site/0.png: cat, 91\u{a0}%\">0.png</a>"));
    assert!(page.contains("2\u{a0}images have no picture here"));
}

#[test]
fn indices_out_of_range_are_passed_over() {
    let mut report = report();
    report.images[0].class = 99;
    report.images[1].refined = 99;
    report.images[2].neighbours = vec![99, 2, 3];
    report.images[3].guesses[0].class = 99;
    let page = checked(&report);
    assert!(page.contains("1 of the 1 images most like it"));
}

#[test]
fn the_map_needs_places_and_shows_truth_only_if_it_is_known() {
    let mut report = report();
    let page = checked(&report);
    assert_eq!(occurrences(&page, "class=\"points\""), 2);
    assert_eq!(occurrences(&page, "style=\"--x:"), 2 * (10 + 3));
    assert!(page.contains("id=\"by-truth\""));
    assert!(
        page.contains(
            "<div class=\"k0 t1\"><a class=\"p5\" href=\"#i5\" aria-label=\"site/5.png: cat, 91\u{a0}%\""
        )
    );
    assert_eq!(occurrences(&page, "class=\"by-truth\""), 2);
    assert_eq!(occurrences(&page, "<path class=\"k0 d\""), 2);
    for image in &mut report.images {
        image.truth = None;
        image.before = None;
    }
    let page = checked(&report);
    assert_eq!(occurrences(&page, "class=\"points\""), 1);
    assert!(!page.contains("id=\"by-truth\"") && !page.contains("class=\"by-truth\""));
    report
        .images
        .iter_mut()
        .for_each(|image| image.after = None);
    assert!(!checked(&report).contains("id=\"map\""));
}

#[test]
fn the_images_to_label_first_are_a_list_to_copy() {
    let page = checked(&report());
    let (_, list) = page
        .split_once("<pre class=\"command paths\" tabindex=\"0\">")
        .expect("a list");
    let list = list.split_once("</pre>").expect("its end").0;
    // The centre of unknown-1, two of unknown-3, and the doubtful one.
    assert_eq!(list, "site/6.png\nsite/7.png\nsite/8.png\nsite/5.png\n");
}

#[test]
fn without_discovered_classes_nothing_is_missing() {
    let report = large(60, 4, 0, 8);
    let page = checked(&report);
    assert!(page.contains("<strong class=\"new\">none</strong> was taken for anything new."));
    assert!(page.contains("Which new classes are there?</dt><dd>None.</dd>"));
    assert!(!page.contains("most central images of each discovered class"));
}

#[test]
fn the_pictures_of_the_example_are_png_files() {
    let bytes = png(9, 1, 2);
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x09"));
    // The checksum of an empty last chunk is the same in every PNG file.
    assert!(bytes.ends_with(b"IEND\xae\x42\x60\x82"));
}
