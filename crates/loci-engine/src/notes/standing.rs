//! Notes that count for less than others, by their status or their folder, and the files of a folder
//! that are no notes at all.

use loci_core::{FolderScan, Memory, MemoryId, NOTE_STANDING, Note, NoteFile, NoteState, Result};

use super::{Notes, everything};
use crate::memories::remember::SUPERSEDED_WEIGHT;

/// A folder of notes that were captured, and that no one has looked at yet.
const INBOX: &str = "_inbox";
/// A folder in which a note tool keeps its own books: reports, lists, states of its runs.
const BOOKKEEPING: &str = "_meta";
/// The weight of a note, the same as that of other memories without an explicit weight.
pub(super) const WEIGHT: f64 = 1.0;
/// The weight of a note that no one has looked at yet.
const UNFILED_WEIGHT: f64 = 0.2;
/// Notes that are read at a time to count them.
const READ_MAX: usize = 256;

/// Why a note counts for less than others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Its status.
    State(NoteState),
    /// Its folder.
    Inbox,
}

/// The numbers of notes and files that count for less than other notes, or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SetAside {
    /// Notes with the status `superseded`: out of sight.
    pub superseded: usize,
    /// Notes with the status `expired`: out of sight.
    pub expired: usize,
    /// Notes with the status `unfiled`: of less weight.
    pub unfiled: usize,
    /// Other notes in a folder `_inbox`: of less weight.
    pub inbox: usize,
    /// Files in a folder `_meta`: not read.
    pub bookkeeping: usize,
}

impl Standing {
    /// Returns the standing of the note at this path; `None` for one that counts in full.
    fn of(note: &Note, path: &str) -> Option<Self> {
        match note.state {
            NoteState::Active => is_in(path, INBOX).then_some(Standing::Inbox),
            state => Some(Standing::State(state)),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Standing::State(state) => state.name(),
            Standing::Inbox => "inbox",
        }
    }

    const fn weight(self) -> f64 {
        match self {
            Standing::State(NoteState::Superseded | NoteState::Expired) => SUPERSEDED_WEIGHT,
            Standing::State(_) | Standing::Inbox => UNFILED_WEIGHT,
        }
    }
}

/// Returns the memory of a note with its standing, and with the weight of that when it changes, because
/// nothing in a file says a weight. Otherwise the known weight stays, which others may have changed.
pub(super) fn weighed(
    mut memory: Memory,
    file: &NoteFile,
    note: &Note,
    known: Option<&Memory>,
) -> Memory {
    let standing = Standing::of(note, &file.path);
    let name = standing.map(|standing| standing.name().to_owned());
    if known.is_none_or(|known| known.attributes.get(NOTE_STANDING) != name.as_ref()) {
        memory.weight = standing.map_or(WEIGHT, Standing::weight);
    }
    match name {
        Some(name) => memory.attributes.insert(NOTE_STANDING.to_owned(), name),
        None => memory.attributes.remove(NOTE_STANDING),
    };
    memory
}

/// Returns the scan without the files of a note tool's own books. They stay in exports and backups.
pub(super) fn without_bookkeeping(mut scan: FolderScan) -> FolderScan {
    scan.files.retain(|(path, _)| !is_in(path, BOOKKEEPING));
    scan.skipped.retain(|(path, _)| !is_in(path, BOOKKEEPING));
    scan
}

/// Returns true if one of the folders of the path has this name.
fn is_in(path: &str, folder: &str) -> bool {
    let mut names = path.rsplit('/').skip(1);
    names.any(|name| name == folder)
}

impl Notes<'_> {
    /// Counts the notes that count for less than others, and the files that are not read.
    ///
    /// # Errors
    /// `unavailable` if the store or the folder cannot be read, or there is no such folder.
    pub fn set_aside(&self) -> Result<SetAside> {
        let folder = self.folder.ok_or_else(|| self.no_folder())?;
        let files = folder.files.scan()?.files;
        let bookkeeping = files.iter().filter(|(path, _)| is_in(path, BOOKKEEPING));
        let mut counts = SetAside {
            bookkeeping: bookkeeping.count(),
            ..SetAside::default()
        };
        let notes: Vec<MemoryId> = self.store.notes_among(&everything(), usize::MAX)?;
        for ids in notes.chunks(READ_MAX) {
            for memory in self.store.get_all(&everything(), ids)? {
                let standing = memory.attributes.get(NOTE_STANDING).map(String::as_str);
                let count = match standing.map(NoteState::from_name) {
                    Some(Some(NoteState::Superseded)) => &mut counts.superseded,
                    Some(Some(NoteState::Expired)) => &mut counts.expired,
                    Some(Some(_)) => &mut counts.unfiled,
                    Some(None) => &mut counts.inbox,
                    None => continue,
                };
                *count += 1;
            }
        }
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_counts_by_its_whole_name() {
        for (path, expected) in [
            ("_meta/a.md", true),
            ("a/_meta/b/c.md", true),
            ("_meta.md", false),
            ("a/_metal/b.md", false),
            ("a/b_meta/c.md", false),
        ] {
            assert_eq!(is_in(path, BOOKKEEPING), expected, "{path}");
        }
    }
}
