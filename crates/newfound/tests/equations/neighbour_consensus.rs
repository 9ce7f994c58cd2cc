//! Refined probabilities, Eq. (1).

use burn::tensor::{Int, Tensor, TensorData};
use newfound::geometry::normalise_rows;
use newfound::network::download;
use newfound::pseudo_labels::{nearest, neighbour_consensus};
use proptest::prelude::*;

use crate::fixture::{FORWARD, assert_close, cases, ints};
use crate::generate::{Draw, Matrix, generated};

fn refined(bank: &Matrix, neighbours: &[Vec<usize>]) -> Vec<f32> {
    download(neighbour_consensus(bank.tensor(), indices(neighbours)))
}

fn indices(neighbours: &[Vec<usize>]) -> Tensor<2, Int> {
    let rows: Vec<i64> = neighbours.concat().iter().map(|&row| row as i64).collect();
    let shape = [neighbours.len(), neighbours[0].len()];
    Tensor::from_data(TensorData::new(rows, shape), &burn::tensor::Device::flex())
}

#[test]
fn by_hand() {
    let bank = Matrix::of([[1.0, 0.0], [0.2, 0.8], [0.4, 0.6]]);
    let found = refined(&bank, &[vec![1, 2], vec![0, 1]]);
    assert_close("refined", &found, &[0.3, 0.7, 0.6, 0.4], FORWARD);
}

#[test]
fn limits() {
    let bank = Matrix::of([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
    assert_eq!(
        refined(&bank, &[vec![2]]),
        [0.0, 0.0, 1.0],
        "one neighbour: its own vote"
    );
    assert_eq!(
        refined(&bank, &[vec![1, 1, 1]]),
        [0.0, 1.0, 0.0],
        "agreement"
    );
    assert_close(
        "discord",
        &refined(&bank, &[vec![0, 1, 2]]),
        &[1.0 / 3.0; 3],
        FORWARD,
    );
}

#[test]
fn twin() {
    let sizes = (1..9usize, 2..20usize, 1..8usize, 1..12usize);
    proptest!(generated(64), |((batch, rows, classes, k) in sizes, seed: u64)| {
        let mut draw = Draw::new(seed);
        let bank = draw.probabilities(rows, classes);
        let neighbours: Vec<Vec<usize>> = (0..batch).map(|_| draw.below(rows, k)).collect();
        let mut expected = Vec::new();
        for chosen in &neighbours {
            for class in 0..classes {
                let votes: f64 = chosen.iter().map(|&row| bank.row(row)[class]).sum();
                expected.push(votes / k as f64);
            }
        }
        assert_close("refined", &refined(&bank, &neighbours), &expected, FORWARD);
    });
}

/// Search and vote together, from features of any length to the label.
#[test]
fn golden() {
    for case in cases("equations/neighbour_consensus") {
        let queries = normalise_rows(case.tensor("features"));
        let bank = normalise_rows(case.tensor("bank_features"));
        let (images, bank_images) = (case.indices("images"), case.indices("bank_images"));
        let expected: Vec<Vec<i64>> =
            serde_json::from_value(case.output("neighbours").clone()).expect("lists of rows");
        let mut refined = Vec::new();
        for (b, expected) in expected.iter().enumerate() {
            let query = queries.clone().slice_dim(0, b..b + 1);
            // A bank smaller than k gives all it has.
            let k = expected.len();
            assert!(
                k == case.number("k") as usize || k >= bank_images.len() - 1,
                "{}",
                case.name
            );
            let chosen = nearest(query, &images[b..=b], bank.clone(), &bank_images, k);
            let mut rows = ints(chosen.clone());
            rows.sort_unstable();
            assert_eq!(&rows, expected, "{}: neighbours of query {b}", case.name);
            refined.push(neighbour_consensus(
                case.tensor("bank_probabilities"),
                chosen,
            ));
        }
        let refined = Tensor::cat(refined, 0);
        case.check("refined", &refined);
        assert_eq!(
            ints(refined.argmax(1)),
            case.expected_ints("labels"),
            "{}",
            case.name
        );
    }
}
