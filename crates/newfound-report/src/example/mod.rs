//! Reports for the tests: a small one with everything in it, and large ones.
//!
//! The tests in Chromium and the example `page` include this file as well, so that all speak of the
//! same reports; not each of them uses all of it.
#![allow(dead_code)]

mod large;
mod png;

pub use large::large;
pub use png::png;

use crate::*;

/// A class with `count` images.
pub fn class(name: &str, kind: ClassKind, count: usize) -> Class {
    let some = |figure| (count > 0).then_some(figure);
    Class {
        name: name.to_owned(),
        kind,
        count,
        confidence: some(0.875),
        u_nc: some(0.125),
        u_cs: some(0.25),
        nearest: some(1.0)
            .map(|_| Nearest {
                class: 0,
                distance: 0.375,
            })
            .filter(|_| kind == ClassKind::Discovered),
        consistency: some(0.75),
        separation: some(0.5),
        doubts: Vec::new(),
    }
}

/// An image that nothing speaks against.
pub fn image(path: &str, class: usize) -> Image {
    let guess = |class, probability| Guess { class, probability };
    Image {
        path: path.to_owned(),
        picture: Some(Picture {
            image_type: ImageType::Png,
            bytes: png(16, class, class),
        }),
        class,
        confidence: 0.91,
        unknown: 0.05,
        refined: class,
        u_nc: Some(0.125),
        u_cs: Some(0.0625),
        guesses: vec![
            guess(class, 0.91),
            guess((class + 1) % 5, 0.06),
            guess((class + 2) % 5, 0.02),
        ],
        neighbours: Vec::new(),
        typicality: Some(0.8),
        changed: Some(false),
        before: Some([0.0, 0.0]),
        after: Some([0.0, 0.0]),
        truth: Some("cat".to_owned()),
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
        absent: false,
    }
}

/// Six cats, one of them doubtful, and four foxes in two discovered classes.
fn images() -> Vec<Image> {
    let classes = [0, 0, 0, 0, 0, 0, 2, 4, 4, 4];
    let mut images: Vec<Image> = classes
        .iter()
        .enumerate()
        .map(|(i, &class)| {
            let mut image = image(&format!("site/{i}.png"), class);
            let t = i as f64;
            image.typicality = Some(0.9 - 0.05 * t);
            image.neighbours = (1..=3).map(|step| (i + step) % 10).collect();
            image.before = Some([t.sin(), t.cos()]);
            image.after = Some([t.sin() + 3.0 * class as f64, t.cos()]);
            if class > 1 {
                image.unknown = 0.97;
                image.truth = Some("fox".to_owned());
            }
            image
        })
        .collect();
    let doubted = &mut images[5];
    (doubted.unknown, doubted.refined, doubted.u_nc) = (0.5, 4, Some(0.75));
    doubted.truth = Some("dog".to_owned());
    images
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
            estimate: Some(
                "3, between 2 and 5: 41 images are unlike every known class.".to_string(),
            ),
            verdict: Some("Good: no sign speaks against it.".to_string()),
        },
        classes: vec![
            class("cat", Known, 6),
            class("dog", Known, 0),
            Class {
                separation: Some(0.1),
                doubts: vec!["It has only one image.".to_owned()],
                ..class("unknown-1", Discovered, 1)
            },
            class("unknown-2", Discovered, 0),
            class("unknown-3", Discovered, 3),
        ],
        images: images(),
        evidence: Evidence {
            warnings: vec!["The learning rate was lowered twice.".to_owned()],
            epochs: (1..=3).map(epoch).collect(),
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
        calibration: vec![
            Stated {
                images: 5,
                stated: 12.0,
                new: 20.0,
            },
            Stated {
                images: 5,
                stated: 91.0,
                new: 60.0,
            },
        ],
        abstention: vec![
            Abstained {
                left_out: 0.0,
                scores: scores(50.0, 100.0, 66.7),
            },
            Abstained {
                left_out: 50.0,
                scores: scores(100.0, 100.0, 100.0),
            },
        ],
    }
}

/// Two runs on five images. They agree on three of them; the discovered classes of the second are
/// numbered in another way.
pub fn comparison() -> Comparison {
    let names = |names: &[&str]| {
        names
            .iter()
            .map(|&name| name.to_owned())
            .collect::<Vec<_>>()
    };
    let run = |name: &str, epochs: usize, hos: f64| ComparedRun {
        name: name.to_owned(),
        classes: names(&["cat", "dog", "unknown-1", "unknown-2"]),
        known: 2,
        scores: Some(Scores {
            os_star: Some(50.0),
            unk: None,
            hos: Some(hos),
        }),
        figures: vec![Fact {
            name: "Time".to_owned(),
            value: format!("{epochs} min"),
        }],
        epochs: (1..=epochs)
            .map(|n| Epoch {
                loss: 5.0 - n as f64 * hos / 80.0,
                selected: hos / 100.0,
                ..epoch(n)
            })
            .collect(),
        settings: ["seed", "epochs"]
            .iter()
            .zip([7, epochs])
            .map(|(name, value)| Fact {
                name: (*name).to_owned(),
                value: value.to_string(),
            })
            .collect(),
    };
    let labels = [[0, 0], [0, 1], [3, 2], [3, 2], [2, 2]];
    let images = labels.iter().enumerate().map(|(i, labels)| ComparedImage {
        path: format!("site/{i}.png"),
        picture: image("", labels[0]).picture,
        labels: labels
            .iter()
            .map(|&class| {
                Some(ComparedLabel {
                    class,
                    confidence: 0.5 + 0.1 * i as f64,
                })
            })
            .collect(),
        truth: Some("cat".to_owned()),
    });
    Comparison {
        runs: vec![run("runs/a", 3, 66.7), run("runs/b", 5, 70.0)],
        images: images.collect(),
    }
}
