//! A run as a file for other tools, from the command line.

mod common;

use std::fs;
use std::path::Path;

use common::{adaptation, outcome, run_in, workplace};

/// Path, label and the two numbers of each line of predictions.
fn predicted(csv: &[u8]) -> Vec<(String, String, f64, f64)> {
    let text = String::from_utf8(csv.to_vec()).unwrap();
    let rows = text.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |i: usize| cells[i].parse().unwrap();
        (cells[0].into(), cells[1].into(), number(2), number(3))
    });
    rows.collect()
}

fn predict(here: &Path, model: &str) -> Vec<(String, String, f64, f64)> {
    predicted(&run_in(here, &["predict", "target", "--model", model]).stdout)
}

#[test]
fn a_run_is_exported_in_both_forms_and_once() {
    let place = workplace();
    let here = place.path();
    let mut arguments = adaptation("run");
    arguments.extend(["--private", "3"]);
    let told = String::from_utf8(run_in(here, &arguments).stderr).unwrap();
    // Of so few images the adaptation is not kept, and no classifier need have learned all of what is.
    let others = told.split("another label for ").nth(1);
    let others = others.map_or(0, |text| text.split(' ').next().unwrap().parse().unwrap());

    let output = run_in(here, &["export", "run", "--out", "model.safetensors"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("3 known and 3 private classes"), "{told}");
    assert!(told.contains("fitted to those it kept"), "{told}");
    // A file has no neighbours to ask, so `unknown` is compared with that of the run's own model file.
    let (before, after) = (
        predict(here, "run/model.safetensors"),
        predict(here, "model.safetensors"),
    );
    let of_run = predict(here, "run");
    let labels = |rows: &[(String, String, f64, f64)]| -> Vec<String> {
        rows.iter().map(|row| row.1.clone()).collect()
    };
    let pairs = labels(&of_run).into_iter().zip(labels(&after));
    assert_eq!(pairs.filter(|(run, file)| run != file).count(), others);
    assert!(others < 10, "{others}");
    assert_eq!(before.len(), 60);
    for (before, after) in before.iter().zip(&after) {
        assert_eq!((&before.0, &before.1), (&after.0, &after.1));
        // The classifier's rows were rounded once more.
        assert!((before.2 - after.2).abs() < 1e-5 && (before.3 - after.3).abs() < 1e-5);
    }
    let shown = run_in(here, &["inspect", "model.safetensors"]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("unknown-3"), "{shown}");

    run_in(here, &["export", "run", "--out", "model.onnx"]);
    let graph = fs::read(here.join("model.onnx")).unwrap();
    let holds = |word: &str| graph.windows(word.len()).any(|w| w == word.as_bytes());
    for word in ["images", "probabilities", "unknown-3", "BatchNormalization"] {
        assert!(holds(word), "{word}");
    }

    // What is there is not replaced.
    for out in ["model.onnx", "model.safetensors", "source.safetensors"] {
        let before = fs::read(here.join(out)).unwrap();
        let (code, text) = outcome(here, &["export", "run", "--out", out]);
        assert_eq!(code, 2, "{text}");
        assert!(text.contains("there is a file here already"), "{text}");
        assert!(before == fs::read(here.join(out)).unwrap(), "{out}");
    }

    // The same model makes the same bytes, and what was exported can be exported again.
    run_in(here, &["export", "run", "--out", "again.onnx"]);
    assert!(graph == fs::read(here.join("again.onnx")).unwrap());
    let again = ["export", "model.safetensors", "--out", "second.safetensors"];
    run_in(here, &again);
    assert_eq!(predict(here, "second.safetensors").len(), 60);

    // The page says how.
    let page = fs::read_to_string(here.join("run/report.html")).unwrap();
    assert!(page.contains("<span>export</span> <span>run</span>"));
}
