//! Colours and shapes that tell up to 63 classes apart, also for colour-blind readers.

use std::collections::BTreeMap;
use std::fmt::Write;

use maud::{Markup, html};

use super::Places;
use super::legend::Truths;
use super::shapes::{SHAPES, SIDE, outline};
use crate::gallery::Gallery;
use crate::{Class, ClassKind};

/// Colours of the style sheet. Their number and that of the shapes have no common divisor, so that the
/// first 63 pairs all differ.
const COLOURS: usize = 9;

/// The rules of one page: the colour of each class, and what its switch in the legend does.
pub fn rules(gallery: &Gallery, truths: &Truths) -> String {
    let mut css = String::new();
    let mut add = |rule: String| css.write_str(&rule).expect("a string takes everything");
    for (i, class) in gallery.classes.iter().enumerate() {
        let kind = class.kind.css();
        add(format!(
            ".k{i}{{--c:var(--c{});--q:var(--{kind})}}",
            i % COLOURS
        ));
        // In the colouring by true class the switches of that legend count, and these do not.
        let by_class = ".by:not(:has(#by-truth:checked))~.classes";
        add(switch(by_class, 'k', i));
    }
    for (i, &(number, _)) in truths.names.iter().enumerate() {
        add(format!(".t{i}{{--d:var(--c{})}}", number % COLOURS));
        add(switch(".by:has(#by-truth:checked)~.truths", 't', i));
    }
    css
}

/// Hides the marks of a class while it is switched off, and keeps their colour while all others are
/// pale, as the pointer or the keyboard is on its name (see the style sheet).
///
/// What is asked with `:has` is the legend and never the map, or each move of the pointer over one of
/// thousands of marks would ask again. What is changed are the outlines and groups, never a mark.
fn switch(legend: &str, letter: char, i: usize) -> String {
    let pointed = format!("{legend}:has(.{letter}{i}:is(:hover,:has(:focus-visible)))~.maps");
    format!(
        "{legend}:has(#{letter}{i}:not(:checked))~.maps .{letter}{i}{{display:none}}\
         {pointed} path.{letter}{i}{{fill:var(--f)}}{pointed} b.{letter}{i}{{color:inherit}}"
    )
}

/// The mark of a class in the legend.
pub fn sample(number: usize) -> Markup {
    html! {
        svg.mark viewBox="-10 -10 20 20" aria-hidden="true" { path d=(outline(number % SHAPES, 9.0, [0.0; 2])) {} }
    }
}

/// All marks of a map: one outline for each class, and one for each true class, which is shown in the
/// colouring by them. Doubtful images have outlines of their own.
pub fn outlines(gallery: &Gallery, places: &Places, truths: &Truths, radius: f64) -> Markup {
    let mut classes: BTreeMap<(bool, usize), String> = BTreeMap::new();
    let mut true_classes: BTreeMap<usize, String> = BTreeMap::new();
    for (i, place) in places.iter().enumerate() {
        let Some(place) = place else { continue };
        let centre = place.map(|percent| percent * SIDE / 100.0);
        let class = gallery.images[i].class;
        let doubtful = !gallery.doubts[i].is_empty();
        *classes.entry((doubtful, class)).or_default() += &outline(class % SHAPES, radius, centre);
        if let Some(truth) = truths.of_image(gallery, i) {
            let number = truths.names[truth].0;
            *true_classes.entry(truth).or_default() += &outline(number % SHAPES, radius, centre);
        }
    }
    let view = format!("0 0 {SIDE} {SIDE}");
    html! {
        svg.by-class viewBox=(view) aria-hidden="true" {
            @for ((doubtful, class), d) in &classes { path class={ "k" (class) @if *doubtful { " d" } } d=(d) {} }
        }
        @if !true_classes.is_empty() {
            svg.by-truth viewBox=(view) aria-hidden="true" {
                @for (truth, d) in &true_classes { path class={ "t" (truth) } d=(d) {} }
            }
        }
    }
}

/// A class in a few letters: `3` for the third known class, `u2` for the second discovered one.
pub fn short(classes: &[Class], index: usize) -> String {
    let kind = classes[index].kind;
    let place = 1 + classes[..index]
        .iter()
        .filter(|class| class.kind == kind)
        .count();
    match kind {
        ClassKind::Known => place.to_string(),
        ClassKind::Discovered => format!("u{place}"),
    }
}

/// The short names of the classes, each in the middle of its images.
///
/// The middle is the median along both axes: a few images elsewhere must not pull the name away.
pub fn numbers(gallery: &Gallery, places: &Places) -> Markup {
    html! {
        @for (class, strips) in gallery.strips.iter().enumerate() {
            @let own = strips.all.iter().filter_map(|&i| places[i]);
            @if let Some([x, y]) = middle(own.collect()) {
                b class={ "k" (class) } style={ (format!("--x:{x:.1};--y:{y:.1}")) } { (short(gallery.classes, class)) }
            }
        }
    }
}

fn middle(places: Vec<[f64; 2]>) -> Option<[f64; 2]> {
    let median = |axis: usize| {
        let mut along: Vec<f64> = places.iter().map(|place| place[axis]).collect();
        along.sort_by(f64::total_cmp);
        along.get(along.len() / 2).copied()
    };
    Some([median(0)?, median(1)?])
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn sixty_marks_all_differ() {
        let marks: HashSet<_> = (0..60).map(|n| (n % COLOURS, n % SHAPES)).collect();
        assert_eq!(marks.len(), 60);
    }

    #[test]
    fn the_style_sheet_has_every_colour() {
        let sheet = include_str!("../style/map.css");
        let named = |n: usize| sheet.contains(&format!("--c{n}:"));
        assert!((0..COLOURS).all(named) && !named(COLOURS));
    }

    #[test]
    fn the_middle_is_where_most_are() {
        assert_eq!(middle(vec![]), None);
        assert_eq!(
            middle(vec![[1.0, 9.0], [2.0, 8.0], [90.0, 7.0]]),
            Some([2.0, 8.0])
        );
    }
}
