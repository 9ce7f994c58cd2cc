//! What adaptation minimises. Sections III-E to III-G of the paper.
//!
//! Each loss is a pure function: logits or features in, a scalar tensor out. Every random choice they
//! need (complementary labels, the drawn negative) is an argument.

mod contrastive;
mod cross_entropy;
mod diversity;
mod info_nce;
mod negative_learning;
mod nl_info_nce;
mod total;

pub use contrastive::{Contrast, contrastive};
pub use cross_entropy::cross_entropy;
pub use diversity::diversity;
pub use info_nce::info_nce;
pub use negative_learning::negative_learning;
pub use nl_info_nce::{Denominator, nl_info_nce};
pub use total::total;

use burn::tensor::{Bool, Tensor};

/// Stands for log 0: far below any logit, yet far from overflow when exponentiated or subtracted.
const LOG_ZERO: f64 = -1e9;

/// log Σ exp over the entries of each row that `counted` marks; about [`LOG_ZERO`] where it marks none.
///
/// # Shapes
///
/// `x` [B, N], `counted` [B, N] → [B, 1]
fn log_sum_exp(x: Tensor<2>, counted: Tensor<2, Bool>) -> Tensor<2> {
    let x = x.mask_fill(counted.bool_not(), LOG_ZERO);
    // Shifting by the maximum keeps the exponentials in range; it cancels, so it needs no gradient.
    let shift = x.clone().max_dim(1).detach();
    (x - shift.clone()).exp().sum_dim(1).log() + shift
}
