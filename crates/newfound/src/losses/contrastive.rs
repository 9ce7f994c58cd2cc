//! The four contrastive losses under one name.

use burn::tensor::{Bool, Int, Tensor};
use serde::{Deserialize, Serialize};

use super::{Denominator, info_nce, nl_info_nce};

/// Which contrastive loss is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Contrast {
    /// NL-InfoNCE as printed.
    Literal,
    /// NL-InfoNCE with the positive pair in the denominator.
    Positive,
    /// The sum of `Positive` and InfoNCE.
    Combined,
    /// The standard InfoNCE.
    InfoNce,
}

/// L_ctr in the chosen form; see [`nl_info_nce`] and [`info_nce`].
///
/// # Shapes
///
/// `query` [B, D] of any length, `key` [B, D] and `queue` [Q, D] of unit length, `negatives` [B, Q],
/// `drawn` \[B\] → \[1\]
#[doc(alias = "L_ctr")]
pub fn contrastive(
    form: Contrast,
    query: Tensor<2>,
    key: Tensor<2>,
    queue: Tensor<2>,
    negatives: Tensor<2, Bool>,
    drawn: Tensor<1, Int>,
    temperature: f64,
) -> Tensor<1> {
    let nl = |query, key, queue, negatives, denominator| {
        nl_info_nce(
            query,
            key,
            queue,
            negatives,
            drawn.clone(),
            temperature,
            denominator,
        )
    };
    match form {
        Contrast::Literal => nl(query, key, queue, negatives, Denominator::Negatives),
        Contrast::Positive => nl(
            query,
            key,
            queue,
            negatives,
            Denominator::PositiveAndNegatives,
        ),
        Contrast::InfoNce => info_nce(query, key, queue, negatives, temperature),
        Contrast::Combined => {
            let (q, k, s, n) = (query.clone(), key.clone(), queue.clone(), negatives.clone());
            nl(q, k, s, n, Denominator::PositiveAndNegatives)
                + info_nce(query, key, queue, negatives, temperature)
        }
    }
}
