//! The layers of the body on the CPU: channels-last kernels behind Burn's backend extension.
//!
//! An activation is a tensor [B, H, W, C]. A whole unit (convolution, batch-norm, shortcut, ReLU) is one operation with
//! one hand-written backward, so nothing between them is stored but the convolution's output.

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, TensorMetadata, backend_extension};
use burn::tensor::{Tensor, TensorData};
use newfound_cpu as kernels;

use super::layers::EPSILON;

/// Which statistics a unit normalises with, and what follows.
#[derive(Debug, Clone, Copy)]
pub struct UnitOptions {
    pub(super) kernel: usize,
    pub(super) stride: usize,
    pub(super) relu: bool,
    /// The batch's own statistics, rather than the running ones.
    pub(super) training: bool,
}

/// The operations, for tensors on the CPU with and without autodiff.
#[backend_extension(Flex, Autodiff)]
pub trait ChannelsLast: Backend {
    /// relu(norm(conv(x))): gives the result, and the mean and biased variance it was normalised with.
    fn unit(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        gamma: FloatTensor<Self>,
        beta: FloatTensor<Self>,
        mean: FloatTensor<Self>,
        variance: FloatTensor<Self>,
        options: UnitOptions,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>);

    /// relu(norm(conv(x)) + shortcut), with the same statistics.
    #[allow(clippy::too_many_arguments)]
    fn unit_with_shortcut(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        gamma: FloatTensor<Self>,
        beta: FloatTensor<Self>,
        mean: FloatTensor<Self>,
        variance: FloatTensor<Self>,
        shortcut: FloatTensor<Self>,
        options: UnitOptions,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>);

    /// 3×3 maximum, stride 2, padding 1.
    fn max_pool(x: FloatTensor<Self>) -> FloatTensor<Self>;

    /// Mean over all positions: [B, H, W, C] → [B, C].
    fn global_average(x: FloatTensor<Self>) -> FloatTensor<Self>;
}

/// See [`ChannelsLast::unit`].
///
/// # Shapes
///
/// `x` [B, H, W, I], `weight` [O·I·k·k], the vectors \[O\], `shortcut` [B, H', W', O] → [B, H', W', O] and two of \[O\]
pub(super) fn unit(
    x: Tensor<4>,
    weight: Tensor<1>,
    [gamma, beta, mean, variance]: [Tensor<1>; 4],
    shortcut: Option<Tensor<4>>,
    options: UnitOptions,
) -> (Tensor<4>, Tensor<1>, Tensor<1>) {
    let (x, weight) = (x.into_dispatch(), weight.into_dispatch());
    let [gamma, beta, mean, variance] = [gamma, beta, mean, variance].map(Tensor::into_dispatch);
    let (y, mean, variance) = match shortcut {
        None => <Dispatch as ChannelsLast>::unit(x, weight, gamma, beta, mean, variance, options),
        Some(shortcut) => {
            let shortcut = shortcut.into_dispatch();
            <Dispatch as ChannelsLast>::unit_with_shortcut(
                x, weight, gamma, beta, mean, variance, shortcut, options,
            )
        }
    };
    (
        Tensor::from_dispatch(y),
        Tensor::from_dispatch(mean),
        Tensor::from_dispatch(variance),
    )
}

/// See [`ChannelsLast::max_pool`].
pub(super) fn max_pool(x: Tensor<4>) -> Tensor<4> {
    Tensor::from_dispatch(<Dispatch as ChannelsLast>::max_pool(x.into_dispatch()))
}

/// See [`ChannelsLast::global_average`].
pub(super) fn global_average(x: Tensor<4>) -> Tensor<2> {
    Tensor::from_dispatch(<Dispatch as ChannelsLast>::global_average(
        x.into_dispatch(),
    ))
}

/// A tensor of the CPU backend.
type Plain = FloatTensor<Flex>;

/// Its values; the tensor must have been made contiguous.
fn values(tensor: &Plain) -> &[f32] {
    tensor
        .as_slice::<f32>()
        .expect("contiguous single-precision values")
}

fn tensor(values: Vec<f32>, shape: impl Into<Vec<usize>>) -> Plain {
    Plain::from_data(TensorData::new(values, shape.into()))
}

fn dims(tensor: &Plain) -> [usize; 4] {
    tensor.shape().dims()
}

/// The convolution of a unit, its sizes read off its tensors.
fn convolution(x: &Plain, gamma: &Plain, options: &UnitOptions) -> kernels::Conv {
    let [batch, height, width, inputs] = dims(x);
    kernels::Conv {
        batch,
        height,
        width,
        inputs,
        outputs: values(gamma).len(),
        kernel: options.kernel,
        stride: options.stride,
        padding: options.kernel / 2,
    }
}

fn output_shape(conv: &kernels::Conv) -> [usize; 4] {
    [
        conv.batch,
        conv.output_height(),
        conv.output_width(),
        conv.outputs,
    ]
}

/// What the backward pass of a unit needs.
#[derive(Debug, Clone)]
struct Saved {
    conv: kernels::Conv,
    options: UnitOptions,
    x: Plain,
    weight: Plain,
    gamma: Plain,
    beta: Plain,
    mean: Plain,
    variance: Plain,
    /// The convolution's output.
    convolved: Plain,
    /// The unit's output, where its ReLU followed a shortcut: the mask cannot be found from `convolved` alone.
    y: Option<Plain>,
}

impl Saved {
    fn norm(&self) -> kernels::BatchNorm<'_> {
        kernels::BatchNorm {
            gamma: values(&self.gamma),
            beta: values(&self.beta),
            mean: values(&self.mean),
            variance: values(&self.variance),
            epsilon: EPSILON as f32,
        }
    }
}

fn packed(conv: &kernels::Conv, weight: &Plain) -> kernels::ForwardWeights {
    let mut packed = kernels::ForwardWeights::default();
    packed.pack(conv, values(weight));
    packed
}

/// The unit's result with everything its backward pass needs.
#[allow(clippy::too_many_arguments)]
fn unit_with_saved(
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
    let weights = packed(&conv, &weight);
    let mut convolved = vec![0.0; conv.output_len()];
    let (mean, variance) = if options.training {
        let mut statistics = kernels::Statistics::default();
        kernels::forward_with_statistics(
            &conv,
            values(&x),
            &weights,
            &mut convolved,
            &mut statistics,
        );
        (
            tensor(statistics.mean, [conv.outputs]),
            tensor(statistics.variance, [conv.outputs]),
        )
    } else {
        kernels::forward(
            &conv,
            values(&x),
            &weights,
            &kernels::Epilogue::default(),
            &mut convolved,
        );
        (mean, variance)
    };
    let convolved = tensor(convolved, output_shape(&conv));
    let mut saved = Saved {
        conv,
        options,
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
    let mut y = vec![0.0; conv.output_len()];
    let residual = shortcut.as_ref().map(values);
    kernels::batch_norm(
        &saved.norm(),
        values(&saved.convolved),
        residual,
        activation(&options),
        &mut y,
    );
    let y = tensor(y, output_shape(&conv));
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
fn unit_alone(
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
    let mut y = vec![0.0; conv.output_len()];
    kernels::forward(
        &conv,
        values(&x),
        &packed(&conv, &weight),
        &epilogue,
        &mut y,
    );
    (tensor(y, output_shape(&conv)), mean, variance)
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
}

/// The pooled activation, its sizes, and which position of each window won.
fn pooled(x: Plain) -> (Plain, kernels::MaxPool, Vec<u8>) {
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
    let (mut y, mut winners) = (vec![0.0; pool.output_len()], vec![0; pool.output_len()]);
    kernels::max_pool(&pool, values(&x), &mut y, &mut winners);
    let shape = [batch, pool.output_height(), pool.output_width(), channels];
    (tensor(y, shape), pool, winners)
}

/// Backward of a unit with four parents (x, weight, gamma, beta) or five (and the shortcut).
#[derive(Debug)]
struct UnitBackward;

impl UnitBackward {
    /// Registers the gradient of every parent that wants one.
    fn register<const N: usize>(ops: Ops<Saved, N>, gradients: &mut Gradients) {
        let dy = gradients.consume::<Flex>(&ops.node).to_contiguous();
        let saved = ops.state;
        let conv = saved.conv;
        let (mut dconvolved, mut dgamma, mut dbeta) = (
            vec![0.0; conv.output_len()],
            vec![0.0; conv.outputs],
            vec![0.0; conv.outputs],
        );
        let mut dshortcut = (N == 5).then(|| vec![0.0; conv.output_len()]);
        let gate = match (&saved.y, saved.options.relu) {
            (Some(y), _) => kernels::Gate::ReluOf(values(y)),
            (None, true) => kernels::Gate::Relu,
            (None, false) => kernels::Gate::Open,
        };
        let into = kernels::Gradients {
            dx: &mut dconvolved,
            dgamma: &mut dgamma,
            dbeta: &mut dbeta,
            dresidual: dshortcut.as_deref_mut(),
        };
        let convolved = values(&saved.convolved);
        if saved.options.training {
            kernels::batch_norm_backward(&saved.norm(), convolved, gate, values(&dy), into);
        } else {
            kernels::frozen_batch_norm_backward(&saved.norm(), convolved, gate, values(&dy), into);
        }
        let mut parents = ops.parents.into_iter();
        let mut next = || parents.next().flatten();
        if let Some(node) = next() {
            let mut weights = kernels::BackwardWeights::default();
            weights.pack(&conv, values(&saved.weight));
            let mut dx = vec![0.0; conv.input_len()];
            kernels::input_gradient(&conv, &dconvolved, &weights, None, &mut dx);
            let shape = [conv.batch, conv.height, conv.width, conv.inputs];
            gradients.register::<Flex>(node.id, tensor(dx, shape));
        }
        if let Some(node) = next() {
            let mut dweight = vec![0.0; conv.weight_len()];
            kernels::weight_gradient(&conv, values(&saved.x), &dconvolved, &mut dweight);
            gradients.register::<Flex>(node.id, tensor(dweight, [conv.weight_len()]));
        }
        for vector in [dgamma, dbeta] {
            if let Some(node) = next() {
                gradients.register::<Flex>(node.id, tensor(vector, [conv.outputs]));
            }
        }
        if let (Some(dshortcut), Some(node)) = (dshortcut, next()) {
            gradients.register::<Flex>(node.id, tensor(dshortcut, output_shape(&conv)));
        }
    }
}

impl Backward<Flex, 4> for UnitBackward {
    type State = Saved;

    fn backward(self, ops: Ops<Saved, 4>, gradients: &mut Gradients, _: &mut Checkpointer) {
        Self::register(ops, gradients);
    }
}

impl Backward<Flex, 5> for UnitBackward {
    type State = Saved;

    fn backward(self, ops: Ops<Saved, 5>, gradients: &mut Gradients, _: &mut Checkpointer) {
        Self::register(ops, gradients);
    }
}

/// Backward of the maximum: each gradient goes to the position that won.
#[derive(Debug)]
struct MaxPoolBackward;

impl Backward<Flex, 1> for MaxPoolBackward {
    type State = (kernels::MaxPool, Vec<u8>);

    fn backward(self, ops: Ops<Self::State, 1>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let dy = gradients.consume::<Flex>(&ops.node).to_contiguous();
        let ([parent], (pool, winners)) = (ops.parents, ops.state);
        if let Some(node) = parent {
            let mut dx = vec![0.0; pool.input_len()];
            kernels::max_pool_backward(&pool, &winners, values(&dy), &mut dx);
            let shape = [pool.batch, pool.height, pool.width, pool.channels];
            gradients.register::<Flex>(node.id, tensor(dx, shape));
        }
    }
}

/// Backward of the mean: each position gets an equal share.
#[derive(Debug)]
struct GlobalAverageBackward;

impl Backward<Flex, 1> for GlobalAverageBackward {
    type State = [usize; 4];

    fn backward(self, ops: Ops<Self::State, 1>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let dy = gradients.consume::<Flex>(&ops.node).to_contiguous();
        let ([parent], shape) = (ops.parents, ops.state);
        if let Some(node) = parent {
            let [_, height, width, channels] = shape;
            let mut dx = vec![0.0; shape.iter().product()];
            kernels::global_average_backward(height * width, channels, values(&dy), &mut dx);
            gradients.register::<Flex>(node.id, tensor(dx, shape));
        }
    }
}

impl<C: CheckpointStrategy> ChannelsLast for Autodiff<Flex, C> {
    fn unit(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        gamma: FloatTensor<Self>,
        beta: FloatTensor<Self>,
        mean: FloatTensor<Self>,
        variance: FloatTensor<Self>,
        options: UnitOptions,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        let nodes = [x.node(), weight.node(), gamma.node(), beta.node()];
        let prepared = UnitBackward.prepare::<C>(nodes).compute_bound().stateful();
        let inputs =
            [x, weight, gamma, beta, mean, variance].map(FloatTensor::<Self>::into_primitive);
        finish::<C, 4>(prepared, inputs, None, options)
    }

    fn unit_with_shortcut(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        gamma: FloatTensor<Self>,
        beta: FloatTensor<Self>,
        mean: FloatTensor<Self>,
        variance: FloatTensor<Self>,
        shortcut: FloatTensor<Self>,
        options: UnitOptions,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        let nodes = [
            x.node(),
            weight.node(),
            gamma.node(),
            beta.node(),
            shortcut.node(),
        ];
        let prepared = UnitBackward.prepare::<C>(nodes).compute_bound().stateful();
        let inputs =
            [x, weight, gamma, beta, mean, variance].map(FloatTensor::<Self>::into_primitive);
        finish::<C, 5>(prepared, inputs, Some(shortcut.into_primitive()), options)
    }

    fn max_pool(x: FloatTensor<Self>) -> FloatTensor<Self> {
        let (y, pool, winners) = pooled(x.primitive().clone());
        match MaxPoolBackward
            .prepare::<C>([x.node()])
            .compute_bound()
            .stateful()
        {
            OpsKind::Tracked(prepared) => prepared.finish((pool, winners), y),
            OpsKind::UnTracked(prepared) => prepared.finish(y),
        }
    }

    fn global_average(x: FloatTensor<Self>) -> FloatTensor<Self> {
        let shape = dims(x.primitive());
        let y = Flex::global_average(x.primitive().clone());
        match GlobalAverageBackward
            .prepare::<C>([x.node()])
            .compute_bound()
            .stateful()
        {
            OpsKind::Tracked(prepared) => prepared.finish(shape, y),
            OpsKind::UnTracked(prepared) => prepared.finish(y),
        }
    }
}

/// A unit's result and statistics as autodiff tensors.
type Tracked<C> = FloatTensor<Autodiff<Flex, C>>;

/// Computes a unit and enters it into the graph; the cheaper form where nothing before it wants a gradient.
fn finish<C: CheckpointStrategy, const N: usize>(
    kind: OpsKind<UnitBackward, Flex, Saved, C, N>,
    [x, weight, gamma, beta, mean, variance]: [Plain; 6],
    shortcut: Option<Plain>,
    options: UnitOptions,
) -> (Tracked<C>, Tracked<C>, Tracked<C>)
where
    UnitBackward: Backward<Flex, N, State = Saved>,
{
    let constant = |primitive: Plain| Tracked::<C>::new(primitive);
    match kind {
        OpsKind::Tracked(prepared) => {
            let (y, saved) =
                unit_with_saved(x, weight, gamma, beta, mean, variance, shortcut, options);
            let (mean, variance) = (
                constant(saved.mean.clone()),
                constant(saved.variance.clone()),
            );
            (prepared.finish(saved, y), mean, variance)
        }
        OpsKind::UnTracked(prepared) => {
            let (y, mean, variance) =
                unit_alone(x, weight, gamma, beta, mean, variance, shortcut, options);
            (prepared.finish(y), constant(mean), constant(variance))
        }
    }
}
