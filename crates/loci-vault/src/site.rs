//! The place of a folder of notes on the disk, with its lock, its temporary files and what these
//! displaced.

use std::io::{self, ErrorKind};
use std::mem;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::Duration;

use loci_core::{Clock, Result};

use crate::disk::Folder;
use crate::displaced::{KEPT_MAX, KEPT_SECONDS, Keep, Kept};
use crate::lock::{Held, LockFile};
use crate::scan::walk;
use crate::write::Temporary;

pub(crate) struct Site {
    pub root: PathBuf,
    pub temporary: Temporary,
    pub clock: Arc<dyn Clock>,
    lock: LockFile,
    /// Whether what a crash may have left was looked for since this process began.
    is_cleared: AtomicBool,
    pub keep: Keep,
}

impl Site {
    pub fn new(root: PathBuf, lock_file: PathBuf, clock: Arc<dyn Clock>) -> Self {
        Site {
            root,
            temporary: Temporary::default(),
            clock,
            lock: LockFile::new(lock_file),
            is_cleared: AtomicBool::new(false),
            keep: Keep::default(),
        }
    }

    /// Waits for the lock, and puts in order what was left.
    ///
    /// # Errors
    /// As for [`LockFile::lock`].
    pub fn lock(self: &Arc<Self>) -> Result<Held> {
        let held = self.lock.lock()?;
        self.temporary.name_after(&held.token);
        if held.was_abandoned || !self.is_cleared.load(Ordering::Relaxed) {
            self.clear();
            self.keep_displaced("");
        }
        self.look(false);
        Ok(held)
    }

    /// Clears what a crash left. What cannot be cleared now stays until the next time.
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
        // A folder that is away is looked through when it is back.
        let mut is_cleared = walked.is_ok();
        for error in cleared.chain([walked]).filter_map(io::Result::err) {
            if error.kind() != ErrorKind::NotFound {
                is_cleared = false;
                tracing::warn!(%error, "what a crash left among the notes cannot be cleared");
            }
        }
        self.is_cleared.store(is_cleared, Ordering::Relaxed);
    }

    /// Opens the folder at the end of a path, none of which may be a link.
    pub fn enter(&self, parents: &str) -> io::Result<Folder> {
        let parents = parents.split('/').filter(|parent| !parent.is_empty());
        parents.fold(Folder::open(&self.root), |folder, parent| {
            folder?.enter(parent)
        })
    }

    /// Keeps what a write has displaced in that folder, and sees to it that it is looked at when
    /// its time is over.
    pub fn keep_displaced(self: &Arc<Self>, parents: &str) {
        let until = self.clock.now().plus_seconds(KEPT_SECONDS);
        let mut files = self.keep.files();
        for displaced in self.temporary.take_displaced() {
            files.kept.push_back(Kept {
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
            // Without it, they are looked at when the lock is taken the next time.
            files.is_awaited = thread.spawn(move || site.await_the_last()).is_ok();
        }
    }

    /// Looks at each displaced file when its time is over, until there are none.
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

    /// Looks at all displaced files for the last time.
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
        // A fault of the lock has been told to others; what was written is worth more.
        let held = is_changed.then(|| self.lock());
        self.look(true);
        drop(held);
    }

    /// Looks whether somebody wrote into what was displaced. Whoever calls holds the lock of the
    /// folder.
    fn look(&self, is_end: bool) {
        let mut files = self.keep.files();
        let kept = mem::take(&mut files.kept).into_iter();
        files.kept = kept.filter_map(|kept| self.look_at(kept, is_end)).collect();
    }

    /// Puts what somebody wrote into a displaced file beside the note. None if it need not be kept
    /// any longer.
    fn look_at(&self, mut kept: Kept, is_end: bool) -> Option<Kept> {
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
                tracing::warn!(%error, "what somebody wrote into a note that loci had changed cannot be kept yet");
                kept.displaced.forget_stamp();
                let until = if is_last {
                    now.plus_seconds(KEPT_SECONDS)
                } else {
                    kept.until
                };
                Some(Kept { until, ..kept })
            }
        }
    }
}

/// The folders of a path, empty if there are none, and its name.
pub(crate) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}
