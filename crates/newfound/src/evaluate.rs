//! Scores of a finished run. The only module that reads target labels.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::adapt::matrix;
use crate::clustering::{KMeans, KMeansOptions, k_means};
use crate::device::place;
use crate::error::{Error, Result};
use crate::images::LabelledList;
use crate::metrics::{self, Classes, Prediction, Scores, Truth};
use crate::network::model::{Foreign, Model};
use crate::outcome::Reference;
use crate::request::hash_file;
use crate::run::{Manifest, Probabilities, RunFolder, read_predictions};
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
    let mut pairs: Vec<(usize, Truth)> = rows
        .iter()
        .enumerate()
        .filter_map(|(row, prediction)| Some((row, *by_path.get(&prediction.path)?)))
        .collect();
    if pairs.is_empty() {
        pairs = by_content(folder, labels, &truth_of)?;
    }
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
            "give the folder the images were read from, or a list of the same images",
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
    let mut adapted = score(&probabilities.adapted, description.private, &plain)?;
    let labels: Vec<usize> = pairs
        .iter()
        .map(|&(row, _)| {
            let width = probabilities.adapted.shape[1];
            plain(&probabilities.adapted.values[row * width..][..width]).label
        })
        .collect();
    let rows_of_pairs: Vec<usize> = pairs.iter().map(|&(row, _)| row).collect();
    let true_p = private.len();
    if let Some(labels) = regrouped(folder, &rows_of_pairs, &labels, count, true_p)? {
        let classes = Classes {
            known: known.clone(),
            private: private.clone(),
            proposed: true_p,
        };
        let predictions: Vec<Prediction> = labels
            .into_iter()
            .map(|label| Prediction {
                label,
                unknown: 0.0,
                best_known: None,
            })
            .collect();
        let again = metrics::evaluate(&classes, &truth, &predictions);
        adapted.novel.true_p = again.ok().map(|scores| Box::new(scores.novel));
    }
    Ok(Evaluation {
        source_only: score(&probabilities.source, 1, &by_entropy)?,
        clustering: score(&probabilities.clustering, description.private, &plain)?,
        adapted,
        refined: score(&probabilities.refined, description.private, &plain)?,
        unlabelled: rows.len() - pairs.len(),
    })
}

/// Rows of the run and their labels by the content of the files, for labels that name the images by other paths.
fn by_content(
    folder: &RunFolder,
    labels: &LabelledList,
    truth_of: &dyn Fn(&String) -> Truth,
) -> Result<Vec<(usize, Truth)>> {
    let manifest = Manifest::read(&folder.manifest())?;
    let row_of: BTreeMap<&str, usize> = manifest
        .images
        .iter()
        .enumerate()
        .map(|(row, file)| (file.blake3.as_str(), row))
        .collect();
    let mut found = BTreeMap::new();
    for image in 0..labels.images.len() {
        let hash = hash_file(&labels.images.full_path(image))?;
        if let Some(&row) = row_of.get(hash.as_str()) {
            found.insert(row, truth_of(&labels.classes[labels.labels[image]]));
        }
    }
    Ok(found.into_iter().collect())
}

/// The labels of some rows of the run, with the images that are called unknown sorted anew into the true number of
/// private classes, by k-means on the adapted features; none where there are too few of them.
fn regrouped(
    folder: &RunFolder,
    rows: &[usize],
    labels: &[usize],
    known: usize,
    true_p: usize,
) -> Result<Option<Vec<usize>>> {
    let unknown: Vec<usize> = (0..labels.len()).filter(|&i| labels[i] >= known).collect();
    let features = Reference::read(&folder.bank())?.features;
    let inside = rows.iter().all(|&row| row < features.shape[0]);
    if true_p == 0 || unknown.len() < true_p || !inside {
        return Ok(None);
    }
    let width = features.shape[1];
    let values = unknown
        .iter()
        .flat_map(|&i| features.values[rows[i] * width..][..width].to_vec());
    let chosen = Array {
        shape: vec![unknown.len(), width],
        values: values.collect(),
    };
    let options = KMeansOptions {
        geometry: KMeans::Spherical,
        clusters: true_p,
        restarts: 10,
        rounds: 300,
    };
    let found = k_means(matrix(&chosen, &place("cpu")?.device), &options, 0);
    let mut labels = labels.to_vec();
    for (i, cluster) in unknown.into_iter().zip(found.labels) {
        labels[i] = known + cluster;
    }
    Ok(Some(labels))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_images_are_sorted_into_the_true_number_of_classes() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::prepare(&place.path().join("run"), false).unwrap();
        // Rows 1, 2, 4 and 5 are unknown and lie in two directions; row 3 belongs to no labelled image.
        let values = [
            [1.0, 0.0],
            [0.0, 1.0],
            [0.1, 1.0],
            [5.0, 5.0],
            [-1.0, 0.0],
            [-1.0, 0.1],
        ];
        let matrix = |values: Vec<f32>, width| Array {
            shape: vec![values.len() / width, width],
            values,
        };
        let tensors = BTreeMap::from([
            ("features".to_string(), matrix(values.concat(), 2)),
            ("probabilities".to_string(), matrix(vec![0.5; 12], 2)),
        ]);
        crate::weights::write(folder.bank(), &tensors, &BTreeMap::new()).unwrap();
        let rows = [0, 1, 2, 4, 5];
        let labels = [0, 1, 2, 3, 1];
        let found = regrouped(&folder, &rows, &labels, 1, 2).unwrap().unwrap();
        assert_eq!(found[0], 0, "a known image stays what it is");
        assert_eq!((found[1], found[3]), (found[2], found[4]));
        assert!(found[1] != found[3] && found[1..].iter().all(|label| [1, 2].contains(label)));
        // Fewer unknown images than classes, and no private class at all.
        assert!(regrouped(&folder, &rows, &labels, 1, 5).unwrap().is_none());
        assert!(regrouped(&folder, &rows, &labels, 1, 0).unwrap().is_none());
    }
}
