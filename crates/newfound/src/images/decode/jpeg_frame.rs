//! The markers of a JPEG.

use super::reason::Reason;

/// What the markers of a JPEG say, read before any decoding.
pub(super) struct Frame {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) components: u8,
    /// All coefficients of a component in one scan.
    sequential: bool,
    /// Some component has more than one block in a group.
    subsampled: bool,
    /// Sequential and subsampled, and the first scan does not hold all components.
    pub(super) split_and_subsampled: bool,
    /// Where Adobe's marker says "RGB", if JFIF's says otherwise.
    pub(super) contradiction_at: Option<usize>,
}

impl Frame {
    /// Walks from marker to marker to the end of the image. A file without that end was cut short.
    pub(super) fn walk(bytes: &[u8]) -> Result<Self, Reason> {
        let (mut frame, mut jfif, mut adobe_at) = (None, false, None);
        let mut at = 2;
        loop {
            let (marker, start) = next_marker(bytes, at)
                .ok_or_else(|| Reason::corrupt("the file ends before the image does"))?;
            // Markers without a segment: restarts, a second start, and the reserved 01.
            if matches!(marker, 0xd0..=0xd8 | 0x01) {
                at = start;
                continue;
            }
            if marker == 0xd9 {
                break;
            }
            let length = match bytes.get(start..start + 2) {
                Some(&[high, low]) => usize::from(u16::from_be_bytes([high, low])).max(2),
                _ => return Err(Reason::corrupt("the file ends inside a header")),
            };
            let segment = bytes
                .get(start + 2..start + length)
                .ok_or_else(|| Reason::corrupt("the file ends inside a header"))?;
            match (marker, segment) {
                // All SOFn; the numbers left out are tables (DHT, JPG, DAC).
                (0xc0..=0xcf, [_, h1, h0, w1, w0, components, table @ ..])
                    if frame.is_none() && !matches!(marker, 0xc4 | 0xc8 | 0xcc) =>
                {
                    frame = Some(Self {
                        width: u16::from_be_bytes([*w1, *w0]).into(),
                        height: u16::from_be_bytes([*h1, *h0]).into(),
                        components: *components,
                        sequential: marker <= 0xc1,
                        // Identity, sampling factors, quantisation table.
                        subsampled: table.chunks_exact(3).any(|component| component[1] != 0x11),
                        split_and_subsampled: false,
                        contradiction_at: None,
                    });
                }
                (0xda, [components, ..]) => {
                    if let Some(frame) = &mut frame {
                        frame.split_and_subsampled |=
                            frame.sequential && frame.subsampled && *components < frame.components;
                    }
                }
                (0xe0, [b'J', b'F', b'I', b'F', 0, ..]) => jfif = true,
                (0xee, [b'A', b'd', b'o', b'b', b'e', _, _, _, _, _, _, 0, ..]) => {
                    adobe_at = Some(start + 2 + 11);
                }
                _ => {}
            }
            at = start + length;
        }
        let mut frame = frame.ok_or_else(|| Reason::corrupt("the JPEG has no frame"))?;
        frame.contradiction_at = adobe_at.filter(|_| frame.components == 3 && jfif);
        Ok(frame)
    }
}

/// The next marker at or after `at`, and where its segment starts. Entropy-coded data and junk are passed
/// over: in both, FF is followed by 00 or by the FF of padding.
fn next_marker(bytes: &[u8], mut at: usize) -> Option<(u8, usize)> {
    loop {
        at += bytes.get(at..)?.iter().position(|&byte| byte == 0xff)? + 1;
        match *bytes.get(at)? {
            0 | 0xff => {}
            marker => return Some((marker, at + 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_found_behind_stuffing_and_padding() {
        assert_eq!(
            next_marker(&[1, 0xff, 0, 2, 0xff, 0xff, 0xd9], 0),
            Some((0xd9, 7))
        );
        assert_eq!(next_marker(&[1, 0xff], 0), None);
        assert_eq!(next_marker(&[], 5), None);
    }

    #[test]
    fn a_frame_without_an_end_is_an_error() {
        let frame = b"\xff\xc0\x00\x0b\x08\x00\x02\x00\x03\x01\x01\x11\x00";
        let jpeg = |end: &[u8]| [b"\xff\xd8".as_slice(), frame, end].concat();
        let walked = Frame::walk(&jpeg(b"\xff\xd9")).unwrap();
        assert_eq!((walked.width, walked.height, walked.components), (3, 2, 1));
        assert!(matches!(
            Frame::walk(&jpeg(b"")),
            Err(Reason::Corrupt { .. })
        ));
        assert!(matches!(
            Frame::walk(b"\xff\xd8\xff\xd9"),
            Err(Reason::Corrupt { .. })
        ));
    }
}
