//! The loop of the paper, top to bottom. Section III, Figure 2.
//!
//! Sizes: B batch · C known classes · P private classes · K = C + P outputs · D features · N images · M bank rows ·
//! Q queue rows · k neighbours · T epochs of history.
//!
//! This file is the only place where the state of an adaptation changes, and nothing in it, or in anything it calls,
//! has a place for a target label.

use burn::tensor::activation::softmax;
use burn::tensor::{Device, Int, Tensor, TensorData};

use crate::config::{AdaptConfig, Search, TeacherNorm, Trained};
use crate::error::{Error, Result};
use crate::events::Step;
use crate::geometry::normalise_rows;
use crate::losses::{
    Complementary, contrastive, diversity, diversity_of, negative_learning,
    negative_learning_of_all, total,
};
use crate::memory::{Bank, History, Queue, draw_negatives, negatives};
use crate::network::{Network, Parameters, Part, Pass};
use crate::optimiser::{Rates, Sgd};
use crate::pseudo_labels::{complementary_labels, nearest, neighbour_consensus};
use crate::random::Stream;
use crate::uncertainty::{class_separation, neighbour_consensus_uncertainty, select, weight};

/// One batch of target images as three random views each. Label-free on purpose.
#[derive(Debug, Clone)]
pub struct TargetBatch {
    /// Which images.
    pub images: Vec<usize>,
    /// t_wa(x): [B, 3, H, W].
    pub weak: Tensor<4>,
    /// t_sa(x), the query: [B, 3, H, W].
    pub strong_query: Tensor<4>,
    /// t'_sa(x), the key: [B, 3, H, W].
    pub strong_key: Tensor<4>,
}

/// All that changes while the target model is adapted.
#[derive(Debug, Clone)]
pub struct State {
    /// g_t, the model that learns.
    pub online: Parameters,
    /// g'_t, its moving average.
    pub momentum: Parameters,
    /// The optimiser's memory, a flat tensor for each parameter.
    pub velocity: Vec<Tensor<1>>,
    /// B.
    pub bank: Bank,
    /// Q_e.
    pub queue: Queue,
    /// The labels of the last T epochs.
    pub history: History,
}

/// Where in the run a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Counted from 0.
    pub epoch: usize,
    /// Counted from 0, within the epoch.
    pub step: usize,
    /// Steps in an epoch.
    pub steps: usize,
}

/// What a run keeps fixed.
#[derive(Debug, Clone)]
pub struct Setting<'a> {
    /// The layers of both models.
    pub network: &'a Network,
    /// The choices.
    pub config: &'a AdaptConfig,
    /// The shares that classes are expected to have, if not equal ones: [1, K].
    pub shares: Option<&'a Tensor<2>>,
    /// Where the tensors are.
    pub device: &'a Device,
}

impl Setting<'_> {
    fn first_trained(&self) -> Part {
        first_trained(self.network, self.config.train)
    }

    /// The mode the momentum model runs in.
    fn teacher_pass(&self) -> Pass {
        match self.config.teacher_norm {
            TeacherNorm::Eval => Pass::evaluation(),
            TeacherNorm::Train => Pass::training_from(self.first_trained()),
        }
    }

    /// The stream of one kind of draw at one step.
    fn draws(&self, name: &str, at: Position) -> Stream {
        Stream::new(self.config.seed, name, &[at.epoch as u64, at.step as u64])
    }

    fn uniform(&self, name: &str, at: Position, count: usize) -> Tensor<1> {
        let mut draws = self.draws(name, at);
        let values: Vec<f32> = (0..count).map(|_| draws.unit() as f32).collect();
        Tensor::from_data(TensorData::new(values, [count]), self.device)
    }

    fn indices(&self, values: &[usize]) -> Tensor<1, Int> {
        let values: Vec<i64> = values.iter().map(|&value| value as i64).collect();
        let count = values.len();
        Tensor::from_data(TensorData::new(values, [count]), self.device)
    }
}

/// The first part of the network that learns.
pub fn first_trained(network: &Network, trained: Trained) -> Part {
    match trained {
        Trained::All | Trained::Auto => Part::Body(0),
        Trained::LastStage => network.last_stage(),
        Trained::Head if network.architecture().bottleneck.is_some() => Part::Bottleneck,
        Trained::Head => Part::Classifier,
    }
}

/// One step of adaptation.
///
/// # Errors
///
/// If a loss is not finite; the state is then unchanged but for the momentum model, and must not be saved.
pub fn step(
    state: &mut State,
    batch: TargetBatch,
    at: Position,
    setting: &Setting,
) -> Result<Step> {
    let Setting {
        network,
        config,
        shares,
        device,
    } = *setting;
    let TargetBatch {
        images,
        weak,
        strong_query,
        strong_key,
    } = batch;
    let size = images.len();
    let [_, classes] = state.bank.probabilities.dims();

    // The momentum model follows the online model.
    let steps = at.steps * config.epochs;
    let first_trained = setting.first_trained();
    let m = config.ema.at(steps);
    state
        .momentum
        .moving_average_from(first_trained, &state.online, m);

    // The weak view through the momentum model: what the bank will store. (Section III-C)
    let teacher_pass = setting.teacher_pass();
    let z_weak = network.features(&state.momentum, weak.clone(), &teacher_pass); // [B, D]
    let p_weak = softmax(network.logits(&state.momentum, z_weak.clone()), 1); // [B, K]

    // Pseudo-labels from the neighbours' consensus. (Eq. 1)
    let z = match config.search {
        Search::Momentum => z_weak.clone(),
        Search::Online => network.features(&state.online, weak, &setting.teacher_pass()),
    };
    let k = config.neighbours.min(state.bank.images.len() - 1);
    let bank_features = state.bank.features.clone();
    let neighbours = nearest(
        normalise_rows(z.clone()),
        &images,
        bank_features,
        &state.bank.images,
        k,
    ); // [B, k]
    let refined = neighbour_consensus(state.bank.probabilities.clone(), neighbours); // [B, K]

    // How far they can be trusted, and which images are used. (Eqs. 3 to 7)
    let u_nc = neighbour_consensus_uncertainty(refined.clone());
    let separation = class_separation(z, refined, network.prototypes(&state.online));
    let weights = [
        weight(u_nc, config.consensus_weight),
        weight(separation.uncertainty, config.separation_weight),
    ];
    let draws = ["select-nc", "select-cs"].map(|name| setting.uniform(name, at, size));
    let selected = select(weights, draws, config.selection).float(); // [B]
    let labels = host_indices(separation.first);

    // The strong views: the key through the momentum model, the query through the online model. (Section III-F)
    // The key first: its activations are gone before those that the gradient needs are kept.
    let key = network.features(&state.momentum, strong_key, &teacher_pass.again()); // [B, D]
    let key = normalise_rows(key);
    drop(teacher_pass);
    let tracked = state.online.tracked(|spec| spec.part >= first_trained);
    let online_pass = Pass::training_from(first_trained);
    let query = network.features(&tracked, strong_query.autodiff(), &online_pass); // [B, D]
    let logits = network.logits(&tracked, query.clone()); // [B, K]

    // The three losses. (Eqs. 8, 9 and 10)
    let chosen = selected.clone().autodiff();
    let classification = match config.complementary {
        Complementary::One => {
            let mut draws = setting.draws("complementary", at);
            let others = complementary_labels(&labels, classes, &mut draws);
            negative_learning(logits.clone(), setting.indices(&others), chosen)
        }
        Complementary::All => {
            negative_learning_of_all(logits.clone(), setting.indices(&labels), chosen)
        }
    };
    let mask = negatives(
        state.history.rows(&images, device),
        state.history.rows(&state.queue.images, device),
        setting.indices(&images),
        setting.indices(&state.queue.images),
    ); // [B, Q]
    let drawn = draw_negatives(mask.clone(), &mut setting.draws("negative", at), device);
    let contrast = contrastive(
        config.contrast,
        query,
        key.clone().autodiff(),
        state.queue.keys.clone().autodiff(),
        mask,
        drawn,
        config.temperature,
    );
    let spread = match shares {
        None => diversity(logits),
        Some(shares) => diversity_of(logits, shares.clone().autodiff()),
    };
    let gammas = [
        config.gamma_classification,
        config.gamma_contrastive,
        config.gamma_diversity,
    ];
    let loss = total(
        classification.clone(),
        contrast.clone(),
        spread.clone(),
        gammas,
    );
    let figures = Step {
        epoch: at.epoch + 1,
        step: at.step + 1,
        overall: at.epoch * at.steps + at.step + 1,
        loss: scalar(&loss),
        classification: scalar(&classification),
        contrastive: scalar(&contrast),
        diversity: scalar(&spread),
        selected: f64::from(selected.mean().into_scalar::<f32>()),
        images: size,
    };
    ensure_finite(&figures)?;

    // The optimiser step; then what batch normalisation saw on the way.
    let mut gradients = loss.backward();
    let rates = Rates {
        base: config.learning_rate,
        body: config.body_rate,
    };
    let progress = (at.epoch * at.steps + at.step) as f64 / steps as f64;
    let sgd = Sgd {
        momentum: config.momentum,
        weight_decay: config.weight_decay,
    };
    let rate = |spec: &crate::network::Spec| rates.at(spec.part, progress);
    sgd.step(
        &mut state.online,
        &mut state.velocity,
        tracked,
        &mut gradients,
        rate,
    );
    online_pass.update(&mut state.online);

    // What the next steps will look up.
    state.bank.write(&images, z_weak, p_weak);
    state.queue.push(&images, key);
    for (&image, &label) in images.iter().zip(&labels) {
        state.history.record(image, label);
    }
    Ok(figures)
}

/// The batches of one epoch: every image once, in random order, in batches that differ by at most one image, so that
/// no batch is too small for its own statistics.
pub fn batches(images: usize, batch: usize, seed: u64, epoch: usize) -> Vec<Vec<usize>> {
    let order = Stream::new(seed, "order", &[epoch as u64]).permutation(images);
    let steps = steps_per_epoch(images, batch);
    (0..steps)
        .map(|s| order[s * images / steps..(s + 1) * images / steps].to_vec())
        .collect()
}

/// Number of batches of one epoch.
pub fn steps_per_epoch(images: usize, batch: usize) -> usize {
    // Two images at least in every batch, if there are two.
    images.div_ceil(batch).min(images / 2).max(1)
}

fn scalar(loss: &Tensor<1>) -> f64 {
    f64::from(loss.clone().into_scalar::<f32>())
}

fn host_indices(tensor: Tensor<1, Int>) -> Vec<usize> {
    let values = tensor
        .try_into_vec_as::<i64>()
        .expect("the device gives its values back");
    values.into_iter().map(|value| value as usize).collect()
}

fn ensure_finite(step: &Step) -> Result<()> {
    let terms = [
        ("classification", step.classification),
        ("contrastive", step.contrastive),
        ("diversity", step.diversity),
        ("total", step.loss),
    ];
    match terms.iter().find(|(_, value)| !value.is_finite()) {
        None => Ok(()),
        Some((name, value)) => Err(Error::failed(
            format!(
                "the {name} loss became {value} in epoch {}, step {}",
                step.epoch, step.step
            ),
            "the last good checkpoint is kept; a smaller learning-rate usually helps",
        )),
    }
}
