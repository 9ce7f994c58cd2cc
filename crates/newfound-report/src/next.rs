//! What next: commands to copy.

use maud::{Markup, html};
use serde::{Deserialize, Serialize};

/// Something the user may want to do next, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// What it is for, as a sentence: `Label new images with the adapted model.`
    pub purpose: String,
    /// The whole command, quoted for a shell.
    pub command: String,
}

pub fn section(commands: &[Command]) -> Markup {
    html! {
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

/// The command, word by word, so that a narrow page breaks it between them.
fn words(command: &str) -> Markup {
    html! {
        @for (i, word) in command.split(' ').enumerate() {
            @if i > 0 { " " }
            span { (word) }
        }
    }
}
