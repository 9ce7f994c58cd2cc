//! The queue of keys, section III-F.

use std::collections::VecDeque;

use newfound::memory::Queue;
use newfound::network::download;
use proptest::prelude::*;

use crate::fixture::{FORWARD, assert_close};
use crate::generate::{Draw, Matrix, dot, generated};

#[test]
fn by_hand() {
    let features = Matrix::of([[3.0, 4.0], [0.0, 2.0], [-5.0, 0.0]]);
    let mut queue = Queue::new(vec![4, 5, 6], features.tensor());
    queue.push(&[1], Matrix::of([[0.0, -9.0]]).tensor());
    assert_eq!((queue.images.as_slice(), queue.next), (&[1, 5, 6][..], 1));
    let expected = [0.0, -1.0, 0.0, 1.0, -1.0, 0.0];
    assert_close("keys", &download(queue.keys), &expected, FORWARD);
}

#[test]
fn limits() {
    let mut queue = Queue::new(vec![4], Matrix::of([[1.0, 0.0]]).tensor());
    queue.push(
        &[1, 2, 3],
        Matrix::of([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]]).tensor(),
    );
    assert_eq!(
        (queue.images.as_slice(), queue.next),
        (&[3][..], 0),
        "a queue of one key"
    );
    assert_eq!(download(queue.keys.clone()), [0.0, 1.0]);
    queue.push(&[9], Matrix::of([[0.0, 0.0]]).tensor());
    assert_eq!(
        download(queue.keys),
        [0.0, 0.0],
        "a key without direction stays finite"
    );
}

/// First in, first out: a double-ended queue that is never longer than Q.
#[test]
fn twin() {
    proptest!(generated(64), |(rows in 1..9usize, width in 1..5usize, pushes in 1..6usize, seed: u64)| {
        let mut draw = Draw::new(seed);
        let features = draw.features(rows, width);
        let mut queue = Queue::new((0..rows).collect(), features.tensor());
        let direction = |row: &[f64]| -> Vec<f64> {
            let length = dot(row, row).sqrt();
            row.iter().map(|x| x / length).collect()
        };
        let mut line: VecDeque<(usize, Vec<f64>)> = features.iter().map(direction).enumerate().collect();
        let mut image = 100;
        for _ in 0..pushes {
            let batch = 1 + draw.0.below(12) as usize;
            let images: Vec<usize> = (image..image + batch).collect();
            let keys = draw.features(batch, width);
            queue.push(&images, keys.tensor());
            line.extend(images.iter().copied().zip(keys.iter().map(direction)));
            line.drain(..batch);
            image += batch;
        }
        // `next` is the oldest row: read from there, the ring is the line.
        let keys = download(queue.keys);
        let ring: Vec<usize> = (0..rows).map(|i| (queue.next + i) % rows).collect();
        let images: Vec<usize> = ring.iter().map(|&row| queue.images[row]).collect();
        prop_assert_eq!(images, line.iter().map(|(image, _)| *image).collect::<Vec<_>>());
        let found: Vec<f32> = ring.iter().flat_map(|&row| keys[row * width..][..width].to_vec()).collect();
        let expected: Vec<f64> = line.into_iter().flat_map(|(_, key)| key).collect();
        assert_close("keys", &found, &expected, FORWARD);
    });
}
