//! The observed store.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use loci_core::{Result, Store, StoreLayer};
use tracing::field::Empty;

use crate::observer::{LeaseOutcome, LeasedWork, Observer, Outcome};
use crate::traces::{self, TARGET};

/// A store that tells an observer what it does.
pub(crate) struct ObservedStore {
    store: Arc<dyn Store>,
    observer: Arc<dyn Observer>,
    /// The names of the leases that this process took and did not give back.
    leases: Mutex<HashSet<String>>,
}

impl ObservedStore {
    pub(crate) fn new(store: Arc<dyn Store>, observer: Arc<dyn Observer>) -> Self {
        ObservedStore {
            store,
            observer,
            leases: Mutex::default(),
        }
    }

    /// Returns what came of a request for a lease.
    fn lease_outcome(&self, name: &str, is_end: bool, is_held: bool) -> LeaseOutcome {
        let mut leases = self.leases.lock().unwrap_or_else(PoisonError::into_inner);
        if is_held && !is_end {
            leases.insert(name.to_owned());
            return LeaseOutcome::Taken;
        }
        let was_held = leases.remove(name);
        match (is_end, was_held) {
            (true, _) => LeaseOutcome::Released,
            (false, true) => LeaseOutcome::Lost,
            (false, false) => LeaseOutcome::Refused,
        }
    }
}

impl StoreLayer for ObservedStore {
    type Inner = dyn Store;

    fn inner(&self) -> &Self::Inner {
        &*self.store
    }

    fn around<T>(
        &self,
        operation: &'static str,
        run: impl FnOnce(&Self::Inner) -> Result<T>,
    ) -> Result<T> {
        let begun = Instant::now();
        let result = traces::part(
            || {
                tracing::info_span!(
                    target: TARGET,
                    "store",
                    otel.name = %format_args!("store {operation}"),
                    otel.status_code = Empty,
                    error.type = Empty,
                    db.operation.name = operation,
                )
            },
            || run(&*self.store),
        );
        let outcome = Outcome::of(&result);
        self.observer
            .store_operation(operation, begun.elapsed(), outcome);
        result
    }

    fn leased(&self, name: &str, is_release: bool, is_held: bool) {
        let outcome = self.lease_outcome(name, is_release, is_held);
        self.observer.lease(work_of(name), outcome);
    }

    fn swept(&self, steps: usize) {
        self.observer.sweep(steps);
    }
}

/// Returns the work of a lease of that name.
fn work_of(lease: &str) -> LeasedWork {
    match lease.split(' ').next() {
        Some("sweep") => LeasedWork::Sweep,
        Some("embed") => LeasedWork::Embed,
        Some("examine") => LeasedWork::Examine,
        Some("consolidate") => LeasedWork::Consolidate,
        Some("model") => LeasedWork::Model,
        _ => LeasedWork::Notes,
    }
}
