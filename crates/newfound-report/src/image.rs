//! One image, and what the adapted model makes of it.

use serde::{Deserialize, Serialize};

use crate::Picture;

/// One image that was looked at.
///
/// Classes are indices into [`Report::classes`](crate::Report::classes), images are indices into
/// [`Report::images`](crate::Report::images); an index that is out of range is passed over. What was
/// not recorded is `None`: the page then does without it, and makes nothing up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Image {
    /// The file, relative to the folder that was given. Shown, and copied from the list of images to
    /// label first.
    pub path: String,
    /// A small picture of it; `None` if the file cannot be read any more.
    pub picture: Option<Picture>,
    /// The class it was given to: the adapted model's best guess.
    pub class: usize,
    /// Probability of that class, 0–1.
    pub confidence: f64,
    /// Probability of being of any new class, 0–1: the sum over all discovered classes.
    pub unknown: f64,
    /// The class its nearest images give it to; differs from `class` where they disagree.
    pub refined: usize,
    /// u_nc, 0–1: how much its nearest images disagree about the label.
    pub u_nc: Option<f64>,
    /// u_cs, 0–1: how near the second-best class is; 0.5 if just as near as the best, more if nearer.
    pub u_cs: Option<f64>,
    /// The best guesses, most probable first; three are shown.
    pub guesses: Vec<Guess>,
    /// The images most like it, the nearest first, without itself; six are shown.
    pub neighbours: Vec<usize>,
    /// How typical it is of its class: the cosine of its feature and the centre of the features of
    /// the images that were given to the same class, −1–1.
    pub typicality: Option<f64>,
    /// Whether its pseudo-label changed in the last few epochs (the last tenth, at least two);
    /// `None` if that was not recorded.
    pub changed: Option<bool>,
    /// Where it lies on the map of the features of the source model, in any unit, y upwards.
    pub before: Option<[f64; 2]>,
    /// Where it lies on the map of the features of the adapted model, in any unit, y upwards.
    pub after: Option<[f64; 2]>,
    /// The name of its true class; only if the run was evaluated.
    pub truth: Option<String>,
}

/// A class that an image may be of.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Guess {
    /// The class.
    pub class: usize,
    /// Its probability, 0–1.
    pub probability: f64,
}

impl Image {
    /// How far the best guess is ahead of the second, 0–1; with a single guess, its probability.
    pub(crate) fn lead(&self) -> f64 {
        match self.guesses[..] {
            [first, second, ..] => first.probability - second.probability,
            _ => self.confidence,
        }
    }
}
