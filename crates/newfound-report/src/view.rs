//! One image, large, with the reason for its label.
//!
//! A view is an element that is shown while the address names it (`:target`). So every image has an
//! address, the browser's *back* leads from neighbour to neighbour the way one came, and no script is
//! needed; where scripts are allowed, Escape and the arrow keys follow its links. (A `popover` would close with Escape, but a neighbour of a neighbour may be an image that
//! is already open, and that cannot be opened a second time.)

use maud::{Markup, html};

use crate::found::u;
use crate::gallery::Gallery;
use crate::words::{self, decimal_or_dash, percent, visible};
use crate::{ClassKind, Guess, Image};

/// As many guesses are shown.
const GUESSES: usize = 3;

/// What *close* leads to: an element that is nowhere in particular, so that the page stays where it is.
pub const CLOSED: &str = "page";

/// All views.
pub fn views(gallery: &Gallery) -> Markup {
    let beside = beside(gallery);
    html! {
        i id=(CLOSED) {}
        @for image in (0..gallery.images.len()).filter(|&i| gallery.viewed[i]) { (view(gallery, image, beside[image])) }
    }
}

/// For each image, those before and after it in its class, the most typical first.
fn beside(gallery: &Gallery) -> Vec<[Option<usize>; 2]> {
    let mut beside = vec![[None; 2]; gallery.images.len()];
    for strips in &gallery.strips {
        let shown = strips.all.iter().copied().filter(|&i| gallery.viewed[i]);
        let shown: Vec<usize> = shown.collect();
        for pair in shown.windows(2) {
            beside[pair[0]][1] = Some(pair[1]);
            beside[pair[1]][0] = Some(pair[0]);
        }
    }
    beside
}

fn view(gallery: &Gallery, index: usize, [before, after]: [Option<usize>; 2]) -> Markup {
    let image = &gallery.images[index];
    html! {
        div.view id={ "i" (index) } {
            p {
                a href={ "#" (CLOSED) } data-key="Escape" { "Close" }
                @if let Some(i) = before { " " a href={ "#i" (i) } data-key="ArrowLeft" { "Previous" } }
                @if let Some(i) = after { " " a href={ "#i" (i) } data-key="ArrowRight" { "Next" } }
                @if gallery.classes.get(image.class).is_some_and(|class| class.count > 0) {
                    " " a href={ "#c" (image.class) } { "Its class" }
                }
            }
            i class=(gallery.picture_class(index)) {}
            div {
                h2 { (visible(&image.path)) }
                (label(gallery, image))
                (guesses(gallery, &image.guesses))
                (neighbours(gallery, index))
                (doubts(gallery, index))
                p.count {
                    "Probability of being new " (percent(image.unknown)) " · disagreement " (u("nc")) " " (decimal_or_dash(image.u_nc, 2))
                    " · second class " (u("cs")) " " (decimal_or_dash(image.u_cs, 2))
                    " · typical " (decimal_or_dash(image.typicality, 2))
                }
            }
        }
    }
}

fn label(gallery: &Gallery, image: &Image) -> Markup {
    let kind = gallery
        .classes
        .get(image.class)
        .map_or("", |class| class.kind.css());
    html! {
        p {
            strong class=(kind) { (visible(gallery.name(image.class))) } " " (percent(image.confidence))
            @if let Some(truth) = &image.truth {
                " · truly " b { (visible(truth)) } @if is_right(gallery, image, truth) { ": right" } @else { ": wrong" }
            }
        }
    }
}

/// A known image is right in its own class, a new one in any discovered class.
fn is_right(gallery: &Gallery, image: &Image, truth: &str) -> bool {
    let is_known = |class: &&crate::Class| class.kind == ClassKind::Known;
    match gallery.classes.get(image.class) {
        Some(class) if class.kind == ClassKind::Known => class.name == truth,
        Some(_) => !gallery
            .classes
            .iter()
            .filter(is_known)
            .any(|class| class.name == truth),
        None => false,
    }
}

fn guesses(gallery: &Gallery, guesses: &[Guess]) -> Markup {
    let width = |share: f64| {
        share
            .is_finite()
            .then(|| format!("--w:{:.0}%", 100.0 * share.clamp(0.0, 1.0)))
    };
    html! {
        @if !guesses.is_empty() {
            ol { @for Guess { class, probability } in guesses.iter().take(GUESSES) {
                li style=[width(*probability)] { (visible(gallery.name(*class))) " " (percent(*probability)) }
            } }
        }
    }
}

fn doubts(gallery: &Gallery, index: usize) -> Markup {
    let doubts = &gallery.doubts[index];
    html! {
        @if doubts.is_empty() { p { "Nothing speaks against the label." } } @else {
            p { "What speaks against the label:" }
            ul.doubts { @for doubt in doubts { li { (doubt.words(gallery.classes)) } } }
        }
    }
}

/// The images most like it, each with its label: why the label is what it is.
fn neighbours(gallery: &Gallery, index: usize) -> Markup {
    let neighbours: Vec<usize> = gallery.neighbours(index).collect();
    let class = gallery.images[index].class;
    let same = neighbours
        .iter()
        .filter(|&&i| gallery.images[i].class == class)
        .count();
    html! {
        @if !neighbours.is_empty() {
            p { (same) " of the " (neighbours.len()) " images most like it have the same label:" }
            div.strip { @for i in neighbours { (neighbour(gallery, i, class)) } }
        }
    }
}

fn neighbour(gallery: &Gallery, index: usize, label: usize) -> Markup {
    let class = gallery.images[index].class;
    let picture = if gallery.pictured[index] {
        format!("p{index}")
    } else {
        String::new()
    };
    let css = if class == label {
        picture
    } else {
        format!("other {picture}")
    };
    let name = visible(gallery.name(class));
    html! {
        @if gallery.viewed[index] { a class=(css) href={ "#i" (index) } { (name) } }
        @else { span class=(css) { (name) } }
    }
}

/// What is said where not every image can be seen large.
pub fn note(gallery: &Gallery) -> Markup {
    let (all, viewed) = (
        gallery.images.len(),
        gallery.viewed.iter().filter(|&&yes| yes).count(),
    );
    let missing = gallery.pictured.iter().filter(|&&yes| !yes).count();
    html! {
        @if viewed < all {
            p.aside {
                "With " (words::count(all)) " images, only the " (words::count(viewed))
                " on the cards and in the lists, and the most doubtful ones, can be seen large, so that this page stays small."
            }
        }
        @if missing > 0 {
            p.aside { (words::counted(missing, "image has", "images have")) " no picture here: the file is gone, or the page was full." }
        }
    }
}
