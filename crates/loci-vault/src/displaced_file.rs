//! Displaced files: files that a write has replaced, while an editor may still have them open and
//! write to them.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use loci_core::{ContentHash, FileStamp, Timestamp};

use crate::disk::{Folder, has_name, wait_for_writers, written_stamp};
use crate::read::{self, short};
use crate::seal::Seal;

/// The maximum number of files that are kept open; beyond it, the oldest are dropped.
pub(crate) const KEPT_MAX: usize = 64;
/// The seconds without a write after which the content of a file counts as complete before its time
/// is over.
const PAUSE_SECONDS: i64 = 5;
/// The seconds for which a file is kept open.
pub(crate) const KEPT_SECONDS: i64 = 60;

/// An open displaced file.
#[derive(Debug)]
pub(crate) struct DisplacedFile {
    pub file: File,
    /// Short hashes of contents that need not be recovered.
    pub known: Vec<String>,
    /// The stamp when it was last hashed.
    stamp: Option<FileStamp>,
    seal: Option<Seal>,
}

impl DisplacedFile {
    /// Opens a file that is about to lose its name.
    pub fn open(folder: &Folder, name: &str, known: &[String]) -> io::Result<Self> {
        Ok(DisplacedFile {
            file: folder.open_file(name)?,
            known: known.to_vec(),
            stamp: None,
            seal: folder.seal().cloned(),
        })
    }

    /// Returns the hash of its content, once processes that are writing it have finished; `None` if
    /// it is not a regular file, or larger than a note may be.
    pub fn hash(&self) -> io::Result<Option<ContentHash>> {
        wait_for_writers(&self.file)?;
        Ok(read::contents(self.seal.as_ref(), &self.file)?.map(|(bytes, _)| read::hash(&bytes)))
    }

    /// Forces a new hash at the next check, even if the stamp is the same.
    pub fn forget_stamp(&mut self) {
        self.stamp = None;
    }

    /// Returns true if its content exists nowhere else. The content is hashed if its stamp has
    /// changed since the last check and the writer pauses, or in any case at the last check: two
    /// writes in one instant have the same stamp. A file that has a name again, or another one,
    /// loses nothing.
    pub fn is_changed(&mut self, now: Timestamp, is_last: bool) -> io::Result<bool> {
        let metadata = self.file.metadata()?;
        // Waiting for writers changes the time of change.
        let stamp = written_stamp(&metadata);
        let pauses =
            stamp.modified_nanoseconds / 1_000 <= now.plus_seconds(-PAUSE_SECONDS).microseconds();
        if stamp.bytes == 0
            || has_name(&metadata)
            || !is_last && (self.stamp == Some(stamp) || !pauses)
        {
            return Ok(false);
        }
        let hash = self.hash()?;
        let is_new = self.stamp.replace(stamp) != Some(stamp);
        Ok(hash.map_or(is_new, |hash| !self.known.contains(&short(&hash))))
    }
}

/// A displaced file that is kept for a while.
#[derive(Debug)]
pub(crate) struct RetainedFile {
    pub displaced: DisplacedFile,
    /// The path of the folder that it was in.
    pub parents: String,
    pub until: Timestamp,
}

/// The kept files. A thread that waits for the lock of the folder must not hold this lock.
#[derive(Debug, Default)]
pub(crate) struct RetainedFiles {
    files: Mutex<Files>,
    /// Notified when the waiting thread should end.
    pub ended: Condvar,
}

#[derive(Debug, Default)]
pub(crate) struct Files {
    /// The oldest first.
    pub kept: VecDeque<RetainedFile>,
    /// True if a thread waits for the time of the oldest.
    pub is_awaited: bool,
    pub has_ended: bool,
}

impl RetainedFiles {
    pub fn files(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
