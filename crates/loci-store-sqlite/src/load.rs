//! Reads everything that the index keeps, each table once and in the order in which it lies on the
//! disk. One thread reads, while another takes the passages in.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;

use loci_core::{Error, ModelId};
use rusqlite::{Connection, Row, Rows};

use crate::codec::{decode_terms, decode_vector};
use crate::failure::{Result, damaged};
use crate::index::{Index, StoredPassage, StoredVector, Texts};
use crate::read::POSITION_BITS;
use crate::row::{STORED_COLUMNS, read_stored};

/// The columns of `passage` that [`Passages::push`] reads, in its order.
pub(crate) const PASSAGE_COLUMNS: &str = "row, terms, model, scale, vector";
/// Bytes of passages that go from thread to thread together, about.
const CHUNK_BYTES: usize = 256 << 10;
/// Chunks that wait for the index.
const CHUNKS_MAX: usize = 4;
/// Memories that are read while passages have to wait for the index.
const MEMORIES_BETWEEN: usize = 200;

/// An index with everything in the database.
pub(crate) fn load(connection: &Connection) -> Result<Index> {
    let mut index = Index::default();
    let mut texts = Texts::default();
    for (row, id) in models(connection)? {
        texts.add_model(row, id);
    }
    thread::scope(|scope| {
        let (sender, receiver) = sync_channel(CHUNKS_MAX);
        let thread = thread::Builder::new().name("loci-load".to_owned());
        let building = thread.spawn_scoped(scope, move || build(texts, &receiver));
        let building = building.map_err(|_| Error::unavailable("no thread can be started; try again later"))?;
        let read = read(connection, &mut index, sender);
        // What the other thread came upon is why this one could not go on, if it could not.
        let (texts, rows) = building.join().unwrap_or_else(|panic| resume_unwind(panic))?;
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
fn read(connection: &Connection, index: &mut Index, sender: SyncSender<Passages>) -> Result<()> {
    let sql = format!("SELECT {STORED_COLUMNS} FROM memory AS m WHERE m.deleted_at IS NULL ORDER BY m.row");
    let mut memories = connection.prepare(&sql)?;
    let mut memories = memories.query([])?;
    let mut passages = connection.prepare(&format!("SELECT {PASSAGE_COLUMNS} FROM passage ORDER BY row"))?;
    let mut passages = passages.query([])?;
    let mut is_through = false;
    while !is_through {
        let mut chunk = Passages::default();
        while chunk.bytes.len() < CHUNK_BYTES && !is_through {
            match passages.next()? {
                Some(row) => chunk.push(row)?,
                None => is_through = true,
            }
        }
        while let Err(unsent) = sender.try_send(chunk) {
            match unsent {
                TrySendError::Full(full) if read_memories(&mut memories, index)? => chunk = full,
                // Either there is nothing to do but to wait, or the other thread failed and says why.
                TrySendError::Full(chunk) | TrySendError::Disconnected(chunk) => match sender.send(chunk) {
                    Ok(()) => break,
                    Err(_) => return Ok(()),
                },
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
        let Some(row) = rows.next()? else { return Ok(number > 0) };
        index.insert(row.get(0)?, &read_stored(row)?);
    }
    Ok(true)
}

/// The models of the database, with their rows.
pub(crate) fn models(connection: &Connection) -> Result<Vec<(i64, ModelId)>> {
    let mut statement = connection.prepare_cached("SELECT row, fingerprint FROM model ORDER BY row")?;
    let models = statement.query_map([], |row| Ok((row.get(0)?, ModelId::new(row.get::<_, String>(1)?))))?;
    Ok(models.collect::<rusqlite::Result<_>>()?)
}

/// Passages as they were read, in one piece of memory.
#[derive(Debug, Default)]
pub(crate) struct Passages {
    heads: Vec<Head>,
    bytes: Vec<u8>,
}

/// Where a passage lies in the bytes: from where the one before ends, first its terms, then its
/// vector.
#[derive(Debug)]
struct Head {
    /// The row of its memory.
    memory: i64,
    terms_end: usize,
    end: usize,
    /// The row of the vector's model, and the vector's scale.
    vector: Option<(i64, f32)>,
}

impl Passages {
    /// Adds the passage in the row.
    pub(crate) fn push(&mut self, row: &Row<'_>) -> Result<()> {
        let blob = |column| -> Result<&[u8]> { row.get_ref(column)?.as_blob().map_err(|_| damaged().into()) };
        let key: i64 = row.get(0)?;
        self.bytes.extend_from_slice(blob(1)?);
        let terms_end = self.bytes.len();
        let vector = match row.get::<_, Option<i64>>(2)? {
            Some(model) => {
                self.bytes.extend_from_slice(blob(4)?);
                Some((model, row.get::<_, f64>(3)? as f32))
            }
            None => None,
        };
        self.heads.push(Head { memory: key >> POSITION_BITS, terms_end, end: self.bytes.len(), vector });
        Ok(())
    }

    /// Hands out each with the row of its memory, in order.
    pub(crate) fn each(&self, mut take: impl FnMut(i64, StoredPassage<'_>)) -> Result<()> {
        let mut start = 0;
        let mut values = Vec::new();
        for Head { memory, terms_end, end, vector } in &self.heads {
            let terms = decode_terms(&self.bytes[start..*terms_end])?;
            decode_vector(&self.bytes[*terms_end..*end], &mut values);
            let vector = vector.map(|(model, scale)| StoredVector { model, scale, values: &values });
            take(*memory, StoredPassage { terms, vector });
            start = *end;
        }
        Ok(())
    }
}
