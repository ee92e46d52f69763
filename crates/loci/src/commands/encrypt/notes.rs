//! Seals the notes of an encrypted store, and puts them back into the clear.
//!
//! The key of the notes is in `encryption.json` before the first file is sealed, and until the last
//! one is in the clear, so that whatever moment this is cut off at, every note can be read, and a
//! second run does the rest.

use std::path::Path;

use loci_keys::{DataKey, KeyFile};
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
pub fn give_form(
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
    for (path, why) in &resealed.left {
        status_line(format_args!(
            "warning: the note {path} stays in the clear: {why}"
        ));
    }
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

/// Gives the notes the form. The store must be used by no other process.
///
/// # Errors
/// [`Exit::Usage`] if a note cannot be put into the clear; the key stays then.
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
            if let Some((path, why)) = opened.left.first() {
                let message = format!(
                    "{} of the notes cannot be put into the clear, e.g. {path}: {why}; move them away or mend them, and \
                     repeat: their key is kept until then",
                    opened.left.len()
                );
                return Err(Failure::new(Exit::Usage, message));
            }
            file.open_notes();
            write_file(folder, file)?;
            Ok(opened)
        }
    }
}

fn reseal(settings: &Settings, seal: Seal) -> Result<Resealed, Failure> {
    let vault = Vault::of(settings, &settings.data)?.with_seal(seal);
    Ok(vault.notes().reseal()?)
}
