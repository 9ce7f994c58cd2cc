//! Scalar twins of the kernels, and generated problems to compare them on.
//!
//! The twins follow the definitions loop by loop, in double precision. Problems filled with small whole
//! numbers have sums that are exact in single precision in any order, so the comparison is for equality.

use crate::shape::Conv;
use proptest::prelude::*;

/// A stream of numbers that look random, the same on every machine.
pub(crate) struct Numbers(pub u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        self.0 >> 33
    }

    /// Whole numbers from −3 to 3.
    pub(crate) fn whole(&mut self, len: usize) -> Vec<f32> {
        (0..len).map(|_| (self.next() % 7) as f32 - 3.0).collect()
    }

    /// Numbers in [−1, 1).
    pub(crate) fn real(&mut self, len: usize) -> Vec<f32> {
        (0..len)
            .map(|_| (self.next() % (1 << 20)) as f32 / (1 << 19) as f32 - 1.0)
            .collect()
    }
}

/// Convolutions of every awkward size.
pub(crate) fn convolutions() -> impl Strategy<Value = Conv> {
    let sides = (1usize..14, 1usize..14);
    let channels = prop::sample::select(vec![1usize, 2, 3, 7, 16, 17, 33, 64, 70, 130]);
    (
        1usize..4,
        sides,
        channels.clone(),
        channels,
        1usize..8,
        1usize..4,
        0usize..5,
    )
        .prop_filter_map(
            "the kernel fits",
            |(batch, (height, width), inputs, outputs, kernel, stride, padding)| {
                let fits = height.min(width) + 2 * padding >= kernel;
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
                fits.then_some(conv)
            },
        )
}

/// 3×3 convolutions whose channels fill whole registers but not always whole panels.
pub(crate) fn three_by_three() -> impl Strategy<Value = Conv> {
    let channels = prop::sample::select(vec![16usize, 48, 64, 80]);
    (
        1usize..4,
        1usize..15,
        1usize..15,
        channels.clone(),
        channels,
        0usize..3,
    )
        .prop_filter_map(
            "the kernel fits",
            |(batch, height, width, inputs, outputs, padding)| {
                let fits = height.min(width) + 2 * padding >= 3;
                let conv = Conv {
                    batch,
                    height,
                    width,
                    inputs,
                    outputs,
                    kernel: 3,
                    stride: 1,
                    padding,
                };
                fits.then_some(conv)
            },
        )
}

/// Calls `each(x, y, w)` with the index of every input, output and weight that meet in a product.
fn products(conv: &Conv, mut each: impl FnMut(usize, usize, usize)) {
    let Conv {
        batch,
        height,
        width,
        inputs,
        outputs,
        kernel,
        stride,
        padding,
    } = *conv;
    let (out_height, out_width) = (conv.output_height(), conv.output_width());
    for b in 0..batch {
        for (i, j) in (0..out_height).flat_map(|i| (0..out_width).map(move |j| (i, j))) {
            for (k, l) in (0..kernel).flat_map(|k| (0..kernel).map(move |l| (k, l))) {
                let (y, x) = (i * stride + k, j * stride + l);
                if y < padding || x < padding || y - padding >= height || x - padding >= width {
                    continue;
                }
                let pixel = (b * height + y - padding) * width + x - padding;
                let row = (b * out_height + i) * out_width + j;
                for o in 0..outputs {
                    for c in 0..inputs {
                        let weight = ((o * inputs + c) * kernel + k) * kernel + l;
                        each(pixel * inputs + c, row * outputs + o, weight);
                    }
                }
            }
        }
    }
}

fn round(sums: Vec<f64>) -> Vec<f32> {
    sums.into_iter().map(|sum| sum as f32).collect()
}

pub(crate) fn forward(conv: &Conv, x: &[f32], w: &[f32]) -> Vec<f32> {
    let mut y = vec![0.0; conv.output_len()];
    products(conv, |i, o, k| y[o] += f64::from(x[i]) * f64::from(w[k]));
    round(y)
}

pub(crate) fn input_gradient(conv: &Conv, dy: &[f32], w: &[f32]) -> Vec<f32> {
    let mut dx = vec![0.0; conv.input_len()];
    products(conv, |i, o, k| dx[i] += f64::from(dy[o]) * f64::from(w[k]));
    round(dx)
}

pub(crate) fn weight_gradient(conv: &Conv, x: &[f32], dy: &[f32]) -> Vec<f32> {
    let mut dw = vec![0.0; conv.weight_len()];
    products(conv, |i, o, k| dw[k] += f64::from(dy[o]) * f64::from(x[i]));
    round(dw)
}

/// Runs `work` with 1, 2 and 3 threads and demands the same bits.
pub(crate) fn same_for_any_threads(work: impl Fn() -> Vec<f32> + Send + Sync) {
    let bits = |threads| -> Vec<u32> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(&work).iter().map(|v| v.to_bits()).collect()
    };
    let one = bits(1);
    assert!(one == bits(2), "two threads give other bits than one");
    assert!(one == bits(3), "three threads give other bits than one");
}

/// The largest difference, relative to the largest number expected.
pub(crate) fn distance(got: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(got.len(), expected.len());
    let largest = expected
        .iter()
        .fold(f32::MIN_POSITIVE, |m, v| m.max(v.abs()));
    got.iter()
        .zip(expected)
        .fold(0.0, |m: f32, (a, b)| m.max((a - b).abs()))
        / largest
}

#[test]
fn a_convolution_by_hand() {
    // A 3 × 3 kernel that shifts the image down by one pixel.
    let conv = Conv {
        batch: 1,
        height: 2,
        width: 2,
        inputs: 1,
        outputs: 1,
        kernel: 3,
        stride: 1,
        padding: 1,
    };
    let mut w = vec![0.0; 9];
    w[1] = 1.0; // above the centre
    assert_eq!(
        forward(&conv, &[1.0, 2.0, 3.0, 4.0], &w),
        [0.0, 0.0, 1.0, 2.0]
    );
}
