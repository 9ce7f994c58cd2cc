//! What a finished run says about its images and classes beyond the predictions: what a report shows.

use std::collections::BTreeMap;

use crate::adapt::matrix;
use crate::device::place;
use crate::error::Result;
use crate::geometry::normalise_rows;
use crate::initialise::arg_max;
use crate::map::map;
use crate::network::download;
use crate::pseudo_labels::nearest;
use crate::run::{Probabilities, RunFolder, take_matrix};
use crate::weights::{self, Array};

/// Neighbours of each image that are named.
pub const NEIGHBOURS: usize = 6;

/// All of it, images in the order of `predictions.csv`.
#[derive(Debug, Clone, PartialEq)]
pub struct Insight {
    /// One entry for each image.
    pub images: Vec<ImageInsight>,
    /// One entry for each class of the adapted model.
    pub classes: Vec<ClassInsight>,
}

/// About one image.
#[derive(Debug, Clone, PartialEq)]
pub struct ImageInsight {
    /// The most similar other images by the adapted features, nearest first.
    pub neighbours: Vec<usize>,
    /// Cosine of its features and the centre of its class.
    pub typicality: f32,
    /// How often its refined label changed in the last epochs.
    pub changes: usize,
    /// Its place on the map of the source model's features.
    pub before: [f32; 2],
    /// Its place on the map of the adapted model's features.
    pub after: [f32; 2],
}

/// About one class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClassInsight {
    /// Mean cosine of its images and their centre; none without images.
    pub consistency: Option<f32>,
    /// Mean simplified silhouette of its images: (b − a) / max(a, b), where a is the cosine distance to their own centre and b
    /// that to the nearest other one; none without images, or without another class.
    pub separation: Option<f32>,
    /// The known class whose centre is nearest, other than itself, and 1 − the cosine of both centres; none where either has
    /// no images.
    pub nearest_known: Option<(usize, f32)>,
}

impl Insight {
    /// Of a finished run with this many known classes. The maps are computed once and kept in the run.
    pub fn of(folder: &RunFolder, probabilities: &Probabilities, known: usize) -> Result<Self> {
        let device = place("cpu")?.device;
        let [count, width] = [0, 1].map(|axis| probabilities.features.shape[axis]);
        let outputs = probabilities.adapted.shape[1];
        let labels: Vec<usize> = probabilities
            .adapted
            .values
            .chunks_exact(outputs)
            .map(arg_max)
            .collect();
        let unit = normalise_rows(matrix(&probabilities.features, &device)); // [N, D]
        let values = download(unit.clone());
        let rows: Vec<&[f32]> = values.chunks_exact(width).collect();
        let centres = centres(&rows, &labels, outputs);

        let all: Vec<usize> = (0..count).collect();
        let k = NEIGHBOURS.min(count.saturating_sub(1));
        let neighbours: Vec<Vec<usize>> = if k == 0 {
            vec![Vec::new(); count]
        } else {
            let found = nearest(unit.clone(), &all, unit, &all, k);
            let found: Vec<i64> = found
                .try_into_vec_as()
                .expect("the device gives its values back");
            let row = |row: &[i64]| row.iter().map(|&image| image as usize).collect();
            found.chunks_exact(k).map(row).collect()
        };
        let typicality: Vec<f32> = rows
            .iter()
            .zip(&labels)
            .map(|(row, &label)| {
                centres[label]
                    .as_ref()
                    .map_or(0.0, |centre| dot(row, centre))
            })
            .collect();
        let maps = maps(folder, probabilities)?;
        let images = neighbours
            .into_iter()
            .enumerate()
            .map(|(image, neighbours)| ImageInsight {
                neighbours,
                typicality: typicality[image],
                changes: probabilities.changes.values[image] as usize,
                before: maps.before[image],
                after: maps.after[image],
            });
        let classes = (0..outputs).map(|class| {
            let own = (0..count).filter(|&image| labels[image] == class);
            let own: Vec<f32> = own.map(|image| typicality[image]).collect();
            ClassInsight {
                consistency: mean(&own),
                separation: separation(class, &rows, &labels, &centres),
                nearest_known: nearest_known(class, known, &centres),
            }
        });
        Ok(Self {
            images: images.collect(),
            classes: classes.collect(),
        })
    }
}

/// The unit-length centre of each class that has images.
fn centres(rows: &[&[f32]], labels: &[usize], classes: usize) -> Vec<Option<Vec<f32>>> {
    let width = rows.first().map_or(0, |row| row.len());
    let mut sums = vec![vec![0.0f64; width]; classes];
    for (row, &label) in rows.iter().zip(labels) {
        let sum = sums[label].iter_mut();
        sum.zip(*row).for_each(|(sum, &x)| *sum += f64::from(x));
    }
    let centre = |sum: Vec<f64>| {
        let length = sum.iter().map(|x| x * x).sum::<f64>().sqrt();
        (length > 0.0).then(|| sum.into_iter().map(|x| (x / length) as f32).collect())
    };
    sums.into_iter().map(centre).collect()
}

fn mean(values: &[f32]) -> Option<f32> {
    (!values.is_empty()).then(|| values.iter().sum::<f32>() / values.len() as f32)
}

fn separation(
    class: usize,
    rows: &[&[f32]],
    labels: &[usize],
    centres: &[Option<Vec<f32>>],
) -> Option<f32> {
    let own = centres[class].as_ref()?;
    let others: Vec<&Vec<f32>> = (0..centres.len())
        .filter(|&other| other != class)
        .filter_map(|other| centres[other].as_ref())
        .collect();
    let members = rows
        .iter()
        .zip(labels)
        .filter(|&(_, &label)| label == class);
    let silhouettes = members.filter_map(|(row, _)| {
        let a = 1.0 - dot(row, own);
        let distances = others.iter().map(|other| 1.0 - dot(row, other));
        let b = distances.min_by(f32::total_cmp)?;
        Some((b - a) / a.max(b).max(f32::MIN_POSITIVE))
    });
    mean(&silhouettes.collect::<Vec<_>>())
}

fn nearest_known(class: usize, known: usize, centres: &[Option<Vec<f32>>]) -> Option<(usize, f32)> {
    let own = centres[class].as_ref()?;
    let others = (0..known).filter(|&other| other != class);
    let distances =
        others.filter_map(|other| Some((other, 1.0 - dot(own, centres[other].as_ref()?))));
    distances.min_by(|a, b| a.1.total_cmp(&b.1))
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Every image as a point, on the map before adaptation and on the one after it.
struct Maps {
    before: Vec<[f32; 2]>,
    after: Vec<[f32; 2]>,
}

/// The maps, from the run if it has them.
fn maps(folder: &RunFolder, probabilities: &Probabilities) -> Result<Maps> {
    let path = folder.map();
    let count = probabilities.features.shape[0];
    if path.is_file() {
        let mut tensors = weights::read(&path)?.tensors;
        let before = take_matrix(&mut tensors, "before", &path)?;
        let after = take_matrix(&mut tensors, "after", &path)?;
        if [&before, &after].iter().all(|map| map.shape == [count, 2]) {
            let (before, after) = (points(&before), points(&after));
            return Ok(Maps { before, after });
        }
    }
    let device = place("cpu")?.device;
    let before = map(&probabilities.start, None, &device);
    let after = map(&probabilities.features, Some(&before), &device);
    let array = |points: &[[f32; 2]]| Array {
        shape: vec![points.len(), 2],
        values: points.concat(),
    };
    let tensors = BTreeMap::from([
        ("before".to_string(), array(&before)),
        ("after".to_string(), array(&after)),
    ]);
    weights::write(&path, &tensors, &BTreeMap::new())?;
    Ok(Maps { before, after })
}

fn points(map: &Array) -> Vec<[f32; 2]> {
    map.values.chunks_exact(2).map(|p| [p[0], p[1]]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of four images in two known classes and one discovered, on the unit circle.
    fn run(place: &std::path::Path) -> (RunFolder, Probabilities) {
        let features = [[1.0, 0.0], [0.8, 0.6], [0.0, 2.0], [-1.0, 0.0]];
        let adapted = [
            [0.9, 0.1, 0.0, 0.0],
            [0.8, 0.1, 0.1, 0.0],
            [0.1, 0.8, 0.1, 0.0],
            [0.0, 0.0, 1.0, 0.0],
        ];
        let matrix = |rows: &[&[f32]]| Array {
            shape: vec![rows.len(), rows[0].len()],
            values: rows.concat(),
        };
        let features = matrix(&features.each_ref().map(|row| row.as_slice()));
        let adapted = matrix(&adapted.each_ref().map(|row| row.as_slice()));
        let folder = RunFolder::prepare(place, false).unwrap();
        let probabilities = Probabilities {
            start: features.clone(),
            features,
            refined: adapted.clone(),
            clustering: adapted.clone(),
            source: adapted.clone(),
            adapted,
            changes: matrix(&[&[0.0], &[2.0], &[0.0], &[1.0]]),
            unknown: matrix(&[&[0.0], &[0.0], &[0.5], &[1.0]]),
        };
        (folder, probabilities)
    }

    #[test]
    fn images_and_classes_by_hand() {
        let place = tempfile::tempdir().unwrap();
        let (folder, probabilities) = run(&place.path().join("run"));
        let insight = Insight::of(&folder, &probabilities, 2).unwrap();
        // Angles 0°, 36.87°, 90°, 180°: the second is nearer to the first (36.87°) than to the third (53.13°).
        assert_eq!(insight.images[1].neighbours, [0, 2, 3]);
        assert_eq!(insight.images[1].changes, 2);
        // The centre of the first class is half-way between its images: cos 18.43°.
        let cosine = (0.5 * 0.6f32.atan2(0.8)).cos();
        assert!((insight.images[0].typicality - cosine).abs() < 1e-6);
        assert!((insight.classes[0].consistency.unwrap() - cosine).abs() < 1e-6);
        // The discovered class lies 90° from the second known class and farther from the first.
        let (nearest, distance) = insight.classes[2].nearest_known.unwrap();
        assert_eq!((nearest, (distance - 1.0).abs() < 1e-6), (1, true));
        // The first known class compares with the other one, and a class without images with none.
        assert_eq!(insight.classes[0].nearest_known.unwrap().0, 1);
        // The only image of the second known class is its centre: nothing is nearer.
        assert!((insight.classes[1].separation.unwrap() - 1.0).abs() < 1e-6);
        // The first class: angles 18.43° from its centre, and 90° and 53.13° from the second class's.
        let a = 1.0 - cosine;
        let silhouettes = [(1.0 - a) / 1.0, (1.0 - 0.6 - a) / (1.0 - 0.6)];
        let separation = insight.classes[0].separation.unwrap();
        assert!((separation - (silhouettes[0] + silhouettes[1]) / 2.0).abs() < 1e-6);
        assert_eq!(insight.classes[3].separation, None);
        assert_eq!(insight.classes[3].consistency, None);
        assert_eq!(insight.classes[3].nearest_known, None);
    }

    #[test]
    fn maps_are_kept() {
        let place = tempfile::tempdir().unwrap();
        let (folder, probabilities) = run(&place.path().join("run"));
        let first = Insight::of(&folder, &probabilities, 2).unwrap();
        assert!(folder.map().is_file());
        assert_eq!(Insight::of(&folder, &probabilities, 2).unwrap(), first);
    }
}
