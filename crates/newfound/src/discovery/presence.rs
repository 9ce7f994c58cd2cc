//! Do the known classes occur here at all?

use super::rows::{Rows, dot};
use crate::random::Stream;

/// How well the prototypes fit the images nearest to them, and how well they would by chance.
///
/// Only directions in the space that the prototypes span count: how much of the features lies in it depends on how long the model was
/// trained, not on the target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Alignment {
    /// Mean over the known classes of the cosine with the images nearest to each.
    pub real: f64,
    /// The same for prototypes that keep their angles among each other but are turned at random.
    pub by_chance: f64,
    /// C.
    pub known: usize,
}

/// Turns of the prototypes.
const TURNS: u64 = 30;

/// The images nearest to a prototype are a quarter of those that each known class would have if there were no others.
const NEAREST: usize = 4;

/// Images that are looked at; of more, every n-th one.
const MOST_IMAGES: usize = 16384;

impl Alignment {
    /// The strength below which a target of a model with so many known classes has none of them.
    ///
    /// The more classes, the less chance can do. In a study of 200 targets with ten or fewer known classes, all but one of those that have none of
    /// them had at most 1.52. With 15 to 28 classes (100 targets) they had at most 1.31, and all others at least 1.42. With six to nine, targets
    /// with known classes had 1.37 and more, and being wrong about one costs all of its known images.
    pub fn present(known: usize) -> f64 {
        match known {
            0..10 => 1.37,
            _ => 1.0 + 0.52 * (10.0 / known as f64).sqrt(),
        }
    }

    /// With fewer known classes, chance may do as well as this: a weak alignment is a reason to doubt, but no more.
    pub const ENOUGH: usize = 6;

    /// How many times nearer the prototypes are to images than chance would have it: (1 − by chance) / (1 − real).
    pub fn strength(&self) -> f64 {
        (1.0 - self.by_chance) / (1.0 - self.real).max(1e-9)
    }

    /// Whether it can be said that none of the known classes is here.
    pub fn absent(&self) -> bool {
        self.known >= Self::ENOUGH && self.strength() < Self::present(self.known)
    }
}

/// How well prototypes and images fit; none for fewer than four known classes, whose few angles prove nothing, or for classes
/// that are all the same.
pub(super) fn alignment(features: &Rows, prototypes: &Rows, seed: u64) -> Option<Alignment> {
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
    let step = features.len().div_ceil(MOST_IMAGES);
    let some = Rows {
        values: features.iter().step_by(step).flatten().copied().collect(),
        width: features.width,
    };
    let images = inside(&some).unit();
    let turns = (0..TURNS).map(|turn| {
        let mut draws = Stream::new(seed, "turned prototypes", &[turn]);
        fit(&images, &turned(&own, &mut draws))
    });
    Some(Alignment {
        real: fit(&images, &own),
        by_chance: turns.sum::<f64>() / TURNS as f64,
        known,
    })
}

/// Mean over the prototypes of the similarity with the images nearest to each.
fn fit(images: &Rows, prototypes: &Rows) -> f64 {
    let count = images.len();
    let nearest = (count / (NEAREST * prototypes.len())).clamp(3, count);
    let of_prototype = |prototype: &[f64]| {
        let mut all: Vec<f64> = images.iter().map(|image| dot(image, prototype)).collect();
        all.select_nth_unstable_by(nearest - 1, |a, b| b.total_cmp(a));
        all[..nearest].iter().sum::<f64>() / nearest as f64
    };
    prototypes.iter().map(of_prototype).sum::<f64>() / prototypes.len() as f64
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

    impl Rows {
        fn repeated(&self, times: usize) -> Self {
            Self {
                values: self.values.repeat(times),
                width: self.width,
            }
        }
    }

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

    #[test]
    fn with_more_classes_chance_does_less() {
        assert!((Alignment::present(10) - 1.52).abs() < 1e-12);
        assert!((Alignment::present(40) - 1.26).abs() < 1e-12);
        assert!(Alignment::present(6) < Alignment::present(10));
    }

    #[test]
    fn images_of_the_known_classes_fit_better_than_chance() {
        let rows = prototypes();
        let present = alignment(&rows.repeated(20), &rows, 0).unwrap();
        assert!((present.real - 1.0).abs() < 1e-12);
        assert!(present.by_chance < 0.9 && present.strength() > Alignment::present(10));
        // The same images, turned: the prototypes fit them no better than chance.
        let elsewhere = turned(&rows, &mut Stream::new(9, "test", &[]));
        let absent = alignment(&elsewhere.repeated(20), &rows, 0).unwrap();
        assert!(absent.strength() < Alignment::present(6), "{absent:?}");
        // Five classes are too few to say so; with six it would be said.
        assert!(!absent.absent());
        let known = Alignment::ENOUGH;
        assert!(Alignment { known, ..absent }.absent());
        assert!(!Alignment { known, ..present }.absent());
        let two = Rows {
            values: vec![1.0; 6],
            width: 2,
        };
        assert!(alignment(&rows, &two, 0).is_none());
    }
}
