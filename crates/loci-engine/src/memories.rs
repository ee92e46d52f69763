//! Single memories: storing, reading, changing, moving and forgetting them.

pub mod accept;
pub mod clear;
pub mod conflict_resolution;
pub mod discard;
pub mod forget;
pub mod forget_softly;
pub mod forget_source;
pub mod forget_where;
pub mod history;
pub mod lift;
mod move_file;
pub mod refile;
pub mod remember;
pub mod remember_as;
pub mod remember_keyed;
pub mod show;
pub mod store_once;
mod take_back;
mod undelete;
pub mod update;
pub mod versions;

use loci_core::{Clock, Store};

use crate::access::Access;
use crate::actor::Actor;
use crate::context::Context;
use crate::engine::Engine;
use crate::idempotency::Idempotency;
use crate::locks::Locks;
use crate::models::Models;
use crate::notes::Notes;
use crate::redaction::CallRedaction;
use crate::search::Search;
use crate::tombstones::Tombstones;

/// Single memories: storing, reading, changing, moving and forgetting them.
#[derive(Clone, Copy)]
pub struct Memories<'a> {
    caller: Actor<'a>,
    store: &'a dyn Store,
    clock: &'a dyn Clock,
    redaction: CallRedaction<'a>,
    machine: &'a str,
    locks: &'a Locks,
    access: Access<'a>,
    idempotency: Idempotency<'a>,
    models: Models<'a>,
    notes: Notes<'a>,
    search: Search<'a>,
    context: Context<'a>,
    tombstones: Tombstones<'a>,
}

impl Engine {
    /// Returns the operations on single memories.
    pub(crate) fn memories<'a>(&'a self, caller: Actor<'a>) -> Memories<'a> {
        Memories {
            caller,
            store: &*self.store,
            clock: &*self.clock,
            redaction: CallRedaction::new(&self.redaction, caller),
            machine: &self.machine,
            locks: &self.locks,
            access: self.access(caller),
            idempotency: self.idempotency(caller),
            models: self.models(),
            notes: self.notes(caller),
            search: self.search(caller),
            context: self.context(caller),
            tombstones: self.tombstones(caller),
        }
    }
}
