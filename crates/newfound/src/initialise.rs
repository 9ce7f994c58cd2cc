//! The target model before the first step: features, clusters, prototypes, first probabilities. Section III-B.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::adapt::{Adaptation, adapted_description, array, matrix, unfrozen};
use crate::algorithm::first_trained;
use crate::atomic;
use crate::cache::Activations;
use crate::clustering::{
    KMeansOptions, Match, extend, k_means, match_prototypes, ordered_centroids,
};
use crate::config::StartNorm;
use crate::error::{Error, Result};
use crate::events::{Event, Stage};
use crate::geometry::normalise_rows;
use crate::network::{Architecture, Head, Parameters};
use crate::pseudo_labels::first_fill;
use crate::run::RunFolder;
use crate::supply::{Outputs, TestViews, infer, measure_statistics};
use crate::weights::{self, Array};

/// Where an adaptation starts.
#[derive(Debug, Clone)]
pub struct Start {
    /// Features z of every image under the source model: [N, D].
    pub features: Array,
    /// Probabilities of every image under the source model: [N, C].
    pub source: Array,
    /// First probabilities p' of every image: [N, K].
    pub clustering: Array,
    /// Running statistics measured on the target; empty where the source's are kept.
    pub statistics: BTreeMap<String, Array>,
    /// The extended classifier [W_S | W_P].
    pub head: Head,
    /// C.
    pub known: usize,
}

/// `clustering.json`: what k-means and the matching found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClusteringReport {
    /// Sum of squared distances to the centroids.
    pub inertia: f64,
    /// One entry for each known class.
    pub matches: Vec<NamedMatch>,
    /// Images in the cluster of each class, known classes first.
    pub sizes: Vec<usize>,
}

/// A known class and its cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedMatch {
    /// The class.
    pub class: String,
    /// Cosine of prototype and centroid.
    pub similarity: f64,
    /// By how much that beats the best other centroid.
    pub margin: f64,
    /// Whether the match looks arbitrary.
    pub doubtful: bool,
}

/// What stands before the name of a running statistic in the file.
const STATISTICS: &str = "statistics/";

impl Start {
    /// The architecture with K outputs.
    pub fn architecture(&self, job: &Adaptation) -> Architecture {
        adapted_description(&job.model.description, self.head.outputs() - self.known).architecture
    }

    /// The most probable class of each image: its cluster's.
    pub fn labels(&self) -> Vec<usize> {
        let classes = self.clustering.shape[1];
        self.clustering
            .values
            .chunks_exact(classes)
            .map(arg_max)
            .collect()
    }

    /// Where it is kept while the run is under way.
    pub fn path(folder: &RunFolder) -> PathBuf {
        folder.checkpoint().join("start.safetensors")
    }

    fn write(&self, folder: &RunFolder, identity: &str) -> Result<()> {
        let Head { prototypes, bias } = self.head.clone();
        let mut tensors = BTreeMap::from([
            ("features".to_string(), self.features.clone()),
            ("source".to_string(), self.source.clone()),
            ("clustering".to_string(), self.clustering.clone()),
            ("prototypes".to_string(), prototypes),
            (
                "bias".to_string(),
                Array {
                    shape: vec![bias.len()],
                    values: bias,
                },
            ),
        ]);
        let statistics = self.statistics.iter();
        tensors
            .extend(statistics.map(|(name, array)| (format!("{STATISTICS}{name}"), array.clone())));
        let metadata = BTreeMap::from([("identity".to_string(), identity.to_string())]);
        Ok(weights::write(Self::path(folder), &tensors, &metadata)?)
    }

    /// The start of an interrupted run, if it had come that far.
    fn read(folder: &RunFolder, identity: &str, known: usize) -> Result<Option<Self>> {
        let path = Self::path(folder);
        if !path.is_file() {
            return Ok(None);
        }
        let mut file = weights::read(&path)?;
        if file.metadata.get("identity").map(String::as_str) != Some(identity) {
            return Ok(None);
        }
        let statistics = file.tensors.iter().filter_map(|(name, array)| {
            Some((name.strip_prefix(STATISTICS)?.to_string(), array.clone()))
        });
        let statistics: BTreeMap<String, Array> = statistics.collect();
        let mut take = |name: &str| file.tensors.remove(name);
        let found = (|| {
            let (features, source, clustering) =
                (take("features")?, take("source")?, take("clustering")?);
            let head = Head {
                prototypes: take("prototypes")?,
                bias: take("bias")?.values,
            };
            Some(Self {
                features,
                source,
                clustering,
                statistics,
                head,
                known,
            })
        })();
        Ok(found)
    }
}

/// Position of the largest value; the first of equals.
pub(crate) fn arg_max(row: &[f32]) -> usize {
    let mut best = 0;
    for (index, value) in row.iter().enumerate() {
        if *value > row[best] {
            best = index;
        }
    }
    best
}

/// Features and clusters of the target, computed or, in a resumed run, read back.
pub(crate) fn initialise(
    job: &Adaptation,
    kept: Option<&Activations>,
    identity: &str,
) -> Result<Start> {
    let known = job.model.description.known;
    if job.resume
        && let Some(start) = Start::read(job.folder, identity, known)?
    {
        return Ok(start);
    }
    let private = job.config.private.count(known);
    let clusters = known + private;
    let (network, mut parameters) = job.model.load(job.engine, job.device);
    let network = unfrozen(network, kept, job.config.train);
    let which: Vec<usize> = (0..job.images.len()).collect();
    let views = TestViews {
        images: job.images,
        which: &which,
        description: &job.model.description,
        kept,
    };
    let extract = |parameters: &Parameters| {
        let stage = Stage::Extracting;
        infer(
            &network,
            parameters,
            &views,
            job.device,
            stage,
            job.observer,
        )
    };
    // What the source model itself says is kept for comparison, whatever the statistics are later.
    let Outputs {
        mut features,
        probabilities,
    } = extract(&parameters)?;
    let mut statistics = BTreeMap::new();
    if job.config.start_norm == StartNorm::Target {
        let from = first_trained(&network, job.config.train);
        let (device, seed) = (job.device, job.config.seed);
        measure_statistics(&network, &mut parameters, &views, device, from, seed)?;
        features = extract(&parameters)?.features;
        let measured = parameters
            .specs
            .iter()
            .filter(|spec| !spec.learned)
            .map(|spec| &spec.name);
        let mut arrays = parameters.to_arrays();
        statistics = measured
            .filter_map(|name| arrays.remove_entry(name))
            .collect();
    }

    job.observer.on(&Event::Began {
        stage: Stage::Clustering,
        total: 0,
    });
    let z = matrix(&features, job.device); // [N, D]
    let options = KMeansOptions {
        geometry: job.config.k_means,
        clusters,
        restarts: job.config.restarts,
        rounds: 300,
    };
    let found = k_means(z.clone(), &options, job.config.seed);
    let source_head = job.model.head();
    let prototypes = matrix(&source_head.prototypes, job.device); // [C, D]
    let cosines =
        normalise_rows(prototypes).matmul(normalise_rows(found.centroids.clone()).transpose());
    let cosines: Vec<f64> = array(&cosines).values.into_iter().map(f64::from).collect();
    let matches = match_prototypes(&cosines, clusters, job.config.matching).map_err(|error| {
        Error::failed(
            format!("prototypes and clusters cannot be matched: {error}"),
            "the model gives features that are not finite for these images",
        )
    })?;

    let mut sizes = vec![0; clusters];
    found.labels.iter().for_each(|&label| sizes[label] += 1);
    let order = ordered_centroids(&matches, &sizes);
    let rows: Vec<i64> = order.iter().map(|&cluster| cluster as i64).collect();
    let centroids = found.centroids.select(
        0,
        burn::tensor::Tensor::from_data(rows.as_slice(), job.device),
    );
    let head = extend(
        &source_head,
        &array(&centroids),
        job.config.shared_prototypes,
    );
    let first = first_fill(z, centroids, job.config.bank_temperature);
    report(
        job,
        &matches,
        order.iter().map(|&cluster| sizes[cluster]).collect(),
        found.inertia,
    )?;
    job.observer.on(&Event::Ended {
        stage: Stage::Clustering,
    });

    let start = Start {
        features,
        source: probabilities,
        clustering: array(&first),
        statistics,
        head,
        known,
    };
    start.write(job.folder, identity)?;
    Ok(start)
}

/// Writes `clustering.json` and warns about matches that look arbitrary.
fn report(job: &Adaptation, matches: &[Match], sizes: Vec<usize>, inertia: f64) -> Result<()> {
    let named = |(class, found): (&String, &Match)| NamedMatch {
        class: class.clone(),
        similarity: found.similarity,
        margin: found.margin,
        doubtful: found.is_doubtful(),
    };
    let matches: Vec<NamedMatch> = job
        .model
        .description
        .classes
        .iter()
        .zip(matches)
        .map(named)
        .collect();
    for doubtful in matches.iter().filter(|m| m.doubtful) {
        let message = format!(
            "the match of {} looks arbitrary: its cluster is only {:.3} more similar ({:.3}) than the best other one",
            doubtful.class, doubtful.margin, doubtful.similarity
        );
        job.observer.on(&Event::Warning { message });
    }
    let report = ClusteringReport {
        inertia,
        matches,
        sizes,
    };
    let text = serde_json::to_vec_pretty(&report).expect("plain data");
    let path = job.folder.clustering();
    atomic::write(&path, &text).map_err(|source| Error::io("write the clustering", &path, source))
}
