//! K-means, section III-B.

use newfound::clustering::{Clusters, KMeans, KMeansOptions, assign, k_means};
use newfound::network::download;
use newfound::random::Stream;
use proptest::prelude::*;

use crate::fixture::{FORWARD, assert_close};
use crate::generate::{Draw, Matrix, dot, generated};

fn options(geometry: KMeans, clusters: usize) -> KMeansOptions {
    KMeansOptions {
        geometry,
        clusters,
        restarts: 1,
        rounds: 100,
    }
}

fn clustered(features: &Matrix, options: &KMeansOptions, seed: u64) -> Clusters {
    k_means(features.tensor(), options, seed)
}

fn square_distance(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(a, b)| (a - b).powi(2)).sum()
}

/// The whole algorithm a second time: one image, one centroid at a time, in double precision.
mod plain {
    use super::*;

    pub struct Found {
        pub centroids: Vec<Vec<f64>>,
        pub labels: Vec<usize>,
        pub inertia: f64,
        /// The least difference that decided anything: between an image's nearest and second nearest centroid, between
        /// two candidates for a first centroid, between a draw and the edge of what it hit, between two restarts. When
        /// it is tiny, single precision may decide otherwise. (Two images that are each other's nearest are always
        /// equally good as the last centroid.)
        pub closest_call: f64,
    }

    pub fn k_means(features: &Matrix, options: &KMeansOptions, seed: u64) -> Found {
        let rows: Vec<Vec<f64>> = match options.geometry {
            KMeans::Spherical => features.iter().map(unit).collect(),
            KMeans::Euclidean => features.iter().map(<[f64]>::to_vec).collect(),
        };
        let mut best: Option<Found> = None;
        let mut closest_call = f64::INFINITY;
        for restart in 0..options.restarts {
            let mut draws = Stream::new(seed, "k-means", &[restart as u64]);
            let (centroids, call) = starts(&rows, options.clusters, &mut draws);
            let found = lloyd(&rows, centroids, options);
            closest_call = closest_call.min(call).min(found.closest_call);
            if let Some(best) = &best {
                closest_call = closest_call.min((found.inertia - best.inertia).abs());
            }
            if best
                .as_ref()
                .is_none_or(|best| found.inertia < best.inertia)
            {
                best = Some(found);
            }
        }
        Found {
            closest_call,
            ..best.unwrap()
        }
    }

    pub fn unit(row: &[f64]) -> Vec<f64> {
        row.iter().map(|x| x / dot(row, row).sqrt()).collect()
    }

    /// The nearest centroid, the lower of equal ones, the distance to it, and how far off the second is.
    pub fn nearest(row: &[f64], centroids: &[Vec<f64>]) -> (usize, f64, f64) {
        let distances: Vec<f64> = centroids.iter().map(|c| square_distance(row, c)).collect();
        let mut best = 0;
        for k in 1..distances.len() {
            if distances[k] < distances[best] {
                best = k;
            }
        }
        let others = distances
            .iter()
            .enumerate()
            .filter(|&(k, _)| k != best)
            .map(|(_, d)| *d);
        (
            best,
            distances[best],
            others.fold(f64::INFINITY, f64::min) - distances[best],
        )
    }

    /// k-means++: of some images drawn by their squared distance, the one that lowers the total most.
    fn starts(rows: &[Vec<f64>], clusters: usize, draws: &mut Stream) -> (Vec<Vec<f64>>, f64) {
        let mut call = f64::INFINITY;
        let mut centroids = vec![rows[draws.below(rows.len() as u64) as usize].clone()];
        while centroids.len() < clusters {
            let weights: Vec<f64> = rows.iter().map(|row| nearest(row, &centroids).1).collect();
            let mut totals: Vec<(f64, usize)> = Vec::new();
            for _ in 0..2 + (clusters as f64).ln() as usize {
                let mut left = draws.unit() * weights.iter().sum::<f64>();
                let mut candidate = rows.len() - 1;
                for (i, weight) in weights.iter().enumerate() {
                    call = call.min((left - weight).abs());
                    if left < *weight {
                        candidate = i;
                        break;
                    }
                    left -= weight;
                }
                let total = rows
                    .iter()
                    .zip(&weights)
                    .map(|(row, weight)| weight.min(square_distance(row, &rows[candidate])))
                    .sum();
                totals.push((total, candidate));
            }
            let mut best = totals[0];
            for &(total, candidate) in &totals {
                if total < best.0 {
                    best = (total, candidate);
                }
            }
            let others = totals.iter().filter(|other| other.1 != best.1);
            call = others.fold(call, |call, other| call.min(other.0 - best.0));
            centroids.push(rows[best.1].clone());
        }
        (centroids, call)
    }

    fn lloyd(rows: &[Vec<f64>], mut centroids: Vec<Vec<f64>>, options: &KMeansOptions) -> Found {
        let mut closest_call = f64::INFINITY;
        let mut previous = Vec::new();
        for _ in 0..options.rounds {
            let found: Vec<(usize, f64, f64)> =
                rows.iter().map(|row| nearest(row, &centroids)).collect();
            closest_call = found
                .iter()
                .fold(closest_call, |least, &(_, _, gap)| least.min(gap));
            let labels = filled(&found, options.clusters);
            if labels == previous {
                break;
            }
            centroids = means(rows, &labels, options);
            previous = labels;
        }
        let found: Vec<(usize, f64, f64)> =
            rows.iter().map(|row| nearest(row, &centroids)).collect();
        Found {
            centroids,
            labels: found.iter().map(|&(label, _, _)| label).collect(),
            inertia: found.iter().map(|&(_, distance, _)| distance).sum(),
            closest_call,
        }
    }

    /// Empty clusters, lowest first, take the farthest image of those that are not alone.
    fn filled(found: &[(usize, f64, f64)], clusters: usize) -> Vec<usize> {
        let mut labels: Vec<usize> = found.iter().map(|&(label, _, _)| label).collect();
        let mut distances: Vec<f64> = found.iter().map(|&(_, distance, _)| distance).collect();
        for empty in 0..clusters {
            if labels.contains(&empty) {
                continue;
            }
            let mut farthest = None;
            for image in 0..labels.len() {
                let alone = labels
                    .iter()
                    .filter(|&&label| label == labels[image])
                    .count()
                    == 1;
                if !alone && farthest.is_none_or(|best: usize| distances[image] > distances[best]) {
                    farthest = Some(image);
                }
            }
            let farthest = farthest.expect("no fewer images than clusters");
            (labels[farthest], distances[farthest]) = (empty, 0.0);
        }
        labels
    }

    fn means(rows: &[Vec<f64>], labels: &[usize], options: &KMeansOptions) -> Vec<Vec<f64>> {
        (0..options.clusters)
            .map(|k| {
                let members: Vec<&Vec<f64>> = rows
                    .iter()
                    .zip(labels)
                    .filter(|&(_, &label)| label == k)
                    .map(|(row, _)| row)
                    .collect();
                let mean: Vec<f64> = (0..rows[0].len())
                    .map(|i| members.iter().map(|row| row[i]).sum::<f64>() / members.len() as f64)
                    .collect();
                if options.geometry == KMeans::Spherical {
                    unit(&mean)
                } else {
                    mean
                }
            })
            .collect()
    }
}

#[test]
fn by_hand() {
    // 0, 1 | 10, 11: centroids at 0.5 and 10.5, each image half a unit away.
    let features = Matrix::of([[0.0], [1.0], [10.0], [11.0]]);
    let found = clustered(&features, &options(KMeans::Euclidean, 2), 0);
    assert_eq!(found.labels[0], found.labels[1]);
    assert_eq!(found.labels[2], found.labels[3]);
    let mut centroids = download(found.centroids);
    centroids.sort_by(f32::total_cmp);
    assert_close("centroids", &centroids, &[0.5, 10.5], FORWARD);
    assert_close("inertia", &[found.inertia as f32], &[1.0], FORWARD);
    // One cluster: the mean.
    let found = clustered(&features, &options(KMeans::Euclidean, 1), 0);
    assert_close("mean", &download(found.centroids), &[5.5], FORWARD);
}

#[test]
fn assign_by_hand() {
    let features = Matrix::of([[0.0, 0.0], [3.0, 4.0], [5.0, 0.0]]);
    let centroids = Matrix::of([[3.0, 3.0], [0.0, 1.0], [5.0, 0.0]]);
    let (labels, distances) = assign(&features.tensor(), &centroids.tensor());
    assert_eq!(labels, [1, 0, 2]);
    let distances: Vec<f32> = distances.iter().map(|&d| d as f32).collect();
    assert_close("squared distances", &distances, &[1.0, 1.0, 0.0], FORWARD);
    // Half-way between two, and between two that are equal: the lower one.
    let centroids = Matrix::of([[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]]);
    let (labels, _) = assign(
        &Matrix::of([[1.0, 0.0], [0.0, 0.0]]).tensor(),
        &centroids.tensor(),
    );
    assert_eq!(labels, [0, 1]);
}

#[test]
fn limits() {
    // As many clusters as images: each is its own.
    let features = Draw::new(1).normal(6, 3, 1.0);
    for geometry in [KMeans::Euclidean, KMeans::Spherical] {
        let found = clustered(&features, &options(geometry, 6), 4);
        let mut labels = found.labels.clone();
        labels.sort_unstable();
        assert_eq!(labels, [0, 1, 2, 3, 4, 5], "{geometry:?}");
        assert!(found.inertia < 1e-5, "{geometry:?}: {}", found.inertia);
    }
    // Fewer different images than clusters: all on a centroid, none of which is NaN.
    let features = Matrix::of([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]);
    for geometry in [KMeans::Euclidean, KMeans::Spherical] {
        let found = clustered(&features, &options(geometry, 4), 4);
        assert_eq!(found.inertia, 0.0, "{geometry:?}");
        assert!(found.labels[0] == found.labels[1] && found.labels[0] != found.labels[3]);
        assert!(
            download(found.centroids).iter().all(|x| x.is_finite()),
            "{geometry:?}"
        );
    }
    // All images equal.
    let features = Matrix {
        rows: 5,
        cols: 2,
        values: [3.0, 4.0].repeat(5),
    };
    let found = clustered(&features, &options(KMeans::Spherical, 3), 4);
    let centroids = download(found.centroids);
    assert_close("centroids", &centroids, &[0.6, 0.8].repeat(3), FORWARD);
}

#[test]
#[should_panic(expected = "2 images for 3 clusters")]
fn fewer_images_than_clusters() {
    clustered(
        &Matrix::of([[0.0], [1.0]]),
        &options(KMeans::Euclidean, 3),
        0,
    );
}

/// Spherical clusters are directions; Euclidean ones see length too.
#[test]
fn the_two_geometries() {
    let features = Matrix::of([[1.0, 0.0], [10.0, 0.0], [0.0, 1.0], [0.0, 10.0]]);
    let restarts = 10;
    let spherical = KMeansOptions {
        restarts,
        ..options(KMeans::Spherical, 2)
    };
    let found = clustered(&features, &spherical, 0);
    assert_eq!(
        (found.labels[0], found.labels[2]),
        (found.labels[1], found.labels[3])
    );
    assert!(found.labels[0] != found.labels[2] && found.inertia < 1e-6);
    let lengths = download(found.centroids.square().sum_dim(1));
    assert_close(
        "squared lengths of the centroids",
        &lengths,
        &[1.0, 1.0],
        FORWARD,
    );
    // Euclidean: one of the far points alone, the other three around (1/3, 11/3), at 184/3 in total.
    let euclidean = KMeansOptions {
        restarts,
        ..options(KMeans::Euclidean, 2)
    };
    let found = clustered(&features, &euclidean, 0);
    assert_close("inertia", &[found.inertia as f32], &[184.0 / 3.0], FORWARD);
}

#[test]
fn assign_twin() {
    proptest!(generated(64), |(images in 1..30usize, clusters in 1..9usize, width in 1..9usize, seed: u64)| {
        let mut draw = Draw::new(seed);
        let (features, centroids) = (draw.features(images, width), draw.features(clusters, width));
        let (labels, distances) = assign(&features.tensor(), &centroids.tensor());
        let rows: Vec<Vec<f64>> = centroids.iter().map(<[f64]>::to_vec).collect();
        let mut expected = Vec::new();
        for (row, label) in features.iter().zip(labels) {
            let (nearest, distance, gap) = plain::nearest(row, &rows);
            prop_assert!(label == nearest || gap < 1e-5 * dot(row, row), "{} instead of {}", label, nearest);
            expected.push(distance);
        }
        // A difference of squares: exact to the size of the squares, not of the distance.
        let largest = features.iter().chain(centroids.iter()).map(|row| dot(row, row)).fold(0.0, f64::max);
        for (found, expected) in distances.iter().zip(expected) {
            prop_assert!((found - expected).abs() <= FORWARD * largest, "{} instead of {}", found, expected);
        }
    });
}

#[test]
fn twin() {
    let sizes = (1..40usize, 1..9usize, 1..6usize, 1..4usize, 1..12usize);
    let compared = std::cell::Cell::new(0);
    proptest!(generated(256), |((images, clusters, width, restarts, rounds) in sizes, seed: u64)| {
        let features = Draw::new(seed).normal(images.max(clusters), width, 1.0);
        for geometry in [KMeans::Euclidean, KMeans::Spherical] {
            let options = KMeansOptions { geometry, clusters, restarts, rounds };
            // On the line a unit row is +1 or −1, and the mean of both has no direction.
            if geometry == KMeans::Spherical && width == 1 {
                continue;
            }
            let expected = plain::k_means(&features, &options, seed);
            // Decided by rounding: the next test has ties exactly.
            if expected.closest_call < 1e-5 {
                continue;
            }
            compared.set(compared.get() + 1);
            let found = clustered(&features, &options, seed);
            prop_assert_eq!(&found.labels, &expected.labels, "{:?}", geometry);
            assert_close("centroids", &download(found.centroids), &expected.centroids.concat(), FORWARD);
            // The inertia of images on their centroids is rounding: compared with the size of all images.
            let size: f64 = features.values.iter().map(|x| x * x).sum();
            prop_assert!((found.inertia - expected.inertia).abs() < FORWARD * size);
        }
    });
    assert!(
        compared.get() > 200,
        "only {} of 512 were clear enough",
        compared.get()
    );
}

/// Images on few places, with duplicates, ties and empty clusters. Every number here is a whole one, since 840 is
/// divided by all cluster sizes up to 8, and small enough to be exact in single precision.
#[test]
fn twin_with_ties_and_empty_clusters() {
    let sizes = (1..=8usize, 1..=8usize, 1..=2usize, 1..8usize);
    proptest!(generated(256), |((images, clusters, width, rounds) in sizes, seed: u64)| {
        let mut features = Draw::new(seed).whole(images.max(clusters), width, 2);
        features.values.iter_mut().for_each(|x| *x *= 840.0);
        let options = KMeansOptions { restarts: 2, rounds, ..options(KMeans::Euclidean, clusters) };
        let expected = plain::k_means(&features, &options, seed);
        let found = clustered(&features, &options, seed);
        prop_assert_eq!(found.labels, expected.labels);
        assert_close("centroids", &download(found.centroids), &expected.centroids.concat(), 0.0);
        prop_assert_eq!(found.inertia, expected.inertia);
    });
}

#[test]
fn a_round_never_increases_the_inertia() {
    proptest!(generated(32), |(images in 10..80usize, clusters in 2..9usize, width in 2..6usize, seed: u64)| {
        let features = Draw::new(seed).normal(images.max(clusters), width, 1.0);
        for geometry in [KMeans::Euclidean, KMeans::Spherical] {
            let mut previous = f64::INFINITY;
            for rounds in 1..10 {
                let found = clustered(&features, &KMeansOptions { rounds, ..options(geometry, clusters) }, seed);
                prop_assert!(found.inertia <= previous * (1.0 + 1e-6), "{} after {}", found.inertia, previous);
                previous = found.inertia;
            }
        }
    });
}

#[test]
fn more_restarts_are_never_worse() {
    let features = Draw::new(8).normal(200, 5, 1.0);
    for geometry in [KMeans::Euclidean, KMeans::Spherical] {
        let of = |restarts| {
            clustered(
                &features,
                &KMeansOptions {
                    restarts,
                    ..options(geometry, 12)
                },
                3,
            )
            .inertia
        };
        let all: Vec<f64> = (1..=8).map(of).collect();
        assert!(all.is_sorted_by(|a, b| a >= b), "{all:?}");
        assert!(
            all[7] < all[0],
            "eight starts find something better than the first: {all:?}"
        );
    }
}

/// Groups far apart come out exactly, whatever the seed.
#[test]
fn separated_groups_are_recovered() {
    let (groups, per_group, width) = (7, 30, 10);
    let mut draw = Draw::new(6);
    let centres = draw.unit(groups, width);
    for geometry in [KMeans::Euclidean, KMeans::Spherical] {
        let noise = draw.normal(groups * per_group, width, 0.02);
        let values = noise.values.iter().enumerate().map(|(i, noise)| {
            // Lengths from 1 to 4 within a group, if length carries no meaning.
            let stretch = if geometry == KMeans::Spherical {
                1.0 + (i / width % 4) as f64
            } else {
                1.0
            };
            stretch * (centres.row(i / width / per_group)[i % width] + noise)
        });
        let features = Matrix {
            values: values.map(|x| f64::from(x as f32)).collect(),
            ..noise.clone()
        };
        for seed in 0..10 {
            let found = clustered(&features, &options(geometry, groups), seed);
            let mut of_group: Vec<usize> = found
                .labels
                .chunks(per_group)
                .map(|group| group[0])
                .collect();
            for (group, label) in found.labels.chunks(per_group).zip(&of_group) {
                assert!(
                    group.iter().all(|l| l == label),
                    "{geometry:?}, seed {seed}: a group was split"
                );
            }
            of_group.sort_unstable();
            assert_eq!(
                of_group,
                (0..groups).collect::<Vec<_>>(),
                "{geometry:?}, seed {seed}"
            );
        }
    }
}

#[test]
fn threads_change_nothing() {
    let features = Draw::new(9).features(3000, 64);
    for geometry in [KMeans::Euclidean, KMeans::Spherical] {
        let options = KMeansOptions {
            restarts: 2,
            rounds: 20,
            ..options(geometry, 20)
        };
        let [one, three] = [1, 3].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| clustered(&features, &options, 1))
        });
        assert_eq!(one.labels, three.labels, "{geometry:?}");
        assert_eq!(
            one.inertia.to_bits(),
            three.inertia.to_bits(),
            "{geometry:?}"
        );
        let bits = |clusters: Clusters| -> Vec<u32> {
            download(clusters.centroids)
                .into_iter()
                .map(f32::to_bits)
                .collect()
        };
        assert_eq!(bits(one), bits(three), "{geometry:?}");
    }
}

#[test]
fn the_seed_decides() {
    let features = Draw::new(10).normal(100, 4, 1.0);
    let of = |seed| clustered(&features, &options(KMeans::Spherical, 9), seed).labels;
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}
