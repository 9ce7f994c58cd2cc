//! A small report with everything in it, for the tests.

use crate::*;

/// A class with `count` images and one thumbnail.
pub fn class(name: &str, kind: ClassKind, count: usize) -> Class {
    let some = |figure| (count > 0).then_some(figure);
    let thumbnail = Thumbnail {
        file: format!("site/{name}.png"),
        confidence: Some(0.91),
        image_type: ImageType::Png,
        bytes: vec![0x89, b'P', b'N', b'G'],
    };
    Class {
        name: name.to_owned(),
        kind,
        count,
        confidence: some(0.875),
        u_nc: some(0.125),
        u_cs: some(0.25),
        thumbnails: if count > 0 {
            vec![thumbnail]
        } else {
            Vec::new()
        },
    }
}

/// The figures of an epoch.
pub fn epoch(epoch: usize) -> Epoch {
    let t = epoch as f64;
    Epoch {
        epoch,
        loss: 5.0 - t,
        classification: 0.1 / t,
        contrastive: 7.0 - t,
        diversity: -2.0 - 0.1 * t,
        selected: 0.5 + 0.1 * t,
        label_changes: 40 / epoch,
    }
}

fn matched(class: &str, margin: f64) -> Match {
    Match {
        class: class.to_owned(),
        images: 5,
        similarity: 0.5,
        margin,
        doubtful: margin < 0.02,
    }
}

/// Two known classes, of which one is empty, and three kept for new ones, of which one is empty.
pub fn report() -> Report {
    use ClassKind::{Discovered, Known};
    let command = |purpose: &str, command: &str| Command {
        purpose: purpose.to_owned(),
        command: command.to_owned(),
    };
    let fact = |name: &str, value: &str| Fact {
        name: name.to_owned(),
        value: value.to_owned(),
    };
    Report {
        overview: Overview {
            model: "source.safetensors".to_owned(),
            images: "photos/site b".to_owned(),
            epochs: 3,
            seed: 7,
        },
        classes: vec![
            class("cat", Known, 6),
            class("dog", Known, 0),
            class("unknown-1", Discovered, 1),
            class("unknown-2", Discovered, 0),
            class("unknown-3", Discovered, 3),
        ],
        evidence: Evidence {
            warnings: vec!["no image was given to the known class dog".to_owned()],
            epochs: (1..=3).map(epoch).collect(),
            unknown: vec![0.01, 0.02, 0.03, 0.04, 0.1, 0.5, 0.8, 0.9, 0.97, 1.0],
            matches: vec![matched("cat", 0.2), matched("dog", -0.004)],
            unreadable: vec![Unreadable {
                path: "broken.jpg".to_owned(),
                reason: "the file ends in the middle of the picture".to_owned(),
            }],
        },
        evaluation: Some(evaluation()),
        next: vec![
            command(
                "Label new images.",
                "newfound predict NEW --model run > labels.csv",
            ),
            command("Measure it.", "newfound evaluate run --labels LABELS"),
        ],
        making: Making {
            facts: vec![fact("newfound", "0.1.0"), fact("Model, blake3", "4f0d")],
            configuration: "epochs = 3\nseed = 7\n".to_owned(),
        },
    }
}

fn evaluation() -> Evaluation {
    let scores = |os_star, unk, hos| Scores {
        os_star: Some(os_star),
        unk: Some(unk),
        hos: Some(hos),
    };
    let score = |name: &str, kind, accuracy, source_accuracy| ClassScore {
        name: name.to_owned(),
        kind,
        images: 4,
        accuracy,
        source_accuracy,
    };
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    Evaluation {
        source: scores(40.0, 60.0, 48.0),
        clustering: scores(50.0, 75.0, 60.0),
        adapted: scores(50.0, 100.0, 66.7),
        refined: Scores {
            os_star: Some(50.0),
            unk: None,
            hos: None,
        },
        per_class: vec![
            score("cat", ClassKind::Known, Some(100.0), Some(80.0)),
            score("dog", ClassKind::Known, None, None),
            score("fox", ClassKind::Discovered, Some(100.0), Some(25.0)),
        ],
        confusion: Confusion {
            rows: names(&["cat", "dog", "fox"]),
            columns: names(&["cat", "dog", "unknown-1", "unknown-2", "unknown-3"]),
            known: 2,
            counts: vec![
                vec![4, 0, 0, 0, 0],
                vec![2, 0, 0, 0, 0],
                vec![0, 0, 1, 0, 3],
            ],
        },
    }
}
