//! Which labels of two runs mean the same.
//!
//! A known class has the same name everywhere. The numbers of discovered classes are arbitrary: what
//! is `unknown-1` in one run may be `unknown-4` in another. So the discovered classes of each run are
//! paired with those of the first by the images they share.

use std::collections::BTreeMap;

use super::{ComparedImage, Comparison};

/// How far the runs agree.
pub struct Agreement {
    /// For each run and each of its classes, the class of the first run that means the same: its
    /// index, or `None` if there is none.
    pub meaning: Vec<Vec<Option<usize>>>,
    /// Images that more than one run has seen.
    pub shared: usize,
    /// Those of them that have not the same label in all, the surest contradictions first.
    pub differing: Vec<usize>,
    /// For each run: images it shares with the first, and how many of them have the same label.
    pub with_first: Vec<(usize, usize)>,
}

impl Agreement {
    pub fn of(comparison: &Comparison) -> Self {
        let runs = comparison.runs.len();
        let meaning: Vec<_> = (0..runs).map(|run| meaning(comparison, run)).collect();
        let means = |image: &ComparedImage, run: usize| -> Option<Label> {
            let class = image.labels.get(run).copied().flatten()?.class;
            let same = meaning[run].get(class).copied().flatten();
            Some(same.map_or(Label::Own(run, class), Label::First))
        };
        let seen = |image: &ComparedImage| {
            (0..runs)
                .filter_map(|run| means(image, run))
                .collect::<Vec<_>>()
        };
        let differs = |image: &ComparedImage| seen(image).windows(2).any(|pair| pair[0] != pair[1]);
        let mut differing: Vec<usize> = (0..comparison.images.len())
            .filter(|&i| differs(&comparison.images[i]))
            .collect();
        let sureness = |i: usize| {
            let labels = comparison.images[i].labels.iter().flatten();
            labels.map(|label| label.confidence).fold(1.0, f64::min)
        };
        differing.sort_by(|&a, &b| sureness(b).total_cmp(&sureness(a)));
        let with_first = |run: usize| {
            let both = comparison
                .images
                .iter()
                .filter_map(|image| Some((means(image, 0)?, means(image, run)?)));
            both.fold((0, 0), |(all, same), (a, b)| {
                (all + 1, same + usize::from(a == b))
            })
        };
        Self {
            shared: comparison
                .images
                .iter()
                .filter(|image| seen(image).len() > 1)
                .count(),
            with_first: (0..runs).map(with_first).collect(),
            differing,
            meaning,
        }
    }
}

/// A label that can be compared with that of another run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Label {
    /// The same as this class of the first run.
    First(usize),
    /// This class of this run, which no class of the first run is like.
    Own(usize, usize),
}

fn meaning(comparison: &Comparison, run: usize) -> Vec<Option<usize>> {
    let (first, own) = (&comparison.runs[0], &comparison.runs[run]);
    let known = own.classes.iter().take(own.known);
    let mut meaning: Vec<Option<usize>> = known
        .map(|name| {
            first
                .classes
                .iter()
                .take(first.known)
                .position(|other| other == name)
        })
        .collect();
    meaning.resize(own.classes.len(), None);
    // The pair with the most images first; each class is paired once.
    let mut shared: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for image in &comparison.images {
        let label = |run: usize| Some(image.labels.get(run).copied().flatten()?.class);
        if let (Some(a), Some(b)) = (label(0), label(run))
            && (first.known..first.classes.len()).contains(&a)
            && (own.known..own.classes.len()).contains(&b)
        {
            *shared.entry((a, b)).or_default() += 1;
        }
    }
    let mut pairs: Vec<_> = shared.into_iter().collect();
    pairs.sort_by_key(|&(_, images)| std::cmp::Reverse(images));
    let mut taken = vec![false; first.classes.len()];
    for ((a, b), _) in pairs {
        if !taken[a] && meaning[b].is_none() {
            (taken[a], meaning[b]) = (true, Some(a));
        }
    }
    meaning
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::comparison;

    #[test]
    fn discovered_classes_are_paired_by_their_images() {
        let mut comparison = comparison();
        let agreement = Agreement::of(&comparison);
        // cat and dog by name; unknown-1 of the second run is unknown-2 of the first.
        assert_eq!(
            agreement.meaning,
            [
                [Some(0), Some(1), Some(2), Some(3)],
                [Some(0), Some(1), Some(3), None],
            ]
        );
        assert_eq!(agreement.shared, 5);
        assert_eq!(agreement.differing, [4, 1]);
        assert_eq!(agreement.with_first, [(5, 5), (5, 3)]);
        comparison.runs[1].classes[0] = "wolf".to_owned();
        assert_eq!(Agreement::of(&comparison).meaning[1][0], None);
    }

    #[test]
    fn an_image_that_one_run_has_not_seen_does_not_differ() {
        let mut comparison = comparison();
        comparison
            .images
            .iter_mut()
            .for_each(|image| image.labels[1] = None);
        let agreement = Agreement::of(&comparison);
        assert_eq!((agreement.shared, agreement.differing.len()), (0, 0));
        comparison
            .images
            .iter_mut()
            .for_each(|image| image.labels.clear());
        assert_eq!(Agreement::of(&comparison).with_first, [(0, 0), (0, 0)]);
    }
}
