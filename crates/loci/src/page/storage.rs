//! The space that the data folder and the notes take on the disk.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use loci_page::{Storage, StoragePart};

use crate::commands::backup::free_bytes;
use crate::corruption::BACKUPS;
use crate::settings::Settings;

/// The entries that are counted: a folder of notes may be large, and a view has to be quick.
const ENTRIES_MAX: usize = 20_000;
/// The folders of notes, of the index and of models in the data folder.
const NOTES: &str = "vault";
const INDEX: &str = "index";
const MODELS: &str = "models";
/// The beginning of the names of the files of a database.
const DATABASE: &str = "loci.db";

/// Returns the space by its use.
pub(super) fn of(settings: &Settings) -> Storage {
    let data = &settings.data;
    let mut sums: BTreeMap<&'static str, u64> = BTreeMap::new();
    let mut left = ENTRIES_MAX;
    for entry in fs::read_dir(data).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let part = match &*name {
            NOTES => "notes",
            MODELS => "models",
            INDEX => "index",
            BACKUPS => "backups",
            name if name.starts_with(DATABASE) => "database",
            _ => "other",
        };
        *sums.entry(part).or_default() += bytes_of(&entry.path(), &mut left);
    }
    if let Some(notes) = settings
        .vault
        .as_deref()
        .filter(|notes| !notes.starts_with(data))
    {
        *sums.entry("notes").or_default() += bytes_of(notes, &mut left);
    }
    let parts = sums.into_iter().filter(|(_, bytes)| *bytes > 0);
    let mut parts: Vec<StoragePart> = parts
        .map(|(name, bytes)| StoragePart { name, bytes })
        .collect();
    parts.sort_by_key(|part| Reverse(part.bytes));
    Storage {
        parts,
        free: free_bytes(data),
    }
}

/// Returns the bytes of a file, or of what is in a folder. Links are not followed.
fn bytes_of(path: &Path, left: &mut usize) -> u64 {
    *left = left.saturating_sub(1);
    let Ok(metadata) = path.symlink_metadata() else {
        return 0;
    };
    if metadata.is_file() {
        return metadata.len();
    }
    if !metadata.is_dir() || *left == 0 {
        return 0;
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| bytes_of(&entry.path(), left)).sum()
}
