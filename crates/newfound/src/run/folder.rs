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
        if !resume && root.is_dir() && folder.is_occupied()? {
            let message = format!("there is a run here already: {}", root.display());
            return Err(Error::request(
                message,
                "add --resume to go on with it, or give another folder with --out",
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

    fn is_occupied(&self) -> Result<bool> {
        let mut entries = fs::read_dir(&self.root)
            .map_err(|source| Error::io("look into the run's folder", &self.root, source))?;
        Ok(entries.next().is_some())
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

    /// `report.html`
    pub fn report(&self) -> PathBuf {
        self.root.join("report.html")
    }
}
