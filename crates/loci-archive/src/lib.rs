//! The archive: exports, imports and backups of all records of a store.
//!
//! An export (`docs/archive.md`) is JSON lines, or Markdown files with JSON lines beside them;
//! [`Export`] writes it and [`Importer`] stores it. A [`backup`] is a tar archive of the database
//! and the notes. Nothing here prints: messages for people go to a [`Notice`].
//!
//! ```
//! use loci_archive::JsonLines;
//! use loci_core::{Archived, Memory, MemoryId, Record, Space, Timestamp};
//!
//! let mut lines = JsonLines::as_of(Vec::new(), Timestamp::from_microseconds(0));
//! lines.write(&Archived {
//!     space: Space::default(),
//!     record: Record::Memory(Box::new(Memory::new(
//!         Space::default(),
//!         MemoryId::new("tea-1"),
//!         "Tea is at four.",
//!         "fact",
//!         Timestamp::from_microseconds(0),
//!     ))),
//! })?;
//! assert!(String::from_utf8(lines.finish()?)?.contains("Tea is at four."));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "a test that fails may panic")
)]

pub mod backup;
mod convert;
pub mod copy;
mod entry_problem;
mod export;
pub mod files;
mod importer;
mod lines;
pub mod listing;
mod markdown;
mod shapes;
#[cfg(test)]
mod tests;
mod text_forms;

pub use entry_problem::{EntryProblem, ValueProblem, problem};
pub use export::{Export, Sink, Visit};
pub use importer::{Importer, stay_forgotten};
pub use lines::{HEAD_BYTES, JsonLines, Lines, begins_archive};
pub use markdown::{MarkdownFiles, MarkdownFolder, RECORDS};
pub use shapes::Counts;

use loci_core::{Archived, NoteFile, Space};
use loci_vault::FileCopy;

/// The largest size in bytes of a file of notes in an export; a larger one is left out. No note is
/// as large.
pub const NOTE_FILE_BYTES_MAX: u64 = 16 << 20;

/// One line, or one file, of an export.
#[derive(Debug)]
pub struct Part {
    /// Its position.
    pub place: String,
    /// The number of bytes read for it.
    pub bytes: usize,
    /// The entry; if it is invalid, the reason.
    pub entry: Result<Entry, EntryProblem>,
}

/// The content of a part of an export.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// A record that is completely in the store.
    Record(Archived),
    /// A file of notes.
    Note(Note),
    /// The end of the export, with its counts.
    End(Counts),
}

/// A file of notes.
#[derive(Debug, Clone, PartialEq)]
pub struct Note {
    /// The space.
    pub space: Space,
    /// Its path in the folder of notes.
    pub path: String,
    /// The index entry of the file.
    pub known: Option<Box<NoteFile>>,
    /// The file itself.
    pub file: Option<NoteBytes>,
}

/// The place of the bytes of a file of notes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoteBytes {
    /// In the export itself.
    Inline(FileCopy),
    /// In a file next to the export, under the path of the note.
    Beside,
}

/// A callback for one-line messages to the user.
pub type Notice<'a> = &'a dyn Fn(&str);

/// The largest number of refusals that are reported one by one.
const REFUSALS_TOLD: u64 = 20;

/// Parts of a file that are not stored.
#[derive(Debug, Default)]
pub struct Refusals {
    /// The number of records.
    pub count: u64,
}

impl Refusals {
    /// Counts a refusal; reports it, unless many were reported before.
    pub fn add(&mut self, place: &str, problem: &str, notice: Notice<'_>) {
        self.count += 1;
        if self.count <= REFUSALS_TOLD {
            notice(&format!("{place} {problem}"));
        }
        if self.count == REFUSALS_TOLD {
            notice("more are refused, and only counted");
        }
    }
}
