//! What is kept of a task, and what many of them say together.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::atomic;
use crate::discovery::Estimate;
use crate::error::{Error, Result};
use crate::health::Health;
use crate::metrics::{Scores, Summary};

/// The scores of one task and seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Such as `a2w`.
    pub task: String,
    /// Of source training and adaptation.
    pub seed: u64,
    /// P.
    pub private: usize,
    /// How many new classes there seemed to be.
    #[serde(default)]
    pub estimate: Option<Estimate>,
    /// Whether the result could be believed.
    #[serde(default)]
    pub health: Option<Health>,
    /// The four ways to predict.
    #[serde(flatten)]
    pub ways: Ways,
    /// Of adaptation, from reading the images to the scores.
    pub seconds: f64,
    /// The most memory the program has had until then, in MB.
    pub peak_mb: Option<u64>,
}

/// Four ways to predict the same images.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ways {
    /// The source model, unknown by entropy.
    pub source_only: Scores,
    /// The initial clustering alone.
    pub clustering: Scores,
    /// The adapted classifier: the headline.
    pub adapted: Scores,
    /// The adapted model's neighbour-refined predictions.
    pub refined: Scores,
}

impl Ways {
    /// Each with its name.
    pub fn named(&self) -> [(&'static str, &Scores); 4] {
        [
            ("source_only", &self.source_only),
            ("clustering", &self.clustering),
            ("adapted", &self.adapted),
            ("refined", &self.refined),
        ]
    }
}

/// A record in its file.
#[derive(Serialize, Deserialize)]
struct Filed {
    identity: String,
    record: Record,
}

impl Record {
    /// HOS of the adapted model minus that of its clustering.
    fn gain(&self) -> Option<f64> {
        Some(self.ways.adapted.hos? - self.ways.clustering.hos?)
    }

    /// Keeps it, whole or not at all.
    pub(super) fn write(&self, path: &Path, identity: &str) -> Result<()> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|source| Error::io("make the folder of the records", folder, source))?;
        }
        let filed = Filed {
            identity: identity.to_string(),
            record: self.clone(),
        };
        let text = serde_json::to_vec_pretty(&filed).expect("scores are plain data");
        atomic::write(path, &text).map_err(|source| Error::io("write the record", path, source))
    }

    /// The one that was kept; none if there is none, or one of something else.
    pub(super) fn read(path: &Path, identity: &str) -> Result<Option<Self>> {
        let Ok(text) = std::fs::read(path) else {
            return Ok(None);
        };
        let filed: Option<Filed> = serde_json::from_slice(&text).ok();
        let same = filed.filter(|filed| filed.identity == identity);
        Ok(same.map(|filed| filed.record))
    }
}

/// All records of a variant: what `bench --json` writes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Results {
    /// One entry for each task and seed.
    pub tasks: Vec<Record>,
    /// For each way and figure, the mean over seeds of the mean over tasks, and its standard deviation over seeds.
    pub mean: BTreeMap<&'static str, BTreeMap<&'static str, Summary>>,
}

/// The figures that are averaged.
const FIGURES: [&str; 10] = [
    "os_star",
    "unk",
    "hos",
    "unk_macro",
    "hos_macro",
    "os",
    "auroc",
    "ece",
    "novel",
    "novel_true_p",
];

/// One figure of some scores.
pub fn figure(scores: &Scores, name: &str) -> Option<f64> {
    match name {
        "os_star" => scores.os_star,
        "unk" => scores.unk,
        "hos" => scores.hos,
        "unk_macro" => scores.unk_macro,
        "hos_macro" => scores.hos_macro,
        "os" => scores.os,
        "auroc" => scores.auroc,
        "ece" => scores.calibration.as_ref().map(|found| found.ece),
        "novel" => scores.novel.accuracy,
        "novel_true_p" => scores
            .novel
            .true_p
            .as_ref()
            .and_then(|novel| novel.accuracy),
        _ => None,
    }
}

impl Results {
    /// From all records.
    pub fn of(tasks: Vec<Record>) -> Self {
        let seeds: BTreeSet<u64> = tasks.iter().map(|record| record.seed).collect();
        let mut mean: BTreeMap<&'static str, BTreeMap<&'static str, Summary>> = BTreeMap::new();
        for (way, _) in tasks
            .first()
            .map(|record| record.ways.named())
            .into_iter()
            .flatten()
        {
            for name in FIGURES {
                let per_seed = seeds.iter().filter_map(|&seed| {
                    let of_seed = tasks.iter().filter(|record| record.seed == seed);
                    let values: Option<Vec<f64>> = of_seed
                        .map(|record| figure(scores(record, way), name))
                        .collect();
                    Some(Summary::of(&values?)?.mean)
                });
                if let Some(summary) = Summary::of(&per_seed.collect::<Vec<_>>()) {
                    mean.entry(way).or_default().insert(name, summary);
                }
            }
        }
        Self { tasks, mean }
    }

    /// Mean and deviation over seeds of one figure of one task.
    pub fn summary(&self, task: &str, way: &str, name: &str) -> Option<Summary> {
        let of_task = self.tasks.iter().filter(|record| record.task == task);
        let values: Vec<f64> = of_task
            .filter_map(|record| figure(scores(record, way), name))
            .collect();
        Summary::of(&values)
    }
}

impl Results {
    /// By how much the HOS of the adapted model exceeds that of its own clustering, over the seeds of one task: the same
    /// source model, images and seed on both sides.
    pub fn gain(&self, task: &str) -> Option<Summary> {
        let of_task = self.tasks.iter().filter(|record| record.task == task);
        Summary::of(&of_task.filter_map(Record::gain).collect::<Vec<_>>())
    }

    /// The same over all tasks: the mean over seeds of the mean over tasks.
    pub fn mean_gain(&self) -> Option<Summary> {
        let seeds: BTreeSet<u64> = self.tasks.iter().map(|record| record.seed).collect();
        let per_seed = seeds.into_iter().filter_map(|seed| {
            let of_seed = self.tasks.iter().filter(|record| record.seed == seed);
            let gains: Option<Vec<f64>> = of_seed.map(Record::gain).collect();
            Some(Summary::of(&gains?)?.mean)
        });
        Summary::of(&per_seed.collect::<Vec<_>>())
    }
}

fn scores<'a>(record: &'a Record, way: &str) -> &'a Scores {
    let named = record.ways.named();
    let found = named.into_iter().find(|(name, _)| *name == way);
    found.expect("one of the four ways").1
}
