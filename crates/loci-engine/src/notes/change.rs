//! Changing a note through its file.

use loci_core::{
    Caller, Change, Error, ErrorCode, FileProblemKind, Filter, Forgotten, Memory, MemoryId, Note,
    NoteFile, RecordVerb, Result, Space,
};

use super::{Embedded, Extent, Reading};
use crate::Engine;

/// Attempts at a change of one file while others change it.
const ATTEMPTS_MAX: usize = 10;

/// That there is no folder of notes.
pub(crate) fn no_folder() -> Error {
    Error::unavailable("there is no folder of notes here")
}

/// That a note cannot be changed, because of its file.
pub(crate) fn cannot_change(reason: &str) -> Error {
    Error::new(
        ErrorCode::Conflict,
        format!("the note was not changed: {reason}"),
    )
}

/// What a change of a memory in the store alone relies on; none where there are no notes.
pub(crate) fn not_note(space: &Space, id: &MemoryId) -> Option<Change> {
    (*space == Space::default()).then(|| Change::NotNote { id: id.clone() })
}

/// What `in_file` makes of a memory that is a note, or `in_store` of one that is not. Each says
/// none if it is the other: any memory may become a note, and cease to be one, while it is read.
///
/// # Errors
/// Those of both; `conflict` if it becomes the one and the other all the time.
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

impl Engine {
    /// Whether a memory that was read is a note. Asked of an id alone, one that is indexed
    /// meanwhile would be taken for something else.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub(crate) fn is_note(&self, memory: &Memory) -> Result<bool> {
        let Memory { space, id, .. } = memory;
        Ok(*space == Space::default() && self.store.note_file_of(space, id)?.is_some())
    }

    /// Changes a memory that the caller may write and that is no note. `change` gets the latest
    /// state and says what to commit, if anything, and what came of it. None if the memory is a
    /// note.
    ///
    /// # Errors
    /// Those of [`writable_among`](Engine::writable_among) and of `change`; `unavailable` if the
    /// store cannot be written.
    pub(crate) fn change_in_store<T>(
        &self,
        caller: &Caller,
        id: &MemoryId,
        forgotten: Forgotten,
        mut change: impl FnMut(Memory) -> Result<(Vec<Change>, T)>,
    ) -> Result<Option<T>> {
        self.locks.change(id, || {
            let memory = self.writable_among(caller, id, forgotten)?;
            if self.is_note(&memory)? {
                return Ok(None);
            }
            let (changes, done) = change(memory)?;
            if !changes.is_empty() {
                let changes = not_note(&caller.space, id)
                    .into_iter()
                    .chain(changes)
                    .collect();
                self.commit(caller, changes)?;
            }
            Ok(Some(done))
        })
    }

    /// Changes a note that the caller may write through its file: what a person changed there
    /// meanwhile stays, and is indexed first. `change` gets the latest state and says whether there
    /// is anything to write. None if the memory is no note.
    ///
    /// # Errors
    /// Those of [`writable_among`](Engine::writable_among) and of `change`; `conflict` if the file
    /// cannot be rewritten, or others change it all the time; `unavailable` if the store or the
    /// folder cannot be written, or the folder is away.
    pub(crate) fn change_note(
        &self,
        caller: &Caller,
        id: &MemoryId,
        forgotten: Forgotten,
        embedded: &Embedded,
        mut change: impl FnMut(&Memory, &mut Note) -> Result<bool>,
    ) -> Result<Option<Memory>> {
        if !self.is_note(&self.writable_among(caller, id, forgotten)?)? {
            return Ok(None);
        }
        let notes = self.notes.as_ref().ok_or_else(no_folder)?;
        let _lock = notes.folder.lock()?;
        for _ in 0..ATTEMPTS_MAX {
            let memory = self.writable_among(caller, id, forgotten)?;
            let Some(row) = self.store.note_file_of(&caller.space, id)? else {
                return Ok(None);
            };
            let path = row.path.clone();
            // Whoever was about to put a file there has ended, and the look finds out how far that
            // came.
            if !row.is_expected()
                && let Some(changed) =
                    self.try_change(caller, memory, row, embedded, &mut change)?
            {
                return Ok(Some(changed));
            }
            if self
                .reconcile_folder(notes, Extent::Everything, Some(&path))?
                .away
                .is_some()
            {
                return Err(Error::unavailable(
                    "the folder of notes is away, so that nothing in it can be changed",
                ));
            }
            if self
                .store
                .note_file_of(&caller.space, id)?
                .is_some_and(|row| row.is_expected())
            {
                return Err(Error::unavailable(
                    "the note was not changed: its file cannot be read",
                ));
            }
        }
        Err(cannot_change("its file changes all the time; try again"))
    }

    /// One attempt at it: none if the file is not as it is known.
    fn try_change(
        &self,
        caller: &Caller,
        memory: Memory,
        row: NoteFile,
        embedded: &Embedded,
        change: &mut impl FnMut(&Memory, &mut Note) -> Result<bool>,
    ) -> Result<Option<Memory>> {
        let notes = self.notes.as_ref().ok_or_else(no_folder)?;
        let Some(read) = notes.folder.read(&row.path)? else {
            return Ok(None);
        };
        match &read.problem {
            Some(problem) if problem.kind == FileProblemKind::Unreadable => {
                return Err(Error::unavailable(format!(
                    "the note was not changed: {}",
                    problem.message
                )));
            }
            Some(problem) => return Err(cannot_change(&problem.message)),
            None => {}
        }
        let Some(content) = read.content.filter(|_| read.hash == row.hash) else {
            return Ok(None);
        };
        // From now on the file says which memory it is.
        let mut note = Note {
            id: Some(memory.id.clone()),
            ..content.note
        };
        if !change(&memory, &mut note)? {
            return Ok(Some(memory));
        }
        let written = match notes.folder.rewrite(&row.path, &read.hash, &note) {
            Err(error) if error.code == ErrorCode::NotFound => return Ok(None),
            Err(error) if error.code == ErrorCode::Conflict => {
                // Where nobody changed the file, it is the file that does not let itself be
                // rewritten.
                let is_unchanged = notes
                    .folder
                    .read(&row.path)?
                    .is_some_and(|now| now.hash == read.hash);
                return if is_unchanged { Err(error) } else { Ok(None) };
            }
            outcome => outcome?,
        };
        // The file is the truth, whether or not it can be indexed now.
        caller
            .trail
            .note(RecordVerb::Changed, memory.id.as_str(), Some(false));
        // What another text links to is found out by the next look.
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
        let mut reading = Reading {
            content: written.content,
            ..Reading::of(row)
        };
        let indexed = self.index(notes, &mut reading, embedded);
        indexed.map_err(|error| {
            let message = format!(
                "the file of the note was changed, and searches will show it later: {}",
                error.message
            );
            error.with_message(message)
        })?;
        self.store.get(&memory.space, &memory.id)
    }

    /// Forgets the caller's notes that pass and are not forgotten yet: how many, and those that
    /// cannot be changed now, with the reason of each. Their files stay.
    ///
    /// # Errors
    /// As for [`forget_softly`](Engine::forget_softly), but not for a single file: what was
    /// forgotten until then stays so.
    pub(crate) fn forget_notes(
        &self,
        caller: &Caller,
        filter: &Filter,
        only: Option<&MemoryId>,
    ) -> Result<(usize, Vec<(MemoryId, Error)>)> {
        let (mut forgotten, mut remaining) = (0, Vec::new());
        if caller.space != Space::default() {
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
            match self.forget_note(caller, &id) {
                Ok(note) => forgotten += usize::from(note.is_some()),
                // Its file is gone meanwhile.
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

    /// Whether this is a note whose file is there and cannot be read.
    fn has_unreadable_file(&self, id: &MemoryId) -> Result<bool> {
        let Some(notes) = &self.notes else {
            return Ok(false);
        };
        let Some(row) = self.store.note_file_of(&Space::default(), id)? else {
            return Ok(false);
        };
        let problem = notes.folder.read(&row.path)?.and_then(|read| read.problem);
        Ok(problem.is_some_and(|problem| problem.kind == FileProblemKind::Unreadable))
    }
}
