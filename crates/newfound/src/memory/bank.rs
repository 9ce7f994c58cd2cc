//! The bank B of features and probabilities. Section III-C of the paper.

use burn::tensor::{IndexingUpdateOp, Int, Tensor, TensorData};

use crate::geometry::normalise_rows;
use crate::random::Stream;

/// M rows, each of one image: its latest feature (unit length) and class probabilities, as the momentum
/// model saw them on a weak view.
#[derive(Debug, Clone)]
pub struct Bank {
    /// The image of each row, ascending.
    pub images: Vec<usize>,
    /// Unit-length features: [M, D].
    pub features: Tensor<2>,
    /// Probabilities p': [M, K].
    pub probabilities: Tensor<2>,
}

impl Bank {
    /// The images a bank of at most `limit` rows holds: all of them, or a random subset.
    pub fn choose(images: usize, limit: usize, draws: &mut Stream) -> Vec<usize> {
        if images <= limit {
            return (0..images).collect();
        }
        let mut chosen = draws.permutation(images);
        chosen.truncate(limit);
        chosen.sort_unstable();
        chosen
    }

    /// A bank of these images; `features` and `probabilities` have one row for each *image of the target*.
    pub fn new(images: Vec<usize>, features: Tensor<2>, probabilities: Tensor<2>) -> Self {
        let rows = indices(images.iter().copied(), &features);
        Self {
            images,
            features: normalise_rows(features.select(0, rows.clone())),
            probabilities: probabilities.select(0, rows),
        }
    }

    /// Replaces the rows of a batch's images; images that have no row are passed over.
    ///
    /// # Shapes
    ///
    /// `features` [B, D] of any length, `probabilities` [B, K]
    pub fn write(&mut self, images: &[usize], features: Tensor<2>, probabilities: Tensor<2>) {
        let found: Vec<(usize, usize)> = images
            .iter()
            .enumerate()
            .filter_map(|(b, image)| Some((b, self.images.binary_search(image).ok()?)))
            .collect();
        if found.is_empty() {
            return;
        }
        let from = indices(found.iter().map(|&(b, _)| b), &features);
        let rows = indices(found.iter().map(|&(_, row)| row), &features);
        let features = normalise_rows(features).select(0, from.clone());
        let probabilities = probabilities.select(0, from);
        let assign = IndexingUpdateOp::Assign;
        self.features
            .inplace(|bank| bank.select_assign(0, rows.clone(), features, assign));
        self.probabilities
            .inplace(|bank| bank.select_assign(0, rows, probabilities, assign));
    }
}

/// Row numbers as a tensor on the device of `like`.
pub(super) fn indices(rows: impl Iterator<Item = usize>, like: &Tensor<2>) -> Tensor<1, Int> {
    let rows: Vec<i64> = rows.map(|row| row as i64).collect();
    let count = rows.len();
    Tensor::from_data(TensorData::new(rows, [count]), &like.device())
}
