//! Which images are shown where: worked out once, before anything is written.

use maud::{Markup, html};

use crate::doubts::{self, Doubt, Usual};
use crate::words::{self, percent, visible};
use crate::{Class, ClassKind, Image, Report, picture};

/// Up to this many images, each has a large view.
pub const VIEWS: usize = 2_500;

/// Of more, those that are shown somewhere have one, and then the most doubtful, up to so many.
const SOME_VIEWS: usize = 1_200;

/// As many images in each strip of a card.
pub const STRIP: usize = 6;

/// As many doubtful images are listed with their reasons.
pub const DOUBTFUL: usize = 24;

/// The images of the report, and where the page shows them.
pub struct Gallery<'a> {
    pub classes: &'a [Class],
    pub images: &'a [Image],
    /// For each class, its images.
    pub strips: Vec<Strips>,
    /// For each image, the reasons to doubt its label.
    pub doubts: Vec<Vec<Doubt>>,
    /// The images with such a reason, the most doubtful first.
    pub doubtful: Vec<usize>,
    /// For each image, whether it can be seen large.
    pub viewed: Vec<bool>,
    /// For each image, whether the page has its picture.
    pub pictured: Vec<bool>,
}

/// The images of one class; no image is in two of the first three.
#[derive(Debug, Default, PartialEq)]
pub struct Strips {
    /// The most typical, those first.
    pub typical: Vec<usize>,
    /// Of the rest, those where a second class is nearest, those first.
    pub borderline: Vec<usize>,
    /// Of the rest, those least like the others, those first.
    pub outliers: Vec<usize>,
    /// All of them, the most typical first.
    pub all: Vec<usize>,
}

impl<'a> Gallery<'a> {
    pub fn new(report: &'a Report) -> Self {
        let (classes, images) = (&report.classes[..], &report.images[..]);
        let strips: Vec<_> = (0..classes.len())
            .map(|class| Strips::of(class, images))
            .collect();
        let doubts = doubts(images, &strips);
        let doubtful = ranked(images, &doubts);
        let mut gallery = Self {
            classes,
            images,
            strips,
            doubts,
            doubtful,
            viewed: vec![images.len() <= VIEWS; images.len()],
            pictured: Vec::new(),
        };
        let featured = gallery.featured();
        featured.iter().for_each(|&i| gallery.viewed[i] = true);
        let taken = gallery.viewed.iter().filter(|&&yes| yes).count();
        let further = gallery.doubtful.iter().filter(|&&i| !gallery.viewed[i]);
        let further: Vec<usize> = further
            .copied()
            .take(SOME_VIEWS.saturating_sub(taken))
            .collect();
        further.into_iter().for_each(|i| gallery.viewed[i] = true);
        let beside = featured.iter().flat_map(|&i| gallery.neighbours(i));
        let wanted: Vec<usize> = featured
            .iter()
            .copied()
            .chain(beside)
            .chain(0..images.len())
            .collect();
        let pictures = wanted.into_iter().map(|i| (i, images[i].picture.as_ref()));
        gallery.pictured = picture::affordable(pictures, images.len());
        gallery
    }

    /// The images that stand on a card or in a list.
    fn featured(&self) -> Vec<usize> {
        let strips = self
            .strips
            .iter()
            .flat_map(|strips| [&strips.typical, &strips.borderline, &strips.outliers]);
        let listed = self.doubtful.iter().take(DOUBTFUL).copied();
        strips
            .flatten()
            .copied()
            .chain(listed)
            .chain(self.central())
            .collect()
    }

    /// The most central images of each discovered class, class by class.
    pub fn central(&self) -> Vec<usize> {
        let discovered = self
            .classes
            .iter()
            .zip(&self.strips)
            .filter(|(class, _)| class.kind == ClassKind::Discovered);
        discovered
            .flat_map(|(_, strips)| strips.all.iter().take(2).copied())
            .collect()
    }

    /// The images most like an image.
    pub fn neighbours(&self, image: usize) -> impl Iterator<Item = usize> + use<'_, 'a> {
        let neighbours = self.images[image].neighbours.iter().copied();
        neighbours
            .filter(move |&i| i < self.images.len() && i != image)
            .take(STRIP)
    }

    /// The name of a class.
    pub fn name(&self, class: usize) -> &'a str {
        self.classes
            .get(class)
            .map_or(words::ABSENT, |class| &class.name)
    }

    /// An image and its label in one line.
    pub fn caption(&self, image: usize) -> String {
        let Image {
            path,
            class,
            confidence,
            ..
        } = &self.images[image];
        format!(
            "{}: {}, {}",
            visible(path),
            visible(self.name(*class)),
            percent(*confidence)
        )
    }

    /// An image as a small square that opens its large view.
    pub fn tile(&self, image: usize) -> Markup {
        let (class, text) = (self.picture_class(image), self.caption(image));
        html! {
            @if self.viewed[image] { a class=(class) href={ "#i" (image) } title=(text) { (self.stand_in(image)) } }
            @else { span class=(class) role="img" aria-label=(text) title=(text) { (self.stand_in(image)) } }
        }
    }

    /// The classes of an element that shows the picture of an image.
    pub fn picture_class(&self, image: usize) -> String {
        if self.pictured[image] {
            format!("p p{image}")
        } else {
            "p".to_owned()
        }
    }

    /// The file's name where there is no picture.
    fn stand_in(&self, image: usize) -> Markup {
        let file = self.images[image]
            .path
            .rsplit(['/', '\\'])
            .next()
            .unwrap_or_default();
        html! { @if !self.pictured[image] { (visible(file)) } }
    }

    /// Several tiles side by side.
    pub fn strip(&self, images: &[usize]) -> Markup {
        html! { div.strip { @for &image in images { (self.tile(image)) } } }
    }

    /// The rules of the style sheet that hold the pictures.
    pub fn rules(&self) -> String {
        let pictured = (0..self.images.len()).filter(|&i| self.pictured[i]);
        pictured
            .filter_map(|i| Some(self.images[i].picture.as_ref()?.rule(i)))
            .collect()
    }
}

impl Strips {
    fn of(class: usize, images: &[Image]) -> Self {
        let mut all: Vec<usize> = (0..images.len())
            .filter(|&i| images[i].class == class)
            .collect();
        let typicality = |i: usize| images[i].typicality.filter(|figure| figure.is_finite());
        // What has no typicality comes last, the most confident first.
        let rank = |i: usize| {
            (
                typicality(i).unwrap_or(f64::NEG_INFINITY),
                images[i].confidence,
            )
        };
        all.sort_by(|&a, &b| {
            let ((a, sure_a), (b, sure_b)) = (rank(a), rank(b));
            b.total_cmp(&a).then(sure_b.total_cmp(&sure_a))
        });
        let (typical, rest) = all.split_at(all.len().min(STRIP));
        let mut borderline = rest.to_vec();
        borderline.sort_by(|&a, &b| images[a].lead().total_cmp(&images[b].lead()));
        borderline.truncate(STRIP);
        let remaining = rest
            .iter()
            .rev()
            .filter(|i| !borderline.contains(i) && typicality(**i).is_some());
        Self {
            typical: typical.to_vec(),
            outliers: remaining.copied().take(STRIP).collect(),
            borderline,
            all,
        }
    }
}

fn doubts(images: &[Image], strips: &[Strips]) -> Vec<Vec<Doubt>> {
    let usual =
        |strips: &Strips| Usual::of(strips.all.iter().filter_map(|&i| images[i].typicality));
    let usual: Vec<Option<Usual>> = strips.iter().map(usual).collect();
    let of = |image: &Image| doubts::of(image, usual.get(image.class).copied().flatten());
    images.iter().map(of).collect()
}

/// The doubted images: the more reasons the sooner, and then the more uncertain.
fn ranked(images: &[Image], doubts: &[Vec<Doubt>]) -> Vec<usize> {
    let mut ranked: Vec<usize> = (0..images.len())
        .filter(|&i| !doubts[i].is_empty())
        .collect();
    let uncertainty = |i: usize| images[i].u_nc.unwrap_or(0.0) + images[i].u_cs.unwrap_or(0.0);
    ranked.sort_by(|&a, &b| {
        let reasons = doubts[b].len().cmp(&doubts[a].len());
        reasons.then(uncertainty(b).total_cmp(&uncertainty(a)))
    });
    ranked
}
