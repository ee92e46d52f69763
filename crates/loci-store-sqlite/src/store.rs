mod records;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use loci_core::{
    AccessIncrement, Batch, CandidateQuery, Candidates, Error, FacetCounts, FilingOrder, Filter,
    Location, LocationCount, Memory, MemoryId, ModelId, Page, Partition, Result, SoftDeleted,
    Sorting, Space, StatusCount, Store, StoreFault, StoreSize, Sweep, SweepClock, Timestamp,
    Vector, WipeCounts, Work, check_lease, check_texts,
};
use rusqlite::Connection;

use crate::failure;
use crate::key::StoreKey;
use crate::opening::files::write_fault;
use crate::opening::identity::StoreId;
use crate::opening::open::Options;
use crate::opening::open_database::OpenDatabase;
use crate::opening::open_error::{DATABASE, OpenError};
use crate::opening::{identity, read_only};
use crate::statements::{
    batch, counts, filed, jobs, open_items, read, remove, soft_deleted, sorted, tombstones, write,
};

/// The shortest pause between two rounds of background work, so that other processes can write.
const BACKGROUND_PAUSE_MIN: Duration = Duration::from_millis(10);
/// The shortest time between two looks of reads whether a full disk has room again.
const ROOM_PAUSE: Duration = Duration::from_secs(1);

/// A store in one SQLite database, `loci.db` in its folder.
#[derive(Debug)]
pub struct SqliteStore {
    folder: PathBuf,
    options: Options,
    /// None if it is damaged.
    store: Option<StoreId>,
    /// None while it could not be opened again.
    opened: RwLock<Option<Arc<OpenDatabase>>>,
    /// The last look of a read whether the disk has room again. None if the store was not opened on
    /// a full disk, or can be written by now.
    room_looked_at: Mutex<Option<Instant>>,
}

impl SqliteStore {
    /// Opens the store in the folder. Folder and database are made if they are not there, and an
    /// older schema is upgraded after a backup. Memories are not read.
    ///
    /// # Errors
    /// Each kind of [`OpenError`], with the way out.
    pub fn open(folder: &Path, options: Options) -> Result<Self, OpenError> {
        let opened = OpenDatabase::open(folder, &options)?;
        Ok(SqliteStore::of(folder, options, opened))
    }

    /// Opens a store that cannot be written, as it is. Nothing in its folder changes; every write
    /// fails. Where a log holds what is not in the database, or the schema is older, a copy in the
    /// folder for temporary files is read.
    ///
    /// # Errors
    /// Each kind of [`OpenError`], with the way out: [`OpenError::ReadOnly`], if there is no store.
    pub fn open_read_only(folder: &Path, options: Options) -> Result<Self, OpenError> {
        let opened = read_only::open(folder, &options)?;
        Ok(SqliteStore::of(folder, options, opened))
    }

    /// Opens a store whose disk is full ([`OpenError::Full`]), as it is, as
    /// [`SqliteStore::open_read_only`] does. It is opened again, to be written, as soon as there is
    /// room; until then each write fails ([`Error::is_disk_full`]).
    ///
    /// # Errors
    /// As for [`SqliteStore::open_read_only`].
    pub fn open_on_full_disk(folder: &Path, options: Options) -> Result<Self, OpenError> {
        let store = SqliteStore::open_read_only(folder, options)?;
        Ok(SqliteStore {
            room_looked_at: Mutex::new(Some(Instant::now())),
            ..store
        })
    }

    fn of(folder: &Path, options: Options, opened: OpenDatabase) -> Self {
        let store = opened
            .readers
            .read(|connection| Ok(StoreId::of(connection).ok()))
            .ok()
            .flatten();
        let (folder, opened) = (folder.to_owned(), RwLock::new(Some(Arc::new(opened))));
        SqliteStore {
            folder,
            options,
            store,
            opened,
            room_looked_at: Mutex::default(),
        }
    }

    /// The folder of the copy that is read instead, if there is one. It goes with the store.
    pub fn copy(&self) -> Option<PathBuf> {
        let opened = self.current()?;
        let copy = opened.read_only.as_ref()?.copy.as_ref()?;
        Some(copy.path().to_owned())
    }

    /// Returns whether the store is read as it is, and every write fails.
    pub(crate) fn is_opened_read_only(&self) -> bool {
        self.current()
            .is_some_and(|opened| opened.read_only.is_some())
    }

    fn current(&self) -> Option<Arc<OpenDatabase>> {
        let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
        opened.clone()
    }

    /// The files and connections that are open. If the files are gone, and there is the same store
    /// again, that is opened in its place.
    pub(crate) fn opened(&self) -> Result<Arc<OpenDatabase>> {
        self.look_for_room(ROOM_PAUSE);
        match self.current() {
            Some(opened) if !opened.database.files.are_gone() => Ok(opened),
            opened => {
                drop(opened);
                self.open_again()
            }
        }
    }

    /// The same, for what writes.
    pub(crate) fn opened_to_write(&self) -> Result<Arc<OpenDatabase>> {
        self.look_for_room(Duration::ZERO);
        let opened = self.opened()?;
        let is_on_full_disk = opened.read_only.is_some() && self.room_looked_at().is_some();
        if is_on_full_disk {
            return Err(Error::disk_full());
        }
        Ok(opened)
    }

    fn room_looked_at(&self) -> MutexGuard<'_, Option<Instant>> {
        self.room_looked_at
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a store that was opened on a full disk to be written, if the disk has room again, or
    /// another process writes it. Reads that are under way fail if what they read changes.
    fn look_for_room(&self, pause: Duration) {
        let mut looked_at = self.room_looked_at();
        let Some(last) = *looked_at else {
            return;
        };
        let is_changed = self.current().is_some_and(|opened| opened.is_changed());
        if last.elapsed() < pause && !is_changed {
            return;
        }
        *looked_at = Some(Instant::now());
        let mut place = self.opened.write().unwrap_or_else(PoisonError::into_inner);
        match OpenDatabase::open(&self.folder, &self.options) {
            Ok(opened) => {
                *place = Some(Arc::new(opened));
                *looked_at = None;
                tracing::info!("{} can be written again", self.folder.display());
            }
            Err(error) => {
                tracing::debug!(%error, "the store stays open to be read");
                if is_changed && let Ok(opened) = read_only::open(&self.folder, &self.options) {
                    *place = Some(Arc::new(opened));
                }
            }
        }
    }

    fn read<T>(&self, read: impl FnOnce(&Connection) -> failure::Result<T>) -> Result<T> {
        let opened = self.opened()?;
        opened.unless_changed(opened.readers.read(read))
    }

    fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> failure::Result<T> + Send + 'static,
    ) -> Result<T> {
        self.opened_to_write()?.writer.run(work)
    }

    /// Opens what lies in the folder, if it is the store that was open, and if no call uses what is
    /// open.
    fn open_again(&self) -> Result<Arc<OpenDatabase>> {
        let mut place = self.opened.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = place.take_if(|opened| self.can_replace(opened)) {
            // It moves what its log holds into the database, and takes the log away.
            drop(opened);
        }
        if place.is_none() {
            *place = Some(Arc::new(self.open_same()?));
            tracing::info!("opened {} again", self.folder.display());
        }
        place.clone().ok_or_else(|| self.is_away())
    }

    /// Returns whether what is open is of no use for writing, and the same store is there, and
    /// nothing would be cut off.
    fn can_replace(&self, opened: &mut Arc<OpenDatabase>) -> bool {
        opened.read_only.is_none()
            && opened.database.files.check().is_err()
            && self.is_there()
            && Arc::get_mut(opened).is_some()
    }

    fn is_there(&self) -> bool {
        let Ok(key) = StoreKey::of(&self.options.keys, &self.folder) else {
            return false;
        };
        let found = || {
            StoreId::in_file(&self.folder.join(DATABASE), key.as_ref())
                .ok()
                .flatten()
                .map(|(store, _)| store)
        };
        self.store.is_some()
            && identity::compare(&self.folder, key.as_ref()).is_ok()
            && found() == self.store
    }

    /// Opens the store in the folder, unless it is gone, or another one.
    fn open_same(&self) -> Result<OpenDatabase> {
        if !self.is_there() {
            return Err(self.is_away());
        }
        let opened = OpenDatabase::open(&self.folder, &self.options)?;
        let store = opened
            .readers
            .read(|connection| Ok(StoreId::of(connection)?))?;
        if Some(store) == self.store {
            Ok(opened)
        } else {
            Err(self.is_away())
        }
    }

    fn is_away(&self) -> Error {
        Error::unavailable(format!(
            "the store that was open is no longer in {}: put it back, or restart loci",
            self.folder.display()
        ))
    }

    /// Writes the index as a file for processes that start later, which is else done in the
    /// background when it is due. False, if another process is writing it, if this one may not, or
    /// if there are fewer memories than [`Options::segment_min`].
    ///
    /// # Errors
    /// `unavailable` if the database cannot be read, or the file not written.
    pub fn write_segment(&self) -> Result<bool> {
        self.opened()?.cache.write_segment_now()
    }
}

impl Store for SqliteStore {
    fn commit(&self, batch: Batch) -> Result<()> {
        self.write(move |connection| batch::commit(connection, &batch))
    }

    fn get_all(&self, filter: &Filter, ids: &[MemoryId]) -> Result<Vec<Memory>> {
        self.read(|connection| read::get_all(connection, filter, ids))
    }

    fn locations_of(&self, filter: &Filter, ids: &[MemoryId]) -> Result<Vec<(MemoryId, Location)>> {
        self.read(|connection| read::places_of(connection, filter, ids))
    }

    fn ids_with(&self, filter: &Filter, part: &str, limit: usize) -> Result<Vec<MemoryId>> {
        self.read(|connection| read::ids_with(connection, filter, part, limit))
    }

    fn attribute_values(&self, filter: &Filter, name: &str) -> Result<Vec<(String, u64)>> {
        self.read(|connection| read::attribute_values(connection, filter, name))
    }

    fn ids_of_texts(&self, filter: &Filter, texts: &[&str]) -> Result<Vec<MemoryId>> {
        self.read(|connection| tombstones::ids_of_texts(connection, filter, texts))
    }

    fn revisions(&self, filter: &Filter, limit: usize) -> Result<Vec<(MemoryId, u64)>> {
        self.read(|connection| read::revisions(connection, filter, limit))
    }

    fn list(&self, filter: &Filter, page: Page) -> Result<Vec<Memory>> {
        self.read(|connection| read::list(connection, filter, page))
    }

    fn list_by_insertion(
        &self,
        filter: &Filter,
        order: FilingOrder,
        page: Page,
    ) -> Result<Vec<Memory>> {
        self.read(|connection| filed::filed(connection, filter, order, page))
    }

    fn list_beyond(
        &self,
        filter: &Filter,
        order: FilingOrder,
        beyond: Option<u64>,
        limit: usize,
    ) -> Result<Vec<(u64, Memory)>> {
        self.read(|connection| filed::filed_beyond(connection, filter, order, beyond, limit))
    }

    fn list_sorted(&self, filter: &Filter, sorting: Sorting, page: Page) -> Result<Vec<Memory>> {
        self.read(|connection| sorted::sorted(connection, filter, sorting, page))
    }

    fn facet_counts(&self, filter: &Filter) -> Result<FacetCounts> {
        let opened = self.opened()?;
        opened.unless_changed(opened.cache.search(|index| index.facet_counts(filter)))
    }

    fn count_used(&self, filter: &Filter, since: Timestamp) -> Result<Vec<LocationCount>> {
        self.read(|connection| counts::count_used(connection, filter, since))
    }

    fn count_by_location(&self, filter: &Filter) -> Result<Vec<LocationCount>> {
        self.read(|connection| counts::count_by_location(connection, filter))
    }

    fn count(&self, filter: &Filter) -> Result<u64> {
        self.read(|connection| counts::count(connection, filter))
    }

    fn collections(&self, filter: &Filter) -> Result<Vec<String>> {
        self.read(|connection| counts::collections(connection, filter))
    }

    fn count_uncached(&self, filter: &Filter) -> Result<Vec<LocationCount>> {
        self.read(|connection| counts::count_uncached(connection, filter))
    }

    fn reload(&self) -> Result<()> {
        self.opened()?.cache.forget_segment();
        Ok(())
    }

    fn prepare_search(&self, wait: Duration) -> Result<()> {
        let opened = self.opened()?;
        opened.unless_changed(opened.cache.prepare(wait))
    }

    fn candidates(&self, query: &CandidateQuery<'_>) -> Result<Candidates> {
        let opened = self.opened()?;
        opened.unless_changed(opened.cache.search(|index| index.candidates(query)))
    }

    fn vectors(&self, space: &Space, id: &MemoryId, model: &ModelId) -> Result<Vec<Vector>> {
        self.read(|connection| read::vectors(connection, space, id, model))
    }

    fn passage_range(
        &self,
        space: &Space,
        id: &MemoryId,
        passage: u32,
    ) -> Result<Option<Range<usize>>> {
        self.read(|connection| read::passage_range(connection, space, id, passage))
    }

    fn partition_of(&self, _: &Space) -> Partition {
        Partition::Whole
    }

    fn partitions_with(
        &self,
        work: Work<'_>,
        _after: Option<&Partition>,
        limit: usize,
    ) -> Result<Vec<Partition>> {
        let opened = self.opened()?;
        if let Work::Sweep(_) = work {
            opened.remove_remains();
            opened
                .readers
                .read(|connection| opened.cache.maintain_segment(connection))?;
            opened.readers.shrink();
            opened.cache.release_if_idle();
        }
        let has_work = opened.readers.read(|connection| match work {
            Work::Embed(model) => Ok(read::pending_embeddings(connection, model, 1)? > 0),
            Work::Retire(model) => read::has_vectors(connection, model),
            Work::Sweep(sweep) => remove::needs_sweep(connection, sweep),
            Work::Examine(rules) => open_items::needs_examination(connection, rules),
        })?;
        Ok(Vec::from_iter(
            (has_work && limit > 0).then_some(Partition::Whole),
        ))
    }

    /// Three quarters of the time belong to the processes that wait for the lock of the database.
    /// They look for it only every 100 ms, so that they would seldom meet shorter gaps.
    fn background_pause(&self, round: Duration) -> Duration {
        BACKGROUND_PAUSE_MIN.max(3 * round)
    }

    fn without_vector(
        &self,
        _: &Partition,
        model: &ModelId,
        order: FilingOrder,
        limit: usize,
    ) -> Result<Vec<(Space, MemoryId)>> {
        self.read(|connection| read::without_vector(connection, model, order, limit))
    }

    fn pending_embeddings(&self, model: &ModelId, count_max: usize) -> Result<usize> {
        self.read(|connection| read::pending_embeddings(connection, model, count_max))
    }

    fn models(&self) -> Result<Vec<(ModelId, u64)>> {
        self.read(read::models)
    }

    fn retire_model(&self, _: &Partition, model: &ModelId, limit: usize) -> Result<usize> {
        let Some(model) = self.read(|connection| read::model_row(connection, model))? else {
            return Ok(0);
        };
        self.write(move |connection| write::retire_model(connection, model, limit))
    }

    fn has_other_dimensions(
        &self,
        _: &Partition,
        model: &ModelId,
        dimensions: usize,
    ) -> Result<bool> {
        self.read(|connection| read::has_other_dimensions(connection, model, dimensions))
    }

    fn soft_delete(
        &self,
        filter: &Filter,
        id: Option<&MemoryId>,
        now: Timestamp,
        limit: usize,
    ) -> Result<usize> {
        let chosen = remove::chosen(filter, id);
        let rows = self.read(|connection| remove::deletable(connection, &chosen, limit))?;
        if rows.is_empty() {
            return Ok(0);
        }
        self.write(move |connection| {
            let deleted = remove::soft_delete(connection, &chosen, &rows, now)?;
            if deleted == rows.len() || rows.len() < limit {
                return Ok(deleted);
            }
            // Others changed some candidates since, which must not look as if no more passed.
            let more = remove::deletable(connection, &chosen, limit - deleted)?;
            Ok(deleted + remove::soft_delete(connection, &chosen, &more, now)?)
        })
    }

    fn soft_deleted(
        &self,
        filter: &Filter,
        part: Option<&str>,
        deleted_from: Timestamp,
        page: Page,
    ) -> Result<Vec<SoftDeleted>> {
        self.read(|connection| soft_deleted::list(connection, filter, part, deleted_from, page))
    }

    fn made_from(&self, space: &Space, owner: &str, sources: &[MemoryId]) -> Result<Vec<MemoryId>> {
        self.read(|connection| read::made_from(connection, space, owner, sources))
    }

    fn thread_end(&self, space: &Space, owner: &str, thread: &str) -> Result<u64> {
        self.read(|connection| read::thread_end(connection, space, owner, thread))
    }

    fn accesses(&self, space: &Space, ids: &[MemoryId]) -> Result<Vec<u64>> {
        self.read(|connection| read::accesses(connection, space, ids))
    }

    fn touch(&self, touches: &[AccessIncrement]) -> Result<()> {
        let touches = touches.to_vec();
        self.write(move |connection| write::touch(connection, &touches))
    }

    fn count_by_status(
        &self,
        space: &Space,
        owner: &str,
        now: Timestamp,
    ) -> Result<Vec<StatusCount>> {
        self.read(|connection| read::count_by_status(connection, space, owner, now))
    }

    fn wipe(
        &self,
        space: &Space,
        owner: &str,
        origin: Option<&str>,
        pseudonym: Option<&str>,
        now: Timestamp,
    ) -> Result<WipeCounts> {
        let (space, owner) = (space.clone(), owner.to_owned());
        let (origin, pseudonym) = (origin.map(str::to_owned), pseudonym.map(str::to_owned));
        let wipe = move |connection: &_| {
            remove::wipe(
                connection,
                &space,
                &owner,
                origin.as_deref(),
                pseudonym.as_deref(),
                now,
            )
        };
        let opened = self.opened_to_write()?;
        // Before, because the process may end after the commit; and after it, because one may have
        // been written since.
        opened.cache.remove_segment();
        let wiped = opened.writer.run(wipe)?;
        opened.segment_has_remains.store(true, Ordering::Relaxed);
        opened.remove_remains();
        Ok(wiped)
    }

    fn lease(&self, name: &str, holder: &str, now: Timestamp, until: Timestamp) -> Result<bool> {
        check_lease(now, until)?;
        check_texts([("name", Some(name)), ("holder", Some(holder))])?;
        // Looked at first, because even an empty write takes the lock of all processes.
        if self.read(|connection| jobs::is_leased(connection, name, holder, now))? {
            return Ok(false);
        }
        let (name, holder) = (name.to_owned(), holder.to_owned());
        self.write(move |connection| jobs::lease(connection, &name, &holder, now, until))
    }

    fn lease_holder(&self, name: &str, now: Timestamp) -> Result<Option<String>> {
        self.read(|connection| jobs::lease_holder(connection, name, now))
    }

    fn sweep(&self, _: &Partition, sweep: &Sweep, limit: usize) -> Result<usize> {
        let due = *sweep;
        let steps = self.write(move |connection| remove::sweep(connection, &due, limit))?;
        // It wrote much, unless it was the last. That is moved out of the log here, before the log
        // is so long that a commit does it and its caller waits.
        if steps > 0 && steps < limit {
            self.opened()?.remove_remains();
        }
        Ok(steps)
    }

    fn sweep_clock(&self) -> Result<Option<SweepClock>> {
        self.read(jobs::sweep_clock)
    }

    fn put_sweep_clock(&self, clock: &SweepClock) -> Result<()> {
        let clock = *clock;
        self.write(move |connection| jobs::put_sweep_clock(connection, &clock))
    }

    fn secret(&self) -> Result<[u8; 32]> {
        self.read(read::secret)
    }

    fn check_writable(&self) -> Result<()> {
        let opened = self.opened_to_write()?;
        opened.database.files.check()?;
        let fault = match opened.read_only {
            Some(_) => Some(StoreFault::ReadOnly),
            None => write_fault(&self.folder),
        };
        match fault {
            Some(StoreFault::DiskFull) => Err(Error::disk_full()),
            Some(fault) => Err(Error::of_store(
                fault,
                "its folder or disk is read-only; make it writable and start loci again",
            )),
            None => Ok(()),
        }
    }

    fn version(&self, _: &Space) -> Result<u64> {
        Ok(self.read(read::version)?.cast_unsigned())
    }

    fn size(&self) -> Result<StoreSize> {
        let opened = self.opened()?;
        let (memories, passages) = opened.readers.read(read::counts)?;
        Ok(StoreSize {
            memories,
            passages,
            disk_bytes: opened.database.disk_bytes(),
            index_bytes: opened.cache.bytes() as u64,
            index_loads: opened.cache.loads(),
        })
    }

    fn disk_bytes(&self) -> Result<u64> {
        Ok(self.opened()?.database.disk_bytes())
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use loci_testkit::contract::{memory, passage, put};

    use super::*;

    #[test]
    fn concurrent_writers_share_commits() {
        const WRITERS: usize = 16;
        const BATCHES: usize = 50;
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                let store = &store;
                scope.spawn(move || {
                    for number in 0..BATCHES {
                        let memory = memory(&format!("{writer}-{number}"));
                        store.commit(put(&memory, vec![passage("word")])).unwrap();
                    }
                });
            }
        });
        assert_eq!(store.size().unwrap().memories, (WRITERS * BATCHES) as u64);
        let (commits, _) = store.opened().unwrap().writer.commits();
        assert!(commits < (WRITERS * BATCHES) as u64, "{commits} commits");
    }
}
