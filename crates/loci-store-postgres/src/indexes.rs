//! The indexes of spaces in the memory of this process. Each is loaded by the first search of its
//! space, and brought up to date by every later one, by one look at the change log.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Instant;

use loci_core::{CandidateQuery, Candidates, Error, ModelId, Space};
use loci_index::codec::{decode_terms, decode_vector};
use loci_index::{Index, StoredPassage, StoredVector, Texts};
use loci_search::analysis;
use tokio_postgres::Row;

use crate::failure::Result;
use crate::repair::renew;
use crate::row::{STORED_COLUMNS, read_stored};
use crate::server::Server;
use crate::session::Session;
use crate::transaction::check_analysis;
use crate::value::{Columns, Value, values};

/// Changes that are read one by one. Behind by more, an index is loaded again.
const CHANGES_MAX: i64 = 10_000;

/// The indexes of all spaces.
#[derive(Debug)]
pub(crate) struct Indexes {
    spaces: Mutex<HashMap<Space, Arc<SpaceIndex>>>,
    bytes_max: usize,
    /// Rises with every search, to tell which index was used last.
    clock: AtomicU64,
}

#[derive(Debug, Default)]
struct SpaceIndex {
    /// Held by the one that loads it or brings it up to date.
    following: Mutex<()>,
    loaded: RwLock<Option<Loaded>>,
    used: AtomicU64,
    bytes: AtomicU64,
}

#[derive(Debug)]
struct Loaded {
    index: Index,
    /// The newest change that it has.
    change: i64,
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
        }
    }

    /// Searches an index that has everything committed before the call.
    pub(crate) fn search(
        &self,
        server: &Server,
        query: &CandidateQuery<'_>,
    ) -> Result<Candidates, Error> {
        let space = &query.filter.space;
        let own = Arc::clone(lock(&self.spaces).entry(space.clone()).or_default());
        own.used.store(
            self.clock.fetch_add(1, Ordering::Relaxed),
            Ordering::Relaxed,
        );
        if let Some(found) = own.search_if_current(server, query)? {
            return Ok(found);
        }
        let _following = lock(&own.following);
        if let Some(found) = own.search_if_current(server, query)? {
            return Ok(found);
        }
        let known = own.change();
        let outcome = own.follow(server, space, known);
        if outcome.is_err() {
            // Part of a change may be in the index: the next search loads it again.
            *own.write() = None;
        }
        outcome?;
        self.evict(space);
        let loaded = own.loaded.read().unwrap_or_else(PoisonError::into_inner);
        match &*loaded {
            Some(loaded) => Ok(loaded.index.candidates(query)),
            None => Err(Error::unavailable("the index was dropped; try again")),
        }
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
                *loaded = None;
                bytes -= index.bytes.swap(0, Ordering::Relaxed);
            }
        }
    }

    /// Drops all indexes.
    pub(crate) fn clear(&self) {
        lock(&self.spaces).clear();
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
    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Option<Loaded>> {
        self.loaded.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the newest change that the index has; `None` if it is not loaded.
    fn change(&self) -> Option<i64> {
        let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner);
        loaded.as_ref().map(|loaded| loaded.change)
    }

    /// Searches, if the index is loaded and nothing was committed since.
    fn search_if_current(
        &self,
        server: &Server,
        query: &CandidateQuery<'_>,
    ) -> Result<Option<Candidates>, Error> {
        let Some(change) = self.change() else {
            return Ok(None);
        };
        let space = &query.filter.space;
        let newest = server.read(async |session| newest_change(session, space).await)?;
        let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have brought it further meanwhile.
        let found = loaded
            .as_ref()
            .filter(|loaded| newest == change || loaded.change >= newest)
            .map(|loaded| loaded.index.candidates(query));
        Ok(found)
    }

    /// Brings the index up to date, or loads it.
    fn follow(&self, server: &Server, space: &Space, known: Option<i64>) -> Result<(), Error> {
        let since = Instant::now();
        let changes = match known {
            Some(known) => {
                server.read_snapshot(async |session| changes(session, space, known).await)?
            }
            None => None,
        };
        if let Some(changes) = changes {
            let mut loaded = self.write();
            if let Some(loaded) = &mut *loaded {
                changes.apply(loaded)?;
                self.bytes
                    .store(loaded.index.bytes() as u64, Ordering::Relaxed);
                return Ok(());
            }
        }
        // The old one goes first, so that there are never two.
        *self.write() = None;
        let (_, analysed_by) = server.read(async |session| state(session, space).await)?;
        if analysed_by != i64::from(analysis::VERSION) {
            let memories = renew(server, space)?.memories;
            tracing::info!(%space, memories, "analysed the texts of a space again, as this version of loci does");
        }
        let loaded = server.read_snapshot(async |session| load(session, space).await)?;
        let bytes = loaded.index.bytes();
        tracing::debug!(
            milliseconds = since.elapsed().as_millis(),
            bytes,
            "loaded the index of a space"
        );
        self.bytes.store(bytes as u64, Ordering::Relaxed);
        *self.write() = Some(loaded);
        Ok(())
    }
}

async fn newest_change(session: &Session, space: &Space) -> Result<i64> {
    Ok(state(session, space).await?.0)
}

/// Returns the newest change of a space, and the version of the analysis of its passages.
async fn state(session: &Session, space: &Space) -> Result<(i64, i64)> {
    let sql = "SELECT version, analysis FROM @space WHERE space = $1";
    let Some(row) = session.query_one(sql, &values![space]).await? else {
        return Ok((0, i64::from(analysis::VERSION)));
    };
    let (version, analysis) = (row.try_get(0)?, row.try_get(1)?);
    check_analysis(analysis)?;
    Ok((version, analysis))
}

/// The memories that changed, as they are now.
struct Changes {
    newest: i64,
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
    /// Reads the rows of these memories, or of all.
    async fn read(session: &Session, space: &Space, memories: Option<&[i64]>) -> Result<Self> {
        let (rows, these) = match memories {
            Some(_) => (" AND m.row = ANY($2)", " AND memory = ANY($2)"),
            None => ("", ""),
        };
        let values: Vec<Value> = [Value::from(space)]
            .into_iter()
            .chain(memories.map(|rows| Value::from(rows.to_vec())))
            .collect();
        let statements = [
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
                    "SELECT memory, position, terms, model, scale, vector FROM @passage WHERE space = $1{these} \
                     ORDER BY memory, position"
                ),
                values.clone(),
            ),
            (
                format!(
                    "SELECT memory, position, model, scale, vector FROM @further_vector WHERE space = $1{these} \
                     ORDER BY memory, position, model"
                ),
                values,
            ),
        ];
        let mut found = session.pipeline(&statements).await?.into_iter();
        let mut next = || found.next().map(|(rows, _)| rows).unwrap_or_default();
        Ok(Rows {
            models: next(),
            memories: next(),
            passages: next(),
            further: next(),
        })
    }

    /// Passes each model with its number.
    fn models(&self, mut take: impl FnMut(i64, ModelId)) -> Result<()> {
        for row in &self.models {
            take(row.try_get(0)?, ModelId::new(row.try_get::<_, String>(1)?));
        }
        Ok(())
    }

    /// Passes each passage with the row of its memory, in order.
    fn passages(&self, mut take: impl FnMut(i64, StoredPassage<'_>)) -> Result<()> {
        let mut further = self.further.iter().peekable();
        for row in &self.passages {
            let mut columns = Columns::of(row);
            let key: (i64, i64) = (columns.take()?, columns.take()?);
            let terms: &[u8] = columns.take()?;
            let mut vectors: Vec<(i64, f32, Vec<i8>)> = Vec::new();
            let mut add = |columns: &mut Columns<'_>| -> Result<()> {
                let model: Option<i64> = columns.take()?;
                let (scale, bytes): (Option<f32>, Option<&[u8]>) =
                    (columns.take()?, columns.take()?);
                if let (Some(model), Some(scale), Some(bytes)) = (model, scale, bytes) {
                    let mut values = Vec::with_capacity(bytes.len());
                    decode_vector(bytes, &mut values);
                    vectors.push((model, scale, values));
                }
                Ok(())
            };
            add(&mut columns)?;
            while let Some(next) = further.peek() {
                let mut columns = Columns::of(next);
                let other: (i64, i64) = (columns.take()?, columns.take()?);
                if other > key {
                    break;
                }
                if other == key {
                    add(&mut columns)?;
                }
                further.next();
            }
            let vectors = vectors.iter().map(|(model, scale, values)| StoredVector {
                model: *model,
                scale: *scale,
                values,
            });
            take(
                key.0,
                StoredPassage {
                    terms: decode_terms(terms)?,
                    vectors: vectors.collect(),
                },
            );
        }
        Ok(())
    }
}

/// Reads what changed after the change `known`; `None` if the log does not reach back that far.
async fn changes(session: &Session, space: &Space, known: i64) -> Result<Option<Changes>> {
    let sql = "SELECT number, memory FROM @change WHERE space = $1 AND number > $2 ORDER BY number LIMIT $3";
    let log = session
        .query(sql, &values![space, known, CHANGES_MAX + 1])
        .await?;
    let mut changed = Vec::with_capacity(log.len());
    let mut newest = known;
    for row in &log {
        let (number, memory): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        if number != newest + 1 {
            return Ok(None);
        }
        newest = number;
        changed.push(memory);
    }
    if changed.len() as i64 > CHANGES_MAX {
        return Ok(None);
    }
    changed.sort_unstable();
    changed.dedup();
    changed.retain(|row| *row > 0);
    let rows = Rows::read(session, space, Some(&changed)).await?;
    Ok(Some(Changes {
        newest,
        changed,
        rows,
    }))
}

impl Changes {
    fn apply(&self, loaded: &mut Loaded) -> Result<(), Error> {
        let index = &mut loaded.index;
        self.rows.models(|row, id| index.add_model(row, id))?;
        // All of them first, since an id may have moved from one row to another.
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

/// Loads the index of a space.
async fn load(session: &Session, space: &Space) -> Result<Loaded> {
    let change = newest_change(session, space).await?;
    let rows = Rows::read(session, space, None).await?;
    let (mut index, mut texts) = (Index::default(), Texts::default());
    rows.models(|row, id| texts.add_model(row, id))?;
    for row in &rows.memories {
        let (number, memory) = read_stored(row)?;
        index.insert(number, &memory);
    }
    let mut memories = Vec::with_capacity(rows.passages.len());
    rows.passages(|row, passage| {
        texts.insert(memories.len() as u32, passage);
        memories.push(row);
    })?;
    texts.shrink();
    index.adopt(texts, &memories);
    index.shrink();
    Ok(Loaded { index, change })
}
