//! The rows of a matrix with the largest products with some others.
//!
//! The rows come in blocks: a block's products with all queries are one matrix product whose result stays in the cache while
//! each query looks through it. Of a long matrix, all but a few products are smaller than the k largest so far.

use crate::forward::{Epilogue, forward};
use crate::isa::vectorised;
use crate::scratch::scratch;
use crate::shape::Conv;
use crate::weights::ForwardWeights;
use rayon::prelude::*;

/// Floats of a block's products: well inside the second-level caches of two cores.
const BLOCK: usize = 256 << 10;
/// Queries that are looked after together: the lanes of the widest register.
const GROUP: usize = 16;

/// The k largest products so far of some queries.
struct Best {
    /// Order and row, the largest first, for each query.
    found: Vec<Vec<(i32, u32)>>,
    /// What a product must exceed to be among them; the smallest integer while there are fewer than k.
    least: [i32; GROUP],
}

/// For each query the `k` rows with the largest products, largest first and equal ones by row, of those that
/// `allowed(query, row)` admits.
///
/// # Shapes
/// `queries [B, width]`, `rows [M, width]` → `[B, k]`.
///
/// # Panics
/// If a query has fewer than `k` rows to choose from.
pub fn nearest(
    width: usize,
    queries: &[f32],
    rows: &[f32],
    k: usize,
    allowed: impl Fn(usize, usize) -> bool + Sync,
) -> Vec<u32> {
    assert!(
        k > 0,
        "0 neighbours among {} rows",
        rows.len() / width.max(1)
    );
    let count = queries.len() / width;
    let block = (BLOCK / count.max(1)).max(GROUP);
    // The queries are the kernel of a 1×1 convolution over one line of rows.
    let conv = |rows: usize| Conv {
        batch: 1,
        height: 1,
        width: rows,
        inputs: width,
        outputs: count,
        kernel: 1,
        stride: 1,
        padding: 0,
    };
    let mut weights = ForwardWeights::default();
    weights.pack(&conv(block), queries);
    let mut best: Vec<Best> = (0..count.div_ceil(GROUP))
        .map(|_| Best {
            found: vec![Vec::new(); GROUP],
            least: [i32::MIN; GROUP],
        })
        .collect();
    for (number, rows) in rows.chunks(block * width).enumerate() {
        let conv = conv(rows.len() / width);
        let mut products = scratch(conv.output_len());
        forward(&conv, rows, &weights, &Epilogue::default(), &mut products);
        let (products, first) = (&products[..], number * block);
        best.par_iter_mut().enumerate().for_each(|(group, best)| {
            look_through(products, count, first, group * GROUP, k, &allowed, best);
        });
    }
    let found = best.into_iter().flat_map(|best| best.found).take(count);
    found
        .flat_map(|found| {
            assert!(
                k == found.len(),
                "{k} neighbours among {} rows",
                found.len()
            );
            found.into_iter().map(|(_, row)| row)
        })
        .collect()
}

/// One group of queries through the products of one block, `[rows, count]`.
fn look_through(
    products: &[f32],
    count: usize,
    first_row: usize,
    first_query: usize,
    k: usize,
    allowed: &(impl Fn(usize, usize) -> bool + Sync),
    best: &mut Best,
) {
    let queries = GROUP.min(count - first_query);
    // A group that is not full is padded with what nobody wants.
    let mut padded = [0i32; GROUP];
    for (row, products) in products.chunks_exact(count).enumerate() {
        let products = &products[first_query..][..queries];
        let mut any = 0;
        in_order(products, &best.least, &mut padded, &mut any);
        if any == 0 {
            continue;
        }
        for query in 0..queries {
            let (key, found) = (padded[query], &mut best.found[query]);
            let full = found.len() == k;
            if (full && key <= best.least[query]) || !allowed(first_query + query, first_row + row)
            {
                continue;
            }
            let place = found.partition_point(|&(other, _)| other >= key);
            found.insert(place, (key, (first_row + row) as u32));
            found.truncate(k);
            if found.len() == k {
                best.least[query] = found[k - 1].0;
            }
        }
    }
}

vectorised! {
    /// Integers in the order of the numbers, the same for 0 and −0, and how many reach beyond their least.
    fn in_order(values: &[f32], least: &[i32; GROUP], keys: &mut [i32; GROUP], any: &mut i32) {
        for (i, &value) in values.iter().enumerate() {
            let bits = (value + 0.0).to_bits() as i32;
            // The bits of negative numbers grow the wrong way.
            keys[i] = bits ^ (((bits >> 31) as u32) >> 1) as i32;
        }
        let beyond = |i: usize| i32::from(keys[i] > least[i]);
        *any = (0..values.len()).map(beyond).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naive::Numbers;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn equals_its_naive_twin(
            count in 1usize..40, rows in 12usize..300, width in 1usize..40, k in 1usize..9, seed: u64,
        ) {
            let mut numbers = Numbers(seed);
            // Whole numbers: products are exact, and many are equal.
            let (queries, matrix) = (numbers.whole(count * width), numbers.whole(rows * width));
            let allowed = |query: usize, row: usize| !(query + row).is_multiple_of(7);
            let found = nearest(width, &queries, &matrix, k, allowed);
            for query in 0..count {
                // From +0: 0 and −0 are the same product.
                let product = |row: usize| {
                    let terms = (0..width).map(|i| queries[query * width + i] * matrix[row * width + i]);
                    terms.fold(0.0, |sum: f32, term| sum + term)
                };
                let mut all: Vec<usize> = (0..rows).filter(|&row| allowed(query, row)).collect();
                all.sort_by(|&a, &b| product(b).total_cmp(&product(a)).then(a.cmp(&b)));
                let expected: Vec<u32> = all[..k].iter().map(|&row| row as u32).collect();
                prop_assert_eq!(&found[query * k..][..k], &expected[..]);
            }
        }
    }

    #[test]
    fn threads_and_blocks_do_not_matter() {
        let (count, rows, width) = (70, 9000, 33);
        let mut numbers = Numbers(3);
        let (queries, matrix) = (numbers.real(count * width), numbers.real(rows * width));
        crate::naive::same_for_any_threads(|| {
            let found = nearest(width, &queries, &matrix, 5, |query, row| query != row);
            found.into_iter().map(|row| row as f32).collect()
        });
    }

    #[test]
    #[should_panic(expected = "3 neighbours among 2 rows")]
    fn too_few_rows() {
        nearest(1, &[1.0], &[1.0, 2.0], 3, |_, _| true);
    }
}
