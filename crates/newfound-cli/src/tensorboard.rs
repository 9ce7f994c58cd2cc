//! `--tensorboard DIR`: the run's figures as event files that TensorBoard reads.
//!
//! A file is a sequence of TFRecords, each holding an `Event` message of TensorFlow's event.proto:
//!
//! ```text
//! TFRecord = length: u64, masked crc32c of the length: u32, message, masked crc32c of the message: u32
//! Event    = 1: wall time (double), 2: step (varint), 3: file version (string) | 5: Summary
//! Summary  = 1: Value*        Value = 1: tag (string), 2: simple value (float)
//! ```

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use newfound::events::{Event, Observer};
use newfound::{Error, Result};

/// Hands every event on, and writes the figures among them.
pub struct Tensorboard<'a> {
    next: &'a dyn Observer,
    log: Option<Mutex<Log>>,
}

struct Log {
    file: BufWriter<File>,
    path: PathBuf,
    /// The first write that failed: an observer cannot return it, so it waits for the end.
    failure: Option<std::io::Error>,
}

impl<'a> Tensorboard<'a> {
    /// Opens a new file in the folder, if one is asked for.
    pub fn new(folder: Option<&Path>, next: &'a dyn Observer) -> Result<Self> {
        let log = folder.map(Log::create).transpose()?.map(Mutex::new);
        Ok(Self { next, log })
    }

    /// Makes sure that everything is written.
    pub fn finish(self) -> Result<()> {
        let Some(log) = self.log else { return Ok(()) };
        let mut log = log
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let flushed = log.file.flush();
        match log.failure.map_or(flushed, Err) {
            Ok(()) => Ok(()),
            Err(source) => Err(Error::io("write for TensorBoard", &log.path, source)),
        }
    }
}

impl Observer for Tensorboard<'_> {
    fn on(&self, event: &Event) {
        if let Some(log) = &self.log {
            let mut log = log
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            let (step, figures) = figures(event);
            for (tag, value) in figures {
                log.put(&scalar(now(), step, tag, value as f32));
            }
        }
        self.next.on(event);
    }

    fn stop_requested(&self) -> bool {
        self.next.stop_requested()
    }
}

/// The step and the figures of an event; epochs are steps of their own.
fn figures(event: &Event) -> (usize, Vec<(&'static str, f64)>) {
    match event {
        Event::Step(step) => (
            step.overall,
            vec![
                ("loss/total", step.loss),
                ("loss/classification", step.classification),
                ("loss/contrastive", step.contrastive),
                ("loss/diversity", step.diversity),
                ("selected", step.selected),
            ],
        ),
        Event::Epoch(epoch) => (
            epoch.epoch,
            vec![
                ("epoch/loss", epoch.loss),
                ("epoch/selected", epoch.selected),
                ("epoch/label_changes", epoch.label_changes as f64),
                ("epoch/unknown", epoch.unknown),
                ("epoch/images_per_second", epoch.images_per_second),
                ("epoch/waiting", epoch.waiting),
            ],
        ),
        Event::TrainingEpoch {
            epoch,
            loss,
            accuracy,
        } => {
            let accuracy = accuracy.map(|accuracy| ("training/accuracy", accuracy));
            let figures = [Some(("training/loss", *loss)), accuracy];
            (*epoch, figures.into_iter().flatten().collect())
        }
        _ => (0, Vec::new()),
    }
}

impl Log {
    fn create(folder: &Path) -> Result<Self> {
        std::fs::create_dir_all(folder)
            .map_err(|source| Error::io("make the folder for TensorBoard", folder, source))?;
        // TensorBoard takes every file with `tfevents` in its name. The process tells two runs of one second apart.
        let name = format!(
            "events.out.tfevents.{}.{}.newfound",
            now() as u64,
            std::process::id()
        );
        let path = folder.join(name);
        let file = File::create(&path)
            .map_err(|source| Error::io("write for TensorBoard", &path, source))?;
        let mut log = Self {
            file: BufWriter::new(file),
            path,
            failure: None,
        };
        log.put(&file_version(now()));
        Ok(log)
    }

    fn put(&mut self, message: &[u8]) {
        if self.failure.is_none() {
            self.failure = self.file.write_all(&record(message)).err();
        }
    }
}

fn now() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}

fn file_version(time: f64) -> Vec<u8> {
    let mut message = field_double(1, time);
    message.extend(field_bytes(3, b"brain.Event:2"));
    message
}

fn scalar(time: f64, step: usize, tag: &str, value: f32) -> Vec<u8> {
    let mut figure = field_bytes(1, tag.as_bytes());
    figure.push(2 << 3 | 5);
    figure.extend(value.to_le_bytes());
    let summary = field_bytes(1, &figure);
    let mut message = field_double(1, time);
    message.push(2 << 3);
    message.extend(varint(step as u64));
    message.extend(field_bytes(5, &summary));
    message
}

fn field_double(number: u8, value: f64) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 1];
    bytes.extend(value.to_le_bytes());
    bytes
}

fn field_bytes(number: u8, value: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    bytes.extend(varint(value.len() as u64));
    bytes.extend(value);
    bytes
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn record(message: &[u8]) -> Vec<u8> {
    let length = (message.len() as u64).to_le_bytes();
    let mut bytes = length.to_vec();
    bytes.extend(masked(crc32c(&length)).to_le_bytes());
    bytes.extend(message);
    bytes.extend(masked(crc32c(message)).to_le_bytes());
    bytes
}

/// A checksum of data that holds checksums is made safe by rotation and an offset.
fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// CRC-32C (Castagnoli), bit by bit: a few hundred bytes per step need no table.
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg());
    !bytes
        .iter()
        .fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_castagnolis() {
        // The check value of the CRC catalogue, and RFC 3720's 32 bytes of zeros.
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
    }

    #[test]
    fn numbers_of_any_length() {
        assert_eq!(varint(0), [0]);
        assert_eq!(varint(300), [0xac, 0x02]);
        assert_eq!(varint(u64::MAX).len(), 10);
    }

    #[test]
    fn a_scalar_as_tensorboard_writes_it() {
        // SummaryWriter of the tensorboard package: Event(wall_time=1.5, step=300,
        // summary=Summary(value=[Value(tag="loss/total", simple_value=0.25)])), serialised and framed.
        let expected = include_bytes!("../tests/fixtures/tensorboard-record.bin");
        assert_eq!(record(&scalar(1.5, 300, "loss/total", 0.25)), expected);
    }
}
