//! Convolution, gradient with respect to its input.
//!
//! An input pixel (y, x) reaches the output pixels `((y, x) + padding − tap) / stride`, where that is
//! whole. Seen from the input this is again a gather: with stride 1 a convolution of the output gradient
//! with the mirrored kernel, with stride s one such gather for each of the s² classes of pixels modulo s.
//! Nothing is scattered, so every number of the result is written once, by one task.

use crate::gather::Gather;
use crate::product::{Ending, product};
use crate::scratch::scratch;
use crate::shape::Conv;
use crate::shared::Shared;
use crate::weights::{BackwardWeights, Packed};
use crate::winograd_product::{Images, winograd_product};

/// The gradient `dx` of a loss with respect to the convolution's input, from that of its output, `dy`.
/// `other`, where given, is added: the gradient that reaches the same input along another way, such as
/// the shortcut around a residual block.
///
/// # Shapes
/// `dy [B, H', W', O]`, `dx` and `other [B, H, W, I]`.
pub fn input_gradient(
    conv: &Conv,
    dy: &[f32],
    weights: &BackwardWeights,
    other: Option<&[f32]>,
    dx: &mut [f32],
) {
    assert_eq!(dy.len(), conv.output_len(), "output gradient of {conv:?}");
    assert_eq!(dx.len(), conv.input_len(), "input gradient of {conv:?}");
    let Conv {
        batch,
        height,
        width,
        outputs,
        stride,
        ..
    } = *conv;
    let ending = Ending {
        residual: other,
        ..Ending::default()
    };
    let dx = Shared::new(dx);
    let classes = match &weights.0 {
        Packed::Direct(classes) => classes,
        Packed::Winograd(weights) => {
            let images = Images {
                source: dy,
                batch,
                size: [conv.output_height(), conv.output_width()],
                channels: outputs,
                out: [height, width],
                padding: 2 - conv.padding,
            };
            return winograd_product(&images, weights, &ending, dx, |_, _, _| {});
        }
    };
    let mut zeros = scratch(outputs);
    zeros.fill(0.0);
    assert_eq!(
        classes.len(),
        stride * stride,
        "weights were not packed for {conv:?}"
    );
    for (class, panels) in classes.iter().enumerate() {
        let [top, left] = [class / stride, class % stride];
        // Pixels of this class along a side: top, top + stride, … below the side's length.
        let count = |side: usize, first: usize| side.saturating_sub(first).div_ceil(stride);
        let gather = Gather {
            source: dy,
            size: [conv.output_height(), conv.output_width()],
            pitch: outputs,
            batch,
            grid: [count(height, top), count(width, left)],
            step: 1,
            taps: conv
                .class_taps(class)
                .map(|(_, displacement)| displacement)
                .collect(),
            run: outputs,
            zeros: &zeros,
        };
        let place =
            |[b, i, j]: [usize; 3]| (b * height + i * stride + top) * width + j * stride + left;
        product(&gather, panels, &ending, place, dx, |_, _, _| {});
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Isa;
    use crate::naive::{self, Numbers, convolutions, same_for_any_threads};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equals_its_naive_twin(conv in convolutions(), seed: u64, add: bool) {
            let mut numbers = Numbers(seed);
            let (dy, w) = (numbers.whole(conv.output_len()), numbers.whole(conv.weight_len()));
            let other = numbers.whole(conv.input_len());
            let mut expected = naive::input_gradient(&conv, &dy, &w);
            if add {
                expected.iter_mut().zip(&other).for_each(|(e, o)| *e += o);
            }
            for isa in Isa::available() {
                let mut weights = BackwardWeights::default();
                weights.pack_for(isa, false, &conv, &w);
                let mut dx = vec![f32::NAN; conv.input_len()];
                input_gradient(&conv, &dy, &weights, add.then_some(&other), &mut dx);
                prop_assert_eq!(&dx, &expected, "{:?}", isa);
            }
        }
    }

    #[test]
    fn threads_do_not_matter() {
        let (batch, height, width) = (3, 29, 23);
        let conv = Conv {
            batch,
            height,
            width,
            inputs: 70,
            outputs: 130,
            kernel: 3,
            stride: 2,
            padding: 1,
        };
        let mut numbers = Numbers(3);
        let (dy, w) = (
            numbers.real(conv.output_len()),
            numbers.real(conv.weight_len()),
        );
        same_for_any_threads(|| {
            let mut weights = BackwardWeights::default();
            weights.pack(&conv, &w);
            let mut dx = vec![f32::NAN; conv.input_len()];
            input_gradient(&conv, &dy, &weights, None, &mut dx);
            dx
        });
    }
}
