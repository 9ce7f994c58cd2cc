//! Which cluster is which known class, section III-B.

use newfound::clustering::{Match, Matching, match_prototypes};
use proptest::prelude::*;

use crate::generate::{Draw, Matrix, generated};

const FORMS: [Matching; 2] = [Matching::Hungarian, Matching::Greedy];

fn matched(similarities: &Matrix, matching: Matching) -> Vec<Match> {
    match_prototypes(&similarities.values, similarities.cols, matching).expect("finite cosines")
}

fn centroids(similarities: &Matrix, matching: Matching) -> Vec<usize> {
    matched(similarities, matching)
        .iter()
        .map(|m| m.centroid)
        .collect()
}

/// The best total of all one-to-one assignments of the rows from `row` on.
fn best_total(similarities: &Matrix, row: usize, taken: &mut Vec<usize>) -> f64 {
    if row == similarities.rows {
        return 0.0;
    }
    let mut best = f64::NEG_INFINITY;
    for centroid in 0..similarities.cols {
        if !taken.contains(&centroid) {
            taken.push(centroid);
            let total = similarities.row(row)[centroid] + best_total(similarities, row + 1, taken);
            taken.pop();
            best = best.max(total);
        }
    }
    best
}

#[test]
fn by_hand() {
    // Each prototype's nearest is centroid 0. Greedy gives it to the first; the best total, to the second.
    let similarities = Matrix::of([[0.9, 0.8, 0.0], [0.8, 0.1, 0.0]]);
    assert_eq!(centroids(&similarities, Matching::Greedy), [0, 1]);
    assert_eq!(centroids(&similarities, Matching::Hungarian), [1, 0]);
    let [first, second] = matched(&similarities, Matching::Hungarian)[..] else {
        panic!("two classes")
    };
    assert!(
        (first.margin + 0.1).abs() < 1e-12,
        "centroid 0 was nearer by 0.1"
    );
    assert!(
        (second.margin - 0.7).abs() < 1e-12,
        "ahead of centroid 1 by 0.7"
    );
    assert_eq!((first.similarity, second.similarity), (0.8, 0.8));
    assert!(first.is_doubtful() && !second.is_doubtful());
}

#[test]
fn limits() {
    for form in FORMS {
        let one = matched(&Matrix::of([[0.3]]), form);
        assert_eq!(
            one,
            [Match {
                centroid: 0,
                similarity: 0.3,
                margin: 2.0
            }],
            "nothing to compare with"
        );
        assert_eq!(
            centroids(&Matrix::of([[0.5; 3]; 3]), form),
            [0, 1, 2],
            "all equal"
        );
        assert!(match_prototypes(&[0.5, f64::NAN], 2, form).is_err());
        assert!(
            match_prototypes(&[0.5, 0.4, 0.3], 1, form).is_err(),
            "more classes than clusters"
        );
    }
    let doubtful = |margin| {
        Match {
            centroid: 0,
            similarity: 0.5,
            margin,
        }
        .is_doubtful()
    };
    assert!(doubtful(0.0) && doubtful(0.0199) && !doubtful(0.02));
}

#[test]
fn twin() {
    proptest!(generated(128), |(classes in 1..6usize, more in 0..3usize, seed: u64)| {
        let clusters = classes + more;
        let mut draw = Draw::new(seed);
        let mut similarities = draw.normal(classes, clusters, 0.3);
        similarities.values.iter_mut().for_each(|x| *x = x.clamp(-1.0, 1.0));

        let total = |matches: &[Match]| matches.iter().map(|m| m.similarity).sum::<f64>();
        let hungarian = matched(&similarities, Matching::Hungarian);
        let best = best_total(&similarities, 0, &mut Vec::new());
        prop_assert!((total(&hungarian) - best).abs() < 1e-12, "{} of {best}", total(&hungarian));

        // The largest entry of all rows and columns that are left, again and again.
        let greedy = matched(&similarities, Matching::Greedy);
        let mut expected = vec![None; classes];
        for _ in 0..classes {
            let mut largest = (f64::NEG_INFINITY, 0, 0);
            for class in (0..classes).filter(|&class| expected[class].is_none()) {
                for centroid in (0..clusters).filter(|k| !expected.contains(&Some(*k))) {
                    let similarity = similarities.row(class)[centroid];
                    if similarity > largest.0 {
                        largest = (similarity, class, centroid);
                    }
                }
            }
            expected[largest.1] = Some(largest.2);
        }
        let found: Vec<Option<usize>> = greedy.iter().map(|m| Some(m.centroid)).collect();
        prop_assert_eq!(found, expected);

        for matches in [hungarian, greedy] {
            let mut taken: Vec<usize> = matches.iter().map(|m| m.centroid).collect();
            for (class, m) in matches.iter().enumerate() {
                let row = similarities.row(class);
                prop_assert_eq!(m.similarity, row[m.centroid]);
                for (other, &similarity) in row.iter().enumerate() {
                    prop_assert!(other == m.centroid || m.margin <= m.similarity - similarity);
                }
            }
            taken.sort_unstable();
            taken.dedup();
            prop_assert_eq!(taken.len(), classes, "one-to-one");
        }
    });
}
