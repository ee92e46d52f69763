//! Copies files of the folder byte for byte, to export and restore them.

use std::io::{self, ErrorKind, Read};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use loci_core::{Error, Result};

use crate::VaultFolder;
use crate::disk::{Folder, written_stamp};
use crate::folder::{parts, unwritable};
use crate::read::{self, reason};
use crate::seal::{MORE_BYTES_MAX, is_sealed, opened};

/// The number of attempts to read a file that changes during the read.
const ATTEMPTS: usize = 5;

/// A file as it was at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileCopy {
    /// All its bytes.
    pub bytes: Vec<u8>,
    /// The time of its last modification in nanoseconds since 1970.
    pub modified_nanoseconds: i64,
}

/// The outcome of restoring a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoredFile {
    /// The file was written.
    New,
    /// The file existed with the same bytes.
    Same,
    /// Something else has its path, and stays.
    Other,
}

impl VaultFolder {
    /// Checks that a note in the folder may have that path.
    ///
    /// # Errors
    /// `invalid_argument` if it may not.
    pub fn check_path(path: &str) -> Result<()> {
        parts(path).map(|_| ())
    }

    /// Reads a file with all its bytes; `None` if it does not exist or is not a regular file.
    ///
    /// # Errors
    /// `invalid_argument` if the path does not lead to a note in the folder; `too_large` beyond
    /// `bytes_max`; `unavailable` if it cannot be read, or changes during every attempt.
    pub fn copy_of(&self, path: &str, bytes_max: u64) -> Result<Option<FileCopy>> {
        let (parents, name) = parts(path)?;
        let unreadable = |error: io::Error| {
            Error::unavailable(format!(
                "the note {path} cannot be read: {}",
                reason(&error)
            ))
        };
        let opened = self
            .site
            .enter(parents)
            .and_then(|folder| Ok((folder.open_file(name)?, folder)));
        let (file, folder) = match opened {
            Ok(opened) => opened,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(unreadable(error)),
        };
        let more = folder.seal().map_or(0, |_| MORE_BYTES_MAX);
        let file_bytes_max = bytes_max.saturating_add(more);
        for _ in 0..ATTEMPTS {
            let metadata = file.metadata().map_err(unreadable)?;
            if !metadata.is_file() {
                return Ok(None);
            }
            if metadata.len() > file_bytes_max {
                return Err(too_large(path, metadata.len(), bytes_max));
            }
            let before = written_stamp(&metadata);
            let bytes = all(&file, file_bytes_max).map_err(unreadable)?;
            if written_stamp(&file.metadata().map_err(unreadable)?) == before
                && bytes.len() as u64 == before.bytes
            {
                let bytes = opened_note(&folder, bytes, path)?;
                if bytes.len() as u64 > bytes_max {
                    return Err(too_large(path, bytes.len() as u64, bytes_max));
                }
                return Ok(Some(FileCopy {
                    bytes,
                    modified_nanoseconds: before.modified_nanoseconds,
                }));
            }
        }
        Err(Error::unavailable(format!(
            "the note {path} is being written all the time; try again"
        )))
    }

    /// Returns the outcome that [`put_copy`](VaultFolder::put_copy) would have now, and writes
    /// nothing.
    ///
    /// # Errors
    /// `invalid_argument` if the path does not lead to a note in the folder; `unavailable` if the
    /// folder cannot be read.
    pub fn compare_copy(&self, path: &str, copy: &FileCopy) -> Result<RestoredFile> {
        match self.copy_of(path, copy.bytes.len() as u64) {
            Ok(None) => Ok(RestoredFile::New),
            Ok(Some(there)) if there.bytes == copy.bytes => Ok(RestoredFile::Same),
            Ok(Some(_)) => Ok(RestoredFile::Other),
            Err(error) if error.code == loci_core::ErrorCode::TooLarge => Ok(RestoredFile::Other),
            Err(error) => Err(error),
        }
    }

    /// Writes a file into the folder, atomically and durably, unless something has its path;
    /// creates its parent folders. Follows no symbolic link. The caller holds the lock.
    ///
    /// # Errors
    /// `invalid_argument` if the path does not lead to a note in the folder, or the file system
    /// does not allow it; `unavailable` if nothing can be written: then the file does not exist,
    /// unless the disk also refuses to remove it again.
    pub fn put_copy(&self, path: &str, copy: &FileCopy) -> Result<RestoredFile> {
        let (parents, name) = parts(path)?;
        let mut folder = self.enter_or_make().map_err(|error| unwritable(&error))?;
        for parent in parents.split('/').filter(|parent| !parent.is_empty()) {
            folder = match enter_or_make(&folder, parent, self.site.temporary.mode) {
                Ok(folder) => folder,
                Err(error) if error.kind() == ErrorKind::NotADirectory => {
                    return Ok(RestoredFile::Other);
                }
                Err(error) => return Err(not_taken(path, &error)),
            };
        }
        if folder.is_file(name).is_ok() {
            return Ok(found(&folder, name, &copy.bytes));
        }
        let modified = moment(copy.modified_nanoseconds);
        let created = self
            .site
            .temporary
            .create_as_of(&folder, name, &copy.bytes, modified);
        self.site.keep_displaced(parents);
        self.names.forget();
        match created {
            Ok(_) => Ok(RestoredFile::New),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                Ok(found(&folder, name, &copy.bytes))
            }
            Err(error) => Err(not_taken(path, &error)),
        }
    }
}

fn too_large(path: &str, bytes: u64, bytes_max: u64) -> Error {
    let message = format!("the note {path} has {bytes} bytes; at most {bytes_max} are taken");
    Error::new(loci_core::ErrorCode::TooLarge, message)
}

/// The bytes of a note in a file, which is sealed or not.
fn opened_note(folder: &Folder, bytes: Vec<u8>, path: &str) -> Result<Vec<u8>> {
    let bytes = opened(folder.seal(), bytes);
    if is_sealed(&bytes) {
        let problem = read::unopened_seal().message;
        return Err(Error::unavailable(format!(
            "the note {path} cannot be read: {problem}"
        )));
    }
    Ok(bytes)
}

/// Returns the error for a note that could not be written: a problem of only this note, or of the
/// folder.
fn not_taken(path: &str, error: &io::Error) -> Error {
    match error.kind() {
        // These errors concern only this note, so that a caller with several notes can continue.
        ErrorKind::InvalidFilename | ErrorKind::InvalidInput | ErrorKind::PermissionDenied => {
            Error::invalid(
                "path",
                format!(
                    "leads to {path}, which cannot be written there: {}",
                    reason(error)
                ),
            )
        }
        _ => unwritable(error),
    }
}

fn enter_or_make(folder: &Folder, name: &str, file_mode: u32) -> io::Result<Folder> {
    match folder.enter(name) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            match folder.make_folder(name, file_mode) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
                _ => folder.enter(name),
            }
        }
        entered => entered,
    }
}

fn found(folder: &Folder, name: &str, bytes: &[u8]) -> RestoredFile {
    let is_same = || {
        let file = folder.open_file(name).ok()?;
        let is_file = file.metadata().ok()?.is_file();
        let there = all(&file, bytes.len() as u64 + MORE_BYTES_MAX).ok()?;
        Some(is_file && opened(folder.seal(), there) == bytes)
    };
    if is_same().unwrap_or(false) {
        RestoredFile::Same
    } else {
        RestoredFile::Other
    }
}

/// Reads all bytes of a file, or one byte more than the limit if it is longer.
fn all(mut file: &std::fs::File, bytes_max: u64) -> io::Result<Vec<u8>> {
    io::Seek::rewind(&mut file)?;
    let mut bytes = Vec::new();
    file.take(bytes_max.saturating_add(1))
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn moment(nanoseconds: i64) -> Option<SystemTime> {
    let since = Duration::from_nanos(nanoseconds.unsigned_abs());
    if nanoseconds < 0 {
        UNIX_EPOCH.checked_sub(since)
    } else {
        UNIX_EPOCH.checked_add(since)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use loci_core::{Clock, ErrorCode, NoteFolder, Timestamp};

    use super::*;

    struct Epoch;

    impl Clock for Epoch {
        fn now(&self) -> Timestamp {
            Timestamp::from_microseconds(0)
        }
    }

    fn copy(bytes: &[u8]) -> FileCopy {
        FileCopy {
            bytes: bytes.to_vec(),
            modified_nanoseconds: 1_234_567_890_123_456_789,
        }
    }

    #[test]
    fn a_file_comes_back_with_its_bytes_and_its_time() {
        let outside = tempfile::tempdir().unwrap();
        let folder = VaultFolder::new(
            outside.path().join("a/notes"),
            outside.path().join("lock"),
            Arc::new(Epoch),
        );
        let _lock = folder.lock().unwrap();
        for (path, bytes) in [
            ("tea.md", &b"tea\r\n"[..]),
            ("a/b c/\u{65e5}.MD", b"\xff\0"),
            ("a/empty.md", b""),
        ] {
            assert_eq!(folder.copy_of(path, 9), Ok(None));
            assert_eq!(
                folder.put_copy(path, &copy(bytes)),
                Ok(RestoredFile::New),
                "{path}"
            );
            assert_eq!(
                folder.copy_of(path, bytes.len() as u64),
                Ok(Some(copy(bytes))),
                "{path}"
            );
            assert_eq!(
                folder.put_copy(path, &copy(bytes)),
                Ok(RestoredFile::Same),
                "{path}"
            );
            for other in [&b"other"[..], &[bytes, b"x"].concat()] {
                assert_eq!(
                    folder.put_copy(path, &copy(other)),
                    Ok(RestoredFile::Other),
                    "{path}"
                );
            }
            assert_eq!(folder.copy_of(path, 9), Ok(Some(copy(bytes))), "{path}");
        }
        assert_eq!(
            folder.copy_of("tea.md", 4).unwrap_err().code,
            ErrorCode::TooLarge
        );
        let names = fs::read_dir(outside.path().join("a/notes"))
            .unwrap()
            .count();
        assert_eq!(names, 2, "no temporary file is left");
    }

    #[test]
    fn what_one_note_alone_cannot_have_is_no_fault_of_the_folder() {
        let outside = tempfile::tempdir().unwrap();
        let folder = VaultFolder::new(
            outside.path().join("notes"),
            outside.path().join("lock"),
            Arc::new(Epoch),
        );
        let _lock = folder.lock().unwrap();
        for path in [
            format!("{}.md", "z".repeat(300)),
            format!("{}/x.md", "z".repeat(300)),
        ] {
            let error = folder.put_copy(&path, &copy(b"x")).unwrap_err();
            assert_eq!(error.code, ErrorCode::InvalidArgument, "{error:?}");
            assert!(error.message.contains(&path), "{error:?}");
        }
        assert_eq!(
            fs::read_dir(outside.path().join("notes")).unwrap().count(),
            0,
            "no temporary file is left"
        );
        assert_eq!(
            folder.put_copy("after.md", &copy(b"x")),
            Ok(RestoredFile::New)
        );
    }

    #[test]
    fn nothing_is_put_outside_of_the_folder() {
        let outside = tempfile::tempdir().unwrap();
        let root = outside.path().join("notes");
        let folder = VaultFolder::new(root.clone(), outside.path().join("lock"), Arc::new(Epoch));
        fs::create_dir_all(root.join("deep")).unwrap();
        let _lock = folder.lock().unwrap();
        for path in [
            "",
            "/",
            "/tmp/x.md",
            "../x.md",
            "a/../../x.md",
            "a//x.md",
            ".git/x.md",
            "a/.x.md",
            "x.txt",
            "a\0.md",
            "./x.md",
        ] {
            assert_eq!(
                folder.put_copy(path, &copy(b"x")).unwrap_err().code,
                ErrorCode::InvalidArgument,
                "{path}"
            );
            assert_eq!(
                folder.copy_of(path, 9).unwrap_err().code,
                ErrorCode::InvalidArgument,
                "{path}"
            );
            assert_eq!(
                VaultFolder::check_path(path).unwrap_err().code,
                ErrorCode::InvalidArgument,
                "{path}"
            );
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(outside.path(), root.join("out")).unwrap();
            std::os::unix::fs::symlink(outside.path().join("new.md"), root.join("link.md"))
                .unwrap();
            fs::write(outside.path().join("there.md"), "secret").unwrap();
            std::os::unix::fs::symlink(outside.path().join("there.md"), root.join("deep/there.md"))
                .unwrap();
            for path in ["out/x.md", "link.md", "deep/there.md"] {
                assert_eq!(
                    folder.put_copy(path, &copy(b"secret")),
                    Ok(RestoredFile::Other),
                    "{path}"
                );
                assert!(!matches!(folder.copy_of(path, 9), Ok(Some(_))), "{path}");
            }
            assert!(
                !outside.path().join("x.md").exists() && !outside.path().join("new.md").exists()
            );
        }
    }
}
