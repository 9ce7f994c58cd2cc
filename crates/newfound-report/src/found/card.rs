//! One class: its figures, what speaks against it, and its images.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::u;
use crate::ClassKind;
use crate::gallery::{Gallery, STRIP};
use crate::words::{self, counted, decimal, decimal_or_dash, percent_or_dash};

/// As many images of a class are shown when all are asked for.
const ALL: usize = 300;

/// As many true classes are named.
const TRUTHS: usize = 3;

pub fn card(gallery: &Gallery, index: usize) -> Markup {
    let class = &gallery.classes[index];
    let doubtful = class.kind == ClassKind::Discovered && !class.doubts.is_empty();
    html! {
        article class={ "card " (class.kind.css()) } id={ "c" (index) } {
            h4 {
                span { (words::name(&class.name)) @if doubtful { " " span.tag { "doubtful" } } }
                " " span.count { (counted(class.count, "image", "images")) }
            }
            dl.figures {
                div { dt { "confidence" } dd { (percent_or_dash(class.confidence)) } }
                div { dt { "disagreement " (u("nc")) } dd { (decimal_or_dash(class.u_nc, 2)) } }
                div { dt { "second class " (u("cs")) } dd { (decimal_or_dash(class.u_cs, 2)) } }
                div { dt { "likeness" } dd { (decimal_or_dash(class.consistency, 2)) } }
                div { dt { "apart" } dd { (decimal_or_dash(class.separation, 2)) } }
            }
            (nearest(gallery, index))
            (truths(gallery, index))
            @if !class.doubts.is_empty() {
                ul.doubts { @for doubt in &class.doubts { li { (words::name(doubt)) } } }
            }
            (strips(gallery, index))
        }
    }
}

fn nearest(gallery: &Gallery, index: usize) -> Markup {
    let class = &gallery.classes[index];
    let which = match class.kind {
        ClassKind::Known => "Nearest other known class: ",
        ClassKind::Discovered => "Nearest known class: ",
    };
    html! {
        @if let Some(nearest) = class.nearest.filter(|nearest| nearest.distance.is_finite()) {
            p.line {
                (which) (words::name(gallery.name(nearest.class))) ", "
                (decimal(nearest.distance, 2)) " away."
            }
        }
    }
}

/// What the images of a class really are, if that is known.
fn truths(gallery: &Gallery, index: usize) -> Markup {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for &image in &gallery.strips[index].all {
        if let Some(truth) = &gallery.images[image].truth {
            *counts.entry(truth).or_default() += 1;
        }
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|&(_, n)| std::cmp::Reverse(n));
    html! {
        @if !counts.is_empty() {
            p.line {
                "By the labels: "
                @for (i, (truth, n)) in counts.iter().take(TRUTHS).enumerate() {
                    @if i > 0 { ", " }
                    (words::count(*n)) " " (words::name(truth))
                }
                @if counts.len() > TRUTHS {
                    " and " (words::count(counts[TRUTHS..].iter().map(|(_, n)| n).sum())) " of other classes"
                }
                "."
            }
        }
    }
}

fn strips(gallery: &Gallery, index: usize) -> Markup {
    let strips = &gallery.strips[index];
    let kinds = [
        ("Most typical", &strips.typical),
        ("Borderline: another class is near", &strips.borderline),
        ("Outliers: least like the others", &strips.outliers),
    ];
    let single = strips.all.len() <= STRIP;
    html! {
        @for (title, images) in kinds {
            @if !images.is_empty() {
                @if !single { p.kind { (title) } }
                (gallery.strip(images))
            }
        }
        @if strips.all.len() > 3 * STRIP {
            details {
                summary { (all(strips.all.len())) }
                (gallery.strip(&strips.all[..strips.all.len().min(ALL)]))
            }
        }
    }
}

fn all(images: usize) -> String {
    if images > ALL {
        format!("The {ALL} most typical of {} images", words::count(images))
    } else {
        format!("All {images} images, the most typical first")
    }
}
