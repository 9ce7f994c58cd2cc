//! A run is a function of model, images, configuration and seed, whatever happens on the way.

#![cfg(unix)]

mod common;

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use common::{adaptation, newfound, results, run_in, workplace};

fn start(place: &Path, arguments: &[&str]) -> Child {
    newfound()
        .current_dir(place)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

fn signal(child: &Child, name: &str) {
    let status = std::process::Command::new("kill")
        .args([name, &child.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}

fn same(a: &Path, b: &Path) {
    for ((name, left), (_, right)) in results(a).into_iter().zip(results(b)) {
        assert!(
            left == right,
            "{} differs between {} and {}",
            name.display(),
            a.display(),
            b.display()
        );
    }
}

#[test]
fn threads_do_not_change_a_single_bit() {
    let place = workplace();
    for threads in ["1", "2", "5"] {
        let out = format!("run-{threads}");
        let status = newfound()
            .current_dir(place.path())
            .env("RAYON_NUM_THREADS", threads)
            .args(adaptation(&out))
            .output()
            .unwrap();
        assert!(
            status.status.success(),
            "{}",
            String::from_utf8_lossy(&status.stderr)
        );
    }
    same(&place.path().join("run-1"), &place.path().join("run-2"));
    same(&place.path().join("run-1"), &place.path().join("run-5"));
}

#[test]
fn a_run_killed_at_any_moment_resumes_to_the_same_bits() {
    let place = workplace();
    let began = std::time::Instant::now();
    run_in(place.path(), &adaptation("whole"));
    let whole = began.elapsed();
    // Moments spread over the whole run, the first ones before there is anything to resume.
    let mut kills = 0;
    for part in [1, 2, 3, 4, 5, 6, 7, 8, 9] {
        let mut arguments = adaptation("killed");
        arguments.push("--resume");
        let mut child = start(place.path(), &arguments);
        std::thread::sleep(
            whole
                .mul_f64(0.1 * f64::from(part))
                .max(Duration::from_millis(5)),
        );
        if child.try_wait().unwrap().is_some() {
            break;
        }
        signal(&child, "-KILL");
        let _ = child.wait();
        kills += 1;
        // Whatever is there is whole: a model never appears without its predictions.
        if place.path().join("killed/model.safetensors").exists() {
            assert!(place.path().join("killed/predictions.csv").exists());
        }
    }
    assert!(kills > 0, "the run was never caught alive");
    let mut arguments = adaptation("killed");
    arguments.push("--resume");
    run_in(place.path(), &arguments);
    same(&place.path().join("whole"), &place.path().join("killed"));
    let events =
        |run: &str| fs::read_to_string(place.path().join(run).join("events.jsonl")).unwrap();
    let lines = |run: &str| events(run).lines().count();
    assert_eq!(
        lines("whole"),
        lines("killed"),
        "no event is lost or told twice"
    );
}

/// Kills a run after each of some shares of the time that it takes, resuming it in between, and lets it end.
fn kill_and_resume(place: &Path, mut arguments: Vec<&str>, whole: Duration, shares: &[f64]) {
    arguments.push("--resume");
    let mut kills = 0;
    for &share in shares {
        let mut child = start(place, &arguments);
        std::thread::sleep(whole.mul_f64(share));
        if child.try_wait().unwrap().is_some() {
            break;
        }
        signal(&child, "-KILL");
        let _ = child.wait();
        kills += 1;
    }
    assert!(kills > 0, "the run was never caught alive");
    run_in(place, &arguments);
}

/// Statistics that are measured before the loop belong to the run like everything else.
#[test]
fn measured_statistics_survive_a_kill_and_change_the_result() {
    let place = workplace();
    let measuring = |out| {
        let mut arguments = adaptation(out);
        arguments.extend(["--set", "start-norm=target"]);
        arguments
    };
    run_in(place.path(), &adaptation("plain"));
    let began = std::time::Instant::now();
    run_in(place.path(), &measuring("whole"));
    let whole = began.elapsed();
    kill_and_resume(place.path(), measuring("killed"), whole, &[0.3, 0.6, 0.9]);
    same(&place.path().join("whole"), &place.path().join("killed"));
    let model = |run: &str| fs::read(place.path().join(run).join("model.safetensors")).unwrap();
    assert!(model("plain") != model("whole"), "the choice does nothing");
}

/// What frozen layers make of the images is computed once, whatever happens meanwhile, and found again.
#[test]
fn frozen_layers_are_computed_once_and_survive_a_kill() {
    for part in ["head", "last-stage"] {
        let place = workplace();
        let frozen = |out: &'static str, cache: &'static str| {
            let mut arguments = adaptation(out);
            arguments.extend(["--train", part, "--cache", cache]);
            arguments
        };
        let began = std::time::Instant::now();
        run_in(place.path(), &frozen("whole", "one"));
        let whole = began.elapsed();
        let shares = [0.2, 0.4, 0.6, 0.8];
        kill_and_resume(place.path(), frozen("killed", "two"), whole, &shares);
        same(&place.path().join("whole"), &place.path().join("killed"));
        let names = |cache: &str| -> Vec<_> {
            let entries = fs::read_dir(place.path().join(cache)).unwrap();
            entries.map(|entry| entry.unwrap().file_name()).collect()
        };
        assert_eq!(names("one"), names("two"), "one file, under the same name");
        // Another seed finds the same file; the images are only looked at.
        let mut arguments = frozen("other", "one");
        let seed = arguments.iter().position(|&word| word == "7").unwrap();
        arguments[seed] = "8";
        let output = run_in(place.path(), &arguments);
        assert!(!String::from_utf8_lossy(&output.stderr).contains("caching"));
        assert_eq!(names("one").len(), 1);
        // The model is whole, and says of images what the run said of what was kept of them.
        let output = run_in(place.path(), &["predict", "target", "--model", "whole"]);
        let written = fs::read(place.path().join("whole/predictions.csv")).unwrap();
        assert!(output.stdout == written, "{part}");
    }
}

/// Do no harm: a model that is adapted to the place it comes from knows its classes as before.
#[test]
fn a_model_adapted_to_its_own_place_stays_as_good() {
    let place = workplace();
    let correct = |csv: &str| {
        let mut lines = csv.lines();
        assert!(lines.next().unwrap().starts_with("path,label,"));
        let right = lines.filter(|line| {
            let (path, rest) = line.split_once(',').unwrap();
            let class = path.split('/').rev().nth(1).unwrap();
            rest.split(',').next().unwrap() == class
        });
        right.count()
    };
    let train = [
        "train",
        "source",
        "--out",
        "good.safetensors",
        "--backbone",
        "small",
        "--size",
        "16",
        "--epochs",
        "12",
        "--batch",
        "16",
        "--set",
        "bottleneck=16",
        "--set",
        "patience=12",
        "--learning-rate",
        "0.05",
    ];
    run_in(place.path(), &train);
    let adapt = |private: &str, out: &str| {
        let arguments = [
            "adapt",
            "source",
            "--model",
            "good.safetensors",
            "--out",
            out,
            "--epochs",
            "6",
            "--batch",
            "16",
            "--private",
            private,
            "--train",
            "all",
        ];
        run_in(place.path(), &arguments);
        correct(&fs::read_to_string(place.path().join(out).join("predictions.csv")).unwrap())
    };
    let before = run_in(
        place.path(),
        &["predict", "source", "--model", "good.safetensors"],
    );
    let before = correct(&String::from_utf8(before.stdout).unwrap());
    assert!(before >= 68, "only {before} of 72 images are known at home");
    let after = adapt("0", "closed");
    assert!(
        after + 2 >= before,
        "{before} images of 72 before, {after} after"
    );
}

#[test]
fn an_interrupt_leaves_a_checkpoint_and_says_how_to_go_on() {
    let place = workplace();
    let arguments = [
        "adapt",
        "target",
        "--model",
        "source.safetensors",
        "--out",
        "run",
        "--epochs",
        "2000",
        "--batch",
        "16",
        "--train",
        "all",
    ];
    let child = start(place.path(), &arguments);
    let checkpoint = place.path().join("run/checkpoint/state.safetensors");
    for _ in 0..600 {
        if checkpoint.exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(checkpoint.exists(), "no checkpoint after half a minute");
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let messages = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{messages}");
    assert!(messages.contains("--resume"), "{messages}");
    assert!(checkpoint.exists());
    let shown = run_in(place.path(), &["inspect", "run"]);
    assert!(String::from_utf8_lossy(&shown.stdout).contains("unfinished"));
    for arguments in [
        vec!["evaluate", "run", "--labels", "target"],
        vec!["report", "run"],
        vec!["predict", "target", "--model", "run"],
    ] {
        let output = newfound()
            .current_dir(place.path())
            .args(&arguments)
            .output()
            .unwrap();
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {messages}");
        assert!(
            messages.contains("not finished") && messages.contains("--resume"),
            "{messages}"
        );
    }
}

#[test]
fn a_checkpoint_of_another_run_is_refused_with_the_difference() {
    let place = workplace();
    run_in(place.path(), &adaptation("run"));
    let refuse = |arguments: &[&str], word: &str| {
        let output = newfound()
            .current_dir(place.path())
            .args(arguments)
            .output()
            .unwrap();
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{messages}");
        assert!(messages.contains(word), "{messages}");
    };
    let before = results(&place.path().join("run"));
    refuse(
        &[
            "adapt",
            "target",
            "--model",
            "source.safetensors",
            "--out",
            "run",
            "--epochs",
            "3",
        ],
        "--resume",
    );
    let resumed = |more: &[&'static str]| {
        let mut arguments = vec![
            "adapt",
            "target",
            "--model",
            "source.safetensors",
            "--out",
            "run",
            "--batch",
            "16",
            "--set",
            "train=all",
            "--resume",
        ];
        arguments.extend(more);
        arguments
    };
    refuse(&resumed(&["--epochs", "3", "--seed", "8"]), "seed");
    refuse(&resumed(&["--epochs", "4", "--seed", "7"]), "epochs");
    fs::remove_file(place.path().join("target/class-0/000.bmp")).unwrap();
    refuse(&resumed(&["--epochs", "3", "--seed", "7"]), "images differ");
    assert!(
        before == results(&place.path().join("run")),
        "a refused request changed the run"
    );
}

#[test]
fn a_model_trained_in_two_parts_is_the_model_trained_at_once() {
    let place = tempfile::tempdir().unwrap();
    common::draw(&place.path().join("source"), 0..3, 24, false);
    let arguments = |out: &'static str| {
        vec![
            "train",
            "source",
            "--out",
            out,
            "--backbone",
            "small",
            "--size",
            "16",
            "--epochs",
            "6",
            "--batch",
            "16",
            "--set",
            "bottleneck=16",
            "--set",
            "patience=9",
            "--learning-rate",
            "0.05",
            "--resume",
        ]
    };
    run_in(place.path(), &arguments("whole.safetensors"));
    let mut child = start(place.path(), &arguments("parts.safetensors"));
    let checkpoint = place
        .path()
        .join("parts.safetensors.checkpoint/state.safetensors");
    for _ in 0..600 {
        if checkpoint.exists() || child.try_wait().unwrap().is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    signal(&child, "-KILL");
    let _ = child.wait();
    // Another training is refused, with what differs.
    let mut other = arguments("parts.safetensors");
    other.extend(["--seed", "5"]);
    let (code, text) = common::outcome(place.path(), &other);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("seed = 0 then, seed = 5 now"), "{text}");
    // So is a checkpoint of which a byte has changed.
    let whole = fs::read(&checkpoint).unwrap();
    let mut changed = whole.clone();
    *changed.last_mut().unwrap() ^= 1;
    fs::write(&checkpoint, changed).unwrap();
    let (code, text) = common::outcome(place.path(), &arguments("parts.safetensors"));
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("damaged"), "{text}");
    fs::write(&checkpoint, whole).unwrap();
    // Interrupted once more, within an epoch: what was done of it is kept.
    let child = start(place.path(), &arguments("parts.safetensors"));
    std::thread::sleep(Duration::from_millis(60));
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() || messages.contains("--resume"),
        "{messages}"
    );
    run_in(place.path(), &arguments("parts.safetensors"));
    let read = |name: &str| fs::read(place.path().join(name)).unwrap();
    assert!(read("whole.safetensors") == read("parts.safetensors"));
    assert!(
        !checkpoint.exists(),
        "a finished training leaves no checkpoint behind"
    );
}
