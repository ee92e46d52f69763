//! Whole files that come and go on the page: uploads to import, and exports.

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use loci_archive::files::{create_private, create_private_folder};
use loci_core::{Error, Result};
use loci_page::{CommandOutput, ImportCounts, ImportReport, Upload};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::commands::backup::check_space;

/// The folder in the data folder with what people uploaded and did not import yet.
const UPLOADS: &str = "uploads";
/// The folder in it with the file of an import that runs.
const TAKEN: &str = "import";
/// The characters of the name of an upload.
const NAME_CHARACTERS: usize = 32;
/// The largest number of characters of the name that its file has.
const FILE_NAME_CHARACTERS_MAX: usize = 100;

/// Removes all that was uploaded, when no import runs.
pub(super) fn remove_uploads(data: &Path) {
    remove_but(data, "");
}

/// Removes what was uploaded, but for the folder with this name.
fn remove_but(data: &Path, kept: &str) {
    let uploads = fs::read_dir(data.join(UPLOADS)).into_iter().flatten();
    for entry in uploads.flatten() {
        if entry.file_name() == kept {
            continue;
        }
        let path = entry.path();
        let removed = if path.is_dir() {
            fs::remove_dir_all(path)
        } else {
            fs::remove_file(path)
        };
        if let Err(error) = removed {
            tracing::warn!(%error, "a file that was uploaded to be imported cannot be removed");
        }
    }
}

/// Makes a file for an upload of about this many bytes, after the files of earlier ones are
/// removed. It lies alone in a folder, under the name that it had, because some systems are told by
/// the names of their files.
pub(super) fn begin_upload(data: &Path, bytes: u64, named: Option<&str>) -> Result<Upload> {
    // An import may be reading its file.
    remove_but(data, TAKEN);
    let folder = data.join(UPLOADS);
    let unusable =
        |error: io::Error| Error::unavailable(format!("no file can be made for this: {error}"));
    create_private_folder(&folder).map_err(unusable)?;
    check_space(&folder, bytes).map_err(|failure| Error::unavailable(failure.message))?;
    let made = tempfile::Builder::new()
        .prefix("")
        .rand_bytes(NAME_CHARACTERS)
        .tempdir_in(&folder)
        .map_err(unusable)?;
    let file = create_private(&made.path().join(file_name(named))).map_err(unusable)?;
    let folder = made.keep();
    let name = folder.file_name().unwrap_or_default();
    Ok(Upload {
        name: name.to_string_lossy().into_owned(),
        file,
    })
}

/// Returns the name of a file that a browser sent, without folders and unusual characters.
fn file_name(named: Option<&str>) -> String {
    const OTHERWISE: &str = "upload";
    let last = named.and_then(|named| named.rsplit(['/', '\\']).next());
    let plain = |character: char| {
        if character.is_ascii_alphanumeric() || matches!(character, '.' | '-' | '_') {
            character
        } else {
            '_'
        }
    };
    let name: String = last.unwrap_or_default().chars().map(plain).collect();
    // The end tells more than the beginning.
    let name = &name[name.len().saturating_sub(FILE_NAME_CHARACTERS_MAX)..];
    match name.trim_start_matches('.') {
        "" => OTHERWISE.to_owned(),
        name => name.to_owned(),
    }
}

/// Returns the folder of an upload.
///
/// # Errors
/// `invalid_argument`, naming `upload`, for another name than that of an upload.
pub(super) fn upload_folder(data: &Path, name: &str) -> Result<PathBuf> {
    let is_name =
        name.len() == NAME_CHARACTERS && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_name {
        Ok(data.join(UPLOADS).join(name))
    } else {
        Err(Error::invalid("upload", "must be the name of an upload"))
    }
}

/// Returns the path of an upload; `None` if it was removed.
///
/// # Errors
/// As for [`upload_folder`].
pub(super) fn upload_path(data: &Path, name: &str) -> Result<Option<PathBuf>> {
    let files = fs::read_dir(upload_folder(data, name)?);
    let file = files.into_iter().flatten().flatten().next();
    Ok(file.map(|entry| entry.path()))
}

/// Moves an upload to where every import reads its file, and returns its path. What is said in the
/// export of an account is filed by the path, so that another upload of the same adds nothing.
///
/// # Errors
/// As for [`upload_folder`]; `unavailable` while another import reads its file.
pub(super) fn take_upload(data: &Path, name: &str) -> Result<PathBuf> {
    let folder = data.join(UPLOADS).join(TAKEN);
    fs::rename(upload_folder(data, name)?, &folder).map_err(|error| {
        let problem = "another import runs, or the uploaded file cannot be moved";
        Error::unavailable(format!("{problem}: {error}; try again after it"))
    })?;
    let file = fs::read_dir(&folder).into_iter().flatten().flatten().next();
    file.map(|entry| entry.path())
        .ok_or_else(|| Error::not_found("the uploaded file was removed; choose it once more"))
}

/// Removes the file of an import that has ended.
pub(super) fn remove_taken(data: &Path) {
    if let Err(error) = fs::remove_dir_all(data.join(UPLOADS).join(TAKEN)) {
        tracing::warn!(%error, "a file that was imported cannot be removed");
    }
}

/// Returns what an import prints as JSON, with its words; without counts if it could not start.
pub(super) fn report_of(printed: &[u8], said: CommandOutput) -> ImportReport {
    let value: Value = serde_json::from_slice(printed).unwrap_or_default();
    let text = |path: &str| value[path].as_str().map(str::to_owned);
    ImportReport {
        counts: counts_of(&value),
        system: text("from"),
        left_out: parsed(&value["left_out"]),
        samples: parsed(&value["samples"]),
        batch: text("batch"),
        said,
    }
}

fn parsed<T: DeserializeOwned + Default>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap_or_default()
}

fn counts_of(value: &Value) -> Option<ImportCounts> {
    let count = |path: &str| value.pointer(path).and_then(Value::as_u64);
    Some(ImportCounts {
        stored: count("/stored")?,
        present: count("/present")?,
        refused: count("/refused")?,
        forgotten: count("/forgotten").unwrap_or_default(),
        note_files: count("/notes/written").unwrap_or_default(),
        updated: count("/updated").unwrap_or_default(),
        tunnels: count("/tunnels").unwrap_or_default(),
    })
}

/// The bytes that a command prints, as long as it runs; it ends with its reader.
pub(super) struct CommandStream {
    child: Child,
    stdout: ChildStdout,
    /// The words of the command about a failure.
    stderr: File,
}

impl CommandStream {
    /// Starts a command.
    ///
    /// # Errors
    /// If the system refuses it.
    pub(super) fn of(mut command: Command) -> io::Result<Self> {
        let stderr = tempfile::tempfile()?;
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr.try_clone()?)
            .spawn()?;
        let stdout = child.stdout.take();
        Ok(CommandStream {
            stdout: stdout.ok_or_else(|| io::Error::other("the command has no output"))?,
            child,
            stderr,
        })
    }
}

impl Read for CommandStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.stdout.read(buffer)?;
        if count > 0 || buffer.is_empty() || self.child.wait()?.success() {
            return Ok(count);
        }
        let mut words = String::new();
        self.stderr.rewind()?;
        self.stderr.read_to_string(&mut words)?;
        Err(io::Error::other(words.trim().to_owned()))
    }
}

impl Drop for CommandStream {
    fn drop(&mut self) {
        // A command that has ended cannot be ended again.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upload_is_private_and_gives_way_to_the_next() {
        let data = tempfile::tempdir().unwrap();
        let at = |name: &str| upload_path(data.path(), name).unwrap();
        let first = begin_upload(data.path(), 10, Some("../a folder/memory.json")).unwrap();
        let path = at(&first.name).unwrap();
        assert!(path.is_file() && path.ends_with("memory.json"), "{path:?}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(&path), 0o600);
            assert_eq!(mode(&data.path().join(UPLOADS)), 0o700);
        }
        let second = begin_upload(data.path(), 10, None).unwrap();
        assert!(!path.exists());
        let taken = take_upload(data.path(), &second.name).unwrap();
        assert_eq!(at(&second.name), None);
        let third = begin_upload(data.path(), 10, None).unwrap();
        assert!(taken.is_file(), "an import reads it");
        assert!(take_upload(data.path(), &third.name).is_err());
        remove_taken(data.path());
        remove_uploads(data.path());
        assert_eq!(at(&third.name), None);
        for wrong in ["", "../token", &"a/".repeat(16), &"a".repeat(33)] {
            assert!(upload_path(data.path(), wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_name_of_an_upload_leads_nowhere() {
        let long = format!("{}.jsonl", "a".repeat(300));
        let rows = [
            (Some("memory.jsonl"), "memory.jsonl"),
            (Some("..\\..\\agents.af"), "agents.af"),
            (Some("/etc/passwd"), "passwd"),
            (Some(".."), "upload"),
            (Some("é\u{0}.zip"), "__.zip"),
            (Some(""), "upload"),
            (None, "upload"),
            (Some(&long), &long[long.len() - 100..]),
        ];
        for (named, expected) in rows {
            assert_eq!(file_name(named), expected, "{named:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_is_cut_off_fails() {
        let printed = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            let mut read = String::new();
            let mut printed = CommandStream::of(command).unwrap();
            let outcome = printed.read_to_string(&mut read);
            (read, outcome.map_err(|error| error.to_string()).err())
        };
        assert_eq!(printed("echo all"), ("all\n".to_owned(), None));
        let failed = printed("echo part; echo broken >&2; exit 1");
        assert_eq!(failed, ("part\n".to_owned(), Some("broken".to_owned())));
    }
}
