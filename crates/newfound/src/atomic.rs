//! Files that appear whole or not at all.
//!
//! A file is written under another name in the same folder, brought to the disk, and only then given
//! its own name; a rename within a folder is one step for everyone who looks. So a reader sees the
//! old file or the new one, never half of one, whatever interrupts the writer: an error, a panic,
//! a full disk, a loss of power.
//!
//! A killed process can leave its temporary file behind. Its name begins with `.newfound-` and ends
//! with `.tmp`, it is never read, and it can be deleted.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes `bytes` to the file at `path`, replacing what was there.
///
/// # Errors
///
/// What the operating system says. The file at `path` is then still the old one, or still absent,
/// unless only the last step failed, bringing the folder itself to the disk.
pub fn write(path: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
    write_with(path, |file| file.write_all(bytes))
}

/// Writes to the file at `path` whatever `fill` writes, replacing what was there.
///
/// Nothing changes under `path` before `fill` has returned `Ok`. There is no need to flush.
///
/// # Errors
///
/// As [`write()`], and every error of `fill`.
pub fn write_with(
    path: impl AsRef<Path>,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    let path = path.as_ref();
    if path.file_name().is_none() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "this path names no file",
        ));
    }
    // The parent of a bare file name is the empty path, which cannot be opened.
    let folder = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let (temporary, file) = Temporary::create(folder)?;
    let mut writer = BufWriter::new(file);
    fill(&mut writer)?;
    let file = writer
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?;
    // Before the rename: otherwise a loss of power could leave the name on an empty file.
    file.sync_all()?;
    drop(file);
    temporary.rename(path)?;
    sync_folder(folder)
}

/// A file that is deleted when it goes out of scope, unless it has been renamed.
struct Temporary {
    path: PathBuf,
    renamed: bool,
}

impl Temporary {
    /// Creates a new, empty file in `folder`.
    fn create(folder: &Path) -> io::Result<(Self, File)> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!(".newfound-{}-{count}.tmp", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    return Ok((
                        Self {
                            path,
                            renamed: false,
                        },
                        file,
                    ));
                }
                // Left behind by a killed process that had the same number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn rename(mut self, path: &Path) -> io::Result<()> {
        fs::rename(&self.path, path)?;
        self.renamed = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            // The error that brought us here matters more than this one.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Brings the folder's list of names to the disk, so that the rename survives a loss of power.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder)?.sync_all() {
        // Some network file systems cannot do this for a folder; the file itself is safe.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
            ) =>
        {
            Ok(())
        }
        result => result,
    }
}

/// Elsewhere a folder cannot be opened as a file, and the rename is journalled by the system.
#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// The names in a folder, hidden ones too.
    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn writes_and_replaces_and_leaves_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write(&path, b"first, and longer").unwrap();
        write(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(names(folder.path()), ["file"]);
    }

    #[test]
    fn nothing_changes_before_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write(&path, b"old").unwrap();
        write_with(&path, |file| {
            file.write_all(b"new")?;
            file.flush()?;
            assert_eq!(fs::read(&path)?, b"old");
            Ok(())
        })
        .unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[test]
    fn an_error_keeps_the_old_file_and_removes_the_temporary() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write(&path, b"old").unwrap();
        let error = write_with(&path, |file| {
            file.write_all(b"half")?;
            assert_eq!(names(folder.path()).len(), 2);
            Err(io::Error::other("the disk is full"))
        });
        assert_eq!(error.unwrap_err().to_string(), "the disk is full");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["file"]);
    }

    #[test]
    fn a_panic_removes_the_temporary() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let panic = catch_unwind(AssertUnwindSafe(|| {
            write_with(&path, |_| panic!("on purpose"))
        }));
        assert!(panic.is_err());
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn a_failed_rename_removes_the_temporary() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("folder");
        fs::create_dir_all(path.join("not empty")).unwrap();
        assert!(write(&path, b"bytes").is_err());
        assert_eq!(names(folder.path()), ["folder"]);
    }

    #[test]
    fn a_path_without_a_file_name_or_a_folder_is_an_error() {
        assert_eq!(
            write("/", b"").unwrap_err().kind(),
            io::ErrorKind::InvalidInput
        );
        assert_eq!(
            write("", b"").unwrap_err().kind(),
            io::ErrorKind::InvalidInput
        );
        let folder = tempfile::tempdir().unwrap();
        let absent = folder.path().join("absent").join("file");
        assert_eq!(
            write(absent, b"").unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }

    #[test]
    fn of_many_writers_one_wins_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::thread::scope(|scope| {
            for writer in 0..8u8 {
                let path = &path;
                scope.spawn(move || write(path, &vec![writer; 100_000]).unwrap());
            }
        });
        let bytes = fs::read(&path).unwrap();
        assert_eq!(bytes.len(), 100_000);
        assert!(bytes.iter().all(|byte| *byte == bytes[0]));
        assert_eq!(names(folder.path()), ["file"]);
    }

    #[test]
    fn a_temporary_left_behind_is_stepped_over() {
        let folder = tempfile::tempdir().unwrap();
        // Far more than the other tests can have used up.
        for count in 0..200 {
            let name = format!(".newfound-{}-{count}.tmp", std::process::id());
            fs::write(folder.path().join(name), b"stale").unwrap();
        }
        write(folder.path().join("file"), b"bytes").unwrap();
        assert_eq!(names(folder.path()).len(), 201);
    }

    #[cfg(unix)]
    #[test]
    fn others_may_read_the_file_as_they_may_any_new_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (ours, plain) = (folder.path().join("ours"), folder.path().join("plain"));
        write(&ours, b"").unwrap();
        fs::write(&plain, b"").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&ours), mode(&plain));
    }
}
