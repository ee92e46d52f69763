//! Work that processes share: the queue of jobs, and leases on what only one process may do.

use loci_core::{
    FailedJob, Job, JobCounts, JobOutcome, MemoryId, SweepClock, Timestamp, lease_end_max,
};
use loci_index::codec::{CLOCK_LEASE, decode_clock_jump, encode_clock_jump};
use rusqlite::{Connection, OptionalExtension, params};

use crate::failure::{Result, conflict, map_unique_violation};
use crate::statements::filter_sql::bound;
use crate::statements::row::read_space;

/// Gives the memory of that row a job.
pub(crate) fn enqueue(
    connection: &Connection,
    row: i64,
    memory: &MemoryId,
    due_at: Timestamp,
) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM job WHERE memory = ?1 AND due_at IS NULL")?
        .execute([row])?;
    let sql = "INSERT INTO job (memory, due_at, attempts) VALUES (?1, ?2, 0)";
    let added = connection
        .prepare_cached(sql)?
        .execute([row, due_at.microseconds()]);
    map_unique_violation(added, || format!("memory `{memory}` has a job already")).map(|_| ())
}

/// Removes the job of the memory of row `?1`, if it has one.
pub(crate) const REMOVE: &str = "DELETE FROM job WHERE memory = ?1";

pub(crate) fn settle(connection: &Connection, job: &Job, outcome: &JobOutcome) -> Result<()> {
    // A parked job is under no lease.
    let sql = "SELECT j.memory FROM memory AS m JOIN job AS j ON j.memory = m.row
        WHERE m.space = ?1 AND m.id = ?2 AND j.lease = ?3";
    let mut statement = connection.prepare_cached(sql)?;
    let held = statement.query_row(
        [job.space.as_str(), job.memory.as_str(), &job.lease],
        |row| row.get::<_, i64>(0),
    );
    let Some(row) = held.optional()? else {
        return Err(conflict(format!(
            "the job of memory `{}` was leased again or removed; leave it to the process that has it now",
            job.memory
        )));
    };
    let wait = |due_at: Option<i64>, problem: &str| {
        let sql = "UPDATE job SET due_at = ?2, lease = NULL, leased_until = NULL, problem = ?3 WHERE memory = ?1";
        connection
            .prepare_cached(sql)?
            .execute(params![row, due_at, problem])
    };
    match outcome {
        JobOutcome::Done => connection.prepare_cached(REMOVE)?.execute([row])?,
        JobOutcome::Retry { due_at, problem } => wait(Some(due_at.microseconds()), problem)?,
        JobOutcome::Failed { problem } => wait(None, problem)?,
        JobOutcome::Release { due_at } => {
            let sql = "UPDATE job SET due_at = ?2, attempts = attempts - 1, lease = NULL, leased_until = NULL
                WHERE memory = ?1";
            connection
                .prepare_cached(sql)?
                .execute([row, due_at.microseconds()])?
        }
    };
    Ok(())
}

/// The jobs that may be leased at `?1`, when leases end at `?3` at the latest; at most `?2`. Passes
/// over jobs under a lease, which are few.
pub(crate) const DUE: &str = "SELECT j.memory, m.space, m.id, j.attempts + 1
    FROM job AS j JOIN memory AS m ON m.row = j.memory
    WHERE j.due_at <= ?1 AND (j.leased_until IS NULL OR j.leased_until <= ?1 OR j.leased_until > ?3)
    ORDER BY j.due_at LIMIT ?2";

pub(crate) fn is_due(connection: &Connection, now: Timestamp) -> Result<bool> {
    Ok(connection.prepare_cached(DUE)?.exists([
        now.microseconds(),
        1,
        lease_end_max(now).microseconds(),
    ])?)
}

pub(crate) fn lease_jobs(
    connection: &Connection,
    now: Timestamp,
    until: Timestamp,
    lease: &str,
    limit: usize,
) -> Result<Vec<Job>> {
    let mut due = connection.prepare_cached(DUE)?;
    let mut rows = due.query(params![
        now.microseconds(),
        bound(limit),
        lease_end_max(now).microseconds()
    ])?;
    let mut jobs: Vec<(i64, Job)> = Vec::new();
    while let Some(row) = rows.next()? {
        let space = read_space(&row.get::<_, String>(1)?)?;
        let memory = MemoryId::new(row.get::<_, String>(2)?);
        jobs.push((
            row.get(0)?,
            Job {
                space,
                memory,
                attempts: row.get(3)?,
                lease: lease.to_owned(),
            },
        ));
    }
    let sql =
        "UPDATE job SET lease = ?2, leased_until = ?3, attempts = attempts + 1 WHERE memory = ?1";
    let mut take = connection.prepare_cached(sql)?;
    for (row, _) in &jobs {
        take.execute(params![row, lease, until.microseconds()])?;
    }
    Ok(jobs.into_iter().map(|(_, job)| job).collect())
}

/// The next that waits, the next lease that runs out, and the next under what is no lease, because
/// it ends after `?1`.
pub(crate) const NEXT: &str = "SELECT (SELECT min(due_at) FROM job WHERE leased_until IS NULL),
    (SELECT min(leased_until) FROM job WHERE leased_until <= ?1),
    (SELECT min(due_at) FROM job WHERE leased_until > ?1)";

pub(crate) fn next_at(connection: &Connection, now: Timestamp) -> Result<Option<Timestamp>> {
    let mut statement = connection.prepare_cached(NEXT)?;
    let moments: [Option<i64>; 3] = statement
        .query_row([lease_end_max(now).microseconds()], |row| {
            Ok([row.get(0)?, row.get(1)?, row.get(2)?])
        })?;
    Ok(moments
        .into_iter()
        .flatten()
        .min()
        .map(Timestamp::from_microseconds))
}

pub(crate) fn counts(connection: &Connection) -> Result<JobCounts> {
    let sql = "SELECT count(due_at), count(*) - count(due_at) FROM job";
    let (waiting, failed): (i64, i64) = connection
        .prepare_cached(sql)?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(JobCounts {
        waiting: waiting.cast_unsigned(),
        failed: failed.cast_unsigned(),
    })
}

pub(crate) fn failed(connection: &Connection, limit: usize) -> Result<Vec<FailedJob>> {
    let sql = "SELECT m.space, m.id, j.attempts, coalesce(j.problem, '')
        FROM job AS j JOIN memory AS m ON m.row = j.memory
        WHERE j.due_at IS NULL ORDER BY m.space, m.id LIMIT ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([bound(limit)])?;
    let mut failed = Vec::new();
    while let Some(row) = rows.next()? {
        failed.push(FailedJob {
            space: read_space(&row.get::<_, String>(0)?)?,
            memory: MemoryId::new(row.get::<_, String>(1)?),
            attempts: row.get(2)?,
            problem: row.get(3)?,
        });
    }
    Ok(failed)
}

/// Returns whether another holder has the lease of that name, and not since the clock ran ahead.
pub(crate) fn is_leased(
    connection: &Connection,
    name: &str,
    holder: &str,
    now: Timestamp,
) -> Result<bool> {
    let sql = "SELECT 1 FROM lease WHERE name = ?1 AND holder <> ?2 AND until > ?3 AND until <= ?4";
    Ok(connection.prepare_cached(sql)?.exists(params![
        name,
        holder,
        now.microseconds(),
        lease_end_max(now).microseconds()
    ])?)
}

/// Returns the holder of the lease of that name, if it is taken and not since the clock ran ahead.
pub(crate) fn lease_holder(
    connection: &Connection,
    name: &str,
    now: Timestamp,
) -> Result<Option<String>> {
    let sql = "SELECT holder FROM lease WHERE name = ?1 AND until > ?2 AND until <= ?3";
    let (from, to) = (now.microseconds(), lease_end_max(now).microseconds());
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement
        .query_row(params![name, from, to], |row| row.get(0))
        .optional()?)
}

/// Takes a lease, unless another holder has it.
pub(crate) fn lease(
    connection: &Connection,
    name: &str,
    holder: &str,
    now: Timestamp,
    until: Timestamp,
) -> Result<bool> {
    if is_leased(connection, name, holder, now)? {
        return Ok(false);
    }
    let sql = "INSERT OR REPLACE INTO lease (name, holder, until) VALUES (?1, ?2, ?3)";
    connection
        .prepare_cached(sql)?
        .execute(params![name, holder, until.microseconds()])?;
    Ok(true)
}

/// Writes a lease, and removes it again.
pub(crate) fn check_write(connection: &Connection) -> Result<()> {
    const NAME: &str = "doctor";
    connection
        .prepare_cached("INSERT OR REPLACE INTO lease (name, holder, until) VALUES (?1, ?1, 0)")?
        .execute([NAME])?;
    connection
        .prepare_cached("DELETE FROM lease WHERE name = ?1")?
        .execute([NAME])?;
    Ok(())
}

pub(crate) fn sweep_clock(connection: &Connection) -> Result<Option<SweepClock>> {
    let sql = "SELECT until, holder FROM lease WHERE name = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement
        .query_row([CLOCK_LEASE], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
        })
        .optional()?;
    Ok(found.map(|(trusted, jump)| SweepClock {
        trusted: Timestamp::from_microseconds(trusted),
        jump: decode_clock_jump(&jump),
    }))
}

pub(crate) fn put_sweep_clock(connection: &Connection, clock: &SweepClock) -> Result<()> {
    let sql = "INSERT OR REPLACE INTO lease (name, holder, until) VALUES (?1, ?2, ?3)";
    connection.prepare_cached(sql)?.execute(params![
        CLOCK_LEASE,
        encode_clock_jump(clock.jump),
        clock.trusted.microseconds()
    ])?;
    Ok(())
}
