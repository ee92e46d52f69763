//! The indexes of spaces in the memory of this process. Each is loaded by the first search of its
//! space, and brought up to date by every later one, by one look at the change log.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Instant;

use loci_core::{Error, IndexLoads, ModelId, Space, SpaceClass, SpaceIndexFigures};
use loci_index::codec::{decode_terms, decode_vector};
use loci_index::{Index, LoadCounter, LoadedFrom, StoredPassage, StoredVector};
use loci_text::analysis;
use tokio_postgres::Row;

use crate::failure::Result;
use crate::repair::renew;
use crate::row::{STORED_COLUMNS, read_stored};
use crate::server::Server;
use crate::session::{Session, Statement};
use crate::transaction::check_analysis;
use crate::value::{Columns, Value, values};

use loader::IndexLoader;

mod loader;
mod nearest;

/// Changes that are read one by one. Behind by more, an index is loaded again.
const CHANGES_MAX: i64 = 10_000;

/// The indexes of all spaces.
#[derive(Debug)]
pub(crate) struct Indexes {
    spaces: Mutex<HashMap<Space, Arc<SpaceIndex>>>,
    bytes_max: usize,
    /// Rises with every search, to tell which index was used last.
    clock: AtomicU64,
    loads: LoadCounter,
    by_class: [ClassCounter; SpaceClass::COUNT],
}

/// Counts what happened to the indexes of one class of spaces.
#[derive(Debug, Default)]
struct ClassCounter {
    loads: AtomicU64,
    evictions: AtomicU64,
}

#[derive(Debug, Default)]
struct SpaceIndex {
    /// Held by the one that loads it or brings it up to date.
    following: Mutex<()>,
    loaded: RwLock<Option<LoadedIndex>>,
    used: AtomicU64,
    bytes: AtomicU64,
}

#[derive(Debug)]
struct LoadedIndex {
    index: Index,
    /// The newest change that it has.
    change: Change,
}

impl LoadedIndex {
    fn class(&self) -> SpaceClass {
        SpaceClass::of(self.index.passages())
    }
}

/// A change of a space. The random number of its transaction tells it from another change of that
/// number, which comes after the server went back to an earlier moment, as from a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Change {
    /// 0 for none.
    number: i64,
    writer: Option<i64>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Indexes {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Indexes {
            spaces: Mutex::default(),
            bytes_max,
            clock: AtomicU64::new(0),
            loads: LoadCounter::default(),
            by_class: Default::default(),
        }
    }

    /// Searches an index that has everything committed before the call.
    pub(crate) fn search<T>(
        &self,
        server: &Server,
        space: &Space,
        search: impl Fn(&Index) -> T,
    ) -> Result<T, Error> {
        let own = self.of(space);
        let before = own.change();
        if let Some(found) = own.search_if_current(server, space, &search)? {
            return Ok(found);
        }
        let _following = lock(&own.following);
        let known = own.change();
        // Another thread may have brought it up to date since.
        if known != before
            && let Some(found) = own.search_if_current(server, space, &search)?
        {
            return Ok(found);
        }
        for known in [known, None, None] {
            let outcome = own.follow(server, space, known, self);
            if outcome.is_err() {
                // Part of a change may be in the index: the next search loads it again.
                *own.write() = None;
            }
            outcome?;
            let found = own.search_as_is(&search);
            self.evict(space);
            if let Some(found) = found {
                return Ok(found);
            }
            // The search of another space evicted it.
        }
        Err(Error::unavailable(
            "the indexes of the spaces that are searched do not fit into memory together; raise \
             `store_index_megabytes`",
        ))
    }

    /// Returns the index of a space, which is used now.
    fn of(&self, space: &Space) -> Arc<SpaceIndex> {
        let own = Arc::clone(lock(&self.spaces).entry(space.clone()).or_default());
        own.used.store(
            self.clock.fetch_add(1, Ordering::Relaxed),
            Ordering::Relaxed,
        );
        own
    }

    /// Drops the indexes that were not searched for longest, beyond the limit of memory.
    fn evict(&self, newest: &Space) {
        let spaces = lock(&self.spaces);
        let mut by_use: Vec<_> = spaces.iter().collect();
        by_use.sort_by_key(|(_, index)| index.used.load(Ordering::Relaxed));
        let mut bytes: u64 = by_use
            .iter()
            .map(|(_, index)| index.bytes.load(Ordering::Relaxed))
            .sum();
        for (space, index) in by_use {
            if bytes <= self.bytes_max as u64 || space == newest {
                continue;
            }
            // One that is in use stays for now.
            if let Ok(mut loaded) = index.loaded.try_write() {
                if let Some(evicted) = loaded.take() {
                    let counter = &self.by_class[evicted.class() as usize];
                    counter.evictions.fetch_add(1, Ordering::Relaxed);
                }
                bytes -= index.bytes.swap(0, Ordering::Relaxed);
            }
        }
    }

    /// Drops all indexes.
    pub(crate) fn clear(&self) {
        lock(&self.spaces).clear();
    }

    /// Returns the number of loads so far.
    pub(crate) fn loads(&self) -> IndexLoads {
        self.loads.counts()
    }

    /// Returns the figures of the indexes by the class of their spaces.
    pub(crate) fn by_class(&self) -> [SpaceIndexFigures; SpaceClass::COUNT] {
        let mut figures = SpaceClass::ALL.map(|class| {
            let counter = &self.by_class[class as usize];
            SpaceIndexFigures {
                loaded: 0,
                loads: counter.loads.load(Ordering::Relaxed),
                evictions: counter.evictions.load(Ordering::Relaxed),
            }
        });
        let indexes: Vec<_> = lock(&self.spaces).values().cloned().collect();
        for index in indexes {
            let loaded = index.loaded.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(loaded) = loaded.as_ref() {
                figures[loaded.class() as usize].loaded += 1;
            }
        }
        figures
    }

    /// Returns the bytes of memory of all indexes.
    pub(crate) fn bytes(&self) -> u64 {
        lock(&self.spaces)
            .values()
            .map(|index| index.bytes.load(Ordering::Relaxed))
            .sum()
    }
}

impl SpaceIndex {
    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Option<LoadedIndex>> {
        self.loaded.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the newest change that the index has; `None` if it is not loaded.
    fn change(&self) -> Option<Change> {
        let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner);
        loaded.as_ref().map(|loaded| loaded.change)
    }

    /// Searches what is loaded; `None` if nothing is.
    fn search_as_is<T>(&self, search: &impl Fn(&Index) -> T) -> Option<T> {
        let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner);
        let loaded = loaded.as_ref()?;
        Some(search(&loaded.index))
    }

    /// Searches, if the index is loaded and nothing was committed since. It does not ask the server
    /// what this process has committed itself.
    fn search_if_current<T>(
        &self,
        server: &Server,
        space: &Space,
        search: &impl Fn(&Index) -> T,
    ) -> Result<Option<T>, Error> {
        let Some(change) = self.change() else {
            return Ok(None);
        };
        if server.newest_committed(space.as_str()) > change.number {
            return Ok(None);
        }
        let newest = server.read(space, async |session| newest_change(session, space).await)?;
        let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have brought it further since.
        let is_current = |loaded: &&LoadedIndex| {
            loaded.change == newest
                || (loaded.change != change && loaded.change.number > newest.number)
        };
        let found = loaded.as_ref().filter(is_current);
        Ok(found.map(|loaded| search(&loaded.index)))
    }

    /// Applies changes to the index; returns false if it is not loaded.
    fn apply(&self, changes: &Changes) -> Result<bool, Error> {
        let mut loaded = self.write();
        let Some(loaded) = &mut *loaded else {
            return Ok(false);
        };
        changes.apply(loaded)?;
        self.bytes
            .store(loaded.index.bytes() as u64, Ordering::Relaxed);
        Ok(true)
    }

    /// Brings the index up to date, or loads it.
    fn follow(
        &self,
        server: &Server,
        space: &Space,
        known: Option<Change>,
        indexes: &Indexes,
    ) -> Result<(), Error> {
        let since = Instant::now();
        let changes = match known {
            Some(known) => {
                server.read(space, async |session| changes(session, space, known).await)?
            }
            None => None,
        };
        if let Some(changes) = changes
            && self.apply(&changes)?
        {
            return Ok(());
        }
        let loaded = self.load(server, space, since);
        let outcome = loaded.as_ref().ok().map(|_| LoadedFrom::Tables);
        indexes.loads.count(outcome);
        let counter = &indexes.by_class[loaded? as usize];
        counter.loads.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Loads the index, since that moment, and returns the class of the space.
    fn load(&self, server: &Server, space: &Space, since: Instant) -> Result<SpaceClass, Error> {
        // The old one goes first, so that there are never two.
        *self.write() = None;
        server.forget_committed(space.as_str());
        let read = || {
            server.read(space, async |session| {
                IndexLoader::read(session, space).await
            })
        };
        let mut loading = read()?;
        if loading.is_outdated() {
            let memories = renew(server, space)?.memories;
            tracing::info!(%space, memories, "analysed the texts of a space again, as this version of loci does");
            loading = read()?;
        }
        let loaded = loading.finish();
        let bytes = loaded.index.bytes();
        tracing::debug!(
            milliseconds = since.elapsed().as_millis(),
            bytes,
            "loaded the index of a space"
        );
        let class = loaded.class();
        let mut own = self.write();
        self.bytes.store(bytes as u64, Ordering::Relaxed);
        *own = Some(loaded);
        Ok(class)
    }
}

const STATE: &str = "SELECT s.version, s.analysis, \
    (SELECT c.writer FROM @change AS c WHERE c.space = $1 AND c.number = s.version) \
    FROM @space AS s WHERE s.space = $1";

/// Returns the newest change of a space.
async fn newest_change(session: &Session, space: &Space) -> Result<Change> {
    let row = session.query_one(STATE, &values![space]).await?;
    Ok(read_state(row.as_ref())?.0)
}

/// Returns the newest change of a space, and the version of the analysis of its passages.
fn read_state(row: Option<&Row>) -> Result<(Change, i64)> {
    let Some(row) = row else {
        return Ok((Change::default(), i64::from(analysis::VERSION)));
    };
    let (number, analysis, writer) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    check_analysis(analysis)?;
    Ok((Change { number, writer }, analysis))
}

/// The memories that changed, as they are now.
struct Changes {
    newest: Change,
    changed: Vec<i64>,
    rows: Rows,
}

/// Rows that an index is made of.
struct Rows {
    models: Vec<Row>,
    memories: Vec<Row>,
    passages: Vec<Row>,
    further: Vec<Row>,
}

impl Rows {
    /// Returns the statements that read the rows of the memories that changed after a change, or of
    /// all memories.
    fn statements(space: &Space, after: Option<i64>) -> Vec<Statement> {
        let (rows, these) = if after.is_some() {
            let changed = format!("ANY(ARRAY(SELECT memory FROM {LOG}))");
            (
                format!(" AND m.row = {changed}"),
                format!(" AND memory = {changed}"),
            )
        } else {
            (String::new(), String::new())
        };
        let values: Vec<Value> = [Value::from(space)]
            .into_iter()
            .chain(after.map(Value::from))
            .chain(after.map(|_| Value::from(CHANGES_MAX + 1)))
            .collect();
        vec![
            (
                "SELECT row, fingerprint FROM @model WHERE space = $1 ORDER BY row".to_owned(),
                values![space],
            ),
            (
                format!(
                    "SELECT {STORED_COLUMNS} FROM @memory AS m WHERE m.space = $1 AND m.deleted_at IS NULL{rows} \
                     ORDER BY m.row"
                ),
                values.clone(),
            ),
            (
                format!(
                    "SELECT memory, position, model, scale, vector FROM @further_vector WHERE space = $1{these} \
                     ORDER BY memory, position, model"
                ),
                values.clone(),
            ),
            (
                format!(
                    "SELECT memory, position, terms, model, scale, vector FROM @passage WHERE space = $1{these} \
                     ORDER BY memory, position"
                ),
                values,
            ),
        ]
    }

    /// Takes the rows that these statements returned.
    fn take(found: &mut impl Iterator<Item = Vec<Row>>) -> Self {
        let mut next = || found.next().unwrap_or_default();
        Rows {
            models: next(),
            memories: next(),
            further: next(),
            passages: next(),
        }
    }

    /// Passes each model with its number.
    fn models(&self, mut take: impl FnMut(i64, ModelId)) -> Result<()> {
        for row in &self.models {
            let (number, model) = read_model(row)?;
            take(number, model);
        }
        Ok(())
    }

    /// Passes each passage with the row of its memory, in order.
    fn passages(&self, mut take: impl FnMut(i64, StoredPassage<'_>)) -> Result<()> {
        let mut passed = 0;
        for row in &self.passages {
            read_passage(row, &self.further, &mut passed, &mut take)?;
        }
        Ok(())
    }
}

/// Passes a passage with the row of its memory, and with its own further vectors. Both come in one
/// order; `passed` counts the further vectors of the passages before.
fn read_passage(
    row: &Row,
    further: &[Row],
    passed: &mut usize,
    take: &mut impl FnMut(i64, StoredPassage<'_>),
) -> Result<()> {
    let mut columns = Columns::of(row);
    let key: (i64, i64) = (columns.take()?, columns.take()?);
    let terms: &[u8] = columns.take()?;
    let mut vectors: Vec<(i64, f32, Vec<i8>)> = Vec::new();
    let mut add = |columns: &mut Columns<'_>| -> Result<()> {
        let model: Option<i64> = columns.take()?;
        let (scale, bytes): (Option<f32>, Option<&[u8]>) = (columns.take()?, columns.take()?);
        if let (Some(model), Some(scale), Some(bytes)) = (model, scale, bytes) {
            let mut values = Vec::with_capacity(bytes.len());
            decode_vector(bytes, &mut values);
            vectors.push((model, scale, values));
        }
        Ok(())
    };
    add(&mut columns)?;
    while let Some(next) = further.get(*passed) {
        let mut columns = Columns::of(next);
        let other: (i64, i64) = (columns.take()?, columns.take()?);
        if other > key {
            break;
        }
        if other == key {
            add(&mut columns)?;
        }
        *passed += 1;
    }
    let vectors = vectors.iter().map(|(model, scale, values)| StoredVector {
        model: *model,
        scale: *scale,
        values,
    });
    let passage = StoredPassage {
        terms: decode_terms(terms)?,
        vectors: vectors.collect(),
    };
    take(key.0, passage);
    Ok(())
}

/// Part of a statement: the changes after one, in their order, up to a number.
const LOG: &str = "@change WHERE space = $1 AND number > $2 ORDER BY number LIMIT $3";

/// Reads what changed after the change `known`; `None` as for [`Changes::read`].
async fn changes(session: &Session, space: &Space, known: Change) -> Result<Option<Changes>> {
    let statements = Changes::statements(space, known);
    let mut found = session.read_together(&statements).await?.into_iter();
    Changes::read(known, &mut found)
}

impl Changes {
    /// Returns the statements that read what changed after a change.
    fn statements(space: &Space, known: Change) -> Vec<Statement> {
        let mut statements = vec![
            (
                "SELECT writer FROM @change WHERE space = $1 AND number = $2".to_owned(),
                values![space, known.number],
            ),
            (
                format!("SELECT number, memory, writer FROM {LOG}"),
                values![space, known.number, CHANGES_MAX + 1],
            ),
        ];
        statements.extend(Rows::statements(space, Some(known.number)));
        statements
    }

    /// Takes the rows that these statements returned; `None` if the log does not reach back that
    /// far, or has another change of that number.
    fn read(known: Change, found: &mut impl Iterator<Item = Vec<Row>>) -> Result<Option<Self>> {
        let same = found.next().unwrap_or_default();
        let writer: Option<i64> = same.first().map(|row| row.try_get(0)).transpose()?;
        if writer != known.writer {
            return Ok(None);
        }
        let log = found.next().unwrap_or_default();
        let mut changed = Vec::with_capacity(log.len());
        let mut newest = known;
        for row in &log {
            let (number, memory): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
            if number != newest.number + 1 {
                return Ok(None);
            }
            newest = Change {
                number,
                writer: row.try_get(2)?,
            };
            changed.push(memory);
        }
        if changed.len() as i64 > CHANGES_MAX {
            return Ok(None);
        }
        changed.sort_unstable();
        changed.dedup();
        changed.retain(|row| *row > 0);
        Ok(Some(Changes {
            newest,
            changed,
            rows: Rows::take(found),
        }))
    }

    fn apply(&self, loaded: &mut LoadedIndex) -> Result<(), Error> {
        let index = &mut loaded.index;
        self.rows.models(|row, id| index.add_model(row, id))?;
        // All removals first, because an id may have moved from one row to another.
        for row in &self.changed {
            index.remove(*row);
        }
        for row in &self.rows.memories {
            let (number, memory) = read_stored(row)?;
            index.insert(number, &memory);
        }
        self.rows
            .passages(|row, passage| index.add_passage(row, passage))?;
        index.settle();
        loaded.change = self.newest;
        Ok(())
    }
}

fn read_model(row: &Row) -> Result<(i64, ModelId)> {
    let fingerprint: String = row.try_get(1)?;
    Ok((row.try_get(0)?, ModelId::new(fingerprint)))
}
