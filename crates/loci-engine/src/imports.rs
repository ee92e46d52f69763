//! Imports of memories, and of the records of an archive.

mod forgotten;
pub mod import;
pub mod import_records;
pub mod stored_vectors;

use std::sync::Arc;

use loci_core::{Clock, Store};

use crate::Engine;
use crate::access::Access;
use crate::tombstones::Tombstones;
use crate::{Models, Redaction, SearchMode, Wakeup};

/// Imports of memories, and of the records of an archive.
#[derive(Clone, Copy)]
pub struct Imports<'a> {
    store: &'a dyn Store,
    clock: &'a dyn Clock,
    search_mode: SearchMode,
    redaction: &'a Redaction,
    machine: &'a str,
    to_enrich: &'a Arc<Wakeup>,
    to_embed: &'a Arc<Wakeup>,
    access: Access<'a>,
    models: Models<'a>,
    tombstones: Tombstones<'a>,
    stores_again: bool,
}

impl Engine {
    /// Returns the imports of memories, and of the records of an archive.
    pub fn imports(&self) -> Imports<'_> {
        Imports {
            store: &*self.store,
            clock: &*self.clock,
            search_mode: self.search_mode,
            redaction: &self.redaction,
            machine: &self.machine,
            to_enrich: &self.to_enrich,
            to_embed: &self.to_embed,
            access: self.access(),
            models: self.models(),
            tombstones: self.tombstones(),
            stores_again: false,
        }
    }
}
