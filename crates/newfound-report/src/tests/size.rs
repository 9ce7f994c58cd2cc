//! The page stays small and is written quickly, however many images there are.

use std::time::{Duration, Instant};

use super::{checked, occurrences};
use crate::example::large;
use crate::*;

const LARGEST: usize = 15_000_000;

/// Far more than it takes, also without optimisation on a busy machine; a quadratic step would not
/// stay below it.
const PATIENCE: Duration = Duration::from_secs(30);

/// A run whose pictures have exactly so many bytes.
fn run(images: usize, known: usize, new: usize, bytes: usize) -> Report {
    let mut report = large(images, known, new, 8);
    for picture in report
        .images
        .iter_mut()
        .filter_map(|image| image.picture.as_mut())
    {
        picture.bytes.resize(bytes, 0);
    }
    report
}

fn timed(report: &Report) -> String {
    let start = Instant::now();
    let page = checked(report);
    assert!(
        start.elapsed() < PATIENCE,
        "{:?} for {} images",
        start.elapsed(),
        report.images.len()
    );
    assert!(
        page.len() < LARGEST,
        "{} bytes for {} images",
        page.len(),
        report.images.len()
    );
    page
}

#[test]
fn ten_images_have_everything() {
    let page = timed(&run(10, 3, 2, 2_000));
    assert_eq!(occurrences(&page, "class=\"view\""), 10);
    assert_eq!(occurrences(&page, "url("), 10);
    assert!(page.len() < 200_000, "{} bytes", page.len());
}

#[test]
fn five_hundred_images_have_large_pictures() {
    let budget = picture_budget(500);
    assert_eq!(budget, 12_000);
    let page = timed(&run(500, 12, 8, budget));
    assert_eq!(occurrences(&page, "class=\"view\""), 500);
    assert_eq!(occurrences(&page, "url("), 500);
    let markup = page.rsplit_once("</style>").expect("a style sheet").1.len();
    assert!(markup < 500 * 2_500, "{markup} bytes without the pictures");
}

#[test]
fn five_thousand_images_all_have_a_picture() {
    let page = timed(&run(5_000, 40, 20, picture_budget(5_000)));
    assert_eq!(occurrences(&page, "url("), 5_000);
    let views = occurrences(&page, "class=\"view\"");
    assert!((1_000..2_500).contains(&views), "{views} views");
    assert!(
        page.contains(
            "on the cards and in the lists, and the most doubtful ones, can be seen large"
        )
    );
    let points = occurrences(&page, "style=\"--x:");
    assert_eq!(points, 2 * (5_000 + 60));
}

#[test]
fn pictures_that_do_not_fit_are_left_out_and_said_so() {
    let page = timed(&run(12_000, 40, 20, 2_000));
    let pictures = occurrences(&page, "url(");
    assert!((3_000..5_000).contains(&pictures), "{pictures} pictures");
    assert!(page.contains("no picture here"));
    assert!(page.contains("7,000\u{a0}images are not drawn."));
    // Those on the cards come first: each has its picture.
    let cards = page
        .split("<article")
        .skip(1)
        .map(|card| card.split("<details").next().unwrap_or_default());
    assert!(cards.into_iter().all(|card| !card.contains("class=\"p\"")));
}
