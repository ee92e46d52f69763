//! The place of a file of a host: its folder, which is opened, and its name. Every operation is
//! relative to the opened folder, so that no link that is put on the way later leads elsewhere.

mod leftovers;
mod replacement;
mod walk;

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read, Seek};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use loci_mine::plain_file::Refusal;
use loci_vault::disk::{FileState, Folder, wait_for_writers};

use crate::edit::{EditError, failed, refused};

pub use leftovers::{Leftover, leftovers, sweep};
pub use replacement::Attempt;
pub use walk::work_tree;

/// The largest size of a settings file, in bytes.
const FILE_BYTES_MAX: u64 = 8 << 20;
/// The number of attempts to read a file that changes during the read.
const READ_ATTEMPTS: usize = 5;
/// The time for which another loci may hold the lock of a folder.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);
/// The pause between two looks at the lock.
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// The reach of the links on the way to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach<'a> {
    /// They are followed wherever they lead: for the user's own files, which may be links into a
    /// folder of dotfiles.
    Everywhere,
    /// They are followed within this folder only: for files that come with a checkout.
    Within(&'a Path),
}

/// A file in its folder.
#[derive(Debug)]
pub struct Place {
    /// Its folder, or the last one on the way that is there.
    folder: Folder,
    /// The folders on the rest of the way.
    missing: Vec<String>,
    name: String,
    /// Its path, behind links.
    pub real: PathBuf,
}

/// A file as it was read.
#[derive(Debug)]
pub struct FileVersion {
    /// The open file. Other systems do not let an open file go.
    file: Option<File>,
    metadata: Metadata,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// The lock of a folder, by which the commands of loci take turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lock {
    /// It is held.
    Held,
    /// Another process has held it for long.
    Busy,
    /// The system has none for folders.
    Unsupported,
}

impl Place {
    /// Finds the place of a file, which need not be there.
    ///
    /// # Errors
    /// [`EditError::Refused`] if the file is a link to what is not there, or one that leads out of
    /// the reach. [`EditError::Failed`] if a folder on the way cannot be opened.
    pub fn find(file: &Path, reach: Reach<'_>) -> Result<Self, EditError> {
        match reach {
            Reach::Everywhere => Self::follow(file),
            Reach::Within(root) => walk::find(file, root),
        }
    }

    fn follow(file: &Path) -> Result<Self, EditError> {
        let (failed, refused) = (failed(file), refused(file));
        let dangles = || refused("it is a link to what is not there".to_owned());
        let real = match file.canonicalize() {
            Ok(real) => real,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if fs::symlink_metadata(file).is_ok() {
                    return Err(dangles());
                }
                file.to_owned()
            }
            Err(error) => return Err(failed("read", error)),
        };
        let name = |path: &Path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.map(str::to_owned)
                .ok_or_else(|| refused("its path has no name in UTF-8".to_owned()))
        };
        let mut missing = Vec::new();
        let mut folder = parent(&real);
        let opened = loop {
            match Folder::open(folder) {
                Ok(opened) => break opened,
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(failed("read", error));
                }
                Err(_) if fs::symlink_metadata(folder).is_ok() => return Err(dangles()),
                Err(_) => {
                    missing.insert(0, name(folder)?);
                    folder = parent(folder);
                }
            }
        };
        Ok(Place {
            folder: opened,
            missing,
            name: name(&real)?,
            real,
        })
    }

    /// Reads the file; `None` if it is not there.
    ///
    /// # Errors
    /// It cannot be read, is not a plain file or is too large.
    pub fn read(&self) -> io::Result<Option<FileVersion>> {
        if self.missing.is_empty() {
            self.read_name(&self.name)
        } else {
            Ok(None)
        }
    }

    fn read_name(&self, name: &str) -> io::Result<Option<FileVersion>> {
        let file = match self.folder.open_file(name) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            // Where folders are not opened, anything else than a plain file is refused so.
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                return Err(Refusal::NotPlain.into());
            }
            Err(error) => return Err(error),
        };
        let mut seen = contents(&file)?;
        for _ in 1..READ_ATTEMPTS {
            if FileState::from(&seen.0) == FileState::from(&file.metadata()?) {
                break;
            }
            seen = contents(&file)?;
        }
        let (metadata, bytes) = seen;
        Ok(Some(FileVersion {
            file: cfg!(unix).then_some(file),
            metadata,
            bytes,
        }))
    }

    /// Returns the text of each copy beside the file, the last first, with its name.
    pub fn copies(&self) -> Vec<(String, String)> {
        let mut numbers = self.copy_numbers();
        numbers.reverse();
        let names = numbers.into_iter().map(|number| self.copy_name(number));
        names
            .filter_map(|name| {
                let bytes = self.read_name(&name).ok()??.bytes;
                Some((name, String::from_utf8(bytes).ok()?))
            })
            .collect()
    }

    /// Copies the file beside itself under a free name, unless the last copy is the same. Returns
    /// the path of the copy, and whether it is new.
    ///
    /// # Errors
    /// The copy cannot be written.
    pub fn back_up(&self, seen: &FileVersion) -> io::Result<(PathBuf, bool)> {
        let last = self.copy_numbers().last().copied().unwrap_or_default();
        if last > 0 {
            let name = self.copy_name(last);
            let copy = self.read_name(&name).ok().flatten();
            if copy.is_some_and(|copy| copy.bytes == seen.bytes) {
                return Ok((self.real.with_file_name(name), false));
            }
        }
        // Under its name the copy is whole, even if the process ends now.
        let draft = self.write(&seen.bytes, Some(&seen.metadata))?;
        for number in last.saturating_add(1)..=u32::MAX {
            let name = self.copy_name(number);
            match self.folder.rename_to_free(&draft.name, &name) {
                Ok(()) => return Ok((self.real.with_file_name(name), true)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => {
                    let _ = self.folder.remove(&draft.name);
                    return Err(error);
                }
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    /// Removes a file beside this one.
    ///
    /// # Errors
    /// It is there and cannot be removed.
    pub fn remove_beside(&self, name: &str) -> io::Result<()> {
        match self.folder.remove(name) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Fails if the file may not be written, which an exchange would ignore.
    ///
    /// # Errors
    /// It may not be written.
    pub fn check_writable(&self) -> io::Result<()> {
        self.folder.check_writable(&self.name)
    }

    fn copy_name(&self, number: u32) -> String {
        format!("{}.loci-backup-{number}", self.name)
    }

    /// Returns the numbers of the copies, in their order.
    fn copy_numbers(&self) -> Vec<u32> {
        let prefix = format!("{}.loci-backup-", self.name);
        let names = self.folder.names().unwrap_or_default();
        let mut numbers: Vec<_> = names
            .iter()
            .filter_map(|name| name.strip_prefix(&prefix)?.parse().ok())
            .collect();
        numbers.sort_unstable();
        numbers
    }

    /// Waits for the lock of the folder, which is held until this place is dropped, and then removes
    /// what a killed process left. Returns the files with text of other programs that were kept.
    pub fn take_turn(&self) -> Vec<PathBuf> {
        let lock = self.lock();
        let folder = parent(&self.real);
        let kept = leftovers::sweep_folder(&self.folder, lock).into_iter();
        kept.map(|name| folder.join(name)).collect()
    }

    fn lock(&self) -> Lock {
        lock(&self.folder)
    }
}

fn lock(folder: &Folder) -> Lock {
    let begin = Instant::now();
    loop {
        match folder.try_lock() {
            Ok(true) => return Lock::Held,
            Err(_) => return Lock::Unsupported,
            Ok(false) if begin.elapsed() > LOCK_PATIENCE => return Lock::Busy,
            Ok(false) => pause(LOCK_PAUSE),
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "another process says nothing when it is done"
)]
pub fn pause(time: Duration) {
    thread::sleep(time);
}

/// Returns the folder that a path is in.
fn parent(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Returns the metadata and the content of an open file.
fn contents(mut file: &File) -> io::Result<(Metadata, Vec<u8>)> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(Refusal::NotPlain.into());
    }
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(Refusal::TooLarge(FILE_BYTES_MAX).into());
    }
    Ok((metadata, bytes))
}

/// Returns the content of an open file, after the programs that are writing it.
fn settled_contents(file: &File) -> io::Result<(Metadata, Vec<u8>)> {
    wait_for_writers(file)?;
    contents(file)
}

#[cfg(test)]
mod tests;
