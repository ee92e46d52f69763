//! Work in the background: embedding, enrichment and maintenance.

pub mod enrich;
pub mod examine;
pub mod files_look;
pub mod maintain;
pub mod sweep_clock;
pub mod workers;

use std::sync::Arc;

use loci_core::{Clock, Embedder, Enricher, Store};

use crate::engine::{Engine, SearchMode};
use crate::leases::Leases;
use crate::leases::rounds::Rounds;
use crate::models::Models;
use crate::policy::Policy;
use crate::wakeup::Wakeup;

/// Work in the background: embedding, enrichment and maintenance.
#[derive(Clone, Copy)]
pub struct Background<'a> {
    store: &'a dyn Store,
    embedder: &'a Arc<dyn Embedder>,
    clock: &'a dyn Clock,
    search_mode: SearchMode,
    policy: &'a Policy,
    enricher: Option<&'a dyn Enricher>,
    to_enrich: &'a Arc<Wakeup>,
    to_embed: &'a Arc<Wakeup>,
    to_examine: &'a Arc<Wakeup>,
    rounds: &'a Rounds,
    leases: Leases<'a>,
    models: Models<'a>,
}

impl Engine {
    /// Returns the work in the background: embedding, enrichment and maintenance.
    pub fn background(&self) -> Background<'_> {
        Background {
            store: &*self.store,
            embedder: &self.embedder,
            clock: &*self.clock,
            search_mode: self.search_mode,
            policy: &self.policy,
            enricher: self.enricher.as_deref(),
            to_enrich: &self.to_enrich,
            to_embed: &self.to_embed,
            to_examine: &self.to_examine,
            rounds: &self.rounds,
            leases: self.leases(),
            models: self.models(),
        }
    }
}

impl<'a> Background<'a> {
    /// Returns the wakeup that signals a job for [`enrich`](crate::Background::enrich).
    pub fn enrich_wakeup(&self) -> &'a Arc<Wakeup> {
        self.to_enrich
    }

    /// Returns the wakeup that signals work for
    /// [`embed_pending`](crate::Background::embed_pending).
    pub fn embed_wakeup(&self) -> &'a Arc<Wakeup> {
        self.to_embed
    }

    /// Returns the wakeup that has [`examine`](crate::Engine::examine) run at once, e.g. after a
    /// person decided something.
    pub fn examine_wakeup(&self) -> &'a Arc<Wakeup> {
        self.to_examine
    }
}
