//! A cached file: safetensors with two tensors, `test` [N, …] and `random` [N, views, …], written image by image. Its metadata name the images by
//! the hashes of their files.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use half::f16;
use memmap2::Mmap;

use crate::error::{Error, Result};

/// How the random views are stored; test views are always stored in single precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// f32.
    Single,
    /// f16.
    Half,
}

impl Precision {
    fn bytes(self) -> usize {
        match self {
            Self::Single => 4,
            Self::Half => 2,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Single => "F32",
            Self::Half => "F16",
        }
    }
}

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub images: usize,
    /// Random views of each image.
    pub random: usize,
    /// Of one view.
    pub shape: [usize; 3],
    pub precision: Precision,
}

impl Layout {
    /// Numbers of one view.
    fn values(&self) -> usize {
        self.shape.iter().product()
    }

    /// Bytes of an image's test view.
    fn test_row(&self) -> usize {
        4 * self.values()
    }

    /// Bytes of an image's random views.
    fn random_row(&self) -> usize {
        self.precision.bytes() * self.values() * self.random
    }

    /// Bytes of all numbers.
    pub(super) fn bytes(&self) -> u64 {
        self.images as u64 * (self.test_row() + self.random_row()) as u64
    }

    /// Length and header of a safetensors file with images of these hashes.
    fn header(&self, hashes: &[String]) -> Vec<u8> {
        let [a, b, c] = self.shape;
        let test_end = self.images * self.test_row();
        let end = test_end + self.images * self.random_row();
        let mut header = serde_json::json!({
            "__metadata__": {IMAGES: hashes.join(" ")},
            "test": {"dtype": "F32", "shape": [self.images, a, b, c], "data_offsets": [0, test_end]},
            "random": {
                "dtype": self.precision.name(),
                "shape": [self.images, self.random, a, b, c],
                "data_offsets": [test_end, end],
            },
        })
        .to_string()
        .into_bytes();
        // Numbers start on a multiple of eight.
        header.resize(header.len().next_multiple_of(8), b' ');
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header);
        bytes
    }
}

/// The entry of the metadata with the hashes of the images, in order.
const IMAGES: &str = "images";

/// A file on its way.
pub(super) struct File<'a> {
    layout: Layout,
    hashes: &'a [String],
    path: PathBuf,
    part: PathBuf,
    file: fs::File,
    header: u64,
    /// Bytes of numbers that were there when it was opened.
    found: u64,
}

impl<'a> File<'a> {
    /// Starts a file, or goes on with one that was interrupted.
    pub(super) fn go_on(path: &Path, layout: Layout, hashes: &'a [String]) -> Result<Self> {
        let part = path.with_extension("part");
        let io = |source| Error::io("write to the cache", &part, source);
        let header = layout.header(hashes);
        let mut file = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&part)
            .map_err(io)?;
        let mut start = vec![0; header.len()];
        let same = std::io::Read::read_exact(&mut file, &mut start).is_ok() && start == header;
        if !same {
            file.set_len(0).map_err(io)?;
            file.seek(SeekFrom::Start(0)).map_err(io)?;
            file.write_all(&header).map_err(io)?;
        }
        let length = file.metadata().map_err(io)?.len();
        Ok(Self {
            layout,
            hashes,
            path: path.to_path_buf(),
            file,
            header: header.len() as u64,
            found: length - header.len() as u64,
            part,
        })
    }

    /// Images whose test view was there.
    pub(super) fn test_images(&self) -> usize {
        (self.found / self.layout.test_row() as u64).min(self.layout.images as u64) as usize
    }

    /// Images whose random views were there.
    pub(super) fn random_images(&self) -> usize {
        let test = (self.layout.images * self.layout.test_row()) as u64;
        let row = self.layout.random_row().max(1) as u64;
        (self.found.saturating_sub(test) / row) as usize
    }

    /// Writes the test views of images from `first` on.
    pub(super) fn put_test(&mut self, first: usize, rows: &[&[f32]]) -> Result<()> {
        let at = first * self.layout.test_row();
        self.put(at, rows, Precision::Single)
    }

    /// Writes the random views of images from `first` on.
    pub(super) fn put_random(&mut self, first: usize, rows: &[&[f32]]) -> Result<()> {
        let test = self.layout.images * self.layout.test_row();
        let at = test + first * self.layout.random_row();
        self.put(at, rows, self.layout.precision)
    }

    fn put(&mut self, at: usize, rows: &[&[f32]], precision: Precision) -> Result<()> {
        let values = rows.iter().flat_map(|row| row.iter());
        let bytes: Vec<u8> = match precision {
            Precision::Single => values.flat_map(|value| value.to_le_bytes()).collect(),
            Precision::Half => values
                .flat_map(|&value| f16::from_f32(value).to_le_bytes())
                .collect(),
        };
        let io = |source| Error::io("write to the cache", &self.part, source);
        let start = SeekFrom::Start(self.header + at as u64);
        self.file.seek(start).map_err(io)?;
        self.file.write_all(&bytes).map_err(io)?;
        // What a loss of power leaves is then numbers up to the file's length, not holes.
        self.file.sync_data().map_err(io)
    }

    /// Gives the file its own name, now that it is whole.
    pub(super) fn finish(self) -> Result<Kept> {
        let io = |source| Error::io("write to the cache", &self.part, source);
        self.file.sync_all().map_err(io)?;
        drop(self.file);
        let renamed = fs::rename(&self.part, &self.path);
        // Another run with the same images may have been faster; its file is as good as ours.
        match (Kept::open(&self.path, self.layout, self.hashes)?, renamed) {
            (Some(kept), _) => Ok(kept),
            (None, Err(source)) => Err(io(source)),
            (None, Ok(())) => {
                let message = format!("the cache was changed meanwhile: {}", self.path.display());
                Err(Error::failed(message, "run the same command again"))
            }
        }
    }
}

/// A whole file, mapped into memory.
#[derive(Debug)]
pub struct Kept {
    layout: Layout,
    map: Mmap,
    header: usize,
}

impl Kept {
    /// Opens a file; none if it is not there, or not what its name promises.
    pub(super) fn open(path: &Path, layout: Layout, hashes: &[String]) -> Result<Option<Self>> {
        Ok(map(path)?.and_then(|map| Self::checked(map, layout, hashes)))
    }

    /// Opens a file of any images with such views, and says which images these are; none if it is not one.
    pub(super) fn of_others(path: &Path, layout: Layout) -> Option<(Self, Vec<String>)> {
        let map = map(path).ok()??;
        let length = u64::from_le_bytes(*map.first_chunk()?);
        let end = usize::try_from(length).ok()?.checked_add(8)?;
        let header: serde_json::Value = serde_json::from_slice(map.get(8..end)?).ok()?;
        let hashes = header["__metadata__"][IMAGES].as_str()?.split(' ');
        let hashes: Vec<String> = hashes.map(String::from).collect();
        let layout = Layout {
            images: hashes.len(),
            ..layout
        };
        let kept = Self::checked(map, layout, &hashes)?;
        Some((kept, hashes))
    }

    fn checked(map: Mmap, layout: Layout, hashes: &[String]) -> Option<Self> {
        let header = layout.header(hashes);
        let length = header.len() as u64 + layout.bytes();
        let whole = map.len() as u64 == length && map.starts_with(&header);
        whole.then_some(Self {
            layout,
            map,
            header: header.len(),
        })
    }

    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    /// Appends the test view of an image.
    pub(super) fn test(&self, image: usize, out: &mut Vec<f32>) {
        let row = self.layout.test_row();
        self.append(image * row, Precision::Single, out);
    }

    /// Appends a random view of an image.
    pub(super) fn random(&self, image: usize, view: usize, out: &mut Vec<f32>) {
        assert!(view < self.layout.random, "view {view} was not kept");
        let test = self.layout.images * self.layout.test_row();
        let size = self.layout.precision.bytes() * self.layout.values();
        let at = test + image * self.layout.random_row() + view * size;
        self.append(at, self.layout.precision, out);
    }

    fn append(&self, at: usize, precision: Precision, out: &mut Vec<f32>) {
        let bytes = &self.map[self.header + at..][..precision.bytes() * self.layout.values()];
        match precision {
            Precision::Single => out.extend(
                bytes
                    .chunks_exact(4)
                    .map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])),
            ),
            Precision::Half => out.extend(
                bytes
                    .chunks_exact(2)
                    .map(|two| f16::from_le_bytes([two[0], two[1]]).to_f32()),
            ),
        }
    }
}

/// A file in memory; none if it cannot be opened.
fn map(path: &Path) -> Result<Option<Mmap>> {
    let Ok(file) = fs::File::open(path) else {
        return Ok(None);
    };
    // SAFETY: the map is only read. Files of the cache are renamed into place when whole and never cut short; another run that was making the same file
    // may still write to it, but the same numbers, as the name says what they are made of.
    // Someone who cuts one short while it is in use would end the program, as with any mapped file.
    let map = unsafe { Mmap::map(&file) };
    map.map(Some)
        .map_err(|source| Error::io("read the cache", path, source))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: Layout = Layout {
        images: 5,
        random: 3,
        shape: [2, 1, 2],
        precision: Precision::Half,
    };

    fn rows(first: usize, count: usize, values: usize) -> Vec<Vec<f32>> {
        let row = |image: usize| {
            (0..values)
                .map(|i| (image * 100 + i) as f32 / 4.0)
                .collect()
        };
        (first..first + count).map(row).collect()
    }

    fn hashes() -> Vec<String> {
        (0..LAYOUT.images).map(|i| format!("{i:032x}")).collect()
    }

    fn slices(rows: &[Vec<f32>]) -> Vec<&[f32]> {
        rows.iter().map(Vec::as_slice).collect()
    }

    #[test]
    fn what_is_written_in_parts_is_read_whole() {
        let all = hashes();
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.safetensors");
        let mut file = File::go_on(&path, LAYOUT, &all).unwrap();
        assert_eq!((file.test_images(), file.random_images()), (0, 0));
        file.put_test(0, &slices(&rows(0, 3, 4))).unwrap();
        drop(file);
        assert!(
            Kept::open(&path, LAYOUT, &all).unwrap().is_none(),
            "not yet"
        );
        let mut file = File::go_on(&path, LAYOUT, &all).unwrap();
        assert_eq!((file.test_images(), file.random_images()), (3, 0));
        file.put_test(3, &slices(&rows(3, 2, 4))).unwrap();
        file.put_random(0, &slices(&rows(0, 2, 12))).unwrap();
        drop(file);
        let mut file = File::go_on(&path, LAYOUT, &all).unwrap();
        assert_eq!((file.test_images(), file.random_images()), (5, 2));
        file.put_random(2, &slices(&rows(2, 3, 12))).unwrap();
        let kept = file.finish().unwrap();
        for image in 0..5 {
            let mut found = Vec::new();
            kept.test(image, &mut found);
            assert_eq!(found, rows(image, 1, 4)[0]);
            found.clear();
            (0..3).for_each(|view| kept.random(image, view, &mut found));
            assert_eq!(found, rows(image, 1, 12)[0]);
        }
        assert_eq!(listing(place.path()), ["a.safetensors"]);
        // Anybody's reader understands it.
        let bytes = fs::read(&path).unwrap();
        let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        assert_eq!(file.tensor("test").unwrap().shape(), [5, 2, 1, 2]);
        assert_eq!(file.tensor("random").unwrap().shape(), [5, 3, 2, 1, 2]);
    }

    #[test]
    fn a_part_of_another_file_is_not_gone_on_with() {
        let all = hashes();
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.safetensors");
        let mut file = File::go_on(&path, LAYOUT, &all).unwrap();
        file.put_test(0, &slices(&rows(0, 5, 4))).unwrap();
        drop(file);
        let other = Layout {
            random: 2,
            ..LAYOUT
        };
        assert_eq!(File::go_on(&path, other, &all).unwrap().test_images(), 0);
        // A file that is too short, or of something else, is as good as none.
        fs::write(&path, b"short").unwrap();
        assert!(Kept::open(&path, LAYOUT, &all).unwrap().is_none());
    }

    #[test]
    fn a_file_says_which_images_it_is_of() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.safetensors");
        let all = hashes();
        let mut file = File::go_on(&path, LAYOUT, &all).unwrap();
        file.put_test(0, &slices(&rows(0, 5, 4))).unwrap();
        file.put_random(0, &slices(&rows(0, 5, 12))).unwrap();
        drop(file.finish().unwrap());
        // Whoever looks for other images does not know how many these are.
        let other = Layout {
            images: 99,
            ..LAYOUT
        };
        let (kept, found) = Kept::of_others(&path, other).unwrap();
        assert_eq!((kept.layout(), found), (LAYOUT, all));
        assert!(Kept::open(&path, LAYOUT, &hashes()[1..]).unwrap().is_none());
        let shape = [2, 2, 1];
        assert!(Kept::of_others(&path, Layout { shape, ..LAYOUT }).is_none());
        // Files that lie about their header, their length or their images are passed over.
        let bytes = fs::read(&path).unwrap();
        let refused = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            Kept::of_others(&path, LAYOUT).is_none()
        };
        assert!(!refused(&bytes));
        assert!(refused(&bytes[..bytes.len() - 1]) && refused(&bytes[..5]) && refused(b""));
        let mut long = bytes.clone();
        long[..8].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(refused(&long));
        let mut fewer = bytes.clone();
        let at = fewer
            .windows(33)
            .position(|w| w == b" 00000000000000000000000000000004");
        fewer[at.unwrap()] = b'x';
        assert!(refused(&fewer));
    }

    fn listing(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect()
    }
}
