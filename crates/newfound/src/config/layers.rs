//! Putting a configuration together, and saying all that is wrong with it at once.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use crate::near::nearest;

/// A set of named choices with defaults, presets and limits.
pub trait Configuration: Default + Serialize + DeserializeOwned {
    /// The keys that a preset sets.
    fn preset(name: &str) -> Option<Table>;

    /// The names of all presets.
    fn presets() -> &'static [&'static str];

    /// Reports every value that is out of its range.
    fn check(&self, check: &mut Check);
}

/// One thing that is wrong with a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The key.
    pub key: String,
    /// What is wrong and what would be right.
    pub message: String,
}

/// Everything that is wrong with a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.0.len() == 1 {
            "problem"
        } else {
            "problems"
        };
        write!(f, "{} {plural} in the configuration:", self.0.len())?;
        self.0
            .iter()
            .try_for_each(|Problem { key, message }| write!(f, "\n  {key}: {message}"))
    }
}

impl std::error::Error for Problems {}

/// defaults < preset < file < flags, checked. `found` are problems that reading the flags has met already.
pub fn resolve<C: Configuration>(
    preset: Option<&str>,
    file: Option<Table>,
    flags: Table,
    found: Vec<Problem>,
) -> Result<C, Problems> {
    let mut problems = found;
    let mut merged = to_table(&C::default());
    let keys: Vec<String> = merged.keys().cloned().collect();
    let preset = preset.map(|name| C::preset(name).ok_or(name));
    let layers = match preset {
        Some(Err(name)) => {
            let message = format!("no preset is called {name:?}: {}", one_of(C::presets()));
            problems.push(Problem {
                key: "preset".into(),
                message,
            });
            vec![file, Some(flags)]
        }
        Some(Ok(table)) => vec![Some(table), file, Some(flags)],
        None => vec![file, Some(flags)],
    };
    for (key, value) in layers.into_iter().flatten().flatten() {
        if !keys.contains(&key) {
            let message = match nearest(&key, &keys).first() {
                Some(near) => format!("no such key; did you mean {near}?"),
                None => format!("no such key; the keys are {}", keys.join(", ")),
            };
            problems.push(Problem { key, message });
        } else if let Err(message) = fits::<C>(&key, &value) {
            problems.push(Problem { key, message });
        } else {
            merged.insert(key, value);
        }
    }
    // Every value fits its own type, so the whole does; the ranges are looked at even if other keys are wrong.
    let config: C = Value::Table(merged)
        .try_into()
        .expect("each key was tried on its own");
    let mut check = Check { problems };
    config.check(&mut check);
    if check.problems.is_empty() {
        Ok(config)
    } else {
        Err(Problems(check.problems))
    }
}

/// Whether one value is of the key's type: tried in an otherwise default configuration.
fn fits<C: Configuration>(key: &str, value: &Value) -> Result<(), String> {
    let mut table = to_table(&C::default());
    table.insert(key.to_string(), value.clone());
    let result: Result<C, _> = Value::Table(table).try_into();
    result.map(|_| ()).map_err(|error| {
        let text = error.message().trim().to_string();
        // What serde says when neither form of a "number or word" key fits.
        if text.contains("did not match any variant") {
            format!("{value} is neither a number nor a word that is known here")
        } else {
            text
        }
    })
}

fn to_table<C: Serialize>(config: &C) -> Table {
    Table::try_from(config).expect("a flat struct of numbers and words is a table")
}

/// A table from pairs.
pub(super) fn table(pairs: &[(&str, Value)]) -> Table {
    pairs
        .iter()
        .map(|(key, value)| (key.to_string(), value.clone()))
        .collect()
}

fn one_of(names: &[&str]) -> String {
    match names {
        [] => "there are none here".into(),
        names => format!("it is one of {}", names.join(", ")),
    }
}

/// Collects values that are out of range.
#[derive(Debug)]
pub struct Check {
    problems: Vec<Problem>,
}

impl Check {
    fn require(&mut self, holds: bool, key: &str, message: String) {
        if !holds {
            self.problems.push(Problem {
                key: key.into(),
                message,
            });
        }
    }

    /// An integer has a smallest value.
    pub fn at_least(&mut self, key: &str, value: usize, least: usize) {
        self.require(
            value >= least,
            key,
            format!("is {value}, must be at least {least}"),
        );
    }

    /// A number must be above 0.
    pub fn positive(&mut self, key: &str, value: f64) {
        let holds = value > 0.0 && value.is_finite();
        self.require(holds, key, format!("is {value}, must be above 0"));
    }

    /// A number must lie in [low, high].
    pub fn within(&mut self, key: &str, value: f64, low: f64, high: f64) {
        let holds = (low..=high).contains(&value);
        self.require(
            holds,
            key,
            format!("is {value}, must lie between {low} and {high}"),
        );
    }

    /// A number must lie in [0, limit).
    pub fn below(&mut self, key: &str, value: f64, limit: f64) {
        let holds = (0.0..limit).contains(&value);
        self.require(
            holds,
            key,
            format!("is {value}, must be at least 0 and below {limit}"),
        );
    }
}

/// A TOML value, or the text itself where it is none: `contrast=literal` needs no quotes.
pub fn parse_value(text: &str) -> Value {
    let parsed = format!("v = {text}").parse::<Table>().ok();
    let value = parsed.and_then(|mut table| table.remove("v"));
    value.unwrap_or_else(|| Value::String(text.to_string()))
}
