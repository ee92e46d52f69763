//! The folder of notes as the engine sees it.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use loci_core::limits::CONTENT_BYTES_MAX;
use loci_core::{
    Clock, ContentHash, Created, Error, ErrorCode, FileProblem, FileProblemKind, FileRead, FileStamp, FolderScan, Note,
    NoteFolder, NoteLock, Result,
};

use crate::create::{Names, made_before};
use crate::disk::{Folder, identity, stamp};
use crate::frontmatter;
use crate::lock::LockFile;
use crate::read::{self, not_a_file, reason, unread, unreadable};
use crate::scan::{is_note_name, scan, walk, which};
use crate::slug::slug;
use crate::write::{Refused, Temporary};

/// Names that are tried where the file system takes two for one that we do not.
const NAMES_TRIED_MAX: usize = 1_000;

/// A folder of Markdown notes on the disk.
///
/// Its temporary files lie beside the notes for the moment of a write; its lock lies elsewhere. What a crash left
/// of the former is cleared when the lock is taken.
pub struct VaultFolder {
    root: PathBuf,
    lock: LockFile,
    temporary: Temporary,
    clock: Arc<dyn Clock>,
    names: Names,
    /// Whether what a crash may have left was looked for since this process began.
    is_cleared: AtomicBool,
    /// Which folder the last scan saw.
    scanned: Mutex<Option<String>>,
}

impl VaultFolder {
    /// The folder at that path, which is made when the first note is, with its lock in that file, whose own folder
    /// must exist when it is taken. Touches no disk.
    pub fn new(root: PathBuf, lock_file: PathBuf, clock: Arc<dyn Clock>) -> Self {
        VaultFolder {
            root,
            temporary: Temporary::of(&lock_file),
            lock: LockFile::new(lock_file),
            clock,
            names: Names::default(),
            is_cleared: AtomicBool::new(false),
            scanned: Mutex::default(),
        }
    }

    /// Clears what a crash left. What cannot be cleared now stays until the next time.
    fn clear(&self) {
        let mut left = Vec::new();
        let walked = walk(&self.root, &mut Vec::new(), &mut |path, _, _| {
            let (_, name) = split(&path);
            if self.temporary.is_ours(name) {
                left.push(path);
            }
        });
        let cleared = walked.and_then(|()| {
            left.iter().try_for_each(|path| {
                let (parents, name) = split(path);
                self.temporary.clear(&self.enter(parents)?, name)
            })
        });
        let is_cleared = cleared.as_ref().err().is_none_or(|error| error.kind() == ErrorKind::NotFound);
        self.is_cleared.store(is_cleared, Ordering::Relaxed);
        match cleared {
            Err(error) if !is_cleared => tracing::warn!(%error, "what a crash left among the notes cannot be cleared"),
            _ if !left.is_empty() => tracing::info!(files = left.len(), "cleared what a crash left among the notes"),
            _ => {}
        }
    }

    /// Opens the folder at the end of a path, none of which may be a link.
    fn enter(&self, parents: &str) -> io::Result<Folder> {
        let parents = parents.split('/').filter(|parent| !parent.is_empty());
        parents.fold(Folder::open(&self.root), |folder, parent| folder?.enter(parent))
    }

    /// Opens the folder, and makes it if it is not there.
    fn enter_or_make(&self) -> io::Result<Folder> {
        match Folder::open(&self.root) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                make(&self.root)?;
                Folder::open(&self.root)
            }
            opened => opened,
        }
    }

    /// Whether the folder is the one that was last scanned, so that what is not in it is gone.
    fn is_as_scanned(&self) -> bool {
        let scanned = self.scanned.lock().unwrap_or_else(PoisonError::into_inner);
        let which = fs::metadata(&self.root).map(|metadata| identity(&metadata));
        which.is_ok_and(|which| scanned.as_ref().is_none_or(|scanned| *scanned == which))
    }

    fn unwritable(&self, error: &io::Error) -> Error {
        Error::unavailable(format!("the notes at {} cannot be written: {}", self.root.display(), reason(error)))
    }
}

impl NoteFolder for VaultFolder {
    fn lock(&self) -> Result<Box<dyn NoteLock>> {
        let held = self.lock.lock()?;
        if held.was_abandoned || !self.is_cleared.load(Ordering::Relaxed) {
            self.clear();
        }
        Ok(Box::new(held))
    }

    fn location(&self) -> String {
        self.root.display().to_string()
    }

    fn scan(&self) -> Result<FolderScan> {
        let scan = scan(&self.root)?;
        self.scanned.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&scan.identity);
        Ok(scan)
    }

    fn identity(&self) -> Result<Option<String>> {
        which(&self.root)
    }

    fn read(&self, path: &str) -> Result<Option<FileRead>> {
        let (parents, name) = parts(path)?;
        let problem = |problem| Ok(Some(unread(FileStamp { bytes: 0, modified_nanoseconds: 0 }, problem)));
        let gone = || if self.is_as_scanned() { Ok(None) } else { problem(away()) };
        match self.enter(parents) {
            Ok(folder) => match read::read(&folder, name, self.clock.now()) {
                Some(read) => Ok(Some(read)),
                None => gone(),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => gone(),
            Err(error) if error.kind() == ErrorKind::NotADirectory => problem(not_a_file()),
            Err(error) => problem(unreadable(&error)),
        }
    }

    fn create(&self, note: &Note) -> Result<Created> {
        let (Some(id), Some(title)) = (&note.id, &note.title) else {
            return Err(Error::internal("a new note has an id and a title"));
        };
        check_size(note)?;
        let text = frontmatter::fresh(note)?;
        let folder = self.enter_or_make().map_err(|error| self.unwritable(&error))?;
        let (free, alike) = self.names.free(&folder, &slug(title)).map_err(|error| self.unwritable(&error))?;
        if let Some((path, read)) = made_before(&folder, alike, id.as_str(), self.clock.now()) {
            return Ok(Created::Before(path, read));
        }
        for name in free.take(NAMES_TRIED_MAX) {
            match self.temporary.create(&folder, &name, text.as_bytes()) {
                Ok(stamp) => {
                    self.names.add(&folder, &name);
                    return Ok(Created::New(name, read::understand(text.as_bytes(), stamp, false)));
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => self.names.forget(),
                Err(error) => return Err(self.unwritable(&error)),
            }
        }
        Err(Error::unavailable("there are too many notes of that title; choose another one"))
    }

    fn rewrite(&self, path: &str, expected: &ContentHash, note: &Note) -> Result<FileRead> {
        let (parents, name) = parts(path)?;
        check_size(note)?;
        let failed = |error: io::Error| match error.kind() {
            ErrorKind::NotFound if self.is_as_scanned() => Error::not_found(format!("the note {path} is gone")),
            _ => self.unwritable(&error),
        };
        let changed = || {
            let message = format!("the note {path} was changed by somebody else meanwhile; read it again and repeat");
            Error::new(ErrorCode::Conflict, message)
        };
        let folder = self.enter(parents).map_err(failed)?;
        let (bytes, metadata) = read::bytes(&folder, name).map_err(failed)?.ok_or_else(changed)?;
        // Who writes in place empties the file first: what is empty just now is not to be read as what it is.
        let stamp = stamp(&metadata);
        let is_being_written = bytes.is_empty() && !read::is_settled(&stamp, self.clock.now());
        if is_being_written || read::hash(&bytes) != *expected {
            return Err(changed());
        }
        let text = read::text(&bytes).map_err(|problem| Error::new(ErrorCode::Conflict, problem.message))?;
        let Some(new) = frontmatter::rewrite(text, note)? else {
            return Ok(read::understand(&bytes, stamp, false));
        };
        match self.temporary.replace(&folder, name, expected, new.as_bytes(), &metadata) {
            Ok(stamp) => Ok(read::understand(new.as_bytes(), stamp, false)),
            Err(Refused::Changed) => Err(changed()),
            Err(Refused::Io(error)) => Err(failed(error)),
        }
    }
}

fn away() -> FileProblem {
    let message = "its folder is not there, or another one than before; if it is on a drive that is away, connect it";
    FileProblem { kind: FileProblemKind::Unreadable, message: message.to_owned() }
}

/// The folders and the name of a path that a scan could give.
fn parts(path: &str) -> Result<(&str, &str)> {
    let is_name = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains('\0');
    let is_foreign = cfg!(windows) && path.contains(['\\', ':']);
    let (parents, name) = split(path);
    if is_foreign || !path.split('/').all(is_name) || !is_note_name(name) {
        return Err(Error::invalid(
            "path",
            "must lead to a file `*.md` in the folder of notes, without `..`, and nothing in it may begin with a dot",
        ));
    }
    Ok((parents, name))
}

/// Whether the note would be read again.
fn check_size(note: &Note) -> Result<()> {
    if note.body.len() <= CONTENT_BYTES_MAX {
        return Ok(());
    }
    let message = format!("a note has at most {CONTENT_BYTES_MAX} bytes; split it");
    Err(Error::new(ErrorCode::TooLarge, message))
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Makes a folder and those above it, durable.
fn make(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match fs::create_dir(path) {
        Err(error) if error.kind() == ErrorKind::NotFound && path.parent().is_some() => {
            make(parent)?;
            fs::create_dir(path)?;
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(()),
        made => made?,
    }
    Folder::open(parent)?.flush()
}

#[cfg(test)]
mod tests;
