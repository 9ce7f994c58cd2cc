//! Negative learning: "this image is *not* of that class".

use burn::tensor::activation::log_softmax;
use burn::tensor::{Int, Tensor};

use serde::{Deserialize, Serialize};

use super::{log_sum_exp, negative_log_complement};
use crate::indicator::indicator;

/// Which complementary labels of an image are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Complementary {
    /// One, drawn at random: the paper, [`negative_learning`].
    One,
    /// All K − 1 of them: [`negative_learning_of_all`].
    All,
}

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
/// `logits` [B, K], `complementary` \[B\] (ỹ, never the pseudo-label), `selected` \[B\] of 0 and 1 → \[1\]
#[doc(alias = "L_cls")]
pub fn negative_learning(
    logits: Tensor<2>,
    complementary: Tensor<1, Int>,
    selected: Tensor<1>,
) -> Tensor<1> {
    let [_, classes] = logits.dims();
    let log_p = log_softmax(logits, 1); // [B, K]
    let others = indicator(complementary.clone(), classes).bool_not();
    let of_others = log_sum_exp(log_p.clone(), others); // [B, 1]
    let of_class = log_p.gather(1, complementary.unsqueeze_dim(1));
    let whole = of_others.zeros_like();
    let losses = negative_log_complement(of_class, of_others, whole).squeeze_dim::<1>(1); // [B]
    let count = selected.clone().sum().clamp_min(1.0);
    (losses * selected).sum() / count
}

/// The classification loss on *all* complementary labels: what Eq. (8) is on average over its draws, times K − 1.
///
/// One drawn label leaves most steps without a word about most classes, and a larger γ1 makes up for that only with as
/// much more noise. The sum has the same direction on average, and none of the noise.
///
/// ```text
/// L_cls = − mean over x ∈ U of  Σ_{c ≠ ȳ} log(1 − p_sa[c]),   1 − p clamped to [1e-5, 1]
/// ```
///
/// An empty selection gives 0, never a NaN. At the clamp the gradient is 0.
///
/// # Shapes
///
/// `logits` [B, K], `labels` \[B\] (ȳ), `selected` \[B\] of 0 and 1 → \[1\]
pub fn negative_learning_of_all(
    logits: Tensor<2>,
    labels: Tensor<1, Int>,
    selected: Tensor<1>,
) -> Tensor<1> {
    let [batch, classes] = logits.dims();
    let log_p = log_softmax(logits, 1); // [B, K]
    // 1 − p is the sum of the others only where p is above a half, and at most the largest is.
    let largest = log_p.clone().detach().argmax(1).squeeze_dim::<1>(1);
    let of_others = log_sum_exp(log_p.clone(), indicator(largest, classes).bool_not());
    let of_others = of_others.expand([batch, classes]);
    let whole = log_p.zeros_like();
    let losses = negative_log_complement(log_p, of_others, whole); // [B, K]
    let losses = losses.mask_fill(indicator(labels, classes), 0.0).sum_dim(1);
    let count = selected.clone().sum().clamp_min(1.0);
    (losses.squeeze_dim::<1>(1) * selected).sum() / count
}
