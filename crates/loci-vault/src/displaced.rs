//! Files that have lost their names to ours, while somebody may still have them open and write.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use loci_core::{ContentHash, FileStamp, Timestamp};

use crate::disk::{Folder, has_name, stamp, wait_for_writers};
use crate::read;
use crate::write::short;

/// Files that are kept open; of more, those that were displaced first are given up.
pub(crate) const KEPT_MAX: usize = 64;
/// How long nobody must have written for what is there to be taken for whole before the time is
/// over.
const PAUSE_SECONDS: i64 = 5;
/// How long a file is kept open.
pub(crate) const KEPT_SECONDS: i64 = 60;

/// A file that was displaced, open.
#[derive(Debug)]
pub(crate) struct Displaced {
    pub file: File,
    /// Short hashes of what nobody needs it for.
    pub known: Vec<String>,
    /// As of when it was last hashed.
    stamp: Option<FileStamp>,
}

impl Displaced {
    /// Opens a file that is about to lose its name.
    pub fn open(folder: &Folder, name: &str, known: &[String]) -> io::Result<Self> {
        Ok(Displaced {
            file: folder.open_file(name)?,
            known: known.to_vec(),
            stamp: None,
        })
    }

    /// The hash of what it holds, once whoever is just writing has done so; none if it is no file,
    /// or larger than a note may be.
    pub fn hash(&self) -> io::Result<Option<ContentHash>> {
        wait_for_writers(&self.file)?;
        Ok(read::contents(&self.file)?.map(|(bytes, _)| read::hash(&bytes)))
    }

    /// Has it hashed again the next time, whatever its stamp.
    pub fn forget_stamp(&mut self) {
        self.stamp = None;
    }

    /// Whether it holds something that is known nowhere else. Its bytes are looked at if its stamp
    /// is another one than the last time and the writer pauses, or in any case if this is the last
    /// time: two writes in one instant have one stamp. A file that has a name again, or another
    /// one, loses nothing.
    pub fn is_changed(&mut self, now: Timestamp, is_last: bool) -> io::Result<bool> {
        let metadata = self.file.metadata()?;
        let stamp = stamp(&metadata);
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
pub(crate) struct Kept {
    pub displaced: Displaced,
    /// The folder that it was in.
    pub parents: String,
    pub until: Timestamp,
}

/// The files that are kept. Whoever waits for the lock of the folder does not hold this one.
#[derive(Debug, Default)]
pub(crate) struct Keep {
    files: Mutex<Files>,
    /// Told when nothing is to be waited for any more.
    pub ended: Condvar,
}

#[derive(Debug, Default)]
pub(crate) struct Files {
    /// The oldest first.
    pub kept: VecDeque<Kept>,
    /// Whether a thread waits for the time of the oldest.
    pub is_awaited: bool,
    pub has_ended: bool,
}

impl Keep {
    pub fn files(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
