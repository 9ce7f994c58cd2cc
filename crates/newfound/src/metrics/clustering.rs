//! Are the private images sorted into the right groups? Accuracy, NMI and ARI.
//!
//! Each figure takes a table of counts over the truly private images: a row per true private class,
//! a column per predicted class, the known classes first. Names do not matter, only which images
//! are together.
//!
//! What becomes of a private image that was predicted as a known class:
//! - accuracy: it is **wrong**, whatever its companions are;
//! - NMI and ARI: the predicted known class is **a cluster of its own**, like any other. Leaving
//!   such images out would reward a model that only calls the easiest images unknown.
//!
//! All three are `None` without images.

use super::assignment::hungarian;

/// Clustering accuracy: the share of private images in the cluster that is matched with their
/// class. **Discovery of the underlying semantics of novel classes, section IV.**
///
/// ```text
/// accuracy = max_t 1/N Σ_j [y_j = t(ŷ_j)]     t: one-to-one between clusters and classes
/// ```
///
/// The maximum is found exactly by the Hungarian method on the counts. With more clusters than
/// classes the clusters left over are wrong, and with fewer the classes left over. The first
/// `known` columns are known classes and never matched.
///
/// Two deviations from the paper. It matches by *prototypes*, the mean features of true and of
/// predicted classes, and measures under that matching; its formula, and the works it follows,
/// maximise over all matchings, which is what is done here and needs no features. Ours is therefore
/// never the lower of the two. And its sum runs to |C_P|, the number of classes; over N images is
/// meant.
///
/// # Panics
/// If there are images and the rows have fewer than `known` columns.
#[doc(alias = "ClusterAcc")]
pub fn novel_accuracy(counts: &[Vec<u64>], known: usize) -> Option<f64> {
    let images: u64 = counts.iter().flatten().sum();
    if images == 0 {
        return None;
    }
    let (classes, clusters) = (counts.len(), counts[0].len() - known);
    // The assignment wants the shorter side as rows.
    let (rows, cols) = (classes.min(clusters), classes.max(clusters));
    let at = |row: usize, col: usize| {
        let (class, cluster) = if classes <= clusters {
            (row, col)
        } else {
            (col, row)
        };
        counts[class][known + cluster] as f64
    };
    let table: Vec<f64> = (0..rows * cols)
        .map(|cell| at(cell / cols, cell % cols))
        .collect();
    let matched =
        hungarian(&table, rows, cols).expect("finite counts with the shorter side as rows");
    let right: f64 = matched
        .iter()
        .enumerate()
        .map(|(row, &col)| table[row * cols + col])
        .sum();
    Some(100.0 * right / images as f64)
}

/// Normalised mutual information of classes and clusters, with the arithmetic mean of the
/// entropies.
///
/// ```text
/// NMI = 2 · I(class; cluster) / (H(class) + H(cluster))
/// I   = Σ_ij n_ij/N · log(N · n_ij / (a_i · b_j))     a, b: row and column sums
/// ```
///
/// 100 for the same partition, 0 for independent ones. If both consist of one group the partitions
/// agree and the figure is 100; if only one of them does, the clusters tell nothing and it is 0 (as
/// scikit-learn has both). It grows with the number of clusters even by chance, which ARI corrects.
#[doc(alias = "NMI")]
pub fn normalised_mutual_information(counts: &[Vec<u64>]) -> Option<f64> {
    let (a, b) = margins(counts);
    let n = a.iter().sum::<u64>() as f64;
    if n == 0.0 {
        return None;
    }
    let groups = |margin: &[u64]| margin.iter().filter(|&&images| images > 0).count();
    if groups(&a) == 1 && groups(&b) == 1 {
        return Some(100.0);
    }
    let mut information = 0.0;
    for (row, &a) in counts.iter().zip(&a) {
        for (&together, &b) in row.iter().zip(&b).filter(|&(&together, _)| together > 0) {
            let together = together as f64;
            // One quotient of two exact products: its logarithm is exactly 0 for independent
            // tables.
            information += together / n * (n * together / (a as f64 * b as f64)).ln();
        }
    }
    let entropy = |margin: &[u64]| -> f64 {
        let occupied = margin
            .iter()
            .filter(|&&images| images > 0)
            .map(|&images| images as f64);
        occupied.map(|images| images / n * (n / images).ln()).sum()
    };
    // Rounding alone could leave [0, 1].
    Some(100.0 * (2.0 * information / (entropy(&a) + entropy(&b))).clamp(0.0, 1.0))
}

/// Adjusted Rand index: agreement on pairs of images, corrected for chance (Hubert and Arabie,
/// 1985).
///
/// Of all ordered pairs of different images let tp be those together in both partitions, fn those
/// together only in the classes, fp only in the clusters, and tn in neither:
///
/// ```text
/// ARI = 2 · (tp · tn − fn · fp) / ((tp + fn)(fn + tn) + (tp + fp)(fp + tn))
/// ```
///
/// 100 for the same partition, 0 on average for random clusters, down to −50. Where the partitions
/// agree on every pair, which includes a single image, it is 100 (as scikit-learn has it).
#[doc(alias = "ARI")]
pub fn adjusted_rand_index(counts: &[Vec<u64>]) -> Option<f64> {
    // i128: the products are of the order N⁴, beyond 64 bits from some 50 000 images on.
    let squares = |values: &mut dyn Iterator<Item = u64>| -> i128 {
        values
            .map(|value| i128::from(value) * i128::from(value))
            .sum()
    };
    let (a, b) = margins(counts);
    let n = i128::from(a.iter().sum::<u64>());
    if n == 0 {
        return None;
    }
    let in_both = squares(&mut counts.iter().flatten().copied());
    let in_classes = squares(&mut a.iter().copied());
    let in_clusters = squares(&mut b.iter().copied());
    // An image is together with itself: n of the squares are no pairs.
    let tp = in_both - n;
    let (only_classes, only_clusters) = (in_classes - in_both, in_clusters - in_both);
    let tn = n * n - in_classes - in_clusters + in_both;
    if only_classes == 0 && only_clusters == 0 {
        return Some(100.0);
    }
    let agreement = tp * tn - only_classes * only_clusters;
    let scale =
        (tp + only_classes) * (only_classes + tn) + (tp + only_clusters) * (only_clusters + tn);
    Some(100.0 * 2.0 * agreement as f64 / scale as f64)
}

/// Row sums and column sums.
fn margins(counts: &[Vec<u64>]) -> (Vec<u64>, Vec<u64>) {
    let rows = counts.iter().map(|row| row.iter().sum()).collect();
    let width = counts.first().map_or(0, Vec::len);
    let columns = (0..width)
        .map(|col| counts.iter().map(|row| row[col]).sum())
        .collect();
    (rows, columns)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_close, fixture};
    use super::*;
    use proptest::prelude::*;

    fn table<const R: usize, const C: usize>(counts: [[u64; C]; R]) -> Vec<Vec<u64>> {
        counts.map(Vec::from).to_vec()
    }

    /// The table of two lists of labels.
    fn contingency(classes: &[usize], clusters: &[usize]) -> Vec<Vec<u64>> {
        let size = |labels: &[usize]| labels.iter().max().map_or(0, |max| max + 1);
        let mut counts = vec![vec![0; size(clusters)]; size(classes)];
        classes
            .iter()
            .zip(clusters)
            .for_each(|(&class, &cluster)| counts[class][cluster] += 1);
        counts
    }

    #[test]
    fn by_hand() {
        // Two classes of 3 images, clusters {a a b} and {b b a}.
        let counts = table([[2, 1], [1, 2]]);
        assert_close(novel_accuracy(&counts, 0), Some(400.0 / 6.0));
        // H = log 2 for both, I = 2 · (1/3 log 4/3 + 1/6 log 2/3).
        let information = 2.0 * ((4.0_f64 / 3.0).ln() / 3.0 + (2.0_f64 / 3.0).ln() / 6.0);
        let nmi = 100.0 * information / 2.0_f64.ln();
        assert_close(normalised_mutual_information(&counts), Some(nmi));
        // Ordered pairs: tp = 10 − 6 = 4, fn = fp = 18 − 10 = 8, tn = 36 − 18 − 18 + 10 = 10.
        // 2 · (40 − 64) / (12 · 18 + 12 · 18) = −1/9.
        assert_close(adjusted_rand_index(&counts), Some(-100.0 / 9.0));
    }

    #[test]
    fn an_image_predicted_as_known_is_wrong_but_has_company() {
        // One known column. Class 0 entirely predicted as known, class 1 in cluster 1.
        let counts = table([[4, 0, 0], [0, 0, 4]]);
        assert_close(novel_accuracy(&counts, 1), Some(50.0));
        assert_close(normalised_mutual_information(&counts), Some(100.0));
        assert_close(adjusted_rand_index(&counts), Some(100.0));
        // Nothing proposed at all: all wrong.
        assert_close(novel_accuracy(&table([[4], [4]]), 1), Some(0.0));
    }

    #[test]
    fn more_clusters_than_classes_and_the_reverse() {
        // A class split in two, and two classes in one cluster: the larger part counts.
        assert_close(novel_accuracy(&table([[5, 3]]), 0), Some(62.5));
        assert_close(novel_accuracy(&table([[5], [3]]), 0), Some(62.5));
        // Best pair first would take 5 + 0; the best matching is 4 + 4.
        assert_close(
            novel_accuracy(&table([[5, 4], [4, 0]]), 0),
            Some(800.0 / 13.0),
        );
    }

    #[test]
    fn degenerate_tables() {
        let both = |counts: &[Vec<u64>]| {
            (
                normalised_mutual_information(counts),
                adjusted_rand_index(counts),
            )
        };
        assert_eq!(both(&[]), (None, None));
        assert_eq!(both(&table([[0, 0], [0, 0]])), (None, None));
        assert_eq!(
            (novel_accuracy(&[], 0), novel_accuracy(&table([[0]]), 0)),
            (None, None)
        );
        // One image; one group on each side.
        assert_eq!(both(&table([[1]])), (Some(100.0), Some(100.0)));
        assert_eq!(both(&table([[0, 7], [0, 0]])), (Some(100.0), Some(100.0)));
        // One class in four clusters, and four classes in one cluster.
        assert_eq!(both(&table([[1, 1, 1, 1]])), (Some(0.0), Some(0.0)));
        assert_eq!(both(&table([[1], [1], [1], [1]])), (Some(0.0), Some(0.0)));
        // Every image alone on both sides: no pair to disagree on.
        assert_eq!(both(&table([[1, 0], [0, 1]])), (Some(100.0), Some(100.0)));
        // Independent, and as discordant as it gets.
        assert_eq!(both(&table([[1, 1], [1, 1]])), (Some(0.0), Some(-50.0)));
    }

    #[test]
    fn half_a_million_images_do_not_overflow() {
        let counts = table([[300_000, 1], [1, 300_000]]);
        assert!(adjusted_rand_index(&counts).unwrap() > 99.99);
        assert!(normalised_mutual_information(&counts).unwrap() > 99.9);
    }

    proptest! {
        #[test]
        fn ari_twin_counts_pairs(
            labels in prop::collection::vec((0usize..4, 0usize..5), 2..25),
        ) {
            let (classes, clusters): (Vec<_>, Vec<_>) = labels.iter().copied().unzip();
            let [mut tp, mut fn_, mut fp, mut tn] = [0.0; 4];
            for i in 0..labels.len() {
                for j in (0..labels.len()).filter(|&j| j != i) {
                    match (classes[i] == classes[j], clusters[i] == clusters[j]) {
                        (true, true) => tp += 1.0,
                        (true, false) => fn_ += 1.0,
                        (false, true) => fp += 1.0,
                        (false, false) => tn += 1.0,
                    }
                }
            }
            let scale = (tp + fn_) * (fn_ + tn) + (tp + fp) * (fp + tn);
            let expected = if fn_ == 0.0 && fp == 0.0 {
                1.0
            } else {
                2.0 * (tp * tn - fn_ * fp) / scale
            };
            let ari = adjusted_rand_index(&contingency(&classes, &clusters));
            assert_close(ari, Some(100.0 * expected));
        }

        #[test]
        fn nmi_twin_sums_image_by_image(
            labels in prop::collection::vec((0usize..4, 0usize..5), 1..25),
        ) {
            let n = labels.len() as f64;
            let share = |same: &dyn Fn(&(usize, usize)) -> bool| {
                labels.iter().filter(|&pair| same(pair)).count() as f64 / n
            };
            // Means over images of −log p(class), −log p(cluster), and of the pointwise
            // information.
            let (mut h_class, mut h_cluster, mut information) = (0.0, 0.0, 0.0);
            for &(class, cluster) in &labels {
                let p_class = share(&|p| p.0 == class);
                let p_cluster = share(&|p| p.1 == cluster);
                let p_both = share(&|&p| p == (class, cluster));
                h_class -= p_class.ln() / n;
                h_cluster -= p_cluster.ln() / n;
                information += (p_both / (p_class * p_cluster)).ln() / n;
            }
            let mean = (h_class + h_cluster) / 2.0;
            let expected = if mean == 0.0 { 1.0 } else { information / mean };
            let (classes, clusters): (Vec<_>, Vec<_>) = labels.iter().copied().unzip();
            let nmi = normalised_mutual_information(&contingency(&classes, &clusters));
            assert_close(nmi, Some(100.0 * expected));
        }

        #[test]
        fn accuracy_twin_tries_every_matching(
            rows in prop::collection::vec(prop::collection::vec(0u64..9, 5), 1..6),
            known in 0usize..5,
        ) {
            /// The best sum with classes `class…` still to match and these clusters taken.
            fn best(rows: &[Vec<u64>], class: usize, known: usize, taken: u32) -> u64 {
                let Some(row) = rows.get(class) else { return 0 };
                // A class may also stay without a cluster.
                (known..row.len())
                    .filter(|&col| taken >> col & 1 == 0)
                    .map(|col| row[col] + best(rows, class + 1, known, taken | 1 << col))
                    .chain([best(rows, class + 1, known, taken)])
                    .max()
                    .unwrap_or(0)
            }
            let images: u64 = rows.iter().flatten().sum();
            let right = best(&rows, 0, known, 0) as f64;
            let expected = (images > 0).then(|| 100.0 * right / images as f64);
            assert_close(novel_accuracy(&rows, known), expected);
        }

        #[test]
        fn names_do_not_matter(labels in prop::collection::vec((0usize..4, 0usize..4), 1..25)) {
            let (classes, clusters): (Vec<_>, Vec<_>) = labels.iter().copied().unzip();
            let renamed: Vec<_> = clusters.iter().map(|&c| [2, 0, 3, 1][c]).collect();
            let before = contingency(&classes, &clusters);
            let after = contingency(&classes, &renamed);
            assert_close(novel_accuracy(&after, 0), novel_accuracy(&before, 0));
            assert_close(
                normalised_mutual_information(&after), normalised_mutual_information(&before),
            );
            assert_close(adjusted_rand_index(&after), adjusted_rand_index(&before));
        }
    }

    #[test]
    fn fixture_clustering() {
        #[derive(serde::Deserialize)]
        struct Case {
            classes: Vec<usize>,
            clusters: Vec<usize>,
            nmi: f64,
            ari: f64,
            accuracy: f64,
        }
        let text = include_str!("../../tests/fixtures/metrics/clustering.json");
        for case in fixture::<Case>(text) {
            let counts = contingency(&case.classes, &case.clusters);
            assert_close(normalised_mutual_information(&counts), Some(case.nmi));
            assert_close(adjusted_rand_index(&counts), Some(case.ari));
            assert_close(novel_accuracy(&counts, 0), Some(case.accuracy));
        }
    }
}
