//! Prototypes that know nothing of the images: the model's own, with all their angles among each other, turned at random.

use super::rows::{Rows, dot};
use crate::random::Stream;

/// The space that prototypes span. Only directions in it count: how much of the features lies in it depends on how long the model was trained, not on
/// the target.
pub(super) struct Span {
    axes: Rows,
}

impl Span {
    /// None if they span nothing, as classes that are all the same.
    pub fn of(prototypes: &Rows) -> Option<Self> {
        let axes = orthonormal(prototypes);
        (!axes.values.is_empty()).then_some(Self { axes })
    }

    /// What of each row lies in it, by its axes.
    pub fn inside(&self, rows: &Rows) -> Rows {
        let along = |row| self.axes.iter().map(move |axis| dot(row, axis));
        Rows {
            values: rows.iter().flat_map(along).collect(),
            width: self.axes.len(),
        }
    }
}

/// The rows turned so many times, each time by another random rotation.
///
/// They are the same for every look and every run, so that what is found depends on the images.
pub(super) fn turns(rows: &Rows, count: usize) -> impl Iterator<Item = Rows> {
    (0..count as u64).map(|turn| turned(rows, &mut Stream::new(0, "turned prototypes", &[turn])))
}

/// The rows turned by a random rotation: the image of each axis is a random direction at right angles to the others'.
pub(super) fn turned(rows: &Rows, draws: &mut Stream) -> Rows {
    let width = rows.width;
    let axes = orthonormal(&Rows {
        values: (0..width * width).map(|_| draws.normal()).collect(),
        width,
    });
    let turn = |row: &[f64]| -> Vec<f64> {
        let mut sum = vec![0.0; width];
        for (x, axis) in row.iter().zip(axes.iter()) {
            sum.iter_mut().zip(axis).for_each(|(sum, a)| *sum += x * a);
        }
        sum
    };
    Rows {
        values: rows.iter().flat_map(turn).collect(),
        width,
    }
}

/// What is left of a row of unit length after taking out the others' directions, below which it is counted as one of their sums.
const DEPENDENT: f64 = 1e-6;

/// Directions at right angles that span the rows: Gram and Schmidt's, twice for the sake of rounding.
fn orthonormal(rows: &Rows) -> Rows {
    let mut basis = Rows {
        values: Vec::new(),
        width: rows.width,
    };
    for row in rows.unit().iter() {
        let mut left = row.to_vec();
        for _ in 0..2 {
            for axis in basis.iter() {
                let along = dot(&left, axis);
                left.iter_mut().zip(axis).for_each(|(x, a)| *x -= along * a);
            }
        }
        let length = dot(&left, &left).sqrt();
        if length > DEPENDENT {
            basis.values.extend(left.iter().map(|x| x / length));
        }
    }
    basis
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Centred prototypes of five classes in eight dimensions.
    fn prototypes() -> Rows {
        let mut draws = Stream::new(3, "test", &[]);
        let values = (0..5 * 8).map(|_| draws.normal()).collect();
        Rows { values, width: 8 }.centred().unit()
    }

    #[test]
    fn the_basis_spans_what_centred_rows_span_and_no_more() {
        let rows = prototypes();
        let basis = orthonormal(&rows);
        assert_eq!(basis.len(), 4);
        for (i, a) in basis.iter().enumerate() {
            for (j, b) in basis.iter().enumerate() {
                assert!((dot(a, b) - f64::from(i == j)).abs() < 1e-12);
            }
        }
        for row in rows.iter() {
            let inside: f64 = basis.iter().map(|axis| dot(row, axis).powi(2)).sum();
            assert!((inside - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn a_turn_keeps_angles_and_lengths() {
        let rows = prototypes();
        let turned = turned(&rows, &mut Stream::new(0, "test", &[]));
        assert!(rows.row(0) != turned.row(0));
        for i in 0..5 {
            for j in 0..5 {
                let (before, after) = (
                    dot(rows.row(i), rows.row(j)),
                    dot(turned.row(i), turned.row(j)),
                );
                assert!((before - after).abs() < 1e-12);
            }
        }
    }
}
