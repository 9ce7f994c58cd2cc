//! What a run tells while it works. The library never prints: it emits events to an observer.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

use crate::discovery::Estimate;
use crate::health::Health;

/// A stage of the work, in the order they come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Drawing the demo's images.
    Drawing,
    /// Reading and checking images.
    Reading,
    /// Training the source model.
    Training,
    /// Views of all images through the frozen layers.
    Caching,
    /// Features of the target under the source model.
    Extracting,
    /// K-means and matching.
    Clustering,
    /// The loop.
    Adapting,
    /// Predictions of the final model.
    Predicting,
    /// Small pictures of the images.
    Picturing,
    /// The page.
    Reporting,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// A stage began; `total` is the number of images (or steps) it will work through.
    Began {
        /// The stage.
        stage: Stage,
        /// How much there is to do.
        total: usize,
    },
    /// A stage went on.
    Advanced {
        /// The stage.
        stage: Stage,
        /// How much is done.
        done: usize,
    },
    /// A stage ended.
    Ended {
        /// The stage.
        stage: Stage,
    },
    /// A work that had been interrupted goes on.
    Resumed {
        /// The epoch it goes on in, counted from 1.
        epoch: usize,
        /// Steps of that epoch already done.
        step: usize,
    },
    /// One optimiser step.
    Step(Step),
    /// One epoch of the loop.
    Epoch(Epoch),
    /// One epoch of source training.
    TrainingEpoch {
        /// Counted from 1.
        epoch: usize,
        /// Mean loss on the training images.
        loss: f64,
        /// Accuracy on the held-out images, in percent; none where none are held out.
        accuracy: Option<f64>,
    },
    /// Activations of frozen layers are about to be computed and kept.
    Caching {
        /// Size of the file.
        bytes: u64,
        /// How many images it is of.
        images: usize,
        /// How many of them were computed before, for another list.
        found: usize,
        /// Where.
        path: PathBuf,
    },
    /// How many new classes there seem to be.
    Estimated(Estimate),
    /// Whether the result can be believed.
    Judged(Health),
    /// The state was saved.
    Checkpoint {
        /// Where.
        path: PathBuf,
    },
    /// An adaptation came to its end.
    Finished {
        /// Since it began, or since it was resumed the last time.
        seconds: f64,
        /// The most memory the program has had, in MB, where the system says so.
        peak_mb: Option<u64>,
    },
    /// Something the user should know.
    Warning {
        /// In plain words.
        message: String,
    },
}

/// Figures of one step of adaptation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Step {
    /// Counted from 1.
    pub epoch: usize,
    /// Counted from 1, within the epoch.
    pub step: usize,
    /// Counted from 1, over all epochs.
    pub overall: usize,
    /// L.
    pub loss: f64,
    /// L_cls.
    pub classification: f64,
    /// L_ctr.
    pub contrastive: f64,
    /// L_div.
    pub diversity: f64,
    /// Share of the batch that was selected.
    pub selected: f64,
    /// Images in the batch.
    pub images: usize,
}

/// Figures of one epoch of adaptation: means over its steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Epoch {
    /// Counted from 1.
    pub epoch: usize,
    /// L.
    pub loss: f64,
    /// L_cls.
    pub classification: f64,
    /// L_ctr.
    pub contrastive: f64,
    /// L_div.
    pub diversity: f64,
    /// Share of images that were selected.
    pub selected: f64,
    /// Images whose refined pseudo-label differs from the epoch before.
    pub label_changes: usize,
    /// Share of images whose refined pseudo-label is a private class.
    pub unknown: f64,
    /// Images per second, all views together counting as one.
    pub images_per_second: f64,
    /// Share of the time in which the network waited for images to be read and rendered.
    pub waiting: f64,
}

/// Who listens, and who may ask the work to stop.
pub trait Observer: Sync {
    /// Takes an event.
    fn on(&self, event: &Event);

    /// Whether the work should stop at the next safe place, with its state saved.
    fn stop_requested(&self) -> bool {
        false
    }
}

/// Hears nothing, never stops.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {
    fn on(&self, _: &Event) {}
}

/// A request to stop that any thread may make.
#[derive(Debug, Default)]
pub struct StopFlag(AtomicBool);

impl StopFlag {
    /// Asks the work to stop.
    pub fn request(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether somebody asked.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
