//! Images on their way into the network: decoded and rendered on all cores, ahead of it.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use burn::tensor::activation::softmax;
use burn::tensor::{Device, Tensor, TensorData};
use image::RgbImage;

use crate::algorithm::TargetBatch;
use crate::cache::{self, Activations, choose, choose_weak};
use crate::error::{Error, Result};
use crate::events::{Event, Observer, Stage};
use crate::geometry::normalise_rows;
use crate::images::ImageList;
use crate::images::decode::{self, Reason};
use crate::network::model::Description;
use crate::network::{Network, Parameters, Part, Pass, download, upload};
use crate::random::Stream;
use crate::views::{View, prefetch, render};
use crate::weights::Array;

/// Batches that may wait, finished, for the network. It takes far longer than their making: more would only hold memory.
const AHEAD: usize = 1;

/// Images per batch where nothing is learned.
const INFERENCE_BATCH: usize = 64;

/// A view and the name of its random stream.
pub(crate) type NamedView = (View, &'static str);

/// The one view in which nothing is random.
pub(crate) const TEST: NamedView = (View::Test, "test");
/// A weak and a strong view that are kept for many epochs.
pub(crate) const WEAK: NamedView = (View::Weak, "kept-weak");
pub(crate) const STRONG: NamedView = (View::Strong, "kept-strong");

/// Reads an image and renders some views of it, one after the other in memory.
pub(crate) fn views_of(
    images: &ImageList,
    image: usize,
    wanted: &[NamedView],
    description: &Description,
    [seed, epoch]: [u64; 2],
) -> Result<Vec<f32>> {
    let picture = picture(images, image)?;
    let at = [image as u64, epoch];
    Ok(rendered(&picture, wanted, description, seed, at))
}

/// The same, with a stream of its own for each view by its number: two weak views of an image differ. The test view is number 0.
///
/// An image is drawn for by its content, `hash`, not by its place in a list: whatever else is in a folder, its views are the same.
pub(crate) fn numbered_views(
    images: &ImageList,
    image: usize,
    wanted: &[NamedView],
    description: &Description,
    seed: u64,
    hash: &str,
) -> Result<Vec<f32>> {
    let picture = picture(images, image)?;
    let content = content(hash);
    let views = wanted.iter().zip(1..).flat_map(|(&view, number)| {
        rendered(&picture, &[view], description, seed, [content, number])
    });
    Ok(views.collect())
}

/// One of the weak views that [`numbered_views`] gives an image where weak views come first.
fn weak_view(
    images: &ImageList,
    image: usize,
    number: usize,
    description: &Description,
    seed: u64,
    hash: &str,
) -> Result<Vec<f32>> {
    let picture = picture(images, image)?;
    let at = [content(hash), number as u64 + 1];
    Ok(rendered(&picture, &[WEAK], description, seed, at))
}

/// What an image's views are drawn by.
fn content(hash: &str) -> u64 {
    let digits = hash.get(..12).and_then(|h| u64::from_str_radix(h, 16).ok());
    digits.expect("a hash in hexadecimal digits")
}

fn picture(images: &ImageList, image: usize) -> Result<RgbImage> {
    let path = images.full_path(image);
    decode::read(&path).map_err(|reason| {
        let message = format!(
            "an image that could be read before cannot be read now ({reason}): {}",
            path.display()
        );
        Error::failed(
            message,
            "leave the images where they are while newfound works; then go on with --resume",
        )
    })
}

/// Some views of a picture, one after the other in memory.
fn rendered(
    picture: &RgbImage,
    wanted: &[NamedView],
    description: &Description,
    seed: u64,
    at: [u64; 2],
) -> Vec<f32> {
    let Description {
        geometry,
        normalisation,
        ..
    } = description;
    let size = 3 * (geometry.crop * geometry.crop) as usize;
    let mut out = vec![0.0; wanted.len() * size];
    for ((view, name), out) in wanted.iter().zip(out.chunks_exact_mut(size)) {
        let mut draws = Stream::new(seed, name, &at);
        render(picture, *view, *geometry, normalisation, &mut draws, out);
    }
    out
}

/// One tensor for each wanted view, from images whose views lie one after the other.
pub(crate) fn tensors<const N: usize>(
    rendered: &[Vec<f32>],
    side: usize,
    device: &Device,
) -> [Tensor<4>; N] {
    let size = 3 * side * side;
    std::array::from_fn(|view| {
        let values: Vec<f32> = rendered
            .iter()
            .flat_map(|image| &image[view * size..][..size])
            .copied()
            .collect();
        Tensor::from_data(
            TensorData::new(values, [rendered.len(), 3, side, side]),
            device,
        )
    })
}

/// A batch of an epoch: which images.
pub type Planned = (usize, Vec<usize>);

/// The random views of target images.
#[derive(Debug)]
pub struct TargetViews<'a> {
    /// The images.
    pub images: &'a ImageList,
    /// How images are rendered for this model.
    pub description: &'a Description,
    /// The run's seed.
    pub seed: u64,
    /// Their activations, for a network beyond a frontier; then a fixed number of views takes turns.
    pub kept: Option<&'a Activations>,
}

impl TargetViews<'_> {
    /// Hands every batch to `consume`, in order, with the time that was spent waiting for it.
    ///
    /// The batches may be of many epochs: the first ones of an epoch are made during the last steps of the one before.
    pub fn for_each(
        &self,
        batches: Vec<Planned>,
        device: &Device,
        mut consume: impl FnMut(TargetBatch, Duration) -> Result<()>,
    ) -> Result<()> {
        if let Some(kept) = self.kept {
            return batches.into_iter().try_for_each(|(epoch, images)| {
                let [weak, strong_query, strong_key] = [0, 1, 2].map(|which| {
                    let view = |&image: &usize| {
                        (image, choose(kept.plan(), self.seed, image, epoch)[which])
                    };
                    kept.batch(&images.iter().map(view).collect::<Vec<_>>(), device)
                });
                let batch = TargetBatch {
                    images,
                    weak,
                    strong_query,
                    strong_key,
                };
                consume(batch, Duration::ZERO)
            });
        }
        let wanted = [
            (View::Weak, "weak"),
            (View::Strong, "strong-query"),
            (View::Strong, "strong-key"),
        ];
        let side = self.description.geometry.crop as usize;
        let make = |&(epoch, image): &(usize, usize)| {
            let at = [self.seed, epoch as u64];
            views_of(self.images, image, &wanted, self.description, at)
        };
        prefetch(&jobs(&batches), AHEAD, make, |mut rendered| {
            batches.into_iter().try_for_each(|(_, images)| {
                let asked = Instant::now();
                let views = rendered
                    .next()
                    .expect("a batch for every batch asked for")?;
                let waited = asked.elapsed();
                let [weak, strong_query, strong_key] = tensors(&views, side, device);
                drop(views);
                let batch = TargetBatch {
                    images,
                    weak,
                    strong_query,
                    strong_key,
                };
                consume(batch, waited)
            })
        })
    }
}

/// One job for each image of each batch: its epoch and itself.
fn jobs(batches: &[Planned]) -> Vec<Vec<(usize, usize)>> {
    let of = |(epoch, images): &Planned| images.iter().map(|&image| (*epoch, image)).collect();
    batches.iter().map(of).collect()
}

/// The weak views of training images.
#[derive(Debug)]
pub struct TrainingViews<'a> {
    /// The images.
    pub images: &'a ImageList,
    /// How images are rendered for this model.
    pub description: &'a Description,
    /// The training's seed.
    pub seed: u64,
    /// Their activations, for a network beyond a frontier; then a fixed number of views takes turns.
    pub kept: Option<&'a Activations>,
}

impl TrainingViews<'_> {
    /// Hands every batch to `consume`, in order, until it has enough.
    pub fn for_each(
        &self,
        batches: Vec<Planned>,
        device: &Device,
        mut consume: impl FnMut(&[usize], Tensor<4>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        if let Some(kept) = self.kept {
            for (epoch, images) in &batches {
                let view =
                    |&image: &usize| (image, choose_weak(kept.plan(), self.seed, image, *epoch));
                let weak = kept.batch(&images.iter().map(view).collect::<Vec<_>>(), device);
                if consume(images, weak)?.is_break() {
                    break;
                }
            }
            return Ok(());
        }
        let side = self.description.geometry.crop as usize;
        let make = |&(epoch, image): &(usize, usize)| {
            let (wanted, at) = ([(View::Weak, "train")], [self.seed, epoch as u64]);
            views_of(self.images, image, &wanted, self.description, at)
        };
        prefetch(&jobs(&batches), AHEAD, make, |mut rendered| {
            for (_, images) in &batches {
                let views = rendered
                    .next()
                    .expect("a batch for every batch asked for")?;
                let [weak] = tensors(&views, side, device);
                drop(views);
                if consume(images, weak)?.is_break() {
                    break;
                }
            }
            Ok(())
        })
    }
}

/// What a model says about images.
#[derive(Debug, Clone)]
pub struct Outputs {
    /// Features z: [N, D].
    pub features: Array,
    /// softmax of the logits: [N, K].
    pub probabilities: Array,
}

/// Width to which the body's features are brought down where only their angles matter.
const SKETCH: usize = 256;

/// Angles between images by the body's features, from far fewer numbers.
///
/// Rows of unit length times a matrix of random numbers: cosines stay the same but for about 1/√256 (Johnson and Lindenstrauss
/// 1984). Features that are not wider than that stay as they are. The square roots come first, with their signs: a few
/// channels that answer strongly would decide an angle alone (Arandjelović and Zisserman 2012).
struct Sketch(Option<Tensor<2>>);

impl Sketch {
    fn new(width: usize, device: &Device) -> Self {
        let mut draws = Stream::new(0, "sketch", &[]);
        let scale = (1.0 / SKETCH as f64).sqrt();
        let mut matrix = || {
            let values = (0..width * SKETCH).map(|_| (scale * draws.normal()) as f32);
            upload(values.collect(), device).reshape([width, SKETCH])
        };
        Self((width > SKETCH).then(&mut matrix))
    }

    /// [B, width] → [B, at most 256]
    fn of(&self, pooled: Tensor<2>) -> Tensor<2> {
        let unit = normalise_rows(pooled.clone().sign() * pooled.abs().sqrt());
        match &self.0 {
            Some(matrix) => unit.matmul(matrix.clone()),
            None => unit,
        }
    }
}

impl Outputs {
    /// Of some test views.
    fn of(network: &Network, parameters: &Parameters, test: Tensor<4>, pass: &Pass) -> Self {
        Self::of_pooled(
            network,
            parameters,
            network.pooled(parameters, test, pass),
            pass,
        )
    }

    fn of_pooled(
        network: &Network,
        parameters: &Parameters,
        pooled: Tensor<2>,
        pass: &Pass,
    ) -> Self {
        let features = network.of_pooled(parameters, pooled, pass); // [B, D]
        let probabilities = softmax(network.logits(parameters, features.clone()), 1); // [B, K]
        let to_array = |tensor: Tensor<2>| Array {
            shape: tensor.dims().to_vec(),
            values: download(tensor),
        };
        Self {
            features: to_array(features),
            probabilities: to_array(probabilities),
        }
    }
}

/// In batches for a pass without learning.
fn in_batches(images: &[usize]) -> Vec<Vec<usize>> {
    images
        .chunks(INFERENCE_BATCH)
        .map(<[usize]>::to_vec)
        .collect()
}

/// A view that every image has.
#[derive(Debug, Clone, Copy)]
pub enum Shown<'a> {
    /// The test view.
    Test,
    /// One of the weak views that are kept of an image, or would be if its first layers were frozen.
    Weak {
        /// Which of them.
        number: usize,
        /// What they are drawn from.
        seed: u64,
        /// The hash of each image's file.
        hashes: &'a [String],
    },
}

/// Images of which one view is wanted.
#[derive(Debug, Clone, Copy)]
pub struct OneView<'a> {
    /// The images.
    pub images: &'a ImageList,
    /// Which of them, in order.
    pub which: &'a [usize],
    /// The view.
    pub shown: Shown<'a>,
    /// How images are rendered for this model.
    pub description: &'a Description,
    /// Their activations, for a network beyond a frontier.
    pub kept: Option<&'a Activations>,
}

impl OneView<'_> {
    /// Hands every batch to `consume`, in order.
    fn for_each(
        &self,
        device: &Device,
        mut consume: impl FnMut(&[usize], Tensor<4>) -> Result<()>,
    ) -> Result<()> {
        let batches = in_batches(self.which);
        if let Some(kept) = self.kept {
            let view = match self.shown {
                Shown::Test => cache::View::Test,
                Shown::Weak { number, .. } => cache::View::Weak(number),
            };
            return batches.iter().try_for_each(|batch| {
                let rows: Vec<_> = batch.iter().map(|&i| (i, view)).collect();
                consume(batch, kept.batch(&rows, device))
            });
        }
        let side = self.description.geometry.crop as usize;
        let (images, description) = (self.images, self.description);
        let make = |&image: &usize| match self.shown {
            Shown::Test => views_of(images, image, &[TEST], description, [0, 0]),
            Shown::Weak {
                number,
                seed,
                hashes,
            } => weak_view(images, image, number, description, seed, &hashes[image]),
        };
        prefetch(&batches, AHEAD, make, |mut rendered| {
            batches.iter().try_for_each(|batch| {
                let views = rendered
                    .next()
                    .expect("a batch for every batch asked for")?;
                let [input] = tensors(&views, side, device);
                consume(batch, input)
            })
        })
    }
}

/// A batch of images that nobody has looked at before.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The images that can be read, with their blake3 hashes.
    pub good: Vec<(usize, [u8; 32])>,
    /// The others.
    pub bad: Vec<(usize, Reason)>,
    /// What the model says about the good ones; none if there are none.
    pub outputs: Option<Outputs>,
}

/// Hands features and probabilities of the test views to `consume`, batch by batch, in order. Every file is read once, and
/// those that give no picture are handed over with their reason.
pub fn for_each_seen(
    network: &Network,
    parameters: &Parameters,
    images: &ImageList,
    description: &Description,
    device: &Device,
    mut consume: impl FnMut(Seen) -> Result<()>,
) -> Result<()> {
    type Look = Result<([u8; 32], Vec<f32>), Reason>;
    let look = |image: usize| -> Look {
        let bytes = decode::read_bytes(&images.full_path(image))?;
        let picture = decode::decode(&bytes)?;
        let view = rendered(&picture, &[TEST], description, 0, [image as u64, 0]);
        Ok((*blake3::hash(&bytes).as_bytes(), view))
    };
    let make = |&image: &usize| Ok::<(usize, Look), Error>((image, look(image)));
    let (side, pass) = (description.geometry.crop, Pass::evaluation());
    let all: Vec<usize> = (0..images.len()).collect();
    prefetch(&in_batches(&all), AHEAD, make, |mut batches| {
        batches.try_for_each(|looks| {
            let (mut good, mut bad, mut views) = (Vec::new(), Vec::new(), Vec::new());
            for (image, look) in looks? {
                match look {
                    Ok((hash, view)) => {
                        good.push((image, hash));
                        views.push(view);
                    }
                    Err(reason) => bad.push((image, reason)),
                }
            }
            let outputs = (!views.is_empty()).then(|| {
                let [test] = tensors(&views, side as usize, device);
                Outputs::of(network, parameters, test, &pass)
            });
            consume(Seen { good, bad, outputs })
        })
    })
}

/// Replaces the running statistics, from part `from` on, by those of the test views: the mean over random batches.
pub fn measure_statistics(
    network: &Network,
    parameters: &mut Parameters,
    views: &OneView,
    device: &Device,
    from: Part,
    seed: u64,
) -> Result<()> {
    // Random, because images in the order of their paths are often in the order of their classes.
    let order = Stream::new(seed, "statistics", &[]).permutation(views.which.len());
    let which: Vec<usize> = order.into_iter().map(|i| views.which[i]).collect();
    let shuffled = OneView {
        which: &which,
        ..*views
    };
    let (mut seen, mut measured) = (0.0, parameters.clone());
    shuffled.for_each(device, |batch, test| {
        let pass = Pass::training_from(from);
        network.features(parameters, test, &pass);
        seen += batch.len() as f64;
        pass.blend(&mut measured, batch.len() as f64 / seen);
        Ok(())
    })?;
    *parameters = measured;
    Ok(())
}

/// A pass over test views in which nothing is learned.
pub struct Inference<'a> {
    /// The network.
    pub network: &'a Network,
    /// Its parameters.
    pub parameters: &'a Parameters,
    /// The images.
    pub views: OneView<'a>,
    /// Where tensors live.
    pub device: &'a Device,
    /// What it is part of.
    pub stage: Stage,
    /// Who listens.
    pub observer: &'a dyn Observer,
}

impl Inference<'_> {
    /// Features and probabilities.
    pub fn outputs(&self) -> Result<Outputs> {
        self.run(|_| ())
    }

    /// Features and probabilities, and the body's features in few numbers: [N, at most 256].
    pub fn outputs_and_body(&self) -> Result<(Outputs, Array)> {
        let (mut sketch, mut values) = (None, Vec::new());
        let outputs = self.run(|pooled| {
            let sketch = sketch.get_or_insert_with(|| Sketch::new(pooled.dims()[1], self.device));
            values.extend(download(sketch.of(pooled.clone())));
        })?;
        let count = self.views.which.len();
        let body = Array {
            shape: vec![count, values.len() / count.max(1)],
            values,
        };
        Ok((outputs, body))
    }

    /// `see` gets the body's features of each batch, in order: [B, ·].
    fn run(&self, mut see: impl FnMut(&Tensor<2>)) -> Result<Outputs> {
        let Self {
            network,
            parameters,
            views,
            device,
            stage,
            observer,
        } = *self;
        let count = views.which.len();
        observer.on(&Event::Began {
            stage,
            total: count,
        });
        let (mut features, mut probabilities) = (Vec::new(), Vec::new());
        let (pass, mut done) = (Pass::evaluation(), 0);
        views.for_each(device, |batch, test| {
            let pooled = network.pooled(parameters, test, &pass);
            see(&pooled);
            let outputs = Outputs::of_pooled(network, parameters, pooled, &pass);
            features.extend(outputs.features.values);
            probabilities.extend(outputs.probabilities.values);
            done += batch.len();
            observer.on(&Event::Advanced { stage, done });
            if observer.stop_requested() {
                return Err(Error::failed(
                    "stopped as asked",
                    "run the same command with --resume to go on",
                ));
            }
            Ok(())
        })?;
        observer.on(&Event::Ended { stage });
        let architecture = network.architecture();
        Ok(Outputs {
            features: Array {
                shape: vec![count, architecture.features()],
                values: features,
            },
            probabilities: Array {
                shape: vec![count, architecture.outputs],
                values: probabilities,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_of_an_image_are_the_same_whatever_else_is_in_its_folder() {
        let place = tempfile::tempdir().unwrap();
        for (name, red) in [("a.png", 7), ("b.png", 13)] {
            let paint =
                |x: u32, y: u32| image::Rgb([(red * x) as u8, (5 * y) as u8, (x * y) as u8]);
            let picture = RgbImage::from_fn(40, 30, paint);
            picture.save(place.path().join(name)).unwrap();
        }
        let list = |names: &[&str]| ImageList {
            root: place.path().to_path_buf(),
            paths: names.iter().map(Into::into).collect(),
        };
        let description: Description = serde_json::from_value(serde_json::json!({
            "architecture": {"backbone": "small", "stride": "v1.5", "bottleneck": 4, "outputs": 2},
            "classes": ["cup", "pen"], "known": 2, "private": 0,
            "geometry": {"resize": 32, "crop": 24},
            "normalisation": {"mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5]},
        }))
        .unwrap();
        let hash = |image: char| image.to_string().repeat(64);
        let views = |list: &ImageList, image: usize, hash: &str| {
            numbered_views(list, image, &[WEAK, WEAK, STRONG], &description, 0, hash).unwrap()
        };
        let alone = views(&list(&["b.png"]), 0, &hash('b'));
        assert_eq!(views(&list(&["a.png", "b.png"]), 1, &hash('b')), alone);
        assert_ne!(views(&list(&["b.png"]), 0, &hash('c')), alone);
        let [first, second, strong]: [&[f32]; 3] = std::array::from_fn(|view| {
            let size = alone.len() / 3;
            &alone[view * size..][..size]
        });
        assert!(first != second && second != strong);
        // One by one, too.
        let one = |number| weak_view(&list(&["b.png"]), 0, number, &description, 0, &hash('b'));
        assert_eq!(one(0).unwrap(), first);
        assert_eq!(one(1).unwrap(), second);
    }
}
