//! The benchmark command on a benchmark of a few hundred tiny pictures.

mod common;

use std::fs;

use common::{draw, outcome, run_in, training};

#[test]
fn tasks_are_run_scored_and_kept() {
    let place = tempfile::tempdir().unwrap();
    let here = place.path();
    draw(&here.join("source"), 0..3, 12, false);
    run_in(here, &training("body.safetensors"));
    for (domain, shift) in [("amazon", false), ("dslr", true), ("Webcam/images", true)] {
        // 31 class folders, whose names sort as their numbers do.
        for class in 0..31 {
            let one = here.join("drawn");
            draw(&one, class..class + 1, 3, shift);
            let folder = here.join("office").join(domain);
            fs::create_dir_all(&folder).unwrap();
            let from = one.join(format!("class-{class}"));
            fs::rename(from, folder.join(format!("class-{class:02}"))).unwrap();
        }
    }
    let fixed = "bench office31 --root office --weights body.safetensors --train head --epochs 2 \
                 --tasks a2w,w2d --seeds 2 --json all.json --out kept --cache cache";
    let arguments: Vec<&str> = fixed.split_whitespace().collect();
    let first = run_in(here, &arguments);
    let text = String::from_utf8(first.stdout).unwrap();
    assert!(text.contains("| HOS | A→W | W→D | mean |"), "{text}");
    assert!(
        text.contains("| the paper, published | 83.9 | 96.6 | 85.4 |"),
        "{text}"
    );
    let read = || -> serde_json::Value {
        serde_json::from_slice(&fs::read(here.join("all.json")).unwrap()).unwrap()
    };
    let results = read();
    let tasks = results["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 4);
    assert_eq!(
        (&tasks[0]["task"], &tasks[3]["task"]),
        (&"a2w".into(), &"w2d".into())
    );
    assert_eq!(
        (&tasks[0]["seed"], &tasks[3]["seed"]),
        (&0.into(), &1.into())
    );
    // A body that has seen three classes matches these ten with clusters at random, so the source model is kept, with new classes for what it
    // is undecided about: what there is without any adaptation.
    assert_eq!(tasks[0]["health"]["verdict"], "harmful");
    assert_eq!(tasks[0]["health"]["predictions"], "source");
    assert_ne!(tasks[0]["private"], 0);
    for score in ["os_star", "unk", "hos"] {
        assert_eq!(
            tasks[0]["source_only"][score], tasks[0]["adapted"][score],
            "{score}"
        );
    }
    for way in ["source_only", "clustering", "adapted", "refined"] {
        assert!(tasks[0][way]["hos"].is_number(), "{way}");
        assert!(results["mean"][way]["hos"]["sd"].is_number(), "{way}");
    }
    let hos = |task: usize| tasks[task]["adapted"]["hos"].as_f64().unwrap();
    let mean = results["mean"]["adapted"]["hos"]["mean"].as_f64().unwrap();
    assert!((mean - (hos(0) + hos(1) + hos(2) + hos(3)) / 4.0).abs() < 1e-9);

    // What was run is not run again, but other images are other runs.
    let again = String::from_utf8(run_in(here, &arguments).stderr).unwrap();
    assert!(!again.contains("adapting"), "{again}");
    assert!(read() == results, "to the last digit");
    let picture = here.join("office/Webcam/images/class-25");
    let picture = fs::read_dir(picture).unwrap().next().unwrap().unwrap();
    fs::remove_file(picture.path()).unwrap();
    let other = String::from_utf8(run_in(here, &arguments).stderr).unwrap();
    // Of four runs, two have webcam for their target; of the others it is the source, and a private class is no part of it.
    assert_eq!(other.matches("adapting").count(), 2, "{other}");

    // The figures as a picture, and by how much adaptation gains.
    let drawn: Vec<&str> = arguments
        .iter()
        .copied()
        .chain(["--plot", "all.svg"])
        .collect();
    let text = String::from_utf8(run_in(here, &drawn).stdout).unwrap();
    assert!(text.contains("| adapted − clustering |"), "{text}");
    let svg = fs::read_to_string(here.join("all.svg")).unwrap();
    // Three ways in the legend, and in a row for each of two tasks.
    assert_eq!(svg.matches("<circle").count(), 9, "{svg}");

    // Without known images there is no HOS: what there is, is drawn.
    let unknown = [
        &arguments[..],
        &["--split", "office31-no-known", "--plot", "new.svg"],
    ]
    .concat();
    run_in(here, &unknown);
    let svg = fs::read_to_string(here.join("new.svg")).unwrap();
    assert!(svg.contains("UNK, office31-no-known"), "{svg}");
    assert_eq!(svg.matches("<circle").count(), 9, "{svg}");

    // A study, and requests that cannot work.
    let mut study = arguments.clone();
    let tasks = study.iter().position(|&word| word == "a2w,w2d").unwrap();
    study[tasks] = "d2w";
    study.extend(["--study", "selection"]);
    let output = run_in(here, &study);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("| selection=and |") && text.contains("| selection=or |"),
        "{text}"
    );
    // Set-ups broken on purpose are what they are called, and leave nothing behind.
    let at = study.len() - 1;
    study[at] = "broken";
    let seeds = study.iter().position(|&word| word == "2").unwrap();
    // The first 2 is the number of epochs.
    let seeds = seeds + 1 + study[seeds + 1..].iter().position(|&w| w == "2").unwrap();
    study[seeds] = "1";
    let text = String::from_utf8(run_in(here, &study).stdout).unwrap();
    for name in ["as it should be", "labels shuffled", "target of noise"] {
        assert!(text.contains(&format!("| {name} | harmful (")), "{text}");
    }
    let results = read();
    let run = |name: &str| results[name]["tasks"][0].clone();
    let contrast = |name: &str| run(name)["health"]["signs"]["contrast"].as_f64().unwrap();
    let proper = contrast("as it should be");
    assert!(contrast("pixels 0–255") > 1000.0 * proper);
    let forgotten = contrast("mean and deviation forgotten");
    assert!(forgotten < 0.5 * proper, "{forgotten} {proper}");
    assert_eq!(contrast("labels shuffled"), proper);
    let images = |name: &str| {
        let classes = run(name)["adapted"]["per_class"].clone();
        let classes = classes.as_array().unwrap().iter();
        classes
            .map(|class| class["images"].as_u64().unwrap())
            .sum::<u64>()
    };
    assert_eq!(images("target of noise"), 10 * 21);
    let left = fs::read_dir(here.join("kept/records")).unwrap();
    let mut left = left.map(|entry| entry.unwrap().path());
    assert!(left.all(|path| path.is_file()));

    for (more, word) in [
        (["--study", "colours"], "ablation"),
        (["--tasks", "a2c"], "w2d"),
        (["--split", "office-home"], "office31-paper"),
    ] {
        let fixed = [
            "bench",
            "office31",
            "--root",
            "office",
            "--weights",
            "body.safetensors",
        ];
        let (code, text) = outcome(here, &[&fixed[..], &more[..]].concat());
        assert_eq!(code, 2, "{text}");
        assert!(text.contains(word), "{text}");
    }
}
