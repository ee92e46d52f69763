//! Folders of files that people and programs write.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::{PeerError, Report, Result};

/// The largest size of a file in bytes, which is that of a memory.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Files whose names start with a dot.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Hidden {
    /// They are files as the others.
    Taken,
    /// They are left out.
    LeftOut,
}

/// A file that was read.
pub struct TextFile {
    /// Its text, byte for byte.
    pub text: String,
    /// The time at which its content last changed.
    pub modified: Option<Timestamp>,
}

/// Returns the path of the folder or file within a folder as it is in URLs.
pub fn relative(root: &Path, path: &Path) -> String {
    let relative = path.strip_prefix(root).unwrap_or(path);
    relative.to_string_lossy().replace('\\', "/")
}

/// Returns true if a file starts with these bytes; false if it cannot be read.
pub fn begins_with(file: &Path, bytes: &[u8]) -> bool {
    let mut start = vec![0; bytes.len()];
    let read = File::open(file).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == bytes
}

/// Returns the files below a folder in the order of their paths. Links, which may lead out of the
/// folder, are left out.
///
/// # Errors
/// If a folder cannot be read.
pub fn files(root: &Path, hidden: Hidden, report: &mut Report) -> Result<Vec<PathBuf>> {
    let mut waiting = vec![root.to_owned()];
    let mut files = Vec::new();
    while let Some(folder) = waiting.pop() {
        let unreadable = |source| PeerError::File {
            file: folder.display().to_string(),
            source,
        };
        for entry in fs::read_dir(&folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let kind = entry.file_type().map_err(unreadable)?;
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            if is_hidden && hidden == Hidden::LeftOut {
                report.leave_out("hidden files and folders");
            } else if kind.is_dir() {
                waiting.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            } else {
                report.leave_out("links");
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Reads a file; `None` if it is left out, because it is larger than a memory or no text.
///
/// # Errors
/// If it cannot be read.
pub fn text(file: &Path, report: &mut Report) -> Result<Option<TextFile>> {
    let unreadable = |source| PeerError::File {
        file: file.display().to_string(),
        source,
    };
    let data = fs::metadata(file).map_err(unreadable)?;
    if data.len() > FILE_BYTES_MAX {
        report.leave_out("files of more than 1 MiB");
        return Ok(None);
    }
    let Ok(text) = String::from_utf8(fs::read(file).map_err(unreadable)?) else {
        report.leave_out("files that are no UTF-8 text");
        return Ok(None);
    };
    let modified = data.modified().ok();
    Ok(Some(TextFile {
        text,
        modified: modified.and_then(|time| Timestamp::try_from(time).ok()),
    }))
}
