//! Keeps the index in memory current with what any process commits.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use loci_core::Error;
use rusqlite::Connection;

use crate::connection::{Database, NO_DATA_VERSION, data_version};
use crate::failure::{Result, describe_read, refuse_upgraded};
use crate::index::Index;
use crate::load::{Progress, load, models, passages_of};
use crate::read;
use crate::row::{STORED_COLUMNS, read_stored};

/// The index, loaded by the first search.
#[derive(Debug)]
pub(crate) struct Cache {
    database: Database,
    /// Held while the index is brought up to date, before the index itself is locked.
    follower: Mutex<Option<Follower>>,
    index: RwLock<Index>,
    /// Whether a search need not load it first.
    is_loaded: AtomicBool,
    progress: Progress,
    /// Since when a thread loads it in the background, if one does.
    loading: Mutex<Option<Instant>>,
    /// Rings when that thread ends.
    loading_ended: Condvar,
}

/// Says that the thread which loads in the background has ended, however it did.
struct EndOfLoading(Arc<Cache>);

impl Drop for EndOfLoading {
    fn drop(&mut self) {
        *lock(&self.0.loading) = None;
        self.0.loading_ended.notify_all();
    }
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
        Cache {
            database,
            follower: Mutex::new(None),
            index: RwLock::new(Index::default()),
            is_loaded: AtomicBool::new(false),
            progress: Progress::default(),
            loading: Mutex::new(None),
            loading_ended: Condvar::new(),
        }
    }

    /// Loads the index in the background, if it is not loaded, and waits for that, but no longer than this.
    pub(crate) fn prepare(self: &Arc<Self>, wait: Duration) -> Result<(), Error> {
        if self.is_loaded.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut loading = lock(&self.loading);
        if loading.is_none() {
            let cache = Arc::clone(self);
            let work = move || {
                let end = EndOfLoading(cache);
                // The search itself fails with the same.
                let _ = end.0.search(|_| ());
            };
            let thread = thread::Builder::new().name("loci-index".to_owned()).spawn(work);
            thread.map_err(|_| Error::unavailable("no thread can be started; try again later"))?;
            *loading = Some(Instant::now());
        }
        let waited = self.loading_ended.wait_timeout_while(loading, wait, |loading| loading.is_some());
        let (loading, _) = waited.unwrap_or_else(PoisonError::into_inner);
        loading.map_or(Ok(()), |since| Err(Error::unavailable(self.progress.describe(since.elapsed()))))
    }

    /// Ends what loads in the background, and closes the connection, for good.
    pub(crate) fn close(&self) {
        self.progress.end();
        let ended = self.loading_ended.wait_while(lock(&self.loading), |loading| loading.is_some());
        drop(ended.unwrap_or_else(PoisonError::into_inner));
        *lock(&self.follower) = None;
    }

    /// Searches an index that has everything committed before the call.
    pub(crate) fn search<T>(&self, search: impl FnOnce(&Index) -> T) -> Result<T, Error> {
        let mut follower = lock(&self.follower);
        if let Err(failure) = self.follow(&mut follower) {
            // Half of a change may be in the index: the next search loads it anew.
            let follower = follower.take();
            self.is_loaded.store(false, Ordering::Relaxed);
            return Err(match follower {
                Some(follower) => describe_read(failure, &follower.connection),
                None => failure.into(),
            });
        }
        self.is_loaded.store(true, Ordering::Relaxed);
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        drop(follower);
        Ok(search(&index))
    }

    /// Drops the index: the next search loads it anew.
    pub(crate) fn clear(&self) {
        let mut follower = lock(&self.follower);
        *follower = None;
        self.is_loaded.store(false, Ordering::Relaxed);
        *self.index.write().unwrap_or_else(PoisonError::into_inner) = Index::default();
    }

    /// Bytes that the index holds in memory; 0 while it is not loaded.
    pub(crate) fn bytes(&self) -> usize {
        let loaded = lock(&self.follower).is_some();
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
                *index = load(&snapshot, &self.progress)?;
                tracing::debug!(milliseconds = start.elapsed().as_millis(), bytes = index.bytes(), "loaded the index");
            }
        }
        snapshot.finish()?;
        follower.data_version = data_version;
        follower.change = newest;
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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

#[cfg(test)]
mod tests {
    use loci_core::ErrorCode;

    use super::*;
    use crate::{Options, SqliteStore};

    #[test]
    fn who_does_not_wait_for_the_load_is_told_how_far_it_is() {
        let folder = tempfile::tempdir().unwrap();
        drop(SqliteStore::open(folder.path(), Options::default()).unwrap());
        let database = Database::new(folder.path().join("loci.db"), Duration::from_secs(10));
        let cache = Arc::new(Cache::new(database));
        let follower = lock(&cache.follower);
        for wait in [Duration::ZERO, Duration::from_millis(1)] {
            let refused = cache.prepare(wait).unwrap_err();
            assert_eq!(refused.code, ErrorCode::Unavailable);
            assert!(refused.message.contains("(0 % so far); try again in 5 s"), "{refused}");
        }
        drop(follower);
        cache.prepare(Duration::from_mins(10)).unwrap();
        let _busy = lock(&cache.follower);
        cache.prepare(Duration::ZERO).unwrap();
    }

    #[test]
    fn the_time_that_is_left_follows_the_time_that_went_by() {
        let progress = Progress::default();
        for (row, elapsed, expected) in [
            (10, 4_000, "(0 % so far); try again in 5 s"),
            (60, 2_000, "(50 % so far); try again in 2 s"),
            (108, 9_800, "(98 % so far); try again in 1 s"),
        ] {
            progress.reach(row, (10, 110)).unwrap();
            let told = progress.describe(Duration::from_millis(elapsed));
            assert!(told.ends_with(expected), "{told}");
        }
    }

    #[test]
    fn a_load_ends_with_its_store() {
        let folder = tempfile::tempdir().unwrap();
        drop(SqliteStore::open(folder.path(), Options::default()).unwrap());
        let database = Database::new(folder.path().join("loci.db"), Duration::from_secs(10));
        let cache = Arc::new(Cache::new(database));
        cache.progress.end();
        assert_eq!(cache.search(|_| ()).unwrap_err().code, ErrorCode::Unavailable);
        let follower = lock(&cache.follower);
        cache.prepare(Duration::ZERO).unwrap_err();
        drop(follower);
        cache.close();
        assert!(lock(&cache.loading).is_none());
    }
}
