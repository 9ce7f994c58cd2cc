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

use burn::tensor::{Bool, Tensor};

pub use contrastive::{Contrast, contrastive};
pub use cross_entropy::cross_entropy;
pub use diversity::{diversity, diversity_of};
pub use info_nce::info_nce;
pub use negative_learning::{Complementary, negative_learning, negative_learning_of_all};
pub use nl_info_nce::{Denominator, nl_info_nce};
pub use total::total;

/// Stands for log 0: far below any logit, yet far from overflow when exponentiated or subtracted.
const LOG_ZERO: f64 = -1e9;

/// The smallest 1 − share that is told apart from 0: no logarithm sees less.
const FLOOR: f64 = 1e-5;

/// − log(1 − share), where share = e^(part − whole) and 1 − share = e^(rest − whole).
///
/// Near share 0 the difference rest − whole loses its digits, near share 1 the difference 1 − share does: each half
/// is computed where it is exact. 1 − share is clamped to [1e-5, 1]; at the clamp the gradient is 0.
///
/// # Shapes
///
/// `part`, `rest`, `whole` [B, N] logarithms → [B, N]
fn negative_log_complement(part: Tensor<2>, rest: Tensor<2>, whole: Tensor<2>) -> Tensor<2> {
    // A part is at most the whole; without the clamp a row that has neither would overflow.
    let share = (part - whole.clone()).clamp_max(0.0).exp();
    let large = share.clone().greater_scalar(0.5);
    let of_small = share.clamp_max(0.5).neg().log1p();
    let of_large = (rest - whole).clamp(FLOOR.ln(), 0.0);
    of_small.mask_where(large, of_large).neg()
}

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
