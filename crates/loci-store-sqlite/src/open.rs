//! Opening a store: quick where it is current; else made, upgraded or refused.

use std::fmt;
use std::fs::TryLockError;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use loci_core::Error;
use refinery::Migration;
use rusqlite::backup::Backup;
use rusqlite::{Connection, ErrorCode};

use crate::connection::Database;
use crate::{folder, schema};

const DATABASE: &str = "loci.db";
const LOCK: &str = "loci.lock";
const BACKUPS: &str = "backups";

/// How a store behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How long a write waits for other processes before it fails. Default: 10 seconds.
    pub busy_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options { busy_timeout: Duration::from_secs(10) }
    }
}

/// Why a store cannot be opened. Each text says what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// A newer loci wrote the database.
    Newer {
        /// The database file.
        database: PathBuf,
        /// The version of its schema.
        found: i64,
        /// The newest version that this build knows.
        known: i64,
    },
    /// The folder or the database cannot be written.
    ReadOnly {
        /// What cannot be written.
        path: PathBuf,
    },
    /// The folder is on a file system on which databases get damaged.
    NetworkFileSystem {
        /// The folder.
        folder: PathBuf,
        /// The kind of its file system, as Linux names it.
        kind: String,
    },
    /// The folder belongs to another user.
    NotOwner {
        /// The folder.
        folder: PathBuf,
        /// The user id of its owner.
        uid: u32,
    },
    /// The file is damaged or was never a database of loci.
    NotADatabase {
        /// The file.
        database: PathBuf,
    },
    /// The disk is full.
    Full {
        /// What could not be written.
        path: PathBuf,
    },
    /// Another process holds the database locked.
    Busy {
        /// What is locked.
        path: PathBuf,
    },
    /// An upgrade to this build's schema failed; the database is as it was.
    Upgrade {
        /// The database file.
        database: PathBuf,
        /// What the upgrade reported.
        problem: String,
    },
    /// Anything else that the operating system or the database reports.
    Io {
        /// What could not be read or written.
        path: PathBuf,
        /// What was reported.
        problem: String,
    },
}

impl fmt::Display for OpenError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Newer { database, found, known } => write!(
                formatter,
                "{} was written by a newer loci (schema {found}; this one knows {known}): update loci, or choose \
                 another folder with --data",
                database.display()
            ),
            OpenError::ReadOnly { path } => write!(
                formatter,
                "{} cannot be written: make it writable, or choose another folder with --data",
                path.display()
            ),
            OpenError::NetworkFileSystem { folder, kind } => write!(
                formatter,
                "{} is on a network file system ({kind}), where databases get damaged: choose a folder on a local \
                 disk with --data",
                folder.display()
            ),
            OpenError::NotOwner { folder, uid } => write!(
                formatter,
                "{} belongs to another user (uid {uid}): run loci as that user, change the owner, or choose another \
                 folder with --data",
                folder.display()
            ),
            OpenError::NotADatabase { database } => write!(
                formatter,
                "{} is damaged or no database of loci: restore a backup over it, or move it away and start anew",
                database.display()
            ),
            OpenError::Full { path } => {
                write!(formatter, "the disk that holds {} is full: free some space and try again", path.display())
            }
            OpenError::Busy { path } => write!(
                formatter,
                "another process holds {} locked: wait until it is done, or end it, and try again",
                path.display()
            ),
            OpenError::Upgrade { database, problem } => write!(
                formatter,
                "{} could not be upgraded ({problem}) and is as it was: report this, and use the loci that wrote it \
                 meanwhile",
                database.display()
            ),
            OpenError::Io { path, problem } => {
                write!(formatter, "{} cannot be opened ({problem}): check the disk and try again", path.display())
            }
        }
    }
}

impl std::error::Error for OpenError {}

impl From<OpenError> for Error {
    fn from(error: OpenError) -> Self {
        Error::unavailable(error.to_string())
    }
}

impl OpenError {
    pub(crate) fn from_io(error: &io::Error, path: &Path) -> Self {
        let path = path.to_owned();
        match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => OpenError::ReadOnly { path },
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => OpenError::Full { path },
            _ => OpenError::Io { path, problem: error.to_string() },
        }
    }

    fn from_database(error: &rusqlite::Error, path: &Path) -> Self {
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => OpenError::NotADatabase { database: path },
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                OpenError::ReadOnly { path }
            }
            Some(ErrorCode::DiskFull) => OpenError::Full { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => OpenError::Busy { path },
            _ => OpenError::Io { path, problem: error.to_string() },
        }
    }
}

/// Opens the database in the folder with a connection that may write.
pub(crate) fn open(folder: &Path, options: Options) -> Result<(Database, Connection), OpenError> {
    let folder = folder::prepare(folder)?;
    let database = Database { path: folder.join(DATABASE), busy_timeout: options.busy_timeout };
    if database.path.exists() {
        let connection = connect(&database)?;
        if version(&connection, &database)? == schema::VERSION {
            keep_log(&connection, &database)?;
            return Ok((database, connection));
        }
    }
    let migrations = schema::migrations().map_err(|error| upgrade_error(&error, &database))?;
    let connection = make_current(&folder, &database, &migrations, schema::VERSION)?;
    Ok((database, connection))
}

fn connect(database: &Database) -> Result<Connection, OpenError> {
    let failed = |error: rusqlite::Error| OpenError::from_database(&error, &database.path);
    let connection = database.connect().map_err(failed)?;
    if connection.is_readonly(c"main").map_err(failed)? {
        return Err(OpenError::ReadOnly { path: database.path.clone() });
    }
    Ok(connection)
}

/// The version of the schema, 0 if there is none yet; an error if this build must not touch it.
fn version(connection: &Connection, database: &Database) -> Result<i64, OpenError> {
    let failed = |error: rusqlite::Error| OpenError::from_database(&error, &database.path);
    let (application, found) = schema::identity(connection).map_err(failed)?;
    let fresh = found == 0 && application == 0 && schema::is_empty(connection).map_err(failed)?;
    if !fresh && application != schema::APPLICATION_ID {
        return Err(OpenError::NotADatabase { database: database.path.clone() });
    }
    if found > schema::VERSION {
        return Err(OpenError::Newer { database: database.path.clone(), found, known: schema::VERSION });
    }
    Ok(found)
}

/// Puts the write-ahead log on, which stays on in the file; a restored copy may have it off.
fn keep_log(connection: &Connection, database: &Database) -> Result<(), OpenError> {
    let failed = |error: rusqlite::Error| OpenError::from_database(&error, &database.path);
    let switch = "PRAGMA journal_mode = WAL";
    let mode: String = connection.query_row(switch, [], |row| row.get(0)).map_err(failed)?;
    if mode == "wal" {
        return Ok(());
    }
    Err(OpenError::Io { path: database.path.clone(), problem: format!("its journal stays in mode {mode}") })
}

/// Makes or upgrades the database, while other processes that would do the same wait.
fn make_current(
    folder: &Path,
    database: &Database,
    migrations: &[Migration],
    latest: i64,
) -> Result<Connection, OpenError> {
    let lock_path = folder.join(LOCK);
    let lock = folder::create_file(&lock_path).map_err(|error| OpenError::from_io(&error, &lock_path))?;
    wait_for(&lock, database.busy_timeout.max(Duration::from_mins(1)), &lock_path)?;
    folder::create_file(&database.path)
        .and_then(|_| folder::flush(folder))
        .map_err(|error| OpenError::from_io(&error, &database.path))?;
    let mut connection = connect(database)?;
    let found = version(&connection, database)?;
    keep_log(&connection, database)?;
    if found < latest {
        if found > 0 {
            back_up(folder, database, &connection, found)?;
        }
        schema::migrate(&mut connection, migrations).map_err(|error| upgrade_error(&error, database))?;
        if found == 0 {
            tracing::info!(schema = latest, "made the database");
        } else {
            tracing::info!(from = found, to = latest, "upgraded the database");
        }
    }
    Ok(connection)
}

/// Waits for the file lock, which ends with the file.
#[expect(clippy::disallowed_methods, reason = "no system offers to wait for a file lock with a limit, so we poll")]
fn wait_for(lock: &std::fs::File, limit: Duration, path: &Path) -> Result<(), OpenError> {
    const PAUSE: Duration = Duration::from_millis(10);
    let start = Instant::now();
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if start.elapsed() < limit => thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => return Err(OpenError::Busy { path: path.to_owned() }),
            Err(TryLockError::Error(error)) => return Err(OpenError::from_io(&error, path)),
        }
    }
}

/// Copies the database as it is into the folder of backups. The copy has its final name only when
/// it is whole and on the disk.
fn back_up(folder: &Path, database: &Database, connection: &Connection, version: i64) -> Result<(), OpenError> {
    let backups = folder.join(BACKUPS);
    let failed = |error: rusqlite::Error| OpenError::from_database(&error, &backups);
    let io_failed = |error: io::Error| OpenError::from_io(&error, &backups);
    folder::prepare(&backups)?;
    let now = "SELECT strftime('%Y%m%dT%H%M%SZ', 'now')";
    let now: String = connection.query_row(now, [], |row| row.get(0)).map_err(failed)?;
    let unfinished = backups.join("unfinished.db");
    let _ = std::fs::remove_file(&unfinished);
    let file = folder::create_file(&unfinished).map_err(io_failed)?;
    {
        let mut copy = Connection::open(&unfinished).map_err(failed)?;
        let backup = Backup::new(connection, &mut copy).map_err(failed)?;
        backup.run_to_completion(i32::MAX, Duration::from_millis(10), None).map_err(failed)?;
    }
    file.sync_all().map_err(io_failed)?;
    let backup = backups.join(format!("loci-v{version}-{now}.db"));
    std::fs::rename(&unfinished, &backup).and_then(|()| folder::flush(&backups)).map_err(io_failed)?;
    tracing::info!(backup = %backup.display(), of = %database.path.display(), "backed up before the upgrade");
    Ok(())
}

fn upgrade_error(error: &refinery::Error, database: &Database) -> OpenError {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<rusqlite::Error>());
    match cause.map(|cause| OpenError::from_database(cause, &database.path)) {
        Some(error @ (OpenError::Full { .. } | OpenError::ReadOnly { .. } | OpenError::Busy { .. })) => error,
        _ => OpenError::Upgrade { database: database.path.clone(), problem: error.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use loci_core::{
        CandidateQuery, Delivery, Memory, MemoryId, ModelId, Page, Place, QueryVector, Store, Timestamp, TokenStore,
        Visibility,
    };
    use loci_testkit::contract::{filter, memory, passage, put};

    use super::*;
    use crate::SqliteStore;

    /// A folder with a store of one memory, of this build's schema.
    fn folder_with_a_memory() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
        store.commit(put(&memory("kept"), vec![passage("word")])).unwrap();
        folder
    }

    /// Opens the folder as the next version would.
    fn upgrade(folder: &Path, sql: &str) -> Result<Connection, OpenError> {
        let database = Database { path: folder.join(DATABASE), busy_timeout: Duration::from_secs(1) };
        let mut migrations = schema::migrations().unwrap();
        let next = schema::VERSION + 1;
        migrations.push(Migration::unapplied(&format!("V{next}__next"), sql).unwrap());
        make_current(folder, &database, &migrations, next)
    }

    /// The only backup, which is of that version.
    fn the_backup(folder: &Path, version: i64) -> PathBuf {
        let files = fs::read_dir(folder.join(BACKUPS)).unwrap();
        let files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
        let [backup] = <[PathBuf; 1]>::try_from(files).unwrap();
        let name = backup.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with(&format!("loci-v{version}-")), "{name}");
        backup
    }

    /// Two memories as version 1 wrote them: one with every column, one with as little as can be.
    const V1_DATA: &str = "
        INSERT INTO memory VALUES
            (1, 'main', 'full', 'project', 'rules', 'rule', '[\"a\"]', 0.7, 'bootstrap', 'ann', 'private', 'gone',
                2000000000, 7, 8, 3),
            (2, 'main', 'bare', NULL, 'fact', 'fact', '[]', 0.5, 'on_demand', NULL, 'common', NULL, NULL, 9, 9, 1);
        INSERT INTO content VALUES (1, 'first words'), (2, 'second');
        INSERT INTO model VALUES (1, 'test');
        INSERT INTO passage VALUES
            ((1 << 20), 0, 5, x'01056669727374', 1, 0.0078125, x'8100'),
            ((1 << 20) + 1, 6, 11, x'0105776f726473', 1, 0.0078125, x'0081'),
            ((2 << 20), 0, 6, x'01067365636f6e64', NULL, NULL, NULL);
        INSERT INTO change VALUES (1, 1), (2, 2), (3, 1);
        INSERT INTO token VALUES ('laptop', zeroblob(32), 'main', 'ann', 'read', 5, NULL, NULL);";

    #[test]
    fn a_database_of_version_1_answers_as_before() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database { path: folder.path().join(DATABASE), busy_timeout: Duration::from_secs(1) };
        let v1 = schema::migrations().unwrap().into_iter().take(1).collect::<Vec<_>>();
        make_current(folder.path(), &database, &v1, 1).unwrap().execute_batch(V1_DATA).unwrap();
        let store = SqliteStore::open(folder.path(), Options::default()).unwrap();

        let moment = Timestamp::from_microseconds;
        let bare =
            Memory { content: "second".to_owned(), created_at: moment(9), updated_at: moment(9), ..memory("bare") };
        let full = Memory {
            content: "first words".to_owned(),
            place: Place { collection: Some("project".to_owned()), section: "rules".to_owned() },
            kind: "rule".to_owned(),
            tags: vec!["a".to_owned()],
            weight: 0.7,
            delivery: Delivery::Bootstrap,
            owner: Some("ann".to_owned()),
            visibility: Visibility::Private,
            supersedes: Some(MemoryId::new("gone")),
            expires_at: Some(moment(2_000_000_000)),
            created_at: moment(7),
            updated_at: moment(8),
            revision: 3,
            ..memory("full")
        };
        assert_eq!(store.list(&filter(), Page { offset: 0, limit: 10 }), Ok(vec![bare.clone(), full.clone()]));
        let vector = QueryVector { model: ModelId::new("test"), values: vec![0.0, 1.0] };
        let (filter, terms) = (filter(), ["second".to_owned()]);
        let query = CandidateQuery { filter: &filter, terms: &terms, vector: Some(&vector), limit: 10 };
        let found = store.candidates(&query).unwrap();
        let mut hits: Vec<_> = found.hits.iter().map(|hit| (hit.id.as_str(), hit.cosine, hit.bm25 > 0.0)).collect();
        hits.sort_by_key(|(id, ..)| *id);
        assert_eq!(hits, [("bare", None, true), ("full", Some(0.0), false)]);
        assert_eq!(store.version(), Ok(3));
        assert_eq!(store.tokens().unwrap().len(), 1);
        assert_eq!(store.without_vector(&vector.model, 10).unwrap(), [(bare.space.clone(), bare.id.clone())]);
        assert_eq!(store.integrity_check(), Ok(Vec::new()));

        assert_eq!(store.soft_delete(&filter, Some(&full.id), moment(10), 1), Ok(1));
        assert_eq!(store.list(&filter, Page { offset: 0, limit: 10 }), Ok(vec![bare]));
        the_backup(folder.path(), 1);
    }

    #[test]
    fn an_older_schema_is_upgraded_after_a_backup() {
        let folder = folder_with_a_memory();
        let sql = format!("ALTER TABLE memory ADD COLUMN added TEXT; PRAGMA user_version = {};", schema::VERSION + 1);
        let connection = upgrade(folder.path(), &sql).unwrap();
        let ids: String =
            connection.query_row("SELECT id FROM memory WHERE added IS NULL", [], |row| row.get(0)).unwrap();
        assert_eq!(ids, "kept");
        drop(connection);
        let refused = SqliteStore::open(folder.path(), Options::default()).unwrap_err();
        assert!(
            matches!(refused, OpenError::Newer { found, known: schema::VERSION, .. } if found == schema::VERSION + 1),
            "{refused}"
        );
        let backup = the_backup(folder.path(), schema::VERSION);
        let restored = tempfile::tempdir().unwrap();
        fs::copy(backup, restored.path().join(DATABASE)).unwrap();
        let restored = SqliteStore::open(restored.path(), Options::default()).unwrap();
        let kept = memory("kept");
        assert_eq!(restored.get(&kept.space, &kept.id), Ok(Some(kept)));
    }

    #[test]
    fn an_upgrade_that_fails_leaves_the_database_as_it_was() {
        let folder = folder_with_a_memory();
        let refused = upgrade(folder.path(), "DROP TABLE content; SELECT nonsense;").unwrap_err();
        assert!(matches!(refused, OpenError::Upgrade { .. }), "{refused}");
        let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
        let kept = memory("kept");
        assert_eq!(store.get(&kept.space, &kept.id), Ok(Some(kept)));
        assert_eq!(store.integrity_check(), Ok(Vec::new()));
    }

    #[test]
    fn a_creation_that_was_cut_off_is_completed() {
        let folder = tempfile::tempdir().unwrap();
        let connection = Connection::open(folder.path().join(DATABASE)).unwrap();
        connection.execute_batch("CREATE TABLE refinery_schema_history (version int4 PRIMARY KEY, name VARCHAR(255), applied_on VARCHAR(255), checksum VARCHAR(255))").unwrap();
        drop(connection);
        SqliteStore::open(folder.path(), Options::default()).unwrap();
    }

    #[test]
    fn every_refusal_says_what_to_do() {
        let path = PathBuf::from("here");
        let refusals = [
            OpenError::Newer { database: path.clone(), found: 2, known: 1 },
            OpenError::ReadOnly { path: path.clone() },
            OpenError::NetworkFileSystem { folder: path.clone(), kind: "nfs4".to_owned() },
            OpenError::NotOwner { folder: path.clone(), uid: 7 },
            OpenError::NotADatabase { database: path.clone() },
            OpenError::Full { path: path.clone() },
            OpenError::Busy { path: path.clone() },
            OpenError::Upgrade { database: path.clone(), problem: "x".to_owned() },
            OpenError::Io { path, problem: "x".to_owned() },
        ];
        for refusal in refusals {
            let text = Error::from(refusal).message;
            assert!(text.contains("here") && text.contains(": "), "{text}");
        }
    }
}
