//! The loss of source training.

use burn::tensor::activation::log_softmax;
use burn::tensor::{Int, Tensor};

/// Cross-entropy with label smoothing ε: the target is 1 − ε + ε/K for the label and ε/K for the others.
///
/// ```text
/// L = − mean over the batch of  Σ_c t[c] log softmax(logits)[c]
/// ```
///
/// # Shapes
///
/// `logits` [B, K], `labels` \[B\] → \[1\]
pub fn cross_entropy(logits: Tensor<2>, labels: Tensor<1, Int>, smoothing: f64) -> Tensor<1> {
    let log_p = log_softmax(logits, 1); // [B, K]
    let of_label = log_p.clone().gather(1, labels.unsqueeze_dim(1)); // [B, 1]
    let of_all = log_p.mean_dim(1); // [B, 1]
    (of_label * (1.0 - smoothing) + of_all * smoothing)
        .mean()
        .neg()
}
