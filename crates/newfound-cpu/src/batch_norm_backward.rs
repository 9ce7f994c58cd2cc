//! Batch normalisation, backward: one pass for the sums over the batch, one for the input gradient.
//!
//! With x̂ = (x − mean) / √(variance + epsilon) and dz the gradient behind the ReLU,
//!
//! ```text
//! dbeta  = Σ dz
//! dgamma = Σ dz · x̂
//! dx     = gamma / √(variance + epsilon) · (dz − dbeta / n − x̂ · dgamma / n)     in training
//! dx     = gamma / √(variance + epsilon) · dz                                    with fixed statistics
//! ```
//!
//! Neither x̂ nor the mask of the ReLU is kept from the forward pass: both follow from x, by the same
//! operations, and only where a residual was added is the output needed to know the mask.

use crate::batch_norm::BatchNorm;
use crate::isa::vectorised;
use crate::pointwise::rows;
use crate::scratch::scratch;
use crate::statistics::block_rows;
use rayon::prelude::*;

/// Where the gradient passed through a ReLU on its way back.
#[derive(Debug, Clone, Copy)]
pub enum Gate<'a> {
    /// There was no ReLU.
    Open,
    /// A ReLU directly behind the normalisation: its mask is found again from the input.
    Relu,
    /// A ReLU behind the sum with a residual: its mask is where this output, `[rows, C]`, is positive.
    ReluOf(&'a [f32]),
}

/// The gradients of what a batch normalisation has learnt, `[C]` each.
pub struct Gradients<'a> {
    /// Of the factor.
    pub dgamma: &'a mut [f32],
    /// Of the term.
    pub dbeta: &'a mut [f32],
}

/// The gradient that comes from behind.
pub enum Incoming<'a> {
    /// `[rows, C]`.
    Alone(&'a [f32]),
    /// `[rows, C]`, replaced by the gradient of the residual that was added behind the normalisation.
    WithResidual(&'a mut [f32]),
}

/// Gradients in training, where the statistics are those of the batch and depend on `x` themselves. `x` is replaced by its
/// gradient.
pub fn batch_norm_backward(
    norm: &BatchNorm,
    x: &mut [f32],
    gate: Gate,
    dy: Incoming,
    gradients: Gradients,
) {
    backward(norm, x, gate, dy, gradients, true);
}

/// Gradients in evaluation mode, where the statistics are constants. `x` is replaced by its gradient.
pub fn frozen_batch_norm_backward(
    norm: &BatchNorm,
    x: &mut [f32],
    gate: Gate,
    dy: Incoming,
    gradients: Gradients,
) {
    backward(norm, x, gate, dy, gradients, false);
}

fn backward(
    norm: &BatchNorm,
    x: &mut [f32],
    gate: Gate,
    dy: Incoming,
    gradients: Gradients,
    statistics_depend_on_x: bool,
) {
    let channels = norm.channels();
    let count = rows(x, channels);
    let Gradients { dgamma, dbeta } = gradients;
    let dy_len = match &dy {
        Incoming::Alone(dy) => dy.len(),
        Incoming::WithResidual(dy) => dy.len(),
    };
    assert_eq!(dy_len, x.len());
    assert_eq!(
        (dgamma.len(), dbeta.len()),
        (channels, channels),
        "one number per channel"
    );
    if let Gate::ReluOf(y) = gate {
        assert_eq!(y.len(), x.len());
    }
    let mut scale = scratch(channels);
    norm.scale(&mut scale);

    // The residual's gradient is dz itself: where it was written, neither the mask nor y is needed again.
    let (sums, gate, dy) = match dy {
        Incoming::Alone(dy) => (sums(norm, &scale, x, gate, dy), gate, dy),
        Incoming::WithResidual(dy) => {
            let sums = sums_and_gate(norm, &scale, x, gate, dy);
            (sums, Gate::Open, &*dy)
        }
    };

    // dx = scale · dz − (x − mean) · slope − level
    let mut slope = scratch(channels);
    let mut level = scratch(channels);
    for c in 0..channels {
        let inverse = norm.inverse_deviation(c);
        let [sum, moment] = [sums[c], sums[channels + c] * inverse];
        dbeta[c] = sum as f32;
        dgamma[c] = moment as f32;
        let factor = f64::from(norm.gamma[c]) * inverse / count.max(1) as f64;
        let depends = if statistics_depend_on_x { factor } else { 0.0 };
        slope[c] = (depends * moment * inverse) as f32;
        level[c] = (depends * sum) as f32;
    }
    let (scale, slope, level) = (&scale[..], &slope[..], &level[..]);
    let size = block_rows(channels) * channels;
    let blocks = x.par_chunks_mut(size).zip(dy.par_chunks(size));
    blocks.enumerate().for_each(|(block, (x, dy))| {
        let gate = gate.block(block * size, x.len());
        input_rows(norm, scale, slope, level, x, gate, dy);
    });
}

impl<'a> Gate<'a> {
    fn block(self, start: usize, len: usize) -> Gate<'a> {
        match self {
            Gate::ReluOf(y) => Gate::ReluOf(&y[start..start + len]),
            other => other,
        }
    }
}

/// `Σ dz` and `Σ dz · (x − mean)` per channel, in double precision.
fn sums(norm: &BatchNorm, scale: &[f32], x: &[f32], gate: Gate, dy: &[f32]) -> Vec<f64> {
    let channels = scale.len();
    let size = block_rows(channels) * channels;
    let mut partial = vec![0.0f64; x.len().div_ceil(size) * 2 * channels];
    partial
        .par_chunks_mut(2 * channels)
        .zip(x.par_chunks(size).zip(dy.par_chunks(size)))
        .enumerate()
        .for_each(|(block, (sums, (x, dy)))| {
            sum_rows(norm, scale, x, gate.block(block * size, x.len()), dy, sums);
        });
    added(partial, 2 * channels)
}

/// The same; dy becomes dz on the way.
fn sums_and_gate(
    norm: &BatchNorm,
    scale: &[f32],
    x: &[f32],
    gate: Gate,
    dy: &mut [f32],
) -> Vec<f64> {
    let channels = scale.len();
    let size = block_rows(channels) * channels;
    let mut partial = vec![0.0f64; x.len().div_ceil(size) * 2 * channels];
    partial
        .par_chunks_mut(2 * channels)
        .zip(x.par_chunks(size).zip(dy.par_chunks_mut(size)))
        .enumerate()
        .for_each(|(block, (sums, (x, dy)))| {
            gate_rows(norm, scale, x, gate.block(block * size, x.len()), dy);
            sum_rows(norm, scale, x, Gate::Open, dy, sums);
        });
    added(partial, 2 * channels)
}

/// The sums of all blocks, added in their order.
fn added(mut partial: Vec<f64>, width: usize) -> Vec<f64> {
    partial.resize(partial.len().max(width), 0.0);
    let (total, rest) = partial.split_at_mut(width);
    for block in rest.chunks_exact(width) {
        for (total, sum) in total.iter_mut().zip(block) {
            *total += sum;
        }
    }
    partial.truncate(width);
    partial
}

/// Evaluates `$row` with a function `$dz(c, x, dy)` that gives the gradient behind the gate in row `$r`.
///
/// A macro, so that each kind of gate gets a loop of its own that the compiler can vectorise.
macro_rules! gated {
    ($gate:expr, $norm:expr, $scale:expr, $r:expr, |$dz:ident| $row:expr) => {
        let channels = $scale.len();
        let (mean, beta) = (&$norm.mean[..channels], &$norm.beta[..channels]);
        match $gate {
            Gate::Open => {
                let $dz = |_: usize, _: f32, dy: f32| dy;
                $row
            }
            // The operations of the forward pass, in its order: the same bits, the same mask.
            Gate::Relu => {
                let passes = |c: usize, x: f32| (x - mean[c]) * $scale[c] + beta[c] > 0.0;
                let $dz = |c: usize, x: f32, dy: f32| if passes(c, x) { dy } else { 0.0 };
                $row
            }
            Gate::ReluOf(y) => {
                let y = &y[$r * channels..][..channels];
                let $dz = |c: usize, _: f32, dy: f32| if y[c] > 0.0 { dy } else { 0.0 };
                $row
            }
        }
    };
}

vectorised! {
    fn sum_rows(
        norm: &BatchNorm, scale: &[f32], x: &[f32], gate: Gate, dy: &[f32], sums: &mut [f64],
    ) {
        let channels = scale.len();
        let (sums, moments) = sums.split_at_mut(channels);
        let (moments, mean) = (&mut moments[..channels], &norm.mean[..channels]);
        let rows = x.chunks_exact(channels).zip(dy.chunks_exact(channels));
        for (row, (x, dy)) in rows.enumerate() {
            gated!(gate, norm, scale, row, |dz| for c in 0..channels {
                let d = dz(c, x[c], dy[c]);
                sums[c] += f64::from(d);
                moments[c] += f64::from(d) * f64::from(x[c] - mean[c]);
            });
        }
    }
}

vectorised! {
    fn gate_rows(norm: &BatchNorm, scale: &[f32], x: &[f32], gate: Gate, dy: &mut [f32]) {
        let channels = scale.len();
        let rows = x.chunks_exact(channels).zip(dy.chunks_exact_mut(channels));
        for (row, (x, dy)) in rows.enumerate() {
            gated!(gate, norm, scale, row, |dz| for c in 0..channels {
                dy[c] = dz(c, x[c], dy[c]);
            });
        }
    }
}

vectorised! {
    fn input_rows(
        norm: &BatchNorm, scale: &[f32], slope: &[f32], level: &[f32], x: &mut [f32], gate: Gate,
        dy: &[f32],
    ) {
        let channels = scale.len();
        let (slope, level, mean) = (&slope[..channels], &level[..channels], &norm.mean[..channels]);
        let rows = x.chunks_exact_mut(channels).zip(dy.chunks_exact(channels));
        for (row, (x, dy)) in rows.enumerate() {
            gated!(gate, norm, scale, row, |dz| for c in 0..channels {
                let dz = dz(c, x[c], dy[c]);
                x[c] = scale[c] * dz - (x[c] - mean[c]) * slope[c] - level[c];
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naive::{Numbers, distance, same_for_any_threads};
    use crate::{Activation, Statistics, batch_norm, batch_statistics};
    use proptest::prelude::*;

    /// A problem, and the loss Σ g · y as a function of its inputs, in double precision.
    struct Problem {
        channels: usize,
        x: Vec<f64>,
        gamma: Vec<f64>,
        beta: Vec<f64>,
        residual: Vec<f64>,
        g: Vec<f64>,
        relu: bool,
        frozen: Option<(Vec<f64>, Vec<f64>)>,
    }

    impl Problem {
        fn statistics(&self) -> (Vec<f64>, Vec<f64>) {
            if let Some(statistics) = &self.frozen {
                return statistics.clone();
            }
            let n = (self.x.len() / self.channels) as f64;
            let column = |c: usize| self.x.iter().skip(c).step_by(self.channels);
            let mean: Vec<f64> = (0..self.channels)
                .map(|c| column(c).sum::<f64>() / n)
                .collect();
            let variance = (0..self.channels)
                .map(|c| column(c).map(|v| (v - mean[c]).powi(2)).sum::<f64>() / n)
                .collect();
            (mean, variance)
        }

        fn output(&self) -> Vec<f64> {
            let (mean, variance) = self.statistics();
            let one = |(i, &x): (usize, &f64)| {
                let c = i % self.channels;
                let v = (x - mean[c]) / (variance[c] + EPSILON).sqrt() * self.gamma[c];
                let v = v + self.beta[c] + self.residual[i];
                if self.relu { v.max(0.0) } else { v }
            };
            self.x.iter().enumerate().map(one).collect()
        }

        fn loss(&self) -> f64 {
            self.output().iter().zip(&self.g).map(|(y, g)| y * g).sum()
        }

        /// The derivative of the loss along one number, by central differences.
        fn slope(&mut self, number: impl Fn(&mut Self) -> &mut f64) -> f32 {
            let step = 1e-5;
            *number(self) += step;
            let above = self.loss();
            *number(self) -= 2.0 * step;
            let below = self.loss();
            *number(self) += step;
            ((above - below) / (2.0 * step)) as f32
        }
    }

    const EPSILON: f64 = 1e-5;

    fn single(values: &[f64]) -> Vec<f32> {
        values.iter().map(|&v| v as f32).collect()
    }

    fn double(values: Vec<f32>) -> Vec<f64> {
        values.into_iter().map(f64::from).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn gradients_are_the_slopes_of_the_loss(
            rows in 2usize..12, channels in 1usize..20, seed: u64,
            relu: bool, with_residual: bool, frozen: bool,
        ) {
            let mut numbers = Numbers(seed);
            let n = rows * channels;
            let residual = if with_residual { numbers.real(n) } else { vec![0.0; n] };
            let mut problem = Problem {
                channels,
                x: double(numbers.real(n)),
                gamma: double(numbers.real(channels)),
                beta: double(numbers.real(channels)),
                residual: double(residual.clone()),
                g: double(numbers.real(n)),
                relu,
                frozen: frozen.then(|| (
                    double(numbers.real(channels)),
                    double(numbers.real(channels)).iter().map(|v| v.abs() + 0.1).collect(),
                )),
            };
            // Differences mean nothing across the kink of the ReLU, or where two rows nearly coincide.
            prop_assume!(!relu || problem.output().iter().all(|&y| y == 0.0 || y > 1e-3));
            let no_kink = Problem { relu: false, frozen: problem.frozen.clone(), ..Problem {
                channels, x: problem.x.clone(), gamma: problem.gamma.clone(), beta: problem.beta.clone(),
                residual: problem.residual.clone(), g: problem.g.clone(), relu: false, frozen: None,
            }};
            prop_assume!(!relu || no_kink.output().iter().all(|y| y.abs() > 1e-3));
            prop_assume!(problem.statistics().1.iter().all(|&v| v > 1e-2));

            let (mean, variance) = problem.statistics();
            let (gamma, beta) = (single(&problem.gamma), single(&problem.beta));
            let (mean, variance) = (single(&mean), single(&variance));
            let norm = BatchNorm {
                gamma: &gamma, beta: &beta, mean: &mean, variance: &variance, epsilon: EPSILON as f32,
            };
            let x = single(&problem.x);
            let mut y = vec![f32::NAN; n];
            let activation = if relu { Activation::Relu } else { Activation::Identity };
            batch_norm(&norm, &x, with_residual.then_some(&residual), activation, &mut y);
            prop_assert!(distance(&y, &single(&problem.output())) < 1e-4);

            let gate = match (relu, with_residual) {
                (false, _) => Gate::Open,
                (true, false) => Gate::Relu,
                (true, true) => Gate::ReluOf(&y),
            };
            let (mut dx, mut dgamma, mut dbeta) =
                (x.clone(), vec![f32::NAN; channels], vec![f32::NAN; channels]);
            let gradients = Gradients { dgamma: &mut dgamma, dbeta: &mut dbeta };
            let mut g = single(&problem.g);
            let dy = match with_residual {
                true => Incoming::WithResidual(&mut g),
                false => Incoming::Alone(&g),
            };
            if frozen {
                frozen_batch_norm_backward(&norm, &mut dx, gate, dy, gradients);
            } else {
                batch_norm_backward(&norm, &mut dx, gate, dy, gradients);
            }
            let dresidual = g;
            let slopes: Vec<f32> = (0..n).map(|i| problem.slope(|p| &mut p.x[i])).collect();
            // Two or three rows make gradients that cancel: measure against the incoming gradient too.
            let close = |ours: &[f32], slopes: &[f32]| {
                ours.iter().zip(slopes).all(|(a, b)| (a - b).abs() < 2e-4 * (1.0 + b.abs()))
            };
            prop_assert!(close(&dx, &slopes), "dx {:?} {:?}", dx, slopes);
            let slopes: Vec<f32> = (0..channels).map(|c| problem.slope(|p| &mut p.gamma[c])).collect();
            prop_assert!(close(&dgamma, &slopes), "dgamma {:?} {:?}", dgamma, slopes);
            let slopes: Vec<f32> = (0..channels).map(|c| problem.slope(|p| &mut p.beta[c])).collect();
            prop_assert!(close(&dbeta, &slopes), "dbeta {:?} {:?}", dbeta, slopes);
            if with_residual {
                let slopes: Vec<f32> = (0..n).map(|i| problem.slope(|p| &mut p.residual[i])).collect();
                prop_assert!(close(&dresidual, &slopes), "dresidual");
            }
        }
    }

    #[test]
    fn threads_and_the_way_to_the_mask_do_not_matter() {
        let (rows, channels) = (5000, 70);
        let mut numbers = Numbers(7);
        let (x, dy) = (numbers.real(rows * channels), numbers.real(rows * channels));
        let (gamma, beta) = (numbers.real(channels), numbers.real(channels));
        let all = |recompute: bool| {
            let mut statistics = Statistics::default();
            batch_statistics(&x, channels, &mut statistics);
            let Statistics { mean, variance, .. } = &statistics;
            let norm = BatchNorm {
                gamma: &gamma,
                beta: &beta,
                mean,
                variance,
                epsilon: 1e-5,
            };
            let mut y = vec![0.0; x.len()];
            batch_norm(&norm, &x, None, Activation::Relu, &mut y);
            let (mut dx, mut dgamma, mut dbeta) =
                (x.clone(), vec![0.0; channels], vec![0.0; channels]);
            let gradients = Gradients {
                dgamma: &mut dgamma,
                dbeta: &mut dbeta,
            };
            let gate = if recompute {
                Gate::Relu
            } else {
                Gate::ReluOf(&y)
            };
            batch_norm_backward(&norm, &mut dx, gate, Incoming::Alone(&dy), gradients);
            [y, dx, dgamma, dbeta].concat()
        };
        assert_eq!(all(true), all(false));
        same_for_any_threads(|| all(true));
    }
}
