//! The help and the most likely mistakes, as a person sees them.

mod common;

use std::fs;
use std::path::Path;

use common::{draw, newfound, workplace};

/// Exit code and messages of a request, without the paths of this machine.
fn told(folder: &Path, arguments: &[&str]) -> String {
    let output = newfound()
        .current_dir(folder)
        .args(arguments)
        .output()
        .unwrap();
    let text = format!(
        "$ newfound {}\n{}{}[exit code {}]\n",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
        output.status.code().unwrap_or(-1)
    );
    text.replace(&folder.display().to_string(), "HERE")
}

/// Compares with `tests/snapshots/NAME.txt`; with UPDATE_SNAPSHOTS set, writes it instead.
fn assert_snapshot(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/snapshots/{name}.txt"));
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(&path, text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        expected == text,
        "{name} is not what its snapshot says. If the change is meant: UPDATE_SNAPSHOTS=1 cargo test --release\n\nwas:\n{expected}\nis:\n{text}"
    );
}

#[test]
fn help() {
    let here = tempfile::tempdir().unwrap();
    for command in [
        "", "demo", "train", "adapt", "predict", "evaluate", "report", "export", "inspect", "bench",
    ] {
        let arguments: Vec<&str> = [command, "--help"]
            .into_iter()
            .filter(|a| !a.is_empty())
            .collect();
        assert_snapshot(&format!("help-{command}"), &told(here.path(), &arguments));
    }
}

#[test]
fn requests_that_cannot_work() {
    let place = workplace();
    let here = place.path();
    fs::create_dir(here.join("empty")).unwrap();
    fs::write(here.join("classes.txt"), "a\nb\n").unwrap();
    fs::write(
        here.join("wrong.toml"),
        "epoch = 3\nbatch = \"many\"\nlearning-rate = -1.0\n",
    )
    .unwrap();
    fs::write(
        here.join("list.txt"),
        "target/nothing.bmp 1\ntarget/nowhere.bmp\nelsewhere.bmp\n",
    )
    .unwrap();
    draw(&here.join("few"), 0..1, 4, true);
    let adapt = |images: &'static str, more: &[&'static str]| {
        let mut arguments = vec![
            "adapt",
            images,
            "--model",
            "source.safetensors",
            "--out",
            "run",
        ];
        arguments.extend(more);
        told(here, &arguments)
    };
    assert_snapshot("missing-folder", &adapt("nowhere", &[]));
    assert_snapshot("empty-folder", &adapt("empty", &[]));
    assert_snapshot("too-few-images", &adapt("few", &[]));
    assert_snapshot("missing-paths-in-list", &adapt("list.txt", &[]));
    assert_snapshot("mistyped-flag", &adapt("target", &["--epoch", "3"]));
    assert_snapshot(
        "mistyped-key",
        &adapt(
            "target",
            &[
                "--set",
                "neighbors=5",
                "--set",
                "contrast=simclr",
                "--set",
                "epochs",
            ],
        ),
    );
    assert_snapshot(
        "wrong-configuration",
        &adapt("target", &["--config", "wrong.toml"]),
    );
    assert_snapshot("unknown-preset", &adapt("target", &["--preset", "papers"]));
    assert_snapshot("unknown-device", &adapt("target", &["--device", "gpu"]));
    assert_snapshot(
        "model-is-an-image",
        &told(
            here,
            &[
                "adapt",
                "target",
                "--model",
                "target/class-0/000.bmp",
                "--out",
                "run",
            ],
        ),
    );
    assert_snapshot(
        "missing-model",
        &told(
            here,
            &["adapt", "target", "--model", "m.pth", "--out", "run"],
        ),
    );
    assert_snapshot(
        "no-class-folders",
        &told(here, &["train", "target/class-0", "--out", "m.safetensors"]),
    );
    assert_snapshot(
        "not-a-run",
        &told(here, &["evaluate", "target", "--labels", "target"]),
    );
    let export = |model: &str, out: &str| told(here, &["export", model, "--out", out]);
    fs::create_dir(here.join("folder.onnx")).unwrap();
    let wrong = [
        export("source.safetensors", "model.pth"),
        export("source.safetensors", "model"),
        export("source.safetensors", "nowhere/model.onnx"),
        export("source.safetensors", "folder.onnx"),
        export("source.safetensors", "source.safetensors"),
        export("target", "model.onnx"),
        export("target/class-0/000.bmp", "model.onnx"),
        export("m.pth", "model.onnx"),
    ];
    assert_snapshot("export-that-cannot-work", &wrong.join("\n"));
    assert!(!here.join("model.onnx").exists());
    assert_snapshot("unknown-split", &adapt("target", &["--split", "office31"]));
    assert_snapshot(
        "split-of-other-data",
        &adapt("target", &["--split", "office31-paper"]),
    );
    assert!(
        !here.join("run").exists(),
        "a request that cannot work leaves nothing behind"
    );
}
