//! Reads a file as it was at one moment.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek};

use data_encoding::HEXLOWER;
use loci_core::limits::CONTENT_BYTES_MAX;
use loci_core::{
    ContentHash, FileProblem, FileProblemKind, FileSnapshot, FileStamp, NoteContent, NoteFile,
    Timestamp,
};
use sha2::{Digest, Sha256};

use crate::conflict;
use crate::disk::{Folder, stamp};
use crate::frontmatter::{self, FRONTMATTER_BYTES_MAX, Foreign};
use crate::merge;
use crate::seal::{self, Seal};
use crate::text::{LINKS_MAX, Mentions, mentions};

/// The number of bytes of a hash in a file name.
pub(crate) const NAMED_BYTES: usize = 8;

/// The maximum bytes of a file; a larger one is not read.
pub(crate) const FILE_BYTES_MAX: u64 =
    (CONTENT_BYTES_MAX + FRONTMATTER_BYTES_MAX) as u64 + seal::MORE_BYTES_MAX;
/// The number of attempts to read a file that changes during the read.
const ATTEMPTS: usize = 5;
/// The coarsest resolution of modification times, which is that of FAT.
const SETTLED_MICROSECONDS: i64 = 2_000_000;
const UNREAD: ContentHash = ContentHash([0; 32]);

/// Reads the file with that name; `None` if it does not exist.
pub(crate) fn read(folder: &Folder, name: &str, now: Timestamp) -> Option<FileSnapshot> {
    for _ in 0..ATTEMPTS {
        let file = match folder.open_file(name) {
            Ok(file) => file,
            Err(error) => return unopened(folder, name, &error),
        };
        match attempt(folder, name, &file, now) {
            Ok(Some(read)) => return Some(read),
            Ok(None) => {}
            Err(error) => {
                return Some(unread(
                    FileStamp {
                        bytes: 0,
                        modified_nanoseconds: 0,
                    },
                    unreadable(&error),
                ));
            }
        }
    }
    let stamp = FileStamp {
        bytes: 0,
        modified_nanoseconds: 0,
    };
    let message = "it is being written all the time; it is read again at the next look".to_owned();
    Some(unread(
        stamp,
        FileProblem {
            kind: FileProblemKind::Unreadable,
            message,
        },
    ))
}

/// Parses the bytes of a file.
pub(crate) fn understand(bytes: &[u8], stamp: FileStamp, is_settled: bool) -> FileSnapshot {
    let (content, problem) = match content(bytes) {
        Ok((content, problem)) => (Some(content), problem),
        Err(problem) => (None, Some(problem)),
    };
    FileSnapshot {
        stamp,
        is_settled,
        hash: hash(bytes),
        content,
        problem,
    }
}

/// Returns the text of a note.
///
/// # Errors
/// The reason why the bytes are not a text.
pub(crate) fn text(bytes: &[u8]) -> Result<&str, FileProblem> {
    let problem = |message| FileProblem {
        kind: FileProblemKind::NotText,
        message,
    };
    let text = str::from_utf8(bytes)
        .map_err(|error| problem(format!("it is no text in UTF-8; save it as that ({error})")))?;
    if text.contains('\0') {
        Err(problem("it holds NUL, which no text does".to_owned()))
    } else {
        Ok(text)
    }
}

/// True if a writer may just have emptied the file to fill it again. A file whose time is far in
/// the future does not count, because it would be in this state forever.
pub(crate) fn is_being_written(stamp: &FileStamp, now: Timestamp) -> bool {
    let modified = stamp.modified_nanoseconds / 1_000;
    let is_recent = modified.abs_diff(now.microseconds()) <= SETTLED_MICROSECONDS.unsigned_abs();
    stamp.bytes == 0 && is_recent
}

/// True if the file was so old at that moment that every later change alters its stamp.
pub(crate) fn is_settled(stamp: &FileStamp, now: Timestamp) -> bool {
    stamp.modified_nanoseconds / 1_000 <= now.microseconds().saturating_sub(SETTLED_MICROSECONDS)
}

pub(crate) fn hash(bytes: &[u8]) -> ContentHash {
    ContentHash(Sha256::digest(bytes).into())
}

/// Reads all bytes, as they are within a sealed one, and the metadata of a file that is not larger than a note may be; `None` if it
/// is larger or not a regular file.
pub(crate) fn bytes(
    folder: &Folder,
    name: &str,
) -> io::Result<Option<(Vec<u8>, std::fs::Metadata)>> {
    contents(folder.seal(), &folder.open_file(name)?)
}

/// Like [`bytes`], for an open file.
pub(crate) fn contents(
    seal: Option<&Seal>,
    mut file: &File,
) -> io::Result<Option<(Vec<u8>, std::fs::Metadata)>> {
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() > FILE_BYTES_MAX {
        return Ok(None);
    }
    file.rewind()?;
    let bytes = seal::opened(seal, bytes_of(file, metadata.len())?);
    Ok(Some((bytes, metadata)))
}

fn bytes_of(file: &File, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(length as usize + 1);
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads once; `None` if the file changed during the read.
fn attempt(
    folder: &Folder,
    name: &str,
    file: &File,
    now: Timestamp,
) -> io::Result<Option<FileSnapshot>> {
    let metadata = file.metadata()?;
    let before = stamp(&metadata);
    if !metadata.is_file() {
        return Ok(Some(unread(before, not_a_file())));
    }
    let is_settled = is_settled(&before, now);
    let passed_over = |problem| FileSnapshot {
        is_settled,
        ..unread(before, problem)
    };
    if metadata.len() > FILE_BYTES_MAX {
        return Ok(Some(passed_over(too_large())));
    }
    let originals = conflict::originals(name);
    if let Some(original) = originals
        .iter()
        .find(|name| folder.is_file(name).unwrap_or(false))
    {
        // Not settled, so that it is read again: without the other file, it is a note.
        let problem = conflict_copy(&format!("`{original}`"));
        return Ok(Some(unread(before, problem)));
    }
    let bytes = bytes_of(file, metadata.len())?;
    if stamp(&file.metadata()?) != before || bytes.len() as u64 != before.bytes {
        return Ok(None);
    }
    let bytes = seal::opened(folder.seal(), bytes);
    if seal::is_sealed(&bytes) {
        return Ok(Some(passed_over(unopened_seal())));
    }
    // If its original comes back, this file becomes a conflict copy without a change of its own.
    Ok(Some(understand(
        &bytes,
        before,
        is_settled && originals.is_empty(),
    )))
}

fn content(bytes: &[u8]) -> Result<(NoteContent, Option<FileProblem>), FileProblem> {
    let text = text(bytes)?;
    let (note, Foreign { values, aliases }, problem) = frontmatter::read(text);
    if note.body.len() > CONTENT_BYTES_MAX {
        return Err(too_large());
    }
    let Mentions { tags, mut links } = mentions(&note.body);
    for link in values.iter().flat_map(|value| mentions(value).links) {
        if links.len() < LINKS_MAX && !links.contains(&link) {
            links.push(link);
        }
    }
    links.extend(
        aliases
            .into_iter()
            .map(|alias| format!("{}{alias}", NoteFile::ALIAS)),
    );
    Ok((
        NoteContent {
            note,
            text_tags: tags,
            links,
            values,
        },
        marked(text, problem),
    ))
}

/// Returns the problem of a text in which a merge left its marks: that the frontmatter is broken
/// says less.
fn marked(text: &str, problem: Option<FileProblem>) -> Option<FileProblem> {
    let Some(line) = merge::conflict(text) else {
        return problem;
    };
    let message = format!(
        "line {line}: a merge left both sides of a conflict here; keep what is right and remove the marks"
    );
    // A broken frontmatter stays one, because its text must not bring a forgotten note back.
    let kind = problem.map_or(FileProblemKind::ConflictMarks, |problem| problem.kind);
    Some(FileProblem { kind, message })
}

/// Returns the result for a file that cannot be opened.
fn unopened(folder: &Folder, name: &str, error: &io::Error) -> Option<FileSnapshot> {
    if error.kind() == ErrorKind::NotFound {
        return None;
    }
    let problem = if folder.is_file(name).unwrap_or(true) {
        unreadable(error)
    } else {
        not_a_file()
    };
    Some(unread(
        FileStamp {
            bytes: 0,
            modified_nanoseconds: 0,
        },
        problem,
    ))
}

pub(crate) fn unread(stamp: FileStamp, problem: FileProblem) -> FileSnapshot {
    FileSnapshot {
        stamp,
        is_settled: false,
        hash: UNREAD,
        content: None,
        problem: Some(problem),
    }
}

/// Returns the problem of another version of a note, which a sync client has made.
pub(crate) fn conflict_copy(of: &str) -> FileProblem {
    let message = format!(
        "a sync client made it of another version of {of}; merge the two and delete this one"
    );
    FileProblem {
        kind: FileProblemKind::ConflictCopy,
        message,
    }
}

pub(crate) fn unopened_seal() -> FileProblem {
    let message = "it is sealed (`loci encrypt --notes`), and the key of this store does not open it: it is damaged, or of another key (docs/encryption.md)";
    FileProblem {
        kind: FileProblemKind::Unreadable,
        message: message.to_owned(),
    }
}

pub(crate) fn not_a_file() -> FileProblem {
    let message =
        "it is a link or no regular file, which is not followed; put the file itself here"
            .to_owned();
    FileProblem {
        kind: FileProblemKind::NotAFile,
        message,
    }
}

/// Returns the problem of a name that no path can express.
pub(crate) fn unnamable() -> FileProblem {
    let message = "its name is no text in UTF-8; rename it".to_owned();
    FileProblem {
        kind: FileProblemKind::NotAFile,
        message,
    }
}

pub(crate) fn unreadable(error: &io::Error) -> FileProblem {
    let message = format!("it cannot be read: {}", reason(error));
    FileProblem {
        kind: FileProblemKind::Unreadable,
        message,
    }
}

fn too_large() -> FileProblem {
    let message = format!("its text is larger than {CONTENT_BYTES_MAX} bytes; split it");
    FileProblem {
        kind: FileProblemKind::TooLarge,
        message,
    }
}

/// Describes a disk error and its remedy.
pub(crate) fn reason(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            "the disk is full, or no more of it is allowed; free some space and repeat".to_owned()
        }
        ErrorKind::ReadOnlyFilesystem => {
            "the disk is read-only; make it writable and repeat".to_owned()
        }
        ErrorKind::PermissionDenied => {
            "permission is denied; change who may read and write there".to_owned()
        }
        ErrorKind::NotFound => {
            "it is not there; if it is on a drive that is away, connect it".to_owned()
        }
        ErrorKind::NotADirectory => {
            "it is no folder; choose another place or remove what is there".to_owned()
        }
        _ => error.to_string(),
    }
}

/// Returns 16 hexadecimal digits of the hash of these bytes, for a name of a temporary file.
pub fn short_hash(bytes: &[u8]) -> String {
    short(&hash(bytes))
}

/// Returns the part of a hash that is used in names.
pub(crate) fn short(hash: &ContentHash) -> String {
    HEXLOWER.encode(&hash.0[..NAMED_BYTES])
}
