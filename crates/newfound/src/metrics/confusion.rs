//! The confusion matrix: who was taken for whom.

use super::open_set::Tally;
use super::{Classes, Prediction, Truth};
use serde::{Deserialize, Serialize};

/// Counts of images by true class (rows) and predicted class (columns).
///
/// ```text
///                 known classes     unknown-1 … unknown-P
/// known classes   diagonal: right   known images given up as unknown
/// private classes unknowns missed   unknowns found
/// ```
///
/// The matrix is (C + true private classes) × (C + P). It is square only by chance: the number of
/// private classes the model proposes is a guess. The private columns have no fixed relation to the
/// private rows; [`novel_accuracy`](super::clustering::novel_accuracy) finds the best one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confusion {
    /// True classes: the known names, then the private names.
    pub rows: Vec<String>,
    /// Predicted classes: the known names, then `unknown-1` … `unknown-P`.
    pub columns: Vec<String>,
    /// `counts[row][column]`, in images.
    pub counts: Vec<Vec<u64>>,
    /// C: where the private rows, and the private columns, begin.
    #[serde(skip)]
    known: usize,
}

impl Confusion {
    /// Counts the images. The indices have been checked against `classes`.
    pub(super) fn count(classes: &Classes, truth: &[Truth], predictions: &[Prediction]) -> Self {
        let known = classes.known.len();
        let proposed = (1..=classes.proposed).map(|j| format!("unknown-{j}"));
        let rows: Vec<_> = classes
            .known
            .iter()
            .chain(&classes.private)
            .cloned()
            .collect();
        let columns: Vec<_> = classes.known.iter().cloned().chain(proposed).collect();
        let mut counts = vec![vec![0; columns.len()]; rows.len()];
        for (truth, prediction) in truth.iter().zip(predictions) {
            let row = match *truth {
                Truth::Known(class) => class,
                Truth::Private(class) => known + class,
            };
            counts[row][prediction.label] += 1;
        }
        Self {
            rows,
            columns,
            counts,
            known,
        }
    }

    /// The rows of the truly private images.
    pub fn private_rows(&self) -> &[Vec<u64>] {
        &self.counts[self.known..]
    }

    /// Per known class: an image is right on the diagonal.
    pub fn known_tallies(&self) -> Vec<Tally> {
        let rows = self.counts[..self.known].iter().enumerate();
        rows.map(|(class, row)| Tally {
            images: row.iter().sum(),
            right: row[class],
        })
        .collect()
    }

    /// Per private class: an image is right in any private column.
    pub fn private_tallies(&self) -> Vec<Tally> {
        let right = |row: &[u64]| row[self.known..].iter().sum();
        let rows = self.private_rows().iter();
        rows.map(|row| Tally {
            images: row.iter().sum(),
            right: right(row),
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{classes, fixture, prediction, truth_of};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rows_are_true_and_columns_are_predicted() {
        let truth = [
            Truth::Known(0),
            Truth::Known(0),
            Truth::Known(1),
            Truth::Private(0),
        ];
        let labels = [0, 2, 0, 3];
        let confusion = Confusion::count(&classes(2, 1, 2), &truth, &labels.map(prediction));
        assert_eq!(confusion.rows, ["known-0", "known-1", "private-0"]);
        assert_eq!(
            confusion.columns,
            ["known-0", "known-1", "unknown-1", "unknown-2"]
        );
        assert_eq!(confusion.counts, [[1, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 1]]);
        let tally = |images, right| Tally { images, right };
        assert_eq!(confusion.known_tallies(), [tally(2, 1), tally(1, 0)]);
        assert_eq!(confusion.private_tallies(), [tally(1, 1)]);
    }

    #[test]
    fn no_images_no_classes_and_no_proposals_are_fine() {
        let none = Confusion::count(&classes(2, 1, 0), &[], &[]);
        assert_eq!(none.counts, [[0, 0], [0, 0], [0, 0]]);
        assert_eq!(
            Confusion::count(&classes(0, 0, 0), &[], &[]).counts,
            Vec::<Vec<u64>>::new()
        );
        let missed = Confusion::count(&classes(1, 1, 0), &[Truth::Private(0)], &[prediction(0)]);
        assert_eq!(
            missed.private_tallies(),
            [Tally {
                images: 1,
                right: 0
            }]
        );
    }

    #[test]
    fn json_has_the_three_keys_and_no_more() {
        let json = serde_json::to_value(Confusion::count(&classes(1, 0, 1), &[], &[])).unwrap();
        let expected = r#"{"rows":["known-0"],"columns":["known-0","unknown-1"],"counts":[[0,0]]}"#;
        assert_eq!(
            json,
            serde_json::from_str::<serde_json::Value>(expected).unwrap()
        );
    }

    proptest! {
        #[test]
        fn counts_are_those_of_a_search_per_cell(
            pairs in prop::collection::vec((0usize..5, 0usize..6), 0..60),
        ) {
            // Three known classes, two private, three proposed.
            let truth: Vec<_> = pairs.iter().map(|&(t, _)| truth_of(t, 3)).collect();
            let predictions: Vec<_> = pairs.iter().map(|&(_, p)| prediction(p)).collect();
            let confusion = Confusion::count(&classes(3, 2, 3), &truth, &predictions);
            for row in 0..5 {
                for column in 0..6 {
                    let cell = pairs.iter().filter(|&&pair| pair == (row, column)).count();
                    prop_assert_eq!(confusion.counts[row][column], cell as u64);
                }
            }
        }
    }

    #[test]
    fn fixture_confusion_matrix() {
        #[derive(Deserialize)]
        struct Case {
            known: usize,
            private: usize,
            proposed: usize,
            truth: Vec<usize>,
            predicted: Vec<usize>,
            counts: Vec<Vec<u64>>,
        }
        let text = include_str!("../../tests/fixtures/metrics/open_set.json");
        for case in fixture::<Case>(text) {
            let truth: Vec<_> = case
                .truth
                .iter()
                .map(|&t| truth_of(t, case.known))
                .collect();
            let predictions: Vec<_> = case.predicted.iter().map(|&p| prediction(p)).collect();
            let classes = classes(case.known, case.private, case.proposed);
            assert_eq!(
                Confusion::count(&classes, &truth, &predictions).counts,
                case.counts
            );
        }
    }
}
