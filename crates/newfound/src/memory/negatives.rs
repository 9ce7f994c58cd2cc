//! Which keys of the queue are negatives of which query. Section III-F of the paper.

use burn::tensor::{Bool, Device, Int, Tensor, TensorData};

use crate::random::Stream;

/// The set N_q of every query.
///
/// **The set after Eq. (9), section III-F**
///
/// ```text
/// N_q = { j : ȳ_j^(i) ≠ ȳ^(i) for each i in 1 … T }
/// ```
///
/// A key that shared the query's label even once in the last T epochs is not a negative: repelling it would
/// split a class whenever one of its labels was wrong. A key of the same image never is one.
///
/// # Shapes
///
/// `query_history` [B, T], `queue_history` [Q, T], `query_images` \[B\], `queue_images` \[Q\] → [B, Q]
#[doc(alias = "N_q")]
pub fn negatives(
    query_history: Tensor<2, Int>,
    queue_history: Tensor<2, Int>,
    query_images: Tensor<1, Int>,
    queue_images: Tensor<1, Int>,
) -> Tensor<2, Bool> {
    let [_, epochs] = query_history.dims();
    let differ = |queries: Tensor<2, Int>, keys: Tensor<2, Int>| {
        let [queries_count, _] = queries.dims();
        let [_, keys_count] = keys.dims();
        let shape = [queries_count, keys_count];
        queries.expand(shape).not_equal(keys.expand(shape))
    };
    let by_image = differ(query_images.unsqueeze_dim(1), queue_images.unsqueeze_dim(0));
    let keys = queue_history.transpose(); // [T, Q]
    (0..epochs).fold(by_image, |mask, epoch| {
        let queries = query_history.clone().slice_dim(1, epoch..epoch + 1); // [B, 1]
        let keys = keys.clone().slice_dim(0, epoch..epoch + 1); // [1, Q]
        mask.bool_and(differ(queries, keys))
    })
}

/// k₋: one negative of each query, uniformly; row 0 for a query that has none (it contributes nothing).
///
/// # Shapes
///
/// `negatives` [B, Q] → \[B\]
pub fn draw_negatives(
    negatives: Tensor<2, Bool>,
    draws: &mut Stream,
    device: &Device,
) -> Tensor<1, Int> {
    let [queries, keys] = negatives.dims();
    let mask = negatives.into_data().convert::<u8>();
    let mask = mask.as_slice::<u8>().expect("converted to bytes");
    let drawn: Vec<i64> = mask
        .chunks_exact(keys)
        .map(|row| {
            let allowed: Vec<usize> = (0..keys).filter(|&j| row[j] != 0).collect();
            // Drawn even when unused: the stream must not depend on the masks.
            let draw = draws.unit();
            match allowed.len() {
                0 => 0,
                count => allowed[((draw * count as f64) as usize).min(count - 1)] as i64,
            }
        })
        .collect();
    Tensor::from_data(TensorData::new(drawn, [queries]), device)
}
