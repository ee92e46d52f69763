//! The semantic cache: earlier answers for the questions of a user.

use crate::{MemoryId, QueryVector, Result, Space, Timestamp, Vector};

/// A cached question of a user with its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheEntry {
    /// The space that holds it.
    pub space: Space,
    /// Its id, unique in the space.
    pub id: MemoryId,
    /// The user that it belongs to; no other user sees it.
    pub owner: String,
    /// The question.
    pub query: String,
    /// The answer.
    pub response: String,
    /// The embedding of the question; without it, only an identical question matches.
    pub vector: Option<Vector>,
    /// The time at which it was stored.
    pub created_at: Timestamp,
    /// The time at which it expires.
    pub expires_at: Timestamp,
}

/// Keeps cache entries. No call for one owner reads, counts or removes the entries of another.
pub trait CacheStore: Send + Sync {
    /// Adds an entry and replaces the entries of the same owner for the byte-identical question,
    /// expired or not. The entry is durable when the method returns. `since` means the same as in
    /// [`Condition::NotWiped`](crate::Condition::NotWiped).
    ///
    /// # Errors
    /// `conflict` if any owner in the space already uses the id, or if the owner's data was wiped
    /// after `since`; `invalid_argument` for an entry that fails its [check](CacheEntry::check);
    /// `unavailable` if the store cannot be written.
    fn put_cache_entry(&self, entry: &CacheEntry, since: u64) -> Result<()>;

    /// Returns at most `limit` live entries of the owner with their cosine similarities, nearest
    /// first. A byte-identical question has similarity 1 and comes first; for others it is that of
    /// the vectors, if both have the same model and length. Ties are ordered newest first, then by
    /// lowest id.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn nearest_cache_entries(
        &self,
        space: &Space,
        owner: &str,
        query: &str,
        vector: Option<&QueryVector>,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<(CacheEntry, f32)>>;

    /// Returns the ids and questions of the owner's live entries, in the order of ids.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn cached_queries(
        &self,
        space: &Space,
        owner: &str,
        now: Timestamp,
    ) -> Result<Vec<(MemoryId, String)>>;

    /// Removes the owner's entries with these ids, expired or not, and returns their number. Other
    /// writers may commit in between.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written. Entries removed before the error stay removed.
    fn delete_cache_entries(&self, space: &Space, owner: &str, ids: &[MemoryId]) -> Result<u64>;
}
