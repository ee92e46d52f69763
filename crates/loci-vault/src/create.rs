//! Chooses the name of a new note.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::sync::{Mutex, PoisonError};

use loci_core::{FileSnapshot, Timestamp};

use crate::disk::{Folder, identity, written_stamp};
use crate::read;
use crate::seal::is_sealed;
use crate::slug::folded;

/// The bytes at the beginning of a file that are searched for its `uid`.
const HEAD_BYTES: u64 = 4 << 10;
/// The number of characters of a UUID v7 that encode its time.
const UUID_TIME: usize = 14;
const UUID_LENGTH: usize = 36;

/// Caches the names at the top of the folder as of its last change: listing them for each new note
/// would take longer than writing it. The time of a change is coarse, so a name that another
/// process created in the instant of our last write may be missing; this is safe, because no rename
/// ever replaces another file.
#[derive(Default)]
pub(crate) struct FolderNames(Mutex<Option<Listing>>);

struct Listing {
    folder: String,
    modified_nanoseconds: i64,
    /// Each name in the folded form for comparisons, and as it is.
    names: BTreeSet<(String, String)>,
}

/// Free names for a note, the best one first.
pub(crate) struct FreeNames {
    base: String,
    /// The numbers that are taken; 1 is the name without a number.
    taken: BTreeSet<u64>,
    next: u64,
}

impl FolderNames {
    /// Returns the free names for a note with this slug, and the files with similar names.
    ///
    /// # Errors
    /// The folder cannot be listed.
    pub fn free(&self, folder: &Folder, base: &str) -> io::Result<(FreeNames, Vec<String>)> {
        let metadata = folder.metadata()?;
        let (which, modified_nanoseconds) = (
            identity(&metadata),
            written_stamp(&metadata).modified_nanoseconds,
        );
        let mut listing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_current = |known: &Listing| {
            known.folder == which && known.modified_nanoseconds == modified_nanoseconds
        };
        let known = if let Some(known) = listing.take().filter(is_current) {
            known
        } else {
            let names = folder
                .names()?
                .into_iter()
                .map(|name| (folded(&name), name))
                .collect();
            Listing {
                folder: which,
                modified_nanoseconds,
                names,
            }
        };
        let alike = known.names.range((base.to_owned(), String::new())..);
        let alike = alike.take_while(|(name, _)| name.starts_with(base));
        let (taken, files) = alike
            .filter_map(|(name, file)| Some((number(name, base)?, file.clone())))
            .unzip();
        *listing = Some(known);
        Ok((
            FreeNames {
                base: base.to_owned(),
                taken,
                next: 1,
            },
            files,
        ))
    }

    /// Adds a created file to the cache.
    pub fn add(&self, folder: &Folder, name: &str) {
        let mut listing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match (listing.as_mut(), folder.metadata()) {
            (Some(known), Ok(metadata)) => {
                known.names.insert((folded(name), name.to_owned()));
                known.modified_nanoseconds = written_stamp(&metadata).modified_nanoseconds;
            }
            _ => *listing = None,
        }
    }

    /// Clears the cache, because another process has written to the folder.
    pub fn forget(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Iterator for FreeNames {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        while self.taken.contains(&self.next) {
            self.next += 1;
        }
        let number = self.next;
        self.next += 1;
        Some(if number == 1 {
            format!("{}.md", self.base)
        } else {
            format!("{}-{number}.md", self.base)
        })
    }
}

/// Returns the number in a name that was made from this slug.
fn number(name: &str, base: &str) -> Option<u64> {
    let rest = name.strip_prefix(base)?.strip_suffix(".md")?;
    if rest.is_empty() {
        return Some(1);
    }
    let number = rest.strip_prefix('-')?;
    number
        .parse()
        .ok()
        .filter(|number: &u64| *number > 1 && !rest.starts_with("-0") && !rest.starts_with("-+"))
}

/// Returns the file among these whose `uid` differs from this id only in its time.
pub(crate) fn made_before(
    folder: &Folder,
    files: Vec<String>,
    id: &str,
    now: Timestamp,
) -> Option<(String, FileSnapshot)> {
    let making = id.get(UUID_TIME..).filter(|_| id.len() == UUID_LENGTH)?;
    files.into_iter().find_map(|name| {
        // Most files do not match and need not be read as a whole.
        let mut head = Vec::new();
        folder
            .open_file(&name)
            .ok()?
            .take(HEAD_BYTES)
            .read_to_end(&mut head)
            .ok()?;
        if !is_sealed(&head) {
            head.windows(making.len())
                .find(|part| part.eq_ignore_ascii_case(making.as_bytes()))?;
        }
        let read = read::read(folder, &name, now)?;
        let found = read.content.as_ref()?.note.id.as_ref()?.as_str();
        let is_same =
            found.len() == UUID_LENGTH && found.get(UUID_TIME..)?.eq_ignore_ascii_case(making);
        is_same.then_some((name, read))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_names() {
        let rows = [
            ("tea.md", Some(1)),
            ("tea-2.md", Some(2)),
            ("tea-10.md", Some(10)),
            ("tea-1.md", None),
            ("tea-02.md", None),
            ("tea-+2.md", None),
            ("tea-x.md", None),
            ("tea-99999999999999999999999.md", None),
            ("tea-time.md", None),
            ("teas.md", None),
            ("tea", None),
        ];
        for (name, expected) in rows {
            assert_eq!(number(name, "tea"), expected, "{name}");
        }
        let free = FreeNames {
            base: "tea".to_owned(),
            taken: [1, 3].into(),
            next: 1,
        };
        assert_eq!(
            free.take(3).collect::<Vec<_>>(),
            ["tea-2.md", "tea-4.md", "tea-5.md"]
        );
    }
}
