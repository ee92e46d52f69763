//! Decisions that a user stores under a key.

use crate::{Result, Space, Timestamp};

/// A decision, keyed by `(space, owner, key)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The space that holds it.
    pub space: Space,
    /// The user that it belongs to; no other user sees it.
    pub owner: String,
    /// Its key, unique for the owner.
    pub key: String,
    /// The decision itself.
    pub value: String,
    /// The time at which it was first stored.
    pub created_at: Timestamp,
    /// The time at which it was last stored.
    pub updated_at: Timestamp,
    /// The time at which it expires; `None` if it never does.
    pub expires_at: Option<Timestamp>,
}

/// Keeps decisions.
pub trait DecisionStore: Send + Sync {
    /// Stores a decision under its key; the decision is durable when the method returns. Replaces a
    /// decision that is still live at `updated_at`, and keeps its `created_at`. Returns true if
    /// there was no such decision. `since` means the same as in
    /// [`Condition::NotWiped`](crate::Condition::NotWiped).
    ///
    /// # Errors
    /// `conflict` if the owner's data was wiped after `since`; `invalid_argument` for a decision
    /// that fails its [check](Decision::check); `unavailable` if the store cannot be written.
    fn put_decision(&self, decision: &Decision, since: u64) -> Result<bool>;

    /// Returns the owner's decision under that key, if it is live at `now`.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn decision(
        &self,
        space: &Space,
        owner: &str,
        key: &str,
        now: Timestamp,
    ) -> Result<Option<Decision>>;
}
