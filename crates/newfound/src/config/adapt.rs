//! The choices of an adaptation.

use serde::{Deserialize, Serialize};

use super::Configuration;
use super::layers::{Check, table};
use crate::clustering::{KMeans, KnownClusters, Matching, SharedPrototypes};
use crate::device::Place;
use crate::losses::{Complementary, Contrast};
use crate::uncertainty::{Combination, WeightFunction};

/// All choices of `newfound adapt`. PAPER.md says for each what the paper has, and why ours may differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct AdaptConfig {
    /// Everything random follows from it.
    pub seed: u64,
    /// Passes over the target.
    pub epochs: usize,
    /// Images per step, B.
    pub batch: usize,
    /// What is fine-tuned.
    pub train: Trained,
    /// Learning rate of bottleneck and classifier.
    pub learning_rate: f64,
    /// The body's share of it.
    pub body_rate: f64,
    /// SGD momentum.
    pub momentum: f64,
    /// Weight decay.
    pub weight_decay: f64,
    /// Number of private classes allowed for, P.
    pub private: Private,
    /// How many clusters a known class may own at the start.
    pub known_clusters: KnownClusters,
    /// Geometry of the initial clustering, where a known class owns one.
    pub k_means: KMeans,
    /// Batch-norm of the source model when the target is clustered.
    pub start_norm: StartNorm,
    /// Restarts of the initial clustering.
    pub restarts: usize,
    /// How known classes find their clusters.
    pub matching: Matching,
    /// Where known prototypes start.
    pub shared_prototypes: SharedPrototypes,
    /// τ2, the temperature of the first probabilities.
    pub bank_temperature: f64,
    /// Most rows of the bank, M.
    pub bank: usize,
    /// k.
    pub neighbours: usize,
    /// Which model's features search the bank.
    pub search: Search,
    /// F of u_nc.
    pub consensus_weight: WeightFunction,
    /// F of u_cs.
    pub separation_weight: WeightFunction,
    /// ⊕.
    pub selection: Combination,
    /// Which complementary labels the classification loss uses.
    pub complementary: Complementary,
    /// The contrastive loss.
    pub contrast: Contrast,
    /// τ of the contrastive loss.
    pub temperature: f64,
    /// Most rows of the key queue, Q.
    pub queue: usize,
    /// Epochs of label history, T.
    pub history: usize,
    /// γ1.
    pub gamma_classification: f64,
    /// γ2.
    pub gamma_contrastive: f64,
    /// γ3.
    pub gamma_diversity: f64,
    /// The shares of the images that the diversity term expects classes to have.
    ///
    /// Runs that did not say expected all alike.
    #[serde(default = "ClassShares::equal")]
    pub class_shares: ClassShares,
    /// m of the momentum model.
    pub ema: Ema,
    /// Batch-norm of the momentum model.
    pub teacher_norm: TeacherNorm,
    /// Weak views that are kept of each image where the first layers are frozen.
    pub weak_views: usize,
    /// Strong views, likewise.
    pub strong_views: usize,
    /// What those views are drawn from: not the seed, so that they serve runs with other seeds too.
    pub view_seed: u64,
    /// Largest share of unreadable images that is still accepted, in percent.
    pub max_bad: f64,
}

/// What is fine-tuned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trained {
    /// By device: `head` on a CPU, `all` elsewhere. See [`Trained::on`].
    Auto,
    /// Everything: the paper.
    All,
    /// The last stage of the body, the bottleneck and the classifier.
    LastStage,
    /// The bottleneck and the classifier.
    Head,
}

impl Trained {
    /// What `auto` is on a device.
    ///
    /// On two cores an epoch of `all` costs minutes and one of `head` less than a second, and `head` was no worse where
    /// both were measured (docs/RESULTS.md).
    pub fn on(self, place: &Place) -> Self {
        match self {
            Self::Auto if place.is_cpu() => Self::Head,
            Self::Auto => Self::All,
            chosen => chosen,
        }
    }

    /// Whether nothing is frozen. An `auto` that met no device is `all`.
    pub fn everything(self) -> bool {
        matches!(self, Self::All | Self::Auto)
    }
}

/// How many private classes are allowed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Private {
    /// This many.
    Number(usize),
    /// By a rule.
    Rule(PrivateRule),
}

/// A rule for the number of private classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PrivateRule {
    /// As many as there are known ones: the paper.
    Same,
    /// As many as there seem to be: [`crate::discovery`].
    Auto,
}

impl Private {
    /// As many as there are known classes.
    pub const SAME: Self = Self::Rule(PrivateRule::Same);

    /// As many as there seem to be.
    pub const AUTO: Self = Self::Rule(PrivateRule::Auto);

    /// P for C known classes; none where the images decide.
    pub fn count(self, known: usize) -> Option<usize> {
        match self {
            Self::Number(count) => Some(count),
            Self::Rule(PrivateRule::Same) => Some(known),
            Self::Rule(PrivateRule::Auto) => None,
        }
    }
}

/// What the diversity term expects of the classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClassShares {
    /// All alike: the paper.
    Equal,
    /// All alike, but for known classes that hardly any image is in at the start, where a known class may own several clusters.
    Found,
}

impl ClassShares {
    fn equal() -> Self {
        Self::Equal
    }
}

/// Which model's features search the bank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Search {
    /// The momentum model's, which the bank stores anyway: one pass over the weak view.
    Momentum,
    /// The online model's, as printed: a second pass.
    Online,
}

/// The momentum model's batch normalisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TeacherNorm {
    /// Running statistics, averaged like the parameters.
    Eval,
    /// The batch's own statistics, as in the closed-set ancestor of the method.
    Train,
}

/// Batch normalisation of the source model when the target is clustered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartNorm {
    /// The running statistics of the source: evaluation mode.
    Source,
    /// Statistics measured anew on the target, in the parts that will be trained: the features that a momentum model with
    /// `teacher-norm = train` will see, so that the bank it searches first is one of its own kind.
    Target,
}

/// m of the momentum model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Ema {
    /// This value.
    Momentum(f64),
    /// By a rule.
    Rule(EmaRule),
}

/// A rule for the momentum model's m.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EmaRule {
    /// From the number of steps: see [`Ema::at`].
    Auto,
}

impl Ema {
    /// Chosen from the number of steps.
    pub const AUTO: Self = Self::Rule(EmaRule::Auto);

    /// m for a run of this many steps.
    ///
    /// A moving average remembers about 1/(1 − m) steps. The automatic one remembers a fifth of the run, so that
    /// the source model's share ends below 1 % (e⁻⁵), between 0.9 and 0.999, the paper's value for long runs.
    pub fn at(self, steps: usize) -> f64 {
        match self {
            Self::Momentum(m) => m,
            Self::Rule(EmaRule::Auto) => (1.0 - 5.0 / steps.max(1) as f64).clamp(0.9, 0.999),
        }
    }
}

impl AdaptConfig {
    /// Whether known classes may own several clusters at the start.
    pub fn several_clusters(&self) -> bool {
        match self.known_clusters {
            KnownClusters::Auto => self.private == Private::AUTO,
            KnownClusters::One => false,
            KnownClusters::Several => true,
        }
    }
}

impl Default for AdaptConfig {
    fn default() -> Self {
        Self {
            seed: 0,
            epochs: 15,
            batch: 64,
            train: Trained::Auto,
            learning_rate: 0.01,
            body_rate: 0.1,
            momentum: 0.9,
            weight_decay: 1e-3,
            private: Private::AUTO,
            known_clusters: KnownClusters::Auto,
            k_means: KMeans::Spherical,
            start_norm: StartNorm::Source,
            restarts: 10,
            matching: Matching::Hungarian,
            shared_prototypes: SharedPrototypes::Blend,
            bank_temperature: 0.1,
            bank: 16384,
            neighbours: 10,
            search: Search::Momentum,
            consensus_weight: WeightFunction::Exponential,
            separation_weight: WeightFunction::Linear,
            selection: Combination::And,
            complementary: Complementary::All,
            contrast: Contrast::Combined,
            temperature: 0.07,
            queue: 16384,
            history: 5,
            gamma_classification: 1.0,
            gamma_contrastive: 1.0,
            gamma_diversity: 1.0,
            class_shares: ClassShares::Found,
            ema: Ema::AUTO,
            teacher_norm: TeacherNorm::Eval,
            weak_views: 3,
            strong_views: 6,
            view_seed: 0,
            max_bad: 1.0,
        }
    }
}

impl Configuration for AdaptConfig {
    fn preset(name: &str) -> Option<toml::Table> {
        // Only what differs from the defaults in the paper's literal reading.
        (name == "paper").then(|| {
            table(&[
                ("k-means", "euclidean".into()),
                ("start-norm", "source".into()),
                ("matching", "greedy".into()),
                ("shared-prototypes", "source".into()),
                ("search", "online".into()),
                ("complementary", "one".into()),
                ("contrast", "literal".into()),
                ("gamma-classification", 1.0.into()),
                ("gamma-contrastive", 1.0.into()),
                ("gamma-diversity", 1.0.into()),
                ("class-shares", "equal".into()),
                ("private", "same".into()),
                ("known-clusters", "one".into()),
                ("train", "all".into()),
                ("ema", 0.999.into()),
            ])
        })
    }

    fn presets() -> &'static [&'static str] {
        &["paper"]
    }

    fn check(&self, check: &mut Check) {
        check.at_least("epochs", self.epochs, 1);
        check.at_least("batch", self.batch, 2);
        check.at_least("restarts", self.restarts, 1);
        check.at_least("bank", self.bank, 2);
        check.at_least("neighbours", self.neighbours, 1);
        check.at_least("queue", self.queue, 1);
        check.at_least("history", self.history, 1);
        check.at_least("weak-views", self.weak_views, 1);
        check.at_least("strong-views", self.strong_views, 1);
        check.positive("learning-rate", self.learning_rate);
        check.within("body-rate", self.body_rate, 0.0, 1.0);
        check.below("momentum", self.momentum, 1.0);
        check.within("weight-decay", self.weight_decay, 0.0, 1.0);
        check.positive("bank-temperature", self.bank_temperature);
        check.positive("temperature", self.temperature);
        check.within("gamma-classification", self.gamma_classification, 0.0, 1e6);
        check.within("gamma-contrastive", self.gamma_contrastive, 0.0, 1e6);
        check.within("gamma-diversity", self.gamma_diversity, 0.0, 1e6);
        check.within("max-bad", self.max_bad, 0.0, 100.0);
        if let Ema::Momentum(m) = self.ema {
            check.within("ema", m, 0.0, 1.0);
        }
    }
}
