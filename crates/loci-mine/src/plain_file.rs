//! The one way in which files are opened here: only plain files, without a wait, and no more bytes
//! than are asked for.
//!
//! The paths come from checkouts, from hosts and from transcripts, so a file may be a link to a
//! device without an end or a pipe into which no program writes. What is opened is looked at, never
//! the path, which may lead elsewhere a moment later.

#[cfg(all(test, unix))]
mod tests;

use std::error::Error;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
#[cfg(unix)]
use std::os::fd::AsFd;
use std::path::Path;

#[cfg(unix)]
use rustix::fs::{Mode, OFlags};
#[cfg(unix)]
use rustix::io::Errno;

/// The treatment of a symbolic link as the last part of a path. The folders before it always may be
/// links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// It is followed: for files that the user names or keeps.
    Followed,
    /// It is refused: for files that come with a checkout or whose path a host names.
    Refused,
}

/// The reason why a file is not read although it is there. It is the inner error of an
/// [`io::Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The last part of the path is a symbolic link.
    Link,
    /// It is a folder, a pipe, a socket or a device.
    NotPlain,
    /// It has more than this number of bytes.
    TooLarge(u64),
    /// Another user than this one or root owns the file or its folder.
    OtherOwner,
    /// Every user may write the file or its folder.
    WritableByOthers,
}

impl Refusal {
    /// The refusal that an error holds; none if the system failed.
    pub fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Link => {
                formatter.write_str("it is a symbolic link, and those are not followed")
            }
            Refusal::NotPlain => formatter.write_str("it is not a plain file"),
            Refusal::TooLarge(bytes_max) => write!(formatter, "it has more than {bytes_max} bytes"),
            Refusal::OtherOwner => formatter.write_str("another user owns it or its folder"),
            Refusal::WritableByOthers => {
                formatter.write_str("every user may write it or its folder")
            }
        }
    }
}

impl Error for Refusal {}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> Self {
        let kind = if matches!(refusal, Refusal::TooLarge(_)) {
            ErrorKind::FileTooLarge
        } else {
            ErrorKind::Other
        };
        io::Error::new(kind, refusal)
    }
}

/// Opens a plain file for reading.
///
/// # Errors
/// [`Refusal::Link`] or [`Refusal::NotPlain`], and whatever the system refuses.
pub fn open(path: &Path, links: Links) -> io::Result<File> {
    match links {
        Links::Followed => open_plain(&fs::canonicalize(path)?),
        Links::Refused => open_plain(path),
    }
}

#[cfg(unix)]
fn open_plain(path: &Path) -> io::Result<File> {
    open_plain_in(rustix::fs::CWD, path)
}

/// Opens a plain file, and no link to one, without waiting for the other end of a pipe.
#[cfg(unix)]
fn open_plain_in(folder: impl AsFd, path: &Path) -> io::Result<File> {
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file: File = match rustix::fs::openat(folder, path, flags, Mode::empty()) {
        Err(Errno::LOOP) => return Err(Refusal::Link.into()),
        // A socket, or a device without a driver.
        Err(Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP) => return Err(Refusal::NotPlain.into()),
        opened => opened?.into(),
    };
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(Refusal::NotPlain.into())
    }
}

#[cfg(not(unix))]
fn open_plain(path: &Path) -> io::Result<File> {
    let metadata = fs::symlink_metadata(path)?;
    if metadata.is_symlink() {
        Err(Refusal::Link.into())
    } else if metadata.is_file() {
        File::open(path)
    } else {
        Err(Refusal::NotPlain.into())
    }
}

/// Reads all of a plain file.
///
/// # Errors
/// As for [`open`], and [`Refusal::TooLarge`] for more than `bytes_max` bytes, of which no more are
/// read.
pub fn read(path: &Path, links: Links, bytes_max: u64) -> io::Result<Vec<u8>> {
    read_open(open(path, links)?, bytes_max)
}

fn read_open(file: File, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if file.metadata()?.len() <= bytes_max {
        file.take(bytes_max.saturating_add(1))
            .read_to_end(&mut bytes)?;
        if bytes.len() as u64 <= bytes_max {
            return Ok(bytes);
        }
    }
    Err(Refusal::TooLarge(bytes_max).into())
}

/// Reads all of a file that decides where something goes: a plain file, no link, that this user or
/// root owns, in a folder that one of the two owns, and that no other user may write. Owners are
/// not compared where the system is not Unix.
///
/// # Errors
/// As for [`read`], and [`Refusal::OtherOwner`] or [`Refusal::WritableByOthers`].
pub fn read_own(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    #[cfg(unix)]
    let file = open_own(path)?;
    #[cfg(not(unix))]
    let file = open_plain(path)?;
    read_open(file, bytes_max)
}

#[cfg(unix)]
fn open_own(path: &Path) -> io::Result<File> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder: File = rustix::fs::open(folder, flags, Mode::empty())?.into();
    // The file is opened in the folder that was looked at, whatever has its path by now.
    let file = open_plain_in(&folder, Path::new(path.file_name().unwrap_or_default()))?;
    check_own(&folder.metadata()?)?;
    check_own(&file.metadata()?)?;
    Ok(file)
}

#[cfg(unix)]
fn check_own(metadata: &fs::Metadata) -> Result<(), Refusal> {
    use std::os::unix::fs::MetadataExt;

    /// The bit of a mode that lets every user write.
    const WRITABLE_BY_OTHERS: u32 = 0o002;
    if metadata.uid() != 0 && metadata.uid() != rustix::process::geteuid().as_raw() {
        Err(Refusal::OtherOwner)
    } else if metadata.mode() & WRITABLE_BY_OTHERS != 0 {
        Err(Refusal::WritableByOthers)
    } else {
        Ok(())
    }
}
