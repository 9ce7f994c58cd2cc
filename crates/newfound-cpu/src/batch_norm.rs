//! Batch normalisation, forward: one pass that also adds the residual and applies the ReLU.

use crate::forward::Activation;
use crate::isa::vectorised;
use crate::scratch::scratch;
use crate::statistics::block_rows;
use rayon::prelude::*;

/// The parameters of a batch normalisation, and the statistics it normalises with: those of the batch in
/// training, the running ones in evaluation.
#[derive(Debug, Clone, Copy)]
pub struct BatchNorm<'a> {
    /// Learnt factor per channel, `[C]`.
    pub gamma: &'a [f32],
    /// Learnt term per channel, `[C]`.
    pub beta: &'a [f32],
    /// Mean per channel, `[C]`.
    pub mean: &'a [f32],
    /// Variance per channel, `[C]`.
    pub variance: &'a [f32],
    /// Keeps the division finite for a constant channel.
    pub epsilon: f32,
}

impl BatchNorm<'_> {
    /// Number of channels, C.
    pub(crate) fn channels(&self) -> usize {
        let channels = self.gamma.len();
        let others = [self.beta.len(), self.mean.len(), self.variance.len()];
        assert!(
            others.iter().all(|&n| n == channels),
            "one number per channel"
        );
        channels
    }

    /// `1 / √(variance + epsilon)`.
    pub(crate) fn inverse_deviation(&self, channel: usize) -> f64 {
        1.0 / (f64::from(self.variance[channel]) + f64::from(self.epsilon)).sqrt()
    }

    /// Writes `gamma / √(variance + epsilon)`.
    pub(crate) fn scale(&self, scale: &mut [f32]) {
        for (c, scale) in scale.iter_mut().enumerate() {
            *scale = (f64::from(self.gamma[c]) * self.inverse_deviation(c)) as f32;
        }
    }
}

/// Normalises the rows of `x` and writes
///
/// ```text
/// y = activation((x − mean) · gamma / √(variance + epsilon) + beta + residual)
/// ```
///
/// # Shapes
/// `x`, `residual`, `y [rows, C]`.
pub fn batch_norm(
    norm: &BatchNorm,
    x: &[f32],
    residual: Option<&[f32]>,
    activation: Activation,
    y: &mut [f32],
) {
    let channels = norm.channels();
    crate::pointwise::rows(x, channels);
    assert_eq!(x.len(), y.len());
    assert!(
        residual.is_none_or(|r| r.len() == y.len()),
        "the residual has the output's shape"
    );
    let mut scale = scratch(channels);
    norm.scale(&mut scale);
    let (scale, size) = (&scale[..], block_rows(channels) * channels);
    let blocks = y.par_chunks_mut(size).zip(x.par_chunks(size)).enumerate();
    blocks.for_each(|(block, (y, x))| {
        let residual = residual.map(|r| &r[block * size..][..y.len()]);
        let relu = activation == Activation::Relu;
        normalise(norm, scale, x, residual, relu, y);
    });
}

vectorised! {
    fn normalise(
        norm: &BatchNorm, scale: &[f32], x: &[f32], residual: Option<&[f32]>, relu: bool, y: &mut [f32],
    ) {
        let (mean, beta) = (norm.mean, norm.beta);
        let rows = y.chunks_exact_mut(scale.len()).zip(x.chunks_exact(scale.len()));
        match (residual, relu) {
            (None, false) => for (y, x) in rows {
                affine(mean, scale, beta, x, y, |v, _| v);
            },
            (None, true) => for (y, x) in rows {
                affine(mean, scale, beta, x, y, |v, _| if v < 0.0 { 0.0 } else { v });
            },
            (Some(residual), false) => {
                for ((y, x), r) in rows.zip(residual.chunks_exact(scale.len())) {
                    affine(mean, scale, beta, x, y, |v, c| v + r[c]);
                }
            }
            (Some(residual), true) => {
                for ((y, x), r) in rows.zip(residual.chunks_exact(scale.len())) {
                    affine(mean, scale, beta, x, y, |v, c| {
                        let v = v + r[c];
                        if v < 0.0 { 0.0 } else { v }
                    });
                }
            }
        }
    }
}

/// `end((x − mean) · scale + beta, channel)` for one row.
#[inline(always)]
fn affine(
    mean: &[f32],
    scale: &[f32],
    beta: &[f32],
    x: &[f32],
    y: &mut [f32],
    end: impl Fn(f32, usize) -> f32,
) {
    let channels = y.len();
    let (mean, scale, beta) = (&mean[..channels], &scale[..channels], &beta[..channels]);
    let x = &x[..channels];
    for c in 0..channels {
        y[c] = end((x[c] - mean[c]) * scale[c] + beta[c], c);
    }
}
