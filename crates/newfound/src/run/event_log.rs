//! `events.jsonl`: one JSON object per line.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::events::Event;

/// An append-only log whose length is part of every checkpoint, so that a resumed run continues it exactly where
/// the checkpoint was made, without repeated lines.
#[derive(Debug)]
pub struct EventLog {
    file: File,
    path: PathBuf,
    length: u64,
}

impl EventLog {
    /// Opens the log and drops everything after `length` bytes.
    pub fn open(path: &Path, length: u64) -> Result<Self> {
        let failed = |source| Error::io("open the event log", path, source);
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)
            .map_err(failed)?;
        file.set_len(length).map_err(failed)?;
        file.seek(SeekFrom::Start(length)).map_err(failed)?;
        Ok(Self {
            file,
            path: path.into(),
            length,
        })
    }

    /// Appends one event.
    pub fn append(&mut self, event: &Event) -> Result<()> {
        let mut line = serde_json::to_vec(event).expect("an event is plain data");
        line.push(b'\n');
        self.file
            .write_all(&line)
            .map_err(|source| Error::io("write to the event log", &self.path, source))?;
        self.length += line.len() as u64;
        Ok(())
    }

    /// Makes sure that all lines are on disk; gives their length in bytes.
    pub fn sync(&mut self) -> Result<u64> {
        self.file
            .sync_data()
            .map_err(|source| Error::io("write to the event log", &self.path, source))?;
        Ok(self.length)
    }
}
