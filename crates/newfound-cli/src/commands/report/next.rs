//! What to do next with a run, and how it was made.

use std::path::PathBuf;

use newfound::run::{Manifest, RunFolder};
use newfound::{Result, run};
use newfound_report as page;

use super::evidence::events;

/// Commands to go on with.
pub fn commands(folder: &RunFolder, manifest: &Manifest, private: usize) -> Vec<page::Command> {
    let command = |purpose: &str, command: String| page::Command {
        purpose: purpose.to_string(),
        command,
    };
    let run = quoted(&folder.root().display().to_string());
    let inside = |path: PathBuf| quoted(&path.display().to_string());
    let again = quoted(&format!("{}-again", folder.root().display()));
    let (model, images) = (quoted(&manifest.model.path), quoted(&manifest.source));
    let split = manifest.split.as_deref().unwrap_or_default();
    let split = if split.is_empty() {
        String::new()
    } else {
        format!(" --split {split}")
    };
    vec![
        command(
            "Predict other images with the adapted model",
            format!("newfound predict IMAGES --model {run}"),
        ),
        command(
            "Export the labels of these images: a line for each, with all figures",
            format!("cp {} labels.csv", inside(folder.predictions())),
        ),
        command(
            "Export the adapted model, as ONNX (or as .safetensors, for PyTorch)",
            format!("newfound export {run} --out model.onnx"),
        ),
        command(
            "Score it, where there are labels: a folder for each class, or a list of paths and labels",
            format!("newfound evaluate {run} --labels {images}{split}"),
        ),
        command(
            "Run again with another number of new classes, and all else as it was",
            format!(
                "newfound adapt {images}{split} --model {model} --config {} --private {} --out {again}",
                inside(folder.config()),
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

/// Enough to make it again.
pub fn facts(folder: &RunFolder, manifest: &Manifest) -> Result<Vec<page::Fact>> {
    let hashes: Vec<&str> = manifest
        .images
        .iter()
        .map(|image| image.blake3.as_str())
        .collect();
    let mut facts = vec![
        fact("newfound", manifest.newfound.clone()),
        fact("Burn", manifest.burn.clone()),
        fact("device", manifest.device.clone()),
        fact("seed", manifest.seed.to_string()),
        fact("model", manifest.model.path.clone()),
        fact("model, blake3", manifest.model.blake3.clone()),
        fact("images", manifest.source.clone()),
        fact(
            "split",
            manifest.split.clone().unwrap_or_else(|| "none".into()),
        ),
        fact("images, blake3 of their hashes", run::digest(&hashes)),
    ];
    facts.extend(costs(folder)?);
    Ok(facts)
}

/// Time and memory, as far as the log has them.
pub fn costs(folder: &RunFolder) -> Result<Vec<page::Fact>> {
    let events = events(folder)?;
    let finished = events.iter().rfind(|event| event["event"] == "finished");
    let mut costs = Vec::new();
    if let Some(seconds) = finished.and_then(|event| event["seconds"].as_f64()) {
        costs.push(fact("time", format!("{seconds:.1} s")));
    }
    if let Some(megabytes) = finished.and_then(|event| event["peak_mb"].as_u64()) {
        costs.push(fact("peak memory", format!("{megabytes} MB")));
    }
    Ok(costs)
}

fn fact(name: &str, value: String) -> page::Fact {
    page::Fact {
        name: name.to_string(),
        value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_safe_in_a_shell() {
        assert_eq!(quoted("runs/a_1.b"), "runs/a_1.b");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("$(id)'s"), r"'$(id)'\''s'");
    }
}
