//! Do the neighbours agree?

use burn::tensor::Tensor;

/// Keeps 0 · log 0 at 0.
const TINY: f32 = f32::MIN_POSITIVE;

/// Entropy of the refined probabilities, as a share of the largest possible one.
///
/// **Eq. (3), section III-D**
///
/// ```text
/// u_nc = H(p̄) / log2 K,   H in bits,   clamped to [0, 1]
/// ```
///
/// 0 when all neighbours agree on one class, 1 when they spread evenly over all K.
///
/// # Shapes
///
/// `refined` p̄ [B, K] → \[B\]
#[doc(alias = "u_nc")]
pub fn neighbour_consensus_uncertainty(refined: Tensor<2>) -> Tensor<1> {
    let [_, classes] = refined.dims();
    let log = refined.clone().clamp_min(TINY).log(); // natural: the base cancels in the quotient
    let entropy = (refined * log).sum_dim(1).neg().squeeze_dim::<1>(1);
    // A single class leaves nothing to disagree about.
    (entropy / (classes.max(2) as f64).ln()).clamp(0.0, 1.0)
}
