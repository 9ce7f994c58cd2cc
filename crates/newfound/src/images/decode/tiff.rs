//! Kinds of TIFF that the `image` crate does not read and Pillow does: palettes, grey with alpha, grey of 32 bits.

use std::io::Cursor;

use image::RgbImage;
use image::metadata::Orientation;
use tiff::ColorType;
use tiff::decoder::{Decoder, DecodingResult, Limits};
use tiff::tags::Tag;

use super::orientation::upright;
use super::reason::{MAX_PIXELS, Reason, check_size};

/// `PhotometricInterpretation`: what the numbers of a pixel mean.
const PHOTOMETRIC: u16 = 262;
/// Its value where they are rows of a palette, and where they are grey levels.
const PALETTE: u16 = 3;
const BLACK_IS_ZERO: u16 = 1;

/// The picture, if it is of one of these kinds; none leaves the file to the other decoder, and its errors too.
pub(super) fn decode(bytes: &[u8]) -> Option<Result<RgbImage, Reason>> {
    if let Some(grey) = palette_as_grey(bytes) {
        return Some(picture(&grey, |decoder, pixels| {
            let map = decoder.get_tag_u16_vec(Tag::ColorMap).map_err(corrupt)?;
            let DecodingResult::U8(rows) = pixels else {
                return Err(Reason::unsupported("palettes of other than 8 bits"));
            };
            if map.len() != 3 * 256 {
                return Err(Reason::corrupt("the palette has not 256 colours"));
            }
            // All reds, then all greens, then all blues, of 16 bits each; Pillow keeps the upper byte.
            let colour =
                |row: u8| [0, 256, 512].map(|plane| (map[plane + row as usize] >> 8) as u8);
            Ok(rows.into_iter().flat_map(colour).collect())
        }));
    }
    let colour = Decoder::new(Cursor::new(bytes)).ok()?.colortype().ok()?;
    let of_32_bits = matches!(colour, ColorType::Gray(32));
    let with_alpha = matches!(
        colour,
        ColorType::Multiband {
            bit_depth: 8,
            num_samples: 2
        }
    );
    (of_32_bits || with_alpha).then(|| picture(bytes, |_, pixels| grey(pixels)))
}

/// Grey levels to RGB as Pillow has them: alpha is dropped, numbers of 32 bits are clipped to 0 … 255.
fn grey(pixels: DecodingResult) -> Result<Vec<u8>, Reason> {
    let levels: Vec<u8> = match pixels {
        DecodingResult::U8(values) => values.into_iter().step_by(2).collect(),
        DecodingResult::U32(values) => values.into_iter().map(|v| v.min(255) as u8).collect(),
        DecodingResult::I32(values) => values.into_iter().map(|v| v.clamp(0, 255) as u8).collect(),
        // Casts of floats to integers saturate, and not-a-number becomes 0.
        DecodingResult::F32(values) => values.into_iter().map(|v| v as u8).collect(),
        _ => return Err(Reason::unsupported("this kind of numbers in a TIFF")),
    };
    Ok(levels.into_iter().flat_map(|level| [level; 3]).collect())
}

fn corrupt(error: tiff::TiffError) -> Reason {
    Reason::corrupt(error.to_string())
}

fn picture(
    bytes: &[u8],
    to_rgb: impl FnOnce(&mut Decoder<Cursor<&[u8]>>, DecodingResult) -> Result<Vec<u8>, Reason>,
) -> Result<RgbImage, Reason> {
    let mut limits = Limits::default();
    limits.decoding_buffer_size = MAX_PIXELS as usize * 4;
    let mut decoder = Decoder::new(Cursor::new(bytes))
        .map_err(corrupt)?
        .with_limits(limits);
    let (width, height) = decoder.dimensions().map_err(corrupt)?;
    check_size(width, height)?;
    let orientation = decoder
        .find_tag_unsigned::<u8>(Tag::Orientation)
        .ok()
        .flatten();
    let pixels = decoder.read_image().map_err(corrupt)?;
    let rgb = to_rgb(&mut decoder, pixels)?;
    let image = RgbImage::from_raw(width, height, rgb)
        .ok_or_else(|| Reason::corrupt("another number of pixels than its size says"))?;
    let orientation = orientation.and_then(Orientation::from_exif);
    Ok(upright(
        image,
        orientation.unwrap_or(Orientation::NoTransforms),
    ))
}

/// A copy of a file with a palette that says its numbers are grey levels, which the decoder will give us as they are.
fn palette_as_grey(bytes: &[u8]) -> Option<Vec<u8>> {
    let little = match bytes.get(..4)? {
        [b'I', b'I', 42, 0] => true,
        [b'M', b'M', 0, 42] => false,
        _ => return None,
    };
    let short = |at: usize| {
        let two = bytes.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(if little {
            u16::from_le_bytes(two)
        } else {
            u16::from_be_bytes(two)
        })
    };
    let first = bytes.get(4..8)?.try_into().ok()?;
    let first = if little {
        u32::from_le_bytes(first)
    } else {
        u32::from_be_bytes(first)
    } as usize;
    let entries = usize::from(short(first)?);
    // An entry has 12 bytes: tag, type, count, and the value where it fits.
    let entry = (0..entries)
        .map(|n| first + 2 + 12 * n)
        .find(|&at| short(at) == Some(PHOTOMETRIC))?;
    let value = entry + 8;
    if short(value)? != PALETTE {
        return None;
    }
    let mut copy = bytes.to_vec();
    let grey = if little {
        BLACK_IS_ZERO.to_le_bytes()
    } else {
        BLACK_IS_ZERO.to_be_bytes()
    };
    copy[value..value + 2].copy_from_slice(&grey);
    Some(copy)
}
