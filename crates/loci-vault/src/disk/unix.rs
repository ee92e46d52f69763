//! Implements the operations with descriptors.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, RawMode};
use rustix::fs::{fchmod, fchown, linkat, mkdirat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};

use super::flush;

/// An open folder.
#[derive(Debug)]
pub(crate) struct Folder(File);

impl Folder {
    /// Opens the folder at that path, which may be a symbolic link.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Folder(openat(CWD, path, flags, Mode::empty())?.into()))
    }

    /// Opens a folder in it, which must not be a symbolic link.
    pub fn enter(&self, name: &str) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(&self.0, name, flags, Mode::empty()) {
            // The error for a symbolic link depends on the system.
            Err(Errno::LOOP) => Err(ErrorKind::NotADirectory.into()),
            opened => Ok(Folder(opened?.into())),
        }
    }

    /// Creates a folder in it, durably, for users who may read files of that mode.
    pub fn make_folder(&self, name: &str, file_mode: u32) -> io::Result<()> {
        mkdirat(&self.0, name, mode_of(folder_mode(file_mode)))?;
        self.flush()
    }

    pub fn metadata(&self) -> io::Result<Metadata> {
        self.0.metadata()
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
pub(crate) fn wait_for_writers(file: &File) -> io::Result<()> {
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
