//! Convolution, gradient with respect to its weights.
//!
//! `dw[o, i, tap] = Σ_pixels dy[pixel, o] · x[pixel at tap, i]`: a product whose inner index runs over all
//! output pixels of the batch. The result is cut into tiles; where these are too few to occupy the
//! machine, the pixels are cut into chunks as well. All bounds depend on the problem's size alone, and the
//! sums over the chunks are added in their order, whatever thread made them.

use crate::forward::with_gather;
use crate::isa::{Isa, vectorised};
use crate::scratch::scratch;
use crate::shape::Conv;
use crate::shared::Shared;
use crate::weight_narrow::narrow;
use crate::weight_tile::{Job, block_lines, compute_tile};
use crate::winograd_gradient::winograd_weight_gradient;
use crate::winograd_product::pays;
use rayon::prelude::*;
use std::ops::Range;

/// Columns (taps · channels) of a tile: the output gradient is read from memory once for all of them.
const COLUMNS: usize = 256;
/// Output channels of a tile: the input is read from memory once for all of them, and the sums stay in
/// the second-level cache.
const OUTPUTS: usize = 256;
/// Enough tasks that two, four or eight threads finish at about the same time.
const TASKS: usize = 16;

/// The gradient `dweight` of a loss with respect to the convolution's weights.
///
/// Winograd's way is taken for a 3×3 kernel of stride 1 on enough pixels, the definition otherwise.
///
/// # Shapes
/// `x [B, H, W, I]`, `dy [B, H', W', O]`, `dweight [O, I, kh, kw]`.
pub fn weight_gradient(conv: &Conv, x: &[f32], dy: &[f32], dweight: &mut [f32]) {
    let isa = Isa::best();
    weight_gradient_for(isa, pays(isa, conv), conv, x, dy, dweight);
}

/// The same, but always by the definition.
pub fn weight_gradient_direct(conv: &Conv, x: &[f32], dy: &[f32], dweight: &mut [f32]) {
    weight_gradient_for(Isa::best(), false, conv, x, dy, dweight);
}

pub(crate) fn weight_gradient_for(
    isa: Isa,
    winograd: bool,
    conv: &Conv,
    x: &[f32],
    dy: &[f32],
    dweight: &mut [f32],
) {
    assert_eq!(x.len(), conv.input_len(), "input of {conv:?}");
    assert_eq!(dy.len(), conv.output_len(), "output gradient of {conv:?}");
    assert_eq!(
        dweight.len(),
        conv.weight_len(),
        "weight gradient of {conv:?}"
    );
    if winograd {
        return winograd_weight_gradient(isa, conv, x, dy, dweight);
    }
    if conv.merges_taps() {
        let Conv { inputs, kernel, .. } = *conv;
        return with_gather(conv, x, |gather| {
            narrow(isa, &gather, dy, conv.outputs, |[line, column, o], sum| {
                let (i, tap) = (column % inputs, line * kernel + column / inputs);
                dweight[(o * inputs + i) * conv.taps() + tap] = sum;
            });
        });
    }
    let plan = Plan::new(isa, conv);
    let mut sums = scratch(plan.chunks * plan.chunk_len());
    let shared = Shared::new(&mut sums);
    (0..plan.chunks * plan.tiles())
        .into_par_iter()
        .for_each(|task| {
            let (chunk, tile) = (task / plan.tiles(), task % plan.tiles());
            let (panels, outputs) = plan.tile(tile);
            let start = chunk * plan.chunk_len() + plan.place(panels.start, 0, outputs.start);
            let len = panels.len() * plan.taps * outputs.len() * plan.width;
            // SAFETY: `place` gives each tile of a chunk its own range, and each task is one tile.
            let sums = unsafe { shared.part(start, len) };
            compute_tile(
                &Job {
                    isa,
                    conv,
                    x,
                    dy,
                    outputs,
                    panels,
                },
                plan.lines(chunk),
                sums,
            );
        });
    reduce(&plan, conv, &sums, dweight);
}

/// How the result and the output lines are cut.
struct Plan {
    taps: usize,
    width: usize,
    panels: usize,
    tile_panels: usize,
    outputs: usize,
    chunks: usize,
    chunk_lines: usize,
    all_lines: usize,
}

impl Plan {
    fn new(isa: Isa, conv: &Conv) -> Self {
        let (width, taps, outputs) = (isa.columns(), conv.taps(), conv.outputs);
        let panels = conv.inputs.div_ceil(width);
        let tile_panels = (COLUMNS / (width * taps)).clamp(1, panels.max(1));
        let tiles = panels.div_ceil(tile_panels) * outputs.div_ceil(OUTPUTS);
        let all_lines = conv.batch * conv.output_height();
        let blocks = all_lines.div_ceil(block_lines(conv)).max(1);
        let chunks = TASKS.div_ceil(tiles.max(1)).min(blocks);
        let chunk_lines = blocks.div_ceil(chunks) * block_lines(conv);
        let chunks = all_lines.div_ceil(chunk_lines).max(1);
        Self {
            taps,
            width,
            panels,
            tile_panels,
            outputs,
            chunks,
            chunk_lines,
            all_lines,
        }
    }

    fn tiles(&self) -> usize {
        self.panels.div_ceil(self.tile_panels) * self.outputs.div_ceil(OUTPUTS)
    }

    /// The panels and outputs of a tile.
    fn tile(&self, tile: usize) -> (Range<usize>, Range<usize>) {
        let across = self.outputs.div_ceil(OUTPUTS);
        let (panel, output) = (tile / across * self.tile_panels, tile % across * OUTPUTS);
        let panels = panel..self.panels.min(panel + self.tile_panels);
        (panels, output..self.outputs.min(output + OUTPUTS))
    }

    fn lines(&self, chunk: usize) -> Range<usize> {
        chunk * self.chunk_lines..self.all_lines.min((chunk + 1) * self.chunk_lines)
    }

    fn chunk_len(&self) -> usize {
        self.panels * self.taps * self.outputs * self.width
    }

    /// Where the sums of a panel, a tap and an output start within a chunk, in the order
    /// `[tile][panel][tap][output][channel]`.
    fn place(&self, panel: usize, tap: usize, output: usize) -> usize {
        let (group, block) = (panel / self.tile_panels, output / OUTPUTS * OUTPUTS);
        let panels = self.tile_panels.min(self.panels - group * self.tile_panels);
        let outputs = OUTPUTS.min(self.outputs - block);
        // All tiles of earlier panels, then the tiles of earlier outputs, then within the tile.
        let before = (group * self.tile_panels * self.outputs + panels * block) * self.taps;
        let within = ((panel % self.tile_panels) * self.taps + tap) * outputs + output - block;
        (before + within) * self.width
    }
}

/// Adds the chunks in their order and brings the sums into PyTorch's order.
fn reduce(plan: &Plan, conv: &Conv, sums: &[f32], dweight: &mut [f32]) {
    let (taps, inputs, width) = (conv.taps(), conv.inputs, plan.width);
    if conv.weight_len() == 0 {
        return;
    }
    dweight
        .par_chunks_mut(inputs * taps)
        .enumerate()
        .for_each(|(o, out)| {
            let mut total = scratch(width);
            for panel in 0..plan.panels {
                let out = &mut out[panel * width * taps..];
                for tap in 0..taps {
                    let at = plan.place(panel, tap, o);
                    total.copy_from_slice(&sums[at..at + width]);
                    for chunk in 1..plan.chunks {
                        add(&mut total, &sums[chunk * plan.chunk_len() + at..][..width]);
                    }
                    for (out, &sum) in out.iter_mut().skip(tap).step_by(taps).zip(&total[..]) {
                        *out = sum;
                    }
                }
            }
        });
}

vectorised! {
    fn add(total: &mut [f32], part: &[f32]) {
        for (total, &part) in total.iter_mut().zip(part) {
            *total += part;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naive::{self, Numbers, convolutions, distance, same_for_any_threads};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equals_its_naive_twin(conv in convolutions(), seed: u64) {
            let mut numbers = Numbers(seed);
            let (x, dy) = (numbers.whole(conv.input_len()), numbers.whole(conv.output_len()));
            let expected = naive::weight_gradient(&conv, &x, &dy);
            for isa in Isa::available() {
                let mut dweight = vec![f32::NAN; conv.weight_len()];
                weight_gradient_for(isa, false, &conv, &x, &dy, &mut dweight);
                prop_assert_eq!(&dweight, &expected, "{:?}", isa);
            }
        }
    }

    #[test]
    fn real_numbers_are_close_and_threads_do_not_matter() {
        for (kernel, stride, inputs) in [(1, 1, 130), (3, 2, 70), (7, 2, 3), (1, 1, 64)] {
            let padding = kernel / 2;
            let (batch, height, width, outputs) = (3, 29, 23, 70);
            let conv = Conv {
                batch,
                height,
                width,
                inputs,
                outputs,
                kernel,
                stride,
                padding,
            };
            let mut numbers = Numbers(4);
            let (x, dy) = (
                numbers.real(conv.input_len()),
                numbers.real(conv.output_len()),
            );
            let ours = || {
                let mut dweight = vec![f32::NAN; conv.weight_len()];
                weight_gradient(&conv, &x, &dy, &mut dweight);
                dweight
            };
            assert!(distance(&ours(), &naive::weight_gradient(&conv, &x, &dy)) < 1e-6);
            same_for_any_threads(ours);
        }
    }
}
