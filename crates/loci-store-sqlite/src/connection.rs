//! Connections and their settings.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use loci_core::Error;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::failure::{Failure, Result};
use crate::integrity::checksum;
use crate::key::{self, StoreKey};
use crate::opening::files::OpenFiles;
use crate::opening::versions::{describe_read, refuse_upgraded};

/// Settings of every connection. A small page cache keeps an idle process small: what is hot is in
/// the index or in the operating system's cache. The `fullfsync` settings count only on macOS.
/// Deleted content is overwritten. The writer lowers `synchronous` for commits that need no flush,
/// and keeps the log short.
const SETTINGS: &str = "PRAGMA synchronous = FULL;
    PRAGMA fullfsync = ON;
    PRAGMA checkpoint_fullfsync = ON;
    PRAGMA wal_autocheckpoint = 0;
    PRAGMA cache_size = -1024;
    PRAGMA journal_size_limit = 16777216;
    PRAGMA trusted_schema = OFF;
    PRAGMA secure_delete = ON;
    PRAGMA temp_store = FILE;";
/// Statements that a connection keeps prepared.
const STATEMENTS_CACHED: usize = 64;
/// Connections that wait for the next read.
const READERS_IDLE_MAX: usize = 4;
/// Connections that read at once. Further threads wait for one: SQLite keeps the file descriptor of
/// a closed connection as long as the process has another to the same file, so that each burst would
/// leave as many as it had.
const READERS_USED_MAX: usize = 16;
/// The time after which a thread opens one more, so that a read within a read cannot wait forever.
const READER_TIMEOUT: Duration = Duration::from_secs(5);

/// The database file and how to connect to it.
#[derive(Debug, Clone)]
pub(crate) struct Database {
    pub(crate) path: PathBuf,
    pub(crate) busy_timeout: Duration,
    pub(crate) access: Access,
    pub(crate) files: Arc<OpenFiles>,
    /// None if it is not encrypted.
    pub(crate) key: Option<StoreKey>,
}

/// The use that connections may make of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    ReadWrite,
    /// They read what another process writes. The files of the log must be there.
    ReadOnly,
    /// They read a file that no process writes, and take no lock. Commits in a log beside it are
    /// not seen.
    Immutable,
}

impl Database {
    /// A database whose connections may write.
    pub(crate) fn new(path: PathBuf, busy_timeout: Duration) -> Self {
        Database {
            files: Arc::new(OpenFiles::of(&path)),
            path,
            busy_timeout,
            access: Access::ReadWrite,
            key: None,
        }
    }

    /// The same with a key, if it has one.
    pub(crate) fn with_key(self, key: Option<StoreKey>) -> Self {
        Database { key, ..self }
    }

    /// A connection that may write, if the database can be written. The file must exist, and be the
    /// one that was opened first.
    pub(crate) fn connect(&self) -> Result<Connection> {
        self.files.check_database().map_err(Error::from)?;
        let connection = self.open_file()?;
        // Nothing is read yet: SQLite would lay the log over another database, and delete it when
        // the connection goes.
        self.files.check_database().map_err(Error::from)?;
        Ok(self.set_up(connection)?)
    }

    /// The same, whichever file lies there.
    pub(crate) fn open(&self) -> rusqlite::Result<Connection> {
        self.set_up(self.open_file()?)
    }

    fn open_file(&self) -> rusqlite::Result<Connection> {
        let open = |path: &Path, flags| {
            Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        };
        match self.access {
            Access::ReadWrite => open(&self.path, OpenFlags::SQLITE_OPEN_READ_WRITE),
            Access::ReadOnly => open(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY),
            Access::Immutable => open(
                Path::new(&format!("{}?immutable=1", uri(&self.path))),
                OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI,
            ),
        }
    }

    fn set_up(&self, connection: Connection) -> rusqlite::Result<Connection> {
        connection.busy_timeout(self.busy_timeout)?;
        if let Some(key) = &self.key {
            key.apply(&connection)?;
        }
        // Without this, SQLite prepares a statement again whenever another value is bound to a
        // bound of a range.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS_CACHED);
        connection.execute_batch(SETTINGS)?;
        if self.key.is_some() {
            connection.execute_batch(key::SETTINGS)?;
        }
        if self.access == Access::Immutable {
            // Because the folder for temporary files may be on the same full disk.
            connection.execute_batch("PRAGMA temp_store = MEMORY")?;
        }
        checksum::register(&connection)?;
        Ok(connection)
    }

    /// A connection that only reads.
    pub(crate) fn connect_reader(&self) -> Result<Connection> {
        let connection = self.connect()?;
        connection.execute_batch("PRAGMA query_only = ON")?;
        Ok(connection)
    }

    /// Bytes of the database and its log on the disk.
    pub(crate) fn disk_bytes(&self) -> u64 {
        let bytes = |path: &Path| path.metadata().map_or(0, |metadata| metadata.len());
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        bytes(&self.path) + bytes(Path::new(&log))
    }
}

/// The path as a URI.
fn uri(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                uri.push(char::from(*byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// The connections that read.
#[derive(Debug)]
pub(crate) struct Readers {
    database: Database,
    state: Mutex<ReadersState>,
    /// Told when a connection is free or closed.
    freed: Condvar,
}

#[derive(Debug, Default)]
struct ReadersState {
    /// The connections that wait for a read.
    idle: Vec<ReadingConnection>,
    /// The number of connections that are used.
    used: usize,
}

#[derive(Debug)]
struct ReadingConnection {
    connection: Connection,
    /// SQLite's data version when the database was last known to have the versions of this build.
    data_version: i64,
}

/// A share in the connections that are used, given back when it is dropped.
struct Use<'a>(&'a Readers);

impl Drop for Use<'_> {
    fn drop(&mut self) {
        self.0.state().used -= 1;
        self.0.freed.notify_one();
    }
}

impl Readers {
    pub(crate) fn new(database: Database) -> Self {
        Readers {
            database,
            state: Mutex::default(),
            freed: Condvar::new(),
        }
    }

    /// The key of the database, if it is encrypted.
    pub(crate) fn key(&self) -> Option<&StoreKey> {
        self.database.key.as_ref()
    }

    fn state(&self) -> MutexGuard<'_, ReadersState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads with a connection of its own. A connection that failed is not used again. A database
    /// that a newer version upgraded is refused.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T>) -> Result<T, Error> {
        let (_share, waiting) = self.begin();
        let (connection, known) = match waiting {
            Some(ReadingConnection {
                connection,
                data_version,
            }) => (connection, data_version),
            None => (self.database.connect_reader()?, NO_DATA_VERSION),
        };
        let value = read(&connection).map_err(|failure| describe_read(failure, &connection))?;
        // Now, so that no upgrade comes between the look and what was read.
        let data_version = data_version(&connection).map_err(Failure::from)?;
        if data_version != known {
            refuse_upgraded(&connection)?;
        }
        let mut state = self.state();
        if state.idle.len() < READERS_IDLE_MAX {
            state.idle.push(ReadingConnection {
                connection,
                data_version,
            });
        }
        drop(state);
        Ok(value)
    }

    /// Closes the connections that wait for a read, each of which holds the schema and statements, but
    /// for one, whose page cache of up to 1 MB is freed.
    pub(crate) fn shrink(&self) {
        let mut state = self.state();
        state.idle.truncate(1);
        for waiting in &state.idle {
            // The next read tells of what is wrong.
            let _ = waiting.connection.execute_batch("PRAGMA shrink_memory");
        }
    }

    /// Waits until fewer than [`READERS_USED_MAX`] connections are used, at most
    /// [`READER_TIMEOUT`]. Returns a share, and a connection if one is idle.
    fn begin(&self) -> (Use<'_>, Option<ReadingConnection>) {
        let waited = self
            .freed
            .wait_timeout_while(self.state(), READER_TIMEOUT, |state| {
                state.used >= READERS_USED_MAX
            });
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.used += 1;
        (Use(self), state.idle.pop())
    }
}

/// None is like it, so that a first look finds a difference.
pub(crate) const NO_DATA_VERSION: i64 = -1;

/// Changes whenever another connection commits, in this process or another.
pub(crate) fn data_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("PRAGMA data_version")?
        .query_row([], |row| row.get(0))
}

/// Moves the commits in the write-ahead log into the database, as far as no other connection has to
/// wait (a passive checkpoint).
pub(crate) fn checkpoint(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
}

/// Empties the write-ahead log, in which pages from before a deletion still lie, unless a connection
/// reads, for which it waits only as long as writers may be held up.
pub(crate) fn empty_log(database: &Database) -> Result<()> {
    const WAIT_MAX: Duration = Duration::from_millis(2);
    let connection = database.connect_reader()?;
    connection.busy_timeout(WAIT_MAX)?;
    // Most is moved while others write, so that they are held up only by the rest.
    checkpoint(&connection)?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::thread;

    use rusqlite::StatementStatus;

    use super::*;
    use crate::opening::open::{Options, open};

    /// One that is prepared again for each value takes several times as long.
    #[test]
    fn a_range_is_read_with_other_bounds_without_being_prepared_again() {
        let folder = tempfile::tempdir().unwrap();
        let (database, writer) = open(folder.path(), Options::default()).unwrap();
        for connection in [writer, database.connect_reader().unwrap()] {
            let mut statement = connection
                .prepare("SELECT 1 FROM passage WHERE row BETWEEN ?1 AND ?2")
                .unwrap();
            for row in 0..3 {
                assert!(!statement.exists([row, row + 1]).unwrap());
            }
            assert_eq!(statement.get_status(StatementStatus::RePrepare), 0);
        }
    }

    #[test]
    fn a_burst_of_reads_opens_a_bounded_number_of_connections() {
        let folder = tempfile::tempdir().unwrap();
        let (database, _writer) = open(folder.path(), Options::default()).unwrap();
        let readers = Readers::new(database);
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..4 * READERS_USED_MAX {
                scope.spawn(|| {
                    readers.read(|connection| {
                        most.fetch_max(1 + now.fetch_add(1, SeqCst), SeqCst);
                        let rows = connection.query_row(
                            "WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number LIMIT 20000)
                             SELECT count(*) FROM number",
                            [],
                            |row| row.get::<_, i64>(0),
                        );
                        now.fetch_sub(1, SeqCst);
                        Ok(rows?)
                    })
                    .unwrap();
                });
            }
        });
        assert!(
            (2..=READERS_USED_MAX).contains(&most.load(SeqCst)),
            "{most:?}"
        );
        let idle = || {
            let state = readers.state();
            assert_eq!(state.used, 0);
            state.idle.len()
        };
        assert!((2..=READERS_IDLE_MAX).contains(&idle()));
        readers.shrink();
        assert_eq!(idle(), 1);
    }

    #[test]
    fn a_commit_reaches_the_disk_before_it_returns() {
        let folder = tempfile::tempdir().unwrap();
        let (database, writer) = open(folder.path(), Options::default()).unwrap();
        for connection in [writer, database.connect().unwrap()] {
            let number = |pragma| {
                connection
                    .pragma_query_value(None, pragma, |row| row.get::<_, i64>(0))
                    .unwrap()
            };
            let mode: String = connection
                .pragma_query_value(None, "journal_mode", |row| row.get(0))
                .unwrap();
            assert_eq!(
                (number("synchronous"), mode.as_str()),
                (2, "wal"),
                "2 is FULL"
            );
        }
    }
}
