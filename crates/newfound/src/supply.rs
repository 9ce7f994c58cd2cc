//! Images on their way into the network: decoded and rendered on all cores, ahead of it.

use burn::tensor::activation::softmax;
use burn::tensor::{Device, Tensor, TensorData};

use crate::algorithm::TargetBatch;
use crate::error::{Error, Result};
use crate::events::{Event, Observer, Stage};
use crate::images::{ImageList, decode};
use crate::network::model::Description;
use crate::network::{Network, Parameters, Part, Pass, download};
use crate::random::Stream;
use crate::views::{View, prefetch, render};
use crate::weights::Array;

/// Batches that may wait, finished, for the network. Two keep it busy; more would only hold memory.
const AHEAD: usize = 2;

/// Images per batch where nothing is learned.
const INFERENCE_BATCH: usize = 64;

/// A view and the name of its random stream.
type NamedView = (View, &'static str);

/// Renders some views of one image, one after the other in memory.
fn views_of(
    images: &ImageList,
    image: usize,
    wanted: &[NamedView],
    description: &Description,
    [seed, epoch]: [u64; 2],
) -> Result<Vec<f32>> {
    let path = images.full_path(image);
    let picture = decode::read(&path).map_err(|reason| {
        let message = format!(
            "an image that could be read before cannot be read now ({reason}): {}",
            path.display()
        );
        Error::failed(
            message,
            "leave the images where they are while newfound works; then go on with --resume",
        )
    })?;
    let side = description.geometry.crop as usize;
    let mut out = vec![0.0; wanted.len() * 3 * side * side];
    for ((view, name), out) in wanted.iter().zip(out.chunks_exact_mut(3 * side * side)) {
        let mut draws = Stream::new(seed, name, &[image as u64, epoch]);
        render(
            &picture,
            *view,
            description.geometry,
            &description.normalisation,
            &mut draws,
            out,
        );
    }
    Ok(out)
}

/// One tensor for each wanted view, from images whose views lie one after the other.
fn tensors<const N: usize>(rendered: &[Vec<f32>], side: usize, device: &Device) -> [Tensor<4>; N] {
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

/// The random views of target images in one epoch.
#[derive(Debug)]
pub struct TargetViews<'a> {
    /// The images.
    pub images: &'a ImageList,
    /// How images are rendered for this model.
    pub description: &'a Description,
    /// The run's seed.
    pub seed: u64,
    /// The epoch.
    pub epoch: usize,
}

impl TargetViews<'_> {
    /// Hands every batch to `consume`, in order.
    pub fn for_each(
        &self,
        batches: Vec<Vec<usize>>,
        device: &Device,
        mut consume: impl FnMut(TargetBatch) -> Result<()>,
    ) -> Result<()> {
        let wanted = [
            (View::Weak, "weak"),
            (View::Strong, "strong-query"),
            (View::Strong, "strong-key"),
        ];
        let side = self.description.geometry.crop as usize;
        let make = |&image: &usize| {
            views_of(
                self.images,
                image,
                &wanted,
                self.description,
                [self.seed, self.epoch as u64],
            )
        };
        prefetch(&batches, AHEAD, make, |mut rendered| {
            batches.iter().try_for_each(|images| {
                let views = rendered
                    .next()
                    .expect("a batch for every batch asked for")?;
                let [weak, strong_query, strong_key] = tensors(&views, side, device);
                consume(TargetBatch {
                    images: images.clone(),
                    weak,
                    strong_query,
                    strong_key,
                })
            })
        })
    }
}

/// The weak views of training images in one epoch.
#[derive(Debug)]
pub struct TrainingViews<'a> {
    /// The images.
    pub images: &'a ImageList,
    /// How images are rendered for this model.
    pub description: &'a Description,
    /// The training's seed.
    pub seed: u64,
    /// The epoch.
    pub epoch: usize,
}

impl TrainingViews<'_> {
    /// Hands every batch to `consume`, in order.
    pub fn for_each(
        &self,
        batches: Vec<Vec<usize>>,
        device: &Device,
        mut consume: impl FnMut(&[usize], Tensor<4>) -> Result<()>,
    ) -> Result<()> {
        let side = self.description.geometry.crop as usize;
        let make = |&image: &usize| {
            let wanted = [(View::Weak, "train")];
            views_of(
                self.images,
                image,
                &wanted,
                self.description,
                [self.seed, self.epoch as u64],
            )
        };
        prefetch(&batches, AHEAD, make, |mut rendered| {
            batches.iter().try_for_each(|images| {
                let views = rendered
                    .next()
                    .expect("a batch for every batch asked for")?;
                let [weak] = tensors(&views, side, device);
                consume(images, weak)
            })
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

/// Hands features and probabilities of the test views to `consume`, batch by batch, in order.
pub fn for_each_inferred(
    network: &Network,
    parameters: &Parameters,
    images: &ImageList,
    description: &Description,
    device: &Device,
    mut consume: impl FnMut(std::ops::Range<usize>, Outputs) -> Result<()>,
) -> Result<()> {
    let side = description.geometry.crop as usize;
    let all: Vec<usize> = (0..images.len()).collect();
    let batches: Vec<Vec<usize>> = all.chunks(INFERENCE_BATCH).map(<[usize]>::to_vec).collect();
    let mut start = 0;
    let make =
        |&image: &usize| views_of(images, image, &[(View::Test, "test")], description, [0, 0]);
    let mut consume_one = |views: Vec<Vec<f32>>| {
        let [test] = tensors(&views, side, device);
        let features = network.features(parameters, test, &Pass::evaluation()); // [B, D]
        let probabilities = softmax(network.logits(parameters, features.clone()), 1); // [B, K]
        let to_array = |tensor: Tensor<2>| Array {
            shape: tensor.dims().to_vec(),
            values: download(tensor),
        };
        let range = start..start + views.len();
        start = range.end;
        consume(
            range,
            Outputs {
                features: to_array(features),
                probabilities: to_array(probabilities),
            },
        )
    };
    prefetch(&batches, AHEAD, make, |mut rendered| {
        rendered.try_for_each(|views| consume_one(views?))
    })
}

/// Replaces the running statistics, from part `from` on, by those of the test views of all images: the mean over
/// random batches.
pub fn measure_statistics(
    network: &Network,
    parameters: &mut Parameters,
    images: &ImageList,
    description: &Description,
    device: &Device,
    from: Part,
    seed: u64,
) -> Result<()> {
    let side = description.geometry.crop as usize;
    // Random, because images in the order of their paths are often in the order of their classes.
    let order = Stream::new(seed, "statistics", &[]).permutation(images.len());
    let batches: Vec<Vec<usize>> = order
        .chunks(INFERENCE_BATCH)
        .map(<[usize]>::to_vec)
        .collect();
    let make =
        |&image: &usize| views_of(images, image, &[(View::Test, "test")], description, [0, 0]);
    let (mut seen, mut measured) = (0.0, parameters.clone());
    prefetch(&batches, AHEAD, make, |mut rendered| {
        rendered.try_for_each(|views| {
            let views = views?;
            let [test] = tensors(&views, side, device);
            let pass = Pass::training_from(from);
            network.features(parameters, test, &pass);
            seen += views.len() as f64;
            pass.blend(&mut measured, views.len() as f64 / seen);
            Ok::<(), Error>(())
        })
    })?;
    *parameters = measured;
    Ok(())
}

/// Features and probabilities of the test views of all images.
pub fn infer(
    network: &Network,
    parameters: &Parameters,
    images: &ImageList,
    description: &Description,
    device: &Device,
    stage: Stage,
    observer: &dyn Observer,
) -> Result<Outputs> {
    observer.on(&Event::Began {
        stage,
        total: images.len(),
    });
    let (mut features, mut probabilities) = (Vec::new(), Vec::new());
    for_each_inferred(
        network,
        parameters,
        images,
        description,
        device,
        |range, outputs| {
            features.extend(outputs.features.values);
            probabilities.extend(outputs.probabilities.values);
            observer.on(&Event::Advanced {
                stage,
                done: range.end,
            });
            if observer.stop_requested() {
                return Err(Error::failed(
                    "stopped as asked",
                    "run the same command with --resume to go on",
                ));
            }
            Ok(())
        },
    )?;
    observer.on(&Event::Ended { stage });
    let architecture = network.architecture();
    Ok(Outputs {
        features: Array {
            shape: vec![images.len(), architecture.features()],
            values: features,
        },
        probabilities: Array {
            shape: vec![images.len(), architecture.outputs],
            values: probabilities,
        },
    })
}
