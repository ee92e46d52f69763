//! Where the stores lie that are compared: schemas of a server that flushes what it acknowledges,
//! and folders on the disk of this machine.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use loci::exit::Failure;
use loci_core::{Batch, Change, Expect, Memory, Space, Store};
use loci_store_postgres::{Options, PostgresStore};
use loci_store_sqlite::SqliteStore;
use loci_testkit::postgres::{Server, Setup, URL_VARIABLE};
use tempfile::TempDir;

use crate::engine::synthetic::Synthetic;

/// The number of memories in a transaction while a store is filled.
const BATCH: usize = 2_000;
/// The connections of a store.
const CONNECTIONS: usize = 16;

/// The server and the folder of a run.
pub struct Places {
    url: String,
    /// The server, if the run has started one.
    server: Option<Server>,
    schema: String,
    folder: TempDir,
    folders: AtomicUsize,
}

impl Places {
    /// Uses the server that the variable of the tests names, or starts one.
    pub fn new() -> Result<Self, Failure> {
        let (url, server) = if let Ok(url) = std::env::var(URL_VARIABLE) {
            (url, None)
        } else {
            let server = Server::start(&Setup {
                fsync: true,
                ..Setup::default()
            });
            (server.url.clone(), Some(server))
        };
        Ok(Places {
            url,
            server,
            schema: format!("bench_{}", std::process::id()),
            folder: tempfile::tempdir()?,
            folders: AtomicUsize::new(0),
        })
    }

    /// Returns the URL of the server.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the schema of the run.
    pub fn schema(&self) -> &str {
        &self.schema
    }

    /// Has the server log all statements for a time; returns what it logged. `None` if the server is not
    /// the run's own.
    pub fn log_of(&self, time: Duration) -> Option<String> {
        let server = self.server.as_ref()?;
        let log_all = |value: &str| {
            server.sql(&format!("ALTER SYSTEM SET log_statement = '{value}'"));
            server.sql("SELECT pg_reload_conf()");
        };
        log_all("all");
        let before = server.log().len();
        wait(time);
        let mut log = server.log();
        log_all("none");
        Some(log.split_off(before.min(log.len())))
    }

    /// Opens the store on the server, with nothing in the memory of this process.
    pub fn postgres(&self) -> Result<PostgresStore, Failure> {
        Ok(PostgresStore::open(Options {
            schema: self.schema.clone(),
            connections_max: CONNECTIONS,
            ..Options::new(self.url.as_str())
        })?)
    }

    /// Returns an empty folder for a store.
    pub fn folder(&self) -> PathBuf {
        let number = self.folders.fetch_add(1, Ordering::Relaxed);
        self.folder.path().join(number.to_string())
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        // A server of the run goes as a whole.
        if self.server.is_none()
            && let Ok(store) = self.postgres()
        {
            let _ = store.destroy();
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "what idle processes do in a time is measured"
)]
fn wait(time: Duration) {
    std::thread::sleep(time);
}

/// Opens a store in a folder. It writes no segment, the file that would spare it to load the index
/// from its tables, as a store on a server does.
pub fn sqlite(folder: &Path) -> Result<SqliteStore, Failure> {
    let options = loci_store_sqlite::Options {
        segment_min: usize::MAX,
        ..loci_store_sqlite::Options::default()
    };
    Ok(SqliteStore::open(folder, options).map_err(loci_core::Error::from)?)
}

/// Returns a space of that name.
pub fn space(name: &str) -> Result<Space, Failure> {
    Ok(Space::parse("space", name)?)
}

/// Returns the change that stores a made-up memory of one passage in a space.
fn put(corpus: &Synthetic, space: &Space, index: usize) -> Change {
    let (memory, passage) = corpus.memory(index);
    Change::Put {
        memory: Box::new(Memory {
            space: space.clone(),
            ..memory
        }),
        passages: Some(vec![passage]),
        expect: Expect::Absent,
    }
}

/// Returns a batch with one memory.
pub fn batch(corpus: &Synthetic, space: &Space, index: usize) -> Batch {
    Batch::new(space.clone(), vec![put(corpus, space, index)])
}

/// Stores the whole corpus in a space of both stores.
pub fn fill(stores: &[&dyn Store], corpus: &Synthetic, space: &Space) -> Result<(), Failure> {
    for begin in (0..corpus.passages()).step_by(BATCH) {
        let end = corpus.passages().min(begin + BATCH);
        let changes: Vec<_> = (begin..end)
            .map(|index| put(corpus, space, index))
            .collect();
        for store in stores {
            store.commit(Batch::new(space.clone(), changes.clone()))?;
        }
    }
    Ok(())
}
