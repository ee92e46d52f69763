//! `loci decrypt`: puts the store back into the clear.

use loci_keys::{DataKey, KeyFile, KeyWay, Keyring};
use serde_json::json;

use super::encrypt::{current_key, folder_of, notes, swap};
use crate::cli::NotesForm;
use crate::exit::{Exit, Failure};
use crate::output::{Output, status_line};
use crate::settings::Settings;
use crate::store_replacement::files_alone;

pub fn run(settings: &Settings, output: Output) -> Result<(), Failure> {
    let folder = folder_of(settings)?;
    let key: DataKey = current_key(settings, &folder)?;
    let mut file = KeyFile::read(&folder)
        .ok()
        .flatten()
        .ok_or_else(|| Failure::new(Exit::Key, "the store is not encrypted"))?;
    if file.has_notes_key() {
        let (_, _alone) = files_alone(settings)?;
        let resealed = notes::change(settings, &folder, &key, &mut file, NotesForm::Clear)?;
        notes::warn_of_left(&resealed);
        notes::keep_key(&folder, &file)?;
    }
    let report = swap(settings, Some(&key), None, None)?;
    if file.has(KeyWay::Keyring)
        && let Err(error) = Keyring.forget(file.key_name())
    {
        status_line(format_args!("note: the keyring still has its key: {error}"));
    }
    status_line(
        "note: backups that were made until now are encrypted: keep a way to their key, or make new ones",
    );
    let value = json!({"memories": report.memories});
    let text = format!(
        "the store is in the clear again; memories in it: {}\n",
        report.memories
    );
    Ok(output.either(&value, text)?)
}
