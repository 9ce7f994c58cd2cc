//! How many new classes are there, and which images are new? Beyond the paper, which takes P = C and calls it arbitrary.
//!
//! The paper gives each known class the one cluster that matches it best and calls every other cluster new. With few
//! clusters a known and a new class share one; with many, a known class is cut in pieces and all but one of them count
//! as new. Here the target is cut into about twice as many clusters as there are classes, several times over, and a cluster belongs to a known class
//! if it lies close to it, whether or not another lies closer. How many classes there are is what is asked: the first looks only find that out.
//!
//! ```text
//! features ─┬ fine clusterings ─ evidence of each cluster ─┬─ consensus over clusterings and neighbours ─ novelty of each image
//!           │       ↑                                      ├─ count: how many classes
//!           │       └────────── so many classes ───────────┘
//!           ├ images: the same of each image by itself, which counts as far as clusters are not to be trusted
//!           ├ layers: clusters by one layer, judged by another: how many classes, and a say in novelty and count
//!           └ presence: do the prototypes fit these images at all, and which of them do? What is like a class that is not here is new.
//! ```
//!
//! Nothing here knows a label. docs/RESULTS.md has the study behind the constants and what they were measured on.

mod consensus;
mod count;
mod division;
mod doubt;
mod evidence;
mod images;
mod layers;
mod presence;
mod rows;
mod turned;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use burn::tensor::Device;
use serde::{Deserialize, Serialize};

pub use consensus::Consensus;
pub(crate) use count::NO_NEW;
pub use count::{Estimate, Kind};
pub use evidence::Evidence;
pub use presence::Alignment;

use crate::adapt::matrix;
use crate::weights::Array;
use consensus::{Neighbourhoods, Opinion};
use count::Findings;
use division::Cosines;
use evidence::FineClustering;
use images::Images;
use layers::Layers;
use rows::{Rows, correlation};

/// Clusters for each class, known or new, in each of the fine clusterings.
///
/// With fewer, known and new classes share clusters and pass for known; with more, known classes are cut into pieces of which only the best looks known.
const GRANULARITIES: [f64; 4] = [1.2, 1.6, 2.0, 2.4];

/// Those of a first look, whose only purpose is to know how many classes there are.
const FIRST_LOOK: [f64; 2] = [1.6, 2.0];

/// First looks, each with the number of classes in mind that the one before leads to.
const FIRST_LOOKS: usize = 3;

/// Classes for each known one in most targets, and the say of this beside what was counted: a count that makes itself true goes astray.
const TYPICAL: f64 = 2.3;
const TYPICAL_SAY: f64 = 0.5;

/// Images for each cluster that there must be on average.
const IMAGES_PER_CLUSTER: usize = 4;

/// The support at which a cluster is as likely new as known.
///
/// The best cluster of a class has 2.3. With less than this, new classes that look a little like a known one go to it: the more new classes there are,
/// the more of them do.
const EVEN: f64 = 1.85;

/// The same where it is in question whether there are new classes at all.
const CAUTIOUS: f64 = 1.745;

/// The say of prototypes matched one to one, beside the evidence.
const LAYERS: f64 = 0.2;

/// Features of all images, less what they have in common, of unit length.
struct Target {
    /// Of the source model: near a prototype is the class.
    features: Rows,
    /// How long these were.
    lengths: Vec<f64>,
    /// Of its body. The bottleneck was taught to tell known classes apart and draws everything, new classes too, towards
    /// them, the more the longer it was trained; the body, pretrained on many classes, does so far less.
    body: Rows,
}

impl Target {
    /// Both, with equal say: [N, D + ·].
    fn both(&self) -> Array {
        let rows = self.features.iter().zip(self.body.iter());
        let half = std::f64::consts::FRAC_1_SQRT_2;
        let values = rows.flat_map(|(a, b)| a.iter().chain(b).map(|&x| (half * x) as f32));
        Array {
            shape: vec![self.features.len(), self.features.width + self.body.width],
            values: values.collect(),
        }
    }
}

/// What there is to discover in a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Discovery {
    /// Of each image, how probable it is that its class is new.
    pub novelty: Vec<f32>,
    /// Of each image, the known class it would be.
    pub known: Vec<usize>,
    /// How probable it is of each known class that it is here at all, if that can be told: C.
    pub presence: Option<Vec<f64>>,
    /// How many new classes, and why.
    pub estimate: Estimate,
}

impl Discovery {
    /// What several looks with other draws say together: what depends on the draws is no finding. None of no looks.
    ///
    /// Of the looks that see the kind of target that most of them see, the mean novelty, the known class that most of them name and the middle count. That there are no known classes is said
    /// if a quarter of the looks see it, those of one of four views: it changes no image's label. That there are no new ones must be seen by more looks than see some: being wrong about that costs all of their
    /// images.
    pub fn together(mut looks: Vec<Self>) -> Option<Self> {
        let seen = |kind: Kind| {
            let same = looks.iter().filter(|look| look.estimate.kind == kind);
            same.count()
        };
        let kind = if 4 * seen(Kind::NoKnown) >= looks.len() {
            Kind::NoKnown
        } else if seen(Kind::NoNew) > seen(Kind::Open) {
            Kind::NoNew
        } else {
            Kind::Open
        };
        looks.retain(|look| look.estimate.kind == kind);
        looks.sort_by_key(|look| look.estimate.private);
        let (fewest, most) = (looks.first()?, looks.last()?);
        let (fewest, most) = (fewest.estimate.private, most.estimate.private);
        let mean = |image: usize| {
            let sum: f32 = looks.iter().map(|look| look.novelty[image]).sum();
            sum / looks.len() as f32
        };
        let images = 0..looks[0].novelty.len();
        let novelty = images.clone().map(mean).collect();
        let known = images.map(|image| most_named(looks.iter().map(|look| look.known[image])));
        let known = known.collect();
        let presence = mean_presence(&looks);
        let mut middle = looks.swap_remove((looks.len() - 1) / 2);
        let estimate = &mut middle.estimate;
        estimate.low = estimate.low.min(fewest);
        estimate.high = estimate.high.max(most);
        Some(Self {
            novelty,
            known,
            presence,
            ..middle
        })
    }
}

/// The class that is named most often; of equals the first.
fn most_named(classes: impl Iterator<Item = usize>) -> usize {
    let mut votes = BTreeMap::new();
    classes.for_each(|class| *votes.entry(class).or_insert(0) += 1);
    let most = votes
        .iter()
        .max_by_key(|&(&class, &count)| (count, Reverse(class)));
    *most.expect("at least one look").0
}

/// By the looks that could tell.
fn mean_presence(looks: &[Discovery]) -> Option<Vec<f64>> {
    let told: Vec<&Vec<f64>> = looks.iter().filter_map(|l| l.presence.as_ref()).collect();
    let classes = 0..told.first()?.len();
    let mean = |class| told.iter().map(|p| p[class]).sum::<f64>() / told.len() as f64;
    Some(classes.map(mean).collect())
}

/// Looks for new classes among images with these features, once for each seed.
///
/// None where there are too few images for fine clusters, fewer than eight for each known class or sixteen in all, or features that are not finite.
///
/// # Shapes
///
/// `features` [N, D] of the source model, `body` [N, ·] of its body, `prototypes` [C, D]
pub fn discover(
    features: &Array,
    body: &Array,
    prototypes: &Array,
    seeds: &[u64],
    device: &Device,
) -> Option<Vec<Discovery>> {
    let (images, known) = (features.shape[0], prototypes.shape[0]);
    let finite = |array: &Array| array.values.iter().all(|x| x.is_finite());
    let all = [features, body, prototypes];
    if images / IMAGES_PER_CLUSTER < 2 * known.max(2) || !all.into_iter().all(finite) {
        return None;
    }
    let scene = Scene::of(features, body, prototypes, device);
    let look = |&seed: &u64| Search::new(&scene, seed).discovery();
    Some(seeds.iter().map(look).collect())
}

/// What does not depend on any draw.
struct Scene {
    target: Target,
    prototypes: Rows,
    /// By features of the model and of its body, with equal say.
    both: Cosines,
    /// By features of the body.
    body: Cosines,
    device: Device,
    neighbourhoods: Neighbourhoods,
    /// What speaks for each image by itself, and the opinion that makes.
    images: Images,
    alone: Opinion,
    alignment: Option<Alignment>,
    /// How probable it is of each known class that it is here, if that can be told.
    presence: Option<Vec<f64>>,
}

impl Scene {
    fn of(features: &Array, body: &Array, prototypes: &Array, device: &Device) -> Self {
        let known = prototypes.shape[0];
        let centred = Rows::of(features).centred();
        let target = Target {
            lengths: centred.lengths(),
            features: centred.unit(),
            body: Rows::of(body).centred().unit(),
        };
        // A single prototype has no centre to be told from.
        let as_long = match known {
            1 => Rows::of(prototypes),
            _ => Rows::of(prototypes).centred(),
        };
        let prototypes = as_long.unit();
        let both = matrix(&target.both(), device);
        let neighbourhoods = Neighbourhoods::of(&both);
        let Rows { values, width } = &target.features;
        let smooth = Rows {
            values: neighbourhoods
                .only(presence::NEIGHBOURS)
                .smooth(values, *width),
            width: *width,
        };
        let images = Images::new(&target.features, &prototypes);
        let alignment = presence::alignment(&centred, &smooth, &as_long);
        let presence = presence::presence(&images.best, alignment);
        Self {
            both: Cosines::of(&both),
            body: Cosines::of(&matrix(&target.body.array(), device)),
            device: device.clone(),
            alone: images.opinion(&neighbourhoods),
            images,
            neighbourhoods,
            alignment,
            presence,
            target,
            prototypes,
        }
    }

    /// An opinion, given which known classes are here.
    fn given(&self, opinion: Opinion) -> Opinion {
        match &self.presence {
            Some(presence) => opinion.given(presence),
            None => opinion,
        }
    }
}

/// One search, with draws of its own.
struct Search<'a> {
    scene: &'a Scene,
    layers: Layers,
    /// What prototypes matched with clusters one to one say.
    matched: Opinion,
    seed: u64,
}

impl<'a> Search<'a> {
    fn new(scene: &'a Scene, seed: u64) -> Self {
        let (target, prototypes) = (&scene.target, &scene.prototypes);
        let layers = Layers::of(
            &target.features,
            &scene.body,
            prototypes.len(),
            seed,
            &scene.device,
        );
        Self {
            matched: layers.opinion(target, prototypes),
            layers,
            scene,
            seed,
        }
    }

    fn discovery(&self) -> Discovery {
        let known = self.scene.prototypes.len();
        let mut classes = TYPICAL * known as f64;
        for _ in 0..FIRST_LOOKS {
            let found = self.look(classes, &FIRST_LOOK).estimate;
            if found.kind == Kind::NoKnown {
                break;
            }
            let counted = (known + found.private) as f64;
            let typical = TYPICAL * known as f64;
            classes = counted.powf(1.0 - TYPICAL_SAY) * typical.powf(TYPICAL_SAY);
        }
        self.look(classes, &GRANULARITIES).settled(self)
    }

    /// The target as it looks if there are about so many `classes`, known and new.
    fn look(&self, classes: f64, granularities: &[f64]) -> Look {
        let Scene {
            target,
            prototypes,
            neighbourhoods,
            images: singles,
            ..
        } = self.scene;
        let (images, known) = (target.features.len(), prototypes.len());
        let most = images / IMAGES_PER_CLUSTER;
        let clusterings: Vec<FineClustering> = granularities
            .iter()
            .map(|each| {
                let clusters = ((each * classes).round() as usize).clamp(2, most);
                let labels = self.scene.both.divide(clusters, self.seed);
                FineClustering::new(target, labels, clusters, prototypes)
            })
            .collect();
        let middle = granularities.iter().sum::<f64>() / granularities.len() as f64;
        // As far as clusters are not to be trusted, neither are other images that lie near.
        let trust = singles.trust(&clusterings);
        let neighbourhoods = neighbourhoods.half_of(middle * classes).with_say(trust);
        let wide = neighbourhoods.at_least(10);
        let opinion = |even: f64| {
            let clusters = Opinion::of(&clusterings, known, even);
            clusters.mixed(&self.scene.alone, 1.0 - trust)
        };
        let cautious = Consensus::of(&self.scene.given(opinion(CAUTIOUS)), &wide);
        let opinion = opinion(EVEN);
        let agreement = correlation(&opinion.novelty, &self.matched.novelty);
        let opinion = self.scene.given(opinion);
        let estimate = Findings {
            cautious: &cautious,
            consensus: &Consensus::of(&opinion, &neighbourhoods),
            layers: &self.layers,
            alignment: self.scene.alignment,
            trust,
            agreement,
        }
        .estimate();
        Look {
            cautious,
            opinion,
            neighbourhoods,
            trust,
            estimate,
        }
    }
}

/// What there is to see with one number of classes in mind.
struct Look {
    cautious: Consensus,
    opinion: Opinion,
    neighbourhoods: Neighbourhoods,
    /// How much clusters are to be trusted.
    trust: f64,
    estimate: Estimate,
}

impl Look {
    fn settled(self, search: &Search) -> Discovery {
        let estimate = self.estimate;
        let settled = match estimate.kind {
            Kind::NoNew => self.cautious,
            Kind::Open | Kind::NoKnown => {
                let matched = search.scene.given(search.matched.clone());
                let mixed = self.opinion.mixed(&matched, LAYERS * self.trust);
                Consensus::of(&mixed, &self.neighbourhoods)
            }
        }
        .sharpened();
        let novelty = settled.novelty.iter();
        Discovery {
            novelty: novelty.map(|&p| p as f32).collect(),
            known: settled.known,
            presence: search.scene.presence.clone(),
            estimate,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::place;
    use crate::random::Stream;

    const WIDTH: usize = 48;
    const EACH: usize = 30;

    /// Directions of classes, the first six of them known to the model.
    fn direction(class: usize) -> Vec<f64> {
        let mut draws = Stream::new(1, "class", &[class as u64]);
        (0..WIDTH).map(|_| draws.normal()).collect()
    }

    /// Thirty images of each of these classes, and the model's prototypes.
    fn target(classes: &[usize]) -> (Array, Array) {
        let mut draws = Stream::new(2, "images", &[]);
        let mut values = Vec::new();
        for &class in classes {
            for _ in 0..EACH {
                let row = direction(class).into_iter();
                values.extend(row.map(|x| (x + 0.6 * draws.normal()) as f32));
            }
        }
        let features = Array {
            shape: vec![classes.len() * EACH, WIDTH],
            values,
        };
        let prototypes = (0..6).flat_map(direction).map(|x| x as f32);
        let prototypes = Array {
            shape: vec![6, WIDTH],
            values: prototypes.collect(),
        };
        (features, prototypes)
    }

    fn found(classes: &[usize]) -> Discovery {
        let (features, prototypes) = target(classes);
        let device = place("cpu").unwrap().device;
        let found = discover(&features, &features, &prototypes, &[0], &device);
        Discovery::together(found.unwrap()).unwrap()
    }

    #[test]
    fn new_classes_are_found_and_counted() {
        let all: Vec<usize> = (0..10).collect();
        let found = found(&all);
        assert_eq!(
            (found.estimate.kind, found.estimate.private),
            (Kind::Open, 4)
        );
        assert!(found.estimate.low <= 4 && found.estimate.high >= 4);
        for image in 0..10 * EACH {
            let class = image / EACH;
            assert_eq!(found.novelty[image] > 0.5, class >= 6, "image {image}");
            assert!(class >= 6 || found.known[image] == class);
        }
    }

    #[test]
    fn two_new_classes_beside_six_known_ones_are_two() {
        let found = found(&[0, 1, 2, 3, 4, 5, 8, 9]);
        assert_eq!(
            (found.estimate.kind, found.estimate.private),
            (Kind::Open, 2)
        );
    }

    #[test]
    fn many_new_classes_beside_six_known_ones_are_many() {
        let found = found(&(0..30).collect::<Vec<_>>());
        assert!(
            (20..=28).contains(&found.estimate.private),
            "{:?}",
            found.estimate
        );
        let new = |&image: &usize| found.novelty[image] > 0.5;
        let right = (0..30 * EACH).filter(|i| new(i) == (i / EACH >= 6)).count();
        assert!(right > 29 * EACH, "{right}");
    }

    #[test]
    fn known_classes_only() {
        let found = found(&[0, 1, 2, 3, 4, 5]);
        assert_eq!(
            (found.estimate.kind, found.estimate.private),
            (Kind::NoNew, 0)
        );
    }

    #[test]
    fn some_of_the_known_classes() {
        let here = [0, 1, 2, 8, 9, 10, 11];
        let found = found(&here);
        assert_eq!(found.estimate.kind, Kind::Open, "{:?}", found.estimate);
        assert!((3..=5).contains(&found.estimate.private));
        let right = (0..here.len() * EACH).filter(|&image| {
            let class = here[image / EACH];
            let new = found.novelty[image] > 0.5;
            new == (class >= 6) && (new || found.known[image] == class)
        });
        let right = right.count();
        assert!(right > (here.len() - 1) * EACH, "{right}");
        let presence = found.presence.unwrap();
        let (present, absent) = presence.split_at(3);
        assert!(present.iter().all(|&p| p > 0.9), "{present:?}");
        assert!(absent.iter().all(|&p| p < 0.6), "{absent:?}");
    }

    #[test]
    fn new_classes_only() {
        let found = found(&[6, 7, 8, 9, 10, 11]);
        assert_eq!(found.estimate.kind, Kind::NoKnown);
        let new = found.novelty.iter().filter(|&&p| p > 0.5).count();
        assert!(new > 4 * EACH, "{new}");
    }

    #[test]
    fn images_and_classes_that_are_all_the_same_are_no_reason_to_fail() {
        let same = |rows: usize| Array {
            shape: vec![rows, WIDTH],
            values: vec![1.0; rows * WIDTH],
        };
        let device = place("cpu").unwrap().device;
        let found = discover(&same(80), &same(80), &same(5), &[0], &device).unwrap();
        assert!(found[0].novelty.iter().all(|p| p.is_finite()));
        let mut broken = same(80);
        broken.values[7] = f32::NAN;
        assert_eq!(discover(&broken, &same(80), &same(5), &[0], &device), None);
    }

    #[test]
    fn several_looks_are_one_discovery() {
        let see = |kind, novelty: [f32; 2], known: usize| Discovery {
            novelty: novelty.to_vec(),
            known: vec![known; 2],
            presence: Some(vec![known as f64]),
            estimate: Estimate::certain(kind, known),
        };
        let together = |looks: &[&Discovery]| {
            Discovery::together(looks.iter().map(|&look| look.clone()).collect()).unwrap()
        };
        let open = see(Kind::Open, [0.25, 0.75], 1);
        let other = see(Kind::Open, [0.5, 1.0], 2);
        let both = together(&[&other, &open]);
        assert_eq!(both.novelty, [0.375, 0.875]);
        assert_eq!((&both.known, both.estimate.private), (&vec![1; 2], 1));
        assert_eq!(both.presence, Some(vec![1.5]));
        // Of three counts the middle one.
        let most = see(Kind::Open, [0.0, 0.5], 9);
        let three = together(&[&most, &open, &other]);
        assert_eq!(three.novelty, [0.25, 0.75]);
        assert_eq!(three.estimate.private, 2);
        let named = |known: [usize; 5]| most_named(known.into_iter());
        assert_eq!((named([3, 1, 3, 2, 1]), named([4, 0, 2, 2, 9])), (1, 2));
        assert_eq!((three.estimate.low, three.estimate.high), (1, 9));
        // No known classes: if a quarter say so.
        let absent = see(Kind::NoKnown, [0.5, 1.0], 3);
        let closed = see(Kind::NoNew, [0.0, 0.1], 0);
        assert_eq!(together(&[&absent, &open, &open, &open]), absent);
        assert_eq!(together(&[&absent, &open, &open, &open, &open]), open);
        for other in [&open, &closed] {
            assert_eq!(together(&[&absent, &absent, other, other, &absent]), absent);
        }
        // No new ones: if more do than not.
        assert_eq!(together(&[&open, &closed, &closed]), closed);
        assert_eq!(together(&[&closed, &open]), open);
        assert_eq!(together(&[&closed, &closed]), closed);
        assert_eq!(Discovery::together(vec![]), None);
    }

    #[test]
    fn too_few_images_say_nothing() {
        let (features, prototypes) = target(&[0]);
        let device = place("cpu").unwrap().device;
        let found = discover(&features, &features, &prototypes, &[0], &device);
        assert_eq!(found, None);
    }
}
