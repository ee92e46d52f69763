//! Looking at what is in a folder without reading it.

use std::fs::{self, DirEntry, FileType};
use std::io::{self, ErrorKind};
use std::path::Path;

use loci_core::{Error, FolderScan, Result};

use crate::disk::{identity, stamp};
use crate::read::{not_a_file, reason, unreadable};

/// Files of one folder of notes.
const FILES_MAX: usize = 1_000_000;
/// Folders in folders.
const DEPTH_MAX: usize = 64;

/// Whether a file of that name is a note.
pub(crate) fn is_note_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    name.len() > 3 && !name.starts_with('.') && bytes[bytes.len() - 3..].eq_ignore_ascii_case(b".md")
}

/// What is in the folder, and in its folders.
///
/// # Errors
/// `unavailable` if it is there and cannot be read, or another one took its place meanwhile.
pub(crate) fn scan(root: &Path) -> Result<FolderScan> {
    let before = which(root)?;
    if before.is_none() {
        return Ok(FolderScan::default());
    }
    let mut scan = FolderScan { identity: before, ..FolderScan::default() };
    let FolderScan { files, skipped, unreadable_folders, .. } = &mut scan;
    let walked = walk(root, unreadable_folders, &mut |path, entry, kind| {
        if !is_note_name(&entry.file_name().to_string_lossy()) {
            return;
        }
        if !kind.is_file() || entry.file_name().to_str().is_none() {
            skipped.push((path, not_a_file()));
            return;
        }
        match entry.metadata() {
            Ok(metadata) => files.push((path, stamp(&metadata))),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => skipped.push((path, unreadable(&error))),
        }
    });
    walked.map_err(|error| unavailable(root, &error))?;
    if which(root)? != scan.identity {
        return Err(Error::unavailable(format!(
            "the folder {} was replaced while it was looked at; repeat",
            root.display()
        )));
    }
    scan.files.sort_unstable_by(|one, other| one.0.cmp(&other.0));
    scan.skipped.sort_unstable_by(|one, other| one.0.cmp(&other.0));
    scan.unreadable_folders.sort_unstable();
    Ok(scan)
}

/// Which folder it is; none if there is none.
///
/// # Errors
/// `unavailable` if that cannot be told.
pub(crate) fn which(root: &Path) -> Result<Option<String>> {
    match fs::metadata(root) {
        Ok(metadata) => Ok(Some(identity(&metadata))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unavailable(root, &error)),
    }
}

fn unavailable(root: &Path, error: &io::Error) -> Error {
    Error::unavailable(format!("the notes at {} cannot be looked at: {}", root.display(), reason(error)))
}

/// Visits everything that is no folder, in no order, with its path. Folders whose names begin with a dot are passed
/// over; those that cannot be read, that lie too deep or follow too many files are noted.
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
            tracing::warn!(
                depth,
                visited,
                "a folder of notes is not looked at, since it lies too deep or there are too many"
            );
            unreadable.push(folder);
            continue;
        }
        let listed = list(&root.join(&folder), &mut |entry, kind| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let path = if folder.is_empty() { name.clone().into_owned() } else { format!("{folder}/{name}") };
            if !kind.is_dir() {
                visited += 1;
                visit(path, entry, kind);
            } else if !name.starts_with('.') {
                if entry.file_name().to_str().is_some() {
                    folders.push((path, depth + 1));
                } else {
                    // No path that we could name leads into it.
                    unreadable.push(path);
                }
            }
        });
        match listed {
            Err(error) if folder.is_empty() => return Err(error),
            Err(error) if error.kind() != ErrorKind::NotFound => unreadable.push(folder),
            _ => {}
        }
    }
    Ok(())
}

fn list(folder: &Path, visit: &mut dyn FnMut(&DirEntry, FileType)) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        visit(&entry, entry.file_type()?);
    }
    Ok(())
}
