//! The most doubtful images, each with the reasons.

use maud::{Markup, html};

use crate::gallery::{DOUBTFUL, Gallery};
use crate::words::{self, counted, percent, visible};

/// As many reasons are given here; the image's view has them all.
const REASONS: usize = 3;

/// As many further images are shown without their reasons.
const FURTHER: usize = 300;

pub fn list(gallery: &Gallery) -> Markup {
    let (doubtful, all) = (gallery.doubtful.len(), gallery.images.len());
    html! {
        h3 id="doubtful" { "Doubtful images, and why" }
        @if doubtful == 0 {
            p { "There is no image whose label looks doubtful." }
        } @else {
            p {
                (counted(doubtful, "image", "images")) " of " (words::count(all)) " (" (percent(doubtful as f64 / all as f64))
                ") " @if doubtful == 1 { "has" } @else { "have" } " something that speaks against the label. Few is good. "
                @if doubtful > DOUBTFUL { "These are the " (DOUBTFUL) " most doubtful." }
            }
            ul.reasons { @for &image in gallery.doubtful.iter().take(DOUBTFUL) { (entry(gallery, image)) } }
            @if doubtful > DOUBTFUL {
                @let further = &gallery.doubtful[DOUBTFUL..doubtful.min(DOUBTFUL + FURTHER)];
                details.further {
                    summary { "The next " (further.len()) ", the most doubtful first" }
                    (gallery.strip(further))
                }
            }
        }
    }
}

fn entry(gallery: &Gallery, image: usize) -> Markup {
    let class = gallery.images[image].class;
    let doubts = &gallery.doubts[image];
    let kind = gallery
        .classes
        .get(class)
        .map_or("", |class| class.kind.css());
    html! {
        li {
            (gallery.tile(image))
            div {
                p { strong class=(kind) { (visible(gallery.name(class))) } " " span.count { (percent(gallery.images[image].confidence)) } }
                p.line { (visible(&gallery.images[image].path)) }
                ul {
                    @for doubt in doubts.iter().take(REASONS) { li { (doubt.words(gallery.classes)) } }
                    @if doubts.len() > REASONS { li.count { "and " (doubts.len() - REASONS) " more" } }
                }
            }
        }
    }
}
