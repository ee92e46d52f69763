//! Moving a memory that is a file to another path.

use loci_core::{
    Change, Error, ErrorCode, Expect, Forgotten, Memory, MemoryId, Result, SOURCE_FILE,
};
use loci_text::indexed;

use crate::memories::Memories;

impl Memories<'_> {
    /// Gives a memory the title and the source file of this path. Its text and its times stay.
    ///
    /// # Errors
    /// `not_found` if the caller can read no such memory, `forbidden` if it may only read it;
    /// `invalid_argument` for a path that holds a secret (`new_path`), and for a note, whose file has its name; `conflict` if another writer changed
    /// the text at the same time; `unavailable` if the store cannot be written.
    pub(crate) fn move_file(&self, id: &MemoryId, path: &str) -> Result<()> {
        self.redaction.check_name("new_path", path)?;
        let moved = |memory: &Memory| {
            let mut memory = memory.clone();
            memory.title = Some(path.to_owned());
            memory
                .attributes
                .insert(SOURCE_FILE.to_owned(), path.to_owned());
            memory
        };
        let before = self.access.writable(id)?;
        let mut passages = indexed::passages(&moved(&before));
        let (embedding, _) = self
            .models
            .embed_at_once(Some(path), &before.content, &mut passages);
        let done = self.notes.change_in_store(id, Forgotten::Hide, |stored| {
            if stored.content != before.content {
                let message =
                    "another writer changed the text at the same time; view the file again";
                return Err(Error::new(ErrorCode::Conflict, message));
            }
            let expect = Expect::Revision(stored.revision);
            let mut memory = moved(&stored);
            memory.revision += 1;
            let put = Change::Put {
                memory: Box::new(memory),
                passages: Some(passages.clone()),
                expect,
            };
            Ok((vec![put], ()))
        })?;
        self.models.embed_soon(&embedding);
        done.ok_or_else(|| Error::invalid("path", "is a note, whose name its file has"))
    }
}
