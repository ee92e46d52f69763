//! The knowledge graph, and the graph of rooms that tunnels connect.

mod as_of;
pub mod entities;
pub mod history;
pub mod knowledge_graph;
pub mod room_graph;
mod take_back;
pub mod tunnels;

use loci_core::{Clock, Store};

use crate::access::Access;
use crate::actor::Actor;
use crate::engine::Engine;
use crate::listings::Listings;
use crate::locks::Locks;
use crate::redaction::CallRedaction;

/// The knowledge graph, and the graph of rooms that tunnels connect.
#[derive(Clone, Copy)]
pub struct Graph<'a> {
    caller: Actor<'a>,
    store: &'a dyn Store,
    clock: &'a dyn Clock,
    redaction: CallRedaction<'a>,
    locks: &'a Locks,
    access: Access<'a>,
    listings: Listings<'a>,
}

impl Engine {
    /// Returns the knowledge graph, and the graph of rooms that tunnels connect.
    pub(crate) fn graph<'a>(&'a self, caller: Actor<'a>) -> Graph<'a> {
        Graph {
            caller,
            store: &*self.store,
            clock: &*self.clock,
            redaction: CallRedaction::new(&self.redaction, caller),
            locks: &self.locks,
            access: self.access(caller),
            listings: self.listings(caller),
        }
    }
}
