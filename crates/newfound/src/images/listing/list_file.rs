//! List files: one `path` or `path label` per line.

use std::path::{Component, Path, PathBuf};

use super::{ListError, folder_of, has_image_extension};
use crate::images::decode::read_bytes;

/// The paths of a list, its labels unread.
///
/// A path that is not there stays in the list, for whoever opens it to report; a list of which nothing is there is
/// refused.
pub(super) fn paths(list: &Path) -> Result<Vec<PathBuf>, ListError> {
    let text = read(list)?;
    let root = folder_of(list);
    let (mut paths, mut missing) = (Vec::new(), Vec::new());
    for (number, line) in lines(&text) {
        // A name may contain spaces: only a line that is not a file as a whole has a label to drop.
        let unlabelled = line_and_label(line).map(|(path, _)| path);
        let candidates = || [Some(line), unlabelled].into_iter().flatten();
        let found = candidates().find(|path| root.join(path).is_file());
        if found.is_none() {
            missing.push((number, line.to_string()));
        }
        let named = || candidates().find(|path| has_image_extension(Path::new(path)));
        let path = found.or_else(named).unwrap_or(line);
        paths.push(tidy(&root, Path::new(path)));
    }
    if !paths.is_empty() && missing.len() == paths.len() {
        return Err(ListError::Missing {
            path: list.to_path_buf(),
            lines: missing,
        });
    }
    Ok(paths)
}

/// The paths of a list with their labels: the last word of each line. Paths that are not there stay, as in [`paths`],
/// and may be all of them: labels are still labels when their images have moved.
pub(super) fn labelled_paths(list: &Path) -> Result<Vec<(PathBuf, String)>, ListError> {
    let text = read(list)?;
    let root = folder_of(list);
    let (mut labelled, mut bare) = (Vec::new(), Vec::new());
    for (number, line) in lines(&text) {
        let Some((path, label)) = line_and_label(line) else {
            bare.push((number, line.to_string()));
            continue;
        };
        labelled.push((tidy(&root, Path::new(path)), label.to_string()));
    }
    if !bare.is_empty() {
        return Err(ListError::NoLabel {
            path: list.to_path_buf(),
            lines: bare,
        });
    }
    Ok(labelled)
}

/// The whole list as text.
fn read(list: &Path) -> Result<String, ListError> {
    let not_a_list = || ListError::NotAList {
        path: list.to_path_buf(),
    };
    let bytes = read_bytes(list).map_err(|_| not_a_list())?;
    String::from_utf8(bytes).map_err(|_| not_a_list())
}

/// The lines that say something, with their numbers from 1.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    (1..)
        .zip(text.lines())
        .map(|(number, line)| (number, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// A line without its last word, and that word; none if there is only one word.
fn line_and_label(line: &str) -> Option<(&str, &str)> {
    let (path, label) = line.rsplit_once(char::is_whitespace)?;
    Some((path.trim_end(), label))
}

/// A path without `.` parts, and relative to `root` if it lies below it.
fn tidy(root: &Path, path: &Path) -> PathBuf {
    let path = path.strip_prefix(root).unwrap_or(path);
    path.components()
        .filter(|part| *part != Component::CurDir)
        .collect()
}
