//! The location of a folder of notes on the disk, with its lock, its temporary files and the files
//! that these displaced.

use std::io::{self, ErrorKind};
use std::mem;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::Duration;

use loci_core::{Clock, Result};

use crate::disk::Folder;
use crate::displaced_file::{KEPT_MAX, KEPT_SECONDS, RetainedFile, RetainedFiles};
use crate::lock::{LockFile, LockGuard};
use crate::scan::walk;
use crate::seal::Seal;
use crate::write::Temporary;

pub(crate) struct Site {
    pub root: PathBuf,
    pub temporary: Temporary,
    /// The key of the notes, if they are sealed.
    pub seal: Option<Seal>,
    pub clock: Arc<dyn Clock>,
    lock: LockFile,
    /// True if files left by a crash were cleared since this process started.
    is_cleared: AtomicBool,
    pub keep: RetainedFiles,
}

impl Site {
    pub fn new(root: PathBuf, lock_file: PathBuf, clock: Arc<dyn Clock>) -> Self {
        Site {
            root,
            temporary: Temporary::default(),
            seal: None,
            clock,
            lock: LockFile::new(lock_file),
            is_cleared: AtomicBool::new(false),
            keep: RetainedFiles::default(),
        }
    }

    /// Waits for the lock, and cleans up after a crash.
    ///
    /// # Errors
    /// As for [`LockFile::lock`].
    pub fn lock(self: &Arc<Self>) -> Result<LockGuard> {
        let held = self.lock.lock()?;
        self.temporary.name_after(&held.token);
        if held.was_abandoned || !self.is_cleared.load(Ordering::Relaxed) {
            self.clear();
            self.keep_displaced("");
        }
        self.look(false);
        Ok(held)
    }

    /// Removes files left by a crash. Files that cannot be removed now stay until the next time.
    fn clear(&self) {
        let mut left = Vec::new();
        let walked = walk(&self.root, &mut Vec::new(), &mut |path, _, _| {
            let (_, name) = split(&path);
            if self.temporary.is_ours(name) {
                left.push(path);
            }
        });
        let cleared = left.iter().map(|path| {
            let (parents, name) = split(path);
            self.enter(parents)
                .and_then(|folder| self.temporary.clear(&folder, name))
        });
        // A missing folder is cleared when it is back.
        let mut is_cleared = walked.is_ok();
        for error in cleared.chain([walked]).filter_map(io::Result::err) {
            if error.kind() != ErrorKind::NotFound {
                is_cleared = false;
                tracing::warn!(%error, "what a crash left among the notes cannot be cleared");
            }
        }
        self.is_cleared.store(is_cleared, Ordering::Relaxed);
    }

    /// Opens the folder itself.
    pub fn open(&self) -> io::Result<Folder> {
        Ok(Folder::open(&self.root)?.with_seal(self.seal.clone()))
    }

    /// Opens the folder at the end of a path, which must not contain symbolic links.
    pub fn enter(&self, parents: &str) -> io::Result<Folder> {
        let parents = parents.split('/').filter(|parent| !parent.is_empty());
        parents.fold(self.open(), |folder, parent| folder?.enter(parent))
    }

    /// Keeps the files that a write has displaced in that folder, and starts a thread that checks
    /// them when their time is over.
    pub fn keep_displaced(self: &Arc<Self>, parents: &str) {
        let until = self.clock.now().plus_seconds(KEPT_SECONDS);
        let mut files = self.keep.files();
        for displaced in self.temporary.take_displaced() {
            files.kept.push_back(RetainedFile {
                displaced,
                parents: parents.to_owned(),
                until,
            });
        }
        while files.kept.len() > KEPT_MAX {
            let oldest = files.kept.pop_front();
            oldest.map(|oldest| self.look_at(oldest, true));
        }
        if !files.kept.is_empty() && !files.is_awaited {
            let site = Arc::clone(self);
            let thread = thread::Builder::new().name("vault-displaced".to_owned());
            // Without the thread, they are checked when the lock is next taken.
            files.is_awaited = thread.spawn(move || site.await_the_last()).is_ok();
        }
    }

    /// Checks each displaced file when its time is over, until there are no more.
    fn await_the_last(self: &Arc<Self>) {
        let mut files = self.keep.files();
        while let Some(until) = files
            .kept
            .front()
            .map(|oldest| oldest.until)
            .filter(|_| !files.has_ended)
        {
            let left = until
                .microseconds()
                .saturating_sub(self.clock.now().microseconds());
            if let Ok(left @ 1..) = u64::try_from(left) {
                let waited = self
                    .keep
                    .ended
                    .wait_timeout(files, Duration::from_micros(left));
                (files, _) = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            drop(files);
            let held = self.lock();
            if held.is_err() {
                self.look(false);
            }
            drop(held);
            files = self.keep.files();
        }
        files.is_awaited = false;
    }

    /// Checks all displaced files for the last time.
    pub fn end(self: &Arc<Self>) {
        let now = self.clock.now();
        let mut files = self.keep.files();
        files.has_ended = true;
        self.keep.ended.notify_all();
        let is_changed = files
            .kept
            .iter_mut()
            .any(|kept| kept.displaced.is_changed(now, true).unwrap_or(true));
        drop(files);
        // Proceeds without the lock if it fails, because written text must not be lost.
        let held = is_changed.then(|| self.lock());
        self.look(true);
        drop(held);
    }

    /// Checks the displaced files for new text. The caller holds the lock of the folder.
    fn look(&self, is_end: bool) {
        let mut files = self.keep.files();
        let kept = mem::take(&mut files.kept).into_iter();
        files.kept = kept.filter_map(|kept| self.look_at(kept, is_end)).collect();
    }

    /// Recovers text that was written to a displaced file into a file beside the note. `None` if
    /// the displaced file need not be kept any longer.
    fn look_at(&self, mut kept: RetainedFile, is_end: bool) -> Option<RetainedFile> {
        let now = self.clock.now();
        let is_last = is_end || kept.until <= now;
        let put = kept
            .displaced
            .is_changed(now, is_last)
            .and_then(|is_changed| {
                if !is_changed {
                    return Ok(());
                }
                // Its folder may be gone.
                let folder = self.enter(&kept.parents).or_else(|_| self.enter(""))?;
                let hash = self.temporary.put_beside(&folder, &kept.displaced.file)?;
                kept.displaced.known.push(hash);
                Ok(())
            });
        match put {
            Ok(()) => (!is_last).then_some(kept),
            Err(error) => {
                tracing::warn!(%error, "the text that another program wrote into a note that loci had changed cannot be kept yet");
                kept.displaced.forget_stamp();
                let until = if is_last {
                    now.plus_seconds(KEPT_SECONDS)
                } else {
                    kept.until
                };
                Some(RetainedFile { until, ..kept })
            }
        }
    }
}

/// Returns the folders of a path, which may be empty, and its name.
pub(crate) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}
