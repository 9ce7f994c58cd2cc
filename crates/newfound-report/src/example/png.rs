//! Pictures for the tests: a coloured shape on a ground, as the simplest PNG there is.

/// A square picture of `side` pixels; the two numbers choose the shape and the colours.
pub fn png(side: usize, shape: usize, hue: usize) -> Vec<u8> {
    let header = [
        &(side as u32).to_be_bytes()[..],
        &(side as u32).to_be_bytes(),
        &[4, 3, 0, 0, 0],
    ]
    .concat();
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    file.extend(chunk(b"IHDR", &header));
    file.extend(chunk(b"PLTE", &palette(hue)));
    file.extend(chunk(b"IDAT", &stored(&rows(side, shape))));
    file.extend(chunk(b"IEND", &[]));
    file
}

/// Ground, shape and rim.
fn palette(hue: usize) -> Vec<u8> {
    let wave = |phase: usize| (40 + 23 * ((hue * 5 + phase * 3) % 9)) as u8;
    let (r, g, b) = (wave(0), wave(1), wave(2));
    let pale = |c: u8| 255 - (255 - c) / 4;
    [
        [pale(r), pale(g), pale(b)],
        [r, g, b],
        [r / 2, g / 2, b / 2],
    ]
    .concat()
}

/// Two pixels a byte, and the filter of each row before it.
fn rows(side: usize, shape: usize) -> Vec<u8> {
    let colour = |x: usize, y: usize| {
        let centred = |v: usize| (2.0 * v as f64 + 1.0) / side as f64 - 1.0;
        let (x, y) = (centred(x), centred(y));
        let reach = match shape % 5 {
            0 => (x * x + y * y).sqrt(),
            1 => x.abs().max(y.abs()),
            2 => x.abs() + y.abs(),
            3 => (x.abs() * 2.5)
                .max(y.abs())
                .min((y.abs() * 2.5).max(x.abs())),
            _ => (x.abs() * 1.6 - y * 0.8).max(y),
        };
        if reach < 0.55 {
            1
        } else if reach < 0.7 {
            2
        } else {
            0
        }
    };
    let row = |y: usize| {
        let pixel = move |x: usize| if x < side { colour(x, y) } else { 0 };
        std::iter::once(0)
            .chain((0..side.div_ceil(2)).map(move |x| pixel(2 * x) << 4 | pixel(2 * x + 1)))
    };
    (0..side).flat_map(row).collect()
}

/// A zlib stream that does not compress.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).expect("a small picture");
    let (mut a, mut b) = (1u32, 0u32);
    for &byte in bytes {
        a = (a + u32::from(byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    let mut stream = vec![0x78, 1, 1];
    stream.extend(length.to_le_bytes());
    stream.extend((!length).to_le_bytes());
    stream.extend(bytes);
    stream.extend((b << 16 | a).to_be_bytes());
    stream
}

fn chunk(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let body = [&kind[..], content].concat();
    let mut crc = u32::MAX;
    for &byte in &body {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 {
                crc >> 1 ^ 0xedb8_8320
            } else {
                crc >> 1
            };
        }
    }
    [
        &(content.len() as u32).to_be_bytes()[..],
        &body,
        &(!crc).to_be_bytes(),
    ]
    .concat()
}
