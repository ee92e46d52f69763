//! Messages, decisions and cached answers.

pub mod answers;
pub mod decide;
pub mod store_messages;

use std::sync::Arc;

use loci_core::{Clock, Embedder, Store};

use crate::access::Access;
use crate::actor::Actor;
use crate::engine::{Engine, SearchMode};
use crate::locks::Locks;
use crate::models::Models;
use crate::policy::Policy;
use crate::redaction::CallRedaction;
use crate::wakeup::Wakeup;

/// Messages, decisions and cached answers.
#[derive(Clone, Copy)]
pub struct Conversations<'a> {
    caller: Actor<'a>,
    store: &'a dyn Store,
    embedder: &'a Arc<dyn Embedder>,
    clock: &'a dyn Clock,
    search_mode: SearchMode,
    policy: &'a Policy,
    redaction: CallRedaction<'a>,
    locks: &'a Locks,
    to_enrich: &'a Arc<Wakeup>,
    to_embed: &'a Arc<Wakeup>,
    access: Access<'a>,
    models: Models<'a>,
}

impl Engine {
    /// Returns the operations on messages, decisions and cached answers.
    pub(crate) fn conversations<'a>(&'a self, caller: Actor<'a>) -> Conversations<'a> {
        Conversations {
            caller,
            store: &*self.store,
            embedder: &self.embedder,
            clock: &*self.clock,
            search_mode: self.search_mode,
            policy: &self.policy,
            redaction: CallRedaction::new(&self.redaction, caller),
            locks: &self.locks,
            to_enrich: &self.to_enrich,
            to_embed: &self.to_embed,
            access: self.access(caller),
            models: self.models(),
        }
    }
}
