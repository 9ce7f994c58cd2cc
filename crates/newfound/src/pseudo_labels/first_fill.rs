//! The probabilities the bank starts with.

use burn::tensor::Tensor;
use burn::tensor::activation::softmax;

use crate::geometry::cosine_distance;

/// Keeps 0 / 0 at 0 when an image coincides with every centroid.
const TINY: f64 = 1e-12;

/// Probabilities that follow the similarity to the centroids.
///
/// **Eq. (2), section III-C**
///
/// ```text
/// p'[c] = softmax_c((1 − d_c / max_j d_j) / τ2),   d = CosDist(z, centroids)
/// ```
///
/// The maximum is over all K centroids: the printed index set, the private ones only, would contradict the
/// sentence after it, that the most probable class is the image's own cluster.
///
/// # Shapes
///
/// `features` z [N, D], `centroids` [K, D] in the order of the classes → [N, K]
pub fn first_fill(features: Tensor<2>, centroids: Tensor<2>, temperature: f64) -> Tensor<2> {
    let distances = cosine_distance(features, centroids); // [N, K]
    let largest = distances.clone().max_dim(1).clamp_min(TINY); // [N, 1]
    let similarity = (distances / largest).neg() + 1.0;
    softmax(similarity / temperature, 1)
}
