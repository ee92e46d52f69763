//! Work that processes share: the queue of jobs, and leases on what one process may do at a time.

use std::collections::BTreeMap;

use loci_core::{
    Error, FailedJob, Job, JobCounts, Space, SweepClock, Timestamp, check_texts, lease_end_max,
};
use loci_index::codec::{CLOCK_LEASE, decode_clock_jump, encode_clock_jump, stored_space};
use loci_index::records::ReadColumns;

use crate::failure::Result;
use crate::scope::Scope;
use crate::server::Server;
use crate::session::Session;
use crate::value::{Columns, values};

/// A job that may be leased at `$1`, when leases end at `$2` at the latest.
const IS_DUE: &str =
    "due_at <= $1 AND (leased_until IS NULL OR leased_until <= $1 OR leased_until > $2)";

/// Leases jobs of any space, the ones that wait longest first.
pub(crate) fn lease_jobs(
    server: &Server,
    now: Timestamp,
    until: Timestamp,
    lease: &str,
    limit: usize,
) -> Result<Vec<Job>, Error> {
    let due = server.read(Scope::AllSpaces, async |session| {
        due(session, now, limit).await
    })?;
    let mut leased = Vec::new();
    for (space, memories) in due {
        leased.extend(server.read(&space, async |session| {
            lease_in(session, &space, &memories, (now, until), lease).await
        })?);
    }
    leased.sort_by_key(|(due_at, _)| *due_at);
    Ok(leased.into_iter().map(|(_, job)| job).collect())
}

/// Returns the memories whose jobs are due, by space.
async fn due(session: &Session, now: Timestamp, limit: usize) -> Result<BTreeMap<Space, Vec<i64>>> {
    let end_max = lease_end_max(now);
    // Over all spaces.
    let sql =
        format!("SELECT space, memory, due_at FROM @job WHERE {IS_DUE} ORDER BY due_at LIMIT $3");
    let rows = session.query(&sql, &values![now, end_max, limit]).await?;
    let mut by_space: BTreeMap<Space, Vec<i64>> = BTreeMap::new();
    for row in &rows {
        by_space
            .entry(stored_space(row.try_get(0)?)?)
            .or_default()
            .push(row.try_get(1)?);
    }
    Ok(by_space)
}

/// Leases the jobs of these memories of a space that are due still; returns them with their times.
async fn lease_in(
    session: &Session,
    space: &Space,
    memories: &[i64],
    (now, until): (Timestamp, Timestamp),
    lease: &str,
) -> Result<Vec<(i64, Job)>> {
    // The condition is checked again under the lock of the row: each job is given once.
    let sql = format!(
        "UPDATE @job AS j SET lease = $5, leased_until = $6, attempts = attempts + 1 \
         WHERE j.space = $3 AND j.memory = ANY($4) AND {IS_DUE} \
         RETURNING j.due_at, j.attempts, (SELECT m.id FROM @memory AS m WHERE m.space = $3 AND m.row = j.memory)"
    );
    let values = values![
        now,
        lease_end_max(now),
        space,
        memories.to_vec(),
        lease,
        until
    ];
    let mut leased = Vec::new();
    for row in session.write(&sql, &values).await? {
        let mut columns = Columns::of(&row);
        let (due_at, attempts): (i64, i64) = (columns.take()?, columns.take()?);
        if let Some(memory) = columns.id_or_null()? {
            let job = Job {
                space: space.clone(),
                memory,
                attempts: u32::try_from(attempts).unwrap_or(u32::MAX),
                lease: lease.to_owned(),
            };
            leased.push((due_at, job));
        }
    }
    Ok(leased)
}

/// Returns when the next job is due, or the next lease runs out, over all spaces.
pub(crate) async fn next_at(session: &Session, now: Timestamp) -> Result<Option<Timestamp>> {
    let sql = "SELECT least((SELECT min(due_at) FROM @job WHERE leased_until IS NULL), \
        (SELECT min(leased_until) FROM @job WHERE leased_until <= $1), \
        (SELECT min(due_at) FROM @job WHERE leased_until > $1))";
    let row = session.query_one(sql, &values![lease_end_max(now)]).await?;
    row.map_or(Ok(None), |row| Columns::of(&row).time_or_null())
}

/// Counts the jobs of all spaces.
pub(crate) async fn counts(session: &Session) -> Result<JobCounts> {
    let mut counts = JobCounts::default();
    for (_, of_space) in counts_by_space(session).await? {
        counts.waiting += of_space.waiting;
        counts.failed += of_space.failed;
    }
    Ok(counts)
}

/// Counts the jobs of each space, in the order of spaces.
async fn counts_by_space(session: &Session) -> Result<Vec<(Space, JobCounts)>> {
    let sql = "SELECT space, count(due_at), count(*) - count(due_at) FROM @job GROUP BY space ORDER BY space";
    let rows = session.query(sql, &[]).await?;
    rows.iter()
        .map(|row| {
            let mut columns = Columns::of(row);
            let space = columns.space()?;
            let counts = JobCounts {
                waiting: columns.number()?,
                failed: columns.number()?,
            };
            Ok((space, counts))
        })
        .collect()
}

/// Returns parked jobs of all spaces.
pub(crate) fn failed(server: &Server, limit: usize) -> Result<Vec<FailedJob>, Error> {
    let mut failed = Vec::new();
    for (space, counts) in server.read(Scope::AllSpaces, counts_by_space)? {
        let left = limit.saturating_sub(failed.len());
        if left > 0 && counts.failed > 0 {
            failed.extend(server.read(&space, async |session| {
                failed_in(session, &space, left).await
            })?);
        }
    }
    Ok(failed)
}

async fn failed_in(session: &Session, space: &Space, limit: usize) -> Result<Vec<FailedJob>> {
    let sql = "SELECT m.id, j.attempts, coalesce(j.problem, '') \
        FROM @job AS j JOIN @memory AS m ON m.space = $1 AND m.row = j.memory \
        WHERE j.space = $1 AND j.due_at IS NULL ORDER BY m.id LIMIT $2";
    let rows = session.query(sql, &values![space, limit]).await?;
    rows.iter()
        .map(|row| {
            let mut columns = Columns::of(row);
            Ok(FailedJob {
                space: space.clone(),
                memory: columns.id()?,
                attempts: u32::try_from(columns.take::<i64>()?).unwrap_or(u32::MAX),
                problem: columns.take()?,
            })
        })
        .collect()
}

/// Takes a lease, unless another holder has it.
pub(crate) async fn lease(
    session: &Session,
    name: &str,
    holder: &str,
    now: Timestamp,
    until: Timestamp,
) -> Result<bool> {
    check_texts([("name", Some(name)), ("holder", Some(holder))])?;
    let sql = "INSERT INTO @lease AS l (space, name, holder, until) VALUES ('', $1, $2, $3) \
        ON CONFLICT (space, name) DO UPDATE SET holder = excluded.holder, until = excluded.until \
        WHERE l.holder = excluded.holder OR l.until <= $4 OR l.until > $5 RETURNING 1";
    let values = values![name, holder, until, now, lease_end_max(now)];
    Ok(!session.write(sql, &values).await?.is_empty())
}

/// Returns the holder of a named lease.
pub(crate) async fn lease_holder(
    session: &Session,
    name: &str,
    now: Timestamp,
) -> Result<Option<String>> {
    let sql =
        "SELECT holder FROM @lease WHERE space = '' AND name = $1 AND until > $2 AND until <= $3";
    let row = session
        .query_one(sql, &values![name, now, lease_end_max(now)])
        .await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

pub(crate) async fn sweep_clock(session: &Session) -> Result<Option<SweepClock>> {
    let sql = "SELECT until, holder FROM @lease WHERE space = '' AND name = $1";
    let Some(row) = session.query_one(sql, &values![CLOCK_LEASE]).await? else {
        return Ok(None);
    };
    let mut columns = Columns::of(&row);
    Ok(Some(SweepClock {
        trusted: columns.time()?,
        jump: decode_clock_jump(columns.text()?),
    }))
}

pub(crate) async fn put_sweep_clock(session: &Session, clock: &SweepClock) -> Result<()> {
    let sql = "INSERT INTO @lease (space, name, holder, until) VALUES ('', $1, $2, $3) \
        ON CONFLICT (space, name) DO UPDATE SET holder = excluded.holder, until = excluded.until";
    let jump = encode_clock_jump(clock.jump);
    session
        .write(sql, &values![CLOCK_LEASE, jump, clock.trusted])
        .await?;
    Ok(())
}
