//! The whole job of `newfound adapt`: features, clustering, the loop, predictions, and a folder that is whole at every
//! moment.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use burn::tensor::{Device, Tensor};

mod snapshot;

use snapshot::{Progress, Sums, pack, unpack};

use crate::algorithm::{self, Position, Setting, State, TargetBatch, steps_per_epoch};
use crate::atomic;
use crate::cache::{self, Activations, Plan, Wanted};
use crate::config::{AdaptConfig, ClassShares, Trained};
use crate::error::{Error, ErrorKind, Result};
use crate::events::{Epoch, Event, Observer, Stage};
use crate::images::ImageList;
use crate::initialise::{ClusteringReport, Start, initialise};
use crate::memory::{Bank, History, Queue};
use crate::network::model::{Description, Model};
use crate::network::{Engine, Network, Parameters, download, release_memory, upload};
use crate::optimiser::at_rest;
use crate::outcome::conclude;
use crate::process::peak_megabytes;
use crate::run::{Checkpoint, EventLog, Manifest, RunFolder};
use crate::supply::TargetViews;
use crate::weights::Array;

/// A checkpoint is written at the end of every epoch, and within a longer one after this time.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(300);

/// What is adapted to what, and how.
pub struct Adaptation<'a> {
    /// The source model.
    pub model: &'a Model,
    /// The target's images: paths and nothing else.
    pub images: &'a ImageList,
    /// All choices.
    pub config: &'a AdaptConfig,
    /// What the run is made from.
    pub manifest: &'a Manifest,
    /// Where it is written.
    pub folder: &'a RunFolder,
    /// Go on with an interrupted run.
    pub resume: bool,
    /// Where activations of frozen layers are kept.
    pub cache: &'a Path,
    /// Where tensors live.
    pub device: &'a Device,
    /// What computes the network.
    pub engine: Engine,
    /// Who listens.
    pub observer: &'a dyn Observer,
}

/// Whether there are enough images and classes for a request to make sense.
pub fn check(source: &Description, images: usize, config: &AdaptConfig) -> Result<()> {
    let known = source.known;
    // Where the images decide, there is room for as many new classes as known ones.
    let private = config.private.count(known).unwrap_or(known);
    let clusters = known + private;
    if images < clusters {
        let message = format!(
            "{images} images are too few for {clusters} classes ({known} known and {private} private)"
        );
        let hint = match private {
            0 => "give more images",
            _ => "give more images, or fewer private classes with --private N",
        };
        return Err(Error::request(message, hint));
    }
    if clusters < 2 {
        let message = "a single class leaves nothing to tell apart";
        return Err(Error::request(
            message,
            "allow for unknown classes with --private N",
        ));
    }
    Ok(())
}

/// Runs the job to its end, or until the observer asks to stop.
pub fn adapt(job: &Adaptation) -> Result<()> {
    let began = Instant::now();
    let identity = prepare(job)?;
    if job.resume && job.folder.model().is_file() && job.folder.predictions().is_file() {
        let message = format!(
            "this run is complete; there is nothing to resume: {}",
            job.folder.root().display()
        );
        job.observer.on(&Event::Warning { message });
        return forget(job);
    }
    let kept = kept(job)?;
    let kept = kept.as_ref();
    let start = initialise(job, kept, &identity)?;
    let (network, online) = start.model(job, kept);
    let (mut state, mut progress) = begin(job, online, &start);
    if let Some(found) = resumed(job, &state.online, &identity)? {
        (state, progress) = found;
    }
    let log = EventLog::open(&job.folder.events(), progress.event_bytes)?;
    let mut loop_ = Loop {
        job,
        kept,
        network: &network,
        shares: shares(job, &start)?,
        state,
        progress,
        log,
        identity,
        clock: Clock::start(),
    };
    loop_.run()?;
    let (health, result) = conclude(job, kept, &network, &start, &loop_.state)?;
    loop_.log.append(&Event::Judged(health))?;
    let finished = Event::Finished {
        seconds: began.elapsed().as_secs_f64(),
        peak_mb: peak_megabytes(),
    };
    loop_.log.append(&finished)?;
    loop_.log.sync()?;
    // Last: a run that has its model is complete, and nobody would add to its log.
    result.write(job, loop_.state.history.changes())?;
    job.observer.on(&finished);
    forget(job)
}

/// What the frozen layers make of the images, where there are frozen layers.
fn kept(job: &Adaptation) -> Result<Option<Activations>> {
    let config = job.config;
    if config.train.everything() {
        return Ok(None);
    }
    let (network, parameters) = job.model.load(job.engine, job.device);
    let files = job.manifest.images.iter();
    let hashes: Vec<String> = files.map(|file| file.blake3.clone()).collect();
    cache::activations(&Wanted {
        network: &network,
        parameters: &parameters,
        frontier: algorithm::first_trained(&network, config.train),
        images: job.images,
        hashes: &hashes,
        description: &job.model.description,
        plan: Plan {
            weak: config.weak_views,
            strong: config.strong_views,
            seed: config.view_seed,
        },
        folder: job.cache,
        device: job.device,
        observer: job.observer,
    })
    .map(Some)
}

/// The part of a network that is not frozen, where activations of the rest are kept.
pub(crate) fn unfrozen(network: Network, kept: Option<&Activations>, trained: Trained) -> Network {
    match kept {
        None => network,
        Some(_) => {
            let frontier = algorithm::first_trained(&network, trained);
            network.beyond(frontier)
        }
    }
}

/// The result is on disk: what was kept for a resumption has done its duty.
fn forget(job: &Adaptation) -> Result<()> {
    let checkpoint = Checkpoint::<Progress>::path(&job.folder.checkpoint());
    for path in [checkpoint, Start::path(job.folder)] {
        if path.is_file() {
            std::fs::remove_file(&path)
                .map_err(|source| Error::io("remove the checkpoint", &path, source))?;
        }
    }
    Ok(())
}

/// Writes configuration and manifest of a new run, or makes sure that they are those of the run to resume.
fn prepare(job: &Adaptation) -> Result<String> {
    let Adaptation {
        folder,
        manifest,
        config,
        ..
    } = job;
    let text = toml::to_string(config).expect("a configuration is plain data");
    if job.resume && folder.manifest().is_file() {
        let then = Manifest::read(&folder.manifest())?;
        let path = folder.config();
        let config_then = std::fs::read_to_string(&path)
            .map_err(|source| Error::io("read the configuration", &path, source))?;
        let difference = manifest
            .difference(&then)
            .or_else(|| config_difference(&config_then, &text));
        if let Some(difference) = difference {
            let message = format!(
                "this run cannot be resumed: {difference}: {}",
                folder.root().display()
            );
            return Err(Error::request(
                message,
                "give what the run was started with, or another folder with --out",
            ));
        }
    } else {
        let path = folder.config();
        atomic::write(&path, text.as_bytes())
            .map_err(|source| Error::io("write the configuration", &path, source))?;
        manifest.write(&folder.manifest())?;
    }
    let images: Vec<&str> = manifest
        .images
        .iter()
        .map(|file| file.blake3.as_str())
        .collect();
    let whole = format!("{text}\n{}\n{}", manifest.model.blake3, images.join("\n"));
    Ok(blake3::hash(whole.as_bytes()).to_hex().to_string())
}

/// The first key whose value differs, in words.
fn config_difference(then: &str, now: &str) -> Option<String> {
    let then: toml::Table = then.parse().ok()?;
    let now: toml::Table = now.parse().ok()?;
    let differing = now
        .iter()
        .find(|(key, value)| then.get(*key) != Some(value));
    differing.map(|(key, value)| {
        let before = then
            .get(key)
            .map_or("absent".into(), toml::Value::to_string);
        format!("{key} was {before} then, is {value} now")
    })
}

/// The state before the first step.
fn begin(job: &Adaptation, online: Parameters, start: &Start) -> (State, Progress) {
    let Adaptation { config, device, .. } = *job;
    let count = job.images.len();
    let features = matrix(&start.features, device);
    let mut draws = crate::random::Stream::new(config.seed, "bank", &[]);
    let bank_images = Bank::choose(count, config.bank, &mut draws);
    let queue_images = Bank::choose(count, config.queue, &mut draws);
    let rows: Vec<i64> = queue_images.iter().map(|&image| image as i64).collect();
    let queued = features
        .clone()
        .select(0, Tensor::from_data(rows.as_slice(), device));
    let state = State {
        velocity: at_rest(&online),
        momentum: online.clone(),
        online,
        bank: Bank::new(bank_images, features, matrix(&start.clustering, device)),
        queue: Queue::new(queue_images, queued),
        history: History::new(&start.labels(), config.history),
    };
    (state, Progress::default())
}

/// The shares that classes are expected to have, if not equal ones.
fn shares(job: &Adaptation, start: &Start) -> Result<Option<Tensor<2>>> {
    let config = job.config;
    // With one cluster for each known class, as also where there were too few images to tell, all of them have images.
    let several =
        config.several_clusters() && ClusteringReport::read(job.folder)?.estimate.is_some();
    let found = several && config.class_shares == ClassShares::Found;
    Ok(found.then(|| {
        let shares = start.class_shares();
        let classes = shares.len();
        upload(shares, job.device).reshape([1, classes])
    }))
}

/// An array of rank 2 on a device.
pub(crate) fn matrix(array: &Array, device: &Device) -> Tensor<2> {
    upload(array.values.clone(), device).reshape([array.shape[0], array.shape[1]])
}

/// The state of an interrupted run, if there is one.
fn resumed(
    job: &Adaptation,
    source: &Parameters,
    identity: &str,
) -> Result<Option<(State, Progress)>> {
    if !job.resume {
        return Ok(None);
    }
    let Some(checkpoint) = Checkpoint::<Progress>::read(&job.folder.checkpoint())? else {
        return Ok(None);
    };
    if checkpoint.identity != identity {
        let message = format!(
            "the checkpoint belongs to another run: {}",
            job.folder.root().display()
        );
        return Err(Error::request(
            message,
            "give what the run was started with, or another folder with --out",
        ));
    }
    let (state, progress) = unpack(checkpoint, source, job.config.history, job.device);
    job.observer.on(&Event::Resumed {
        epoch: progress.epoch + 1,
        step: progress.step,
    });
    Ok(Some((state, progress)))
}

/// What the clock says about the running epoch. No result depends on it.
struct Clock {
    began: Instant,
    saved: Instant,
    /// How long the network had no images to work on.
    waited: Duration,
    /// Images since it began.
    images: usize,
}

impl Clock {
    fn start() -> Self {
        let now = Instant::now();
        Self {
            began: now,
            saved: now,
            waited: Duration::ZERO,
            images: 0,
        }
    }
}

/// The loop with its state, its log and its checkpoints.
struct Loop<'a> {
    job: &'a Adaptation<'a>,
    kept: Option<&'a Activations>,
    network: &'a Network,
    shares: Option<Tensor<2>>,
    state: State,
    progress: Progress,
    log: EventLog,
    identity: String,
    clock: Clock,
}

impl Loop<'_> {
    fn run(&mut self) -> Result<()> {
        let Adaptation {
            config,
            images,
            observer,
            ..
        } = *self.job;
        observer.on(&Event::Began {
            stage: Stage::Adapting,
            total: config.epochs * images.len(),
        });
        let todo = (self.progress.epoch..config.epochs).flat_map(|epoch| {
            let batches = algorithm::batches(images.len(), config.batch, config.seed, epoch);
            batches.into_iter().map(move |batch| (epoch, batch))
        });
        let todo = todo.skip(self.progress.step).collect();
        let views = TargetViews {
            images,
            description: &self.job.model.description,
            seed: config.seed,
            kept: self.kept,
        };
        views.for_each(todo, self.job.device, |batch, waited| {
            self.clock.waited += waited;
            self.step(batch)
        })?;
        observer.on(&Event::Ended {
            stage: Stage::Adapting,
        });
        Ok(())
    }

    fn step(&mut self, batch: TargetBatch) -> Result<()> {
        let job = self.job;
        let (config, count, epoch) = (job.config, job.images.len(), self.progress.epoch);
        let at = Position {
            epoch,
            step: self.progress.step,
            steps: steps_per_epoch(count, config.batch),
        };
        let setting = Setting {
            network: self.network,
            config,
            shares: self.shares.as_ref(),
            device: job.device,
        };
        let figures = algorithm::step(&mut self.state, batch, at, &setting)?;
        self.log.append(&Event::Step(figures))?;
        self.progress.step += 1;
        self.progress.sums.add(&figures);
        self.clock.images += figures.images;
        job.observer.on(&Event::Step(figures));
        job.observer.on(&Event::Advanced {
            stage: Stage::Adapting,
            done: epoch * count + self.progress.sums.images,
        });
        let last = self.progress.step == at.steps;
        if last {
            self.end_of_epoch()?;
        }
        let stop = job.observer.stop_requested() && self.progress.epoch < config.epochs;
        if !last && (stop || self.clock.saved.elapsed() > CHECKPOINT_INTERVAL) {
            self.save()?;
        }
        if stop {
            return Err(ErrorKind::Stopped {
                kept: job.folder.root().to_path_buf(),
            }
            .into());
        }
        Ok(())
    }

    fn end_of_epoch(&mut self) -> Result<()> {
        let known = self.job.model.description.known as u32;
        let unknown = self
            .state
            .history
            .pending
            .iter()
            .filter(|&&label| label >= known)
            .count();
        let label_changes = self.state.history.advance();
        let Sums {
            loss,
            classification,
            contrastive,
            diversity,
            selected,
            images,
        } = self.progress.sums;
        let count = images as f64;
        let event = Event::Epoch(Epoch {
            epoch: self.progress.epoch + 1,
            loss: loss / count,
            classification: classification / count,
            contrastive: contrastive / count,
            diversity: diversity / count,
            selected: selected / count,
            label_changes,
            unknown: unknown as f64 / self.job.images.len() as f64,
            images_per_second: self.clock.images as f64 / self.clock.began.elapsed().as_secs_f64(),
            waiting: self.clock.waited.as_secs_f64() / self.clock.began.elapsed().as_secs_f64(),
        });
        self.log.append(&event)?;
        self.job.observer.on(&event);
        self.progress.sums = Sums::default();
        self.progress.epoch += 1;
        self.progress.step = 0;
        self.save()?;
        self.clock = Clock::start();
        Ok(())
    }

    /// Writes a checkpoint of this moment.
    fn save(&mut self) -> Result<()> {
        // A checkpoint copies all parameters three times over; the activations' memory is not needed meanwhile.
        release_memory();
        self.progress.event_bytes = self.log.sync()?;
        let from = algorithm::first_trained(self.network, self.job.config.train);
        let checkpoint = pack(&self.state, &self.progress, &self.identity, from);
        checkpoint.ensure_finite()?;
        let path: PathBuf = checkpoint.write(&self.job.folder.checkpoint())?;
        self.job.observer.on(&Event::Checkpoint { path });
        self.clock.saved = Instant::now();
        Ok(())
    }
}

/// A tensor of rank 2 as an array.
pub(crate) fn array(tensor: &Tensor<2>) -> Array {
    Array {
        shape: tensor.dims().to_vec(),
        values: download(tensor.clone()),
    }
}

/// The description of the adapted model: the source's, with its private classes.
pub(crate) fn adapted_description(source: &Description, private: usize) -> Description {
    let mut description = source.clone();
    description.classes.truncate(source.known);
    description
        .classes
        .extend((1..=private).map(|j| format!("unknown-{j}")));
    description.private = private;
    description.architecture.outputs = source.known + private;
    description
}
