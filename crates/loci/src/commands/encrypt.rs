//! `loci encrypt`: encrypts the store, or changes the ways to its key.

mod clear;
pub mod notes;
mod swap;
mod ways;

use std::fmt::Write as _;
use std::path::Path;

use loci_archive::files::write_privately;
use loci_keys::{DataKey, FILE, KeyFile, KeySources, KeyWay, Keys, RecoveryKey, Secret};
use loci_vault::Resealed;
use serde_json::json;

pub use self::clear::copies_in_the_clear;
pub use self::swap::swap;
use self::ways::{name_of, new_secrets, removed_ways};
use crate::cli::{self, NotesForm};
use crate::exit::{Exit, Failure};
use crate::output::{Output, status_line};
use crate::settings::Settings;
use crate::store::{StoreLocation, open_failure};
use crate::store_replacement::files_alone;
use crate::terminal::hidden_line;

/// The files that stay as they are, and why.
const IN_THE_CLEAR: &str = "models; settings-history; the file token; counts, locks and the names of stores; what was \
                            deleted and not overwritten by the disk yet (docs/encryption.md)";

/// The folder of the store, for what works on its files.
///
/// # Errors
/// [`Exit::Usage`] for a store on a server, with what to do instead.
pub fn folder_of(settings: &Settings) -> Result<std::path::PathBuf, Failure> {
    match settings.store_for(&settings.data) {
        StoreLocation::Folder { folder, .. } => Ok(folder),
        server @ StoreLocation::Server(_) => {
            let message = format!(
                "{} is on a server, whose disk is the place to encrypt: loci keeps no memory in files here",
                server.shown()
            );
            Err(Failure::new(Exit::Usage, message))
        }
    }
}

pub fn run(settings: &Settings, arguments: &cli::Encrypt, output: Output) -> Result<(), Failure> {
    let folder = folder_of(settings)?;
    let settings = &with_recovery(settings, arguments);
    let known = read(&folder)?;
    let mut outcome = match known {
        None if arguments.rotate || arguments.recover || !arguments.remove_way.is_empty() => {
            let message = "the store is not encrypted: `loci encrypt` does that";
            return Err(Failure::new(Exit::Usage, message));
        }
        None => encrypt(settings, arguments)?,
        Some(file) if arguments.rotate => rotate(settings, arguments, &folder, &file)?,
        Some(file) => change_ways(settings, arguments, &folder, file)?,
    };
    if let Some(form) = arguments.notes {
        // Now, because a person who is told of the key at the end would not have it after a kill.
        if let Some(recovery) = outcome.recovery.take_if(|_| !output.json) {
            output.text(recovery_text(&recovery))?;
        }
        outcome.notes = Some(notes::give_form(settings, &folder, &mut outcome, form)?);
    }
    let copies = copies_in_the_clear(settings);
    let removed = if arguments.remove_copies {
        clear::remove(&copies)?
    } else {
        0
    };
    tell(&outcome, &copies[removed..], removed, output)
}

/// The work of a command.
struct Outcome {
    done: String,
    /// The new key; none if the store keeps its own.
    key: Option<DataKey>,
    file: KeyFile,
    /// The notes that were written in another form, if that was asked for.
    notes: Option<Resealed>,
    recovery: Option<RecoveryKey>,
}

/// The file with the wrapped key of the store; none if that is in the clear, or on a server.
///
/// # Errors
/// [`Exit::Key`] if it cannot be used.
pub fn key_file(settings: &Settings) -> Result<Option<KeyFile>, Failure> {
    folder_of(settings).map_or(Ok(None), |folder| read(&folder))
}

/// The file with the wrapped key in a folder.
fn read(folder: &Path) -> Result<Option<KeyFile>, Failure> {
    KeyFile::read(folder).map_err(|error| {
        let message = format!("{} cannot be used: {error}", folder.join(FILE).display());
        Failure::new(Exit::Key, message)
    })
}

/// The settings with the recovery key that a person types in.
fn with_recovery(settings: &Settings, arguments: &cli::Encrypt) -> Settings {
    let mut settings = settings.clone();
    let sources = settings.store.keys.sources().clone();
    if arguments.recover && sources.recovery.is_none() {
        settings.store.keys = Keys::new(KeySources {
            recovery: hidden_line("recovery key: "),
            ..sources
        });
    }
    settings
}

fn encrypt(settings: &Settings, arguments: &cli::Encrypt) -> Result<Outcome, Failure> {
    let (key, recovery) = new_keys()?;
    let secrets = new_secrets(settings, arguments, &key, None)?;
    let mut file = wrapped(&key, &secrets, &recovery)?;
    let former = notes::former_key(settings, &folder_of(settings)?, &secrets);
    let key = notes::take_over(&mut file, key, former.as_ref(), NotesForm::Clear)?;
    let report = swap(settings, None, Some((&key, &file)), Some(&recovery))?;
    Ok(Outcome {
        done: format!("encrypted the store; memories in it: {}", report.memories),
        key: Some(key),
        file,
        notes: None,
        recovery: Some(recovery),
    })
}

fn rotate(
    settings: &Settings,
    arguments: &cli::Encrypt,
    folder: &Path,
    old: &KeyFile,
) -> Result<Outcome, Failure> {
    let old_key = current_key(settings, folder)?;
    let (key, recovery) = new_keys()?;
    let secrets = new_secrets(settings, arguments, &key, Some(old))?;
    let mut file = wrapped(&key, &secrets, &recovery)?;
    let form = if old.seals_notes() {
        NotesForm::Sealed
    } else {
        NotesForm::Clear
    };
    let key = notes::take_over(&mut file, key, old_key.notes_key(), form)?;
    let report = swap(
        settings,
        Some(&old_key),
        Some((&key, &file)),
        Some(&recovery),
    )?;
    ways::forget_keyring(old);
    Ok(Outcome {
        done: format!(
            "encrypted the store with a new key; memories in it: {}",
            report.memories
        ),
        key: Some(key),
        file,
        notes: None,
        recovery: Some(recovery),
    })
}

/// Adds and removes ways; not a byte of the database changes.
fn change_ways(
    settings: &Settings,
    arguments: &cli::Encrypt,
    folder: &Path,
    mut file: KeyFile,
) -> Result<Outcome, Failure> {
    let adds = arguments.key_file.is_some() || arguments.passphrase || arguments.keyring;
    let removed = removed_ways(arguments);
    if !adds && removed.is_empty() && !arguments.new_recovery_key {
        let message = format!(
            "the store is encrypted already, and opens with {}: name a way to add (--key-file FILE, --passphrase, \
             --keyring) or to take away (--remove-way WAY), or --rotate, --new-recovery-key, --notes, --remove-copies",
            named(&file.ways())
        );
        if arguments.remove_copies || arguments.notes.is_some() {
            return Ok(Outcome {
                done: "the store is encrypted already".to_owned(),
                key: None,
                file,
                notes: None,
                recovery: None,
            });
        }
        return Err(Failure::new(Exit::Usage, message));
    }
    let (_, _alone) = files_alone(settings)?;
    let key = current_key(settings, folder)?;
    if adds {
        for secret in new_secrets(settings, arguments, &key, Some(&file))? {
            file.add(&key, &secret).map_err(wrapping_failed)?;
        }
    }
    let recovery = arguments
        .new_recovery_key
        .then(RecoveryKey::random)
        .transpose()
        .map_err(wrapping_failed)?;
    if let Some(recovery) = &recovery {
        let secret = Secret::Recovery(recovery.clone());
        file.add(&key, &secret).map_err(wrapping_failed)?;
    }
    let before = file.clone();
    for way in &removed {
        file.remove(*way);
    }
    if file.ways() == [KeyWay::Recovery] {
        let message = "no way but the recovery key would be left: add another one first";
        return Err(Failure::new(Exit::Usage, message));
    }
    write_file(folder, &file)?;
    if removed.contains(&KeyWay::Keyring) {
        ways::forget_keyring(&before);
    }
    Ok(Outcome {
        done: "changed the ways to the key of the store".to_owned(),
        key: None,
        file,
        notes: None,
        recovery,
    })
}

fn new_keys() -> Result<(DataKey, RecoveryKey), Failure> {
    let made = DataKey::random().and_then(|key| Ok((key, RecoveryKey::random()?)));
    made.map_err(|error| {
        let message = format!("the system gives no randomness for a key: {error}");
        Failure::new(Exit::Failure, message)
    })
}

/// Puts the file of the key in its place, durably.
fn write_file(folder: &Path, file: &KeyFile) -> Result<(), Failure> {
    let path = folder.join(FILE);
    let written = file
        .text()
        .and_then(|text| write_privately(&path, text.as_bytes()));
    written.map_err(|error| {
        let message = format!("{} cannot be written: {error}", path.display());
        Failure::new(Exit::DataFolder, message)
    })
}

fn wrapping_failed(error: std::io::Error) -> Failure {
    Failure::new(Exit::Failure, format!("the key cannot be wrapped: {error}"))
}

fn wrapped(key: &DataKey, secrets: &[Secret], recovery: &RecoveryKey) -> Result<KeyFile, Failure> {
    let mut file = KeyFile::of(key);
    let recovery = Secret::Recovery(recovery.clone());
    secrets
        .iter()
        .chain([&recovery])
        .try_for_each(|secret| file.add(key, secret))
        .map_err(wrapping_failed)?;
    Ok(file)
}

/// The key of the store as it is.
///
/// # Errors
/// [`Exit::Key`] if none of the ways leads to it.
pub fn current_key(settings: &Settings, folder: &Path) -> Result<DataKey, Failure> {
    let missing = |message: String| Failure::new(Exit::Key, message);
    let key = settings.store.keys.of(folder);
    key.map_err(|error| missing(error.to_string()))?
        .ok_or_else(|| missing("the store is not encrypted".to_owned()))
}

/// The ways in words.
fn named(ways: &[KeyWay]) -> String {
    let nouns: Vec<_> = ways.iter().map(|way| way.noun()).collect();
    nouns.join(", ")
}

fn recovery_text(recovery: &RecoveryKey) -> String {
    format!(
        "\nrecovery key: {}\nWrite it down, and keep it apart from this machine: it is not shown again, and without a \
         key nothing here can be read.\n\n",
        *recovery.letters()
    )
}

fn tell(
    outcome: &Outcome,
    copies: &[std::path::PathBuf],
    removed: usize,
    output: Output,
) -> Result<(), Failure> {
    let recovery = outcome.recovery.as_ref().map(RecoveryKey::letters);
    let Outcome { file, notes, .. } = outcome;
    let ways: Vec<_> = file.ways().into_iter().map(name_of).collect();
    let form = if file.seals_notes() {
        "sealed"
    } else {
        "clear"
    };
    let value = json!({
        "done": outcome.done,
        "ways": ways,
        "notes": form,
        "notes_written": notes.as_ref().map(|notes| notes.written),
        "recovery_key": recovery.as_ref().map(|letters| letters.as_str()),
        "copies_in_the_clear": copies,
        "copies_removed": removed,
    });
    let mut text = format!("{}; it opens with {}\n", outcome.done, named(&file.ways()));
    if let Some(Resealed { written, kept, .. }) = notes {
        let form = if file.seals_notes() {
            "sealed"
        } else {
            "in the clear"
        };
        let _ = writeln!(
            text,
            "the notes are {form}: {written} were written, {kept} were so before"
        );
    }
    if let Some(recovery) = &outcome.recovery {
        text += &recovery_text(recovery);
    }
    if removed > 0 {
        let _ = writeln!(text, "removed {removed} copies that were in the clear");
    }
    output.either(&value, text)?;
    if let Some(first) = copies.first() {
        status_line(format_args!(
            "note: {} copies of the database from before are in the clear, e.g. {}: `loci encrypt --remove-copies` \
             removes them; backups elsewhere are yours to remove",
            copies.len(),
            first.display()
        ));
    }
    let notes = if file.seals_notes() {
        "the names of notes, and files beside them"
    } else {
        "notes (vault), which people edit as files"
    };
    status_line(format_args!(
        "note: in the clear stay: {notes}; {IN_THE_CLEAR}"
    ));
    Ok(())
}

/// Opens the store with the recovery key alone, or without a key, as a check that it opens.
fn open_with(settings: &Settings, recovery: Option<&RecoveryKey>) -> Result<(), Failure> {
    let mut settings = settings.clone();
    settings.store.keys = Keys::new(KeySources {
        recovery: recovery.map(RecoveryKey::letters),
        ..KeySources::default()
    });
    let opened = settings.store_for(&settings.data).open();
    opened.map(drop).map_err(|error| open_failure(&error))
}
