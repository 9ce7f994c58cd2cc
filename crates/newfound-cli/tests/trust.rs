//! What a run says about itself: the estimate, the verdict, doubts.

mod common;

use std::fs;

use common::{adaptation, outcome, run_in, workplace};

#[test]
fn a_run_says_how_far_it_can_be_trusted() {
    let place = workplace();
    let here = place.path();
    let mut arguments = adaptation("run");
    arguments.extend(["--private", "3"]);
    let told = String::from_utf8(run_in(here, &arguments).stderr).unwrap();
    assert!(told.contains("\nestimate    "), "{told}");
    assert!(told.contains("\nverdict     "), "{told}");

    let read = |name: &str| -> serde_json::Value {
        serde_json::from_slice(&fs::read(here.join("run").join(name)).unwrap()).unwrap()
    };
    let verdict = read("verdict.json");
    let word = verdict["verdict"].as_str().unwrap();
    assert!(["good", "doubtful", "harmful"].contains(&word), "{verdict}");
    assert!(verdict["signs"]["kept"].as_f64().unwrap() <= 1.0);
    let estimate = &read("clustering.json")["estimate"];
    assert!(
        !estimate["reason"].as_str().unwrap().is_empty(),
        "{estimate}"
    );
    let page = fs::read_to_string(here.join("run/report.html")).unwrap();
    assert!(page.contains("Can it be believed?") && page.contains("How many new classes"));

    // Half of the images are left without a label, the more doubtful half; no line is lost.
    let lines = |arguments: &[&str]| -> Vec<Vec<String>> {
        let output = String::from_utf8(run_in(here, arguments).stdout).unwrap();
        let cells = |line: &str| line.split(',').map(String::from).collect();
        output.lines().skip(1).map(cells).collect()
    };
    let predict = ["predict", "target", "--model", "run"];
    let (all, some) = (
        lines(&predict),
        lines(&[predict.as_slice(), &["--abstain", "0.5"]].concat()),
    );
    assert_eq!((all.len(), some.len()), (60, 60));
    let unlabelled = some.iter().filter(|row| row[1].is_empty()).count();
    assert!((20..=40).contains(&unlabelled), "{unlabelled}");
    for (all, some) in all.iter().zip(&some) {
        // What the image is, by the classifier and by its neighbours, is said or not said; how sure either is stays.
        let said = |row: &[String]| [row[1].clone(), row[4].clone()];
        let rest = |row: &[String]| [&row[..1], &row[2..4], &row[5..]].concat();
        assert_eq!(rest(all), rest(some));
        assert!(said(some) == said(all) || said(some).iter().all(String::is_empty));
    }

    // Labels show what the probability of being new is worth, and what leaving out doubtful images gains.
    let evaluate = ["evaluate", "run", "--labels", "target"];
    let output = String::from_utf8(run_in(here, &evaluate).stdout).unwrap();
    assert!(
        output.contains("calibration error") && output.contains("left out"),
        "{output}"
    );
    let output = run_in(here, &[evaluate.as_slice(), &["--json"]].concat()).stdout;
    let scores: serde_json::Value = serde_json::from_slice(&output).unwrap();
    assert_eq!(scores["coverage"][0]["images"], 60);
    assert_eq!(scores["coverage"][2]["images"], 54);
    let bins = scores["calibration"]["bins"].as_array().unwrap();
    let images: u64 = bins.iter().map(|bin| bin["images"].as_u64().unwrap()).sum();
    assert_eq!(images, 60);

    // A file alone has nothing to compare with; a share is less than 1.
    let model = ["predict", "target", "--model", "source.safetensors"];
    let (code, text) = outcome(here, &[model.as_slice(), &["--abstain", "0.1"]].concat());
    assert!(code == 2 && text.contains("give the run folder"), "{text}");
    let (code, text) = outcome(here, &[predict.as_slice(), &["--abstain", "10"]].concat());
    assert!(code == 2 && text.contains("such as 0.1"), "{text}");
}

#[test]
fn prototypes_to_spare_become_as_many_classes_as_were_asked_for() {
    let place = workplace();
    let here = place.path();
    // On so few images neither is kept: the result is the model as it started, settled in the same way.
    for (run, rate) in [("calm", "learning-rate=0.001"), ("wild", "learning-rate=1")] {
        let mut arguments = adaptation(run);
        let several = "known-clusters=several";
        arguments.extend(["--private", "2", "--set", several, "--set", rate]);
        run_in(here, &arguments);
        let read = |name: &str| -> serde_json::Value {
            serde_json::from_slice(&fs::read(here.join(run).join(name)).unwrap()).unwrap()
        };
        // Five private prototypes beside three known ones, if there were as many new images.
        let sizes = read("clustering.json")["sizes"].as_array().unwrap().len();
        assert!((6..=8).contains(&sizes), "{sizes}");
        let predictions = read("verdict.json")["predictions"].clone();
        assert!(
            predictions == "clustering" || run == "calm",
            "{predictions}"
        );
        let written = fs::read_to_string(here.join(run).join("predictions.csv")).unwrap();
        assert!(!written.contains("unknown-3"), "{written}");

        // The file says what the run says, the page and the scores are made of the same tables.
        let predicted = run_in(here, &["predict", "target", "--model", run]).stdout;
        let label = |line: &str| line.split(',').nth(1).unwrap().to_string();
        let labels = |text: &str| text.lines().skip(1).map(label).collect::<Vec<_>>();
        assert_eq!(
            labels(&written),
            labels(&String::from_utf8(predicted).unwrap())
        );
        run_in(here, &["evaluate", run, "--labels", "target"]);
        run_in(here, &["report", run]);
    }
}

#[test]
fn a_run_that_keeps_its_clustering_says_what_the_clustering_says() {
    let place = workplace();
    let here = place.path();
    // One cluster for each class as in the paper, and several.
    for (run, clusters) in [
        ("one", "known-clusters=one"),
        ("several", "known-clusters=several"),
    ] {
        let mut arguments = adaptation(run);
        arguments.extend(["--private", "2", "--set", "learning-rate=1"]);
        arguments.extend(["--set", clusters]);
        run_in(here, &arguments);
        let verdict = fs::read(here.join(run).join("verdict.json")).unwrap();
        let verdict: serde_json::Value = serde_json::from_slice(&verdict).unwrap();
        assert_eq!(verdict["predictions"], "clustering", "{verdict}");
        let evaluate = ["evaluate", run, "--labels", "target", "--json", "--of"];
        let counts = |way: &'static str| -> Vec<i64> {
            let output = run_in(here, &[&evaluate[..], &[way]].concat()).stdout;
            let scores: serde_json::Value = serde_json::from_slice(&output).unwrap();
            let rows = scores["confusion"]["counts"].as_array().unwrap();
            let cells = rows.iter().flat_map(|row| row.as_array().unwrap());
            cells.map(|cell| cell.as_i64().unwrap()).collect()
        };
        assert_eq!(counts("adapted"), counts("clustering"), "{run}");
        // The model that is written is fitted to that, and cannot follow the borders of clusters everywhere.
        let labels = |model: &str| -> Vec<String> {
            let csv = run_in(here, &["predict", "target", "--model", model]).stdout;
            let lines = String::from_utf8(csv).unwrap();
            lines
                .lines()
                .map(|line| line.split(',').nth(1).unwrap().into())
                .collect()
        };
        let alone = labels(&format!("{run}/model.safetensors"));
        let pairs = labels(run).into_iter().zip(alone);
        let others = pairs.filter(|(run, model)| run != model).count();
        assert!(others < 15, "{run}: {others} of 60 images");
        // The run's own images by what was kept, others by the written model's own doubt.
        let left_out = |images: &str| -> usize {
            let predict = ["predict", images, "--model", run, "--abstain", "0.1"];
            let told = String::from_utf8(run_in(here, &predict).stderr).unwrap();
            told.split(" images have no label")
                .next()
                .unwrap()
                .split_whitespace()
                .last()
                .unwrap()
                .parse()
                .unwrap()
        };
        assert_eq!(left_out("target"), 6);
        assert!(left_out("source") < 20, "{run}");
    }
}

#[test]
fn what_is_left_out_for_doubt_is_not_said_to_have_no_label() {
    let place = workplace();
    let here = place.path();
    run_in(here, &adaptation("run"));
    let evaluate = ["evaluate", "run", "--labels", "target", "--abstain", "0.5"];
    let (code, text) = outcome(here, &evaluate);
    assert_eq!(code, 0, "{text}");
    assert!(!text.contains("have no label"), "{text}");
    assert!(
        !text.contains("left out"),
        "a share of what is left: {text}"
    );
}

#[test]
fn a_model_without_new_classes_does_not_pretend_to_know_what_is_new() {
    let place = workplace();
    let here = place.path();
    let notes = |model: &str| {
        String::from_utf8(run_in(here, &["predict", "target", "--model", model]).stderr).unwrap()
    };
    assert!(notes("source.safetensors").contains("has no new classes"));
    let mut arguments = adaptation("run");
    arguments.extend(["--private", "3"]);
    run_in(here, &arguments);
    assert!(!notes("run").contains("has no new classes"));
}
