//! The map: what looks alike to the model lies close together, before and after the adaptation.
//!
//! What is seen are outlines, one for each class. On top of them lie the points, which are never seen
//! themselves: each is a link to the image's view, placed by two variables, and shows the picture while
//! the pointer rests on it. Points are grouped by class, so that one rule hides them all.

mod legend;
mod marks;
mod shapes;

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::gallery::Gallery;
use crate::words;
use legend::Truths;

/// As many images are drawn on each map: those with a view first, then every so manieth.
const POINTS: usize = 5_000;

/// Up to this many points, the keyboard reaches each of them; more are reached from the cards.
const TABBED: usize = 300;

/// With more points than this, the marks are small.
const DENSE: usize = 1_500;

/// Radius of a mark, and of a small one, in the units of the outlines.
const RADIUS: f64 = 10.0;
const SMALL: f64 = 6.5;

/// Distance of the outermost points from the frame, in percent of its width.
const MARGIN: f64 = 3.0;

/// A map that is ready to be drawn: for each image its place in percent of width and height.
type Places = Vec<Option<[f64; 2]>>;

pub fn section(gallery: &Gallery) -> Option<Markup> {
    let drawn = drawn(gallery);
    let place = |of: fn(&crate::Image) -> Option<[f64; 2]>| {
        let chosen = gallery.images.iter().zip(&drawn);
        fitted(
            chosen
                .map(|(image, &drawn)| of(image).filter(|_| drawn))
                .collect(),
        )
    };
    let maps = [
        ("Before the adaptation", place(|image| image.before)),
        ("After the adaptation", place(|image| image.after)),
    ];
    let maps: Vec<_> = maps
        .into_iter()
        .filter(|(_, places)| places.iter().any(Option::is_some))
        .collect();
    if maps.is_empty() {
        return None;
    }
    let truths = Truths::of(gallery);
    let left_out = drawn.iter().filter(|&&yes| !yes).count();
    let radius = if drawn.len() - left_out > DENSE {
        SMALL
    } else {
        RADIUS
    };
    Some(html! {
        p {
            "Each mark is an image, and images that look alike to the model lie close together. "
            "Good is a map where each class is a patch of its own, and tighter after the adaptation than before. "
            "Only closeness counts: the axes have no meaning, and neither has the distance between far-away patches (t-SNE). "
            "Marks have the colour and shape of the class that the adapted model gives, also on the map before. Rest on a mark to see the image, select it to see why."
        }
        @if left_out > 0 { p.aside { (words::counted(left_out, "image is", "images are")) " not drawn." } }
        form.map {
            (legend::controls(&truths))
            (legend::legend(gallery, &truths))
            p.skip { a href="#believe" { "Skip the map" } }
            div.maps {
                @for (title, places) in &maps {
                    figure {
                        figcaption { b { (title) } }
                        div.points role="group" aria-label=(title) {
                            (marks::outlines(gallery, places, &truths, radius))
                            (points(gallery, places, &truths))
                            (marks::numbers(gallery, places))
                        }
                    }
                }
            }
        }
    })
}

/// The rules that colour the marks and let the legend hide them.
pub fn rules(gallery: &Gallery) -> String {
    marks::rules(gallery, &Truths::of(gallery))
}

fn drawn(gallery: &Gallery) -> Vec<bool> {
    let mut drawn = gallery.viewed.clone();
    let taken = drawn.iter().filter(|&&yes| yes).count();
    let rest: Vec<usize> = (0..drawn.len()).filter(|&i| !drawn[i]).collect();
    let room = POINTS.saturating_sub(taken).min(rest.len());
    (0..room).for_each(|i| drawn[rest[i * rest.len() / room]] = true);
    drawn
}

/// Scales a map to its frame, both axes alike: distances must stay comparable.
fn fitted(mut places: Places) -> Places {
    let drawable = |[x, y]: &[f64; 2]| x.abs() < 1e100 && y.abs() < 1e100;
    places
        .iter_mut()
        .for_each(|place| *place = place.filter(drawable));
    let ends = |axis: usize| {
        let along = places.iter().flatten().map(|place| place[axis]);
        along.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
            (low.min(v), high.max(v))
        })
    };
    let (x, y) = (ends(0), ends(1));
    let size = (x.1 - x.0).max(y.1 - y.0).max(f64::MIN_POSITIVE);
    let scale = |value: f64, (low, high): (f64, f64)| {
        50.0 + (100.0 - 2.0 * MARGIN) * ((value - low) - (high - value)) / (2.0 * size)
    };
    // The page counts downwards.
    let fit = |[a, b]: [f64; 2]| [scale(a, x), 100.0 - scale(b, y)];
    places.into_iter().map(|place| place.map(fit)).collect()
}

/// The points, those of the same class and the same true class together.
fn points(gallery: &Gallery, places: &Places, truths: &Truths) -> Markup {
    let tabbed = places.iter().flatten().count() <= TABBED;
    let mut groups: BTreeMap<(usize, Option<usize>), Vec<usize>> = BTreeMap::new();
    for i in (0..places.len()).filter(|&i| places[i].is_some()) {
        let group = (gallery.images[i].class, truths.of_image(gallery, i));
        groups.entry(group).or_default().push(i);
    }
    html! {
        @for ((class, truth), images) in &groups {
            div class={ "k" (class) @if let Some(truth) = truth { " t" (truth) } } {
                @for &i in images { @if let Some(place) = places[i] { (point(gallery, i, place, tabbed)) } }
            }
        }
    }
}

fn point(gallery: &Gallery, image: usize, [x, y]: [f64; 2], tabbed: bool) -> Markup {
    let index = if tabbed { None } else { Some("-1") };
    let picture = gallery.pictured[image].then(|| format!("p{image}"));
    let text = gallery.caption(image);
    let style = format!("--x:{x:.1};--y:{y:.1}");
    html! {
        @if gallery.viewed[image] {
            a class=[picture] href={ "#i" (image) } tabindex=[index] aria-label=(text) style=(style) {}
        } @else {
            i class=[picture] aria-label=(text) style=(style) {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_fills_its_frame_with_both_axes_alike() {
        let places = fitted(vec![Some([0.0, 0.0]), Some([10.0, 5.0]), None]);
        assert_eq!(places, [Some([3.0, 73.5]), Some([97.0, 26.5]), None]);
    }

    #[test]
    fn a_single_place_is_in_the_middle() {
        assert_eq!(fitted(vec![Some([7.0, -3.0])]), [Some([50.0, 50.0])]);
    }

    #[test]
    fn what_is_not_a_place_is_not_drawn() {
        let odd = vec![
            Some([f64::NAN, 0.0]),
            Some([0.0, f64::INFINITY]),
            Some([1e300, 1.0]),
        ];
        assert_eq!(fitted(odd), [None; 3]);
    }
}
