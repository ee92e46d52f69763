//! Files that memories are made from.

pub mod file_source;
pub(crate) mod machine;
pub mod stale;
pub mod sync;

use std::sync::Arc;

use loci_core::{Clock, SourceFile, SourceTree, Store};

use crate::access::Access;
use crate::actor::Actor;
use crate::engine::{Engine, SearchMode};
use crate::imports::Imports;
use crate::imports::batch::ImportBatch;
use crate::locks::Locks;
use crate::notes::Notes;
use crate::tombstones::Tombstones;
use crate::wakeup::Wakeup;

/// Files that memories are made from, all of one [machine](Engine::with_machine).
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    caller: Actor<'a>,
    store: &'a dyn Store,
    clock: &'a dyn Clock,
    search_mode: SearchMode,
    machine: &'a str,
    source_tree: Option<&'a dyn SourceTree>,
    locks: &'a Locks,
    to_embed: &'a Arc<Wakeup>,
    access: Access<'a>,
    notes: Notes<'a>,
    tombstones: Tombstones<'a>,
    imports: Imports<'a>,
    files_again: bool,
}

impl Engine {
    /// Returns the operations on files that memories are made from.
    pub(crate) fn sources<'a>(&'a self, caller: Actor<'a>) -> Sources<'a> {
        Sources {
            caller,
            store: &*self.store,
            clock: &*self.clock,
            search_mode: self.search_mode,
            machine: &self.machine,
            source_tree: self.source_tree.as_deref(),
            locks: &self.locks,
            to_embed: &self.to_embed,
            access: self.access(caller),
            notes: self.notes(caller),
            tombstones: self.tombstones(caller),
            imports: self.imports(caller),
            files_again: false,
        }
    }
}

impl<'a> Sources<'a> {
    /// Returns the same operations; if `files_again` is true, they file texts that were forgotten,
    /// too, and lift their tombstones.
    #[must_use]
    pub fn again(self, files_again: bool) -> Self {
        Sources {
            files_again,
            ..self
        }
    }

    /// Returns the same operations, which note in the batch what they file, if there is one, so that
    /// it can be [taken back](crate::Imports::undo).
    #[must_use]
    pub fn in_batch(self, batch: Option<&'a ImportBatch>) -> Self {
        Sources {
            imports: self.imports.in_batch(batch),
            ..self
        }
    }

    /// Returns the name of the thread of the memories of a file of this machine, by its absolute path.
    pub fn thread_of(&self, path: &str) -> String {
        SourceFile::thread_of(self.machine, path)
    }

    /// Returns the machine that has the files.
    pub fn machine(&self) -> &'a str {
        self.machine
    }
}
