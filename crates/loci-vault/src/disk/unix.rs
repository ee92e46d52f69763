//! By descriptors.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::fs::{fchmod, fchown, linkat, mkdirat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};

use super::flush;

/// An open folder.
#[derive(Debug)]
pub(crate) struct Folder(File);

impl Folder {
    /// The folder at that path, which may be a link.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Folder(openat(CWD, path, flags, Mode::empty())?.into()))
    }

    /// A folder in it, which must not be a link.
    pub fn enter(&self, name: &str) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(&self.0, name, flags, Mode::empty()) {
            // What a link says depends on the system.
            Err(Errno::LOOP) => Err(ErrorKind::NotADirectory.into()),
            opened => Ok(Folder(opened?.into())),
        }
    }

    /// Makes a folder in it for those who may read files of that mode, durable.
    pub fn make_folder(&self, name: &str, file_mode: u32) -> io::Result<()> {
        mkdirat(&self.0, name, Mode::from_raw_mode(folder_mode(file_mode)))?;
        self.flush()
    }

    pub fn metadata(&self) -> io::Result<Metadata> {
        self.0.metadata()
    }

    /// Opens what has that name for reading, without waiting for anybody. It must not be a link,
    /// and may be something else than a file.
    pub fn open_file(&self, name: &str) -> io::Result<File> {
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(openat(&self.0, name, flags, Mode::empty())?.into())
    }

    /// Makes a file for writing where nothing is, with the mode and the owner of another one, else
    /// with `mode`.
    pub fn create_file(&self, name: &str, like: Option<&Metadata>, mode: u32) -> io::Result<File> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(like.map_or(mode, |_| 0o600));
        let file = File::from(openat(&self.0, name, flags, mode)?);
        if let Some(like) = like {
            let made = file.metadata()?;
            if (made.uid(), made.gid()) != (like.uid(), like.gid()) {
                // Only root may give files away.
                let _ = fchown(
                    &file,
                    Some(Uid::from_raw(like.uid())),
                    Some(Gid::from_raw(like.gid())),
                );
            }
            let mode = Mode::from_raw_mode(like.mode() & 0o7777);
            fchmod(&file, mode).or_else(|error| {
                self.remove(name)?;
                Err(io::Error::from(error))
            })?;
        }
        Ok(file)
    }

    /// Whether that name is a regular file; no link to one.
    pub fn is_file(&self, name: &str) -> io::Result<bool> {
        let state = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(FileType::from_raw_mode(state.st_mode) == FileType::RegularFile)
    }

    /// Renames, unless something has the new name already.
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
        // Nor are there links: whoever writes through loci holds the lock, so only others could
        // come between.
        match self.is_file(to) {
            Err(error) if error.kind() == ErrorKind::NotFound => self.rename(from, to),
            Ok(_) => Err(ErrorKind::AlreadyExists.into()),
            Err(error) => Err(error),
        }
    }

    /// Renames over whatever has the new name.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(renameat(&self.0, from, &self.0, to)?)
    }

    /// Removes a name.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        Ok(unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// The names in it; those that are no UTF-8, as near as can be.
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
            // Not every file system knows how to do that for a folder.
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

    /// Exchanges two names in one step. None where the file system cannot.
    #[cfg(any(target_vendor = "apple", target_os = "linux", target_os = "android"))]
    pub fn exchange(&self, one: &str, other: &str) -> io::Result<Option<()>> {
        match self.rename_with(one, other, rustix::fs::RenameFlags::EXCHANGE) {
            Err(error) if is_unsupported(&error) => Ok(None),
            done => done.map(Some),
        }
    }

    /// Exchanges two names in one step. None where the file system cannot.
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

/// The mode of a folder for those who may read or write files of that mode.
pub(crate) fn folder_mode(file_mode: u32) -> u32 {
    file_mode | (file_mode & 0o444) >> 2
}

/// Makes a folder for those who may read files of that mode.
pub(crate) fn make_folder_at(path: &Path, file_mode: u32) -> io::Result<()> {
    std::os::unix::fs::DirBuilderExt::mode(&mut std::fs::DirBuilder::new(), folder_mode(file_mode))
        .create(path)
}

/// Returns after whoever is just emptying or writing the file: by giving it the mode that it has,
/// for which the system makes us queue behind them.
pub(crate) fn wait_for_writers(file: &File) -> io::Result<()> {
    let mode = Mode::from_raw_mode(file.metadata()?.mode() & 0o7777);
    // Only its owner may do that; for others it makes no difference what it has.
    let _ = fchmod(file, mode);
    Ok(())
}

/// Whether the file system or the kernel does not know a kind of renaming.
fn is_unsupported(error: &io::Error) -> bool {
    let unknown =
        [Errno::INVAL, Errno::NOSYS, Errno::NOTSUP, Errno::OPNOTSUPP].map(Errno::raw_os_error);
    error.kind() == ErrorKind::Unsupported
        || error
            .raw_os_error()
            .is_some_and(|code| unknown.contains(&code))
}
