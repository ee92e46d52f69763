//! Lists and counts of what a caller may read.

pub mod browse;
pub mod counts;
pub mod facets;
pub mod languages;
pub mod list;
pub mod names;
pub mod status_counts;

use loci_core::{Clock, Store};

use crate::Budgets;
use crate::Engine;
use crate::access::Access;

/// Lists and counts of what a caller may read.
#[derive(Clone, Copy)]
pub struct Listings<'a> {
    store: &'a dyn Store,
    clock: &'a dyn Clock,
    access: Access<'a>,
    budgets: Budgets<'a>,
}

impl Engine {
    /// Returns the lists and counts of what a caller may read.
    pub fn listings(&self) -> Listings<'_> {
        Listings {
            store: &*self.store,
            clock: &*self.clock,
            access: self.access(),
            budgets: self.budgets(),
        }
    }
}
