//! Negative learning: "this image is *not* of that class".

use burn::tensor::activation::log_softmax;
use burn::tensor::{Int, Tensor};

use super::log_sum_exp;

/// The smallest 1 − p that is told apart from 0.
const FLOOR: f64 = 1e-5;

/// The classification loss on complementary labels.
///
/// A pseudo-label may be wrong; a random *other* label is right far more often when used as a class the
/// image does not belong to. Only images with a reliable pseudo-label (`selected`) take part.
///
/// **Eq. (8), section III-E**
///
/// ```text
/// L_cls = − mean over x ∈ U of  log(1 − p_sa[ỹ]),   p_sa = softmax(logits),   1 − p clamped to [1e-5, 1]
/// ```
///
/// An empty selection gives 0, never a NaN. At the clamp the gradient is 0.
///
/// # Shapes
///
/// `logits` [B, K], `complementary` [B] (ỹ, never the pseudo-label), `selected` [B] of 0 and 1 → \[1\]
#[doc(alias = "L_cls")]
pub fn negative_learning(
    logits: Tensor<2>,
    complementary: Tensor<1, Int>,
    selected: Tensor<1>,
) -> Tensor<1> {
    let [_, classes] = logits.dims();
    // 1 − p is summed from the other classes: 1 − softmax would lose its digits where p is near 1.
    let others = complementary.one_hot::<2>(classes).bool().bool_not(); // [B, K]
    let log_rest = log_sum_exp(log_softmax(logits, 1), others).squeeze_dim::<1>(1); // [B]
    let losses = log_rest.clamp(FLOOR.ln(), 0.0).neg();
    let count = selected.clone().sum().clamp_min(1.0);
    (losses * selected).sum() / count
}
