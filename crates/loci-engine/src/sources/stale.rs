//! Memories whose files are gone or changed.

use std::collections::BTreeMap;

use loci_core::{
    Caller, Citation, CitationKind, ContentHash, Memory, MemoryId, Result, SourceFile, SourceState,
};

use super::sync::{Key, is_plain, look, source};
use crate::Sources;

/// The state of a file that a memory rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Staleness {
    /// It does not exist.
    Missing,
    /// A rule of version control excludes it.
    Ignored,
    /// Its content was another one when the memory cited it than when it was read last.
    Changed,
}

impl Staleness {
    /// Returns its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Staleness::Missing => "missing",
            Staleness::Ignored => "ignored",
            Staleness::Changed => "changed",
        }
    }
}

/// A memory that rests on a file which is gone or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaleMemory {
    /// The memory.
    pub memory: MemoryId,
    /// The absolute path of the file.
    pub path: String,
    /// Its state.
    pub staleness: Staleness,
}

/// A file that a memory names, with the hash that it had then, if the memory has it.
type Named<'a> = (&'a Memory, String, Option<&'a str>);

impl Sources<'_> {
    /// Returns those of the memories whose files on this machine are gone, excluded or changed: the
    /// file that a memory was made from, and the files that it cites by absolute paths. Only files
    /// that were [read](crate::Sources::file_source) before are looked at, in the folders of their
    /// projects, and none of them is read: a file counts as changed if the citation is pinned to a
    /// SHA-256 hash other than that of the last reading. A project whose folder is not there is
    /// left out, as if its drive were not mounted.
    ///
    /// # Errors
    /// `unavailable` if the store or the rules of a project cannot be read.
    pub fn find_stale(&self, caller: &Caller, memories: &[Memory]) -> Result<Vec<StaleMemory>> {
        let Some(tree) = self.source_tree else {
            return Ok(Vec::new());
        };
        let mut stale = Vec::new();
        let mut roots: BTreeMap<String, Vec<Named<'_>>> = BTreeMap::new();
        for (memory, path, pin) in memories.iter().flat_map(|memory| self.files_of(memory)) {
            let known = self.sources_at(caller, &path)?;
            let collection = &memory.location.collection;
            let same = known.iter().find(|file| file.collection == *collection);
            let Some(file) = same.or(known.first()) else {
                continue;
            };
            if pin.is_some_and(|pin| is_other(pin, file)) {
                stale.push(StaleMemory {
                    memory: memory.id.clone(),
                    path,
                    staleness: Staleness::Changed,
                });
                continue;
            }
            // The text that was read of an append-only file outlives the file.
            let is_cited = source(memory) != Some(path.as_str());
            if file.is_whole || is_cited {
                let named = roots.entry(file.root.clone()).or_default();
                named.push((memory, path, pin));
            }
        }
        for (root, named) in &roots {
            let keys: Vec<Key> = named
                .iter()
                .map(|(_, path, _)| (None, path.clone()))
                .collect();
            let Some((_, states)) = look(tree, root, &keys)? else {
                continue;
            };
            for ((memory, path, _), state) in named.iter().zip(states) {
                let staleness = match state {
                    SourceState::Kept => continue,
                    SourceState::Ignored => Staleness::Ignored,
                    SourceState::Missing => Staleness::Missing,
                };
                stale.push(StaleMemory {
                    memory: memory.id.clone(),
                    path: path.clone(),
                    staleness,
                });
            }
        }
        Ok(stale)
    }

    /// Returns the files of this machine that a memory names by absolute paths.
    fn files_of<'a>(&self, memory: &'a Memory) -> Vec<Named<'a>> {
        let is_here = memory.source_machine() == self.machine;
        let made_from = source(memory).filter(|_| is_here);
        let cited = |citation: &'a Citation| {
            let is_file = citation.kind == CitationKind::File && is_plain(&citation.reference);
            is_file.then(|| (memory, citation.reference.clone(), citation.pin.as_deref()))
        };
        made_from
            .map(|path| (memory, path.to_owned(), None))
            .into_iter()
            .chain(memory.citations.iter().filter_map(cited))
            .collect()
    }
}

/// Returns true if a pin is a SHA-256 hash, and not that of the file when it was read last.
fn is_other(pin: &str, file: &SourceFile) -> bool {
    let pin = pin.strip_prefix("sha256:").unwrap_or(pin);
    let is_hash = pin.len() == 64 && pin.bytes().all(|digit| digit.is_ascii_hexdigit());
    let ContentHash(known) = file.hash;
    let digits = |byte: u8| [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16));
    let known = known.into_iter().flat_map(digits).flatten();
    is_hash && file.is_whole && !known.eq(pin.to_ascii_lowercase().chars())
}
