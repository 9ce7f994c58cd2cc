//! All images below a folder.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use super::{ListError, has_image_extension};

/// Paths, relative to `root`, of the images below it, in no particular order.
///
/// Each folder is read once, under its own name if that lies below `root`, otherwise under that of the first
/// link (in order of names) that leads to it. So a loop of links ends, and no order in which an operating
/// system hands out names can change the result.
pub(super) fn images_below(root: &Path) -> Result<Vec<PathBuf>, ListError> {
    let mut walk = Walk {
        root,
        images: Vec::new(),
        links: BTreeSet::new(),
        seen: HashSet::new(),
    };
    walk.folder(Path::new(""))?;
    // Real folders first, all of them; only then the links, so that a link never takes a folder's place.
    while let Some((_, link)) = walk.links.pop_first() {
        walk.folder(&link)?;
    }
    Ok(walk.images)
}

struct Walk<'a> {
    root: &'a Path,
    images: Vec<PathBuf>,
    /// Links to folders still to be followed, by their name.
    links: BTreeSet<(String, PathBuf)>,
    /// Folders already read, by their one true path.
    seen: HashSet<PathBuf>,
}

impl Walk<'_> {
    /// Reads the folder at `start` and the real folders below it.
    fn folder(&mut self, start: &Path) -> Result<(), ListError> {
        let mut waiting = vec![start.to_path_buf()];
        while let Some(folder) = waiting.pop() {
            let on_disk = self.root.join(&folder);
            let unreadable = |source| ListError::Unreadable {
                path: on_disk.clone(),
                source,
            };
            if !self
                .seen
                .insert(on_disk.canonicalize().map_err(unreadable)?)
            {
                continue;
            }
            for entry in std::fs::read_dir(&on_disk).map_err(unreadable)? {
                let entry = entry.map_err(unreadable)?;
                let name = entry.file_name();
                if name.as_encoded_bytes().starts_with(b".") {
                    continue;
                }
                let kind = entry.file_type().map_err(unreadable)?;
                let path = folder.join(&name);
                if kind.is_dir() {
                    waiting.push(path);
                } else if kind.is_symlink() && entry.path().is_dir() {
                    self.links.insert((super::slashed(&path), path));
                } else if has_image_extension(&path) {
                    // A broken link or a pipe with an image's name is listed too: it will be reported
                    // as unreadable, not passed over.
                    self.images.push(path);
                }
            }
        }
        Ok(())
    }
}
