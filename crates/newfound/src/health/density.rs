//! Do images that are told apart lie apart? Saito et al., "Tune it the right way: unsupervised validation of domain adaptation via
//! soft neighborhood density", ICCV 2021.

use burn::tensor::activation::softmax;
use burn::tensor::{Device, Tensor, TensorData};

use crate::geometry::normalise_rows;
use crate::network::upload;
use crate::weights::Array;

/// The temperature of the neighbourhoods, the paper's.
const TEMPERATURE: f64 = 0.05;

/// Images that are compared with each other; of more, every n-th one.
const MOST_IMAGES: usize = 8192;

/// Images whose neighbours are looked at together.
const CHUNK: usize = 1024;

/// In how large a neighbourhood an image lies: the mean over the images of the entropy of the softmax over their similarities with all others.
///
/// ```text
/// S_ij = cos(p_i, p_j),   q_i = softmax_{j ≠ i}(S_ij / 0.05),   SND = − 1/N Σ_i Σ_j q_ij log q_ij
/// ```
///
/// Where every image is surely in one of the classes, its neighbourhood is its class; where the predictions are scattered, it is smaller.
/// The largest value, log (N − 1), is that of a collapse. None for fewer than two images.
///
/// # Shapes
///
/// `probabilities` [N, K]
pub fn neighbourhood_density(probabilities: &Array, device: &Device) -> Option<f64> {
    let [images, classes] = [probabilities.shape[0], probabilities.shape[1]];
    let step = images.div_ceil(MOST_IMAGES).max(1);
    let rows = probabilities.values.chunks_exact(classes).step_by(step);
    let some: Vec<f32> = rows.flatten().copied().collect();
    let count = some.len() / classes;
    if count < 2 {
        return None;
    }
    let unit = normalise_rows(upload(some, device).reshape([count, classes]));
    let mut sum = 0.0;
    for first in (0..count).step_by(CHUNK) {
        let chunk = first..(first + CHUNK).min(count);
        let similarities = unit.clone().slice([chunk.clone()]);
        let similarities = similarities.matmul(unit.clone().transpose()); // [B, N]
        let near = softmax(similarities / TEMPERATURE - itself(chunk, count, device), 1);
        let entropies = (near.clone() * (near + 1e-30).log()).sum().neg();
        sum += f64::from(entropies.into_scalar::<f32>());
    }
    Some(sum / count as f64)
}

/// Large where a row meets its own column: [B, N].
fn itself(rows: std::ops::Range<usize>, columns: usize, device: &Device) -> Tensor<2> {
    let mut values = vec![0.0f32; rows.len() * columns];
    for (place, row) in rows.clone().enumerate() {
        values[place * columns + row] = 1e4;
    }
    Tensor::from_data(TensorData::new(values, [rows.len(), columns]), device)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::place;

    fn density(rows: &[[f32; 3]]) -> Option<f64> {
        let device = place("cpu").unwrap().device;
        let values = rows.concat();
        let shape = vec![rows.len(), 3];
        neighbourhood_density(&Array { shape, values }, &device)
    }

    #[test]
    fn the_neighbourhood_of_a_sure_image_is_its_class() {
        // Three classes of four, five and six images: three, four and five others, 20 times nearer (e^20) than the rest.
        let sizes = [4usize, 5, 6];
        let one_hot = |class: usize| {
            let mut row = [0.0; 3];
            row[class] = 1.0;
            row
        };
        let rows: Vec<[f32; 3]> = (0..3).flat_map(|c| vec![one_hot(c); sizes[c]]).collect();
        let expected: f64 = sizes
            .iter()
            .map(|&n| n as f64 * ((n - 1) as f64).ln())
            .sum();
        assert!((density(&rows).unwrap() - expected / 15.0).abs() < 1e-4);
    }

    #[test]
    fn a_collapse_has_the_largest_and_scattered_predictions_a_small_one() {
        let collapsed = density(&[[0.8, 0.1, 0.1]; 50]).unwrap();
        assert!((collapsed - 49f64.ln()).abs() < 1e-4);
        let scattered: Vec<[f32; 3]> = (0..50)
            .map(|i| {
                let angle = i as f32 / 50.0;
                [angle, 1.0 - angle, (0.3 * i as f32).sin().abs()]
            })
            .collect();
        assert!(density(&scattered).unwrap() < collapsed - 0.5);
        assert_eq!(density(&[[1.0, 0.0, 0.0]]), None);
    }
}
