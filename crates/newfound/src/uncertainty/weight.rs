//! From an uncertainty to a probability of being used.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

/// The decreasing function F of Eqs. (5) and (6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WeightFunction {
    /// F(u) = 1 − u.
    Linear,
    /// F(u) = e^−u.
    Exponential,
    /// F(u) = 1: this uncertainty is not looked at.
    None,
}

/// Probability that an image with this uncertainty is used.
///
/// **Eqs. (5) and (6), section III-D**
///
/// ```text
/// w_nc = F(u_nc),   w_cs = F(u_cs)
/// ```
///
/// F(0) = 1 for all; F(1) is 0 for the linear and 1/e for the exponential one.
///
/// # Shapes
///
/// `uncertainty` \[B\] → \[B\]
#[doc(alias = "w_nc")]
#[doc(alias = "w_cs")]
pub fn weight(uncertainty: Tensor<1>, function: WeightFunction) -> Tensor<1> {
    match function {
        WeightFunction::Linear => uncertainty.neg() + 1.0,
        WeightFunction::Exponential => uncertainty.neg().exp(),
        WeightFunction::None => uncertainty.ones_like(),
    }
}
