//! A first look at every image.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::decode::{Reason, decode, read_bytes};
use super::listing::ImageList;

/// What a first look at every image of a list has found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Survey {
    /// The images that can be used, in the order of the list.
    pub good: Vec<Surveyed>,
    /// The images that cannot, in the order of the list.
    pub bad: Vec<BadImage>,
}

/// An image that was read and decoded from its first to its last byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surveyed {
    /// Path relative to the root of the list.
    pub path: PathBuf,
    /// BLAKE3 hash of the file.
    pub blake3: [u8; 32],
    /// Width in pixels, once upright.
    pub width: u32,
    /// Height in pixels, once upright.
    pub height: u32,
}

/// An image that gives no picture, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadImage {
    /// Path relative to the root of the list.
    pub path: PathBuf,
    /// Why it gives no picture.
    pub reason: Reason,
}

/// Reads every file of the list once, hashes it and decodes it, on all cores.
///
/// A run works with the good images only, so that it cannot stumble over a bad one hours later. `progress` is
/// called after each image with the number of images done and their total, from many threads.
pub fn survey(list: &ImageList, progress: &(dyn Fn(usize, usize) + Sync)) -> Survey {
    let done = AtomicUsize::new(0);
    let looks: Vec<Result<Surveyed, BadImage>> = (0..list.len())
        .into_par_iter()
        .map(|index| {
            let look = look_at(list, index);
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, list.len());
            look
        })
        .collect();
    let mut survey = Survey::default();
    for look in looks {
        match look {
            Ok(good) => survey.good.push(good),
            Err(bad) => survey.bad.push(bad),
        }
    }
    survey
}

/// One image.
fn look_at(list: &ImageList, index: usize) -> Result<Surveyed, BadImage> {
    let path = list.paths[index].clone();
    let bad = |reason| BadImage {
        path: path.clone(),
        reason,
    };
    let bytes = read_bytes(&list.full_path(index)).map_err(bad)?;
    let (width, height) = decode(&bytes).map_err(bad)?.dimensions();
    Ok(Surveyed {
        path,
        blake3: *blake3::hash(&bytes).as_bytes(),
        width,
        height,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::sync::Mutex;

    use super::*;
    use crate::images::listing::list;

    #[test]
    fn good_and_bad_images_are_told_apart_in_order() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        let picture = image::RgbImage::from_fn(5, 3, |x, y| image::Rgb([x as u8, y as u8, 0]));
        for name in ["d.png", "a.png"] {
            picture.save(at(name)).unwrap();
        }
        // A PNG under a JPEG's name is still a PNG.
        fs::rename(at("d.png"), at("d.jpg")).unwrap();
        fs::write(at("b.png"), b"").unwrap();
        fs::write(at("c.gif"), b"<html>404</html>").unwrap();
        let whole = fs::read(at("a.png")).unwrap();
        fs::write(at("e.png"), &whole[..whole.len() - 20]).unwrap();

        let seen = Mutex::new(BTreeSet::new());
        let list = list(root.path(), None).unwrap();
        let survey = survey(&list, &|done, total| {
            assert!(seen.lock().unwrap().insert(done) && total == 5);
        });
        assert_eq!(seen.into_inner().unwrap(), (1..=5).collect());

        let good: Vec<_> = survey
            .good
            .iter()
            .map(|image| image.path.to_str().unwrap())
            .collect();
        assert_eq!(good, ["a.png", "d.jpg"]);
        assert_eq!((survey.good[0].width, survey.good[0].height), (5, 3));
        assert_eq!(survey.good[0].blake3, *blake3::hash(&whole).as_bytes());
        let bad: Vec<_> = survey
            .bad
            .iter()
            .map(|bad| bad.reason.to_string())
            .collect();
        assert_eq!(bad[0], "the file is empty");
        assert_eq!(
            bad[1],
            "not an image: it looks like an HTML page (a failed download?)"
        );
        assert!(bad[2].starts_with("truncated or corrupt: "), "{}", bad[2]);
    }

    #[test]
    fn threads_do_not_change_the_result() {
        let root = tempfile::tempdir().unwrap();
        for i in 0..20u8 {
            let picture = image::RgbImage::from_pixel(3, 3, image::Rgb([i; 3]));
            picture.save(root.path().join(format!("{i}.png"))).unwrap();
            fs::write(root.path().join(format!("{i}.jpg")), [i]).unwrap();
        }
        let list = list(root.path(), None).unwrap();
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| survey(&list, &|_, _| ()))
        };
        assert_eq!(with(1), with(7));
        assert_eq!(with(1).good.len(), 20);
    }
}
