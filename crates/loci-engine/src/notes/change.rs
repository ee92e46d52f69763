//! Changes of notes through their files.

use loci_core::{
    Change, Condition, ContentHash, Error, ErrorCode, FileProblemKind, FileSnapshot, Filter,
    Forgotten, Memory, MemoryId, Note, NoteFile, RecordVerb, Result, Space,
};

use super::folder_state::FolderState;
use super::{Extent, FileUpdate, TextVectors};
use crate::notes::Notes;

/// Attempts at a change of one file during concurrent changes.
const ATTEMPTS_MAX: usize = 10;

/// The error for a note that cannot be changed because of its file.
fn cannot_change(reason: &str) -> Error {
    Error::new(
        ErrorCode::Conflict,
        format!("the note was not changed: {reason}"),
    )
}

/// Returns the condition of a change of a memory only in the store; `None` in spaces without notes.
pub(crate) fn not_note(space: &Space, id: &MemoryId) -> Option<Condition> {
    (*space == Space::default()).then(|| Condition::NotNote { id: id.clone() })
}

/// Returns the result of `in_file` for a memory that is a note, or of `in_store` for another one.
/// Each returns `None` in the other case, because any memory may become a note, or stop being one,
/// in between.
///
/// # Errors
/// The errors of both; `conflict` if the memory keeps switching.
pub(crate) fn in_file_or_store<T>(
    mut in_file: impl FnMut() -> Result<Option<T>>,
    mut in_store: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    for _ in 0..ATTEMPTS_MAX {
        if let Some(done) = in_file()? {
            return Ok(done);
        }
        if let Some(done) = in_store()? {
            return Ok(done);
        }
    }
    Err(cannot_change(
        "its file comes and goes all the time; try again",
    ))
}

impl Notes<'_> {
    /// Returns true if a memory that was read is a note. It takes the memory rather than an id,
    /// because a file that is indexed in between would change the answer.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub(crate) fn is_note(&self, memory: &Memory) -> Result<bool> {
        let Memory { space, id, .. } = memory;
        Ok(*space == Space::default() && self.store.note_file_of(space, id)?.is_some())
    }

    /// Changes a memory that the caller may write and that is not a note. `change` gets the latest
    /// state and returns the changes to commit, if any, and a result. Returns `None` if the memory
    /// is a note.
    ///
    /// # Errors
    /// The errors of [`writable_among`](crate::access::Access::writable_among) and of `change`;
    /// `unavailable` if the store cannot be written.
    pub(crate) fn change_in_store<T>(
        &self,
        id: &MemoryId,
        forgotten: Forgotten,
        mut change: impl FnMut(Memory) -> Result<(Vec<Change>, T)>,
    ) -> Result<Option<T>> {
        self.locks.change(id, || {
            let memory = self.access.writable_among(id, forgotten)?;
            if self.is_note(&memory)? {
                return Ok(None);
            }
            let (changes, done) = change(memory)?;
            if !changes.is_empty() {
                let not_note = not_note(&self.caller.space, id);
                self.access.commit_if(Vec::from_iter(not_note), changes)?;
            }
            Ok(Some(done))
        })
    }

    /// Changes a note that the caller may write through its file. Concurrent edits of the file are
    /// kept and indexed first. `change` gets the latest state and returns true if there is
    /// something to write. Returns `None` if the memory is not a note.
    ///
    /// # Errors
    /// The errors of [`writable_among`](crate::access::Access::writable_among) and of `change`;
    /// `conflict` if the file cannot be rewritten, or changes too often; `unavailable` if the store
    /// or the folder cannot be written, or the folder is away.
    pub(crate) fn change(
        &self,
        id: &MemoryId,
        forgotten: Forgotten,
        embedded: &TextVectors,
        mut change: impl FnMut(&Memory, &mut Note) -> Result<bool>,
    ) -> Result<Option<Memory>> {
        if !self.is_note(&self.access.writable_among(id, forgotten)?)? {
            return Ok(None);
        }
        let folder = self.folder.ok_or_else(|| self.no_folder())?;
        let _lock = self.lock(folder)?;
        for _ in 0..ATTEMPTS_MAX {
            let memory = self.access.writable_among(id, forgotten)?;
            let Some(row) = self.store.note_file_of(&self.caller.space, id)? else {
                return Ok(None);
            };
            let path = row.path.clone();
            // The process that was about to create the file has ended; the reconciliation below
            // finds out whether the file exists.
            if !row.is_expected()
                && let Some(changed) = self.try_change(memory, row, embedded, &mut change)?
            {
                return Ok(Some(changed));
            }
            if self
                .reconcile_folder(folder, Extent::Everything, Some(&path))?
                .away
                .is_some()
            {
                return Err(Error::unavailable(
                    "the folder of notes is away, so that nothing in it can be changed",
                ));
            }
            if self
                .store
                .note_file_of(&self.caller.space, id)?
                .is_some_and(|row| row.is_expected())
            {
                return Err(Error::unavailable(
                    "the note was not changed: its file cannot be read",
                ));
            }
        }
        Err(cannot_change("its file changes all the time; try again"))
    }

    /// Attempts the change once; returns `None` if the file is not in its known state.
    fn try_change(
        &self,
        memory: Memory,
        row: NoteFile,
        embedded: &TextVectors,
        change: &mut impl FnMut(&Memory, &mut Note) -> Result<bool>,
    ) -> Result<Option<Memory>> {
        let folder = self.folder.ok_or_else(|| self.no_folder())?;
        let Some(read) = folder.files.read(&row.path)? else {
            return Ok(None);
        };
        match &read.problem {
            Some(problem) if problem.kind == FileProblemKind::Unreadable => {
                return Err(Error::unavailable(format!(
                    "the note was not changed: {}",
                    problem.message
                )));
            }
            // The change does not concern the lines of the merge, or has its own text for them.
            Some(problem) if problem.kind == FileProblemKind::ConflictMarks => {}
            Some(problem) => return Err(cannot_change(&problem.message)),
            None => {}
        }
        let Some(content) = read.content.filter(|_| read.hash == row.hash) else {
            return Ok(None);
        };
        // From now on the file contains the id of its memory.
        let mut note = Note {
            id: Some(memory.id.clone()),
            ..content.note
        };
        if !change(&memory, &mut note)? {
            return Ok(Some(memory));
        }
        let Some(written) = rewrite(folder, &row.path, &read.hash, &note)? else {
            return Ok(None);
        };
        // The file is the truth, even if it cannot be indexed now.
        self.caller
            .note_record(RecordVerb::Changed, memory.id.as_str(), Some(false));
        // The next reconciliation resolves the links of a changed text.
        let is_linked = written
            .content
            .as_ref()
            .is_some_and(|content| content.links == row.links);
        let row = NoteFile {
            stamp: written.stamp,
            is_settled: written.is_settled && is_linked,
            hash: written.hash,
            says_id: true,
            problem: written.problem,
            ..row
        };
        let mut reading = FileUpdate {
            content: written.content,
            ..FileUpdate::of(row)
        };
        let indexed = self.index(folder, &mut reading, embedded);
        indexed.map_err(|error| {
            let message = format!(
                "the file of the note was changed, and searches will show it later: {}",
                error.message
            );
            error.with_message(message)
        })?;
        self.store.get(&memory.space, &memory.id)
    }

    /// Forgets the caller's notes that match and are not forgotten yet. Returns their number, and
    /// the ones that cannot be changed now with their errors. Their files stay.
    ///
    /// # Errors
    /// As for [`forget_softly`](crate::Memories::forget_softly), but not for a single file; notes
    /// that were forgotten before the error stay so.
    pub(crate) fn forget_notes(
        &self,
        filter: &Filter,
        only: Option<&MemoryId>,
    ) -> Result<(usize, Vec<(MemoryId, Error)>)> {
        let (mut forgotten, mut remaining) = (0, Vec::new());
        if self.caller.space != Space::default() {
            return Ok((forgotten, remaining));
        }
        let filter = Filter {
            forgotten: Forgotten::Hide,
            ..filter.clone()
        };
        let notes = self.store.notes_among(&filter, usize::MAX)?;
        for id in notes
            .into_iter()
            .filter(|id| only.is_none_or(|only| only == id))
        {
            match self.forget(&id) {
                Ok(note) => forgotten += usize::from(note.is_some()),
                // Its file was removed since.
                Err(error) if error.code == ErrorCode::NotFound => {}
                Err(error)
                    if error.code == ErrorCode::Conflict || self.has_unreadable_file(&id)? =>
                {
                    remaining.push((id, error));
                }
                Err(error) => return Err(error),
            }
        }
        Ok((forgotten, remaining))
    }

    /// Returns true if this is a note whose file exists but cannot be read.
    pub(crate) fn has_unreadable_file(&self, id: &MemoryId) -> Result<bool> {
        let Some(folder) = self.folder else {
            return Ok(false);
        };
        let Some(row) = self.store.note_file_of(&Space::default(), id)? else {
            return Ok(false);
        };
        let problem = folder.files.read(&row.path)?.and_then(|read| read.problem);
        Ok(problem.is_some_and(|problem| problem.kind == FileProblemKind::Unreadable))
    }
}

/// Writes a note in the place of the file with the content `known`. Returns `None` if the file has
/// changed or is gone.
fn rewrite(
    folder: &FolderState,
    path: &str,
    known: &ContentHash,
    note: &Note,
) -> Result<Option<FileSnapshot>> {
    match folder.files.rewrite(path, known, note) {
        Err(error) if error.code == ErrorCode::NotFound => Ok(None),
        Err(error) if error.code == ErrorCode::Conflict => {
            // If the file is unchanged, it does not allow the rewrite.
            let is_unchanged = folder
                .files
                .read(path)?
                .is_some_and(|now| now.hash == *known);
            if is_unchanged { Err(error) } else { Ok(None) }
        }
        outcome => outcome.map(Some),
    }
}
