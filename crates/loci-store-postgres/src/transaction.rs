//! A transaction that writes in one space, under the lock of the row of the space.
//!
//! The lock makes it the only writer of the space, so that each statement after it sees all that is
//! committed. Statements that only write are queued, and go to the server with the next one that
//! reads, or with the commit: a transaction costs two round trips, and one more for each read that
//! was not foreseen.

use std::collections::HashMap;

use loci_core::{Error, MemoryId, Timestamp};
use loci_text::analysis;
use tokio_postgres::Row;

use crate::failure::{Result, conflict};
use crate::random::random;
use crate::row::{ExistingMemory, FOUND_COLUMNS, Place};
use crate::session::{Session, Statement};
use crate::value::{Columns, Value, values};

/// The facts that a transaction reads together with the lock, because its changes need it.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    /// The memories with these ids.
    pub(crate) memories: Vec<MemoryId>,
    /// The wipes of these owners.
    pub(crate) owners: Vec<String>,
    /// The memories of which it asks if they are notes.
    pub(crate) notes: Vec<MemoryId>,
    /// True if vectors come with it, so that the models of the space are needed.
    pub(crate) models: bool,
    /// True if it may survive the crash of the server only partly: nothing waits for the disk.
    pub(crate) is_rebuildable: bool,
}

/// The row of a space.
#[derive(Debug, Clone, Default)]
pub(crate) struct SpaceRow {
    pub(crate) version: i64,
    pub(crate) rows: i64,
    pub(crate) audits: i64,
    pub(crate) embedded: Option<String>,
    /// Bounds of the times of its rows; see the columns of the table.
    pub(crate) expires_from: Option<i64>,
    pub(crate) deleted_from: Option<i64>,
    pub(crate) audited_from: Option<i64>,
    pub(crate) wiped_from: Option<i64>,
    pub(crate) trimmed: i64,
    /// The version of the analysis of the passages; negative while they are analysed again.
    pub(crate) analysis: i64,
}

impl SpaceRow {
    fn read(row: &Row) -> Result<Self> {
        let mut columns = Columns::of(row);
        Ok(SpaceRow {
            version: columns.take()?,
            rows: columns.take()?,
            audits: columns.take()?,
            embedded: columns.take()?,
            expires_from: columns.take()?,
            deleted_from: columns.take()?,
            audited_from: columns.take()?,
            wiped_from: columns.take()?,
            trimmed: columns.take()?,
            analysis: columns.take()?,
        })
    }
}

/// A wipe of the data of an owner.
#[derive(Debug)]
struct Wipe {
    owner: String,
    /// `None` for a wipe of the data of all tool sets.
    origin: Option<String>,
    at: i64,
    number: i64,
}

/// A transaction of one space, or of what belongs to the whole store, which has no space.
pub(crate) struct Transaction<'a> {
    session: &'a Session,
    /// The name of the space; empty for the store.
    name: &'a str,
    pub(crate) row: SpaceRow,
    before: SpaceRow,
    writer: i64,
    queue: Vec<Statement>,
    /// Rows to insert, by the beginning of their statement, after the queue. Rows of several changes
    /// share statements.
    inserts: Vec<(String, Vec<Vec<Value>>)>,
    known: HashMap<MemoryId, Option<ExistingMemory>>,
    wipes: Vec<Wipe>,
    notes: HashMap<MemoryId, bool>,
    models: Option<HashMap<String, i64>>,
    /// The changes to the counts of places.
    counts: HashMap<Place, i64>,
    /// The rows of the memories that changed; 0 for something else.
    changes: Vec<i64>,
    has_written: bool,
}

/// Starts a transaction that writes. The server ends it when its process is silent for half as long
/// as others wait for a lock, so that a process which hangs makes no other fail.
pub(crate) const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL lock_timeout = '10s'; \
    SET LOCAL idle_in_transaction_session_timeout = '5s'";
const BEGIN_REBUILDABLE: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL lock_timeout = '10s'; \
    SET LOCAL idle_in_transaction_session_timeout = '5s'; SET LOCAL synchronous_commit = off";
/// The columns of the row of a space.
const SPACE_COLUMNS: &str = "version, rows, audits, embedded, expires_from, deleted_from, audited_from, wiped_from, \
    trimmed, analysis";

/// The name under which a transaction is found again.
pub(crate) struct Commit {
    pub(crate) writer: i64,
    pub(crate) first_change: i64,
    pub(crate) newest_change: i64,
}

impl<'a> Transaction<'a> {
    pub(crate) async fn begin(session: &'a Session, name: &'a str, needs: &Needs) -> Result<Self> {
        let statements = questions(session, name, needs);
        let (memories, notes) = (&needs.memories, &needs.notes);
        let begin = if needs.is_rebuildable {
            BEGIN_REBUILDABLE
        } else {
            BEGIN
        };
        let mut found = session.begin(begin, &statements).await?;
        if found.first().is_none_or(|(rows, _)| rows.is_empty()) {
            found = create_space(session, name, statements).await?;
        }
        let mut found = found.into_iter();
        let mut next = || found.next().map(|(rows, _)| rows).unwrap_or_default();
        let row = match next().first() {
            Some(row) => SpaceRow::read(row)?,
            None => return Err(Error::internal("the row of a space is missing").into()),
        };
        check_analysis(row.analysis)?;
        let mut transaction = Transaction {
            session,
            name,
            before: row.clone(),
            row,
            writer: random().cast_signed(),
            queue: Vec::new(),
            inserts: Vec::new(),
            known: HashMap::new(),
            wipes: Vec::new(),
            notes: HashMap::new(),
            models: None,
            counts: HashMap::new(),
            changes: Vec::new(),
            has_written: false,
        };
        if !memories.is_empty() {
            transaction.know(memories, &next())?;
        }
        if !needs.owners.is_empty() {
            transaction.wipes = next().iter().map(read_wipe).collect::<Result<_>>()?;
        }
        if !notes.is_empty() {
            let known = notes.iter().map(|id| (id.clone(), false));
            transaction.notes = known.collect();
            for row in next() {
                let id = MemoryId::new(row.try_get::<_, String>(0)?);
                transaction.notes.insert(id, true);
            }
        }
        if needs.models {
            transaction.models = Some(read_models(&next())?);
        }
        Ok(transaction)
    }

    /// Takes over what is known of these memories.
    fn know(&mut self, ids: &[MemoryId], rows: &[Row]) -> Result<()> {
        for id in ids {
            self.known.entry(id.clone()).or_insert(None);
        }
        for row in rows {
            let found = ExistingMemory::read(row)?;
            self.known.insert(found.id.clone(), Some(found));
        }
        Ok(())
    }

    pub(crate) fn is_unchanged(&self) -> bool {
        self.queue.is_empty()
            && self.inserts.is_empty()
            && self.changes.is_empty()
            && !self.has_written
    }

    /// Returns the statements that are left, the last ones of the transaction.
    pub(crate) fn finish(mut self) -> (Commit, Vec<Statement>) {
        let writer = self.writer;
        let commit = Commit {
            writer,
            first_change: self.before.version + 1,
            newest_change: self.newest_change(),
        };
        let counts = std::mem::take(&mut self.counts);
        self.write_counts(counts);
        let changes = std::mem::take(&mut self.changes);
        if changes.is_empty() {
            self.queue(
                "INSERT INTO @writer (space, writer) VALUES ($1, $2)",
                values![self.name, writer],
            );
        }
        let rows = changes.iter().map(|memory| {
            self.row.version += 1;
            values![self.name, self.row.version, *memory, writer]
        });
        let rows = rows.collect();
        self.insert_rows(
            "INSERT INTO @change (space, number, memory, writer)",
            rows,
            "",
        );
        let SpaceRow {
            version,
            rows,
            audits,
            embedded,
            expires_from,
            deleted_from,
            audited_from,
            wiped_from,
            trimmed,
            analysis,
        } = self.row.clone();
        self.queue(
            "UPDATE @space SET version = $2, rows = $3, audits = $4, embedded = $5, expires_from = $6, \
             deleted_from = $7, audited_from = $8, wiped_from = $9, trimmed = $10, analysis = $11 WHERE space = $1",
            values![
                self.name,
                version,
                rows,
                audits,
                embedded,
                expires_from,
                deleted_from,
                audited_from,
                wiped_from,
                trimmed,
                analysis
            ],
        );
        (commit, self.queue)
    }

    fn write_counts(&mut self, mut counts: HashMap<Place, i64>) {
        counts.retain(|_, memories| *memories != 0);
        if counts.is_empty() {
            return;
        }
        let left = counts.iter().filter(|(_, memories)| **memories < 0);
        let left: Vec<Vec<u8>> = left.map(|(place, _)| place.key()).collect();
        self.add_counts(counts);
        // Of a place without memories, not even the name is left.
        if !left.is_empty() {
            self.queue(
                "DELETE FROM @place_count WHERE space = $1 AND place = ANY($2) AND memories = 0",
                values![self.name, left],
            );
        }
    }

    /// Adds to the counts of places that the space keeps.
    pub(crate) fn add_counts(&mut self, counts: HashMap<Place, i64>) {
        let rows = counts.into_iter();
        let rows = rows.map(|(place, memories)| place.values(self.name, memories));
        let rows = rows.collect();
        self.insert_rows(
            "INSERT INTO @place_count AS c (space, place, visibility, owner, collection, section, kind, tier, origin, \
             is_forgotten, memories)",
            rows,
            " ON CONFLICT (space, place) DO UPDATE SET memories = c.memories + excluded.memories",
        );
    }

    /// Returns the connection. Statements that are queued have not reached it.
    pub(crate) fn session(&self) -> &'a Session {
        self.session
    }

    /// Returns the name of the space.
    pub(crate) fn name(&self) -> &'a str {
        self.name
    }

    /// Returns the next number of a row.
    pub(crate) fn next_row(&mut self) -> i64 {
        self.row.rows += 1;
        self.row.rows
    }

    /// Adds a statement that only writes.
    pub(crate) fn queue(&mut self, sql: &str, values: Vec<Value>) {
        self.queue_inserts();
        self.queue.push((sql.to_owned(), values));
    }

    /// Adds rows to a table; the tail says what to do with rows that are there. Without one, rows
    /// of several changes share statements, in any order among tables.
    pub(crate) fn insert_rows(&mut self, head: &str, rows: Vec<Vec<Value>>, tail: &str) {
        if rows.is_empty() {
            return;
        }
        if !tail.is_empty() {
            self.queue_inserts();
            self.queue_rows(head, rows, tail);
        } else if let Some((_, known)) = self.inserts.iter_mut().find(|(known, _)| known == head) {
            known.extend(rows);
        } else {
            self.inserts.push((head.to_owned(), rows));
        }
    }

    /// Queues the rows that wait to be inserted.
    fn queue_inserts(&mut self) {
        for (head, rows) in std::mem::take(&mut self.inserts) {
            self.queue_rows(&head, rows, "");
        }
    }

    /// Adds statements that insert these rows, several with each. Only few numbers of rows occur in
    /// a statement, so that few statements have to be prepared.
    fn queue_rows(&mut self, head: &str, rows: Vec<Vec<Value>>, tail: &str) {
        const SIZES: [usize; 4] = [64, 16, 4, 1];
        let mut rows = rows.into_iter().peekable();
        while rows.peek().is_some() {
            let left = rows.len();
            let size = SIZES.into_iter().find(|size| *size <= left).unwrap_or(1);
            let (mut number, mut lists, mut values) = (0, Vec::with_capacity(size), Vec::new());
            for row in rows.by_ref().take(size) {
                let names: Vec<_> = (0..row.len())
                    .map(|_| {
                        number += 1;
                        format!("${number}")
                    })
                    .collect();
                lists.push(format!("({})", names.join(", ")));
                values.extend(row);
            }
            self.queue
                .push((format!("{head} VALUES {}{tail}", lists.join(", ")), values));
        }
    }

    /// Runs a statement after the queued ones, in one round trip; returns its rows and how many rows
    /// it concerned.
    pub(crate) async fn run(&mut self, sql: &str, values: Vec<Value>) -> Result<(Vec<Row>, u64)> {
        self.queue_inserts();
        self.has_written |= !self.queue.is_empty();
        self.queue(sql, values);
        let queue = std::mem::take(&mut self.queue);
        let last = self.session.pipeline(&queue).await?.pop();
        Ok(last.unwrap_or_default())
    }

    /// Runs a statement that reads.
    pub(crate) async fn query(&mut self, sql: &str, values: Vec<Value>) -> Result<Vec<Row>> {
        Ok(self.run(sql, values).await?.0)
    }

    /// Runs a statement that writes; returns how many rows it concerned.
    pub(crate) async fn execute(&mut self, sql: &str, values: Vec<Value>) -> Result<u64> {
        let (_, concerned) = self.run(sql, values).await?;
        self.has_written |= concerned > 0;
        Ok(concerned)
    }

    /// Makes the commit write the row of the space, although no other row may have changed.
    pub(crate) fn keep_row(&mut self) {
        self.has_written = true;
    }

    /// Records a change of the memory of that row.
    pub(crate) fn record_change(&mut self, row: i64) {
        self.changes.push(row);
    }

    /// Records a change of something else than a memory.
    pub(crate) fn record_other_change(&mut self) {
        self.changes.push(0);
    }

    /// Returns the number of the newest change, including changes of this transaction.
    pub(crate) fn newest_change(&self) -> i64 {
        self.before.version + self.changes.len() as i64
    }

    /// Returns the memory with this id, also a soft-deleted one.
    pub(crate) async fn find(&mut self, id: &MemoryId) -> Result<Option<ExistingMemory>> {
        if let Some(known) = self.known.get(id) {
            return Ok(known.clone());
        }
        self.find_all(std::slice::from_ref(id)).await?;
        Ok(self.known.get(id).cloned().flatten())
    }

    /// Reads the memories with these ids that are not known yet.
    pub(crate) async fn find_all(&mut self, ids: &[MemoryId]) -> Result<()> {
        let unknown: Vec<_> = ids
            .iter()
            .filter(|id| !self.known.contains_key(id))
            .cloned()
            .collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let sql = format!(
            "SELECT {FOUND_COLUMNS} FROM @memory AS m WHERE m.space = $1 AND m.id = ANY($2)"
        );
        let rows = self
            .query(&sql, values![self.name, unknown.as_slice()])
            .await?;
        self.know(&unknown, &rows)
    }

    /// Notes that a memory is now as given, and counts it so.
    pub(crate) fn replace(
        &mut self,
        id: &MemoryId,
        before: Option<&ExistingMemory>,
        after: Option<ExistingMemory>,
    ) {
        if let Some(place) = before.and_then(ExistingMemory::counted) {
            *self.counts.entry(place.clone()).or_default() -= 1;
        }
        if let Some(found) = &after {
            if let Some(place) = found.counted() {
                *self.counts.entry(place.clone()).or_default() += 1;
            }
            lower(&mut self.row.expires_from, found.expires_at);
            lower(&mut self.row.deleted_from, found.deleted_at);
        }
        self.known.insert(id.clone(), after);
    }

    /// Returns true if the memory is a note as far as the transaction asked for it; `None` if it did
    /// not ask.
    pub(crate) fn is_note(&self, id: &MemoryId) -> Option<bool> {
        self.notes.get(id).copied()
    }

    /// Forgets which memories are notes, because a change may make them so.
    pub(crate) fn forget_notes(&mut self) {
        self.notes.clear();
    }

    /// Returns the time and the change of the last wipe of the data of an owner and this tool set,
    /// or of any tool set; 0 without one.
    pub(crate) fn last_wipe(&self, owner: &str, origin: Option<&str>) -> (i64, i64) {
        self.wipes
            .iter()
            .filter(|wipe| {
                wipe.owner == owner
                    && origin
                        .is_none_or(|origin| wipe.origin.as_deref().is_none_or(|of| of == origin))
            })
            .fold((i64::MIN, 0), |(at, number), wipe| {
                (at.max(wipe.at), number.max(wipe.number))
            })
    }

    /// Fails if the data of an owner was wiped after the change `since`.
    pub(crate) fn not_wiped(&self, owner: &str, origin: Option<&str>, since: u64) -> Result<()> {
        if self.last_wipe(owner, origin).1.cast_unsigned() > since {
            return Err(conflict(
                "the data of this user was wiped while this call ran; nothing was stored; call again to store it",
            ));
        }
        Ok(())
    }

    /// Returns the number of a model, which is made if it is new.
    pub(crate) async fn model(&mut self, fingerprint: &str) -> Result<i64> {
        if self.models.is_none() {
            let sql = "SELECT row, fingerprint FROM @model WHERE space = $1";
            let rows = self.query(sql, values![self.name]).await?;
            self.models = Some(read_models(&rows)?);
        }
        let models = self.models.get_or_insert_default();
        if let Some(row) = models.get(fingerprint) {
            return Ok(*row);
        }
        let row = models.values().max().copied().unwrap_or(0) + 1;
        models.insert(fingerprint.to_owned(), row);
        self.queue(
            "INSERT INTO @model (space, row, fingerprint) VALUES ($1, $2, $3)",
            values![self.name, row, fingerprint],
        );
        Ok(row)
    }
}

/// Fails if a newer loci has analysed the texts of a space: the words that this one would store are
/// others, and searches would not find them.
pub(crate) fn check_analysis(version: i64) -> Result<()> {
    if version.abs() <= i64::from(analysis::VERSION) {
        return Ok(());
    }
    Err(Error::unavailable(
        "a newer loci has indexed the texts of this space, and this one cannot read its index; install that loci here, too",
    )
    .into())
}

/// Returns the statements that lock the space and read what the changes need.
fn questions(session: &Session, name: &str, needs: &Needs) -> Vec<Statement> {
    let mut statements = vec![lock_statement(session, name)];
    let mut ask = |is_needed: bool, sql: &str, list: Value| {
        if is_needed {
            statements.push((sql.to_owned(), vec![Value::from(name), list]));
        }
    };
    let (memories, notes) = (&needs.memories, &needs.notes);
    let find = format!("SELECT {FOUND_COLUMNS} FROM @memory AS m WHERE m.space = $1 AND m.id");
    match memories.as_slice() {
        [] => {}
        // The server keeps the plan of this one, and plans the other again for each list.
        [id] => ask(true, &format!("{find} = $2"), id.into()),
        ids => ask(true, &format!("{find} = ANY($2)"), ids.into()),
    }
    ask(
        !needs.owners.is_empty(),
        "SELECT owner, origin, at, number FROM @wipe WHERE space = $1 AND owner = ANY($2)",
        needs.owners.as_slice().into(),
    );
    ask(
        !notes.is_empty(),
        "SELECT DISTINCT memory FROM @note_file WHERE space = $1 AND memory = ANY($2)
         AND coalesce(missing_since, 0) = 0",
        notes.as_slice().into(),
    );
    ask(
        needs.models,
        "SELECT row, fingerprint FROM @model WHERE space = $1 AND row > ANY($2)",
        vec![0_i64].into(),
    );
    statements
}

/// Returns the statement that locks the row of a space until the transaction ends, and reads it. On a cluster
/// it changes the row: Citus waits with the move of a shard for a transaction that has changed rows there, and
/// not for one that has only locked some, whose lock would be left behind on the former worker.
pub(crate) fn lock_statement(session: &Session, name: &str) -> Statement {
    let sql = if session.may_move() {
        format!("UPDATE @space SET version = version WHERE space = $1 RETURNING {SPACE_COLUMNS}")
    } else {
        format!("SELECT {SPACE_COLUMNS} FROM @space WHERE space = $1 FOR UPDATE")
    };
    (sql, values![name])
}

/// Lowers a bound to a time, if there is one.
pub(crate) fn lower(bound: &mut Option<i64>, time: Option<Timestamp>) {
    if let Some(time) = time.map(Timestamp::microseconds) {
        *bound = Some(bound.map_or(time, |bound| bound.min(time)));
    }
}

fn read_wipe(row: &Row) -> Result<Wipe> {
    let mut columns = Columns::of(row);
    Ok(Wipe {
        owner: columns.take()?,
        origin: columns.take()?,
        at: columns.take()?,
        number: columns.take()?,
    })
}

fn read_models(rows: &[Row]) -> Result<HashMap<String, i64>> {
    rows.iter()
        .map(|row| Ok((row.try_get(1)?, row.try_get(0)?)))
        .collect()
}

/// Returns the statement that creates the row of a space. It waits for another transaction that
/// creates it.
pub(crate) fn create_space_statement(name: &str) -> Statement {
    (
        "INSERT INTO @space (space, analysis) VALUES ($1, $2) ON CONFLICT DO NOTHING".to_owned(),
        values![name, i64::from(analysis::VERSION)],
    )
}

/// Creates the row of a space, and asks the questions again: without the row nothing was locked, so
/// that others may have written since the first answers.
async fn create_space(
    session: &Session,
    name: &str,
    questions: Vec<Statement>,
) -> Result<Vec<(Vec<Row>, u64)>> {
    let create = create_space_statement(name);
    let statements: Vec<_> = [create].into_iter().chain(questions).collect();
    let mut answers = session.pipeline(&statements).await?;
    Ok(answers.split_off(1))
}
