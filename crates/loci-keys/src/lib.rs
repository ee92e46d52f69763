//! The key of an encrypted store, the ways to it, and files that are sealed with it.
//!
//! A store has one random data key. The file `encryption.json` beside its database holds it wrapped
//! once for each way to it: a key file, a passphrase, the keyring of the system, and always the
//! recovery key ([`KeyFile`]). So a way is added or removed without a byte of the store being
//! written again. The database and each other file have a subkey of their own ([`DataKey::subkey`]).
//!
//! Never here: a database, a setting, a word on the terminal.
//!
//! ```
//! use loci_keys::{DataKey, KeyFile, RecoveryKey, Secret};
//!
//! let key = DataKey::random()?;
//! let recovery = RecoveryKey::random()?;
//! let mut file = KeyFile::of(&key);
//! file.add(&key, &Secret::Recovery(recovery.clone()))?;
//! let read = KeyFile::parse(&file.text()?)?;
//! assert_eq!(read.unwrap(&Secret::Recovery(recovery)), Some(key));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test may panic"))]

mod key;
mod key_file;
mod keyring;
mod keys;
mod recovery;
mod sealed;

pub use key::{DataKey, KEY_BYTES, PageCodes, SubKey};
pub use key_file::{FILE, KeyFile, KeyWay, Secret};
pub use keyring::Keyring;
pub use keys::{Ask, KeyError, KeySources, Keys};
pub use recovery::RecoveryKey;
pub use sealed::{SEALED_FROM, open_bytes, open_stream, opened_bytes, seal_bytes, seal_stream};
