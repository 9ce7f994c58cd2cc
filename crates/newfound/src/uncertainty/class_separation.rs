//! Is one prototype clearly nearer than the other?

use burn::tensor::{Int, Tensor};

use crate::geometry::cosine_distance;
use crate::indicator::indicator;

/// Both distances 0 leaves the quotient undefined; with this it is ½, the undecided value.
const TINY: f64 = 1e-12;

/// The two most probable classes of each image and how undecided it is between them.
#[derive(Debug, Clone)]
pub struct Separation {
    /// i, the class of the largest refined probability: \[B\].
    pub first: Tensor<1, Int>,
    /// j, the class of the second largest: \[B\].
    pub second: Tensor<1, Int>,
    /// u_cs: \[B\].
    pub uncertainty: Tensor<1>,
}

/// Distance to the pseudo-label's prototype, compared with that to the runner-up's.
///
/// Neighbours can agree on a label and all be wrong, when a whole cluster of an unknown class was given to a
/// known one. Then its images lie between two prototypes, which this sees.
///
/// **Eq. (4), section III-D**
///
/// ```text
/// u_cs = d_i / (d_i + d_j),   d = cosine distance of z to the prototypes of the two largest entries of p̄
/// ```
///
/// In [0, ½] when the label's prototype is the nearer one; above ½ only when the probabilities and the
/// distances disagree. (The paper's remark that ½ is the minimum is a slip.)
///
/// # Shapes
///
/// `features` z [B, D], `refined` p̄ [B, K], `prototypes` W [K, D] → fields of \[B\]; ties go to the lower class
#[doc(alias = "u_cs")]
pub fn class_separation(
    features: Tensor<2>,
    refined: Tensor<2>,
    prototypes: Tensor<2>,
) -> Separation {
    let [_, classes] = refined.dims();
    let first = refined.clone().argmax(1); // [B, 1]
    let without_first = indicator(first.clone().squeeze_dim(1), classes);
    let second = refined.mask_fill(without_first, -1.0).argmax(1); // [B, 1]
    let distances = cosine_distance(features, prototypes); // [B, K]
    let d_i = distances.clone().gather(1, first.clone()) + TINY;
    let d_j = distances.gather(1, second.clone()) + TINY;
    Separation {
        first: first.squeeze_dim(1),
        second: second.squeeze_dim(1),
        uncertainty: (d_i.clone() / (d_i + d_j)).squeeze_dim(1),
    }
}
