//! Which way up a picture is.

use image::metadata::Orientation;
use image::{DynamicImage, RgbImage};

/// The orientation a file asks for: the EXIF tag where there is one, otherwise XMP's `tiff:Orientation`,
/// which is also Pillow's order. Anything unreadable counts as upright.
pub(super) fn wanted(exif: Option<&[u8]>, xmp: Option<&[u8]>) -> Orientation {
    exif.and_then(from_exif)
        .or_else(|| xmp.and_then(from_xmp))
        .unwrap_or(Orientation::NoTransforms)
}

/// The picture, turned and mirrored until it is upright.
pub(super) fn upright(image: RgbImage, orientation: Orientation) -> RgbImage {
    if orientation == Orientation::NoTransforms {
        return image;
    }
    let mut image = DynamicImage::ImageRgb8(image);
    image.apply_orientation(orientation);
    image.into_rgb8()
}

/// Some writers keep JPEG's `Exif\0\0` prefix where the TIFF header should start.
fn from_exif(chunk: &[u8]) -> Option<Orientation> {
    Orientation::from_exif_chunk(chunk.strip_prefix(b"Exif\0\0").unwrap_or(chunk))
}

/// `tiff:Orientation="6"` or `<tiff:Orientation>6`.
fn from_xmp(xmp: &[u8]) -> Option<Orientation> {
    const NAME: &[u8] = b"tiff:Orientation";
    xmp.windows(NAME.len())
        .enumerate()
        .filter(|(_, window)| *window == NAME)
        .find_map(|(at, _)| {
            let rest = &xmp[at + NAME.len()..];
            let digit = match rest {
                [b'=', b'"', digit, ..] | [b'>', digit, ..] => digit,
                _ => return None,
            };
            Orientation::from_exif(digit.wrapping_sub(b'0'))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A little-endian TIFF header with one directory entry: orientation, SHORT, 1 value.
    fn exif(orientation: u8) -> Vec<u8> {
        let mut bytes = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0".to_vec();
        bytes.extend([orientation, 0, 0, 0, 0, 0, 0, 0]);
        bytes
    }

    #[test]
    fn exif_wins_over_xmp() {
        let xmp: &[u8] = b"<x tiff:Orientation=\"6\"/>";
        assert_eq!(wanted(Some(&exif(3)), Some(xmp)), Orientation::Rotate180);
        assert_eq!(wanted(Some(&exif(1)), Some(xmp)), Orientation::NoTransforms);
        assert_eq!(wanted(None, Some(xmp)), Orientation::Rotate90);
        assert_eq!(
            wanted(None, Some(b"<tiff:Orientation>8</")),
            Orientation::Rotate270
        );
        assert_eq!(
            wanted(None, Some(b"tiff:Orientation")),
            Orientation::NoTransforms
        );
        assert_eq!(wanted(Some(b"junk"), None), Orientation::NoTransforms);
        assert_eq!(wanted(None, None), Orientation::NoTransforms);
    }

    #[test]
    fn the_exif_prefix_is_tolerated() {
        let prefixed = [b"Exif\0\0".as_slice(), &exif(8)].concat();
        assert_eq!(wanted(Some(&prefixed), None), Orientation::Rotate270);
    }
}
