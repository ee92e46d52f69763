//! The secrets of the ways to a key: new ones, and the ones that a rotation keeps.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use data_encoding::HEXLOWER;
use loci_archive::files::write_privately;
use loci_keys::{DataKey, KeyFile, KeyWay, Keyring, Secret};
use zeroize::Zeroizing;

use crate::cli::{self, RemovableWay};
use crate::exit::{Exit, Failure};
use crate::output::status_line;
use crate::settings::Settings;
use crate::terminal::hidden_line;
use crate::vault::real;

/// Random bytes of a key file and of what a keyring keeps.
const SECRET_BYTES: usize = 32;
/// The fewest bytes of a key file that was there before.
const KEY_FILE_MIN: usize = 16;
/// The fewest characters of a passphrase.
const PASSPHRASE_MIN: usize = 8;

/// The name of a way, for programs.
pub fn name_of(way: KeyWay) -> &'static str {
    match way {
        KeyWay::KeyFile => "key-file",
        KeyWay::Keyring => "keyring",
        KeyWay::Passphrase => "passphrase",
        KeyWay::Recovery => "recovery",
    }
}

/// The ways that the arguments take away.
pub fn removed_ways(arguments: &cli::Encrypt) -> Vec<KeyWay> {
    let way = |way: &RemovableWay| match way {
        RemovableWay::KeyFile => KeyWay::KeyFile,
        RemovableWay::Passphrase => KeyWay::Passphrase,
        RemovableWay::Keyring => KeyWay::Keyring,
    };
    arguments.remove_way.iter().map(way).collect()
}

/// The secrets of the ways that the arguments name. Without a name: for a
/// rotation the ways that the store has, otherwise the keyring.
///
/// # Errors
/// [`Exit::Usage`] if a way is not there, with what to do.
pub fn new_secrets(
    settings: &Settings,
    arguments: &cli::Encrypt,
    key: &DataKey,
    old: Option<&KeyFile>,
) -> Result<Vec<Secret>, Failure> {
    let removed = removed_ways(arguments);
    let stays = |way: KeyWay| {
        arguments.rotate && old.is_some_and(|old| old.has(way)) && !removed.contains(&way)
    };
    let mut secrets = Vec::new();
    let key_file = match &arguments.key_file {
        None if stays(KeyWay::KeyFile) => settings.store.keys.sources().key_file.as_ref(),
        named => named.as_ref(),
    };
    match key_file {
        Some(path) => secrets.push(Secret::KeyFile(key_file_of(settings, path)?)),
        None if stays(KeyWay::KeyFile) => {
            return Err(usage(
                "name the key file, too (--key-file FILE), or take that way away (--remove-way key-file)",
            ));
        }
        None => {}
    }
    if arguments.passphrase || stays(KeyWay::Passphrase) {
        secrets.push(Secret::Passphrase(passphrase(settings, arguments, old)?));
    }
    let is_default = old.is_none() && secrets.is_empty();
    if arguments.keyring || stays(KeyWay::Keyring) || is_default {
        secrets.push(Secret::Keyring(kept_in_keyring(key, is_default)?));
    }
    Ok(secrets)
}

/// Returns the bytes of the key file, which is made if it is not there.
fn key_file_of(settings: &Settings, path: &Path) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let refused = |problem: &str| usage(format!("the key file {} {problem}", path.display()));
    let path = &std::path::absolute(path).map_err(|error| refused(&error.to_string()))?;
    if real(path).starts_with(real(&settings.data)) {
        return Err(refused(
            "would lie in the data folder, beside what it opens: choose another place",
        ));
    }
    match fs::read(path).map(Zeroizing::new) {
        Ok(bytes) if bytes.len() < KEY_FILE_MIN => {
            Err(refused("is too short to be a key: name another one"))
        }
        Ok(bytes) => Ok(bytes),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let text = Zeroizing::new(random_text()?.to_string() + "\n");
            write_privately(path, text.as_bytes())
                .map_err(|error| refused(&format!("cannot be made: {error}")))?;
            Ok(Zeroizing::new(text.as_bytes().to_vec()))
        }
        Err(error) => Err(refused(&format!("cannot be read: {error}"))),
    }
}

/// The passphrase to set: that of the settings, unless it opens the store already and another one
/// is asked for.
fn passphrase(
    settings: &Settings,
    arguments: &cli::Encrypt,
    old: Option<&KeyFile>,
) -> Result<Zeroizing<String>, Failure> {
    let opens = |passphrase: &Zeroizing<String>| {
        old.is_some_and(|old| {
            old.unwrap(&Secret::Passphrase(passphrase.clone()))
                .is_some()
        })
    };
    let given = settings.store.keys.sources().passphrase.clone();
    let given = given.filter(|given| arguments.rotate || !opens(given));
    let passphrase = match given {
        Some(given) => given,
        None => asked()?,
    };
    if passphrase.chars().count() < PASSPHRASE_MIN {
        return Err(usage(format!(
            "the passphrase is too short: give {PASSPHRASE_MIN} characters or more; several words are easy to remember"
        )));
    }
    Ok(passphrase)
}

fn asked() -> Result<Zeroizing<String>, Failure> {
    let nobody = || {
        usage(
            "there is no terminal to ask for a passphrase: give it in LOCI_PASSPHRASE, or in a file (`encryption.passphrase_file`)",
        )
    };
    let first = hidden_line("new passphrase: ").ok_or_else(nobody)?;
    let second = hidden_line("the same again: ").ok_or_else(nobody)?;
    if *first != *second {
        return Err(usage("the two passphrases differ; nothing was changed"));
    }
    Ok(first)
}

/// Keeps a new secret in the keyring, and looks whether it comes back.
fn kept_in_keyring(key: &DataKey, is_default: bool) -> Result<Zeroizing<String>, Failure> {
    let secret = random_text()?;
    let kept =
        Keyring
            .keep(&key.name(), &secret)
            .and_then(|()| match Keyring.find(&key.name())? {
                Some(found) if *found == *secret => Ok(()),
                _ => Err(io::Error::other("it does not give back what it was given")),
            });
    kept.map_err(|error| {
        let remedy = if is_default {
            "name another way: --key-file FILE or --passphrase"
        } else {
            "check it, or name another way"
        };
        usage(format!(
            "the keyring of the system cannot be used ({error}): {remedy}"
        ))
    })?;
    Ok(secret)
}

/// Removes what the keyring keeps for a key that is not used any more.
pub fn forget_keyring(file: &KeyFile) {
    if !file.has(KeyWay::Keyring) {
        return;
    }
    if let Err(error) = Keyring.forget(file.key_name()) {
        status_line(format_args!(
            "note: the keyring still has the former key {}: {error}",
            file.key_name()
        ));
    }
}

fn random_text() -> Result<Zeroizing<String>, Failure> {
    let mut bytes = Zeroizing::new([0; SECRET_BYTES]);
    getrandom::fill(&mut bytes[..]).map_err(|error| {
        let message = format!("the system gives no randomness for a key: {error}");
        Failure::new(Exit::Failure, message)
    })?;
    Ok(Zeroizing::new(HEXLOWER.encode(&bytes[..])))
}

fn usage(message: impl Into<String>) -> Failure {
    Failure::new(Exit::Usage, message)
}
