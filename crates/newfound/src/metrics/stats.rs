//! A figure over several seeds: mean ± sample standard deviation.

use serde::Serialize;

/// Mean and spread of one figure over repeated runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    /// The mean.
    pub mean: f64,
    /// The sample standard deviation; `None` for a single run, whose spread is unknown, not 0.
    pub sd: Option<f64>,
}

impl Summary {
    /// Summarises finite values; `None` if there are none.
    pub fn of(values: &[f64]) -> Option<Self> {
        mean(values).map(|mean| Self {
            mean,
            sd: sample_sd(values),
        })
    }
}

/// The arithmetic mean; `None` of nothing.
///
/// ```text
/// mean = x_1 + 1/n Σ_i (x_i − x_1)
/// ```
///
/// Taken relative to the first value so that seeds that agree exactly have exactly that mean, and a
/// deviation of exactly 0.
pub fn mean(values: &[f64]) -> Option<f64> {
    assert!(
        values.iter().all(|value| value.is_finite()),
        "figures are finite"
    );
    let first = *values.first()?;
    Some(first + values.iter().map(|value| value - first).sum::<f64>() / values.len() as f64)
}

/// The sample standard deviation (n − 1 in the denominator); `None` for fewer than two values.
///
/// ```text
/// sd = √( 1/(n−1) Σ_i (x_i − mean)² )
/// ```
pub fn sample_sd(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_close, fixture};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        // Deviations −2, 0, 2: 8 / 2 = 4.
        assert_close(mean(&[83.0, 85.0, 87.0]), Some(85.0));
        assert_close(sample_sd(&[83.0, 85.0, 87.0]), Some(2.0));
    }

    #[test]
    fn none_one_and_equal_values() {
        assert_eq!(Summary::of(&[]), None);
        assert_eq!(
            Summary::of(&[0.1]),
            Some(Summary {
                mean: 0.1,
                sd: None
            })
        );
        assert_eq!(
            Summary::of(&[0.1; 3]),
            Some(Summary {
                mean: 0.1,
                sd: Some(0.0)
            })
        );
    }

    #[test]
    fn a_large_offset_does_not_swallow_the_spread() {
        assert_close(sample_sd(&[1e9, 1e9 + 1.0, 1e9 + 2.0]), Some(1.0));
    }

    #[test]
    #[should_panic(expected = "finite")]
    fn a_nan_figure_is_a_bug() {
        mean(&[1.0, f64::NAN]);
    }

    #[test]
    fn json() {
        let text = serde_json::to_string(&Summary {
            mean: 1.5,
            sd: None,
        })
        .unwrap();
        assert_eq!(text, r#"{"mean":1.5,"sd":null}"#);
    }

    proptest! {
        #[test]
        fn twin_uses_all_pairs(values in prop::collection::vec(-100.0..100.0, 2..20)) {
            // The variance is half the mean squared difference of two different values.
            let n = values.len() as f64;
            let mut squares = 0.0;
            for a in &values {
                for b in &values {
                    squares += (a - b) * (a - b);
                }
            }
            assert_close(sample_sd(&values), Some((squares / (2.0 * n * (n - 1.0))).sqrt()));
            assert_close(mean(&values), Some(values.iter().sum::<f64>() / n));
        }
    }

    #[test]
    fn fixture_stats() {
        #[derive(serde::Deserialize)]
        struct Case {
            values: Vec<f64>,
            mean: f64,
            sd: f64,
        }
        for case in fixture::<Case>(include_str!("../../tests/fixtures/metrics/stats.json")) {
            assert_close(mean(&case.values), Some(case.mean));
            assert_close(sample_sd(&case.values), Some(case.sd));
        }
    }
}
