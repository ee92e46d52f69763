//! The rows of note files, in a map.

use loci_core::{
    Batch, Error, Expect, Filter, MemoryId, NoteFile, NoteStore, Result, Space, Store,
};

use crate::NaiveStore;
use crate::naive_store::{State, memory_conflict};

impl State {
    fn note_files(&self, space: &Space) -> impl Iterator<Item = &NoteFile> {
        self.note_files
            .iter()
            .filter(move |((of, _), _)| of == space)
            .map(|(_, file)| file)
    }

    /// Returns the existing or expected file of this memory, even if the memory does not exist.
    pub(crate) fn note_file_of(&self, space: &Space, memory: &MemoryId) -> Option<&NoteFile> {
        let is_it = |file: &&NoteFile| file.memory.as_ref() == Some(memory);
        let files = self
            .note_files(space)
            .filter(is_it)
            .filter(|file| file.missing_since.is_none() || file.is_expected());
        files.min_by_key(|file| (file.is_expected(), &file.path))
    }

    /// Returns the file of this memory, if the memory exists.
    fn live_note_file_of(&self, space: &Space, memory: &MemoryId) -> Option<&NoteFile> {
        let is_there = self
            .shown()
            .any(|record| record.memory.space == *space && record.memory.id == *memory);
        self.note_file_of(space, memory).filter(|_| is_there)
    }

    pub(crate) fn not_note(&self, space: &Space, id: &MemoryId) -> Result<()> {
        let note = self.live_note_file_of(space, id);
        note.map_or(Ok(()), |_| {
            Err(memory_conflict(
                id,
                "is a note by now; change it in its file",
            ))
        })
    }

    /// Records that a file is about to be created, unless it exists.
    pub(crate) fn expect_note_file(
        &mut self,
        space: &Space,
        file: &NoteFile,
        expect: Expect,
    ) -> Result<()> {
        let id = file
            .memory
            .clone()
            .ok_or_else(|| Error::internal("a file that is expected is a memory"))?;
        self.expect(&(space.clone(), id), expect)?;
        let key = (space.clone(), file.path.clone());
        if self
            .note_files
            .get(&key)
            .is_none_or(|known| known.missing_since.is_some())
        {
            self.note_files.insert(
                key,
                NoteFile {
                    missing_since: Some(NoteFile::EXPECTED),
                    ..file.clone()
                },
            );
        }
        Ok(())
    }
}

impl NoteStore for NaiveStore {
    fn note_files(&self, space: &Space) -> Result<Vec<NoteFile>> {
        Ok(self.state().note_files(space).cloned().collect())
    }

    fn note_file_of(&self, space: &Space, memory: &MemoryId) -> Result<Option<NoteFile>> {
        Ok(self.state().live_note_file_of(space, memory).cloned())
    }

    fn notes_among(&self, filter: &Filter, limit: usize) -> Result<Vec<MemoryId>> {
        let state = self.state();
        let ids = state
            .admitted(filter)
            .into_iter()
            .map(|record| record.memory.id.clone());
        Ok(ids
            .filter(|id| state.note_file_of(&filter.space, id).is_some())
            .take(limit)
            .collect())
    }

    fn note_folder(&self, space: &Space) -> Result<Option<String>> {
        Ok(self.state().note_folders.get(space).cloned())
    }

    fn commit_rebuildable(&self, batch: Batch) -> Result<()> {
        self.commit(batch)
    }
}
