//! OS*, UNK, HOS and OS: the figures of the open-set tables.
//!
//! All are functions of how many images each class has and how many of them came out right. For a
//! known class right means predicted as that class; for a private class it means predicted as any
//! private class, because which of them is not a question these figures ask.

/// One class: how many images it has, and how many of them came out right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    /// Images of this true class.
    pub images: u64,
    /// Those that were predicted right.
    pub right: u64,
}

impl Tally {
    /// Share of the images that came out right, in percent; `None` without images.
    pub fn accuracy(&self) -> Option<f64> {
        (self.images > 0).then(|| 100.0 * self.right as f64 / self.images as f64)
    }
}

/// OS*: the mean accuracy over the known classes. **Evaluation metrics, section IV.**
///
/// ```text
/// OS* = 1/C' Σ_c right_c / images_c     over the C' known classes that have images
/// ```
///
/// Each class weighs the same, however many images it has. `None` if no known class has an image.
#[doc(alias = "OS*")]
pub fn os_star(known: &[Tally]) -> Option<f64> {
    mean_accuracy(known)
}

/// UNK: the share of unknown images that were put into any private class. **Evaluation metrics,
/// section IV.**
///
/// ```text
/// UNK = Σ_c right_c / Σ_c images_c     over the private classes
/// ```
///
/// Pooled over images: "unknown" is one class, as the paper's "accuracy of unknown class" has it. A
/// large private class weighs more than a small one; [`unk_macro`] does not have that property.
/// `None` without unknown images.
#[doc(alias = "UNK")]
pub fn unk(private: &[Tally]) -> Option<f64> {
    pooled(private).accuracy()
}

/// The mean over private classes of the share of images put into any private class.
///
/// ```text
/// unk_macro = 1/P' Σ_c right_c / images_c     over the P' private classes that have images
/// ```
///
/// Some papers report this as UNK. It equals [`unk`] when all private classes have the same number
/// of images. `None` without unknown images.
pub fn unk_macro(private: &[Tally]) -> Option<f64> {
    mean_accuracy(private)
}

/// HOS: the harmonic mean of OS* and UNK. **Evaluation metrics, section IV** (Bucci et al., ECCV
/// 2020).
///
/// ```text
/// HOS = 2 · OS* · UNK / (OS* + UNK)
/// ```
///
/// It is 0 as soon as one of the two is 0, so calling everything unknown, or nothing, earns
/// nothing. 0/0 is taken as 0. It never exceeds twice the smaller of the two.
#[doc(alias = "HOS")]
pub fn harmonic_mean(a: f64, b: f64) -> f64 {
    if a + b == 0.0 {
        0.0
    } else {
        2.0 * a * b / (a + b)
    }
}

/// OS: the mean over the known classes and "unknown" as one class more (Panareda Busto and Gall,
/// ICCV 2017).
///
/// ```text
/// OS = (C' · OS* + UNK) / (C' + 1)     C' known classes that have images
/// ```
///
/// With many known classes it hardly notices the unknown ones, which is why HOS replaced it. `None`
/// unless there are both known and unknown images: a mean over fewer kinds of class would be
/// another figure under the same name.
#[doc(alias = "OS")]
pub fn os(known: &[Tally], private: &[Tally]) -> Option<f64> {
    let (os_star, unk) = os_star(known).zip(unk(private))?;
    let classes = known.iter().filter(|tally| tally.images > 0).count() as f64;
    Some((classes * os_star + unk) / (classes + 1.0))
}

/// The mean of the accuracies of those classes that have images.
fn mean_accuracy(classes: &[Tally]) -> Option<f64> {
    let accuracies: Vec<f64> = classes.iter().filter_map(Tally::accuracy).collect();
    (!accuracies.is_empty()).then(|| accuracies.iter().sum::<f64>() / accuracies.len() as f64)
}

/// All classes as one.
fn pooled(classes: &[Tally]) -> Tally {
    let sum = |part: fn(&Tally) -> u64| classes.iter().map(part).sum();
    Tally {
        images: sum(|tally| tally.images),
        right: sum(|tally| tally.right),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_close, classes, fixture, prediction, truth_of};
    use super::super::{Confusion, Truth};
    use super::*;
    use proptest::prelude::*;

    fn tallies(pairs: &[(u64, u64)]) -> Vec<Tally> {
        pairs
            .iter()
            .map(|&(images, right)| Tally { images, right })
            .collect()
    }

    #[test]
    fn by_hand() {
        // Known: 3 of 4 and 1 of 2, mean 62.5. Private: 9 of 10 and 0 of 2, pooled 75, mean 45.
        let known = tallies(&[(4, 3), (2, 1)]);
        let private = tallies(&[(10, 9), (2, 0)]);
        assert_close(os_star(&known), Some(62.5));
        assert_close(unk(&private), Some(75.0));
        assert_close(unk_macro(&private), Some(45.0));
        // 2 · 62.5 · 75 / 137.5
        assert_close(Some(harmonic_mean(62.5, 75.0)), Some(750.0 / 11.0));
        // (75 + 50 + 75) / 3
        assert_close(os(&known, &private), Some(200.0 / 3.0));
    }

    #[test]
    fn the_papers_own_d_to_w_row_does_not_add_up() {
        // Its Office-31 table prints OS* 89.9, UNK 95.7 and HOS 93.2 for D→W; A→D is as printed.
        assert!((harmonic_mean(89.9, 95.7) - 92.7).abs() < 0.05);
        assert!((harmonic_mean(85.7, 93.0) - 89.2).abs() < 0.05);
    }

    #[test]
    fn classes_without_images_count_in_no_mean() {
        let known = tallies(&[(4, 4), (0, 0), (4, 2)]);
        assert_close(os_star(&known), Some(75.0));
        assert_close(os(&known, &tallies(&[(5, 0), (0, 0)])), Some(50.0));
        assert_close(unk_macro(&tallies(&[(0, 0), (5, 5)])), Some(100.0));
        assert_close(
            Tally {
                images: 0,
                right: 0,
            }
            .accuracy(),
            None,
        );
    }

    #[test]
    fn what_does_not_exist_is_none() {
        for none in [tallies(&[]), tallies(&[(0, 0)])] {
            let some = tallies(&[(2, 1)]);
            assert_eq!(
                (os_star(&none), unk(&none), unk_macro(&none)),
                (None, None, None)
            );
            assert_eq!(os(&none, &some), None);
            assert_eq!(os(&some, &none), None);
        }
    }

    #[test]
    fn limits_of_the_harmonic_mean() {
        assert_eq!(harmonic_mean(0.0, 0.0), 0.0);
        assert_eq!(harmonic_mean(100.0, 0.0), 0.0);
        assert_eq!(harmonic_mean(0.0, 100.0), 0.0);
        assert_eq!(harmonic_mean(100.0, 100.0), 100.0);
        assert!((harmonic_mean(100.0, 1e-300) - 2e-300).abs() < 1e-310);
    }

    proptest! {
        #[test]
        fn twin_counts_image_by_image(
            pairs in prop::collection::vec((0usize..5, 0usize..7), 0..50),
        ) {
            // Three known classes, two private ones, four proposed.
            let truth: Vec<_> = pairs.iter().map(|&(t, _)| truth_of(t, 3)).collect();
            let predictions: Vec<_> = pairs.iter().map(|&(_, p)| prediction(p)).collect();
            let confusion = Confusion::count(&classes(3, 2, 4), &truth, &predictions);
            let (known, private) = (confusion.known_tallies(), confusion.private_tallies());

            let share = |of: &dyn Fn(Truth) -> bool, right: &dyn Fn(usize) -> bool| {
                let (mut images, mut hits) = (0.0, 0.0);
                for &(_, p) in pairs.iter().filter(|pair| of(truth_of(pair.0, 3))) {
                    images += 1.0;
                    hits += f64::from(right(p));
                }
                (images > 0.0).then_some(100.0 * hits / images)
            };
            let mean = |values: Vec<f64>| {
                (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
            };
            let each: Vec<f64> = (0..3)
                .filter_map(|c| share(&|t| t == Truth::Known(c), &|p| p == c))
                .collect();
            let each_private: Vec<f64> = (0..2)
                .filter_map(|c| share(&|t| t == Truth::Private(c), &|p| p >= 3))
                .collect();
            let all = share(&|t| matches!(t, Truth::Private(_)), &|p| p >= 3);
            assert_close(os_star(&known), mean(each.clone()));
            assert_close(unk_macro(&private), mean(each_private));
            assert_close(unk(&private), all);
            let with_unknown = (!each.is_empty()).then_some(()).and(all);
            let both = with_unknown.and_then(|u| mean(each.iter().copied().chain([u]).collect()));
            assert_close(os(&known, &private), both);
        }

        #[test]
        fn hos_lies_between_the_smaller_and_twice_the_smaller(a in 0.0..100.0, b in 0.0..100.0) {
            let (hos, least) = (harmonic_mean(a, b), f64::min(a, b));
            let most = f64::min(2.0 * least, f64::max(a, b));
            prop_assert!(hos >= least - 1e-9 && hos <= most + 1e-9);
            prop_assert_eq!(hos, harmonic_mean(b, a));
        }
    }

    #[test]
    fn fixture_open_set() {
        #[derive(serde::Deserialize)]
        struct Case {
            known: usize,
            private: usize,
            proposed: usize,
            truth: Vec<usize>,
            predicted: Vec<usize>,
            os_star: Option<f64>,
            unk: Option<f64>,
            unk_macro: Option<f64>,
            hos: Option<f64>,
            os: Option<f64>,
        }
        let text = include_str!("../../tests/fixtures/metrics/open_set.json");
        for case in fixture::<Case>(text) {
            let truth: Vec<_> = case
                .truth
                .iter()
                .map(|&t| truth_of(t, case.known))
                .collect();
            let predictions: Vec<_> = case.predicted.iter().map(|&p| prediction(p)).collect();
            let classes = classes(case.known, case.private, case.proposed);
            let confusion = Confusion::count(&classes, &truth, &predictions);
            let (known, private) = (confusion.known_tallies(), confusion.private_tallies());
            let (os_star, unk) = (os_star(&known), unk(&private));
            assert_close(os_star, case.os_star);
            assert_close(unk, case.unk);
            assert_close(unk_macro(&private), case.unk_macro);
            assert_close(os_star.zip(unk).map(|(a, b)| harmonic_mean(a, b)), case.hos);
            assert_close(os(&known, &private), case.os);
        }
    }
}
