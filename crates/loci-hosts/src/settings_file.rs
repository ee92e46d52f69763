//! Changes the settings file of a host, and keeps every other byte.

use std::path::Path;

use jsonc_parser::cst::{CstObject, CstRootNode};

use crate::edit::{EditError, OVERTAKEN, failed, refused};
use crate::form::{BYTE_ORDER_MARK, JSON_FORM, behind_mark};
use crate::observed::{FileChange, tell};
use crate::place::{Attempt, FileVersion, Place, Reach};

/// Changes a text of settings. Every other byte stays, but a text that changes ends with a new line.
///
/// # Errors
/// A problem of the text: it is no JSON object, or the one that `change` returns.
pub fn edited(
    text: &str,
    change: impl FnOnce(&CstObject) -> Result<(), String>,
) -> Result<String, String> {
    behind_mark(text, |text| {
        let root = parsed(text)?;
        let whole = root.object_value().ok_or("it holds no JSON object")?;
        let before = root.to_string();
        change(&whole)?;
        let mut new = root.to_string();
        if new == before {
            return Ok(text.to_owned());
        }
        if !new.ends_with('\n') {
            new.push('\n');
        }
        Ok(new)
    })
}

/// Parses a text of settings; an empty text is an empty object.
///
/// # Errors
/// A problem of the text: it is no JSON.
pub fn parsed(text: &str) -> Result<CstRootNode, String> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let text = if text.trim().is_empty() { "{}" } else { text };
    CstRootNode::parse(text, &JSON_FORM).map_err(|error| format!("it is no JSON ({error})"))
}

/// Returns the place of a file and its text; no text if there is no file.
///
/// # Errors
/// As of [`Place::find`], and [`EditError::Refused`] if it is not text in UTF-8, or
/// [`EditError::Failed`] if it cannot be read, is not a plain file or is too large.
pub fn look(file: &Path, reach: Reach<'_>) -> Result<(Place, Option<FileVersion>), EditError> {
    let place = Place::find(file, reach)?;
    let seen = place.read().map_err(|error| failed(file)("read", error))?;
    Ok((place, seen))
}

/// Returns the text of a file; `None` if there is no file.
///
/// # Errors
/// As of [`look`].
pub fn read(file: &Path, reach: Reach<'_>) -> Result<Option<String>, EditError> {
    text_of(file, look(file, reach)?.1.as_ref())
}

/// Returns the text of a file that was read.
///
/// # Errors
/// [`EditError::Refused`] if it is not text in UTF-8.
pub fn text_of(file: &Path, seen: Option<&FileVersion>) -> Result<Option<String>, EditError> {
    let text = seen.map(|seen| String::from_utf8(seen.bytes.clone()));
    text.transpose()
        .map_err(|error| refused(file)(format!("it is not text in UTF-8: {error}")))
}

/// Returns the text of a file; `None` if there is no file. Links are followed.
///
/// # Errors
/// [`EditError::Refused`] if it is not text in UTF-8; [`EditError::Failed`] if it cannot be read.
pub fn read_file(file: &Path) -> Result<Option<String>, EditError> {
    read(file, Reach::Everywhere)
}

/// Removes a file, if its text still is the expected one. Links are followed.
///
/// # Errors
/// As for [`replace_file`].
pub fn remove_file(file: &Path, expected: &str) -> Result<(), EditError> {
    let (place, seen) = look(file, Reach::Everywhere)?;
    let Some(seen) = seen.filter(|seen| seen.bytes == expected.as_bytes()) else {
        return Err(refused(file)(OVERTAKEN.to_owned()));
    };
    let removed = place.remove(&seen);
    match removed.map_err(|error| failed(file)("removed", error))? {
        Attempt::Done => {
            tell(FileChange {
                path: &place.real,
                before: Some(&seen.bytes),
                after: None,
            });
            Ok(())
        }
        Attempt::Overtaken { .. } => Err(refused(file)(OVERTAKEN.to_owned())),
    }
}

/// Replaces the text of a file atomically, if it still is the expected one. The file keeps its mode
/// and, where root runs this, its owner; its folder is made if it is missing. Links are followed.
///
/// # Errors
/// [`EditError::Refused`] if the file has another text than the expected one, or may not be written;
/// [`EditError::Failed`] if it or its folder cannot be written.
pub fn replace_file(file: &Path, expected: Option<&str>, text: &str) -> Result<(), EditError> {
    let (mut place, seen) = look(file, Reach::Everywhere)?;
    let attempt = match &seen {
        _ if seen.as_ref().map(|seen| seen.bytes.as_slice()) != expected.map(str::as_bytes) => {
            return Err(refused(file)(OVERTAKEN.to_owned()));
        }
        None => place.create(text),
        Some(seen) => {
            place
                .check_writable()
                .map_err(|error| failed(file)("written", error))?;
            place.replace(seen, text)
        }
    };
    match attempt.map_err(|error| failed(file)("written", error))? {
        Attempt::Done => {
            tell(FileChange {
                path: &place.real,
                before: seen.as_ref().map(|seen| seen.bytes.as_slice()),
                after: Some(text),
            });
            Ok(())
        }
        Attempt::Overtaken { .. } => Err(refused(file)(OVERTAKEN.to_owned())),
    }
}
