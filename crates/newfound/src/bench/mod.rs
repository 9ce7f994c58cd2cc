//! The paper's experiments: every domain of a benchmark adapted to every other.
//!
//! A task is trained, adapted and scored by the same functions as anybody's images. The last epoch counts; no figure is
//! chosen by labels.

mod damage;
mod data;
mod published;
mod record;
mod study;

use std::path::{Path, PathBuf};
use std::time::Instant;

pub use damage::Damage;
pub use data::{Benchmark, Task};
pub use published::{Published, published};
pub use record::{Record, Results, Ways};
pub use study::{Study, Variant};

use crate::config::{AdaptConfig, TrainConfig};
use crate::device::Place;
use crate::error::{Error, Result};
use crate::evaluate::evaluate;
use crate::events::Observer;
use crate::health::Health;
use crate::images::{LabelledList, Side, Split, labelled};
use crate::initialise::ClusteringReport;
use crate::network::model::Foreign;
use crate::process::peak_megabytes;
use crate::request::{AdaptRequest, TrainRequest, adapt, hash_file, train};

/// What is run.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// The data set.
    pub benchmark: Benchmark,
    /// Its division into known and private classes.
    pub split: Split,
    /// The folder of the domains.
    pub root: &'a Path,
    /// Weights of the body.
    pub weights: &'a Path,
    /// Where models and results are kept.
    pub out: &'a Path,
    /// Where activations of frozen layers are kept; the user's cache folder unless given.
    pub cache: Option<&'a Path>,
    /// How the source models are trained; the seed is set for each.
    pub train: TrainConfig,
}

/// One task, one seed, one variant: from its record if it was run before.
///
/// The seed is that of source training and of adaptation, so both vary.
pub fn run(
    request: &Request,
    task: Task,
    seed: u64,
    variant: &Variant,
    place: &Place,
    observer: &dyn Observer,
) -> Result<Record> {
    let config = AdaptConfig {
        seed,
        ..variant.config.clone()
    };
    let mut images = request.benchmark.folder(request.root, task.target)?;
    let mut split = Some(request.split);
    let mut labels = labelled(&images, split, Side::Both, None)?;
    let identity = identity(request, task, variant, &config, &labels, place)?;
    let path = record_path(request, task, seed, &identity);
    if let Some(record) = Record::read(&path, &identity)? {
        return Ok(record);
    }
    let mut model = source_model(request, task, seed, variant.damage, place, observer)?;
    if let Some(damage) = variant.damage {
        model = damage.of_model(model)?;
    }
    let noise = path.with_extension("noise");
    if variant.damage == Some(Damage::Noise) {
        damage::noise(&labels.classes, seed, &noise)?;
        (images, split) = (noise.clone(), None);
        labels = labelled(&images, split, Side::Both, None)?;
    }
    let began = Instant::now();
    let run = path.with_extension("run");
    let adaptation = AdaptRequest {
        images: &images,
        split,
        model: &model,
        foreign: Foreign::default(),
        out: &run,
        resume: run.exists(),
        cache: request.cache,
        config: config.clone(),
    };
    let folder = adapt(&adaptation, place, observer)?;
    let evaluation = evaluate(&folder, &labels, 0.0)?;
    let record = Record {
        task: task.to_string(),
        seed,
        private: evaluation.adapted.confusion.columns.len() - known(request, task)?,
        estimate: ClusteringReport::read(&folder)?.estimate,
        health: Health::read(&folder)?,
        ways: Ways {
            source_only: evaluation.source_only,
            clustering: evaluation.clustering,
            adapted: evaluation.adapted,
            refined: evaluation.refined,
        },
        seconds: began.elapsed().as_secs_f64(),
        peak_mb: peak_megabytes(),
    };
    record.write(&path, &identity)?;
    // Its scores are what it was for.
    for folder in [run, noise] {
        if folder.exists() {
            std::fs::remove_dir_all(&folder)
                .map_err(|source| Error::io("remove the finished run", &folder, source))?;
        }
    }
    Ok(record)
}

fn known(request: &Request, task: Task) -> Result<usize> {
    let images = request.benchmark.folder(request.root, task.target)?;
    Ok(request.split.known(&images)?.len())
}

/// Changed whenever the same request gets other scores.
const SCORES: u32 = 12;

/// All that a record is a function of; of the images, their names and sizes.
fn identity(
    request: &Request,
    task: Task,
    variant: &Variant,
    config: &AdaptConfig,
    target: &LabelledList,
    place: &Place,
) -> Result<String> {
    let weights = hash_file(request.weights)?;
    let source = request.benchmark.folder(request.root, task.source)?;
    let source = labelled(&source, Some(request.split), Side::Known, None)?;
    let images = digest(&[&source, target]);
    let adapt = toml::to_string(config).expect("a configuration is plain data");
    let train = toml::to_string(&request.train).expect("a configuration is plain data");
    let whole = format!(
        "{SCORES} {}\n{}\n{task}\n{:?}\n{}\n{weights}\n{images}\n{adapt}\n{train}",
        env!("CARGO_PKG_VERSION"),
        place.name,
        variant.damage,
        request.split,
    );
    Ok(blake3::hash(whole.as_bytes()).to_hex()[..16].to_string())
}

/// Of the names and sizes of images.
fn digest(lists: &[&LabelledList]) -> String {
    let mut hasher = blake3::Hasher::new();
    for list in lists {
        for (image, path) in list.images.paths.iter().enumerate() {
            let size = std::fs::metadata(list.images.full_path(image)).map_or(0, |file| file.len());
            hasher.update(format!("{} {size}\n", path.display()).as_bytes());
        }
    }
    hasher.finalize().to_hex().to_string()
}

fn record_path(request: &Request, task: Task, seed: u64, identity: &str) -> PathBuf {
    let name = format!("{}-{task}-{seed}-{identity}.json", request.split);
    request.out.join("records").join(name)
}

/// The source model of a task, trained if it is not there yet.
fn source_model(
    request: &Request,
    task: Task,
    seed: u64,
    damage: Option<Damage>,
    place: &Place,
    observer: &dyn Observer,
) -> Result<PathBuf> {
    let config = TrainConfig {
        seed,
        ..request.train.clone()
    };
    let text = toml::to_string(&config).expect("a configuration is plain data");
    let images = request.benchmark.folder(request.root, task.source)?;
    // Splits with the same known classes share their models.
    let known = labelled(&images, Some(request.split), Side::Known, None)?;
    let whole = format!(
        "{text}\n{}\n{}",
        hash_file(request.weights)?,
        digest(&[&known])
    );
    let identity = &blake3::hash(whole.as_bytes()).to_hex()[..16];
    let shuffled = damage == Some(Damage::ShuffledLabels);
    let of_labels = if shuffled { "-shuffled" } else { "" };
    let name = format!("{}-{seed}-{identity}{of_labels}.safetensors", task.source);
    let path = request.out.join("models").join(name);
    if !path.is_file() {
        let list = path.with_extension("txt");
        if shuffled {
            damage::shuffled(&known, seed, &list)?;
        }
        let training = TrainRequest {
            images: if shuffled { &list } else { &images },
            split: (!shuffled).then_some(request.split),
            classes: None,
            backbone: None,
            stride: None,
            weights: Some(request.weights),
            crop: None,
            out: &path,
            resume: true,
            cache: request.cache,
            config,
        };
        train(&training, place, observer)?;
    }
    Ok(path)
}
