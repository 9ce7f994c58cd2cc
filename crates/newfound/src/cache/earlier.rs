//! What files for other lists of images hold of the views that are wanted now.
//!
//! The views of an image follow from its content, so what the frozen layers make of them is the same in every list: a folder
//! that has grown, or another division of the same data set, costs only the images that are new in it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::file::{Kept, Layout};

/// Rows of earlier files, by the hash of their image.
pub(super) struct Earlier {
    files: Vec<Kept>,
    /// File and image in it.
    places: HashMap<String, (usize, usize)>,
}

impl Earlier {
    /// That there are none.
    pub fn none() -> Self {
        Self {
            files: vec![],
            places: HashMap::new(),
        }
    }

    /// The files of a folder whose names begin so, with views of this kind. One that is not what its name promises is passed over.
    pub fn find(folder: &Path, prefix: &str, layout: Layout) -> Self {
        let mut found = Self::none();
        for path in candidates(folder, prefix) {
            let Some((kept, hashes)) = Kept::of_others(&path, layout) else {
                continue;
            };
            let file = found.files.len();
            let places = hashes.into_iter().enumerate();
            let places = places.map(|(image, hash)| (hash, (file, image)));
            found.places.extend(places);
            found.files.push(kept);
        }
        found
    }

    /// Whether there is one with this hash.
    pub fn has(&self, hash: &str) -> bool {
        self.places.contains_key(hash)
    }

    /// The test view of an image that is there.
    pub fn test(&self, hash: &str) -> Vec<f32> {
        let (file, image) = self.places[hash];
        let mut values = Vec::new();
        self.files[file].test(image, &mut values);
        values
    }

    /// The random views of an image that is there, one after the other.
    pub fn random(&self, hash: &str) -> Vec<f32> {
        let (file, image) = self.places[hash];
        let kept = &self.files[file];
        let mut values = Vec::new();
        (0..kept.layout().random).for_each(|view| kept.random(image, view, &mut values));
        values
    }
}

fn candidates(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return vec![];
    };
    let name = |path: &Path| Some(path.file_name()?.to_str()?.to_string());
    let fits = |path: &PathBuf| {
        name(path).is_some_and(|name| name.starts_with(prefix) && name.ends_with(".safetensors"))
    };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(fits)
        .collect();
    paths.sort();
    paths
}

#[cfg(test)]
impl Earlier {
    /// That images of these hashes are somewhere.
    pub(super) fn of(hashes: &[&str]) -> Self {
        let places = hashes.iter().map(|hash| (hash.to_string(), (0, 0)));
        Self {
            files: vec![],
            places: places.collect(),
        }
    }
}
