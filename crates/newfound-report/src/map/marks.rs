//! Colours and shapes that tell up to 63 classes apart, also for colour-blind readers.

use std::fmt::Write;

use maud::{Markup, html};

use super::Places;
use super::legend::Truths;
use crate::gallery::Gallery;
use crate::{Class, ClassKind};

/// Colours and shapes of the style sheet. They have no common divisor, so that the first 63 pairs
/// all differ.
const COLOURS: usize = 9;
const SHAPES: usize = 7;

/// The rules of one page: the mark of each class, and what its switch in the legend does.
pub fn rules(gallery: &Gallery, truths: &Truths) -> String {
    let mut css = String::new();
    let mut add = |rule: String| css.write_str(&rule).expect("a string takes everything");
    for (i, class) in gallery.classes.iter().enumerate() {
        let kind = class.kind.css();
        add(format!(".k{i}{{{}--q:var(--{kind})}}", mark(i)));
        // In the colouring by true class the switches of that legend count, and these do not.
        let by_class = ".by:not(:has(#by-truth:checked))~.classes";
        add(switch(by_class, 'k', i));
    }
    for (i, &(number, _)) in truths.names.iter().enumerate() {
        let by_truth = ".by:has(#by-truth:checked)~";
        add(format!("{by_truth}* .t{i}{{{}}}", mark(number)));
        add(switch(&format!("{by_truth}.truths"), 't', i));
    }
    css
}

/// Hides the marks of a class while it is switched off, and pales all others while the pointer is on
/// its name.
///
/// What is asked with `:has` is the legend and never the map, or each move of the pointer over one of
/// thousands of marks would ask again. Paling is done by colour, as that many translucent marks are
/// slow to draw.
fn switch(legend: &str, letter: char, i: usize) -> String {
    format!(
        "{legend}:has(#{letter}{i}:not(:checked))~.maps .{letter}{i}{{display:none}}\
         {legend}:has(.{letter}{i}:hover)~.maps .points>:not(.{letter}{i}){{background:var(--track);color:var(--track)}}\
         {legend}:has(.{letter}{i}:hover)~.maps .{letter}{i}{{z-index:1}}"
    )
}

fn mark(number: usize) -> String {
    format!(
        "--c:var(--c{});--s:var(--s{});",
        number % COLOURS,
        number % SHAPES
    )
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
        let marks: HashSet<String> = (0..60).map(mark).collect();
        assert_eq!(marks.len(), 60);
    }

    #[test]
    fn the_style_sheet_has_every_colour_and_shape() {
        let sheet = include_str!("../style/map.css");
        let named = |letter: char, n: usize| sheet.contains(&format!("--{letter}{n}:"));
        assert!((0..COLOURS).all(|n| named('c', n)) && !named('c', COLOURS));
        assert!((0..SHAPES).all(|n| named('s', n)) && !named('s', SHAPES));
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
