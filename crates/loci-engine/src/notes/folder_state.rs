//! The state of the folder of notes in this process.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use loci_core::{
    ContentHash, FileSnapshot, FileStamp, FolderScan, MemoryId, NoteFile, NoteFolder, Timestamp,
};

use crate::wakeup::Wakeup;

/// Files that are read to determine whether another folder contains the known notes.
const COMPARED_MAX: usize = 64;

/// A machine with a folder of notes, as the holder of the lease.
#[derive(Debug)]
pub(crate) struct NotesOwner {
    /// Its name for people, a space, and what tells it from another machine of that name.
    pub(super) holder: String,
}

impl NotesOwner {
    pub(crate) fn new(name: &str, machine: &str) -> Self {
        NotesOwner {
            holder: format!("{name} {machine}"),
        }
    }
}

/// The folder of notes of the default space.
pub(crate) struct FolderState {
    pub(crate) files: Arc<dyn NoteFolder>,
    /// The tool set that is the origin of notes that people wrote.
    pub(crate) origin: &'static str,
    /// This machine, if several share the store.
    pub(super) keeper: Option<NotesOwner>,
    /// Wakes the reconciliation when something may have changed in the folder.
    pub(crate) bell: Arc<Wakeup>,
    state: Mutex<State>,
    pub(super) ready: Condvar,
}

/// The state of the folder in this process.
#[derive(Debug, Default)]
pub(super) struct State {
    /// True until the first reconciliation has ended.
    pub(super) is_starting: bool,
    /// The reason why the folder is away, from the last reconciliation.
    pub(super) away: Option<String>,
    /// Files whose rows are not settled, but whose links, in both directions, are up to date: with
    /// the memory and the content for which that holds.
    pub(super) linked: HashMap<String, (MemoryId, ContentHash)>,
    /// The end of the lease by which this machine keeps the notes; `None` if it does not, or needs
    /// none.
    pub(super) kept_until: Option<Timestamp>,
}

impl FolderState {
    pub(crate) fn new(files: Arc<dyn NoteFolder>, origin: &'static str) -> Self {
        FolderState {
            files,
            origin,
            keeper: None,
            bell: Arc::default(),
            state: Mutex::default(),
            ready: Condvar::new(),
        }
    }

    /// Returns the folder as that of one machine among several that share the store.
    pub(crate) fn kept_by(self, keeper: NotesOwner) -> Self {
        FolderState {
            keeper: Some(keeper),
            ..self
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn end_start(&self) {
        self.state().is_starting = false;
        self.ready.notify_all();
    }

    /// Records whether the folder is away.
    pub(crate) fn set_unavailable(&self, away: Option<&String>) {
        let mut state = self.state();
        if let Some(why) = away
            && state.away.is_none()
        {
            tracing::warn!("{why}");
        }
        state.away = away.cloned();
    }

    /// Returns the reason why missing files cannot be determined, if there is one: the folder does
    /// not exist, or it has another identity than the `noted` one and contains none of the known
    /// notes. May read some files.
    pub(crate) fn unavailable_reason(
        &self,
        rows: &[NoteFile],
        scan: &FolderScan,
        noted: Option<&String>,
    ) -> Option<String> {
        let count = rows
            .iter()
            .filter(|row| row.missing_since.is_none() && row.memory.is_some())
            .count();
        let is_known_folder = || scan.identity.as_ref() == noted || self.has_known(rows, scan);
        if count == 0 || (scan.identity.is_some() && is_known_folder()) {
            return None;
        }
        let location = self.files.location();
        Some(if scan.identity.is_none() {
            format!(
                "the folder of notes {location} is not there; what is known of its {count} notes stays"
            )
        } else {
            format!(
                "the folder of notes {location} is another one than before and has none of the {count} notes that are \
                 known, as if a drive were not mounted; what is known of them stays"
            )
        })
    }

    /// Returns true if the folder contains a known file: one with the known size and time, or one
    /// of the first [`COMPARED_MAX`] with the known content. A name is not evidence, because many
    /// folders have a `README.md`, and neither is an empty file.
    fn has_known(&self, rows: &[NoteFile], scan: &FolderScan) -> bool {
        let known = rows.iter().filter(|row| row.missing_since.is_none());
        let there: Vec<(&NoteFile, FileStamp)> = known
            .filter_map(|row| {
                let index = scan
                    .files
                    .binary_search_by(|(path, _)| path.as_str().cmp(&row.path))
                    .ok()?;
                Some((row, scan.files[index].1)).filter(|(_, stamp)| stamp.bytes > 0)
            })
            .collect();
        there.iter().any(|(row, stamp)| row.stamp == *stamp)
            || there
                .iter()
                .take(COMPARED_MAX)
                .any(|(row, _)| self.holds(row))
    }

    /// Returns true if the file at the path of a row has the known text, though it has another stamp,
    /// e.g. because it was restored from a backup or given other permissions.
    pub(super) fn is_equal(&self, row: &NoteFile, stamp: FileStamp) -> bool {
        row.stamp.bytes == stamp.bytes
            && matches!(self.files.read(&row.path), Ok(Some(read)) if read.hash == row.hash)
    }

    /// Returns true if the file at the path of a row has the known content or the known `uid`.
    fn holds(&self, row: &NoteFile) -> bool {
        let Ok(Some(FileSnapshot { hash, content, .. })) = self.files.read(&row.path) else {
            return false;
        };
        // A file that is not indexed may not have been read, so that its hash is not valid.
        (row.memory.is_some() && row.hash == hash)
            || (row.says_id && content.is_some_and(|content| content.note.id == row.memory))
    }
}
