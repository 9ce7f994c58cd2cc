//! Labels that an image most likely does *not* have.

use crate::random::Stream;

/// ỹ: for each pseudo-label one of the K − 1 other classes, uniformly.
///
/// **Section III-E**: ỹ ∈ {1, …, K} ∖ {ȳ}
///
/// # Shapes
///
/// `labels` ȳ \[B\] → ỹ \[B\]
pub fn complementary_labels(labels: &[usize], classes: usize, draws: &mut Stream) -> Vec<usize> {
    let mut other = |&label: &usize| {
        let drawn = draws.below(classes as u64 - 1) as usize;
        // The classes above the label move down by one to close its gap.
        if drawn < label { drawn } else { drawn + 1 }
    };
    labels.iter().map(&mut other).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_the_label_and_every_other_class_equally_often() {
        let labels = vec![2; 30_000];
        let mut counts = [0u32; 4];
        for other in complementary_labels(&labels, 4, &mut Stream::new(1, "c", &[])) {
            counts[other] += 1;
        }
        assert_eq!(counts[2], 0);
        assert!(
            [0, 1, 3].iter().all(|&c| counts[c].abs_diff(10_000) < 400),
            "{counts:?}"
        );
    }

    #[test]
    fn two_classes_leave_one_choice() {
        assert_eq!(
            complementary_labels(&[0, 1], 2, &mut Stream::new(1, "c", &[])),
            [1, 0]
        );
    }
}
