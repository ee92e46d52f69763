//! A connection of the pool, and the statements on it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::{Duration, Instant};

use deadpool_postgres::Object;
use futures_util::StreamExt;
use futures_util::future::{join, join3, maybe_done, poll_fn, try_join_all};
use loci_index::records::StoredRecord;
use tokio_postgres::{Row, RowStream};

use crate::citus;
use crate::failure::{Failure, Result, silent, silent_read, stalled, unanswered};
use crate::in_order::all_in_order;
use crate::pool::{Connection, Silence};
use crate::pooler;
use crate::scope::Scope;
use crate::shared_state::SharedState;
use crate::value::{Value, read_record, values};

/// A connection for one piece of work. It goes back to the pool afterwards, unless a transaction is
/// still open.
pub(crate) struct Session {
    /// `None` only while it is dropped.
    client: Option<Object>,
    /// The warnings so far on this connection.
    warnings: Arc<AtomicU64>,
    shared: Arc<SharedState>,
    /// True if its statements have names. It stays so for a session: a statement that is parsed
    /// between others that are sent together would come after them.
    is_named: bool,
    /// True if statements of the next session on a connection to this server have names.
    names: Arc<AtomicBool>,
    /// The statement that declares the scope of its work.
    declaration: String,
    /// True if its work concerns only what belongs to the whole store.
    is_of_store: bool,
    in_transaction: AtomicBool,
    /// Noted where an answer does not come in its time, where that is limited.
    silence: Option<Arc<Silence>>,
    /// True if a statement has no answer yet and nobody waits for it.
    is_unanswered: AtomicBool,
}

impl Drop for Session {
    fn drop(&mut self) {
        if (self.in_transaction.load(Ordering::Relaxed)
            || self.is_unanswered.load(Ordering::Relaxed))
            && let Some(client) = self.client.take()
        {
            // The server rolls back when the connection closes.
            drop(Object::take(client));
        }
    }
}

/// The most statements that the server keeps parsed for a connection. Each combination of the
/// conditions of a filter is a statement, and a parsed one takes some ten kilobytes there.
const PARSED_MAX: usize = 512;
/// The most statements that are sent at once where their number has no other bound.
pub(crate) const PIPELINED_MAX: usize = 256;

/// The time in which a transaction must start, where that is limited. A lock is waited for less long.
const START_MAX: Duration = Duration::from_secs(15);
/// The time in which statements of a transaction must run, where that is limited.
const CHANGE_MAX: Duration = Duration::from_mins(5);
/// The time in which a caller's statement must be answered, where that is limited.
const READ_MAX: Duration = Duration::from_secs(30);

/// Starts a transaction that reads, each statement as of its own moment.
const READ: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY";
/// Starts a transaction that reads as of one moment.
const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// A statement with its parameters. `@` before a name stands for the schema.
pub(crate) type Statement = (String, Vec<Value>);

/// A statement that can be sent.
struct PreparedStatement<'a> {
    sql: String,
    /// `None` if statements have no names.
    parsed: Option<tokio_postgres::Statement>,
    values: &'a [Value],
}

impl Session {
    pub(crate) fn new(connection: Connection, shared: Arc<SharedState>, scope: Scope<'_>) -> Self {
        let is_named = connection.is_named.load(Ordering::Relaxed)
            && !shared.has_shards.load(Ordering::Relaxed);
        Session {
            client: Some(connection.client),
            warnings: connection.warnings,
            shared,
            is_named,
            names: connection.is_named,
            silence: connection.silence,
            declaration: scope.declaration(),
            is_of_store: scope == Scope::Store,
            in_transaction: AtomicBool::new(false),
            is_unanswered: AtomicBool::new(false),
        }
    }

    /// Notes whether the tables are distributed over the nodes of a cluster.
    pub(crate) fn note_distribution(&self, is_there: bool) {
        self.shared
            .is_distributed
            .store(is_there, Ordering::Relaxed);
    }

    /// Notes whether the coordinator of a cluster has shards itself.
    pub(crate) fn note_shards(&self, has_shards: bool) {
        self.shared.has_shards.store(has_shards, Ordering::Relaxed);
    }

    /// Returns true if the tables are distributed over the nodes of a cluster.
    pub(crate) fn is_distributed(&self) -> bool {
        self.shared.is_distributed()
    }

    /// Returns true if the rows that it meets may move to another node while it works.
    pub(crate) fn may_move(&self) -> bool {
        self.is_distributed() && !self.is_of_store
    }

    /// Notes whether the tables keep the spaces apart by themselves.
    pub(crate) fn note_wall(&self, is_on: bool) {
        self.shared.is_walled.store(is_on, Ordering::Relaxed);
    }

    /// Returns true if a statement needs a transaction around it, which declares the scope.
    fn needs_declaration(&self) -> bool {
        self.shared.is_walled.load(Ordering::Relaxed)
            && !self.in_transaction.load(Ordering::Relaxed)
    }

    /// Returns the messages that start a transaction, which declares the scope where that is needed.
    fn beginning<'a>(&self, begin: &'a str) -> Vec<Cow<'a, str>> {
        let is_walled = self.shared.is_walled.load(Ordering::Relaxed);
        let declared: Cow<'a, str> = if is_walled {
            format!("{begin}; {}", self.declaration).into()
        } else {
            begin.into()
        };
        if self.may_move() {
            citus::beginning(&declared)
        } else {
            vec![declared]
        }
    }

    /// Sends the messages that start a transaction before it waits for the first.
    async fn send_beginning(&self, messages: &[Cow<'_, str>]) -> Result<()> {
        let client = self.client();
        let sent = messages.iter().map(|sql| client.batch_execute(sql));
        let outcomes = all_in_order(sent).await;
        outcomes.into_iter().try_for_each(|outcome| Ok(outcome?))
    }

    /// Notes whether a pooler lies between. Until that is known, statements have no names, which works
    /// with every pooler and costs the server their parsing.
    pub(crate) fn note_pooler(&self, is_between: bool) {
        self.names.store(!is_between, Ordering::Relaxed);
    }

    /// Returns the number of the process that serves this connection, as the client was told it; `None`
    /// if that is not known.
    pub(crate) async fn process_told(&self) -> Option<i32> {
        let told = pooler::process_told(&self.client().cancel_token()).await;
        told.inspect_err(
            |error| tracing::debug!(%error, "the process of a connection is not known"),
        )
        .ok()
    }

    fn client(&self) -> &Object {
        match &self.client {
            Some(client) => client,
            None => unreachable!("the connection goes with the session"),
        }
    }

    /// Returns the SQL with the schema in the place of each `@` before a name. What belongs to the whole
    /// store lies in tables of its own where the others are distributed.
    pub(crate) fn qualify(&self, sql: &str) -> String {
        let is_apart = self.is_of_store && self.is_distributed();
        let mut qualified = String::with_capacity(sql.len() + 64);
        let mut parts = sql.split('@');
        qualified.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let is_name = part.starts_with(|sign: char| sign.is_ascii_lowercase());
            qualified.push_str(if is_name { &self.shared.prefix } else { "@" });
            if is_apart && citus::is_kept_apart(part) {
                qualified.push_str(citus::APART);
            }
            qualified.push_str(part);
        }
        qualified
    }

    /// Runs a statement that reads, or one within a transaction; returns its rows.
    pub(crate) async fn query(&self, sql: &str, values: &[Value]) -> Result<Vec<Row>> {
        self.query_in(READ, sql, values).await
    }

    /// Runs a statement that writes and is a transaction by itself; returns its rows.
    pub(crate) async fn write(&self, sql: &str, values: &[Value]) -> Result<Vec<Row>> {
        self.check_not_stalled().await?;
        self.limited(self.query_in("BEGIN READ WRITE", sql, values))
            .await
    }

    /// Waits for a commit as long as one may take.
    async fn limited<T>(&self, commit: impl Future<Output = Result<T>>) -> Result<T> {
        let limit = self.shared.commit_timeout;
        if let Ok(outcome) = tokio::time::timeout(limit, commit).await {
            return outcome;
        }
        self.is_unanswered.store(true, Ordering::Relaxed);
        self.shared.note_unanswered();
        Err(unanswered(limit))
    }

    /// Returns the time in which the last statements of a transaction must run, where that is limited.
    pub(crate) fn change_max(&self) -> Option<Duration> {
        self.silence.as_ref().map(|_| CHANGE_MAX)
    }

    /// Waits for work on this session for a time; the connection ends with the session afterwards.
    pub(crate) async fn within<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let outcome = tokio::time::timeout(limit, work).await.ok();
        if outcome.is_none() {
            self.is_unanswered.store(true, Ordering::Relaxed);
        }
        outcome
    }

    /// Waits for an answer, for a time where that is limited: a server that is stopped would keep a caller, and
    /// the connection, for as long as it stands. `silent` makes the failure.
    async fn answered<T>(
        &self,
        limit: Duration,
        silent: fn(Duration) -> Failure,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let Some(silence) = &self.silence else {
            return work.await;
        };
        if let Some(outcome) = self.within(limit, work).await {
            return outcome;
        }
        silence.note();
        Err(silent(limit))
    }

    /// The same for a statement outside of a transaction, which reads, or for one within.
    async fn answered_as_usual<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        if self.in_transaction.load(Ordering::Relaxed) {
            self.answered(CHANGE_MAX, silent, work).await
        } else {
            self.answered(READ_MAX, silent_read, work).await
        }
    }

    /// Returns true if a statement has no answer, so that nothing more can be asked.
    pub(crate) fn is_unanswered(&self) -> bool {
        self.is_unanswered.load(Ordering::Relaxed)
    }

    /// Fails if an earlier write found the server stalled, and commits still wait for a standby there:
    /// another one would wait as well, and nothing is gained by that.
    pub(crate) async fn check_not_stalled(&self) -> Result<()> {
        if self.shared.is_stalled.load(Ordering::Relaxed) {
            self.check_standby().await?;
            self.shared.is_stalled.store(false, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Fails if commits wait for a standby for longer than one should.
    pub(crate) async fn check_standby(&self) -> Result<()> {
        match waiting_commits(self).await? {
            (0, _) => Ok(()),
            (_, seconds) => {
                self.shared.is_stalled.store(true, Ordering::Relaxed);
                Err(stalled(seconds))
            }
        }
    }

    async fn query_in(&self, begin: &str, sql: &str, values: &[Value]) -> Result<Vec<Row>> {
        self.shared.trips.fetch_add(1, Ordering::Relaxed);
        let prepared = self.prepare(sql, values).await?;
        let run = self.run(&prepared);
        // A change of its own has another limit, and one in a transaction starts none.
        let (rows, _) = if self.needs_declaration() {
            let enclosed = self.enclose(begin, run);
            if begin == READ {
                self.answered(READ_MAX, silent_read, enclosed).await?
            } else {
                enclosed.await?
            }
        } else if begin == READ {
            self.answered_as_usual(run).await?
        } else {
            run.await?
        };
        Ok(rows)
    }

    /// Runs work in a transaction of its own, in one round trip: the work sends all of its statements
    /// before it waits.
    async fn enclose<T>(&self, begin: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
        self.in_transaction.store(true, Ordering::Relaxed);
        let messages = self.beginning(begin);
        let (begin, end) = (
            self.send_beginning(&messages),
            self.client().batch_execute("COMMIT"),
        );
        // They are polled in this order.
        let (begun, done, ended) = join3(begin, work, end).await;
        // If the work failed, the server has taken the commit for a rollback.
        if ended.is_ok() {
            self.in_transaction.store(false, Ordering::Relaxed);
        }
        begun?;
        let done = done?;
        ended?;
        Ok(done)
    }

    /// Runs a statement that returns at most one row.
    pub(crate) async fn query_one(&self, sql: &str, values: &[Value]) -> Result<Option<Row>> {
        Ok(self.query(sql, values).await?.pop())
    }

    /// Returns the records that a statement finds.
    pub(crate) async fn records<T: StoredRecord>(
        &self,
        sql: &str,
        values: &[Value],
    ) -> Result<Vec<T>> {
        self.query(sql, values)
            .await?
            .iter()
            .map(read_record)
            .collect()
    }

    /// Returns the last record that a statement finds.
    pub(crate) async fn record<T: StoredRecord>(
        &self,
        sql: &str,
        values: &[Value],
    ) -> Result<Option<T>> {
        let row = self.query_one(sql, values).await?;
        row.as_ref().map(read_record).transpose()
    }

    /// Runs statements in one round trip, which only read unless a transaction is open; returns of each
    /// its rows and how many rows it concerned.
    pub(crate) async fn pipeline(&self, statements: &[Statement]) -> Result<Vec<(Vec<Row>, u64)>> {
        if statements.is_empty() {
            return Ok(Vec::new());
        }
        self.shared.trips.fetch_add(1, Ordering::Relaxed);
        let statements = self.prepare_all(statements).await?;
        let run = self.run_all(&statements);
        if self.needs_declaration() {
            let enclosed = self.enclose(READ, run);
            self.answered(READ_MAX, silent_read, enclosed).await
        } else {
            self.answered_as_usual(run).await
        }
    }

    /// Returns the SQL of a statement, and the statement that the server has parsed, once for a
    /// connection, if statements have names.
    async fn parse(&self, sql: &str) -> Result<(String, Option<tokio_postgres::Statement>)> {
        let sql = self.qualify(sql);
        if !self.is_named {
            return Ok((sql, None));
        }
        let cache = &self.client().statement_cache;
        if cache.size() >= PARSED_MAX {
            cache.clear();
        }
        let parsed = self.client().prepare_cached(&sql).await?;
        Ok((sql, Some(parsed)))
    }

    async fn prepare<'a>(&self, sql: &str, values: &'a [Value]) -> Result<PreparedStatement<'a>> {
        let (sql, parsed) = self.parse(sql).await?;
        Ok(PreparedStatement {
            sql,
            parsed,
            values,
        })
    }

    /// Lets the server parse these statements, as far as it does not know them, in one round trip.
    async fn prepare_all<'a>(
        &self,
        statements: &'a [Statement],
    ) -> Result<Vec<PreparedStatement<'a>>> {
        let mut texts: Vec<&str> = statements.iter().map(|(sql, _)| sql.as_str()).collect();
        texts.sort_unstable();
        texts.dedup();
        let parsed = try_join_all(texts.iter().map(|sql| self.parse(sql))).await?;
        let parsed: HashMap<_, _> = texts.into_iter().zip(parsed).collect();
        let prepared = statements.iter().map(|(sql, values)| {
            let (sql, parsed) = parsed[sql.as_str()].clone();
            PreparedStatement {
                sql,
                parsed,
                values,
            }
        });
        Ok(prepared.collect())
    }

    /// Sends all statements, in their order, before it waits for the first. Of several failures,
    /// the first has the reason: the others follow from it.
    async fn run_all(&self, prepared: &[PreparedStatement<'_>]) -> Result<Vec<(Vec<Row>, u64)>> {
        let outcomes = all_in_order(prepared.iter().map(|prepared| self.run(prepared))).await;
        outcomes.into_iter().collect()
    }

    /// Sends a statement before it waits for anything; returns its rows and how many rows it
    /// concerned.
    async fn run(&self, prepared: &PreparedStatement<'_>) -> Result<(Vec<Row>, u64)> {
        let mut rows = Box::pin(self.send(prepared).await?);
        let mut found = Vec::new();
        while let Some(row) = rows.next().await {
            found.push(row?);
        }
        Ok((found, RowStream::rows_affected(&rows).unwrap_or_default()))
    }

    /// Sends a statement before it waits for anything; returns its rows as they arrive.
    async fn send(&self, prepared: &PreparedStatement<'_>) -> Result<RowStream> {
        let PreparedStatement {
            sql,
            parsed,
            values,
        } = prepared;
        self.shared.observe(sql, values);
        let client = self.client();
        Ok(if let Some(parsed) = parsed {
            client.query_raw(parsed, *values).await?
        } else {
            let typed = values.iter().map(|value| (value, value.kind()));
            client.query_typed_raw(sql, typed).await?
        })
    }

    /// Runs statements without parameters and without rows.
    pub(crate) async fn batch(&self, sql: &str) -> Result<()> {
        self.shared.trips.fetch_add(1, Ordering::Relaxed);
        Ok(self.client().batch_execute(&self.qualify(sql)).await?)
    }

    /// Runs such statements within a transaction, each in a message of its own, in one round trip. Of
    /// several failures, the first has the reason.
    pub(crate) async fn messages(&self, messages: &[String]) -> Result<()> {
        self.shared.trips.fetch_add(1, Ordering::Relaxed);
        let messages: Vec<_> = messages.iter().map(|sql| self.qualify(sql)).collect();
        let client = self.client();
        let sent = messages.iter().map(|sql| client.batch_execute(sql));
        let outcomes = all_in_order(sent).await;
        outcomes.into_iter().try_for_each(|outcome| Ok(outcome?))
    }

    /// Starts a transaction and runs these statements in it, in one round trip.
    pub(crate) async fn begin(
        &self,
        begin: &str,
        statements: &[Statement],
    ) -> Result<Vec<(Vec<Row>, u64)>> {
        self.in_transaction.store(true, Ordering::Relaxed);
        self.shared.trips.fetch_add(1, Ordering::Relaxed);
        let statements = self.prepare_all(statements).await?;
        let messages = self.beginning(begin);
        let begun = async {
            let (begun, rows) =
                join(self.send_beginning(&messages), self.run_all(&statements)).await;
            begun?;
            rows
        };
        self.answered(START_MAX, silent, begun).await
    }

    /// Runs these statements and commits, in one round trip, and waits for that as long as a commit may
    /// take. Returns true if the commit is acknowledged without a warning.
    pub(crate) async fn commit(&self, statements: &[Statement]) -> Result<bool> {
        let run_at = OnceLock::new();
        self.limited(self.commit_noting(statements, &run_at)).await
    }

    /// The same without a limit, and notes when the statements have run, so that only the commit is left.
    pub(crate) async fn commit_noting(
        &self,
        statements: &[Statement],
        run_at: &OnceLock<Instant>,
    ) -> Result<bool> {
        self.shared.trips.fetch_add(1, Ordering::Relaxed);
        let warnings = self.warnings.load(Ordering::SeqCst);
        let statements = self.prepare_all(statements).await?;
        let commit = self.client().batch_execute("COMMIT");
        let run = async {
            let rows = self.run_all(&statements).await;
            run_at.get_or_init(Instant::now);
            rows
        };
        let (rows, committed) = join(run, commit).await;
        rows?;
        committed?;
        self.in_transaction.store(false, Ordering::Relaxed);
        Ok(warnings == self.warnings.load(Ordering::SeqCst))
    }

    /// Ends a transaction without its changes.
    pub(crate) async fn roll_back(&self) -> Result<()> {
        let done = self.batch("ROLLBACK");
        self.answered(START_MAX, silent, done).await?;
        self.in_transaction.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Runs statements that read as of one moment, in one round trip; returns the rows of each.
    pub(crate) async fn read_together(&self, statements: &[Statement]) -> Result<Vec<Vec<Row>>> {
        self.shared.trips.fetch_add(1, Ordering::Relaxed);
        let statements = self.prepare_all(statements).await?;
        let read = self.enclose(SNAPSHOT, self.run_all(&statements));
        let read = self.answered(READ_MAX, silent_read, read).await?;
        Ok(read.into_iter().map(|(rows, _)| rows).collect())
    }

    /// Runs statements that read as of one moment, in one round trip. Passes each row with the
    /// number of its statement as it arrives: all rows of one statement before the next one's.
    pub(crate) async fn read_each(
        &self,
        statements: &[Statement],
        mut take: impl FnMut(usize, Row) -> Result<()>,
    ) -> Result<()> {
        self.in_transaction.store(true, Ordering::Relaxed);
        self.shared.trips.fetch_add(1, Ordering::Relaxed);
        let statements = self.prepare_all(statements).await?;
        let messages = self.beginning(SNAPSHOT);
        let mut begin = Box::pin(maybe_done(self.send_beginning(&messages)));
        let mut sent: Vec<_> = statements
            .iter()
            .map(|prepared| Box::pin(maybe_done(self.send(prepared))))
            .collect();
        let mut end = Box::pin(maybe_done(self.client().batch_execute("COMMIT")));
        // The first poll of each sends it.
        poll_fn(|context| {
            let _ = begin.as_mut().poll(context);
            for statement in &mut sent {
                let _ = statement.as_mut().poll(context);
            }
            let _ = end.as_mut().poll(context);
            Poll::Ready(())
        })
        .await;
        let begun = async {
            begin.as_mut().await;
            begin.as_mut().take_output().transpose()
        };
        self.answered(READ_MAX, silent_read, begun).await?;
        for (number, mut statement) in sent.into_iter().enumerate() {
            let read = async {
                statement.as_mut().await;
                statement.as_mut().take_output().transpose()
            };
            let Some(rows) = self.answered(READ_MAX, silent_read, read).await? else {
                continue;
            };
            let mut rows = Box::pin(rows);
            let mut next = async || {
                let row = async { Ok(rows.next().await.transpose()?) };
                self.answered(READ_MAX, silent_read, row).await
            };
            while let Some(row) = next().await? {
                take(number, row)?;
            }
        }
        end.as_mut().await;
        end.as_mut().take_output().transpose()?;
        self.in_transaction.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Runs reads as of one moment.
    pub(crate) async fn snapshot<T>(&self, work: impl AsyncFn(&Session) -> Result<T>) -> Result<T> {
        self.begin(SNAPSHOT, &[]).await?;
        let outcome = work(self).await;
        self.roll_back().await?;
        outcome
    }
}

/// The time in which a standby confirms a commit, in seconds: more than a busy network needs.
pub(crate) const CONFIRMATION_SECONDS_MAX: f64 = 3.0;

/// Returns how many commits have waited for a standby for longer than that, and the seconds of the
/// first.
pub(crate) async fn waiting_commits(session: &Session) -> Result<(i64, i64)> {
    let sql = "SELECT count(*), coalesce(max(extract(epoch FROM clock_timestamp() - state_change)), 0)::bigint \
               FROM pg_stat_activity WHERE wait_event = 'SyncRep' \
               AND clock_timestamp() - state_change > make_interval(secs => $1)";
    let row = session
        .query_one(sql, &values![CONFIRMATION_SECONDS_MAX])
        .await?;
    let counts = row.map(|row| Ok::<_, tokio_postgres::Error>((row.try_get(0)?, row.try_get(1)?)));
    Ok(counts.transpose()?.unwrap_or_default())
}
