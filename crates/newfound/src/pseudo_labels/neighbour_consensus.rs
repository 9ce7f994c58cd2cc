//! Soft voting among the nearest neighbours.

use burn::tensor::{Int, Tensor};

/// Refined probabilities: the mean of the neighbours' probabilities.
///
/// **Eq. (1), section III-C**
///
/// ```text
/// p̄[c] = 1/|I| Σ_{i ∈ I} p'_i[c],   ȳ = arg max_c p̄[c]
/// ```
///
/// # Shapes
///
/// `bank` p' [M, K], `neighbours` I [B, k] (rows of the bank) → p̄ [B, K]
#[doc(alias = "p_bar")]
pub fn neighbour_consensus(bank: Tensor<2>, neighbours: Tensor<2, Int>) -> Tensor<2> {
    let [_, classes] = bank.dims();
    let [batch, k] = neighbours.dims();
    let votes = bank.select(0, neighbours.reshape([batch * k])); // [B·k, K]
    votes
        .reshape([batch, k, classes])
        .mean_dim(1)
        .squeeze_dim(1)
}
