//! Writes a made-up report, to look at: `cargo run --example page -- 500 > page.html`, or the small
//! one of the tests without a number, or two runs compared with the word `compare`.

use newfound_report::*;

#[path = "../src/example/mod.rs"]
mod example;

fn main() {
    if std::env::args().nth(1).as_deref() == Some("compare") {
        print!("{}", render_comparison(&example::comparison()));
        return;
    }
    let size = std::env::args()
        .nth(1)
        .map(|text| text.parse::<usize>().expect("a number of images"));
    let report = match size {
        None => example::report(),
        Some(images @ ..=50) => example::large(images, 3, 2, 72),
        Some(images @ ..=1000) => example::large(images, 12, 8, 96),
        Some(images) => example::large(images, 40, 20, 52),
    };
    print!("{}", render(&report));
}
