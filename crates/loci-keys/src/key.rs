//! Keys in memory, which are overwritten when they go.

use std::fmt;
use std::io;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

/// Bytes of a key.
pub const KEY_BYTES: usize = 32;
/// Bytes of the name of a key.
const NAME_BYTES: usize = 8;

/// The algorithm that authenticates the pages of an encrypted database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageCodes {
    /// HMAC-SHA-512, of stores that were encrypted before there was a choice.
    Sha512,
    /// HMAC-SHA-256, for which processors have instructions: a third of the time.
    Sha256,
}

impl PageCodes {
    /// The name of the algorithm.
    pub fn name(self) -> &'static str {
        match self {
            PageCodes::Sha512 => "HMAC-SHA-512",
            PageCodes::Sha256 => "HMAC-SHA-256",
        }
    }
}

/// The random key of a store, from which all others are made.
#[derive(Clone, PartialEq, Eq)]
pub struct DataKey {
    bytes: Arc<Zeroizing<[u8; KEY_BYTES]>>,
    page_codes: PageCodes,
    notes: Option<SubKey>,
}

/// A key for one purpose.
#[derive(Clone, PartialEq, Eq)]
pub struct SubKey(Arc<Zeroizing<[u8; KEY_BYTES]>>);

impl DataKey {
    /// Makes a new key.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn random() -> io::Result<Self> {
        Ok(DataKey::of(random()?, PageCodes::Sha256))
    }

    pub(crate) fn of(bytes: Zeroizing<[u8; KEY_BYTES]>, page_codes: PageCodes) -> Self {
        DataKey {
            bytes: Arc::new(bytes),
            page_codes,
            notes: None,
        }
    }

    /// The same key with the key of the notes, if the store has them sealed. That is not made from this key, so that
    /// another one, by a rotation, has the same notes.
    #[must_use]
    pub fn with_notes_key(mut self, notes: SubKey) -> Self {
        self.notes = Some(notes);
        self
    }

    /// That key of the notes.
    pub fn notes_key(&self) -> Option<&SubKey> {
        self.notes.as_ref()
    }

    pub(crate) fn bytes(&self) -> &[u8; KEY_BYTES] {
        &self.bytes
    }

    /// The algorithm that authenticates the pages of the database with this key.
    pub fn page_codes(&self) -> PageCodes {
        self.page_codes
    }

    /// Returns the key for a purpose, e.g. `database`. It tells nothing of another one.
    pub fn subkey(&self, purpose: &str) -> SubKey {
        SubKey::of(mac(&self.bytes[..], &[b"loci ", purpose.as_bytes()]))
    }

    /// Returns a name that tells the key from others and gives nothing away.
    pub fn name(&self) -> String {
        HEXLOWER.encode(&self.subkey("name").bytes()[..NAME_BYTES])
    }
}

impl SubKey {
    pub(crate) fn of(bytes: Zeroizing<[u8; KEY_BYTES]>) -> Self {
        SubKey(Arc::new(bytes))
    }

    /// The bytes. Who takes them answers for them.
    pub fn bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    /// Returns the key for one file or message, which has this salt.
    pub(crate) fn salted(&self, salt: &[u8]) -> Zeroizing<[u8; KEY_BYTES]> {
        mac(&self.0[..], &[salt])
    }
}

/// Without the key.
impl fmt::Debug for DataKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("DataKey")
    }
}

/// Without the key.
impl fmt::Debug for SubKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SubKey")
    }
}

/// Random bytes of the system.
pub(crate) fn random<const N: usize>() -> io::Result<Zeroizing<[u8; N]>> {
    let mut bytes = Zeroizing::new([0; N]);
    getrandom::fill(&mut bytes[..]).map_err(io::Error::other)?;
    Ok(bytes)
}

/// HMAC-SHA-256 of the parts, one after the other.
pub(crate) fn mac(key: &[u8], parts: &[&[u8]]) -> Zeroizing<[u8; KEY_BYTES]> {
    // A key of HMAC has any length.
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap_or_else(|_| unreachable!());
    for part in parts {
        mac.update(part);
    }
    Zeroizing::new(mac.finalize().into_bytes().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_its_own_and_shows_nothing() {
        let (one, other) = (DataKey::random().unwrap(), DataKey::random().unwrap());
        assert_ne!(one, other);
        assert_ne!(one.name(), other.name());
        assert_ne!(one.subkey("a"), one.subkey("b"));
        assert_eq!(one.subkey("a"), one.clone().subkey("a"));
        assert_eq!(format!("{one:?} {:?}", one.subkey("a")), "DataKey SubKey");
    }
}
