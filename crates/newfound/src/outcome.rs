//! The end of an adaptation: predictions of the final model, and whether they can be believed.

use std::collections::BTreeMap;

use burn::tensor::activation::softmax;
use burn::tensor::{Device, Tensor};

use crate::adapt::{Adaptation, array, matrix};
use crate::algorithm::State;
use crate::cache::Activations;
use crate::config::{AdaptConfig, Private};
use crate::discovery::NO_NEW;
use crate::error::{Error, Result};
use crate::events::{Event, Observer, Stage};
use crate::geometry::normalise_rows;
use crate::health::{Health, Predictions, Signs, neighbourhood_density, share_equal};
use crate::initialise::{ClusteringReport, Start, arg_max, column, mass, private_mass};
use crate::memory::Bank;
use crate::network::model::{Description, Model};
use crate::network::{Network, Parameters, download};
use crate::pseudo_labels::{nearest, neighbour_consensus};
use crate::random::Stream;
use crate::run::{Probabilities, Row, take_matrix, write_predictions};
use crate::settle::{Verdicts, merged_table};
use crate::supply::{Inference, OneView, Outputs, Shown};
use crate::uncertainty::{class_separation, neighbour_consensus_uncertainty};
use crate::weights::{self, Array};

/// Features and probabilities of known images that refine the predictions of others.
#[derive(Debug, Clone)]
pub struct Reference {
    /// The image of the run that each row is of, ascending: M.
    pub images: Vec<usize>,
    /// Unit-length features: [M, D].
    pub features: Array,
    /// Probabilities: [M, K].
    pub probabilities: Array,
    /// How probable it was, before the adaptation, that the class of each is new: [M, 1].
    pub novelty: Array,
    /// Share of the images that are new, as far as one can tell.
    pub share: f32,
    /// k.
    pub neighbours: usize,
}

/// Neighbour-refined probabilities and both uncertainties of some images.
#[derive(Debug, Clone)]
pub struct Refined {
    /// p̄: [B, K].
    pub probabilities: Array,
    /// u_nc: B values.
    pub u_nc: Vec<f32>,
    /// u_cs: B values.
    pub u_cs: Vec<f32>,
    /// Novelty of the image itself if it is in the bank, otherwise the mean of its neighbours': B values.
    pub novelty: Vec<f32>,
    /// That of the [`Reference`].
    pub share: f32,
}

impl Reference {
    /// The bank as it is after the last epoch: at most `bank` images of the run, drawn as at its beginning. What share of the images is new remains to be
    /// seen.
    fn of(
        features: &Array,
        probabilities: &Array,
        novelty: &Array,
        config: &AdaptConfig,
        device: &Device,
    ) -> Self {
        let mut draws = Stream::new(config.seed, "bank", &[]);
        let images = Bank::choose(features.shape[0], config.bank, &mut draws);
        let bank = Bank::new(
            images,
            matrix(features, device),
            matrix(probabilities, device),
        );
        Self {
            features: array(&bank.features),
            probabilities: array(&bank.probabilities),
            novelty: column(bank.images.iter().map(|&i| novelty.values[i]).collect()),
            images: bank.images,
            share: 0.5,
            neighbours: config.neighbours,
        }
    }

    /// Refines the predictions of images with these features; `own` says which image of the run each of them is, any larger
    /// number for a new one: an image never votes for itself.
    pub fn refine(
        &self,
        features: &Array,
        own: &[usize],
        prototypes: Tensor<2>,
        device: &Device,
    ) -> Refined {
        let z = matrix(features, device); // [B, D]
        let bank = matrix(&self.features, device);
        // As many for every image, whether it is in the bank or not.
        let k = self.neighbours.min(self.images.len().saturating_sub(1));
        let neighbours = nearest(normalise_rows(z.clone()), own, bank, &self.images, k);
        let near = neighbour_consensus(matrix(&self.novelty, device), neighbours.clone());
        // An image of the bank has an opinion of its own.
        let novelty = download(near).into_iter().zip(own).map(|(near, image)| {
            let found = self.images.binary_search(image);
            found.map_or(near, |place| self.novelty.values[place])
        });
        let refined = neighbour_consensus(matrix(&self.probabilities, device), neighbours);
        let u_nc = neighbour_consensus_uncertainty(refined.clone());
        let separation = class_separation(z, refined.clone(), prototypes);
        Refined {
            probabilities: array(&refined),
            u_nc: download(u_nc),
            u_cs: download(separation.uncertainty),
            novelty: novelty.collect(),
            share: self.share,
        }
    }

    /// What a model says by itself of all images of the run, given their features: without paths.
    pub fn rows_of_run(
        &self,
        network: &Network,
        parameters: &Parameters,
        description: &Description,
        features: &Array,
        device: &Device,
    ) -> Vec<Row> {
        let logits = network.logits(parameters, matrix(features, device));
        let probabilities = array(&softmax(logits, 1));
        let own: Vec<usize> = (0..features.shape[0]).collect();
        let refined = self.refine(features, &own, network.prototypes(parameters), device);
        let rows = probabilities.values.chunks_exact(description.classes.len());
        let row = |(image, p): (usize, &[f32])| {
            let votes = refined.votes(image);
            let known = description.known;
            row(String::new(), &description.classes, known, p, Some(&votes))
        };
        rows.enumerate().map(row).collect()
    }

    fn write(&self, path: &std::path::Path) -> Result<()> {
        // Whole numbers up to 2²⁴ are exact in f32; there are never more images.
        let images = Array {
            shape: vec![self.images.len(), 1],
            values: self.images.iter().map(|&image| image as f32).collect(),
        };
        let tensors = BTreeMap::from([
            ("images".to_string(), images),
            ("features".to_string(), self.features.clone()),
            ("probabilities".to_string(), self.probabilities.clone()),
            ("novelty".to_string(), self.novelty.clone()),
        ]);
        let metadata = BTreeMap::from([
            ("neighbours".to_string(), self.neighbours.to_string()),
            ("share".to_string(), self.share.to_string()),
        ]);
        Ok(weights::write(path, &tensors, &metadata)?)
    }

    /// Reads the reference of a finished run.
    pub fn read(path: &std::path::Path) -> Result<Self> {
        let mut file = weights::read(path)?;
        let said = |name: &str| file.metadata.get(name);
        let neighbours = said("neighbours").and_then(|text| text.parse().ok());
        // Runs that did not say were taken to have as many new images as known ones.
        let share = said("share").and_then(|text| text.parse().ok());
        let share = share.filter(|share| (0.0..=1.0).contains(share));
        let (neighbours, share) = (neighbours.unwrap_or(10), share.unwrap_or(0.5));
        let mut take = |name: &str| take_matrix(&mut file.tensors, name, path);
        let images = take("images")?.values;
        let reference = Self {
            images: images.into_iter().map(|image| image as usize).collect(),
            features: take("features")?,
            probabilities: take("probabilities")?,
            novelty: take("novelty")?,
            share,
            neighbours,
        };
        let rows = reference.images.len();
        let ascending = reference.images.windows(2).all(|pair| pair[0] < pair[1]);
        let whole = reference.features.shape[0] == rows
            && reference.probabilities.shape[0] == rows
            && reference.novelty.shape == [rows, 1];
        if rows < 2 || !ascending || !whole {
            let message = format!("this is no bank of a run: {}", path.display());
            return Err(Error::request(message, "it is damaged; run adapt again"));
        }
        Ok(reference)
    }

    /// Whether a model with this many features and classes can ask it.
    pub fn fits(&self, features: usize, classes: usize) -> bool {
        self.features.shape[1] == features && self.probabilities.shape[1] == classes
    }
}

/// What the neighbours of an image say.
#[derive(Debug, Clone, Copy)]
pub struct Votes<'a> {
    /// p̄.
    pub probabilities: &'a [f32],
    /// u_nc.
    pub u_nc: f32,
    /// u_cs.
    pub u_cs: f32,
    /// Its own novelty, or the mean of its neighbours'.
    pub novelty: f32,
    /// Share of the images of the run that are new.
    pub share: f32,
}

impl Refined {
    /// What the neighbours of one image say.
    pub fn votes(&self, image: usize) -> Votes<'_> {
        let classes = self.probabilities.shape[1];
        Votes {
            probabilities: &self.probabilities.values[image * classes..][..classes],
            u_nc: self.u_nc[image],
            u_cs: self.u_cs[image],
            novelty: self.novelty[image],
            share: self.share,
        }
    }
}

/// How much speaks for the class of an image being new, if as many images were new as known.
///
/// The mean of two opinions. One is the classifier's: its probability mass of all private classes, of the image and of its neighbours. The other is that of
/// the clusterings before the adaptation, the image's own or that of its neighbours. Where the new classes were counted the classifier has learned from both
/// already. A classifier without private classes has no opinion.
fn even(probabilities: &[f32], known: usize, votes: &Votes) -> f32 {
    if probabilities.len() == known {
        return votes.novelty;
    }
    let classifier = 0.5 * (mass(probabilities, known) + mass(votes.probabilities, known));
    0.5 * (classifier + votes.novelty)
}

/// The say of an adapted classifier beside the clusterings before it, for labels: where clusters are not to be trusted, and where they are.
///
/// Adaptation draws images to their neighbours and clusters, and where these are of other classes, known images become new ones. On 24 random divisions of
/// Office-31 a say of 0.5 has 80.5 HOS and one of 0.375 80.8; on 12 tasks with icons 0.5 has 60.6 and 0.25 63.1.
const SAY: [f32; 2] = [0.25, 0.375];

/// The say of an adapted classifier where clusters are to be trusted so far.
fn say(trust: f64) -> f32 {
    between(SAY[0], SAY[1], trust as f32)
}

/// How much speaks for the class of each image being new, for its label, if clusters are to be trusted so far.
fn for_labels(probabilities: &Array, known: usize, novelty: &[f32], trust: f64) -> Vec<f32> {
    let rows = probabilities.values.chunks_exact(probabilities.shape[1]);
    let say = say(trust);
    rows.zip(novelty)
        .map(|(row, &novelty)| between(novelty, mass(row, known), say))
        .collect()
}

/// Share of the images that are new, as far as one can tell.
fn share(probabilities: &Array, known: usize, refined: &Refined) -> f32 {
    let rows = probabilities.values.chunks_exact(probabilities.shape[1]);
    let new = rows
        .enumerate()
        .map(|(image, row)| f64::from(even(row, known, &refined.votes(image))));
    let share = (new.sum::<f64>() / probabilities.shape[0].max(1) as f64) as f32;
    // Without a new class, there are no more new images than that could be said of.
    match probabilities.shape[1] == known {
        true => share.min(NO_NEW as f32),
        false => share,
    }
}

/// One opinion, and another with this share of the say.
fn between(one: f32, other: f32, share: f32) -> f32 {
    one + share * (other - one)
}

/// Shares of new images beyond these are no better known than these.
const SHARES: [f32; 2] = [0.05, 0.95];

/// How much of its odds counts: the share is an estimate itself, by the same images.
///
/// On 249 targets of two studies, by photographs and by drawings (clustering alone), this has the lowest calibration error: 7.84 and 11.4, with all of it
/// 7.88 and 11.6, with none 8.4 and 11.6.
const BELIEF: f32 = 0.75;

/// How probable it is that the class of an image is new.
///
/// What speaks for it is weighed as if known and new images were as many, as labels should be where new images count as much as known ones
/// however many they are. A probability must know how many they are, by Bayes' rule:
///
/// ```text
/// p · o / (p · o + 1 − p),  o = (share / (1 − share))^0.75
/// ```
///
/// Without neighbours, the classifier's mass alone.
pub fn unknown(probabilities: &[f32], known: usize, votes: Option<&Votes>) -> f32 {
    let Some(votes) = votes else {
        return mass(probabilities, known);
    };
    let p = even(probabilities, known, votes).clamp(0.0, 1.0);
    let share = votes.share.clamp(SHARES[0], SHARES[1]);
    let new = p * (share / (1.0 - share)).powf(BELIEF);
    new / (new + (1.0 - p))
}

/// One line for an image.
pub fn row(
    path: String,
    classes: &[String],
    known: usize,
    probabilities: &[f32],
    votes: Option<&Votes>,
) -> Row {
    let label = arg_max(probabilities);
    Row {
        path,
        label: classes[label].clone(),
        confidence: probabilities[label],
        unknown: unknown(probabilities, known, votes),
        refined_label: votes.map_or(String::new(), |v| classes[arg_max(v.probabilities)].clone()),
        u_nc: votes.map(|votes| votes.u_nc),
        u_cs: votes.map(|votes| votes.u_cs),
    }
}

/// What a model says about every image of the run.
pub(crate) struct Outcome {
    features: Array,
    probabilities: Array,
    refined: Refined,
    reference: Reference,
}

impl Outcome {
    /// Of the network with these parameters.
    pub fn of(
        job: &Adaptation,
        kept: Option<&Activations>,
        network: &Network,
        start: &Start,
        parameters: &Parameters,
    ) -> Result<Self> {
        let Adaptation { images, device, .. } = *job;
        let own: Vec<usize> = (0..images.len()).collect();
        let views = OneView {
            shown: Shown::Test,
            images,
            which: &own,
            description: &start.description(job),
            kept,
        };
        let Outputs {
            features,
            probabilities,
        } = Inference {
            network,
            parameters,
            views,
            device,
            stage: Stage::Predicting,
            observer: job.observer,
        }
        .outputs()?;
        let prototypes = network.prototypes(parameters);
        Self::from_outputs(job, start, features, probabilities, prototypes)
    }

    /// Of features and probabilities that are known already.
    fn from_outputs(
        job: &Adaptation,
        start: &Start,
        features: Array,
        probabilities: Array,
        prototypes: Tensor<2>,
    ) -> Result<Self> {
        let classes = probabilities.shape[1];
        if let Some(image) = probabilities.values.iter().position(|p| !p.is_finite()) {
            return Err(Error::failed(
                format!(
                    "the adapted model has no answer for {}: its numbers are not finite",
                    job.images.name(image / classes)
                ),
                "nothing was written; a smaller learning-rate usually helps",
            ));
        }
        let (novelty, device) = (&start.novelty, job.device);
        let own: Vec<usize> = (0..job.images.len()).collect();
        let mut reference = Reference::of(&features, &probabilities, novelty, job.config, device);
        let mut refined = reference.refine(&features, &own, prototypes, device);
        let share = share(&probabilities, start.known, &refined);
        (reference.share, refined.share) = (share, share);
        Ok(Self {
            features,
            probabilities,
            refined,
            reference,
        })
    }

    fn labels(&self) -> Vec<usize> {
        most_probable(&self.probabilities)
    }

    /// What can be seen of it without labels, in the classes that are written.
    fn signs(
        &self,
        start: &Start,
        state: &State,
        report: &ClusteringReport,
        united: Option<&United>,
        device: &Device,
    ) -> Signs {
        let classes = |table: &Array| match united {
            Some(united) => merged_table(table, start.known, &united.groups, united.private),
            None => table.clone(),
        };
        let class = |output: usize| match united {
            Some(united) if output >= start.known => {
                start.known + united.groups[output - start.known]
            }
            _ => output,
        };
        let of = |outputs: Vec<usize>| outputs.into_iter().map(class).collect::<Vec<_>>();
        let labels = of(self.labels());
        let mut sizes = vec![0usize; self.probabilities.shape[1]];
        labels.iter().for_each(|&label| sizes[label] += 1);
        let largest = sizes.into_iter().max().unwrap_or(0);
        let density = |table: &Array| neighbourhood_density(&classes(table), device);
        Signs {
            contrast: report.contrast,
            alignment: report.estimate.as_ref().and_then(|found| found.alignment),
            doubt: report.estimate.as_ref().and_then(|found| found.doubt),
            stability: report.stability,
            arbitrary: report.arbitrary(),
            density: density(&self.probabilities)
                .zip(density(&start.clustering))
                .map(|(now, before)| (now - before).exp()),
            agreement: share_equal(&labels, &of(most_probable(&self.refined.probabilities))),
            kept: share_equal(&labels, &of(start.labels())),
            restless: state.history.restless(),
            largest: largest as f64 / labels.len().max(1) as f64,
        }
    }

    /// Writes it as the result of the run; the model last: a run that has one is complete.
    pub fn write(
        self,
        job: &Adaptation,
        start: &Start,
        parameters: &Parameters,
        changes: Vec<usize>,
    ) -> Result<()> {
        let Adaptation { folder, images, .. } = *job;
        let description = start.description(job);
        let classes = description.classes.len();
        let rows: Vec<Row> = self
            .probabilities
            .values
            .chunks_exact(classes)
            .enumerate()
            .map(|(i, p)| {
                let (name, votes) = (images.name(i), self.refined.votes(i));
                row(name, &description.classes, start.known, p, Some(&votes))
            })
            .collect();
        self.reference.write(&folder.bank())?;
        Probabilities {
            start: start.features.clone(),
            changes: column(changes.into_iter().map(|count| count as f32).collect()),
            unknown: column(rows.iter().map(|row| row.unknown).collect()),
            features: self.features,
            adapted: self.probabilities,
            refined: self.refined.probabilities,
            source: start.source.clone(),
            clustering: start.clustering.clone(),
        }
        .write(&folder.probabilities())?;
        write_predictions(&folder.predictions(), &rows)?;
        Model {
            description,
            arrays: parameters.to_arrays(),
        }
        .write(&folder.model())
    }
}

/// The most probable class of each row.
fn most_probable(probabilities: &Array) -> Vec<usize> {
    let rows = probabilities.values.chunks_exact(probabilities.shape[1]);
    rows.map(arg_max).collect()
}

/// Predicts every image and judges the result: that of the last epoch, or, where it would do harm, that of the model as it
/// started, both with as many new classes as were counted; or that of the source model. It remains to be [written](Finished::write).
pub(crate) fn conclude(
    job: &Adaptation,
    kept: Option<&Activations>,
    network: &Network,
    start: &Start,
    state: &State,
) -> Result<(Health, Finished)> {
    let report = ClusteringReport::read(job.folder)?;
    let result = Finished {
        outcome: Outcome::of(job, kept, network, start, &state.online)?,
        start: start.clone(),
        parameters: state.online.clone(),
        adapted: true,
    };
    let united = result.united(job, &report);
    let signs = result
        .outcome
        .signs(start, state, &report, united.as_ref(), job.device);
    let mut health = signs.judge(start.known);
    if report.estimate.is_none() {
        health.uncounted(job.config.private == Private::AUTO);
    }
    job.observer.on(&Event::Judged(health.clone()));
    health.write(job.folder)?;
    let as_it_started = |start: Start| {
        let result = Finished::of(job, kept, start)?;
        let united = result.united(job, &report);
        result.settled(job, kept, united)
    };
    let result = match health.predictions {
        Predictions::Adapted => result.settled(job, kept, united)?,
        Predictions::Clustering => as_it_started(start.clone())?,
        Predictions::Source => as_it_started(start.of_source(job))?,
    };
    warn_if_all_is_unknown(&result.outcome.labels(), start.known, job.observer);
    Ok((health, result))
}

/// A model and what it says.
pub(crate) struct Finished {
    outcome: Outcome,
    start: Start,
    parameters: Parameters,
    /// Whether the model has learned anything since the start.
    adapted: bool,
}

/// Which private prototypes are one class.
struct United {
    /// The new class of each.
    groups: Vec<usize>,
    /// How many new classes there are.
    private: usize,
    /// How much speaks for the class of each image being new.
    unknown: Vec<f32>,
}

impl Finished {
    /// A start as it is.
    fn of(job: &Adaptation, kept: Option<&Activations>, start: Start) -> Result<Self> {
        let (network, parameters) = start.model(job, kept);
        Ok(Self {
            outcome: Outcome::of(job, kept, &network, &start, &parameters)?,
            start,
            parameters,
            adapted: false,
        })
    }

    /// A start has its clustering's opinion alone: what its prototypes make of the images is nobody's.
    fn verdicts<'a>(&'a self, unknown: &'a [f32]) -> Verdicts<'a> {
        let Start {
            clustering, source, ..
        } = &self.start;
        let (probabilities, others) = match self.adapted {
            true => (&self.outcome.probabilities, vec![clustering, source]),
            false => (clustering, vec![]),
        };
        Verdicts {
            features: &self.outcome.features,
            probabilities,
            others,
            unknown,
            known: self.start.known,
        }
    }

    /// The new classes of a run that counted them, in which a class may have several prototypes; none for an adaptation as the paper's, whose classes stay
    /// as they are.
    fn united(&self, job: &Adaptation, report: &ClusteringReport) -> Option<United> {
        let known = self.start.known;
        let spare = self.start.head.outputs() - known;
        let found = report.estimate.as_ref();
        let Some(found) = found.filter(|_| job.config.several_clusters() && spare > 0) else {
            // What the prototypes of a start make of the images is not what its clustering says.
            return (!self.adapted).then(|| United {
                groups: (0..spare).collect(),
                private: spare,
                unknown: private_mass(&self.start.clustering, known),
            });
        };
        let private = job.config.private.count(known);
        let private = private.unwrap_or(found.private).min(spare);
        let novelty = &self.start.novelty.values;
        let unknown = match self.adapted {
            true => for_labels(&self.outcome.probabilities, known, novelty, found.trust),
            false => novelty.clone(),
        };
        Some(United {
            groups: self.verdicts(&unknown).groups(private),
            private,
            unknown,
        })
    }

    /// With one prototype for each new class, fitted to what the classifier, the clusterings and the source model say together: [`settle`](crate::settle). What is said of the
    /// images of the run is the fitted classifier's if it was adapted, otherwise what it was fitted to.
    fn settled(
        self,
        job: &Adaptation,
        kept: Option<&Activations>,
        united: Option<United>,
    ) -> Result<Self> {
        let Some(United {
            groups,
            private,
            unknown,
        }) = united
        else {
            return Ok(self);
        };
        let model = Model {
            description: self.start.description(job),
            arrays: self.parameters.to_arrays(),
        };
        let verdicts = self.verdicts(&unknown);
        let wanted = verdicts.targets(&groups, private);
        let head = verdicts.fit(&model.head(), &groups, &wanted, job.device);
        let Self {
            outcome,
            start,
            adapted,
            ..
        } = self;
        let start = Start {
            clustering: merged_table(&start.clustering, start.known, &groups, private),
            head: head.clone(),
            ..start
        };
        let mut arrays = model.arrays;
        arrays.extend(head.into_arrays());
        let network = start.network(job, kept);
        let parameters = Parameters::from_arrays(network.specs().clone(), arrays, job.device);
        let z = matrix(&outcome.features, job.device);
        let mut probabilities = array(&softmax(network.logits(&parameters, z), 1));
        // What is kept is kept to the letter, whatever a classifier of these features can learn of it.
        if !adapted {
            warn_of_other_labels(&probabilities, &wanted, job.observer);
            probabilities = wanted;
        }
        let prototypes = network.prototypes(&parameters);
        Ok(Self {
            outcome: Outcome::from_outputs(
                job,
                &start,
                outcome.features,
                probabilities,
                prototypes,
            )?,
            start,
            parameters,
            adapted,
        })
    }

    /// Writes it as the result of the run, which is complete then.
    pub fn write(self, job: &Adaptation, changes: Vec<usize>) -> Result<()> {
        self.outcome
            .write(job, &self.start, &self.parameters, changes)
    }
}

/// Says of how many images a model that is written says otherwise than what is kept.
fn warn_of_other_labels(model: &Array, kept: &Array, observer: &dyn Observer) {
    let pairs = most_probable(model).into_iter().zip(most_probable(kept));
    let others = pairs.filter(|(model, kept)| model != kept).count();
    if others > 0 {
        let message = format!(
            "the model that is written could not learn all of what is kept: by itself it has another label for {others} of {} images",
            kept.shape[0]
        );
        observer.on(&Event::Warning { message });
    }
}

/// Says so when every image ended as unknown. A collapse into one class is a sign of the verdict.
fn warn_if_all_is_unknown(labels: &[usize], known: usize, observer: &dyn Observer) {
    let unknown = labels.iter().filter(|&&label| label >= known).count();
    if unknown as f64 > 0.99 * labels.len() as f64 {
        let message = "every image ended as unknown: is this model meant for these images?".into();
        observer.on(&Event::Warning { message });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// The warnings about these labels, of which the first two are known classes.
    fn warnings(labels: &[usize]) -> Vec<String> {
        struct Ear(Mutex<Vec<String>>);
        impl Observer for Ear {
            fn on(&self, event: &Event) {
                if let Event::Warning { message } = event {
                    self.0.lock().unwrap().push(message.clone());
                }
            }
        }
        let ear = Ear(Mutex::new(Vec::new()));
        warn_if_all_is_unknown(labels, 2, &ear);
        ear.0.into_inner().unwrap()
    }

    #[test]
    fn a_probability_knows_how_many_images_are_new() {
        let votes = |novelty: f32, share: f32, probabilities| Votes {
            probabilities,
            u_nc: 0.0,
            u_cs: 0.0,
            novelty,
            share,
        };
        let near = &[0.0, 0.4, 0.3, 0.3];
        let said = |share: f32| unknown(&[0.2, 0.4, 0.3, 0.1], 2, Some(&votes(0.7, share, near)));
        // ((0.4 + 0.6) / 2 + 0.7) / 2, as it is where as many are new as known.
        assert!((said(0.5) - 0.6).abs() < 1e-6);
        // 0.25^0.75 = 1 / (2 √2); 0.6 of that, to 0.4.
        assert!((said(0.2) - 0.346_546).abs() < 1e-6);
        assert!(said(0.8) > said(0.5) && said(0.0) == said(0.05) && said(0.05) > 0.0);
        for (p, sure) in [(&[1.0, 0.0], 0.0), (&[0.0, 1.0], 1.0)] {
            assert_eq!(unknown(p, 1, Some(&votes(sure, 0.3, p))), sure);
        }
        assert_eq!(unknown(&[0.2, 0.8], 1, None), 0.8);
    }

    #[test]
    fn an_adaptation_by_clusters_that_are_not_trusted_has_less_say() {
        assert_eq!([0.0, 0.5, 1.0].map(say), [0.25, 0.3125, 0.375]);
        let probabilities = Array {
            shape: vec![2, 3],
            values: vec![0.4, 0.2, 0.4, 0.0, 0.0, 1.0],
        };
        // 0.25 and 0.375 of the way from novelty to the classifier's mass.
        for (trust, expected) in [(0.0, [0.3, 0.25]), (1.0, [0.35, 0.375])] {
            let found = for_labels(&probabilities, 1, &[0.2, 0.0], trust);
            let mut pairs = found.iter().zip(expected);
            assert!(
                pairs.all(|(a, b): (&f32, f32)| (a - b).abs() < 1e-6),
                "{found:?}"
            );
        }
    }

    #[test]
    fn the_share_is_the_mean_of_what_is_said() {
        let table = |values: [f32; 4]| Array {
            shape: vec![2, 2],
            values: values.to_vec(),
        };
        let refined = Refined {
            probabilities: table([0.5, 0.5, 0.0, 1.0]),
            u_nc: vec![0.0; 2],
            u_cs: vec![0.0; 2],
            novelty: vec![0.2, 0.6],
            share: 0.5,
        };
        // ((0.1 + 0.5) / 2 + 0.2) / 2 = 0.25 and ((0.8 + 1) / 2 + 0.6) / 2 = 0.75.
        let found = share(&table([0.9, 0.1, 0.2, 0.8]), 1, &refined);
        assert!((found - 0.5).abs() < 1e-6, "{found}");
        let found = share(&table([0.9, 0.1, 1.0, 0.0]), 1, &refined);
        assert!((found - 0.4).abs() < 1e-6, "{found}");
    }

    #[test]
    fn without_new_classes_an_image_may_be_new_but_few_are() {
        let known = [0.3, 0.7];
        let votes = |novelty: f32, share: f32| Votes {
            probabilities: &known,
            u_nc: 0.0,
            u_cs: 0.0,
            novelty,
            share,
        };
        // The classifier has no opinion, so that a sure image is not held back by it.
        assert_eq!(unknown(&known, 2, Some(&votes(0.7, 0.5))), 0.7);
        assert_eq!(unknown(&known, 2, Some(&votes(1.0, 0.08))), 1.0);
        let table = Array {
            shape: vec![2, 2],
            values: vec![0.3, 0.7, 0.6, 0.4],
        };
        let mut refined = Refined {
            probabilities: table.clone(),
            u_nc: vec![0.0; 2],
            u_cs: vec![0.0; 2],
            novelty: vec![0.2, 0.4],
            share: 0.5,
        };
        assert_eq!(share(&table, 2, &refined), NO_NEW as f32);
        refined.novelty = vec![0.0, 0.1];
        assert!((share(&table, 2, &refined) - 0.05).abs() < 1e-6);
    }

    #[test]
    fn it_is_said_when_all_is_unknown() {
        let unknown: Vec<usize> = (0..100).map(|i| 2 + i % 3).collect();
        assert!(warnings(&unknown)[0].contains("every image ended as unknown"));
        let spread: Vec<usize> = (0..100).map(|i| i % 5).collect();
        assert!(warnings(&spread).is_empty());
    }
}
