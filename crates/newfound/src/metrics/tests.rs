//! The whole evaluation: from labels and predictions to the JSON of `evaluate --json`.

use super::testing::{assert_close, classes, truth_of};
use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

fn prediction(label: usize, unknown: f64, class: usize, score: f64) -> Prediction {
    Prediction {
        label,
        unknown,
        best_known: Some(BestKnown { class, score }),
    }
}

/// Two known classes, two private ones, three proposed; eight images.
fn small() -> (Classes, Vec<Truth>, Vec<Prediction>) {
    let truth = [0, 0, 1, 1, 2, 2, 2, 3]
        .map(|row| truth_of(row, 2))
        .to_vec();
    let predictions = vec![
        prediction(0, 0.1, 0, 0.8),
        prediction(2, 0.6, 0, 0.3),
        prediction(1, 0.2, 1, 0.7),
        prediction(1, 0.2, 1, 0.6),
        prediction(3, 0.9, 0, 0.1),
        prediction(3, 0.7, 1, 0.2),
        prediction(0, 0.3, 0, 0.5),
        prediction(4, 0.6, 1, 0.3),
    ];
    (classes(2, 2, 3), truth, predictions)
}

#[test]
fn by_hand_with_exactly_the_keys_of_the_design() {
    let (classes, truth, predictions) = small();
    let scores = evaluate(&classes, &truth, &predictions).unwrap();
    let ari = scores.novel.ari;
    let nmi = scores.novel.nmi;
    // Class 0 has 1 of 2, class 1 has 2 of 2; private class 0 has 2 of 3, class 1 has 1 of 1.
    assert_close(
        scores.hos_macro,
        Some(2.0 * 75.0 * (250.0 / 3.0) / (75.0 + 250.0 / 3.0)),
    );
    // Private images: classes 0 0 0 1, clusters 3 3 0 4. Ordered pairs: tp 2, fn 4, fp 0, tn 6.
    assert_close(ari, Some(100.0 * 24.0 / (6.0 * 10.0 + 2.0 * 6.0)));
    // H(class) = I, since the cluster tells the class: 2 I / (I + H(cluster)).
    let (h, h_cluster) = (
        -(0.75 * 0.75_f64.ln() + 0.25 * 0.25_f64.ln()),
        1.5 * 2.0_f64.ln(),
    );
    assert_close(nmi, Some(100.0 * 2.0 * h / (h + h_cluster)));
    let got = serde_json::to_value(&scores).unwrap();
    let third = |n: f64| 100.0 * n / 3.0;
    let expected = json!({
        "os_star": 75.0,
        "unk": 75.0,
        "unk_macro": (third(2.0) + 100.0) / 2.0,
        "hos": 75.0,
        "hos_macro": scores.hos_macro,
        "os": 75.0,
        // Unknown 0.9 and 0.7 beat all four known, 0.6 beats three and ties with one, 0.3 beats
        // three.
        "auroc": 100.0 * 14.5 / 16.0,
        // All four are needed: t = 0.3 loses the known image with 0.6.
        "fpr95": 25.0,
        // All four right. 0.8, 0.7 and 0.6 beat all unknowns, 0.3 beats 0.1 and 0.2 and ties with
        // 0.3.
        "oscr": 100.0 * 14.5 / 16.0,
        "novel": { "accuracy": 75.0, "nmi": nmi, "ari": ari },
        "per_class": [
            { "name": "known-0", "images": 2, "accuracy": 50.0 },
            { "name": "known-1", "images": 2, "accuracy": 100.0 },
            { "name": "private-0", "images": 3, "accuracy": 200.0 / 3.0 },
            { "name": "private-1", "images": 1, "accuracy": 100.0 },
        ],
        "confusion": {
            "rows": ["known-0", "known-1", "private-0", "private-1"],
            "columns": ["known-0", "known-1", "unknown-1", "unknown-2", "unknown-3"],
            "counts": [[1, 0, 1, 0, 0], [0, 2, 0, 0, 0], [1, 0, 0, 2, 0], [0, 0, 0, 0, 1]],
        },
    });
    assert_eq!(got, expected);
}

#[test]
fn a_perfect_model_has_a_hundred_everywhere_and_no_false_positives() {
    let truth = [0, 1, 2, 3].map(|row| truth_of(row, 2));
    // The private classes come out in another order: names do not matter.
    let predictions = [
        prediction(0, 0.0, 0, 1.0),
        prediction(1, 0.0, 1, 1.0),
        prediction(3, 1.0, 0, 0.0),
        prediction(2, 1.0, 0, 0.0),
    ];
    let scores = evaluate(&classes(2, 2, 2), &truth, &predictions).unwrap();
    let figures = [
        scores.os_star,
        scores.unk,
        scores.unk_macro,
        scores.hos,
        scores.hos_macro,
        scores.os,
        scores.auroc,
        scores.oscr,
        scores.novel.accuracy,
        scores.novel.nmi,
        scores.novel.ari,
    ];
    assert_eq!(figures, [Some(100.0); 11]);
    assert_eq!(scores.fpr95, Some(0.0));
}

/// Names of the figures that are null.
fn nulls(scores: &Scores) -> Vec<String> {
    let json = serde_json::to_value(scores).unwrap();
    let object = json.as_object().unwrap();
    let novel = object["novel"].as_object().unwrap();
    let absent = |(key, value): (&String, &Value)| value.is_null().then(|| key.clone());
    object.iter().chain(novel).filter_map(absent).collect()
}

#[test]
fn a_closed_set_target_has_no_unknown_figures() {
    let predictions = [prediction(0, 0.1, 0, 0.9), prediction(2, 0.8, 1, 0.1)];
    let truth = [Truth::Known(0), Truth::Known(1)];
    let scores = evaluate(&classes(2, 0, 1), &truth, &predictions).unwrap();
    assert_eq!(scores.os_star, Some(50.0));
    let mut absent = nulls(&scores);
    absent.sort();
    let expected = [
        "accuracy",
        "ari",
        "auroc",
        "fpr95",
        "hos",
        "hos_macro",
        "nmi",
        "os",
        "oscr",
        "unk",
        "unk_macro",
    ];
    assert_eq!(absent, expected);
}

#[test]
fn an_all_private_target_has_no_known_figures() {
    let predictions = [prediction(2, 0.9, 0, 0.1), prediction(0, 0.2, 0, 0.7)];
    let truth = [Truth::Private(0), Truth::Private(0)];
    let scores = evaluate(&classes(2, 1, 1), &truth, &predictions).unwrap();
    assert_eq!((scores.unk, scores.unk_macro), (Some(50.0), Some(50.0)));
    assert_eq!(scores.novel.accuracy, Some(50.0));
    let mut absent = nulls(&scores);
    absent.sort();
    assert_eq!(
        absent,
        [
            "auroc",
            "fpr95",
            "hos",
            "hos_macro",
            "os",
            "os_star",
            "oscr"
        ]
    );
    assert_eq!(scores.per_class[0].accuracy, None);
}

#[test]
fn no_images_is_all_absent() {
    let scores = evaluate(&classes(2, 1, 1), &[], &[]).unwrap();
    assert_eq!(nulls(&scores).len(), 12);
}

#[test]
fn everything_called_unknown_and_nothing_called_unknown_earn_nothing() {
    let truth = [Truth::Known(0), Truth::Private(0)];
    for (label, os_star, unk) in [(1, 0.0, 100.0), (0, 100.0, 0.0)] {
        let predictions = [prediction(label, 0.5, 0, 0.5); 2];
        let scores = evaluate(&classes(1, 1, 1), &truth, &predictions).unwrap();
        assert_eq!((scores.os_star, scores.unk), (Some(os_star), Some(unk)));
        assert_eq!((scores.hos, scores.os), (Some(0.0), Some(50.0)));
    }
}

#[test]
fn without_the_best_known_class_only_oscr_is_absent() {
    let (classes, truth, mut predictions) = small();
    let before = evaluate(&classes, &truth, &predictions).unwrap();
    predictions[3].best_known = None;
    let after = evaluate(&classes, &truth, &predictions).unwrap();
    assert_eq!(
        after,
        Scores {
            oscr: None,
            ..before
        }
    );
}

#[test]
fn probabilities_are_read_as_label_unknown_mass_and_best_known() {
    let read = Prediction::from_probabilities(&[0.25, 0.125, 0.25, 0.375], 2);
    assert_eq!(read, prediction(3, 0.625, 0, 0.25));
    // Ties go to the lowest; without private classes nothing is unknown.
    let closed = Prediction::from_probabilities(&[0.5, 0.5], 2);
    assert_eq!(closed, prediction(0, 0.0, 0, 0.5));
    let open = Prediction::from_probabilities(&[0.5, 0.5], 0);
    assert_eq!(
        open,
        Prediction {
            label: 0,
            unknown: 1.0,
            best_known: None
        }
    );
}

#[test]
fn what_does_not_fit_together_is_refused_with_the_image_named() {
    let (classes, truth, predictions) = small();
    let refuse = |truth: &[Truth], predictions: &[Prediction]| {
        evaluate(&classes, truth, predictions)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refuse(&truth[..7], &predictions),
        "there are 7 labels but 8 predictions"
    );
    let with_truth = |wrong: Truth| {
        let mut truth = truth.clone();
        truth[4] = wrong;
        refuse(&truth, &predictions)
    };
    assert_eq!(
        with_truth(Truth::Known(2)),
        "image 4: its known class has index 2, but there are only 2 (from 0 on)"
    );
    assert_eq!(
        with_truth(Truth::Private(7)),
        "image 4: its private class has index 7, but there are only 2 (from 0 on)"
    );
    let with_prediction = |wrong: Prediction| {
        let mut predictions = predictions.clone();
        predictions[5] = wrong;
        refuse(&truth, &predictions)
    };
    assert_eq!(
        with_prediction(prediction(5, 0.0, 0, 0.0)),
        "image 5: the predicted class has index 5, but there are only 5 (from 0 on)"
    );
    assert_eq!(
        with_prediction(prediction(0, 0.0, 2, 0.0)),
        "image 5: the best known class has index 2, but there are only 2 (from 0 on)"
    );
    assert_eq!(
        with_prediction(prediction(0, f64::NAN, 0, 0.0)),
        "image 5: the unknown score is not a number"
    );
    assert_eq!(
        with_prediction(prediction(0, 0.0, 0, f64::NAN)),
        "image 5: the score of the best known class is not a number"
    );
}

proptest! {
    /// Whatever the images: in range, no NaN, and the means agree with the per-class column.
    #[test]
    fn figures_are_percentages_and_the_order_of_images_does_not_matter(
        images in prop::collection::vec(
            (0usize..5, 0usize..6, -9i32..9, 0usize..3, -9i32..9), 0..40,
        ),
        by in 0usize..40,
    ) {
        let classes = classes(3, 2, 3);
        let mut truth: Vec<_> = images.iter().map(|image| truth_of(image.0, 3)).collect();
        let mut predictions: Vec<_> = images
            .iter()
            .map(|&(_, label, unknown, class, score)| {
                prediction(label, f64::from(unknown) / 9.0, class, f64::from(score) / 9.0)
            })
            .collect();
        let scores = evaluate(&classes, &truth, &predictions).unwrap();
        let novel = &scores.novel;
        let figures = [
            scores.os_star, scores.unk, scores.unk_macro, scores.hos, scores.hos_macro, scores.os,
            scores.auroc, scores.fpr95, scores.oscr, novel.accuracy, novel.nmi,
        ];
        prop_assert!(figures.iter().flatten().all(|figure| (0.0..=100.0 + 1e-9).contains(figure)));
        prop_assert!(novel.ari.is_none_or(|ari| (-50.0..=100.0).contains(&ari)));
        prop_assert!(novel.accuracy.zip(scores.unk).is_none_or(|(a, unk)| a <= unk + 1e-9));
        let column: Vec<f64> =
            scores.per_class[..3].iter().filter_map(|class| class.accuracy).collect();
        assert_close(stats::mean(&column), scores.os_star);

        if !images.is_empty() {
            truth.rotate_left(by % images.len());
            predictions.rotate_left(by % images.len());
        }
        prop_assert_eq!(evaluate(&classes, &truth, &predictions).unwrap(), scores);
    }
}
