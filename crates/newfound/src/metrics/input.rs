//! What an evaluation is given: the classes, and per image the truth and the prediction.

/// The classes of an evaluation: those the model knows, those it does not, and how many it
/// proposes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classes {
    /// Names of the C known classes, in the order of the classifier's outputs.
    pub known: Vec<String>,
    /// Names of the truly private classes, as the labels have them. Their number need not be P.
    pub private: Vec<String>,
    /// P: the private classes the model proposes, its outputs C … C + P − 1.
    pub proposed: usize,
}

/// The true class of one image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truth {
    /// A known class: an index into [`Classes::known`].
    Known(usize),
    /// A private class: an index into [`Classes::private`]. Not comparable with a predicted index,
    /// because the model's private classes are in an order of their own.
    Private(usize),
}

/// What the model says about one image.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// The predicted output: 0 … C − 1 is a known class, C … C + P − 1 is `unknown-1` …
    /// `unknown-P`.
    pub label: usize,
    /// How unknown the image looks: larger is more unknown. Any scale, but not NaN.
    pub unknown: f64,
    /// The best of the known classes, whatever `label` is. OSCR needs it: if it is absent for any
    /// image, OSCR is absent too.
    pub best_known: Option<BestKnown>,
}

/// The most probable class among the known ones alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BestKnown {
    /// Its index, 0 … C − 1.
    pub class: usize,
    /// Its score, larger is surer. Any scale, but not NaN.
    pub score: f64,
}

impl Prediction {
    /// Reads a row of K = C + P class probabilities, of which the first `known` are the known
    /// classes.
    ///
    /// The label is the arg max over K (of equals, the lowest), the unknown score is the
    /// probability mass of all private classes, and the best known class is the arg max over the
    /// first C.
    ///
    /// # Panics
    /// If the row is empty or shorter than `known`.
    pub fn from_probabilities(probabilities: &[f32], known: usize) -> Self {
        assert!(
            !probabilities.is_empty(),
            "an image has at least one class probability"
        );
        let (shared, private) = probabilities.split_at(known);
        Self {
            label: arg_max(probabilities),
            unknown: private.iter().map(|&p| f64::from(p)).sum(),
            best_known: (known > 0).then(|| {
                let class = arg_max(shared);
                BestKnown {
                    class,
                    score: f64::from(shared[class]),
                }
            }),
        }
    }
}

/// The index of the largest value; of equals, the lowest.
fn arg_max(values: &[f32]) -> usize {
    (1..values.len()).fold(0, |best, i| if values[i] > values[best] { i } else { best })
}

/// Why an evaluation is refused: the labels and the predictions do not fit together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetricsError {
    /// Not one prediction per label.
    #[error("there are {truths} labels but {predictions} predictions")]
    Length {
        /// The number of labels.
        truths: usize,
        /// The number of predictions.
        predictions: usize,
    },
    /// An index beyond its list of classes.
    #[error("image {image}: {what} has index {index}, but there are only {count} (from 0 on)")]
    Class {
        /// Which image, counted from 0.
        image: usize,
        /// Which of its indices.
        what: &'static str,
        /// The index.
        index: usize,
        /// The length of the list it points into.
        count: usize,
    },
    /// A score that cannot be ranked.
    #[error("image {image}: the {what} is not a number")]
    NotANumber {
        /// Which image, counted from 0.
        image: usize,
        /// Which of its scores.
        what: &'static str,
    },
}

/// Refuses what could only be counted wrongly.
pub(super) fn check(
    classes: &Classes,
    truth: &[Truth],
    predictions: &[Prediction],
) -> Result<(), MetricsError> {
    if truth.len() != predictions.len() {
        let (truths, predictions) = (truth.len(), predictions.len());
        return Err(MetricsError::Length {
            truths,
            predictions,
        });
    }
    let (known, private) = (classes.known.len(), classes.private.len());
    for (image, (truth, prediction)) in truth.iter().zip(predictions).enumerate() {
        let within = |what, index, count| {
            let error = MetricsError::Class {
                image,
                what,
                index,
                count,
            };
            if index < count { Ok(()) } else { Err(error) }
        };
        let a_number = |what, score: f64| {
            if score.is_nan() {
                Err(MetricsError::NotANumber { image, what })
            } else {
                Ok(())
            }
        };
        match *truth {
            Truth::Known(class) => within("its known class", class, known)?,
            Truth::Private(class) => within("its private class", class, private)?,
        }
        within(
            "the predicted class",
            prediction.label,
            known + classes.proposed,
        )?;
        a_number("unknown score", prediction.unknown)?;
        if let Some(best) = prediction.best_known {
            within("the best known class", best.class, known)?;
            a_number("score of the best known class", best.score)?;
        }
    }
    Ok(())
}
