//! Finds the key of the store in a folder, by the ways that a process has.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fmt, fs, io};

use zeroize::Zeroizing;

use crate::key::DataKey;
use crate::key_file::{FILE, KeyFile, KeyWay, Secret};
use crate::keyring::Keyring;
use crate::recovery::RecoveryKey;

/// Asks a person for the passphrase of the store in a folder; none without a terminal.
pub type Ask = fn(&Path) -> Option<Zeroizing<String>>;

/// The ways to a key that a process has. A recovery key that is given is tried first, then the others in
/// the order of the fields.
#[derive(Clone, Default)]
pub struct KeySources {
    /// The key file.
    pub key_file: Option<PathBuf>,
    /// True if the keyring of the system is asked.
    pub keyring: bool,
    /// The passphrase, from the environment.
    pub passphrase: Option<Zeroizing<String>>,
    /// The recovery key, as it was typed.
    pub recovery: Option<Zeroizing<String>>,
    /// Asks on the terminal.
    pub ask: Option<Ask>,
}

/// Finds keys, and remembers what it found.
#[derive(Clone, Default)]
pub struct Keys(Arc<Inner>);

#[derive(Default)]
struct Inner {
    sources: KeySources,
    /// The keys that were found, by the content of their files.
    known: Mutex<HashMap<String, DataKey>>,
}

/// Without a secret.
impl fmt::Debug for Keys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Keys")
    }
}

/// Two are equal if they share what they found.
impl PartialEq for Keys {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Keys {}

/// Why the key of a store is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// None of the ways that the process has leads to it.
    #[error("the store in {folder} is encrypted, and {tried}. It opens with {ways}: {remedy}", folder = folder.display())]
    NoKey {
        /// The folder.
        folder: PathBuf,
        /// The ways that were tried, as a clause.
        tried: String,
        /// The ways to the key.
        ways: String,
        /// The remedy for a person.
        remedy: String,
    },
    /// The file with the wrapped key cannot be used.
    #[error("{file}, which holds the wrapped key of the store, cannot be used ({problem}): bring it back from a backup", file = file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The problem.
        problem: String,
    },
}

impl Keys {
    /// With these ways.
    pub fn new(sources: KeySources) -> Self {
        Keys(Arc::new(Inner {
            sources,
            known: Mutex::default(),
        }))
    }

    /// The same ways, and the terminal after them.
    #[must_use]
    pub fn asking(&self, ask: Ask) -> Self {
        Keys::new(KeySources {
            ask: Some(ask),
            ..self.0.sources.clone()
        })
    }

    /// The ways.
    pub fn sources(&self) -> &KeySources {
        &self.0.sources
    }

    /// Returns the key of the store in a folder; none if the store is not encrypted.
    ///
    /// # Errors
    /// It is, and no way leads to its key.
    pub fn of(&self, folder: &Path) -> Result<Option<DataKey>, KeyError> {
        let path = folder.join(FILE);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|error| unusable(&path, &error))?,
        };
        if let Some(key) = self.known().get(&text) {
            return Ok(Some(key.clone()));
        }
        let file = KeyFile::parse(&text).map_err(|error| unusable(&path, &error))?;
        let key = self.find(&file, folder)?;
        self.known().insert(text, key.clone());
        Ok(Some(key))
    }

    /// Returns the key in a file that belongs to this folder or comes out of a backup.
    ///
    /// # Errors
    /// No way leads to it.
    pub fn find(&self, file: &KeyFile, folder: &Path) -> Result<DataKey, KeyError> {
        let sources = &self.0.sources;
        let mut tried = Vec::new();
        if let Some(text) = &sources.recovery {
            let Some(recovery) = RecoveryKey::parse(text) else {
                tried.push("the recovery key was mistyped: its checksum is wrong".to_owned());
                return Err(no_key(file, folder, &tried));
            };
            match file.unwrap(&Secret::Recovery(recovery)) {
                Some(key) => return Ok(key),
                None => tried.push("the recovery key is that of another store".to_owned()),
            }
        }
        if let Some(path) = &sources.key_file {
            match fs::read(path).map(|bytes| Secret::KeyFile(Zeroizing::new(bytes))) {
                Err(error) => tried.push(format!("{} cannot be read ({error})", path.display())),
                Ok(secret) => match file.unwrap(&secret) {
                    Some(key) => return Ok(key),
                    None => tried.push(format!("{} is not its key file", path.display())),
                },
            }
        }
        if sources.keyring && file.has(KeyWay::Keyring) {
            match Keyring.find(file.key_name()) {
                Err(error) => tried.push(error.to_string()),
                Ok(None) => tried.push("the keyring of the system has no key for it".to_owned()),
                Ok(Some(secret)) => match file.unwrap(&Secret::Keyring(secret)) {
                    Some(key) => return Ok(key),
                    None => tried.push("the key in the keyring is another one".to_owned()),
                },
            }
        }
        if let Some(passphrase) = &sources.passphrase {
            match file.unwrap(&Secret::Passphrase(passphrase.clone())) {
                Some(key) => return Ok(key),
                None => tried.push("the passphrase that was given is wrong".to_owned()),
            }
        }
        if file.has(KeyWay::Passphrase)
            && let Some(passphrase) = sources.ask.and_then(|ask| ask(folder))
        {
            match file.unwrap(&Secret::Passphrase(passphrase)) {
                Some(key) => return Ok(key),
                None => tried.push("the passphrase is wrong".to_owned()),
            }
        }
        Err(no_key(file, folder, &tried))
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<String, DataKey>> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unusable(path: &Path, error: &io::Error) -> KeyError {
    KeyError::File {
        file: path.to_owned(),
        problem: error.to_string(),
    }
}

fn no_key(file: &KeyFile, folder: &Path, tried: &[String]) -> KeyError {
    let ways = file.ways();
    let remedies = ways.iter().map(|way| match way {
        KeyWay::KeyFile => {
            "name the key file with `encryption.key_file` (LOCI_ENCRYPTION_KEY_FILE)"
        }
        KeyWay::Keyring => "unlock the keyring",
        KeyWay::Passphrase => "give the passphrase in LOCI_PASSPHRASE",
        KeyWay::Recovery => "run `loci encrypt --recover` with the recovery key",
    });
    KeyError::NoKey {
        folder: folder.to_owned(),
        tried: if tried.is_empty() {
            "no key was given".to_owned()
        } else {
            tried.join("; ")
        },
        ways: listed(ways.iter().map(|way| way.noun())),
        remedy: listed(remedies),
    }
}

/// The parts with "or" before the last.
fn listed<'a>(parts: impl Iterator<Item = &'a str>) -> String {
    let parts: Vec<_> = parts.collect();
    match parts.split_last() {
        None => "nothing".to_owned(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(secrets: &[Secret]) -> (tempfile::TempDir, DataKey) {
        let folder = tempfile::tempdir().unwrap();
        let key = DataKey::random().unwrap();
        let mut file = KeyFile::of(&key);
        for secret in secrets {
            file.add(&key, secret).unwrap();
        }
        fs::write(folder.path().join(FILE), file.text().unwrap()).unwrap();
        (folder, key)
    }

    #[test]
    fn a_folder_without_the_file_is_not_encrypted() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Keys::default().of(folder.path()), Ok(None));
        fs::write(folder.path().join(FILE), "{").unwrap();
        let refused = Keys::default().of(folder.path()).unwrap_err();
        assert!(matches!(refused, KeyError::File { .. }), "{refused}");
    }

    #[test]
    fn the_key_is_found_by_any_way_and_the_error_names_the_others() {
        let recovery = RecoveryKey::random().unwrap();
        let bytes = Zeroizing::new(b"some bytes".to_vec());
        let (folder, key) = folder(&[
            Secret::KeyFile(bytes.clone()),
            Secret::Recovery(recovery.clone()),
        ]);
        let path = folder.path().join("key");
        fs::write(&path, &*bytes).unwrap();
        let of = |sources: KeySources| Keys::new(sources).of(folder.path());
        let key_file = Some(path);
        assert_eq!(
            of(KeySources {
                key_file,
                ..KeySources::default()
            }),
            Ok(Some(key.clone()))
        );
        let recovering = |text: &str| KeySources {
            recovery: Some(Zeroizing::new(text.to_owned())),
            ..KeySources::default()
        };
        assert_eq!(of(recovering(&recovery.letters())), Ok(Some(key)));
        for (sources, expected) in [
            (KeySources::default(), "no key was given"),
            (recovering("ABCD"), "mistyped"),
            (
                recovering(&RecoveryKey::random().unwrap().letters()),
                "another store",
            ),
            (
                KeySources {
                    key_file: Some(folder.path().join("gone")),
                    ..KeySources::default()
                },
                "cannot be read",
            ),
            (
                KeySources {
                    key_file: Some(folder.path().join(FILE)),
                    ..KeySources::default()
                },
                "is not its key file",
            ),
        ] {
            let error = of(sources).unwrap_err().to_string();
            for part in [
                expected,
                "a key file or the recovery key",
                "LOCI_ENCRYPTION_KEY_FILE",
            ] {
                assert!(error.contains(part), "{error} should contain {part}");
            }
        }
    }
}
