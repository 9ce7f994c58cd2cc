//! Max-pooling and global average pooling.

use crate::isa::vectorised;
use rayon::prelude::*;

/// A max-pooling with a square window; padding never wins.
///
/// # Shapes
/// Input `[B, H, W, C]`, output `[B, H', W', C]` with `H' = (H + 2·padding − window) / stride + 1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxPool {
    /// Images, B.
    pub batch: usize,
    /// Input rows of pixels, H.
    pub height: usize,
    /// Input columns of pixels, W.
    pub width: usize,
    /// Channels, C.
    pub channels: usize,
    /// Side of the square window, at most 15.
    pub window: usize,
    /// Pixels between two neighbouring windows.
    pub stride: usize,
    /// Pixels added on every side, at most half a window.
    pub padding: usize,
}

impl MaxPool {
    /// Output rows of pixels, H'.
    pub fn output_height(&self) -> usize {
        self.windows(self.height)
    }

    /// Output columns of pixels, W'.
    pub fn output_width(&self) -> usize {
        self.windows(self.width)
    }

    fn windows(&self, side: usize) -> usize {
        assert!(
            (1..=15).contains(&self.window) && self.stride > 0 && 2 * self.padding <= self.window,
            "not a pooling this function knows: {self:?}"
        );
        assert!(
            side + 2 * self.padding >= self.window,
            "the window does not fit: {self:?}"
        );
        (side + 2 * self.padding - self.window) / self.stride + 1
    }

    /// Numbers in the input.
    pub fn input_len(&self) -> usize {
        self.batch * self.height * self.width * self.channels
    }

    /// Numbers in the output.
    pub fn output_len(&self) -> usize {
        self.batch * self.output_height() * self.output_width() * self.channels
    }

    /// The input coordinate of offset `k` in window `i`, if it lies inside of the image.
    fn inside(&self, i: usize, k: usize, side: usize) -> Option<usize> {
        (i * self.stride + k)
            .checked_sub(self.padding)
            .filter(|&at| at < side)
    }
}

/// The largest number of each window, into `y`, and its place in the window (line by line), into
/// `winners`. Of equal numbers the first wins; not-a-number wins over all.
pub fn max_pool(pool: &MaxPool, x: &[f32], y: &mut [f32], winners: &mut [u8]) {
    let (height, width, channels) = (pool.output_height(), pool.output_width(), pool.channels);
    assert_eq!(x.len(), pool.input_len(), "input of {pool:?}");
    assert_eq!(
        (y.len(), winners.len()),
        (pool.output_len(), pool.output_len()),
        "{pool:?}"
    );
    if y.is_empty() {
        return;
    }
    let line = width * channels;
    let lines = y
        .par_chunks_mut(line)
        .zip(winners.par_chunks_mut(line))
        .enumerate();
    lines.for_each(|(i, (y, winners))| {
        let (image, i) = (i / height, i % height);
        let pixels = y
            .chunks_exact_mut(channels)
            .zip(winners.chunks_exact_mut(channels));
        for (j, (y, winners)) in pixels.enumerate() {
            y.fill(f32::NEG_INFINITY);
            winners.fill(0);
            let mut first = true;
            for k in 0..pool.window * pool.window {
                let row = pool.inside(i, k / pool.window, pool.height);
                let column = pool.inside(j, k % pool.window, pool.width);
                let (Some(row), Some(column)) = (row, column) else {
                    continue;
                };
                let at = ((image * pool.height + row) * pool.width + column) * channels;
                if std::mem::take(&mut first) {
                    // So that a window of −∞ still points into the image.
                    winners.fill(k as u8);
                }
                challenge(&x[at..at + channels], k as u8, y, winners);
            }
        }
    });
}

vectorised! {
    fn challenge(x: &[f32], k: u8, best: &mut [f32], winners: &mut [u8]) {
        for ((&x, best), winner) in x.iter().zip(best).zip(winners) {
            let wins = x > *best || x.is_nan();
            *best = if wins { x } else { *best };
            *winner = if wins { k } else { *winner };
        }
    }
}

/// The input gradient of [`max_pool`]: every number of `dy` goes back to the winner of its window.
///
/// Seen from the input, each pixel asks the few windows that contain it, in a fixed order.
pub fn max_pool_backward(pool: &MaxPool, winners: &[u8], dy: &[f32], dx: &mut [f32]) {
    let (height, width, channels) = (pool.output_height(), pool.output_width(), pool.channels);
    assert_eq!(
        (dy.len(), winners.len()),
        (pool.output_len(), pool.output_len()),
        "{pool:?}"
    );
    assert_eq!(dx.len(), pool.input_len(), "input gradient of {pool:?}");
    if dx.is_empty() {
        return;
    }
    // Windows i with i · stride ≤ at + padding < i · stride + window.
    let windows = |at: usize, count: usize| {
        let end = ((at + pool.padding) / pool.stride + 1).min(count);
        (at + pool.padding + 1)
            .saturating_sub(pool.window)
            .div_ceil(pool.stride)..end
    };
    dx.par_chunks_mut(pool.width * channels)
        .enumerate()
        .for_each(|(line, dx)| {
            let (image, row) = (line / pool.height, line % pool.height);
            for (column, dx) in dx.chunks_exact_mut(channels).enumerate() {
                dx.fill(0.0);
                for i in windows(row, height) {
                    for j in windows(column, width) {
                        let [k, l] = [
                            row + pool.padding - i * pool.stride,
                            column + pool.padding - j * pool.stride,
                        ];
                        let at = ((image * height + i) * width + j) * channels;
                        let range = at..at + channels;
                        collect(
                            &winners[range.clone()],
                            (k * pool.window + l) as u8,
                            &dy[range],
                            dx,
                        );
                    }
                }
            }
        });
}

vectorised! {
    fn collect(winners: &[u8], k: u8, dy: &[f32], dx: &mut [f32]) {
        for ((&winner, &dy), dx) in winners.iter().zip(dy).zip(dx) {
            *dx += if winner == k { dy } else { 0.0 };
        }
    }
}

/// The mean of every channel over the pixels of an image.
///
/// # Shapes
/// `x [B, pixels, C]`, `y [B, C]`.
pub fn global_average(pixels: usize, channels: usize, x: &[f32], y: &mut [f32]) {
    assert_eq!(
        x.len() * channels,
        y.len() * pixels * channels,
        "one row of means per image"
    );
    assert!(
        channels > 0 && pixels > 0,
        "an image without pixels has no mean"
    );
    y.par_chunks_mut(channels)
        .zip(x.par_chunks(pixels * channels))
        .for_each(|(y, x)| {
            y.fill(0.0);
            for pixel in x.chunks_exact(channels) {
                accumulate(pixel, y);
            }
            let share = 1.0 / pixels as f32;
            y.iter_mut().for_each(|y| *y *= share);
        });
}

vectorised! {
    fn accumulate(x: &[f32], y: &mut [f32]) {
        for (&x, y) in x.iter().zip(y) {
            *y += x;
        }
    }
}

/// The input gradient of [`global_average`]: every pixel has the same share of `dy`.
pub fn global_average_backward(pixels: usize, channels: usize, dy: &[f32], dx: &mut [f32]) {
    assert_eq!(
        dx.len() * channels,
        dy.len() * pixels * channels,
        "one row of means per image"
    );
    assert!(
        channels > 0 && pixels > 0,
        "an image without pixels has no mean"
    );
    let share = 1.0 / pixels as f32;
    let images = dx
        .par_chunks_mut(pixels * channels)
        .zip(dy.par_chunks(channels));
    images.for_each(|(dx, dy)| {
        for pixel in dx.chunks_exact_mut(channels) {
            for (dx, &dy) in pixel.iter_mut().zip(dy) {
                *dx = dy * share;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naive::{Numbers, same_for_any_threads};
    use proptest::prelude::*;

    fn pools() -> impl Strategy<Value = MaxPool> {
        (
            1usize..4,
            1usize..14,
            1usize..14,
            1usize..70,
            1usize..5,
            1usize..4,
            0usize..3,
        )
            .prop_filter_map(
                "the window fits",
                |(batch, height, width, channels, window, stride, padding)| {
                    let fits = height.min(width) + 2 * padding >= window && 2 * padding <= window;
                    let pool = MaxPool {
                        batch,
                        height,
                        width,
                        channels,
                        window,
                        stride,
                        padding,
                    };
                    fits.then_some(pool)
                },
            )
    }

    /// Calls `each(output, input, k)` for every input of every window, in the window's order.
    fn windows(pool: &MaxPool, mut each: impl FnMut(usize, usize, u8)) {
        let (h, w) = (pool.output_height(), pool.output_width());
        for output in 0..pool.output_len() {
            let (pixel, c) = (output / pool.channels, output % pool.channels);
            let (b, i, j) = (pixel / (h * w), pixel / w % h, pixel % w);
            for k in 0..pool.window * pool.window {
                let y = (i * pool.stride + k / pool.window) as isize - pool.padding as isize;
                let x = (j * pool.stride + k % pool.window) as isize - pool.padding as isize;
                let inside =
                    (0..pool.height as isize).contains(&y) && (0..pool.width as isize).contains(&x);
                if inside {
                    let row = (b * pool.height + y as usize) * pool.width + x as usize;
                    each(output, row * pool.channels + c, k as u8);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn equals_its_naive_twin(pool in pools(), seed: u64) {
            let mut numbers = Numbers(seed);
            // Few values: ties are common.
            let x = numbers.whole(pool.input_len());
            let dy = numbers.whole(pool.output_len());
            let mut expected = vec![f32::NEG_INFINITY; pool.output_len()];
            let mut source = vec![usize::MAX; pool.output_len()];
            windows(&pool, |o, i, _| if x[i] > expected[o] { (expected[o], source[o]) = (x[i], i) });
            let mut gradient = vec![0.0; pool.input_len()];
            source.iter().zip(&dy).for_each(|(&i, d)| gradient[i] += d);

            let (mut y, mut winners) = (vec![f32::NAN; pool.output_len()], vec![99; pool.output_len()]);
            max_pool(&pool, &x, &mut y, &mut winners);
            prop_assert_eq!(y, expected);
            windows(&pool, |o, i, k| assert_eq!(winners[o] == k, source[o] == i));
            let mut dx = vec![f32::NAN; pool.input_len()];
            max_pool_backward(&pool, &winners, &dy, &mut dx);
            prop_assert_eq!(dx, gradient);
        }

        #[test]
        fn global_average_is_the_mean(b in 1usize..4, pixels in 1usize..50, c in 1usize..40, seed: u64) {
            let mut numbers = Numbers(seed);
            let x = numbers.whole(b * pixels * c);
            let mut y = vec![f32::NAN; b * c];
            global_average(pixels, c, &x, &mut y);
            for (i, y) in y.iter().enumerate() {
                let sum: f32 = (0..pixels).map(|p| x[(i / c * pixels + p) * c + i % c]).sum();
                prop_assert!((y - sum / pixels as f32).abs() < 1e-6);
            }
            let mut dx = vec![f32::NAN; x.len()];
            global_average_backward(pixels, c, &y, &mut dx);
            for (i, dx) in dx.iter().enumerate() {
                prop_assert!((dx - y[i / (pixels * c) * c + i % c] / pixels as f32).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn not_a_number_wins_and_minus_infinity_has_a_place() {
        let pool = MaxPool {
            batch: 1,
            height: 2,
            width: 2,
            channels: 1,
            window: 3,
            stride: 2,
            padding: 1,
        };
        let (mut y, mut winners) = ([0.0], [0]);
        max_pool(&pool, &[1.0, f32::NAN, 5.0, 2.0], &mut y, &mut winners);
        assert!(y[0].is_nan() && winners[0] == 5);
        max_pool(&pool, &[f32::NEG_INFINITY; 4], &mut y, &mut winners);
        let mut dx = [9.0; 4];
        max_pool_backward(&pool, &winners, &[3.0], &mut dx);
        assert_eq!(dx, [3.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn threads_do_not_matter() {
        let pool = MaxPool {
            batch: 3,
            height: 33,
            width: 27,
            channels: 65,
            window: 3,
            stride: 2,
            padding: 1,
        };
        let mut numbers = Numbers(9);
        let (x, dy) = (
            numbers.real(pool.input_len()),
            numbers.real(pool.output_len()),
        );
        same_for_any_threads(|| {
            let (mut y, mut winners) = (vec![0.0; dy.len()], vec![0; dy.len()]);
            max_pool(&pool, &x, &mut y, &mut winners);
            let mut dx = vec![0.0; x.len()];
            max_pool_backward(&pool, &winners, &dy, &mut dx);
            [y, dx].concat()
        });
    }
}
