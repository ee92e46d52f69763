//! The knowledge graph, and the graph of rooms that tunnels connect.

pub mod entities;
pub mod knowledge_graph;
pub mod room_graph;
pub mod tunnels;

use loci_core::{Clock, Store};

use crate::Engine;
use crate::access::Access;
use crate::locks::Locks;
use crate::{Listings, Redaction};

/// The knowledge graph, and the graph of rooms that tunnels connect.
#[derive(Clone, Copy)]
pub struct Graph<'a> {
    store: &'a dyn Store,
    clock: &'a dyn Clock,
    redaction: &'a Redaction,
    locks: &'a Locks,
    access: Access<'a>,
    listings: Listings<'a>,
}

impl Engine {
    /// Returns the knowledge graph, and the graph of rooms that tunnels connect.
    pub fn graph(&self) -> Graph<'_> {
        Graph {
            store: &*self.store,
            clock: &*self.clock,
            redaction: &self.redaction,
            locks: &self.locks,
            access: self.access(),
            listings: self.listings(),
        }
    }
}
