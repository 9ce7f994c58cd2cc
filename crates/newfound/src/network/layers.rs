//! The layers a network is declared from.

use burn::tensor::Tensor;

use super::engine::{Engine, Pass};
use super::parameters::{Parameters, Part, Spec, Start};

/// A convolution without bias: positions of its parameter and its sizes.
#[derive(Debug, Clone, Copy)]
pub struct Conv {
    pub(crate) weight: usize,
    pub(crate) kernel: usize,
    pub(crate) stride: usize,
}

impl Conv {
    /// Zero padding that keeps the resolution at stride 1.
    pub(crate) fn padding(&self) -> usize {
        self.kernel / 2
    }
}

/// A batch normalisation: positions of its four parameters.
#[derive(Debug, Clone, Copy)]
pub struct Norm {
    pub(super) part: Part,
    pub(crate) weight: usize,
    pub(crate) bias: usize,
    pub(crate) mean: usize,
    pub(crate) variance: usize,
}

/// Added to the variance before the square root, as everywhere in the field.
pub(crate) const EPSILON: f64 = 1e-5;

/// Share of the batch's statistics in the running ones after a training step.
pub const STATISTICS_MOMENTUM: f64 = 0.1;

/// Convolution → batch-norm → (+ shortcut) → (ReLU): what residual networks are made of, and what an
/// engine may do in one go.
#[derive(Debug, Clone, Copy)]
pub struct Unit {
    pub(crate) conv: Conv,
    pub(crate) norm: Norm,
}

impl Unit {
    pub(super) fn forward(
        &self,
        engine: Engine,
        parameters: &Parameters,
        x: Tensor<4>,
        shortcut: Option<Tensor<4>>,
        relu: bool,
        pass: &Pass,
    ) -> Tensor<4> {
        engine.unit(self, parameters, x, shortcut, relu, pass)
    }
}

/// Collects the parameters of a network while its layers are declared.
#[derive(Debug, Default)]
pub struct Builder {
    pub(super) specs: Vec<Spec>,
}

impl Builder {
    /// Declares one parameter; gives its position.
    pub fn parameter(
        &mut self,
        part: Part,
        name: String,
        shape: Vec<usize>,
        learned: bool,
        start: Start,
    ) -> usize {
        self.specs.push(Spec {
            name,
            shape,
            part,
            learned,
            start,
        });
        self.specs.len() - 1
    }

    /// Declares the four parameters of a batch normalisation.
    pub fn norm(&mut self, part: Part, name: &str, channels: usize) -> Norm {
        let mut vector = |suffix: &str, learned, start| {
            let start = Start::Constant(start);
            self.parameter(
                part,
                format!("{name}.{suffix}"),
                vec![channels],
                learned,
                start,
            )
        };
        Norm {
            part,
            weight: vector("weight", true, 1.0),
            bias: vector("bias", true, 0.0),
            mean: vector("running_mean", false, 0.0),
            variance: vector("running_var", false, 1.0),
        }
    }

    /// Declares a convolution and the batch normalisation after it.
    pub fn unit(
        &mut self,
        part: Part,
        conv: &str,
        norm: &str,
        [input, output]: [usize; 2],
        kernel: usize,
        stride: usize,
    ) -> Unit {
        // He et al. (2015), fan-out: as torchvision starts its residual networks.
        let deviation = (2.0 / (output * kernel * kernel) as f64).sqrt();
        let weight = self.parameter(
            part,
            format!("{conv}.weight"),
            vec![output, input, kernel, kernel],
            true,
            Start::Normal(deviation),
        );
        Unit {
            conv: Conv {
                weight,
                kernel,
                stride,
            },
            norm: self.norm(part, norm, output),
        }
    }
}
