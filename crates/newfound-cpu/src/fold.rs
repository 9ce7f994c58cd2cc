//! Batch normalisation with fixed statistics as a factor and a term per channel.

use crate::batch_norm::BatchNorm;

/// `scale` and `shift` such that `x · scale + shift` is the normalised and affinely transformed x: what an
/// evaluation-mode convolution takes as its [`Epilogue`](crate::Epilogue).
///
/// ```text
/// scale = gamma / √(variance + epsilon),   shift = beta − mean · scale
/// ```
pub fn fold(norm: &BatchNorm, scale: &mut [f32], shift: &mut [f32]) {
    let channels = norm.channels();
    assert_eq!(
        (scale.len(), shift.len()),
        (channels, channels),
        "one number per channel"
    );
    for c in 0..channels {
        let factor = f64::from(norm.gamma[c]) * norm.inverse_deviation(c);
        scale[c] = factor as f32;
        shift[c] = (f64::from(norm.beta[c]) - f64::from(norm.mean[c]) * factor) as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naive::{Numbers, distance};
    use crate::{Activation, batch_norm};

    #[test]
    fn folded_is_the_same_affine_map() {
        let (channels, mut numbers) = (37, Numbers(8));
        let (gamma, beta, mean) = (numbers.real(37), numbers.real(37), numbers.real(37));
        let variance: Vec<f32> = numbers.real(37).iter().map(|v| v.abs() + 0.1).collect();
        let norm = BatchNorm {
            gamma: &gamma,
            beta: &beta,
            mean: &mean,
            variance: &variance,
            epsilon: 1e-5,
        };
        let (mut scale, mut shift) = (vec![0.0; channels], vec![0.0; channels]);
        fold(&norm, &mut scale, &mut shift);
        let x = numbers.real(9 * channels);
        let folded: Vec<f32> = x
            .iter()
            .enumerate()
            .map(|(i, x)| x * scale[i % 37] + shift[i % 37])
            .collect();
        let mut y = vec![0.0; x.len()];
        batch_norm(&norm, &x, None, Activation::Identity, &mut y);
        assert!(distance(&folded, &y) < 1e-6);
    }
}
