//! Source training: plain cross-entropy on labelled images. Nothing here knows of open sets or of a target.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use burn::tensor::{Device, Int, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use crate::adapt::unfrozen;
use crate::algorithm::{batches, first_trained, steps_per_epoch};
use crate::cache::{self, Activations, Plan, Wanted};
use crate::config::TrainConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::events::{Event, Observer, Stage};
use crate::images::ImageList;
use crate::initialise::arg_max;
use crate::losses::cross_entropy;
use crate::network::model::{Description, Model};
use crate::network::{Engine, Network, Parameters, Pass, Spec};
use crate::optimiser::{Rates, Sgd, at_rest};
use crate::random::Stream;
use crate::run::Checkpoint;
use crate::supply::{Inference, OneView, Shown, TrainingViews};
use crate::weights::Array;

/// A checkpoint is written at the end of every epoch, and within a longer one after this time.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(300);

/// Labelled images of the source.
#[derive(Debug, Clone)]
pub struct LabelledSet {
    /// The images.
    pub images: ImageList,
    /// The class of each.
    pub labels: Vec<usize>,
}

/// What is trained on what, and how.
pub struct Training<'a> {
    /// What the model will be.
    pub description: &'a Description,
    /// Weights of the body to start from; none trains it from nothing.
    pub body: Option<&'a BTreeMap<String, Array>>,
    /// The images.
    pub source: &'a LabelledSet,
    /// All choices.
    pub config: &'a TrainConfig,
    /// Where the model will be written; its checkpoint stands beside it.
    pub out: &'a Path,
    /// Go on with an interrupted training.
    pub resume: bool,
    /// Where activations of frozen layers are kept.
    pub cache: &'a Path,
    /// The hash of each image's file.
    pub hashes: &'a [String],
    /// What else a checkpoint must agree on, one `name = value` to a line: weights, device, images.
    pub identity: &'a str,
    /// Where tensors live.
    pub device: &'a Device,
    /// What computes the network.
    pub engine: Engine,
    /// Who listens.
    pub observer: &'a dyn Observer,
}

/// Everything of a training's state that is not a tensor.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Progress {
    epoch: usize,
    best_accuracy: f64,
    best_loss: f64,
    epochs_since_best: usize,
    /// Within the running epoch: steps done, images seen, sum of their losses.
    step: usize,
    seen: usize,
    sum: f64,
}

struct State {
    parameters: Parameters,
    velocity: Vec<Tensor<1>>,
    best: Parameters,
    progress: Progress,
}

/// Trains until the held-out images are classified as well as they will be, and gives the best epoch's model.
pub fn train(job: &Training) -> Result<Model> {
    let network = Network::new(job.description.architecture, job.engine);
    let (fit, held) = split(
        &job.source.labels,
        job.description.known,
        job.config.held_out,
        job.config.seed,
    );
    let identity = identity(job);
    let mut state = begin(job, &network);
    if let Some(found) = resumed(job, &state, &identity)? {
        state = found;
    }
    let kept = kept(job, &network, &state.parameters)?;
    let kept = kept.as_ref();
    let network = unfrozen(network, kept, job.config.train);
    let mut training = Loop {
        job,
        kept,
        network: &network,
        fit: &fit,
        held: &held,
        identity: &identity,
        state,
        saved: Instant::now(),
    };
    training.run()?;
    Ok(Model {
        description: job.description.clone(),
        arrays: training.state.best.to_arrays(),
    })
}

/// What the frozen layers make of the images, where there are frozen layers.
fn kept(job: &Training, network: &Network, parameters: &Parameters) -> Result<Option<Activations>> {
    if job.config.train.everything() {
        return Ok(None);
    }
    cache::activations(&Wanted {
        network,
        parameters,
        frontier: first_trained(network, job.config.train),
        images: &job.source.images,
        hashes: job.hashes,
        description: job.description,
        plan: Plan {
            weak: job.config.weak_views,
            strong: 0,
            seed: job.config.view_seed,
        },
        folder: job.cache,
        device: job.device,
        observer: job.observer,
    })
    .map(Some)
}

/// Removes what was kept for a resumption, once the model is written.
pub fn forget_checkpoint(out: &Path) -> Result<()> {
    let folder = checkpoint_folder(out);
    std::fs::remove_dir_all(&folder)
        .map_err(|source| Error::io("remove the checkpoint", &folder, source))
}

/// Where the checkpoint of a training with this model stands.
pub fn checkpoint_folder(out: &Path) -> PathBuf {
    let mut name = out.as_os_str().to_os_string();
    name.push(".checkpoint");
    name.into()
}

/// A stratified split: positions to fit and positions to judge by, `percent` of each class but at least one of every
/// class that has more than one.
pub fn split(
    labels: &[usize],
    classes: usize,
    percent: f64,
    seed: u64,
) -> (Vec<usize>, Vec<usize>) {
    let (mut fit, mut held) = (Vec::new(), Vec::new());
    for class in 0..classes {
        let members: Vec<usize> = (0..labels.len()).filter(|&i| labels[i] == class).collect();
        let wanted = (members.len() as f64 * percent / 100.0).round() as usize;
        let count = if percent > 0.0 && members.len() > 1 {
            wanted.max(1)
        } else {
            0
        };
        let order = Stream::new(seed, "held-out", &[class as u64]).permutation(members.len());
        let chosen: Vec<usize> = order.into_iter().map(|i| members[i]).collect();
        held.extend(&chosen[..count]);
        fit.extend(&chosen[count..]);
    }
    fit.sort_unstable();
    held.sort_unstable();
    (fit, held)
}

fn begin(job: &Training, network: &Network) -> State {
    let mut parameters = network.start(job.config.seed, job.device);
    if let Some(body) = job.body {
        let mut arrays = parameters.to_arrays();
        arrays.extend(body.clone());
        parameters = Parameters::from_arrays(network.specs().clone(), arrays, job.device);
    }
    State {
        velocity: at_rest(&parameters),
        best: parameters.clone(),
        parameters,
        progress: Progress {
            best_loss: f64::INFINITY,
            ..Progress::default()
        },
    }
}

/// The loop with its state and its checkpoints.
struct Loop<'a> {
    job: &'a Training<'a>,
    kept: Option<&'a Activations>,
    network: &'a Network,
    /// Images to learn from.
    fit: &'a [usize],
    /// Images to judge by.
    held: &'a [usize],
    identity: &'a str,
    state: State,
    saved: Instant,
}

impl Loop<'_> {
    fn run(&mut self) -> Result<()> {
        let (job, config, fit) = (self.job, self.job.config, self.fit);
        job.observer.on(&Event::Began {
            stage: Stage::Training,
            total: config.epochs * fit.len(),
        });
        let todo = (self.state.progress.epoch..config.epochs).flat_map(|epoch| {
            let batches = batches(fit.len(), config.batch, config.seed, epoch);
            let images = |batch: Vec<usize>| batch.into_iter().map(|i| fit[i]).collect();
            batches.into_iter().map(move |batch| (epoch, images(batch)))
        });
        let todo = todo.skip(self.state.progress.step).collect();
        let views = TrainingViews {
            images: &job.source.images,
            description: job.description,
            seed: config.seed,
            kept: self.kept,
        };
        if !self.is_done() {
            views.for_each(todo, job.device, |images, weak| self.step(images, weak))?;
        }
        job.observer.on(&Event::Ended {
            stage: Stage::Training,
        });
        Ok(())
    }

    /// Whether the held-out images have stopped getting better.
    fn is_done(&self) -> bool {
        self.state.progress.epochs_since_best >= self.job.config.patience
    }

    fn step(&mut self, images: &[usize], weak: Tensor<4>) -> Result<ControlFlow<()>> {
        let job = self.job;
        self.learn(images, weak)?;
        let progress = &self.state.progress;
        job.observer.on(&Event::Advanced {
            stage: Stage::Training,
            done: progress.epoch * self.fit.len() + progress.seen,
        });
        let last = progress.step == steps_per_epoch(self.fit.len(), job.config.batch);
        if last {
            self.end_of_epoch()?;
        }
        let stop = job.observer.stop_requested();
        if last || stop || self.saved.elapsed() > CHECKPOINT_INTERVAL {
            save(job, self.network, &self.state, self.identity)?;
            self.saved = Instant::now();
        }
        if stop {
            return Err(ErrorKind::Stopped {
                kept: checkpoint_folder(job.out),
            }
            .into());
        }
        Ok(if last && self.is_done() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    }

    /// One step of gradient descent.
    fn learn(&mut self, images: &[usize], weak: Tensor<4>) -> Result<()> {
        let Self {
            job,
            network,
            state,
            ..
        } = self;
        let (config, Progress { epoch, step, .. }) = (job.config, state.progress);
        let first_trained = first_trained(network, config.train);
        let labels: Vec<i64> = images
            .iter()
            .map(|&image| job.source.labels[image] as i64)
            .collect();
        let labels: Tensor<1, Int> =
            Tensor::from_data(TensorData::new(labels, [images.len()]), job.device);
        let tracked = state.parameters.tracked(|spec| spec.part >= first_trained);
        let pass = Pass::training_from(first_trained);
        let features = network.features(&tracked, weak.autodiff(), &pass);
        let logits = network.logits(&tracked, features);
        let loss = cross_entropy(logits, labels, config.label_smoothing);
        let value = f64::from(loss.clone().into_scalar::<f32>());
        if !value.is_finite() {
            return Err(Error::failed(
                format!(
                    "the cross-entropy became {value} in epoch {}, step {}",
                    epoch + 1,
                    step + 1
                ),
                "a smaller learning-rate usually helps",
            ));
        }
        let steps = steps_per_epoch(self.fit.len(), config.batch);
        let progress = (epoch * steps + step) as f64 / (config.epochs * steps) as f64;
        let rates = Rates {
            base: config.learning_rate,
            body: if job.body.is_some() {
                config.body_rate
            } else {
                1.0
            },
        };
        let sgd = Sgd {
            momentum: config.momentum,
            weight_decay: config.weight_decay,
        };
        let mut gradients = loss.backward();
        sgd.step(
            &mut state.parameters,
            &mut state.velocity,
            tracked,
            &mut gradients,
            |spec: &Spec| rates.at(spec.part, progress),
        );
        pass.update(&mut state.parameters);
        state.progress.step += 1;
        state.progress.seen += images.len();
        state.progress.sum += value * images.len() as f64;
        Ok(())
    }

    /// Judges the epoch and keeps its model if it is the best so far.
    fn end_of_epoch(&mut self) -> Result<()> {
        let Self {
            job,
            kept,
            network,
            held,
            state,
            ..
        } = self;
        let judged = judge(job, *kept, network, &state.parameters, held)?;
        let progress = &mut state.progress;
        let loss = progress.sum / progress.seen as f64;
        progress.epoch += 1;
        (progress.step, progress.seen, progress.sum) = (0, 0, 0.0);
        // Only a better accuracy counts as getting on: the loss alone can creep down for ever.
        // Without held-out images there is nothing to judge by: the last epoch is the result.
        let (accuracy, held_loss) = judged.unwrap_or((0.0, 0.0));
        let improved = judged.is_none() || progress.epoch == 1 || accuracy > progress.best_accuracy;
        progress.epochs_since_best = if improved {
            0
        } else {
            progress.epochs_since_best + 1
        };
        if improved || (accuracy == progress.best_accuracy && held_loss < progress.best_loss) {
            (progress.best_accuracy, progress.best_loss) = (accuracy, held_loss);
            state.best = state.parameters.clone();
        }
        job.observer.on(&Event::TrainingEpoch {
            epoch: progress.epoch,
            loss,
            accuracy: judged.map(|(accuracy, _)| accuracy),
        });
        Ok(())
    }
}

/// Accuracy in percent and mean cross-entropy on the held-out images, where there are any.
fn judge(
    job: &Training,
    kept: Option<&Activations>,
    network: &Network,
    parameters: &Parameters,
    held: &[usize],
) -> Result<Option<(f64, f64)>> {
    if held.is_empty() {
        return Ok(None);
    }
    let views = OneView {
        shown: Shown::Test,
        images: &job.source.images,
        which: held,
        description: job.description,
        kept,
    };
    let (stage, silent) = (Stage::Predicting, crate::events::Silent);
    let outputs = Inference {
        network,
        parameters,
        views,
        device: job.device,
        stage,
        observer: &silent,
    }
    .outputs()?;
    let rows = outputs
        .probabilities
        .values
        .chunks_exact(job.description.known);
    let (mut right, mut loss) = (0usize, 0.0);
    for (row, &image) in rows.zip(held) {
        let label = job.source.labels[image];
        right += usize::from(arg_max(row) == label);
        loss -= f64::from(row[label]).max(1e-30).ln();
    }
    let count = held.len() as f64;
    Ok(Some((100.0 * right as f64 / count, loss / count)))
}

/// All that a training is a function of, one `name = value` to a line.
fn identity(job: &Training) -> String {
    let config = toml::to_string(job.config).expect("plain data");
    let description = serde_json::to_value(job.description).expect("plain data");
    let described = description.as_object().into_iter().flatten();
    let described: String = described
        .map(|(name, value)| format!("{name} = {value}\n"))
        .collect();
    format!("{config}{described}{}", job.identity)
}

/// The first line in which two identities differ, in words.
fn difference(then: &str, now: &str) -> String {
    let pair = then
        .lines()
        .zip(now.lines())
        .find(|(then, now)| then != now);
    match pair {
        Some((then, now)) => format!("{then} then, {now} now"),
        None => "it is from another version".to_string(),
    }
}

fn save(job: &Training, network: &Network, state: &State, identity: &str) -> Result<()> {
    let folder = checkpoint_folder(job.out);
    std::fs::create_dir_all(&folder)
        .map_err(|source| Error::io("make the checkpoint's folder", &folder, source))?;
    let velocity = Parameters {
        specs: state.parameters.specs.clone(),
        values: state.velocity.clone(),
    };
    // The frozen parts are as they were given.
    let from = first_trained(network, job.config.train);
    let mut tensors = BTreeMap::new();
    for (prefix, values) in [
        ("now/", &state.parameters),
        ("velocity/", &velocity),
        ("best/", &state.best),
    ] {
        let named = values.to_arrays_from(from).into_iter();
        tensors.extend(named.map(|(name, array)| (format!("{prefix}{name}"), array)));
    }
    let checkpoint = Checkpoint {
        tensors,
        state: state.progress,
        identity: identity.to_string(),
    };
    checkpoint.ensure_finite()?;
    let path = checkpoint.write(&folder)?;
    job.observer.on(&Event::Checkpoint { path });
    Ok(())
}

fn resumed(job: &Training, begun: &State, identity: &str) -> Result<Option<State>> {
    if !job.resume {
        return Ok(None);
    }
    let Some(checkpoint) = Checkpoint::<Progress>::read(&checkpoint_folder(job.out))? else {
        return Ok(None);
    };
    if checkpoint.identity != identity {
        let message = format!(
            "the checkpoint belongs to another training: {}: {}",
            difference(&checkpoint.identity, identity),
            checkpoint_folder(job.out).display()
        );
        return Err(Error::request(
            message,
            "give what it was started with, or remove that folder to start anew",
        ));
    }
    let Checkpoint {
        tensors,
        state: progress,
        ..
    } = checkpoint;
    let group = |prefix: &str, begun: &Parameters| {
        let named = tensors.iter().filter_map(|(name, array)| {
            Some((name.strip_prefix(prefix)?.to_string(), array.clone()))
        });
        begun.with(named.collect())
    };
    let velocity = Parameters {
        specs: begun.parameters.specs.clone(),
        values: begun.velocity.clone(),
    };
    job.observer.on(&Event::Resumed {
        epoch: progress.epoch + 1,
        step: progress.step,
    });
    Ok(Some(State {
        parameters: group("now/", &begun.parameters),
        velocity: group("velocity/", &velocity).values,
        best: group("best/", &begun.parameters),
        progress,
    }))
}
