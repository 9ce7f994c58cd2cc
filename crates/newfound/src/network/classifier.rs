//! The classifier h: linear with bias, weight-normalised per row. Section III-A of the paper.

use burn::tensor::Tensor;

use super::layers::Builder;
use super::parameters::{Parameters, Part, Start};
use crate::weights::Array;

/// Positions of the classifier's three parameters.
///
/// The effective weight row of class i, its *prototype*, is
///
/// ```text
/// W[i] = g[i] · v[i] / ‖v[i]‖
/// ```
#[derive(Debug, Clone)]
pub struct Classifier {
    direction: usize,
    gain: usize,
    bias: usize,
}

/// Keeps the direction of an all-zero row finite. Far below the square of any real weight's norm.
const TINY: f64 = 1e-24;

impl Classifier {
    pub(super) fn declare(build: &mut Builder, [features, outputs]: [usize; 2]) -> Self {
        let part = Part::Classifier;
        // Xavier; the gain starts at the norm such a row has on average, so that W starts near v.
        let deviation = (2.0 / (features + outputs) as f64).sqrt();
        let norm = (deviation * (features as f64).sqrt()) as f32;
        let mut declare = |name: &str, shape, start| {
            build.parameter(part, format!("classifier.{name}"), shape, true, start)
        };
        Self {
            direction: declare(
                "weight_v",
                vec![outputs, features],
                Start::Normal(deviation),
            ),
            gain: declare("weight_g", vec![outputs], Start::Constant(norm)),
            bias: declare("bias", vec![outputs], Start::Constant(0.0)),
        }
    }

    /// The prototypes W.
    ///
    /// # Shapes
    ///
    /// → [K, D]
    #[doc(alias = "W")]
    pub fn prototypes(&self, parameters: &Parameters) -> Tensor<2> {
        let direction = parameters.get::<2>(self.direction);
        let gain = parameters.get::<1>(self.gain);
        weight_normalised(direction, gain)
    }

    /// Logits of features.
    ///
    /// # Shapes
    ///
    /// `features` [B, D] → [B, K]
    pub(super) fn forward(&self, parameters: &Parameters, features: Tensor<2>) -> Tensor<2> {
        let bias = parameters.get::<1>(self.bias);
        features.matmul(self.prototypes(parameters).transpose()) + bias.unsqueeze()
    }
}

/// Rows of length `gain` in the directions of `direction`.
///
/// # Shapes
///
/// `direction` [K, D], `gain` \[K\] → [K, D]
pub fn weight_normalised(direction: Tensor<2>, gain: Tensor<1>) -> Tensor<2> {
    let norm = (direction.clone().square().sum_dim(1) + TINY).sqrt(); // [K, 1]
    direction / norm * gain.unsqueeze_dim(1)
}

/// The classifier's parameters as arrays: what is exchanged with files and with the clustering.
#[derive(Debug, Clone, PartialEq)]
pub struct Head {
    /// Prototypes W, one row per class: [K, D].
    pub prototypes: Array,
    /// One bias per class: \[K\].
    pub bias: Vec<f32>,
}

impl Head {
    /// Number of outputs, K.
    pub fn outputs(&self) -> usize {
        self.prototypes.shape[0]
    }

    /// Prototype of one class.
    pub fn row(&self, class: usize) -> &[f32] {
        let features = self.prototypes.shape[1];
        &self.prototypes.values[class * features..][..features]
    }

    /// With the classes that another one has beyond these.
    pub fn extended(mut self, other: &Self) -> Self {
        let own = self.outputs();
        for class in own..other.outputs() {
            self.prototypes.values.extend(other.row(class));
        }
        self.bias.extend(&other.bias[own..]);
        self.prototypes.shape[0] = other.outputs();
        self
    }

    /// As the named parameters of a [`Classifier`].
    pub fn into_arrays(self) -> [(String, Array); 3] {
        let gains = (0..self.outputs())
            .map(|class| norm(self.row(class)))
            .collect();
        let outputs = vec![self.outputs()];
        [
            ("classifier.weight_v".into(), self.prototypes),
            (
                "classifier.weight_g".into(),
                Array {
                    shape: outputs.clone(),
                    values: gains,
                },
            ),
            (
                "classifier.bias".into(),
                Array {
                    shape: outputs,
                    values: self.bias,
                },
            ),
        ]
    }
}

/// Length of a row, accumulated in double precision.
pub fn norm(row: &[f32]) -> f32 {
    row.iter()
        .map(|&x| f64::from(x).powi(2))
        .sum::<f64>()
        .sqrt() as f32
}
