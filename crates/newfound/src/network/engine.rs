//! What runs a network's layers, and in which mode.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use burn::tensor::Tensor;
use burn::tensor::activation::relu;
use burn::tensor::module::{adaptive_avg_pool2d, batch_norm, batch_norm_train, conv2d, max_pool2d};
use burn::tensor::ops::{ConvOptions, MaxPoolOptions};

use super::cpu::{self, Pack, UnitOptions};
use super::layers::{EPSILON, Norm, STATISTICS_MOMENTUM, Unit};
use super::parameters::{Parameters, Part};

/// One run through the network: which parts use the batch's own statistics, and what those were.
///
/// A forward pass changes nothing. What batch normalisation measured on the way is collected here and
/// written by the loop, with [`Pass::update`], where it can be seen.
#[derive(Debug)]
pub struct Pass {
    /// Parts from here on are in training mode; none in evaluation.
    training_from: Option<Part>,
    measured: RefCell<Vec<Measured>>,
    /// Packed weights of each convolution, by the number of its parameter.
    packs: Rc<RefCell<HashMap<usize, Pack>>>,
}

/// Statistics of one batch at one normalisation.
#[derive(Debug)]
struct Measured {
    norm: Norm,
    mean: Tensor<1>,
    /// Unbiased: divided by n − 1, as the running variance wants it.
    variance: Tensor<1>,
}

impl Pass {
    /// Every part normalises with its running statistics.
    pub fn evaluation() -> Self {
        Self::new(None)
    }

    /// Parts from `part` on normalise with the batch's statistics; those before it are frozen.
    pub fn training_from(part: Part) -> Self {
        Self::new(Some(part))
    }

    fn new(training_from: Option<Part>) -> Self {
        Self {
            training_from,
            measured: RefCell::default(),
            packs: Rc::default(),
        }
    }

    /// A pass in the same mode that has measured nothing yet. If its parameters are the same too, they need not be packed
    /// for the kernels again.
    pub fn again(&self) -> Self {
        Self {
            packs: self.packs.clone(),
            ..Self::new(self.training_from)
        }
    }

    /// Every part normalises with the batch's statistics.
    pub fn training() -> Self {
        Self::training_from(Part::Body(0))
    }

    /// Whether this part is in training mode.
    pub(super) fn trains(&self, part: Part) -> bool {
        self.training_from.is_some_and(|from| part >= from)
    }

    /// Notes what a normalisation measured over `count` values per channel.
    pub(super) fn note(&self, norm: Norm, mean: Tensor<1>, biased: Tensor<1>, count: usize) {
        let (mean, biased) = (mean.inner(), biased.inner());
        // A batch with one value per channel has no variance to speak of: n − 1 must not be 0.
        let variance = biased.mul_scalar(count as f64 / (count.max(2) - 1) as f64);
        self.measured.borrow_mut().push(Measured {
            norm,
            mean,
            variance,
        });
    }

    /// Moves the running statistics of `parameters` towards what this pass measured.
    pub fn update(self, parameters: &mut Parameters) {
        self.blend(parameters, STATISTICS_MOMENTUM);
    }

    /// Gives what this pass measured a `share` of the running statistics of `parameters`.
    pub fn blend(self, parameters: &mut Parameters, share: f64) {
        for Measured {
            norm,
            mean,
            variance,
        } in self.measured.into_inner()
        {
            for (index, batch) in [(norm.mean, mean), (norm.variance, variance)] {
                parameters.values[index]
                    .inplace(|running| running.mul_scalar(1.0 - share) + batch.mul_scalar(share));
            }
        }
    }
}

/// Who computes the layers of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// Burn's own operations, channels first: every device.
    Burn,
    /// The kernels of `newfound-cpu`, channels last: the CPU only.
    Cpu,
}

impl Engine {
    /// The engine for the CPU.
    pub fn for_cpu() -> Self {
        Self::Cpu
    }

    /// Images [B, 3, H, W] in the layout of this engine.
    pub(super) fn input(self, images: Tensor<4>) -> Tensor<4> {
        match self {
            Self::Burn => images,
            Self::Cpu => images.permute([0, 2, 3, 1]),
        }
    }

    /// Convolution, normalisation, then the optional shortcut and ReLU.
    pub(super) fn unit(
        self,
        unit: &Unit,
        parameters: &Parameters,
        x: Tensor<4>,
        shortcut: Option<Tensor<4>>,
        with_relu: bool,
        pass: &Pass,
    ) -> Tensor<4> {
        let Unit { conv, norm } = unit;
        if self == Self::Cpu {
            return cpu_unit(unit, parameters, x, shortcut, with_relu, pass);
        }
        let options = ConvOptions::new([conv.stride; 2], [conv.padding(); 2], [1, 1], 1);
        let y = conv2d(x, parameters.get::<4>(conv.weight), None, options);
        let y = normalise(norm, parameters, y, pass);
        let y = match shortcut {
            Some(shortcut) => y + shortcut,
            None => y,
        };
        if with_relu { relu(y) } else { y }
    }

    /// 3×3 maximum, stride 2.
    pub(super) fn max_pool(self, x: Tensor<4>) -> Tensor<4> {
        if self == Self::Cpu {
            return cpu::max_pool(x);
        }
        let options = MaxPoolOptions {
            stride: [2, 2],
            padding: [(1, 1), (1, 1)],
            ..MaxPoolOptions::new([3, 3])
        };
        max_pool2d(x, options)
    }

    /// Mean over all positions → [B, C].
    pub(super) fn global_average(self, x: Tensor<4>) -> Tensor<2> {
        if self == Self::Cpu {
            return cpu::global_average(x);
        }
        let [batch, channels, ..] = x.dims();
        adaptive_avg_pool2d(x, [1, 1]).reshape([batch, channels])
    }
}

fn cpu_unit(
    Unit { conv, norm }: &Unit,
    parameters: &Parameters,
    x: Tensor<4>,
    shortcut: Option<Tensor<4>>,
    relu: bool,
    pass: &Pass,
) -> Tensor<4> {
    let [batch, height, width, _] = x.dims();
    let training = pass.trains(norm.part);
    let options = UnitOptions {
        kernel: conv.kernel,
        stride: conv.stride,
        relu,
        training,
        pack: pass
            .packs
            .borrow_mut()
            .entry(conv.weight)
            .or_default()
            .clone(),
    };
    let value = |index: usize| parameters.values[index].clone();
    let vectors = [norm.weight, norm.bias, norm.mean, norm.variance].map(value);
    let (y, mean, variance) = cpu::unit(x, value(conv.weight), vectors, shortcut, options);
    if training {
        let side = |length: usize| length.div_ceil(conv.stride);
        pass.note(*norm, mean, variance, batch * side(height) * side(width));
    }
    y
}

/// Batch normalisation over the second axis, in the mode the pass wants.
pub(super) fn normalise<const N: usize>(
    norm: &Norm,
    parameters: &Parameters,
    x: Tensor<N>,
    pass: &Pass,
) -> Tensor<N> {
    let (weight, bias) = (
        parameters.get::<1>(norm.weight),
        parameters.get::<1>(norm.bias),
    );
    if pass.trains(norm.part) {
        let count = x.shape().num_elements() / x.dims()[1];
        let out = batch_norm_train(x, weight, bias, EPSILON);
        pass.note(*norm, out.mean, out.variance, count);
        out.output
    } else {
        let (mean, variance) = (
            parameters.get::<1>(norm.mean),
            parameters.get::<1>(norm.variance),
        );
        batch_norm(x, weight, bias, mean, variance, EPSILON)
    }
}
