//! What all connections of a store have in common.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio_postgres::types::Type;

use crate::options::{Observer, Options};
use crate::value::Value;

/// The part that all connections of a store share.
pub(crate) struct SharedState {
    /// The schema, followed by a point.
    pub(crate) prefix: String,
    /// True if the tables keep the spaces apart by themselves, so that transactions declare their
    /// scopes.
    pub(crate) is_walled: AtomicBool,
    /// True if the tables are distributed over the nodes of a cluster.
    pub(crate) is_distributed: AtomicBool,
    /// True if the coordinator of a cluster has shards itself. A node of Citus keeps a plan for each time that it
    /// runs a parsed statement on its own rows, 20 kB each, until the connection ends.
    pub(crate) has_shards: AtomicBool,
    /// The round trips so far.
    pub(crate) trips: AtomicU64,
    /// The commits so far that no standby confirmed: given up, or confirmed with a warning.
    pub(crate) unconfirmed: AtomicU64,
    /// The time that a write waits for its answer.
    pub(crate) commit_timeout: Duration,
    /// True if a commit was not answered in its time, or its lock not given up: the next write asks
    /// whether the server waits for a standby before it begins.
    pub(crate) is_stalled: AtomicBool,
    pub(crate) observer: Option<Observer>,
}

impl SharedState {
    /// Returns what connections have in common before anything is known of the server.
    pub(crate) fn new(prefix: String, options: &Options) -> Self {
        SharedState {
            prefix,
            is_walled: AtomicBool::new(false),
            is_distributed: AtomicBool::new(false),
            has_shards: AtomicBool::new(false),
            trips: AtomicU64::new(0),
            unconfirmed: AtomicU64::new(0),
            commit_timeout: options.commit_timeout,
            is_stalled: AtomicBool::new(false),
            observer: options.observer.clone(),
        }
    }

    /// Returns true if the tables are distributed over the nodes of a cluster.
    pub(crate) fn is_distributed(&self) -> bool {
        self.is_distributed.load(Ordering::Relaxed)
    }

    /// Notes a commit whose answer is not waited for any longer.
    pub(crate) fn note_unanswered(&self) {
        self.is_stalled.store(true, Ordering::Relaxed);
        self.unconfirmed.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn observe(&self, sql: &str, values: &[Value]) {
        if let Some(observer) = &self.observer {
            let types: Vec<_> = values.iter().map(Value::kind).collect();
            let names: Vec<_> = types.iter().map(Type::name).collect();
            observer(sql, &names);
        }
    }
}
