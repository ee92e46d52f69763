//! The sync with source files: removes the memories of files that no longer belong to their
//! project.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use loci_core::{
    Change, CollectionFilter, Error, Filter, Memory, MemoryId, RecordVerb, Result, Scope,
    SourceFile, SourceState, SourceTree,
};
use loci_text::passages::passages;

use crate::sources::Sources;
use crate::sources::file_source::SOURCE_FILE;

/// The number of memories that are read at a time.
const READ_AT_ONCE: usize = 256;

/// The key of a source file: its collection and its path.
pub(super) type Key = (Option<String>, String);

/// The source files to check.
#[derive(Debug, Clone)]
pub struct Sync {
    /// The absolute path of the project's folder; if `None`, each file's own project.
    pub root: Option<String>,
    /// The collections to check.
    pub collections: CollectionFilter,
    /// True if memories are removed.
    pub apply: bool,
}

/// A file that is ignored or missing.
struct Stale<'a> {
    /// The folder of its project.
    root: &'a str,
    /// The identity of that folder when the file was checked.
    folder: String,
    key: &'a Key,
}

/// The result of a sync. The five classes add up to `scanned`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SyncReport {
    /// Memories that were checked: the ones that the caller may read.
    pub scanned: u64,
    /// Memories whose file belongs to its project, or that
    /// [outlive](loci_core::SourceFile::is_whole) it.
    pub kept: u64,
    /// Memories whose file exists and is excluded by a rule of version control.
    pub ignored: u64,
    /// Memories whose file does not exist.
    pub missing: u64,
    /// Memories without a file, or with one whose path is not absolute.
    pub no_source: u64,
    /// Memories whose file lies outside the folder of the project, or on another machine.
    pub out_of_scope: u64,
    /// Memories that were removed: ignored and missing ones that the caller may write. 0 unless
    /// `apply` is set.
    pub removed_memories: u64,
    /// Their passages in the index.
    pub removed_passages: u64,
    /// The ignored or missing files, by path, with the number of their memories.
    pub stale: BTreeMap<String, u64>,
    /// The project folders that are missing, in order; the memories of their files count as kept.
    pub away: Vec<String>,
}

impl Sources<'_> {
    /// Checks the files of this machine that memories were made from (the attribute
    /// [`SOURCE_FILE`]). If `apply` is set, removes the memories of ignored or missing files, and
    /// the state of these files. Notes and memories of other machines' files are never touched. Durable when it returns; the memories of each file are removed in one
    /// transaction.
    ///
    /// # Errors
    /// `invalid_argument` if `root` is not an absolute path; `unavailable` if `root` does not
    /// exist, if the folder of a project is missing or disappears while `apply` is set (an
    /// unmounted drive would otherwise empty a collection), if its rules cannot be read, if there
    /// is no source tree, or if the store cannot be written: memories removed until then stay
    /// removed.
    pub fn sync(&self, request: &Sync) -> Result<SyncReport> {
        let tree = self.source_tree;
        let tree = tree
            .ok_or_else(|| Error::unavailable("nothing here looks after files on this machine"))?;
        let root = request.root.as_deref();
        if root.is_some_and(|root| !is_plain(root)) {
            return Err(Error::invalid(
                "project_dir",
                "must be the absolute path of a folder, without `..`",
            ));
        }
        // Removes redundant parts of the path, e.g. a slash at the end.
        let root = root.and_then(|root| Path::new(root).components().as_path().to_str());
        let filter = Filter {
            collections: request.collections.clone(),
            ..self.access.places_filter()
        };
        let mut synced = SyncReport::default();
        let mut files = self.sourced(&filter, root, &mut synced)?;
        let roots = self.roots(&filter, tree, root, &mut files, &mut synced)?;
        if let Some(root) = root.filter(|root| tree.identity(root).is_none()) {
            return Err(is_away(root, 0));
        }
        let mut stale = Vec::new();
        for (root, keys) in &roots {
            let memories = |key| files.get(key).map_or(0, |ids| ids.len() as u64);
            let Some((folder, states)) = check_states(tree, root, keys)? else {
                if request.apply || request.root.is_some() {
                    return Err(is_away(root, 0));
                }
                synced.kept += keys.iter().map(memories).sum::<u64>();
                synced.away.push(root.clone());
                continue;
            };
            for (key, state) in keys.iter().zip(states) {
                let memories = memories(key);
                let state = self.meant_state(key, state)?;
                match state {
                    SourceState::Kept => synced.kept += memories,
                    SourceState::Ignored => synced.ignored += memories,
                    SourceState::Missing => synced.missing += memories,
                }
                if state != SourceState::Kept {
                    stale.push(Stale {
                        root,
                        folder: folder.clone(),
                        key,
                    });
                    if memories > 0 {
                        *synced.stale.entry(key.1.clone()).or_default() += memories;
                    }
                }
            }
        }
        if request.apply && self.caller.principal.scopes.allow(Scope::Write) {
            for stale in stale {
                let ids = files.get(stale.key).map_or(&[][..], Vec::as_slice);
                let removed = self.remove_source(&filter, tree, &stale, ids)?;
                let (memories, passages) =
                    removed.ok_or_else(|| is_away(stale.root, synced.removed_memories))?;
                synced.removed_memories += memories;
                synced.removed_passages += passages;
            }
        }
        Ok(synced)
    }

    /// Returns the memories that match, by source file; those without a file in scope are only
    /// counted.
    fn sourced(
        &self,
        filter: &Filter,
        root: Option<&str>,
        synced: &mut SyncReport,
    ) -> Result<BTreeMap<Key, Vec<MemoryId>>> {
        let mut files: BTreeMap<Key, Vec<MemoryId>> = BTreeMap::new();
        let ids: Vec<MemoryId> = self
            .store
            .revisions(filter, usize::MAX)?
            .into_iter()
            .map(|(id, _)| id)
            .collect();
        for part in ids.chunks(READ_AT_ONCE) {
            for memory in self.store.get_all(filter, part)? {
                synced.scanned += 1;
                match source(&memory) {
                    None => synced.no_source += 1,
                    Some(_) if memory.source_machine() != self.machine => {
                        synced.out_of_scope += 1;
                    }
                    Some(path) if root.is_some_and(|root| !Path::new(path).starts_with(root)) => {
                        synced.out_of_scope += 1;
                    }
                    Some(path) => {
                        let key = (memory.location.collection.clone(), path.to_owned());
                        files.entry(key).or_default().push(memory.id);
                    }
                }
            }
        }
        Ok(files)
    }

    /// Groups the files by the folder of their project. Adds files that have a state but no
    /// memories, and removes the ones that their memories outlive.
    fn roots(
        &self,
        filter: &Filter,
        tree: &dyn SourceTree,
        root: Option<&str>,
        files: &mut BTreeMap<Key, Vec<MemoryId>>,
        synced: &mut SyncReport,
    ) -> Result<BTreeMap<String, Vec<Key>>> {
        let mut collections: Vec<_> = self
            .store
            .count_by_location(filter)?
            .into_iter()
            .map(|tally| tally.collection)
            .collect();
        collections.dedup();
        let mut known: BTreeMap<Key, String> = BTreeMap::new();
        for collection in collections {
            for file in
                self.store
                    .source_files(&filter.space, self.machine, collection.as_deref())?
            {
                let key = (collection.clone(), file.path);
                let is_meant = root.is_none_or(|root| Path::new(&key.1).starts_with(root));
                if !file.is_whole {
                    synced.kept += files.remove(&key).map_or(0, |ids| ids.len() as u64);
                    continue;
                }
                if is_meant
                    && is_plain(&key.1)
                    && tree.identity(root.unwrap_or(&file.root)).is_some()
                {
                    files.entry(key.clone()).or_default();
                }
                known.insert(key, file.root);
            }
        }
        let mut roots: BTreeMap<String, Vec<Key>> = BTreeMap::new();
        for key in files.keys() {
            let known = || {
                known
                    .get(key)
                    .filter(|root| Path::new(&key.1).starts_with(root))
                    .cloned()
            };
            let root = root
                .map(str::to_owned)
                .or_else(known)
                .unwrap_or_else(|| tree.root_of(&key.1));
            roots.entry(root).or_default().push(key.clone());
        }
        Ok(roots)
    }

    /// Returns the state that counts: rules of version control say nothing of a host's own memory.
    fn meant_state(&self, (collection, path): &Key, state: SourceState) -> Result<SourceState> {
        if state != SourceState::Ignored {
            return Ok(state);
        }
        let known = self.source_file(collection.as_deref(), path)?;
        Ok(match known {
            Some(file) if file.is_host_memory() => SourceState::Kept,
            _ => state,
        })
    }

    /// Removes the memories of a file that the caller may write, and its state, unless it exists
    /// again. Returns the number of memories and of passages; `None` if the folder of its project
    /// is missing by now, or another one.
    fn remove_source(
        &self,
        filter: &Filter,
        tree: &dyn SourceTree,
        stale: &Stale<'_>,
        ids: &[MemoryId],
    ) -> Result<Option<(u64, u64)>> {
        let (collection, path) = stale.key;
        self.locks.change(stale.key, || {
            // The state is read before the file is checked, so that a process that reads the file
            // later causes a conflict.
            let row = self.source_file(collection.as_deref(), path)?;
            let looked = check_states(tree, stale.root, std::slice::from_ref(stale.key))?;
            let Some((_, states)) = looked.filter(|(folder, _)| *folder == stale.folder) else {
                return Ok(None);
            };
            let is_outside = row.as_ref().is_some_and(SourceFile::is_host_memory);
            if states == [SourceState::Kept] || is_outside && states == [SourceState::Ignored] {
                return Ok(Some((0, 0)));
            }
            let mut memories = self.store.get_all(filter, ids)?;
            memories.retain(|memory| {
                let is_of_file = memory.source_machine() == self.machine
                    && memory.location.collection == *collection
                    && source(memory) == Some(path);
                is_of_file && self.caller.may_write(memory)
            });
            if memories.is_empty() && (row.is_none() || !ids.is_empty()) {
                return Ok(Some((0, 0)));
            }
            for memory in &memories {
                self.caller.note(RecordVerb::Read, memory);
            }
            let delete = |memory: &Memory| Change::Delete {
                id: memory.id.clone(),
                revision: memory.revision,
            };
            let forget = row.map(|row| Change::DeleteSourceFile {
                expect: Box::new(row),
            });
            let changes = memories.iter().map(delete).chain(forget).collect();
            self.access.commit(changes)?;
            let passages: usize = memories
                .iter()
                .map(|memory| passages(&memory.content).len())
                .sum();
            Ok(Some((memories.len() as u64, passages as u64)))
        })
    }
}

/// Checks files of a project: returns the identity of its folder, and their states. `None` if the
/// folder is missing before or after, or changes in between: then its drive went away, and the
/// files only seem to be missing.
pub(super) fn check_states(
    tree: &dyn SourceTree,
    root: &str,
    keys: &[Key],
) -> Result<Option<(String, Vec<SourceState>)>> {
    let Some(folder) = tree.identity(root) else {
        return Ok(None);
    };
    let paths: Vec<&str> = keys.iter().map(|(_, path)| path.as_str()).collect();
    let states = tree.states(root, &paths)?;
    let is_same = tree.identity(root).as_ref() == Some(&folder);
    Ok(is_same.then_some((folder, states)))
}

fn is_away(root: &str, removed: u64) -> Error {
    let removed = match removed {
        0 => "nothing was removed".to_owned(),
        removed => format!("{removed} memories were removed before that, and no more"),
    };
    Error::unavailable(format!(
        "the folder {root} is not there, or has nothing in it, as if its drive were not mounted; {removed}: bring it \
         back, or name the folder above it as the project if its files are really gone"
    ))
}

/// Returns the absolute path of the file that a memory was made from. A note has none.
pub(super) fn source(memory: &Memory) -> Option<&str> {
    memory
        .attributes
        .get(SOURCE_FILE)
        .map(String::as_str)
        .filter(|path| is_plain(path))
}

/// Reports whether it is an absolute path without `..`.
pub(super) fn is_plain(path: &str) -> bool {
    let path = Path::new(path);
    path.is_absolute()
        && path
            .components()
            .all(|component| component != Component::ParentDir)
}
