//! `thumbnails.zip`: a small picture of each image, so that a run can be looked at after its images have moved.

use std::io::{Cursor, Read, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::RunFolder;
use crate::atomic;
use crate::error::{Error, Result};
use crate::images::thumbnail;

/// Sides of the pictures by the number of images: all of them together stay below about 8 MB.
const SIDES: [(usize, u32); 4] = [(650, 224), (1200, 160), (2500, 92), (6000, 56)];

/// The side where there are more images than that.
const SMALLEST: u32 = 32;

/// The most bytes a picture may claim to have: a hostile archive is not believed.
const LARGEST: u64 = 1 << 20;

/// A picture of each image, a JPEG file, where there is one.
pub type Thumbnails = Vec<Option<Vec<u8>>>;

/// Makes a picture of every image that can be read and keeps them, whole or not at all.
///
/// `images` are in the order of `predictions.csv`; `advanced` hears how many are done.
pub fn keep_thumbnails(
    folder: &RunFolder,
    images: &[PathBuf],
    advanced: &(dyn Fn(usize) + Sync),
) -> Result<Thumbnails> {
    let fits = |(most, _): &&(usize, u32)| images.len() <= *most;
    let side = SIDES.iter().find(fits).map_or(SMALLEST, |&(_, side)| side);
    let done = AtomicUsize::new(0);
    let picture = |image: &PathBuf| {
        // An image that has moved or broken since has no picture; the report says the rest all the same.
        let picture = thumbnail(image, side).ok();
        advanced(done.fetch_add(1, Ordering::Relaxed) + 1);
        picture
    };
    let pictures: Thumbnails = images.par_iter().map(picture).collect();
    let path = folder.thumbnails();
    atomic::write(&path, &packed(&pictures))
        .map_err(|source| Error::io("write the thumbnails", &path, source))?;
    Ok(pictures)
}

/// The pictures that the run keeps, for this many images; none if it keeps none, or none that can be understood.
pub fn read_thumbnails(folder: &RunFolder, images: usize) -> Option<Thumbnails> {
    let bytes = std::fs::read(folder.thumbnails()).ok()?;
    let mut archive = ZipArchive::new(Cursor::new(bytes)).ok()?;
    let mut picture = |row: usize| {
        let file = archive.by_name(&name(row)).ok()?;
        let mut bytes = Vec::new();
        file.take(LARGEST).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    };
    Some((0..images).map(&mut picture).collect())
}

fn name(row: usize) -> String {
    format!("{row:06}.jpg")
}

fn packed(pictures: &Thumbnails) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    // JPEG does not get smaller; and no clock, so that the same run has the same file.
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .last_modified_time(zip::DateTime::default());
    let in_memory = "writing to memory cannot fail";
    for (row, picture) in pictures.iter().enumerate() {
        if let Some(bytes) = picture {
            archive.start_file(name(row), options).expect(in_memory);
            archive.write_all(bytes).expect(in_memory);
        }
    }
    archive.finish().expect(in_memory).into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_outlive_their_images() {
        let place = tempfile::tempdir().unwrap();
        let image = place.path().join("red.png");
        image::RgbImage::from_pixel(300, 200, image::Rgb([200, 0, 0]))
            .save(&image)
            .unwrap();
        let folder = RunFolder::prepare(&place.path().join("run"), false).unwrap();
        assert!(read_thumbnails(&folder, 2).is_none());
        let images = [image.clone(), place.path().join("missing.png")];
        let made = keep_thumbnails(&folder, &images, &|_| {}).unwrap();
        std::fs::remove_file(&image).unwrap();
        let kept = read_thumbnails(&folder, 2).unwrap();
        assert_eq!(kept, made);
        assert!(kept[0].is_some() && kept[1].is_none());
    }

    #[test]
    fn a_damaged_archive_is_none() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::prepare(&place.path().join("run"), false).unwrap();
        std::fs::write(folder.thumbnails(), b"PK no archive").unwrap();
        assert!(read_thumbnails(&folder, 1).is_none());
    }
}
