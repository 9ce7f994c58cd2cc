//! The nearest rows of the bank.

use burn::tensor::{Device, Tensor};
use newfound::pseudo_labels::nearest;
use proptest::prelude::*;

use crate::fixture::ints;
use crate::generate::{Draw, Matrix, dot, generated};

fn found(
    queries: &Matrix,
    images: &[usize],
    bank: &Matrix,
    bank_images: &[usize],
    k: usize,
) -> Vec<i64> {
    ints(nearest(
        queries.tensor(),
        images,
        bank.tensor(),
        bank_images,
        k,
    ))
}

/// All rows sorted by similarity, then by number; those of the query's own image left out.
fn plain(
    queries: &Matrix,
    images: &[usize],
    bank: &Matrix,
    bank_images: &[usize],
    k: usize,
) -> Vec<i64> {
    let mut all = Vec::new();
    for (query, &image) in queries.iter().zip(images) {
        let mut rows: Vec<(f64, usize)> = (0..bank.rows)
            .filter(|&row| bank_images[row] != image)
            .map(|row| (-dot(query, bank.row(row)), row))
            .collect();
        rows.sort_by(|a, b| a.partial_cmp(b).unwrap());
        all.extend(rows[..k].iter().map(|&(_, row)| row as i64));
    }
    all
}

#[test]
fn by_hand() {
    // The query is row 0 itself; then come row 3 (45°), row 1 (90°), row 2 (180°).
    let bank = Matrix::of([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.6, 0.8]]);
    let query = Matrix::of([[1.0, 0.0]]);
    assert_eq!(found(&query, &[9], &bank, &[5, 6, 7, 8], 4), [0, 3, 1, 2]);
    assert_eq!(
        found(&query, &[5], &bank, &[5, 6, 7, 8], 2),
        [3, 1],
        "no vote for itself"
    );
    assert_eq!(
        found(&query, &[5], &bank, &[5, 6, 7, 5], 2),
        [1, 2],
        "nor by another row of it"
    );
}

#[test]
fn limits() {
    let bank = Matrix {
        rows: 5,
        cols: 2,
        values: [1.0, 0.0].repeat(5),
    };
    let query = Matrix::of([[1.0, 0.0]]);
    assert_eq!(
        found(&query, &[2], &bank, &[0, 1, 2, 3, 4], 3),
        [0, 1, 3],
        "ties: the lower row"
    );
    assert_eq!(
        found(&query, &[2], &bank, &[0, 1, 2, 3, 4], 4),
        [0, 1, 3, 4],
        "all there are"
    );
    assert_eq!(
        found(&query, &[2], &bank, &[2, 2, 2, 2, 0], 1),
        [4],
        "only one other image"
    );
}

#[test]
#[should_panic(expected = "5 neighbours among 4 rows")]
fn more_neighbours_than_rows_of_other_images() {
    let bank = Matrix {
        rows: 5,
        cols: 1,
        values: vec![1.0; 5],
    };
    found(&Matrix::of([[1.0]]), &[2], &bank, &[0, 1, 2, 3, 4], 5);
}

#[test]
#[should_panic(expected = "0 neighbours")]
fn no_neighbours() {
    found(&Matrix::of([[1.0]]), &[2], &Matrix::of([[1.0]]), &[0], 0);
}

/// Whole numbers have exact products, so equal similarities are really equal, and there are many.
#[test]
fn twin() {
    let sizes = (1..20usize, 3..40usize, 1..4usize, 1..40usize);
    proptest!(generated(128), |((batch, rows, width, k) in sizes, seed: u64)| {
        let mut draw = Draw::new(seed);
        let (queries, bank) = (draw.whole(batch, width, 2), draw.whole(rows, width, 2));
        // Fewer images than rows: some own several rows. Two at least, so that nobody is left without a neighbour.
        let mut bank_images = draw.below(rows, rows);
        (bank_images[0], bank_images[1]) = (rows, rows + 1);
        let images = draw.below(rows + 2, batch);
        let most = |&image: &usize| bank_images.iter().filter(|&&i| i != image).count();
        let k = k.min(images.iter().map(most).min().unwrap());
        let expected = plain(&queries, &images, &bank, &bank_images, k);
        prop_assert_eq!(found(&queries, &images, &bank, &bank_images, k), expected);
    });
}

/// More queries than one block holds, and results that no number of threads changes.
#[test]
fn blocks_and_threads() {
    let mut draw = Draw::new(5);
    let (queries, bank) = (draw.whole(600, 8, 3), draw.whole(500, 8, 3));
    let (images, bank_images): (Vec<_>, Vec<_>) = ((0..600).collect(), (0..500).collect());
    let expected = plain(&queries, &images, &bank, &bank_images, 10);
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let found = pool.install(|| found(&queries, &images, &bank, &bank_images, 10));
        assert_eq!(found, expected, "{threads} threads");
    }
}

#[test]
fn no_queries() {
    let none: Tensor<2> = Tensor::zeros([0, 3], &Device::flex());
    let bank = Tensor::ones([4, 3], &Device::flex());
    assert_eq!(nearest(none, &[], bank, &[0, 1, 2, 3], 2).dims(), [0, 2]);
}
