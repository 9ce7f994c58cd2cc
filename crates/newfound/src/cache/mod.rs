//! What a frozen part of a network makes of images, computed once and kept on disk.
//!
//! With `train = head` or `last-stage` the first layers never change. Their output for a fixed set of random views of each
//! image is computed once; every epoch, and every later run with the same frozen weights, images and views, reads it back.

mod earlier;
mod file;
mod key;

use std::ops::Range;
use std::path::{Path, PathBuf};

use burn::tensor::{Device, Tensor, TensorData};

pub use file::{Kept, Precision};

use crate::error::{Error, Result};
use crate::events::{Event, Observer, Stage};
use crate::images::ImageList;
use crate::network::model::Description;
use crate::network::{Engine, Network, Parameters, Part, Pass, download};
use crate::random::Stream;
use crate::supply::{STRONG, TEST, WEAK, numbered_views, tensors, views_of};
use crate::views::prefetch;

use earlier::Earlier;
use file::{File, Layout};

/// Rows per pass through the frozen layers: as many as a prediction has, so that both give the same bits.
const BATCH: usize = 64;

/// The views that are kept of each image, besides the test view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Weak views.
    pub weak: usize,
    /// Strong views.
    pub strong: usize,
    /// What they are drawn from; not the run's seed, so that runs with other seeds find them again.
    pub seed: u64,
}

/// One of the views that are kept of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// The test view.
    Test,
    /// A weak one.
    Weak(usize),
    /// A strong one.
    Strong(usize),
}

/// What is asked of the cache.
pub struct Wanted<'a> {
    /// The whole network.
    pub network: &'a Network,
    /// Its parameters, of which those before the frontier matter.
    pub parameters: &'a Parameters,
    /// The first part that is not frozen.
    pub frontier: Part,
    /// The images.
    pub images: &'a ImageList,
    /// The hash of each image's file.
    pub hashes: &'a [String],
    /// How images are rendered.
    pub description: &'a Description,
    /// Which views.
    pub plan: Plan,
    /// Where the cache is.
    pub folder: &'a Path,
    /// Where tensors live.
    pub device: &'a Device,
    /// Who listens.
    pub observer: &'a dyn Observer,
}

/// Activations of all views of all images, on disk.
#[derive(Debug)]
pub struct Activations {
    kept: Kept,
    plan: Plan,
}

impl Activations {
    /// Number of weak and of strong views of each image.
    pub fn plan(&self) -> Plan {
        self.plan
    }

    /// A batch of them.
    ///
    /// # Shapes
    ///
    /// → [B, [`frozen_shape`](Network::frozen_shape)]
    pub fn batch(&self, rows: &[(usize, View)], device: &Device) -> Tensor<4> {
        let [a, b, c] = self.kept.layout().shape;
        let mut values = Vec::with_capacity(rows.len() * a * b * c);
        for &(image, view) in rows {
            match view {
                View::Test => self.kept.test(image, &mut values),
                View::Weak(index) => self.kept.random(image, index, &mut values),
                View::Strong(index) => {
                    self.kept.random(image, self.plan.weak + index, &mut values);
                }
            }
        }
        Tensor::from_data(TensorData::new(values, [rows.len(), a, b, c]), device)
    }
}

/// The user's cache folder: `$XDG_CACHE_HOME/newfound`, `~/.cache/newfound`, or a folder for temporary files.
pub fn default_folder() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let base = set("XDG_CACHE_HOME")
        .or_else(|| set("LOCALAPPDATA"))
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(set("HOME")?).join(".cache")));
    base.unwrap_or_else(std::env::temp_dir).join("newfound")
}

/// Finds the activations in the cache, or computes what is missing of them.
///
/// An interrupted computation goes on where it was: the file grows image by image under another name and gets its own when
/// it is whole.
pub fn activations(wanted: &Wanted) -> Result<Activations> {
    let side = wanted.description.geometry.crop as usize;
    let layout = Layout {
        images: wanted.images.len(),
        random: wanted.plan.weak + wanted.plan.strong,
        shape: wanted.network.frozen_shape(wanted.frontier, side),
        precision: match wanted.frontier {
            // A map of activations is a hundred times as large as its mean: half the size matters more than the last digits.
            Part::Body(_) => Precision::Half,
            Part::Bottleneck | Part::Classifier => Precision::Single,
        },
    };
    let prefix = key::prefix(wanted);
    let path = wanted.folder.join(key::name(&prefix, wanted.hashes));
    let plan = wanted.plan;
    if let Some(kept) = Kept::open(&path, layout, wanted.hashes)? {
        return Ok(Activations { kept, plan });
    }
    let earlier = match wanted.network.engine() {
        Engine::Cpu => Earlier::find(wanted.folder, &prefix, layout),
        // What is in a batch beside an image may change its last digits: a run must not depend on what was computed before it.
        Engine::Burn => Earlier::none(),
    };
    std::fs::create_dir_all(wanted.folder)
        .map_err(|source| Error::io("make the cache's folder", wanted.folder, source))?;
    wanted.observer.on(&Event::Caching {
        bytes: layout.bytes(),
        images: layout.images,
        found: wanted.hashes.iter().filter(|h| earlier.has(h)).count(),
        path: path.clone(),
    });
    let mut file = File::go_on(&path, layout, wanted.hashes)?;
    compute(wanted, &earlier, &mut file)?;
    let kept = file.finish()?;
    Ok(Activations { kept, plan })
}

/// Test views first, in the batches of a prediction; then the random views of one image after the other.
fn compute(wanted: &Wanted, earlier: &Earlier, file: &mut File) -> Result<()> {
    let Wanted {
        images,
        hashes,
        plan,
        observer,
        ..
    } = *wanted;
    let random = plan.weak + plan.strong;
    let stage = Stage::Caching;
    let total = images.len() * (1 + random);
    observer.on(&Event::Began { stage, total });
    let advanced = |done| observer.on(&Event::Advanced { stage, done });
    let pass = Pass::evaluation();

    let spans = spans(hashes, file.test_images(), BATCH, earlier);
    let test = |&image: &usize| views_of(images, image, &[TEST], wanted.description, [0, 0]);
    let known = |image: usize| earlier.test(&hashes[image]);
    through(wanted, &spans, test, known, &pass, |first, rows| {
        file.put_test(first, rows)?;
        advanced(first + rows.len());
        Ok(())
    })?;
    if let Some(images_per_batch) = BATCH.checked_div(random) {
        let per_batch = images_per_batch.max(1);
        let views = [vec![WEAK; plan.weak], vec![STRONG; plan.strong]].concat();
        let rendered = |&image: &usize| {
            let hash = &hashes[image];
            numbered_views(images, image, &views, wanted.description, plan.seed, hash)
        };
        let known = |image: usize| earlier.random(&hashes[image]);
        let spans = self::spans(hashes, file.random_images(), per_batch, earlier);
        through(wanted, &spans, rendered, known, &pass, |first, rows| {
            file.put_random(first, rows)?;
            advanced(images.len() + (first + rows.len()) * random);
            Ok(())
        })?;
    }
    observer.on(&Event::Ended { stage });
    Ok(())
}

/// Images in a row, of which those that no earlier file has go through the network together.
#[derive(Debug, PartialEq)]
struct Span {
    images: Range<usize>,
    missing: Vec<usize>,
}

/// So many times as many images as a batch has are written at once, at most.
const LONGEST: usize = 2;

/// All images from one on, cut so that no span misses more than `batch` of them.
fn spans(hashes: &[String], from: usize, batch: usize, earlier: &Earlier) -> Vec<Span> {
    // Where a batch would begin if none had been there: what is computed twice is so in the same company.
    let mut images = from / batch * batch..hashes.len();
    let mut spans = Vec::new();
    while !images.is_empty() {
        let mut missing = Vec::new();
        let start = images.start;
        while !images.is_empty() && missing.len() < batch && images.start - start < LONGEST * batch
        {
            let image = images.start;
            images.start += 1;
            if !earlier.has(&hashes[image]) {
                missing.push(image);
            }
        }
        let images = start..images.start;
        spans.push(Span { images, missing });
    }
    spans
}

/// Runs what is missing of each span through the frozen layers; `known` gives the rest, and `keep` gets the first image of each span and one row per
/// image.
fn through(
    wanted: &Wanted,
    spans: &[Span],
    make: impl Fn(&usize) -> Result<Vec<f32>> + Sync,
    known: impl Fn(usize) -> Vec<f32>,
    pass: &Pass,
    mut keep: impl FnMut(usize, &[&[f32]]) -> Result<()>,
) -> Result<()> {
    let side = wanted.description.geometry.crop as usize;
    let size = 3 * side * side;
    let missing = spans.iter().map(|span| span.missing.clone());
    let batches: Vec<Vec<usize>> = missing.filter(|missing| !missing.is_empty()).collect();
    prefetch(&batches, 2, make, |mut made| {
        spans.iter().try_for_each(|Span { images, missing }| {
            let mut values = vec![];
            if !missing.is_empty() {
                let rendered = made.next().expect("a batch for every batch asked for")?;
                let rows: Vec<Vec<f32>> = rendered
                    .iter()
                    .flat_map(|image| image.chunks_exact(size).map(<[f32]>::to_vec))
                    .collect();
                let [input] = tensors(&rows, side, wanted.device);
                let frozen = wanted
                    .network
                    .frozen(wanted.parameters, input, wanted.frontier, pass);
                values = download(frozen);
            }
            let mut computed = values.chunks_exact((values.len() / missing.len().max(1)).max(1));
            let found = images.clone().filter(|image| !missing.contains(image));
            let found: Vec<Vec<f32>> = found.map(&known).collect();
            let mut found = found.iter().map(Vec::as_slice);
            let rows = images.clone().map(|image| match missing.contains(&image) {
                true => computed.next().expect("a row for each image"),
                false => found.next().expect("a row for each image"),
            });
            let rows: Vec<&[f32]> = rows.collect();
            keep(images.start, &rows)?;
            if wanted.observer.stop_requested() {
                return Err(Error::failed(
                    "stopped as asked; what was computed is kept in the cache",
                    "run the same command again to go on",
                ));
            }
            Ok(())
        })
    })
}

/// The weak view of a step, chosen by seed, image and epoch.
pub fn choose_weak(plan: Plan, seed: u64, image: usize, epoch: usize) -> View {
    let mut draws = Stream::new(seed, "kept-weak-view", &[image as u64, epoch as u64]);
    View::Weak(draws.below(plan.weak as u64) as usize)
}

/// The views of a step of adaptation: one weak and two different strong ones.
pub fn choose(plan: Plan, seed: u64, image: usize, epoch: usize) -> [View; 3] {
    let mut draws = Stream::new(seed, "kept-strong-views", &[image as u64, epoch as u64]);
    let query = draws.below(plan.strong as u64) as usize;
    let other = draws.below((plan.strong as u64 - 1).max(1)) as usize;
    // The views above the first move down by one to close its gap; a single view is both.
    let key = if plan.strong > 1 && other >= query {
        other + 1
    } else {
        other
    };
    let weak = choose_weak(plan, seed, image, epoch);
    [weak, View::Strong(query), View::Strong(key)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_strong_views_differ_and_all_come() {
        let plan = Plan {
            weak: 3,
            strong: 4,
            seed: 0,
        };
        let mut seen = std::collections::BTreeSet::new();
        for epoch in 0..200 {
            let [View::Weak(weak), View::Strong(query), View::Strong(key)] =
                choose(plan, 1, 5, epoch)
            else {
                panic!("one weak, two strong")
            };
            assert!(weak < 3 && query < 4 && key < 4 && query != key);
            seen.insert((query, key));
        }
        assert_eq!(seen.len(), 12, "every ordered pair");
        let single = Plan { strong: 1, ..plan };
        let [_, query, key] = choose(single, 1, 5, 0);
        assert_eq!((query, key), (View::Strong(0), View::Strong(0)));
    }

    #[test]
    fn a_span_misses_no_more_than_a_batch() {
        let names = ["a", "b", "c", "d", "e", "f", "g"].map(String::from);
        let cut = |from: usize, batch: usize, earlier: &[&str]| {
            let spans = spans(&names, from, batch, &Earlier::of(earlier));
            let ends = spans
                .windows(2)
                .all(|w| w[0].images.end == w[1].images.start);
            assert!(ends && spans.last().is_none_or(|last| last.images.end == 7));
            let parts = spans.into_iter().map(|s| (s.images.start, s.missing));
            parts.collect::<Vec<_>>()
        };
        // Nothing is there: the batches of a prediction. Three images were written: the second batch is made again.
        let whole = [
            (0, vec![0, 1]),
            (2, vec![2, 3]),
            (4, vec![4, 5]),
            (6, vec![6]),
        ];
        assert_eq!(cut(0, 2, &[]), whole);
        assert_eq!(cut(3, 2, &[]), whole[1..]);
        assert_eq!(
            cut(0, 2, &["a", "c", "g", "elsewhere"]),
            [(0, vec![1, 3]), (4, vec![4, 5]), (6, vec![])]
        );
        assert_eq!(
            cut(0, 2, &["a", "b", "c", "d", "e", "f", "g"]),
            [(0, vec![]), (4, vec![])]
        );
        assert_eq!(cut(7, 2, &[]), [(6, vec![6])]);
    }
}
