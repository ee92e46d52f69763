//! Checks that the open files are still the files at their paths.
//!
//! A file that is deleted, moved or replaced stays open under Unix, and takes writes that are gone
//! when it is closed. So a commit is acknowledged only after a look at the paths. Names do not
//! change without a change of the folder, whose path is looked at first: one call of `stat` for all
//! writers that share the commit, and three more if the folder has changed.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fmt, io};

use loci_core::{Error, StoreFault};
use loci_keys::FILE as KEY_FILE;
use tempfile::TempDir;

use crate::failure::is_full;
use crate::opening::folder;
use crate::opening::open_error::DATABASE;

/// The write-ahead log of a database.
pub(crate) fn log_of(database: &Path) -> PathBuf {
    let mut path = database.to_owned().into_os_string();
    path.push("-wal");
    path.into()
}

/// Returns whether there is a file with something in it.
pub(crate) fn has_bytes(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.len() > 0)
}

/// A folder in memory, for temporary files where the disk of others is full.
const MEMORY_FOLDER: &str = "/dev/shm";

/// Copies a database and its write-ahead log, as far as they are there, into a folder among the
/// temporary files, for this user only. Where there is no room, which may be the disk of the
/// database, into a folder in memory, if the system has one.
pub(crate) fn copy_with_log(database: &Path) -> io::Result<TempDir> {
    let copied = copy_with_log_into(&std::env::temp_dir(), database);
    match copied {
        Err(error) if is_full(&error) && Path::new(MEMORY_FOLDER).is_dir() => {
            copy_with_log_into(Path::new(MEMORY_FOLDER), database)
        }
        copied => copied,
    }
}

/// Returns the fault for which a write of a few pages in the folder would fail: it finds no room, or
/// the disk is read-only.
pub(crate) fn write_fault(folder: &Path) -> Option<StoreFault> {
    const BYTES: usize = 64 << 10;
    let written =
        tempfile::tempfile_in(folder).and_then(|mut file| file.write_all(&vec![1; BYTES]));
    match written {
        Err(error) if is_full(&error) => Some(StoreFault::DiskFull),
        Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => {
            Some(StoreFault::ReadOnly)
        }
        _ => None,
    }
}

fn copy_with_log_into(folder: &Path, database: &Path) -> io::Result<TempDir> {
    let folder = tempfile::Builder::new()
        .prefix("loci-")
        .tempdir_in(folder)?;
    let to = folder.path().join(DATABASE);
    let key_file = database.with_file_name(KEY_FILE);
    let files = [
        (database, &to),
        (&log_of(database), &log_of(&to)),
        (&key_file, &to.with_file_name(KEY_FILE)),
    ];
    for (from, to) in files {
        if from == key_file && !from.exists() {
            continue;
        }
        // Not with its permissions, which may be what keeps it from being written.
        let mut copy = folder::create_file(to)?;
        if from.exists() {
            io::copy(&mut File::open(from)?, &mut copy)?;
        }
    }
    Ok(folder)
}

/// A file, whatever its name is: its device and its number there.
type FileId = (u64, u64);
/// The time since which a folder must be unchanged, so that a later change has another time: the
/// clock of FAT has steps of 2 s.
const STEP_MAX: Duration = Duration::from_secs(3);

/// The database, its log, and the index of that, in which SQLite has its locks.
#[derive(Debug)]
pub(crate) struct OpenFiles {
    folder: PathBuf,
    paths: [PathBuf; 3],
    known: Mutex<KnownFiles>,
    are_gone: AtomicBool,
}

#[derive(Debug, Default)]
struct KnownFiles {
    /// The files that were opened. None until [`OpenFiles::look`], and where the system has no such
    /// numbers.
    opened: [Option<FileId>; 3],
    /// The folder when all files were found at their paths, and the time since when it was as it
    /// is.
    folder: Option<(FileId, Duration)>,
}

/// The file that is no longer at its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MissingFile(PathBuf);

impl fmt::Display for MissingFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} was moved, deleted or replaced while loci has it open",
            self.0.display()
        )
    }
}

impl From<MissingFile> for Error {
    fn from(gone: MissingFile) -> Self {
        Error::unavailable(format!(
            "{gone}, so nothing is written: put it back, or stop loci and look"
        ))
    }
}

impl MissingFile {
    /// The error of a write that was committed before the look.
    pub(crate) fn after_a_commit(&self) -> Error {
        Error::unavailable(format!(
            "{self}: this write is not acknowledged, and may be there or not; put it back, or stop loci and look"
        ))
    }
}

impl OpenFiles {
    pub(crate) fn of(database: &Path) -> Self {
        let mut index = database.as_os_str().to_owned();
        index.push("-shm");
        OpenFiles {
            folder: database.parent().unwrap_or(database).to_owned(),
            paths: [database.to_owned(), log_of(database), index.into()],
            known: Mutex::default(),
            are_gone: AtomicBool::new(false),
        }
    }

    fn known(&self) -> MutexGuard<'_, KnownFiles> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the files at the paths for the ones that were just opened. The database must be the
    /// one that it was before.
    ///
    /// # Errors
    /// If it is another now.
    pub(crate) fn look(&self) -> Result<(), MissingFile> {
        self.check_database()?;
        let opened = [0, 1, 2].map(|file| stat(&self.paths[file]).ok().flatten().map(|(id, _)| id));
        *self.known() = KnownFiles {
            opened,
            folder: None,
        };
        Ok(())
    }

    /// Fails unless all files are at their paths. Logs it when that changes.
    pub(crate) fn check(&self) -> Result<(), MissingFile> {
        let mut known = self.known();
        // First, so that what changes from now on is seen next time.
        let folder = stat(&self.folder).ok().flatten();
        if folder.is_some() && folder == known.folder {
            return Ok(());
        }
        let gone = (0..self.paths.len()).find(|file| !self.is_at_path(&known, *file));
        known.folder = folder.filter(|folder| gone.is_none() && is_settled(folder.1));
        drop(known);
        let were_gone = self.are_gone.swap(gone.is_some(), Ordering::Relaxed);
        let Some(file) = gone else {
            if were_gone {
                tracing::info!(
                    "{} and its log are back at their paths: writing goes on",
                    self.paths[0].display()
                );
            }
            return Ok(());
        };
        let gone = MissingFile(self.paths[file].clone());
        if !were_gone {
            tracing::error!("{gone}: nothing is written until it is back");
        }
        Err(gone)
    }

    /// Fails if the database is not at its path, where a new connection would open another.
    pub(crate) fn check_database(&self) -> Result<(), MissingFile> {
        let is_at_path = self.is_at_path(&self.known(), 0);
        if is_at_path { Ok(()) } else { self.check() }
    }

    fn is_at_path(&self, known: &KnownFiles, file: usize) -> bool {
        known.opened[file].is_none_or(|opened| {
            stat(&self.paths[file]).is_ok_and(|now| now.is_some_and(|(id, _)| id == opened))
        })
    }

    /// Returns whether the last check failed.
    pub(crate) fn are_gone(&self) -> bool {
        self.are_gone.load(Ordering::Relaxed)
    }
}

/// Returns true if a change from now on has another time than this one.
#[expect(
    clippy::disallowed_methods,
    reason = "compared with the time of a folder, which the same clock gave"
)]
fn is_settled(changed: Duration) -> bool {
    SystemTime::now()
        .duration_since(UNIX_EPOCH + changed)
        .is_ok_and(|age| age > STEP_MAX)
}

/// The file at a path, and the time at which it was changed last.
#[cfg(unix)]
fn stat(path: &Path) -> io::Result<Option<(FileId, Duration)>> {
    use std::os::unix::fs::MetadataExt;
    let metadata = path.metadata()?;
    let changed = Duration::new(
        metadata.ctime().unsigned_abs(),
        metadata.ctime_nsec().unsigned_abs() as u32,
    );
    Ok(Some(((metadata.dev(), metadata.ino()), changed)))
}

/// Elsewhere an open file can be neither deleted nor moved.
#[cfg(not(unix))]
fn stat(_path: &Path) -> io::Result<Option<(FileId, Duration)>> {
    Ok(None)
}
