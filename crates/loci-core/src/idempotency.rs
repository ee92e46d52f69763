//! Replies that are kept for a while under idempotency keys, so that a repeated call runs only
//! once.

use crate::{ContentHash, MemoryId, Result, Space, Timestamp};

/// A reply kept under an idempotency key. Space, owner, operation and key together are unique among
/// live replies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotentReply {
    /// The space of the caller.
    pub space: Space,
    /// The caller; `None` for an anonymous caller.
    pub owner: Option<String>,
    /// The tool set of the call.
    pub origin: String,
    /// The operation that was called.
    pub operation: String,
    /// The caller's idempotency key.
    pub key: String,
    /// The hash of the request.
    pub request: ContentHash,
    /// The reply.
    pub answer: String,
    /// The memories of its space whose texts it holds; it is removed as soon as one of these is,
    /// see [`IdempotencyStore`].
    pub memories: Vec<MemoryId>,
    /// The time at which it was kept. It replaces a reply that had expired by then.
    pub created_at: Timestamp,
    /// The time at which it expires, unless newer replies of its owner evict it earlier.
    pub expires_at: Timestamp,
}

/// Keeps replies by their idempotency keys.
/// [`Change::PutIdempotentReply`](crate::Change::PutIdempotentReply) adds them and limits how many
/// an owner has, so a reply may be evicted before it expires.
///
/// No reply outlives a memory whose text it holds. It is removed in the transaction that removes,
/// soft-deletes or forgets the memory, or that revokes the access of the reply's owner to a memory
/// of another owner. A reply is removed at once if any of its memories is missing or not live when
/// it is kept.
pub trait IdempotencyStore: Send + Sync {
    /// Returns the owner's live reply to that operation under that key.
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
