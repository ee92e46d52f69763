//! Keeps the index in memory current with what any process commits.

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Instant;

use loci_core::Error;
use rusqlite::Connection;

use crate::connection::{Database, NO_DATA_VERSION, data_version};
use crate::failure::{Result, describe_read, refuse_upgraded};
use crate::index::Index;
use crate::load::{load, models, passages_of};
use crate::read;
use crate::row::{STORED_COLUMNS, read_stored};

/// The index, loaded by the first search.
#[derive(Debug)]
pub(crate) struct Cache {
    database: Database,
    /// Held while the index is brought up to date, before the index itself is locked.
    follower: Mutex<Option<Follower>>,
    index: RwLock<Index>,
}

/// The connection that watches for commits, and how far the index has come.
#[derive(Debug)]
struct Follower {
    connection: Connection,
    /// As of when the index was last brought up to date.
    data_version: i64,
    /// The newest change that the index has.
    change: i64,
}

impl Cache {
    pub(crate) fn new(database: Database) -> Self {
        Cache { database, follower: Mutex::new(None), index: RwLock::new(Index::default()) }
    }

    /// Searches an index that has everything committed before the call.
    pub(crate) fn search<T>(&self, search: impl FnOnce(&Index) -> T) -> Result<T, Error> {
        let mut follower = self.follower.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(failure) = self.follow(&mut follower) {
            // Half of a change may be in the index: the next search loads it anew.
            let follower = follower.take();
            return Err(match follower {
                Some(follower) => describe_read(failure, &follower.connection),
                None => failure.into(),
            });
        }
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        drop(follower);
        Ok(search(&index))
    }

    /// Drops the index: the next search loads it anew.
    pub(crate) fn clear(&self) {
        let mut follower = self.follower.lock().unwrap_or_else(PoisonError::into_inner);
        *follower = None;
        *self.index.write().unwrap_or_else(PoisonError::into_inner) = Index::default();
    }

    /// Bytes that the index holds in memory; 0 while it is not loaded.
    pub(crate) fn bytes(&self) -> usize {
        let loaded = self.follower.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if loaded { self.index.read().unwrap_or_else(PoisonError::into_inner).bytes() } else { 0 }
    }

    fn follow(&self, place: &mut MutexGuard<'_, Option<Follower>>) -> Result<()> {
        let follower = match place.as_mut() {
            Some(follower) => follower,
            None => place.insert(Follower {
                connection: self.database.connect_reader()?,
                data_version: NO_DATA_VERSION,
                change: -1,
            }),
        };
        let data_version = data_version(&follower.connection)?;
        if data_version == follower.data_version {
            return Ok(());
        }
        let snapshot = follower.connection.unchecked_transaction()?;
        let newest = read::version(&snapshot)?;
        refuse_upgraded(&snapshot)?;
        // Most of what is written besides memories changes nothing here, and holds no search up.
        if newest != follower.change {
            let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
            if let Some(rows) = changed_since(&snapshot, follower.change, newest)? {
                apply(&snapshot, &mut index, &rows)?;
            } else {
                let start = Instant::now();
                // First the old one goes, so that there are never two.
                *index = Index::default();
                *index = load(&snapshot)?;
                tracing::debug!(milliseconds = start.elapsed().as_millis(), bytes = index.bytes(), "loaded the index");
            }
        }
        snapshot.finish()?;
        follower.data_version = data_version;
        follower.change = newest;
        Ok(())
    }
}

/// The rows of the memories that changed after the change `known`, up to `newest`, each once; none
/// if the log does not reach back that far.
fn changed_since(connection: &Connection, known: i64, newest: i64) -> Result<Option<Vec<i64>>> {
    if known < 0 || newest < known {
        return Ok(None);
    }
    let sql = "SELECT count(*) FROM change WHERE number > ?1";
    let logged: i64 = connection.prepare_cached(sql)?.query_row([known], |row| row.get(0))?;
    if logged != newest - known {
        return Ok(None);
    }
    let sql = "SELECT DISTINCT memory FROM change WHERE number > ?1 ORDER BY memory";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([known], |row| row.get(0))?;
    Ok(Some(rows.collect::<rusqlite::Result<_>>()?))
}

/// Reads the memories of these rows again.
fn apply(connection: &Connection, index: &mut Index, changed: &[i64]) -> Result<()> {
    for (row, id) in models(connection)? {
        index.add_model(row, id);
    }
    let memory = format!("SELECT {STORED_COLUMNS} FROM memory AS m WHERE m.row = ?1 AND m.deleted_at IS NULL");
    let mut memory = connection.prepare_cached(&memory)?;
    // All of them first, since an id may have moved from one row to another.
    for row in changed {
        index.remove(*row);
    }
    for row in changed {
        let mut rows = memory.query([row])?;
        let Some(columns) = rows.next()? else { continue };
        index.insert(*row, &read_stored(columns)?);
        passages_of(connection, *row)?.each(|row, passage| index.add_passage(row, passage))?;
    }
    index.settle();
    Ok(())
}
