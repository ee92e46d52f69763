//! Former versions of a memory.

use loci_core::{Change, Memory, MemoryId, Result, Version};

use crate::memories::Memories;

impl Memories<'_> {
    /// Returns the former versions of a live memory that are kept, latest first, if the caller may
    /// read it. A text that a file of a project or a transcript had has none.
    ///
    /// # Errors
    /// As for [`show`](crate::Memories::show).
    pub fn versions(&self, id: &MemoryId) -> Result<Vec<Version>> {
        let memory = self.access.readable(id)?;
        self.store.versions(&memory.space, &memory.id)
    }
}

/// Returns the change that keeps the text of a memory which `after` replaces; `None` if text and
/// title stay.
pub(crate) fn kept(before: &Memory, after: &Memory) -> Option<Change> {
    let is_changed = before.content != after.content || before.title != after.title;
    is_changed.then(|| Change::PutVersion(Box::new(Version::of(before))))
}
