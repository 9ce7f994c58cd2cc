//! Directions and angles: almost everything in the method compares features by cosine.

use burn::tensor::Tensor;

/// Keeps the direction of an all-zero row finite.
const TINY: f64 = 1e-24;

/// Rows scaled to unit length; a row of zeros stays zero.
///
/// # Shapes
///
/// `rows` [N, D] → [N, D]
pub fn normalise_rows(rows: Tensor<2>) -> Tensor<2> {
    let norm = (rows.clone().square().sum_dim(1) + TINY).sqrt(); // [N, 1]
    rows / norm
}

/// Cosine distance between all rows of `a` and all rows of `b`.
///
/// ```text
/// CosDist(x, y) = 1 − x·y / (‖x‖ ‖y‖),   in [0, 2]
/// ```
///
/// # Shapes
///
/// `a` [N, D], `b` [M, D] → [N, M]
#[doc(alias = "CosDist")]
pub fn cosine_distance(a: Tensor<2>, b: Tensor<2>) -> Tensor<2> {
    let cosine = normalise_rows(a).matmul(normalise_rows(b).transpose());
    // Rounding may leave a cosine slightly above 1; a distance is never negative.
    (cosine.neg() + 1.0).clamp(0.0, 2.0)
}
