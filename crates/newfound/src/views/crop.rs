//! Where to cut.

use image::RgbImage;

use crate::random::Stream;

/// A rectangle of an image, in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CropBox {
    /// Columns to its left.
    pub left: u32,
    /// Rows above it.
    pub top: u32,
    /// Columns it holds.
    pub width: u32,
    /// Rows it holds.
    pub height: u32,
}

impl CropBox {
    /// All of an image.
    pub fn whole(image: &RgbImage) -> Self {
        Self {
            left: 0,
            top: 0,
            width: image.width(),
            height: image.height(),
        }
    }

    /// A square of `size` in the middle of `width` × `height`.
    pub fn centre(width: u32, height: u32, size: u32) -> Self {
        // Half a pixel is rounded to the even one, as Python's `round` does.
        let margin = |side: u32| (f64::from(side - size) / 2.0).round_ties_even() as u32;
        Self {
            left: margin(width),
            top: margin(height),
            width: size,
            height: size,
        }
    }

    /// A square of `size` anywhere in `width` × `height` (torchvision's `RandomCrop`).
    pub fn random(width: u32, height: u32, size: u32, draws: &mut Stream) -> Self {
        let top = draws.below(u64::from(height - size) + 1) as u32;
        let left = draws.below(u64::from(width - size) + 1) as u32;
        Self {
            left,
            top,
            width: size,
            height: size,
        }
    }

    /// A rectangle of random area, shape and place (torchvision's `RandomResizedCrop`).
    ///
    /// Its area is uniform in 0.2 … 1 of the image's, the logarithm of its aspect ratio uniform between those
    /// of 3/4 and 4/3. If that does not fit into the image ten times in a row, the largest centred rectangle
    /// of an allowed ratio is taken.
    pub fn random_resized(width: u32, height: u32, draws: &mut Stream) -> Self {
        for _ in 0..ATTEMPTS {
            let area = draws.between(SCALE.0, SCALE.1);
            let ratio = draws.between(RATIO.0.ln(), RATIO.1.ln()).exp();
            let (w, h) = sides(width, height, area, ratio);
            if (1..=width).contains(&w) && (1..=height).contains(&h) {
                let top = draws.below(u64::from(height - h) + 1) as u32;
                let left = draws.below(u64::from(width - w) + 1) as u32;
                return Self {
                    left,
                    top,
                    width: w,
                    height: h,
                };
            }
        }
        Self::fallback(width, height)
    }

    /// The largest centred rectangle with a ratio of 3/4 … 4/3.
    pub(super) fn fallback(width: u32, height: u32) -> Self {
        let (w, h) = (f64::from(width), f64::from(height));
        let (w, h) = if w / h < RATIO.0 {
            (width, (w / RATIO.0).round_ties_even() as u32)
        } else if w / h > RATIO.1 {
            ((h * RATIO.1).round_ties_even() as u32, height)
        } else {
            (width, height)
        };
        Self {
            left: (width - w) / 2,
            top: (height - h) / 2,
            width: w,
            height: h,
        }
    }
}

const ATTEMPTS: usize = 10;
const SCALE: (f64, f64) = (0.2, 1.0);
const RATIO: (f64, f64) = (3.0 / 4.0, 4.0 / 3.0);

/// Width and height of a rectangle with this share of the image's area and this ratio.
pub(super) fn sides(width: u32, height: u32, area: f64, ratio: f64) -> (u32, u32) {
    let area = f64::from(width) * f64::from(height) * area;
    let side = |square: f64| square.sqrt().round_ties_even() as u32;
    (side(area * ratio), side(area / ratio))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_centre_is_where_torchvision_has_it() {
        let centre = CropBox::centre(256, 256, 224);
        assert_eq!(
            centre,
            CropBox {
                left: 16,
                top: 16,
                width: 224,
                height: 224
            }
        );
        // Margins of 2.5 and 3.5: to the even pixel.
        let odd = CropBox::centre(10, 12, 5);
        assert_eq!((odd.left, odd.top), (2, 4));
        assert_eq!(CropBox::centre(7, 7, 7).left, 0);
    }

    #[test]
    fn sides_are_those_of_torchvision() {
        // √(640 · 480 · 0.5 · 4/3) = 452.5…, √(640 · 480 · 0.5 · 3/4) = 339.4…
        assert_eq!(sides(640, 480, 0.5, 4.0 / 3.0), (453, 339));
        assert_eq!(sides(640, 480, 1.0, 4.0 / 3.0), (640, 480));
        assert_eq!(sides(1, 1, 0.2, 1.0), (0, 0));
    }

    #[test]
    fn the_fallback_is_centred_and_of_an_allowed_ratio() {
        // 1 × 500: no ratio fits, so one column, 1 / (3/4) = 1.33 → 1 row.
        let thin = CropBox::fallback(1, 500);
        assert_eq!(
            thin,
            CropBox {
                left: 0,
                top: 249,
                width: 1,
                height: 1
            }
        );
        let wide = CropBox::fallback(1000, 90);
        assert_eq!(
            wide,
            CropBox {
                left: 440,
                top: 0,
                width: 120,
                height: 90
            }
        );
        let square = CropBox::fallback(50, 50);
        assert_eq!(
            square,
            CropBox {
                left: 0,
                top: 0,
                width: 50,
                height: 50
            }
        );
        // A draw in so thin an image cannot succeed otherwise.
        let drawn = CropBox::random_resized(1, 500, &mut Stream::new(0, "thin", &[]));
        assert_eq!(drawn, thin);
    }

    #[test]
    fn random_crops_reach_every_place_equally_often() {
        let mut draws = Stream::new(1, "crop", &[]);
        let mut counts = [[0u32; 3]; 3];
        for _ in 0..9000 {
            let crop = CropBox::random(6, 6, 4, &mut draws);
            counts[crop.top as usize][crop.left as usize] += 1;
        }
        // 1000 ± 5 standard deviations of a binomial count.
        assert!(
            counts.iter().flatten().all(|&n| n.abs_diff(1000) < 150),
            "{counts:?}"
        );
    }

    #[test]
    fn resized_crops_have_the_right_areas_and_ratios() {
        let mut draws = Stream::new(2, "resized", &[]);
        let (width, height, n) = (500, 400, 20_000);
        let (mut area, mut log_ratio, mut tall) = (0.0, 0.0, 0);
        for _ in 0..n {
            let crop = CropBox::random_resized(width, height, &mut draws);
            assert!(crop.left + crop.width <= width && crop.top + crop.height <= height);
            let share = f64::from(crop.width * crop.height) / f64::from(width * height);
            let ratio = f64::from(crop.width) / f64::from(crop.height);
            // Rounding to whole pixels may go a little beyond the limits.
            assert!((0.198..=1.0).contains(&share), "{share}");
            assert!((0.745..=1.34).contains(&ratio), "{ratio}");
            area += share / f64::from(n);
            log_ratio += ratio.ln() / f64::from(n);
            tall += u32::from(ratio < 1.0);
        }
        // 200,000 draws of torchvision 0.29 for this size: 0.5165, 0.0337 and 40.6 %. (Crops that do not
        // fit are drawn again, so large and tall ones are rarer than the draws alone would have it.)
        assert!((area - 0.5165).abs() < 0.006, "{area}");
        assert!((log_ratio - 0.0337).abs() < 0.005, "{log_ratio}");
        assert!(
            (f64::from(tall) / f64::from(n) - 0.406).abs() < 0.015,
            "{tall}"
        );
    }
}
