//! Why a file gives no picture.

/// The largest number of pixels we decode: the size at which Pillow refuses an image as a
/// decompression bomb.
pub const MAX_PIXELS: u64 = 178_956_970;

/// The longest side we decode, which is also the longest a JPEG can have.
pub const MAX_SIDE: u32 = 65_535;

/// The largest file we read into memory.
pub const MAX_FILE_BYTES: u64 = 1 << 30;

/// Why a file gives no picture.
///
/// One variant per way a file can disappoint, so that a report can count them. The message is written to
/// follow the path of the file: `photos/a.jpg: the file is empty`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The file has no bytes.
    #[error("the file is empty")]
    Empty,

    /// The bytes are not those of any picture format.
    #[error("not an image: it looks like {looks_like}")]
    NotAnImage {
        /// What the bytes look like instead, with its article: "an HTML page".
        looks_like: &'static str,
    },

    /// A picture, but in a format or a variant of a format that is not read here.
    #[error("unsupported: {what}")]
    Unsupported {
        /// The format, or the decoder's words.
        what: String,
    },

    /// The header announces a picture without pixels.
    #[error("the image has no pixels: {width} × {height}")]
    ZeroSized {
        /// Width in the header.
        width: u32,
        /// Height in the header.
        height: u32,
    },

    /// The header announces more pixels than we are willing to hold.
    #[error(
        "the image is too large: {width} × {height} (at most {MAX_PIXELS} pixels, {MAX_SIDE} a side)"
    )]
    TooLarge {
        /// Width in the header.
        width: u32,
        /// Height in the header.
        height: u32,
    },

    /// The file is larger than any picture we accept could be.
    #[error("the file is too large: {bytes} bytes (at most {MAX_FILE_BYTES})")]
    FileTooLarge {
        /// Size of the file.
        bytes: u64,
    },

    /// The picture starts well and then ends early or makes no sense.
    #[error("truncated or corrupt: {message}")]
    Corrupt {
        /// The decoder's words.
        message: String,
    },

    /// The operating system would not hand over the file.
    #[error("cannot be read: {0}")]
    Io(String),
}

impl Reason {
    /// A [`Reason::Corrupt`] in the words of a decoder.
    pub(super) fn corrupt(message: impl ToString) -> Self {
        Self::Corrupt {
            message: message.to_string(),
        }
    }

    /// A [`Reason::Unsupported`] in the words of a decoder.
    pub(super) fn unsupported(what: impl ToString) -> Self {
        Self::Unsupported {
            what: what.to_string(),
        }
    }
}

/// Refuses a size before memory is taken for it.
pub(super) fn check_size(width: u32, height: u32) -> Result<(), Reason> {
    if width == 0 || height == 0 {
        return Err(Reason::ZeroSized { width, height });
    }
    let pixels = u64::from(width) * u64::from(height);
    if width > MAX_SIDE || height > MAX_SIDE || pixels > MAX_PIXELS {
        return Err(Reason::TooLarge { width, height });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_are_exact() {
        assert_eq!(check_size(1, 65_535), Ok(()));
        assert_eq!(
            check_size(65_536, 1),
            Err(Reason::TooLarge {
                width: 65_536,
                height: 1
            })
        );
        // 178,956,970 = 2 · 5 · 17,895,697; as sides within the limit: 26,841 × 6,667 is just below it.
        assert_eq!(check_size(26_841, 6_667), Ok(()));
        assert!(check_size(26_841, 6_668).is_err());
        assert_eq!(
            check_size(0, 5),
            Err(Reason::ZeroSized {
                width: 0,
                height: 5
            })
        );
        // The product would overflow 32 bits.
        assert!(check_size(u32::MAX, u32::MAX).is_err());
    }
}
