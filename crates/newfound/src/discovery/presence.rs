//! Do the known classes occur here at all?

use super::evidence::FineClustering;
use super::rows::{Rows, dot};
use crate::random::Stream;

/// How well the prototypes fit the clusters, and how well they would by chance.
///
/// Only directions in the space that the prototypes span count: how much of the features lies in it depends on how long the model was
/// trained, not on the target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Alignment {
    /// Mean over the known classes of the largest cosine with a cluster.
    pub real: f64,
    /// The same for prototypes that keep their angles among each other but are turned at random.
    pub by_chance: f64,
}

/// Turns of the prototypes for each clustering.
const TURNS: u64 = 10;

impl Alignment {
    /// Below this, a target has none of the known classes.
    ///
    /// In the study, nine in ten targets without a known class had less than 1.47, and all but one in fifty of the others more than 1.75.
    pub const PRESENT: f64 = 1.6;

    /// How many times nearer the prototypes are to clusters than chance would have it: (1 − by chance) / (1 − real).
    pub fn strength(&self) -> f64 {
        (1.0 - self.by_chance) / (1.0 - self.real).max(1e-9)
    }

    /// Whether the known classes are here.
    pub fn present(&self) -> bool {
        self.strength() >= Self::PRESENT
    }
}

/// How well prototypes and clusters fit; none for fewer than four known classes, whose few angles prove nothing, or for classes
/// that are all the same.
pub(super) fn alignment(
    clusterings: &[FineClustering],
    prototypes: &Rows,
    seed: u64,
) -> Option<Alignment> {
    let known = prototypes.len();
    if known < 4 {
        return None;
    }
    let basis = orthonormal(prototypes);
    if basis.values.is_empty() {
        return None;
    }
    let inside = |rows: &Rows| Rows {
        values: rows
            .iter()
            .flat_map(|row| basis.iter().map(move |axis| dot(row, axis)))
            .collect(),
        width: basis.len(),
    };
    let own = inside(prototypes).unit();
    let (mut real, mut by_chance) = (0.0, 0.0);
    for (index, clustering) in clusterings.iter().enumerate() {
        let means = inside(&clustering.means).unit();
        real += fit(&means, &own);
        for turn in 0..TURNS {
            let mut draws = Stream::new(seed, "turned prototypes", &[index as u64, turn]);
            by_chance += fit(&means, &turned(&own, &mut draws));
        }
    }
    Some(Alignment {
        real: real / clusterings.len() as f64,
        by_chance: by_chance / (clusterings.len() as f64 * TURNS as f64),
    })
}

/// Mean over the prototypes of the largest similarity with a cluster.
fn fit(means: &Rows, prototypes: &Rows) -> f64 {
    let best = |prototype: &[f64]| {
        means
            .iter()
            .map(|mean| dot(mean, prototype))
            .fold(f64::NEG_INFINITY, f64::max)
    };
    prototypes.iter().map(best).sum::<f64>() / prototypes.len() as f64
}

/// The rows turned by a random rotation: the image of each axis is a random direction at right angles to the others'.
fn turned(rows: &Rows, draws: &mut Stream) -> Rows {
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

    fn clustering(means: Rows) -> FineClustering {
        FineClustering {
            labels: vec![],
            evidence: vec![],
            means,
        }
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

    #[test]
    fn clusters_of_the_known_classes_fit_better_than_chance() {
        let rows = prototypes();
        let present = alignment(&[clustering(rows.clone())], &rows, 0).unwrap();
        assert!((present.real - 1.0).abs() < 1e-12);
        assert!(present.by_chance < 0.9 && present.present());
        // The same clusters, turned: the prototypes fit them no better than chance.
        let elsewhere = turned(&rows, &mut Stream::new(9, "test", &[]));
        let absent = alignment(&[clustering(elsewhere)], &rows, 0).unwrap();
        assert!(!absent.present(), "{absent:?}");
        assert!(
            alignment(
                &[],
                &Rows {
                    values: vec![1.0; 6],
                    width: 2
                },
                0
            )
            .is_none()
        );
    }
}
