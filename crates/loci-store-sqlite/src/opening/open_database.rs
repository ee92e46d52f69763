//! A store that is open: its connections, its thread, and what it keeps in memory.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use loci_core::Error;
use rusqlite::Connection;

use crate::connection;
use crate::connection::{Database, Readers};
use crate::failure::Failure;
use crate::index::cache::Cache;
use crate::integrity::repair::Work;
use crate::key::StoreKey;
use crate::opening::files::{has_bytes, log_of};
use crate::opening::open::{Options, open};
use crate::opening::open_error::{DATABASE, OpenError};
use crate::opening::read_only_files::ReadOnlyFiles;
use crate::opening::{folder, identity, presence};
use crate::writer::Writer;

/// All that holds the files of a store open. They are closed when it is dropped.
#[derive(Debug)]
pub(crate) struct OpenDatabase {
    pub(crate) cache: Arc<Cache>,
    pub(crate) readers: Readers,
    pub(crate) writer: Writer,
    pub(crate) database: Database,
    /// True if the segment of the index may still hold what was wiped.
    pub(crate) segment_has_remains: AtomicBool,
    /// Says that the store is open: the last to go. None for what cannot be written.
    _presence: Option<File>,
    /// What is read as it is, because it cannot be written.
    pub(crate) read_only: Option<ReadOnlyFiles>,
}

impl OpenDatabase {
    /// As [`SqliteStore::open`](crate::SqliteStore::open).
    pub(crate) fn open(folder: &Path, options: &Options) -> Result<Self, OpenError> {
        let real = folder::prepare(folder)?;
        let key = StoreKey::of(&options.keys, &real)?;
        identity::compare(&real, key.as_ref())?;
        let is_left = has_left_log(&real)?;
        let presence = presence::lock_shared(&real, options.busy_timeout)?;
        let (database, connection) = open(folder, options.clone())?;
        // The log may hold commits whose flush failed, which the system's cache still shows. No
        // later commit may depend on them (ADR 21).
        if is_left {
            connection::checkpoint(&connection)
                .map_err(|error| OpenError::from_database(&error, &database.path))?;
        }
        OpenDatabase::start(database, connection, Some(presence), options)
    }

    /// With a connection to the database that is used to write.
    pub(crate) fn start(
        database: Database,
        connection: Connection,
        presence: Option<File>,
        options: &Options,
    ) -> Result<Self, OpenError> {
        let writer = Writer::start(database.clone(), connection)?;
        Ok(OpenDatabase {
            cache: Arc::new(Cache::new(database.clone(), options.segment_min)),
            readers: Readers::new(database.clone()),
            writer,
            database,
            segment_has_remains: AtomicBool::new(false),
            _presence: presence,
            read_only: None,
        })
    }

    /// Removes what deletions left in the log, and a wipe in the segment of the index; what cannot
    /// be removed now is removed at a later sweep. Until then the data is gone for every reader of
    /// the database, if not for one of the file.
    ///
    /// The log is emptied whatever it holds, because the deletion may be of another process, or of
    /// one that was killed.
    pub(crate) fn remove_remains(&self) {
        if self.segment_has_remains.load(Ordering::Relaxed) {
            self.segment_has_remains
                .store(!self.cache.remove_segment(), Ordering::Relaxed);
        }
        if has_bytes(&log_of(&self.database.path))
            && let Err(Failure::Database(failure)) = connection::empty_log(&self.database)
        {
            self.writer.report_io_error(failure);
        }
    }

    /// Returns what was read, unless the files were read as they are and written since: it may be
    /// torn, or look damaged.
    pub(crate) fn unless_changed<T>(&self, read: Result<T, Error>) -> Result<T, Error> {
        if self.is_changed() {
            return Err(Error::unavailable(
                "the store was written while it was read as it is; try again",
            ));
        }
        read
    }

    /// Returns whether the files that are read as they are were written since.
    pub(crate) fn is_changed(&self) -> bool {
        self.read_only
            .as_ref()
            .is_some_and(ReadOnlyFiles::is_changed)
    }

    pub(crate) fn work(&self) -> Work<'_> {
        Work {
            readers: &self.readers,
            writer: &self.writer,
        }
    }
}

/// Returns whether there is a log of a process that was killed: no process has the store open.
fn has_left_log(folder: &Path) -> Result<bool, OpenError> {
    if !has_bytes(&log_of(&folder.join(DATABASE))) {
        return Ok(false);
    }
    match presence::lock_exclusive(folder) {
        Err(OpenError::InUse { .. }) => Ok(false),
        alone => alone.map(|_| true),
    }
}

impl Drop for OpenDatabase {
    fn drop(&mut self) {
        self.cache.close();
    }
}
