//! What was found: every class as a card with its most typical images.

use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use crate::words::{self, counted};
use crate::{Thumbnail, thumbnail};

/// A class of the adapted model and the images that were given to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Class {
    /// A known class's name, or `unknown-j`.
    pub name: String,
    /// Whether the source model knew it.
    pub kind: ClassKind,
    /// Images that were given to it.
    pub count: usize,
    /// Mean probability of the label over these images, 0–1; `None` for an empty class.
    pub confidence: Option<f64>,
    /// Mean u_nc, 0–1: how much an image's neighbours disagree about its label.
    pub u_nc: Option<f64>,
    /// Mean u_cs, 0–1: how near the second-best class is.
    pub u_cs: Option<f64>,
    /// Pictures of some of these images, the most typical first.
    pub thumbnails: Vec<Thumbnail>,
}

/// Where a class comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClassKind {
    /// The source model was trained on it.
    Known,
    /// It was found in the images: `unknown-1`, `unknown-2`, …
    Discovered,
}

impl ClassKind {
    /// The name of its colour in the style sheet.
    pub(crate) fn css(self) -> &'static str {
        match self {
            Self::Known => "known",
            Self::Discovered => "new",
        }
    }
}

pub fn section(classes: &[Class]) -> Markup {
    let of = |kind| {
        classes
            .iter()
            .filter(|class| class.kind == kind)
            .collect::<Vec<_>>()
    };
    let mut discovered = of(ClassKind::Discovered);
    // A stable sort: classes of the same size keep their order.
    discovered.sort_by_key(|class| std::cmp::Reverse(class.count));
    html! {
        p.note {
            "The images of each class, the most typical first. "
            b { "Confidence" } " is the mean probability of the label. "
            b { (u("nc")) } " tells how much the nearest images disagree about the label: 0 if all agree, 1 if not at all. "
            b { (u("cs")) } " tells how near the second-best class is: 0 if far away, 0.5 if just as near."
        }
        (group("Known classes", &of(ClassKind::Known), "No image was given to"))
        (group("Discovered classes", &discovered, "Kept for new classes, but left empty:"))
    }
}

fn group(title: &str, classes: &[&Class], nothing_in: &str) -> Markup {
    let images = classes.iter().map(|class| class.count).sum();
    let mut empty = classes.iter().filter(|class| class.count == 0).peekable();
    html! {
        h3 { (title) " " span.count { (counted(images, "image", "images")) } }
        @if classes.is_empty() { p.aside { "There are none in this model." } }
        div.cards { @for class in classes.iter().filter(|class| class.count > 0) { (card(class)) } }
        @if empty.peek().is_some() {
            p.aside { (nothing_in) " " (words::listed(empty.map(|class| class.name.as_str()))) "." }
        }
    }
}

fn card(class: &Class) -> Markup {
    html! {
        article class={ "card " (class.kind.css()) } {
            h4 { (words::name(&class.name)) " " span.count { (counted(class.count, "image", "images")) } }
            dl.figures {
                div { dt { "confidence" } dd { (words::percent_or_dash(class.confidence)) } }
                div { dt { (u("nc")) } dd { (words::decimal_or_dash(class.u_nc, 2)) } }
                div { dt { (u("cs")) } dd { (words::decimal_or_dash(class.u_cs, 2)) } }
            }
            (thumbnail::strip(&class.thumbnails, &class.name))
        }
    }
}

/// The paper's letter for an uncertainty.
fn u(index: &str) -> Markup {
    html! { span.symbol { "u" sub { (index) } } }
}
