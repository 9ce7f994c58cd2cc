//! Small pictures for people to look at.

use std::path::Path;

use image::codecs::jpeg::JpegEncoder;

use super::Reason;
use super::decode::read;
use crate::views::CropBox;
use crate::views::resize::resize;

/// JPEG quality: artefacts stay invisible at this size.
const QUALITY: u8 = 80;

/// The middle square of an image, `side` pixels wide, as a JPEG file.
///
/// # Errors
///
/// If the image cannot be read.
pub fn thumbnail(path: &Path, side: u32) -> Result<Vec<u8>, Reason> {
    let image = read(path)?;
    let square = image.width().min(image.height());
    let small = resize(
        &image,
        CropBox::centre(image.width(), image.height(), square),
        side,
        side,
    );
    let mut bytes = Vec::new();
    small
        .write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, QUALITY))
        .expect("writing to memory cannot fail");
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_kept() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("wide.png");
        let middle = |x: u32| if (20..40).contains(&x) { 200 } else { 0 };
        image::RgbImage::from_fn(60, 20, |x, _| image::Rgb([middle(x), 10, 10]))
            .save(&path)
            .unwrap();
        let small = crate::images::decode::decode(&thumbnail(&path, 8).unwrap()).unwrap();
        assert_eq!(small.dimensions(), (8, 8));
        assert!(
            small.pixels().all(|pixel| pixel[0].abs_diff(200) < 12),
            "{small:?}"
        );
    }

    #[test]
    fn a_broken_image_has_none() {
        assert!(thumbnail(Path::new("nowhere.png"), 8).is_err());
    }
}
