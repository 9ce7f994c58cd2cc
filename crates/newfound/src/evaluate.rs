//! Scores of a finished run. The only module that reads target labels.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::adapt::matrix;
use crate::clustering::{KMeans, KMeansOptions, k_means};
use crate::device::place;
use crate::error::{Error, Result};
use crate::images::LabelledList;
use crate::indecision::{Groups, entropy_share};
use crate::metrics::calibration::calibration;
use crate::metrics::coverage::coverage;
use crate::metrics::{self, Classes, Prediction, Scores, Truth};
use crate::network::model::{Foreign, Model};
use crate::request::hash_file;
use crate::run::{
    Manifest, Probabilities, RunFolder, doubt_limit, read_json, read_predictions, write_json,
};
use crate::weights::Array;

/// Four ways to predict the same images, scored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// The true class of each image of the run that has a label, for the report.
    #[serde(skip)]
    pub truth: Vec<Option<String>>,
}

/// An evaluation in its file.
#[derive(Serialize, Deserialize)]
struct Filed {
    #[serde(flatten)]
    evaluation: Evaluation,
    #[serde(default)]
    truth: Vec<Option<String>>,
}

impl Evaluation {
    /// Keeps it in the run, for the report.
    pub fn write(&self, folder: &RunFolder) -> Result<()> {
        let path = folder.evaluation();
        let filed = Filed {
            evaluation: self.clone(),
            truth: self.truth.clone(),
        };
        write_json(&path, "write the scores", &filed)
    }

    /// The one the run keeps, if it was ever evaluated.
    pub fn read(folder: &RunFolder) -> Result<Option<Self>> {
        let path = folder.evaluation();
        if !path.is_file() {
            return Ok(None);
        }
        let Filed { evaluation, truth } = read_json(&path, "read the scores", "evaluate")?;
        Ok(Some(Self {
            truth,
            ..evaluation
        }))
    }
}

/// Scores every way to predict against the labels of the run's images, without the share `abstain` of them whose labels are the most
/// doubtful.
pub fn evaluate(folder: &RunFolder, labels: &LabelledList, abstain: f64) -> Result<Evaluation> {
    let description = Model::read(&folder.model(), &Foreign::default())?.description;
    let rows = read_predictions(&folder.predictions())?;
    let outputs = description.classes.len();
    let probabilities = Probabilities::of_run(folder, rows.len(), description.known, outputs)?;
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
    let unlabelled = rows.len() - pairs.len();
    let limit = doubt_limit(&rows, abstain);
    pairs.retain(|&(row, _)| rows[row].doubt() <= limit);
    let truth: Vec<Truth> = pairs.iter().map(|&(_, truth)| truth).collect();
    let predicted = |table: &Array, predict: &dyn Fn(&[f32]) -> Prediction| -> Vec<Prediction> {
        let width = table.shape[1];
        let of_row = |&(row, _): &(usize, Truth)| predict(&table.values[row * width..][..width]);
        pairs.iter().map(of_row).collect()
    };
    let score = |predictions: &[Prediction], proposed: usize| {
        let classes = Classes {
            known: known.clone(),
            private: private.clone(),
            proposed,
        };
        metrics::evaluate(&classes, &truth, predictions).map_err(|error| {
            let message = format!(
                "the run cannot be scored: {error}: {}",
                folder.root().display()
            );
            Error::failed(message, "its files are damaged; run adapt again")
        })
    };
    let count = description.known;
    let plain = |row: &[f32]| Prediction::from_probabilities(row, count);
    // The probability of being new takes the neighbours into account: it is not the classifier's alone.
    let mut final_ones = predicted(&probabilities.adapted, &plain);
    for (prediction, &(row, _)) in final_ones.iter_mut().zip(&pairs) {
        prediction.unknown = f64::from(probabilities.unknown.values[row]);
    }
    let mut adapted = score(&final_ones, description.private)?;
    let stated = final_ones.iter().zip(&truth);
    adapted.calibration = calibration(
        stated.map(|(prediction, truth)| (prediction.unknown, matches!(truth, Truth::Private(_)))),
    );
    let doubts: Vec<f64> = pairs.iter().map(|&(row, _)| rows[row].doubt()).collect();
    let all = Classes {
        known: known.clone(),
        private: private.clone(),
        proposed: description.private,
    };
    // Of all images only: shares of what is left would mean something else.
    if abstain == 0.0 {
        adapted.coverage = coverage(&all, &truth, &final_ones, &doubts).unwrap_or_default();
    }
    let labels: Vec<usize> = final_ones
        .iter()
        .map(|prediction| prediction.label)
        .collect();
    let rows_of_pairs: Vec<usize> = pairs.iter().map(|&(row, _)| row).collect();
    let true_p = private.len();
    let features = &probabilities.features;
    if let Some(labels) = regrouped(features, &rows_of_pairs, &labels, count, true_p)? {
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
    let of_source = probabilities.source.values.chunks_exact(count);
    let threshold = Groups::of(of_source.map(entropy_share).collect()).threshold();
    let by_entropy = |row: &[f32]| by_entropy(row, threshold);
    let mut names = vec![None; rows.len()];
    for &(row, truth) in &pairs {
        names[row] = Some(match truth {
            Truth::Known(class) => known[class].clone(),
            Truth::Private(class) => private[class].clone(),
        });
    }
    Ok(Evaluation {
        truth: names,
        source_only: score(&predicted(&probabilities.source, &by_entropy), 1)?,
        clustering: score(
            &predicted(&probabilities.clustering, &plain),
            description.private,
        )?,
        adapted,
        refined: score(
            &predicted(&probabilities.refined, &plain),
            description.private,
        )?,
        unlabelled,
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
        let path = labels.images.full_path(image);
        if !path.is_file() {
            continue;
        }
        if let Some(&row) = row_of.get(hash_file(&path)?.as_str()) {
            found.insert(row, truth_of(&labels.classes[labels.labels[image]]));
        }
    }
    Ok(found.into_iter().collect())
}

/// The labels of some rows of the run, with the images that are called unknown sorted anew into the true number of
/// private classes, by k-means on the adapted features; none where there are too few of them.
fn regrouped(
    features: &Array,
    rows: &[usize],
    labels: &[usize],
    known: usize,
    true_p: usize,
) -> Result<Option<Vec<usize>>> {
    let unknown: Vec<usize> = (0..labels.len()).filter(|&i| labels[i] >= known).collect();
    if true_p == 0 || unknown.len() < true_p {
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

/// The source model's prediction: its most probable class, or unknown where it is less decided than the threshold.
fn by_entropy(probabilities: &[f32], threshold: f64) -> Prediction {
    let known = probabilities.len();
    let share = entropy_share(probabilities);
    let mut prediction = Prediction::from_probabilities(probabilities, known);
    prediction.unknown = share;
    if share > threshold {
        prediction.label = known;
    }
    prediction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_source_model_is_undecided_about_is_unknown() {
        assert_eq!(by_entropy(&[0.95, 0.05], 0.1).label, 2);
        assert_eq!(by_entropy(&[1.0, 0.0], 0.1).label, 0);
    }

    #[test]
    fn unknown_images_are_sorted_into_the_true_number_of_classes() {
        // Rows 1, 2, 4 and 5 are unknown and lie in two directions; row 3 belongs to no labelled image.
        let values = [
            [1.0, 0.0],
            [0.0, 1.0],
            [0.1, 1.0],
            [5.0, 5.0],
            [-1.0, 0.0],
            [-1.0, 0.1],
        ];
        let features = Array {
            shape: vec![6, 2],
            values: values.concat(),
        };
        let rows = [0, 1, 2, 4, 5];
        let labels = [0, 1, 2, 3, 1];
        let found = regrouped(&features, &rows, &labels, 1, 2).unwrap().unwrap();
        assert_eq!(found[0], 0, "a known image stays what it is");
        assert_eq!((found[1], found[3]), (found[2], found[4]));
        assert!(found[1] != found[3] && found[1..].iter().all(|label| [1, 2].contains(label)));
        // Fewer unknown images than classes, and no private class at all.
        assert!(
            regrouped(&features, &rows, &labels, 1, 5)
                .unwrap()
                .is_none()
        );
        assert!(
            regrouped(&features, &rows, &labels, 1, 0)
                .unwrap()
                .is_none()
        );
    }
}
