//! The key of an encrypted database, and SQLCipher's form of one.
//!
//! SQLCipher takes the key itself and the salt, so that a connection derives none: the file begins
//! with the salt, and each page of 4,096 bytes ends with some that are reserved, the vector of its
//! encryption (AES-256 in CBC mode) and its authentication code (HMAC-SHA-256, or HMAC-SHA-512).

use std::fmt::Write as _;
use std::path::Path;

use aes::Aes256;
use cbc::Decryptor;
use cbc::cipher::block_padding::NoPadding;
use cbc::cipher::{BlockModeDecrypt, KeyIvInit};
use loci_keys::{DataKey, Keys, PageCodes, SubKey};
use rusqlite::Connection;
use zeroize::Zeroizing;

use crate::opening::open_error::OpenError;

/// Bytes of the salt that an encrypted database begins with.
pub(crate) const SALT: usize = 16;
/// Bytes of the vector.
const VECTOR: usize = 16;
/// Settings of a connection to an encrypted database, beside the settings of every connection. Sorting writes texts, and
/// no temporary file is encrypted. The page cache is larger, because a page that is read again must
/// be decrypted again.
pub(crate) const SETTINGS: &str = "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8192;";

/// Makes databases that are attached from now on, which can't say it for themselves, have pages with
/// HMAC-SHA-256.
pub(crate) const ATTACHED: &str = "PRAGMA cipher_default_hmac_algorithm = HMAC_SHA256";

/// The keys of a store: of its database and of the index beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoreKey {
    database: SubKey,
    salt: [u8; SALT],
    page_codes: PageCodes,
    pub(crate) index: SubKey,
}

impl StoreKey {
    /// Returns the keys of the store in a folder; none if it is not encrypted.
    ///
    /// # Errors
    /// [`OpenError::Locked`] if it is, and none of these ways leads to its key.
    pub(crate) fn of(keys: &Keys, folder: &Path) -> Result<Option<Self>, OpenError> {
        let key = keys.of(folder).map_err(|error| OpenError::Locked {
            folder: folder.to_owned(),
            problem: error.to_string(),
        })?;
        Ok(key.map(|key| StoreKey::from_data_key(&key)))
    }

    /// Returns the keys of the store that a database lies in.
    ///
    /// # Errors
    /// As for [`StoreKey::of`].
    pub(crate) fn beside(keys: &Keys, database: &Path) -> Result<Option<Self>, OpenError> {
        StoreKey::of(keys, database.parent().unwrap_or(Path::new("")))
    }

    pub(crate) fn from_data_key(key: &DataKey) -> Self {
        let mut salt = [0; SALT];
        salt.copy_from_slice(&key.subkey("database salt").bytes()[..SALT]);
        StoreKey {
            database: key.subkey("database"),
            salt,
            page_codes: key.page_codes(),
            index: key.subkey("index"),
        }
    }

    /// Gives the key to a new connection, before anything else.
    pub(crate) fn apply(&self, connection: &Connection) -> rusqlite::Result<()> {
        // The error of a statement says enough.
        connection.execute_batch("PRAGMA cipher_log_level = NONE")?;
        let pragma = Zeroizing::new(format!("PRAGMA key = \"{}\"", *self.literal()));
        connection.execute_batch(&pragma)?;
        connection.execute_batch(match self.page_codes {
            PageCodes::Sha512 => "PRAGMA cipher_hmac_algorithm = HMAC_SHA512",
            PageCodes::Sha256 => "PRAGMA cipher_hmac_algorithm = HMAC_SHA256",
        })
    }

    /// Bytes at the end of each page: the vector and the authentication code.
    pub(crate) fn reserved(&self) -> usize {
        VECTOR
            + match self.page_codes {
                PageCodes::Sha512 => 64,
                PageCodes::Sha256 => 32,
            }
    }

    /// The key and the salt as SQLCipher reads them.
    pub(crate) fn literal(&self) -> Zeroizing<String> {
        let bytes = self.database.bytes().iter().chain(&self.salt);
        let mut literal = Zeroizing::new(String::with_capacity(128));
        literal.push_str("x'");
        for byte in bytes {
            // A string has room for more.
            let _ = write!(literal, "{byte:02x}");
        }
        literal.push('\'');
        literal
    }

    /// Decrypts a page, whatever its authentication code says: a flipped bit spoils 16 bytes and
    /// one bit of the next 16, and the rows beside them have checksums of their own. Returns the
    /// bytes that are not reserved.
    pub(crate) fn decrypt(&self, number: u32, mut page: Vec<u8>) -> Option<Vec<u8>> {
        /// The first bytes of a plain database.
        const MAGIC: &[u8; SALT] = b"SQLite format 3\0";
        let usable = page.len().checked_sub(self.reserved())?;
        let vector: [u8; VECTOR] = page.get(usable..usable + VECTOR)?.try_into().ok()?;
        page.truncate(usable);
        let begin = if number == 1 { SALT } else { 0 };
        Decryptor::<Aes256>::new(self.database.bytes().into(), &vector.into())
            .decrypt_padded::<NoPadding>(page.get_mut(begin..)?)
            .ok()?;
        if number == 1 {
            page[..SALT].copy_from_slice(MAGIC);
        }
        Some(page)
    }
}
