//! How it was made: enough to make it again.

use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use crate::words;

/// What the result was made from, and by what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Making {
    /// Hashes, versions, device, time: in the order they are to be read.
    pub facts: Vec<Fact>,
    /// The resolved configuration, as text.
    pub configuration: String,
}

/// A line of small print.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// What it says something about: `Model, blake3`.
    pub name: String,
    /// What it says.
    pub value: String,
}

pub fn section(making: &Making) -> Markup {
    html! {
        dl.facts.long {
            @for Fact { name, value } in &making.facts {
                div { dt { (name) } dd { (words::name(value)) } }
            }
        }
        @if !making.configuration.trim().is_empty() {
            h3 { "Configuration" }
            pre { code { (making.configuration) } }
        }
    }
}
