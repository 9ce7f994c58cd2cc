//! Small pictures that travel inside the page.
//!
//! A picture is written once, as a rule of the style sheet, and shown in as many places as there are
//! elements of its class: on a card, beside its neighbours, on the map, large. An `<img>` would have
//! to repeat its bytes in each of them.

use serde::{Deserialize, Serialize};

use crate::base64;

/// The pictures of a page take at most so many bytes as text; those that come last are left out.
pub const PICTURE_BYTES: usize = 10_000_000;

/// No picture needs to be larger: it is about that of 256 × 256 pixels as JPEG.
const LARGEST: usize = 12_000;

/// Bytes that each of `images` pictures may have so that all of them fit into the page.
///
/// 12 kB up to some 620 images (about 256 × 256 pixels at JPEG quality 75), 3.7 kB for 2,000 (128 ×
/// 128), 1.5 kB for 5,000 (72 × 72 at quality 60). A picture may well be larger than this; if all
/// are, the page leaves out those that are shown last.
pub fn picture_budget(images: usize) -> usize {
    // Four letters for three bytes, and the words around them.
    (PICTURE_BYTES / images.max(1))
        .saturating_sub(64)
        .min(LARGEST / 3 * 4)
        / 4
        * 3
}

/// A small picture of one image.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Picture {
    /// What the bytes are.
    pub image_type: ImageType,
    /// The encoded picture; base64 in JSON. [`picture_budget`] tells how large it should be.
    #[serde(with = "base64")]
    pub bytes: Vec<u8>,
}

/// The encodings that every browser shows. A closed list: an SVG picture could carry a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ImageType {
    /// `image/jpeg`
    #[serde(rename = "image/jpeg")]
    Jpeg,
    /// `image/png`
    #[serde(rename = "image/png")]
    Png,
    /// `image/webp`
    #[serde(rename = "image/webp")]
    WebP,
}

impl ImageType {
    /// The MIME type.
    pub fn mime(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::WebP => "image/webp",
        }
    }
}

impl Picture {
    /// The rule that gives the picture to every element of the class `p{number}`.
    pub(crate) fn rule(&self, number: usize) -> String {
        format!(
            ".p{number}{{--p:url(data:{};base64,{})}}",
            self.image_type.mime(),
            base64::encode(&self.bytes)
        )
    }
}

/// Which pictures the page has room for, the most wanted first.
///
/// One that does not fit ends the choice: a small one after it must not jump the queue.
pub(crate) fn affordable<'a>(
    wanted: impl IntoIterator<Item = (usize, Option<&'a Picture>)>,
    count: usize,
) -> Vec<bool> {
    let mut chosen = vec![false; count];
    let mut room = PICTURE_BYTES;
    for (number, picture) in wanted {
        let Some(picture) = picture.filter(|picture| !picture.bytes.is_empty()) else {
            continue;
        };
        if chosen[number] {
            continue;
        }
        let Some(left) = room.checked_sub(picture.bytes.len().div_ceil(3) * 4 + 64) else {
            break;
        };
        (room, chosen[number]) = (left, true);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(bytes: usize) -> Picture {
        Picture {
            image_type: ImageType::Jpeg,
            bytes: vec![0; bytes],
        }
    }

    #[test]
    fn pictures_within_the_budget_all_fit() {
        for images in [0, 1, 10, 620, 2_000, 5_000, 50_000] {
            let one = picture(picture_budget(images));
            let wanted = (0..images).map(|number| (number, Some(&one)));
            assert!(
                affordable(wanted, images).iter().all(|&fits| fits),
                "{images}"
            );
        }
        assert_eq!(picture_budget(10), 12_000);
        assert_eq!(picture_budget(5_000), 1_452);
        assert_eq!(picture_budget(usize::MAX), 0);
    }

    #[test]
    fn what_does_not_fit_is_left_out_from_the_end() {
        let (large, small) = (picture(PICTURE_BYTES / 2), picture(3));
        let wanted = [
            (2, Some(&large)),
            (0, None),
            (2, Some(&large)),
            (1, Some(&large)),
            (3, Some(&small)),
        ];
        assert_eq!(affordable(wanted, 4), [false, false, true, false]);
    }

    #[test]
    fn a_rule_holds_nothing_but_letters_of_base64() {
        assert_eq!(
            picture(2).rule(7),
            ".p7{--p:url(data:image/jpeg;base64,AAA=)}"
        );
    }
}
