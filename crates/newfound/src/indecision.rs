//! Which images a model is undecided about: new ones, as far as a model that knows of no new classes can tell. What there is without any adaptation.

use crate::weights::Array;

/// H(p) / log C: the entropy as a share of the largest possible one.
pub fn entropy_share(probabilities: &[f32]) -> f64 {
    let known = probabilities.len();
    let entropy: f64 = probabilities
        .iter()
        .map(|&p| f64::from(p))
        .filter(|&p| p > 0.0)
        .map(|p| -p * p.ln())
        .sum();
    if known > 1 {
        (entropy / (known as f64).ln()).clamp(0.0, 1.0)
    } else {
        0.0
    }
}

/// The two groups into which the entropies of a target divide.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Groups {
    /// Mean of the images about which the model is decided.
    pub decided: f64,
    /// Mean of the others.
    pub undecided: f64,
}

impl Groups {
    /// The best two clusters, the rule of SHOT (Liang et al. 2020). A fixed threshold would judge how sure of itself a source model was trained to be.
    ///
    /// Entropies that are all the same divide nowhere: nothing lies above the threshold then.
    pub fn of(mut shares: Vec<f64>) -> Self {
        shares.sort_by(f64::total_cmp);
        let total: f64 = shares.iter().sum();
        let count = shares.len();
        let all = shares.last().copied().unwrap_or(1.0);
        let same = Self {
            decided: all,
            undecided: all,
        };
        let mut best = (f64::INFINITY, same);
        let mut below = 0.0;
        for low in 1..count {
            below += shares[low - 1];
            let above = total - below;
            let high = count - low;
            if shares[low] <= shares[low - 1] {
                continue;
            }
            // What the clusters leave unexplained, up to the sum of squares that every division shares.
            let left = -below * below / low as f64 - above * above / high as f64;
            if left < best.0 {
                let groups = Self {
                    decided: below / low as f64,
                    undecided: above / high as f64,
                };
                best = (left, groups);
            }
        }
        best.1
    }

    /// Half-way between them: what lies above is unknown.
    pub fn threshold(&self) -> f64 {
        (self.decided + self.undecided) / 2.0
    }

    /// One half at the threshold; at the means as if one image in twenty were of the other group. It goes on rising beyond them, so that entropies rank images.
    fn novelty(&self, share: f64) -> f64 {
        let apart = self.undecided - self.decided;
        match apart > 0.0 {
            true => {
                let beyond = (share - self.threshold()) / apart;
                1.0 / (1.0 + (-2.0 * 19f64.ln() * beyond).exp())
            }
            false => 0.0,
        }
    }
}

/// How much speaks for the class of each image being new, by what the source model says of it: N.
///
/// # Shapes
///
/// `probabilities` [N, C]
pub fn novelty(probabilities: &Array) -> Vec<f32> {
    let rows = probabilities.values.chunks_exact(probabilities.shape[1]);
    let shares: Vec<f64> = rows.map(entropy_share).collect();
    let groups = Groups::of(shares.clone());
    let novelty = |share| groups.novelty(share) as f32;
    shares.into_iter().map(novelty).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threshold(shares: &[f64]) -> f64 {
        Groups::of(shares.to_vec()).threshold()
    }

    #[test]
    fn entropies_divide_between_their_two_groups() {
        // Means 0.1 and 0.8 (by hand); the order does not matter.
        let found = threshold(&[0.9, 0.0, 0.1, 0.7, 0.2, 0.8]);
        assert!((found - 0.45).abs() < 1e-12, "{found}");
        // Nothing is unknown where all are alike, and an image or none divides nothing.
        assert_eq!(threshold(&[0.3; 5]), 0.3);
        assert_eq!(threshold(&[0.3]), 0.3);
        assert_eq!(threshold(&[]), 1.0);
    }

    #[test]
    fn a_sure_model_is_judged_by_its_own_measure() {
        // A model ten times as sure: the same images are unknown.
        let found = threshold(&[0.0, 0.01, 0.07, 0.08]);
        assert!(found > 0.01 && found < 0.07);
    }

    #[test]
    fn an_image_on_the_threshold_is_as_likely_new_as_known() {
        let groups = Groups::of(vec![0.0, 0.2, 0.7, 0.9]);
        let found = [0.1, 0.45, 0.8].map(|share| groups.novelty(share));
        assert!(groups.novelty(0.0) < found[0] && groups.novelty(0.9) > found[2]);
        let wanted = [0.05, 0.5, 0.95];
        let close = |(a, b): (f64, f64)| (a - b).abs() < 1e-12;
        assert!(found.into_iter().zip(wanted).all(close), "{found:?}");
    }

    #[test]
    fn what_a_model_is_undecided_about_is_new() {
        let table = |values: Vec<f32>| Array {
            shape: vec![values.len() / 2, 2],
            values,
        };
        let sure = vec![1.0, 0.0, 0.0, 1.0, 0.5, 0.5];
        let found = novelty(&table(sure));
        let wanted = [0.05, 0.05, 0.95];
        assert!(
            found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-6),
            "{found:?}"
        );
        // A model that is undecided about all alike cannot tell.
        assert_eq!(novelty(&table(vec![0.5; 6])), [0.0; 3]);
    }
}
