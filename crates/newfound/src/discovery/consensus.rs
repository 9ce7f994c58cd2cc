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

/// The nearest other images of each image, by cosine.
pub(super) struct Neighbourhoods {
    voters: Vec<usize>,
    nearest: Vec<i64>,
    k: usize,
}

impl Neighbourhoods {
    /// `features` [N, ·]
    pub fn of(features: Tensor<2>, neighbours: usize) -> Self {
        let (images, device) = (features.dims()[0], features.device());
        let step = images.div_ceil(MOST_VOTERS);
        let voters: Vec<usize> = (0..images).step_by(step).collect();
        let all: Vec<usize> = (0..images).collect();
        let unit = normalise_rows(features);
        let rows: Vec<i64> = voters.iter().map(|&image| image as i64).collect();
        let count = rows.len();
        let rows = Tensor::from_data(TensorData::new(rows, [count]), &device);
        let bank = unit.clone().select(0, rows);
        let k = neighbours.min(voters.len() - 1);
        let found = nearest(unit, &all, bank, &voters, k);
        Self {
            nearest: found
                .try_into_vec_as()
                .expect("the device gives its values back"),
            voters,
            k,
        }
    }

    /// Rows of `width` values, each averaged over the image and its neighbours.
    fn smooth(&self, values: &[f64], width: usize) -> Vec<f64> {
        let mut smoothed = values.to_vec();
        let near = self.nearest.chunks_exact(self.k);
        for (own, near) in smoothed.chunks_exact_mut(width).zip(near) {
            for &voter in near {
                let other = &values[self.voters[voter as usize] * width..][..width];
                own.iter_mut().zip(other).for_each(|(sum, x)| *sum += x);
            }
            own.iter_mut().for_each(|sum| *sum /= (self.k + 1) as f64);
        }
        smoothed
    }
}

impl Consensus {
    /// The mean over all clusterings of what an image's cluster says, and then over the image and its neighbours.
    pub(super) fn of(
        clusterings: &[FineClustering],
        neighbourhoods: &Neighbourhoods,
        known: usize,
        even: f64,
    ) -> Self {
        let images = clusterings[0].labels.len();
        let mut novelty = vec![0.0; images];
        let mut votes = vec![0.0; images * known];
        let share = 1.0 / clusterings.len() as f64;
        for clustering in clusterings {
            for (image, &cluster) in clustering.labels.iter().enumerate() {
                let evidence = clustering.evidence[cluster];
                let new = evidence.novelty(even);
                novelty[image] += share * new;
                votes[image * known + evidence.class] += share * (1.0 - new);
            }
        }
        let votes = neighbourhoods.smooth(&votes, known);
        let first =
            |row: &[f64]| (1..known).fold(0, |best, c| if row[c] > row[best] { c } else { best });
        Self {
            novelty: neighbourhoods.smooth(&novelty, 1),
            known: votes.chunks_exact(known).map(first).collect(),
        }
    }
}

/// Where the support of new and that of known images part: half-way between the means of two groups, by two-means.
///
/// Between 1 and 1.2. Below 1 it would call new images known that hang together loosely; with a model that draws everything
/// towards the classes it knows, new images have more support, and the line lies higher.
pub(super) fn even(clusterings: &[FineClustering], neighbourhoods: &Neighbourhoods) -> f64 {
    let images = clusterings[0].labels.len();
    let share = 1.0 / clusterings.len() as f64;
    let mut support = vec![0.0; images];
    for clustering in clusterings {
        for (sum, &cluster) in support.iter_mut().zip(&clustering.labels) {
            *sum += share * clustering.evidence[cluster].support();
        }
    }
    midway(&neighbourhoods.smooth(&support, 1)).clamp(1.0, 1.2)
}

/// Half-way between the means of two groups.
fn midway(values: &[f64]) -> f64 {
    let mut line = 1.0;
    for _ in 0..50 {
        let mean = |group: Vec<f64>| match group.len() {
            0 => None,
            count => Some(group.iter().sum::<f64>() / count as f64),
        };
        let (low, high): (Vec<f64>, Vec<f64>) = values.iter().partition(|&&value| value <= line);
        let (Some(low), Some(high)) = (mean(low), mean(high)) else {
            break;
        };
        line = 0.5 * (low + high);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_half_way_between_two_groups() {
        let values = [vec![0.6; 30], vec![0.8; 30], vec![1.4; 5]].concat();
        assert!((midway(&values) - 0.5 * (0.7 + 1.4)).abs() < 1e-12);
        assert_eq!(midway(&[1.3, 1.4]), 1.0);
    }
}
