//! How many new classes?

use serde::{Deserialize, Serialize};

use super::consensus::Consensus;
use super::layers::Layers;
use super::presence::Alignment;

/// What kind of target this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Known and new classes.
    Open,
    /// Known classes only.
    NoNew,
    /// New classes only.
    NoKnown,
}

/// How many new classes, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// P.
    pub private: usize,
    /// It is hardly smaller than this.
    pub low: usize,
    /// It is hardly larger than this.
    pub high: usize,
    /// Known classes, new classes, or both.
    pub kind: Kind,
    /// The reason in words.
    pub reason: String,
    /// [`Alignment::ahead`], where it was measured.
    pub alignment: Option<f64>,
    /// [`Alignment::doubt`], where it was measured.
    #[serde(default)]
    pub doubt: Option<f64>,
    /// Share of the images that are surely new.
    pub surely_new: f64,
    /// How much clusters are to be trusted, from 0 to 1: whether the images most like known classes are nearest to the same class as their clusters.
    #[serde(default = "wholly")]
    pub trust: f64,
}

/// Runs that did not say trusted their clusters.
fn wholly() -> f64 {
    1.0
}

#[cfg(test)]
impl Estimate {
    /// So many new classes, for certain.
    pub fn certain(kind: Kind, private: usize) -> Self {
        Self {
            private,
            low: private,
            high: private,
            kind,
            reason: String::new(),
            alignment: None,
            doubt: None,
            surely_new: 0.0,
            trust: 1.0,
        }
    }
}

/// An image above this is surely new.
const SURELY: f64 = 0.8;

/// With fewer images surely new than this share, there are no new classes.
///
/// Odd images of known classes look new as well: in a study of 300 targets with or without new classes, this line was wrong about seven.
pub(crate) const NO_NEW: f64 = 0.08;

/// Images that stand apart from the others are a new class even if they are fewer.
///
/// Odd images of known classes are all the odder the fewer they are: there are more between 0.3 and 0.6 than above. Images of a new class beside known ones that the model
/// fits well are all above, and hardly any is between. Of twelve targets made of Webcam with ten known classes and one or two new ones, where fewer than 8 % of the images are surely new, it is so in nine; of closed ones
/// never (0.6 and 0.7 times as many above as between for Amazon, no image above for Webcam).
fn apart(novelty: &[f64]) -> bool {
    let share = |low: f64, high: f64| {
        let within = novelty.iter().filter(|&&p| p > low && p <= high);
        within.count() as f64 / novelty.len() as f64
    };
    let above = share(0.6, f64::INFINITY);
    above >= LEAST_APART && above > share(0.3, 0.6)
}

/// With fewer images than this share there is nothing to stand apart.
const LEAST_APART: f64 = 0.03;

/// With more than this on average, there are new classes even if hardly any image is surely new: where a model fits its images loosely, nothing is sure.
///
/// Of targets made of icons with hardly any image surely new, those with new classes have 0.45 and more, those without up to 0.42; being
/// wrong about the first costs all of their new images, about the second some of their known ones.
const LUKEWARM: f64 = 0.36;

/// The same where clusters are [firm](Alignment::FIRM) and the model is [sure](Alignment::sure), as images of known classes are then. Not where missing classes are
/// [deserted](Alignment::deserted): the reason for it is that new images are like these.
///
/// Office-31 without new classes has up to 0.19, with half of the known classes up to 0.37; two of ten known and eleven new classes, of which hardly an image is surely new, as classes that
/// are missing are like them, 0.26 to 0.41. So the line errs both ways, but the other error costs all new images.
const LUKEWARM_IF_FIRM: f64 = 0.28;

/// The say of the layers' count beside the comparison of clusters.
///
/// It knows nothing of prototypes, so it is wrong in other ways, but it leans low on large targets. On 198 targets: off by 2.4 without it, 2.3 with a
/// fifth, 3.4 alone; by images 3.0.
const LAYERS: f64 = 0.2;

/// Where the line between known and new might as well be drawn: the interval.
const LINES: [f64; 2] = [0.35, 0.65];

/// What an estimate is made of.
pub(super) struct Findings<'a> {
    /// With little called new.
    pub cautious: &'a Consensus,
    pub consensus: &'a Consensus,
    pub layers: &'a Layers,
    pub alignment: Option<Alignment>,
    /// How much clusters are to be trusted, from 0 to 1.
    pub trust: f64,
    /// See [`Alignment::absent`].
    pub agreement: f64,
}

impl Findings<'_> {
    /// Counts the new classes by comparison with the known ones, and by the agreement of two layers.
    ///
    /// A new class is taken to be like a known one: spread over about as many clusters of the body's features, and of about as many images. The
    /// first is the estimate, with the layers' count, and as far as clusters are not to be trusted the second; both are in the interval.
    pub fn estimate(&self) -> Estimate {
        let layers = self.layers;
        let images = self.cautious.novelty.len() as f64;
        let surely = self.cautious.novelty.iter().filter(|&&p| p > SURELY);
        let surely = surely.count() as f64 / images;
        let shared = |private, [low, high]: [usize; 2], kind, reason| Estimate {
            private,
            low,
            high,
            kind,
            reason,
            alignment: self.alignment.map(|fit| fit.ahead),
            doubt: self.alignment.map(|fit| fit.doubt),
            surely_new: surely,
            trust: self.trust,
        };
        let few = surely < NO_NEW && !apart(&self.cautious.novelty);
        let alone = few.then_some(self.trust);
        let absent = |fit: &Alignment| fit.absent(alone, self.agreement);
        if let Some(fit) = self.alignment.filter(absent) {
            let (groups, known) = (layers.classes(), fit.known);
            let reason = format!(
                "the known classes fit these images little better than chance (cosine {:.2} on average, {:.2} by chance; better in {:.0} % of all \
                 comparisons): no known classes here; by two layers of the network the images form about {}, but without a known class to compare with that is \
                 half a guess, and the other half is that there are as many new classes as known ones, {known}; it may also be that only a few of them are here: images \
                 that are clearly like one keep its name",
                fit.real,
                fit.by_chance,
                100.0 * fit.ahead,
                counted(groups, "group")
            );
            let private = ((groups * known as f64).sqrt().round() as usize).max(1);
            let range = [private.div_ceil(2), 2 * private];
            return shared(private, range, Kind::NoKnown, reason);
        }
        let at = |line: f64| Sizes::of(self.consensus, line);
        let middle = at(0.5);
        let average = self.cautious.novelty.iter().sum::<f64>() / images;
        let sure = |fit: Alignment| Alignment::sure(fit.doubt) && !fit.deserted();
        let firm = self.trust > Alignment::FIRM && self.alignment.is_some_and(sure);
        let lukewarm = match firm {
            true => LUKEWARM_IF_FIRM,
            false => LUKEWARM,
        };
        if few && average < lukewarm {
            let reason = format!(
                "{:.0} % of the images are surely unlike every known class, no more than odd images of known classes: no new classes here",
                100.0 * surely
            );
            let high = Sizes::of(self.cautious, 0.5).ratio().min(layers.most());
            let high = high.ceil() as usize;
            return shared(0, [0, high], Kind::NoNew, reason);
        }
        // Where hardly a cluster is known as a whole, the comparison knows no bounds.
        let by_clusters = layers.new_over_known(&self.consensus.novelty) * middle.classes();
        let by_clusters = by_clusters.min(layers.most());
        let by_images = match middle.known.is_empty() {
            true => 0.0,
            false => middle.ratio().min(layers.most()),
        };
        let by_layers = layers.private();
        // Where nothing is left for a known class, or no cluster is new as a whole, a comparison says nothing.
        let by_both = match by_layers {
            Some(by_layers) if by_clusters > 0.0 => {
                by_clusters.powf(1.0 - LAYERS) * by_layers.powf(LAYERS)
            }
            Some(by_layers) => by_layers,
            None => by_clusters,
        };
        let mean = match (by_both > 0.0, by_images > 0.0) {
            (true, true) => by_both.powf(self.trust) * by_images.powf(1.0 - self.trust),
            (true, false) => by_both,
            (false, _) => by_images,
        };
        let private = (mean.round() as usize).max(1);
        let [many, few] = LINES.map(|line| at(line).ratio().min(layers.most()));
        let error = middle.standard_error();
        let beside = by_layers.unwrap_or(by_clusters);
        let low = few.min(by_clusters).min(beside) * (1.0 - error);
        let high = many.max(by_clusters).max(beside) * (1.0 + error);
        let [low, high] = [low.floor() as usize, high.ceil() as usize];
        let compared = match middle.known.is_empty() {
            true => "none is like one".to_string(),
            false => format!(
                "a known class has {:.0} images here on average, which makes about {}",
                middle.mean(),
                counted(middle.ratio(), "new class")
            ),
        };
        let by_layers = match by_layers {
            Some(count) => format!(", by two layers of the network about {count:.0}"),
            None => String::new(),
        };
        let reason = format!(
            "{} images look unlike every known class; {compared}; by clusters, new ones beside known ones, there are about {by_clusters:.0}{by_layers}",
            middle.new
        );
        shared(
            private,
            [low.clamp(1, private), high.max(private)],
            Kind::Open,
            reason,
        )
    }
}

/// A number with its noun.
fn counted(number: f64, noun: &str) -> String {
    let plural = match noun.ends_with('s') {
        true => "es",
        false => "s",
    };
    match number.round() {
        1.0 => format!("1 {noun}"),
        number => format!("{number} {noun}{plural}"),
    }
}

/// Images that are new, and those of each known class that has any.
struct Sizes {
    new: usize,
    known: Vec<f64>,
}

impl Sizes {
    /// With images above `line` taken as new.
    fn of(consensus: &Consensus, line: f64) -> Self {
        let classes = 1 + consensus.known.iter().copied().max().unwrap_or(0);
        let mut known = vec![0.0; classes];
        let mut new = 0;
        for (&p, &class) in consensus.novelty.iter().zip(&consensus.known) {
            if p > line {
                new += 1;
            } else {
                known[class] += 1.0;
            }
        }
        known.retain(|&size| size > 0.0);
        Self { new, known }
    }

    fn classes(&self) -> f64 {
        self.known.len() as f64
    }

    fn mean(&self) -> f64 {
        match self.known.len() {
            0 => 1.0,
            count => self.known.iter().sum::<f64>() / count as f64,
        }
    }

    /// New images over the images of a known class.
    fn ratio(&self) -> f64 {
        self.new as f64 / self.mean()
    }

    /// Of the mean, as a share of it.
    fn standard_error(&self) -> f64 {
        let (mean, count) = (self.mean(), self.classes().max(1.0));
        let variance = self
            .known
            .iter()
            .map(|size| (size - mean).powi(2))
            .sum::<f64>()
            / count;
        (variance / count).sqrt() / mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many images of each known class, and of new ones.
    fn target(known: &[usize], new: usize) -> Consensus {
        let mut consensus = Consensus {
            novelty: vec![],
            known: vec![],
        };
        for (class, &size) in known.iter().enumerate() {
            consensus.known.extend(vec![class; size]);
            consensus.novelty.extend(vec![0.1; size]);
        }
        consensus.known.extend(vec![0; new]);
        consensus.novelty.extend(vec![0.9; new]);
        consensus
    }

    /// Prototypes that fit hardly better than chance.
    const MISFIT: Alignment = Alignment {
        ahead: 0.6,
        real: 0.6,
        by_chance: 0.55,
        doubt: 0.9,
        known: 10,
    };

    /// By these layers, with so much trust in clusters.
    fn by(
        consensus: &Consensus,
        layers: &Layers,
        alignment: Option<Alignment>,
        trust: f64,
    ) -> Estimate {
        Findings {
            cautious: consensus,
            consensus,
            layers,
            alignment,
            trust,
            agreement: 0.0,
        }
        .estimate()
    }

    /// With one cluster for every ten images, and layers that are sure of so many groups.
    fn layers(consensus: &Consensus, groups: usize) -> Layers {
        let labels = (0..consensus.known.len()).map(|image| image / 10);
        Layers::certain(groups, 2, labels.collect())
    }

    fn estimate(consensus: Consensus, groups: usize, alignment: Option<Alignment>) -> Estimate {
        by(&consensus, &layers(&consensus, groups), alignment, 1.0)
    }

    #[test]
    fn as_far_as_clusters_are_not_to_be_trusted_images_are_compared() {
        // Two known classes of 45 images. One has clusters of its own, the other a third of each cluster that is new as a whole.
        let mut consensus = target(&[45, 45], 90);
        for image in 45..180 {
            consensus.novelty[image] = if image % 3 == 0 { 0.1 } else { 0.9 };
            consensus.known[image] = 1;
        }
        let layers = layers(&consensus, 7);
        let found = |trust: f64| by(&consensus, &layers, None, trust).private;
        // 90 images at 45 a class; by clusters three times as many.
        assert_eq!(found(0.0), 2);
        assert_eq!((found(0.5), found(1.0)), (3, 5));
        // Where no cluster is new as a whole, a little trust in clusters changes nothing.
        for image in 45..180 {
            consensus.novelty[image] = if image % 5 < 3 { 0.55 } else { 0.1 };
        }
        let found = |trust: f64| by(&consensus, &layers, None, trust).private;
        assert_eq!(found(0.0), found(0.01));
    }

    #[test]
    fn where_clusters_are_firm_and_the_model_is_sure_less_novelty_is_new() {
        let mut lukewarm = target(&[50, 50], 0);
        lukewarm.novelty.fill(0.32);
        let seen = |ahead: f64, doubt: f64, trust: f64| {
            let fit = Alignment {
                ahead,
                doubt,
                ..MISFIT
            };
            by(&lukewarm, &layers(&lukewarm, 4), Some(fit), trust).kind
        };
        let kind = |doubt: f64, trust: f64| seen(0.9, doubt, trust);
        assert_eq!(kind(0.1, 1.0), Kind::Open);
        assert_eq!(kind(0.1, 0.9), Kind::NoNew);
        assert_eq!(kind(0.3, 1.0), Kind::NoNew);
        // Where hardly any image is like a class that is missing, no missing class makes new images look less new.
        assert_eq!(seen(0.75, 0.1, 1.0), Kind::Open);
        assert_eq!(seen(0.65, 0.1, 1.0), Kind::NoNew);
    }

    #[test]
    fn new_classes_are_counted_in_known_ones() {
        let found = estimate(target(&[20, 40], 90), 5, None);
        // Nine clusters at three a class, three groups more than known classes; 90 images at 30 a class.
        assert_eq!((found.kind, found.private), (Kind::Open, 3));
        assert!(
            found.low < 3 && found.high > 3 && found.high < 6,
            "{found:?}"
        );
        assert!(found.reason.contains("90 images look") && found.reason.contains("30 images"));
        assert!(found.reason.contains("about 3 new classes"));
        // 3^0.8 · 24^0.2
        assert_eq!(estimate(target(&[20, 40], 90), 26, None).private, 5);
    }

    #[test]
    fn no_more_are_counted_than_were_looked_for() {
        // One image in five is known, but no cluster of ten is: 20 new ones for at most one known, times two classes.
        let mut scattered = target(&[20, 20], 160);
        for image in 0..200 {
            scattered.novelty[image] = if image % 5 == 0 { 0.1 } else { 0.9 };
            scattered.known[image] = (image / 5) % 2;
        }
        // 14 are looked for beside two known ones: 14^0.8 · 6^0.2, not 40^0.8 · 6^0.2.
        assert_eq!(estimate(scattered, 8, None).private, 12);
    }

    #[test]
    fn one_class_is_one_class() {
        let found = estimate(target(&[30, 30], 30), 3, None);
        assert_eq!(found.private, 1);
        assert!(found.reason.contains("about 1 new class;"), "{found:?}");
    }

    #[test]
    fn a_few_odd_images_are_no_new_class() {
        let mut odd = target(&[50, 50], 8);
        odd.novelty[..9].fill(0.5);
        let found = estimate(odd, 2, None);
        assert_eq!((found.kind, found.private, found.low), (Kind::NoNew, 0, 0));
        assert!(found.reason.contains("no new classes here"));
        assert_eq!(estimate(target(&[50, 50], 20), 2, None).kind, Kind::Open);
        // Nor are there none where every image looks a little new.
        let mut doubtful = target(&[50, 50], 0);
        doubtful.novelty.fill(0.4);
        let found = estimate(doubtful, 4, None);
        assert_eq!(found.kind, Kind::Open);
        // No image is known where the line might as well be drawn: no more than the fourteen that are looked for.
        assert!(found.high <= 14, "{found:?}");
    }

    #[test]
    fn images_that_stand_apart_are_a_new_class_however_few_they_are() {
        // 6 of 100 far from all others are a class; 6 at the end of a slope are odd.
        let mut far = target(&[50, 44], 6);
        assert_eq!(estimate(far.clone(), 3, None).kind, Kind::Open);
        for image in 0..7 {
            far.novelty[image] = 0.4;
        }
        assert_eq!(estimate(far, 3, None).kind, Kind::NoNew);
        assert_eq!(
            estimate(target(&[50, 48], 2), 3, None).kind,
            Kind::NoNew,
            "too few"
        );
    }

    #[test]
    fn layers_that_had_no_room_to_count_say_nothing() {
        // Thirteen clusters is all that may be tried beside ten known classes.
        let known: Vec<usize> = vec![10; 10];
        let consensus = target(&known, 60);
        let labels = (0..160).map(|image| image / 10).collect();
        let found = |layers: &Layers| by(&consensus, layers, None, 1.0);
        let narrow = found(&Layers::certain(11, 10, labels).with_most(13));
        assert_eq!(narrow.private, 6, "{narrow:?}");
        assert!(
            !narrow.reason.contains("layers") && narrow.low >= 4,
            "{narrow:?}"
        );
    }

    #[test]
    fn without_a_known_image_there_is_nothing_to_compare_with() {
        let found = estimate(target(&[], 60), 4, None);
        assert!(found.reason.contains("none is like one"), "{found:?}");
        assert!(found.high <= 14, "{found:?}");
    }

    #[test]
    fn prototypes_that_fit_nothing_are_of_classes_that_are_not_here() {
        let fit = MISFIT;
        let found = estimate(target(&[50, 50], 100), 40, Some(fit));
        // √(40 · 10)
        assert_eq!((found.kind, found.private), (Kind::NoKnown, 20));
        assert!(found.reason.contains("no known classes") && found.low < 20 && found.high > 20);
        assert!(found.reason.contains("clearly like one"));
        // If no image is unlike them, and clusters are to be trusted, some of them are here.
        let few = estimate(target(&[50, 50], 0), 40, Some(fit));
        assert_eq!((few.kind, few.private), (Kind::NoNew, 0));
        let kind = |ahead: f64, new: usize| {
            let fit = Alignment { ahead, ..fit };
            estimate(target(&[50, 50], new), 40, Some(fit)).kind
        };
        assert_eq!(kind(0.78, 100), Kind::NoKnown);
        assert_eq!(kind(0.81, 100), Kind::Open);
        assert_eq!(kind(0.9, 0), Kind::NoNew);
    }
}
