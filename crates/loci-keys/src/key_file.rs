//! The file that holds the wrapped key of a store: no secret is in it.

use std::io;
use std::path::Path;

use argon2::{Algorithm, Argon2, Params, Version};
use data_encoding::BASE64;
use ring::aead::{Aad, Nonce};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::key::{DataKey, KEY_BYTES, PageCodes, SubKey, mac, random};
use crate::recovery::RecoveryKey;
use crate::sealed::{NONCE, cipher, open_bytes, seal_bytes};

/// The name of the file, beside the database.
pub const FILE: &str = "encryption.json";
/// The version of the form whose database has pages with HMAC-SHA-512.
const SHA512_VERSION: u32 = 1;
/// The newest version of its form: the pages of the database have HMAC-SHA-256.
const VERSION: u32 = 2;
/// The purpose of the subkey that the key of the notes is sealed with.
const NOTES: &str = "key of the notes";
/// Bytes of the salt of a wrapped key, by which no two are wrapped with the same key.
const SALT: usize = 16;
/// Argon2id for new passphrases, the second choice of RFC 9106: 64 MiB, three passes.
const MEMORY_KIB: u32 = 64 << 10;
const PASSES: u32 = 3;
const LANES: u32 = 1;
/// The most that a file may ask for: a damaged one must not take all memory.
const MEMORY_KIB_MAX: u32 = 1 << 20;
const PASSES_MAX: u32 = 64;
/// The comment in the file, for who finds it.
const COMMENT: &str =
    "the key of this store, wrapped for each way to it; losing this file loses the store";

/// A way to the key of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyWay {
    /// A file with random bytes.
    KeyFile,
    /// The keyring of the system.
    Keyring,
    /// A passphrase, by Argon2id.
    Passphrase,
    /// The recovery key.
    Recovery,
}

impl KeyWay {
    /// The way in words, as a part of a sentence.
    pub fn noun(self) -> &'static str {
        match self {
            KeyWay::KeyFile => "a key file",
            KeyWay::Keyring => "the keyring of the system",
            KeyWay::Passphrase => "a passphrase",
            KeyWay::Recovery => "the recovery key",
        }
    }
}

/// The secret of a way.
#[derive(Clone)]
pub enum Secret {
    /// The bytes of the key file.
    KeyFile(Zeroizing<Vec<u8>>),
    /// The text that the keyring keeps.
    Keyring(Zeroizing<String>),
    /// The passphrase.
    Passphrase(Zeroizing<String>),
    /// The recovery key.
    Recovery(RecoveryKey),
}

impl Secret {
    /// The way that it opens.
    pub fn way(&self) -> KeyWay {
        match self {
            Secret::KeyFile(_) => KeyWay::KeyFile,
            Secret::Keyring(_) => KeyWay::Keyring,
            Secret::Passphrase(_) => KeyWay::Passphrase,
            Secret::Recovery(_) => KeyWay::Recovery,
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Secret::KeyFile(bytes) => bytes,
            Secret::Keyring(text) | Secret::Passphrase(text) => text.as_bytes(),
            Secret::Recovery(key) => key.bytes(),
        }
    }
}

/// The cost of Argon2id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Cost {
    memory_kib: u32,
    passes: u32,
    lanes: u32,
}

/// The key, wrapped for one way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Wrapped {
    way: KeyWay,
    salt: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    argon2id: Option<Cost>,
    sealed: String,
}

/// The file `encryption.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyFile {
    version: u32,
    comment: String,
    /// The name of the key.
    key: String,
    ways: Vec<Wrapped>,
    /// The key of the notes, sealed with a subkey of the key of the store; none if notes were never
    /// sealed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    notes: Option<String>,
    /// True if notes are written in the clear although there is a key.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    notes_in_the_clear: bool,
}

impl KeyFile {
    /// A file without a way to this key.
    pub fn of(key: &DataKey) -> Self {
        KeyFile {
            version: match key.page_codes() {
                PageCodes::Sha512 => SHA512_VERSION,
                PageCodes::Sha256 => VERSION,
            },
            comment: COMMENT.to_owned(),
            key: key.name(),
            ways: Vec::new(),
            notes: None,
            notes_in_the_clear: false,
        }
    }

    /// Reads the file of the store in a folder; none if there is no such file.
    ///
    /// # Errors
    /// It cannot be read, or is not such a file.
    pub fn read(folder: &Path) -> io::Result<Option<Self>> {
        match std::fs::read_to_string(folder.join(FILE)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            text => KeyFile::parse(&text?).map(Some),
        }
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// It is not such a file, or one of a newer loci.
    pub fn parse(text: &str) -> io::Result<Self> {
        let refused = |problem: String| io::Error::new(io::ErrorKind::InvalidData, problem);
        let file: KeyFile = serde_json::from_str(text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            refused(format!("it is damaged at line {line}, column {column}"))
        })?;
        if file.version > VERSION {
            return Err(refused(format!(
                "it was written by a newer loci (version {}; this one knows {VERSION}): update loci",
                file.version
            )));
        }
        Ok(file)
    }

    /// The text of the file.
    ///
    /// # Errors
    /// None is known.
    pub fn text(&self) -> io::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// The algorithm that authenticates the pages of the database.
    pub fn page_codes(&self) -> PageCodes {
        if self.version <= SHA512_VERSION {
            PageCodes::Sha512
        } else {
            PageCodes::Sha256
        }
    }

    /// Returns whether notes are written sealed.
    pub fn seals_notes(&self) -> bool {
        self.notes.is_some() && !self.notes_in_the_clear
    }

    /// Returns whether there is a key of notes.
    pub fn has_notes_key(&self) -> bool {
        self.notes.is_some()
    }

    /// Gives the notes a key of their own, or takes over the one that they have with another key of
    /// the store, e.g. the one before a rotation. Returns it.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn seal_notes(&mut self, key: &DataKey, of: Option<&SubKey>) -> io::Result<SubKey> {
        let notes = of.map_or_else(|| random().map(SubKey::of), |notes| Ok(notes.clone()))?;
        let sealed = seal_bytes(&key.subkey(NOTES), notes.bytes())?;
        self.notes = Some(BASE64.encode(&sealed));
        self.notes_in_the_clear = false;
        Ok(notes)
    }

    /// Notes are written in the clear from now on. Their key stays, because a sealed file may turn up
    /// that was not seen: on a drive that was away, in a hidden folder, in a copy.
    pub fn open_notes(&mut self) {
        self.notes_in_the_clear = self.notes.is_some();
    }

    /// The key of the store with this one, and with the key of the notes; none if that is damaged.
    fn with_notes(&self, key: DataKey) -> Option<DataKey> {
        let Some(sealed) = &self.notes else {
            return Some(key);
        };
        let sealed = BASE64.decode(sealed.as_bytes()).ok()?;
        let opened = open_bytes(&key.subkey(NOTES), &sealed).ok()?;
        let opened: [u8; KEY_BYTES] = opened[..].try_into().ok()?;
        Some(key.with_notes_key(SubKey::of(Zeroizing::new(opened))))
    }

    /// The name of the key.
    pub fn key_name(&self) -> &str {
        &self.key
    }

    /// The ways to the key.
    pub fn ways(&self) -> Vec<KeyWay> {
        let mut ways: Vec<KeyWay> = self.ways.iter().map(|wrapped| wrapped.way).collect();
        ways.sort_unstable();
        ways
    }

    /// Returns whether this way leads to the key.
    pub fn has(&self, way: KeyWay) -> bool {
        self.ways.iter().any(|wrapped| wrapped.way == way)
    }

    /// Wraps the key for one more way, in the place of the former secret of that way.
    ///
    /// # Errors
    /// The system gives no random bytes or no memory.
    pub fn add(&mut self, key: &DataKey, secret: &Secret) -> io::Result<()> {
        let way = secret.way();
        let (salt, nonce) = (random::<SALT>()?, random::<NONCE>()?);
        let argon2id = (way == KeyWay::Passphrase).then_some(Cost {
            memory_kib: MEMORY_KIB,
            passes: PASSES,
            lanes: LANES,
        });
        let wrapping = wrapping_key(secret, &salt[..], argon2id)
            .ok_or_else(|| io::Error::other("there is not enough memory for Argon2id"))?;
        let mut sealed = key.bytes().to_vec();
        cipher(&wrapping)?
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(*nonce),
                Aad::from(label(way)),
                &mut sealed,
            )
            .map_err(|_| io::Error::other("the key cannot be wrapped"))?;
        self.remove(way);
        self.ways.push(Wrapped {
            way,
            salt: BASE64.encode(&salt[..]),
            argon2id,
            sealed: BASE64.encode(&[&nonce[..], &sealed].concat()),
        });
        Ok(())
    }

    /// Takes a way away.
    pub fn remove(&mut self, way: KeyWay) {
        self.ways.retain(|wrapped| wrapped.way != way);
    }

    /// Returns the key, if this is the secret of one of its ways.
    pub fn unwrap(&self, secret: &Secret) -> Option<DataKey> {
        let ways = self
            .ways
            .iter()
            .filter(|wrapped| wrapped.way == secret.way());
        ways.filter_map(|wrapped| Some(DataKey::of(unwrap(wrapped, secret)?, self.page_codes())))
            .find(|key| key.name() == self.key)
            .and_then(|key| self.with_notes(key))
    }
}

fn unwrap(wrapped: &Wrapped, secret: &Secret) -> Option<Zeroizing<[u8; KEY_BYTES]>> {
    let salt = BASE64.decode(wrapped.salt.as_bytes()).ok()?;
    let sealed = BASE64.decode(wrapped.sealed.as_bytes()).ok()?;
    let (nonce, sealed) = sealed.split_at_checked(NONCE)?;
    let wrapping = wrapping_key(secret, &salt, wrapped.argon2id)?;
    let nonce: [u8; NONCE] = nonce.try_into().ok()?;
    let mut sealed = Zeroizing::new(sealed.to_vec());
    let opened = cipher(&wrapping)
        .ok()?
        .open_in_place(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(label(wrapped.way)),
            &mut sealed,
        )
        .ok()?;
    let opened: [u8; KEY_BYTES] = (&*opened).try_into().ok()?;
    Some(Zeroizing::new(opened))
}

/// The key that the secret wraps with; none if it asks for what this machine does not have.
fn wrapping_key(
    secret: &Secret,
    salt: &[u8],
    argon2id: Option<Cost>,
) -> Option<Zeroizing<[u8; KEY_BYTES]>> {
    let Some(cost) = argon2id else {
        let is_guessable = secret.way() == KeyWay::Passphrase;
        return (!is_guessable).then(|| mac(salt, &[label(secret.way()), secret.bytes()]));
    };
    if cost.memory_kib > MEMORY_KIB_MAX || cost.passes > PASSES_MAX {
        return None;
    }
    let params = Params::new(cost.memory_kib, cost.passes, cost.lanes, Some(KEY_BYTES)).ok()?;
    let mut key = Zeroizing::new([0; KEY_BYTES]);
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into(secret.bytes(), salt, &mut key[..])
        .ok()?;
    Some(key)
}

/// Binds a wrapped key to its way.
fn label(way: KeyWay) -> &'static [u8] {
    match way {
        KeyWay::KeyFile => b"loci data key 1, key file",
        KeyWay::Keyring => b"loci data key 1, keyring",
        KeyWay::Passphrase => b"loci data key 1, passphrase",
        KeyWay::Recovery => b"loci data key 1, recovery key",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passphrase(text: &str) -> Secret {
        Secret::Passphrase(Zeroizing::new(text.to_owned()))
    }

    #[test]
    fn each_way_leads_to_the_key_and_no_other_does() {
        let key = DataKey::random().unwrap();
        let recovery = RecoveryKey::random().unwrap();
        let secrets = [
            Secret::KeyFile(Zeroizing::new(b"bytes".to_vec())),
            Secret::Keyring(Zeroizing::new("kept".to_owned())),
            passphrase("correct horse"),
            Secret::Recovery(recovery.clone()),
        ];
        let mut file = KeyFile::of(&key);
        for secret in &secrets {
            file.add(&key, secret).unwrap();
        }
        let text = file.text().unwrap();
        for word in ["correct", "bytes", "kept", &recovery.letters()[..4]] {
            assert!(!text.contains(word), "{word}");
        }
        let mut file = KeyFile::parse(&text).unwrap();
        for secret in &secrets {
            assert_eq!(file.unwrap(secret), Some(key.clone()));
        }
        for wrong in [
            passphrase("correct mule"),
            passphrase("bytes"),
            Secret::KeyFile(Zeroizing::new(b"correct horse".to_vec())),
            Secret::Recovery(RecoveryKey::random().unwrap()),
        ] {
            assert_eq!(file.unwrap(&wrong), None);
        }
        file.remove(KeyWay::Passphrase);
        assert_eq!(
            file.ways(),
            [KeyWay::KeyFile, KeyWay::Keyring, KeyWay::Recovery]
        );
        assert_eq!(file.unwrap(&secrets[2]), None);
    }

    #[test]
    fn the_file_says_what_authenticates_the_pages() {
        let key = DataKey::random().unwrap();
        let mut file = KeyFile::of(&key);
        file.add(&key, &passphrase("p")).unwrap();
        let codes_of = |file: &KeyFile| file.unwrap(&passphrase("p")).unwrap().page_codes();
        assert_eq!(codes_of(&file), PageCodes::Sha256);
        let first = file
            .text()
            .unwrap()
            .replace("\"version\": 2", "\"version\": 1");
        let mut first = KeyFile::parse(&first).unwrap();
        let first_key = first.unwrap(&passphrase("p")).unwrap();
        assert_eq!(first_key.page_codes(), PageCodes::Sha512);
        // Another way to the key changes no page.
        first.add(&first_key, &passphrase("q")).unwrap();
        assert_eq!(
            first.unwrap(&passphrase("q")).unwrap().page_codes(),
            PageCodes::Sha512
        );
        assert_eq!(KeyFile::of(&first_key).version, SHA512_VERSION);
    }

    #[test]
    fn notes_have_a_key_of_their_own_that_outlives_a_rotation() {
        let key = DataKey::random().unwrap();
        let mut file = KeyFile::of(&key);
        file.add(&key, &passphrase("p")).unwrap();
        let opened = |file: &KeyFile| {
            let file = KeyFile::parse(&file.text().unwrap()).unwrap();
            file.unwrap(&passphrase("p"))
        };
        assert_eq!(opened(&file).unwrap().notes_key(), None);
        file.seal_notes(&key, None).unwrap();
        let with_notes = opened(&file).unwrap();
        let notes = with_notes.notes_key().unwrap();
        assert_ne!(notes.bytes(), key.bytes());
        let other = DataKey::random().unwrap();
        let mut rotated = KeyFile::of(&other);
        rotated.add(&other, &passphrase("p")).unwrap();
        rotated.seal_notes(&other, Some(notes)).unwrap();
        assert_eq!(opened(&rotated).unwrap().notes_key(), Some(notes));
        // The sealed key of another store, or a damaged one.
        rotated.notes.clone_from(&file.notes);
        assert_eq!(opened(&rotated), None);
        file.open_notes();
        assert!(!file.seals_notes() && file.has_notes_key());
        assert_eq!(opened(&file).unwrap().notes_key(), Some(notes));
        file.notes = Some("AAAA".to_owned());
        assert_eq!(opened(&file), None);
    }

    #[test]
    fn a_damaged_file_gives_no_key_and_takes_no_memory() {
        let key = DataKey::random().unwrap();
        let mut file = KeyFile::of(&key);
        file.add(&key, &passphrase("p")).unwrap();
        let text = file.text().unwrap();
        let huge = text.replace("65536", "4000000000");
        assert_eq!(
            KeyFile::parse(&huge).unwrap().unwrap(&passphrase("p")),
            None
        );
        let newer = text.replace("\"version\": 2", "\"version\": 3");
        let refused = KeyFile::parse(&newer).unwrap_err().to_string();
        assert!(refused.contains("newer loci"), "{refused}");
        assert!(KeyFile::parse(&text[..text.len() / 2]).is_err());
        let other = text.replace(&key.name(), "0011223344556677");
        assert_eq!(
            KeyFile::parse(&other).unwrap().unwrap(&passphrase("p")),
            None
        );
    }
}
