//! Files that memories are made from.

pub mod file_source;
pub mod sync;

use std::sync::Arc;

use loci_core::{Clock, SourceTree, Store};

use crate::Engine;
use crate::access::Access;
use crate::locks::Locks;
use crate::{Notes, SearchMode, Wakeup};

/// Files that memories are made from.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    store: &'a dyn Store,
    clock: &'a dyn Clock,
    search_mode: SearchMode,
    source_tree: Option<&'a dyn SourceTree>,
    locks: &'a Locks,
    to_embed: &'a Arc<Wakeup>,
    access: Access<'a>,
    notes: Notes<'a>,
}

impl Engine {
    /// Returns the operations on files that memories are made from.
    pub fn sources(&self) -> Sources<'_> {
        Sources {
            store: &*self.store,
            clock: &*self.clock,
            search_mode: self.search_mode,
            source_tree: self.source_tree.as_deref(),
            locks: &self.locks,
            to_embed: &self.to_embed,
            access: self.access(),
            notes: self.notes(),
        }
    }
}
