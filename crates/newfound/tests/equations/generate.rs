//! Generated inputs, and what is needed to write an equation down a second time as plain loops.
//!
//! proptest chooses the sizes and a seed, and makes them smaller when a test fails; the numbers come from the
//! project's own generator, so that a failure can be repeated from what is printed.

use burn::tensor::{Device, Tensor, TensorData};
use newfound::random::Stream;
use proptest::test_runner::{Config, RngSeed};

/// The same cases in every run.
pub fn generated(cases: u32) -> Config {
    Config {
        cases,
        rng_seed: RngSeed::Fixed(20_240_501),
        failure_persistence: None,
        ..Config::default()
    }
}

/// Rows of numbers in double precision. Generated ones are exact in single precision, so that twin and tensor
/// see the same input.
#[derive(Debug, Clone)]
pub struct Matrix {
    pub rows: usize,
    pub cols: usize,
    pub values: Vec<f64>,
}

impl Matrix {
    /// From its rows.
    pub fn of<const R: usize, const C: usize>(rows: [[f64; C]; R]) -> Self {
        Self {
            rows: R,
            cols: C,
            values: rows.concat(),
        }
    }

    /// One row.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.cols..][..self.cols]
    }

    /// All rows.
    pub fn iter(&self) -> impl Iterator<Item = &[f64]> {
        self.values.chunks_exact(self.cols)
    }

    /// As a constant.
    pub fn tensor(&self) -> Tensor<2> {
        let values: Vec<f32> = self.values.iter().map(|&x| x as f32).collect();
        Tensor::from_data(
            TensorData::new(values, [self.rows, self.cols]),
            &Device::flex(),
        )
    }

    /// As something a gradient is taken for.
    pub fn leaf(&self) -> Tensor<2> {
        self.tensor().autodiff().require_grad()
    }
}

/// The gradient of `f` by central differences: accurate to about 1e-9 in double precision.
pub fn slope(at: &Matrix, f: impl Fn(&Matrix) -> f64) -> Vec<f64> {
    const STEP: f64 = 1e-5;
    let moved = |position: usize, by: f64| {
        let mut matrix = at.clone();
        matrix.values[position] += by;
        f(&matrix)
    };
    (0..at.values.len())
        .map(|i| (moved(i, STEP) - moved(i, -STEP)) / (2.0 * STEP))
        .collect()
}

/// Draws inputs from one seed.
pub struct Draw(pub Stream);

impl Draw {
    pub fn new(seed: u64) -> Self {
        Self(Stream::new(seed, "generated", &[]))
    }

    /// Entries with this standard deviation.
    pub fn normal(&mut self, rows: usize, cols: usize, deviation: f64) -> Matrix {
        self.matrix(rows, cols, |draws| deviation * draws.normal())
    }

    /// Rows of very different length: a cosine must not see it.
    pub fn features(&mut self, rows: usize, cols: usize) -> Matrix {
        let mut matrix = self.normal(rows, cols, 1.0);
        for row in matrix.values.chunks_exact_mut(cols) {
            let length = self.0.normal().exp();
            row.iter_mut().for_each(|x| *x = single(*x * length));
        }
        matrix
    }

    /// Rows of length one.
    pub fn unit(&mut self, rows: usize, cols: usize) -> Matrix {
        let mut matrix = self.normal(rows, cols, 1.0);
        for row in matrix.values.chunks_exact_mut(cols) {
            let length = dot(row, row).sqrt();
            row.iter_mut().for_each(|x| *x = single(*x / length));
        }
        matrix
    }

    /// Rows that sum to one.
    pub fn probabilities(&mut self, rows: usize, classes: usize) -> Matrix {
        let mut matrix = self.normal(rows, classes, 1.5);
        for row in matrix.values.chunks_exact_mut(classes) {
            let softmax = softmax(row);
            row.iter_mut()
                .zip(softmax)
                .for_each(|(x, p)| *x = single(p));
        }
        matrix
    }

    /// Small whole numbers: their sums and products are exact, and equal ones abound.
    pub fn whole(&mut self, rows: usize, cols: usize, largest: u64) -> Matrix {
        let shift = largest as f64;
        self.matrix(rows, cols, |draws| {
            draws.below(2 * largest + 1) as f64 - shift
        })
    }

    /// Whole numbers below `high`.
    pub fn below(&mut self, high: usize, count: usize) -> Vec<usize> {
        (0..count)
            .map(|_| self.0.below(high as u64) as usize)
            .collect()
    }

    /// Uniform in [0, 1).
    pub fn uniform(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| single(self.0.unit())).collect()
    }

    /// True with probability `p`.
    pub fn mask(&mut self, count: usize, p: f64) -> Vec<bool> {
        (0..count).map(|_| self.0.bernoulli(p)).collect()
    }

    fn matrix(
        &mut self,
        rows: usize,
        cols: usize,
        mut f: impl FnMut(&mut Stream) -> f64,
    ) -> Matrix {
        let values = (0..rows * cols).map(|_| single(f(&mut self.0))).collect();
        Matrix { rows, cols, values }
    }
}

/// Rounded to single precision.
fn single(x: f64) -> f64 {
    f64::from(x as f32)
}

/// x · y
pub fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(a, b)| a * b).sum()
}

/// CosDist(x, y)
pub fn cosine_distance(x: &[f64], y: &[f64]) -> f64 {
    1.0 - dot(x, y) / (dot(x, x) * dot(y, y)).sqrt()
}

/// e^x_i / Σ_j e^x_j
pub fn softmax(x: &[f64]) -> Vec<f64> {
    let largest = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = x.iter().map(|v| (v - largest).exp()).sum();
    x.iter().map(|v| (v - largest).exp() / sum).collect()
}

/// Position of the largest entry, the first of equal ones.
pub fn arg_max(x: &[f64]) -> usize {
    (0..x.len()).fold(0, |best, i| if x[i] > x[best] { i } else { best })
}
