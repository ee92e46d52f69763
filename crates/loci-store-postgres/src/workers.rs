//! The workers of a cluster with Citus, to which this process connects by itself
//! (`docs/adr/0120-each-space-is-asked-at-its-worker.md`).
//!
//! Every node of a cluster takes every statement, and passes it on to the node that has its rows. On the
//! way through the coordinator, each statement is a round trip more, and is planned twice. So the work of
//! a space goes to the worker that has it, as far as that can be reached. Where the coordinator was
//! asked too long ago and the space has moved since, the former worker passes its statements on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use deadpool_postgres::{PoolError, Status};
use loci_core::Space;

use crate::failure::{Failure, Result};
use crate::hosts::at;
use crate::pool::{Connection, ConnectionPool, Route};
use crate::session::Session;
use crate::value::values;

/// The time in which a worker must take a connection; after it the coordinator is asked.
pub(crate) const WORKER_CONNECT_MAX: Duration = Duration::from_secs(2);
/// The time in which the coordinator must say where a space lies, which it asks its worker.
pub(crate) const FIND_MAX: Duration = Duration::from_secs(5);
/// The time for which the place of a space is not asked for again. It bounds how long a worker that was
/// replaced, and goes on all the same, is written to.
const PLACE_FOR: Duration = Duration::from_secs(15);
/// The same for a space that has no place yet, and the time for which a worker that did not take a
/// connection is not tried.
const AWAY_FOR: Duration = Duration::from_secs(5);
/// The most spaces whose places are kept.
const PLACES_MAX: usize = 100_000;

/// A worker as the coordinator knows it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    host: String,
    port: u16,
    /// The number that PostgreSQL gave its data when they were created.
    system: i64,
}

/// The way to the rows of a space.
#[derive(Clone)]
pub(crate) enum SpaceRoute {
    Worker(Arc<Worker>),
    /// Through the coordinator.
    Coordinator,
    /// The coordinator had no answer from the worker.
    Silent,
}

/// The workers of a store.
pub(crate) struct Workers {
    route: Route,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// The way to each space, and when it was asked for.
    ways: HashMap<String, (SpaceRoute, Instant)>,
    workers: HashMap<Place, Arc<Worker>>,
}

/// A worker and the connections to it.
pub(crate) struct Worker {
    place: Place,
    pool: ConnectionPool,
    /// When it last took no connection, unless it did since.
    away: Mutex<Option<Instant>>,
}

impl Workers {
    /// Prepares for workers, which are reached as the server of this route is, at other addresses.
    pub(crate) fn new(route: Route) -> Self {
        Workers {
            route,
            known: Mutex::default(),
        }
    }

    /// Returns the way to a space; `None` if it must be asked for.
    pub(crate) fn known(&self, space: &str) -> Option<SpaceRoute> {
        let known = self.lock();
        let (way, at) = known.ways.get(space)?;
        let kept = match way {
            SpaceRoute::Worker(_) => PLACE_FOR,
            SpaceRoute::Coordinator | SpaceRoute::Silent => AWAY_FOR,
        };
        (at.elapsed() < kept).then(|| way.clone())
    }

    /// Notes that the coordinator had no answer, and returns the way to a space: the last known one if that
    /// leads to a worker.
    pub(crate) fn note_silence(&self, space: &str) -> SpaceRoute {
        let mut known = self.lock();
        let last = known.ways.remove(space).map(|(way, _)| way);
        let way = last
            .filter(|way| matches!(way, SpaceRoute::Worker(_)))
            .unwrap_or(SpaceRoute::Silent);
        let noted = (way.clone(), Instant::now());
        known.ways.insert(space.to_owned(), noted);
        way
    }

    /// Forgets the way to a space.
    pub(crate) fn forget(&self, space: &str) {
        self.lock().ways.remove(space);
    }

    /// Notes the place of a space, and returns the way to it.
    pub(crate) fn note(&self, space: &str, answer: PlaceAnswer) -> SpaceRoute {
        let mut known = self.lock();
        let worker = match answer {
            PlaceAnswer::Worker(place) => self.at(&mut known.workers, place),
            PlaceAnswer::Elsewhere => None,
            PlaceAnswer::NoRows => return SpaceRoute::Coordinator,
        };
        let way = worker.map_or(SpaceRoute::Coordinator, SpaceRoute::Worker);
        if known.ways.len() >= PLACES_MAX {
            known.ways.clear();
        }
        let noted = (way.clone(), Instant::now());
        known.ways.insert(space.to_owned(), noted);
        way
    }

    /// Returns the worker at a place.
    fn at(&self, workers: &mut HashMap<Place, Arc<Worker>>, place: Place) -> Option<Arc<Worker>> {
        if let Some(worker) = workers.get(&place) {
            return Some(Arc::clone(worker));
        }
        let worker = Arc::new(self.worker(place.clone())?);
        workers.insert(place, Arc::clone(&worker));
        Some(worker)
    }

    fn worker(&self, place: Place) -> Option<Worker> {
        let mut config = at(&self.route.config, &place.host, place.port);
        config.connect_timeout(WORKER_CONNECT_MAX / 4);
        let route = Route {
            config,
            system: Some(place.system),
            ..self.route.clone()
        };
        let pool = ConnectionPool::new(route);
        let pool = pool
            .inspect_err(|error| tracing::warn!(%error, host = place.host, "no way to a worker"))
            .ok()?;
        Some(Worker {
            place,
            pool,
            away: Mutex::default(),
        })
    }

    /// Returns the numbers of connections to each worker.
    pub(crate) fn statuses(&self) -> Vec<Status> {
        let known = self.lock();
        let workers = known.workers.values();
        workers.map(|worker| worker.pool.status()).collect()
    }

    /// Ends all connections.
    pub(crate) fn close(&self) {
        self.lock()
            .workers
            .values()
            .for_each(|worker| worker.pool.close());
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Worker {
    /// Returns a connection; `None` if the worker takes none, so that the coordinator is asked.
    ///
    /// # Errors
    /// All connections are in use, for as long as a caller waits; the worker takes a connection and does not answer.
    pub(crate) async fn connection(&self) -> Result<Option<Connection>> {
        let away = || self.away.lock().unwrap_or_else(PoisonError::into_inner);
        if away().is_some_and(|at| at.elapsed() < AWAY_FOR) {
            return Ok(None);
        }
        match self.pool.connection().await {
            Ok(connection) => {
                *away() = None;
                Ok(Some(connection))
            }
            // It would keep the coordinator waiting as well, or has no connection left.
            Err(failure @ Failure::Unreachable(PoolError::Timeout(_))) => Err(failure),
            Err(failure) => {
                let Place { host, port, .. } = &self.place;
                // The first of a time without it.
                if away().replace(Instant::now()).is_none() {
                    tracing::warn!(
                        "the worker {host}:{port} takes no connection from here, and its spaces are asked for through \
                         the coordinator: {failure:?}"
                    );
                }
                Ok(None)
            }
        }
    }
}

/// The answer of the coordinator to the question where a space lies.
pub(crate) enum PlaceAnswer {
    Worker(Place),
    /// On the coordinator, or where it does not say.
    Elsewhere,
    /// The space has no rows, and may have a place in a moment.
    NoRows,
}

/// Asks the coordinator which worker has the rows of a space.
///
/// # Errors
/// The connection is lost.
pub(crate) async fn find(session: &Session, space: &Space) -> Result<PlaceAnswer> {
    let node = "SELECT n.nodename, n.nodeport FROM pg_dist_placement AS p JOIN pg_dist_node AS n ON n.groupid = p.groupid \
        WHERE p.shardid = get_shard_id_for_distribution_column($2::text::regclass, $1::text) AND n.groupid <> 0 \
        AND n.noderole = 'primary' AND n.isactive AND n.metadatasynced";
    // Computed where the row lies.
    let system = "SELECT (pg_control_system()).system_identifier FROM @space WHERE space = $1";
    let table = session.qualify("@space");
    let asked = [
        (node.to_owned(), values![space.as_str(), &table]),
        (system.to_owned(), values![space.as_str()]),
    ];
    let answers = match session.pipeline(&asked).await {
        Ok(answers) => answers,
        Err(failure) if failure.is_lost() => return Err(failure),
        Err(failure) => {
            tracing::debug!(?failure, "the place of a space is not known");
            return Ok(PlaceAnswer::Elsewhere);
        }
    };
    let mut rows = answers.iter().map(|(rows, _)| rows.first());
    let (node, system) = (rows.next().flatten(), rows.next().flatten());
    let Some(system) = system else {
        return Ok(PlaceAnswer::NoRows);
    };
    let Some(node) = node else {
        return Ok(PlaceAnswer::Elsewhere);
    };
    let port: i32 = node.try_get(1)?;
    let Ok(port) = u16::try_from(port) else {
        return Ok(PlaceAnswer::Elsewhere);
    };
    Ok(PlaceAnswer::Worker(Place {
        host: node.try_get(0)?,
        port,
        system: system.try_get(0)?,
    }))
}
