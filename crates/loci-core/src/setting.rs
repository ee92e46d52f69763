//! Settings: small named values that agents and hosts keep for later sessions.

use crate::{Result, Space};

/// Keeps settings. [`Store::commit`](crate::Store::commit) writes them, and a
/// [wipe](crate::Store::wipe) of an owner's data in all tool sets removes them.
pub trait SettingStore: Send + Sync {
    /// Returns the owner's value under that name, or that of no owner if `owner` is `None`; `None`
    /// if the setting does not exist.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn setting(&self, space: &Space, owner: Option<&str>, name: &str) -> Result<Option<String>>;
}
