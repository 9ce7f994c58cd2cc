//! Labels that an image most likely does not have, section III-E.

use newfound::pseudo_labels::complementary_labels;
use newfound::random::Stream;
use proptest::prelude::*;

use crate::generate::{Draw, generated};

#[test]
fn by_hand() {
    // Of two classes the other one is left.
    assert_eq!(
        complementary_labels(&[0, 1, 1], 2, &mut Stream::new(3, "c", &[])),
        [1, 0, 0]
    );
}

#[test]
fn limits() {
    assert!(complementary_labels(&[], 5, &mut Stream::new(3, "c", &[])).is_empty());
    // The lowest and the highest label leave all others.
    for label in [0, 4] {
        let labels = vec![label; 200];
        let mut seen = complementary_labels(&labels, 5, &mut Stream::new(3, "c", &[]));
        seen.sort_unstable();
        seen.dedup();
        let others: Vec<usize> = (0..5).filter(|&class| class != label).collect();
        assert_eq!(seen, others);
    }
}

/// One draw per image, which numbers the other classes.
#[test]
fn twin() {
    proptest!(generated(64), |(count in 1..30usize, classes in 2..9usize, seed: u64)| {
        let labels = Draw::new(seed).below(classes, count);
        let found = complementary_labels(&labels, classes, &mut Stream::new(seed, "c", &[]));
        let mut draws = Stream::new(seed, "c", &[]);
        for (found, label) in found.into_iter().zip(labels) {
            let others: Vec<usize> = (0..classes).filter(|&class| class != label).collect();
            prop_assert_eq!(found, others[draws.below(classes as u64 - 1) as usize]);
        }
    });
}
