//! What the marks mean, and switches to hide them.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::marks;
use crate::ClassKind;
use crate::gallery::Gallery;
use crate::words;

/// The true classes of the images, if they are known: those of the model that occur, in its order,
/// then the rest by name.
pub struct Truths<'a> {
    /// Number of the mark, and name.
    pub names: Vec<(usize, &'a str)>,
}

impl<'a> Truths<'a> {
    pub fn of(gallery: &Gallery<'a>) -> Self {
        let occurring: BTreeSet<&str> = gallery
            .images
            .iter()
            .filter_map(|image| image.truth.as_deref())
            .collect();
        let is_known = |name: &str| {
            let mut known = gallery
                .classes
                .iter()
                .enumerate()
                .filter(|(_, class)| class.kind == ClassKind::Known);
            known
                .find(|(_, class)| class.name == name)
                .map(|(index, _)| index)
        };
        let mut names: Vec<(usize, &str)> = occurring
            .iter()
            .filter_map(|&name| Some((is_known(name)?, name)))
            .collect();
        names.sort_unstable();
        // A true class that is new to the model must not look like one that the model knows.
        let known = gallery
            .classes
            .iter()
            .filter(|class| class.kind == ClassKind::Known)
            .count();
        let new = occurring
            .into_iter()
            .filter(|&name| is_known(name).is_none());
        names.extend(new.enumerate().map(|(i, name)| (known + i, name)));
        Self { names }
    }

    /// The place of an image's true class in the list.
    pub fn of_image(&self, gallery: &Gallery, image: usize) -> Option<usize> {
        let truth = gallery.images[image].truth.as_deref()?;
        self.names.iter().position(|&(_, name)| name == truth)
    }
}

/// What the marks are coloured by.
pub fn controls(truths: &Truths) -> Markup {
    let choice = |id: &str, text: &str, chosen: bool| {
        html! { label { input type="radio" name="by" id=(id) checked[chosen]; " " (text) } }
    };
    html! {
        fieldset.by {
            legend { "Colour by" }
            (choice("by-class", "class", true))
            (choice("by-kind", "known or new", false))
            @if !truths.names.is_empty() { (choice("by-truth", "true class", false)) }
            (choice("by-doubt", "doubtful images", false))
        }
    }
}

/// The classes with their marks, each with a switch.
pub fn legend(gallery: &Gallery, truths: &Truths) -> Markup {
    let full = gallery
        .classes
        .iter()
        .enumerate()
        .filter(|(_, class)| class.count > 0);
    html! {
        fieldset.legend.classes {
            legend { "Classes: rest on one to see it alone, switch it off to hide it" }
            @for (index, class) in full {
                label class={ "k" (index) } {
                    input type="checkbox" id={ "k" (index) } checked;
                    (marks::sample(index)) b { (marks::short(gallery.classes, index)) } " " (words::name(&class.name)) " "
                    span.count { (words::count(class.count)) }
                }
            }
        }
        @if !truths.names.is_empty() {
            fieldset.legend.truths {
                legend { "True classes" }
                @for (index, &(number, name)) in truths.names.iter().enumerate() {
                    label class={ "t" (index) } {
                        input type="checkbox" id={ "t" (index) } checked;
                        (marks::sample(number)) " " (words::name(name))
                    }
                }
            }
        }
        button type="reset" { "Show everything again" }
    }
}
