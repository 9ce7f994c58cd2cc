//! Updates in place: one pass over memory where the formula has four or five.

use burn::backend::Dispatch;
use burn::tensor::Tensor;
use newfound_cpu as kernels;

use super::{ChannelsLast, Plain, SgdRule, is_whole, values};

/// See [`ChannelsLast::sgd`].
///
/// # Shapes
///
/// all of one length
pub(crate) fn sgd(
    parameter: Tensor<1>,
    velocity: Tensor<1>,
    gradient: Tensor<1>,
    rule: SgdRule,
) -> (Tensor<1>, Tensor<1>) {
    let [parameter, velocity, gradient] =
        [parameter, velocity, gradient].map(Tensor::into_dispatch);
    let (parameter, velocity) =
        <Dispatch as ChannelsLast>::sgd(parameter, velocity, gradient, rule);
    (
        Tensor::from_dispatch(parameter),
        Tensor::from_dispatch(velocity),
    )
}

/// See [`ChannelsLast::ema`].
pub(crate) fn ema(slow: Tensor<1>, fast: Tensor<1>, m: f64) -> Tensor<1> {
    Tensor::from_dispatch(<Dispatch as ChannelsLast>::ema(
        slow.into_dispatch(),
        fast.into_dispatch(),
        m,
    ))
}

/// A memory of one's own is written to; one that others still look at is copied first.
pub(super) fn sgd_plain(
    parameter: Plain,
    velocity: Plain,
    gradient: Plain,
    rule: SgdRule,
) -> (Plain, Plain) {
    let [mut parameter, mut velocity] = [parameter, velocity].map(contiguous);
    let gradient = contiguous(gradient);
    let rule = kernels::Sgd {
        learning_rate: rule.rate as f32,
        momentum: rule.momentum as f32,
        weight_decay: rule.weight_decay as f32,
        nesterov: true,
    };
    kernels::sgd(
        &rule,
        parameter.storage_mut::<f32>(),
        values(&gradient),
        velocity.storage_mut::<f32>(),
    );
    (parameter, velocity)
}

pub(super) fn ema_plain(slow: Plain, fast: Plain, m: f64) -> Plain {
    let (mut slow, fast) = (contiguous(slow), contiguous(fast));
    kernels::ema(m, slow.storage_mut::<f32>(), values(&fast));
    slow
}

/// The tensor itself where its memory is its values in order, which is nearly always.
fn contiguous(tensor: Plain) -> Plain {
    if is_whole(&tensor) {
        tensor
    } else {
        tensor.to_contiguous()
    }
}
