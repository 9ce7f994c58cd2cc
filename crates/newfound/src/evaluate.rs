//! Scores of a finished run. The only module that reads target labels.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::images::LabelledList;
use crate::metrics::{self, Classes, Prediction, Scores, Truth};
use crate::network::model::{Foreign, Model};
use crate::run::{Probabilities, RunFolder, read_predictions};
use crate::weights::Array;

/// The source model calls an image unknown when its entropy exceeds this share of the largest possible one.
pub const ENTROPY_THRESHOLD: f64 = 0.5;

/// Four ways to predict the same images, scored.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evaluation {
    /// The source model as it is, unknown by entropy.
    pub source_only: Scores,
    /// The initial clustering alone.
    pub clustering: Scores,
    /// The adapted classifier: the headline.
    pub adapted: Scores,
    /// The adapted model's neighbour-refined predictions.
    pub refined: Scores,
    /// Images of the run that the labels do not name; they are not scored.
    #[serde(skip)]
    pub unlabelled: usize,
}

/// Scores every way to predict against the labels of the run's images.
pub fn evaluate(folder: &RunFolder, labels: &LabelledList) -> Result<Evaluation> {
    let description = Model::read(&folder.model(), &Foreign::default())?.description;
    let rows = read_predictions(&folder.predictions())?;
    let probabilities = Probabilities::read(&folder.probabilities())?;
    let known: Vec<String> = description.classes[..description.known].to_vec();
    let private: Vec<String> = labels
        .classes
        .iter()
        .filter(|name| !known.contains(name))
        .cloned()
        .collect();
    let truth_of = |name: &String| match known.iter().position(|k| k == name) {
        Some(class) => Truth::Known(class),
        None => Truth::Private(
            private
                .iter()
                .position(|p| p == name)
                .expect("listed as private"),
        ),
    };
    let by_path: BTreeMap<String, Truth> = (0..labels.images.len())
        .map(|i| {
            (
                labels.images.name(i),
                truth_of(&labels.classes[labels.labels[i]]),
            )
        })
        .collect();
    // Rows of the run that have a label, with it.
    let pairs: Vec<(usize, Truth)> = rows
        .iter()
        .enumerate()
        .filter_map(|(row, prediction)| Some((row, *by_path.get(&prediction.path)?)))
        .collect();
    if pairs.is_empty() {
        let (run, label) = (
            rows.first().map_or("", |row| &row.path),
            labels.images.name(0),
        );
        let message = format!(
            "none of the run's {} images has a label: the run has {run}, the labels {label}",
            rows.len()
        );
        return Err(Error::request(
            message,
            "give the folder the images were read from, or a list with the same paths",
        ));
    }
    let truth: Vec<Truth> = pairs.iter().map(|&(_, truth)| truth).collect();
    let score = |table: &Array, proposed: usize, predict: &dyn Fn(&[f32]) -> Prediction| {
        let width = table.shape[1];
        let predictions: Vec<Prediction> = pairs
            .iter()
            .map(|&(row, _)| predict(&table.values[row * width..][..width]))
            .collect();
        let classes = Classes {
            known: known.clone(),
            private: private.clone(),
            proposed,
        };
        metrics::evaluate(&classes, &truth, &predictions).map_err(|error| {
            let message = format!(
                "the run cannot be scored: {error}: {}",
                folder.root().display()
            );
            Error::failed(message, "its files are damaged; run adapt again")
        })
    };
    if [&probabilities.adapted, &probabilities.source]
        .iter()
        .any(|table| table.shape[0] != rows.len())
    {
        let message = format!(
            "predictions and probabilities differ in length: {}",
            folder.root().display()
        );
        return Err(Error::failed(
            message,
            "its files are damaged; run adapt again",
        ));
    }
    let count = description.known;
    let plain = |row: &[f32]| Prediction::from_probabilities(row, count);
    Ok(Evaluation {
        source_only: score(&probabilities.source, 1, &by_entropy)?,
        clustering: score(&probabilities.clustering, description.private, &plain)?,
        adapted: score(&probabilities.adapted, description.private, &plain)?,
        refined: score(&probabilities.refined, description.private, &plain)?,
        unlabelled: rows.len() - pairs.len(),
    })
}

/// The source model's prediction: its most probable class, or unknown where it is undecided.
///
/// ```text
/// unknown  ⇔  H(p) / log C > ½
/// ```
fn by_entropy(probabilities: &[f32]) -> Prediction {
    let known = probabilities.len();
    let entropy: f64 = probabilities
        .iter()
        .map(|&p| f64::from(p))
        .filter(|&p| p > 0.0)
        .map(|p| -p * p.ln())
        .sum();
    let share = if known > 1 {
        (entropy / (known as f64).ln()).clamp(0.0, 1.0)
    } else {
        0.0
    };
    let mut prediction = Prediction::from_probabilities(probabilities, known);
    prediction.unknown = share;
    if share > ENTROPY_THRESHOLD {
        prediction.label = known;
    }
    prediction
}
