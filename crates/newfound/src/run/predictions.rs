//! `predictions.csv` and `probabilities.safetensors`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::RunFolder;
use crate::atomic;
use crate::error::{Error, Result};
use crate::metrics::coverage::{abstained, from_sure_to_doubtful};
use crate::network::model::is_private_name;
use crate::weights::{self, Array};

/// One line of `predictions.csv`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The image, relative to the folder that was given.
    pub path: String,
    /// A known class or `unknown-j`: the classifier's prediction.
    pub label: String,
    /// Probability of the label.
    pub confidence: f32,
    /// How probable it is that the class is new: [`crate::outcome::unknown`].
    pub unknown: f32,
    /// The neighbour-refined prediction; empty where there is no bank.
    pub refined_label: String,
    /// Uncertainty by neighbours' consensus; empty where there is no bank.
    pub u_nc: Option<f32>,
    /// Uncertainty by class separation; empty where there is no bank.
    pub u_cs: Option<f32>,
}

impl Row {
    /// How doubtful the label is: 1 less the smaller of the label's own probability and that of being known, or new, as the label says.
    pub fn doubt(&self) -> f64 {
        let sure = match is_private_name(&self.label) {
            true => self.unknown,
            false => 1.0 - self.unknown,
        };
        1.0 - f64::from(sure.min(self.confidence))
    }
}

/// The doubt beyond which rows are left out so that a given share of them is.
pub fn doubt_limit(rows: &[Row], share: f64) -> f64 {
    let doubts: Vec<f64> = rows.iter().map(Row::doubt).collect();
    let order = from_sure_to_doubtful(&doubts);
    let left = order.len() - abstained(share, order.len());
    match left.checked_sub(1) {
        Some(last) => doubts[order[last]],
        None => f64::NEG_INFINITY,
    }
}

/// Writes all rows, whole or not at all.
pub fn write_predictions(path: &Path, rows: &[Row]) -> Result<()> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer
            .serialize(row)
            .expect("rows are plain text and numbers");
    }
    let bytes = writer.into_inner().expect("writing to memory cannot fail");
    atomic::write(path, &bytes).map_err(|source| Error::io("write the predictions", path, source))
}

/// Reads all rows.
pub fn read_predictions(path: &Path) -> Result<Vec<Row>> {
    let bytes =
        std::fs::read(path).map_err(|source| Error::io("read the predictions", path, source))?;
    let rows: Result<Vec<Row>, _> = csv::Reader::from_reader(bytes.as_slice())
        .deserialize()
        .collect();
    rows.map_err(|error| {
        let message = format!(
            "the predictions cannot be understood ({error}): {}",
            path.display()
        );
        Error::request(
            message,
            "the file was changed by hand or cut off; run adapt again",
        )
    })
}

/// Features of every image and its class probabilities under each way to predict, rows in the order of `predictions.csv`.
#[derive(Debug, Clone, PartialEq)]
pub struct Probabilities {
    /// The source model's features, which were clustered: [N, D].
    pub start: Array,
    /// The adapted model's features: [N, D].
    pub features: Array,
    /// The adapted classifier: [N, K].
    pub adapted: Array,
    /// Neighbour-refined: [N, K].
    pub refined: Array,
    /// The source model: [N, C].
    pub source: Array,
    /// The initial clustering: [N, K].
    pub clustering: Array,
    /// How often the refined label changed in the last epochs: [N, 1].
    pub changes: Array,
    /// How probable it is that the class is new, [`crate::outcome::unknown`]: [N, 1].
    pub unknown: Array,
}

impl Probabilities {
    /// Writes them, whole or not at all.
    pub fn write(&self, path: &Path) -> Result<()> {
        let Self {
            start,
            features,
            adapted,
            refined,
            source,
            clustering,
            changes,
            unknown,
        } = self.clone();
        let tensors = BTreeMap::from([
            ("start".to_string(), start),
            ("changes".to_string(), changes),
            ("unknown".to_string(), unknown),
            ("features".to_string(), features),
            ("adapted".to_string(), adapted),
            ("refined".to_string(), refined),
            ("source".to_string(), source),
            ("clustering".to_string(), clustering),
        ]);
        Ok(weights::write(path, &tensors, &BTreeMap::new())?)
    }

    /// Those of a run whose predictions and model have this many images and classes.
    ///
    /// # Errors
    ///
    /// If the files of the run are not of one piece.
    pub fn of_run(folder: &RunFolder, images: usize, known: usize, outputs: usize) -> Result<Self> {
        let all = Self::read(&folder.probabilities())?;
        let width = all.features.shape[1];
        let fits = [
            (&all.start, width),
            (&all.features, width),
            (&all.adapted, outputs),
            (&all.refined, outputs),
            (&all.clustering, outputs),
            (&all.source, known),
            (&all.changes, 1),
            (&all.unknown, 1),
        ];
        if fits
            .iter()
            .all(|(table, width)| table.shape == [images, *width])
        {
            return Ok(all);
        }
        let message = format!(
            "model, predictions and probabilities do not belong together: {}",
            folder.root().display()
        );
        Err(Error::failed(
            message,
            "its files are damaged; run adapt again",
        ))
    }

    /// Reads them.
    pub fn read(path: &Path) -> Result<Self> {
        let mut tensors = weights::read(path)?.tensors;
        let mut take = |name: &str| take_matrix(&mut tensors, name, path);
        Ok(Self {
            start: take("start")?,
            changes: take("changes")?,
            unknown: take("unknown")?,
            features: take("features")?,
            adapted: take("adapted")?,
            refined: take("refined")?,
            source: take("source")?,
            clustering: take("clustering")?,
        })
    }
}

/// Takes a matrix out of the tensors that a run has written.
pub(crate) fn take_matrix(
    tensors: &mut BTreeMap<String, Array>,
    name: &str,
    path: &Path,
) -> Result<Array> {
    let matrix = tensors.remove(name).filter(|array| array.shape.len() == 2);
    matrix.ok_or_else(|| {
        let message = format!(
            "there is no matrix {name:?} in this file: {}",
            path.display()
        );
        Error::request(message, "it is damaged; run adapt again")
    })
}

/// One row as a line of CSV.
pub fn csv_line(row: &Row) -> String {
    let mut writer = csv::WriterBuilder::new()
        .has_headers(false)
        .from_writer(Vec::new());
    writer
        .serialize(row)
        .expect("rows are plain text and numbers");
    let bytes = writer.into_inner().expect("writing to memory cannot fail");
    String::from_utf8(bytes).expect("rows are text")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(label: &str, confidence: f32, unknown: f32) -> Row {
        Row {
            path: String::new(),
            label: label.to_string(),
            confidence,
            unknown,
            refined_label: String::new(),
            u_nc: None,
            u_cs: None,
        }
    }

    #[test]
    fn doubt_is_about_the_label_and_about_being_new() {
        let of = |row: Row| (100.0 * row.doubt()).round();
        assert_eq!(of(row("cup", 0.9, 0.3)), 30.0);
        assert_eq!(of(row("cup", 0.6, 0.1)), 40.0);
        assert_eq!(of(row("unknown-2", 0.9, 0.2)), 80.0);
        assert_eq!(of(row("unknown-2", 0.5, 0.9)), 50.0);
    }

    #[test]
    fn the_limit_leaves_out_the_share_that_was_asked_for() {
        let rows: Vec<Row> = (0..10)
            .map(|i| row("cup", 1.0 - 0.05 * i as f32, 0.0))
            .collect();
        for (share, left) in [(0.0, 10), (0.1, 9), (0.5, 5), (1.0, 0)] {
            let limit = doubt_limit(&rows, share);
            assert_eq!(rows.iter().filter(|row| row.doubt() <= limit).count(), left);
        }
    }
}
