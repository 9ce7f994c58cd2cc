//! Protocol Buffers, as far as one file needs them: writing, without a schema.
//!
//! A message is a row of fields; a field is a number, a kind and a value ([encoding](https://protobuf.dev/programming-guides/encoding/)).
//! A message inside another one begins with its length, so lengths must be known before anything is written. Weights make
//! up nearly all of a model: a [`Message`] borrows them, knows their length, and turns them into bytes only on the way to
//! the disk.

use std::io::{self, Write};

/// Numbers converted to bytes at a time.
const CHUNK: usize = 1 << 14;

/// How the value of a field is written.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// A whole number, seven bits to a byte.
    Varint = 0,
    /// A length, then as many bytes: text, a message, a block of numbers.
    Sized = 2,
    /// Four bytes, such as a float.
    Fixed32 = 5,
}

/// A message under construction.
#[derive(Debug, Default)]
pub(super) struct Message<'a> {
    pieces: Vec<Piece<'a>>,
    length: usize,
}

/// A stretch of a message.
#[derive(Debug)]
enum Piece<'a> {
    Bytes(Vec<u8>),
    Floats(&'a [f32]),
}

impl<'a> Message<'a> {
    /// Number of bytes it will have.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// A field with a whole number; a negative one has ten bytes.
    pub(super) fn integer(&mut self, field: u32, value: i64) {
        self.tag(field, Kind::Varint);
        self.varint(value as u64);
    }

    /// A field with a float.
    pub(super) fn float(&mut self, field: u32, value: f32) {
        self.tag(field, Kind::Fixed32);
        self.bytes(&value.to_le_bytes());
    }

    /// A field with text.
    pub(super) fn text(&mut self, field: u32, value: &str) {
        self.tag(field, Kind::Sized);
        self.varint(value.len() as u64);
        self.bytes(value.as_bytes());
    }

    /// A field with a block of floats, four bytes each, little end first.
    pub(super) fn floats(&mut self, field: u32, values: &'a [f32]) {
        self.tag(field, Kind::Sized);
        self.varint(size_of_val(values) as u64);
        self.length += size_of_val(values);
        self.pieces.push(Piece::Floats(values));
    }

    /// A field with a message.
    pub(super) fn message(&mut self, field: u32, value: Self) {
        self.tag(field, Kind::Sized);
        self.varint(value.length as u64);
        self.append(value);
    }

    /// All fields of another message, after its own.
    pub(super) fn append(&mut self, other: Self) {
        for piece in other.pieces {
            match piece {
                Piece::Bytes(bytes) => self.bytes(&bytes),
                Piece::Floats(values) => {
                    self.length += size_of_val(values);
                    self.pieces.push(Piece::Floats(values));
                }
            }
        }
    }

    /// Writes it.
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        for piece in &self.pieces {
            match piece {
                Piece::Bytes(bytes) => out.write_all(bytes)?,
                Piece::Floats(values) => {
                    for chunk in values.chunks(CHUNK) {
                        let bytes: Vec<u8> = chunk.iter().flat_map(|v| v.to_le_bytes()).collect();
                        out.write_all(&bytes)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn tag(&mut self, field: u32, kind: Kind) {
        self.varint(u64::from(field) << 3 | kind as u64);
    }

    /// Seven bits to a byte, lowest first; the eighth says that there are more.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes(&[value as u8 | 0x80]);
            value >>= 7;
        }
        self.bytes(&[value as u8]);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.length += bytes.len();
        match self.pieces.last_mut() {
            Some(Piece::Bytes(last)) => last.extend(bytes),
            _ => self.pieces.push(Piece::Bytes(bytes.to_vec())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(message: &Message) -> Vec<u8> {
        let mut bytes = Vec::new();
        message.write(&mut bytes).unwrap();
        assert_eq!(bytes.len(), message.length(), "the length it promised");
        bytes
    }

    fn made(fill: impl FnOnce(&mut Message<'static>)) -> Vec<u8> {
        let mut message = Message::default();
        fill(&mut message);
        written(&message)
    }

    #[test]
    fn whole_numbers() {
        // Field 1, kind 0: 1 << 3 | 0.
        assert_eq!(made(|m| m.integer(1, 0)), [0x08, 0x00]);
        assert_eq!(made(|m| m.integer(1, 127)), [0x08, 0x7f]);
        // 150 = 0b1_0010110: the low seven bits with "more", then 1.
        assert_eq!(made(|m| m.integer(1, 150)), [0x08, 0x96, 0x01]);
        assert_eq!(made(|m| m.integer(1, 1 << 14)), [0x08, 0x80, 0x80, 0x01]);
        // Field 20 does not fit into one byte: 20 << 3 = 160 = 0b1_0100000.
        assert_eq!(made(|m| m.integer(20, 7)), [0xa0, 0x01, 0x07]);
        let minus_one = [vec![0x08], vec![0xff; 9], vec![0x01]].concat();
        assert_eq!(made(|m| m.integer(1, -1)), minus_one);
    }

    #[test]
    fn floats_and_text() {
        // 1.0 is 0x3f800000, and −2.0 is 0xc0000000.
        assert_eq!(made(|m| m.float(2, 1.0)), [0x15, 0, 0, 0x80, 0x3f]);
        let block = [0x4a, 8, 0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0];
        assert_eq!(made(|m| m.floats(9, &[1.0, -2.0])), block);
        assert_eq!(made(|m| m.floats(9, &[])), [0x4a, 0]);
        assert_eq!(made(|m| m.text(2, "é")), [0x12, 2, 0xc3, 0xa9]);
        assert_eq!(made(|m| m.text(2, "")), [0x12, 0]);
    }

    #[test]
    fn messages_in_messages() {
        let bytes = made(|outer| {
            let mut inner = Message::default();
            inner.floats(9, &[1.0]);
            inner.integer(1, 150);
            outer.integer(1, 8);
            outer.message(7, inner);
            outer.text(2, "z");
        });
        // The inner one: 2 + 4 bytes of the block, 3 of the number.
        let inner = [0x4a, 4, 0, 0, 0x80, 0x3f, 0x08, 0x96, 0x01];
        let expected = [&[0x08, 8, 0x3a, 9][..], &inner, &[0x12, 1, b'z']].concat();
        assert_eq!(bytes, expected);
    }

    #[test]
    fn a_block_longer_than_a_chunk_is_whole_and_in_order() {
        let values: Vec<f32> = (0..2 * CHUNK + 3).map(|i| i as f32).collect();
        let mut message = Message::default();
        message.floats(1, &values);
        let bytes = written(&message);
        let (block, _) = bytes[bytes.len() - 4 * values.len()..].as_chunks::<4>();
        let read: Vec<f32> = block.iter().map(|b| f32::from_le_bytes(*b)).collect();
        assert_eq!(read, values);
    }
}
