//! What is known of the files of notes, in a map.

use loci_core::{Batch, Filter, MemoryId, NoteFile, NoteStore, Result, Space, Store};

use crate::NaiveStore;
use crate::naive_store::State;

impl State {
    fn note_files(&self, space: &Space) -> impl Iterator<Item = &NoteFile> {
        self.note_files.iter().filter(move |((of, _), _)| of == space).map(|(_, file)| file)
    }

    /// The file that is this memory and is not missing, whether or not there is such a memory.
    pub(crate) fn note_file_of(&self, space: &Space, memory: &MemoryId) -> Option<&NoteFile> {
        self.note_files(space).find(|file| file.memory.as_ref() == Some(memory) && file.missing_since.is_none())
    }
}

impl NoteStore for NaiveStore {
    fn note_files(&self, space: &Space) -> Result<Vec<NoteFile>> {
        Ok(self.state().note_files(space).cloned().collect())
    }

    fn note_file_of(&self, space: &Space, memory: &MemoryId) -> Result<Option<NoteFile>> {
        let state = self.state();
        let is_there = state.shown().any(|record| record.memory.space == *space && record.memory.id == *memory);
        Ok(state.note_file_of(space, memory).filter(|_| is_there).cloned())
    }

    fn notes_among(&self, filter: &Filter, limit: usize) -> Result<Vec<MemoryId>> {
        let state = self.state();
        let ids = state.admitted(filter).into_iter().map(|record| record.memory.id.clone());
        Ok(ids.filter(|id| state.note_file_of(&filter.space, id).is_some()).take(limit).collect())
    }

    fn note_folder(&self, space: &Space) -> Result<Option<String>> {
        Ok(self.state().note_folders.get(space).cloned())
    }

    fn commit_rebuildable(&self, batch: Batch) -> Result<()> {
        self.commit(batch)
    }
}
