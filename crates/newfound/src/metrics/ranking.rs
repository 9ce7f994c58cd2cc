//! AUROC, FPR95 and OSCR: how good the scores are, before any threshold is chosen.
//!
//! All three only use the order of the scores, so any increasing change of scale leaves them as
//! they are. Ties are neither luck nor order of the images: a tied pair counts half.
//!
//! Scores may be infinite but not NaN: `evaluate` refuses those before they get here, and the
//! functions panic on them rather than rank them arbitrarily.

/// A known image as OSCR sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KnownImage {
    /// The score of its best known class.
    pub score: f64,
    /// Whether that class is the true one.
    pub correct: bool,
}

/// Area under the ROC curve of the unknown score, in percent; unknown is the positive class.
///
/// The probability that a random unknown image looks more unknown than a random known one, with
/// ties counted half (Hanley and McNeil, 1982):
///
/// ```text
/// AUROC = 1/(N_k · N_u) Σ_k Σ_u [s_u > s_k] + ½ [s_u = s_k]
/// ```
///
/// 50 for a score that says nothing (for example a constant), 100 for a perfect one, below 50 for
/// one that points the wrong way. `None` unless there are both known and unknown images.
pub fn auroc(known: &[f64], unknown: &[f64]) -> Option<f64> {
    let pairs = known.len() as f64 * unknown.len() as f64;
    (pairs > 0.0).then(|| 100.0 * pairs_won(unknown, known) / pairs)
}

/// False positive rate at 95 % true positive rate, in percent; **unknown is the positive class**.
///
/// The share of known images lost as unknown when the threshold finds at least 95 % of the unknown
/// ones:
///
/// ```text
/// t     = the largest threshold with |{u : s_u ≥ t}| ≥ 0.95 · N_u
/// FPR95 = |{k : s_k ≥ t}| / N_k
/// ```
///
/// Lower is better. No interpolation: t is the score of an unknown image, a threshold one could
/// use, and everything tied with it is called unknown. A constant score gives 100. Papers on
/// out-of-distribution detection often call the *known* class positive; their figure is another
/// one. `None` unless there are both known and unknown images.
pub fn fpr95(known: &[f64], unknown: &[f64]) -> Option<f64> {
    if known.is_empty() || unknown.is_empty() {
        return None;
    }
    let ascending = sorted(unknown);
    // In integers: 0.95 · N_u rounded up must not depend on how 0.95 is stored.
    let found = (19 * ascending.len()).div_ceil(20);
    let threshold = ascending[ascending.len() - found];
    let known = sorted(known);
    let lost = known.len() - known.partition_point(|&score| score < threshold);
    Some(100.0 * lost as f64 / known.len() as f64)
}

/// Area under the open-set classification rate curve, in percent (Dhamija, Günther and Boult,
/// "Reducing Network Agnostophobia", NeurIPS 2018).
///
/// Every image is judged by its best *known* class and that class's score. At threshold τ
///
/// ```text
/// CCR(τ) = |{known images   : best known class is right and score ≥ τ}| / N_k
/// FPR(τ) = |{unknown images : score ≥ τ}| / N_u
/// ```
///
/// and OSCR is the area under CCR over FPR from 0 to 1, points joined by straight lines. Between
/// two neighbouring points the curve moves by all images that share one score, so the trapezoid
/// counts tied pairs half, and the area is a sum over pairs:
///
/// ```text
/// OSCR = 1/(N_k · N_u) Σ_{k right} Σ_u [s_k > s_u] + ½ [s_k = s_u]
/// ```
///
/// It is at most the closed-set accuracy (FPR = 1 accepts everything), which it reaches when every
/// right known image scores above every unknown one. With an accuracy of 100 it is an AUROC. `None`
/// unless there are both known and unknown images.
pub fn oscr(known: &[KnownImage], unknown: &[f64]) -> Option<f64> {
    let pairs = known.len() as f64 * unknown.len() as f64;
    let right: Vec<f64> = known
        .iter()
        .filter(|image| image.correct)
        .map(|image| image.score)
        .collect();
    (pairs > 0.0).then(|| 100.0 * pairs_won(&right, unknown) / pairs)
}

/// Σ over all pairs of [a > b] + ½ [a = b], by sorting instead of n · m comparisons.
fn pairs_won(upper: &[f64], lower: &[f64]) -> f64 {
    let lower = sorted(lower);
    let halves: u64 = sorted(upper)
        .iter()
        .map(|&score| {
            let below = lower.partition_point(|&other| other < score);
            let up_to = lower.partition_point(|&other| other <= score);
            // Two halves per score below, one per score tied.
            (below + up_to) as u64
        })
        .sum();
    0.5 * halves as f64
}

fn sorted(scores: &[f64]) -> Vec<f64> {
    assert!(
        scores.iter().all(|score| !score.is_nan()),
        "a NaN score cannot be ranked"
    );
    let mut scores = scores.to_vec();
    // −0 sorts before 0, but every comparison above takes them as equal.
    scores.sort_by(f64::total_cmp);
    scores
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_close, fixture};
    use super::*;
    use proptest::prelude::*;

    fn images(scores: &[f64], correct: &[bool]) -> Vec<KnownImage> {
        let pairs = scores.iter().zip(correct);
        pairs
            .map(|(&score, &correct)| KnownImage { score, correct })
            .collect()
    }

    #[test]
    fn by_hand() {
        // 0.8 beats all three; 0.5 beats 0.1 and 0.2 and ties with 0.5; 0.15 beats 0.1: 3 + 2½ + 1
        // of 9.
        let (known, unknown) = ([0.1, 0.2, 0.5], [0.8, 0.5, 0.15]);
        assert_close(auroc(&known, &unknown), Some(100.0 * 6.5 / 9.0));
        // All three are needed for 95 %, so t = 0.15: 0.2 and 0.5 are lost.
        assert_close(fpr95(&known, &unknown), Some(200.0 / 3.0));
        // Best-known-class scores. Right: 0.9 beats both, 0.6 beats one and ties with one. The
        // wrong 0.95 is out.
        let known = images(&[0.9, 0.6, 0.95], &[true, true, false]);
        assert_close(oscr(&known, &[0.6, 0.3]), Some(100.0 * 3.5 / 6.0));
    }

    #[test]
    fn ninety_five_per_cent_leaves_out_one_in_twenty() {
        let unknown: Vec<f64> = (1..=20).map(f64::from).collect();
        // The lowest unknown score may be missed: t = 2.
        assert_close(fpr95(&[1.0, 1.5], &unknown), Some(0.0));
        assert_close(fpr95(&[1.5, 2.0], &unknown), Some(50.0));
        // Of 19 none may be missed: 18/19 < 0.95.
        assert_close(fpr95(&[1.0, 1.5], &unknown[..19]), Some(100.0));
    }

    #[test]
    fn absent_kinds_give_none() {
        assert_eq!(
            (auroc(&[], &[1.0]), auroc(&[1.0], &[]), auroc(&[], &[])),
            (None, None, None)
        );
        assert_eq!(
            (fpr95(&[], &[1.0]), fpr95(&[1.0], &[]), fpr95(&[], &[])),
            (None, None, None)
        );
        let one = images(&[1.0], &[true]);
        assert_eq!(
            (oscr(&[], &[1.0]), oscr(&one, &[]), oscr(&[], &[])),
            (None, None, None)
        );
    }

    #[test]
    fn constant_perfect_and_reversed_scores() {
        let (low, high) = ([0.0, -0.0, 0.0], [1.0, f64::INFINITY]);
        assert_close(auroc(&low, &low), Some(50.0));
        assert_close(fpr95(&low, &low), Some(100.0));
        assert_close(auroc(&low, &high), Some(100.0));
        assert_close(fpr95(&low, &high), Some(0.0));
        assert_close(auroc(&high, &low), Some(0.0));
        assert_close(fpr95(&high, &low), Some(100.0));
        // Known above unknown: OSCR is the closed-set accuracy; all wrong: nothing.
        assert_close(oscr(&images(&high, &[true, false]), &low), Some(50.0));
        assert_close(oscr(&images(&high, &[false, false]), &low), Some(0.0));
        assert_close(oscr(&images(&low[..2], &[true, true]), &low), Some(50.0));
    }

    #[test]
    #[should_panic(expected = "NaN")]
    fn a_nan_score_is_a_bug() {
        auroc(&[f64::NAN], &[1.0]);
    }

    /// Scores from a small set, so that ties are common.
    fn scores() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec((0i32..12).prop_map(|i| f64::from(i) / 4.0 - 1.0), 0..40)
    }

    proptest! {
        #[test]
        fn auroc_twin_counts_pairs(known in scores(), unknown in scores()) {
            let mut won = 0.0;
            for k in &known {
                for u in &unknown {
                    won += if u > k { 1.0 } else if u == k { 0.5 } else { 0.0 };
                }
            }
            let pairs = (known.len() * unknown.len()) as f64;
            assert_close(auroc(&known, &unknown), (pairs > 0.0).then(|| 100.0 * won / pairs));
        }

        #[test]
        fn fpr95_twin_tries_every_threshold(known in scores(), unknown in scores()) {
            let share = |of: &[f64], t: f64| {
                of.iter().filter(|&&s| s >= t).count() as f64 / of.len() as f64
            };
            let best = unknown
                .iter()
                .filter(|&&t| share(&unknown, t) >= 0.95)
                .map(|&t| 100.0 * share(&known, t))
                .min_by(f64::total_cmp);
            assert_close(fpr95(&known, &unknown), best.filter(|_| !known.is_empty()));
        }

        #[test]
        fn oscr_twin_walks_the_curve(
            known in prop::collection::vec((0i32..12, any::<bool>()), 0..40),
            unknown in scores(),
        ) {
            let known: Vec<_> = known
                .iter()
                .map(|&(i, correct)| KnownImage { score: f64::from(i) / 4.0 - 1.0, correct })
                .collect();
            let mut thresholds: Vec<f64> =
                known.iter().map(|k| k.score).chain(unknown.iter().copied()).collect();
            thresholds.sort_by(|a, b| b.total_cmp(a));
            // From (0, 0), threshold above every score, by trapezoids to FPR = 1.
            let (mut area, mut fpr, mut ccr) = (0.0, 0.0, 0.0);
            for t in thresholds {
                let right = known.iter().filter(|k| k.correct && k.score >= t).count();
                let accepted = unknown.iter().filter(|&&u| u >= t).count();
                let next_ccr = right as f64 / known.len() as f64;
                let next_fpr = accepted as f64 / unknown.len() as f64;
                area += (next_fpr - fpr) * (ccr + next_ccr) / 2.0;
                (fpr, ccr) = (next_fpr, next_ccr);
            }
            let exists = !known.is_empty() && !unknown.is_empty();
            assert_close(oscr(&known, &unknown), exists.then_some(100.0 * area));
        }
    }

    #[test]
    fn fixture_ranking() {
        #[derive(serde::Deserialize)]
        struct Case {
            known: Vec<f64>,
            unknown: Vec<f64>,
            correct: Vec<bool>,
            auroc: f64,
            fpr95: f64,
            oscr: f64,
        }
        let text = include_str!("../../tests/fixtures/metrics/ranking.json");
        for case in fixture::<Case>(text) {
            assert_close(auroc(&case.known, &case.unknown), Some(case.auroc));
            assert_close(fpr95(&case.known, &case.unknown), Some(case.fpr95));
            // The unknown scores, turned round, serve as scores of the best known class.
            let turned = |scores: &[f64]| scores.iter().map(|s| 1.0 - s).collect::<Vec<_>>();
            let known = images(&turned(&case.known), &case.correct);
            assert_close(oscr(&known, &turned(&case.unknown)), Some(case.oscr));
        }
    }
}
