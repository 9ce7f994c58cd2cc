//! Files that real PyTorch wrote, and such files made worse.

use super::*;

/// Where `find` is in `bytes`.
fn position(bytes: &[u8], find: &[u8]) -> usize {
    bytes
        .windows(find.len())
        .position(|window| window == find)
        .unwrap()
}

fn problem(name: &str) -> Problem {
    let error = read(fixture(name)).unwrap_err();
    assert!(error.to_string().ends_with(name), "{error}");
    assert!(error.hint().is_some(), "{error}");
    error.problem
}

#[test]
fn every_container_type_and_nesting_gives_the_same_network() {
    let names = [
        "zip.pth",
        "legacy.pth",
        "tar.pth",
        "protocol4.pth",
        "f16.pth",
        "bf16.pth",
        "f64.pth",
        "strided.pth",
        "strided-legacy.pth",
        "nested-state_dict.pth",
        "nested-model.pth",
        "nested-weights.pth",
        "prefix-module.pth",
        "prefix-module-backbone.pth",
    ];
    for name in names {
        let file = read(fixture(name)).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(file.tensors, network(), "{name}");
        assert_eq!(file.ignored, ["bn1.num_batches_tracked"], "{name}");
        assert!(file.metadata.is_empty(), "{name}");
    }
    // Tensors that are views of one storage.
    assert_eq!(read(fixture("shared.pth")).unwrap().tensors, network());
}

#[test]
fn the_name_of_the_file_does_not_matter() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weights.safetensors");
    std::fs::copy(fixture("legacy.pth"), &path).unwrap();
    assert_eq!(read(path).unwrap().tensors, network());
}

#[test]
fn a_prefix_that_only_some_names_have_stays() {
    let file = read(fixture("prefix-partial.pth")).unwrap();
    assert_eq!(
        file.tensors["backbone.conv1.weight"],
        network()["conv1.weight"]
    );
    assert_eq!(file.tensors["head.weight"], network()["fc.weight"]);
}

#[test]
fn a_pickled_call_is_refused_and_never_made() {
    for name in ["call.pth", "call-root.pth"] {
        let problem = problem(name);
        assert!(
            matches!(&problem, Problem::Call { callable } if callable == "posix.system"),
            "{problem}"
        );
    }
    // What the command in those files would have left here.
    assert!(!Path::new("executed-by-pickle").exists());
}

#[test]
fn a_call_whose_result_is_thrown_away_is_seen_too() {
    // In front of an honest pickle: eval("…"), POP.
    let hidden = b"\x80\x02cbuiltins\neval\nX\x01\0\0\x001\x85R0";
    let mut bytes = std::fs::read(fixture("legacy.pth")).unwrap();
    let object = position(&bytes, b"\x80\x02ccollections");
    bytes.splice(object..object, hidden.iter().copied());
    let problem = read_bytes(&bytes).unwrap_err().problem;
    assert!(
        matches!(&problem, Problem::Call { callable } if callable == "builtins.eval"),
        "{problem}"
    );
}

#[test]
fn whole_models_and_programs_are_refused_with_a_hint() {
    let wholes = [
        "whole-module.pth",
        "whole-module-legacy.pth",
        "whole-module-nested.pth",
        "whole-module-childless.pth",
    ];
    for name in wholes {
        assert!(matches!(problem(name), Problem::WholeModule), "{name}");
        assert!(problem(name).hint().unwrap().contains("model.state_dict()"));
    }
    assert!(matches!(problem("torchscript.pt"), Problem::TorchScript));
}

#[test]
fn files_without_a_state_dict_say_what_they_have() {
    let entries = |name| match problem(name) {
        Problem::NoStateDict { entries } => entries,
        other => panic!("{other}"),
    };
    assert_eq!(entries("nested-elsewhere.pth"), ["epoch", "generator"]);
    assert_eq!(entries("no-tensors.pth"), ["epoch", "note"]);
    let nested = problem("nested-twice.pth");
    assert!(
        matches!(&nested, Problem::Nested { entry } if entry == "encoder"),
        "{nested}"
    );
}

#[test]
fn unsupported_and_endless_tensors_are_refused() {
    let complex = problem("complex.pth");
    assert!(
        complex.to_string().contains("torch.ComplexFloatStorage"),
        "{complex}"
    );
    // One number, stored once, expanded to a gigabyte.
    let expanded = problem("expanded.pth");
    assert!(
        matches!(expanded, Problem::TensorsTooLarge { bytes, .. } if bytes == 1 << 30),
        "{expanded}"
    );
}

#[test]
fn compressed_archives_are_refused() {
    let mut bytes = std::fs::read(fixture("zip.pth")).unwrap();
    // The field in the central directory that names the method; 8 is "deflate".
    let entry = position(&bytes, b"PK\x01\x02");
    bytes[entry + 10] = 8;
    let problem = read_bytes(&bytes).unwrap_err().problem;
    assert!(matches!(problem, Problem::Compressed { .. }), "{problem}");
}

#[test]
fn sparse_tar_entries_are_refused() {
    // Four gigabytes of zeros that are nowhere in the file.
    let mut header = tar::Header::new_gnu();
    header.set_path("storages").unwrap();
    header.set_entry_type(tar::EntryType::GNUSparse);
    header.set_size(0);
    let gnu = header.as_gnu_mut().unwrap();
    gnu.realsize.copy_from_slice(b"40000000000\0");
    gnu.sparse[0].offset.copy_from_slice(b"40000000000\0");
    gnu.sparse[0].numbytes.copy_from_slice(b"00000000000\0");
    header.set_cksum();
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend([0; 1024]);
    let problem = read_bytes(&bytes).unwrap_err().problem;
    assert!(matches!(problem, Problem::Compressed { .. }), "{problem}");
}

#[test]
fn another_zip_archive_is_not_a_pytorch_file() {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    archive
        .start_file("array.npy", zip::write::SimpleFileOptions::default())
        .unwrap();
    let bytes = archive.finish().unwrap().into_inner();
    let problem = read_bytes(&bytes).unwrap_err().problem;
    assert!(
        matches!(
            problem,
            Problem::UnknownFormat {
                looks_like: Some(_)
            }
        ),
        "{problem}"
    );
}

#[test]
fn a_damaged_byte_in_an_archive_is_found() {
    let mut bytes = std::fs::read(fixture("zip.pth")).unwrap();
    // Inside the values of a tensor, where only the checksum can tell.
    let weight = &network()["conv1.weight"];
    let values: Vec<u8> = weight
        .values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let start = position(&bytes, &values);
    bytes[start + 7] ^= 1;
    let problem = read_bytes(&bytes).unwrap_err().problem;
    assert!(
        matches!(&problem, Problem::Damaged(why) if why.contains("checksum")),
        "{problem}"
    );
}

#[test]
fn a_pickle_that_multiplies_its_copies_is_refused() {
    // A dictionary with a key of 100 kB, fetched from the memo 10 000 times.
    let mut bytes = b"\x80\x02}X\xa0\x86\x01\0".to_vec();
    bytes.extend([b'a'; 100_000]);
    bytes.extend(b"Nsq\0(");
    bytes.extend(b"h\0".repeat(10_000));
    bytes.extend(b"t.");
    let problem = read_bytes(&bytes).unwrap_err().problem;
    assert!(
        matches!(problem, Problem::PickleTooLarge { .. }),
        "{problem}"
    );
}
