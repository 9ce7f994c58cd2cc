//! The pseudo-labels of the last T epochs, section III-F.

use std::collections::VecDeque;

use burn::tensor::Device;
use newfound::memory::History;
use proptest::prelude::*;

use crate::fixture::ints;
use crate::generate::{Draw, generated};

/// One image's labels, in whatever order of epochs the slots have.
fn row(history: &History, image: usize) -> Vec<i64> {
    ints(history.rows(&[image], &Device::flex()))
}

#[test]
fn by_hand() {
    let mut history = History::new(&[3, 7], 3);
    assert_eq!(row(&history, 1), [7, 7, 7]);
    history.record(1, 5);
    assert_eq!(
        row(&history, 1),
        [7, 7, 7],
        "the running epoch does not show"
    );
    assert_eq!(history.advance(), 1);
    let mut labels = row(&history, 1);
    labels.sort_unstable();
    assert_eq!(labels, [5, 7, 7]);
    assert_eq!(
        row(&history, 0),
        [3, 3, 3],
        "an image without a new label keeps its last"
    );
}

#[test]
fn limits() {
    let mut history = History::new(&[3], 1);
    history.record(0, 4);
    history.record(0, 5);
    assert_eq!(history.advance(), 1, "the last label of the epoch counts");
    assert_eq!(row(&history, 0), [5], "one epoch: only the one before");
    assert_eq!(history.advance(), 0);
    assert_eq!(history.rows(&[], &Device::flex()).dims(), [0, 1]);
}

/// One list of labels per epoch. The slots' order is free, but it must be the same for all images.
#[test]
fn twin() {
    proptest!(generated(64), |(images in 1..8usize, epochs in 1..6usize, run in 1..9usize, seed: u64)| {
        let mut draw = Draw::new(seed);
        let initial = draw.below(4, images);
        let mut history = History::new(&initial, epochs);
        let mut lists: VecDeque<Vec<usize>> = vec![initial.clone(); epochs].into();
        for _ in 0..run {
            let mut labels = lists.back().unwrap().clone();
            for image in 0..images {
                if draw.0.bernoulli(0.7) {
                    labels[image] = draw.below(4, 1)[0];
                    history.record(image, labels[image]);
                }
            }
            let changed = labels.iter().zip(lists.back().unwrap()).filter(|(a, b)| a != b).count();
            prop_assert_eq!(history.advance(), changed);
            lists.push_back(labels);
            lists.pop_front();
        }
        let all: Vec<usize> = (0..images).collect();
        let found = ints(history.rows(&all, &Device::flex()));
        // Slot by slot, each is the labels of one epoch.
        let mut slots: Vec<Vec<usize>> = (0..epochs)
            .map(|slot| (0..images).map(|image| found[image * epochs + slot] as usize).collect())
            .collect();
        let mut expected: Vec<Vec<usize>> = lists.into();
        slots.sort();
        expected.sort();
        prop_assert_eq!(slots, expected);
    });
}
