//! What was found: every class as a card with its most typical images.

mod card;

use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use crate::gallery::Gallery;
use crate::words::{self, counted};

/// A class of the adapted model and the images that were given to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Class {
    /// A known class's name, or `unknown-j`.
    pub name: String,
    /// Whether the source model knew it.
    pub kind: ClassKind,
    /// Images that were given to it: as many as have its index.
    pub count: usize,
    /// Mean probability of the label over these images, 0–1; `None` for an empty class.
    pub confidence: Option<f64>,
    /// Mean u_nc, 0–1: how much an image's neighbours disagree about its label.
    pub u_nc: Option<f64>,
    /// Mean u_cs, 0–1: how near the second-best class is; 0.5 if just as near as the best.
    pub u_cs: Option<f64>,
    /// The known class whose centre is nearest to its own; for a known class, the nearest other one.
    pub nearest: Option<Nearest>,
    /// How compact it is: the mean typicality of its images, −1–1.
    pub consistency: Option<f64>,
    /// How well it stands apart from all other classes, −1–1: the mean over its images of
    /// `(b − a) / max(a, b)`, where a is the cosine distance to its own centre and b that to the
    /// nearest other centre (the simplified silhouette).
    pub separation: Option<f64>,
    /// What speaks against it, each as a sentence for people: `Half of its images are nearer to
    /// mug.` A discovered class with a doubt is called doubtful. Emptiness need not be mentioned.
    pub doubts: Vec<String>,
}

impl Class {
    /// How distinct and how consistent it is, −2–1: how far it stands apart, less what the neighbours of
    /// its images dispute.
    ///
    /// Standing apart alone is not enough: a handful of images is always near its own centre.
    pub(crate) fn clarity(&self) -> f64 {
        let finite = |figure: Option<f64>| figure.filter(|figure| figure.is_finite());
        finite(self.separation).map_or(f64::NEG_INFINITY, |separation| {
            separation - finite(self.u_nc).unwrap_or(0.0)
        })
    }
}

/// A class and how far away it is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Nearest {
    /// Index of the class.
    pub class: usize,
    /// Cosine distance of the two centres, 0–2: 0 for the same direction, 1 for nothing in common.
    pub distance: f64,
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

/// The discovered classes by how distinct and consistent they are, the clearest first; where that
/// was not measured, by size. Doubtful ones come after the others, empty ones last.
pub fn discovered(classes: &[Class]) -> Vec<usize> {
    let kept = |&i: &usize| classes[i].kind == ClassKind::Discovered;
    let mut order: Vec<usize> = (0..classes.len()).filter(kept).collect();
    // A stable sort: equals keep their order.
    order.sort_by(|&a, &b| {
        let (a, b) = (&classes[a], &classes[b]);
        let full = |class: &Class| (class.count > 0, class.doubts.is_empty());
        full(b)
            .cmp(&full(a))
            .then(b.clarity().total_cmp(&a.clarity()))
            .then(b.count.cmp(&a.count))
    });
    order
}

pub fn section(gallery: &Gallery) -> Markup {
    let classes = gallery.classes;
    let known: Vec<usize> = (0..classes.len())
        .filter(|&i| classes[i].kind == ClassKind::Known)
        .collect();
    html! {
        p { "Select an image to see it large, with the reason for its label." }
        details {
            summary { "What the figures on the cards mean" }
            (meanings())
        }
        (group(gallery, "Discovered classes", &discovered(classes), "Kept for new classes, but left empty:"))
        (group(gallery, "Known classes", &known, "No image was given to"))
    }
}

fn meanings() -> Markup {
    html! {
        dl.facts.long {
            div { dt { "confidence" } dd { "The mean probability of the label. High is good." } }
            div {
                dt { "disagreement " (u("nc")) }
                dd { "How much the images most like an image disagree about its label: 0 if all agree, 1 if not at all. Low is good." }
            }
            div {
                dt { "second class " (u("cs")) }
                dd { "How near the second-best class is: 0 if far away, 0.5 if just as near, more if it is even nearer. Low is good." }
            }
            div { dt { "likeness" } dd { "How much the images of the class resemble each other, up to 1. High is good." } }
            div {
                dt { "apart" }
                dd { "How clearly the class stands apart from all others: 1 if entirely, 0 if it overlaps with another one, less if it lies inside it. High is good." }
            }
            div {
                dt { "away" }
                dd { "The distance of the centres of two classes: 0 if they are the same, 1 if they have nothing in common." }
            }
        }
    }
}

fn group(gallery: &Gallery, title: &str, classes: &[usize], nothing_in: &str) -> Markup {
    let class = |i: usize| &gallery.classes[i];
    let images = classes.iter().map(|&i| class(i).count).sum();
    let (full, empty): (Vec<usize>, Vec<usize>) =
        classes.iter().partition(|&&i| class(i).count > 0);
    let clearest_first = full.len() > 1 && class(full[0]).kind == ClassKind::Discovered;
    html! {
        h3 { (title) " " span.count { (counted(images, "image", "images")) } }
        @if classes.is_empty() { p.aside { "There are none in this model." } }
        @if clearest_first {
            p { "The clearest first: those that stand apart and whose images keep to themselves. Further down, look twice." }
        }
        div.cards { @for class in full { (card::card(gallery, class)) } }
        @if !empty.is_empty() {
            p.aside { (nothing_in) " " (words::listed(empty.iter().map(|&i| class(i).name.as_str()))) "." }
        }
    }
}

/// The paper's letter for an uncertainty.
pub fn u(index: &str) -> Markup {
    html! { span.symbol { "u" sub { (index) } } }
}
