//! A 3×3 convolution of stride 1 through Winograd's domain, cut into tasks.
//!
//! A task takes some tiles: it transforms their inputs, multiplies them with the transformed kernels at each
//! of the 36 positions, panel by panel of outputs, and transforms the results back. Everything between
//! input and output stays in the cache of its core.

use crate::isa::Isa;
use crate::microkernel::{Tile, compute};
use crate::prefetch::{LINE, Strip};
use crate::product::{Ending, TASKS};
use crate::scratch::scratch;
use crate::shape::Conv;
use crate::shared::Shared;
use crate::winograd::{IN, OUT, POSITIONS};
use crate::winograd_tiles::{Place, TilesIn, TilesOut, transform_in, transform_out};
use crate::winograd_weights::WinogradWeights;
use rayon::prelude::*;
use std::cell::RefCell;
use std::ops::Range;

/// Bytes of transformed inputs a task reads again for each panel.
const SOURCE_BYTES: usize = 900 << 10;

/// The images of a convolution of stride 1, cut into tiles of outputs.
#[derive(Clone, Copy)]
pub(crate) struct Images<'a> {
    /// The input, `[B, size, channels]`.
    pub source: &'a [f32],
    pub batch: usize,
    pub size: [usize; 2],
    pub channels: usize,
    /// Height and width of the output.
    pub out: [usize; 2],
    pub padding: usize,
}

impl<'a> Images<'a> {
    /// The images of a convolution of stride 1.
    pub(crate) fn of(conv: &Conv, x: &'a [f32]) -> Self {
        assert_eq!(x.len(), conv.input_len(), "input of {conv:?}");
        Self {
            source: x,
            batch: conv.batch,
            size: [conv.height, conv.width],
            channels: conv.inputs,
            out: [conv.output_height(), conv.output_width()],
            padding: conv.padding,
        }
    }
}

/// Whether Winograd's way is open to this convolution, and shorter.
///
/// However many images there are: its last digits are others than those of the straight way, and what an image gives must not depend on what is beside it. A single image
/// reads four times larger kernels for a few tiles, and takes as long: a ResNet-50 infers 52.5, 50.5 and 52.8 images a second one by one, the straight way where a layer has fewer than
/// 24 tiles 50.8, 50.7 and 51.4.
pub(crate) fn pays(isa: Isa, conv: &Conv) -> bool {
    let lanes = isa.lanes();
    let channels = conv.inputs.is_multiple_of(lanes) && conv.outputs.is_multiple_of(lanes);
    let open = conv.kernel == 3 && conv.stride == 1 && conv.padding <= 2 && channels;
    open && conv.inputs.min(conv.outputs) >= 16 && {
        let out = [conv.output_height(), conv.output_width()];
        let tiles = out[0].div_ceil(OUT) * out[1].div_ceil(OUT);
        tiles * OUT * OUT < 2 * out[0] * out[1]
    }
}

impl Images<'_> {
    fn across(&self) -> [usize; 2] {
        self.out.map(|side| side.div_ceil(OUT))
    }

    pub(crate) fn tiles(&self) -> usize {
        self.batch * self.across()[0] * self.across()[1]
    }

    /// Image, and first row and column of the outputs, of a tile.
    fn tile(&self, tile: usize) -> [usize; 3] {
        let [down, across] = self.across();
        [
            tile / (down * across),
            tile / across % down * OUT,
            tile % across * OUT,
        ]
    }

    /// Pointers to the 36 pixels of a tile.
    pub(crate) fn pixels<'z>(
        &'z self,
        tile: usize,
        zeros: &'z [f32],
    ) -> impl Iterator<Item = *const f32> + 'z {
        let [image, top, left] = self.tile(tile);
        (0..POSITIONS).map(move |position| {
            // A coordinate left of the image wraps to a huge one.
            let y = (top + position / IN).wrapping_sub(self.padding);
            let x = (left + position % IN).wrapping_sub(self.padding);
            if y < self.size[0] && x < self.size[1] {
                let start = ((image * self.size[0] + y) * self.size[1] + x) * self.channels;
                self.source[start..start + self.channels].as_ptr()
            } else {
                zeros[..self.channels].as_ptr()
            }
        })
    }

    /// Pointers to the 16 pixels of a tile of an output-sized matrix with `channels` columns.
    pub(crate) fn outputs<'z>(
        &'z self,
        tile: usize,
        dy: &'z [f32],
        channels: usize,
        zeros: &'z [f32],
    ) -> impl Iterator<Item = *const f32> + 'z {
        let [image, top, left] = self.tile(tile);
        (0..OUT * OUT).map(move |pixel| {
            let (y, x) = (top + pixel / OUT, left + pixel % OUT);
            if y < self.out[0] && x < self.out[1] {
                let start = ((image * self.out[0] + y) * self.out[1] + x) * channels;
                dy[start..start + channels].as_ptr()
            } else {
                zeros[..channels].as_ptr()
            }
        })
    }

    fn place(&self, tile: usize, outputs: usize) -> Place {
        let [image, top, left] = self.tile(tile);
        let start = ((image * self.out[0] + top) * self.out[1] + left) * outputs;
        Place {
            start,
            size: [OUT.min(self.out[0] - top), OUT.min(self.out[1] - left)],
        }
    }
}

/// The tiles of each task. A function of the problem's size alone.
pub(crate) fn tile_blocks(images: &Images, isa: Isa) -> Vec<Range<usize>> {
    let (tiles, group) = (images.tiles(), isa.rows());
    let most = (SOURCE_BYTES / (4 * POSITIONS * images.channels)).clamp(4 * group, 8 * group);
    let blocks = tiles.div_ceil(most).max(1);
    let size = tiles.div_ceil(blocks).next_multiple_of(group);
    (0..tiles)
        .step_by(size.max(1))
        .map(|first| first..tiles.min(first + size))
        .collect()
}

#[derive(Default)]
struct Tables {
    pixels: Vec<*const f32>,
    places: Vec<Place>,
    sources: Vec<*const f32>,
    targets: Vec<usize>,
}

thread_local! {
    static TABLES: RefCell<Tables> = RefCell::new(Tables::default());
}

/// Computes `y = ending(convolution)`; `done` is called by the task that has just computed some columns of
/// a block of tiles, with the places of the tiles.
pub(crate) fn winograd_product(
    images: &Images,
    weights: &WinogradWeights,
    ending: &Ending,
    y: Shared,
    done: impl Fn(usize, &[Place], Range<usize>) + Sync,
) {
    let (isa, outputs) = (weights.isa, weights.outputs);
    assert_eq!(images.channels, weights.inputs, "weights of another shape");
    assert_eq!(
        y.len(),
        images.batch * images.out[0] * images.out[1] * outputs,
        "the output's shape"
    );
    ending.check(outputs, y.len());
    let mut zeros = scratch(images.channels);
    zeros.fill(0.0);
    let zeros = &zeros[..];
    let blocks = tile_blocks(images, isa);
    let width = weights
        .panels()
        .div_ceil(TASKS.div_ceil(blocks.len().max(1)))
        .max(1);
    let splits = weights.panels().div_ceil(width);
    (0..blocks.len() * splits).into_par_iter().for_each(|task| {
        let (block, split) = (task / splits, task % splits);
        let tiles = blocks[block].clone();
        let panels = split * width..weights.panels().min((split + 1) * width);
        let mut tables = TABLES.take();
        tables.fill(images, tiles.clone(), zeros, outputs);
        let count = tiles.len();
        let pitch = [pitch(count * images.channels), pitch(count * isa.columns())];
        let mut values = scratch(POSITIONS * pitch[0]);
        let mut products = scratch(POSITIONS * pitch[1]);
        tables.point(&values, images.channels, isa.columns());
        let job = TilesIn {
            pixels: &tables.pixels,
            skip: 0,
            channels: images.channels,
            target: values.as_mut_ptr(),
            tile_pitch: images.channels,
            pitch: pitch[0],
        };
        // SAFETY: each pixel pointer leads to `channels` floats of the source or of `zeros`; `values` has
        // room for everything; the family is there.
        unsafe { transform_in(isa, &job) };
        for panel in panels.clone() {
            multiply(images, weights, panel, &tables, pitch, &mut products);
            let first = panel * isa.columns();
            let job = TilesOut {
                source: products.as_ptr(),
                position_pitch: pitch[1],
                panel: isa.columns(),
                columns: isa.columns().min(outputs - first),
                places: &tables.places,
                target: y.at(first),
                pitch: [images.out[1] * outputs, outputs],
                finish: ending.at(first),
            };
            // SAFETY: `products` is filled; every place lies in y, whose length was checked, and tiles and
            // panels belong to one task each; the operands of the ending were checked; the family is there.
            unsafe { transform_out(isa, &job) };
        }
        let columns = panels.start * isa.columns()..outputs.min(panels.end * isa.columns());
        done(block, &tables.places, columns);
        TABLES.replace(tables);
    });
}

impl Tables {
    fn fill(&mut self, images: &Images, tiles: Range<usize>, zeros: &[f32], outputs: usize) {
        self.pixels.clear();
        self.places.clear();
        for tile in tiles {
            self.pixels.extend(images.pixels(tile, zeros));
            self.places.push(images.place(tile, outputs));
        }
    }

    /// Where the rows of the products come from and go to, at the first position.
    fn point(&mut self, values: &[f32], channels: usize, columns: usize) {
        let tiles = 0..self.places.len();
        self.sources.clear();
        self.sources
            .extend(tiles.clone().map(|tile| values[tile * channels..].as_ptr()));
        self.targets.clear();
        self.targets.extend(tiles.map(|tile| tile * columns));
    }
}

/// Floats from one position to the next: a cache line more than needed, so that the 36 positions, which the
/// transforms touch together, do not all fall into the same set of the cache.
pub(crate) fn pitch(len: usize) -> usize {
    len.next_multiple_of(LINE) + LINE
}

/// The products of a task's tiles with one panel at all positions: `[position][tile][column]`.
fn multiply(
    images: &Images,
    weights: &WinogradWeights,
    panel: usize,
    tables: &Tables,
    pitch: [usize; 2],
    products: &mut [f32],
) {
    let (isa, channels, tiles) = (weights.isa, images.channels, tables.places.len());
    let group = isa.rows();
    for position in 0..POSITIONS {
        let here = weights.at(panel, position);
        let next = weights.at(panel, (position + 1) % POSITIONS);
        let output = &mut products[position * pitch[1]..][..tiles * isa.columns()];
        for first in (0..tiles).step_by(group) {
            // Each group of rows fetches a share of the next position's weights.
            let share = first / group * channels * LINE;
            let strip = if share < next.len() {
                Strip::new(next, share, LINE)
            } else {
                Strip::new(here, 0, 0)
            };
            let tile = Tile {
                sources: tables.sources[first..].as_ptr(),
                skip: position * pitch[0],
                taps: 1,
                run: channels,
                panel: here.as_ptr(),
                targets: tables.targets[first..].as_ptr(),
                output: output.as_mut_ptr(),
                columns: isa.columns(),
                strip,
                accumulate: false,
                finish: None,
            };
            // SAFETY: the sources lead to this position's rows of `values`, `channels` floats each; the
            // panel holds channels · columns weights; the targets are the rows of `output`.
            unsafe { compute(isa, &tile, group.min(tiles - first)) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naive::{self, Numbers, distance, same_for_any_threads, three_by_three};
    use crate::{
        Activation, BackwardWeights, Epilogue, ForwardWeights, Statistics, batch_statistics,
        forward, forward_with_statistics, input_gradient,
    };
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]
        #[test]
        fn equals_its_naive_twin(conv in three_by_three(), seed: u64, parts in 0u8..16) {
            let mut numbers = Numbers(seed);
            let (x, w) = (numbers.real(conv.input_len()), numbers.real(conv.weight_len()));
            let (scale, shift) = (numbers.real(conv.outputs), numbers.real(conv.outputs));
            let residual = numbers.real(conv.output_len());
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
                let mut weights = ForwardWeights::default();
                weights.pack_for(isa, true, &conv, &w);
                let mut y = vec![f32::NAN; conv.output_len()];
                forward(&conv, &x, &weights, &epilogue, &mut y);
                prop_assert!(distance(&y, &expected) < 1e-5, "{:?} {}", isa, distance(&y, &expected));
            }
        }

        #[test]
        fn so_does_the_input_gradient(conv in three_by_three(), seed: u64) {
            let mut numbers = Numbers(seed);
            let (dy, w) = (numbers.real(conv.output_len()), numbers.real(conv.weight_len()));
            let other = numbers.real(conv.input_len());
            let mut expected = naive::input_gradient(&conv, &dy, &w);
            expected.iter_mut().zip(&other).for_each(|(e, o)| *e += o);
            for isa in Isa::available() {
                let mut weights = BackwardWeights::default();
                weights.pack_for(isa, true, &conv, &w);
                let mut dx = vec![f32::NAN; conv.input_len()];
                input_gradient(&conv, &dy, &weights, Some(&other), &mut dx);
                prop_assert!(distance(&dx, &expected) < 1e-5, "{:?}", isa);
            }
        }
    }

    fn layer() -> Conv {
        let (batch, height, width, inputs, outputs) = (3, 29, 23, 128, 80);
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
    fn threads_do_not_matter_and_statistics_are_those_of_the_output() {
        let conv = layer();
        assert!(pays(Isa::best(), &conv));
        let mut numbers = Numbers(12);
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
        batch_statistics(&y, conv.outputs, &mut apart);
        assert!(distance(&fused.mean, &apart.mean) < 1e-6);
        assert!(distance(&fused.variance, &apart.variance) < 1e-6);
        same_for_any_threads(|| {
            let (y, s) = both();
            [y, s.mean, s.variance].concat()
        });
    }

    /// The claim of the documentation of `winograd`.
    #[test]
    fn is_nearly_as_accurate_as_the_definition() {
        let conv = Conv {
            inputs: 256,
            outputs: 64,
            ..layer()
        };
        let mut numbers = Numbers(13);
        let (x, w) = (
            numbers.real(conv.input_len()),
            numbers.real(conv.weight_len()),
        );
        let exact = naive::forward(&conv, &x, &w);
        let mut weights = ForwardWeights::default();
        weights.pack_for(Isa::best(), true, &conv, &w);
        let mut y = vec![0.0; conv.output_len()];
        forward(&conv, &x, &weights, &Epilogue::default(), &mut y);
        let size = exact
            .iter()
            .map(|v| f64::from(*v).powi(2))
            .sum::<f64>()
            .sqrt();
        let errors = y.iter().zip(&exact).map(|(a, b)| f64::from(a - b).powi(2));
        let error = errors.sum::<f64>().sqrt() / size;
        assert!(error < 2e-6, "{error:e}");
    }
}
