//! Implements the operations with paths, for systems without descriptors of folders.

#![expect(
    clippy::missing_errors_doc,
    reason = "each operation fails where the system does"
)]

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::seal::Seal;

use super::FileState;

/// A folder that existed when it was opened.
#[derive(Debug)]
pub struct Folder(PathBuf, Option<Seal>);

/// Creates a folder.
pub(crate) fn make_folder_at(path: &Path, _file_mode: u32) -> io::Result<()> {
    fs::create_dir(path)
}

impl Folder {
    /// Opens the folder at that path, which may be a symbolic link.
    pub fn open(path: &Path) -> io::Result<Self> {
        if fs::metadata(path)?.is_dir() {
            Ok(Folder(path.to_owned(), None))
        } else {
            Err(ErrorKind::NotADirectory.into())
        }
    }

    /// The same, with the key of the notes in it and in the folders within.
    pub(crate) fn with_seal(self, seal: Option<Seal>) -> Self {
        Folder(self.0, seal)
    }

    /// The key of the notes in it.
    pub(crate) fn seal(&self) -> Option<&Seal> {
        self.1.as_ref()
    }

    /// Opens a folder in it, which must not be a symbolic link.
    pub fn enter(&self, name: &str) -> io::Result<Self> {
        let path = self.0.join(name);
        if fs::symlink_metadata(&path)?.is_dir() {
            Ok(Folder(path, self.1.clone()))
        } else {
            Err(ErrorKind::NotADirectory.into())
        }
    }

    /// Creates a folder in it.
    pub fn make_folder(&self, name: &str, _file_mode: u32) -> io::Result<()> {
        fs::create_dir(self.0.join(name))
    }

    /// Returns its metadata.
    pub fn metadata(&self) -> io::Result<Metadata> {
        fs::metadata(&self.0)
    }

    /// Returns the target of a symbolic link; `None` if the name is something else.
    pub fn link(&self, name: &str) -> io::Result<Option<PathBuf>> {
        let path = self.0.join(name);
        if fs::symlink_metadata(&path)?.is_symlink() {
            fs::read_link(path).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Fails if this user may not write the file of that name, which a rename would ignore.
    pub fn check_writable(&self, name: &str) -> io::Result<()> {
        let file = OpenOptions::new().append(true).open(self.0.join(name))?;
        if file.metadata()?.permissions().readonly() {
            return Err(ErrorKind::PermissionDenied.into());
        }
        Ok(())
    }

    /// Gives a new file in it to the owner of the folder: here, files have the owner that the
    /// system gives them.
    #[expect(
        clippy::unnecessary_wraps,
        clippy::unused_self,
        reason = "elsewhere they are needed"
    )]
    pub fn give(&self, _file: &File) -> io::Result<()> {
        Ok(())
    }

    /// Gives a new folder to the owner of the folder that it is in, as [`give`](Self::give).
    #[expect(
        clippy::unnecessary_wraps,
        clippy::unused_self,
        reason = "elsewhere they are needed"
    )]
    pub fn give_folder(&self, _made: &Folder) -> io::Result<()> {
        Ok(())
    }

    /// Takes the lock of the folder: here, folders have none.
    #[expect(clippy::unused_self, reason = "elsewhere it is needed")]
    pub fn try_lock(&self) -> io::Result<bool> {
        Err(ErrorKind::Unsupported.into())
    }

    /// Opens the regular file of that name for reading.
    pub fn open_file(&self, name: &str) -> io::Result<File> {
        if self.is_file(name)? {
            File::open(self.0.join(name))
        } else {
            Err(ErrorKind::InvalidInput.into())
        }
    }

    /// Creates a file for writing; fails if the name exists.
    pub fn create_file(
        &self,
        name: &str,
        _like: Option<&Metadata>,
        _mode: u32,
    ) -> io::Result<File> {
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(self.0.join(name))
    }

    /// True if that name is a regular file and not a symbolic link.
    pub fn is_file(&self, name: &str) -> io::Result<bool> {
        Ok(fs::symlink_metadata(self.0.join(name))?.is_file())
    }

    /// Returns the state of the file of that name.
    pub fn state(&self, name: &str) -> io::Result<FileState> {
        Ok(FileState::from(&fs::symlink_metadata(self.0.join(name))?))
    }

    /// Waits for programs that are changing names in the folder, if the system supports it.
    #[expect(clippy::unused_self, reason = "elsewhere it is needed")]
    pub const fn wait_for_names(&self, _name: &str) {}

    /// Renames, unless the new name exists.
    pub fn rename_to_free(&self, from: &str, to: &str) -> io::Result<()> {
        match fs::hard_link(self.0.join(from), self.0.join(to)) {
            Ok(()) => return self.remove(from),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(error),
            Err(_) => {}
        }
        match self.is_file(to) {
            Err(error) if error.kind() == ErrorKind::NotFound => self.rename(from, to),
            Ok(_) => Err(ErrorKind::AlreadyExists.into()),
            Err(error) => Err(error),
        }
    }

    /// Renames and replaces an existing file.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.0.join(from), self.0.join(to))
    }

    /// Removes a name.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.0.join(name))
    }

    /// Returns the names in it; names that are not UTF-8 are converted lossily.
    pub fn names(&self) -> io::Result<Vec<String>> {
        fs::read_dir(&self.0)?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect()
    }

    /// Exchanges two names atomically. `None` if the file system cannot.
    pub fn exchange(&self, _one: &str, _other: &str) -> io::Result<Option<()>> {
        Ok(None)
    }

    /// Makes the names in it durable, if the system can.
    #[expect(
        clippy::unnecessary_wraps,
        clippy::unused_self,
        reason = "elsewhere they are needed"
    )]
    pub fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Waits until processes that are emptying or writing the file have finished, if the system
/// supports it.
#[expect(clippy::unnecessary_wraps, reason = "elsewhere it is needed")]
pub fn wait_for_writers(_file: &File) -> io::Result<()> {
    Ok(())
}
