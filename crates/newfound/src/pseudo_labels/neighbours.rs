//! The nearest rows of the bank.

use burn::tensor::{Int, Tensor, TensorData};
use rayon::prelude::*;

use crate::network::{self, Search, download, on_cpu};

/// Queries per product: bounds the similarities held at once to this many rows of the bank's length.
const BLOCK: usize = 256;

/// The `k` rows of the bank with the largest cosine to each query, nearest first.
///
/// The product runs on the device, in blocks of queries (on the CPU, of rows of the bank); of the similarities of a query
/// only the k largest are selected, not sorted out of all M. An image never votes for itself: rows of the query's own image are passed
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
    if on_cpu(&queries) {
        let search = Search {
            k,
            query_images: query_images.to_vec(),
            bank_images: bank_images.to_vec(),
        };
        return network::nearest(queries, bank, search).int();
    }
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

/// Values that are looked at together; most groups hold none that is near enough.
const GROUP: usize = 16;

/// Positions of the k largest allowed values, largest first, equal values by position.
///
/// One look at each value: of a long row, all but a few are smaller than the k largest so far.
fn largest(values: &[f32], k: usize, allowed: impl Fn(usize) -> bool) -> Vec<i64> {
    let mut best: Vec<(i32, usize)> = Vec::with_capacity(k + 1);
    // What a value must exceed once there are k.
    let mut least = None;
    for (group, values) in values.chunks(GROUP).enumerate() {
        if let Some(least) = least
            && !exceeds(values, least)
        {
            continue;
        }
        for (i, &value) in values.iter().enumerate() {
            let (key, position) = (order(value), group * GROUP + i);
            if least.is_some_and(|least| key <= least) || !allowed(position) {
                continue;
            }
            let place = best.partition_point(|&(other, _)| other >= key);
            best.insert(place, (key, position));
            best.truncate(k);
            if best.len() == k {
                least = best.last().map(|&(key, _)| key);
            }
        }
    }
    assert!(
        0 < k && k == best.len(),
        "{k} neighbours among {} rows",
        best.len()
    );
    best.into_iter()
        .map(|(_, position)| position as i64)
        .collect()
}

/// Whether any of these exceeds `least`; without an early end, so that it is a few vector instructions.
fn exceeds(values: &[f32], least: i32) -> bool {
    let one = |any: bool, &value: &f32| any | (order(value) > least);
    values.iter().fold(false, one)
}

/// An integer in the order of the numbers, the same for 0 and −0.
fn order(value: f32) -> i32 {
    let bits = (value + 0.0).to_bits() as i32;
    // The bits of negative numbers grow the wrong way.
    bits ^ (((bits >> 31) as u32) >> 1) as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    /// What devices other than the CPU use, against a full sort.
    #[test]
    fn the_largest_are_those_of_a_full_sort() {
        for seed in 0..200 {
            let mut draws = Stream::new(seed, "largest", &[]);
            let count = 1 + draws.below(90) as usize;
            // Few different values, so that many are equal.
            let values: Vec<f32> = (0..count).map(|_| draws.below(9) as f32 - 4.0).collect();
            let allowed = |i: usize| i % 5 != 1;
            let mut all: Vec<usize> = (0..count).filter(|&i| allowed(i)).collect();
            all.sort_by(|&a, &b| values[b].total_cmp(&values[a]).then(a.cmp(&b)));
            let k = 1 + draws.below(all.len() as u64) as usize;
            let expected: Vec<i64> = all[..k].iter().map(|&i| i as i64).collect();
            assert_eq!(largest(&values, k, allowed), expected, "{values:?}");
        }
        assert_eq!(largest(&[-0.0, 0.0, -1.0], 2, |_| true), [0, 1]);
    }

    #[test]
    #[should_panic(expected = "3 neighbours among 2 rows")]
    fn too_few() {
        largest(&[1.0, 2.0, 3.0], 3, |i| i > 0);
    }
}
