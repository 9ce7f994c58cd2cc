//! The nearest rows of the bank.

use std::cmp::Ordering;

use burn::tensor::{Int, Tensor, TensorData};
use rayon::prelude::*;

use crate::network::download;

/// Queries per product: bounds the similarities held at once to this many rows of the bank's length.
const BLOCK: usize = 256;

/// The `k` rows of the bank with the largest cosine to each query, nearest first.
///
/// The product runs on the device, in blocks of queries; of each row of similarities only the k largest are
/// selected, not sorted out of all M. An image never votes for itself: rows of the query's own image are passed
/// over. Equal similarities go to the lower row, so the result is the same everywhere.
///
/// # Shapes
///
/// `queries` [B, D] and `bank` [M, D] of unit length, `query_images` \[B\], `bank_images` \[M\] → [B, k]; k is at most the
/// number of rows of other images, which every query must have at least one of
///
/// # Panics
///
/// If `k` is 0 or exceeds the rows that some query may choose from.
pub fn nearest(
    queries: Tensor<2>,
    query_images: &[usize],
    bank: Tensor<2>,
    bank_images: &[usize],
    k: usize,
) -> Tensor<2, Int> {
    let [count, _] = queries.dims();
    let [rows, _] = bank.dims();
    let device = queries.device();
    let transposed = bank.transpose();
    let mut chosen: Vec<i64> = Vec::with_capacity(count * k);
    for start in (0..count).step_by(BLOCK) {
        let end = (start + BLOCK).min(count);
        let block = queries.clone().slice_dim(0, start..end);
        let similarities = download(block.matmul(transposed.clone())); // [block, M]
        let of_block: Vec<Vec<i64>> = similarities
            .par_chunks(rows)
            .zip(&query_images[start..end])
            .map(|(row, &image)| largest(row, k, |r| bank_images[r] != image))
            .collect();
        chosen.extend(of_block.into_iter().flatten());
    }
    Tensor::from_data(TensorData::new(chosen, [count, k]), &device)
}

/// Positions of the k largest allowed values, largest first, equal values by position.
fn largest(values: &[f32], k: usize, allowed: impl Fn(usize) -> bool) -> Vec<i64> {
    let mut candidates: Vec<usize> = (0..values.len()).filter(|&i| allowed(i)).collect();
    assert!(
        0 < k && k <= candidates.len(),
        "{k} neighbours among {} rows",
        candidates.len()
    );
    // Adding 0 turns −0 into 0: both are the same similarity.
    let order = |&a: &usize, &b: &usize| -> Ordering {
        (values[b] + 0.0)
            .total_cmp(&(values[a] + 0.0))
            .then(a.cmp(&b))
    };
    if k < candidates.len() {
        candidates.select_nth_unstable_by(k - 1, order);
        candidates.truncate(k);
    }
    candidates.sort_unstable_by(order);
    candidates.into_iter().map(|i| i as i64).collect()
}
