//! Bytes to the numbers a network is fed with.

use image::RgbImage;

use super::crop::CropBox;

/// Mean and standard deviation, by channel, of the pictures a network was trained on, on a scale of 0 … 1.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Normalisation {
    /// Mean of red, green and blue.
    pub mean: [f32; 3],
    /// Standard deviation of red, green and blue.
    pub std: [f32; 3],
}

impl Default for Normalisation {
    /// Those of ImageNet.
    fn default() -> Self {
        Self {
            mean: [0.485, 0.456, 0.406],
            std: [0.229, 0.224, 0.225],
        }
    }
}

impl Normalisation {
    /// What each of the 256 byte values becomes, by channel: (value / 255 − mean) / std.
    fn table(&self) -> [[f32; 256]; 3] {
        std::array::from_fn(|channel| {
            std::array::from_fn(|value| {
                (value as f32 / 255.0 - self.mean[channel]) / self.std[channel]
            })
        })
    }
}

/// Cuts `crop` out of `image`, mirrors it left to right if `flip`, and writes it channel by channel.
///
/// # Shapes
/// `out`: `[3, crop.height, crop.width]`
pub fn normalise(
    image: &RgbImage,
    crop: CropBox,
    flip: bool,
    normalisation: &Normalisation,
    out: &mut [f32],
) {
    let (width, height) = (crop.width as usize, crop.height as usize);
    let table = normalisation.table();
    let (red, rest) = out.split_at_mut(width * height);
    let (green, blue) = rest.split_at_mut(width * height);
    let rows = image
        .as_raw()
        .chunks_exact(3 * image.width() as usize)
        .skip(crop.top as usize);
    let planes = red
        .chunks_exact_mut(width)
        .zip(green.chunks_exact_mut(width))
        .zip(blue.chunks_exact_mut(width));
    for (row, ((red, green), blue)) in rows.zip(planes) {
        let row = &row[3 * crop.left as usize..][..3 * width];
        for (x, pixel) in row.as_chunks::<3>().0.iter().enumerate() {
            let x = if flip { width - 1 - x } else { x };
            red[x] = table[0][usize::from(pixel[0])];
            green[x] = table[1][usize::from(pixel[1])];
            blue[x] = table[2][usize::from(pixel[2])];
        }
    }
}

#[cfg(test)]
mod tests {
    use image::Rgb;

    use super::*;

    #[test]
    fn values_are_scaled_and_then_normalised() {
        let image = RgbImage::from_pixel(1, 1, Rgb([0, 255, 51]));
        let normalisation = Normalisation {
            mean: [0.5, 0.0, 0.1],
            std: [0.25, 2.0, 0.5],
        };
        let mut out = [9.0; 3];
        normalise(
            &image,
            CropBox::whole(&image),
            false,
            &normalisation,
            &mut out,
        );
        assert_eq!(out[..2], [-2.0, 0.5]);
        assert!((out[2] - 0.2).abs() < 1e-6);
    }

    #[test]
    fn crop_and_flip_pick_the_right_pixels() {
        let image = RgbImage::from_fn(5, 4, |x, y| Rgb([(10 * y + x) as u8, 100, 200]));
        let plain = Normalisation {
            mean: [0.0; 3],
            std: [1.0 / 255.0; 3],
        };
        let crop = CropBox {
            left: 1,
            top: 2,
            width: 3,
            height: 2,
        };
        let red = |flip| {
            let mut out = [0.0; 18];
            normalise(&image, crop, flip, &plain, &mut out);
            assert!(out[6..12].iter().all(|&v| v.round() == 100.0));
            assert!(out[12..].iter().all(|&v| v.round() == 200.0));
            out[..6].iter().map(|v| v.round() as u8).collect::<Vec<_>>()
        };
        assert_eq!(red(false), [21, 22, 23, 31, 32, 33]);
        assert_eq!(red(true), [23, 22, 21, 33, 32, 31]);
    }
}
