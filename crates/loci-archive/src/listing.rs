//! The files of the folder of notes: notes, and their pictures and other attachments.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// The content of a folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FolderListing {
    /// The paths of its files, in order, with `/` between their parts.
    pub files: Vec<String>,
    /// Links, names that are not text and the like, which no backup includes.
    pub passed_over: Vec<String>,
}

/// Lists all files in the folder and its subfolders except hidden ones, which belong to other
/// programs or are incomplete. Does not follow links.
///
/// # Errors
/// A folder cannot be read, because its files would be missing. The error names it.
pub fn list(root: &Path) -> io::Result<FolderListing> {
    let mut listed = FolderListing::default();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(root.join(&folder)) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            entries => entries.map_err(|error| {
                io::Error::new(
                    error.kind(),
                    format!("{}: {error}", root.join(&folder).display()),
                )
            })?,
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let shown = name.to_string_lossy();
            if shown.starts_with('.') {
                continue;
            }
            let path = if folder.is_empty() {
                shown.clone().into_owned()
            } else {
                format!("{folder}/{shown}")
            };
            let kind = entry.file_type()?;
            match (name.to_str(), kind.is_dir(), kind.is_file()) {
                (Some(_), true, _) => folders.push(path),
                (Some(_), _, true) => listed.files.push(path),
                _ => listed.passed_over.push(path),
            }
        }
    }
    listed.files.sort_unstable();
    listed.passed_over.sort_unstable();
    Ok(listed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = list(file.path()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotADirectory);
        assert!(
            error
                .to_string()
                .contains(&file.path().display().to_string()),
            "{error}"
        );
    }
}
