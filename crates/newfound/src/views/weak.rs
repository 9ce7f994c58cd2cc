//! The weak view: resize to a square (whatever the aspect), random crop, mirror with p = 0.5.

use image::RgbImage;

use super::Geometry;
use super::crop::CropBox;
use super::normalise::{Normalisation, normalise};
use super::resize::resize;
use crate::random::Stream;

/// The random part of a weak view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeakDraws {
    /// Where the resized square is cut.
    pub crop: CropBox,
    /// Whether left and right are exchanged.
    pub flip: bool,
}

impl WeakDraws {
    /// A crop anywhere in the square, and a coin.
    pub fn draw(geometry: Geometry, draws: &mut Stream) -> Self {
        let crop = CropBox::random(geometry.resize, geometry.resize, geometry.crop, draws);
        Self {
            crop,
            flip: draws.bernoulli(0.5),
        }
    }
}

/// Writes the weak view with these draws.
///
/// # Shapes
/// `out`: `[3, crop, crop]`
pub fn render(
    image: &RgbImage,
    draws: &WeakDraws,
    geometry: Geometry,
    normalisation: &Normalisation,
    out: &mut [f32],
) {
    let square = resize(
        image,
        CropBox::whole(image),
        geometry.resize,
        geometry.resize,
    );
    normalise(&square, draws.crop, draws.flip, normalisation, out);
}
