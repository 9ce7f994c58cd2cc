//! The strong view, that of MoCo v2: random resized crop, colour jitter with p = 0.8, greyscale with p = 0.2,
//! Gaussian blur with p = 0.5, mirror with p = 0.5.

use image::RgbImage;

use super::crop::CropBox;
use super::jitter::{JitterDraws, jitter};
use super::normalise::{Normalisation, normalise};
use super::resize::resize;
use super::{adjust, blur};
use crate::random::Stream;

/// The random part of a strong view.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StrongDraws {
    /// The part of the image that is looked at.
    pub crop: CropBox,
    /// How colours change, if they do.
    pub jitter: Option<JitterDraws>,
    /// Whether all colour is taken away.
    pub greyscale: bool,
    /// Standard deviation of the blur in pixels of the view, if there is one.
    pub blur: Option<f32>,
    /// Whether left and right are exchanged.
    pub flip: bool,
}

impl StrongDraws {
    /// Draws for an image of `width` × `height`.
    pub fn draw(width: u32, height: u32, draws: &mut Stream) -> Self {
        Self {
            crop: CropBox::random_resized(width, height, draws),
            jitter: draws.bernoulli(0.8).then(|| JitterDraws::draw(draws)),
            greyscale: draws.bernoulli(0.2),
            blur: draws.bernoulli(0.5).then(|| draws.between(0.1, 2.0) as f32),
            flip: draws.bernoulli(0.5),
        }
    }
}

/// Writes the strong view with these draws.
///
/// # Shapes
/// `out`: `[3, size, size]`
pub fn render(
    image: &RgbImage,
    draws: &StrongDraws,
    size: u32,
    normalisation: &Normalisation,
    out: &mut [f32],
) {
    let mut view = resize(image, draws.crop, size, size);
    if let Some(jitter_draws) = &draws.jitter {
        jitter(&mut view, jitter_draws);
    }
    if draws.greyscale {
        adjust::greyscale(&mut view);
    }
    if let Some(sigma) = draws.blur {
        blur::blur(&mut view, size as usize, sigma);
    }
    normalise(&view, CropBox::whole(&view), draws.flip, normalisation, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_has_its_probability() {
        let mut draws = Stream::new(4, "strong", &[]);
        let n = 10_000;
        let mut counts = [0u32; 4];
        let mut sigma = 0.0;
        for _ in 0..n {
            let draw = StrongDraws::draw(300, 200, &mut draws);
            let happened = [
                draw.jitter.is_some(),
                draw.greyscale,
                draw.blur.is_some(),
                draw.flip,
            ];
            counts
                .iter_mut()
                .zip(happened)
                .for_each(|(count, yes)| *count += u32::from(yes));
            if let Some(blur) = draw.blur {
                assert!((0.1..2.0001).contains(&blur));
                sigma += f64::from(blur);
            }
        }
        // Five standard deviations of a binomial count are at most 250.
        let expected = [8000, 2000, 5000, 5000];
        assert!(
            counts
                .iter()
                .zip(expected)
                .all(|(&n, p)| n.abs_diff(p) < 250),
            "{counts:?}"
        );
        let mean = sigma / f64::from(counts[2]);
        assert!((mean - 1.05).abs() < 0.04, "{mean}");
    }
}
