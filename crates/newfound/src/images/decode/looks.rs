//! What a file is, by its first bytes.

use image::ImageFormat;

/// What the first bytes of a file say it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Looks {
    /// A picture format that is read here.
    Like(ImageFormat),
    /// A picture format that is not read here.
    Foreign(&'static str),
    /// No picture at all.
    Other(&'static str),
}

/// Beginnings of picture formats that are not read here.
const FOREIGN: [(usize, &[u8], &str); 19] = [
    (4, b"ftypavif", "AVIF"),
    (4, b"ftypavis", "AVIF"),
    (4, b"ftyphei", "HEIC"),
    (4, b"ftyphev", "HEIC"),
    (4, b"ftypmif1", "HEIF"),
    (0, b"\xff\x0a", "JPEG XL"),
    (4, b"JXL \r\n\x87\n", "JPEG XL"),
    (4, b"jP  \r\n\x87\n", "JPEG 2000"),
    (0, b"\xff\x4f\xff\x51", "JPEG 2000"),
    (0, b"II+\0", "BigTIFF"),
    (0, b"MM\0+", "BigTIFF"),
    (0, b"8BPS", "Photoshop (PSD)"),
    (0, b"\0\0\x01\0", "ICO"),
    (0, b"DDS ", "DDS"),
    (0, b"P4\n", "PBM"),
    (0, b"P5\n", "PGM"),
    (0, b"P6\n", "PPM"),
    (0, b"qoif", "QOI"),
    (0, b"\x76\x2f\x31\x01", "OpenEXR"),
];

/// Beginnings of other files that are often found under a picture's name.
const OTHER: [(&[u8], &str); 8] = [
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"Rar!", "a RAR archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"\x93NUMPY", "a NumPy array"),
    (
        b"version https://git-lfs",
        "a Git LFS pointer: the picture was never fetched",
    ),
    (b"RIFF", "a RIFF file that is not WebP (sound or video)"),
];

/// Decides by content alone: the name of a file proves nothing.
pub(super) fn looks(bytes: &[u8]) -> Looks {
    use ImageFormat::{Bmp, Gif, Jpeg, Png, Tiff, WebP};
    if let Ok(format @ (Jpeg | Png | WebP | Gif | Tiff | Bmp)) = image::guess_format(bytes) {
        // "BM" also starts many a text; a bitmap's header is longer than any word.
        if format != Bmp || !is_text(bytes) {
            return Looks::Like(format);
        }
    }
    for (offset, magic, name) in FOREIGN {
        if bytes
            .get(offset..)
            .is_some_and(|rest| rest.starts_with(magic))
        {
            return Looks::Foreign(name);
        }
    }
    for (magic, name) in OTHER {
        if bytes.starts_with(magic) {
            return Looks::Other(name);
        }
    }
    if bytes.iter().all(|&byte| byte == 0) {
        return Looks::Other("nothing but zero bytes");
    }
    if is_text(bytes) {
        text(bytes)
    } else {
        Looks::Other("binary data of an unknown kind")
    }
}

/// Whether the first kilobyte could have been typed: UTF-8 without control characters.
fn is_text(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(1024)];
    let valid = match std::str::from_utf8(head) {
        Ok(text) => text,
        // The cut at 1024 may have split a character; anything earlier is not text.
        Err(error) if error.valid_up_to() + 4 > head.len() && head.len() == 1024 => {
            std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    valid
        .chars()
        .all(|c| !c.is_control() || matches!(c, '\n' | '\r' | '\t' | '\x0c'))
}

/// Which kind of text.
fn text(bytes: &[u8]) -> Looks {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(1024)]).to_lowercase();
    let start = head.trim_start_matches('\u{feff}').trim_start();
    if start.contains("<svg") {
        Looks::Foreign("SVG")
    } else if start.starts_with("<!doctype html") || start.contains("<html") {
        Looks::Other("an HTML page (a failed download?)")
    } else if start.starts_with("<?xml") {
        Looks::Other("an XML document")
    } else if start.starts_with(['{', '[']) {
        Looks::Other("JSON")
    } else {
        Looks::Other("text")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_content() {
        let cases: [(&[u8], Looks); 16] = [
            (b"\xff\xd8\xff\xe0", Looks::Like(ImageFormat::Jpeg)),
            (b"\x89PNG\r\n\x1a\n", Looks::Like(ImageFormat::Png)),
            (b"RIFF\x10\0\0\0WEBPVP8 ", Looks::Like(ImageFormat::WebP)),
            (b"BM\x36\0\0\0\0\0\0\0", Looks::Like(ImageFormat::Bmp)),
            (b"BMW is a car maker", Looks::Other("text")),
            (b"RIFF\x10\0\0\0WAVEfmt ", Looks::Other(OTHER[7].1)),
            (b"\0\0\0\x1cftypavif", Looks::Foreign("AVIF")),
            (b"\0\0\0\x1cftypheic", Looks::Foreign("HEIC")),
            (b"<?xml version='1.0'?><svg>", Looks::Foreign("SVG")),
            (
                b"\n <!DOCTYPE HTML><title>404",
                Looks::Other("an HTML page (a failed download?)"),
            ),
            (
                b"<?xml version='1.0'?><a/>",
                Looks::Other("an XML document"),
            ),
            (b"{\"error\": 404}", Looks::Other("JSON")),
            (
                b"version https://git-lfs.github.com/spec/v1",
                Looks::Other(OTHER[6].1),
            ),
            (b"%PDF-1.7", Looks::Other("a PDF document")),
            (&[0; 64], Looks::Other("nothing but zero bytes")),
            (
                b"\x01\x02\x03\xfe",
                Looks::Other("binary data of an unknown kind"),
            ),
        ];
        for (bytes, expected) in cases {
            assert_eq!(
                looks(bytes),
                expected,
                "{:?}",
                String::from_utf8_lossy(bytes)
            );
        }
    }

    #[test]
    fn a_character_cut_at_the_end_of_the_first_kilobyte_is_still_text() {
        let mut bytes = vec![b'a'; 1023];
        bytes.extend("é".as_bytes());
        assert_eq!(looks(&bytes), Looks::Other("text"));
    }
}
