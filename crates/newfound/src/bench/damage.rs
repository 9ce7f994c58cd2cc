//! Set-ups broken on purpose: what no run must call good.

use std::path::{Path, PathBuf};

use image::RgbImage;
use image::codecs::png::PngEncoder;

use crate::atomic;
use crate::error::{Error, Result};
use crate::images::LabelledList;
use crate::network::model::{Foreign, Model};
use crate::random::Stream;
use crate::views::Normalisation;

/// What is broken, beside the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// Pixels are given as 0 to 255, as if nobody had scaled them.
    RawPixels,
    /// Mean and deviation of the colours are forgotten: pixels are given as 0 to 1.
    ForgottenColours,
    /// The source model learnt the labels of its images in another order.
    ShuffledLabels,
    /// The target is noise.
    Noise,
}

impl Damage {
    /// By its name in a study.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "raw-pixels" => Some(Self::RawPixels),
            "forgotten-colours" => Some(Self::ForgottenColours),
            "shuffled-labels" => Some(Self::ShuffledLabels),
            "noise" => Some(Self::Noise),
            _ => None,
        }
    }

    /// Another preparation of images than the model was trained with.
    fn normalisation(self, trained: Normalisation) -> Option<Normalisation> {
        let scaled = |values: [f32; 3]| values.map(|x| x / 255.0);
        match self {
            // (255 x − mean) / std
            Self::RawPixels => Some(Normalisation {
                mean: scaled(trained.mean),
                std: scaled(trained.std),
            }),
            Self::ForgottenColours => Some(Normalisation {
                mean: [0.0; 3],
                std: [1.0; 3],
            }),
            Self::ShuffledLabels | Self::Noise => None,
        }
    }

    /// A model that prepares images in another way than it was trained with, where that is what is broken.
    pub(super) fn of_model(self, model: PathBuf) -> Result<PathBuf> {
        if matches!(self, Self::ShuffledLabels | Self::Noise) {
            return Ok(model);
        }
        let broken = model.with_extension(format!("{self:?}.safetensors"));
        if !broken.is_file() {
            let mut model = Model::read(&model, &Foreign::default())?;
            let description = &mut model.description;
            if let Some(other) = self.normalisation(description.normalisation) {
                description.normalisation = other;
            }
            model.write(&broken)?;
        }
        Ok(broken)
    }
}

/// A list of these images in which the labels are those of others.
pub(super) fn shuffled(list: &LabelledList, seed: u64, path: &Path) -> Result<()> {
    let order = Stream::new(seed, "shuffled-labels", &[]).permutation(list.images.len());
    let line = |(image, other): (usize, usize)| -> Result<String> {
        let image = list.images.full_path(image);
        let image = std::path::absolute(&image)
            .map_err(|source| Error::io("find the image", &image, source))?;
        let class = &list.classes[list.labels[other]];
        Ok(format!("{} {class}\n", image.display()))
    };
    let lines: Result<String> = order.into_iter().enumerate().map(line).collect();
    write(path, lines?.as_bytes())
}

/// Images of noise for each class of the target. So few are enough: an image of noise is like any other.
const NOISE_PER_CLASS: usize = 10;

/// Their side.
const NOISE_SIDE: u32 = 256;

/// A folder of class folders with noise instead of images.
pub(super) fn noise(classes: &[String], seed: u64, folder: &Path) -> Result<()> {
    for (class, name) in classes.iter().enumerate() {
        let place = folder.join(name);
        std::fs::create_dir_all(&place)
            .map_err(|source| Error::io("make a folder", &place, source))?;
        for number in 0..NOISE_PER_CLASS {
            let mut draws = Stream::new(seed, "noise", &[class as u64, number as u64]);
            let image = RgbImage::from_fn(NOISE_SIDE, NOISE_SIDE, |_, _| {
                image::Rgb([0; 3].map(|_: u8| draws.below(256) as u8))
            });
            let mut bytes = Vec::new();
            image
                .write_with_encoder(PngEncoder::new(&mut bytes))
                .expect("an image in memory can be encoded");
            write(&place.join(format!("{number:02}.png")), &bytes)?;
        }
    }
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    atomic::write(path, bytes).map_err(|source| Error::io("write", path, source))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::images::{ImageList, Side, labelled};

    #[test]
    fn labels_are_the_same_ones_in_another_order() {
        let place = tempfile::tempdir().unwrap();
        let names: Vec<PathBuf> = (0..40).map(|i| format!("a b/{i:02}.png").into()).collect();
        let list = LabelledList {
            images: ImageList {
                root: place.path().to_path_buf(),
                paths: names,
            },
            classes: ["mug", "pen"].map(String::from).to_vec(),
            labels: (0..40).map(|i| usize::from(i >= 20)).collect(),
        };
        let path = place.path().join("list.txt");
        shuffled(&list, 1, &path).unwrap();
        let found = labelled(&path, None, Side::Both, None).unwrap();
        assert_eq!((&found.classes, found.images.len()), (&list.classes, 40));
        assert_eq!(found.labels.iter().sum::<usize>(), 20);
        let same = found
            .labels
            .iter()
            .zip(&list.labels)
            .filter(|(a, b)| a == b);
        assert!((8..32).contains(&same.count()));
        assert!(found.images.full_path(3).ends_with("a b/03.png"));
    }

    #[test]
    fn noise_is_noise_for_each_class() {
        let place = tempfile::tempdir().unwrap();
        let classes = ["mug", "pen"].map(String::from);
        noise(&classes, 1, place.path()).unwrap();
        let found = labelled(place.path(), None, Side::Both, None).unwrap();
        assert_eq!((found.images.len(), found.classes.len()), (20, 2));
        let read = |i: usize| image::open(found.images.full_path(i)).unwrap().to_rgb8();
        let (first, second) = (read(0), read(1));
        assert!(first != second);
        let mean = first.iter().map(|&x| f64::from(x)).sum::<f64>() / first.len() as f64;
        assert!((mean - 127.5).abs() < 1.0, "{mean}");
    }
}
