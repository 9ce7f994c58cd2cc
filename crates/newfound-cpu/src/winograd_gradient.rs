//! The weight gradient of a 3×3 convolution of stride 1 through Winograd's domain.
//!
//! A task sums, over some tiles, the products of one panel of input channels with one panel of output
//! channels at all 36 positions. The sums are transformed back once, at the end.

use crate::isa::{Isa, vectorised};
use crate::microkernel::MAX_COLUMNS;
use crate::prefetch::Strip;
use crate::scratch::scratch;
use crate::shape::Conv;
use crate::shared::Shared;
use crate::weight_kernel::{Outer, Segment, compute_outer};
use crate::winograd::{POSITIONS, kernel_gradient};
use crate::winograd_product::{Images, pitch};
use crate::winograd_tiles::{TilesIn, transform_gradient, transform_in};
use rayon::prelude::*;
use std::cell::RefCell;
use std::ops::Range;

/// Tiles whose products are summed in registers before the sums in memory are touched.
const TILES: usize = 48;
/// Enough tasks that two, four or eight threads finish at about the same time.
const TASKS: usize = 16;

/// Writes the gradient of all kernels, `[O, I, 3, 3]`.
pub(crate) fn winograd_weight_gradient(
    isa: Isa,
    conv: &Conv,
    x: &[f32],
    dy: &[f32],
    dweight: &mut [f32],
) {
    let (images, width) = (Images::of(conv, x), isa.columns());
    let (across, down) = (conv.inputs.div_ceil(width), conv.outputs.div_ceil(width));
    let blocks = images.tiles().div_ceil(TILES);
    let chunks = TASKS.div_ceil(across * down).min(blocks);
    let size = blocks.div_ceil(chunks) * TILES;
    let chunks = images.tiles().div_ceil(size);
    let part = POSITIONS * width * width;
    let mut sums = scratch(chunks * across * down * part);
    let mut zeros = scratch(conv.inputs.max(conv.outputs));
    zeros.fill(0.0);
    let (shared, zeros) = (Shared::new(&mut sums), &zeros[..]);
    (0..chunks * across * down)
        .into_par_iter()
        .for_each(|task| {
            // SAFETY: each task has its own part.
            let sums = unsafe { shared.part(task * part, part) };
            let (chunk, panels) = (task / (across * down), task % (across * down));
            let tiles = chunk * size..images.tiles().min((chunk + 1) * size);
            let job = Job {
                isa,
                images,
                dy,
                zeros,
                conv,
                input: panels % across,
                output: panels / across,
            };
            job.sum(tiles, sums);
        });
    dweight
        .par_chunks_mut(conv.inputs * 9)
        .enumerate()
        .for_each(|(o, dweight)| {
            for (input, out) in dweight.chunks_mut(width * 9).enumerate() {
                let panels = o / width * across + input;
                let first = panels * part + o % width * width;
                let next = across * down * part;
                transform_back(&sums, first, width * width, next, chunks, width, out);
            }
        });
}

/// One panel of inputs against one panel of outputs.
struct Job<'a> {
    isa: Isa,
    images: Images<'a>,
    dy: &'a [f32],
    zeros: &'a [f32],
    conv: &'a Conv,
    input: usize,
    output: usize,
}

thread_local! {
    static PIXELS: RefCell<Vec<*const f32>> = const { RefCell::new(Vec::new()) };
}

impl Job<'_> {
    /// `sums[position, output, input]` over `tiles`.
    fn sum(&self, tiles: Range<usize>, sums: &mut [f32]) {
        let width = self.isa.columns();
        let pitch = pitch(TILES * width);
        let (mut left, mut right) = (scratch(POSITIONS * pitch), scratch(POSITIONS * pitch));
        for first in tiles.clone().step_by(TILES) {
            let block = first..tiles.end.min(first + TILES);
            self.load(block.clone(), pitch, &mut left, &mut right);
            let outputs = width.min(self.conv.outputs - self.output * width);
            for (position, sums) in sums.chunks_exact_mut(width * width).enumerate() {
                let accumulate = first > tiles.start;
                let left = &left[position * pitch..][..block.len() * width];
                let right = &right[position * pitch..][..block.len() * width];
                self.multiply(block.len(), outputs, left, right, accumulate, sums);
            }
        }
    }

    /// Transforms a block of tiles: `left[position, tile, output]` and `right[position, tile, input]`.
    fn load(&self, tiles: Range<usize>, pitch: usize, left: &mut [f32], right: &mut [f32]) {
        let (isa, width) = (self.isa, self.isa.columns());
        let mut pixels = PIXELS.take();
        let outputs = self.conv.outputs;
        pixels.clear();
        pixels.extend(
            tiles
                .clone()
                .flat_map(|tile| self.images.outputs(tile, self.dy, outputs, self.zeros)),
        );
        let skip = self.output * width;
        let channels = width.min(outputs - skip);
        let target = left.as_mut_ptr();
        let job = TilesIn {
            pixels: &pixels,
            skip,
            channels,
            target,
            tile_pitch: width,
            pitch,
        };
        // SAFETY: each pointer leads to all output channels of a pixel of dy, or to as many zeros; `left`
        // has room for all positions and a block of tiles; the family is there.
        unsafe { transform_gradient(isa, &job) };
        pixels.clear();
        pixels.extend(tiles.flat_map(|tile| self.images.pixels(tile, self.zeros)));
        let skip = self.input * width;
        let channels = width.min(self.conv.inputs - skip);
        let target = right.as_mut_ptr();
        let job = TilesIn {
            pixels: &pixels,
            skip,
            channels,
            target,
            tile_pitch: width,
            pitch,
        };
        // SAFETY: as above, for the input channels of x.
        unsafe { transform_in(isa, &job) };
        PIXELS.replace(pixels);
    }

    /// The products at one position.
    fn multiply(
        &self,
        tiles: usize,
        outputs: usize,
        left: &[f32],
        right: &[f32],
        accumulate: bool,
        sums: &mut [f32],
    ) {
        let width = self.isa.columns();
        assert!(tiles > 0 && left.len() >= tiles * width && right.len() >= tiles * width);
        let segments = [Segment {
            left: 0,
            right: 0,
            len: tiles,
        }];
        for o in (0..outputs).step_by(self.isa.rows()) {
            let rows = self.isa.rows().min(outputs - o);
            let outer = Outer {
                segments: &segments,
                left: left[o..].as_ptr(),
                left_pitch: width,
                right: right.as_ptr(),
                right_pitch: width,
                sums: sums[o * width..(o + rows) * width].as_mut_ptr(),
                accumulate,
                strip: Strip::new(left, 0, 0),
            };
            // SAFETY: both factors hold `tiles` rows of `width` floats (asserted), and o + rows ≤ width.
            unsafe { compute_outer(self.isa, &outer, rows) };
        }
    }
}

vectorised! {
    /// Adds the chunks, `next` floats apart, in their order, and brings the sums of one output and one panel
    /// of inputs, whose positions are `stride` apart, back into kernels, `[input][9]`.
    fn transform_back(
        sums: &[f32], first: usize, stride: usize, next: usize, chunks: usize, width: usize,
        out: &mut [f32],
    ) {
        let mut total = [[0.0; MAX_COLUMNS]; POSITIONS];
        for (position, total) in total.iter_mut().enumerate() {
            for chunk in 0..chunks {
                let sums = &sums[chunk * next + position * stride + first..][..width];
                for (total, &sum) in total.iter_mut().zip(sums) {
                    *total += sum;
                }
            }
        }
        let mut kernels = [[0.0; MAX_COLUMNS]; 9];
        for column in 0..MAX_COLUMNS {
            let gradient = kernel_gradient(std::array::from_fn(|position| total[position][column]));
            for k in 0..9 {
                kernels[k][column] = gradient[k];
            }
        }
        for (column, out) in out.chunks_exact_mut(9).enumerate() {
            for (k, out) in out.iter_mut().enumerate() {
                *out = kernels[k][column];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naive::{self, Numbers, distance, same_for_any_threads, three_by_three};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]
        #[test]
        fn equals_its_naive_twin(conv in three_by_three(), seed: u64) {
            let mut numbers = Numbers(seed);
            let (x, dy) = (numbers.real(conv.input_len()), numbers.real(conv.output_len()));
            let expected = naive::weight_gradient(&conv, &x, &dy);
            for isa in Isa::available() {
                let mut dweight = vec![f32::NAN; conv.weight_len()];
                winograd_weight_gradient(isa, &conv, &x, &dy, &mut dweight);
                let error = distance(&dweight, &expected);
                prop_assert!(error < 1e-5, "{:?} {}", isa, error);
            }
        }
    }

    #[test]
    fn threads_do_not_matter_and_the_error_is_small() {
        let (batch, height, width, inputs, outputs) = (3, 29, 23, 64, 80);
        let conv = Conv {
            batch,
            height,
            width,
            inputs,
            outputs,
            kernel: 3,
            stride: 1,
            padding: 1,
        };
        let mut numbers = Numbers(14);
        let (x, dy) = (
            numbers.real(conv.input_len()),
            numbers.real(conv.output_len()),
        );
        let ours = || {
            let mut dweight = vec![f32::NAN; conv.weight_len()];
            crate::weight_gradient(&conv, &x, &dy, &mut dweight);
            dweight
        };
        let exact = naive::weight_gradient(&conv, &x, &dy);
        let size = exact
            .iter()
            .map(|v| f64::from(*v).powi(2))
            .sum::<f64>()
            .sqrt();
        let errors = ours()
            .iter()
            .zip(&exact)
            .map(|(a, b)| f64::from(a - b).powi(2))
            .sum::<f64>();
        assert!(errors.sqrt() / size < 2e-6, "{:e}", errors.sqrt() / size);
        same_for_any_threads(ours);
    }
}
