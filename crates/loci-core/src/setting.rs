//! What agents and hosts settle for later sessions: small values under names.

use crate::{Result, Space};

/// Keeps settings. They are written by [`Store::commit`](crate::Store::commit), and removed with
/// all that an owner has by a [wipe](crate::Store::wipe) of every tool set.
pub trait SettingStore: Send + Sync {
    /// The value under that name of an owner (of nobody, if none); none if there is none.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn setting(&self, space: &Space, owner: Option<&str>, name: &str) -> Result<Option<String>>;
}
