//! What a frozen part of a network makes of images, computed once and kept on disk.
//!
//! With `train = head` or `last-stage` the first layers never change. Their output for a fixed set of random views of each
//! image is computed once; every epoch, and every later run with the same frozen weights, images and views, reads it back.

mod file;
mod key;

use std::path::{Path, PathBuf};

use burn::tensor::{Device, Tensor, TensorData};

pub use file::{Kept, Precision};

use crate::error::{Error, Result};
use crate::events::{Event, Observer, Stage};
use crate::images::ImageList;
use crate::network::model::Description;
use crate::network::{Network, Parameters, Part, Pass, download};
use crate::random::Stream;
use crate::supply::{STRONG, TEST, WEAK, numbered_views, tensors, views_of};
use crate::views::prefetch;

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
    let path = wanted.folder.join(key::name(wanted));
    let plan = wanted.plan;
    if let Some(kept) = Kept::open(&path, layout)? {
        return Ok(Activations { kept, plan });
    }
    std::fs::create_dir_all(wanted.folder)
        .map_err(|source| Error::io("make the cache's folder", wanted.folder, source))?;
    wanted.observer.on(&Event::Caching {
        bytes: layout.bytes(),
        path: path.clone(),
    });
    let mut file = File::go_on(&path, layout)?;
    compute(wanted, &mut file)?;
    let kept = file.finish()?;
    Ok(Activations { kept, plan })
}

/// Test views first, in the batches of a prediction; then the random views of one image after the other.
fn compute(wanted: &Wanted, file: &mut File) -> Result<()> {
    let Wanted {
        images,
        plan,
        observer,
        ..
    } = *wanted;
    let random = plan.weak + plan.strong;
    let stage = Stage::Caching;
    let total = images.len() * (1 + random);
    observer.on(&Event::Began { stage, total });
    let batches = |from: usize, size: usize| -> Vec<Vec<usize>> {
        let left: Vec<usize> = (from..images.len()).collect();
        left.chunks(size).map(<[usize]>::to_vec).collect()
    };
    let pass = Pass::evaluation();
    let from = file.test_images() / BATCH * BATCH;
    let test = |&image: &usize| views_of(images, image, &[TEST], wanted.description, [0, 0]);
    through(
        wanted,
        &batches(from, BATCH),
        test,
        1,
        &pass,
        |first, rows| {
            file.put_test(first, rows)?;
            observer.on(&Event::Advanced {
                stage,
                done: first + rows.len(),
            });
            Ok(())
        },
    )?;
    let per_batch = (BATCH / random.max(1)).max(1);
    let views = [vec![WEAK; plan.weak], vec![STRONG; plan.strong]].concat();
    let rendered = |&image: &usize| {
        let hash = &wanted.hashes[image];
        numbered_views(images, image, &views, wanted.description, plan.seed, hash)
    };
    let from = file.random_images() / per_batch * per_batch;
    through(
        wanted,
        &batches(from, per_batch),
        rendered,
        random,
        &pass,
        |first, rows| {
            file.put_random(first, rows)?;
            observer.on(&Event::Advanced {
                stage,
                done: images.len() + (first + rows.len()) * random,
            });
            Ok(())
        },
    )?;
    observer.on(&Event::Ended { stage });
    Ok(())
}

/// Runs batches of images through the frozen layers; `keep` gets the first image of each and one row per image.
fn through(
    wanted: &Wanted,
    batches: &[Vec<usize>],
    make: impl Fn(&usize) -> Result<Vec<f32>> + Sync,
    views: usize,
    pass: &Pass,
    mut keep: impl FnMut(usize, &[&[f32]]) -> Result<()>,
) -> Result<()> {
    if views == 0 {
        return Ok(());
    }
    let side = wanted.description.geometry.crop as usize;
    let size = 3 * side * side;
    prefetch(batches, 2, make, |mut made| {
        batches.iter().try_for_each(|batch| {
            let rendered = made.next().expect("a batch for every batch asked for")?;
            let rows: Vec<Vec<f32>> = rendered
                .iter()
                .flat_map(|image| image.chunks_exact(size).map(<[f32]>::to_vec))
                .collect();
            let [input] = tensors(&rows, side, wanted.device);
            let frozen = wanted
                .network
                .frozen(wanted.parameters, input, wanted.frontier, pass);
            let values = download(frozen);
            let per_image: Vec<&[f32]> = values.chunks_exact(values.len() / batch.len()).collect();
            keep(batch[0], &per_image)?;
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
}
