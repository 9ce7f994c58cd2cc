//! Files that lie, are broken, or are not what they say: a clear message, the right exit code, nothing half-written.

mod common;

use std::fs;
use std::path::Path;

use common::{adaptation, draw, outcome, run_in, workplace};

/// The names of everything in a folder.
fn listing(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// A JPEG header that promises 30,000 × 30,000 pixels and has none.
fn huge_jpeg() -> Vec<u8> {
    let mut bytes = vec![0xFF, 0xD8, 0xFF, 0xC0, 0, 17, 8];
    bytes.extend(30_000u16.to_be_bytes());
    bytes.extend(30_000u16.to_be_bytes());
    bytes.extend([3, 1, 0x11, 0, 2, 0x11, 1, 3, 0x11, 1]);
    bytes.extend([0xFF, 0xD9]);
    bytes
}

#[test]
fn bad_images_are_named_counted_and_left_out() {
    let place = workplace();
    let here = place.path();
    let good = fs::read(here.join("target/class-0/000.bmp")).unwrap();
    fs::write(here.join("target/class-0/cut.bmp"), &good[..good.len() / 2]).unwrap();
    fs::write(here.join("target/class-1/text.jpg"), "this is a text").unwrap();
    fs::write(here.join("target/class-2/zero.png"), "").unwrap();
    fs::write(here.join("target/class-3/huge.jpg"), huge_jpeg()).unwrap();

    // Four of 64 are more than 1 %.
    let (code, text) = outcome(here, &adaptation("run"));
    assert_eq!(code, 1, "{text}");
    assert!(
        text.contains("4 of 64 images cannot be read") && text.contains("--max-bad"),
        "{text}"
    );
    assert!(!here.join("run").exists());

    let mut arguments = adaptation("run");
    arguments.extend(["--max-bad", "10"]);
    let (code, text) = outcome(here, &arguments);
    assert_eq!(code, 0, "{text}");
    for name in ["cut.bmp", "text.jpg", "zero.png", "huge.jpg"] {
        assert!(text.contains(name), "{name} is not named:\n{text}");
    }
    let predictions = fs::read_to_string(here.join("run/predictions.csv")).unwrap();
    assert_eq!(predictions.lines().count(), 61);
    assert!(predictions.starts_with("path,label,confidence,unknown,refined_label,u_nc,u_cs\n"));
    let manifest = fs::read_to_string(here.join("run/manifest.json")).unwrap();
    assert!(manifest.contains("huge.jpg") && manifest.contains("reason"));
}

#[test]
fn files_of_weights_that_lie_are_refused() {
    let place = workplace();
    let here = place.path();
    let model = fs::read(here.join("source.safetensors")).unwrap();
    let header_length = u64::from_le_bytes(model[..8].try_into().unwrap()) as usize;
    let header = String::from_utf8(model[8..8 + header_length].to_vec()).unwrap();
    let with_header = |header: &str| {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.extend(&model[8 + header_length..]);
        bytes
    };
    // The bytes of `i` `os` `system` as a pickle that would call it.
    let call = b"\x80\x02cos\nsystem\nq\x00X\x0b\x00\x00\x00touch owned\x85q\x01Rq\x02.".to_vec();
    let mut not_finite = model.clone();
    let end = not_finite.len();
    not_finite[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    let first_offset = header
        .find("\"data_offsets\":[0,")
        .expect("the first tensor starts at 0");
    let mut lying = header.clone();
    lying.replace_range(first_offset + 17..first_offset + 18, "9");
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("empty.safetensors", Vec::new()),
        ("text.safetensors", b"hello".to_vec()),
        ("cut.safetensors", model[..model.len() - 100].to_vec()),
        (
            "long-header.safetensors",
            [&u64::MAX.to_le_bytes()[..], &model[8..]].concat(),
        ),
        ("offsets.safetensors", with_header(&lying)),
        ("nan.safetensors", not_finite),
        ("call.pth", call),
    ];
    let before = listing(here);
    for (name, bytes) in cases {
        let path = here.join(name);
        fs::write(&path, bytes).unwrap();
        let (code, text) = outcome(here, &["adapt", "target", "--model", name, "--out", "run"]);
        assert_eq!(code, 2, "{name}: {text}");
        assert!(
            text.contains("error:") && text.contains("hint:") && text.contains(name),
            "{name}: {text}"
        );
        fs::remove_file(&path).unwrap();
    }
    assert_eq!(
        before,
        listing(here),
        "nothing was executed, nothing was left behind"
    );
}

/// A ResNet-18 with one `fc`, by torchvision's names, in half precision, all zero.
fn torchvision_resnet18(outputs: usize) -> Vec<u8> {
    let mut tensors: Vec<(String, Vec<usize>)> = Vec::new();
    let mut unit = |conv: &str, norm: &str, shape: [usize; 4]| {
        tensors.push((format!("{conv}.weight"), shape.to_vec()));
        for name in ["weight", "bias", "running_mean", "running_var"] {
            tensors.push((format!("{norm}.{name}"), vec![shape[0]]));
        }
    };
    unit("conv1", "bn1", [64, 3, 7, 7]);
    let mut width = 64;
    for (layer, out) in [(1, 64), (2, 128), (3, 256), (4, 512)] {
        for block in 0..2 {
            let at = format!("layer{layer}.{block}");
            let (conv, norm) = (format!("{at}.conv"), format!("{at}.bn"));
            unit(&format!("{conv}1"), &format!("{norm}1"), [out, width, 3, 3]);
            unit(&format!("{conv}2"), &format!("{norm}2"), [out, out, 3, 3]);
            if width != out {
                let shortcut = format!("{at}.downsample");
                unit(
                    &format!("{shortcut}.0"),
                    &format!("{shortcut}.1"),
                    [out, width, 1, 1],
                );
            }
            width = out;
        }
    }
    tensors.push(("fc.weight".into(), vec![outputs, 512]));
    tensors.push(("fc.bias".into(), vec![outputs]));
    let mut end = 0;
    let mut header = serde_json::Map::new();
    for (name, shape) in tensors {
        let start = end;
        end += 2 * shape.iter().product::<usize>();
        let entry =
            serde_json::json!({"dtype": "F16", "shape": shape, "data_offsets": [start, end]});
        header.insert(name, entry);
    }
    let header = serde_json::to_vec(&header).unwrap();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header);
    bytes.resize(bytes.len() + end, 0);
    bytes
}

#[test]
fn a_class_list_of_the_wrong_length_is_refused() {
    let place = workplace();
    let here = place.path();
    fs::write(here.join("elsewhere.safetensors"), torchvision_resnet18(5)).unwrap();
    fs::write(here.join("two.txt"), "this\nthat\n").unwrap();
    fs::write(here.join("five.txt"), "a\nb\nc\nd\ne\n").unwrap();
    let with = |classes| {
        let image = "target/class-0/000.bmp";
        let model = ["--model", "elsewhere.safetensors", "--classes", classes];
        outcome(here, &[&["predict", image][..], &model[..]].concat())
    };
    let (code, text) = with("two.txt");
    assert_eq!(code, 2, "{text}");
    for part in ["5 outputs", "2 names", "elsewhere.safetensors", "hint:"] {
        assert!(text.contains(part), "{part} is not said: {text}");
    }
    // The same file with the right list is a model like any other.
    let (code, text) = with("five.txt");
    assert_eq!(code, 0, "{text}");
    // A model of ours has its names inside.
    let arguments = [
        "predict",
        "target",
        "--model",
        "source.safetensors",
        "--classes",
        "two.txt",
    ];
    let (code, text) = outcome(here, &arguments);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("--classes"), "{text}");
}

#[test]
fn one_image_and_strange_names_are_predicted() {
    let place = workplace();
    let here = place.path();
    let strange = here.join("a folder, with \"quotes\" and ünïcode");
    draw(&strange, 0..1, 1, true);
    let single = strange.join("class-0/000.bmp");
    let output = run_in(
        here,
        &[
            "predict",
            &single.display().to_string(),
            "--model",
            "source.safetensors",
        ],
    );
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 2, "{text}");
    let output = run_in(
        here,
        &[
            "predict",
            &strange.display().to_string(),
            "--model",
            "source.safetensors",
            "--format",
            "jsonl",
        ],
    );
    let line: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(line["path"], "class-0/000.bmp");
    assert!(line["label"].as_str().unwrap().starts_with("class-"));
}

#[test]
fn a_finished_run_predicts_and_evaluates() {
    let place = workplace();
    let here = place.path();
    run_in(here, &adaptation("run"));
    let output = run_in(here, &["predict", "target", "--model", "run"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 61);
    let written = fs::read_to_string(here.join("run/predictions.csv")).unwrap();
    assert_eq!(
        text, written,
        "the same model says the same about the same images, which do not vote for themselves"
    );

    let output = run_in(here, &["evaluate", "run", "--labels", "target", "--json"]);
    let scores: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let keys = [
        "os_star",
        "unk",
        "unk_macro",
        "hos",
        "hos_macro",
        "os",
        "auroc",
        "fpr95",
        "oscr",
        "novel",
        "per_class",
        "confusion",
    ];
    for key in keys {
        assert!(!scores[key].is_null(), "{key} is missing: {scores}");
    }
    // The same images by other paths: a list with absolute ones.
    let lines: Vec<String> = (0..5)
        .flat_map(|class| (0..12).map(move |index| (class, index)))
        .map(|(class, index)| {
            let path = here.join(format!("target/class-{class}/{index:03}.bmp"));
            format!("{} class-{class}", path.display())
        })
        .collect();
    fs::write(here.join("labels.txt"), lines.join("\n")).unwrap();
    let list = ["evaluate", "run", "--labels", "labels.txt", "--json"];
    let by_list: serde_json::Value = serde_json::from_slice(&run_in(here, &list).stdout).unwrap();
    assert_eq!(by_list, scores);
    let hos = scores["hos"].as_f64().unwrap();
    assert!((0.0..=100.0).contains(&hos));
    let per_class = scores["per_class"].as_array().unwrap();
    assert_eq!(per_class.len(), 5);
    assert_eq!(per_class[0]["images"], 12);
    let output = run_in(here, &["evaluate", "run", "--labels", "target"]);
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("adapted")
    );
}

#[test]
fn numbers_that_are_no_longer_finite_are_never_a_result() {
    let place = workplace();
    let here = place.path();
    for more in [["--learning-rate", "1e38"], ["--set", "temperature=1e-30"]] {
        let arguments = [adaptation("run"), more.to_vec()].concat();
        let (code, text) = outcome(here, &arguments);
        assert_eq!(code, 1, "{more:?}: {text}");
        assert!(text.contains("finite") || text.contains("NaN"), "{text}");
        for name in ["predictions.csv", "model.safetensors"] {
            assert!(!here.join("run").join(name).exists(), "{more:?}: {name}");
        }
        // What is kept is the last good state, or nothing.
        let state = here.join("run/checkpoint/state.safetensors");
        if state.exists() {
            let shown = outcome(here, &["inspect", "run"]);
            assert_eq!(shown.0, 0, "{}", shown.1);
        }
        fs::remove_dir_all(here.join("run")).unwrap();
    }
}

#[test]
fn folders_that_are_no_runs_are_left_alone() {
    let place = workplace();
    let here = place.path();
    let before = listing(&here.join("source"));
    for resume in [vec![], vec!["--resume"]] {
        let arguments = [adaptation("source"), resume].concat();
        let (code, text) = outcome(here, &arguments);
        assert_eq!(code, 2, "{text}");
        assert!(text.contains("not empty"), "{text}");
    }
    let (code, text) = outcome(here, &["demo", "--out", "source"]);
    assert_eq!(code, 2, "{text}");
    assert_eq!(before, listing(&here.join("source")));
    let (code, text) = outcome(here, &adaptation("source.safetensors"));
    assert_eq!(code, 2, "{text}");
    let (code, text) = outcome(here, &["train", "source", "--out", "target"]);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("folder"), "{text}");
}

#[test]
fn names_and_sizes_that_cannot_be_are_refused() {
    let place = workplace();
    let here = place.path();
    draw(&here.join("named"), 0..2, 4, false);
    fs::rename(here.join("named/class-1"), here.join("named/unknown-1")).unwrap();
    let train = [
        "train",
        "named",
        "--out",
        "named.safetensors",
        "--backbone",
        "small",
    ];
    let (code, text) = outcome(here, &[&train[..], &["--size", "16"]].concat());
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("unknown-1"), "{text}");
    for size in ["0", "4294967295"] {
        let (code, text) = outcome(here, &[&train[..], &["--size", size]].concat());
        assert_eq!(code, 2, "{text}");
    }
    // A model whose description has been tampered with.
    let model = fs::read(here.join("source.safetensors")).unwrap();
    let length = u64::from_le_bytes(model[..8].try_into().unwrap()) as usize;
    let header = String::from_utf8(model[8..8 + length].to_vec()).unwrap();
    assert!(header.contains(r#"\"crop\":16"#), "{header}");
    for (from, to) in [
        (r#"\"crop\":16"#, r#"\"crop\":0"#),
        (r#"\"crop\":16"#, r#"\"crop\":4000000000"#),
        (r#"\"resize\":18"#, r#"\"resize\":1"#),
        (r#"\"known\":3"#, r#"\"known\":18446744073709551615"#),
        (r#"\"known\":3"#, r#"\"known\":0"#),
        ("class-1", "class-0"),
    ] {
        let edited = header.replace(from, to);
        assert_ne!(edited, header, "{from} is not there");
        let mut bytes = (edited.len() as u64).to_le_bytes().to_vec();
        bytes.extend(edited.as_bytes());
        bytes.extend(&model[8 + length..]);
        fs::write(here.join("edited.safetensors"), bytes).unwrap();
        let image = "target/class-0/000.bmp";
        let (code, text) = outcome(here, &["predict", image, "--model", "edited.safetensors"]);
        assert_eq!(code, 2, "{to}: {text}");
    }
}

#[test]
fn without_held_out_images_the_last_epoch_is_the_model() {
    let place = workplace();
    let here = place.path();
    let train = [
        "train",
        "source",
        "--out",
        "all.safetensors",
        "--backbone",
        "small",
        "--size",
        "16",
        "--batch",
        "16",
        "--set",
        "bottleneck=16",
        "--learning-rate",
        "0.05",
        "--epochs",
        "12",
        "--set",
        "held-out=0",
    ];
    let (code, text) = outcome(here, &train);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("epoch 12") && !text.contains("held-out"),
        "{text}"
    );
    let output = run_in(here, &["predict", "source", "--model", "all.safetensors"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let right = text.lines().skip(1).filter(|line| {
        let (path, rest) = line.split_once(',').unwrap();
        rest.starts_with(path.split('/').next().unwrap())
    });
    assert!(right.count() >= 65, "{text}");
}
