//! The checks of `loci doctor` on the workers of a cluster with Citus, which the coordinator asks.

use loci_core::CheckOutcome::{self, Doubtful, Faulty, Sound};
use loci_core::{Error, ServerCheck, Timestamp};

use crate::distribution;
use crate::failure::Result;
use crate::options::Options;
use crate::row_security::{POLICY, RowSecurityStatus};
use crate::schema;
use crate::scope::Scope;
use crate::server::Server;
use crate::server_checks::{CLOCK_SECONDS_MAX, finding};
use crate::session::Session;
use crate::value::values;

/// A worker as it was asked.
struct Worker {
    place: String,
    /// The reason if it did not answer.
    answer: Result<String, String>,
}

/// A kind of thing that is wrong with workers.
struct Fault {
    outcome: CheckOutcome,
    text: String,
}

/// Passes each finding on; nothing where the database has no Citus.
pub(crate) fn check(server: &Server, now: Timestamp, tell: &mut dyn FnMut(ServerCheck)) {
    let looked = server.block_on(async {
        let session = server.connect(Scope::AllSpaces).await?;
        look(&session, server.options(), now, tell).await
    });
    if let Err(failure) = looked {
        let error = Error::from(failure);
        tell(finding("workers", Faulty, error.message));
    }
}

async fn look(
    session: &Session,
    options: &Options,
    now: Timestamp,
    tell: &mut dyn FnMut(ServerCheck),
) -> Result<()> {
    let (_, wall) = schema::look(session, &options.schema).await?;
    if session.is_distributed() {
        tell(distribution(session, &options.schema).await?);
        tell(workers(session, options, now).await?);
        tell(shards(session, &options.schema, &wall).await?);
    } else if distribution::is_there(session).await? {
        let text = "the database has Citus, and these tables are plain: `loci migrate` copies them into a new schema, \
            whose tables are distributed";
        tell(finding("distribution", Sound, text));
    }
    Ok(())
}

/// Returns what each worker says to a question.
async fn ask(session: &Session, question: &str) -> Result<Vec<Worker>> {
    let sql = "SELECT nodename || ':' || nodeport, success, coalesce(result, '') FROM run_command_on_workers($1) ORDER BY 1";
    let mut workers = Vec::new();
    for row in session.query(sql, &values![question]).await? {
        let (place, has_answered, told): (String, bool, String) =
            (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        let answer = if has_answered { Ok(told) } else { Err(told) };
        workers.push(Worker { place, answer });
    }
    Ok(workers)
}

async fn distribution(session: &Session, schema: &str) -> Result<ServerCheck> {
    const WHAT: &str = "distribution";
    let sql = "SELECT count(DISTINCT p.logicalrelid), count(s.shardid), count(DISTINCT p.colocationid) \
        FROM pg_dist_partition AS p JOIN pg_class AS c ON c.oid = p.logicalrelid \
        JOIN pg_namespace AS n ON n.oid = c.relnamespace LEFT JOIN pg_dist_shard AS s ON s.logicalrelid = p.logicalrelid \
        WHERE n.nspname = $1";
    let row = session.query_one(sql, &values![schema]).await?;
    let counts = row.map(|row| {
        Ok::<_, tokio_postgres::Error>((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?))
    });
    let (tables, shards, groups): (i64, i64, i64) = counts.transpose()?.unwrap_or_default();
    Ok(if groups > 1 {
        let text = format!(
            "{tables} tables are in {groups} groups, so that rows of a space lie on several workers: restore a backup \
             into a new schema"
        );
        finding(WHAT, Faulty, text)
    } else {
        let text = format!("{tables} tables by space, in {shards} shards");
        finding(WHAT, Sound, text)
    })
}

/// Checks that the workers answer, lose nothing that they acknowledge, and agree on the time.
async fn workers(session: &Session, options: &Options, now: Timestamp) -> Result<ServerCheck> {
    const WHAT: &str = "workers";
    const QUESTION: &str = "SELECT concat_ws('|', current_setting('fsync'), current_setting('synchronous_commit'), \
        (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, (SELECT count(*) FROM pg_stat_replication), \
        current_setting('synchronous_standby_names'))";
    let workers = ask(session, QUESTION).await?;
    let mut faults: Vec<Fault> = Vec::new();
    let mut with_standby = 0;
    for Worker { place, answer } in &workers {
        let (found, has_standby) = faults_of(answer, options, now);
        with_standby += usize::from(has_standby);
        faults.extend(found.into_iter().map(|(outcome, text)| Fault {
            outcome,
            text: format!("{place} {text}"),
        }));
    }
    if faults.is_empty() {
        let text = format!(
            "{} answer and keep what they acknowledge; {with_standby} of them have a standby",
            workers.len()
        );
        return Ok(finding(WHAT, Sound, text));
    }
    let is_faulty = faults.iter().any(|fault| matches!(fault.outcome, Faulty));
    let texts: Vec<_> = faults.into_iter().map(|fault| fault.text).collect();
    let outcome = if is_faulty { Faulty } else { Doubtful };
    Ok(finding(WHAT, outcome, texts.join("; ")))
}

/// Returns what is wrong with a worker that gave this answer, and true if it has a standby.
fn faults_of(
    answer: &Result<String, String>,
    options: &Options,
    now: Timestamp,
) -> (Vec<(CheckOutcome, String)>, bool) {
    let answer = match answer {
        Ok(answer) => answer,
        Err(reason) => {
            let reason = reason.lines().next().unwrap_or_default();
            let text = format!("does not answer ({reason}), so that its spaces are refused");
            return (vec![(Faulty, text)], false);
        }
    };
    let mut faults = Vec::new();
    let mut parts = answer.splitn(5, '|');
    let mut next = || parts.next().unwrap_or_default();
    let (fsync, commit, clock, standbys, names) = (next(), next(), next(), next(), next());
    if fsync != "on" || commit == "off" {
        let outcome = if options.allows_unsafe {
            Doubtful
        } else {
            Faulty
        };
        let text = format!(
            "may lose what it acknowledges (fsync = {fsync}, synchronous_commit = {commit}): turn both on"
        );
        faults.push((outcome, text));
    }
    let clock: i64 = clock.parse().unwrap_or_default();
    let ahead = (clock - now.microseconds()) / 1_000_000;
    if ahead.abs() > CLOCK_SECONDS_MAX {
        let text = format!(
            "has a clock that is {ahead} seconds from that of this machine: let NTP set both"
        );
        faults.push((Doubtful, text));
    }
    let has_standby = standbys != "0";
    if !has_standby && !names.is_empty() {
        let text = format!("has no standby, and waits for {names}: bring it back");
        faults.push((Faulty, text));
    }
    (faults, has_standby)
}

/// Checks that each shard keeps the spaces apart as its table does.
async fn shards(session: &Session, schema: &str, wall: &RowSecurityStatus) -> Result<ServerCheck> {
    const WHAT: &str = "shards";
    let is_open = if wall.is_on {
        "NOT (c.relrowsecurity AND c.relforcerowsecurity) OR"
    } else {
        ""
    };
    // The name of a schema has no quotes. A worker has the tables as well, under names without a number.
    let question = format!(
        "SELECT concat_ws('|', count(*), count(*) FILTER (WHERE {is_open} NOT EXISTS (\
            SELECT 1 FROM pg_policy AS p WHERE p.polrelid = c.oid AND p.polname = '{POLICY}'))) \
         FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace \
         WHERE n.nspname = '{schema}' AND c.relkind = 'r' AND c.relname ~ '_[0-9]+$'"
    );
    let (mut all, mut open, mut places) = (0, 0, Vec::new());
    for Worker { place, answer } in ask(session, &question).await? {
        let Ok(answer) = answer else { continue };
        let counts = answer.split_once('|').unwrap_or_default();
        let count = |text: &str| text.parse().unwrap_or(0_u64);
        all += count(counts.0);
        open += count(counts.1);
        if count(counts.1) > 0 {
            places.push(place);
        }
    }
    if open == 0 {
        let state = if wall.is_on { "is on" } else { "is ready" };
        return Ok(finding(
            WHAT,
            Sound,
            format!("row security {state} in all {all} that answered"),
        ));
    }
    let text = format!(
        "{open} of {all} do not keep the spaces apart, on {}: move them again with Citus, or restore a backup into a \
         new schema",
        places.join(", ")
    );
    Ok(finding(WHAT, Faulty, text))
}
