//! Former versions of a memory.

use loci_core::{Memory, MemoryId, Properties, Result, Scope, Version};

use crate::memories::Memories;

impl Memories<'_> {
    /// Returns the former versions of a live memory that are kept, latest first, each with its text,
    /// if the caller may read it. A text that a file of a project or a transcript had has none.
    ///
    /// # Errors
    /// As for [`show`](crate::Memories::show).
    pub fn versions(&self, id: &MemoryId) -> Result<Vec<Version>> {
        let memory = self.access.readable(id)?;
        let versions = self.store.versions(&memory.space, &memory.id)?;
        let versions = with_texts(&memory, versions).into_iter();
        Ok(versions
            .filter(|version| !version.is_before_all())
            .collect())
    }

    /// Returns the version whose text this revision of a memory replaced, for the reply to the change.
    /// `None` if its text and title are the ones from before, if the caller lacks the scope `read`,
    /// or if the store cannot be read now: the change is made all the same.
    pub fn replaced_by(&self, memory: &Memory) -> Option<Version> {
        if !self.caller.principal.scopes.allow(Scope::Read) {
            return None;
        }
        let versions = self.store.versions(&memory.space, &memory.id).ok()?;
        versions
            .into_iter()
            .find(|version| version.revision + 1 == memory.revision && version.content.is_some())
    }
}

/// Returns the state of a memory that `after` replaces, without the mark of the change; with its text
/// if that or the title changed. `None` if nothing changed that people change.
pub(crate) fn former(before: &Memory, after: &Memory) -> Option<Version> {
    let is_new_text = before.content != after.content || before.title != after.title;
    let is_changed = is_new_text
        || before.tags != after.tags
        || before.location != after.location
        || Properties::of(before) != Properties::of(after);
    let version = Version::of(before);
    is_changed.then(|| Version {
        content: version.content.filter(|_| is_new_text),
        ..version
    })
}

/// Returns the versions of a memory, latest first, each with its text: where a change left it, it is
/// the one of the next version.
pub(crate) fn with_texts(memory: &Memory, versions: Vec<Version>) -> Vec<Version> {
    let mut next = memory.content.clone();
    let with_text = |version: Version| {
        if let Some(content) = &version.content {
            next.clone_from(content);
        }
        Version {
            content: Some(next.clone()),
            ..version
        }
    };
    versions.into_iter().map(with_text).collect()
}
