//! Which images take part in the classification loss.

use burn::tensor::{Bool, Tensor};
use serde::{Deserialize, Serialize};

/// The logical operator ⊕ of the selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Combination {
    /// Both draws must succeed.
    And,
    /// One success is enough.
    Or,
}

/// Two Bernoulli draws per image, one for each uncertainty, combined.
///
/// **Eq. (7), section III-D**
///
/// ```text
/// M = B(w_nc) ⊕ B(w_cs),   B(w) = 1 exactly when its draw, uniform in [0, 1), is below w
/// ```
///
/// # Shapes
///
/// weights and draws \[B\] → \[B\]
#[doc(alias = "M_i")]
pub fn select(
    [w_nc, w_cs]: [Tensor<1>; 2],
    [draw_nc, draw_cs]: [Tensor<1>; 2],
    combination: Combination,
) -> Tensor<1, Bool> {
    let (nc, cs) = (draw_nc.lower(w_nc), draw_cs.lower(w_cs));
    match combination {
        Combination::And => nc.bool_and(cs),
        Combination::Or => nc.bool_or(cs),
    }
}
