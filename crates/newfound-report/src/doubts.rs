//! What speaks against an image's label, in plain words.

use maud::{Markup, html};

use crate::words::{self, decimal, percent};
use crate::{Class, Image};

/// A probability of being new between these is undecided.
pub const UNDECIDED: std::ops::RangeInclusive<f64> = 0.25..=0.75;

/// Below this confidence, the other classes together are more probable than the label.
const UNSURE: f64 = 0.5;

/// From here on half of the nearest images disagree.
const DISAGREEING: f64 = 0.5;

/// From here on the second-best class is at least as near as the best. (Well-separated images have 0.3
/// and more: the figure compares two distances, and no class is very far.)
const TIED: f64 = 0.5;

/// An image is unlike its class if it is so many standard deviations below the mean …
const DEVIATIONS: f64 = 2.5;

/// … of a class of at least so many images; fewer have no usual spread.
const ENOUGH: usize = 10;

/// One reason to doubt a label.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Doubt {
    /// Neither surely known nor surely new; the probability of being new.
    Undecided(f64),
    /// The nearest images have another label.
    NeighboursSay(usize),
    /// The nearest images disagree among each other; u_nc.
    Disagreement(f64),
    /// A second class is at least as near; u_cs.
    SecondClass(f64),
    /// The label has a small probability.
    Unsure(f64),
    /// It lies at the rim of its class; the cosine with the centre.
    Unlike(f64),
    /// The label has changed in the last epochs.
    Unsettled,
}

/// What is usual in a class: mean and standard deviation of the typicality of its images.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usual {
    mean: f64,
    deviation: f64,
}

impl Usual {
    /// `None` for a class of too few images.
    pub fn of(typicalities: impl Iterator<Item = f64>) -> Option<Self> {
        let values: Vec<f64> = typicalities.filter(|value| value.is_finite()).collect();
        if values.len() < ENOUGH {
            return None;
        }
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (squares / values.len() as f64).sqrt();
        Some(Self { mean, deviation })
    }
}

/// All reasons to doubt an image's label, the plainest first.
pub fn of(image: &Image, usual: Option<Usual>) -> Vec<Doubt> {
    let above = |figure: Option<f64>, limit: f64| figure.filter(|&figure| figure >= limit);
    let unlike = image.typicality.zip(usual).and_then(|(typicality, usual)| {
        let rim = usual.mean - DEVIATIONS * usual.deviation;
        (typicality < rim).then_some(Doubt::Unlike(typicality))
    });
    [
        UNDECIDED
            .contains(&image.unknown)
            .then_some(Doubt::Undecided(image.unknown)),
        (image.refined != image.class).then_some(Doubt::NeighboursSay(image.refined)),
        above(image.u_nc, DISAGREEING).map(Doubt::Disagreement),
        above(image.u_cs, TIED).map(Doubt::SecondClass),
        (image.confidence < UNSURE).then_some(Doubt::Unsure(image.confidence)),
        unlike,
        (image.changed == Some(true)).then_some(Doubt::Unsettled),
    ]
    .into_iter()
    .flatten()
    .collect()
}

impl Doubt {
    /// The kind of reason, for many images at once.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Undecided(_) => "undecided between known and new",
            Self::NeighboursSay(_) => "the images most like it have another label",
            Self::Disagreement(_) => "the images most like it disagree",
            Self::SecondClass(_) => "a second class is at least as near",
            Self::Unsure(_) => "low confidence",
            Self::Unlike(_) => "unlike the others of its class",
            Self::Unsettled => "its label still changed in the last epochs",
        }
    }

    /// The reason as half a sentence.
    pub fn words(self, classes: &[Class]) -> Markup {
        html! {
            @match self {
                Self::Undecided(share) => { "undecided between known and new: " (percent(share)) " new" },
                Self::NeighboursSay(class) => {
                    "the images most like it say "
                    @match classes.get(class) {
                        Some(class) => (words::name(&class.name)),
                        None => "another class",
                    }
                },
                Self::Disagreement(figure) => { "the images most like it disagree about the label (" (decimal(figure, 2)) ")" },
                Self::SecondClass(figure) => { "a second class is at least as near (" (decimal(figure, 2)) ")" },
                Self::Unsure(share) => { "low confidence: " (percent(share)) },
                Self::Unlike(cosine) => { "unlike the others of its class (" (decimal(cosine, 2)) ")" },
                Self::Unsettled => "its label still changed in the last epochs",
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::image;

    #[test]
    fn an_image_that_all_agree_on_is_not_doubted() {
        assert_eq!(of(&image("a", 0), None), []);
    }

    #[test]
    fn every_reason_is_found() {
        let mut doubted = image("a", 0);
        doubted.unknown = 0.25;
        doubted.refined = 1;
        doubted.u_nc = Some(0.5);
        doubted.u_cs = Some(0.5);
        doubted.confidence = 0.49;
        doubted.typicality = Some(0.1);
        doubted.changed = Some(true);
        let usual = Usual {
            mean: 0.8,
            deviation: 0.2,
        };
        let expected = [
            Doubt::Undecided(0.25),
            Doubt::NeighboursSay(1),
            Doubt::Disagreement(0.5),
            Doubt::SecondClass(0.5),
            Doubt::Unsure(0.49),
            Doubt::Unlike(0.1),
            Doubt::Unsettled,
        ];
        assert_eq!(of(&doubted, Some(usual)), expected);
    }

    #[test]
    fn just_inside_the_limits_is_no_doubt() {
        let mut image = image("a", 0);
        image.unknown = 0.24;
        image.u_nc = Some(0.49);
        image.u_cs = Some(0.49);
        image.confidence = 0.5;
        image.typicality = Some(0.31);
        image.changed = None;
        let usual = Usual {
            mean: 0.8,
            deviation: 0.2,
        };
        assert_eq!(of(&image, Some(usual)), []);
    }

    #[test]
    fn figures_that_are_none_raise_no_doubt() {
        let mut image = image("a", 0);
        image.unknown = f64::NAN;
        image.u_nc = Some(f64::NAN);
        image.u_cs = None;
        image.confidence = f64::NAN;
        image.typicality = Some(f64::NAN);
        assert_eq!(of(&image, Usual::of([0.5; ENOUGH].into_iter())), []);
    }

    #[test]
    fn a_small_class_has_no_usual_spread() {
        assert_eq!(Usual::of([0.5; ENOUGH - 1].into_iter()), None);
        let usual = Usual::of([0.25, 0.75].repeat(5).into_iter()).expect("enough");
        assert_eq!(
            usual,
            Usual {
                mean: 0.5,
                deviation: 0.25
            }
        );
    }
}
