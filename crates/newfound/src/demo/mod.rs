//! The built-in image set of `newfound demo`: ten kinds of things in two places.
//!
//! Nothing is downloaded: every image is drawn. An object is a stack of vector shapes with proportions
//! that vary within its class ([`objects`]); it is posed, lit and photographed in one of two places
//! ([`scene`]). The source domain is a studio and has the six [`KNOWN`] classes. The target domain is a
//! dim, cluttered workshop and has all ten, the four [`PRIVATE`] ones included.
//!
//! **Only the shape tells the class.** Pose, paint, backdrop, clutter, light and lens are drawn from the
//! same distributions for every class, known or private, so there is no shortcut to learn.
//!
//! Every image is a function of (seed, domain, class, index), whatever the number of threads.

mod outline;
mod palette;
mod parts;
mod objects;
mod pose;
mod canvas;
mod backdrop;
mod camera;
mod scene;

pub use objects::Class;
pub use scene::{Domain, render};

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
pub const SOURCE_PER_CLASS: usize = 100;

/// Images of each class in the target domain.
pub const TARGET_PER_CLASS: usize = 50;

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

/// Where [`write`] has put the images.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    /// The source domain: one folder per known class.
    pub source: PathBuf,
    /// The target domain: one folder per class.
    pub target: PathBuf,
}

/// Writes the whole set: `DIR/source/CLASS/0001.png` … and `DIR/target/CLASS/0001.png` …
///
/// A file appears whole or not at all. Files that are there already are replaced.
pub fn write(dir: &Path, seed: u64) -> Result<Folders, Error> {
    let folders = Folders { source: dir.join("source"), target: dir.join("target") };
    let source = Class::KNOWN.map(|class| (Domain::Source, class));
    let target = Class::KNOWN.into_iter().chain(Class::PRIVATE).map(|class| (Domain::Target, class));
    let mut images = Vec::new();
    for (domain, class) in source.into_iter().chain(target) {
        let (root, count) = match domain {
            Domain::Source => (&folders.source, SOURCE_PER_CLASS),
            Domain::Target => (&folders.target, TARGET_PER_CLASS),
        };
        let folder = root.join(class.name());
        fs::create_dir_all(&folder).map_err(|error| Error::Write(error, folder.clone()))?;
        images.extend((1..=count).map(|index| {
            let path = folder.join(format!("{index:04}.png"));
            (domain, class, index as u64, path)
        }));
    }
    images.into_par_iter().try_for_each(|(domain, class, index, path)| {
        let name = match domain {
            Domain::Source => "demo source",
            Domain::Target => "demo target",
        };
        let mut stream = Stream::new(seed, name, &[class as u64, index]);
        write_png(&render(class, domain, &mut stream), &path)
    })?;
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
