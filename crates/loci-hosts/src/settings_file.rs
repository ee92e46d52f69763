//! Changes the settings file of a host, and keeps every other byte of it.

use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstObject, CstRootNode};
use loci_mine::plain_file::{self, Links};

/// The form of settings: JSON, in which hosts allow comments and trailing commas.
pub const FORM: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};
/// The largest size of a settings file, in bytes.
const FILE_BYTES_MAX: u64 = 8 << 20;

/// The outcome of a change of a settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// True if the file was written.
    pub has_changed: bool,
    /// The copy of the old file, if there was one and it has changed.
    pub backup: Option<PathBuf>,
}

/// The reason why a settings file is not changed.
#[derive(Debug)]
pub enum EditError {
    /// The file has no place for the change, or may not be written.
    Refused {
        /// The file, as it was named.
        file: PathBuf,
        /// The reason.
        problem: String,
    },
    /// The system failed.
    Failed {
        /// The file, as it was named.
        file: PathBuf,
        /// The participle of the step that failed, such as `read`.
        step: &'static str,
        /// The reason.
        error: io::Error,
    },
}

impl fmt::Display for EditError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EditError::Refused { file, problem } => {
                write!(formatter, "{} is not changed: {problem}", file.display())
            }
            EditError::Failed { file, step, error } => {
                write!(formatter, "{} cannot be {step}: {error}", file.display())
            }
        }
    }
}

impl Error for EditError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            EditError::Refused { .. } => None,
            EditError::Failed { error, .. } => Some(error),
        }
    }
}

/// Changes a settings file, with a copy of the old file. Every other byte of the file stays,
/// comments too. Writes nothing if nothing changes.
///
/// # Errors
/// [`EditError::Refused`] if the file is no JSON object in UTF-8, is a link to nothing, is
/// read-only, or `change` returns a problem; it is unchanged then. [`EditError::Failed`] if it
/// cannot be read, copied or written.
pub fn edit(
    file: &Path,
    change: impl FnOnce(&CstObject) -> Result<(), String>,
) -> Result<Edited, EditError> {
    let failed = |step: &'static str, error: io::Error| EditError::Failed {
        file: file.to_owned(),
        step,
        error,
    };
    let refused = |problem: String| EditError::Refused {
        file: file.to_owned(),
        problem,
    };
    let real = real(file).map_err(|error| failed("read", error))?;
    let real = real.ok_or_else(|| refused("it is a link to what is not there".to_owned()))?;
    let before = match plain_file::read(&real, Links::Refused, FILE_BYTES_MAX) {
        Ok(bytes) => Some(
            String::from_utf8(bytes).map_err(|_| refused("it is not text in UTF-8".to_owned()))?,
        ),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed("read", error)),
    };
    let text = before
        .as_deref()
        .filter(|text| !text.trim().is_empty())
        .unwrap_or("{}");
    let root = CstRootNode::parse(text, &FORM)
        .map_err(|error| refused(format!("it is no JSON ({error})")))?;
    let whole = root
        .object_value()
        .ok_or_else(|| refused("it holds no JSON object".to_owned()))?;
    change(&whole).map_err(refused)?;
    let mut new = root.to_string();
    let has_changed = new != text;
    let mut backup = None;
    if has_changed {
        if !new.ends_with('\n') {
            new.push('\n');
        }
        if before.is_some() {
            writable(&real).map_err(|error| refused(format!("it cannot be written ({error})")))?;
            backup = Some(back_up(&real).map_err(|error| failed("backed up", error))?);
        }
        replace_file(&real, &new).map_err(|error| failed("written", error))?;
    }
    Ok(Edited {
        has_changed,
        backup,
    })
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
fn writable(file: &Path) -> io::Result<()> {
    // A privileged user may open a read-only file, too.
    if fs::metadata(file)?.permissions().readonly() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    fs::OpenOptions::new().append(true).open(file).map(drop)
}

/// Copies a file beside itself, under a free name.
fn back_up(file: &Path) -> io::Result<PathBuf> {
    for number in 1_u32.. {
        let mut name = file.file_name().unwrap_or_default().to_owned();
        name.push(format!(".loci-backup-{number}"));
        let copy = file.with_file_name(name);
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

/// Replaces a file atomically by a text, with its former permissions. Makes its folder if there is
/// none.
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
