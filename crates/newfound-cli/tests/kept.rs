//! What a user has made is not replaced, what was done is not lost, and what they should know is said.

mod common;

use std::fs;
use std::path::Path;

use common::{adaptation, draw, outcome, results, run_in, training, workplace};

/// The shape of a tensor in a safetensors file.
fn shape(file: &Path, name: &str) -> Vec<u64> {
    let bytes = fs::read(file).unwrap();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let shape = header[name]["shape"].as_array().unwrap();
    shape.iter().map(|size| size.as_u64().unwrap()).collect()
}

#[test]
fn paths_of_a_list_that_are_not_there_are_left_out() {
    let place = workplace();
    let here = place.path();
    let mut lines: Vec<String> = (0..5)
        .flat_map(|class| (0..12).map(move |index| (class, index)))
        .map(|(class, index)| format!("target/class-{class}/{index:03}.bmp class-{class}"))
        .collect();
    lines.push("target/class-0/gone.bmp class-0".to_string());
    fs::write(here.join("list.txt"), lines.join("\n")).unwrap();
    let adapt = |more: &[&'static str]| {
        let mut arguments = adaptation("run");
        arguments[1] = "list.txt";
        arguments.extend(more);
        outcome(here, &arguments)
    };
    // One of 61 is more than 1 %.
    let (code, text) = adapt(&[]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("1 of 61 images cannot be read"), "{text}");
    let (code, text) = adapt(&["--max-bad", "2"]);
    assert_eq!(code, 0, "{text}");
    let gone = "there is no such file: ./target/class-0/gone.bmp";
    assert!(text.contains(gone), "{text}");
    let (code, text) = outcome(here, &["evaluate", "run", "--labels", "list.txt"]);
    assert_eq!(code, 0, "{text}");

    // The same list for other commands.
    let predict = ["predict", "list.txt", "--model", "run"];
    let (code, text) = outcome(here, &predict);
    assert_eq!(code, 1, "{text}");
    assert_eq!(
        text.matches(".bmp,").count(),
        60,
        "the others are predicted: {text}"
    );
    let (code, text) = outcome(here, &[&predict[..], &["--max-bad", "2"]].concat());
    assert_eq!(code, 0, "{text}");
    let mut train = training("listed.safetensors");
    train[1] = "list.txt";
    let (code, text) = outcome(here, &train);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains(gone), "{text}");
}

#[test]
fn a_training_replaces_no_file_and_no_other_training() {
    let place = workplace();
    let here = place.path();
    let model = fs::read(here.join("source.safetensors")).unwrap();
    let (code, text) = outcome(here, &training("source.safetensors"));
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("there is a file here already"), "{text}");
    let resume = [training("source.safetensors"), vec!["--resume"]].concat();
    let (code, text) = outcome(here, &resume);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("nothing to resume"), "{text}");
    assert!(model == fs::read(here.join("source.safetensors")).unwrap());

    // What a training that was stopped leaves.
    fs::create_dir_all(here.join("b.safetensors.checkpoint")).unwrap();
    let (code, text) = outcome(here, &training("b.safetensors"));
    assert_eq!(code, 2, "{text}");
    assert!(
        text.contains("interrupted here") && text.contains("--resume"),
        "{text}"
    );
}

#[test]
fn a_bank_is_no_larger_than_asked_for() {
    let place = workplace();
    let here = place.path();
    let arguments = [adaptation("run"), vec!["--set", "bank=20"]].concat();
    run_in(here, &arguments);
    let bank = here.join("run/bank.safetensors");
    assert_eq!(shape(&bank, "features"), [20, 16]);
    assert_eq!(shape(&bank, "images"), [20, 1]);
    let output = run_in(here, &["predict", "target", "--model", "run"]);
    let written = fs::read(here.join("run/predictions.csv")).unwrap();
    assert!(
        output.stdout == written,
        "images with and without a row alike"
    );

    // A bank of another run is refused, not looked into.
    run_in(
        here,
        &[adaptation("other"), vec!["--private", "1"]].concat(),
    );
    fs::copy(here.join("other/bank.safetensors"), &bank).unwrap();
    let (code, text) = outcome(here, &["predict", "target", "--model", "run"]);
    assert_eq!(code, 2, "{text}");
    let from = here.join("other/probabilities.safetensors");
    fs::copy(from, here.join("run/probabilities.safetensors")).unwrap();
    let (code, text) = outcome(here, &["evaluate", "run", "--labels", "target"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("do not belong together"), "{text}");
}

#[test]
fn a_report_written_again_still_has_its_scores() {
    let place = workplace();
    let here = place.path();
    run_in(here, &adaptation("run"));
    let page = || fs::read_to_string(here.join("run/report.html")).unwrap();
    let scored = |page: &str| page.contains("Measured with labels");
    assert!(!scored(&page()));
    run_in(here, &["evaluate", "run", "--labels", "target"]);
    let with = page();
    assert!(scored(&with));
    run_in(here, &["report", "run"]);
    assert_eq!(page(), with);
    run_in(here, &[adaptation("run"), vec!["--resume"]].concat());
    assert_eq!(page(), with);

    // A page that cannot be written costs no scores.
    fs::remove_file(here.join("run/report.html")).unwrap();
    fs::create_dir(here.join("run/report.html")).unwrap();
    let (code, text) = outcome(here, &["evaluate", "run", "--labels", "target"]);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("HOS") && text.contains("the report was not written"),
        "{text}"
    );

    // Labels under other names say so.
    fs::rename(here.join("target"), here.join("moved")).unwrap();
    for class in 0..5 {
        let name = |prefix: &str| here.join(format!("moved/{prefix}-{class}"));
        fs::rename(name("class"), name("klasse")).unwrap();
    }
    let (code, text) = outcome(here, &["evaluate", "run", "--labels", "moved"]);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("no label is one of the model's known classes"),
        "{text}"
    );
}

#[test]
fn a_batch_of_one_image_is_no_obstacle() {
    let place = workplace();
    let here = place.path();
    // 60 images in batches of 59: one is left over, whose variance nobody can measure.
    for out in ["run", "again"] {
        let mut arguments = adaptation(out);
        let batch = arguments.iter().position(|&a| a == "16").unwrap();
        arguments[batch] = "59";
        run_in(here, &arguments);
    }
    let read = |run: &str| fs::read(here.join(run).join("predictions.csv")).unwrap();
    assert!(read("run") == read("again"));
    assert!(!String::from_utf8(read("run")).unwrap().contains("NaN"));
}

#[test]
fn a_run_can_be_watched_and_looked_at_after_its_images_have_moved() {
    let place = workplace();
    let here = place.path();
    let adapt = |out: &'static str, seed: &'static str| {
        let fixed = "adapt target --model source.safetensors --epochs 2 --batch 16 --cache cache \
                     --tensorboard board";
        let mut arguments: Vec<&str> = fixed.split_whitespace().collect();
        arguments.extend(["--out", out, "--seed", seed]);
        run_in(here, &arguments);
    };
    adapt("run", "1");
    adapt("other", "2");
    let read = |name: &str| fs::read_to_string(here.join(name)).unwrap();
    // What the device suggests is written down.
    assert!(read("run/config.toml").contains("train = \"head\""));
    let boards: Vec<Vec<u8>> = fs::read_dir(here.join("board"))
        .unwrap()
        .map(|file| fs::read(file.unwrap().path()).unwrap())
        .collect();
    assert_eq!(boards.len(), 2, "a file for each run");
    let holds = |bytes: &[u8], tag: &str| bytes.windows(tag.len()).any(|w| w == tag.as_bytes());
    for tag in ["loss/total", "epoch/label_changes", "brain.Event:2"] {
        assert!(boards.iter().all(|board| holds(board, tag)), "{tag}");
    }
    let last = read("run/events.jsonl").lines().last().unwrap().to_string();
    assert!(last.contains("\"event\":\"finished\""), "{last}");

    // The page is the same when it is made again from the run alone.
    let page = read("run/report.html");
    assert!(page.contains("data:image/jpeg;base64"), "it has pictures");
    fs::rename(here.join("target"), here.join("elsewhere")).unwrap();
    fs::remove_file(here.join("run/report.html")).unwrap();
    run_in(here, &["report", "run"]);
    assert!(read("run/report.html") == page, "the page changed");

    // Truth is shown only after an evaluation.
    let label = "class-3/";
    assert!(page.contains(label), "the path is no secret");
    run_in(here, &["evaluate", "run", "--labels", "elsewhere"]);
    assert!(read("run/report.html").len() > page.len());

    run_in(here, &["report", "run", "other"]);
    let comparison = read("comparison.html");
    for name in ["run", "other", "seed"] {
        assert!(comparison.contains(name), "{name}");
    }
}

#[test]
fn a_folder_that_has_grown_costs_only_the_images_that_are_new() {
    let place = workplace();
    let here = place.path();
    let adapt = |out: &'static str, cache: &'static str| {
        let more = ["--train", "head", "--cache", cache];
        let (code, text) = outcome(here, &[&adaptation(out)[..], &more].concat());
        assert_eq!(code, 0, "{text}");
        text
    };
    assert!(!adapt("first", "cache").contains("as computed before"));
    draw(&here.join("target"), 5..6, 7, true);
    fs::remove_file(here.join("target/class-2/004.bmp")).unwrap();
    let text = adapt("grown", "cache");
    assert!(
        text.contains("59 of 66 images as computed before"),
        "{text}"
    );
    // To the same bits as if nothing had been there.
    adapt("anew", "elsewhere");
    for ((file, grown), (_, anew)) in results(&here.join("grown"))
        .into_iter()
        .zip(results(&here.join("anew")))
    {
        assert!(grown == anew, "{}", file.display());
    }
    assert!(!adapt("again", "cache").contains("caching"));
}
