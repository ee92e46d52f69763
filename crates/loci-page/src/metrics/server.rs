//! Figures of the server of the store, of a store that has one.

use std::sync::{Mutex, PoisonError};

use loci_core::{Result, ServerFigures, SpaceClass};
use loci_engine::Engine;
use prometheus::{IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Registry};

use super::{MetricBuilder, set};

const WAITING_CALLERS: &str = "loci_server_waiting_callers";

/// The figures, once the store is known to have a server.
#[derive(Default)]
pub(super) struct ServerGauges(Mutex<Option<Registered>>);

struct Registered {
    connections: IntGaugeVec,
    waiting_callers: IntGauge,
    round_trips: IntCounter,
    outages: IntCounter,
    read_only_phases: IntCounter,
    unconfirmed_commits: IntCounter,
    space_indexes: IntGaugeVec,
    space_loads: IntCounterVec,
    space_evictions: IntCounterVec,
    up: IntGauge,
    timeline: IntGauge,
    standbys: IntGaugeVec,
    waiting_commits: IntGauge,
    longest_wait: IntGauge,
}

impl ServerGauges {
    /// Reads the figures; returns false if the store has a server that does not answer.
    pub(super) fn read(&self, registry: &Registry, engine: &Engine) -> Result<bool> {
        let Some(figures) = engine.server_figures() else {
            return Ok(true);
        };
        let mut registered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let registered = match &mut *registered {
            Some(registered) => registered,
            none => none.insert(Registered::new(&MetricBuilder(registry))?),
        };
        registered.note(&figures);
        Ok(figures.server.is_some())
    }
}

impl Registered {
    fn new(metrics: &MetricBuilder<'_>) -> Result<Self> {
        Ok(Registered {
            connections: metrics.gauges(
                "loci_server_connections",
                "Connections of this process to the server of the store by state: in_use, idle, or limit (the \
                 most that it makes).",
                &["state"],
            )?,
            waiting_callers: metrics.gauge(WAITING_CALLERS, "Callers that wait for a connection.")?,
            round_trips: metrics.counter(
                "loci_server_round_trips_total",
                "Round trips of this process to the server.",
            )?,
            outages: metrics.counter(
                "loci_server_outages_total",
                "Times that the server was away after it had answered, however many calls waited.",
            )?,
            read_only_phases: metrics.counter(
                "loci_server_read_only_phases_total",
                "Times that the server took no writes after it had taken some, as in a failover.",
            )?,
            unconfirmed_commits: metrics.counter(
                "loci_server_unconfirmed_commits_total",
                "Commits that no standby confirmed: given up after store_commit_seconds, or confirmed with a \
                 warning.",
            )?,
            space_indexes: metrics.gauges(
                "loci_space_indexes",
                "Indexes in the memory of this process by the size of their spaces: small (up to 1,000 passages), \
                 medium (up to 20,000), large.",
                &["size"],
            )?,
            space_loads: metrics.counters(
                "loci_space_index_loads_total",
                "Loads of the index of a space by the size of the space.",
                &["size"],
            )?,
            space_evictions: metrics.counters(
                "loci_space_index_evictions_total",
                "Indexes that gave way to others, because store_index_megabytes was reached, by the size of the \
                 space.",
                &["size"],
            )?,
            up: metrics.gauge(
                "loci_server_up",
                "1 if the server answered within two seconds when these figures were read, else 0; then the last \
                 ones of its standbys stand.",
            )?,
            timeline: metrics.gauge(
                "loci_server_timeline",
                "The number of the server's history, which grows by one with each promotion; 0 on a server that \
                 only reads.",
            )?,
            standbys: metrics.gauges(
                "loci_server_standbys",
                "Standbys that are connected to the server by state: all, or synchronous.",
                &["state"],
            )?,
            waiting_commits: metrics.gauge(
                "loci_server_waiting_commits",
                "Commits of all processes that have waited for a standby for more than 3 seconds.",
            )?,
            longest_wait: metrics.gauge(
                "loci_server_longest_commit_wait_seconds",
                "The seconds for which the first of these has waited.",
            )?,
        })
    }

    fn note(&self, figures: &ServerFigures) {
        let connections = &figures.connections;
        for (state, number) in [
            ("in_use", connections.in_use),
            ("idle", connections.idle),
            ("limit", connections.limit),
        ] {
            set(&self.connections.with_label_values(&[state]), number);
        }
        set(&self.waiting_callers, connections.waiting);
        for (counter, number) in [
            (&self.round_trips, figures.round_trips),
            (&self.outages, figures.outages),
            (&self.read_only_phases, figures.read_only_phases),
            (&self.unconfirmed_commits, figures.unconfirmed_commits),
        ] {
            raise(counter, number);
        }
        for (class, indexes) in SpaceClass::ALL.iter().zip(&figures.space_indexes) {
            let size = [class.name()];
            set(&self.space_indexes.with_label_values(&size), indexes.loaded);
            raise(&self.space_loads.with_label_values(&size), indexes.loads);
            raise(
                &self.space_evictions.with_label_values(&size),
                indexes.evictions,
            );
        }
        self.up.set(i64::from(figures.server.is_some()));
        if let Some(server) = &figures.server {
            set(&self.timeline, server.timeline);
            set(&self.standbys.with_label_values(&["all"]), server.standbys);
            let synchronous = self.standbys.with_label_values(&["synchronous"]);
            set(&synchronous, server.synchronous);
            set(&self.waiting_commits, server.waiting_commits);
            set(&self.longest_wait, server.longest_wait_seconds);
        }
    }
}

/// Raises a counter to a number that the store counts.
fn raise(counter: &IntCounter, number: u64) {
    counter.inc_by(number.saturating_sub(counter.get()));
}
