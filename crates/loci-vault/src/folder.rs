//! The folder of notes as the engine uses it.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use loci_core::limits::CONTENT_BYTES_MAX;
use loci_core::{
    Clock, ContentHash, CreateOutcome, Error, ErrorCode, FileProblem, FileProblemKind,
    FileSnapshot, FileStamp, FolderScan, Note, NoteFolder, NoteLock, Result,
};

use crate::conflict;
use crate::create::{FolderNames, made_before};
use crate::disk::{Folder, make_folder_at, stamp};
use crate::frontmatter;
use crate::read::{self, not_a_file, reason, unread, unreadable};
use crate::scan::{is_note_name, scan, which};
use crate::seal::Seal;
use crate::site::{Site, split};
use crate::slug::slug;
use crate::write::WriteRefusal;

/// The number of names that are tried if the file system treats two different names as the same.
const NAMES_TRIED_MAX: usize = 1_000;

/// A folder of Markdown notes on the disk.
///
/// Its temporary files are beside the notes during a write; its lock is elsewhere. Temporary files
/// left by a crash are removed when the lock is taken. When a note is replaced, its previous file
/// is kept open for a minute, without a name: text that an editor still writes to it is recovered
/// into a file beside the note.
pub struct VaultFolder {
    pub(crate) site: Arc<Site>,
    pub(crate) names: FolderNames,
    /// The identity of the folder at the last scan.
    scanned: Mutex<Option<String>>,
}

impl VaultFolder {
    /// Returns the folder at that path, which is created with the first note. Its lock is in
    /// `lock_file`, whose parent folder must exist when the lock is taken. Does not access the
    /// disk.
    pub fn new(root: PathBuf, lock_file: PathBuf, clock: Arc<dyn Clock>) -> Self {
        let site = Arc::new(Site::new(root, lock_file, clock));
        VaultFolder {
            site,
            names: FolderNames::default(),
            scanned: Mutex::default(),
        }
    }

    /// Sets the permissions of new files (octal `600` for their owner only, which is the default);
    /// new folders are for users who may read such files. An existing file keeps its own. On
    /// Windows nothing changes.
    #[must_use]
    pub fn with_file_mode(mut self, mode: u32) -> Self {
        // Nothing else holds the new folder yet.
        if let Some(site) = Arc::get_mut(&mut self.site) {
            site.temporary.mode = mode;
        }
        self
    }

    /// Seals the files that are written, and opens sealed ones; without a key, which is the default,
    /// files are written in the clear, and a sealed one is a problem of its note.
    #[must_use]
    pub fn with_seal(mut self, seal: Option<Seal>) -> Self {
        // Nothing else holds the new folder yet.
        if let Some(site) = Arc::get_mut(&mut self.site) {
            site.seal = seal;
        }
        self
    }

    /// Opens the folder, and creates it if it does not exist.
    pub(crate) fn enter_or_make(&self) -> io::Result<Folder> {
        match self.site.open() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                make(&self.site.root, self.site.temporary.mode)?;
                self.site.open()
            }
            opened => opened,
        }
    }

    /// True if the folder is the one that was last scanned, so that a missing file was deleted.
    fn is_as_scanned(&self) -> bool {
        let scanned = self.scanned.lock().unwrap_or_else(PoisonError::into_inner);
        which(&self.site.root)
            .is_ok_and(|which| which.is_some() && (scanned.is_none() || *scanned == which))
    }
}

impl NoteFolder for VaultFolder {
    fn lock(&self) -> Result<Box<dyn NoteLock>> {
        Ok(Box::new(self.site.lock()?))
    }

    fn location(&self) -> String {
        self.site.root.display().to_string()
    }

    fn scan(&self) -> Result<FolderScan> {
        let scan = scan(&self.site.root)?;
        self.scanned
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone_from(&scan.identity);
        Ok(scan)
    }

    fn identity(&self) -> Result<Option<String>> {
        which(&self.site.root)
    }

    fn other_versions(&self, path: &str) -> Vec<String> {
        let (parents, name) = split(path);
        let inside = |name: String| {
            if parents.is_empty() {
                name
            } else {
                format!("{parents}/{name}")
            }
        };
        let names = conflict::possible_originals(name);
        names.into_iter().map(inside).collect()
    }

    fn read(&self, path: &str) -> Result<Option<FileSnapshot>> {
        let (parents, name) = parts(path)?;
        let problem = |problem| {
            Ok(Some(unread(
                FileStamp {
                    bytes: 0,
                    modified_nanoseconds: 0,
                },
                problem,
            )))
        };
        let gone = || {
            if self.is_as_scanned() {
                Ok(None)
            } else {
                problem(away())
            }
        };
        match self.site.enter(parents) {
            Ok(folder) => match read::read(&folder, name, self.site.clock.now()) {
                Some(read) => Ok(Some(read)),
                None => gone(),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => gone(),
            Err(error) if error.kind() == ErrorKind::NotADirectory => problem(not_a_file()),
            Err(error) => problem(unreadable(&error)),
        }
    }

    fn create(&self, note: &Note, may_be_there: bool) -> Result<CreateOutcome> {
        let (Some(id), Some(title)) = (&note.id, &note.title) else {
            return Err(Error::internal("a new note has an id and a title"));
        };
        check_size(note)?;
        let text = frontmatter::fresh(note)?;
        let folder = self.enter_or_make().map_err(|error| unwritable(&error))?;
        let (free, alike) = self
            .names
            .free(&folder, &slug(title))
            .map_err(|error| unwritable(&error))?;
        let alike = if may_be_there { alike } else { Vec::new() };
        if let Some((path, read)) = made_before(&folder, alike, id.as_str(), self.site.clock.now())
        {
            return Ok(CreateOutcome::Existing(path, read));
        }
        for name in free.take(NAMES_TRIED_MAX) {
            let created = self.site.temporary.create(&folder, &name, text.as_bytes());
            self.site.keep_displaced("");
            match created {
                Ok(stamp) => {
                    self.names.add(&folder, &name);
                    return Ok(CreateOutcome::New(
                        name,
                        read::understand(text.as_bytes(), stamp, false),
                    ));
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    self.names.forget();
                    // It may be the earlier attempt itself, created in the instant of the listing.
                    let there = if may_be_there { vec![name] } else { Vec::new() };
                    if let Some((path, read)) =
                        made_before(&folder, there, id.as_str(), self.site.clock.now())
                    {
                        return Ok(CreateOutcome::Existing(path, read));
                    }
                }
                Err(error) => return Err(unwritable(&error)),
            }
        }
        Err(Error::unavailable(
            "there are too many notes of that title; choose another one",
        ))
    }

    fn rewrite(&self, path: &str, expected: &ContentHash, note: &Note) -> Result<FileSnapshot> {
        let (parents, name) = parts(path)?;
        check_size(note)?;
        let failed = |error: io::Error| match error.kind() {
            ErrorKind::NotFound if self.is_as_scanned() => {
                Error::not_found(format!("the note {path} is gone"))
            }
            _ => unwritable(&error),
        };
        let changed = || {
            let message = format!(
                "the note {path} was changed by somebody else meanwhile; read it again and repeat"
            );
            Error::new(ErrorCode::Conflict, message)
        };
        let folder = self.site.enter(parents).map_err(failed)?;
        let (bytes, metadata) = read::bytes(&folder, name)
            .map_err(failed)?
            .ok_or_else(changed)?;
        let stamp = stamp(&metadata);
        if read::is_being_written(&stamp, self.site.clock.now()) || read::hash(&bytes) != *expected
        {
            return Err(changed());
        }
        let text = read::text(&bytes)
            .map_err(|problem| Error::new(ErrorCode::Conflict, problem.message))?;
        let Some(new) = frontmatter::rewrite(text, note)? else {
            return Ok(read::understand(&bytes, stamp, false));
        };
        if metadata.permissions().readonly() {
            let message = format!(
                "the note {path} is read-only; whoever made it so may allow to write it, and repeat"
            );
            return Err(Error::new(ErrorCode::Conflict, message));
        }
        let replaced =
            self.site
                .temporary
                .replace(&folder, name, expected, new.as_bytes(), &metadata);
        self.site.keep_displaced(parents);
        match replaced {
            Ok(stamp) => Ok(read::understand(new.as_bytes(), stamp, false)),
            Err(WriteRefusal::Changed) => Err(changed()),
            Err(WriteRefusal::Io(error)) => Err(failed(error)),
        }
    }
}

impl Drop for VaultFolder {
    fn drop(&mut self) {
        self.site.end();
    }
}

pub(crate) fn unwritable(error: &io::Error) -> Error {
    Error::unavailable(format!(
        "the folder of notes cannot be written: {}",
        reason(error)
    ))
}

fn away() -> FileProblem {
    let message = "its folder is not there, or another one than before; if it is on a drive that is away, connect it";
    FileProblem {
        kind: FileProblemKind::Unreadable,
        message: message.to_owned(),
    }
}

/// Returns the folders and the name of a path that a scan could return.
pub(crate) fn parts(path: &str) -> Result<(&str, &str)> {
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

/// Checks that the note is not too large to be read again.
fn check_size(note: &Note) -> Result<()> {
    if note.body.len() <= CONTENT_BYTES_MAX {
        return Ok(());
    }
    let message = format!("a note has at most {CONTENT_BYTES_MAX} bytes; split it");
    Err(Error::new(ErrorCode::TooLarge, message))
}

/// Creates a folder and its parents durably.
fn make(path: &Path, file_mode: u32) -> io::Result<()> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    match make_folder_at(path, file_mode) {
        Err(error) if error.kind() == ErrorKind::NotFound && path.parent().is_some() => {
            make(parent, file_mode)?;
            make_folder_at(path, file_mode)?;
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(()),
        made => made?,
    }
    Folder::open(parent)?.flush()
}

#[cfg(test)]
mod tests;
