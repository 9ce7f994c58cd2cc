//! Bytes as text (RFC 4648, section 4): the form images take inside a page, and inside JSON.

use serde::{Deserialize, Deserializer, Serializer, de::Error};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Three bytes become four letters of six bits each; `=` fills the last four.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            let six = bits >> (18 - 6 * i) & 63;
            text.push(if i <= chunk.len() {
                ALPHABET[six as usize] as char
            } else {
                '='
            });
        }
    }
    text
}

/// The inverse of [`encode`]; `None` for any text that `encode` would not have written.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let letters = text.trim_end_matches('=');
    let mut bytes = Vec::with_capacity(letters.len() * 3 / 4);
    let (mut bits, mut held) = (0u32, 0);
    for letter in letters.bytes() {
        let six = ALPHABET.iter().position(|&known| known == letter)?;
        bits = (bits << 6 | six as u32) & 0xffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    // One spelling per content: no stray letter, no missing filler, no bits that are thrown away.
    (encode(&bytes) == text).then_some(bytes)
}

/// For `#[serde(with = "base64")]`.
pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&encode(bytes))
}

/// For `#[serde(with = "base64")]`.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(deserializer)?;
    decode(&text).ok_or_else(|| D::Error::custom("the bytes of an image are not valid base64"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_the_rfc() {
        let vectors = [
            "", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy",
        ];
        for (length, text) in vectors.iter().enumerate() {
            let bytes = &b"foobar"[..length];
            assert_eq!(encode(bytes), *text);
            assert_eq!(decode(text).as_deref(), Some(bytes));
        }
    }

    #[test]
    fn every_byte_survives() {
        let bytes: Vec<u8> = (0..=255).rev().collect();
        assert_eq!(decode(&encode(&bytes)), Some(bytes));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "Z",
            "Zg",
            "Zg=",
            "Zg===",
            "Zh==",
            "Zm9v=",
            "Zm 9v",
            "Zm9\u{e9}",
            "=",
            "Zg==Zg==",
        ] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
