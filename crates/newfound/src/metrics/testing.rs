//! What the tests of all metrics share.

use super::{BestKnown, Classes, Prediction, Truth};
use serde::de::DeserializeOwned;

/// The figures are sums of at most a few thousand f64 terms; anything beyond this is another
/// formula.
pub const TOLERANCE: f64 = 1e-9;

/// Both absent, or both present and equal up to [`TOLERANCE`], relative to the larger of 1 and
/// theirs.
#[track_caller]
pub fn assert_close(got: Option<f64>, expected: Option<f64>) {
    let equal = match (got, expected) {
        (Some(a), Some(b)) => (a - b).abs() <= TOLERANCE * b.abs().max(1.0),
        (None, None) => true,
        _ => false,
    };
    assert!(equal, "got {got:?}, expected {expected:?}");
}

/// The cases of a fixture file.
pub fn fixture<T: DeserializeOwned>(text: &str) -> Vec<T> {
    #[derive(serde::Deserialize)]
    struct File<T> {
        cases: Vec<T>,
    }
    let file: File<T> = serde_json::from_str(text).unwrap();
    assert!(!file.cases.is_empty());
    file.cases
}

/// Classes called known-0 … and private-0 ….
pub fn classes(known: usize, private: usize, proposed: usize) -> Classes {
    let names = |kind: &str, n| (0..n).map(|i| format!("{kind}-{i}")).collect();
    Classes {
        known: names("known", known),
        private: names("private", private),
        proposed,
    }
}

/// Row `row` of the confusion matrix as a true class.
pub fn truth_of(row: usize, known: usize) -> Truth {
    if row < known {
        Truth::Known(row)
    } else {
        Truth::Private(row - known)
    }
}

/// A prediction of which only the label matters.
pub fn prediction(label: usize) -> Prediction {
    Prediction {
        label,
        unknown: 0.0,
        best_known: Some(BestKnown {
            class: 0,
            score: 0.0,
        }),
    }
}
