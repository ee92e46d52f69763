//! The one thread that writes: it puts everything that waits into one commit, hence one flush of
//! the disk, and answers when that is done.

use std::cmp::Ordering::{Equal, Greater, Less};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use loci_core::Error;
use rusqlite::Connection;

use crate::connection::Database;
use crate::failure::{Result, breaks_connection, damaged, describe, upgraded};
use crate::schema;

/// Pieces of work that may wait; further callers wait before they are let in.
const QUEUE_MAX: usize = 1_024;
/// Pieces of work in one commit.
const GROUP_MAX: usize = 256;
/// One part of work that can be done in parts, so that it does not hold up others for long.
#[derive(Debug)]
pub(crate) struct Turn {
    begun: Instant,
    /// Of large texts that were removed: they are overwritten, which the commit pays for.
    bytes: i64,
}

impl Turn {
    const TIME_MAX: Duration = Duration::from_millis(1);
    const BYTES_MAX: i64 = 256 << 10;

    pub(crate) fn begin() -> Self {
        Turn { begun: Instant::now(), bytes: 0 }
    }

    /// Counts bytes that were removed.
    pub(crate) fn remove(&mut self, bytes: i64) {
        self.bytes += bytes;
    }

    /// Whether the rest is for the next turn.
    pub(crate) fn is_over(&self) -> bool {
        self.bytes >= Turn::BYTES_MAX || self.begun.elapsed() >= Turn::TIME_MAX
    }
}

/// Where work for the writing thread is handed in.
#[derive(Debug)]
pub(crate) struct Writer {
    /// Taken by `drop`, which ends the thread.
    queue: Mutex<Option<SyncSender<Box<dyn Job>>>>,
    thread: Option<JoinHandle<()>>,
    #[cfg_attr(not(test), expect(dead_code, reason = "tests see by it that writers share commits"))]
    commits: Arc<AtomicU64>,
}

impl Writer {
    /// Starts the thread with a connection that may write.
    pub(crate) fn start(database: Database, connection: Connection) -> io::Result<Self> {
        let (queue, jobs) = sync_channel(QUEUE_MAX);
        let commits = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&commits);
        let work = move || WritingThread { database, connection: Some(connection), commits: counter }.run(&jobs);
        let thread = thread::Builder::new().name("loci-writer".to_owned()).spawn(work)?;
        Ok(Writer { queue: Mutex::new(Some(queue)), thread: Some(thread), commits })
    }

    /// Does a piece of work inside a transaction and waits until it is durable. If the work fails,
    /// nothing of it happens, whatever happens to other work in the same commit.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        let stopped = || Error::unavailable("the writing thread has stopped; restart loci and report this");
        let (reply, outcome) = sync_channel(1);
        let job = Task { work: Some(work), outcome: None, reply };
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner).clone();
        queue.ok_or_else(stopped)?.send(Box::new(job)).map_err(|_| stopped())?;
        outcome.recv().map_err(|_| stopped())?
    }

    /// How many transactions were committed since the start.
    #[cfg(test)]
    pub(crate) fn commits(&self) -> u64 {
        self.commits.load(Ordering::SeqCst)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.queue.lock().unwrap_or_else(PoisonError::into_inner).take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

trait Job: Send {
    /// Does the work inside the open transaction.
    fn work(&mut self, connection: &Connection) -> Result<(), Error>;
    /// Answers, when the transaction is committed or has failed.
    fn answer(self: Box<Self>, committed: &Result<(), Error>);
}

struct Task<T, W> {
    work: Option<W>,
    outcome: Option<Result<T, Error>>,
    reply: SyncSender<Result<T, Error>>,
}

impl<T: Send, W: FnOnce(&Connection) -> Result<T> + Send> Job for Task<T, W> {
    fn work(&mut self, connection: &Connection) -> Result<(), Error> {
        let Some(work) = self.work.take() else { return Ok(()) };
        let outcome = work(connection).map_err(Error::from);
        let done = outcome.as_ref().map(|_| ()).map_err(Clone::clone);
        self.outcome = Some(outcome);
        done
    }

    fn answer(self: Box<Self>, committed: &Result<(), Error>) {
        let answer = match (self.outcome, committed) {
            (Some(Err(error)), _) => Err(error),
            (_, Err(error)) => Err(error.clone()),
            (Some(outcome), Ok(())) => outcome,
            (None, Ok(())) => Err(Error::internal("a write was left out of its commit; please report this")),
        };
        // A caller that no longer waits needs no answer.
        let _ = self.reply.send(answer);
    }
}

struct WritingThread {
    database: Database,
    /// None after a failure that leaves it unclear what the connection believes about the file.
    connection: Option<Connection>,
    commits: Arc<AtomicU64>,
}

impl WritingThread {
    fn run(mut self, jobs: &Receiver<Box<dyn Job>>) {
        while let Ok(first) = jobs.recv() {
            let mut group = vec![first];
            group.extend(jobs.try_iter().take(GROUP_MAX - 1));
            let committed = self.write(&mut group);
            if let Err(error) = &committed {
                tracing::warn!(writes = group.len(), "a commit failed: {error}");
            }
            for job in group {
                job.answer(&committed);
            }
        }
    }

    /// Does the work of a group in one transaction. An error means that nothing was written.
    fn write(&mut self, group: &mut [Box<dyn Job>]) -> Result<(), Error> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.database.connect().map_err(|error| describe(&error))?,
        };
        match transact(&connection, group) {
            Ok(()) => {
                self.commits.fetch_add(1, Ordering::SeqCst);
                self.connection = Some(connection);
                Ok(())
            }
            Err(stopped) => {
                let rolled_back = connection.is_autocommit() || execute(&connection, "ROLLBACK").is_ok();
                if rolled_back && !stopped.breaks_connection {
                    self.connection = Some(connection);
                }
                Err(stopped.error)
            }
        }
    }
}

/// Why a whole group failed.
struct Stopped {
    error: Error,
    breaks_connection: bool,
}

impl From<rusqlite::Error> for Stopped {
    fn from(error: rusqlite::Error) -> Self {
        Stopped { breaks_connection: breaks_connection(&error), error: describe(&error) }
    }
}

fn transact(connection: &Connection, group: &mut [Box<dyn Job>]) -> Result<(), Stopped> {
    execute(connection, "BEGIN IMMEDIATE")?;
    check_version(connection)?;
    for job in group {
        execute(connection, "SAVEPOINT job")?;
        if let Err(error) = job.work(connection) {
            // Some failures, a full disk for one, end the transaction of all.
            if connection.is_autocommit() {
                return Err(Stopped { error, breaks_connection: true });
            }
            execute(connection, "ROLLBACK TO job")?;
        }
        execute(connection, "RELEASE job")?;
    }
    Ok(execute(connection, "COMMIT")?)
}

/// Fails unless the database is still of the versions that it was opened in. Within the transaction they
/// stay: an upgrade by another process comes before it or after it.
fn check_version(connection: &Connection) -> Result<(), Stopped> {
    let error = match schema::compare(connection)? {
        Equal => return Ok(()),
        Greater => upgraded(),
        Less => damaged(),
    };
    Err(Stopped { error, breaks_connection: false })
}

fn execute(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([])?;
    Ok(())
}
