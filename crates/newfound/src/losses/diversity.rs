//! The term that keeps predictions from collapsing into one class.

use burn::tensor::Tensor;
use burn::tensor::activation::softmax;

/// Keeps 0 · log 0 at 0.
const TINY: f32 = f32::MIN_POSITIVE;

/// Negative entropy of the batch's mean prediction.
///
/// **Section III-G**
///
/// ```text
/// L_div = Σ_c p̄_q[c] log p̄_q[c],   p̄_q = mean over the batch of softmax(logits)
/// ```
///
/// − log K when the batch spreads evenly over all K classes, 0 when it all falls into one.
///
/// # Shapes
///
/// `logits` [B, K] → \[1\]
#[doc(alias = "L_div")]
pub fn diversity(logits: Tensor<2>) -> Tensor<1> {
    let mean = softmax(logits, 1).mean_dim(0); // [1, K]
    (mean.clone() * mean.clamp_min(TINY).log()).sum()
}

/// The same where classes are not expected to be alike in number.
///
/// ```text
/// L_div = Σ_c p̄_q[c] log (p̄_q[c] / (K s[c])) = KL(p̄_q ‖ s) − log K
/// ```
///
/// − log K when the batch spreads as `shares` do, more otherwise; with equal shares it is [`diversity`].
///
/// # Shapes
///
/// `logits` [B, K], `shares` [1, K], positive → \[1\]
pub fn diversity_of(logits: Tensor<2>, shares: Tensor<2>) -> Tensor<1> {
    let [_, classes] = logits.dims();
    let mean = softmax(logits, 1).mean_dim(0); // [1, K]
    let ratio = mean.clone().clamp_min(TINY).log() - shares.log() - (classes as f64).ln();
    (mean * ratio).sum()
}
