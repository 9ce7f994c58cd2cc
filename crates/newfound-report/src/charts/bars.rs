//! A list of names with a bar each.
//!
//! Names are text of the page, not of a drawing: they can be of any length, in any script, selected
//! and searched.

use maud::{Markup, html};

use crate::{ClassKind, words};

/// A name and how long its bar is.
pub struct Bar<'a> {
    /// What it stands for.
    pub name: &'a str,
    /// Decides the colour.
    pub kind: ClassKind,
    /// 0–1; nothing is drawn for `None`.
    pub share: Option<f64>,
    /// What to compare with, 0–1: a thin mark across the bar.
    pub mark: Option<f64>,
    /// The figure beside the bar.
    pub value: String,
    /// The whole story, for a pointer that rests on it.
    pub title: String,
}

/// The bars below each other, in as many columns as there is room for.
pub fn bars(bars: &[Bar]) -> Markup {
    html! {
        ul.bars {
            @for bar in bars {
                li title=(bar.title) {
                    span.label { (words::name(bar.name)) }
                    svg aria-hidden="true" {
                        rect class="track" width="100%" height="100%" {}
                        @if let Some(length) = length(bar.share) {
                            rect class=(bar.kind.css()) width=(length) height="100%" {}
                        }
                        @if let Some(place) = length(bar.mark) {
                            line class="mark halo" x1=(place) x2=(place) y1="0" y2="100%" {}
                            line class="mark" x1=(place) x2=(place) y1="0" y2="100%" {}
                        }
                    }
                    span.value { (bar.value) }
                }
            }
        }
    }
}

fn length(share: Option<f64>) -> Option<String> {
    let share = share.filter(|share| share.is_finite())?;
    Some(format!("{:.1}%", 100.0 * share.clamp(0.0, 1.0)))
}
