//! Seals the notes of an encrypted store, and puts them back into the clear.
//!
//! The key of the notes is in `encryption.json` before the first file is sealed, and stays there, so
//! that whatever moment this is cut off at, every note can be read, and a second run does the rest.
//! When the store is put back into the clear, the file of the key stays under another name.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use loci_archive::files::write_privately;
use loci_keys::{DataKey, KeyFile, KeySources, Keys, Secret, SubKey};
use loci_vault::{Resealed, Seal};

use super::{Outcome, current_key, wrapping_failed, write_file};
use crate::cli::NotesForm;
use crate::exit::{Exit, Failure};
use crate::output::status_line;
use crate::settings::Settings;
use crate::store_replacement::files_alone;
use crate::vault::Vault;
use crate::wiring::Parts;

/// Gives the notes the form, after the rest of the work of `loci encrypt`.
pub(super) fn give_form(
    settings: &Settings,
    folder: &Path,
    outcome: &mut Outcome,
    form: NotesForm,
) -> Result<Resealed, Failure> {
    let (_, alone) = files_alone(settings)?;
    let key = match &outcome.key {
        Some(key) => key.clone(),
        None => current_key(settings, folder)?,
    };
    let resealed = change(settings, folder, &key, &mut outcome.file, form)?;
    drop(alone);
    warn_of_left(&resealed);
    // The index has the stamps of the former files, until the next look. The settings may have no
    // way to a new key.
    if outcome.key.is_none()
        && let Err(failure) =
            Parts::open(settings).and_then(|parts| Ok(parts.system().notes().reconcile()?))
    {
        tracing::warn!(error = %failure.message, "the index of the notes is renewed by the next process that uses them");
    }
    Ok(resealed)
}

/// Gives the notes the form. The store must be used by no other process. A file that cannot be
/// written or opened stays as it is.
pub fn change(
    settings: &Settings,
    folder: &Path,
    key: &DataKey,
    file: &mut KeyFile,
    form: NotesForm,
) -> Result<Resealed, Failure> {
    let known = key.notes_key();
    match (form, known) {
        (NotesForm::Sealed, known) => {
            let notes = file.seal_notes(key, known).map_err(wrapping_failed)?;
            write_file(folder, file)?;
            reseal(settings, Seal::new(notes))
        }
        (NotesForm::Clear, None) => Ok(Resealed::default()),
        (NotesForm::Clear, Some(notes)) => {
            let opened = reseal(settings, Seal::opening(notes.clone()))?;
            file.open_notes();
            write_file(folder, file)?;
            Ok(opened)
        }
    }
}

/// Gives a new key of the store the key that the notes had before, if there is one.
pub fn take_over(
    file: &mut KeyFile,
    key: DataKey,
    known: Option<&SubKey>,
    form: NotesForm,
) -> Result<DataKey, Failure> {
    if known.is_none() {
        return Ok(key);
    }
    let notes = file.seal_notes(&key, known).map_err(wrapping_failed)?;
    if form == NotesForm::Clear {
        file.open_notes();
    }
    Ok(key.with_notes_key(notes))
}

fn reseal(settings: &Settings, seal: Seal) -> Result<Resealed, Failure> {
    let vault = Vault::of(settings, &settings.data)?.with_seal(seal);
    Ok(vault.notes().reseal()?)
}

/// Names the files that stay as they were.
pub fn warn_of_left(resealed: &Resealed) {
    for (path, why) in &resealed.left {
        status_line(format_args!("warning: {path} stays as it is: {why}"));
    }
}

/// Keeps the file of the key under another name, for sealed notes that turn up after the store was put
/// back into the clear.
pub fn keep_key(folder: &Path, file: &KeyFile) -> Result<(), Failure> {
    let text = file.text().map_err(wrapping_failed)?;
    let unusable = |path: &Path, problem: &str, error: std::io::Error| {
        let message = format!("{} cannot be {problem}: {error}", path.display());
        Failure::new(Exit::DataFolder, message)
    };
    let mut number = 1;
    loop {
        let path = folder.join(former_name(number));
        match fs::read_to_string(&path) {
            Ok(there) if there == text => return Ok(()),
            Ok(_) => number += 1,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return write_privately(&path, text.as_bytes())
                    .map_err(|error| unusable(&path, "written", error));
            }
            Err(error) => return Err(unusable(&path, "read", error)),
        }
    }
}

/// The key of notes that were sealed before the store was put back into the clear, if one of the
/// secrets or of the ways of this process leads to it.
pub fn former_key(settings: &Settings, folder: &Path, secrets: &[Secret]) -> Option<SubKey> {
    let keys = Keys::new(KeySources {
        ask: None,
        ..settings.store.keys.sources().clone()
    });
    let files = (1..).map_while(|number| fs::read_to_string(folder.join(former_name(number))).ok());
    files
        .filter_map(|text| KeyFile::parse(&text).ok())
        .filter_map(|file| {
            let mut secrets = secrets.iter();
            let known = secrets.find_map(|secret| file.unwrap(secret));
            known.or_else(|| keys.find(&file, folder).ok())
        })
        .filter_map(|key| key.notes_key().cloned())
        .last()
}

fn former_name(number: usize) -> String {
    match number {
        1 => "encryption-former.json".to_owned(),
        number => format!("encryption-former-{number}.json"),
    }
}
