//! Warnings, and files that were left out.

use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use crate::words::{self, counted};

/// Up to this many unreadable files are shown without asking.
const SHOWN_OPEN: usize = 10;

/// A file that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unreadable {
    /// The file.
    pub path: String,
    /// Why, in plain words.
    pub reason: String,
}

pub fn warnings(warnings: &[String]) -> Markup {
    html! {
        @if warnings.is_empty() {
            p { "The run gave no warnings. That does not prove it right: look at the images above, and at the figures below." }
        } @else {
            div.warnings {
                p { strong { (counted(warnings.len(), "warning", "warnings")) } }
                ul { @for warning in warnings { li { (words::name(warning)) } } }
            }
        }
    }
}

pub fn unreadable(files: &[Unreadable]) -> Markup {
    html! {
        h3 { "Files that could not be read" }
        @if files.is_empty() { p.aside { "None." } } @else {
            details open[files.len() <= SHOWN_OPEN] {
                summary { (counted(files.len(), "file was", "files were")) " left out" }
                ul.files {
                    @for file in files {
                        li { code { (words::name(&file.path)) } ": " (words::name(&file.reason)) }
                    }
                }
            }
        }
    }
}
