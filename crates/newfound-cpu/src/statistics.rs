//! Mean and variance of every channel over the batch.
//!
//! The textbook formula E[x²] − E[x]² is fatal in single precision, where a mean of 1000 and a standard
//! deviation of 1 leave nothing. In double precision the square of a single-precision number is exact, and
//! the same data keep ten digits of their variance; one pass is enough.

use crate::isa::vectorised;
use crate::shared::Shared;
use rayon::prelude::*;
use std::ops::Range;

/// Rows that are added before the running sums in memory are touched.
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
    // Sums and sums of squares per block of rows; kept so that the next step need not allocate.
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
    x.par_chunks(size * channels).enumerate().for_each(|(block, x)| {
        let rows = x.chunks_exact(channels);
        // SAFETY: a block has one task.
        let (sums, squares) = unsafe { partial.part(block, 0..channels) };
        accumulate(rows, sums, squares);
    });
    partial.finish(rows);
}

/// Rows per block: from the problem's size alone, so that the sums do not depend on the threads.
pub(crate) fn block_rows(channels: usize) -> usize {
    (BLOCK / channels).max(GROUP).next_multiple_of(GROUP)
}

/// The sums of each block of rows, on the way to [`Statistics`].
pub(crate) struct Partial<'a> {
    mean: &'a mut [f32],
    variance: &'a mut [f32],
    sums: Shared<'a, f64>,
    blocks: usize,
    channels: usize,
}

impl<'a> Partial<'a> {
    pub(crate) fn new(statistics: &'a mut Statistics, blocks: usize, channels: usize) -> Self {
        let Statistics { mean, variance, sums } = statistics;
        mean.resize(channels, 0.0);
        variance.resize(channels, 0.0);
        sums.clear();
        sums.resize(blocks * 2 * channels, 0.0);
        Self { mean, variance, sums: Shared::new(sums), blocks, channels }
    }

    /// Sums and sums of squares of some channels of a block.
    ///
    /// # Safety
    /// No other task may use these channels of this block.
    unsafe fn part(&self, block: usize, columns: Range<usize>) -> (&'a mut [f64], &'a mut [f64]) {
        let start = block * 2 * self.channels + columns.start;
        // SAFETY: the two parts do not overlap, since a range of columns is at most `channels` long; the
        // rest is the caller's promise.
        unsafe {
            let sums = self.sums.part(start, columns.len());
            (sums, self.sums.part(start + self.channels, columns.len()))
        }
    }

    /// Adds the numbers of `y` in these rows and columns to the sums of `block`.
    ///
    /// # Safety
    /// No other task may write these numbers of `y`, or use these columns of this block.
    pub(crate) unsafe fn add(&self, block: usize, y: Shared, rows: Range<usize>, columns: Range<usize>) {
        // SAFETY: the caller's promise.
        let (sums, squares) = unsafe { self.part(block, columns.clone()) };
        // SAFETY: the caller's promise.
        let row = |row| -> &[f32] {
            unsafe { y.part(row * self.channels + columns.start, columns.len()) }
        };
        accumulate(rows.map(row), sums, squares);
    }

    /// Mean and variance from all blocks, added in their order.
    pub(crate) fn finish(self, rows: usize) {
        // SAFETY: the tasks are done; this is the only borrow.
        let all = unsafe { self.sums.part(0, self.blocks * 2 * self.channels) };
        for channel in 0..self.channels {
            let (mut sum, mut square) = (0.0, 0.0);
            for block in all.chunks_exact(2 * self.channels) {
                sum += block[channel];
                square += block[self.channels + channel];
            }
            let mean = sum / rows as f64;
            self.mean[channel] = mean as f32;
            self.variance[channel] = (square / rows as f64 - mean * mean).max(0.0) as f32;
        }
    }
}

/// Adds rows to the sums and their squares to the squares, in a fixed order.
fn accumulate<'x>(
    mut rows: impl Iterator<Item = &'x [f32]>,
    sums: &mut [f64],
    squares: &mut [f64],
) {
    loop {
        let mut group: [&[f32]; GROUP] = [&[]; GROUP];
        let mut count = 0;
        for (slot, row) in group.iter_mut().zip(&mut rows) {
            *slot = row;
            count += 1;
        }
        if count == GROUP {
            accumulate_group(&group, sums, squares);
            continue;
        }
        for row in &group[..count] {
            accumulate_row(row, sums, squares);
        }
        return;
    }
}

vectorised! {
    fn accumulate_group(rows: &[&[f32]; GROUP], sums: &mut [f64], squares: &mut [f64]) {
        let len = sums.len();
        let squares = &mut squares[..len];
        let rows = rows.map(|row| &row[..len]);
        for c in 0..len {
            let (mut sum, mut square) = (0.0, 0.0);
            for row in rows {
                let value = f64::from(row[c]);
                sum += value;
                square += value * value;
            }
            sums[c] += sum;
            squares[c] += square;
        }
    }
}

vectorised! {
    fn accumulate_row(row: &[f32], sums: &mut [f64], squares: &mut [f64]) {
        for ((&value, sum), square) in row.iter().zip(sums).zip(squares) {
            let value = f64::from(value);
            *sum += value;
            *square += value * value;
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
        let x: Vec<f32> = Numbers(5).real(20_000).iter().map(|v| 4096.0 + v.round()).collect();
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
