//! Domains and tasks of the benchmarks.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::images::Split;

/// A data set of several domains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Benchmark {
    /// amazon, dslr, webcam.
    Office31,
    /// Art, Clipart, Product, Real World.
    OfficeHome,
}

/// From one domain to another, each by the first letter of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Task {
    /// Where the classifier was trained.
    pub source: char,
    /// Where it is taken.
    pub target: char,
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}2{}", self.source, self.target)
    }
}

impl FromStr for Benchmark {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "office31" => Ok(Self::Office31),
            "office-home" => Ok(Self::OfficeHome),
            _ => Err(format!(
                "no benchmark is called {name:?}: it is office31 or office-home"
            )),
        }
    }
}

impl Benchmark {
    /// The names of its domains, in the order of the paper's tables.
    pub fn domains(self) -> &'static [&'static str] {
        match self {
            Self::Office31 => &["amazon", "dslr", "webcam"],
            Self::OfficeHome => &["art", "clipart", "product", "realworld"],
        }
    }

    /// The splits that fit it and are not by lot; the first is the paper's.
    pub fn splits(self) -> Vec<Split> {
        let all = Split::ALL.into_iter();
        all.filter(|&split| self.has(split)).collect()
    }

    /// Whether a split divides its classes.
    pub fn has(self, split: Split) -> bool {
        let classes = match self {
            Self::Office31 => 31,
            Self::OfficeHome => 65,
        };
        split.class_count() == classes
    }

    /// All tasks, in the order of the paper's tables.
    pub fn tasks(self) -> Vec<Task> {
        let letters: Vec<char> = self
            .domains()
            .iter()
            .filter_map(|name| name.chars().next())
            .collect();
        let pairs = letters.iter().flat_map(|&source| {
            let targets = letters.iter().filter(move |&&target| target != source);
            targets.map(move |&target| Task { source, target })
        });
        pairs.collect()
    }

    /// The tasks of a list such as `a2w,d2w`.
    pub fn parse_tasks(self, list: &str) -> Result<Vec<Task>> {
        let all = self.tasks();
        let names: Vec<String> = all.iter().map(Task::to_string).collect();
        let find = |name: &str| {
            let wanted = name.trim().to_lowercase();
            let found = all.iter().find(|task| task.to_string() == wanted);
            found.copied().ok_or_else(|| {
                Error::request(
                    format!("there is no task {name:?} here"),
                    format!("the tasks are {}", names.join(", ")),
                )
            })
        };
        list.split(',').map(find).collect()
    }

    /// The folder of a domain, whatever its spelling; Office-31's original archive has an `images` folder in it.
    pub fn folder(self, root: &Path, domain: char) -> Result<PathBuf> {
        let wanted = self.domains().iter().find(|name| name.starts_with(domain));
        let wanted = wanted.expect("tasks are made of domains");
        let plain = |name: &str| -> String {
            let letters = name.chars().filter(|c| c.is_alphanumeric());
            letters.flat_map(char::to_lowercase).collect()
        };
        let entries =
            std::fs::read_dir(root).map_err(|source| Error::io("look into", root, source))?;
        let names = entries.flatten().map(|entry| entry.file_name());
        let found = names
            .filter_map(|name| name.into_string().ok())
            .find(|name| plain(name) == *wanted);
        let Some(name) = found else {
            let message = format!("there is no domain {wanted:?} in {}", root.display());
            let hint = format!(
                "--root is the folder that holds {}",
                self.domains().join(", ")
            );
            return Err(Error::request(message, hint));
        };
        let folder = root.join(name);
        let images = folder.join("images");
        Ok(if images.is_dir() { images } else { folder })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_s_split_is_the_first() {
        let [office31, office_home] =
            [Benchmark::Office31, Benchmark::OfficeHome].map(Benchmark::splits);
        assert_eq!(office31[0], Split::Office31Paper);
        assert_eq!(office_home[0], Split::OfficeHome);
        assert_eq!(office31.len() + office_home.len(), Split::ALL.len());
    }

    #[test]
    fn tasks_in_the_order_of_the_tables() {
        let names = |benchmark: Benchmark| -> Vec<String> {
            benchmark.tasks().iter().map(Task::to_string).collect()
        };
        assert_eq!(
            names(Benchmark::Office31),
            ["a2d", "a2w", "d2a", "d2w", "w2a", "w2d"]
        );
        assert_eq!(names(Benchmark::OfficeHome).len(), 12);
        let some = Benchmark::Office31.parse_tasks("D2W, a2d").unwrap();
        assert_eq!((some[0].source, some[1].target), ('d', 'd'));
        let error = Benchmark::Office31.parse_tasks("a2c").unwrap_err();
        assert!(error.hint().unwrap().contains("w2d"));
    }

    #[test]
    fn domains_are_found_under_any_spelling() {
        let place = tempfile::tempdir().unwrap();
        for name in ["Real World", "Art", "amazon/images"] {
            std::fs::create_dir_all(place.path().join(name)).unwrap();
        }
        let find = |benchmark: Benchmark, letter| benchmark.folder(place.path(), letter);
        assert!(
            find(Benchmark::OfficeHome, 'r')
                .unwrap()
                .ends_with("Real World")
        );
        assert!(
            find(Benchmark::Office31, 'a')
                .unwrap()
                .ends_with("amazon/images")
        );
        let error = find(Benchmark::Office31, 'd').unwrap_err();
        assert!(error.to_string().contains("dslr"), "{error}");
    }
}
