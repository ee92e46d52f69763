//! Copies of the database: made before an upgrade, put into a backup, or brought back from one.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use loci_core::{Error, InspectionReport};
use rusqlite::Connection;

use crate::connection::Database;
use crate::failure::Failure;
use crate::integrity::doctor;
use crate::key::StoreKey;
use crate::opening::copies::copy;
use crate::opening::open::{Options, analysis, version};
use crate::opening::open_database::OpenDatabase;
use crate::opening::open_error::OpenError;
use crate::opening::schema;

/// The database as of one moment. While it lives, the log keeps what it needs, and grows.
#[derive(Debug)]
pub(crate) struct Snapshot {
    connection: Connection,
    /// Closed after the connection.
    opened: Arc<OpenDatabase>,
}

impl Snapshot {
    pub(crate) fn of(opened: Arc<OpenDatabase>) -> Result<Self, Error> {
        let begin = || -> Result<Connection, Failure> {
            let connection = opened.database.connect_reader()?;
            // The transaction starts with the first read.
            connection.execute_batch("BEGIN; SELECT count(*) FROM sqlite_master;")?;
            Ok(connection)
        };
        Ok(Snapshot {
            connection: begin()?,
            opened,
        })
    }
}

impl loci_core::Snapshot for Snapshot {
    /// The copy has no log beside it.
    fn copy_to(&self, file: &Path) -> Result<(), Error> {
        let key = self.opened.database.key.as_ref();
        let copied = copy(&self.connection, key, file).map_err(|error| Failure::from(error).into());
        self.opened.unless_changed(copied)?;
        let flushed = fs::File::open(file).and_then(|file| file.sync_all());
        Ok(flushed.map_err(|error| OpenError::from_io(&error, file))?)
    }
}

/// Looks through a database that lies somewhere on its own, after what its log may hold was moved
/// into it.
pub(crate) fn inspect(file: &Path, key: Option<StoreKey>) -> Result<InspectionReport, OpenError> {
    let failed = |error: rusqlite::Error| OpenError::from_database(&error, file);
    let database = Database::new(file.to_owned(), Options::default().busy_timeout).with_key(key);
    let connection = database.open().map_err(failed)?;
    let schema = version(&connection, &database)?;
    if schema <= 0 {
        return Err(OpenError::NotADatabase {
            database: file.to_owned(),
        });
    }
    analysis(&connection, &database, schema)?;
    connection
        .query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))
        .map_err(failed)?;
    let is_current = schema == schema::VERSION;
    // Derived terms can be made again.
    let problems = if is_current {
        doctor::check(&connection, database.key.as_ref(), false)
    } else {
        doctor::check_foreign(&connection, database.key.as_ref(), schema)
    };
    let problems = problems.map_err(|failure| match failure {
        Failure::Database(error) => failed(error),
        Failure::Refused(error) => OpenError::Io {
            path: file.to_owned(),
            problem: error.message,
        },
    })?;
    let sql = "SELECT count(*) FROM memory WHERE deleted_at IS NULL";
    let count: i64 = connection
        .query_row(sql, [], |row| row.get(0))
        .map_err(failed)?;
    Ok(InspectionReport {
        schema,
        memories: count.cast_unsigned(),
        problems,
    })
}
