//! The one thread that writes, by group commit.
//!
//! SQLite lets one connection write at a time, and a durable commit waits for a flush of the disk,
//! which no faster processor shortens. A thousand callers with a connection each would flush a
//! thousand times, one after the other. So callers hand their work to one thread, which does
//! everything that waits in one transaction, with one flush, and answers all:
//!
//! ```text
//! caller A  hand in ------------------- answer
//! caller B       hand in ---------------------------------------- answer
//! caller C           hand in ------------------------------------ answer
//! thread       A | commit, flush     | B C | commit, flush        |
//! ```
//!
//! There is no timer that waits for a group to fill: B and C arrive while A is flushed, and that is
//! their group. So a single caller never waits for others, and the more callers there are, the
//! larger the groups get, up to [`GROUP_MAX`].
//!
//! # What a caller gets
//!
//! - **An answer means durable.** It is sent after the commit returned, and after a look that the
//!   files written to are still the ones at their paths (`opening/files.rs`), because a file that
//!   was deleted or replaced takes writes without an error.
//! - **A failure stays its caller's.** Each piece of work has a savepoint in the transaction, unless
//!   it is alone in it. Where one fails, e.g. by a conflict, its changes are rolled back, and the
//!   others commit. A failure that ends the whole transaction, e.g. a full disk, is the answer to
//!   all.
//! - **Order.** Work is done in the order in which it was handed in, and later work sees the changes
//!   of earlier work, also within a group.
//! - **Backpressure.** [`QUEUE_MAX`] pieces may wait; further callers block before they are let in.
//!
//! A group is flushed if any of its work needs that. Work whose data can be made again from
//! elsewhere, e.g. the index of notes, whose files are the truth, asks for none
//! ([`Writer::run_unflushed`]): the log keeps it consistent, and a power cut may cost it.
//!
//! # After a fault of the disk
//!
//! When a flush fails, no later flush of the same log can be trusted, so the thread stops writing
//! until a checkpoint has moved the whole log into the database ([`WritingThread::connect`], ADR
//! 21). Reads go on.

use std::cmp::Ordering::{Equal, Greater, Less};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvError, SendError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use loci_core::Error;
use rusqlite::{Connection, ErrorCode};

use crate::connection::{Database, checkpoint};
use crate::failure::{Failure, Result, breaks_connection, damaged, describe};
use crate::opening::open_error::OpenError;
use crate::opening::versions;
use crate::opening::versions::upgraded;

/// Pieces of work that may wait; further callers wait before they are let in.
const QUEUE_MAX: usize = 1_024;
/// Pieces of work in one commit.
const GROUP_MAX: usize = 256;
/// One part of work that can be done in parts, so that it does not hold up others for long.
#[derive(Debug)]
pub(crate) struct WorkSlice {
    begun: Instant,
    /// Of large texts that were removed: they are overwritten, which the commit pays for.
    bytes: i64,
}

impl WorkSlice {
    const TIME_MAX: Duration = Duration::from_millis(1);
    const BYTES_MAX: i64 = 256 << 10;

    pub(crate) fn begin() -> Self {
        WorkSlice {
            begun: Instant::now(),
            bytes: 0,
        }
    }

    /// Counts bytes that were removed.
    pub(crate) fn remove(&mut self, bytes: i64) {
        self.bytes += bytes;
    }

    /// Returns whether the rest is for the next turn.
    pub(crate) fn is_over(&self) -> bool {
        self.bytes >= WorkSlice::BYTES_MAX || self.begun.elapsed() >= WorkSlice::TIME_MAX
    }
}

/// Where work for the writing thread is handed in.
#[derive(Debug)]
pub(crate) struct Writer {
    /// Taken by `drop`, which ends the thread.
    queue: Mutex<Option<SyncSender<Box<dyn Job>>>>,
    thread: Option<JoinHandle<()>>,
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "tests see by it that writers share commits")
    )]
    commits: Arc<Commits>,
}

/// The number of transactions that were committed since the start.
#[derive(Debug, Default)]
struct Commits {
    all: AtomicU64,
    flushed: AtomicU64,
}

impl Writer {
    /// Starts the thread with a connection that may write, to the files that lie at their paths
    /// now.
    pub(crate) fn start(database: Database, connection: Connection) -> Result<Self, OpenError> {
        let failed = |error: rusqlite::Error| OpenError::from_database(&error, &database.path);
        let keeper = database.open().map_err(failed)?;
        // With the first read it opens the log.
        keeper
            .pragma_query_value(None, "user_version", |_| Ok(()))
            .map_err(failed)?;
        database.files.look().map_err(|gone| OpenError::Io {
            path: database.path.clone(),
            problem: gone.to_string(),
        })?;
        let (queue, jobs) = sync_channel(QUEUE_MAX);
        let commits = Arc::<Commits>::default();
        let counter = Arc::clone(&commits);
        let connection = Some(WriteConnection::new(connection));
        let path = database.path.clone();
        let work = move || {
            WritingThread {
                database,
                connection,
                fault: None,
                has_long_log: false,
                commits: counter,
                _keeper: keeper,
            }
            .run(&jobs);
        };
        let thread = thread::Builder::new()
            .name("loci-writer".to_owned())
            .spawn(work);
        let thread = thread.map_err(|error| OpenError::from_io(&error, &path))?;
        Ok(Writer {
            queue: Mutex::new(Some(queue)),
            thread: Some(thread),
            commits,
        })
    }

    /// Does a piece of work inside a transaction and waits until it is durable. If the work fails,
    /// none of its changes happens, whatever happens to other work in the same commit.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        self.enqueue(work, true)?
            .recv()
            .map_err(|RecvError| stopped())?
    }

    /// As [`Writer::run`], but waits only until no end of a process can undo it; a power cut may.
    pub(crate) fn run_unflushed<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        self.enqueue(work, false)?
            .recv()
            .map_err(|RecvError| stopped())?
    }

    /// Tells the thread of a failure that another connection met in the log. If the disk failed, it
    /// is unclear what of the log is on it, and nothing is written until that is made sure of.
    pub(crate) fn report_io_error(&self, failure: rusqlite::Error) {
        if is_fault(&failure) {
            // Work that meets the fault. The thread logs it.
            let _ = self.run_unflushed(move |_| Err::<(), _>(failure.into()));
        }
    }

    /// Puts a piece of work into the queue; returns where its outcome will come.
    fn enqueue<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
        needs_flush: bool,
    ) -> Result<Receiver<Result<T, Error>>, Error> {
        let (reply, outcome) = sync_channel(1);
        let job = Task {
            work: Some(work),
            needs_flush,
            outcome: None,
            reply,
        };
        let queue = self
            .queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        queue
            .ok_or_else(stopped)?
            .send(Box::new(job))
            .map_err(|SendError(_)| stopped())?;
        Ok(outcome)
    }

    /// Returns the number of transactions that were committed since the start, and of flushed ones.
    #[cfg(test)]
    pub(crate) fn commits(&self) -> (u64, u64) {
        (
            self.commits.all.load(Ordering::SeqCst),
            self.commits.flushed.load(Ordering::SeqCst),
        )
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(
            self.queue
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn stopped() -> Error {
    Error::unavailable("the writing thread has stopped; restart loci and report this")
}

trait Job: Send {
    /// Returns whether its commit has to be on the disk when it answers.
    fn needs_flush(&self) -> bool;
    /// Does the work inside the open transaction.
    fn work(&mut self, connection: &Connection) -> Result<(), WorkFailure>;
    /// Answers, when the transaction is committed or has failed.
    fn answer(self: Box<Self>, committed: &Result<(), Error>);
}

struct Task<T, W> {
    work: Option<W>,
    needs_flush: bool,
    outcome: Option<Result<T, Error>>,
    reply: SyncSender<Result<T, Error>>,
}

impl<T: Send, W: FnOnce(&Connection) -> Result<T> + Send> Job for Task<T, W> {
    fn needs_flush(&self) -> bool {
        self.needs_flush
    }

    fn work(&mut self, connection: &Connection) -> Result<(), WorkFailure> {
        let Some(work) = self.work.take() else {
            return Ok(());
        };
        let (outcome, stopped) = match work(connection) {
            Ok(value) => (Ok(value), Ok(())),
            Err(failure) => {
                let stopped = WorkFailure::from(failure);
                (Err(stopped.error.clone()), Err(stopped))
            }
        };
        self.outcome = Some(outcome);
        stopped
    }

    fn answer(self: Box<Self>, committed: &Result<(), Error>) {
        let answer = match (self.outcome, committed) {
            (Some(Err(error)), _) => Err(error),
            (_, Err(error)) => Err(error.clone()),
            (Some(outcome), Ok(())) => outcome,
            (None, Ok(())) => Err(Error::internal(
                "a write was left out of its commit; please report this",
            )),
        };
        // A caller that no longer waits needs no answer.
        let _ = self.reply.send(answer);
    }
}

struct WritingThread {
    database: Database,
    /// None after a failure that leaves it unclear what the connection believes about the file.
    connection: Option<WriteConnection>,
    /// The fault of the disk since which it is unclear what of the log is on it.
    fault: Option<Error>,
    /// True if it was said that the log cannot be kept short.
    has_long_log: bool,
    commits: Arc<Commits>,
    /// Keeps SQLite from removing the log when no other connection is open, which would look as if
    /// it had been deleted.
    _keeper: Connection,
}

/// A connection that writes.
struct WriteConnection {
    connection: Connection,
    /// True if it flushes what it commits.
    flushes: bool,
}

impl WriteConnection {
    /// A connection as it was made.
    fn new(connection: Connection) -> Self {
        WriteConnection {
            connection,
            flushes: true,
        }
    }

    /// Sets whether the commits to come are flushed; without that they stay consistent, because
    /// they are in the write-ahead log.
    fn set_flushes(&mut self, flushes: bool) -> rusqlite::Result<()> {
        if self.flushes != flushes {
            // Not from the cache of statements: this one acts when it is prepared.
            self.connection.pragma_update(
                None,
                "synchronous",
                if flushes { "FULL" } else { "NORMAL" },
            )?;
            self.flushes = flushes;
        }
        Ok(())
    }
}

impl WritingThread {
    fn run(mut self, jobs: &Receiver<Box<dyn Job>>) {
        while let Ok(first) = jobs.recv() {
            let mut group = vec![first];
            group.extend(jobs.try_iter().take(GROUP_MAX - 1));
            let committed = self.write(&mut group);
            // That files are gone was said once.
            if let Err(error) = &committed
                && !self.database.files.are_gone()
            {
                let writes = group.len();
                if error.is_disk_full() {
                    // Each caller says so itself.
                    tracing::info!(writes, "a commit failed: {error}");
                } else {
                    tracing::warn!(writes, "a commit failed: {error}");
                }
            }
            for job in group {
                job.answer(&committed);
            }
            // At once, before other processes write on top of what may be lost.
            if self.fault.is_some()
                && let Ok(writing) = self.connect()
            {
                self.connection = Some(writing);
            }
        }
    }

    /// A new connection, to a log that is known to be whole.
    ///
    /// When a flush fails, the system may have dropped the pages that it could not write, and says
    /// so only once: the next flush succeeds without them. Commits that were to be flushed later
    /// lie in the same log, and one that comes after a lost one cannot be recovered. So nothing
    /// more goes into that log. The whole log is copied into the database, which writes each page
    /// again, the database is flushed, and the log starts again; until that succeeds, nothing is
    /// written (ADR 21).
    fn connect(&mut self) -> Result<WriteConnection, Error> {
        let connection = self.database.connect()?;
        if let Some(fault) = &self.fault {
            // Shorter than other processes wait, which are held up by it.
            connection
                .busy_timeout(self.database.busy_timeout / 2)
                .map_err(|error| describe(&error))?;
            let begun = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| {
                row.get::<_, bool>(0)
            });
            let hindrance = match begun {
                Ok(false) => None,
                Ok(true) => Some(
                    "somebody reads for long; end other programs that read the database".to_owned(),
                ),
                Err(error) => Some(describe(&error).message),
            };
            if let Some(hindrance) = hindrance {
                return Err(Error::unavailable(format!(
                    "nothing is written until it is sure that all writes so far are on the disk, after a fault of it \
                     ({}); that cannot be made sure of now: {hindrance}",
                    fault.message
                )));
            }
            connection
                .busy_timeout(self.database.busy_timeout)
                .map_err(|error| describe(&error))?;
            tracing::info!("all writes before the disk's fault are on it; writing goes on");
            self.fault = None;
        }
        Ok(WriteConnection::new(connection))
    }

    /// Does the work of a group in one transaction. An error means that nothing was written.
    fn write(&mut self, group: &mut [Box<dyn Job>]) -> Result<(), Error> {
        if let Err(gone) = self.database.files.check() {
            if let Some(writing) = &self.connection {
                keep_acknowledged(writing);
            }
            return Err(gone.into());
        }
        let mut writing = match self.connection.take() {
            Some(writing) => writing,
            None => self.connect()?,
        };
        let set = writing.set_flushes(group.iter().any(|job| job.needs_flush()));
        let connection = &writing.connection;
        match set
            .map_err(WorkFailure::from)
            .and_then(|()| transact(connection, group))
        {
            Ok(()) => {
                self.commits.all.fetch_add(1, Ordering::SeqCst);
                self.commits
                    .flushed
                    .fetch_add(u64::from(writing.flushes), Ordering::SeqCst);
                if let Err(gone) = self.database.files.check() {
                    keep_acknowledged(&writing);
                    self.connection = Some(writing);
                    return Err(gone.after_a_commit());
                }
                match checkpoint_if_long(&writing.connection).map_err(WorkFailure::from) {
                    // The commit is flushed; only earlier commits without a flush are in doubt.
                    Err(WorkFailure {
                        error,
                        is_fault: true,
                        ..
                    }) => self.fault = Some(error),
                    // It will be tried again.
                    kept => {
                        if let Err(WorkFailure { error, .. }) = &kept
                            && !self.has_long_log
                        {
                            tracing::warn!(
                                "the write-ahead log cannot be moved into the database and grows: {error}"
                            );
                        }
                        self.has_long_log = kept.is_err();
                        self.connection = Some(writing);
                    }
                }
                Ok(())
            }
            Err(stopped) => {
                let rolled_back =
                    connection.is_autocommit() || execute(connection, "ROLLBACK").is_ok();
                if stopped.is_fault {
                    self.fault = Some(stopped.error.clone());
                } else if rolled_back && !stopped.breaks_connection {
                    self.connection = Some(writing);
                }
                Err(stopped.error)
            }
        }
    }
}

/// Why a piece of work, or a whole group, failed.
struct WorkFailure {
    error: Error,
    breaks_connection: bool,
    /// True if the disk failed, so that what was written before may be lost, too.
    is_fault: bool,
}

impl From<rusqlite::Error> for WorkFailure {
    fn from(error: rusqlite::Error) -> Self {
        WorkFailure {
            breaks_connection: breaks_connection(&error),
            is_fault: is_fault(&error),
            error: describe(&error),
        }
    }
}

impl From<Error> for WorkFailure {
    fn from(error: Error) -> Self {
        WorkFailure {
            error,
            breaks_connection: false,
            is_fault: false,
        }
    }
}

impl From<Failure> for WorkFailure {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Database(error) => error.into(),
            Failure::Refused(error) => error.into(),
        }
    }
}

/// Returns whether the disk failed.
pub(crate) fn is_fault(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure)
}

fn transact(connection: &Connection, group: &mut [Box<dyn Job>]) -> Result<(), WorkFailure> {
    execute(connection, "BEGIN IMMEDIATE")?;
    check_version(connection)?;
    // Work that is alone needs no savepoint, within which SQLite copies each page before it changes.
    let is_shared = group.len() > 1;
    for job in group {
        if is_shared {
            execute(connection, "SAVEPOINT job")?;
        }
        if let Err(stopped) = job.work(connection) {
            // Some failures, a full disk for one, end the transaction of all.
            if connection.is_autocommit() || stopped.is_fault {
                return Err(WorkFailure {
                    breaks_connection: true,
                    ..stopped
                });
            }
            if !is_shared {
                return Ok(execute(connection, "ROLLBACK")?);
            }
            execute(connection, "ROLLBACK TO job")?;
        }
        if is_shared {
            execute(connection, "RELEASE job")?;
        }
    }
    Ok(execute(connection, "COMMIT")?)
}

/// Fails unless the database is still of the versions that it was opened in. Within the transaction
/// they stay: an upgrade by another process comes before it or after it.
fn check_version(connection: &Connection) -> Result<(), WorkFailure> {
    let error = match versions::compare(connection)? {
        Equal => return Ok(()),
        Greater => upgraded(),
        Less => damaged(),
    };
    Err(error.into())
}

/// Moves what is in the log into the database when the log is long. SQLite would do that by itself,
/// but not say that it failed, after which later commits would stand on lost ones.
fn checkpoint_if_long(connection: &Connection) -> rusqlite::Result<()> {
    /// Pages, as SQLite's own limit.
    const LOG_MAX: i64 = 1_000;
    let frames = connection
        .prepare_cached("PRAGMA wal_checkpoint(NOOP)")?
        .query_row([], |row| row.get::<_, i64>(1))?;
    if frames >= LOG_MAX {
        connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
    }
    Ok(())
}

/// Moves what the log holds into the database, when a file is gone from its path: if it is only the
/// log, then nothing that was acknowledged is lost with it. It cannot be told from here whether
/// that helps, nor what to do if it fails.
fn keep_acknowledged(writing: &WriteConnection) {
    let _ = checkpoint(&writing.connection);
}

fn execute(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::opening::open::{Options, open};

    use super::*;

    fn writer() -> (tempfile::TempDir, Writer) {
        let folder = tempfile::tempdir().unwrap();
        let (database, connection) = open(folder.path(), Options::default()).unwrap();
        (folder, Writer::start(database, connection).unwrap())
    }

    /// 2 where the commit of the transaction is flushed, 1 where it is not.
    fn synchronous(connection: &Connection) -> Result<i64> {
        Ok(connection.pragma_query_value(None, "synchronous", |row| row.get(0))?)
    }

    #[test]
    fn what_can_be_made_again_is_committed_without_a_flush() {
        let (_folder, writer) = writer();
        assert_eq!(writer.run(synchronous), Ok(2));
        for _ in 0..2 {
            assert_eq!(writer.run_unflushed(synchronous), Ok(1));
        }
        assert_eq!(writer.run(synchronous), Ok(2));
        assert_eq!(writer.commits(), (4, 2));
    }

    #[test]
    fn a_connection_that_is_made_anew_is_told_anew_whether_to_flush() {
        let (_folder, writer) = writer();
        // Work that ends the transaction of all, after which the connection is not used again.
        let end = |connection: &Connection| -> Result<()> {
            execute(connection, "ROLLBACK")?;
            Err(damaged().into())
        };
        for _ in 0..2 {
            assert_eq!(writer.run_unflushed(end), Err(damaged()));
            assert_eq!(writer.run_unflushed(synchronous), Ok(1));
            assert_eq!(writer.run_unflushed(end), Err(damaged()));
            assert_eq!(writer.run(synchronous), Ok(2));
        }
        assert_eq!(writer.commits(), (4, 2));
    }

    #[test]
    fn of_work_that_fails_alone_nothing_stays() {
        let (_folder, writer) = writer();
        let refused = writer.run(|connection| -> Result<()> {
            execute(
                connection,
                "INSERT INTO lease (name, holder, until) VALUES ('x', 'x', 0)",
            )?;
            Err(Error::invalid("x", "is refused").into())
        });
        assert_eq!(refused, Err(Error::invalid("x", "is refused")));
        let leases = |connection: &Connection| -> Result<i64> {
            Ok(connection.query_row("SELECT count(*) FROM lease", [], |row| row.get(0))?)
        };
        assert_eq!(writer.run(leases), Ok(0));
    }

    /// Work that the disk fails at, as at a flush.
    fn fault<T>(_: &Connection) -> Result<T> {
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR_FSYNC);
        Err(rusqlite::Error::SqliteFailure(code, None).into())
    }

    #[cfg(unix)]
    #[test]
    fn a_commit_is_not_acknowledged_if_its_files_are_gone_by_then() {
        let (folder, writer) = writer();
        let log = folder.path().join("loci.db-wal");
        let aside = folder.path().join("aside");
        let (from, to) = (log.clone(), aside.clone());
        let refused = writer.run(move |connection| {
            std::fs::rename(from, to).unwrap();
            Ok(execute(
                connection,
                "INSERT INTO lease (name, holder, until) VALUES ('x', 'x', 0)",
            )?)
        });
        let message = refused.unwrap_err().message;
        assert!(
            message.contains("not acknowledged, and may be there or not"),
            "{message}"
        );
        let message = writer.run(synchronous).unwrap_err().message;
        assert!(message.contains("so nothing is written"), "{message}");
        std::fs::rename(aside, log).unwrap();
        assert_eq!(writer.run(synchronous), Ok(2));
    }

    #[test]
    fn a_fault_that_another_connection_met_makes_the_log_begin_again() {
        let (folder, writer) = writer();
        let set = |connection: &Connection| -> Result<()> {
            execute(
                connection,
                "INSERT INTO lease (name, holder, until) VALUES (random(), 'x', 0)",
            )?;
            Ok(())
        };
        for _ in 0..9 {
            writer.run_unflushed(set).unwrap();
        }
        let before = log_bytes(folder.path());
        writer.report_io_error(rusqlite::Error::QueryReturnedNoRows);
        assert_eq!(log_bytes(folder.path()), before);
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR_FSYNC);
        writer.report_io_error(rusqlite::Error::SqliteFailure(code, None));
        writer.run(set).unwrap();
        assert!(
            log_bytes(folder.path()) < before,
            "the log has the pages of one commit"
        );
    }

    fn log_bytes(folder: &std::path::Path) -> u64 {
        folder.join("loci.db-wal").metadata().unwrap().len()
    }

    #[test]
    fn after_a_fault_of_the_disk_the_log_begins_anew() {
        for unflushed in [false, true] {
            let (folder, writer) = writer();
            let set = |connection: &Connection| -> Result<()> {
                execute(
                    connection,
                    "INSERT INTO lease (name, holder, until) VALUES (random(), 'x', 0)",
                )?;
                Ok(())
            };
            for _ in 0..9 {
                writer.run_unflushed(set).unwrap();
            }
            let before = log_bytes(folder.path());
            let failed = if unflushed {
                writer.run_unflushed(fault::<()>)
            } else {
                writer.run(fault::<()>)
            };
            assert!(failed.unwrap_err().message.contains("reports a fault"));
            writer.run(set).unwrap();
            assert!(
                log_bytes(folder.path()) < before,
                "the log has the pages of one commit"
            );
            let leases = |connection: &Connection| -> Result<i64> {
                Ok(connection.query_row("SELECT count(*) FROM lease", [], |row| row.get(0))?)
            };
            assert_eq!(
                writer.run(leases),
                Ok(10),
                "nothing that was answered is lost"
            );
        }
    }

    #[test]
    fn nothing_is_written_while_the_log_cannot_begin_anew() {
        let folder = tempfile::tempdir().unwrap();
        let (database, connection) = open(
            folder.path(),
            Options {
                busy_timeout: Duration::from_millis(20),
                ..Options::default()
            },
        )
        .unwrap();
        let writer = Writer::start(database.clone(), connection).unwrap();
        let set = |connection: &Connection| -> Result<()> {
            execute(
                connection,
                "INSERT INTO lease (name, holder, until) VALUES (random(), 'x', 0)",
            )?;
            Ok(())
        };
        writer.run(set).unwrap();
        let reader = database.connect_reader().unwrap();
        let reading = reader.unchecked_transaction().unwrap();
        let count = || {
            reading
                .query_row("SELECT count(*) FROM lease", [], |row| row.get::<_, i64>(0))
                .unwrap()
        };
        assert_eq!(count(), 1);
        writer.run(fault::<()>).unwrap_err();
        let before = log_bytes(folder.path());
        for outcome in [writer.run(set), writer.run_unflushed(set), writer.run(set)] {
            let message = outcome.unwrap_err().message;
            assert!(
                message.contains("nothing is written") && message.contains("reads for long"),
                "{message}"
            );
        }
        assert_eq!((count(), log_bytes(folder.path())), (1, before));
        reading.finish().unwrap();
        writer.run(set).unwrap();
        let now = reader
            .query_row("SELECT count(*) FROM lease", [], |row| row.get::<_, i64>(0))
            .unwrap();
        assert_eq!(now, 2);
    }

    #[test]
    fn the_log_is_kept_short() {
        let (folder, writer) = writer();
        let grow = |connection: &Connection| -> Result<()> {
            connection.execute(
                "INSERT INTO lease (name, holder, until) VALUES (random(), printf('%.*c', 1 << 20, 'x'), 0)",
                [],
            )?;
            Ok(())
        };
        for _ in 0..40 {
            writer.run_unflushed(grow).unwrap();
        }
        assert!(
            log_bytes(folder.path()) < 12 << 20,
            "{}",
            log_bytes(folder.path())
        );
    }

    #[test]
    fn a_fault_fails_all_that_were_to_share_the_commit() {
        let (_folder, writer) = writer();
        let ((begin, begun), (go, wait)) = (sync_channel(1), sync_channel(1));
        let first = move |_: &Connection| Ok(begin.send(()).is_ok() && wait.recv() == Ok(()));
        let first = writer.enqueue(first, true).unwrap();
        begun.recv().unwrap();
        let before = writer.enqueue(synchronous, true).unwrap();
        let failed = writer.enqueue(fault::<()>, true).unwrap();
        let after = writer.enqueue(synchronous, true).unwrap();
        go.send(()).unwrap();
        assert_eq!(first.recv().unwrap(), Ok(true));
        assert!(
            before.recv().unwrap().is_err()
                && failed.recv().unwrap().is_err()
                && after.recv().unwrap().is_err()
        );
        assert_eq!(writer.run(synchronous), Ok(2));
        assert_eq!(writer.commits(), (2, 2));
    }

    #[test]
    fn a_commit_is_flushed_if_any_of_its_work_needs_it() {
        for needs in [[false, false], [false, true], [true, false]] {
            let (_folder, writer) = writer();
            let ((begin, begun), (go, wait)) = (sync_channel(1), sync_channel(1));
            let first = move |_: &Connection| Ok(begin.send(()).is_ok() && wait.recv() == Ok(()));
            let first = writer.enqueue(first, false).unwrap();
            begun.recv().unwrap();
            // Jobs that arrive while the first is at work are done together.
            let rest = needs.map(|needs_flush| writer.enqueue(synchronous, needs_flush).unwrap());
            go.send(()).unwrap();
            assert_eq!(first.recv().unwrap(), Ok(true));
            let flushes = needs.contains(&true);
            for outcome in rest {
                assert_eq!(
                    outcome.recv().unwrap(),
                    Ok(1 + i64::from(flushes)),
                    "{needs:?}"
                );
            }
            assert_eq!(writer.commits(), (2, u64::from(flushes)), "{needs:?}");
        }
    }
}
