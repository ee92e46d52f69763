//! Former versions of the texts of memories.

use crate::{Filter, Location, Memory, MemoryId, Result, Space, Timestamp};

/// A former version of a memory: its text, as it was before a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The memory.
    pub memory: MemoryId,
    /// The last revision of the memory that had the text.
    pub revision: u64,
    /// The text.
    pub content: String,
    /// The title, if it had one.
    pub title: Option<String>,
    /// The tags that it had then.
    pub tags: Vec<String>,
    /// The place in which it was filed then.
    pub location: Location,
    /// The subject who wrote the text, as in [`Memory::updated_by`].
    pub updated_by: Option<String>,
    /// The time at which it was written.
    pub updated_at: Timestamp,
}

impl Version {
    /// Returns the memory as it is, as a version.
    pub fn of(memory: &Memory) -> Self {
        Version {
            memory: memory.id.clone(),
            revision: memory.revision,
            content: memory.content.clone(),
            title: memory.title.clone(),
            tags: memory.tags.clone(),
            location: memory.location.clone(),
            updated_by: memory.updated_by.clone(),
            updated_at: memory.updated_at,
        }
    }
}

/// Keeps former versions of memories, which [`Change::PutVersion`](crate::Change::PutVersion) adds.
/// They go with their memory, and no search and no list shows them.
pub trait VersionStore: Send + Sync {
    /// Returns the kept versions of a memory, latest first, for any reader; none if the memory does
    /// not exist or is soft-deleted.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn versions(&self, space: &Space, id: &MemoryId) -> Result<Vec<Version>>;

    /// Returns at most `limit` ids of memories with kept versions that match the filter, in order,
    /// after the id `after`. May read all versions.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn ids_with_versions(
        &self,
        filter: &Filter,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<MemoryId>>;
}
