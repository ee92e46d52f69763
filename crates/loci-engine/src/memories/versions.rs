//! Former versions of a memory.

use loci_core::{Change, Memory, MemoryId, Result, Scope, Version};

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

    /// Returns the version that this revision of a memory replaced, for the reply to the change.
    /// `None` if its text and title are the ones from before, if the caller lacks the scope `read`,
    /// or if the store cannot be read now: the change is made all the same.
    pub fn replaced_by(&self, memory: &Memory) -> Option<Version> {
        if !self.caller.principal.scopes.allow(Scope::Read) {
            return None;
        }
        let versions = self.store.versions(&memory.space, &memory.id).ok()?;
        versions
            .into_iter()
            .find(|version| version.revision + 1 == memory.revision)
    }
}

/// Returns the change that keeps the text of a memory which `after` replaces; `None` if text and
/// title stay.
pub(crate) fn kept(before: &Memory, after: &Memory) -> Option<Change> {
    let is_changed = before.content != after.content || before.title != after.title;
    is_changed.then(|| Change::PutVersion(Box::new(Version::of(before))))
}
