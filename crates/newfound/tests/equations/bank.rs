//! The bank of features and probabilities, section III-C.

use newfound::memory::Bank;
use newfound::network::download;
use newfound::random::Stream;
use proptest::prelude::*;

use crate::fixture::{FORWARD, assert_close};
use crate::generate::{Draw, Matrix, dot, generated};

fn unit(row: &[f64]) -> Vec<f64> {
    let length = dot(row, row).sqrt();
    row.iter().map(|x| x / length).collect()
}

#[test]
fn by_hand() {
    let features = Matrix::of([[3.0, 4.0], [0.0, 2.0], [-5.0, 0.0]]);
    let probabilities = Matrix::of([[1.0, 0.0], [0.5, 0.5], [0.25, 0.75]]);
    let mut bank = Bank::new(vec![0, 2], features.tensor(), probabilities.tensor());
    assert_close(
        "features",
        &download(bank.features.clone()),
        &[0.6, 0.8, -1.0, 0.0],
        FORWARD,
    );
    assert_eq!(download(bank.probabilities.clone()), [1.0, 0.0, 0.25, 0.75]);
    // Image 1 has no row; image 2 has the second.
    let (features, probabilities) = (
        Matrix::of([[9.0, 9.0], [0.0, 7.0]]),
        Matrix::of([[0.1, 0.9], [0.0, 1.0]]),
    );
    bank.write(&[1, 2], features.tensor(), probabilities.tensor());
    assert_close(
        "features",
        &download(bank.features.clone()),
        &[0.6, 0.8, 0.0, 1.0],
        FORWARD,
    );
    assert_eq!(download(bank.probabilities), [1.0, 0.0, 0.0, 1.0]);
}

#[test]
fn limits() {
    let features = Matrix::of([[1.0, 0.0], [0.0, 1.0]]);
    let mut bank = Bank::new(vec![0, 1], features.tensor(), features.tensor());
    let before = download(bank.features.clone());
    bank.write(&[7, 8], features.tensor().neg(), features.tensor());
    assert_eq!(download(bank.features.clone()), before, "nobody has a row");
    bank.write(
        &[],
        features.tensor().slice_dim(0, 0..0),
        features.tensor().slice_dim(0, 0..0),
    );
    assert_eq!(download(bank.features), before, "an empty batch");
}

#[test]
fn a_bank_that_holds_all_images_takes_them_in_order() {
    let choose = |images, limit| Bank::choose(images, limit, &mut Stream::new(1, "bank", &[]));
    assert_eq!(choose(4, 4), [0, 1, 2, 3]);
    assert_eq!(choose(3, 10), [0, 1, 2]);
    let some = choose(1000, 10);
    assert_eq!(some.len(), 10);
    assert!(
        some.is_sorted_by(|a, b| a < b) && some[9] < 1000,
        "{some:?}"
    );
    assert_ne!(some, (0..10).collect::<Vec<_>>(), "not just the first ones");
}

/// A table from image to row, written image by image.
#[test]
fn twin() {
    proptest!(generated(64), |(images in 2..20usize, width in 1..5usize, classes in 1..5usize, seed: u64)| {
        let mut draw = Draw::new(seed);
        let held: Vec<usize> = (0..images).filter(|&i| i == 0 || draw.0.bernoulli(0.6)).collect();
        let (features, probabilities) = (draw.features(images, width), draw.probabilities(images, classes));
        let mut bank = Bank::new(held.clone(), features.tensor(), probabilities.tensor());
        let mut table: Vec<(Vec<f64>, Vec<f64>)> =
            held.iter().map(|&i| (unit(features.row(i)), probabilities.row(i).to_vec())).collect();
        for _ in 0..3 {
            let mut batch = draw.0.permutation(images);
            batch.truncate(1 + draw.0.below(images as u64) as usize);
            let (z, p) = (draw.features(batch.len(), width), draw.probabilities(batch.len(), classes));
            bank.write(&batch, z.tensor(), p.tensor());
            for (b, image) in batch.iter().enumerate() {
                if let Some(row) = held.iter().position(|held| held == image) {
                    table[row] = (unit(z.row(b)), p.row(b).to_vec());
                }
            }
        }
        let (z, p): (Vec<Vec<f64>>, Vec<Vec<f64>>) = table.into_iter().unzip();
        prop_assert_eq!(bank.images, held);
        assert_close("features", &download(bank.features), &z.concat(), FORWARD);
        assert_close("probabilities", &download(bank.probabilities), &p.concat(), FORWARD);
    });
}
