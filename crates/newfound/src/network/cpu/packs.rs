//! Weights in the order the kernels read them.
//!
//! A pass that learns packs its weights once and throws them away; passes that do not can share what the first of them
//! packed. Either way the memory is used again.

use std::collections::HashMap;
use std::fmt;
use std::mem::take;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock};

use newfound_cpu::{BackwardWeights, Conv, ForwardWeights};

use super::{Plain, values};

/// Sizes of the weights, and whether they are packed for the way back.
type Key = ([usize; 4], bool);

/// Packed weights that wait for their next use.
#[derive(Default)]
struct Waiting {
    forward: HashMap<Key, Vec<ForwardWeights>>,
    backward: HashMap<Key, Vec<BackwardWeights>>,
}

static WAITING: LazyLock<Mutex<Waiting>> = LazyLock::new(Mutex::default);

fn waiting() -> MutexGuard<'static, Waiting> {
    // Lists of buffers are whole whatever panicked elsewhere.
    WAITING
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Gives all packed weights that wait for their next use back to the system.
pub(super) fn release() {
    *waiting() = Waiting::default();
}

fn key(conv: &Conv, back: bool) -> Key {
    ([conv.inputs, conv.outputs, conv.kernel, conv.stride], back)
}

/// Weights packed for the forward pass.
pub(super) struct Forward {
    key: Key,
    weights: ForwardWeights,
}

impl Forward {
    pub(super) fn pack(conv: &Conv, weight: &Plain) -> Self {
        let key = key(conv, false);
        let found = waiting().forward.get_mut(&key).and_then(Vec::pop);
        let mut weights = found.unwrap_or_default();
        weights.pack(conv, values(weight));
        Self { key, weights }
    }

    pub(super) fn get(&self) -> &ForwardWeights {
        &self.weights
    }
}

impl Drop for Forward {
    fn drop(&mut self) {
        let weights = take(&mut self.weights);
        waiting().forward.entry(self.key).or_default().push(weights);
    }
}

/// Weights packed for the input's gradient.
pub(super) struct Backward {
    key: Key,
    weights: BackwardWeights,
}

impl Backward {
    pub(super) fn pack(conv: &Conv, weight: &Plain) -> Self {
        let key = key(conv, true);
        let found = waiting().backward.get_mut(&key).and_then(Vec::pop);
        let mut weights = found.unwrap_or_default();
        weights.pack(conv, values(weight));
        Self { key, weights }
    }

    pub(super) fn get(&self) -> &BackwardWeights {
        &self.weights
    }
}

impl Drop for Backward {
    fn drop(&mut self) {
        let weights = take(&mut self.weights);
        waiting()
            .backward
            .entry(self.key)
            .or_default()
            .push(weights);
    }
}

/// A place for the packed weights of one convolution, shared by passes with the same parameters.
#[derive(Clone, Default)]
pub(in crate::network) struct Pack(Arc<OnceLock<(Plain, Forward)>>);

impl Pack {
    /// Calls `work` with these weights, packed by the first who asked for them.
    ///
    /// The tensor that was packed is kept beside its pack. As long as it lives, nothing writes to its memory and no other
    /// tensor can have it: the same address is the same weights.
    pub(super) fn with<T>(
        &self,
        conv: &Conv,
        weight: &Plain,
        work: impl FnOnce(&ForwardWeights) -> T,
    ) -> T {
        let make = || (weight.clone(), Forward::pack(conv, weight));
        let (of, pack) = self.0.get_or_init(make);
        if values(of).as_ptr() == values(weight).as_ptr() {
            work(pack.get())
        } else {
            work(Forward::pack(conv, weight).get())
        }
    }
}

impl fmt::Debug for Pack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.get().is_some() {
            "packed"
        } else {
            "empty"
        })
    }
}
