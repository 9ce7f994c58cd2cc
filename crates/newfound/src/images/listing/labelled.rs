//! Images with their labels: for training a source model and for evaluation, nothing else.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{
    ImageList, ListError, Side, Source, Split, class_folder, folder, folder_of, list_file, slashed,
};
use crate::near::nearest;

/// Images, each with a class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelledList {
    /// The images, sorted by path.
    pub images: ImageList,
    /// The class names: sorted, or in the order they were asked for.
    pub classes: Vec<String>,
    /// For each image the index of its class.
    pub labels: Vec<usize>,
}

/// The images of a folder of class folders, or of a list file of `path label` lines, with their labels.
///
/// In a folder, the class is the name of the first folder below `path`, however deep the image lies. In a
/// list, it is the last word of the line.
///
/// `classes` selects classes and fixes their order; without it all classes are taken in sorted order. `split`
/// selects the class folders of a benchmark, of which `side` says whether the private ones are wanted.
pub fn labelled(
    path: &Path,
    split: Option<Split>,
    side: Side,
    classes: Option<&[String]>,
) -> Result<LabelledList, ListError> {
    let source = Source::of(path)?;
    if let (Some(split), Source::Image | Source::List) = (split, source) {
        return Err(ListError::SplitNeedsFolder {
            split,
            path: path.to_path_buf(),
        });
    }
    let (root, mut pairs) = match source {
        Source::Folder => (path.to_path_buf(), by_class_folder(path)?),
        Source::List => (folder_of(path), list_file::labelled_paths(path)?),
        Source::Image => {
            return Err(ListError::SingleImage {
                path: path.to_path_buf(),
            });
        }
    };

    let mut existing: Vec<String> = match split {
        Some(split) if side == Side::Known => split.known(path)?,
        Some(split) => split.target(path)?,
        None => pairs
            .iter()
            .map(|(_, class)| class)
            .collect::<BTreeSet<_>>()
            .into_iter()
            .cloned()
            .collect(),
    };
    existing.sort();
    let classes = match classes {
        Some(wanted) => selected(path, wanted, &existing)?,
        None => existing,
    };

    pairs.sort_by_cached_key(|(path, _)| slashed(path));
    let (mut paths, mut labels) = (Vec::<PathBuf>::new(), Vec::new());
    for (image, class) in pairs {
        let Some(label) = classes.iter().position(|name| *name == class) else {
            continue;
        };
        if paths.last() != Some(&image) {
            paths.push(image);
            labels.push(label);
        } else if labels.last() != Some(&label) {
            let first = classes[labels[labels.len() - 1]].clone();
            return Err(ListError::TwoLabels {
                path: image,
                labels: [first, class],
            });
        }
    }
    if paths.is_empty() {
        return Err(ListError::NoImages {
            path: path.to_path_buf(),
        });
    }
    Ok(LabelledList {
        images: ImageList { root, paths },
        classes,
        labels,
    })
}

/// The images of a folder with the names of their class folders.
fn by_class_folder(root: &Path) -> Result<Vec<(PathBuf, String)>, ListError> {
    let (mut pairs, mut outside) = (Vec::new(), Vec::new());
    for image in folder::images_below(root)? {
        match class_folder(&image) {
            Some(class) => pairs.push((image, class)),
            None => outside.push(image),
        }
    }
    match outside.iter().min() {
        None => Ok(pairs),
        Some(example) => Err(ListError::OutsideClassFolders {
            path: root.to_path_buf(),
            count: outside.len(),
            example: example.clone(),
        }),
    }
}

/// The classes asked for, once each of them is known to exist.
fn selected(path: &Path, wanted: &[String], existing: &[String]) -> Result<Vec<String>, ListError> {
    let unknown: Vec<_> = wanted
        .iter()
        .filter(|name| !existing.contains(name))
        .map(|name| (name.clone(), nearest(name, existing)))
        .collect();
    if !unknown.is_empty() {
        return Err(ListError::UnknownClasses {
            path: path.to_path_buf(),
            unknown,
        });
    }
    if let Some((_, name)) = wanted
        .iter()
        .enumerate()
        .find(|(i, name)| wanted[..*i].contains(name))
    {
        return Err(ListError::RepeatedClass { name: name.clone() });
    }
    Ok(wanted.to_vec())
}
