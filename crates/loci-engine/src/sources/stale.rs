//! Memories whose files are gone or changed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use loci_core::{
    Citation, CitationKind, ContentHash, Memory, MemoryId, Result, SourceFile, SourceState,
};

use super::sync::{Key, check_states, is_plain, source};
use crate::sources::Sources;

/// The most folders of projects in which a relative path is looked for.
const ROOTS_MAX: usize = 8;
/// The most files of a collection whose projects are looked at.
const FILES_MAX: usize = 10_000;

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
type CitedFile<'a> = (&'a Memory, String, Option<&'a str>);

impl Sources<'_> {
    /// Returns the memories whose files on this machine are gone, excluded or changed: the file
    /// that a memory was made from, and the files that it cites by absolute paths, or by paths
    /// below the folder of a project from which its collection, or it itself, was made. Only files
    /// that were [read](crate::Sources::file_source) before are looked at, in the folders of their
    /// projects, and no file is read: one counts as changed if the citation is pinned to a SHA-256
    /// hash other than that of the last reading. A project whose folder is not there is left out,
    /// as if its drive were not mounted.
    ///
    /// # Errors
    /// `unavailable` if the store or the rules of a project cannot be read.
    pub fn find_stale(&self, memories: &[Memory]) -> Result<Vec<StaleMemory>> {
        let Some(tree) = self.source_tree else {
            return Ok(Vec::new());
        };
        let mut stale = Vec::new();
        let mut roots: BTreeMap<String, Vec<CitedFile<'_>>> = BTreeMap::new();
        let mut files: Vec<CitedFile<'_>> = Vec::new();
        let mut folders = BTreeMap::new();
        for memory in memories {
            files.extend(self.files_of(memory));
            files.extend(self.files_below(memory, &mut folders)?);
        }
        for (memory, path, pin) in files {
            let known = self.sources_at(&path)?;
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
            let Some((_, states)) = check_states(tree, root, &keys)? else {
                continue;
            };
            for ((memory, path, _), state) in named.iter().zip(states) {
                let staleness = match state {
                    SourceState::Kept => continue,
                    SourceState::Ignored
                        if self
                            .sources_at(path)?
                            .iter()
                            .any(SourceFile::is_host_memory) =>
                    {
                        continue;
                    }
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
    fn files_of<'a>(&self, memory: &'a Memory) -> Vec<CitedFile<'a>> {
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

impl Sources<'_> {
    /// Returns the files that a memory cites by paths below the folder of a project: of the project
    /// of its own file, or of the one project of its collection that has a file at that path.
    /// `folders` keeps the folders of collections.
    fn files_below<'a>(
        &self,
        memory: &'a Memory,
        folders: &mut BTreeMap<Option<String>, BTreeSet<String>>,
    ) -> Result<Vec<CitedFile<'a>>> {
        let is_cited = |citation: &&Citation| {
            citation.kind == CitationKind::File && is_below(&citation.reference)
        };
        let cited: Vec<&Citation> = memory.citations.iter().filter(is_cited).collect();
        if cited.is_empty() {
            return Ok(Vec::new());
        }
        let collection = &memory.location.collection;
        let own = match source(memory).filter(|_| memory.source_machine() == self.machine) {
            Some(path) => self.sources_at(path)?,
            None => Vec::new(),
        };
        let roots = if own.is_empty() {
            if !folders.contains_key(collection) {
                let files = self.source_files(collection.as_deref())?;
                let roots = files.into_iter().map(|file| file.root);
                folders.insert(collection.clone(), roots.take(FILES_MAX).collect());
            }
            folders.get(collection).cloned().unwrap_or_default()
        } else {
            own.into_iter().map(|file| file.root).collect()
        };
        let mut named = Vec::new();
        for citation in cited {
            let mut known = Vec::new();
            for root in roots.iter().take(ROOTS_MAX) {
                let path: PathBuf = Path::new(root)
                    .join(&citation.reference)
                    .components()
                    .collect();
                let path = path.to_string_lossy().into_owned();
                if !self.sources_at(&path)?.is_empty() {
                    known.push(path);
                }
            }
            // Of two projects it is not known which one is meant.
            if let [path] = &*known {
                named.push((memory, path.clone(), citation.pin.as_deref()));
            }
        }
        Ok(named)
    }
}

/// Returns true for a relative path that does not lead out of its folder.
fn is_below(path: &str) -> bool {
    let is_inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    !path.is_empty() && Path::new(path).components().all(is_inside)
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
