//! Restores a backup into an empty store on a server.

use std::fs;
use std::path::Path;

use loci_archive::backup::{DATABASE, NOTES};
use loci_archive::files::flush_folder;
use loci_core::OpenStore;
use loci_keys::{DataKey, KeyFile};
use loci_vault::Seal;
use tempfile::TempDir;

use super::{NAMED_MAX, Source, differing, inspect, put_key, tell, unusable};
use crate::cli;
use crate::commands::backup::check_space;
use crate::commands::migrate::transfer;
use crate::exit::{Exit, Failure};
use crate::output::{Output, status_line};
use crate::settings::Settings;
use crate::store::{StorePlace, StoreSettings, files_in, open_failure};
use crate::vault::Vault;
use crate::wiring::open_store;

/// Unpacks and checks the backup in a temporary folder, puts the notes into their folder, if the
/// settings name it, and copies every record into the store.
pub(super) fn run(
    settings: &Settings,
    arguments: &cli::Restore,
    (source, key_file): (&mut Source, Option<&KeyFile>),
    vault: &Vault,
    output: Output,
) -> Result<(), Failure> {
    let refused = |message: String| Err(Failure::new(Exit::Usage, message));
    if arguments.replace {
        return refused(
            "--replace works on files alone: choose an empty schema (`store_schema`)".to_owned(),
        );
    }
    let store = open_store(settings, &settings.data)?;
    let shown = settings.store_for(&settings.data).shown();
    if !is_empty(&*store)? {
        return refused(format!(
            "{shown} is not empty: choose an empty schema (`store_schema`)"
        ));
    }
    let unpacked = unpack(settings, source)?;
    put_key(key_file, unpacked.path())?;
    let files = files_in(unpacked.path(), &settings.store.keys);
    let memories = inspect(&*files, source, &unpacked.path().join(DATABASE))?;
    let restored = if vault.is_kept {
        let restored = put_notes(source, vault, &unpacked)?;
        open_notes(settings, unpacked.path())?;
        restored
    } else {
        0
    };
    let left_out = source.notes().len() - restored;
    if left_out > 0 {
        status_line(format_args!(
            "note: {left_out} files of notes are in the backup and were not restored, since no folder is named (--vault)"
        ));
    }
    let copy = StoreSettings {
        place: StorePlace::Folder(unpacked.path().to_owned()),
        ..settings.store.clone()
    };
    let copy = copy.location(&settings.data).open();
    let copy = copy.map_err(|error| open_failure(&error))?;
    let machine = settings.store_for(&settings.data).machine(&settings.data)?;
    let copied = transfer(&*copy, store, machine)?;
    if copied.refused > 0 {
        let message = format!("{} records were refused by {shown}", copied.refused);
        return Err(Failure::new(Exit::Failure, message));
    }
    tell(arguments, source, memories, restored, None, output)
}

/// Puts sealed notes into the clear: a store on a server has no key to them.
fn open_notes(settings: &Settings, unpacked: &Path) -> Result<(), Failure> {
    let key = settings.store.keys.of(unpacked);
    let key = key.map_err(|error| Failure::new(Exit::Key, error.to_string()))?;
    if let Some(notes) = key.as_ref().and_then(DataKey::notes_key) {
        let vault = Vault::of(settings, &settings.data)?;
        let vault = vault.with_seal(Seal::opening(notes.clone()));
        for (path, why) in vault.notes().reseal()?.left {
            status_line(format_args!("warning: the note {path} stays sealed: {why}"));
        }
    }
    Ok(())
}

fn is_empty(store: &dyn OpenStore) -> Result<bool, Failure> {
    Ok(store.size()?.memories == 0 && store.tokens()?.is_empty())
}

fn unpack(settings: &Settings, source: &mut Source) -> Result<TempDir, Failure> {
    let data = &settings.data;
    let folder = tempfile::tempdir_in(data).map_err(|error| unusable(data, &error))?;
    check_space(data, source.bytes())?;
    source
        .unpack(folder.path(), |_| {})
        .map_err(|error| unusable(folder.path(), &error))?;
    Ok(folder)
}

/// Copies the notes into their folder, which has none that differ; returns their number.
fn put_notes(source: &Source, vault: &Vault, unpacked: &TempDir) -> Result<usize, Failure> {
    let Source::Archive(archive) = source else {
        return Ok(0);
    };
    let differing = differing(&vault.folder, archive)?;
    if !differing.is_empty() {
        let named = differing.len().min(NAMED_MAX);
        let message = format!(
            "{} files in the folder of notes {} are not those of the backup ({:?}): move them away first",
            differing.len(),
            vault.folder.display(),
            &differing[..named]
        );
        return Err(Failure::new(Exit::Usage, message));
    }
    let notes = source.notes();
    for path in &notes {
        let to = vault.folder.join(path);
        if !to.exists() {
            put(&unpacked.path().join(NOTES).join(path), &to)
                .map_err(|error| unusable(&to, &error))?;
        }
    }
    Ok(notes.len())
}

/// Copies a file durably, with its time of modification.
fn put(from: &Path, to: &Path) -> std::io::Result<()> {
    to.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::copy(from, to)?;
    let file = fs::File::options().write(true).open(to)?;
    file.set_modified(from.metadata()?.modified()?)?;
    file.sync_all()?;
    to.parent().map_or(Ok(()), flush_folder)
}
