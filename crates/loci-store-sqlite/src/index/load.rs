//! Reads everything that the index keeps, each table once and in the order in which it lies on the
//! disk. One thread reads, while another takes the passages in.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use loci_core::{Error, ModelId};
use rusqlite::fallible_streaming_iterator::FallibleStreamingIterator;
use rusqlite::{Connection, Row, Rows};

use crate::failure::{Result, no_thread};
use crate::statements::passages::{POSITION_BITS, passage_keys};
use crate::statements::row::{STORED_COLUMNS, read_stored};
use loci_index::codec::{decode_terms, decode_vector};
use loci_index::{Index, StoredPassage, StoredVector, Texts};

/// The passages that [`Passages::push`] reads.
const PASSAGES: &str = "SELECT row, terms, model, scale, vector FROM passage";
/// The vectors of further models that [`Passages::push`] reads beside them.
const FURTHER: &str = "SELECT passage, model, scale, vector FROM further_vector";
/// Bytes of passages that go from thread to thread together, about.
const CHUNK_BYTES: usize = 256 << 10;
/// Chunks that wait for the index.
const CHUNKS_MAX: usize = 4;
/// Memories that are read while passages have to wait for the index.
const MEMORIES_BETWEEN: usize = 200;

/// The progress of a load, for threads that wait, and a flag that ends it early.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    thousandths: AtomicU64,
    is_ending: Arc<AtomicBool>,
}

impl Progress {
    /// Ends the loads of now and later.
    pub(crate) fn end(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }

    /// Says when loads have to end.
    pub(crate) fn is_ending(&self) -> &Arc<AtomicBool> {
        &self.is_ending
    }

    /// Says where the load is that started so long ago, and when to come back.
    pub(crate) fn describe(&self, elapsed: Duration) -> String {
        /// For a load of which nothing is known yet.
        const SECONDS_AT_FIRST: u64 = 5;
        let thousandths = self.thousandths.load(Ordering::Relaxed);
        let left = elapsed.as_millis() as u64 * 1_000_u64.saturating_sub(thousandths);
        let seconds = left
            .checked_div(thousandths)
            .map_or(SECONDS_AT_FIRST, |left| left.div_ceil(1_000).max(1));
        let percent = thousandths / 10;
        format!(
            "loci loads the index of this store into memory ({percent} % so far); try again in {seconds} s"
        )
    }

    /// Notes that passages up to this row are read, of all between the first and the last.
    pub(crate) fn reach(&self, row: i64, (first, last): (i64, i64)) -> Result<()> {
        if self.is_ending.load(Ordering::Relaxed) {
            return Err(Error::unavailable("the store is being closed").into());
        }
        let share = (row - first) as f64 / (last - first).max(1) as f64;
        self.thousandths
            .store((share * 1_000.0) as u64, Ordering::Relaxed);
        Ok(())
    }
}

/// An index with everything in the database.
pub(crate) fn load(connection: &Connection, progress: &Progress) -> Result<Index> {
    let mut index = Index::default();
    let mut texts = Texts::default();
    for (row, id) in models(connection)? {
        texts.add_model(row, id);
    }
    thread::scope(|scope| {
        let (sender, receiver) = sync_channel(CHUNKS_MAX);
        let thread = thread::Builder::new().name("loci-load".to_owned());
        let building = thread.spawn_scoped(scope, move || build(texts, &receiver));
        let building = building.map_err(|error| no_thread(&error))?;
        let read = read(connection, &mut index, sender, progress);
        // The failure of the other thread is the reason if this one could not go on.
        let (texts, rows) = building
            .join()
            .unwrap_or_else(|panic| resume_unwind(panic))?;
        read?;
        index.adopt(texts, &rows);
        index.shrink();
        Ok(index)
    })
}

/// Puts passages into slots as they come; returns the row of each one's memory, too.
fn build(mut texts: Texts, chunks: &Receiver<Passages>) -> Result<(Texts, Vec<i64>)> {
    let mut rows = Vec::new();
    for chunk in chunks {
        chunk.each(|row, passage| {
            texts.insert(rows.len() as u32, passage);
            rows.push(row);
        })?;
    }
    texts.shrink();
    Ok((texts, rows))
}

/// Reads the passages, which are more work for the other thread than for this one, and the memories
/// whenever that is behind.
fn read(
    connection: &Connection,
    index: &mut Index,
    sender: SyncSender<Passages>,
    progress: &Progress,
) -> Result<()> {
    let ends = "SELECT (SELECT min(row) FROM passage), (SELECT max(row) FROM passage)";
    let ends: (Option<i64>, Option<i64>) =
        connection.query_row(ends, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let ends = ends.0.zip(ends.1).unwrap_or_default();
    let sql = format!(
        "SELECT {STORED_COLUMNS} FROM memory AS m WHERE m.deleted_at IS NULL ORDER BY m.row"
    );
    let mut memories = connection.prepare(&sql)?;
    let mut memories = memories.query([])?;
    let mut passages = connection.prepare(&format!("{PASSAGES} ORDER BY row"))?;
    let mut passages = passages.query([])?;
    let mut further = connection.prepare(&format!("{FURTHER} ORDER BY passage, model"))?;
    let mut further = FurtherVectors::of(further.query([])?)?;
    let (mut is_through, mut reached) = (false, ends.0);
    while !is_through {
        progress.reach(reached, ends)?;
        let mut chunk = Passages::default();
        while chunk.bytes.len() < CHUNK_BYTES && !is_through {
            match passages.next()? {
                Some(row) => reached = chunk.push(row, &mut further)?,
                None => is_through = true,
            }
        }
        while let Err(unsent) = sender.try_send(chunk) {
            match unsent {
                TrySendError::Full(full) if read_memories(&mut memories, index)? => chunk = full,
                // Either there is nothing to do but to wait, or the other thread failed and says
                // why.
                TrySendError::Full(chunk) | TrySendError::Disconnected(chunk) => {
                    match sender.send(chunk) {
                        Ok(()) => break,
                        Err(_) => return Ok(()),
                    }
                }
            }
        }
    }
    drop(sender);
    while read_memories(&mut memories, index)? {}
    Ok(())
}

/// Puts the next memories into the index; whether there were any.
fn read_memories(rows: &mut Rows<'_>, index: &mut Index) -> Result<bool> {
    for number in 0..MEMORIES_BETWEEN {
        let Some(row) = rows.next()? else {
            return Ok(number > 0);
        };
        let (row, memory) = read_stored(row)?;
        index.insert(row, &memory);
    }
    Ok(true)
}

/// The models of the database, with their rows.
pub(crate) fn models(connection: &Connection) -> Result<Vec<(i64, ModelId)>> {
    let mut statement =
        connection.prepare_cached("SELECT row, fingerprint FROM model ORDER BY row")?;
    let models = statement.query_map([], |row| {
        Ok((row.get(0)?, ModelId::new(row.get::<_, String>(1)?)))
    })?;
    Ok(models.collect::<rusqlite::Result<_>>()?)
}

/// The passages of the memory of this row.
pub(crate) fn passages_of(connection: &Connection, row: i64) -> Result<Passages> {
    let mut passages = connection.prepare_cached(&format!(
        "{PASSAGES} WHERE row BETWEEN ?1 AND ?2 ORDER BY row"
    ))?;
    let mut passages = passages.query(passage_keys(row))?;
    let further = format!("{FURTHER} WHERE passage BETWEEN ?1 AND ?2 ORDER BY passage, model");
    let mut further = connection.prepare_cached(&further)?;
    let mut further = FurtherVectors::of(further.query(passage_keys(row))?)?;
    let mut found = Passages::default();
    while let Some(row) = passages.next()? {
        found.push(row, &mut further)?;
    }
    Ok(found)
}

/// Vectors of further models, in the order of passages.
struct FurtherVectors<'a> {
    rows: Rows<'a>,
    /// The passage of the row that is next.
    next: Option<i64>,
}

impl<'a> FurtherVectors<'a> {
    fn of(rows: Rows<'a>) -> Result<Self> {
        let mut further = FurtherVectors { rows, next: None };
        further.advance()?;
        Ok(further)
    }

    fn advance(&mut self) -> Result<()> {
        self.next = self.rows.next()?.map(|row| row.get(0)).transpose()?;
        Ok(())
    }
}

/// Passages as they were read, in one piece of memory.
#[derive(Debug, Default)]
pub(crate) struct Passages {
    heads: Vec<Head>,
    /// Of all passages, in their order.
    vectors: Vec<VectorHead>,
    bytes: Vec<u8>,
}

/// Where a passage lies in the bytes: from where the one before ends, first its terms, then its
/// vectors.
#[derive(Debug)]
struct Head {
    /// The row of its memory.
    memory: i64,
    terms_end: usize,
    /// Up to where the vectors are its own.
    vectors_end: usize,
}

#[derive(Debug)]
struct VectorHead {
    /// The row of its model.
    model: i64,
    scale: f32,
    /// In the bytes.
    end: usize,
}

impl Passages {
    /// Adds the passage in the row, with its own further vectors; returns its row.
    fn push(&mut self, row: &Row<'_>, further: &mut FurtherVectors<'_>) -> Result<i64> {
        let key: i64 = row.get(0)?;
        self.bytes.extend_from_slice(row.get_ref(1)?.as_blob()?);
        let terms_end = self.bytes.len();
        if let Some(model) = row.get(2)? {
            self.push_vector(row, model, 3)?;
        }
        while let Some(passage) = further.next.filter(|passage| *passage <= key) {
            // One that is of no passage is passed over.
            if let Some(row) = further.rows.get().filter(|_| passage == key) {
                self.push_vector(row, row.get(1)?, 2)?;
            }
            further.advance()?;
        }
        self.heads.push(Head {
            memory: key >> POSITION_BITS,
            terms_end,
            vectors_end: self.vectors.len(),
        });
        Ok(key)
    }

    /// Adds the vector whose scale is in this column, and its components in the next.
    fn push_vector(&mut self, row: &Row<'_>, model: i64, column: usize) -> Result<()> {
        self.bytes
            .extend_from_slice(row.get_ref(column + 1)?.as_blob()?);
        let scale = row.get::<_, f64>(column)? as f32;
        self.vectors.push(VectorHead {
            model,
            scale,
            end: self.bytes.len(),
        });
        Ok(())
    }

    /// Hands out each with the row of its memory, in order.
    pub(crate) fn each(&self, mut take: impl FnMut(i64, StoredPassage<'_>)) -> Result<()> {
        let (mut start, mut first) = (0, 0);
        let mut values = Vec::new();
        for Head {
            memory,
            terms_end,
            vectors_end,
        } in &self.heads
        {
            let terms = decode_terms(&self.bytes[start..*terms_end])?;
            let heads = &self.vectors[first..*vectors_end];
            let end = heads.last().map_or(*terms_end, |head| head.end);
            decode_vector(&self.bytes[*terms_end..end], &mut values);
            let mut begin = 0;
            let vector = |head: &VectorHead| {
                let values = &values[begin..head.end - terms_end];
                begin = head.end - terms_end;
                StoredVector {
                    model: head.model,
                    scale: head.scale,
                    values,
                }
            };
            take(
                *memory,
                StoredPassage {
                    terms,
                    vectors: heads.iter().map(vector).collect(),
                },
            );
            (start, first) = (end, *vectors_end);
        }
        Ok(())
    }
}
