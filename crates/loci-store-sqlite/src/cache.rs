//! Keeps the index in memory current with what any process commits.

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Instant;

use loci_core::{Error, ModelId};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::codec::{decode_terms, decode_vector};
use crate::connection::Database;
use crate::failure::{Failure, Result, damaged};
use crate::index::{Index, StoredPassage, StoredVector};
use crate::read::{self, POSITION_BITS};
use crate::row::{COLUMNS, NEXT_COLUMN, read_memory};
use crate::write::passage_keys;

const PASSAGE_COLUMNS: &str = "row, terms, model, scale, vector";

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
    /// Changes whenever another connection commits, in this process or another.
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
            *follower = None;
            return Err(failure.into());
        }
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        drop(follower);
        Ok(search(&index))
    }

    /// Bytes that the index holds in memory; 0 while it is not loaded.
    pub(crate) fn bytes(&self) -> usize {
        let loaded = self.follower.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if loaded { self.index.read().unwrap_or_else(PoisonError::into_inner).bytes() } else { 0 }
    }

    fn follow(&self, place: &mut MutexGuard<'_, Option<Follower>>) -> Result<()> {
        let follower = match place.as_mut() {
            Some(follower) => follower,
            // No version is negative, so that the first look finds a difference.
            None => {
                place.insert(Follower { connection: self.database.connect_reader()?, data_version: -1, change: -1 })
            }
        };
        let data_version = data_version(&follower.connection)?;
        if data_version == follower.data_version {
            return Ok(());
        }
        let snapshot = follower.connection.unchecked_transaction()?;
        let newest = read::version(&snapshot)?;
        // Most of what is written besides memories changes nothing here, and holds no search up.
        if newest != follower.change {
            let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
            if let Some(rows) = changed_since(&snapshot, follower.change, newest)? {
                apply(&snapshot, &mut index, &rows)?;
            } else {
                let start = Instant::now();
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

fn data_version(connection: &Connection) -> Result<i64> {
    Ok(connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?)
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

/// Reads everything, each table once and in the order in which it lies on the disk.
fn load(connection: &Connection) -> Result<Index> {
    let mut index = Index::default();
    add_models(connection, &mut index)?;
    let sql = format!("SELECT {COLUMNS}, m.row FROM memory AS m WHERE m.deleted_at IS NULL ORDER BY m.row");
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        index.insert(row.get(NEXT_COLUMN)?, &read_memory(row)?);
    }
    let mut statement = connection.prepare(&format!("SELECT {PASSAGE_COLUMNS} FROM passage ORDER BY row"))?;
    let mut rows = statement.query([])?;
    let mut values = Vec::new();
    while let Some(row) = rows.next()? {
        add_passage(&mut index, row, &mut values)?;
    }
    index.shrink();
    Ok(index)
}

/// Reads the memories of these rows again.
fn apply(connection: &Connection, index: &mut Index, changed: &[i64]) -> Result<()> {
    add_models(connection, index)?;
    let memory = format!("SELECT {COLUMNS} FROM memory AS m WHERE m.row = ?1 AND m.deleted_at IS NULL");
    let mut memory = connection.prepare_cached(&memory)?;
    let passages = format!("SELECT {PASSAGE_COLUMNS} FROM passage WHERE row BETWEEN ?1 AND ?2 ORDER BY row");
    let mut passages = connection.prepare_cached(&passages)?;
    // All of them first, since an id may have moved from one row to another.
    for row in changed {
        index.remove(*row);
    }
    let mut values = Vec::new();
    for row in changed {
        let found = memory.query_row(params![row], |columns| Ok(read_memory(columns))).optional()?;
        let Some(found) = found else { continue };
        index.insert(*row, &found?);
        let mut rows = passages.query(passage_keys(*row))?;
        while let Some(columns) = rows.next()? {
            add_passage(index, columns, &mut values)?;
        }
    }
    Ok(())
}

fn add_models(connection: &Connection, index: &mut Index) -> Result<()> {
    let mut statement = connection.prepare_cached("SELECT row, fingerprint FROM model ORDER BY row")?;
    let models = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))?;
    for model in models {
        let (row, fingerprint) = model?;
        index.add_model(row, ModelId::new(fingerprint));
    }
    Ok(())
}

fn add_passage(index: &mut Index, row: &Row<'_>, values: &mut Vec<i8>) -> Result<()> {
    let wrong_type = |_| Failure::Refused(damaged());
    let key: i64 = row.get(0)?;
    let terms = decode_terms(row.get_ref(1)?.as_blob().map_err(wrong_type)?)?;
    let model: Option<i64> = row.get(2)?;
    let vector = match model {
        Some(model) => {
            decode_vector(row.get_ref(4)?.as_blob().map_err(wrong_type)?, values);
            Some(StoredVector { model, scale: row.get::<_, f64>(3)? as f32, values })
        }
        None => None,
    };
    index.add_passage(key >> POSITION_BITS, StoredPassage { terms, vector });
    Ok(())
}
