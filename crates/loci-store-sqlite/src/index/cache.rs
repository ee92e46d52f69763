//! Keeps the index current with what any process commits, and its segment not far behind.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use loci_core::{Error, IndexLoads};
use rusqlite::Connection;

use crate::connection::{Database, NO_DATA_VERSION, data_version};
use crate::failure::{Failure, Result, no_thread};
use crate::index::load::{Progress, load, models, passages_of};
use crate::index::segment::{Facts, Segment};
use crate::opening::versions::{describe_read, refuse_upgraded};
use crate::statements::read;
use crate::statements::row::{STORED_COLUMNS, read_stored};
use loci_index::{Index, LoadCounter, LoadedFrom};

/// Changes of memories after which a segment is written again: fewer than the change log keeps.
const CHANGES_MAX: usize = 5_000;
/// The pause after the writing of a segment, in multiples of the time that the writing took.
const PAUSE_FACTOR: u32 = 50;
const PAUSE_MIN: Duration = Duration::from_secs(1);
/// The pause after a segment that could not be written.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_mins(5);

/// The index, opened or loaded by the first search.
#[derive(Debug)]
pub(crate) struct Cache {
    database: Database,
    segment: Segment,
    /// From how many memories on there is one.
    segment_min: usize,
    /// True if no segment is opened any more, because one was damaged.
    distrusts_segments: AtomicBool,
    renewing: Mutex<RenewalState>,
    /// Rings when that thread ends.
    renewing_ended: Condvar,
    /// Held while the index is brought up to date, before the index itself is locked.
    follower: Mutex<Option<CommitFollower>>,
    index: RwLock<Index>,
    /// True if a search need not load it first.
    is_loaded: AtomicBool,
    /// True if it was searched since the last look for that.
    was_searched: AtomicBool,
    progress: Progress,
    loads: LoadCounter,
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

/// The state of writing a segment: if a thread is at it, and the end of the pause after it.
#[derive(Debug, Default)]
struct RenewalState {
    is_running: bool,
    pause_ends: Option<Instant>,
}

/// Says that the thread which writes a segment has ended, however it did.
struct EndOfRenewing {
    cache: Arc<Cache>,
    pause: Duration,
}

impl Drop for EndOfRenewing {
    fn drop(&mut self) {
        let pause_ends = Instant::now().checked_add(self.pause);
        *lock(&self.cache.renewing) = RenewalState {
            is_running: false,
            pause_ends,
        };
        self.cache.renewing_ended.notify_all();
    }
}

/// The connection that watches for commits, and how far the index has come.
#[derive(Debug)]
struct CommitFollower {
    connection: Connection,
    /// As of when the index was last brought up to date.
    data_version: i64,
    /// The newest change that the index has.
    change: i64,
    /// True if the index lies in a segment.
    is_mapped: bool,
}

impl Cache {
    pub(crate) fn new(database: Database, segment_min: usize) -> Self {
        Cache {
            segment: Segment::of(&database),
            segment_min,
            distrusts_segments: AtomicBool::new(false),
            renewing: Mutex::new(RenewalState::default()),
            renewing_ended: Condvar::new(),
            database,
            follower: Mutex::new(None),
            index: RwLock::new(Index::default()),
            is_loaded: AtomicBool::new(false),
            was_searched: AtomicBool::new(false),
            progress: Progress::default(),
            loads: LoadCounter::default(),
            loading: Mutex::new(None),
            loading_ended: Condvar::new(),
        }
    }

    /// Loads the index in the background, if it is not loaded, and waits for that, but no longer
    /// than this.
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
            let thread = thread::Builder::new()
                .name("loci-index".to_owned())
                .spawn(work);
            thread.map_err(|error| no_thread(&error))?;
            *loading = Some(Instant::now());
        }
        let waited = self
            .loading_ended
            .wait_timeout_while(loading, wait, |loading| loading.is_some());
        let (loading, _) = waited.unwrap_or_else(PoisonError::into_inner);
        loading.map_or(Ok(()), |since| {
            Err(Error::unavailable(self.progress.describe(since.elapsed())))
        })
    }

    /// Ends what loads in the background, and closes the connection, for good. A segment that is
    /// nearly written is waited for, so that the next process has it, even if each searches once.
    pub(crate) fn close(&self) {
        const WAIT_MAX: Duration = Duration::from_secs(1);
        drop(
            self.renewing_ended
                .wait_timeout_while(lock(&self.renewing), WAIT_MAX, |renewing| {
                    renewing.is_running
                }),
        );
        self.progress.end();
        drop(
            self.renewing_ended
                .wait_while(lock(&self.renewing), |renewing| renewing.is_running),
        );
        let ended = self
            .loading_ended
            .wait_while(lock(&self.loading), |loading| loading.is_some());
        drop(ended.unwrap_or_else(PoisonError::into_inner));
        *lock(&self.follower) = None;
    }

    /// Searches an index that has everything committed before the call.
    pub(crate) fn search<T>(self: &Arc<Self>, search: impl Fn(&Index) -> T) -> Result<T, Error> {
        loop {
            let (found, is_damaged) =
                self.with_index(|index, _| (search(index), index.is_damaged()))?;
            if !is_damaged {
                return Ok(found);
            }
            tracing::warn!(
                "the index of {} as a file is damaged: it is rebuilt",
                self.database.path.display()
            );
            self.distrusts_segments.store(true, Ordering::Relaxed);
            self.forget_segment();
        }
    }

    /// Looks at the index as it is now; the second argument is the change that it is as of.
    fn with_index<T>(self: &Arc<Self>, read: impl FnOnce(&Index, i64) -> T) -> Result<T, Error> {
        let mut follower = lock(&self.follower);
        if let Err(failure) = self.follow(&mut follower) {
            // Half of a change may be in the index: the next search loads it again.
            let follower = follower.take();
            self.is_loaded.store(false, Ordering::Relaxed);
            return Err(match follower {
                Some(follower) => describe_read(failure, &follower.connection),
                None => failure.into(),
            });
        }
        self.is_loaded.store(true, Ordering::Relaxed);
        self.was_searched.store(true, Ordering::Relaxed);
        let change = follower.as_ref().map_or(-1, |follower| follower.change);
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        drop(follower);
        Ok(read(&index, change))
    }

    /// Gives the memory of the segment back to the system if nothing was searched since the last call.
    pub(crate) fn release_if_idle(&self) {
        if !self.was_searched.swap(false, Ordering::Relaxed)
            && let Ok(index) = self.index.try_read()
        {
            index.release();
        }
    }

    /// Takes the segment away, and its parts in memory.
    pub(crate) fn forget_segment(&self) {
        self.remove_segment();
        self.clear();
    }

    /// Takes the segment away, so that nothing of what was deleted is left in it. Says whether it
    /// is gone.
    pub(crate) fn remove_segment(&self) -> bool {
        let removed = self.segment.remove();
        if let Err(error) = &removed {
            tracing::warn!(
                "the index of {} as a file cannot be removed: {error}",
                self.database.path.display()
            );
        }
        removed.is_ok()
    }

    /// Writes a segment in the background, if one is due but missing, or if it holds something that
    /// was deleted.
    pub(crate) fn maintain_segment(self: &Arc<Self>, connection: &Connection) -> Result<()> {
        let is_due = if self.segment.is_there() {
            self.segment.has_remains(connection)?
        } else {
            self.is_loaded.load(Ordering::Relaxed)
                && self
                    .index
                    .try_read()
                    .is_ok_and(|index| index.memories() >= self.segment_min)
        };
        if is_due {
            self.renew_in_background();
        }
        Ok(())
    }

    fn renew_in_background(self: &Arc<Self>) {
        let mut renewing = lock(&self.renewing);
        let pauses = renewing.pause_ends.is_some_and(|end| Instant::now() < end);
        if renewing.is_running || pauses || self.progress.is_ending().load(Ordering::Relaxed) {
            return;
        }
        let cache = Arc::clone(self);
        let work = move || {
            let mut end = EndOfRenewing {
                cache,
                pause: PAUSE_AFTER_FAILURE,
            };
            let start = Instant::now();
            match end.cache.write_segment(false) {
                Ok(_) => end.pause = PAUSE_MIN.max(start.elapsed() * PAUSE_FACTOR),
                Err(error) => tracing::debug!("no index was written as a file: {error}"),
            }
        };
        // Without a thread there is no segment, which costs only time.
        renewing.is_running = thread::Builder::new()
            .name("loci-segment".to_owned())
            .spawn(work)
            .is_ok();
    }

    /// Writes a segment of what is committed now, after the one that is being written by this
    /// process.
    pub(crate) fn write_segment_now(self: &Arc<Self>) -> Result<bool, Error> {
        let renewing = self
            .renewing_ended
            .wait_while(lock(&self.renewing), |renewing| renewing.is_running);
        renewing.unwrap_or_else(PoisonError::into_inner).is_running = true;
        let _end = EndOfRenewing {
            cache: Arc::clone(self),
            pause: Duration::ZERO,
        };
        self.write_segment(true)
    }

    /// Writes a segment of what is committed now, if it is due or has to be. False, if it is not,
    /// if another process is at it, or if there are too few memories for one. Searches go on while
    /// it is written.
    fn write_segment(self: &Arc<Self>, has_to: bool) -> Result<bool, Error> {
        let unavailable = |error: io::Error| Error::unavailable(error.to_string());
        let start = Instant::now();
        let Some(draft) = self.segment.draft().map_err(unavailable)? else {
            return Ok(false);
        };
        let connection = self.database.connect_reader()?;
        let write = |index: &Index, change: i64| {
            if index.memories() < self.segment_min {
                return Ok(false);
            }
            let facts = Facts::of(&connection, change, index.last_row()).map_err(Failure::from)?;
            draft
                .write(index, &facts, self.progress.is_ending())
                .map_err(unavailable)
        };
        // Its own index, where that costs little, so that no search waits for it.
        let own = self
            .mapped_alone(&connection)
            .map_err(|failure| describe_read(failure, &connection))?;
        let has_newer = own
            .as_ref()
            .is_some_and(|(own, ..)| self.is_far_behind(own));
        let written = match own {
            Some((index, is_due, change)) if has_to || is_due => write(&index, change)?,
            Some(_) => false,
            None => self.with_index(write)??,
        };
        if written {
            tracing::debug!(
                milliseconds = start.elapsed().as_millis(),
                "wrote the index as a file"
            );
            self.distrusts_segments.store(false, Ordering::Relaxed);
        }
        if written || has_newer {
            self.clear();
        }
        Ok(written)
    }

    /// Returns whether the index of this process has far more in memory than one that was opened
    /// just now.
    fn is_far_behind(&self, opened: &Index) -> bool {
        let changes = |index: &Index| {
            let (came, went) = index.changed();
            came + went
        };
        self.index
            .read()
            .is_ok_and(|index| changes(&index) >= changes(opened) + CHANGES_MAX / 2)
    }

    /// The index in the segment, only for this moment: if it is time to write it again, and the
    /// change that it is as of.
    fn mapped_alone(&self, connection: &Connection) -> Result<Option<(Index, bool, i64)>> {
        let snapshot = connection.unchecked_transaction()?;
        let newest = read::version(&snapshot)?;
        let Some(index) = self.mapped(&snapshot, newest)? else {
            return Ok(None);
        };
        let (came, went) = index.changed();
        let is_due = came + went >= CHANGES_MAX || self.segment.has_remains(&snapshot)?;
        snapshot.finish()?;
        Ok(Some((index, is_due, newest)))
    }

    /// The index in the segment, with the changes since. `None` if no segment can be used.
    fn mapped(&self, snapshot: &Connection, newest: i64) -> Result<Option<Index>> {
        if self.distrusts_segments.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let Some((mut index, segment)) = self.segment.open(snapshot)? else {
            return Ok(None);
        };
        let Some(rows) = changed_since(snapshot, segment, newest)? else {
            return Ok(None);
        };
        apply(snapshot, &mut index, &rows)?;
        Ok(Some(index))
    }

    /// Loads the index from the segment, or else from the tables, and counts that.
    fn load(&self, snapshot: &Connection, newest: i64) -> Result<(Index, LoadedFrom)> {
        let loaded = match self.mapped(snapshot, newest) {
            Ok(Some(mapped)) => Ok((mapped, LoadedFrom::File)),
            Ok(None) => load(snapshot, &self.progress).map(|index| (index, LoadedFrom::Tables)),
            Err(error) => Err(error),
        };
        self.loads
            .count(loaded.as_ref().ok().map(|(_, from)| *from));
        loaded
    }

    /// Returns the number of loads so far.
    pub(crate) fn loads(&self) -> IndexLoads {
        self.loads.counts()
    }

    /// Drops the index: the next search loads it again.
    pub(crate) fn clear(&self) {
        let mut follower = lock(&self.follower);
        *follower = None;
        self.is_loaded.store(false, Ordering::Relaxed);
        *self.index.write().unwrap_or_else(PoisonError::into_inner) = Index::default();
    }

    /// Bytes that the index holds in memory; 0 while it is not loaded.
    pub(crate) fn bytes(&self) -> usize {
        let loaded = lock(&self.follower).is_some();
        if loaded {
            self.index
                .read()
                .unwrap_or_else(PoisonError::into_inner)
                .bytes()
        } else {
            0
        }
    }

    fn follow(self: &Arc<Self>, place: &mut MutexGuard<'_, Option<CommitFollower>>) -> Result<()> {
        let follower = match place.as_mut() {
            Some(follower) => follower,
            None => place.insert(CommitFollower {
                connection: self.database.connect_reader()?,
                data_version: NO_DATA_VERSION,
                change: -1,
                is_mapped: false,
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
                let (loaded, from) = self.load(&snapshot, newest)?;
                follower.is_mapped = from == LoadedFrom::File;
                *index = loaded;
                tracing::debug!(
                    milliseconds = start.elapsed().as_millis(),
                    bytes = index.bytes(),
                    "loaded the index"
                );
            }
            let (came, went) = index.changed();
            let many = if follower.is_mapped {
                CHANGES_MAX
            } else {
                self.segment_min
            };
            if came + went >= many {
                self.renew_in_background();
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
    let logged: i64 = connection
        .prepare_cached(sql)?
        .query_row([known], |row| row.get(0))?;
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
    let memory = format!(
        "SELECT {STORED_COLUMNS} FROM memory AS m WHERE m.row = ?1 AND m.deleted_at IS NULL"
    );
    let mut memory = connection.prepare_cached(&memory)?;
    // All removals first, because an id may have moved from one row to another.
    for row in changed {
        index.remove(*row);
    }
    for row in changed {
        let mut rows = memory.query([row])?;
        let Some(columns) = rows.next()? else {
            continue;
        };
        index.insert(*row, &read_stored(columns)?.1);
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
        let cache = Arc::new(Cache::new(database, usize::MAX));
        let follower = lock(&cache.follower);
        for wait in [Duration::ZERO, Duration::from_millis(1)] {
            let refused = cache.prepare(wait).unwrap_err();
            assert_eq!(refused.code, ErrorCode::Unavailable);
            assert!(
                refused.message.contains("(0 % so far); try again in 5 s"),
                "{refused}"
            );
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
        let cache = Arc::new(Cache::new(database, usize::MAX));
        cache.progress.end();
        assert_eq!(
            cache.search(|_| ()).unwrap_err().code,
            ErrorCode::Unavailable
        );
        let follower = lock(&cache.follower);
        cache.prepare(Duration::ZERO).unwrap_err();
        drop(follower);
        cache.close();
        assert!(lock(&cache.loading).is_none());
    }
}
