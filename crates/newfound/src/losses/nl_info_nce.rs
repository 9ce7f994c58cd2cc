//! NL-InfoNCE: negative learning inside the contrastive loss.

use burn::tensor::{Bool, Int, Tensor};

use super::{log_sum_exp, negative_log_complement};
use crate::geometry::normalise_rows;
use crate::indicator::indicator;

/// Whether the positive pair stands in the denominator of NL-InfoNCE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denominator {
    /// Only the negatives: the equation as printed, in which no positive pair appears at all.
    Negatives,
    /// The positive's term too, so that the loss also draws the query to its key.
    PositiveAndNegatives,
}

/// Pushes the query from *one* negative, drawn at random, rather than from all of them.
///
/// **Eq. (9), section III-F**
///
/// ```text
/// L = − log(1 − e^{q·k₋/τ} / S),   S = Σ_{j ∈ N_q} e^{q·k_j/τ}  (+ e^{q·k₊/τ})
/// ```
///
/// Its gradient is about 1/|N_q| as strong as InfoNCE's, and without the positive it draws the query towards
/// the *other* negatives: that is why [`Denominator`] is a choice. A query without negatives contributes
/// 0; with a single one the argument of the logarithm is clamped to 1e-5. The mean is over all B queries.
///
/// # Shapes
///
/// `query` [B, D] of any length, `key` [B, D] and `queue` [Q, D] of unit length, `negatives` [B, Q],
/// `drawn` \[B\] (a negative's row of the queue; any row where there is none) → \[1\]
#[doc(alias = "NL-InfoNCELoss")]
pub fn nl_info_nce(
    query: Tensor<2>,
    key: Tensor<2>,
    queue: Tensor<2>,
    negatives: Tensor<2, Bool>,
    drawn: Tensor<1, Int>,
    temperature: f64,
    denominator: Denominator,
) -> Tensor<1> {
    let [rows, _] = queue.dims();
    let query = normalise_rows(query);
    let positive = (query.clone() * key).sum_dim(1) / temperature; // [B, 1]
    let logits = query.matmul(queue.transpose()) / temperature; // [B, Q]
    let has_negatives = negatives.clone().any_dim(1).float(); // [B, 1]
    let others = negatives
        .clone()
        .bool_and(indicator(drawn.clone(), rows).bool_not());
    let of_drawn = logits.clone().gather(1, drawn.unsqueeze_dim(1)); // [B, 1]
    let (logits, negatives, others) = match denominator {
        Denominator::Negatives => (logits, negatives, others),
        Denominator::PositiveAndNegatives => {
            let [batch, _] = logits.dims();
            let counted = Tensor::<2, Bool>::ones([batch, 1], &logits.device());
            let with_positive = |mask| Tensor::cat(vec![counted.clone(), mask], 1);
            let logits = Tensor::cat(vec![positive, logits], 1); // [B, 1 + Q]
            (logits, with_positive(negatives), with_positive(others))
        }
    };
    let whole = log_sum_exp(logits.clone(), negatives);
    let losses = negative_log_complement(of_drawn, log_sum_exp(logits, others), whole); // [B, 1]
    (losses * has_negatives).mean()
}
