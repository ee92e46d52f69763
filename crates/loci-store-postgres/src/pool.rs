//! The connections of this process to one server.

use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use deadpool_postgres::{
    Connect, Hook, HookError, Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod,
    Runtime, Status, TimeoutType,
};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use loci_core::Error;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_postgres::{AsyncMessage, Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::failure::{Failure, Result};
use crate::hosts::Hosts;

/// The time that a caller waits for a connection of the pool.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(10);
/// The time in which a server that did not answer a new connection gets no further one, because a command
/// asks it several times, and each would wait.
const HUNG_FOR: Duration = Duration::from_secs(5);

/// The connections to one server, or to several of which one takes writes.
pub(crate) struct ConnectionPool {
    pool: Pool,
    /// True if statements have names, so that the server parses each once for a connection. Not
    /// behind a pooler that gives each transaction another connection, nor before that is known.
    is_named: Arc<AtomicBool>,
    silence: Arc<Silence>,
    /// True if what is asked on a connection is not waited for without end.
    limits_answers: bool,
    warnings: Mutex<Warnings>,
}

/// When a server last took a connection or a statement and did not answer.
#[derive(Debug, Default)]
pub(crate) struct Silence(Mutex<Option<Instant>>);

impl Silence {
    fn at(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(&self) {
        *self.at() = Some(Instant::now());
    }

    fn end(&self) {
        *self.at() = None;
    }

    /// Returns true if that was a moment ago.
    fn is_recent(&self) -> bool {
        self.at().is_some_and(|at| at.elapsed() < HUNG_FOR)
    }
}

/// A connection of a pool.
pub(crate) struct Connection {
    pub(crate) client: Object,
    /// The warnings so far on this connection.
    pub(crate) warnings: Arc<AtomicU64>,
    /// True if its statements have names; of all connections of the pool.
    pub(crate) is_named: Arc<AtomicBool>,
    /// Noted where an answer does not come in its time, where that is limited.
    pub(crate) silence: Option<Arc<Silence>>,
}

/// The way to a server.
#[derive(Clone)]
pub(crate) struct Route {
    pub(crate) config: Config,
    pub(crate) tls: MakeRustlsConnect,
    /// Counts the connections.
    pub(crate) open: Arc<OpenConnections>,
    /// The most connections.
    pub(crate) connections_max: usize,
    /// The time in which a new connection must be there.
    pub(crate) connect_max: Duration,
    /// The number that PostgreSQL gave the data of the server when they were created, if it must be
    /// that server: a name may lead to another one from here, e.g. `localhost`.
    pub(crate) system: Option<i64>,
}

impl ConnectionPool {
    /// Prepares connections, and makes none yet.
    pub(crate) fn new(route: Route) -> Result<Self, Error> {
        let silence = Arc::<Silence>::default();
        let connector = Connector {
            tls: route.tls,
            hosts: Arc::new(Hosts::of(&route.config)),
            open: route.open,
        };
        let recycling = ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        };
        let manager = Manager::from_connect(route.config, connector, recycling);
        let mut pool = Pool::builder(manager)
            .max_size(route.connections_max)
            .wait_timeout(Some(WAIT_MAX))
            .create_timeout(Some(route.connect_max))
            .runtime(Runtime::Tokio1);
        if let Some(system) = route.system {
            pool = pool.post_create(identity_check(system, route.connect_max, &silence));
        }
        Ok(ConnectionPool {
            pool: pool.build().map_err(|error| unavailable(&error))?,
            is_named: Arc::default(),
            silence,
            limits_answers: route.system.is_some(),
            warnings: Mutex::default(),
        })
    }

    /// Returns the numbers of connections.
    pub(crate) fn status(&self) -> Status {
        self.pool.status()
    }

    /// Ends all connections.
    pub(crate) fn close(&self) {
        self.pool.close();
    }

    /// Returns a connection. If a server hangs, an attempt takes all of its time, so that the
    /// next ones of [`HUNG_FOR`] are refused at once, unless a connection is there.
    pub(crate) async fn connection(&self) -> Result<Connection> {
        let refusal = || Failure::Unreachable(PoolError::Timeout(TimeoutType::Create));
        let status = self.pool.status();
        let is_made = status.available == 0 && status.size < status.max_size;
        // A connection that is there may lead to a server that is stopped.
        if (is_made || self.limits_answers) && self.silence.is_recent() {
            return Err(refusal());
        }
        let fresh = Arc::<AtomicU64>::default();
        let client = NEW_WARNINGS
            .scope(Arc::clone(&fresh), self.pool.get())
            .await;
        match &client {
            Ok(_) => self.silence.end(),
            Err(PoolError::Timeout(TimeoutType::Create)) => self.silence.note(),
            // The check had no answer.
            Err(PoolError::PostCreateHook(_)) if self.silence.is_recent() => return Err(refusal()),
            Err(_) => {}
        }
        let client = client?;
        let place = Arc::as_ptr(&client.statement_cache).addr();
        let mut known = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        if Object::metrics(&client).recycle_count == 0 {
            // The task of a connection holds its number as long as it lives.
            known.retain(|_, warnings| Arc::strong_count(warnings) > 1);
            known.insert(place, fresh);
        }
        let warnings = known.get(&place).map(Arc::clone).unwrap_or_default();
        drop(known);
        Ok(Connection {
            client,
            warnings,
            is_named: Arc::clone(&self.is_named),
            silence: self.limits_answers.then(|| Arc::clone(&self.silence)),
        })
    }
}

/// Returns the check of a new connection: it must lead to the server with that number.
fn identity_check(system: i64, limit: Duration, silence: &Arc<Silence>) -> Hook {
    let silence = Arc::clone(silence);
    Hook::async_fn(move |client, _| {
        let silence = Arc::clone(&silence);
        async move {
            let sql = "SELECT system_identifier FROM pg_control_system()";
            let asked = client.query_typed(sql, &[]);
            let rows = tokio::time::timeout(limit, asked)
                .await
                .map_err(|_| {
                    silence.note();
                    HookError::message("the server does not answer")
                })?
                .map_err(HookError::Backend)?;
            let row = rows.first().ok_or(HookError::message("no answer"))?;
            let found: i64 = row.try_get(0).map_err(HookError::Backend)?;
            if found != system {
                return Err(HookError::message(
                    "another server than the coordinator knows answers there",
                ));
            }
            Ok(())
        }
        .boxed()
    })
}

/// Returns the error of connections that cannot even be prepared.
pub(crate) fn unavailable(error: &dyn fmt::Display) -> Error {
    Error::unavailable(format!("connections cannot be set up: {error}"))
}

/// The number of warnings that came on each connection, by the address of its cache of statements. One
/// connection must not take the warnings of another for those of its commit: a cluster warns each that
/// works on a dead worker.
type Warnings = HashMap<usize, Arc<AtomicU64>>;

tokio::task_local! {
    /// The number of warnings of a connection that is made.
    static NEW_WARNINGS: Arc<AtomicU64>;
}

/// The number of connections that the server has not heard the end of.
#[derive(Debug, Default)]
pub(crate) struct OpenConnections {
    number: AtomicU64,
    /// Told when the last one has ended.
    none: Notify,
}

impl OpenConnections {
    /// Waits for the end of all connections.
    pub(crate) async fn wait(&self) {
        while self.number.load(Ordering::SeqCst) > 0 {
            self.none.notified().await;
        }
    }
}

/// Counts a connection while it lives.
struct OpenConnection(Arc<OpenConnections>);

impl OpenConnection {
    fn of(open: &Arc<OpenConnections>) -> Self {
        open.number.fetch_add(1, Ordering::SeqCst);
        OpenConnection(Arc::clone(open))
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        if self.0.number.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.none.notify_one();
        }
    }
}

/// Makes connections, and counts the warnings that come on them.
struct Connector {
    tls: MakeRustlsConnect,
    hosts: Arc<Hosts>,
    open: Arc<OpenConnections>,
}

impl Connect for Connector {
    fn connect(
        &self,
        _: &Config,
    ) -> BoxFuture<'_, std::result::Result<(Client, JoinHandle<()>), tokio_postgres::Error>> {
        let (hosts, tls) = (Arc::clone(&self.hosts), self.tls.clone());
        let warnings = NEW_WARNINGS.try_with(Arc::clone).unwrap_or_default();
        let open = Arc::clone(&self.open);
        async move {
            let (client, mut connection) = hosts.connect(&tls).await?;
            let open = OpenConnection::of(&open);
            let drive = async move {
                let _open = open;
                // Warnings of the beginning, as of a collation of another version, come before the
                // connection waits for the first time, and say nothing of a commit.
                let mut has_begun = false;
                loop {
                    let next = poll_fn(|context| {
                        let next = connection.poll_message(context);
                        has_begun |= next.is_pending();
                        next
                    });
                    match next.await {
                        Some(Ok(AsyncMessage::Notice(notice))) => {
                            if notice.code().code().starts_with("01") {
                                tracing::warn!("PostgreSQL warns: {}", notice.message());
                                warnings.fetch_add(u64::from(has_begun), Ordering::SeqCst);
                            }
                        }
                        Some(Ok(_)) => {}
                        Some(Err(error)) => {
                            tracing::debug!(%error, "a connection to PostgreSQL ended");
                            return;
                        }
                        None => return,
                    }
                }
            };
            // The pool ends the task that it gets, before the server has heard of the end.
            tokio::spawn(drive);
            Ok((client, tokio::spawn(async {})))
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use loci_testkit::postgres::server_url;

    use super::*;
    use crate::options::{Target, Trust};
    use crate::tls;

    /// A name may lead to another server from here than from the coordinator.
    #[test]
    fn only_the_server_that_is_meant_is_asked() {
        let target = Target::parse(server_url(), None).unwrap();
        let route = |system| Route {
            config: target.config.clone(),
            tls: tls::connector(&Trust::Anyone).unwrap(),
            open: Arc::default(),
            connections_max: 2,
            connect_max: WAIT_MAX,
            system,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let any = ConnectionPool::new(route(None)).unwrap();
            let connection = any.connection().await.unwrap();
            let sql = "SELECT system_identifier FROM pg_control_system()";
            let row = connection.client.query_one(sql, &[]).await.unwrap();
            let system: i64 = row.get(0);
            let own = ConnectionPool::new(route(Some(system))).unwrap();
            own.connection().await.unwrap();
            let other = ConnectionPool::new(route(Some(system + 1))).unwrap();
            let refused = other.connection().await.err().unwrap();
            let refused = format!("{refused:?}");
            assert!(refused.contains("another server"), "{refused}");
        });
    }
}
