//! The server as this process reaches it: a pool of connections, driven by a runtime of its own on the
//! threads of the callers, so that the methods of the store block.

use std::collections::HashMap;
use std::fmt;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use loci_core::{Error, Space};

use crate::failure::{Failure, Result, silent};
use crate::options::{Options, Target, prefix};
use crate::pending::PendingCommits;
use crate::pool::{Connection, ConnectionPool, OpenConnections, Route, WAIT_MAX, unavailable};
use crate::random::random;
use crate::scope::Scope;
use crate::session::Session;
use crate::shared_state::SharedState;
use crate::workers::{FIND_MAX, SpaceRoute, WORKER_CONNECT_MAX, Workers};
use crate::{schema, tls, workers};

/// The time for which work is started again that the server ended or lost.
const RETRY_MAX: Duration = Duration::from_secs(10);
/// The same for work that asks how the server is now.
const BRIEF_MAX: Duration = Duration::from_millis(500);
/// The longest pause before work is started again.
const PAUSE_MAX: Duration = Duration::from_millis(500);
/// The share of such a time that is left for the last attempt: one part of so many.
const LAST_ATTEMPT: u32 = 40;
/// The time after an answer of the server in which its absence counts as a pause, e.g. a restart or a
/// failover, which calls wait for.
const RECENT_MAX: Duration = Duration::from_mins(1);
/// The number of times that a piece of work looks at the schema again: another one may just note
/// what it saw before row security was turned on.
const LOOKS_MAX: u32 = 3;
/// The time that the end of a store waits until its connections have said that they end. The server
/// logs a broken connection otherwise.
const END_MAX: Duration = Duration::from_millis(100);

/// The server of a store.
pub(crate) struct Server {
    /// `None` only while it is dropped.
    runtime: Option<tokio::runtime::Runtime>,
    pool: ConnectionPool,
    workers: Workers,
    pub(crate) shared: Arc<SharedState>,
    /// True if the server and the schema were checked and are fit.
    is_ready: AtomicBool,
    /// Held by the one that checks.
    preparing: tokio::sync::Mutex<()>,
    options: Options,
    /// True if the last write that the server refused was refused as every write: its disk is full, or
    /// it only reads. A write of some size tells when that is over.
    pub(crate) has_refused: AtomicBool,
    pub(crate) answers: LastAnswers,
    pub(crate) pending: Arc<PendingCommits>,
    /// The newest change of each space that this process has committed.
    committed: Mutex<HashMap<String, i64>>,
    open: Arc<OpenConnections>,
}

/// When the server last did what it was asked.
#[derive(Debug, Default)]
pub(crate) struct LastAnswers {
    pub(crate) any: LastAnswer,
    pub(crate) write: LastAnswer,
}

/// When the server last did something, and how often it then did not.
#[derive(Debug, Default)]
pub(crate) struct LastAnswer {
    at: Mutex<Option<Instant>>,
    /// True from a miss to the next answer, so that many callers count one.
    is_missed: AtomicBool,
    misses: AtomicU64,
}

impl LastAnswer {
    fn at(&self) -> MutexGuard<'_, Option<Instant>> {
        self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if it is less than a minute ago.
    fn is_recent(&self) -> bool {
        self.at().is_some_and(|at| at.elapsed() < RECENT_MAX)
    }

    fn note_now(&self) {
        *self.at() = Some(Instant::now());
        self.is_missed.store(false, Ordering::Relaxed);
    }

    /// Notes that the server did not do it, if it did before.
    fn note_missed(&self) {
        if self.at().is_some() && !self.is_missed.swap(true, Ordering::Relaxed) {
            self.misses.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns how often it stopped.
    pub(crate) fn misses(&self) -> u64 {
        self.misses.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Server")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Prepares connections, and makes none yet.
    pub(crate) fn new(options: Options) -> Result<Self, Error> {
        let mut target = Target::parse(&options.url, options.password.as_deref())?;
        if target.config.get_connect_timeout().is_none() {
            target.config.connect_timeout(options.connect_timeout);
        }
        if target.config.get_application_name().is_none() {
            target.config.application_name(process_name());
        }
        let prefix = prefix(&options.schema)?;
        let tls = tls::connector(&target.trust)?;
        // The thread that waits for the server drives the connections, its own and other threads':
        // a thread only for that would cost two changes of threads for each round trip.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| unavailable(&error))?;
        let open = Arc::<OpenConnections>::default();
        let connections = options.connections_max.max(2);
        let route = |config, connect_max| Route {
            config,
            tls: tls.clone(),
            open: Arc::clone(&open),
            connections_max: connections,
            connect_max,
            system: None,
        };
        let pool = ConnectionPool::new(route(target.config.clone(), WAIT_MAX))?;
        let workers = Workers::new(route(target.config, WORKER_CONNECT_MAX));
        Ok(Server {
            runtime: Some(runtime),
            pool,
            workers,
            shared: Arc::new(SharedState::new(prefix, &options)),
            is_ready: AtomicBool::new(false),
            preparing: tokio::sync::Mutex::default(),
            options,
            has_refused: AtomicBool::new(false),
            answers: LastAnswers::default(),
            pending: Arc::new(PendingCommits::new(connections)),
            committed: Mutex::default(),
            open,
        })
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Returns the numbers of connections, to all servers of the store together.
    pub(crate) fn pool_status(&self) -> deadpool_postgres::Status {
        let mut sum = self.pool.status();
        for status in self.workers.statuses() {
            sum.max_size += status.max_size;
            sum.size += status.size;
            sum.available += status.available;
            sum.waiting += status.waiting;
        }
        sum
    }

    /// Returns the number of round trips so far.
    pub(crate) fn trips(&self) -> u64 {
        self.shared.trips.load(Ordering::Relaxed)
    }

    /// Notes a change of a space that this process has committed.
    pub(crate) fn note_committed(&self, space: &str, change: i64) {
        let mut committed = self.committed();
        match committed.get_mut(space) {
            Some(newest) => *newest = change.max(*newest),
            None => drop(committed.insert(space.to_owned(), change)),
        }
    }

    /// Forgets what this process has committed in a space. The server may have gone back to an
    /// earlier moment.
    pub(crate) fn forget_committed(&self, space: &str) {
        self.committed().remove(space);
    }

    /// Returns the newest change of a space that this process has committed; 0 if it has none.
    pub(crate) fn newest_committed(&self, space: &str) -> i64 {
        self.committed().get(space).copied().unwrap_or(0)
    }

    fn committed(&self) -> MutexGuard<'_, HashMap<String, i64>> {
        self.committed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the end of work on the server.
    pub(crate) fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        let mut value = None;
        self.drive(pin!(async { value = Some(work.await) }));
        match value {
            Some(value) => value,
            None => unreachable!("the work has ended"),
        }
    }

    /// Waits for the end of work of any type, because the loop of the runtime would be compiled once for each type of
    /// work otherwise, which was a third of the code of this crate.
    fn drive(&self, work: Pin<&mut dyn Future<Output = ()>>) {
        match &self.runtime {
            Some(runtime) => runtime.block_on(work),
            None => unreachable!("the runtime goes with the server"),
        }
    }

    /// Returns a connection to a store with a current schema, for work in a scope.
    pub(crate) async fn session(&self, scope: Scope<'_>) -> Result<Session> {
        if !self.is_ready.load(Ordering::Acquire) {
            let _alone = self.preparing.lock().await;
            if !self.is_ready.load(Ordering::Acquire) {
                // A migration may change the rows of every space.
                let session = self.connect(Scope::AllSpaces).await?;
                schema::prepare(&session, &self.options).await?;
                self.is_ready.store(true, Ordering::Release);
            }
        }
        self.connect(scope).await
    }

    /// Returns a connection, whatever the schema is: to the worker that has the rows of a space, where
    /// that is known, and to the server of the setting otherwise.
    pub(crate) async fn connect(&self, scope: Scope<'_>) -> Result<Session> {
        // Takes in what came while no thread drove the connections, e.g. their ends.
        tokio::task::yield_now().await;
        if let Scope::Space(space) = scope
            && self.shared.is_distributed()
            && self.options.connects_to_workers
            && let Some(connection) = self.to_worker(space).await?
        {
            return Ok(Session::new(connection, Arc::clone(&self.shared), scope));
        }
        self.to_server(scope).await
    }

    /// Forgets where a space lies, because it may lie elsewhere now.
    pub(crate) fn forget_place(&self, space: &Space) {
        self.workers.forget(space.as_str());
    }

    /// Returns a connection to the server of the setting.
    async fn to_server(&self, scope: Scope<'_>) -> Result<Session> {
        let connection = self.pool.connection().await?;
        Ok(Session::new(connection, Arc::clone(&self.shared), scope))
    }

    /// Returns a connection to the worker that has the rows of a space; `None` if none can be had, so that
    /// the coordinator is asked, which has the reason.
    async fn to_worker(&self, space: &Space) -> Result<Option<Connection>> {
        let way = if let Some(way) = self.workers.known(space.as_str()) {
            way
        } else {
            let session = self.to_server(space.into()).await?;
            match session
                .within(FIND_MAX, workers::find(&session, space))
                .await
            {
                Some(place) => self.workers.note(space.as_str(), place?),
                None => self.workers.note_silence(space.as_str()),
            }
        };
        match way {
            SpaceRoute::Worker(worker) => worker.connection().await,
            SpaceRoute::Coordinator => Ok(None),
            SpaceRoute::Silent => Err(silent(FIND_MAX)),
        }
    }

    /// Reads in a scope by one statement or several, each as of its own moment. Starts again if the
    /// connection is lost before the end.
    pub(crate) fn read<'a, T>(
        &self,
        scope: impl Into<Scope<'a>>,
        work: impl AsyncFn(&Session) -> Result<T>,
    ) -> Result<T, Error> {
        let scope = scope.into();
        let attempt = async || work(&self.session(scope).await?).await;
        Ok(self.block_on(self.until_done(attempt))?)
    }

    /// Reads in a scope as of one moment.
    pub(crate) fn read_snapshot<'a, T>(
        &self,
        scope: impl Into<Scope<'a>>,
        work: impl AsyncFn(&Session) -> Result<T>,
    ) -> Result<T, Error> {
        self.read(scope, async |session| session.snapshot(&work).await)
    }

    /// Waits before the next attempt. Returns the failure if there shall be none.
    pub(crate) async fn pause(&self, retry: &mut Retry, failure: Failure) -> Result<()> {
        if failure.is_undeclared() && retry.looks < LOOKS_MAX {
            // Another process has turned row security on.
            retry.looks += 1;
            self.is_ready.store(false, Ordering::Release);
            return Ok(());
        }
        let (is_away, is_read_only) = (failure.is_away(), failure.is_read_only());
        if is_away {
            self.answers.any.note_missed();
        }
        if is_read_only {
            self.answers.write.note_missed();
        }
        let comes_back = is_away && self.answers.any.is_recent()
            || is_read_only && self.answers.write.is_recent();
        retry.pause(failure, comes_back).await
    }

    /// Notes that the server has written something.
    pub(crate) fn note_written(&self) {
        self.answers.any.note_now();
        self.answers.write.note_now();
    }

    /// Runs work until it succeeds or there is no hope.
    pub(crate) async fn until_done<T>(&self, attempt: impl AsyncFn() -> Result<T>) -> Result<T> {
        self.until_done_or(Retry::new(), attempt).await
    }

    pub(crate) async fn until_done_or<T>(
        &self,
        mut retry: Retry,
        attempt: impl AsyncFn() -> Result<T>,
    ) -> Result<T> {
        loop {
            match attempt().await {
                Ok(value) => {
                    self.answers.any.note_now();
                    return Ok(value);
                }
                Err(failure) => self.pause(&mut retry, failure).await?,
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let Some(runtime) = self.runtime.take() else {
            return;
        };
        self.pool.close();
        self.workers.close();
        // Nothing may block where an asynchronous runtime drops the store.
        if tokio::runtime::Handle::try_current().is_err() {
            let open = Arc::clone(&self.open);
            let _ =
                runtime.block_on(async move { tokio::time::timeout(END_MAX, open.wait()).await });
        }
        runtime.shutdown_background();
    }
}

/// Returns the name of this process at the server, by which `loci doctor` counts the processes that are
/// connected.
fn process_name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| format!("loci-{:08x}", random() >> 32))
}

/// Repeats work that the server ended or lost.
pub(crate) struct Retry {
    since: Instant,
    limit: Duration,
    attempts: u32,
    was_lost: bool,
    /// The number of times that the schema was looked at again.
    looks: u32,
}

impl Retry {
    pub(crate) fn new() -> Self {
        Retry::since(Instant::now())
    }

    /// Repeats work that somebody has waited for since then.
    pub(crate) fn since(since: Instant) -> Self {
        Retry {
            since,
            limit: RETRY_MAX,
            attempts: 0,
            was_lost: false,
            looks: 0,
        }
    }

    /// Repeats work only for a moment, because the question is how the server is now.
    pub(crate) fn brief() -> Self {
        Retry {
            limit: BRIEF_MAX,
            ..Retry::new()
        }
    }

    /// Waits before the next attempt, if the failure passes or the server `comes_back`. Returns the
    /// failure if there shall be none.
    async fn pause(&mut self, failure: Failure, comes_back: bool) -> Result<()> {
        // A server that was there a moment ago is waited for, whatever it says until it is back.
        let is_away = self.was_lost && matches!(failure, Failure::Unreachable(_));
        self.was_lost |= failure.is_lost();
        let passes = failure.is_transient() || is_away || comes_back;
        let left = time_left(self.limit, self.since.elapsed());
        if !passes || left.is_zero() {
            return Err(failure);
        }
        self.attempts += 1;
        let ceiling = PAUSE_MAX.min(Duration::from_millis(5) * 2_u32.pow(self.attempts.min(10)));
        tokio::time::sleep(ceiling.mul_f64(random_share()).min(left)).await;
        Ok(())
    }
}

/// Returns how long a piece of work may pause yet: the last attempt starts so early that its refusal comes
/// within the limit.
fn time_left(limit: Duration, elapsed: Duration) -> Duration {
    limit.saturating_sub(limit / LAST_ATTEMPT + elapsed)
}

/// Returns true if work that somebody has waited for since then is not started again.
pub(crate) fn is_over(since: Instant) -> bool {
    time_left(RETRY_MAX, since.elapsed()).is_zero()
}

/// Returns a random number of at least 0 and less than 1.
fn random_share() -> f64 {
    (random() >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A caller is refused within the limit, although a pause comes before the last attempt.
    #[test]
    fn the_last_attempt_starts_before_the_limit() {
        let last = Duration::from_millis(9_750);
        for elapsed in [0, 9_400, 9_749] {
            let elapsed = Duration::from_millis(elapsed);
            assert_eq!(elapsed + time_left(RETRY_MAX, elapsed), last);
        }
        assert_eq!(time_left(RETRY_MAX, last), Duration::ZERO);
        assert_eq!(time_left(RETRY_MAX, RETRY_MAX * 2), Duration::ZERO);
    }
}
