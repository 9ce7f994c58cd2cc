//! Mean and variance of every channel over the batch.
//!
//! The textbook formula E[x²] − E[x]² is fatal in single precision, where a mean of 1000 and a standard
//! deviation of 1 leave nothing. Here each block of rows is summed about a pivot, its own first row: the
//! differences are small, their squares are summed in single precision eight rows at a time and beyond that
//! in double precision, and the blocks are merged by the rule of Chan, Golub and LeVeque. One pass is
//! enough, cheap enough to run on a convolution's result while it is still in the cache.

use crate::isa::vectorised;
use crate::shared::Shared;
use rayon::prelude::*;
use std::ops::Range;

/// Rows that are summed in single precision.
const GROUP: usize = 8;
/// Numbers in a block of rows, about what the second-level cache holds.
const BLOCK: usize = 1 << 16;

/// Mean and biased variance of every channel.
#[derive(Debug, Clone, Default)]
pub struct Statistics {
    /// Mean per channel, `[C]`.
    pub mean: Vec<f32>,
    /// Mean squared distance from the mean per channel, `[C]`.
    pub variance: Vec<f32>,
    // The blocks' pivots and sums; kept so that the next step need not allocate.
    pivots: Vec<f32>,
    sums: Vec<f64>,
}

/// Mean and biased variance over the rows of `x`.
///
/// # Shapes
/// `x [rows, C]` with C = `channels`.
pub fn batch_statistics(x: &[f32], channels: usize, statistics: &mut Statistics) {
    let rows = crate::pointwise::rows(x, channels);
    let size = block_rows(channels);
    let partial = Partial::new(statistics, rows.div_ceil(size), channels);
    x.par_chunks(size * channels)
        .enumerate()
        .for_each(|(block, x)| {
            // SAFETY: a block has one task.
            unsafe { partial.add(block, x.chunks_exact(channels), 0..channels) };
        });
    partial.finish();
}

/// Rows per block: from the problem's size alone, so that the sums do not depend on the threads.
pub(crate) fn block_rows(channels: usize) -> usize {
    (BLOCK / channels).max(GROUP).next_multiple_of(GROUP)
}

/// The sums of each block of rows, on the way to [`Statistics`].
pub(crate) struct Partial<'a> {
    mean: &'a mut [f32],
    variance: &'a mut [f32],
    /// `[block][channel]`.
    pivots: Shared<'a, f32>,
    /// Sums, sums of squares and row counts: `[block][3][channel]`.
    sums: Shared<'a, f64>,
    blocks: usize,
    channels: usize,
}

impl<'a> Partial<'a> {
    pub(crate) fn new(statistics: &'a mut Statistics, blocks: usize, channels: usize) -> Self {
        let Statistics {
            mean,
            variance,
            pivots,
            sums,
        } = statistics;
        mean.resize(channels, 0.0);
        variance.resize(channels, 0.0);
        pivots.resize(blocks * channels, 0.0);
        sums.resize(blocks * 3 * channels, 0.0);
        let (pivots, sums) = (Shared::new(pivots), Shared::new(sums));
        Self {
            mean,
            variance,
            pivots,
            sums,
            blocks,
            channels,
        }
    }

    /// Sums rows of some columns as (this part of) a block.
    ///
    /// # Safety
    /// No other task may use these columns of this block.
    pub(crate) unsafe fn add<'x>(
        &self,
        block: usize,
        rows: impl Iterator<Item = &'x [f32]>,
        columns: Range<usize>,
    ) {
        let (len, start) = (columns.len(), block * self.channels + columns.start);
        let sums = block * 3 * self.channels + columns.start;
        // SAFETY: the parts do not overlap, since a range of columns is at most `channels` long; the rest
        // is the caller's promise.
        let (pivot, sums, squares, counts) = unsafe {
            let part = |row: usize| self.sums.part(sums + row * self.channels, len);
            (self.pivots.part(start, len), part(0), part(1), part(2))
        };
        sums.fill(0.0);
        squares.fill(0.0);
        let count = accumulate(rows, pivot, sums, squares);
        counts.fill(count as f64);
    }

    /// Mean and variance from all blocks, merged in their order.
    pub(crate) fn finish(self) {
        // SAFETY: the tasks are done; these are the only borrows.
        let (pivots, sums) = unsafe {
            let len = self.blocks * self.channels;
            (self.pivots.part(0, len), self.sums.part(0, 3 * len))
        };
        for channel in 0..self.channels {
            let blocks = || {
                let sums = sums.chunks_exact(3 * self.channels);
                sums.zip(pivots.chunks_exact(self.channels))
                    .map(move |(sums, pivots)| {
                        let at = |row: usize| sums[row * self.channels + channel];
                        let (sum, square, count) = (at(0), at(1), at(2));
                        let mean = f64::from(pivots[channel]) + sum / count;
                        (count, mean, square - sum * sum / count)
                    })
            };
            let rows: f64 = blocks().map(|(count, ..)| count).sum();
            let mean = blocks().map(|(count, mean, _)| count * mean).sum::<f64>() / rows;
            let spread = |(count, m, square): (f64, f64, f64)| square + count * (m - mean).powi(2);
            let variance = blocks().map(spread).sum::<f64>() / rows;
            self.mean[channel] = mean as f32;
            self.variance[channel] = variance.max(0.0) as f32;
        }
    }
}

/// Adds the rows' distances from the first, and their squares, and counts the rows.
fn accumulate<'x>(
    rows: impl Iterator<Item = &'x [f32]>,
    pivot: &mut [f32],
    sums: &mut [f64],
    squares: &mut [f64],
) -> usize {
    let mut rows = rows.peekable();
    if let Some(first) = rows.peek() {
        pivot.copy_from_slice(first);
    }
    let mut total = 0;
    loop {
        let mut group: [&[f32]; GROUP] = [pivot; GROUP];
        let mut count = 0;
        for (slot, row) in group.iter_mut().zip(&mut rows) {
            *slot = row;
            count += 1;
        }
        // Slots without a row still hold the pivot, which adds 0.
        accumulate_group(&group, pivot, sums, squares);
        total += count;
        if count < GROUP {
            return total;
        }
    }
}

vectorised! {
    fn accumulate_group(
        rows: &[&[f32]; GROUP], pivot: &[f32], sums: &mut [f64], squares: &mut [f64],
    ) {
        let len = sums.len();
        let (pivot, squares) = (&pivot[..len], &mut squares[..len]);
        let rows = rows.map(|row| &row[..len]);
        for c in 0..len {
            let (mut sum, mut square) = (0.0, 0.0);
            for row in rows {
                let distance = row[c] - pivot[c];
                sum += distance;
                square += distance * distance;
            }
            sums[c] += f64::from(sum);
            squares[c] += f64::from(square);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naive::{Numbers, distance, same_for_any_threads};
    use proptest::prelude::*;

    fn two_passes(x: &[f32], channels: usize) -> (Vec<f32>, Vec<f32>) {
        let n = (x.len() / channels) as f64;
        let column = |c: usize| x.iter().skip(c).step_by(channels).map(|&v| f64::from(v));
        let mean: Vec<f64> = (0..channels).map(|c| column(c).sum::<f64>() / n).collect();
        let variance = |c: usize| column(c).map(|v| (v - mean[c]).powi(2)).sum::<f64>() / n;
        let variances = (0..channels).map(|c| variance(c) as f32).collect();
        (mean.iter().map(|&m| m as f32).collect(), variances)
    }

    proptest! {
        #[test]
        fn equals_two_passes(rows in 1usize..700, channels in 1usize..70, seed: u64) {
            let x = Numbers(seed).real(rows * channels);
            let mut ours = Statistics::default();
            batch_statistics(&x, channels, &mut ours);
            let (mean, variance) = two_passes(&x, channels);
            prop_assert!(distance(&ours.mean, &mean) < 1e-6);
            prop_assert!(distance(&ours.variance, &variance) < 1e-6);
        }
    }

    #[test]
    fn a_large_mean_does_not_drown_the_variance() {
        let x: Vec<f32> = Numbers(5)
            .real(20_000)
            .iter()
            .map(|v| 4096.0 + v.round())
            .collect();
        let mut ours = Statistics::default();
        batch_statistics(&x, 2, &mut ours);
        assert!(distance(&ours.variance, &two_passes(&x, 2).1) < 1e-6);
    }

    #[test]
    fn threads_do_not_matter() {
        let x = Numbers(6).real(70 * 9000);
        same_for_any_threads(|| {
            let mut ours = Statistics::default();
            batch_statistics(&x, 70, &mut ours);
            [ours.mean, ours.variance].concat()
        });
    }
}
