//! Which kind of file this is, told by its first bytes.

use std::io::{Read, Seek, SeekFrom};

use super::Problem;
use super::safetensors::MAX_HEADER;

/// The kinds of file we read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Format {
    /// A length, a JSON header, the tensors' bytes.
    Safetensors,
    /// What `torch.save` wrote.
    Pytorch(Container),
}

/// The containers of `torch.save`, newest first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Container {
    /// A ZIP archive, since PyTorch 1.6.
    Zip,
    /// Five pickles, then the tensors' bytes; PyTorch 0.1.10 to 1.5.
    Legacy,
    /// A TAR archive, before PyTorch 0.1.10: the first ResNet weights were published in it.
    Tar,
    /// A single pickle without tensors' bytes.
    Pickle,
}

/// Where a TAR archive has the word `ustar`.
const TAR_MAGIC: usize = 257;

/// The number that opens a legacy file, as pickle protocols from 2 on write it, and as text.
const LEGACY_MAGIC: [&[u8]; 2] = [
    &[0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19],
    b"119547037146038801333356",
];

/// How far into a legacy file that number may begin, whatever the protocol puts before it.
const LEGACY_WINDOW: usize = 64;

/// Beginnings of files that people pass by mistake.
const LOOKS_LIKE: [(&[u8], &str); 7] = [
    (b"<!DOCTYPE", "a web page"),
    (b"<!doctype", "a web page"),
    (b"<html", "a web page"),
    (b"version https://git-lfs", "a Git LFS pointer"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x93NUMPY", "a NumPy array"),
];

/// Tells the format by the first bytes and leaves the file at its start.
///
/// The rules for PyTorch files are those of the `pytorch_reader` crate, which applies them again when
/// it opens the file: what we examine must be what it reads.
pub(super) fn detect(file: &mut (impl Read + Seek)) -> Result<Format, Problem> {
    let mut head = Vec::new();
    file.by_ref()
        .take(512)
        .read_to_end(&mut head)
        .map_err(Problem::Read)?;
    file.seek(SeekFrom::Start(0)).map_err(Problem::Read)?;
    detect_head(&head)
}

fn detect_head(head: &[u8]) -> Result<Format, Problem> {
    if head.is_empty() {
        return Err(Problem::Empty);
    }
    let header_length = head.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    let has_json = head.get(8) == Some(&b'{');
    let legacy_window = &head[..head.len().min(LEGACY_WINDOW)];
    let has = |magic: &[u8]| {
        legacy_window
            .windows(magic.len())
            .any(|bytes| bytes == magic)
    };

    let container = if has_json && header_length.is_some_and(|length| length <= MAX_HEADER) {
        return Ok(Format::Safetensors);
    } else if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
        Container::Zip
    } else if head
        .get(TAR_MAGIC..)
        .is_some_and(|rest| rest.starts_with(b"ustar"))
    {
        Container::Tar
    } else if LEGACY_MAGIC.into_iter().any(has) {
        Container::Legacy
    } else if let Some((_, what)) = LOOKS_LIKE.iter().find(|(start, _)| head.starts_with(start)) {
        return Err(Problem::UnknownFormat {
            looks_like: Some(what),
        });
    } else if matches!(head, [0x80, 0..=5, ..] | [b'(' | b'}' | b']' | b'c', ..]) {
        Container::Pickle
    } else if has_json {
        // A header of an absurd length: the safetensors reader has the better message.
        return Ok(Format::Safetensors);
    } else {
        return Err(Problem::UnknownFormat { looks_like: None });
    };
    Ok(Format::Pytorch(container))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_decides() {
        let pytorch = |container| Some(Format::Pytorch(container));
        let mut tar = vec![b's'; 512];
        tar[TAR_MAGIC..TAR_MAGIC + 5].copy_from_slice(b"ustar");
        let legacy = [&[0x80, 2, 0x8a, 10], LEGACY_MAGIC[0], b"."].concat();
        let legacy_text = [b"L", LEGACY_MAGIC[1], b"L\n."].concat();
        let cases: [(&[u8], _); 9] = [
            (b"\x02\0\0\0\0\0\0\0{}", Some(Format::Safetensors)),
            // A header of 128 bytes begins like a pickle, one of absurd length like nothing at all.
            (b"\x80\x02\0\0\0\0\0\0{\"", Some(Format::Safetensors)),
            (
                b"\xff\xff\xff\xff\xff\xff\xff\x0f{}",
                Some(Format::Safetensors),
            ),
            (b"PK\x03\x04\0\0\0\0\0\0", pytorch(Container::Zip)),
            (&tar, pytorch(Container::Tar)),
            (&legacy, pytorch(Container::Legacy)),
            (&legacy_text, pytorch(Container::Legacy)),
            (b"\x80\x02}q\0.", pytorch(Container::Pickle)),
            (b"GIF89a", None),
        ];
        for (head, expected) in cases {
            assert_eq!(detect_head(head).ok(), expected, "{head:?}");
        }
    }

    #[test]
    fn common_mistakes_are_named() {
        let message = |head: &[u8]| detect_head(head).unwrap_err().to_string();
        assert!(message(b"<!DOCTYPE html>").ends_with("it looks like a web page"));
        assert!(message(b"version https://git-lfs.github.com").ends_with("a Git LFS pointer"));
        assert_eq!(
            message(b"plain text"),
            "neither a safetensors nor a PyTorch file"
        );
        assert_eq!(message(b""), "the file is empty");
    }
}
