//! The layers of the body on the CPU: channels-last kernels behind Burn's backend extension.
//!
//! An activation is a tensor [B, H, W, C]. A whole unit (convolution, batch-norm, shortcut, ReLU) is one operation with
//! one hand-written backward, so nothing between them is stored but the convolution's output.

mod backward;
mod buffers;
mod forward;
mod packs;
mod update;

use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, Dispatch, Flex, TensorMetadata, backend_extension};
use burn::tensor::{Tensor, TensorData};
use newfound_cpu as kernels;

pub(super) use packs::Pack;
pub(crate) use update::{ema, sgd};

/// Which statistics a unit normalises with, and what follows.
#[derive(Debug, Clone)]
pub struct UnitOptions {
    pub(super) kernel: usize,
    pub(super) stride: usize,
    pub(super) relu: bool,
    /// The batch's own statistics, rather than the running ones.
    pub(super) training: bool,
    /// Where the packed weights are, or will be.
    pub(super) pack: Pack,
}

/// One update of a parameter; see [`Sgd`](crate::optimiser::Sgd).
#[derive(Debug, Clone, Copy)]
pub struct SgdRule {
    pub(crate) rate: f64,
    pub(crate) momentum: f64,
    pub(crate) weight_decay: f64,
}

/// How many rows are wanted, and of which image each query and each row is: an image never finds itself.
#[derive(Debug, Clone)]
pub struct Search {
    pub(crate) k: usize,
    pub(crate) query_images: Vec<usize>,
    pub(crate) bank_images: Vec<usize>,
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

    /// One step of gradient descent, in place: gives parameters and velocity.
    fn sgd(
        parameter: FloatTensor<Self>,
        velocity: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        rule: SgdRule,
    ) -> (FloatTensor<Self>, FloatTensor<Self>);

    /// For each query the rows of the bank with the largest products, as whole numbers.
    fn nearest(
        queries: FloatTensor<Self>,
        bank: FloatTensor<Self>,
        search: Search,
    ) -> FloatTensor<Self>;

    /// m · slow + (1 − m) · fast, in place of slow.
    fn ema(slow: FloatTensor<Self>, fast: FloatTensor<Self>, m: f64) -> FloatTensor<Self>;
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

/// See [`ChannelsLast::nearest`].
///
/// # Shapes
///
/// `queries` [B, D], `bank` [M, D] → [B, k]
pub(crate) fn nearest(queries: Tensor<2>, bank: Tensor<2>, search: Search) -> Tensor<2> {
    Tensor::from_dispatch(<Dispatch as ChannelsLast>::nearest(
        queries.into_dispatch(),
        bank.into_dispatch(),
        search,
    ))
}

/// Gives memory that waits for the next step back to the system: before something else needs much of it.
pub(crate) fn release_memory() {
    buffers::release();
    packs::release();
}

/// A tensor of the CPU backend.
type Plain = FloatTensor<Flex>;

/// Its values; the tensor must have been made contiguous.
fn values(tensor: &Plain) -> &[f32] {
    tensor
        .as_slice::<f32>()
        .expect("contiguous single-precision values")
}

/// Whether a tensor's memory holds its values in order, and nothing else.
fn is_whole(tensor: &Plain) -> bool {
    tensor.is_contiguous()
        && tensor.layout().start_offset() == 0
        && tensor.bytes().len() == size_of_val(values(tensor))
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
