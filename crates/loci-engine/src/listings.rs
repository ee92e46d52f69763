//! Lists and counts of what a caller may read.

pub mod browse;
pub mod counts;
pub mod facets;
pub mod languages;
pub mod list;
pub mod names;
pub mod status_counts;
pub mod unsearched;

use loci_core::{Clock, Store};

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
