//! The tables of a store: how they are created, and brought to the current version.

use loci_core::Error;
use loci_text::analysis;

use crate::citus;
use crate::distribution;
use crate::failure::Result;
use crate::migration_lock::{self, BEGIN};
use crate::migrations::{self, MIGRATIONS, VERSION};
use crate::options::Options;
use crate::row_security::{self, COLUMNS, RowSecurityStatus, TABLES};
use crate::session::Session;
use crate::value::values;

/// The oldest version of the tables that a loci must know to use these: what came later has no effect on
/// it. An older loci cannot read an audit log that names what searches returned, leaves the former
/// versions of a memory that it removes, brings back what was forgotten, leaves the names of
/// wiped users on facts, on the counts of their calls and on former states of facts and tunnels, takes
/// a token that a client got for one endpoint at all of them, and cannot read a version that has no text.
const READABLE_FROM: i64 = 13;

/// The oldest version of PostgreSQL that works, as `server_version_num`.
pub(crate) const SERVER_MIN: i32 = 15_00_00;

/// The only encoding of a database that holds every text.
pub(crate) const UTF8: &str = "UTF8";

/// Returns true if a pooler lies between, which may give each transaction another connection to the
/// server.
pub(crate) async fn is_pooled(session: &Session) -> Result<bool> {
    let row = session.query_one("SELECT pg_backend_pid()", &[]).await?;
    let process: i32 = row
        .map(|row| row.try_get(0))
        .transpose()?
        .unwrap_or_default();
    Ok(session.process_told().await != Some(process))
}

/// Checks the server, and creates or migrates the tables if the options allow it.
pub(crate) async fn prepare(session: &Session, options: &Options) -> Result<()> {
    check_server(session, options).await?;
    let (found, wall) = look(session, &options.schema).await?;
    if found == Some(VERSION) {
        return row_security::prepare(session, options, &wall).await;
    }
    if let Some(found) = found.filter(|found| *found > VERSION) {
        check_readable(session, found).await?;
        return row_security::prepare(session, options, &wall).await;
    }
    if found.is_none() && !options.creates {
        return Err(Error::unavailable(format!(
            "there is no loci in {}: name another with --store and `store_schema`; `loci add`, `loci serve` and `loci \
             mcp` make one",
            options.shown()
        ))
        .into());
    }
    if !options.migrates {
        let state = found.map_or("has no tables".to_owned(), |found| {
            format!("has version {found} of the tables, and this loci needs version {VERSION}")
        });
        return Err(Error::unavailable(format!(
            "the schema `{}` {state}, and `store_migrate` is `never`; run `loci doctor --store URL` with \
             `store_migrate` set to `auto`, as a role that may create tables",
            options.schema
        ))
        .into());
    }
    migrate(session, options).await
}

/// Returns the problem of a database whose encoding lacks characters, for a person.
pub(crate) fn wrong_encoding(encoding: &str) -> String {
    format!(
        "the database has the encoding {encoding}, which cannot hold every text: make one with ENCODING 'UTF8'"
    )
}

/// Fails if the server is too old, or may lose what it acknowledges.
async fn check_server(session: &Session, options: &Options) -> Result<()> {
    let sql = "SELECT current_setting('server_version_num')::int, current_setting('server_version'), \
               current_setting('fsync'), current_setting('synchronous_commit'), current_setting('server_encoding'), \
               pg_backend_pid()";
    let Some(row) = session.query_one(sql, &[]).await? else {
        return Ok(());
    };
    let process: i32 = row.try_get(5)?;
    session.note_pooler(session.process_told().await != Some(process));
    let (number, shown): (i32, String) = (row.try_get(0)?, row.try_get(1)?);
    check_age(number, &shown)?;
    let encoding: String = row.try_get(4)?;
    if encoding != UTF8 {
        return Err(Error::unavailable(wrong_encoding(&encoding)).into());
    }
    let (fsync, commit): (String, String) = (row.try_get(2)?, row.try_get(3)?);
    if !options.allows_unsafe && (fsync != "on" || commit == "off") {
        return Err(Error::unavailable(format!(
            "the server may lose what it acknowledges (fsync = {fsync}, synchronous_commit = {commit}); turn both on"
        ))
        .into());
    }
    Ok(())
}

fn check_age(number: i32, shown: &str) -> Result<()> {
    if number >= SERVER_MIN {
        return Ok(());
    }
    Err(Error::unavailable(format!(
        "the server has PostgreSQL {shown}; loci needs 15 or later"
    ))
    .into())
}

/// Returns the version of the tables, `None` without tables, and how far they keep the spaces
/// apart. From then on transactions declare their scopes if the tables ask for it, and know whether the
/// tables are distributed.
pub(crate) async fn look(
    session: &Session,
    schema: &str,
) -> Result<(Option<i64>, RowSecurityStatus)> {
    let sql = format!(
        "SELECT to_regclass($2)::text, {COLUMNS}, coalesce(bool_or(c.relname = $3), false) FROM {TABLES}"
    );
    let values = values![schema, &session.qualify("@migration"), citus::MARK];
    let Some(row) = session.query_one(&sql, &values).await? else {
        return Ok((None, RowSecurityStatus::default()));
    };
    let wall = RowSecurityStatus::read(&row, 1)?;
    session.note_wall(wall.is_on);
    session.note_distribution(row.try_get(1 + RowSecurityStatus::COLUMNS)?);
    if session.is_distributed() {
        session.note_shards(distribution::has_shards_on_coordinator(session).await?);
    }
    let is_there: Option<String> = row.try_get(0)?;
    if is_there.is_none() {
        return Ok((None, wall));
    }
    let sql = "SELECT max(version) FROM @migration WHERE space = ''";
    let row = session.query_one(sql, &[]).await?;
    let version = row.map(|row| row.try_get(0)).transpose()?.flatten();
    Ok((version, wall))
}

/// Fails if this build may not use tables of a newer version beside the newer loci.
async fn check_readable(session: &Session, found: i64) -> Result<()> {
    let sql = "SELECT readable_from FROM @installation WHERE space = ''";
    let row = session.query_one(sql, &[]).await?;
    let from: Option<i64> = row.map(|row| row.try_get(0)).transpose()?;
    if from.is_some_and(|from| from <= VERSION) {
        return Ok(());
    }
    Err(Error::unavailable(format!(
        "the store was upgraded to version {found} of the tables by a newer loci, and this one knows {VERSION}; \
         install that loci here, too"
    ))
    .into())
}

/// Brings the tables to the current version, in one transaction, after another process that does
/// so.
async fn migrate(session: &Session, options: &Options) -> Result<()> {
    migration_lock::make(session, &options.schema).await?;
    // Others wait for as long as it takes, unless the process hangs.
    let begin = format!("{BEGIN}; SET LOCAL idle_in_transaction_session_timeout = '1min'");
    session.begin(&begin, &[]).await?;
    let outcome = migrate_in_transaction(session, options).await;
    if let Err(failure) = outcome {
        session.roll_back().await?;
        return Err(failure);
    }
    session.commit(&[]).await?;
    Ok(())
}

async fn migrate_in_transaction(session: &Session, options: &Options) -> Result<()> {
    migration_lock::take(session).await?;
    let schema = &options.schema;
    session
        .batch(
            "CREATE TABLE IF NOT EXISTS @migration (space text COLLATE \"C\" NOT NULL, version bigint NOT NULL, \
             PRIMARY KEY (space, version))",
        )
        .await?;
    let (found, _) = look(session, schema).await?;
    let found = found.unwrap_or(0);
    let has_citus = distribution::is_there(session).await?;
    if has_citus {
        distribution::go_in_sequence(session).await?;
    }
    for (number, migration) in (1..).zip(MIGRATIONS).filter(|(number, _)| *number > found) {
        let messages = migrations::statements(migration);
        session.messages(&messages).await?;
        if session.is_distributed() {
            session.messages(&citus::repeated(&messages)).await?;
        }
        session.messages(&without_statistics(migration)).await?;
        let sql = "INSERT INTO @migration (space, version) VALUES ('', $1)";
        session.query(sql, &values![number]).await?;
    }
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(|error| {
        Error::unavailable(format!(
            "the operating system gives no random bytes: {error}"
        ))
    })?;
    let sql = "INSERT INTO @installation AS i (space, secret, readable_from) VALUES ('', $1, $2) \
        ON CONFLICT (space) DO UPDATE SET readable_from = greatest(i.readable_from, excluded.readable_from)";
    session.query(sql, &values![secret, READABLE_FROM]).await?;
    let sql = "INSERT INTO @space (space, analysis) VALUES ('', $1) ON CONFLICT DO NOTHING";
    session
        .query(sql, &values![i64::from(analysis::VERSION)])
        .await?;
    if has_citus && (options.distributes || session.is_distributed()) {
        distribution::distribute(session, schema).await?;
    }
    // A table that is new gets what the others have.
    let wall = RowSecurityStatus::look(session, schema).await?;
    if options.row_security || wall.is_on {
        session.messages(&wall.closing()).await?;
        session.note_wall(true);
    }
    Ok(())
}

/// Returns the statements that keep no statistics on the spaces of each table that a migration
/// creates. With them, the planner takes a space that it has not seen for one without rows: it then
/// uses any index that starts with the space, and filters all rows of the space.
fn without_statistics(migration: &str) -> Vec<String> {
    let tables = migration
        .lines()
        .filter_map(|line| line.strip_prefix("CREATE TABLE @"))
        .filter_map(|rest| rest.split_once(' '));
    tables
        .map(|(table, _)| format!("ALTER TABLE @{table} ALTER space SET STATISTICS 0"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_too_old_is_refused_by_its_version() {
        check_age(15_00_00, "15.0").unwrap();
        let refused = Error::from(check_age(14_00_19, "14.19").unwrap_err());
        assert!(
            refused.is_unavailable() && refused.message.contains("PostgreSQL 14.19"),
            "{refused}"
        );
    }
}
