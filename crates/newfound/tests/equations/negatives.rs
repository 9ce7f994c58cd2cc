//! Which keys are negatives of which query, the set after Eq. (9).

use burn::tensor::{Bool, Device, Int, Tensor, TensorData};
use newfound::memory::{draw_negatives, negatives};
use newfound::random::Stream;
use proptest::prelude::*;

use crate::fixture::{bits, cases, index_tensor, ints};
use crate::generate::{Draw, generated};

fn history(rows: &[Vec<usize>]) -> Tensor<2, Int> {
    let labels: Vec<i64> = rows.concat().iter().map(|&label| label as i64).collect();
    Tensor::from_data(
        TensorData::new(labels, [rows.len(), rows[0].len()]),
        &Device::flex(),
    )
}

fn mask(
    queries: &[Vec<usize>],
    keys: &[Vec<usize>],
    images: &[usize],
    key_images: &[usize],
) -> Vec<i64> {
    let [images, key_images] = [images, key_images].map(index_tensor);
    bits(negatives(
        history(queries),
        history(keys),
        images,
        key_images,
    ))
}

fn bool_mask(rows: &[&[bool]]) -> Tensor<2, Bool> {
    let shape = [rows.len(), rows[0].len()];
    Tensor::from_data(TensorData::new(rows.concat(), shape), &Device::flex())
}

#[test]
fn by_hand() {
    // Never the same label; the same in the second epoch; never the same, but the query's own image; the same labels,
    // though in other epochs.
    let keys = [vec![2, 3], vec![9, 4], vec![2, 3], vec![4, 1]];
    assert_eq!(
        mask(&[vec![1, 4]], &keys, &[7], &[0, 1, 7, 2]),
        [1, 0, 0, 1]
    );
}

#[test]
fn limits() {
    let (same, other) = (vec![vec![3, 3]; 3], vec![vec![5, 5]; 3]);
    assert_eq!(
        mask(&[vec![3, 3]], &same, &[9], &[0, 1, 2]),
        [0, 0, 0],
        "one class: no negatives"
    );
    assert_eq!(mask(&[vec![3, 3]], &other, &[9], &[0, 1, 2]), [1, 1, 1]);
    assert_eq!(
        mask(&[vec![3, 3]], &other, &[1], &[0, 1, 2]),
        [1, 0, 1],
        "never the own image"
    );
    assert_eq!(
        mask(&[vec![3]], &[vec![4], vec![3]], &[9], &[0, 1]),
        [1, 0],
        "one epoch"
    );
}

#[test]
fn twin() {
    let sizes = (1..9usize, 1..15usize, 1..6usize);
    proptest!(generated(128), |((batch, rows, epochs) in sizes, seed: u64)| {
        let mut draw = Draw::new(seed);
        let mut histories = |count| (0..count).map(|_| draw.below(4, epochs)).collect::<Vec<_>>();
        let (queries, keys) = (histories(batch), histories(rows));
        let (images, key_images) = (draw.below(12, batch), draw.below(12, rows));
        let mut expected = Vec::new();
        for (query, image) in queries.iter().zip(&images) {
            for (key, key_image) in keys.iter().zip(&key_images) {
                let mut negative = image != key_image;
                for epoch in 0..epochs {
                    negative &= query[epoch] != key[epoch];
                }
                expected.push(i64::from(negative));
            }
        }
        prop_assert_eq!(mask(&queries, &keys, &images, &key_images), expected);
    });
}

#[test]
fn golden() {
    for case in cases("equations/negatives") {
        let [queries, keys] = ["query_history", "queue_history"].map(|key| case.int_matrix(key));
        let [images, key_images] =
            ["query_images", "queue_images"].map(|key| index_tensor(&case.indices(key)));
        let found = bits(negatives(queries, keys, images, key_images));
        assert_eq!(found, case.expected_ints("mask"), "{}", case.name);
    }
}

fn drawn(rows: &[&[bool]], seed: u64) -> Vec<i64> {
    ints(draw_negatives(
        bool_mask(rows),
        &mut Stream::new(seed, "n", &[]),
        &Device::flex(),
    ))
}

#[test]
fn a_drawn_negative_is_one_and_each_as_often() {
    let row: &[bool] = &[false, true, false, true, true, false];
    let found = drawn(&vec![row; 9000], 3);
    let count = |key: i64| found.iter().filter(|&&drawn| drawn == key).count();
    assert_eq!(count(1) + count(3) + count(4), 9000, "only negatives");
    assert!(
        [1, 3, 4].iter().all(|&key| count(key).abs_diff(3000) < 200),
        "each as often"
    );
}

#[test]
fn a_query_without_negatives_gets_row_0_and_takes_its_draw_all_the_same() {
    let (none, all): (&[bool], &[bool]) = (&[false; 50], &[true; 50]);
    let single: &[bool] = &[false, false, true];
    assert_eq!(drawn(&[none], 1), [0]);
    assert_eq!(drawn(&[single, single], 1), [2, 2]);
    // What the second query draws does not depend on what the first one could choose from.
    assert_eq!(drawn(&[none, all], 1)[1], drawn(&[all, all], 1)[1]);
}
