//! Units and pools as they are computed.

use burn::backend::{Flex, TensorMetadata};
use newfound_cpu as kernels;

use super::buffers::Buffer;
use super::update::{ema_plain, sgd_plain};
use super::{
    ChannelsLast, Plain, Search, SgdRule, UnitOptions, convolution, dims, output_shape, tensor,
    values,
};
use crate::network::layers::EPSILON;

/// What the backward pass of a unit needs.
#[derive(Debug, Clone)]
pub(super) struct Saved {
    pub(super) conv: kernels::Conv,
    pub(super) relu: bool,
    pub(super) training: bool,
    pub(super) x: Plain,
    pub(super) weight: Plain,
    pub(super) gamma: Plain,
    pub(super) beta: Plain,
    pub(super) mean: Plain,
    pub(super) variance: Plain,
    /// The convolution's output.
    pub(super) convolved: Plain,
    /// The unit's output, where its ReLU followed a shortcut: the mask cannot be found from `convolved` alone.
    pub(super) y: Option<Plain>,
}

impl Saved {
    pub(super) fn norm(&self) -> kernels::BatchNorm<'_> {
        kernels::BatchNorm {
            gamma: values(&self.gamma),
            beta: values(&self.beta),
            mean: values(&self.mean),
            variance: values(&self.variance),
            epsilon: EPSILON as f32,
        }
    }
}

/// The unit's result with everything its backward pass needs.
#[allow(clippy::too_many_arguments)]
pub(super) fn unit_with_saved(
    x: Plain,
    weight: Plain,
    gamma: Plain,
    beta: Plain,
    mean: Plain,
    variance: Plain,
    shortcut: Option<Plain>,
    options: UnitOptions,
) -> (Plain, Saved) {
    let x = x.to_contiguous();
    let conv = convolution(&x, &gamma, &options);
    let mut convolved = Buffer::new(conv.output_len());
    let convolve = |weights: &kernels::ForwardWeights| {
        let (x, y) = (values(&x), &mut convolved);
        if options.training {
            let mut statistics = kernels::Statistics::default();
            kernels::forward_with_statistics(&conv, x, weights, y, &mut statistics);
            (
                tensor(statistics.mean, [conv.outputs]),
                tensor(statistics.variance, [conv.outputs]),
            )
        } else {
            kernels::forward(&conv, x, weights, &kernels::Epilogue::default(), y);
            (mean, variance)
        }
    };
    let (mean, variance) = options.pack.with(&conv, &weight, convolve);
    let convolved = convolved.tensor(output_shape(&conv));
    let mut saved = Saved {
        conv,
        relu: options.relu,
        training: options.training,
        x,
        weight,
        gamma,
        beta,
        mean,
        variance,
        convolved,
        y: None,
    };
    let shortcut = shortcut.map(|shortcut| shortcut.to_contiguous());
    let mut y = Buffer::new(conv.output_len());
    let residual = shortcut.as_ref().map(values);
    kernels::batch_norm(
        &saved.norm(),
        values(&saved.convolved),
        residual,
        activation(&options),
        &mut y,
    );
    let y = y.tensor(output_shape(&conv));
    saved.y = (shortcut.is_some() && options.relu).then(|| y.clone());
    (y, saved)
}

fn activation(options: &UnitOptions) -> kernels::Activation {
    if options.relu {
        kernels::Activation::Relu
    } else {
        kernels::Activation::Identity
    }
}

/// A unit outside of any graph: nothing is kept.
#[allow(clippy::too_many_arguments)]
pub(super) fn unit_alone(
    x: Plain,
    weight: Plain,
    gamma: Plain,
    beta: Plain,
    mean: Plain,
    variance: Plain,
    shortcut: Option<Plain>,
    options: UnitOptions,
) -> (Plain, Plain, Plain) {
    if options.training {
        let (y, saved) = unit_with_saved(x, weight, gamma, beta, mean, variance, shortcut, options);
        return (y, saved.mean, saved.variance);
    }
    // Evaluation: the normalisation is a factor and a term per channel, applied while the result is in registers.
    let x = x.to_contiguous();
    let conv = convolution(&x, &gamma, &options);
    let norm = kernels::BatchNorm {
        gamma: values(&gamma),
        beta: values(&beta),
        mean: values(&mean),
        variance: values(&variance),
        epsilon: EPSILON as f32,
    };
    let (mut scale, mut shift) = (vec![0.0; conv.outputs], vec![0.0; conv.outputs]);
    kernels::fold(&norm, &mut scale, &mut shift);
    let shortcut = shortcut.map(|shortcut| shortcut.to_contiguous());
    let epilogue = kernels::Epilogue {
        scale: Some(&scale),
        shift: Some(&shift),
        residual: shortcut.as_ref().map(values),
        activation: activation(&options),
    };
    let mut y = Buffer::new(conv.output_len());
    let convolve = |weights: &kernels::ForwardWeights| {
        kernels::forward(&conv, values(&x), weights, &epilogue, &mut y);
    };
    options.pack.with(&conv, &weight, convolve);
    (y.tensor(output_shape(&conv)), mean, variance)
}

impl ChannelsLast for Flex {
    fn unit(
        x: Plain,
        weight: Plain,
        gamma: Plain,
        beta: Plain,
        mean: Plain,
        variance: Plain,
        options: UnitOptions,
    ) -> (Plain, Plain, Plain) {
        unit_alone(x, weight, gamma, beta, mean, variance, None, options)
    }

    fn unit_with_shortcut(
        x: Plain,
        weight: Plain,
        gamma: Plain,
        beta: Plain,
        mean: Plain,
        variance: Plain,
        shortcut: Plain,
        options: UnitOptions,
    ) -> (Plain, Plain, Plain) {
        unit_alone(
            x,
            weight,
            gamma,
            beta,
            mean,
            variance,
            Some(shortcut),
            options,
        )
    }

    fn max_pool(x: Plain) -> Plain {
        pooled(x).0
    }

    fn global_average(x: Plain) -> Plain {
        let x = x.to_contiguous();
        let [batch, height, width, channels] = dims(&x);
        let mut y = vec![0.0; batch * channels];
        kernels::global_average(height * width, channels, values(&x), &mut y);
        tensor(y, [batch, channels])
    }

    fn sgd(parameter: Plain, velocity: Plain, gradient: Plain, rule: SgdRule) -> (Plain, Plain) {
        sgd_plain(parameter, velocity, gradient, rule)
    }

    fn nearest(queries: Plain, bank: Plain, search: Search) -> Plain {
        let (queries, bank) = (queries.to_contiguous(), bank.to_contiguous());
        let [count, width] = queries.shape().dims();
        let Search {
            k,
            query_images,
            bank_images,
        } = search;
        let allowed = |query: usize, row: usize| query_images[query] != bank_images[row];
        let found = kernels::nearest(width, values(&queries), values(&bank), k, allowed);
        // A bank has at most 2²⁴ rows, whose numbers are exact.
        let found = found.into_iter().map(|row| row as f32).collect();
        tensor(found, [count, k])
    }

    fn ema(slow: Plain, fast: Plain, m: f64) -> Plain {
        ema_plain(slow, fast, m)
    }
}

/// The pooled activation, its sizes, and which position of each window won.
pub(super) fn pooled(x: Plain) -> (Plain, kernels::MaxPool, Vec<u8>) {
    let x = x.to_contiguous();
    let [batch, height, width, channels] = dims(&x);
    let pool = kernels::MaxPool {
        batch,
        height,
        width,
        channels,
        window: 3,
        stride: 2,
        padding: 1,
    };
    let (mut y, mut winners) = (Buffer::new(pool.output_len()), vec![0; pool.output_len()]);
    kernels::max_pool(&pool, values(&x), &mut y, &mut winners);
    let shape = [batch, pool.output_height(), pool.output_width(), channels];
    (y.tensor(shape), pool, winners)
}
