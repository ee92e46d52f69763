//! The context that an agent gets: bundles, and memories at the start of a session.

pub mod bootstrap;
pub mod bundle;
pub mod draft;
pub mod order;
pub mod pinned;
pub mod session_start;

use loci_core::Store;

use crate::access::Access;
use crate::actor::Actor;
use crate::budget::Budgets;
use crate::engine::Engine;
use crate::phases::Phases;
use crate::search::Search;
use crate::search::fusion::Weights;
use crate::settings::Settings;

/// The context that an agent gets: bundles, and memories at the start of a session.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    caller: Actor<'a>,
    store: &'a dyn Store,
    weights: &'a Weights,
    phases: &'a Phases,
    access: Access<'a>,
    settings: Settings<'a>,
    budgets: Budgets<'a>,
    search: Search<'a>,
}

impl Engine {
    /// Returns the context that an agent gets: bundles, and memories at the start of a session.
    pub(crate) fn context<'a>(&'a self, caller: Actor<'a>) -> Context<'a> {
        Context {
            caller,
            store: &*self.store,
            weights: &self.weights,
            phases: &self.phases,
            access: self.access(caller),
            settings: self.settings(caller),
            budgets: self.budgets(),
            search: self.search(caller),
        }
    }
}
