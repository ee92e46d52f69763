//! Lists and counts of what a caller may read.

mod as_of;
pub mod browse;
pub mod counts;
pub mod facets;
pub mod languages;
pub mod list;
pub mod names;
pub mod status_counts;
pub mod unsearched;

use loci_core::{Clock, Memory, Result, Store};

use crate::access::Access;
use crate::actor::Actor;
use crate::budget::Budgets;
use crate::engine::Engine;

/// Lists and counts of what a caller may read.
#[derive(Clone, Copy)]
pub struct Listings<'a> {
    caller: Actor<'a>,
    store: &'a dyn Store,
    clock: &'a dyn Clock,
    access: Access<'a>,
    budgets: Budgets<'a>,
}

impl Listings<'_> {
    /// Removes the memories that another one stands for, which the caller may read, from what a caller
    /// reads without having asked for each, e.g. at the start of a session.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn without_represented(&self, memories: &mut Vec<Memory>) -> Result<()> {
        self.access.without_represented(memories)
    }
}

impl Engine {
    /// Returns the lists and counts of what a caller may read.
    pub(crate) fn listings<'a>(&'a self, caller: Actor<'a>) -> Listings<'a> {
        Listings {
            caller,
            store: &*self.store,
            clock: &*self.clock,
            access: self.access(caller),
            budgets: self.budgets(),
        }
    }
}
