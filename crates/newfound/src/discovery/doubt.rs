//! How sure is the model of these images?

use super::rows::{Rows, dot};
use super::turned::turns;

/// Turned prototypes in all, and the fewest and most turns of all prototypes: a mean over images needs few.
const TURNED: usize = 600;
const TURNS: [usize; 2] = [2, 24];

/// Images that are asked; of more, every n-th one.
pub(super) const MOST_IMAGES: usize = 4096;

/// No image is surer than this.
const LEAST: f64 = 1e-6;

/// How much doubt the prototypes leave beside turned ones: 1 for prototypes that know nothing of the images, near 0 where the model is sure of nearly all of them.
///
/// ```text
/// exp(mean over the images of ln(1 − max p) − ln(1 − max p′)),  p = softmax(W z),  p′ = softmax(W′ z),  W′ turned
/// ```
///
/// It asks images where the alignment asks classes: a model some of whose classes are missing is as sure of the images of the others as ever. As turned
/// prototypes are as long as the others, it hardly matters how sure of itself the model was trained to be.
///
/// Features are centred, so that a place that draws all images towards one class is no reason to be sure: a target most of whose images are of one class leaves more doubt.
/// So do logits near zero and logits so large that every model is sure, both of which leave 1; it takes a bad alignment as well to say that a model knows nothing.
///
/// # Shapes
///
/// `features` [N, ·] and `prototypes` [C, ·], centred, in the space of the prototypes
pub(super) fn doubt(features: &Rows, prototypes: &Rows) -> f64 {
    let count = TURNED.div_ceil(prototypes.len()).clamp(TURNS[0], TURNS[1]);
    let by_chance = turns(prototypes, count).map(|turned| logarithms(features, &turned));
    let by_chance = by_chance.sum::<f64>() / count as f64;
    (logarithms(features, prototypes) - by_chance).exp()
}

/// Mean of ln(1 − max p).
fn logarithms(features: &Rows, prototypes: &Rows) -> f64 {
    let of_image = |feature: &[f64]| {
        let logits = prototypes.iter().map(|prototype| dot(feature, prototype));
        let logits: Vec<f64> = logits.collect();
        let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // Of all but the largest.
        let others = logits.iter().map(|l| (l - largest).exp()).sum::<f64>() - 1.0;
        (others / (1.0 + others)).max(LEAST).ln()
    };
    features.iter().map(of_image).sum::<f64>() / features.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    const KNOWN: usize = 6;
    const WIDTH: usize = 5;

    fn prototypes() -> Rows {
        let mut draws = Stream::new(3, "test", &[]);
        let values = (0..KNOWN * WIDTH).map(|_| 2.0 * draws.normal());
        Rows {
            values: values.collect(),
            width: WIDTH,
        }
    }

    /// Twenty images of each of the first `here` of these directions.
    fn images(directions: &Rows, here: usize) -> Rows {
        let mut draws = Stream::new(4, "test", &[]);
        let some = directions.values[..here * WIDTH].repeat(20);
        let values = some.into_iter().map(|x| x + 0.5 * draws.normal());
        Rows {
            values: values.collect(),
            width: WIDTH,
        }
    }

    #[test]
    fn doubt_is_what_is_left_beside_the_largest_probability() {
        // Logits ln 3 and 0: probabilities 3/4 and 1/4. Then 0 and 0, and finally 100 and 0, surer than counts.
        let prototypes = Rows {
            values: vec![1.0, 0.0],
            width: 1,
        };
        let mean = |features: &[f64]| {
            let values = features.to_vec();
            logarithms(&Rows { values, width: 1 }, &prototypes)
        };
        assert!((mean(&[3f64.ln()]) - 0.25f64.ln()).abs() < 1e-12);
        assert!((mean(&[0.0, 3f64.ln()]) - 0.5 * (0.5f64.ln() + 0.25f64.ln())).abs() < 1e-12);
        assert_eq!(mean(&[100.0]), LEAST.ln());
    }

    #[test]
    fn a_model_some_of_whose_classes_are_here_doubts_less_than_one_without() {
        let known = prototypes();
        // As long, in all directions alike.
        let mut draws = Stream::new(9, "test", &[]);
        let values = (0..2000 * WIDTH).map(|_| 2.0 * draws.normal());
        let anything = Rows {
            values: values.collect(),
            width: WIDTH,
        };
        let all = doubt(&images(&known, KNOWN), &known);
        let two = doubt(&images(&known, 2), &known);
        let none = doubt(&anything, &known);
        assert!(all < 0.15 && two < 0.15, "{all} {two}");
        assert!((0.8..1.25).contains(&none), "{none}");
    }
}
