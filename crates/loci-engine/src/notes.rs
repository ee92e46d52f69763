//! The folder of notes and its index.

pub mod append_note;
mod change;
pub(crate) mod folder_state;
mod index;
mod names;
mod notes_owner;
mod possible_conflicts;
pub mod reconcile;
mod reconciliation;
mod standing;

use std::collections::HashSet;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use loci_core::{
    Clock, FileProblem, FileProblemKind, Filter, Forgotten, Memory, MemoryId, NoteFile, NoteState,
    Reader, RecordVerb, Result, Space, Store, Timestamp,
};

use crate::access::Access;
use crate::actor::Actor;
use crate::engine::{Engine, SearchMode};
use crate::idempotency::Idempotency;
use crate::locks::Locks;
use crate::models::Models;
use crate::policy::Policy;
use crate::redaction::CallRedaction;
use crate::wakeup::Wakeup;

use folder_state::FolderState;

pub(crate) use change::{in_file_or_store, not_note};
pub use index::NOTE_KIND;
pub(crate) use index::{FileUpdate, TextVectors, in_parallel, memory_of, note_body};
pub(crate) use reconciliation::Extent;
pub use standing::SetAside;

/// The suffix of the recorded identity of the folder: how its files were read. It changes when loci
/// finds more in a file than before, so that all are read once more.
const READING: &str = " 4";
/// The same of the versions before: without aliases, and without the states of notes.
const READINGS_BEFORE: [&str; 2] = [" 2", " 3"];

/// The results of a reconciliation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReconciliationReport {
    /// Files that were new or changed and are now indexed.
    pub indexed: usize,
    /// Files that have another path than before and are the same memories.
    pub moved: usize,
    /// Files that are gone and whose memories were removed.
    pub removed: usize,
    /// Files that were not read, because neither size nor time had changed.
    pub unchanged: usize,
    /// The reason why the folder cannot be read or seems to be another one than before, in which
    /// case nothing was removed.
    pub away: Option<String>,
}

/// The state of the folder of notes and its index, for display.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NoteStatus {
    /// The path of the folder.
    pub location: String,
    /// Notes that are not forgotten.
    pub notes: usize,
    /// Forgotten notes.
    pub forgotten: usize,
    /// Paths that are new or changed since they were last read.
    pub not_indexed: Vec<String>,
    /// Paths with their problems, in the order of paths.
    pub problems: Vec<(String, FileProblem)>,
    /// As [`ReconciliationReport::away`].
    pub away: Option<String>,
}

/// A filter for all memories of the space of the notes, in any state.
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

/// Returns the row of the file at this path, from rows in the order of paths.
fn row_at<'a>(rows: &'a [NoteFile], path: &str) -> Option<&'a NoteFile> {
    rows.binary_search_by(|row| row.path.as_str().cmp(path))
        .ok()
        .map(|index| &rows[index])
}

/// The folder of notes and its index.
#[derive(Clone, Copy)]
pub struct Notes<'a> {
    caller: Actor<'a>,
    store: &'a dyn Store,
    clock: &'a dyn Clock,
    search_mode: SearchMode,
    policy: &'a Policy,
    folder: Option<&'a FolderState>,
    redaction: CallRedaction<'a>,
    locks: &'a Locks,
    to_embed: &'a Arc<Wakeup>,
    access: Access<'a>,
    models: Models<'a>,
    idempotency: Idempotency<'a>,
}

impl Engine {
    /// Returns the folder of notes and its index.
    pub(crate) fn notes<'a>(&'a self, caller: Actor<'a>) -> Notes<'a> {
        Notes {
            caller,
            store: &*self.store,
            clock: &*self.clock,
            search_mode: self.search_mode,
            policy: &self.policy,
            folder: self.folder.as_ref(),
            redaction: CallRedaction::new(&self.redaction, caller),
            locks: &self.locks,
            to_embed: &self.to_embed,
            access: self.access(caller),
            models: self.models(),
            idempotency: self.idempotency(caller),
        }
    }
}

impl<'a> Notes<'a> {
    /// Returns the wakeup that rings when the folder of notes may have changed; `None` without such
    /// a folder.
    pub fn wakeup(&self) -> Option<&'a Arc<Wakeup>> {
        self.folder.map(|folder| &folder.bell)
    }

    /// Declares that this process is about to read the folder of notes. From now on,
    /// [`await_notes`](crate::Notes::wait) waits for that.
    pub fn begin(&self) {
        if let Some(folder) = self.folder {
            folder.state().is_starting = true;
        }
    }

    /// Ends the wait for the folder of notes, because another process maintains its index, as soon
    /// as a reconciliation that runs there has ended.
    pub fn kept_by_another(&self) {
        let Some(folder) = self.folder else { return };
        // This process gets the lock after the other one has released it.
        if let Err(error) = folder.files.lock() {
            tracing::warn!(%error, "notes that are read by another process just now are found later");
        }
        folder.end_start();
    }

    /// Brings the index up to date with the folder, and ends the wait for that.
    pub(crate) fn reconcile_notes(&self, extent: Extent) -> Result<ReconciliationReport> {
        let Some(folder) = self.folder else {
            return Ok(ReconciliationReport::default());
        };
        let reconciled = self
            .lock(folder)
            .and_then(|_lock| self.reconcile_folder(folder, extent, None));
        folder.end_start();
        reconciled
    }

    /// Returns the current time, rounded down to milliseconds for legibility in a file.
    pub(crate) fn note_time(&self) -> Timestamp {
        Timestamp::from_microseconds(self.clock.now().microseconds().div_euclid(1_000) * 1_000)
    }

    /// Waits at most `timeout` for the end of the first reconciliation of this process. Returns a
    /// notice if it takes longer or the folder is away.
    pub fn wait(&self, timeout: Duration) -> Option<String> {
        let folder = self.folder?;
        let waited = folder
            .ready
            .wait_timeout_while(folder.state(), timeout, |state| state.is_starting);
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

    /// Returns the state of the folder of notes and its index. Changes nothing, and reads no file
    /// unless the folder may be another one than before.
    ///
    /// # Errors
    /// `unavailable` if the store or the folder cannot be read, or there is no such folder.
    pub fn status(&self) -> Result<NoteStatus> {
        let folder = self.folder.ok_or_else(|| self.no_folder())?;
        let rows = self.store.note_files(&Space::default())?;
        let scan = standing::without_bookkeeping(folder.files.scan()?);
        let (noted, _) = self.noted_folder()?;
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
                    && (row.stamp == *stamp
                        || problem == Some(FileProblemKind::Unreadable)
                        || folder.is_equal(row, *stamp))
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
        problems.extend(self.possible_conflicts(folder, &rows)?);
        problems.extend(names::ambiguous_aliases(&rows));
        problems.sort_by(|left, right| left.0.cmp(&right.0));
        let away = folder.unavailable_reason(&rows, &scan, noted.as_ref());
        Ok(NoteStatus {
            location: folder.files.location(),
            notes: found,
            forgotten: all.saturating_sub(found),
            not_indexed,
            problems,
            away,
        })
    }

    /// Returns the recorded identity of the folder, and true if its files are to be read once more.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn noted_folder(&self) -> Result<(Option<String>, bool)> {
        let noted = self.store.note_folder(&Space::default())?;
        let is_read_anew = noted
            .as_ref()
            .is_some_and(|noted| !noted.ends_with(READING));
        let identity = noted.map(|noted| {
            let known = READINGS_BEFORE
                .iter()
                .chain([&READING])
                .find_map(|reading| noted.strip_suffix(reading).map(str::to_owned));
            known.unwrap_or(noted)
        });
        Ok((identity, is_read_anew))
    }

    /// Returns the notes whose files are empty and were not always: their text changed after they
    /// were first stored.
    fn emptied(&self, rows: &[NoteFile]) -> Result<HashSet<MemoryId>> {
        let is_empty = |row: &&NoteFile| row.stamp.bytes == 0 && row.missing_since.is_none();
        let ids: Vec<MemoryId> = rows
            .iter()
            .filter(is_empty)
            .filter_map(|row| row.memory.clone())
            .collect();
        let memories = self.store.get_all(&everything(), &ids)?;
        // An editor that renames an empty file changes the memory, but not its time.
        let was_changed = memories
            .into_iter()
            .filter(|memory| memory.updated_at > memory.created_at);
        Ok(was_changed.map(|memory| memory.id).collect())
    }

    /// Marks a note as forgotten now, in its file. Returns the note, and true if that changed it;
    /// `None` if the memory is not a note.
    ///
    /// # Errors
    /// As for [`forget_softly`](crate::Memories::forget_softly).
    pub(crate) fn forget(&self, id: &MemoryId) -> Result<Option<(Memory, bool)>> {
        let forgotten = self.mark(id, Some(self.note_time()))?;
        if forgotten.is_some() {
            self.caller
                .note_record(RecordVerb::Deleted, id.as_str(), None);
        }
        Ok(forgotten)
    }

    /// Marks a note as not forgotten, in its file, and returns the same. The line with the time of
    /// the forgetting stays in the file, because no line of a file is ever removed.
    ///
    /// # Errors
    /// As for [`forget_softly`](crate::Memories::forget_softly).
    pub(crate) fn unforget(&self, id: &MemoryId) -> Result<Option<(Memory, bool)>> {
        self.mark(id, None)
    }

    fn mark(
        &self,
        id: &MemoryId,
        forgotten_at: Option<Timestamp>,
    ) -> Result<Option<(Memory, bool)>> {
        let mut is_changed = false;
        let marked = self.change(id, Forgotten::Show, &TextVectors::default(), |_, note| {
            is_changed = note.is_out_of_sight() != forgotten_at.is_some();
            if is_changed {
                note.is_deleted = forgotten_at.is_some();
                note.state = NoteState::Active;
                note.deleted_at = forgotten_at.or(note.deleted_at);
            }
            Ok(is_changed)
        })?;
        Ok(marked.map(|note| (note, is_changed)))
    }
}
