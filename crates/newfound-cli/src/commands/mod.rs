//! One file for each command.

pub mod adapt;
pub mod bench;
pub mod demo;
pub mod evaluate;
pub mod export;
pub mod inspect;
pub mod predict;
pub mod report;
pub mod train;

use std::path::Path;

use newfound::config::{Configuration, Problem, parse_value, resolve};
use newfound::network::model::Foreign;
use newfound::{Error, Result};
use toml::{Table, Value};

use crate::args::{ForeignArgs, WorkArgs};

/// defaults < preset < file < flags.
fn configuration<C: Configuration>(
    work: &WorkArgs,
    preset: Option<&str>,
    more: Table,
) -> Result<C> {
    let file = work.config.as_deref().map(read_table).transpose()?;
    let (mut flags, mut problems) = (Table::new(), Vec::new());
    for pair in &work.set {
        match pair.split_once('=') {
            Some((key, value)) => {
                flags.insert(key.trim().to_string(), parse_value(value.trim()));
            }
            None => problems.push(Problem {
                key: format!("--set {pair}"),
                message: "not of the form KEY=VALUE, such as --set neighbours=5".to_string(),
            }),
        }
    }
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            flags.insert(key.to_string(), value);
        }
    };
    set("seed", work.seed.map(|v| Value::Integer(v as i64)));
    set("epochs", work.epochs.map(|v| Value::Integer(v as i64)));
    set("batch", work.batch.map(|v| Value::Integer(v as i64)));
    set("learning-rate", work.learning_rate.map(Value::Float));
    set("train", work.train.clone().map(Value::String));
    set("max-bad", work.max_bad.map(Value::Float));
    flags.extend(more);
    Ok(resolve(preset, file, flags, problems)?)
}

fn read_table(path: &Path) -> Result<Table> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| Error::io("read the configuration", path, source))?;
    text.parse().map_err(|error: toml::de::Error| {
        let message = format!("this is not TOML ({}): {}", error.message(), path.display());
        Error::request(
            message,
            "write one `key = value` per line; docs/CONFIGURATION.md lists the keys",
        )
    })
}

/// What `--private` sets.
fn private(value: Option<&Value>) -> Table {
    let pair = value.map(|value| ("private".to_string(), value.clone()));
    pair.into_iter().collect()
}

/// Class names from a file with one per line, or from the text itself.
fn class_names(text: &str) -> Result<Vec<String>> {
    let path = Path::new(text);
    let names: Vec<String> = if path.is_file() {
        let content = std::fs::read_to_string(path)
            .map_err(|source| Error::io("read the class list", path, source))?;
        content
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .map(str::to_string)
            .collect()
    } else if text.contains(',') {
        text.split(',')
            .map(|name| name.trim().to_string())
            .collect()
    } else {
        let message = format!(
            "there is no class list at {text}, and it is not a list of names with commas between"
        );
        return Err(Error::request(
            message,
            "give a file with one class name per line, or --classes cup,plate,bowl",
        ));
    };
    Ok(names)
}

impl ForeignArgs {
    fn to_foreign(&self) -> Result<Foreign> {
        let classes = self.classes.as_deref().map(class_names).transpose()?;
        Ok(Foreign {
            classes,
            stride: self.stride,
            crop: self.size,
        })
    }
}
