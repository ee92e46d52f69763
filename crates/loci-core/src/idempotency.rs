//! Answers that are kept for a while, so that a call which is repeated under its key is done once.

use crate::{ContentHash, Result, Space, Timestamp};

/// An answer under its key. Space, owner, operation and key together are unique among the live ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyedAnswer {
    /// The space of the caller.
    pub space: Space,
    /// Who called; none for an anonymous caller.
    pub owner: Option<String>,
    /// The tool set that the call came through.
    pub origin: String,
    /// What was called.
    pub operation: String,
    /// The caller's key.
    pub key: String,
    /// Of what the caller asked for.
    pub request: ContentHash,
    /// What was answered.
    pub answer: String,
    /// When it was kept. Another one that had expired by then is no obstacle.
    pub created_at: Timestamp,
    /// When it vanishes, unless newer ones of its owner displace it before.
    pub expires_at: Timestamp,
}

/// Keeps answers by their keys. They are added with [`Change::KeepAnswer`](crate::Change::KeepAnswer), which
/// bounds what one owner has: an answer may be gone before it expires.
pub trait IdempotencyStore: Send + Sync {
    /// The live answer of that owner to that operation under that key.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn keyed_answer(
        &self,
        space: &Space,
        owner: Option<&str>,
        operation: &str,
        key: &str,
        now: Timestamp,
    ) -> Result<Option<KeyedAnswer>>;
}
