//! The paths of a run folder.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// A run folder.
#[derive(Debug, Clone)]
pub struct RunFolder {
    root: PathBuf,
}

impl RunFolder {
    /// Makes the folder of a new run, or finds the one to resume.
    pub fn prepare(root: &Path, resume: bool) -> Result<Self> {
        let folder = Self { root: root.into() };
        if root.exists() && !root.is_dir() {
            let message = format!("this is a file, not a folder: {}", root.display());
            return Err(Error::request(message, "give another folder with --out"));
        }
        let is_run = folder.manifest().is_file();
        if is_run && !resume {
            let message = format!("there is a run here already: {}", root.display());
            return Err(Error::request(
                message,
                "add --resume to go on with it, or give another folder with --out",
            ));
        }
        if !is_run && root.is_dir() && folder.holds_other_things()? {
            let message = format!("this folder is not empty: {}", root.display());
            return Err(Error::request(
                message,
                "give a new or an empty folder with --out",
            ));
        }
        fs::create_dir_all(folder.checkpoint())
            .map_err(|source| Error::io("make the run's folder", root, source))?;
        Ok(folder)
    }

    /// An existing run.
    pub fn open(root: &Path) -> Result<Self> {
        let folder = Self { root: root.into() };
        if !folder.manifest().is_file() {
            let message = format!(
                "this is not a run (it has no manifest.json): {}",
                root.display()
            );
            return Err(Error::request(
                message,
                "give the folder that newfound adapt wrote with --out",
            ));
        }
        Ok(folder)
    }

    /// An existing run that has come to its end.
    pub fn finished(root: &Path) -> Result<Self> {
        let folder = Self::open(root)?;
        if !folder.model().is_file() {
            let message = format!("this run is not finished: {}", root.display());
            return Err(Error::request(
                message,
                "finish it with newfound adapt … --resume",
            ));
        }
        Ok(folder)
    }

    /// Whether there is anything but what a run leaves that was stopped before it had a manifest, and hidden files.
    fn holds_other_things(&self) -> Result<bool> {
        let entries = fs::read_dir(&self.root)
            .map_err(|source| Error::io("look into the run's folder", &self.root, source))?;
        let ours =
            |name: &str| name == "checkpoint" || name == "config.toml" || name.starts_with('.');
        let mut names = entries.flatten().map(|entry| entry.file_name());
        Ok(names.any(|name| !name.to_str().is_some_and(ours)))
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `config.toml`
    pub fn config(&self) -> PathBuf {
        self.root.join("config.toml")
    }

    /// `manifest.json`
    pub fn manifest(&self) -> PathBuf {
        self.root.join("manifest.json")
    }

    /// `clustering.json`
    pub fn clustering(&self) -> PathBuf {
        self.root.join("clustering.json")
    }

    /// `events.jsonl`
    pub fn events(&self) -> PathBuf {
        self.root.join("events.jsonl")
    }

    /// `checkpoint/`
    pub fn checkpoint(&self) -> PathBuf {
        self.root.join("checkpoint")
    }

    /// `model.safetensors`
    pub fn model(&self) -> PathBuf {
        self.root.join("model.safetensors")
    }

    /// `predictions.csv`
    pub fn predictions(&self) -> PathBuf {
        self.root.join("predictions.csv")
    }

    /// `probabilities.safetensors`
    pub fn probabilities(&self) -> PathBuf {
        self.root.join("probabilities.safetensors")
    }

    /// `bank.safetensors`
    pub fn bank(&self) -> PathBuf {
        self.root.join("bank.safetensors")
    }

    /// `map.safetensors`
    pub fn map(&self) -> PathBuf {
        self.root.join("map.safetensors")
    }

    /// `thumbnails.zip`
    pub fn thumbnails(&self) -> PathBuf {
        self.root.join("thumbnails.zip")
    }

    /// `evaluation.json`
    pub fn evaluation(&self) -> PathBuf {
        self.root.join("evaluation.json")
    }

    /// `verdict.json`
    pub fn verdict(&self) -> PathBuf {
        self.root.join("verdict.json")
    }

    /// `report.html`
    pub fn report(&self) -> PathBuf {
        self.root.join("report.html")
    }
}
