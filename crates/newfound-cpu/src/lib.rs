//! Channels-last CPU kernels for residual networks, forward and backward.
//!
//! An activation is a matrix of rows `[B·H·W, C]`: one row per pixel, its channels side by side. In this
//! layout a 1×1 convolution is one matrix product, a k×k convolution is k² products whose left rows are
//! found through a table of pointers instead of being copied, and everything else in a residual network
//! (batch normalisation, ReLU, the residual sum, pooling) treats neighbouring channels alike, which is
//! what a vector register wants.
//!
//! Every function writes into a slice given by the caller, takes its scratch memory from a pool that
//! lives from step to step, and gives **bit-identical results for any number of threads**: a sum is
//! either formed whole by one task, or over chunks whose bounds depend on the problem's size alone and
//! whose partial sums are added in a fixed order.
//!
//! ```
//! use newfound_cpu::{Conv, Epilogue, ForwardWeights, forward};
//!
//! let conv = Conv { batch: 1, height: 4, width: 4, inputs: 2, outputs: 3, kernel: 3, stride: 1, padding: 1 };
//! let image = vec![1.0; conv.input_len()];
//! let weight = vec![0.5; conv.weight_len()]; // PyTorch's order [O, I, kh, kw]
//! let mut packed = ForwardWeights::default();
//! packed.pack(&conv, &weight);
//! let mut output = vec![0.0; conv.output_len()];
//! forward(&conv, &image, &packed, &Epilogue::default(), &mut output);
//! assert_eq!(output[0], 4.0); // a corner sees 2 × 2 pixels of 2 channels
//! ```

#![warn(missing_docs)]

mod shape;
mod isa;
mod lanes;
mod scratch;
mod shared;
mod prefetch;
mod microkernel;
mod weights;
mod gather;
mod product;
mod winograd;
mod winograd_weights;
mod winograd_tiles;
mod winograd_product;
mod forward;
mod input_gradient;
mod weight_kernel;
mod weight_tile;
mod weight_narrow;
mod winograd_gradient;
mod weight_gradient;
mod statistics;
mod batch_norm;
mod batch_norm_backward;
mod fold;
mod pool;
mod pointwise;
mod update;
mod nearest;
#[cfg(test)]
mod naive;

pub use batch_norm::{BatchNorm, batch_norm};
pub use batch_norm_backward::{
    Gate, Gradients, Incoming, batch_norm_backward, frozen_batch_norm_backward,
};
pub use fold::fold;
pub use forward::{Activation, Epilogue, forward, forward_with_statistics};
pub use input_gradient::input_gradient;
pub use nearest::nearest;
pub use pointwise::{add, relu, relu_backward};
pub use pool::{MaxPool, global_average, global_average_backward, max_pool, max_pool_backward};
pub use shape::Conv;
pub use statistics::{Statistics, batch_statistics};
pub use update::{Sgd, ema, sgd};
pub use weight_gradient::{weight_gradient, weight_gradient_direct};
pub use weights::{BackwardWeights, ForwardWeights};
