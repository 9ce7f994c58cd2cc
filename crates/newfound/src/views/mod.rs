//! What the network sees of an image.
//!
//! A view is an image cut, coloured and resized at random, the random numbers being a function of the seed,
//! the image and the epoch. Each transformation is a pure function in its own file, with its random draws as
//! arguments; the draws have their own functions beside it and follow torchvision's distributions. Pixels
//! stay 8-bit until the end, as in Pillow, so that a model trained on Pillow's views sees the same here.
//!
//! | view   | what is done                                                                            |
//! |--------|-----------------------------------------------------------------------------------------|
//! | weak   | resize to a square, random crop, mirror with p = 0.5                                    |
//! | strong | random resized crop, colour jitter (p = 0.8), greyscale (0.2), blur (0.5), mirror (0.5) |
//! | test   | resize to a square, centre crop                                                         |

use image::RgbImage;

use crate::random::Stream;

pub use crop::CropBox;
pub use jitter::{Adjustment, JitterDraws};
pub use normalise::Normalisation;
pub use prefetch::{Batches, prefetch};
pub use strong::StrongDraws;
pub use weak::WeakDraws;

pub mod crop;
pub mod resize;
pub mod adjust;
pub mod hue;
pub mod jitter;
pub mod blur;
pub mod normalise;
pub mod weak;
pub mod strong;
mod prefetch;

/// The three ways to look at an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum View {
    /// Nearly the image: for pseudo-labels.
    Weak,
    /// Far from the image: for learning to disregard what does not matter.
    Strong,
    /// The same every time: for features and predictions.
    Test,
}

/// Sizes of a view, in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Geometry {
    /// Side of the square that an image is resized to before it is cropped (weak and test views).
    pub resize: u32,
    /// Side of the square that the network sees; not larger than [`resize`](Self::resize).
    pub crop: u32,
}

impl Default for Geometry {
    fn default() -> Self {
        Self {
            resize: 256,
            crop: 224,
        }
    }
}

impl Geometry {
    /// The geometry for a network that sees `crop` pixels, with the usual margin: 256 for 224.
    pub fn for_crop(crop: u32) -> Self {
        Self {
            resize: (f64::from(crop) * 256.0 / 224.0).round() as u32,
            crop,
        }
    }

    /// Number of values of one view: three channels of `crop` × `crop`.
    pub fn values(self) -> usize {
        3 * self.crop as usize * self.crop as usize
    }
}

/// Writes one view of `image` to `out`, scaled to 0 … 1 and then normalised. The test view draws nothing.
///
/// # Shapes
/// `out`: `[3, crop, crop]`, channels first.
///
/// # Panics
/// If `out` has another length, or if the crop is empty or larger than the square it is cut from.
pub fn render(
    image: &RgbImage,
    view: View,
    geometry: Geometry,
    normalisation: &Normalisation,
    draws: &mut Stream,
    out: &mut [f32],
) {
    let Geometry { resize, crop } = geometry;
    assert!(
        0 < crop && crop <= resize,
        "a crop of {crop} from a square of {resize}"
    );
    assert_eq!(out.len(), geometry.values(), "[3, {crop}, {crop}]");
    match view {
        View::Weak => weak::render(
            image,
            &WeakDraws::draw(geometry, draws),
            geometry,
            normalisation,
            out,
        ),
        View::Strong => {
            let draws = StrongDraws::draw(image.width(), image.height(), draws);
            strong::render(image, &draws, crop, normalisation, out);
        }
        View::Test => {
            let draws = WeakDraws {
                crop: CropBox::centre(resize, resize, crop),
                flip: false,
            };
            weak::render(image, &draws, geometry, normalisation, out);
        }
    }
}

#[cfg(test)]
mod tests;
