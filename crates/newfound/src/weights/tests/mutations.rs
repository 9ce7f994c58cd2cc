//! Real files, cut short and changed at random: never a panic, never more values than the file could
//! mean.

use proptest::prelude::*;

use super::*;

/// One change to a file.
#[derive(Debug, Clone)]
enum Change {
    Cut(usize),
    Set(usize, u8),
    Insert(usize, u8),
    Copy(usize, usize, usize),
}

fn any_change() -> impl Strategy<Value = Change> {
    let byte = prop_oneof![
        any::<u8>(),
        prop::sample::select(&[0, 1, 0x7f, 0x80, 0xff][..])
    ];
    prop_oneof![
        1 => any::<usize>().prop_map(Change::Cut),
        6 => (any::<usize>(), byte.clone()).prop_map(|(at, byte)| Change::Set(at, byte)),
        2 => (any::<usize>(), byte).prop_map(|(at, byte)| Change::Insert(at, byte)),
        2 => (any::<usize>(), any::<usize>(), 1usize..32).prop_map(|(a, b, n)| Change::Copy(a, b, n)),
    ]
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    let length = bytes.len();
    match *change {
        _ if length == 0 => {}
        Change::Cut(at) => bytes.truncate(at % length),
        Change::Set(at, byte) => bytes[at % length] = byte,
        Change::Insert(at, byte) => bytes.insert(at % length, byte),
        Change::Copy(from, to, count) => {
            let (from, to) = (from % length, to % length);
            let count = count.min(length - from.max(to));
            bytes.copy_within(from..from + count, to);
        }
    }
}

/// Sets every checksum of a ZIP archive to 0, which means "none", so that changes get past it.
fn without_checksums(mut bytes: Vec<u8>) -> Vec<u8> {
    for at in 0..bytes.len().saturating_sub(20) {
        match bytes[at..at + 4] {
            [b'P', b'K', 3, 4] => bytes[at + 14..at + 18].fill(0),
            [b'P', b'K', 1, 2] => bytes[at + 16..at + 20].fill(0),
            _ => {}
        }
    }
    bytes
}

/// One file of each kind.
const FILES: [&str; 6] = [
    "plain.safetensors",
    "mixed.safetensors",
    "legacy.pth",
    "strided.pth",
    "tar.pth",
    "whole-module.pth",
];

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn changed_files_are_read_or_refused(
        name in prop::sample::select(&FILES[..]),
        changes in prop::collection::vec(any_change(), 1..6),
    ) {
        let mut bytes = without_checksums(std::fs::read(fixture(name)).unwrap());
        changes.iter().for_each(|change| apply(&mut bytes, change));
        if let Ok(file) = read_bytes(&bytes) {
            let values: usize = file.tensors.values().map(|array| array.values.len()).sum();
            prop_assert!(values <= 16 * bytes.len());
            for (name, Array { shape, values }) in file.tensors {
                prop_assert_eq!(shape.iter().product::<usize>(), values.len(), "{}", name);
            }
        }
    }

    #[test]
    fn files_cut_short_are_refused(
        name in prop::sample::select(&FILES[..]),
        at in any::<prop::sample::Index>(),
    ) {
        let bytes = std::fs::read(fixture(name)).unwrap();
        let cut = &bytes[..at.index(bytes.len())];
        // The TAR archive ends with zeros that nothing needs.
        let needed = bytes.iter().rposition(|byte| *byte != 0).unwrap();
        prop_assert!(read_bytes(cut).is_err() || cut.len() >= needed);
    }
}
