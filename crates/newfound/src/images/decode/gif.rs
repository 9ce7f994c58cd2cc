//! First frames of a GIF that are smaller or larger than its screen.

use image::RgbImage;

/// The file with its screen enlarged to hold the first frame, as Pillow does, if it does not already.
/// (The decoder would cut the frame.)
pub(super) fn enlarged_screen(bytes: &[u8]) -> Option<Vec<u8>> {
    let [left, top, width, height] = FirstFrame::find(bytes)?.place;
    let screen = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    let (right, bottom) = (left.saturating_add(width), top.saturating_add(height));
    if right <= screen(6) && bottom <= screen(8) {
        return None;
    }
    let mut enlarged = bytes.to_vec();
    enlarged[6..8].copy_from_slice(&right.max(screen(6)).to_le_bytes());
    enlarged[8..10].copy_from_slice(&bottom.max(screen(8)).to_le_bytes());
    Some(enlarged)
}

/// Paints what lies outside the first frame in the colour Pillow gives it: that of the transparent index
/// where the frame has one, otherwise that of index 0. (The decoder leaves it black.)
pub(super) fn fill_around_first_frame(bytes: &[u8], image: &mut RgbImage) {
    let Some(frame) = FirstFrame::find(bytes) else {
        return;
    };
    let [left, top, width, height] = frame.place.map(u32::from);
    if left == 0 && top == 0 && width >= image.width() && height >= image.height() {
        return;
    }
    for (x, y, pixel) in image.enumerate_pixels_mut() {
        let inside = x.wrapping_sub(left) < width && y.wrapping_sub(top) < height;
        if !inside {
            pixel.0 = frame.around;
        }
    }
}

/// Where the first frame lies on the screen, and the colour around it.
struct FirstFrame {
    /// Left, top, width, height.
    place: [u16; 4],
    around: [u8; 3],
}

impl FirstFrame {
    /// Reads the blocks in front of the first frame; none if the file makes no sense.
    fn find(bytes: &[u8]) -> Option<Self> {
        // Signature (6), width (2), height (2), flags, background, aspect; then the global palette.
        let (global, mut at) = palette(bytes, *bytes.get(10)?, 13)?;
        let mut transparent = None;
        loop {
            match *bytes.get(at)? {
                // An extension: its label, then sub-blocks up to an empty one.
                b'!' => {
                    // Graphic control: length 4, flags, delay (2), transparent index.
                    if let [0xf9, 4, flags, _, _, index, ..] = *bytes.get(at + 1..)? {
                        transparent = (flags & 1 == 1).then_some(index);
                    }
                    at += 2;
                    while *bytes.get(at)? != 0 {
                        at += 1 + usize::from(bytes[at]);
                    }
                    at += 1;
                }
                b',' => {
                    let descriptor = bytes.get(at + 1..at + 10)?;
                    let place = std::array::from_fn(|i| {
                        u16::from_le_bytes([descriptor[2 * i], descriptor[2 * i + 1]])
                    });
                    let (local, _) = palette(bytes, descriptor[8], at + 10)?;
                    let palette = if local.is_empty() { global } else { local };
                    let entry = 3 * usize::from(transparent.unwrap_or(0));
                    let around = palette.get(entry..entry + 3)?.try_into().ok()?;
                    return Some(Self { place, around });
                }
                _ => return None,
            }
        }
    }
}

/// The palette announced by `flags` that starts at `at` (empty if there is none), and where it ends.
fn palette(bytes: &[u8], flags: u8, at: usize) -> Option<(&[u8], usize)> {
    let length = if flags & 0x80 == 0 {
        0
    } else {
        6 << (flags & 7)
    };
    Some((bytes.get(at..at + length)?, at + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A 2 × 1 screen, palette red and green, first frame 1 × 1 at its right.
    fn header(control: &[u8]) -> Vec<u8> {
        let mut bytes = b"GIF89a\x02\0\x01\0\x80\0\0\xff\0\0\0\xff\0".to_vec();
        bytes.extend(control);
        bytes.extend(b",\x01\0\0\0\x01\0\x01\0\0");
        bytes
    }

    #[test]
    fn the_uncovered_part_takes_the_first_or_the_transparent_colour() {
        let mut image = RgbImage::new(2, 1);
        fill_around_first_frame(&header(b""), &mut image);
        assert_eq!(image.as_raw(), &[255, 0, 0, 0, 0, 0]);
        fill_around_first_frame(&header(b"!\xf9\x04\x01\0\0\x01\0"), &mut image);
        assert_eq!(image.as_raw(), &[0, 255, 0, 0, 0, 0]);
    }

    #[test]
    fn a_screen_too_small_for_the_frame_is_enlarged() {
        let mut bytes = header(b"");
        assert_eq!(enlarged_screen(&bytes), None);
        bytes[6] = 1;
        let enlarged = enlarged_screen(&bytes).unwrap();
        assert_eq!(enlarged[6..10], [2, 0, 1, 0]);
    }

    #[test]
    fn nonsense_changes_nothing() {
        let mut image = RgbImage::new(2, 1);
        let whole = header(b"!\xfe\x02hi\0");
        for end in 0..whole.len() {
            fill_around_first_frame(&whole[..end], &mut image);
            assert_eq!(enlarged_screen(&whole[..end]), None);
        }
        assert!(image.as_raw().iter().all(|&value| value == 0));
    }
}
