//! Imports of memories, and of the records of an archive.

pub mod batch;
mod forgotten;
pub mod import;
pub mod import_records;
pub mod stored_vectors;
pub mod undo;

use std::sync::Arc;

use loci_core::{Clock, Store};

use crate::access::Access;
use crate::actor::Actor;
use crate::engine::{Engine, SearchMode};
use crate::graph::Graph;
use crate::imports::batch::ImportBatch;
use crate::models::Models;
use crate::redaction::CallRedaction;
use crate::settings::Settings;
use crate::tombstones::Tombstones;
use crate::wakeup::Wakeup;

/// Imports of memories, and of the records of an archive.
#[derive(Clone, Copy)]
pub struct Imports<'a> {
    caller: Actor<'a>,
    store: &'a dyn Store,
    clock: &'a dyn Clock,
    search_mode: SearchMode,
    redaction: CallRedaction<'a>,
    machine: &'a str,
    to_enrich: &'a Arc<Wakeup>,
    to_embed: &'a Arc<Wakeup>,
    access: Access<'a>,
    models: Models<'a>,
    tombstones: Tombstones<'a>,
    settings: Settings<'a>,
    graph: Graph<'a>,
    batch: Option<&'a ImportBatch>,
    stores_again: bool,
    are_followed: bool,
}

impl Engine {
    /// Returns the imports of memories, and of the records of an archive.
    pub(crate) fn imports<'a>(&'a self, caller: Actor<'a>) -> Imports<'a> {
        Imports {
            caller,
            store: &*self.store,
            clock: &*self.clock,
            search_mode: self.search_mode,
            redaction: CallRedaction::new(&self.redaction, caller),
            machine: &self.machine,
            to_enrich: &self.to_enrich,
            to_embed: &self.to_embed,
            access: self.access(caller),
            models: self.models(),
            tombstones: self.tombstones(caller),
            settings: self.settings(caller),
            graph: self.graph(caller),
            batch: None,
            stores_again: false,
            are_followed: false,
        }
    }
}
