//! What can be wrong with a request for images.

use std::fmt::Write;
use std::io::ErrorKind;
use std::path::PathBuf;

use super::{EXTENSIONS, Split};

/// How many lines of a list are quoted before the rest is only counted.
const QUOTED: usize = 20;

/// What is wrong with a request for images. [`hint`](Self::hint) says what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// A file or folder cannot be read or does not exist.
    #[error("{}: {}", said(source), path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },

    /// Nothing to work on.
    #[error("there are no images: {}", path.display())]
    NoImages {
        /// The folder or list.
        path: PathBuf,
    },

    /// A file that is neither an image nor a list of images.
    #[error("neither a folder, nor an image, nor a list of images: {}", path.display())]
    NotAList {
        /// The file.
        path: PathBuf,
    },

    /// A list of which no line names a file.
    #[error("none of the {} listed images exists: {}{}", lines.len(), path.display(), quoted(lines))]
    Missing {
        /// The list.
        path: PathBuf,
        /// Line number (from 1) and text of all of them.
        lines: Vec<(usize, String)>,
    },

    /// Lines of a list that should have a label and have none.
    #[error("{} of the listed images have no label: {}{}", lines.len(), path.display(), quoted(lines))]
    NoLabel {
        /// The list.
        path: PathBuf,
        /// Line number (from 1) and text of all of them.
        lines: Vec<(usize, String)>,
    },

    /// One image with two labels.
    #[error("labelled both `{}` and `{}`: {}", labels[0], labels[1], path.display())]
    TwoLabels {
        /// The image.
        path: PathBuf,
        /// Its labels.
        labels: [String; 2],
    },

    /// A labelled folder holds images that are in no class folder.
    #[error("{count} images are in no class folder, such as {}: {}", example.display(), path.display())]
    OutsideClassFolders {
        /// The folder.
        path: PathBuf,
        /// How many there are.
        count: usize,
        /// One of them.
        example: PathBuf,
    },

    /// A single image was given where labels are needed.
    #[error("a single image has no label: {}", path.display())]
    SingleImage {
        /// The image.
        path: PathBuf,
    },

    /// Class names that do not occur in the data.
    #[error("{}: {}", unknown_classes(unknown), path.display())]
    UnknownClasses {
        /// The folder or list.
        path: PathBuf,
        /// Each unknown name with the nearest existing ones.
        unknown: Vec<(String, Vec<String>)>,
    },

    /// The same class was asked for twice.
    #[error("class `{name}` is given twice")]
    RepeatedClass {
        /// The class.
        name: String,
    },

    /// The class folders are not those of the benchmark.
    #[error("{split} needs {} class folders, found {}: {}", split.class_count(), found.len(), path.display())]
    NotTheBenchmark {
        /// The split asked for.
        split: Split,
        /// The folder.
        path: PathBuf,
        /// The class folders that are there.
        found: Vec<String>,
    },

    /// Class folders that the benchmark names and the data lack.
    #[error("{split} needs class folders that are not there ({}): {}", missing.join(", "), path.display())]
    MissingClasses {
        /// The split asked for.
        split: Split,
        /// The folder.
        path: PathBuf,
        /// The names that are missing.
        missing: Vec<String>,
    },

    /// A benchmark split of something that has no class folders.
    #[error("{split} selects class folders, but this is not a folder: {}", path.display())]
    SplitNeedsFolder {
        /// The split asked for.
        split: Split,
        /// The file.
        path: PathBuf,
    },
}

/// What is wrong with a path, in words of ours where there are better ones.
fn said(source: &std::io::Error) -> String {
    match source.kind() {
        ErrorKind::NotFound => "there is no such file or folder".to_string(),
        _ => source.to_string(),
    }
}

impl ListError {
    /// What to do about it, where there is something to say.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Unreadable { source, .. } if source.kind() == ErrorKind::NotFound => {
                "a path that does not start with / is looked for in the folder where you are"
                    .to_string()
            }
            Self::NoImages { .. } => {
                format!("image files end in {} (any case)", EXTENSIONS.join(", "))
            }
            Self::NotAList { .. } => {
                "a list is a text file with one `path` or `path label` per line".to_string()
            }
            Self::Missing { .. } => {
                "paths in a list are relative to the folder of the list".to_string()
            }
            Self::NoLabel { .. } => "write `path label` on each line".to_string(),
            Self::OutsideClassFolders { .. } => {
                "put each image into a folder with the name of its \
                 class, or pass a list of `path label` lines"
                    .to_string()
            }
            Self::SingleImage { .. } => {
                "pass a folder of class folders, or a list of `path label` lines".to_string()
            }
            Self::NotTheBenchmark { found, .. } => match found.as_slice() {
                [] => "pass the folder that holds the class folders".to_string(),
                [only] => format!(
                    "pass the folder that holds the class folders, perhaps `{only}` below it"
                ),
                names => format!("found {}", names.join(", ")),
            },
            Self::SplitNeedsFolder { .. } => {
                "pass the folder that holds the class folders, or leave out the split".to_string()
            }
            _ => return None,
        };
        Some(hint)
    }
}

/// Lines of a list, one below the other.
fn quoted(lines: &[(usize, String)]) -> String {
    let mut text = String::new();
    for (number, line) in lines.iter().take(QUOTED) {
        let _ = write!(text, "\n  line {number}: {line}");
    }
    if lines.len() > QUOTED {
        let _ = write!(text, "\n  and {} more", lines.len() - QUOTED);
    }
    text
}

/// Names nobody knows, each with the names that were perhaps meant.
fn unknown_classes(unknown: &[(String, Vec<String>)]) -> String {
    let each = unknown.iter().map(|(name, near)| match near.as_slice() {
        [] => format!("there is no class `{name}`"),
        near => format!("there is no class `{name}` (nearest: {})", near.join(", ")),
    });
    each.collect::<Vec<_>>().join("; ")
}
