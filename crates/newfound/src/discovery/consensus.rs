//! What several clusterings and the neighbours of an image say together.

use std::rc::Rc;

use burn::tensor::Tensor;

use super::division::sample;
use super::evidence::FineClustering;
use crate::geometry::normalise_rows;
use crate::pseudo_labels::nearest;

/// What clusterings say of each image.
#[derive(Clone)]
pub(super) struct Opinion {
    /// How probable it is that its class is new: N.
    pub novelty: Vec<f64>,
    /// What speaks for each known class: [N, C].
    pub votes: Vec<f64>,
}

impl Opinion {
    /// To be added to.
    pub fn none(images: usize, known: usize) -> Self {
        Self {
            novelty: vec![0.0; images],
            votes: vec![0.0; images * known],
        }
    }

    /// That an image is of this known class as far as it is like it and of a new one otherwise, said by so much of all.
    pub fn add(&mut self, image: usize, class: usize, likeness: f64, share: f64) {
        let classes = self.votes.len() / self.novelty.len();
        self.votes[image * classes + class] += share * likeness;
        self.novelty[image] += share * (1.0 - likeness);
    }

    /// The mean over all fine clusterings of what an image's cluster says.
    pub fn of(clusterings: &[FineClustering], known: usize, even: f64) -> Self {
        let mut opinion = Self::none(clusterings[0].labels.len(), known);
        let share = 1.0 / clusterings.len() as f64;
        for clustering in clusterings {
            for (image, &cluster) in clustering.labels.iter().enumerate() {
                let evidence = clustering.evidence[cluster];
                let like = 1.0 - evidence.novelty(even);
                opinion.add(image, evidence.class, like, share);
            }
        }
        opinion
    }

    /// The same if each known class is here with such a probability: what is like one that is not here is new.
    pub fn given(mut self, presence: &[f64]) -> Self {
        let votes = self.votes.chunks_exact_mut(presence.len());
        for (votes, new) in votes.zip(&mut self.novelty) {
            for (vote, here) in votes.iter_mut().zip(presence) {
                *new += *vote * (1.0 - here);
                *vote *= here;
            }
        }
        self
    }

    /// With another opinion that has this share of the say.
    pub fn mixed(mut self, other: &Self, share: f64) -> Self {
        let mix = |own: &mut [f64], other: &[f64]| {
            let pairs = own.iter_mut().zip(other);
            pairs.for_each(|(own, other)| *own += share * (other - *own));
        };
        mix(&mut self.novelty, &other.novelty);
        mix(&mut self.votes, &other.votes);
        self
    }
}

/// Of each image.
#[derive(Debug, Clone, PartialEq)]
pub struct Consensus {
    /// How probable it is that its class is new.
    pub novelty: Vec<f64>,
    /// The known class it would be.
    pub known: Vec<usize>,
}

/// Images that are searched for neighbours; of more, every n-th one.
const MOST_VOTERS: usize = 16384;

/// The nearest other images of each image, by cosine.
#[derive(Clone)]
pub(super) struct Neighbourhoods {
    voters: Vec<usize>,
    /// `found` for each image, nearest first.
    nearest: Rc<Vec<i64>>,
    found: usize,
    /// How many of them count.
    k: usize,
    /// And how much each of them does, beside the image itself.
    say: f64,
}

/// Neighbours that are looked for.
const MOST_NEIGHBOURS: usize = 20;

impl Neighbourhoods {
    /// # Shapes
    ///
    /// `features` [N, ·]
    pub fn of(features: &Tensor<2>) -> Self {
        let images = features.dims()[0];
        let step = images.div_ceil(MOST_VOTERS);
        let voters: Vec<usize> = (0..images).step_by(step).collect();
        let all: Vec<usize> = (0..images).collect();
        let unit = normalise_rows(features.clone());
        let bank = sample(&unit, MOST_VOTERS);
        let found = MOST_NEIGHBOURS.min(voters.len() - 1);
        let nearest = nearest(unit, &all, bank, &voters, found)
            .try_into_vec_as()
            .expect("the device gives its values back");
        Self {
            voters,
            nearest: Rc::new(nearest),
            found,
            k: found,
            say: 1.0,
        }
    }

    /// As many neighbours as half of each of so many clusters has images, and 3 to 20 in any case: with more, the neighbours of an image in a small
    /// class are mostly of others.
    pub fn half_of(&self, clusters: f64) -> Self {
        let half = (self.voters.len() as f64 / (2.0 * clusters)) as usize;
        Self {
            k: half.max(3).min(self.found),
            ..self.clone()
        }
    }

    /// The `k` nearest.
    pub fn only(&self, k: usize) -> Self {
        Self {
            k: k.min(self.found),
            ..self.clone()
        }
    }

    /// The same with `k` neighbours, if there were fewer.
    pub fn at_least(&self, k: usize) -> Self {
        Self {
            k: self.k.max(k).min(self.found),
            ..self.clone()
        }
    }

    /// The same neighbours, each of whom counts as so much of the image itself.
    pub fn with_say(&self, say: f64) -> Self {
        Self {
            say,
            ..self.clone()
        }
    }

    /// Rows of `width` values, each averaged over the image and its neighbours.
    pub fn smooth(&self, values: &[f64], width: usize) -> Vec<f64> {
        let mut smoothed = values.to_vec();
        let near = self.nearest.chunks_exact(self.found);
        let all = 1.0 + self.say * self.k as f64;
        for (own, near) in smoothed.chunks_exact_mut(width).zip(near) {
            for &voter in &near[..self.k] {
                let other = &values[self.voters[voter as usize] * width..][..width];
                own.iter_mut()
                    .zip(other)
                    .for_each(|(sum, x)| *sum += self.say * x);
            }
            own.iter_mut().for_each(|sum| *sum /= all);
        }
        smoothed
    }
}

/// How much surer than the mean of many opinions one may be.
///
/// Opinions that differ in details push a mean towards the middle: without this, nine in ten images at 0.8 were new.
const SHARPNESS: f64 = 1.25;

impl Consensus {
    /// The mean of an opinion over each image and its neighbours.
    pub(super) fn of(opinion: &Opinion, neighbourhoods: &Neighbourhoods) -> Self {
        let known = opinion.votes.len() / opinion.novelty.len();
        let votes = neighbourhoods.smooth(&opinion.votes, known);
        let first =
            |row: &[f64]| (1..known).fold(0, |best, c| if row[c] > row[best] { c } else { best });
        Self {
            novelty: neighbourhoods.smooth(&opinion.novelty, 1),
            known: votes.chunks_exact(known).map(first).collect(),
        }
    }

    /// With probabilities farther from the middle; none crosses it.
    pub(super) fn sharpened(mut self) -> Self {
        for p in &mut self.novelty {
            let (new, known) = (p.powf(SHARPNESS), (1.0 - *p).max(0.0).powf(SHARPNESS));
            *p = new / (new + known);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_like_a_class_that_is_not_here_is_new() {
        let mut opinion = Opinion::none(2, 2);
        opinion.add(0, 1, 0.8, 1.0);
        opinion.add(1, 0, 0.6, 0.5);
        opinion.add(1, 1, 1.0, 0.5);
        let opinion = opinion.given(&[1.0, 0.25]);
        let all = [opinion.votes, opinion.novelty].concat();
        let wanted = [0.0, 0.2, 0.3, 0.125, 0.8, 0.575];
        assert_eq!(all.len(), wanted.len());
        for (found, wanted) in all.iter().zip(wanted) {
            assert!((found - wanted).abs() < 1e-12, "{all:?}");
        }
    }

    #[test]
    fn opinions_are_mixed_by_their_shares() {
        let opinion = |novelty: f64| Opinion {
            novelty: vec![novelty],
            votes: vec![1.0 - novelty, 0.0],
        };
        let mixed = opinion(0.5).mixed(&opinion(1.0), 0.2);
        assert!((mixed.novelty[0] - 0.6).abs() < 1e-12 && (mixed.votes[0] - 0.4).abs() < 1e-12);
    }

    #[test]
    fn neighbours_count_as_much_as_they_are_given_say() {
        // Of three images the first two are each other's nearest.
        let neighbourhoods = Neighbourhoods {
            voters: vec![0, 1, 2],
            nearest: Rc::new(vec![1, 2, 0, 2, 1, 0]),
            found: 2,
            k: 1,
            say: 1.0,
        };
        let values = [1.0, 0.0, 0.5];
        assert_eq!(neighbourhoods.smooth(&values, 1), [0.5, 0.5, 0.25]);
        let half = neighbourhoods.with_say(0.5).smooth(&values, 1);
        let close = |(a, b): (&f64, f64)| (a - b).abs() < 1e-12;
        assert!(
            half.iter()
                .zip([1.0 / 1.5, 0.5 / 1.5, 0.5 / 1.5])
                .all(close)
        );
        assert_eq!(neighbourhoods.with_say(0.0).smooth(&values, 1), values);
    }

    #[test]
    fn sharpening_keeps_the_sides_and_the_order() {
        let novelty = vec![0.0, 0.2, 0.499, 0.5, 0.501, 0.9, 1.0];
        let known = vec![0; novelty.len()];
        let sharp = Consensus { novelty, known }.sharpened().novelty;
        assert!(sharp.windows(2).all(|pair| pair[0] < pair[1]));
        assert!((sharp[3] - 0.5).abs() < 1e-12 && sharp[2] < 0.5 && sharp[4] > 0.5);
        // 1 / (1 + 4^1.25) = 1 / (1 + 4 √2)
        assert!((sharp[1] - 0.150_221).abs() < 1e-6, "{}", sharp[1]);
    }
}
