//! Which images there are.
//!
//! A folder, a list file or a single image becomes a sorted list of paths. Reading with and without labels
//! are two functions with two types: an [`ImageList`] has no place for a label, so nothing that takes one can
//! look at labels by mistake.

use std::path::{Component, Path, PathBuf};

pub use drawn::Drawn;
pub use error::ListError;
pub use labelled::{LabelledList, labelled};
pub use split::{Side, Split};

mod drawn;
mod error;
mod folder;
mod list_file;
mod labelled;
mod split;

/// File name endings that are taken for images inside a folder, in any case.
pub const EXTENSIONS: [&str; 8] = ["jpg", "jpeg", "png", "webp", "bmp", "gif", "tif", "tiff"];

/// Images, by path, without labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageList {
    /// The folder that the paths start from.
    pub root: PathBuf,
    /// Paths relative to [`root`](Self::root), sorted by their parts joined with `/`, byte by byte: the same
    /// order on every machine, whatever order its folders are read in. A path of a list file that lies
    /// outside its folder is kept as it was written.
    pub paths: Vec<PathBuf>,
}

impl ImageList {
    /// Number of images.
    pub fn len(&self) -> usize {
        self.paths.len()
    }

    /// Whether there are no images at all.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Where image `index` lies on disk.
    pub fn full_path(&self, index: usize) -> PathBuf {
        self.root.join(&self.paths[index])
    }

    /// The name of image `index` in reports: its relative path with `/` on every system.
    pub fn name(&self, index: usize) -> String {
        slashed(&self.paths[index])
    }

    /// Sorts and removes repetitions: a path that is listed twice is one image.
    fn new(root: PathBuf, mut paths: Vec<PathBuf>) -> Self {
        // The path itself decides between names that look alike once joined.
        paths.sort_by_cached_key(|path| (slashed(path), path.clone()));
        paths.dedup();
        Self { root, paths }
    }
}

/// The images of a folder, a list file or a single image file.
///
/// - A folder is read recursively. Hidden files and folders (with a leading dot) are left out. Links to
///   folders are followed, but no folder is read twice.
/// - A list file has one `path` or `path label` per line, relative to the folder of the list. Blank lines
///   and lines starting with `#` are skipped. Labels are skipped too: if the whole line is not a file, its
///   last word is dropped. Paths that do not exist stay in the list, and are
///   reported with the images that cannot be read; if none exists, the list is refused.
/// - `split` keeps the images of the known and the private class folders of a benchmark.
pub fn list(path: &Path, split: Option<Split>) -> Result<ImageList, ListError> {
    let images = match (Source::of(path)?, split) {
        (Source::Folder, None) => ImageList::new(path.to_path_buf(), folder::images_below(path)?),
        (Source::Folder, Some(split)) => {
            let kept = split.target(path)?;
            let mut paths = folder::images_below(path)?;
            paths.retain(|path| class_folder(path).is_some_and(|class| kept.contains(&class)));
            ImageList::new(path.to_path_buf(), paths)
        }
        (_, Some(split)) => {
            return Err(ListError::SplitNeedsFolder {
                split,
                path: path.to_path_buf(),
            });
        }
        (Source::Image, None) => {
            let name = path.file_name().map(PathBuf::from).unwrap_or_default();
            ImageList::new(folder_of(path), vec![name])
        }
        (Source::List, None) => ImageList::new(folder_of(path), list_file::paths(path)?),
    };
    if images.is_empty() {
        return Err(ListError::NoImages {
            path: path.to_path_buf(),
        });
    }
    Ok(images)
}

/// The three things that images can come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Folder,
    Image,
    List,
}

impl Source {
    /// A folder, a file whose name says image, or else a list.
    fn of(path: &Path) -> Result<Self, ListError> {
        let about = std::fs::metadata(path).map_err(|source| ListError::Unreadable {
            path: path.to_path_buf(),
            source,
        })?;
        if about.is_dir() {
            Ok(Self::Folder)
        } else if has_image_extension(path) {
            Ok(Self::Image)
        } else {
            Ok(Self::List)
        }
    }
}

/// Whether the name ends like an image's.
fn has_image_extension(path: &Path) -> bool {
    path.extension().is_some_and(|ending| {
        EXTENSIONS
            .iter()
            .any(|known| ending.eq_ignore_ascii_case(known))
    })
}

/// The folder a file lies in.
fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// The name of the first folder of a relative path, if the image lies in one.
fn class_folder(path: &Path) -> Option<String> {
    let mut parts = path.components();
    let first = parts.next()?;
    parts.next()?;
    Some(first.as_os_str().to_string_lossy().into_owned())
}

/// The parts of a path joined with `/`, as text.
fn slashed(path: &Path) -> String {
    let mut joined = String::new();
    for part in path.components() {
        if part == Component::RootDir {
            joined.push('/');
            continue;
        }
        if !joined.is_empty() && !joined.ends_with('/') {
            joined.push('/');
        }
        for chunk in part.as_os_str().as_encoded_bytes().utf8_chunks() {
            joined.push_str(chunk.valid());
            // Bytes that are no Unicode are spelt out, so that two names never look like one.
            for byte in chunk.invalid() {
                joined.push_str(&format!("\\x{byte:02x}"));
            }
        }
    }
    joined
}

#[cfg(test)]
mod tests;
