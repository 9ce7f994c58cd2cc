//! The choices of source training.

use serde::{Deserialize, Serialize};

use super::Configuration;
use super::Trained;
use super::layers::Check;

/// All choices of `newfound train`. Section 2 of the method: plain cross-entropy, nothing ad hoc for open sets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TrainConfig {
    /// Everything random follows from it.
    pub seed: u64,
    /// Most passes over the training images.
    pub epochs: usize,
    /// Images per step, B.
    pub batch: usize,
    /// What is trained; what is not keeps the weights it was given.
    pub train: Trained,
    /// Width of the bottleneck layer, D.
    pub bottleneck: usize,
    /// Learning rate of the new layers.
    pub learning_rate: f64,
    /// The body's share of it when it starts from given weights; a new body has the full rate.
    pub body_rate: f64,
    /// SGD momentum.
    pub momentum: f64,
    /// Weight decay.
    pub weight_decay: f64,
    /// Label smoothing.
    pub label_smoothing: f64,
    /// Epochs without a better held-out accuracy after which training is good enough.
    pub patience: usize,
    /// Share of images held out, stratified by class, in percent.
    pub held_out: f64,
    /// Weak views that are kept of each image where the first layers are frozen.
    pub weak_views: usize,
    /// What those views are drawn from: not the seed, so that they serve trainings with other seeds too.
    pub view_seed: u64,
    /// Largest share of unreadable images that is still accepted, in percent.
    pub max_bad: f64,
}

impl Default for TrainConfig {
    fn default() -> Self {
        Self {
            seed: 0,
            epochs: 30,
            batch: 64,
            train: Trained::Auto,
            bottleneck: 256,
            learning_rate: 0.01,
            body_rate: 0.1,
            momentum: 0.9,
            weight_decay: 1e-3,
            label_smoothing: 0.0,
            patience: 5,
            held_out: 10.0,
            weak_views: 3,
            view_seed: 0,
            max_bad: 1.0,
        }
    }
}

impl Configuration for TrainConfig {
    fn preset(_: &str) -> Option<toml::Table> {
        None
    }

    fn presets() -> &'static [&'static str] {
        &[]
    }

    fn check(&self, check: &mut Check) {
        check.at_least("epochs", self.epochs, 1);
        check.at_least("batch", self.batch, 2);
        check.at_least("bottleneck", self.bottleneck, 1);
        check.at_least("patience", self.patience, 1);
        check.at_least("weak-views", self.weak_views, 1);
        check.positive("learning-rate", self.learning_rate);
        check.within("body-rate", self.body_rate, 0.0, 1.0);
        check.below("momentum", self.momentum, 1.0);
        check.within("weight-decay", self.weight_decay, 0.0, 1.0);
        check.below("label-smoothing", self.label_smoothing, 1.0);
        check.within("held-out", self.held_out, 0.0, 50.0);
        check.within("max-bad", self.max_bad, 0.0, 100.0);
    }
}
