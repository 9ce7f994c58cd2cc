//! A map of the target: every image a point, similar images close together.

use bhtsne::{Neighbor, tSNE};
use burn::tensor::Device;

use crate::adapt::matrix;
use crate::geometry::normalise_rows;
use crate::network::download;
use crate::pseudo_labels::nearest;
use crate::random::Stream;
use crate::weights::Array;

/// About how many neighbours an image has on the map; a third of those that are looked at.
const PERPLEXITY: f32 = 30.0;

/// Rounds of the layout.
const ROUNDS: usize = 750;

/// Accuracy of the forces between far points (Barnes-Hut θ): the usual value.
const THETA: f32 = 0.5;

/// Fewer points than this have no neighbourhoods to keep: they are laid on a circle.
const FEWEST: usize = 8;

/// Where each image lies: t-SNE (van der Maaten 2014) on the angle between features, within [0, 1]².
///
/// `before` is an earlier map of the same images, from which this one starts, so that what stayed together stays in
/// its place. The same features always give the same map: it is computed by a single thread, because sums that several
/// threads share depend on their number.
///
/// # Shapes
///
/// `features` [N, D] → N points
pub fn map(features: &Array, before: Option<&[[f32; 2]]>, device: &Device) -> Vec<[f32; 2]> {
    let count = features.shape[0];
    if count < FEWEST {
        return circle(count);
    }
    let perplexity = PERPLEXITY.min((count - 1) as f32 / 3.0);
    let table = neighbours(features, (3.0 * perplexity) as usize, device);
    let first = match before {
        Some(points) => shrunk(points),
        None => random_start(count),
    };
    let rows: Vec<usize> = (0..count).collect();
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let layout = || {
        tSNE::<f32, usize, 2>::new(&rows)
            .perplexity(perplexity)
            .epochs(ROUNDS)
            .initial_embedding(first)
            .barnes_hut_with_neighbors(THETA, &table)
            .embedding()
    };
    let flat = alone.expect("a thread can be started").install(layout);
    framed(flat.chunks_exact(2).map(|p| [p[0], p[1]]).collect())
}

/// The k nearest images of each, with the length of the chord between their unit-length features.
fn neighbours(features: &Array, k: usize, device: &Device) -> Vec<Vec<Neighbor<f32>>> {
    let [count, width] = [features.shape[0], features.shape[1]];
    let unit = normalise_rows(matrix(features, device));
    let images: Vec<usize> = (0..count).collect();
    let found = nearest(unit.clone(), &images, unit.clone(), &images, k);
    let found: Vec<i64> = found
        .try_into_vec_as()
        .expect("the device gives its values back");
    let values = download(unit);
    let row = |image: usize| &values[image * width..][..width];
    let chord = |a: usize, b: usize| {
        let squares = row(a).iter().zip(row(b)).map(|(x, y)| (x - y) * (x - y));
        squares.sum::<f32>().sqrt()
    };
    let of_image = |(image, found): (usize, &[i64])| {
        let near = found.iter().map(|&other| Neighbor {
            index: other as usize,
            distance: chord(image, other as usize),
        });
        near.collect()
    };
    found.chunks_exact(k).enumerate().map(of_image).collect()
}

/// Points close to the middle, as t-SNE wants them first.
fn random_start(count: usize) -> Vec<f32> {
    let mut draws = Stream::new(0, "map", &[]);
    let mut small = || (draws.unit() as f32 - 0.5) * 1e-3;
    (0..2 * count).map(|_| small()).collect()
}

/// An earlier map, as small as a first layout should be.
fn shrunk(points: &[[f32; 2]]) -> Vec<f32> {
    let about_middle = points.iter().flatten().map(|x| (x - 0.5) * 1e-3);
    about_middle.collect()
}

/// Moved and scaled into the unit square, with its proportions kept.
fn framed(points: Vec<[f32; 2]>) -> Vec<[f32; 2]> {
    let ends = |axis: usize| {
        let values = points.iter().map(|point| point[axis]);
        values.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), x| {
            (low.min(x), high.max(x))
        })
    };
    let ends = [ends(0), ends(1)];
    let size = ends.iter().map(|(low, high)| high - low);
    let size = size.fold(f32::MIN_POSITIVE, f32::max);
    let place = |x: f32, (low, high): (f32, f32)| 0.5 + (x - (low + high) / 2.0) / size;
    let framed = points
        .iter()
        .map(|p| [place(p[0], ends[0]), place(p[1], ends[1])]);
    framed.collect()
}

fn circle(count: usize) -> Vec<[f32; 2]> {
    let at = |index: usize| {
        let (sin, cos) = (std::f32::consts::TAU * index as f32 / count as f32).sin_cos();
        [0.5 + 0.4 * cos, 0.5 + 0.4 * sin]
    };
    (0..count).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three groups of features around three directions.
    fn groups(each: usize) -> Array {
        let mut draws = Stream::new(1, "test", &[]);
        let mut values = Vec::new();
        for image in 0..3 * each {
            for axis in 0..5 {
                let centre = if axis == image % 3 { 3.0 } else { 0.0 };
                values.push(centre + draws.unit() as f32 * 0.5);
            }
        }
        Array {
            shape: vec![3 * each, 5],
            values,
        }
    }

    fn between(a: [f32; 2], b: [f32; 2]) -> f32 {
        (a[0] - b[0]).hypot(a[1] - b[1])
    }

    #[test]
    fn similar_images_lie_together() {
        let device = Device::flex();
        let features = groups(30);
        let points = map(&features, None, &device);
        assert!(points.iter().flatten().all(|x| (0.0..=1.0).contains(x)));
        for (image, &point) in points.iter().enumerate() {
            let others = (0..points.len()).filter(|&other| other != image);
            let nearest = others
                .min_by(|&a, &b| between(point, points[a]).total_cmp(&between(point, points[b])));
            assert_eq!(nearest.unwrap() % 3, image % 3, "image {image}");
        }
        assert_eq!(points, map(&features, None, &device), "the same again");
    }

    #[test]
    fn a_map_that_starts_from_another_keeps_its_places() {
        let device = Device::flex();
        let features = groups(30);
        let before = map(&features, None, &device);
        let after = map(&features, Some(&before), &device);
        let moved = before.iter().zip(&after).map(|(&a, &b)| between(a, b));
        let mean = moved.sum::<f32>() / before.len() as f32;
        assert!(mean < 0.2, "points moved by {mean} of the map");
    }

    #[test]
    fn few_and_equal_images() {
        let device = Device::flex();
        let equal = |count: usize| Array {
            shape: vec![count, 2],
            values: vec![1.0; 2 * count],
        };
        for count in [0, 1, 3, 8, 40] {
            let points = map(&equal(count), None, &device);
            assert_eq!(points.len(), count);
            assert!(points.iter().flatten().all(|x| x.is_finite()), "{count}");
        }
    }
}
