//! Consolidation: memories that say the same stand behind one, and nothing is lost
//! (`docs/adr/0113-repeats-stand-behind-one-memory.md`).

mod background;
mod pairing;
mod pass;
pub(crate) mod progress;
mod summary;

use loci_core::{Clock, Enricher, Memory, MemoryId, Result, Store};

use crate::access::Access;
use crate::actor::Actor;
use crate::engine::Engine;
use crate::models::Models;
use crate::redaction::CallRedaction;
use crate::search::Search;

pub use self::progress::{ConsolidationReport, StoodBehind};

/// The tool of a consolidation in the history and the audit log.
pub const CONSOLIDATE: &str = "consolidate";
/// The memories that one step of a pass compares with others.
const COMPARED_AT_ONCE: usize = 64;

/// Consolidation, for one caller.
#[derive(Clone, Copy)]
pub struct Consolidation<'a> {
    caller: Actor<'a>,
    store: &'a dyn Store,
    clock: &'a dyn Clock,
    enricher: Option<&'a dyn Enricher>,
    redaction: CallRedaction<'a>,
    access: Access<'a>,
    models: Models<'a>,
    search: Search<'a>,
}

impl Engine {
    /// Returns the consolidation, for one caller.
    pub(crate) fn consolidation<'a>(&'a self, caller: Actor<'a>) -> Consolidation<'a> {
        Consolidation {
            caller,
            store: &*self.store,
            clock: &*self.clock,
            enricher: self.enricher.as_deref(),
            redaction: CallRedaction::new(&self.redaction, caller),
            access: self.access(caller),
            models: self.models(),
            search: self.search(caller),
        }
    }
}

impl Consolidation<'_> {
    /// Lets memories that say the same stand behind one, among all that the caller may read and
    /// change. Searches, session starts and hooks show that one in their place; they stay as they are,
    /// except for a mark, and each change keeps the version before, so that the call can be taken
    /// back. A run that was cut off goes on when it is repeated, and a further one changes nothing. With
    /// `is_dry_run` nothing is changed. Durable when it returns.
    ///
    /// One stands for another if it says [all of
    /// that](loci_text::statement::repetition::says_all_of), they have one owner, visibility, project and
    /// title, and it is trusted no less, cites the same and lasts as long. Directives, notes, drawers of
    /// files and messages stand for themselves.
    ///
    /// With a language model, three or more different texts get a summary, which is linked to its
    /// sources, has their least trust, and is not a result of a search itself.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read or written, or is not ready to search.
    pub fn consolidate(&self, is_dry_run: bool) -> Result<ConsolidationReport> {
        let mut pass = self.begin_pass(is_dry_run)?;
        while self.step(&mut pass)? {}
        Ok(pass.report)
    }

    /// Returns the memories that a memory stands for, for this caller, the oldest first, and the
    /// summaries of these.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn behind(&self, memory: &Memory) -> Result<Vec<Memory>> {
        let mut behind = self.access.represented_by(memory)?;
        self.access.hide_references(&mut behind)?;
        behind.sort_by(|a, b| {
            let key = |memory: &Memory| (memory.is_summary(), memory.created_at);
            key(a).cmp(&key(b)).then_with(|| a.id.cmp(&b.id))
        });
        Ok(behind)
    }

    /// Returns the memory that stands for this one, for this caller; `None` if it stands for itself.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn representative(&self, memory: &Memory) -> Result<Option<MemoryId>> {
        let mut found = self.access.representatives(std::slice::from_ref(memory))?;
        Ok(found.remove(&memory.id))
    }
}
