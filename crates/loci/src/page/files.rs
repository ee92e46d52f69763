//! Whole files that come and go on the page: uploads to import, and exports.

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use loci_archive::files::create_private_folder;
use loci_core::{Error, Result};
use loci_page::{ImportCounts, Upload};

use crate::commands::backup::check_space;

/// The folder in the data folder with what people uploaded and did not import yet.
const UPLOADS: &str = "uploads";
/// The characters of the name of an upload.
const NAME_CHARACTERS: usize = 32;

/// Removes what was uploaded and not imported.
pub(super) fn remove_uploads(data: &Path) {
    let uploads = fs::read_dir(data.join(UPLOADS)).into_iter().flatten();
    for entry in uploads.flatten() {
        if let Err(error) = fs::remove_file(entry.path()) {
            tracing::warn!(%error, "a file that was uploaded to be imported cannot be removed");
        }
    }
}

/// Makes a file for an upload of about this many bytes, after the files of earlier ones are
/// removed.
pub(super) fn begin_upload(data: &Path, bytes: u64) -> Result<Upload> {
    remove_uploads(data);
    let folder = data.join(UPLOADS);
    let unusable =
        |error: io::Error| Error::unavailable(format!("no file can be made for this: {error}"));
    create_private_folder(&folder).map_err(unusable)?;
    check_space(&folder, bytes).map_err(|failure| Error::unavailable(failure.message))?;
    let made = tempfile::Builder::new()
        .prefix("")
        .rand_bytes(NAME_CHARACTERS)
        .tempfile_in(&folder)
        .map_err(unusable)?;
    let (file, path) = made.keep().map_err(|error| unusable(error.error))?;
    let name = path.file_name().unwrap_or_default();
    Ok(Upload {
        name: name.to_string_lossy().into_owned(),
        file,
    })
}

/// Returns the path of an upload.
///
/// # Errors
/// `invalid_argument`, naming `upload`, for another name than that of an upload.
pub(super) fn upload_path(data: &Path, name: &str) -> Result<PathBuf> {
    let is_name =
        name.len() == NAME_CHARACTERS && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_name {
        Ok(data.join(UPLOADS).join(name))
    } else {
        Err(Error::invalid("upload", "must be the name of an upload"))
    }
}

/// Returns the counts that an import prints as JSON; `None` if it could not start.
pub(super) fn counts_of(printed: &[u8]) -> Option<ImportCounts> {
    let value: serde_json::Value = serde_json::from_slice(printed).ok()?;
    let count = |path: &str| value.pointer(path).and_then(serde_json::Value::as_u64);
    Some(ImportCounts {
        stored: count("/stored")?,
        present: count("/present")?,
        refused: count("/refused")?,
        forgotten: count("/forgotten").unwrap_or_default(),
        note_files: count("/notes/written").unwrap_or_default(),
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
        let first = begin_upload(data.path(), 10).unwrap();
        let path = upload_path(data.path(), &first.name).unwrap();
        assert!(path.is_file());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(&path), 0o600);
            assert_eq!(mode(path.parent().unwrap()), 0o700);
        }
        let second = begin_upload(data.path(), 10).unwrap();
        assert!(!path.exists());
        remove_uploads(data.path());
        assert!(!upload_path(data.path(), &second.name).unwrap().exists());
        for wrong in ["", "../token", &"a/".repeat(16), &"a".repeat(33)] {
            assert!(upload_path(data.path(), wrong).is_err(), "{wrong:?}");
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
