//! Small pictures that travel inside the page.

use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use crate::{base64, words};

/// As many thumbnails of a class are shown; those after them are left out of the page.
pub const THUMBNAILS_PER_CLASS: usize = 12;

/// A small picture of one image.
///
/// Thumbnails decide the size of the page. It shows them 96 pixels wide at most, so 128 × 128 and
/// JPEG quality 75 (3 to 6 kB) are enough also on a screen of high density.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Thumbnail {
    /// The image it shows: its path relative to the folder that was given.
    pub file: String,
    /// Probability of the label it was given, 0–1.
    pub confidence: Option<f64>,
    /// What the bytes are.
    pub image_type: ImageType,
    /// The encoded picture; base64 in JSON.
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

/// The first few thumbnails of a class side by side.
pub fn strip(thumbnails: &[Thumbnail], label: &str) -> Markup {
    html! {
        @if !thumbnails.is_empty() {
            ul.strip {
                @for thumbnail in thumbnails.iter().take(THUMBNAILS_PER_CLASS) {
                    li { (picture(thumbnail, label)) }
                }
            }
        }
    }
}

fn picture(thumbnail: &Thumbnail, label: &str) -> Markup {
    let Thumbnail {
        file,
        confidence,
        image_type,
        bytes,
    } = thumbnail;
    let (file, label) = (words::visible(file), words::visible(label));
    let text = match confidence {
        Some(share) => format!("{file}: {label}, {}", words::percent(*share)),
        None => format!("{file}: {label}"),
    };
    let source = format!(
        "data:{};base64,{}",
        image_type.mime(),
        base64::encode(bytes)
    );
    html! { img src=(source) alt=(text) title=(text) loading="lazy" decoding="async"; }
}
