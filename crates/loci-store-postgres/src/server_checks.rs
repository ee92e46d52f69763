//! The checks of `loci doctor` on the server itself: version, durability, standbys, limits, pooler,
//! clock, tables.

use loci_core::CheckOutcome::{self, Doubtful, Faulty, Sound};
use loci_core::{Error, ServerCheck, Timestamp};

use crate::failure::Result;
use crate::migrations::VERSION;
use crate::row_security::RowSecurityStatus;
use crate::schema::{self, SERVER_MIN, UTF8, wrong_encoding};
use crate::scope::Scope;
use crate::server::Server;
use crate::session::Session;
use crate::value::values;

/// The largest difference between the clocks of this machine and the server, in seconds, before
/// leases and expiries go wrong noticeably.
const CLOCK_SECONDS_MAX: i64 = 5;

/// Returns the findings; only the reason if the server cannot be reached.
pub(crate) fn check(server: &Server, now: Timestamp) -> Vec<ServerCheck> {
    let checks = server.block_on(async {
        let session = server.connect(Scope::Store).await?;
        look(&session, server, now).await
    });
    checks.unwrap_or_else(|failure| {
        let error = Error::from(failure);
        vec![finding("server", Faulty, error.message)]
    })
}

fn finding(subject: &'static str, outcome: CheckOutcome, text: impl Into<String>) -> ServerCheck {
    ServerCheck {
        subject,
        outcome,
        text: text.into(),
    }
}

async fn look(session: &Session, server: &Server, now: Timestamp) -> Result<Vec<ServerCheck>> {
    let options = server.options();
    let (found, wall) = schema::look(session, &options.schema).await?;
    Ok(vec![
        version(session, &options.shown()).await?,
        encryption(session).await?,
        encoding(session).await?,
        durability(session, options.allows_unsafe).await?,
        checksums(session).await?,
        standbys(session).await?,
        timeouts(session).await?,
        connections(session, options.connections_max).await?,
        pooler(session).await?,
        clock(session, now).await?,
        tables(found, &options.schema, options.migrates),
        row_security(session, found, &wall).await?,
    ])
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
    Ok(if all > 0 && !is_told {
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

async fn connections(session: &Session, wanted: usize) -> Result<ServerCheck> {
    const WHAT: &str = "connections";
    let sql = "SELECT (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'), \
               current_setting('max_connections')::bigint";
    let row = session.query_one(sql, &[]).await?;
    let counts = row.map(|row| Ok::<_, tokio_postgres::Error>((row.try_get(0)?, row.try_get(1)?)));
    let (used, max): (i64, i64) = counts.transpose()?.unwrap_or_default();
    let text = format!("{used} of {max} are in use; this process makes at most {wanted}");
    let is_short = used + wanted as i64 > max;
    let outcome = if is_short { Doubtful } else { Sound };
    Ok(finding(WHAT, outcome, text))
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
