//! The whole objective.

use burn::tensor::Tensor;

/// **Eq. (10), section III-G**
///
/// ```text
/// L = γ1 L_cls + γ2 L_ctr + γ3 L_div
/// ```
///
/// # Shapes
///
/// each term \[1\] → \[1\]
pub fn total(
    classification: Tensor<1>,
    contrastive: Tensor<1>,
    diversity: Tensor<1>,
    [gamma1, gamma2, gamma3]: [f64; 3],
) -> Tensor<1> {
    classification * gamma1 + contrastive * gamma2 + diversity * gamma3
}
