//! Files that were left out.

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

pub fn list(files: &[Unreadable]) -> Markup {
    html! {
        h3 id="unreadable" { "Files that could not be read" }
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
