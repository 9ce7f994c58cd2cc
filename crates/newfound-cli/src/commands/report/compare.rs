//! Several runs beside each other.

use std::collections::BTreeMap;
use std::path::Path;

use newfound::events::Observer;
use newfound::run::RunFolder;
use newfound::{Error, Result, atomic};
use newfound_report as page;

use super::{Finished, evidence, next, scores};

/// Writes the page that compares them.
pub fn write(folders: &[RunFolder], path: &Path, observer: &dyn Observer) -> Result<()> {
    let runs: Result<Vec<Finished>> = folders
        .iter()
        .map(|folder| Finished::read(folder, observer))
        .collect();
    let runs = runs?;
    let compared: Result<Vec<page::ComparedRun>> = folders
        .iter()
        .zip(&runs)
        .map(|(folder, run)| compared(folder, run))
        .collect();
    let comparison = page::Comparison {
        runs: compared?,
        images: images(&runs),
    };
    let text = page::render_comparison(&comparison);
    atomic::write(path, text.as_bytes())
        .map_err(|source| Error::io("write the comparison", path, source))
}

fn compared(folder: &RunFolder, run: &Finished) -> Result<page::ComparedRun> {
    let table: toml::Table = run.configuration.parse().unwrap_or_default();
    let fact = |name: &str, value: String| page::Fact {
        name: name.to_string(),
        value,
    };
    let mut settings: Vec<page::Fact> = table
        .iter()
        .map(|(key, value)| fact(key, value.to_string()))
        .collect();
    settings.push(fact("model", run.manifest.model.path.clone()));
    settings.push(fact("model, blake3", run.manifest.model.blake3.clone()));
    settings.push(fact("images", run.manifest.source.clone()));
    Ok(page::ComparedRun {
        name: folder.root().display().to_string(),
        classes: run.description.classes.clone(),
        known: run.description.known,
        scores: run
            .evaluation
            .as_ref()
            .map(|evaluation| scores::short(&evaluation.adapted)),
        figures: next::costs(folder)?,
        epochs: evidence::epochs(folder)?,
        settings,
    })
}

/// Every image of any of the runs, told apart by its content: the same picture may lie elsewhere by now.
fn images(runs: &[Finished]) -> Vec<page::ComparedImage> {
    let mut by_content: BTreeMap<&str, page::ComparedImage> = BTreeMap::new();
    for (index, run) in runs.iter().enumerate() {
        for (row, (prediction, file)) in run.rows.iter().zip(&run.manifest.images).enumerate() {
            let image = by_content
                .entry(&file.blake3)
                .or_insert_with(|| page::ComparedImage {
                    path: prediction.path.clone(),
                    picture: run.picture(row),
                    labels: vec![None; runs.len()],
                    truth: None,
                });
            let class = run
                .description
                .classes
                .iter()
                .position(|name| *name == prediction.label);
            image.labels[index] = class.map(|class| page::ComparedLabel {
                class,
                confidence: f64::from(prediction.confidence),
            });
            image.truth = image.truth.take().or_else(|| run.truth(row));
        }
    }
    let mut images: Vec<page::ComparedImage> = by_content.into_values().collect();
    images.sort_by(|a, b| a.path.cmp(&b.path));
    images
}
