//! The built-in image set of `newfound demo`: ten kinds of things in two places, and a hundred that do not exist.
//!
//! Nothing is downloaded: every image is drawn. An object is a stack of vector shapes with proportions
//! that vary within its class (`objects`); it is posed, lit and photographed in one of two places
//! (`scene`). The source domain is a studio and has the six [`KNOWN`] classes. The target domain is a
//! dim, cluttered workshop and has all ten, the four [`PRIVATE`] ones included.
//!
//! A user's classifier has almost always grown out of a network that had seen many other things (ImageNet), and the
//! method lives on that: a network that was only ever taught to tell six classes apart keeps nothing about a seventh.
//! The `invented` things take that place. They are pictures from the studio, of none of the ten classes.
//!
//! **Only the shape tells the class.** Pose, paint, backdrop, clutter, light and lens are drawn from the
//! same distributions for every class, known or private, so there is no shortcut to learn.
//!
//! Every image is a function of (seed, domain, class, index), whatever the number of threads.

mod outline;
mod palette;
mod parts;
mod objects;
mod invented;
mod pose;
mod canvas;
mod backdrop;
mod camera;
mod scene;

pub use objects::Class;
pub use scene::Domain;

use invented::Recipe;
use parts::Part;
use scene::render;

use crate::random::Stream;
use image::codecs::png::PngEncoder;
use image::{ImageError, RgbImage};
use rayon::prelude::*;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Pixels per side of every image.
pub const SIZE: u32 = 48;

/// Images of each class in the source domain.
pub const SOURCE_PER_CLASS: usize = 150;

/// Images of each class in the target domain.
pub const TARGET_PER_CLASS: usize = 50;

/// Kinds of invented things that the network sees first.
pub const GENERAL_KINDS: usize = 100;

/// Images of each of them.
pub const GENERAL_PER_KIND: usize = 24;

/// The names of the classes that both domains have.
pub const KNOWN: [&str; 6] = {
    let [a, b, c, d, e, f] = Class::KNOWN;
    [a.name(), b.name(), c.name(), d.name(), e.name(), f.name()]
};

/// The names of the classes that only the target domain has.
pub const PRIVATE: [&str; 4] = {
    let [a, b, c, d] = Class::PRIVATE;
    [a.name(), b.name(), c.name(), d.name()]
};

/// A demo image that could not be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The image could not be encoded.
    #[error("cannot encode the demo image: {path}", path = .1.display())]
    Encode(#[source] ImageError, PathBuf),
    /// The file or its folder could not be written.
    #[error("cannot write the demo image: {path}", path = .1.display())]
    Write(#[source] io::Error, PathBuf),
}

/// Where [`write()`] has put the images.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    /// Invented things, one folder per kind: what the network is trained on before the source domain.
    pub general: PathBuf,
    /// The source domain: one folder per known class.
    pub source: PathBuf,
    /// The target domain: one folder per class.
    pub target: PathBuf,
}

/// Writes the whole set: `DIR/general/kind-001/0001.png` …, `DIR/source/CLASS/0001.png` … and `DIR/target/CLASS/0001.png` …
///
/// A file appears whole or not at all. Files that are there already are replaced.
pub fn write(dir: &Path, seed: u64) -> Result<Folders, Error> {
    write_some(
        dir,
        seed,
        [GENERAL_PER_KIND, SOURCE_PER_CLASS, TARGET_PER_CLASS],
    )
}

/// One folder of pictures of one kind of thing.
struct Series {
    thing: Thing,
    domain: Domain,
    /// The name of its random stream, and the number of its kind.
    stream: (&'static str, u64),
    folder: PathBuf,
    count: usize,
}

/// What is in a picture.
enum Thing {
    Real(Class),
    Invented(Recipe),
}

impl Thing {
    fn draw(&self, stream: &mut Stream) -> Vec<Part> {
        match self {
            Self::Real(class) => class.draw(stream),
            Self::Invented(recipe) => recipe.draw(stream),
        }
    }
}

impl Series {
    fn write(&self, seed: u64, index: usize) -> Result<(), Error> {
        let (name, kind) = self.stream;
        let mut stream = Stream::new(seed, name, &[kind, index as u64]);
        let image = render(|stream| self.thing.draw(stream), self.domain, &mut stream);
        write_png(&image, &self.folder.join(format!("{index:04}.png")))
    }
}

/// Writes the first images of each kind.
fn write_some(
    dir: &Path,
    seed: u64,
    [general_per_kind, source_per_class, target_per_class]: [usize; 3],
) -> Result<Folders, Error> {
    let folders = Folders {
        general: dir.join("general"),
        source: dir.join("source"),
        target: dir.join("target"),
    };
    let invented = (1..=GENERAL_KINDS as u64).map(|kind| Series {
        thing: Thing::Invented(Recipe::new(seed, kind)),
        domain: Domain::Source,
        stream: ("demo general", kind),
        folder: folders.general.join(format!("kind-{kind:03}")),
        count: general_per_kind,
    });
    let source = Class::KNOWN.into_iter().map(|class| Series {
        thing: Thing::Real(class),
        domain: Domain::Source,
        stream: ("demo source", class as u64),
        folder: folders.source.join(class.name()),
        count: source_per_class,
    });
    let everything = Class::KNOWN.into_iter().chain(Class::PRIVATE);
    let target = everything.map(|class| Series {
        thing: Thing::Real(class),
        domain: Domain::Target,
        stream: ("demo target", class as u64),
        folder: folders.target.join(class.name()),
        count: target_per_class,
    });
    let all: Vec<Series> = invented.chain(source).chain(target).collect();
    for Series { folder, .. } in &all {
        fs::create_dir_all(folder).map_err(|error| Error::Write(error, folder.clone()))?;
    }
    all.par_iter()
        .flat_map(|series| (1..=series.count).into_par_iter().map(move |i| (series, i)))
        .try_for_each(|(series, index)| series.write(seed, index))?;
    Ok(folders)
}

/// Writes the image beside its place, then moves it there.
fn write_png(image: &RgbImage, path: &Path) -> Result<(), Error> {
    let mut bytes = Vec::new();
    image
        .write_with_encoder(PngEncoder::new(&mut bytes))
        .map_err(|error| Error::Encode(error, path.to_owned()))?;
    // Not an image's ending: what an interrupted run leaves behind is not read as an image.
    let beside = path.with_extension("partial");
    let put = || -> io::Result<()> {
        let mut file = File::create(&beside)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    put().map_err(|error| Error::Write(error, path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every file below a folder, by its path within it, in order.
    fn files(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let bytes = fs::read(&path).unwrap();
                    found.push((path.strip_prefix(root).unwrap().to_owned(), bytes));
                }
            }
        }
        found.sort();
        found
    }

    fn written(seed: u64, threads: usize) -> Vec<(PathBuf, Vec<u8>)> {
        let dir = tempfile::tempdir().unwrap();
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| write_some(dir.path(), seed, [1, 3, 2]))
            .unwrap();
        files(dir.path())
    }

    #[test]
    fn the_set_has_the_known_classes_twice_and_the_private_ones_once() {
        let mut expected: Vec<PathBuf> = (1..=GENERAL_KINDS)
            .map(|kind| PathBuf::from(format!("general/kind-{kind:03}/0001.png")))
            .collect();
        for class in KNOWN {
            expected.extend((1..=3).map(|i| PathBuf::from(format!("source/{class}/{i:04}.png"))));
        }
        for class in KNOWN.iter().chain(&PRIVATE) {
            expected.extend((1..=2).map(|i| PathBuf::from(format!("target/{class}/{i:04}.png"))));
        }
        expected.sort();
        // No temporary file is left either.
        assert_eq!(
            written(0, 2)
                .into_iter()
                .map(|(path, _)| path)
                .collect::<Vec<_>>(),
            expected
        );
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes_on_any_number_of_threads() {
        assert_eq!(written(3, 1), written(3, 4));
    }

    #[test]
    fn every_image_differs_from_every_other_and_from_the_next_seeds() {
        let mut bytes: Vec<_> = written(3, 2)
            .into_iter()
            .chain(written(4, 2))
            .map(|f| f.1)
            .collect();
        let count = bytes.len();
        bytes.sort();
        bytes.dedup();
        assert_eq!(bytes.len(), count);
    }

    #[test]
    fn every_file_decodes_to_an_image_of_the_size() {
        for (path, bytes) in written(5, 2) {
            let image = image::load_from_memory(&bytes).unwrap().to_rgb8();
            assert_eq!(image.dimensions(), (SIZE, SIZE), "{}", path.display());
        }
    }

    #[test]
    fn a_file_replaces_what_an_earlier_run_left() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("source/anchor");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("0001.png"), "old").unwrap();
        fs::write(folder.join("0001.partial"), "half").unwrap();
        write_some(dir.path(), 3, [1, 3, 2]).unwrap();
        assert_eq!(files(dir.path()), written(3, 2));
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("source"), "not a folder").unwrap();
        let error = write_some(dir.path(), 0, [1, 1, 1]).unwrap_err();
        let path = dir.path().join("source").join("anchor");
        assert_eq!(
            error.to_string(),
            format!("cannot write the demo image: {}", path.display())
        );
    }
}
