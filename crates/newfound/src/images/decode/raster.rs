//! PNG, WebP, BMP, GIF and TIFF.

use std::io::Cursor;

use image::error::ImageError;
use image::{ColorType, ImageDecoder, ImageFormat, ImageReader, Limits, RgbImage};

use super::gif;
use super::orientation::{upright, wanted};
use super::reason::{MAX_PIXELS, Reason, check_size};

/// Decodes one of the formats of the `image` crate, upright and in RGB.
pub(super) fn decode(bytes: &[u8], format: ImageFormat) -> Result<RgbImage, Reason> {
    let enlarged = if format == ImageFormat::Gif {
        gif::enlarged_screen(bytes)
    } else {
        None
    };
    let bytes = enlarged.as_deref().unwrap_or(bytes);
    if let Some((width, height)) = announced_size(bytes, format) {
        check_size(width, height)?;
    }
    if format == ImageFormat::WebP && announced_length(bytes) > bytes.len() as u64 {
        return Err(Reason::corrupt("the file ends before the image does"));
    }

    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = Limits::no_limits();
    // The deepest pixel is four 16-bit samples; as much again for the decoder's own buffers.
    limits.max_alloc = Some(MAX_PIXELS * 16);
    reader.limits(limits);

    let mut decoder = reader.into_decoder().map_err(reason)?;
    let (width, height) = decoder.dimensions();
    check_size(width, height)?;
    let exif = decoder.exif_metadata().ok().flatten();
    let xmp = decoder.xmp_metadata().ok().flatten();
    let mut orientation = wanted(exif.as_deref(), xmp.as_deref());
    if format == ImageFormat::Tiff {
        orientation = decoder.orientation().unwrap_or(orientation);
    }

    let layout = decoder.color_type();
    // A PNG's transparent grey level becomes an alpha channel, but the picture stays plain grey (type 0).
    let plain_grey = format == ImageFormat::Png && bytes.get(25) == Some(&0);
    let clipped_grey = layout == ColorType::L16 || plain_grey;
    let mut pixels =
        vec![0; width as usize * height as usize * usize::from(layout.bytes_per_pixel())];
    decoder.read_image(&mut pixels).map_err(reason)?;

    let rgb = to_rgb(pixels, layout, clipped_grey)?;
    let mut image = RgbImage::from_raw(width, height, rgb).expect("three bytes for each pixel");
    if format == ImageFormat::Gif {
        gif::fill_around_first_frame(bytes, &mut image);
    }
    Ok(upright(image, orientation))
}

/// Samples of any layout to RGB of 8 bits, as Pillow does: alpha is dropped, not blended, and the upper byte
/// of a 16-bit sample is kept, *except* in greyscale without alpha, where Pillow clips at 255. A 16-bit
/// greyscale picture that uses its range therefore comes out nearly white. That is hardly what anyone wants,
/// but it is what models trained on Pillow's pictures have seen.
fn to_rgb(pixels: Vec<u8>, layout: ColorType, clipped_grey: bool) -> Result<Vec<u8>, Reason> {
    let upper = |sample: &[u8]| (u16::from_ne_bytes([sample[0], sample[1]]) >> 8) as u8;
    let clipped = |sample: &[u8]| u16::from_ne_bytes([sample[0], sample[1]]).min(255) as u8;
    let rgb = match layout {
        ColorType::Rgb8 => pixels,
        ColorType::Rgba8 => pixels
            .as_chunks::<4>()
            .0
            .iter()
            .flat_map(|p| [p[0], p[1], p[2]])
            .collect(),
        ColorType::L8 => pixels.iter().flat_map(|&grey| [grey; 3]).collect(),
        ColorType::La8 => pixels
            .as_chunks::<2>()
            .0
            .iter()
            .flat_map(|p| [p[0]; 3])
            .collect(),
        ColorType::L16 | ColorType::La16 => pixels
            .chunks_exact(usize::from(layout.bytes_per_pixel()))
            .flat_map(|pixel| {
                [if clipped_grey {
                    clipped(pixel)
                } else {
                    upper(pixel)
                }; 3]
            })
            .collect(),
        ColorType::Rgb16 | ColorType::Rgba16 => pixels
            .chunks_exact(usize::from(layout.bytes_per_pixel()))
            .flat_map(|p| [upper(&p[0..2]), upper(&p[2..4]), upper(&p[4..6])])
            .collect(),
        other => return Err(Reason::unsupported(format!("{other:?} pixels"))),
    };
    Ok(rgb)
}

/// The size in a header whose place is fixed, so that it can be refused before a decoder is even made.
fn announced_size(bytes: &[u8], format: ImageFormat) -> Option<(u32, u32)> {
    let u16_at = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let u32_at = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    match format {
        ImageFormat::Png => Some((u32_at(16)?, u32_at(20)?)),
        ImageFormat::Gif => Some((u16_at(6)?.into(), u16_at(8)?.into())),
        _ => None,
    }
}

/// The length a RIFF header gives for its file. The decoder does not mind a few bytes missing at the end.
fn announced_length(bytes: &[u8]) -> u64 {
    bytes.get(4..8).map_or(0, |length| {
        u64::from(u32::from_le_bytes([
            length[0], length[1], length[2], length[3],
        ])) + 8
    })
}

/// A decoder's error in our words.
fn reason(error: ImageError) -> Reason {
    match error {
        ImageError::Unsupported(error) => Reason::unsupported(error),
        ImageError::IoError(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            Reason::corrupt("the file ends before the image does")
        }
        error => Reason::corrupt(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(values: &[u16]) -> Vec<u8> {
        values
            .iter()
            .flat_map(|value| value.to_ne_bytes())
            .collect()
    }

    #[test]
    fn sixteen_bit_grey_is_clipped_and_colour_keeps_the_upper_byte() {
        let grey = to_rgb(samples(&[0, 127, 255, 256, 0xffff]), ColorType::L16, true).unwrap();
        assert_eq!(
            grey,
            [
                0, 0, 0, 127, 127, 127, 255, 255, 255, 255, 255, 255, 255, 255, 255
            ]
        );
        let with_alpha = to_rgb(samples(&[0x1234, 0]), ColorType::La16, false).unwrap();
        assert_eq!(with_alpha, [0x12; 3]);
        let colour = to_rgb(samples(&[255, 256, 0xffff]), ColorType::Rgb16, false).unwrap();
        assert_eq!(colour, [0, 1, 255]);
    }

    #[test]
    fn alpha_is_dropped() {
        assert_eq!(
            to_rgb(vec![1, 2, 3, 0], ColorType::Rgba8, false).unwrap(),
            [1, 2, 3]
        );
        assert_eq!(
            to_rgb(vec![9, 0], ColorType::La8, false).unwrap(),
            [9, 9, 9]
        );
    }

    #[test]
    fn a_bomb_is_refused_by_its_header() {
        let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        png.extend(60_000u32.to_be_bytes());
        png.extend(60_000u32.to_be_bytes());
        let refused = decode(&png, ImageFormat::Png);
        assert_eq!(
            refused,
            Err(Reason::TooLarge {
                width: 60_000,
                height: 60_000
            })
        );
    }
}
