//! The layer between body and classifier in our own models: linear, then batch-norm, no ReLU.

use burn::tensor::Tensor;

use super::engine::{Pass, normalise};
use super::layers::{Builder, Norm};
use super::parameters::{Parameters, Part, Start};

/// Linear map to D features, batch-normalised.
///
/// Without a ReLU the features keep both signs, so that directions, which everything after this
/// compares by cosine, are spread over the whole sphere.
#[derive(Debug, Clone)]
pub struct Bottleneck {
    pub(crate) weight: usize,
    pub(crate) bias: usize,
    pub(crate) norm: Norm,
}

impl Bottleneck {
    pub(super) fn declare(build: &mut Builder, [input, width]: [usize; 2]) -> Self {
        let part = Part::Bottleneck;
        let start = Start::Uniform(1.0 / (input as f64).sqrt());
        Self {
            weight: build.parameter(
                part,
                "bottleneck.weight".into(),
                vec![width, input],
                true,
                start,
            ),
            bias: build.parameter(part, "bottleneck.bias".into(), vec![width], true, start),
            norm: build.norm(part, "bottleneck_norm", width),
        }
    }

    /// # Shapes
    ///
    /// `pooled` [B, features of the body] → [B, D]
    pub(super) fn forward(
        &self,
        parameters: &Parameters,
        pooled: Tensor<2>,
        pass: &Pass,
    ) -> Tensor<2> {
        let weight = parameters.get::<2>(self.weight);
        let bias = parameters.get::<1>(self.bias);
        let x = pooled.matmul(weight.transpose()) + bias.unsqueeze();
        normalise(&self.norm, parameters, x, pass)
    }
}
