//! Can the result be believed? A verdict without labels.

mod contrast;
mod density;

use serde::{Deserialize, Serialize};

pub use contrast::FirstLayer;
pub use density::neighbourhood_density;

use crate::discovery::{Alignment, Discovery};
use crate::error::Result;
use crate::run::{RunFolder, read_json, write_json};

/// What a user can act on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All signs are as they should be.
    Good,
    /// Look before you trust it.
    Doubtful,
    /// It would do harm: the predictions from before the adaptation are kept instead.
    Harmful,
}

impl Verdict {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Doubtful => "doubtful",
            Self::Harmful => "harmful",
        }
    }
}

/// What can be seen without labels, each a share of the images unless it says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Signs {
    /// How much the images stir the first layer of the network, beside those it was trained on: [`FirstLayer::contrast`].
    #[serde(default)]
    pub contrast: Option<f64>,
    /// In how many comparisons with chance the known classes are nearer to the images: [`Alignment::ahead`].
    pub alignment: Option<f64>,
    /// How much the model doubts, beside models that know nothing of the images: [`Alignment::doubt`].
    #[serde(default)]
    pub doubt: Option<f64>,
    /// Images that two looks with other draws put into the same known class, or both call new: [`stability`].
    pub stability: Option<f64>,
    /// Known classes, of those with images, whose match looks arbitrary.
    pub arbitrary: Option<f64>,
    /// How many images are like an image after the adaptation, compared with how many there were in its cluster at the start: the exponential
    /// of the difference of two [densities](neighbourhood_density), so 1 where nothing changed; none for a single image.
    pub density: Option<f64>,
    /// Images whose classifier and neighbours agree.
    pub agreement: f64,
    /// Images that are in the class they started in.
    pub kept: f64,
    /// Images whose label changed in the last epoch.
    pub restless: f64,
    /// Images in the largest class.
    pub largest: f64,
}

/// `verdict.json`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// The verdict.
    pub verdict: Verdict,
    /// Why, in words; empty where all is well.
    pub reasons: Vec<String>,
    /// What was seen.
    pub signs: Signs,
    /// Whose predictions the run has.
    pub predictions: Predictions,
}

/// Whose predictions a run has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Predictions {
    /// The adapted model's.
    Adapted,
    /// Those of the model as it started, from the clustering: the adaptation went wrong, or known classes hardly fit.
    Clustering,
    /// The source model's, with new images where it is undecided: there was nothing to start from.
    Source,
}

/// How a sign is read: beyond which value it is doubtful, and beyond which harmful.
struct Reading {
    /// Whether it says that the clustering is worth nothing either.
    of_start: bool,
    value: Option<f64>,
    /// Whether small values are the bad ones.
    low_is_bad: bool,
    doubtful: f64,
    harmful: f64,
    words: fn(f64) -> String,
}

impl Reading {
    fn verdict(&self) -> Verdict {
        let Some(value) = self.value else {
            return Verdict::Good;
        };
        let beyond = |limit: f64| (value < limit) == self.low_is_bad && value != limit;
        if beyond(self.harmful) {
            Verdict::Harmful
        } else if beyond(self.doubtful) {
            Verdict::Doubtful
        } else {
            Verdict::Good
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

impl Signs {
    /// The limits, set on the development split and on set-ups broken on purpose there; docs/RESULTS.md has both.
    fn readings(&self, known: usize) -> [Reading; 9] {
        let doubtful = Alignment::weak(known);
        [
            Reading {
                of_start: false,
                value: self.contrast.map(|times| times.max(1.0 / times)),
                low_is_bad: false,
                doubtful: 6.0,
                // Whether it does harm, others see.
                harmful: f64::INFINITY,
                words: if self.contrast > Some(1.0) {
                    |x| {
                        format!(
                            "the images stir the first layer of the network {x:.0} times as much as those it was trained on: are pixels divided by 255, and by \
                             their deviation, as in its training?"
                        )
                    }
                } else {
                    |x| {
                        format!(
                            "the images stir the first layer of the network {x:.0} times less than those it was trained on: are mean and deviation of the pixels \
                             those of its training?"
                        )
                    }
                },
            },
            Reading {
                of_start: self.doubt.is_some_and(Alignment::knows_nothing),
                value: self.alignment,
                low_is_bad: true,
                doubtful,
                harmful: match known < Alignment::ENOUGH || self.sure() {
                    true => 0.0,
                    false => 0.5 * (0.5 + doubtful),
                },
                words: |x| {
                    format!(
                        "the known classes are nearer to these images than chance would have it in {} of all comparisons only: \
                             is this the right model, with the right preprocessing, and are most of its classes here?",
                        percent(x)
                    )
                },
            },
            Reading {
                of_start: true,
                value: self.stability,
                low_is_bad: true,
                doubtful: 0.75,
                harmful: 0.5,
                words: |x| {
                    format!(
                        "two clusterings agree about {} of the images only",
                        percent(x)
                    )
                },
            },
            Reading {
                of_start: true,
                value: self.arbitrary,
                low_is_bad: false,
                doubtful: 0.3,
                harmful: 0.6,
                words: |x| {
                    format!(
                        "{} of the known classes are about as near to the clusters of other classes as to their own",
                        percent(x)
                    )
                },
            },
            Reading {
                of_start: false,
                value: self.density.map(|times| times.max(1.0 / times)),
                low_is_bad: false,
                doubtful: 1.5,
                harmful: 2.0,
                words: if self.density > Some(1.0) {
                    |x| {
                        format!(
                            "images that were in different clusters have run together: {x:.1} times as many are alike as at the start"
                        )
                    }
                } else {
                    |x| {
                        format!(
                            "images that were in one cluster are scattered: {x:.1} times fewer are alike than at the start"
                        )
                    }
                },
            },
            Reading {
                of_start: false,
                value: Some(self.agreement),
                low_is_bad: true,
                doubtful: 0.8,
                harmful: 0.6,
                words: |x| {
                    format!(
                        "classifier and neighbours agree about {} of the images only",
                        percent(x)
                    )
                },
            },
            Reading {
                of_start: false,
                value: Some(self.kept),
                low_is_bad: true,
                doubtful: 0.85,
                harmful: 0.5,
                words: |x| {
                    format!(
                        "only {} of the images are still in the class they started in",
                        percent(x)
                    )
                },
            },
            Reading {
                of_start: false,
                value: Some(self.restless),
                low_is_bad: false,
                doubtful: 0.1,
                harmful: 0.3,
                words: |x| {
                    format!(
                        "{} of the images changed their label in the last epoch",
                        percent(x)
                    )
                },
            },
            Reading {
                of_start: false,
                value: Some(self.largest),
                low_is_bad: false,
                doubtful: 0.8,
                harmful: 0.95,
                words: |x| format!("collapse: {} of the images ended in one class", percent(x)),
            },
        ]
    }

    /// Whether the model knows some of the images, however few of its classes are here.
    fn sure(&self) -> bool {
        self.doubt.is_some_and(Alignment::sure)
    }

    /// What they add up to, for a model with so many known classes: the worst of them.
    pub fn judge(&self, known: usize) -> Health {
        let mut verdict = Verdict::Good;
        let mut reasons = Vec::new();
        let mut predictions = Predictions::Adapted;
        for reading in self.readings(known) {
            let read = reading.verdict();
            verdict = verdict.max(read);
            if let Some(value) = reading.value.filter(|_| read > Verdict::Good) {
                reasons.push((reading.words)(value));
            }
            if read == Verdict::Harmful && predictions != Predictions::Source {
                predictions = match reading.of_start {
                    true => Predictions::Source,
                    false => Predictions::Clustering,
                };
            }
        }
        // What learns from images that hardly fit its classes learns something else: of 12 targets of drawings with less than this, adaptation lost to its
        // own clustering on 9, and 3.8 HOS on average.
        let unsure = known >= Alignment::ENOUGH && !self.sure();
        let weak = |ahead| unsure && ahead < Alignment::present(known);
        if predictions == Predictions::Adapted && self.alignment.is_some_and(weak) {
            predictions = Predictions::Clustering;
        }
        Health {
            verdict,
            reasons,
            signs: *self,
            predictions,
        }
    }
}

/// Share of the images that two discoveries with other draws put into the same known class, or both call new: the mean over each and the next. None where there
/// are not two.
pub fn stability(looks: &[Discovery]) -> Option<f64> {
    let pairs = looks.windows(2);
    let count = pairs.len();
    let same = pairs.map(|pair| share_equal(&decisions(&pair[0]), &decisions(&pair[1])));
    (count > 0).then(|| same.sum::<f64>() / count as f64)
}

/// The known class of each image, or none if it is new.
fn decisions(found: &Discovery) -> Vec<Option<usize>> {
    let images = found.novelty.iter().zip(&found.known);
    images
        .map(|(&novelty, &class)| (novelty <= 0.5).then_some(class))
        .collect()
}

/// Share of positions where both say the same.
pub fn share_equal<T: PartialEq>(a: &[T], b: &[T]) -> f64 {
    let same = a.iter().zip(b).filter(|(a, b)| a == b).count();
    same as f64 / a.len().max(1) as f64
}

impl Health {
    /// Of a run with too few images to count new classes: as many clusters as classes that there might be are no start to keep, and what learned from them is no
    /// better if nobody asked for so many.
    ///
    /// Of six targets made of DSLR with five of ten known classes and nothing new, fewer than 80 images, five ended 52 to 69 points of OS* below their source model.
    pub fn uncounted(&mut self, unasked: bool) {
        match self.predictions {
            Predictions::Adapted if !unasked => return,
            _ => self.predictions = Predictions::Source,
        }
        self.verdict = self.verdict.max(Verdict::Doubtful);
        self.reasons
            .push("there are too few images to tell how many new classes there are".to_string());
    }

    /// Writes it, whole or not at all.
    pub fn write(&self, folder: &RunFolder) -> Result<()> {
        write_json(&folder.verdict(), "write the verdict", self)
    }

    /// That of a finished run, if it has one.
    pub fn read(folder: &RunFolder) -> Result<Option<Self>> {
        let path = folder.verdict();
        let read = || read_json(&path, "read the verdict", "adapt");
        path.is_file().then(read).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::{Estimate, Kind};

    const WELL: Signs = Signs {
        contrast: Some(0.8),
        alignment: Some(0.95),
        doubt: Some(0.3),
        stability: Some(0.95),
        arbitrary: Some(0.0),
        density: Some(1.1),
        agreement: 0.97,
        kept: 0.93,
        restless: 0.01,
        largest: 0.1,
    };

    #[test]
    fn looks_are_compared_each_with_the_next() {
        let look = |novelty: [f32; 4], known: [usize; 4]| Discovery {
            novelty: novelty.to_vec(),
            known: known.to_vec(),
            presence: None,
            estimate: Estimate::certain(Kind::Open, 1),
        };
        // The second calls an image new that is known to the first; the third agrees about new images, and has another class for one.
        let one = look([0.1, 0.2, 0.9, 0.9], [0, 1, 0, 0]);
        let two = look([0.1, 0.7, 0.9, 0.8], [0, 1, 1, 0]);
        let three = look([0.4, 0.7, 0.6, 0.3], [1, 1, 1, 0]);
        assert_eq!(stability(&[one.clone(), two.clone()]), Some(0.75));
        assert_eq!(stability(&[two.clone(), three.clone()]), Some(0.5));
        assert_eq!(stability(&[one.clone(), two, three]), Some(0.625));
        assert_eq!(stability(&[one]), None);
    }

    #[test]
    fn few_known_classes_that_fit_badly_are_a_reason_to_doubt_and_no_more() {
        let misfit = Signs {
            alignment: Some(0.4),
            ..WELL
        };
        assert_eq!(misfit.judge(4).verdict, Verdict::Doubtful);
        assert_eq!(misfit.judge(5).verdict, Verdict::Harmful);
    }

    #[test]
    fn where_nothing_can_be_counted_the_source_model_is_kept_unless_a_number_was_asked_for() {
        let of = |signs: Signs, unasked: bool| {
            let mut health = signs.judge(10);
            health.uncounted(unasked);
            (health.verdict, health.predictions, health.reasons.len())
        };
        assert_eq!(of(WELL, true), (Verdict::Doubtful, Predictions::Source, 1));
        assert_eq!(of(WELL, false), (Verdict::Good, Predictions::Adapted, 0));
        let broken = Signs {
            restless: 0.5,
            ..WELL
        };
        for unasked in [true, false] {
            assert_eq!(
                of(broken, unasked),
                (Verdict::Harmful, Predictions::Source, 2)
            );
        }
    }

    #[test]
    fn classes_that_fit_badly_do_no_harm_if_the_model_is_sure() {
        let missing = Signs {
            alignment: Some(0.6),
            doubt: Some(0.1),
            ..WELL
        };
        let health = missing.judge(10);
        assert_eq!(health.verdict, Verdict::Doubtful);
        assert_eq!(health.predictions, Predictions::Adapted);
        for (doubt, kept) in [
            (Some(0.3), Predictions::Clustering),
            (Some(0.94), Predictions::Clustering),
            (None, Predictions::Clustering),
            // What a model that knows nothing of the images led to is no better than itself.
            (Some(0.99), Predictions::Source),
        ] {
            let health = Signs { doubt, ..missing }.judge(10);
            assert_eq!(health.verdict, Verdict::Harmful);
            assert_eq!(health.predictions, kept);
        }
    }

    #[test]
    fn the_worst_sign_decides() {
        let read = |signs: Signs| (signs.judge(10).verdict, signs.judge(10).predictions);
        let well = WELL.judge(10);
        assert_eq!(read(WELL), (Verdict::Good, Predictions::Adapted));
        assert!(well.reasons.is_empty());
        let unsure = Signs { kept: 0.8, ..WELL };
        assert_eq!(read(unsure), (Verdict::Doubtful, Predictions::Adapted));
        assert!(unsure.judge(10).reasons[0].contains("80 %"));
        // Where the known classes may not be here, the start is the better guess.
        let aligned = |ahead: f64| Signs {
            alignment: Some(ahead),
            ..WELL
        };
        assert_eq!(
            read(aligned(0.75)),
            (Verdict::Doubtful, Predictions::Clustering)
        );
        assert_eq!(
            read(aligned(0.8)),
            (Verdict::Doubtful, Predictions::Adapted)
        );
        let broken = Signs {
            restless: 0.5,
            ..unsure
        };
        assert_eq!(read(broken), (Verdict::Harmful, Predictions::Clustering));
        assert_eq!(broken.judge(10).reasons.len(), 2);
        // Where the clustering is arbitrary, what came of it does not matter.
        let mismatched = Signs {
            stability: Some(0.3),
            ..broken
        };
        assert_eq!(read(mismatched), (Verdict::Harmful, Predictions::Source));
    }

    #[test]
    fn known_classes_must_fit_better_than_chance() {
        let read = |alignment: f64| {
            let alignment = Some(alignment);
            Signs { alignment, ..WELL }.judge(10)
        };
        assert_eq!(read(0.85).verdict, Verdict::Good);
        assert_eq!(read(0.75).verdict, Verdict::Doubtful);
        assert!(read(0.75).reasons[0].contains("75 % of all comparisons"));
        assert_eq!(read(0.5).verdict, Verdict::Harmful);
    }

    #[test]
    fn another_scale_of_pixels_is_a_reason_to_doubt() {
        let read = |contrast: f64| {
            let contrast = Some(contrast);
            Signs { contrast, ..WELL }.judge(10)
        };
        assert_eq!(read(3.0).verdict, Verdict::Good);
        assert_eq!(read(0.3).verdict, Verdict::Good);
        let (flat, loud) = (read(0.05), read(65025.0));
        assert_eq!(flat.verdict, Verdict::Doubtful);
        assert!(flat.reasons[0].contains("20 times less"), "{flat:?}");
        assert_eq!(loud.verdict, Verdict::Doubtful);
        assert!(loud.reasons[0].contains("65025 times as much"), "{loud:?}");
    }

    #[test]
    fn arbitrary_matches_leave_the_source_model_alone() {
        let read = |arbitrary: f64| {
            let arbitrary = Some(arbitrary);
            Signs { arbitrary, ..WELL }.judge(10)
        };
        assert_eq!(read(0.2).verdict, Verdict::Good);
        assert_eq!(read(0.4).verdict, Verdict::Doubtful);
        assert!(read(0.4).reasons[0].starts_with("40 % of the known classes"));
        let broken = read(0.8);
        assert_eq!(
            (broken.verdict, broken.predictions),
            (Verdict::Harmful, Predictions::Source)
        );
    }

    #[test]
    fn neighbourhoods_that_grew_or_shrank_are_told_apart() {
        let read = |density: f64| {
            let density = Some(density);
            Signs { density, ..WELL }.judge(10)
        };
        assert_eq!(read(1.2).verdict, Verdict::Good);
        assert_eq!(read(0.8).verdict, Verdict::Good);
        let (grown, shrunk) = (read(3.0), read(0.4));
        for broken in [&grown, &shrunk] {
            assert_eq!(broken.verdict, Verdict::Harmful);
            assert_eq!(broken.predictions, Predictions::Clustering);
        }
        assert!(grown.reasons[0].contains("run together: 3.0 times"));
        assert!(shrunk.reasons[0].contains("scattered: 2.5 times"));
        assert_eq!(read(0.6).verdict, Verdict::Doubtful);
    }

    #[test]
    fn a_sign_that_could_not_be_seen_says_nothing() {
        let blind = Signs {
            contrast: None,
            alignment: None,
            stability: None,
            arbitrary: None,
            density: None,
            ..WELL
        };
        assert_eq!(blind.judge(10).verdict, Verdict::Good);
    }
}
