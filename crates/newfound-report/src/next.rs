//! What next: the images whose label would help most, and commands to copy.

use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use crate::gallery::Gallery;
use crate::words::visible;

/// As many doubtful images are suggested to be labelled.
const UNCERTAIN: usize = 18;

/// Something the user may want to do next, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// What it is for, as a sentence: `Label new images with the adapted model.`
    pub purpose: String,
    /// The whole command, quoted for a shell.
    pub command: String,
}

pub fn section(commands: &[Command], gallery: &Gallery) -> Markup {
    html! {
        (to_label(gallery))
        h3 { "Commands" }
        @if commands.is_empty() { p.aside { "Nothing was suggested." } }
        ol.commands {
            @for Command { purpose, command } in commands {
                li {
                    p { (purpose) }
                    // One click selects the whole command (see the style sheet).
                    pre.command { code { (words(command)) } }
                }
            }
        }
    }
}

/// The images whose label would help most: one look at the centre of a discovered class names it, and
/// a doubtful image is where a label changes most.
fn to_label(gallery: &Gallery) -> Markup {
    let central = gallery.central();
    let doubtful = gallery.doubtful.iter().copied();
    let uncertain: Vec<usize> = doubtful
        .filter(|i| !central.contains(i))
        .take(UNCERTAIN)
        .collect();
    html! {
        h3 { "Look at these first" }
        @if central.is_empty() && uncertain.is_empty() {
            p.aside { "There is no image whose label would help more than that of any other." }
        } @else {
            p { "If you can name or label only a few images, these help most." }
            @if !central.is_empty() {
                p.kind { "The most central images of each discovered class: they tell what it is" }
                (gallery.strip(&central))
            }
            @if !uncertain.is_empty() {
                p.kind { "The most doubtful images: here a label decides" }
                (gallery.strip(&uncertain))
            }
            p.kind { "The same as a list; one click selects it all" }
            pre.command.paths tabindex="0" {
                @for &image in central.iter().chain(&uncertain) { (visible(&gallery.images[image].path)) "\n" }
            }
        }
    }
}

/// The command, word by word, so that a narrow page breaks it between them.
fn words(command: &str) -> Markup {
    html! {
        @for (i, word) in command.split(' ').enumerate() {
            @if i > 0 { " " }
            span { (word) }
        }
    }
}
