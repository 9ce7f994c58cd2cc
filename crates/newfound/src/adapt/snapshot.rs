//! The state of an adaptation as a checkpoint has it, there and back.

use std::collections::BTreeMap;

use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::{array, matrix};
use crate::algorithm::State;
use crate::events::Step;
use crate::memory::{Bank, History, Queue};
use crate::network::{Parameters, Part};
use crate::optimiser::at_rest;
use crate::run::Checkpoint;
use crate::weights::Array;

/// Everything of a state that is not a tensor.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Progress {
    pub epoch: usize,
    pub step: usize,
    pub bank_images: Vec<usize>,
    pub queue_images: Vec<usize>,
    pub queue_next: usize,
    pub history_labels: Vec<u32>,
    pub history_pending: Vec<u32>,
    pub history_slot: usize,
    pub sums: Sums,
    pub event_bytes: u64,
}

/// Running sums of an epoch's figures.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Sums {
    pub loss: f64,
    pub classification: f64,
    pub contrastive: f64,
    pub diversity: f64,
    pub selected: f64,
    pub images: usize,
}

impl Sums {
    pub fn add(&mut self, step: &Step) {
        let images = step.images as f64;
        self.loss += step.loss * images;
        self.classification += step.classification * images;
        self.contrastive += step.contrastive * images;
        self.diversity += step.diversity * images;
        self.selected += step.selected * images;
        self.images += step.images;
    }
}

/// A checkpoint of this moment: of the parameters, those of the parts from `from` on, since those before it are the source
/// model's.
pub(super) fn pack(
    state: &State,
    progress: &Progress,
    identity: &str,
    from: Part,
) -> Checkpoint<Progress> {
    let State {
        online,
        momentum,
        velocity,
        bank,
        queue,
        history,
    } = state;
    let progress = Progress {
        bank_images: bank.images.clone(),
        queue_images: queue.images.clone(),
        queue_next: queue.next,
        history_labels: history.labels.clone(),
        history_pending: history.pending.clone(),
        history_slot: history.slot,
        ..progress.clone()
    };
    let velocity = Parameters {
        specs: online.specs.clone(),
        values: velocity.clone(),
    };
    let mut tensors = BTreeMap::new();
    for (prefix, parameters) in [
        ("online/", online),
        ("momentum/", momentum),
        ("velocity/", &velocity),
    ] {
        let named = parameters.to_arrays_from(from).into_iter();
        tensors.extend(named.map(|(name, array)| (format!("{prefix}{name}"), array)));
    }
    let memory = [
        ("bank-features", &bank.features),
        ("bank-probabilities", &bank.probabilities),
        ("queue-keys", &queue.keys),
    ];
    let named = |(name, tensor): (&str, &Tensor<2>)| (format!("memory/{name}"), array(tensor));
    tensors.extend(memory.map(named));
    Checkpoint {
        tensors,
        state: progress,
        identity: identity.to_string(),
    }
}

/// The moment a checkpoint was made; `source` are the parameters the run began with.
pub(super) fn unpack(
    checkpoint: Checkpoint<Progress>,
    source: &Parameters,
    history: usize,
    device: &Device,
) -> (State, Progress) {
    let Checkpoint {
        mut tensors,
        state: progress,
        ..
    } = checkpoint;

    let mut group = |prefix: &str| -> BTreeMap<String, Array> {
        let names: Vec<String> = tensors
            .keys()
            .filter(|name| name.starts_with(prefix))
            .cloned()
            .collect();
        let take = |name: String| {
            (
                name[prefix.len()..].to_string(),
                tensors.remove(&name).expect("listed"),
            )
        };
        names.into_iter().map(take).collect()
    };
    let online = source.with(group("online/"));
    let momentum = source.with(group("momentum/"));
    let at_rest = Parameters {
        specs: source.specs.clone(),
        values: at_rest(source),
    };
    let velocity = at_rest.with(group("velocity/")).values;
    let mut memory = group("memory/");
    let mut take = |name: &str| {
        matrix(
            &memory.remove(name).expect("written with every checkpoint"),
            device,
        )
    };
    let state = State {
        online,
        momentum,
        velocity,
        bank: Bank {
            images: progress.bank_images.clone(),
            features: take("bank-features"),
            probabilities: take("bank-probabilities"),
        },
        queue: Queue {
            images: progress.queue_images.clone(),
            keys: take("queue-keys"),
            next: progress.queue_next,
        },
        history: History {
            labels: progress.history_labels.clone(),
            pending: progress.history_pending.clone(),
            epochs: history,
            slot: progress.history_slot,
        },
    };
    (state, progress)
}
