//! A target in clusters, however many images it has.

use burn::tensor::{Tensor, TensorData};

use crate::clustering::{KMeans, KMeansOptions, assign, k_means};

/// Images that clusters are made of; of more, every n-th one, and the others go to the nearest.
const MOST_IMAGES: usize = 16384;

/// The cluster of each row, by cosine.
///
/// From one start: clusterings are averaged over, so none need be the best of many.
///
/// # Shapes
///
/// `rows` [N, ·]
pub(super) fn divide(rows: &Tensor<2>, clusters: usize, seed: u64) -> Vec<usize> {
    let options = KMeansOptions {
        geometry: KMeans::Spherical,
        clusters,
        restarts: 1,
        rounds: 100,
    };
    let found = k_means(sample(rows, MOST_IMAGES), &options, seed);
    match found.labels.len() == rows.dims()[0] {
        true => found.labels,
        false => assign(rows, &found.centroids).0,
    }
}

/// Every n-th row, so that there are at most so many.
pub(super) fn sample(rows: &Tensor<2>, most: usize) -> Tensor<2> {
    let count = rows.dims()[0];
    let step = count.div_ceil(most);
    if step < 2 {
        return rows.clone();
    }
    let chosen: Vec<i64> = (0..count as i64).step_by(step).collect();
    let length = chosen.len();
    let chosen = Tensor::from_data(TensorData::new(chosen, [length]), &rows.device());
    rows.clone().select(0, chosen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::place;
    use crate::network::upload;

    #[test]
    fn of_very_many_images_all_have_a_cluster() {
        let device = place("cpu").unwrap().device;
        let count = MOST_IMAGES + 5;
        // One direction for the first 100 images, another for all others.
        let row = |i: usize| if i < 100 { [1.0, 0.0] } else { [0.0, 1.0] };
        let values: Vec<f32> = (0..count).flat_map(row).collect();
        let rows = upload(values, &device).reshape([count, 2]);
        assert_eq!(sample(&rows, MOST_IMAGES).dims(), [count.div_ceil(2), 2]);
        let labels = divide(&rows, 2, 0);
        assert_eq!(labels.len(), count);
        assert!((0..count).all(|i| (labels[i] == labels[0]) == (i < 100)));
    }
}
