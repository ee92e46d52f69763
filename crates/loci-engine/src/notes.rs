//! The folder of notes, as the engine keeps it: what is known of its state in this process.

mod change;
mod identity;
mod index;
mod names;
mod reconciliation;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use loci_core::{
    ContentHash, FileProblem, FileProblemKind, FileRead, FileStamp, Filter, FolderScan, Forgotten,
    MemoryId, NoteFile, NoteFolder, Reader, Result, Space, Timestamp,
};

use crate::{Engine, Wakeup};

pub(crate) use change::{cannot_change, in_file_or_store, no_folder, not_note};
pub use index::NOTE_KIND;
pub(crate) use index::{Embedded, Reading, in_parallel, memory_of, note_body};
pub(crate) use reconciliation::Extent;

/// Files that are read to tell whether another folder has the known notes.
const COMPARED_MAX: usize = 64;

/// The folder of notes of the default space.
pub(crate) struct Notes {
    pub(crate) folder: Arc<dyn NoteFolder>,
    /// The tool set that notes of people count as having come in through.
    pub(crate) origin: &'static str,
    /// Rings when something may have changed in the folder.
    pub(crate) bell: Arc<Wakeup>,
    state: Mutex<State>,
    ready: Condvar,
}

/// How far this process has come with the folder.
#[derive(Debug, Default)]
struct State {
    /// Whether the first reconciliation is still to end.
    is_starting: bool,
    /// As the last reconciliation said.
    away: Option<String>,
    /// Files that were read too soon after they were written, but whose links, and those to them,
    /// are as they should be: with the memory and the content for which that holds.
    linked: HashMap<String, (MemoryId, ContentHash)>,
}

impl Notes {
    pub(crate) fn new(folder: Arc<dyn NoteFolder>, origin: &'static str) -> Self {
        Notes {
            folder,
            origin,
            bell: Arc::default(),
            state: Mutex::default(),
            ready: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end_start(&self) {
        self.state().is_starting = false;
        self.ready.notify_all();
    }

    /// Remembers whether the folder is away.
    pub(crate) fn found(&self, away: Option<&String>) {
        let mut state = self.state();
        if let Some(why) = away
            && state.away.is_none()
        {
            tracing::warn!("{why}");
        }
        state.away = away.cloned();
    }

    /// Why it cannot be told which of the known files are gone, if so: the folder is not there, or
    /// it is another one than the noted one and has none of them. Some files may be read to tell
    /// that.
    pub(crate) fn away(
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
        let location = self.folder.location();
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

    /// Whether a file that is known is there: one with the known size and time or else, among some
    /// of them, one that holds what is known of it. A name tells nothing, since many folders have a
    /// `README.md`, and neither does an empty file.
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

    /// Whether the file at the path of a row has the known content, or the known `uid`.
    fn holds(&self, row: &NoteFile) -> bool {
        let Ok(Some(FileRead { hash, content, .. })) = self.folder.read(&row.path) else {
            return false;
        };
        // What was not indexed may not have been read either, and then its hash tells nothing.
        (row.memory.is_some() && row.hash == hash)
            || (row.says_id && content.is_some_and(|content| content.note.id == row.memory))
    }
}

/// What a reconciliation found and did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reconciled {
    /// Files that were new or whose content had changed, and are indexed now.
    pub indexed: usize,
    /// Files that were found under another path than before, as the same memories.
    pub moved: usize,
    /// Files that are gone, and with them their memories.
    pub removed: usize,
    /// Files of which nothing was read, since neither size nor time had changed.
    pub unchanged: usize,
    /// Why the folder cannot be looked at, or seems to be another one than before: then nothing was
    /// removed.
    pub away: Option<String>,
}

/// How the folder of notes and its index stand, for people.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NoteStatus {
    /// Where the folder is.
    pub location: String,
    /// Notes that are found, forgotten ones not included.
    pub notes: usize,
    /// Forgotten ones.
    pub forgotten: usize,
    /// Paths that are new or changed in the folder since they were last read.
    pub not_indexed: Vec<String>,
    /// Paths with what is wrong with each, in the order of paths.
    pub problems: Vec<(String, FileProblem)>,
    /// As [`Reconciled::away`].
    pub away: Option<String>,
}

/// Every memory of the space of the notes, whatever became of it.
fn everything() -> Filter {
    Filter::of(Space::default(), Reader::everything(), Timestamp::MIN)
}

fn emptied_problem() -> FileProblem {
    let message = "this file is empty, and was not before: its title alone is found; if nobody wanted that, a backup or \
                   the history of a sync client has its text, and if somebody did, delete the file";
    FileProblem {
        kind: FileProblemKind::Emptied,
        message: message.to_owned(),
    }
}

/// What is known of the file at this path, in rows that are in the order of paths.
fn row_at<'a>(rows: &'a [NoteFile], path: &str) -> Option<&'a NoteFile> {
    rows.binary_search_by(|row| row.path.as_str().cmp(path))
        .ok()
        .map(|index| &rows[index])
}

impl Engine {
    /// Rings when something may have changed in the folder of notes; none without such a folder.
    pub fn to_reconcile(&self) -> Option<&Arc<Wakeup>> {
        self.notes.as_ref().map(|notes| &notes.bell)
    }

    /// Says that this process is about to learn what is in the folder of notes: from now on
    /// [`await_notes`](Engine::await_notes) waits for that.
    pub fn begin_notes(&self) {
        if let Some(notes) = &self.notes {
            notes.state().is_starting = true;
        }
    }

    /// Ends the wait for the folder of notes, since another process keeps its index: as soon as a
    /// reconciliation that runs there has ended.
    pub fn notes_kept_by_another(&self) {
        let Some(notes) = &self.notes else { return };
        // Whoever has the lock next is behind it.
        if let Err(error) = notes.folder.lock() {
            tracing::warn!(%error, "notes that are read by another process just now are found later");
        }
        notes.end_start();
    }

    /// Brings the index up to the folder, and ends the wait for that.
    pub(crate) fn reconcile_notes(&self, extent: Extent) -> Result<Reconciled> {
        let Some(notes) = &self.notes else {
            return Ok(Reconciled::default());
        };
        let reconciled = notes
            .folder
            .lock()
            .and_then(|_lock| self.reconcile_folder(notes, extent, None));
        notes.end_start();
        reconciled
    }

    /// The moment now, in milliseconds, which people read more easily in a file.
    pub(crate) fn note_time(&self) -> Timestamp {
        Timestamp::from_microseconds(self.now().microseconds().div_euclid(1_000) * 1_000)
    }

    /// Waits until the first reconciliation that this process is doing has ended, at most that
    /// long. Says what is not known yet, if it takes longer, or that the folder is away.
    pub fn await_notes(&self, timeout: Duration) -> Option<String> {
        let notes = self.notes.as_ref()?;
        let waited = notes
            .ready
            .wait_timeout_while(notes.state(), timeout, |state| state.is_starting);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.is_starting {
            let notice = "the folder of notes is still being read: what people changed in it may be missing; ask again";
            return Some(notice.to_owned());
        }
        state
            .away
            .is_some()
            .then(|| "the folder of notes is away: what is known of it is searched".to_owned())
    }

    /// How the folder of notes and its index stand. Changes nothing, and reads no file, unless the
    /// folder may be another one than before.
    ///
    /// # Errors
    /// `unavailable` if the store or the folder cannot be read, or there is no such folder.
    pub fn note_status(&self) -> Result<NoteStatus> {
        let notes = self.notes.as_ref().ok_or_else(no_folder)?;
        let rows = self.store.note_files(&Space::default())?;
        let scan = notes.folder.scan()?;
        let noted = self.store.note_folder(&Space::default())?;
        let all = self.store.notes_among(&everything(), usize::MAX)?.len();
        let found = Filter {
            forgotten: Forgotten::Hide,
            ..everything()
        };
        let found = self.store.notes_among(&found, usize::MAX)?.len();
        let emptied = self.emptied(&rows)?;
        let (mut not_indexed, mut problems) = (Vec::new(), scan.skipped.clone());
        for (path, stamp) in &scan.files {
            let is_known = |row: &&NoteFile| {
                let problem = row.problem.as_ref().map(|problem| problem.kind);
                row.missing_since.is_none()
                    && (row.stamp == *stamp || problem == Some(FileProblemKind::Unreadable))
            };
            match row_at(&rows, path).filter(is_known) {
                None => not_indexed.push(path.clone()),
                Some(row) => {
                    let is_emptied = row.memory.as_ref().is_some_and(|id| emptied.contains(id));
                    let problem = row
                        .problem
                        .clone()
                        .or_else(|| is_emptied.then(emptied_problem));
                    problems.extend(problem.map(|problem| (path.clone(), problem)));
                }
            }
        }
        problems.extend(scan.unreadable_folders.iter().map(|path| {
            let message = "this folder cannot be looked at; what is known of the notes in it stays; its permissions may \
                           not allow it, its name may be no UTF-8, it may lie too deep, or there may be too many files";
            (path.clone(), FileProblem { kind: FileProblemKind::Unreadable, message: message.to_owned() })
        }));
        problems.sort_by(|left, right| left.0.cmp(&right.0));
        let away = notes.away(&rows, &scan, noted.as_ref());
        Ok(NoteStatus {
            location: notes.folder.location(),
            notes: found,
            forgotten: all.saturating_sub(found),
            not_indexed,
            problems,
            away,
        })
    }

    /// The notes whose files are empty and were not always: what is there of them changed after it
    /// was first stored.
    fn emptied(&self, rows: &[NoteFile]) -> Result<HashSet<MemoryId>> {
        let is_empty = |row: &&NoteFile| row.stamp.bytes == 0 && row.missing_since.is_none();
        let ids: Vec<MemoryId> = rows
            .iter()
            .filter(is_empty)
            .filter_map(|row| row.memory.clone())
            .collect();
        let memories = self.store.get_all(&everything(), &ids)?;
        // A name that changes with an empty file, as editors have it, changes the memory, but no
        // time.
        let was_changed = memories
            .into_iter()
            .filter(|memory| memory.updated_at > memory.created_at);
        Ok(was_changed.map(|memory| memory.id).collect())
    }
}
