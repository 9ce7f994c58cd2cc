//! What can go wrong for a user, and what to do about it.

use std::path::{Path, PathBuf};

use crate::config::Problems;
use crate::images::ListError;
use crate::weights::{FileError, Mismatch, Problem};

/// The result of anything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error with its place and, usually, a hint.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<ErrorKind>);

/// The ways things go wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The system refused a file.
    #[error("cannot {action}: {source}: {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The request cannot be carried out as it stands.
    #[error("{message}")]
    Request {
        /// What is wrong.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
    /// The work failed.
    #[error("{message}")]
    Failed {
        /// What happened.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
    /// A configuration with problems.
    #[error(transparent)]
    Configuration(#[from] Problems),
    /// A folder or list of images that cannot be used.
    #[error(transparent)]
    Images(#[from] ListError),
    /// A file of weights that cannot be used.
    #[error(transparent)]
    Weights(#[from] FileError),
    /// Weights that do not fit the network they are meant for.
    #[error("{mismatch}\nin {}", path.display())]
    Mismatch {
        /// The file.
        path: PathBuf,
        /// What is missing, unexpected or of another shape.
        mismatch: Mismatch,
    },
    /// The user asked to stop; the state is saved.
    #[error("stopped as asked; everything done so far is kept: {}", kept.display())]
    Stopped {
        /// Where the state is.
        kept: PathBuf,
    },
}

impl Error {
    /// The way it went wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// A request that cannot be carried out.
    pub fn request(message: impl Into<String>, hint: impl Into<String>) -> Self {
        ErrorKind::Request {
            message: message.into(),
            hint: Some(hint.into()),
        }
        .into()
    }

    /// Work that failed.
    pub fn failed(message: impl Into<String>, hint: impl Into<String>) -> Self {
        ErrorKind::Failed {
            message: message.into(),
            hint: Some(hint.into()),
        }
        .into()
    }

    /// A system error on a file.
    pub fn io(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        ErrorKind::Io {
            action,
            path: path.into(),
            source,
        }
        .into()
    }

    /// Whether the request was at fault (exit code 2) rather than the work (exit code 1).
    pub fn is_request(&self) -> bool {
        match self.kind() {
            ErrorKind::Request { .. } | ErrorKind::Configuration(_) | ErrorKind::Images(_) => true,
            ErrorKind::Weights(error) => !matches!(error.problem, Problem::Write(_)),
            ErrorKind::Mismatch { .. } => true,
            ErrorKind::Io { source, .. } => source.kind() == std::io::ErrorKind::NotFound,
            ErrorKind::Failed { .. } | ErrorKind::Stopped { .. } => false,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self.kind() {
            ErrorKind::Request { hint, .. } | ErrorKind::Failed { hint, .. } => hint.clone(),
            ErrorKind::Images(error) => error.hint(),
            ErrorKind::Weights(error) => error.hint(),
            ErrorKind::Mismatch { mismatch, .. } => mismatch.hint(),
            ErrorKind::Configuration(_) => {
                Some("docs/CONFIGURATION.md lists every key with its meaning and limits".into())
            }
            ErrorKind::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                Some("check the path; it is read from the folder you are in".into())
            }
            ErrorKind::Io { .. } => None,
            ErrorKind::Stopped { .. } => Some("run the same command with --resume to go on".into()),
        }
    }
}

impl<K: Into<ErrorKind>> From<K> for Error {
    fn from(kind: K) -> Self {
        Self(Box::new(kind.into()))
    }
}
