//! The standard contrastive loss.

use burn::tensor::{Bool, Tensor};

use super::log_sum_exp;
use crate::geometry::normalise_rows;

/// Pulls the query to the key of the same image and pushes it from its negatives.
///
/// **Section III-F** (van den Oord et al. 2018, as in MoCo), over the negatives N_q that the label history
/// allows:
///
/// ```text
/// L = − log  e^{q·k₊/τ} / (e^{q·k₊/τ} + Σ_{j ∈ N_q} e^{q·k_j/τ})
/// ```
///
/// A query without negatives contributes 0. The mean is over all B queries.
///
/// # Shapes
///
/// `query` [B, D] of any length, `key` [B, D] and `queue` [Q, D] of unit length, `negatives` [B, Q] → \[1\]
pub fn info_nce(
    query: Tensor<2>,
    key: Tensor<2>,
    queue: Tensor<2>,
    negatives: Tensor<2, Bool>,
    temperature: f64,
) -> Tensor<1> {
    let query = normalise_rows(query);
    let positive = (query.clone() * key).sum_dim(1) / temperature; // [B, 1]
    let logits = query.matmul(queue.transpose()) / temperature; // [B, Q]
    let has_negatives = negatives.clone().any_dim(1).float();
    let negative = log_sum_exp(logits, negatives);
    // log(e^a + e^b) with the larger one in front, so that neither overflows.
    let larger = positive.clone().max_pair(negative.clone()).detach();
    let both = (positive.clone() - larger.clone()).exp() + (negative - larger.clone()).exp();
    let losses = both.log() + larger - positive; // [B, 1]
    (losses * has_negatives).mean()
}
