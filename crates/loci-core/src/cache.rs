//! Answers that a user may want again.

use crate::{MemoryId, QueryVector, Result, Space, Timestamp, Vector};

/// A question of a user with its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheEntry {
    /// The space that holds it.
    pub space: Space,
    /// Its id, unique in the space.
    pub id: MemoryId,
    /// The user that it is for, and nobody else.
    pub owner: String,
    /// The question.
    pub query: String,
    /// The answer.
    pub response: String,
    /// The question's embedding; without it, only the same words find it.
    pub vector: Option<Vector>,
    /// When it was stored.
    pub created_at: Timestamp,
    /// When it vanishes.
    pub expires_at: Timestamp,
}

/// Keeps cache entries. No call for one owner sees, counts or removes those of another.
pub trait CacheStore: Send + Sync {
    /// Adds an entry in the place of those of the same owner to the same question, byte for byte,
    /// expired or not; durable when it returns. `since` is as in
    /// [`Change::NotWiped`](crate::Change::NotWiped).
    ///
    /// # Errors
    /// `conflict` if the id is taken in the space, by whomever, or if the owner's data was wiped
    /// after `since`; `unavailable` if the store cannot be written.
    fn put_cache_entry(&self, entry: &CacheEntry, since: u64) -> Result<()>;

    /// The live entries of the owner nearest to the query, at most `limit`, nearest first, with
    /// their cosines: 1 where the words are the same, byte for byte, which is nearest of all; else
    /// that of the vectors, where both are of one model and length. Of equally near ones first the
    /// newest, then the one with the lowest id.
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

    /// The ids and questions of the owner's live entries, in the order of ids.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn cached_queries(
        &self,
        space: &Space,
        owner: &str,
        now: Timestamp,
    ) -> Result<Vec<(MemoryId, String)>>;

    /// Removes those of the owner's entries that have these ids, expired or not; returns how many.
    /// Others may write in between.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written. What was removed until then stays removed.
    fn delete_cache_entries(&self, space: &Space, owner: &str, ids: &[MemoryId]) -> Result<u64>;
}
