//! Implements the operations with descriptors.

#![expect(
    clippy::missing_errors_doc,
    reason = "each operation fails where the system does"
)]

use std::ffi::OsString;
use std::fs::{File, Metadata, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, RawMode};
use rustix::fs::{fchmod, fchown, linkat, mkdirat, openat, readlinkat, renameat, statat, unlinkat};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};

use crate::seal::Seal;

use super::{FileState, flush};

/// An open folder.
#[derive(Debug)]
pub struct Folder(File, Option<Seal>);

impl Folder {
    /// Opens the folder at that path, which may be a symbolic link.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Folder(
            openat(CWD, path, flags, Mode::empty())?.into(),
            None,
        ))
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
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(&self.0, name, flags, Mode::empty()) {
            // The error for a symbolic link depends on the system.
            Err(Errno::LOOP) => Err(ErrorKind::NotADirectory.into()),
            opened => Ok(Folder(opened?.into(), self.1.clone())),
        }
    }

    /// Creates a folder in it, durably, for users who may read files of that mode.
    pub fn make_folder(&self, name: &str, file_mode: u32) -> io::Result<()> {
        mkdirat(&self.0, name, mode_of(folder_mode(file_mode)))?;
        self.flush()
    }

    /// Returns its metadata.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.0.metadata()
    }

    /// Returns the target of a symbolic link; `None` if the name is something else.
    pub fn link(&self, name: &str) -> io::Result<Option<PathBuf>> {
        match readlinkat(&self.0, name, Vec::new()) {
            Ok(target) => Ok(Some(OsString::from_vec(target.into_bytes()).into())),
            Err(Errno::INVAL) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Fails if this user may not write the file of that name, which a rename would ignore.
    pub fn check_writable(&self, name: &str) -> io::Result<()> {
        let flags = OFlags::WRONLY
            | OFlags::APPEND
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK
            | OFlags::NOCTTY
            | OFlags::CLOEXEC;
        let file = File::from(openat(&self.0, name, flags, Mode::empty())?);
        // A privileged user may open a read-only file, too.
        if file.metadata()?.permissions().readonly() {
            return Err(ErrorKind::PermissionDenied.into());
        }
        Ok(())
    }

    /// Gives a new file in it, or a new folder, to the owner of the folder, which only root may do.
    pub fn give(&self, file: &File) -> io::Result<()> {
        let (own, made) = (self.metadata()?, file.metadata()?);
        if own.uid() != made.uid() && rustix::process::geteuid().is_root() {
            let (owner, group) = (Uid::from_raw(own.uid()), Gid::from_raw(own.gid()));
            fchown(file, Some(owner), Some(group))?;
        }
        Ok(())
    }

    /// Gives a new folder to the owner of the folder that it is in.
    pub fn give_folder(&self, made: &Folder) -> io::Result<()> {
        self.give(&made.0)
    }

    /// Takes the lock of the folder until it is dropped; false if another holds it. The lock binds
    /// only programs that take it.
    pub fn try_lock(&self) -> io::Result<bool> {
        match self.0.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Opens that name for reading without blocking. It must not be a symbolic link, but may be
    /// something other than a regular file.
    pub fn open_file(&self, name: &str) -> io::Result<File> {
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(openat(&self.0, name, flags, Mode::empty())?.into())
    }

    /// Creates a file for writing, with the mode and the owner of `like` if given, else with
    /// `mode`; fails if the name exists.
    pub fn create_file(&self, name: &str, like: Option<&Metadata>, mode: u32) -> io::Result<File> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = mode_of(like.map_or(mode, |_| 0o600));
        let file = File::from(openat(&self.0, name, flags, mode)?);
        if let Some(like) = like {
            let made = file.metadata()?;
            if (made.uid(), made.gid()) != (like.uid(), like.gid()) {
                // Only root may change the owner.
                let _ = fchown(
                    &file,
                    Some(Uid::from_raw(like.uid())),
                    Some(Gid::from_raw(like.gid())),
                );
            }
            let mode = mode_of(like.mode() & 0o7777);
            fchmod(&file, mode).or_else(|error| {
                self.remove(name)?;
                Err(io::Error::from(error))
            })?;
        }
        Ok(file)
    }

    /// True if that name is a regular file and not a symbolic link.
    pub fn is_file(&self, name: &str) -> io::Result<bool> {
        let state = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(FileType::from_raw_mode(state.st_mode) == FileType::RegularFile)
    }

    /// Returns the state of the file of that name in one call of the system.
    #[allow(
        clippy::unnecessary_cast,
        clippy::cast_lossless,
        reason = "the types of the fields differ between systems"
    )]
    pub fn state(&self, name: &str) -> io::Result<FileState> {
        let state = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(FileState {
            inode: (state.st_dev as u64, state.st_ino as u64),
            bytes: state.st_size as u64,
            modified: (state.st_mtime as i64, state.st_mtime_nsec as i64),
        })
    }

    /// Waits for programs that are changing names in the folder: giving a file the name that it has
    /// makes the system queue behind them, and changes nothing.
    pub fn wait_for_names(&self, name: &str) {
        let _ = linkat(&self.0, name, &self.0, name, AtFlags::empty());
    }

    /// Renames, unless the new name exists.
    pub fn rename_to_free(&self, from: &str, to: &str) -> io::Result<()> {
        match self.rename_without_replacing(from, to) {
            Err(error) if is_unsupported(&error) => {}
            done => return done,
        }
        match linkat(&self.0, from, &self.0, to, AtFlags::empty()) {
            Ok(()) => return self.remove(from),
            Err(Errno::EXIST) => return Err(ErrorKind::AlreadyExists.into()),
            Err(_) => {}
        }
        // Without hard links a race is possible, but only with other programs: writers through loci
        // hold the lock.
        match self.is_file(to) {
            Err(error) if error.kind() == ErrorKind::NotFound => self.rename(from, to),
            Ok(_) => Err(ErrorKind::AlreadyExists.into()),
            Err(error) => Err(error),
        }
    }

    /// Renames and replaces an existing file.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(renameat(&self.0, from, &self.0, to)?)
    }

    /// Removes a name.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        Ok(unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Returns the names in it; names that are not UTF-8 are converted lossily.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        Ok(names)
    }

    /// Makes the names in it durable.
    pub fn flush(&self) -> io::Result<()> {
        match flush(&self.0) {
            // Not every file system supports this for a folder.
            Err(error) if is_unsupported(&error) => Ok(()),
            flushed => flushed,
        }
    }

    #[cfg(any(target_vendor = "apple", target_os = "linux", target_os = "android"))]
    fn rename_with(&self, from: &str, to: &str, flags: rustix::fs::RenameFlags) -> io::Result<()> {
        #[cfg(test)]
        if super::testing::IS_PLAIN.get() {
            return Err(Errno::INVAL.into());
        }
        Ok(rustix::fs::renameat_with(
            &self.0, from, &self.0, to, flags,
        )?)
    }

    #[cfg(any(target_vendor = "apple", target_os = "linux", target_os = "android"))]
    fn rename_without_replacing(&self, from: &str, to: &str) -> io::Result<()> {
        self.rename_with(from, to, rustix::fs::RenameFlags::NOREPLACE)
    }

    #[cfg(not(any(target_vendor = "apple", target_os = "linux", target_os = "android")))]
    #[expect(clippy::unused_self, reason = "elsewhere it is needed")]
    fn rename_without_replacing(&self, _from: &str, _to: &str) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    /// Exchanges two names atomically. `None` if the file system cannot.
    #[cfg(any(target_vendor = "apple", target_os = "linux", target_os = "android"))]
    pub fn exchange(&self, one: &str, other: &str) -> io::Result<Option<()>> {
        match self.rename_with(one, other, rustix::fs::RenameFlags::EXCHANGE) {
            Err(error) if is_unsupported(&error) => Ok(None),
            done => done.map(Some),
        }
    }

    /// Exchanges two names atomically. `None` if the file system cannot.
    #[cfg(not(any(target_vendor = "apple", target_os = "linux", target_os = "android")))]
    #[expect(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "elsewhere they are needed"
    )]
    pub fn exchange(&self, _one: &str, _other: &str) -> io::Result<Option<()>> {
        Ok(None)
    }
}

/// Returns the mode of a folder for users who may read or write files of that mode.
pub(crate) fn folder_mode(file_mode: u32) -> u32 {
    file_mode | (file_mode & 0o444) >> 2
}

/// Creates a folder for users who may read files of that mode.
pub(crate) fn make_folder_at(path: &Path, file_mode: u32) -> io::Result<()> {
    std::os::unix::fs::DirBuilderExt::mode(&mut std::fs::DirBuilder::new(), folder_mode(file_mode))
        .create(path)
}

/// Returns a mode; some systems have 16 bits for it.
fn mode_of(bits: u32) -> Mode {
    Mode::from_raw_mode(bits as RawMode)
}

/// Waits until processes that are emptying or writing the file have finished: setting the mode that
/// the file already has makes the system queue behind them.
pub fn wait_for_writers(file: &File) -> io::Result<()> {
    let mode = mode_of(file.metadata()?.mode() & 0o7777);
    // Only the owner may do that; a failure changes nothing.
    let _ = fchmod(file, mode);
    Ok(())
}

/// True if the file system or the kernel does not support a kind of renaming.
fn is_unsupported(error: &io::Error) -> bool {
    let unknown =
        [Errno::INVAL, Errno::NOSYS, Errno::NOTSUP, Errno::OPNOTSUPP].map(Errno::raw_os_error);
    error.kind() == ErrorKind::Unsupported
        || error
            .raw_os_error()
            .is_some_and(|code| unknown.contains(&code))
}
