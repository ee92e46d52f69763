//! Tombstones: what is left of texts that were forgotten, so that no later reading of their sources
//! brings them back.

use crate::{Result, Space, Timestamp};

/// The random bytes that the hashes of a [`Tombstone`] are keyed with.
pub type Salt = [u8; 16];

/// A hash of a [`Tombstone`], keyed with its [`Salt`].
pub type KeyedHash = [u8; 32];

/// The remains of a memory that was forgotten. It has no text and no name, only hashes with which
/// the same text, id or file is recognised. Hash of the text and hash of the id form the key in a
/// space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tombstone {
    /// The key of the hashes. The tombstones that one store makes in a space have the same;
    /// tombstones of another store bring theirs.
    pub salt: Salt,
    /// The hash of the text and of its owner; without an owner for a text that was common.
    pub text: KeyedHash,
    /// The hash of the id that the memory had.
    pub memory: KeyedHash,
    /// The hash of the path of the file that the memory was made from; `None` without a file.
    pub source: Option<KeyedHash>,
    /// The time at which it was forgotten.
    pub forgotten_at: Timestamp,
    /// True if the memory was removed for good, false if it was put out of sight and is still
    /// stored.
    pub is_removed: bool,
}

/// Keeps tombstones. [`Store::commit`](crate::Store::commit) writes them, and they outlive every
/// wipe and sweep.
pub trait TombstoneStore: Send + Sync {
    /// Returns the different salts of the tombstones of a space, in order; none if it has no
    /// tombstone. The cost grows with the number of salts, not of tombstones.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn tombstone_salts(&self, space: &Space) -> Result<Vec<Salt>>;

    /// Returns the tombstones with one of these hashes of texts, in the order of text and id.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn tombstones_of(&self, space: &Space, texts: &[KeyedHash]) -> Result<Vec<Tombstone>>;

    /// Returns at most `limit` tombstones of a space in the order of text and id, after that one.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn tombstones(
        &self,
        space: &Space,
        after: Option<&Tombstone>,
        limit: usize,
    ) -> Result<Vec<Tombstone>>;
}
