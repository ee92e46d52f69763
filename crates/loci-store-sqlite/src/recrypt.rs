//! Copies a database into a file with another key, or without one.
//!
//! Pages with and without a key have other lengths, so the copy is made table by table, as by
//! `VACUUM`, through SQLCipher's `sqlcipher_export`.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use loci_core::InspectionReport;
use loci_keys::DataKey;
use zeroize::Zeroizing;

use crate::connection::Database;
use crate::key::{self, StoreKey};
use crate::opening::open_error::OpenError;
use crate::opening::schema;
use crate::opening::{backup, folder};

/// Copies the database in a file, whose log is empty and which no process uses, into a new file,
/// which is encrypted with the second key, or in the clear without one, and durable. A new key
/// authenticates pages by HMAC-SHA-256. Checks the copy
/// as a backup is checked; it has as many memories as the database.
///
/// # Errors
/// The fault, with the remedy; the copy is worth nothing then.
pub fn recrypt(
    (database, key): (&Path, Option<&DataKey>),
    (copy, new_key): (&Path, Option<&DataKey>),
) -> Result<InspectionReport, OpenError> {
    let failed = |error: rusqlite::Error| OpenError::from_database(&error, copy);
    let key = key.map(StoreKey::from_data_key);
    let new_key = new_key.map(StoreKey::from_data_key);
    let source = Database::new(database.to_owned(), Duration::ZERO).with_key(key);
    let connection = source
        .open()
        .map_err(|error| OpenError::from_database(&error, database))?;
    let identity = schema::identity(&connection)
        .map_err(|error| OpenError::from_database(&error, database))?;
    let literal = new_key
        .as_ref()
        .map_or_else(Zeroizing::default, StoreKey::literal);
    // The connection makes no file; and this one is its owner's alone.
    folder::create_file(copy).map_err(|error| OpenError::from_io(&error, copy))?;
    // What is attached has the default of the process, and each other connection says its own.
    connection.execute_batch(key::ATTACHED).map_err(failed)?;
    // An empty key stands for a copy in the clear.
    connection
        .execute(
            "ATTACH DATABASE ?1 AS copy KEY ?2",
            (copy.to_string_lossy(), &*literal),
        )
        .map_err(failed)?;
    let (application, version) = identity;
    connection
        .execute_batch(&format!(
            "PRAGMA copy.journal_mode = OFF; PRAGMA copy.synchronous = OFF;
             BEGIN; SELECT sqlcipher_export('copy');
             PRAGMA copy.application_id = {application}; PRAGMA copy.user_version = {version};
             COMMIT; DETACH DATABASE copy;"
        ))
        .map_err(failed)?;
    let count = "SELECT count(*) FROM memory WHERE deleted_at IS NULL";
    let memories: i64 = connection
        .query_row(count, [], |row| row.get(0))
        .map_err(|error| OpenError::from_database(&error, database))?;
    drop(connection);
    let report = backup::inspect(copy, new_key)?;
    File::open(copy)
        .and_then(|file| file.sync_all())
        .map_err(|error| OpenError::from_io(&error, copy))?;
    if report.memories != memories.cast_unsigned() {
        return Err(OpenError::Io {
            path: copy.to_owned(),
            problem: format!(
                "it has {} memories, and the database has {memories}",
                report.memories
            ),
        });
    }
    Ok(report)
}
