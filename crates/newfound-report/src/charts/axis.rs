//! A vertical axis that ends on round numbers.

use crate::words;

/// About as many intervals between ticks; the round step decides how many exactly.
const INTERVALS: f64 = 4.0;

/// A range of values with ticks at round numbers: `low`, `low + step`, …, `high`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Axis {
    low: f64,
    step: f64,
    intervals: u32,
    unit: Unit,
}

/// What the ticks are labelled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Plain,
    Percent,
}

impl Axis {
    /// The whole range of a share, 0–1, labelled in percent.
    pub fn shares() -> Self {
        Self {
            low: 0.0,
            step: 0.5,
            intervals: 2,
            unit: Unit::Percent,
        }
    }

    /// Whole numbers from nought.
    pub fn counts<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let high = drawable(values).fold(1.0, f64::max);
        Self::rounded(0.0, high, round_step(high / INTERVALS).max(1.0))
    }

    /// The range of these values; values that cannot be drawn are passed over.
    ///
    /// If all are equal (or there is only one) there is no range, and the axis reaches a little to
    /// both sides instead.
    pub fn covering<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let ends = drawable(values).map(|value| (value, value));
        let (low, high) = ends
            .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
            .unwrap_or((0.0, 1.0));
        let size = low.abs().max(high.abs());
        // Differences in the last digits are noise of the arithmetic, not a course of anything.
        let (low, high) = if high - low > 1e-9 * size && high - low > 1e-12 {
            (low, high)
        } else {
            let reach = if size > 1e-9 { 0.1 * size } else { 1.0 };
            (low - reach, high + reach)
        };
        Self::rounded(low, high, round_step((high - low) / INTERVALS))
    }

    fn rounded(low: f64, high: f64, step: f64) -> Self {
        // A hair of slack: 0.3 / 0.1 is a little less than 3, and must not add an interval.
        let first = (low / step + 1e-9).floor();
        let last = (high / step - 1e-9).ceil();
        let intervals = (last - first).clamp(1.0, 100.0) as u32;
        Self {
            low: first * step,
            step,
            intervals,
            unit: Unit::Plain,
        }
    }

    /// Where a value lies: 0 at the low end, 1 at the high end; `None` for what cannot be drawn.
    pub fn position(&self, value: f64) -> Option<f64> {
        if !is_drawable(value) {
            return None;
        }
        let share = (value - self.low) / (self.step * f64::from(self.intervals));
        share.is_finite().then(|| share.clamp(0.0, 1.0))
    }

    /// The ticks from low to high: position and label.
    pub fn ticks(&self) -> impl Iterator<Item = (f64, String)> {
        (0..=self.intervals).map(|i| {
            let value = self.low + f64::from(i) * self.step;
            (f64::from(i) / f64::from(self.intervals), self.label(value))
        })
    }

    fn label(&self, value: f64) -> String {
        // As many decimals as the step needs.
        let decimals = (-self.step.log10().floor()).clamp(0.0, 9.0) as usize;
        match self.unit {
            Unit::Percent => words::percent(value),
            Unit::Plain if value.abs() >= 1e6 => format!("{value:.1e}"),
            Unit::Plain if decimals == 0 && value >= 0.0 => words::count(value as usize),
            Unit::Plain => words::decimal(value, decimals),
        }
    }
}

/// Numbers, and none so large that a sum or a difference might overflow.
fn is_drawable(value: f64) -> bool {
    value.abs() < 1e100
}

fn drawable(values: impl IntoIterator<Item = f64>) -> impl Iterator<Item = f64> {
    values.into_iter().filter(|&value| is_drawable(value))
}

/// The least of …, 0.1, 0.2, 0.5, 1, 2, 5, 10, … that is not below `rough`.
fn round_step(rough: f64) -> f64 {
    let power = 10f64.powf(rough.log10().floor());
    let digit = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|digit| digit * power >= rough * (1.0 - 1e-9));
    digit.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: Axis) -> Vec<String> {
        axis.ticks().map(|(_, label)| label).collect()
    }

    #[test]
    fn ends_are_round() {
        let covering = |low, high| labels(Axis::covering([low, high]));
        assert_eq!(
            covering(0.11, 0.29),
            ["0.10", "0.15", "0.20", "0.25", "0.30"]
        );
        assert_eq!(
            covering(-2.95, -2.61),
            ["−3.0", "−2.9", "−2.8", "−2.7", "−2.6"]
        );
        assert_eq!(covering(0.0, 0.3), ["0.0", "0.1", "0.2", "0.3"]);
        assert_eq!(
            labels(Axis::counts([120.0, 7.0])),
            ["0", "50", "100", "150"]
        );
        assert_eq!(labels(Axis::counts([2.0])), ["0", "1", "2"]);
        assert_eq!(
            labels(Axis::shares()),
            ["0\u{a0}%", "50\u{a0}%", "100\u{a0}%"]
        );
    }

    #[test]
    fn a_constant_lies_inside() {
        for value in [0.0, 1.0, -3.5, 1e-20, 7e5, 1e90, 0.1 + 0.2] {
            let position = Axis::covering([value; 4]).position(value).expect("finite");
            assert!((0.3..=0.7).contains(&position), "{value} at {position}");
        }
    }

    #[test]
    fn strange_values_give_a_usable_axis() {
        let cases: [&[f64]; 8] = [
            &[],
            &[f64::NAN],
            &[f64::INFINITY, f64::NEG_INFINITY],
            &[f64::MAX, f64::MIN],
            &[0.0, 1e-310],
            &[1.0, 1.0 + f64::EPSILON],
            &[-1e99, 1e99],
            &[1e6, 3e6],
        ];
        for values in cases {
            for axis in [
                Axis::covering(values.iter().copied()),
                Axis::counts(values.iter().copied()),
            ] {
                let ticks: Vec<_> = axis.ticks().collect();
                assert!((2..=10).contains(&ticks.len()), "{values:?}: {ticks:?}");
                for (position, label) in ticks {
                    assert!((0.0..=1.0).contains(&position), "{values:?}");
                    assert!(
                        label.chars().all(|c| !c.is_ascii_alphabetic() || c == 'e'),
                        "{label}"
                    );
                }
                assert_eq!(axis.position(f64::NAN), None);
                assert_eq!(axis.position(f64::MAX), None);
            }
        }
    }
}
