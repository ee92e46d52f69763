//! The files of the folder of notes: all that belongs to a person's notes, pictures and other
//! attachments too.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// What is in a folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// The paths of its files, in order, with `/` between their parts.
    pub files: Vec<String>,
    /// Links, names that are no text and the like, which no backup takes.
    pub passed_over: Vec<String>,
}

/// Everything in the folder and its folders, but for what is hidden: that belongs to other
/// programs, or is half written. Links are not followed.
///
/// # Errors
/// A folder cannot be read: what is not seen would be missing. It says which.
pub fn list(root: &Path) -> io::Result<Listed> {
    let mut listed = Listed::default();
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
