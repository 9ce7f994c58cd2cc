//! Convolution, forward.

use crate::gather::Gather;
use crate::product::{Ending, product, row_blocks};
use crate::scratch::{Scratch, scratch};
use crate::shape::Conv;
use crate::shared::Shared;
use crate::statistics::{Partial, Statistics};
use crate::weights::{ForwardWeights, Packed};
use crate::winograd_product::{Images, tile_blocks, winograd_product};
use rayon::prelude::*;
use std::ops::Range;

/// What follows a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Activation {
    /// Nothing.
    #[default]
    Identity,
    /// Negative numbers become 0.
    Relu,
}

/// What is done to the convolution's result while it is still in registers, in evaluation mode.
///
/// ```text
/// y = activation(conv · scale + shift + residual)
/// ```
///
/// A scale needs a shift; a shift alone is a bias.
#[derive(Debug, Clone, Copy, Default)]
pub struct Epilogue<'a> {
    /// Factor per output channel, `[O]`.
    pub scale: Option<&'a [f32]>,
    /// Term per output channel, `[O]`.
    pub shift: Option<&'a [f32]>,
    /// Added number by number, of the output's shape.
    pub residual: Option<&'a [f32]>,
    /// Applied last.
    pub activation: Activation,
}

/// Convolution of `x` with packed weights, and its epilogue, into `y`.
///
/// # Shapes
/// `x [B, H, W, I]`, `y [B, H', W', O]`.
pub fn forward(
    conv: &Conv,
    x: &[f32],
    weights: &ForwardWeights,
    epilogue: &Epilogue,
    y: &mut [f32],
) {
    assert!(
        epilogue.scale.is_none() || epilogue.shift.is_some(),
        "a scale needs a shift"
    );
    let ending = Ending {
        scale: epilogue.scale,
        shift: epilogue.shift,
        residual: epilogue.residual,
        relu: epilogue.activation == Activation::Relu,
    };
    assert_eq!(y.len(), conv.output_len(), "output of {conv:?}");
    let y = Shared::new(y);
    match &weights.0 {
        Packed::Direct(panels) => with_gather(conv, x, |gather| {
            let [panels] = &panels[..] else {
                panic!("weights were not packed for {conv:?}")
            };
            let place = |position| gather.row(position);
            product(&gather, panels, &ending, place, y, |_, _, _| {});
        }),
        Packed::Winograd(weights) => {
            winograd_product(&Images::of(conv, x), weights, &ending, y, |_, _, _| {});
        }
    }
}

/// Convolution of `x` into `y`, and the mean and variance of every output channel over the batch, taken
/// while the output is still in the cache.
pub fn forward_with_statistics(
    conv: &Conv,
    x: &[f32],
    weights: &ForwardWeights,
    y: &mut [f32],
    statistics: &mut Statistics,
) {
    assert_eq!(y.len(), conv.output_len(), "output of {conv:?}");
    let (y, channels, ending) = (Shared::new(y), conv.outputs, Ending::default());
    // SAFETY: called below for numbers that belong to the calling task.
    let part = |row: usize, columns: &Range<usize>| -> &[f32] {
        unsafe { y.part(row * channels + columns.start, columns.len()) }
    };
    let partial = match &weights.0 {
        Packed::Direct(panels) => with_gather(conv, x, |gather| {
            let [panels] = &panels[..] else {
                panic!("weights were not packed for {conv:?}")
            };
            let blocks = row_blocks(&gather, panels).len();
            let partial = Partial::new(statistics, blocks, channels);
            let place = |position| gather.row(position);
            product(
                &gather,
                panels,
                &ending,
                place,
                y,
                |block, rows, columns| {
                    // SAFETY: exactly these rows and columns belong to the task that calls this; other tasks
                    // write other columns of these rows, which are not touched here.
                    unsafe {
                        partial.add(block, rows.map(|row| part(row, &columns)), columns.clone())
                    };
                },
            );
            partial
        }),
        Packed::Winograd(weights) => {
            let images = Images::of(conv, x);
            let blocks = tile_blocks(&images, weights.isa).len();
            let partial = Partial::new(statistics, blocks, channels);
            winograd_product(&images, weights, &ending, y, |block, places, columns| {
                let rows = places.iter().flat_map(|place| {
                    let (first, [down, across]) = (place.start / channels, place.size);
                    let line = conv.output_width();
                    (0..down).flat_map(move |i| (0..across).map(move |j| first + i * line + j))
                });
                // SAFETY: as above; these rows are the pixels of the task's tiles.
                unsafe { partial.add(block, rows.map(|row| part(row, &columns)), columns.clone()) };
            });
            partial
        }
    };
    partial.finish();
}

/// The forward gather of `conv`: one row per output pixel.
pub(crate) fn with_gather<T>(conv: &Conv, x: &[f32], work: impl FnOnce(Gather) -> T) -> T {
    assert_eq!(x.len(), conv.input_len(), "input of {conv:?}");
    let Conv {
        batch,
        height,
        width,
        inputs,
        kernel,
        stride,
        padding,
        ..
    } = *conv;
    let grid = [conv.output_height(), conv.output_width()];
    if conv.merges_taps() {
        let padded = pad(conv, x);
        let size = [height + 2 * padding, width + 2 * padding];
        let taps = (0..kernel).map(|line| [line as isize, 0]).collect();
        let run = kernel * inputs;
        return work(Gather {
            source: &padded,
            size,
            pitch: inputs,
            batch,
            grid,
            step: stride,
            taps,
            run,
            zeros: &[],
        });
    }
    let mut zeros = scratch(inputs);
    zeros.fill(0.0);
    let displacement = |k: usize| k as isize - padding as isize;
    let taps = (0..conv.taps())
        .map(|tap| [displacement(tap / kernel), displacement(tap % kernel)])
        .collect();
    let (size, run) = ([height, width], inputs);
    work(Gather {
        source: x,
        size,
        pitch: inputs,
        batch,
        grid,
        step: stride,
        taps,
        run,
        zeros: &zeros,
    })
}

/// The images with their zero border.
fn pad(conv: &Conv, x: &[f32]) -> Scratch {
    let Conv {
        batch,
        height,
        width,
        inputs,
        padding,
        ..
    } = *conv;
    let line = (width + 2 * padding) * inputs;
    let lines = height + 2 * padding;
    let mut padded = scratch(batch * lines * line);
    padded
        .par_chunks_mut(line.max(1))
        .enumerate()
        .for_each(|(i, out)| {
            out.fill(0.0);
            let (image, y) = (i / lines, i % lines);
            if (padding..padding + height).contains(&y) {
                let start = (image * height + y - padding) * width * inputs;
                out[padding * inputs..][..width * inputs]
                    .copy_from_slice(&x[start..][..width * inputs]);
            }
        });
    padded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Isa;
    use crate::naive::{self, Numbers, convolutions, distance, same_for_any_threads};
    use proptest::prelude::*;

    fn run(isa: Isa, conv: &Conv, x: &[f32], w: &[f32], epilogue: &Epilogue) -> Vec<f32> {
        let mut weights = ForwardWeights::default();
        weights.pack_for(isa, false, conv, w);
        let mut y = vec![f32::NAN; conv.output_len()];
        forward(conv, x, &weights, epilogue, &mut y);
        y
    }

    proptest! {
        #[test]
        fn equals_its_naive_twin(conv in convolutions(), seed: u64) {
            let mut numbers = Numbers(seed);
            let (x, w) = (numbers.whole(conv.input_len()), numbers.whole(conv.weight_len()));
            let expected = naive::forward(&conv, &x, &w);
            for isa in Isa::available() {
                prop_assert_eq!(&run(isa, &conv, &x, &w, &Epilogue::default()), &expected, "{:?}", isa);
            }
        }

        #[test]
        fn the_epilogue_does_what_it_says(conv in convolutions(), seed: u64, parts in 0u8..16) {
            let mut numbers = Numbers(seed);
            let (x, w) = (numbers.whole(conv.input_len()), numbers.whole(conv.weight_len()));
            let (scale, shift) = (numbers.whole(conv.outputs), numbers.whole(conv.outputs));
            let residual = numbers.whole(conv.output_len());
            let has = |bit: u8| parts & bit != 0;
            let epilogue = Epilogue {
                scale: has(1).then_some(&scale),
                shift: (has(1) || has(2)).then_some(&shift),
                residual: has(4).then_some(&residual),
                activation: if has(8) { Activation::Relu } else { Activation::Identity },
            };
            let mut expected = naive::forward(&conv, &x, &w);
            for (i, y) in expected.iter_mut().enumerate() {
                let o = i % conv.outputs;
                *y *= if has(1) { scale[o] } else { 1.0 };
                *y += if has(1) || has(2) { shift[o] } else { 0.0 };
                *y += if has(4) { residual[i] } else { 0.0 };
                *y = if has(8) { y.max(0.0) } else { *y };
            }
            for isa in Isa::available() {
                prop_assert_eq!(&run(isa, &conv, &x, &w, &epilogue), &expected, "{:?}", isa);
            }
        }
    }

    fn layer() -> Conv {
        let (batch, height, width, inputs, outputs) = (3, 29, 23, 130, 70);
        Conv {
            batch,
            height,
            width,
            inputs,
            outputs,
            kernel: 3,
            stride: 1,
            padding: 1,
        }
    }

    #[test]
    fn real_numbers_are_close() {
        let conv = layer();
        let mut numbers = Numbers(1);
        let (x, w) = (
            numbers.real(conv.input_len()),
            numbers.real(conv.weight_len()),
        );
        let expected = naive::forward(&conv, &x, &w);
        for isa in Isa::available() {
            assert!(distance(&run(isa, &conv, &x, &w, &Epilogue::default()), &expected) < 1e-6);
        }
    }

    #[test]
    fn statistics_are_those_of_the_output_for_any_number_of_threads() {
        let conv = layer();
        let mut numbers = Numbers(2);
        let (x, w) = (
            numbers.real(conv.input_len()),
            numbers.real(conv.weight_len()),
        );
        let mut weights = ForwardWeights::default();
        weights.pack(&conv, &w);
        let both = || {
            let (mut y, mut s) = (vec![0.0; conv.output_len()], Statistics::default());
            forward_with_statistics(&conv, &x, &weights, &mut y, &mut s);
            (y, s)
        };
        let (y, fused) = both();
        let mut apart = Statistics::default();
        crate::batch_statistics(&y, conv.outputs, &mut apart);
        assert!(distance(&fused.mean, &apart.mean) < 1e-6);
        assert!(distance(&fused.variance, &apart.variance) < 1e-6);
        same_for_any_threads(|| {
            let (y, s) = both();
            [y, s.mean, s.variance].concat()
        });
    }

    #[test]
    fn not_a_number_passes_the_relu() {
        let conv = Conv {
            batch: 1,
            height: 1,
            width: 1,
            kernel: 1,
            padding: 0,
            ..layer()
        };
        let mut x = vec![1.0; conv.input_len()];
        x[3] = f32::NAN;
        let epilogue = Epilogue {
            activation: Activation::Relu,
            ..Epilogue::default()
        };
        let w = vec![1.0; conv.weight_len()];
        for isa in Isa::available() {
            assert!(
                run(isa, &conv, &x, &w, &epilogue)
                    .iter()
                    .all(|y| y.is_nan())
            );
        }
    }
}
