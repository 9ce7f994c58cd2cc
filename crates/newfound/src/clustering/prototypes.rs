//! The extended classifier W_T = [W_S | W_P].

use serde::{Deserialize, Serialize};

use super::Match;
use crate::network::{Head, norm};
use crate::weights::Array;

/// Where the prototypes of the known classes start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SharedPrototypes {
    /// Where the source model has them: the paper.
    Source,
    /// Half-way between there and their matched centroid.
    Blend,
    /// At their matched centroid.
    Centroid,
}

/// The order in which clusters become classes: the matched one of each known class, then the others by size,
/// largest first (their order is free; this one makes `unknown-1` the biggest find).
pub fn ordered_centroids(matches: &[Match], sizes: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = matches.iter().map(|m| m.centroid).collect();
    let mut rest: Vec<usize> = (0..sizes.len()).filter(|k| !order.contains(k)).collect();
    rest.sort_by_key(|&k| (std::cmp::Reverse(sizes[k]), k));
    order.extend(rest);
    order
}

/// Adds one prototype for every private class.
///
/// **Sections III-A and III-B**
///
/// ```text
/// W_P[j] = mean ‖W_S‖ · c_j / ‖c_j‖,   b_P[j] = mean b_S
/// ```
///
/// The paper is silent on scale; raw centroids would put the private logits on another scale than the known ones.
/// Known prototypes keep their own norm and bias wherever they start ([`SharedPrototypes`]).
///
/// # Shapes
///
/// `source` with C rows, `centroids` [K, D] in the order of [`ordered_centroids`] → K rows
pub fn extend(source: &Head, centroids: &Array, shared: SharedPrototypes) -> Head {
    let known = source.outputs();
    let [outputs, features] = [centroids.shape[0], centroids.shape[1]];
    let centroid = |k: usize| unit(&centroids.values[k * features..][..features]);
    let mean_norm = mean((0..known).map(|c| f64::from(norm(source.row(c)))), known);
    let mean_bias = mean(source.bias.iter().map(|&b| f64::from(b)), known);
    let mut rows: Vec<f32> = Vec::with_capacity(outputs * features);
    for class in 0..outputs {
        let (direction, length) = if class >= known {
            (centroid(class), mean_norm)
        } else {
            let own = unit(source.row(class));
            let direction = match shared {
                SharedPrototypes::Source => own,
                SharedPrototypes::Centroid => centroid(class),
                SharedPrototypes::Blend => {
                    let sum = own.iter().zip(centroid(class)).map(|(a, b)| a + b);
                    unit_f64(sum.collect())
                }
            };
            (direction, f64::from(norm(source.row(class))))
        };
        rows.extend(direction.iter().map(|x| (x * length) as f32));
    }
    let private = outputs - known;
    let bias = source
        .bias
        .iter()
        .copied()
        .chain(vec![mean_bias as f32; private])
        .collect();
    Head {
        prototypes: Array {
            shape: vec![outputs, features],
            values: rows,
        },
        bias,
    }
}

fn mean(values: impl Iterator<Item = f64>, count: usize) -> f64 {
    values.sum::<f64>() / count as f64
}

fn unit(row: &[f32]) -> Vec<f64> {
    unit_f64(row.iter().map(|&x| f64::from(x)).collect())
}

fn unit_f64(row: Vec<f64>) -> Vec<f64> {
    let length = row.iter().map(|x| x * x).sum::<f64>().sqrt();
    if length == 0.0 {
        row
    } else {
        row.into_iter().map(|x| x / length).collect()
    }
}
