//! Changes the settings file of a host, and keeps every other byte.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use jsonc_parser::cst::{CstObject, CstRootNode};
use loci_mine::plain_file::{self, Links};

use crate::form::{BYTE_ORDER_MARK, JSON_FORM, behind_mark};

/// The largest size of a settings file, in bytes.
const FILE_BYTES_MAX: u64 = 8 << 20;

/// The outcome of a change of a settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditResult {
    /// True if the file was written.
    pub has_changed: bool,
    /// The copy of the old file, if there was one and it has changed.
    pub backup: Option<PathBuf>,
}

/// The reason why a settings file is not changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The file has no place for the change, or may not be written.
    #[error("{} is not changed: {problem}", .file.display())]
    Refused {
        /// The file, as it was named.
        file: PathBuf,
        /// The reason.
        problem: String,
    },
    /// The system failed.
    #[error("{} cannot be {step}: {error}", .file.display())]
    Failed {
        /// The file, as it was named.
        file: PathBuf,
        /// The participle of the step that failed, e.g. `read`.
        step: &'static str,
        /// The reason.
        #[source]
        error: io::Error,
    },
}

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

/// Returns the file to write and its text; no text if there is no file.
///
/// # Errors
/// [`EditError::Refused`] if it is not text in UTF-8 or is a link to nothing. [`EditError::Failed`]
/// if it cannot be read, is not a plain file or is too large.
pub fn read(file: &Path) -> Result<(PathBuf, Option<String>), EditError> {
    let (failed, refused) = (failed(file), refused(file));
    let real = real(file).map_err(|error| failed("read", error))?;
    let real = real.ok_or_else(|| refused("it is a link to what is not there".to_owned()))?;
    let text = match plain_file::read(&real, Links::Refused, FILE_BYTES_MAX) {
        Ok(bytes) => Some(
            String::from_utf8(bytes).map_err(|_| refused("it is not text in UTF-8".to_owned()))?,
        ),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed("read", error)),
    };
    Ok((real, text))
}

/// Makes failures of a step with that file.
pub fn failed(file: &Path) -> impl Fn(&'static str, io::Error) -> EditError {
    let file = file.to_owned();
    move |step, error| EditError::Failed {
        file: file.clone(),
        step,
        error,
    }
}

/// Makes refusals of that file.
pub fn refused(file: &Path) -> impl Fn(String) -> EditError {
    let file = file.to_owned();
    move |problem| EditError::Refused {
        file: file.clone(),
        problem,
    }
}

/// Returns the file to write, which is the target of a link; `None` if that does not exist.
fn real(file: &Path) -> io::Result<Option<PathBuf>> {
    match file.canonicalize() {
        Ok(real) => Ok(Some(real)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(fs::symlink_metadata(file).is_err().then(|| file.to_owned()))
        }
        Err(error) => Err(error),
    }
}

/// Fails if the file is read-only, which a rename would ignore.
pub fn writable(file: &Path) -> io::Result<()> {
    // A privileged user may open a read-only file, too.
    if fs::metadata(file)?.permissions().readonly() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    fs::OpenOptions::new().append(true).open(file).map(drop)
}

/// Copies a file beside itself, under a free name.
pub fn back_up(file: &Path) -> io::Result<PathBuf> {
    for number in 1_u32.. {
        let copy = backup(file, number);
        match fs::File::create_new(&copy) {
            Ok(_) => {
                fs::copy(file, &copy)?;
                return Ok(copy);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Returns the copies that [`back_up`] made beside a file, the last first.
pub fn backups(file: &Path) -> Vec<PathBuf> {
    let mut copies: Vec<_> = (1_u32..=u32::MAX)
        .map(|number| backup(file, number))
        .take_while(|copy| copy.is_file())
        .collect();
    copies.reverse();
    copies
}

fn backup(file: &Path, number: u32) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".loci-backup-{number}"));
    file.with_file_name(name)
}

/// Replaces a file atomically by a text, with its former permissions. Makes its folder if it is
/// missing.
///
/// # Errors
/// The file or its folder cannot be written.
pub fn replace_file(file: &Path, text: &str) -> io::Result<()> {
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut temporary = tempfile::NamedTempFile::new_in(folder)?;
    temporary.write_all(text.as_bytes())?;
    if let Ok(before) = fs::metadata(file) {
        temporary.as_file().set_permissions(before.permissions())?;
    }
    temporary.as_file().sync_all()?;
    temporary.persist(file)?;
    Ok(())
}
