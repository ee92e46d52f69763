//! The copies of the database that are in the clear in the data folder.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::corruption::BACKUPS;
use crate::exit::{Exit, Failure};
use crate::settings::Settings;

/// The first bytes of a database in the clear.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// The folders of the data folder with copies, and how deep they lie in them.
const FOLDERS: [&str; 3] = [BACKUPS, "restored", "uploads"];
const DEPTH_MAX: usize = 3;
/// The ends of the names of files that hold texts in the clear, besides databases: backups of `loci
/// backup`, logs, and indexes.
const CLEAR_ENDS: [&str; 2] = [".tar", "-wal"];

/// Returns the copies of the database and backups in the data folder that are in the clear.
pub fn copies_in_the_clear(settings: &Settings) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let files = settings.store_files().ok();
    let store = files.map(|files| files.folder().to_owned());
    for data in [Some(settings.data.clone()), store].into_iter().flatten() {
        for folder in FOLDERS {
            look(&data.join(folder), DEPTH_MAX, &mut found);
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn look(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, kind) = (entry.path(), entry.file_type());
        match kind {
            Ok(kind) if kind.is_dir() && depth > 0 => look(&path, depth - 1, found),
            Ok(kind) if kind.is_file() && is_clear(&path) => found.push(path),
            _ => {}
        }
    }
}

fn is_clear(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(16).read_to_end(&mut head));
    let name = path.to_string_lossy();
    read.is_ok()
        && !head.is_empty()
        && (head == MAGIC
            || CLEAR_ENDS.iter().any(|end| name.ends_with(end))
                && !head.starts_with(b"loci sealed"))
        && !(name.ends_with("-wal") && belongs_to_encrypted(path))
}

/// Returns whether the log belongs to an encrypted database.
fn belongs_to_encrypted(log: &Path) -> bool {
    log.parent()
        .is_some_and(|folder| folder.join(loci_keys::FILE).exists())
}

/// Removes these files; returns how many there were.
///
/// # Errors
/// [`Exit::DataFolder`] if one cannot be removed.
pub fn remove(copies: &[PathBuf]) -> Result<usize, Failure> {
    for copy in copies {
        fs::remove_file(copy).map_err(|error| {
            let message = format!("{} cannot be removed: {error}", copy.display());
            Failure::new(Exit::DataFolder, message)
        })?;
    }
    Ok(copies.len())
}
