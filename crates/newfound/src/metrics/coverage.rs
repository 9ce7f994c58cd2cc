//! What is gained by leaving out the most doubtful images.

use serde::{Deserialize, Serialize};

use super::{Classes, MetricsError, Prediction, Truth, evaluate};

/// Shares of the images that are left out.
const ABSTAINED: [f64; 6] = [0.0, 0.05, 0.1, 0.2, 0.3, 0.5];

/// The figures of the images that are left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Coverage {
    /// Images left out, in percent.
    pub abstained: f64,
    /// Images left.
    pub images: usize,
    /// OS* of those.
    pub os_star: Option<f64>,
    /// UNK of those.
    pub unk: Option<f64>,
    /// HOS of those.
    pub hos: Option<f64>,
}

/// The figures when the most doubtful images are left out, more and more of them: the risk–coverage curve.
///
/// `doubts` are of any scale, larger is more doubtful; of equals, the earlier image stays.
pub fn coverage(
    classes: &Classes,
    truth: &[Truth],
    predictions: &[Prediction],
    doubts: &[f64],
) -> Result<Vec<Coverage>, MetricsError> {
    let order = from_sure_to_doubtful(doubts);
    ABSTAINED
        .into_iter()
        .map(|share| {
            let left = &order[..order.len() - abstained(share, order.len())];
            let truth: Vec<Truth> = left.iter().map(|&image| truth[image]).collect();
            let predictions: Vec<Prediction> = left.iter().map(|&i| predictions[i]).collect();
            let scores = evaluate(classes, &truth, &predictions)?;
            Ok(Coverage {
                abstained: 100.0 * share,
                images: left.len(),
                os_star: scores.os_star,
                unk: scores.unk,
                hos: scores.hos,
            })
        })
        .collect()
}

/// How many of `images` are left out.
pub fn abstained(share: f64, images: usize) -> usize {
    ((share * images as f64).round() as usize).min(images)
}

/// The images by doubt, the surest first.
pub fn from_sure_to_doubtful(doubts: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..doubts.len()).collect();
    order.sort_by(|&a, &b| doubts[a].total_cmp(&doubts[b]).then(a.cmp(&b)));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_rise_when_the_wrong_ones_are_the_doubtful_ones() {
        let classes = Classes {
            known: vec!["a".into()],
            private: vec!["x".into()],
            proposed: 1,
        };
        let predicted = |label| Prediction {
            label,
            unknown: label as f64,
            best_known: None,
        };
        // Ten known and ten new images; one of each is wrong, and doubtful.
        let truth = [[Truth::Known(0); 10], [Truth::Private(0); 10]].concat();
        let mut predictions = [[predicted(0); 10], [predicted(1); 10]].concat();
        let mut doubts = vec![0.1; 20];
        for wrong in [3, 15] {
            predictions[wrong].label = 1 - predictions[wrong].label;
            doubts[wrong] = 0.9;
        }
        let curve = coverage(&classes, &truth, &predictions, &doubts).unwrap();
        assert_eq!((curve[0].hos, curve[0].images), (Some(90.0), 20));
        // One of the two gone: nine of ten and ten of ten.
        assert_eq!(curve[1].images, 19);
        assert!(curve[1].hos.unwrap() > 90.0 && curve[1].hos.unwrap() < 100.0);
        assert_eq!((curve[2].hos, curve[2].images), (Some(100.0), 18));
    }
}
