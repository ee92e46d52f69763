//! The checks of `loci doctor` on the server itself: version, standbys, durability, limits, pooler,
//! clock, tables.

use std::time::{Duration, Instant};

use loci_core::CheckOutcome::{self, Doubtful, Faulty, Sound};
use loci_core::{Error, ServerCheck, Timestamp};

use crate::failure::Result;
use crate::migrations::VERSION;
use crate::row_security::RowSecurityStatus;
use crate::schema::{self, SERVER_MIN, UTF8, wrong_encoding};
use crate::scope::Scope;
use crate::server::Server;
use crate::session::{CONFIRMATION_SECONDS_MAX, Session, waiting_commits};
use crate::value::values;

/// The largest difference between the clocks of this machine and the server, in seconds, before
/// leases and expiries go wrong noticeably.
pub(crate) const CLOCK_SECONDS_MAX: i64 = 5;

/// The pause between two looks whether a standby has confirmed a commit.
const PROBE_PAUSE: Duration = Duration::from_millis(50);

/// Passes each finding on as soon as it is known; at the end the reason if the server did not answer
/// to the last question. Returns true if it did.
pub(crate) fn check(server: &Server, now: Timestamp, tell: &mut dyn FnMut(ServerCheck)) -> bool {
    let looked = server.block_on(async {
        let session = server.connect(Scope::Store).await?;
        look(&session, server, now, tell).await
    });
    let has_answered = looked.is_ok();
    if let Err(failure) = looked {
        let error = Error::from(failure);
        tell(finding("server", Faulty, error.message));
    }
    has_answered
}

pub(crate) fn finding(
    subject: &'static str,
    outcome: CheckOutcome,
    text: impl Into<String>,
) -> ServerCheck {
    ServerCheck {
        subject,
        outcome,
        text: text.into(),
    }
}

async fn look(
    session: &Session,
    server: &Server,
    now: Timestamp,
    tell: &mut dyn FnMut(ServerCheck),
) -> Result<()> {
    let options = server.options();
    tell(version(session, &options.shown()).await?);
    // What keeps writes from their end comes first.
    tell(standbys(session).await?);
    tell(encryption(session).await?);
    tell(encoding(session).await?);
    tell(durability(session, options.allows_unsafe).await?);
    tell(checksums(session).await?);
    tell(timeouts(session).await?);
    tell(connections(session, options.connections_max).await?);
    tell(pooler(session).await?);
    tell(clock(session, now).await?);
    let (found, wall) = schema::look(session, &options.schema).await?;
    tell(tables(found, &options.schema, options.migrates));
    tell(row_security(session, found, &wall).await?);
    Ok(())
}

/// Returns the value of a setting of the server, for this connection.
async fn setting(session: &Session, name: &str) -> Result<String> {
    let row = session
        .query_one(
            "SELECT coalesce(current_setting($1, true), '')",
            &values![name],
        )
        .await?;
    Ok(row
        .map(|row| row.try_get(0))
        .transpose()?
        .unwrap_or_default())
}

async fn version(session: &Session, place: &str) -> Result<ServerCheck> {
    const WHAT: &str = "server";
    let shown = setting(session, "server_version").await?;
    let number: i32 = setting(session, "server_version_num")
        .await?
        .parse()
        .unwrap_or_default();
    let row = session
        .query_one("SELECT current_user::text, pg_is_in_recovery()", &[])
        .await?;
    let Some(row) = row else {
        return Ok(finding(WHAT, Faulty, "the server does not answer"));
    };
    let (user, is_standby): (String, bool) = (row.try_get(0)?, row.try_get(1)?);
    Ok(if number < SERVER_MIN {
        let text = format!("{place} has PostgreSQL {shown}; loci needs 15 or later");
        finding(WHAT, Faulty, text)
    } else if is_standby {
        let text = format!("{place} is a standby, which only reads: name the primary");
        finding(WHAT, Faulty, text)
    } else {
        let text = format!("{place} answers {user} with PostgreSQL {shown}");
        finding(WHAT, Sound, text)
    })
}

async fn encryption(session: &Session) -> Result<ServerCheck> {
    const WHAT: &str = "encryption";
    let sql = "SELECT coalesce(bool_or(s.ssl), false), coalesce(max(s.version), ''), \
               coalesce(inet_server_addr() <<= '127.0.0.0/8' OR inet_server_addr() <<= '::1/128', true) \
               FROM pg_stat_ssl AS s WHERE s.pid = pg_backend_pid()";
    let Some(row) = session.query_one(sql, &[]).await? else {
        return Ok(finding(WHAT, Doubtful, "it is not known"));
    };
    let (is_on, protocol, is_local): (bool, String, bool) =
        (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    Ok(if is_on {
        finding(
            WHAT,
            Sound,
            format!("the connection that the server sees has {protocol}"),
        )
    } else if is_local {
        finding(WHAT, Sound, "none, and the server is on this machine")
    } else {
        let text = "memories and passwords travel unencrypted: turn TLS on at the server, and add sslmode=verify-full \
                    to the URL";
        finding(WHAT, Doubtful, text)
    })
}

async fn durability(session: &Session, allows_unsafe: bool) -> Result<ServerCheck> {
    const WHAT: &str = "durability";
    let fsync = setting(session, "fsync").await?;
    let commit = setting(session, "synchronous_commit").await?;
    let names = setting(session, "synchronous_standby_names").await?;
    let state = format!("fsync = {fsync}, synchronous_commit = {commit}");
    if fsync != "on" || commit == "off" {
        let outcome = if allows_unsafe { Doubtful } else { Faulty };
        let text = format!("the server may lose what it acknowledges ({state}); turn both on");
        return Ok(finding(WHAT, outcome, text));
    }
    let place = match (names.is_empty(), commit.as_str()) {
        (true, _) => "on the disk of the server when it is acknowledged",
        (false, "local") => {
            "on the disk of the server when it is acknowledged, and perhaps not yet on a standby"
        }
        (false, "remote_write") => {
            "on the disk of the server and in the memory of a standby when it is acknowledged"
        }
        (false, _) => "on the disks of the server and a standby when it is acknowledged",
    };
    Ok(finding(
        WHAT,
        Sound,
        format!("a write is {place} ({state})"),
    ))
}

async fn checksums(session: &Session) -> Result<ServerCheck> {
    const WHAT: &str = "checksums";
    Ok(if setting(session, "data_checksums").await? == "on" {
        finding(WHAT, Sound, "the server detects damaged pages")
    } else {
        let text = "the server does not detect damaged pages: turn checksums on (pg_checksums --enable, while it is \
                    stopped)";
        finding(WHAT, Doubtful, text)
    })
}

async fn standbys(session: &Session) -> Result<ServerCheck> {
    const WHAT: &str = "standbys";
    let sql = "SELECT count(*), count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')), \
               pg_has_role('pg_read_all_stats', 'USAGE') FROM pg_stat_replication";
    let Some(row) = session.query_one(sql, &[]).await? else {
        return Ok(finding(WHAT, Doubtful, "they are not known"));
    };
    let (all, synchronous, is_told): (i64, i64, bool) =
        (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    let names = setting(session, "synchronous_standby_names").await?;
    let is_waited_for = !names.is_empty()
        && !["local", "off"].contains(&setting(session, "synchronous_commit").await?.as_str());
    let waiting = match waiting_commits(session).await? {
        (0, _) => String::new(),
        (1, seconds) => format!("; a commit waits, for {seconds} s"),
        (commits, seconds) => format!("; {commits} commits wait, the first for {seconds} s"),
    };
    if all > 0 && is_waited_for && is_told {
        let silent = silent_standbys(session, &names).await?;
        if !silent.is_empty() {
            let text = format!(
                "{} of {names} does not answer, so that no write is acknowledged{waiting}; reads go on: bring it back, \
                 or change synchronous_standby_names",
                silent.join(", ")
            );
            return Ok(finding(WHAT, Faulty, text));
        }
    }
    Ok(if !waiting.is_empty() {
        let text = format!(
            "one that must confirm each write does not answer{waiting}; reads go on: bring it back, or change \
             synchronous_standby_names ({names})"
        );
        finding(WHAT, Faulty, text)
    } else if all > 0 && !is_told {
        let text = format!(
            "{all} are connected; whether they are synchronous is told to roles with pg_read_all_stats alone"
        );
        finding(WHAT, Sound, text)
    } else if !names.is_empty() && synchronous == 0 {
        let text = format!(
            "none of {names} is connected, so that no write is acknowledged: bring one back, or empty \
             synchronous_standby_names"
        );
        finding(WHAT, Faulty, text)
    } else if all == 0 {
        finding(WHAT, Sound, "none: a backup is the only other copy")
    } else {
        let text = format!("{all} are connected, {synchronous} of them synchronous");
        finding(WHAT, Sound, text)
    })
}

/// Returns the standbys that must confirm each commit and do not confirm one that this makes, which
/// changes nothing and does not wait for them; nothing if enough do.
async fn silent_standbys(session: &Session, names: &str) -> Result<Vec<String>> {
    const PROBE: &str = "BEGIN READ WRITE; SET LOCAL synchronous_commit = local; SELECT pg_current_xact_id(), \
                         pg_logical_emit_message(true, 'loci doctor', ''); COMMIT";
    const FLUSHED: &str = "SELECT pg_current_wal_flush_lsn()::text";
    const SILENT: &str = "SELECT application_name || coalesce(' at ' || host(client_addr), ''), sync_state, \
                          coalesce(extract(epoch FROM clock_timestamp() - reply_time), 0)::bigint \
                          FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum') \
                          AND coalesce(flush_lsn, '0/0') < $1::text::pg_lsn ORDER BY 1";
    // A role may lack the right to the function: then only commits that wait show it.
    if session.batch(PROBE).await.is_err() {
        let _ = session.roll_back().await;
        return Ok(Vec::new());
    }
    let row = session.query_one(FLUSHED, &[]).await?;
    let position: String = row
        .map(|row| row.try_get(0))
        .transpose()?
        .unwrap_or_default();
    let synchronous = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'quorum'";
    let row = session.query_one(synchronous, &[]).await?;
    let of_quorum: i64 = row
        .map(|row| row.try_get(0))
        .transpose()?
        .unwrap_or_default();
    // `ANY 2 (a, b, c)`: as many as need not answer.
    let needed = names
        .split_whitespace()
        .nth(1)
        .and_then(|number| number.parse().ok())
        .unwrap_or(1);
    let spare = (of_quorum - needed).max(0);
    let begun = Instant::now();
    loop {
        let silent = session.query(SILENT, &values![&position]).await?;
        let mut told = Vec::new();
        let mut quorum = 0;
        for row in &silent {
            let (name, state, seconds): (String, String, i64) =
                (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
            quorum += i64::from(state == "quorum");
            told.push(format!("{name} (last heard of {seconds} s ago)"));
        }
        let is_enough = quorum <= spare && quorum == silent.len() as i64;
        if is_enough {
            return Ok(Vec::new());
        }
        if begun.elapsed() > Duration::from_secs_f64(CONFIRMATION_SECONDS_MAX) {
            return Ok(told);
        }
        tokio::time::sleep(PROBE_PAUSE).await;
    }
}

/// Checks that every text can be stored.
async fn encoding(session: &Session) -> Result<ServerCheck> {
    const WHAT: &str = "encoding";
    let encoding = setting(session, "server_encoding").await?;
    Ok(if encoding == UTF8 {
        finding(WHAT, Sound, "the database takes every text")
    } else {
        finding(WHAT, Faulty, wrong_encoding(&encoding))
    })
}

async fn timeouts(session: &Session) -> Result<ServerCheck> {
    const WHAT: &str = "timeouts";
    let timeout = setting(session, "statement_timeout").await?;
    Ok(if timeout == "0" {
        finding(WHAT, Sound, "the server cancels no statement")
    } else {
        let text = format!(
            "the server cancels statements after {timeout}, a commit that waits for a standby among them: ALTER ROLE \
             … SET statement_timeout = 0 for the role of loci"
        );
        finding(WHAT, Doubtful, text)
    })
}

/// Checks that the processes of loci can make as many connections as they may. Each one has a name
/// of its own at the server.
async fn connections(session: &Session, wanted: usize) -> Result<ServerCheck> {
    const WHAT: &str = "connections";
    let sql = "SELECT count(*), count(*) FILTER (WHERE is_ours), count(DISTINCT name) FILTER (WHERE is_ours), \
               (SELECT least( \
                   current_setting('max_connections')::bigint \
                       - current_setting('superuser_reserved_connections')::bigint \
                       - coalesce(current_setting('reserved_connections', true), '0')::bigint, \
                   (SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user), \
                   (SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database()))) \
               FROM (SELECT application_name AS name, \
                   coalesce(datname = current_database() AND application_name LIKE 'loci-%' \
                       AND application_name <> current_setting('application_name'), false) AS is_ours \
                   FROM pg_stat_activity \
               WHERE coalesce(backend_type = 'client backend', datid IS NOT NULL)) AS client";
    let Some(row) = session.query_one(sql, &[]).await? else {
        return Ok(finding(WHAT, Doubtful, "they are not known"));
    };
    let (used, ours, others, max): (i64, i64, i64, i64) = (
        row.try_get(0)?,
        row.try_get(1)?,
        row.try_get(2)?,
        row.try_get(3)?,
    );
    let wanted = wanted as i64;
    let processes = others + 1;
    let of_others = used - ours;
    let most = of_others + processes * wanted;
    let seen = match others {
        0 => "no other process of loci is connected".to_owned(),
        1 => "another process of loci is connected".to_owned(),
        _ => format!("{others} other processes of loci are connected"),
    };
    let text = format!("{used} of {max} are in use; {seen}, and each makes at most {wanted}");
    if most <= max {
        return Ok(finding(WHAT, Sound, text));
    }
    let fitting = ((max - of_others) / processes).max(2);
    let text = format!(
        "{text}: {most} together, which the server, the role or the database does not allow; set `store_connections` \
         to {fitting}, or raise max_connections"
    );
    Ok(finding(WHAT, Doubtful, text))
}

async fn pooler(session: &Session) -> Result<ServerCheck> {
    const WHAT: &str = "pooler";
    Ok(if schema::is_pooled(session).await? {
        let text = "one lies between; statements have no names, which costs some 0.05 ms each";
        finding(WHAT, Sound, text)
    } else {
        finding(WHAT, Sound, "none")
    })
}

async fn clock(session: &Session, now: Timestamp) -> Result<ServerCheck> {
    const WHAT: &str = "server clock";
    let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
    let row = session.query_one(sql, &[]).await?;
    let theirs: i64 = row
        .map(|row| row.try_get(0))
        .transpose()?
        .unwrap_or_default();
    let ahead = (theirs - now.microseconds()) / 1_000_000;
    Ok(if ahead.abs() > CLOCK_SECONDS_MAX {
        let text = format!(
            "it is {ahead} seconds from that of this machine: leases and expiries go by the clocks of all machines; \
             let NTP set them"
        );
        finding(WHAT, Doubtful, text)
    } else {
        finding(WHAT, Sound, "it agrees with that of this machine")
    })
}

fn tables(found: Option<i64>, name: &str, migrates: bool) -> ServerCheck {
    const WHAT: &str = "tables";
    match found {
        Some(found) if found == VERSION => finding(
            WHAT,
            Sound,
            format!("the schema {name} has version {found}"),
        ),
        Some(found) if found > VERSION => {
            let text = format!(
                "the schema {name} has version {found}, of a newer loci; this one knows {VERSION}: install that loci \
                 here, too"
            );
            finding(WHAT, Doubtful, text)
        }
        found => {
            let state = found.map_or_else(
                || "has no tables".to_owned(),
                |found| format!("has version {found}, and this loci needs {VERSION}"),
            );
            let (outcome, remedy) = if migrates {
                (Sound, "the first call makes them")
            } else {
                (
                    Faulty,
                    "set `store_migrate` to `auto` for one command, as a role that may create tables",
                )
            };
            finding(
                WHAT,
                outcome,
                format!("the schema {name} {state}: {remedy}"),
            )
        }
    }
}

/// Says whether the server keeps the spaces apart as well.
async fn row_security(
    session: &Session,
    found: Option<i64>,
    wall: &RowSecurityStatus,
) -> Result<ServerCheck> {
    const WHAT: &str = "row security";
    if found.is_none() || !wall.is_on {
        let text = "off: the statements of loci alone keep the spaces apart (`store_row_security`)";
        return Ok(finding(WHAT, Sound, text));
    }
    if !wall.open.is_empty() {
        let text = format!(
            "it is on, and off in these tables: {}; run `loci doctor --fix` as their owner",
            wall.open.join(", ")
        );
        return Ok(finding(WHAT, Faulty, text));
    }
    let sql = "SELECT current_user::text FROM pg_roles WHERE rolname = current_user AND (rolsuper OR rolbypassrls)";
    Ok(match session.query_one(sql, &[]).await? {
        Some(row) => {
            let user: String = row.try_get(0)?;
            let text = format!(
                "it is on, and does not bind {user}, a superuser or a role with BYPASSRLS: use another role every day"
            );
            finding(WHAT, Doubtful, text)
        }
        None => finding(WHAT, Sound, "the server keeps the spaces apart as well"),
    })
}
