//! Answers that are kept for a while, so that a call which is repeated under its key is done once.

use crate::{ContentHash, MemoryId, Result, Space, Timestamp};

/// An answer under its key. Space, owner, operation and key together are unique among the live
/// ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotentReply {
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
    /// The memories of its space whose texts it holds: it goes with the first of them, see
    /// [`IdempotencyStore`].
    pub memories: Vec<MemoryId>,
    /// When it was kept. Another one that had expired by then is no obstacle.
    pub created_at: Timestamp,
    /// When it vanishes, unless newer ones of its owner displace it before.
    pub expires_at: Timestamp,
}

/// Keeps answers by their keys. They are added with
/// [`Change::KeepAnswer`](crate::Change::KeepAnswer), which bounds what one owner has: an answer
/// may be gone before it expires.
///
/// None outlives a memory whose text it holds. It goes in the transaction in which that is removed,
/// softly deleted or forgotten, or, unless it is an answer of the memory's owner, taken from others
/// who could read it. One whose memories are not all there and live when it is kept is gone at
/// once.
pub trait IdempotencyStore: Send + Sync {
    /// The live answer of that owner to that operation under that key.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn idempotent_reply(
        &self,
        space: &Space,
        owner: Option<&str>,
        operation: &str,
        key: &str,
        now: Timestamp,
    ) -> Result<Option<IdempotentReply>>;
}
