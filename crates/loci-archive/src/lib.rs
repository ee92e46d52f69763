//! The archive: how everything that a store holds leaves it, and how it comes back.
//!
//! An export (`docs/archive.md`) is JSON lines, or Markdown files with JSON lines beside them;
//! [`Export`] writes one and [`Importer`] stores what one says. A [`backup`] is a tar archive
//! of the database and the notes. Nothing here prints: messages for people go to a [`Notice`].
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
mod export;
pub mod files;
mod importer;
mod lines;
pub mod listing;
mod markdown;
mod shapes;
#[cfg(test)]
mod tests;
mod words;

pub use export::{Export, Sink, Visit};
pub use importer::Importer;
pub use lines::{HEAD_BYTES, JsonLines, Lines, begins_archive, problem};
pub use markdown::{MarkdownFiles, MarkdownFolder};
pub use shapes::Counts;

use loci_core::{Archived, NoteFile, Space};
use loci_vault::FileCopy;

/// Bytes of a file of notes; a larger one is left out of exports. No note is as large.
pub const NOTE_FILE_BYTES_MAX: u64 = 16 << 20;

/// One line, or one file, of an export.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Where it is.
    pub place: String,
    /// How many bytes were read for it.
    pub bytes: usize,
    /// What it says; why, if it says nothing.
    pub entry: Result<Entry, String>,
}

/// What a part of an export says.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// A record that is all in the store.
    Record(Archived),
    /// A file of notes.
    Note(Note),
    /// The end of the export, with what is in it.
    End(Counts),
}

/// A file of notes.
#[derive(Debug, Clone, PartialEq)]
pub struct Note {
    /// The space.
    pub space: Space,
    /// Its path in the folder of notes.
    pub path: String,
    /// What the store knows of it.
    pub known: Option<Box<NoteFile>>,
    /// The file itself.
    pub file: Option<NoteBytes>,
}

/// Where the bytes of a file of notes are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoteBytes {
    /// Here.
    Inline(FileCopy),
    /// In a file beside the export, under the path of the note.
    Beside,
}

/// Takes a message for a person, of one line.
pub type Notice<'a> = &'a dyn Fn(&str);

/// Refusals that are told one by one.
const REFUSALS_TOLD: u64 = 20;

/// Parts of a file that are not stored.
#[derive(Debug, Default)]
pub struct Refusals {
    /// How many.
    pub count: u64,
}

impl Refusals {
    /// Counts one; tells it if few were told before.
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
