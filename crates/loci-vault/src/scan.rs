//! Lists the files in a folder without reading them.

use std::fs::{self, DirEntry, FileType};
use std::io::{self, ErrorKind};
use std::path::Path;

use loci_core::{Error, FolderScan, Result};

use crate::conflict;
use crate::disk::{identity, stamp};
use crate::read::{conflict_copy, not_a_file, reason, unnamable, unreadable};

/// The maximum number of files of one folder of notes.
const FILES_MAX: usize = 1_000_000;
/// The maximum depth of nested folders.
const DEPTH_MAX: usize = 64;

/// True if a file of that name is a note.
pub(crate) fn is_note_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    name.len() > 3
        && !name.starts_with('.')
        && bytes[bytes.len() - 3..].eq_ignore_ascii_case(b".md")
}

/// Lists the files in the folder and in its subfolders.
///
/// # Errors
/// `unavailable` if the folder exists but cannot be read, or another one replaced it during the
/// scan.
pub(crate) fn scan(root: &Path) -> Result<FolderScan> {
    let before = which(root)?;
    if before.is_none() {
        return Ok(FolderScan::default());
    }
    let mut scan = FolderScan {
        identity: before,
        ..FolderScan::default()
    };
    let FolderScan {
        files,
        skipped,
        unreadable_folders,
        ..
    } = &mut scan;
    let walked = walk(root, unreadable_folders, &mut |path, entry, kind| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !is_note_name(&name) {
            if conflict::is_beside_note(&name) && !name.starts_with('.') {
                skipped.push((path, conflict_copy("a note")));
            }
            return;
        }
        if !kind.is_file() || entry.file_name().to_str().is_none() {
            skipped.push((
                path,
                if kind.is_file() {
                    unnamable()
                } else {
                    not_a_file()
                },
            ));
            return;
        }
        match entry.metadata() {
            Ok(metadata) => files.push((path, stamp(&metadata))),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => skipped.push((path, unreadable(&error))),
        }
    });
    walked.map_err(|error| unavailable(&error))?;
    if which(root)? != scan.identity {
        return Err(Error::unavailable(
            "the folder of notes was replaced while it was looked at; repeat",
        ));
    }
    scan.files
        .sort_unstable_by(|one, other| one.0.cmp(&other.0));
    scan.skipped
        .sort_unstable_by(|one, other| one.0.cmp(&other.0));
    scan.unreadable_folders.sort_unstable();
    Ok(scan)
}

/// Returns the identity of the folder; `None` if it does not exist.
///
/// # Errors
/// `unavailable` if this cannot be determined.
pub(crate) fn which(root: &Path) -> Result<Option<String>> {
    match fs::metadata(root) {
        Ok(metadata) => Ok(Some(identity(&metadata))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unavailable(&error)),
    }
}

fn unavailable(error: &io::Error) -> Error {
    Error::unavailable(format!(
        "the folder of notes cannot be looked at: {}",
        reason(error)
    ))
}

/// Visits everything that is not a folder, in no order, with its path. Skips folders whose names
/// start with a dot; notes folders that cannot be read, are nested too deeply or come after too
/// many files.
///
/// # Errors
/// The root cannot be read.
pub(crate) fn walk(
    root: &Path,
    unreadable: &mut Vec<String>,
    visit: &mut dyn FnMut(String, &DirEntry, FileType),
) -> io::Result<()> {
    let mut folders = vec![(String::new(), 0)];
    let mut visited = 0;
    while let Some((folder, depth)) = folders.pop() {
        if depth > DEPTH_MAX || visited >= FILES_MAX {
            unreadable.push(folder);
            continue;
        }
        let entries = match fs::read_dir(root.join(&folder)) {
            Err(error) if folder.is_empty() => return Err(error),
            // The folder was removed since.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(_) => {
                unreadable.push(folder);
                continue;
            }
            Ok(entries) => entries,
        };
        let listed = list(entries, DirEntry::file_type, &mut |entry, kind| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let path = if folder.is_empty() {
                name.clone().into_owned()
            } else {
                format!("{folder}/{name}")
            };
            if !kind.is_dir() {
                visited += 1;
                visit(path, entry, kind);
            } else if !name.starts_with('.') {
                if entry.file_name().to_str().is_some() {
                    folders.push((path, depth + 1));
                } else {
                    // No path in UTF-8 leads into it.
                    unreadable.push(path);
                }
            }
        });
        match listed {
            Err(error) if folder.is_empty() => return Err(error),
            Err(_) => unreadable.push(folder),
            Ok(()) => {}
        }
    }
    Ok(())
}

/// Visits the entries with their kinds. Skips an entry that was removed since; any other error ends
/// the list, whose rest is then unknown.
fn list<Entry, Kind>(
    entries: impl Iterator<Item = io::Result<Entry>>,
    kind: impl Fn(&Entry) -> io::Result<Kind>,
    visit: &mut dyn FnMut(&Entry, Kind),
) -> io::Result<()> {
    for entry in entries {
        let entry = entry?;
        match kind(&entry) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            kind => visit(&entry, kind?),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_listed_is_not_taken_for_gone() {
        let error = |kind: ErrorKind| io::Error::from(kind);
        // The entries with their kinds, the visited ones, and whether the list is complete.
        let (gone, denied) = (Err(ErrorKind::NotFound), Err(ErrorKind::PermissionDenied));
        let rows = [
            (vec![Ok(Ok(1)), Ok(gone), Ok(Ok(2))], vec![1, 2], true),
            (vec![Ok(Ok(1)), Ok(denied), Ok(Ok(2))], vec![1], false),
            (
                vec![Ok(Ok(1)), Err(ErrorKind::NotFound), Ok(Ok(2))],
                vec![1],
                false,
            ),
            (vec![Err(ErrorKind::Other)], vec![], false),
        ];
        for (entries, expected, is_whole) in rows {
            let mut visited = Vec::new();
            let entries = entries.into_iter().map(|entry| entry.map_err(error));
            let listed = list(
                entries,
                |kind| kind.map_err(error),
                &mut |_, number: i32| visited.push(number),
            );
            assert_eq!((visited, listed.is_ok()), (expected, is_whole));
        }
    }
}
