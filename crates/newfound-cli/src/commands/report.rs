//! `newfound report`: the run as a page.

use std::path::{Path, PathBuf};

use newfound::config::AdaptConfig;
use newfound::evaluate::Evaluation;
use newfound::images::thumbnail;
use newfound::initialise::ClusteringReport;
use newfound::metrics;
use newfound::network::model::{Foreign, Model};
use newfound::run::{Manifest, Row, RunFolder, read_predictions};
use newfound::{Error, Result, atomic};
use newfound_report as page;

use crate::args::ReportArgs;
use crate::terminal::Terminal;

/// Side of a thumbnail in pixels.
const THUMBNAIL: u32 = 96;

pub fn run(args: &ReportArgs, terminal: &Terminal) -> Result<()> {
    let folder = RunFolder::finished(&args.run)?;
    write(&folder)?;
    terminal.say(&format!("report      {}", folder.report().display()));
    Ok(())
}

/// Writes the page, with scores where the run was evaluated.
pub fn write(folder: &RunFolder) -> Result<()> {
    let evaluation = Evaluation::read(folder)?;
    let manifest = Manifest::read(&folder.manifest())?;
    let description = Model::read(&folder.model(), &Foreign::default())?.description;
    let rows = read_predictions(&folder.predictions())?;
    let configuration = read_text(&folder.config())?;
    let config: AdaptConfig = toml::from_str(&configuration).map_err(|error| {
        let message = format!(
            "the configuration cannot be understood ({error}): {}",
            folder.config().display()
        );
        Error::request(
            message,
            "it was changed by hand or is from another version; run adapt again",
        )
    })?;
    let classes = description.classes.iter().enumerate().map(|(index, name)| {
        let kind = if index < description.known {
            page::ClassKind::Known
        } else {
            page::ClassKind::Discovered
        };
        class(name, kind, &rows, &manifest)
    });
    let report = page::Report {
        overview: page::Overview {
            model: manifest.model.path.clone(),
            images: manifest.source.clone(),
            epochs: config.epochs,
            seed: config.seed,
        },
        classes: classes.collect(),
        evidence: evidence(folder, &rows, &manifest)?,
        evaluation: evaluation.map(|evaluation| scores(&evaluation, description.known)),
        next: next(folder, &manifest, description.private),
        making: page::Making {
            facts: facts(&manifest),
            configuration,
        },
    };
    let path = folder.report();
    atomic::write(&path, page::render(&report).as_bytes())
        .map_err(|source| Error::io("write the report", &path, source))
}

fn read_text(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|source| Error::io("read", path, source))
}

/// One class with its most typical images: the most confident ones first.
fn class(name: &str, kind: page::ClassKind, rows: &[Row], manifest: &Manifest) -> page::Class {
    let mut members: Vec<&Row> = rows.iter().filter(|row| row.label == name).collect();
    members.sort_by(|a, b| {
        b.confidence
            .total_cmp(&a.confidence)
            .then(a.path.cmp(&b.path))
    });
    let mean = |of: &dyn Fn(&Row) -> Option<f32>| {
        let values: Vec<f64> = members
            .iter()
            .filter_map(|row| of(row))
            .map(f64::from)
            .collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let thumbnails = members
        .iter()
        .take(page::THUMBNAILS_PER_CLASS)
        .filter_map(|row| {
            // An image that has moved since has no thumbnail; the page says the rest all the same.
            let bytes = thumbnail(&image_path(manifest, &row.path), THUMBNAIL).ok()?;
            Some(page::Thumbnail {
                file: row.path.clone(),
                confidence: Some(f64::from(row.confidence)),
                image_type: page::ImageType::Jpeg,
                bytes,
            })
        });
    page::Class {
        name: name.to_string(),
        kind,
        count: members.len(),
        confidence: mean(&|row| Some(row.confidence)),
        u_nc: mean(&|row| row.u_nc),
        u_cs: mean(&|row| row.u_cs),
        thumbnails: thumbnails.collect(),
    }
}

/// Where an image of the run is: relative to the folder that was given, or to the folder of the list.
fn image_path(manifest: &Manifest, name: &str) -> PathBuf {
    let source = Path::new(&manifest.source);
    let root = if source.is_dir() {
        source
    } else {
        source.parent().unwrap_or(Path::new(""))
    };
    root.join(name)
}

fn evidence(folder: &RunFolder, rows: &[Row], manifest: &Manifest) -> Result<page::Evidence> {
    let epochs = read_text(&folder.events())?
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|event| event["event"] == "epoch")
        .map(|event| {
            let figure = |name: &str| event[name].as_f64().unwrap_or(f64::NAN);
            page::Epoch {
                epoch: figure("epoch") as usize,
                loss: figure("loss"),
                classification: figure("classification"),
                contrastive: figure("contrastive"),
                diversity: figure("diversity"),
                selected: figure("selected"),
                label_changes: figure("label_changes") as usize,
            }
        })
        .collect();
    let text = read_text(&folder.clustering())?;
    let clustering: ClusteringReport = serde_json::from_str(&text).map_err(|error| {
        let message = format!(
            "the clustering cannot be understood ({error}): {}",
            folder.clustering().display()
        );
        Error::request(message, "it is damaged; run adapt again")
    })?;
    let matches = clustering
        .matches
        .iter()
        .zip(&clustering.sizes)
        .map(|(found, &images)| page::Match {
            class: found.class.clone(),
            images,
            similarity: found.similarity,
            margin: found.margin,
            doubtful: found.doubtful,
        });
    let unreadable = manifest.bad.iter().map(|bad| page::Unreadable {
        path: bad.path.clone(),
        reason: bad.reason.clone(),
    });
    Ok(page::Evidence {
        warnings: warnings(&clustering, rows),
        epochs,
        unknown: rows.iter().map(|row| f64::from(row.unknown)).collect(),
        matches: matches.collect(),
        unreadable: unreadable.collect(),
    })
}

fn warnings(clustering: &ClusteringReport, rows: &[Row]) -> Vec<String> {
    let doubtful: Vec<&str> = clustering
        .matches
        .iter()
        .filter(|found| found.doubtful)
        .map(|found| found.class.as_str())
        .collect();
    let mut warnings = Vec::new();
    if !doubtful.is_empty() {
        warnings.push(format!(
            "The clusters given to {} were hardly more similar to them than others were.",
            doubtful.join(", ")
        ));
    }
    let differing = rows
        .iter()
        .filter(|row| row.label != row.refined_label)
        .count();
    if 10 * differing > rows.len() {
        warnings.push(format!(
            "The classifier and the neighbours of an image disagree on {differing} of {} images.",
            rows.len()
        ));
    }
    warnings
}

fn scores(evaluation: &Evaluation, known: usize) -> page::Evaluation {
    let short = |scores: &metrics::Scores| page::Scores {
        os_star: scores.os_star,
        unk: scores.unk,
        hos: scores.hos,
    };
    let adapted = &evaluation.adapted;
    let per_class = adapted
        .per_class
        .iter()
        .zip(&evaluation.source_only.per_class)
        .enumerate();
    page::Evaluation {
        source: short(&evaluation.source_only),
        clustering: short(&evaluation.clustering),
        adapted: short(adapted),
        refined: short(&evaluation.refined),
        per_class: per_class
            .map(|(index, (class, source))| page::ClassScore {
                name: class.name.clone(),
                kind: if index < known {
                    page::ClassKind::Known
                } else {
                    page::ClassKind::Discovered
                },
                images: class.images as usize,
                accuracy: class.accuracy,
                source_accuracy: source.accuracy,
            })
            .collect(),
        confusion: page::Confusion {
            rows: adapted.confusion.rows.clone(),
            columns: adapted.confusion.columns.clone(),
            known,
            counts: adapted
                .confusion
                .counts
                .iter()
                .map(|row| row.iter().map(|&n| n as usize).collect())
                .collect(),
        },
    }
}

fn next(folder: &RunFolder, manifest: &Manifest, private: usize) -> Vec<page::Command> {
    let command = |purpose: &str, command: String| page::Command {
        purpose: purpose.to_string(),
        command,
    };
    let run = quoted(&folder.root().display().to_string());
    let (model, images) = (quoted(&manifest.model.path), quoted(&manifest.source));
    vec![
        command(
            "Predict other images",
            format!("newfound predict IMAGES --model {run}"),
        ),
        command(
            "Score it, where there are labels",
            format!("newfound evaluate {run} --labels {images}"),
        ),
        command(
            "Run again with another number of new classes",
            format!(
                "newfound adapt {images} --model {model} --private {} --out {run}-again",
                private.max(1) * 2
            ),
        ),
    ]
}

/// A path for the shell.
fn quoted(path: &str) -> String {
    let plain = path
        .chars()
        .all(|c| c.is_alphanumeric() || "/._-+:=@%".contains(c));
    if plain && !path.is_empty() {
        path.to_string()
    } else {
        format!("'{}'", path.replace('\'', "'\\''"))
    }
}

fn facts(manifest: &Manifest) -> Vec<page::Fact> {
    let fact = |name: &str, value: String| page::Fact {
        name: name.to_string(),
        value,
    };
    let hashes: Vec<&str> = manifest
        .images
        .iter()
        .map(|image| image.blake3.as_str())
        .collect();
    vec![
        fact("newfound", manifest.newfound.clone()),
        fact("Burn", manifest.burn.clone()),
        fact("device", manifest.device.clone()),
        fact("seed", manifest.seed.to_string()),
        fact("model, blake3", manifest.model.blake3.clone()),
        fact(
            "images, blake3 of their hashes",
            newfound::run::digest(&hashes),
        ),
    ]
}
