//! Choices of a user under a name.

use crate::{Result, Space, Timestamp};

/// A decision. `(space, owner, key)` is its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The space that holds it.
    pub space: Space,
    /// Whose it is, and nobody else's.
    pub owner: String,
    /// Its name.
    pub key: String,
    /// What was decided.
    pub value: String,
    /// When it was first stored.
    pub created_at: Timestamp,
    /// When it was last stored.
    pub updated_at: Timestamp,
    /// When it vanishes; never, if none.
    pub expires_at: Option<Timestamp>,
}

/// Keeps decisions.
pub trait DecisionStore: Send + Sync {
    /// Stores a decision under its key; durable when it returns. One that is alive at `updated_at`
    /// is replaced and keeps its `created_at`; returns whether there was none. `since` is as in
    /// [`Change::NotWiped`](crate::Change::NotWiped).
    ///
    /// # Errors
    /// `conflict` if the owner's data was wiped after `since`; `unavailable` if the store cannot
    /// be written.
    fn put_decision(&self, decision: &Decision, since: u64) -> Result<bool>;

    /// The decision of the owner under that key, if it is alive at `now`.
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
