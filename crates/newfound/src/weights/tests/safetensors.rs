//! Safetensors files: from Python, from our own writer, and made byte by byte to deceive.

use ::safetensors::SafeTensors;
use proptest::prelude::*;

use super::*;

/// A file with this header and so many zero bytes of data.
fn hostile(header: &str, data: usize) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.resize(bytes.len() + data, 0);
    bytes
}

/// A header with tensors given by name, type, shape and offsets.
fn header(tensors: &[(&str, &str, &str, &str)]) -> String {
    let entry = |(name, dtype, shape, offsets): &(&str, &str, &str, &str)| {
        format!(r#""{name}":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}"#)
    };
    format!(
        "{{{}}}",
        tensors.iter().map(entry).collect::<Vec<_>>().join(",")
    )
}

#[test]
fn files_from_python_are_read() {
    let file = read(fixture("plain.safetensors")).unwrap();
    assert_eq!(file.tensors, network());
    assert_eq!(file.ignored, ["bn1.num_batches_tracked"]);
    assert_eq!(file.metadata["architecture"], "net");
    assert_eq!(file.metadata.len(), 2);
    // f16, bf16, f64 and f32 side by side.
    assert_eq!(
        read(fixture("mixed.safetensors")).unwrap().tensors,
        network()
    );
    let problem = read(fixture("f8.safetensors")).unwrap_err().problem;
    assert!(
        matches!(problem, Problem::UnsupportedType { .. }),
        "{problem}"
    );
}

#[test]
fn every_lie_has_its_own_message() {
    let f32s = |tensors: &[(&str, &str, &str)]| {
        let tensors: Vec<_> = tensors
            .iter()
            .map(|(name, shape, at)| (*name, "F32", *shape, *at))
            .collect();
        header(&tensors)
    };
    let cases = [
        (
            hostile(&f32s(&[("a", "[2]", "[0,8]")]), 7),
            "`a` ends at byte 8 of the data, which has",
        ),
        (
            hostile(&f32s(&[("a", "[2]", "[0,8]")]), 9),
            "1 bytes follow the last tensor",
        ),
        (
            hostile(&f32s(&[("a", "[3]", "[0,8]")]), 8),
            "`a` of shape [3] needs 12 bytes but has 8",
        ),
        (
            hostile(&f32s(&[("a", "[2]", "[8,0]")]), 8),
            "`a` begins at byte 8 and ends at byte 0",
        ),
        (
            hostile(&f32s(&[("a", "[2]", "[0,8]"), ("b", "[2]", "[4,12]")]), 12),
            "`b` begins at byte 4, inside the tensor before it",
        ),
        (
            hostile(&f32s(&[("a", "[1]", "[0,4]"), ("b", "[1]", "[8,12]")]), 12),
            "nothing claims the 4 bytes before the tensor `b`",
        ),
        (
            hostile(&f32s(&[("a", "[1]", "[0,1152921504606846976]")]), 4),
            "`a` ends at byte 1152921504606846976",
        ),
        (
            hostile(&f32s(&[("a", "[4294967296,4294967296]", "[0,0]")]), 0),
            "`a` claims the impossible shape",
        ),
        (
            hostile(&f32s(&[("a", "[-1]", "[0,4]")]), 4),
            "not a valid safetensors header",
        ),
        (
            hostile(&f32s(&[("a", "[1]", "[0,4")]), 4),
            "not a valid safetensors header",
        ),
        (
            hostile(&header(&[("a", "F33", "[1]", "[0,4]")]), 4),
            "unknown variant `F33`",
        ),
        (
            hostile("{\"a\": \u{0}}", 0),
            "not a valid safetensors header",
        ),
        (
            hostile(&format!(r#"{{"a":{{"unknown":{}"#, "[".repeat(100_000)), 0),
            "not a valid safetensors header",
        ),
        (
            hostile(r#"{"__metadata__":{"n":3}}"#, 0),
            "not a valid safetensors header",
        ),
        (
            [&1u64.wrapping_shl(60).to_le_bytes()[..], b"{}"].concat(),
            "1152921504606846976 bytes long, the format allows 100000000",
        ),
        (
            [&3u64.to_le_bytes()[..], b"{}"].concat(),
            "3 bytes long, the file has only 10 bytes",
        ),
    ];
    for (bytes, message) in cases {
        let error = read_bytes(&bytes).unwrap_err();
        assert!(
            error.to_string().contains(message),
            "{error}\ninstead of: {message}"
        );
        assert!(error.hint().is_some(), "{error}");
        // An independent judge: the format's own crate refuses every one of them.
        assert!(SafeTensors::deserialize(&bytes).is_err(), "{message}");
    }
}

#[test]
fn a_name_that_appears_twice_is_an_error() {
    // The format's own crate would take one of the two.
    let twice = [("a", "F32", "[1]", "[0,4]"), ("a", "F32", "[1]", "[4,8]")];
    let problem = read_bytes(&hostile(&header(&twice), 8))
        .unwrap_err()
        .problem;
    assert!(
        matches!(&problem, Problem::DuplicateName { name } if name == "a"),
        "{problem}"
    );
    let notes = r#"{"__metadata__":{"a":"b"},"__metadata__":{}}"#;
    let error = read_bytes(&hostile(notes, 0)).unwrap_err();
    assert!(
        error.to_string().contains("duplicate field `__metadata__`"),
        "{error}"
    );
}

#[test]
fn empty_tensors_and_single_numbers_are_no_lies() {
    let honest = [("a", "F32", "[0,3]", "[0,0]"), ("b", "F32", "[]", "[0,4]")];
    let file = read_bytes(&hostile(&header(&honest), 4)).unwrap();
    assert_eq!(file.tensors["a"], Array::new([0, 3], vec![]));
    assert_eq!(file.tensors["b"], Array::new([], vec![0.0]));
    assert_eq!(
        read_bytes(&hostile("{}", 0)).unwrap(),
        TensorFile::default()
    );
}

#[test]
fn equal_tensors_make_equal_bytes_that_others_can_read() {
    let folder = tempfile::tempdir().unwrap();
    let notes: BTreeMap<String, String> = (0..20)
        .map(|i| (format!("key {i}"), format!("\"{i}\" é\n")))
        .collect();
    let written = |name: &str| {
        let path = folder.path().join(name);
        write(&path, &network(), &notes).unwrap();
        std::fs::read(path).unwrap()
    };
    let bytes = written("a.safetensors");
    for i in 0..5 {
        assert_eq!(written(&format!("{i}.safetensors")), bytes);
    }
    let theirs = SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(theirs.len(), network().len());
    for (name, array) in network() {
        let tensor = theirs.tensor(&name).unwrap();
        let values: Vec<u8> = array
            .values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        assert_eq!(
            (tensor.shape(), tensor.data()),
            (&array.shape[..], &values[..]),
            "{name}"
        );
    }
    let (header_length, metadata) = SafeTensors::read_metadata(&bytes).unwrap();
    assert_eq!(header_length % 8, 0);
    assert!(
        metadata
            .metadata()
            .as_ref()
            .unwrap()
            .iter()
            .all(|(key, text)| notes[key] == *text)
    );
}

#[test]
fn a_failed_write_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    std::fs::write(&path, b"old").unwrap();
    let reserved = BTreeMap::from([("__metadata__".to_string(), Array::new([], vec![1.0]))]);
    let error = write(&path, &reserved, &BTreeMap::new()).unwrap_err();
    assert!(
        matches!(error.problem, Problem::ReservedName { .. }),
        "{error}"
    );
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    let error = write(folder.path().join("no/file"), &network(), &BTreeMap::new()).unwrap_err();
    assert!(matches!(error.problem, Problem::Write(_)), "{error}");
}

#[test]
#[should_panic(expected = "`a` of shape [2] has the wrong length")]
fn an_array_that_contradicts_itself_is_our_own_mistake() {
    let broken = Array {
        shape: vec![2],
        values: vec![0.0],
    };
    let _ = write(
        "never-written",
        &BTreeMap::from([("a".into(), broken)]),
        &BTreeMap::new(),
    );
}

#[test]
fn real_weights_are_read() {
    let Some(data) = std::env::var_os("NEWFOUND_DATA") else {
        return eprintln!("skipped: NEWFOUND_DATA is not set");
    };
    let path = Path::new(&data).join("weights/resnet50-imagenet-v1.safetensors");
    let file = read(&path).unwrap();
    assert_eq!(file.tensors["conv1.weight"].shape, [64, 3, 7, 7]);
    assert_eq!(file.tensors["fc.weight"].shape, [1000, 2048]);
    // 53 convolutions, 53 batch norms of four tensors each, and a last layer with a bias.
    assert_eq!(file.tensors.len(), 53 + 53 * 4 + 2);
    assert!(check_finite(&file.tensors).is_empty());
    let bytes = std::fs::read(&path).unwrap();
    let tensor = SafeTensors::deserialize(&bytes)
        .unwrap()
        .tensor("conv1.weight")
        .unwrap();
    assert_eq!(tensor.dtype(), ::safetensors::Dtype::F16);
    let (halves, _) = tensor.data().as_chunks();
    let theirs: Vec<f32> = halves
        .iter()
        .map(|half| half::f16::from_le_bytes(*half).to_f32())
        .collect();
    assert_eq!(file.tensors["conv1.weight"].values, theirs);
}

/// Any tensors: every bit pattern is a value, every text a name.
fn any_tensors() -> impl Strategy<Value = BTreeMap<String, Array>> {
    let array = prop::collection::vec(0usize..4, 0..4).prop_flat_map(|shape| {
        let bits = prop::collection::vec(any::<u32>(), shape.iter().product::<usize>());
        bits.prop_map(move |bits| {
            Array::new(
                shape.clone(),
                bits.into_iter().map(f32::from_bits).collect(),
            )
        })
    });
    prop::collection::btree_map(any::<String>(), array, 0..5)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_written_is_read_bit_for_bit(
        tensors in any_tensors(),
        metadata in prop::collection::btree_map(any::<String>(), any::<String>(), 0..3),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write(&path, &tensors, &metadata).unwrap();
        let file = read(&path).unwrap();
        let bits = |tensors: &BTreeMap<String, Array>| -> Vec<_> {
            let bits = |array: &Array| array.values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            tensors.iter().map(|(name, a)| (name.clone(), a.shape.clone(), bits(a))).collect()
        };
        prop_assert_eq!(bits(&file.tensors), bits(&tensors));
        prop_assert_eq!(file.metadata, metadata);
        prop_assert!(file.ignored.is_empty());
    }
}
