//! JPEG.

use image::RgbImage;
use zune_jpeg::JpegDecoder;
use zune_jpeg::errors::DecodeErrors;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::jpeg_frame::Frame;
use super::orientation::{upright, wanted};
use super::reason::{MAX_SIDE, Reason, check_size};

/// Decodes a JPEG, upright and in RGB.
///
/// The decoder repairs what it can: a file cut short becomes a picture with a grey lower half. For us that
/// is lost data, so the end of the image is looked for first, and errors inside a scan are final. Junk
/// between headers, which some cameras write, stays harmless.
pub(super) fn decode(bytes: &[u8]) -> Result<RgbImage, Reason> {
    let frame = Frame::walk(bytes)?;
    check_size(frame.width, frame.height)?;
    match frame.components {
        1 | 3 | 4 => {}
        n => return Err(Reason::unsupported(format!("a JPEG with {n} components"))),
    }
    // Each block of 64 pixels takes at least one bit, so a short file cannot hold a large picture: no need
    // to take its memory first.
    if u64::from(frame.width) * u64::from(frame.height) / 512 > bytes.len() as u64 {
        return Err(Reason::corrupt("the file is too short for its picture"));
    }
    if frame.split_and_subsampled {
        // The decoder would return garbage without a word.
        return Err(Reason::unsupported(
            "a sequential JPEG with subsampled colour in separate scans",
        ));
    }

    // A JFIF header says YCbCr. Where Adobe's marker says RGB at the same time, libjpeg believes the former
    // and our decoder the latter, so the marker is corrected.
    let corrected = frame.contradiction_at.map(|at| {
        let mut bytes = bytes.to_vec();
        bytes[at] = 1;
        bytes
    });
    let bytes = corrected.as_deref().unwrap_or(bytes);

    let side = MAX_SIDE as usize;
    let options = DecoderOptions::default()
        .set_max_width(side)
        .set_max_height(side);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.set_options(
        options
            .set_strict_mode(false)
            .jpeg_set_out_colorspace(ColorSpace::RGB),
    );
    decoder.decode_headers().map_err(reason)?;

    let output = match decoder.input_colorspace() {
        Some(ColorSpace::CMYK) if frame.components == 4 => ColorSpace::CMYK,
        _ => ColorSpace::RGB,
    };
    decoder.set_options(
        decoder
            .options()
            .set_strict_mode(true)
            .jpeg_set_out_colorspace(output),
    );
    let orientation = wanted(
        decoder.exif().map(Vec::as_slice),
        decoder.xmp().map(Vec::as_slice),
    );
    let mut pixels = decoder.decode().map_err(reason)?;
    if output == ColorSpace::CMYK {
        pixels = rgb_from_inverted_cmyk(&pixels);
    }

    let image = RgbImage::from_raw(frame.width, frame.height, pixels)
        .ok_or_else(|| Reason::corrupt("the frame and the scan differ in size"))?;
    Ok(upright(image, orientation))
}

/// Pillow takes every CMYK JPEG for Adobe's kind, in which 255 means no ink.
fn rgb_from_inverted_cmyk(pixels: &[u8]) -> Vec<u8> {
    let mut rgb = Vec::with_capacity(pixels.len() / 4 * 3);
    for &[cyan, magenta, yellow, black] in pixels.as_chunks::<4>().0 {
        for ink in [cyan, magenta, yellow] {
            rgb.push(black - divided_by_255(u32::from(255 - ink) * u32::from(black)));
        }
    }
    rgb
}

/// n / 255 to the nearest integer, for n ≤ 255².
fn divided_by_255(n: u32) -> u8 {
    let n = n + 128;
    (((n >> 8) + n) >> 8) as u8
}

/// A decoder's error in our words.
fn reason(error: DecodeErrors) -> Reason {
    match error {
        DecodeErrors::Unsupported(scheme) => Reason::unsupported(format!("JPEG: {scheme:?}")),
        DecodeErrors::ExhaustedData => Reason::corrupt("the file ends inside the image"),
        error => Reason::corrupt(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverted_cmyk_without_black_ink_is_rgb() {
        assert_eq!(rgb_from_inverted_cmyk(&[10, 200, 255, 255]), [10, 200, 255]);
        // All black ink: black, whatever the colours.
        assert_eq!(rgb_from_inverted_cmyk(&[10, 200, 255, 0]), [0, 0, 0]);
    }

    #[test]
    fn division_by_255_rounds_to_nearest() {
        for n in 0..=255 * 255 {
            assert_eq!(divided_by_255(n), ((2 * n + 255) / 510) as u8, "{n}");
        }
    }
}
