//! Every kind of floating-point number, as bytes in a file, to `f32`.

use half::{bf16, f16};

/// The kinds of float that have an `f32` each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Float {
    F16,
    Bf16,
    F32,
    F64,
}

impl Float {
    /// Decodes little-endian bytes. `f64` values are rounded to the nearest `f32`.
    pub fn decode(self, bytes: &[u8]) -> Vec<f32> {
        match self {
            Self::F16 => each(bytes, |element| f16::from_le_bytes(element).to_f32()),
            Self::Bf16 => each(bytes, |element| bf16::from_le_bytes(element).to_f32()),
            Self::F32 => each(bytes, f32::from_le_bytes),
            Self::F64 => each(bytes, |element| f64::from_le_bytes(element) as f32),
        }
    }
}

fn each<const N: usize>(bytes: &[u8], decode: impl Fn([u8; N]) -> f32) -> Vec<f32> {
    let (elements, rest) = bytes.as_chunks::<N>();
    assert!(
        rest.is_empty(),
        "the readers check sizes before they decode"
    );
    elements.iter().map(|element| decode(*element)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_bit_patterns() {
        // 1.5 in each kind; the smallest subnormal f16 is 2^-24; an f64 beyond f32 is infinite.
        assert_eq!(
            Float::F16.decode(&[0x00, 0x3e, 0x01, 0x00]),
            [1.5, 2f32.powi(-24)]
        );
        assert_eq!(Float::Bf16.decode(&[0xc0, 0x3f]), [1.5]);
        assert_eq!(Float::F32.decode(&[0x00, 0x00, 0xc0, 0x3f]), [1.5]);
        let doubles = [1.5f64, 1e300, 0.1].map(f64::to_le_bytes).concat();
        assert_eq!(Float::F64.decode(&doubles), [1.5, f32::INFINITY, 0.1]);
    }
}
