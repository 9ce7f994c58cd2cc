//! Bilinear resizing with antialiasing.

use fast_image_resize::images::{CroppedImage, Image, ImageRef};
use fast_image_resize::{FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer};
use image::RgbImage;

use super::crop::CropBox;

/// The part of `image` inside `crop`, resized to `width` × `height`, as Pillow's
/// `image.crop(box).resize((width, height), BILINEAR)`.
///
/// Each output pixel is a weighted mean of input pixels under a triangle that is as wide as the reduction is
/// strong. What lies outside the crop has no influence. The width is changed first, then the height, with
/// 8 bits in between, as in Pillow. (The other order would take a quarter less time, and every tenth value
/// of a photograph would differ from Pillow's by one level, instead of every thousandth. Pillow 13 itself
/// takes the other order where the height shrinks much more than the width.)
pub fn resize(image: &RgbImage, crop: CropBox, width: u32, height: u32) -> RgbImage {
    let bilinear = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::Bilinear));
    let source = ImageRef::new(
        image.width(),
        image.height(),
        image.as_raw(),
        PixelType::U8x3,
    )
    .expect("an image holds three bytes for each pixel");
    let source = CroppedImage::new(&source, crop.left, crop.top, crop.width, crop.height)
        .expect("a crop lies inside its image");

    let mut resizer = Resizer::new();
    let mut narrow = Image::new(width, crop.height, PixelType::U8x3);
    resizer
        .resize(&source, &mut narrow, &bilinear)
        .expect("both images are RGB");
    let mut result = narrow;
    if height != crop.height {
        let narrow = result;
        result = Image::new(width, height, PixelType::U8x3);
        resizer
            .resize(&narrow, &mut result, &bilinear)
            .expect("both images are RGB");
    }
    RgbImage::from_raw(width, height, result.into_vec()).expect("three bytes for each pixel")
}

#[cfg(test)]
mod tests {
    use image::Rgb;

    use super::*;

    fn whole(image: &RgbImage, width: u32, height: u32) -> RgbImage {
        resize(image, CropBox::whole(image), width, height)
    }

    #[test]
    fn a_flat_image_stays_flat() {
        let image = RgbImage::from_pixel(37, 91, Rgb([3, 128, 255]));
        assert!(
            whole(&image, 64, 64)
                .pixels()
                .all(|pixel| pixel.0 == [3, 128, 255])
        );
    }

    #[test]
    fn halving_averages_under_a_triangle() {
        // One row 0, 0, 80, 80, scale 2: the first output is centred at 1.0 with radius 2, so it weighs the
        // columns at 0.5, 1.5, 2.5 with 3/4, 3/4, 1/4, together 7/4: 80 · (1/4) / (7/4) = 11.4.
        let row = RgbImage::from_fn(4, 1, |x, _| Rgb([if x < 2 { 0 } else { 80 }; 3]));
        let half = whole(&row, 2, 1);
        assert_eq!((half[(0, 0)].0, half[(1, 0)].0), ([11; 3], [69; 3]));
    }

    #[test]
    fn the_same_size_is_a_copy() {
        let image = RgbImage::from_fn(5, 4, |x, y| Rgb([(x * 50) as u8, (y * 60) as u8, 7]));
        assert_eq!(whole(&image, 5, 4), image);
    }

    #[test]
    fn nothing_outside_the_crop_has_influence() {
        let mut image = RgbImage::from_pixel(40, 40, Rgb([255; 3]));
        let crop = CropBox {
            left: 10,
            top: 12,
            width: 17,
            height: 9,
        };
        for y in 12..21 {
            for x in 10..27 {
                image[(x, y)] = Rgb([100; 3]);
            }
        }
        assert!(
            resize(&image, crop, 30, 4)
                .pixels()
                .all(|pixel| pixel.0 == [100; 3])
        );
    }
}
