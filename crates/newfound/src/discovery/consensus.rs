//! What several clusterings and the neighbours of an image say together.

use burn::tensor::{Tensor, TensorData};

use super::evidence::FineClustering;
use crate::geometry::normalise_rows;
use crate::pseudo_labels::nearest;

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

impl Consensus {
    /// The mean over all clusterings of what an image's cluster says, and then over the image and its neighbours, by cosine.
    ///
    /// `features` [N, ·]
    pub(super) fn of(
        clusterings: &[FineClustering],
        features: Tensor<2>,
        known: usize,
        neighbours: usize,
    ) -> Self {
        let (images, device) = (features.dims()[0], features.device());
        let mut novelty = vec![0.0; images];
        let mut votes = vec![0.0; images * known];
        let share = 1.0 / clusterings.len() as f64;
        for clustering in clusterings {
            for (image, &cluster) in clustering.labels.iter().enumerate() {
                let evidence = clustering.evidence[cluster];
                let new = evidence.novelty();
                novelty[image] += share * new;
                votes[image * known + evidence.class] += share * (1.0 - new);
            }
        }
        let step = images.div_ceil(MOST_VOTERS);
        let voters: Vec<usize> = (0..images).step_by(step).collect();
        let all: Vec<usize> = (0..images).collect();
        let unit = normalise_rows(features);
        let rows: Vec<i64> = voters.iter().map(|&image| image as i64).collect();
        let count = rows.len();
        let bank = unit.clone().select(
            0,
            Tensor::from_data(TensorData::new(rows, [count]), &device),
        );
        let k = neighbours.min(voters.len() - 1);
        let found: Vec<i64> = nearest(unit, &all, bank, &voters, k)
            .try_into_vec_as()
            .expect("the device gives its values back");
        let smooth = |values: &[f64], width: usize| -> Vec<f64> {
            let mut smoothed = values.to_vec();
            for (own, near) in smoothed.chunks_exact_mut(width).zip(found.chunks_exact(k)) {
                for &voter in near {
                    let other = &values[voters[voter as usize] * width..][..width];
                    own.iter_mut().zip(other).for_each(|(sum, x)| *sum += x);
                }
                own.iter_mut().for_each(|sum| *sum /= (k + 1) as f64);
            }
            smoothed
        };
        let votes = smooth(&votes, known);
        let first =
            |row: &[f64]| (1..known).fold(0, |best, c| if row[c] > row[best] { c } else { best });
        Self {
            novelty: smooth(&novelty, 1),
            known: votes.chunks_exact(known).map(first).collect(),
        }
    }
}
