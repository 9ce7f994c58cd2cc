//! Units and pools in a graph: their gradients.

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Flex};
use newfound_cpu as kernels;

use super::buffers::Buffer;
use super::forward::{Saved, pooled, unit_alone, unit_with_saved};
use super::update::{ema_plain, sgd_plain};
use super::{
    ChannelsLast, Pack, Plain, Search, SgdRule, UnitOptions, dims, is_whole, packs, tensor, values,
};

/// Backward of a unit with four parents (x, weight, gamma, beta) or five (and the shortcut).
#[derive(Debug)]
struct UnitBackward;

impl UnitBackward {
    /// Registers the gradient of every parent that wants one.
    fn register<const N: usize>(ops: Ops<Saved, N>, gradients: &mut Gradients) {
        let mut dy = gradients.consume::<Flex>(&ops.node).to_contiguous();
        let mut saved = ops.state;
        let conv = saved.conv;
        let (mut dgamma, mut dbeta) = (vec![0.0; conv.outputs], vec![0.0; conv.outputs]);
        // The convolution's output becomes its gradient, in the same memory.
        let nothing = tensor(Vec::new(), [0]);
        let mut dconvolved = owned(std::mem::replace(&mut saved.convolved, nothing));
        let gate = match (&saved.y, saved.relu) {
            (Some(y), _) => kernels::Gate::ReluOf(values(y)),
            (None, true) => kernels::Gate::Relu,
            (None, false) => kernels::Gate::Open,
        };
        let learnt = kernels::Gradients {
            dgamma: &mut dgamma,
            dbeta: &mut dbeta,
        };
        let incoming = if N == 5 {
            dy = owned(dy);
            kernels::Incoming::WithResidual(dy.storage_mut::<f32>())
        } else {
            kernels::Incoming::Alone(values(&dy))
        };
        let (norm, x) = (saved.norm(), dconvolved.storage_mut::<f32>());
        if saved.training {
            kernels::batch_norm_backward(&norm, x, gate, incoming, learnt);
        } else {
            kernels::frozen_batch_norm_backward(&norm, x, gate, incoming, learnt);
        }
        // What is not needed any more makes room for what comes.
        saved.y = None;
        let dshortcut = (N == 5).then_some(dy);
        let mut parents = ops.parents.into_iter();
        let mut next = || parents.next().flatten();
        if let Some(node) = next() {
            let weights = packs::Backward::pack(&conv, &saved.weight);
            let mut dx = Buffer::new(conv.input_len());
            kernels::input_gradient(&conv, values(&dconvolved), weights.get(), None, &mut dx);
            let shape = [conv.batch, conv.height, conv.width, conv.inputs];
            gradients.register::<Flex>(node.id, dx.tensor(shape));
        }
        if let Some(node) = next() {
            let mut dweight = Buffer::new(conv.weight_len());
            kernels::weight_gradient(&conv, values(&saved.x), values(&dconvolved), &mut dweight);
            gradients.register::<Flex>(node.id, dweight.tensor([conv.weight_len()]));
        }
        for vector in [dgamma, dbeta] {
            if let Some(node) = next() {
                gradients.register::<Flex>(node.id, tensor(vector, [conv.outputs]));
            }
        }
        if let (Some(dshortcut), Some(node)) = (dshortcut, next()) {
            gradients.register::<Flex>(node.id, dshortcut);
        }
    }
}

/// A contiguous tensor that nobody else looks at: itself, or a copy.
fn owned(tensor: Plain) -> Plain {
    if tensor.is_unique() && is_whole(&tensor) {
        return tensor;
    }
    let mut copy = Buffer::new(values(&tensor).len());
    copy.copy_from_slice(values(&tensor));
    copy.tensor(dims(&tensor))
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
            let mut dx = Buffer::new(pool.input_len());
            kernels::max_pool_backward(&pool, &winners, values(&dy), &mut dx);
            let shape = [pool.batch, pool.height, pool.width, pool.channels];
            gradients.register::<Flex>(node.id, dx.tensor(shape));
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
            let mut dx = Buffer::new(shape.iter().product());
            kernels::global_average_backward(height * width, channels, values(&dy), &mut dx);
            gradients.register::<Flex>(node.id, dx.tensor(shape));
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

    fn sgd(
        parameter: FloatTensor<Self>,
        velocity: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        rule: SgdRule,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let [parameter, velocity, gradient] =
            [parameter, velocity, gradient].map(FloatTensor::<Self>::into_primitive);
        let (parameter, velocity) = sgd_plain(parameter, velocity, gradient, rule);
        // An update is no part of any graph.
        (Tracked::<C>::new(parameter), Tracked::<C>::new(velocity))
    }

    fn nearest(
        queries: FloatTensor<Self>,
        bank: FloatTensor<Self>,
        search: Search,
    ) -> FloatTensor<Self> {
        let (queries, bank) = (queries.into_primitive(), bank.into_primitive());
        Tracked::<C>::new(Flex::nearest(queries, bank, search))
    }

    fn ema(slow: FloatTensor<Self>, fast: FloatTensor<Self>, m: f64) -> FloatTensor<Self> {
        Tracked::<C>::new(ema_plain(slow.into_primitive(), fast.into_primitive(), m))
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
            // A pack keeps its tensor alive, and this one is about to be updated in place.
            let pack = Pack::default();
            let options = UnitOptions { pack, ..options };
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
