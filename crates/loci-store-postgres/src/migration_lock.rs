//! The lock under which one process at a time changes the tables: a row, because an advisory lock
//! holds on one node of a cluster alone.

use tokio_postgres::error::SqlState;

use crate::definitions;
use crate::failure::{Failure, Result};
use crate::session::Session;
use crate::value::values;

/// The table with the row. No migration and no switch of row security alters it, because each that
/// waits for the row has a lock of the table, and would wait for the one that has the row and waits
/// for the table.
pub(crate) const TABLE: &str = "migration_lock";

/// Starts a transaction that sees what the one before it under the lock has done.
pub(crate) const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// The key of the advisory lock of earlier processes: "loci" in ASCII.
const FORMER: i64 = 0x6c6f_6369;

/// The attempts to make the table: each that fails found another process that made it.
const ATTEMPTS: usize = 5;

/// Makes the schema and the row if they are missing, in a transaction of its own.
pub(crate) async fn make(session: &Session, schema: &str) -> Result<()> {
    make_beside(session, schema, true).await
}

/// Waits for the lock, and has it until the transaction ends.
pub(crate) async fn take(session: &Session) -> Result<()> {
    take_row(session).await?;
    exclude_earlier(session).await
}

/// Waits for the lock of earlier processes, which know no other. It can go when none of these may
/// use the tables (`READABLE_FROM` above 15), and none makes the tables of a new store.
async fn exclude_earlier(session: &Session) -> Result<()> {
    let sql = "SELECT pg_advisory_xact_lock($1)";
    session.query(sql, &values![FORMER]).await.map(drop)
}

async fn take_row(session: &Session) -> Result<()> {
    // Where the row is gone, one of several that wait makes it.
    let sql = "INSERT INTO @migration_lock (space) VALUES ('') ON CONFLICT DO NOTHING";
    session.query(sql, &[]).await?;
    let sql = "SELECT 1 FROM @migration_lock WHERE space = '' FOR UPDATE";
    session.query(sql, &[]).await.map(drop)
}

async fn make_beside(session: &Session, schema: &str, has_earlier: bool) -> Result<()> {
    for attempt in 1.. {
        if is_there(session).await? {
            break;
        }
        session.begin(BEGIN, &[]).await?;
        match make_in_transaction(session, schema, has_earlier).await {
            Ok(()) => return session.commit(&[]).await.map(drop),
            Err(failure) => {
                session.roll_back().await?;
                if attempt == ATTEMPTS || !is_made_by_another(&failure) {
                    return Err(failure);
                }
            }
        }
    }
    Ok(())
}

async fn is_there(session: &Session) -> Result<bool> {
    let table = session.qualify("@migration_lock");
    let sql = "SELECT 1 WHERE to_regclass($1) IS NOT NULL";
    Ok(session.query_one(sql, &values![&table]).await?.is_some())
}

async fn make_in_transaction(session: &Session, schema: &str, has_earlier: bool) -> Result<()> {
    if has_earlier {
        exclude_earlier(session).await?;
    }
    // A role may have the right to use a schema, and none to create one.
    let sql = "SELECT 1 FROM pg_namespace WHERE nspname = $1";
    if session.query(sql, &values![schema]).await?.is_empty() {
        session
            .batch(&format!("CREATE SCHEMA \"{schema}\""))
            .await?;
    }
    // `IF NOT EXISTS` would not help one that is created at the same time. loci turns row security on
    // in other tables alone; the policy is for an administrator who does so in every table.
    let policy = definitions::policy_of(TABLE);
    session
        .batch(&format!(
            "CREATE TABLE @{TABLE} (space text COLLATE \"C\" PRIMARY KEY); {policy}; \
             INSERT INTO @{TABLE} (space) VALUES ('')"
        ))
        .await
}

/// Returns true if a process that did the same was faster.
fn is_made_by_another(failure: &Failure) -> bool {
    failure.state().is_some_and(|state| {
        *state == SqlState::UNIQUE_VIOLATION
            || *state == SqlState::DUPLICATE_SCHEMA
            || *state == SqlState::DUPLICATE_TABLE
            || *state == SqlState::DUPLICATE_OBJECT
    })
}

#[cfg(test)]
mod tests {
    use std::thread;

    use loci_testkit::postgres::plain_server_url;

    use super::*;
    use crate::options::Options;
    use crate::scope::Scope;
    use crate::server::Server;

    const ROUNDS: usize = 10;
    const PROCESSES: i64 = 8;

    /// Connections that share nothing else take the row without the advisory lock, from an empty
    /// database on: each counts those before it.
    #[test]
    fn the_row_alone_lets_in_one_at_a_time() {
        for round in 0..ROUNDS {
            let schema = format!("locked_{}_{round}", std::process::id());
            let server = || {
                let mut options = Options::new(plain_server_url());
                options.schema.clone_from(&schema);
                options.allows_unsafe = true;
                Server::new(options).unwrap()
            };
            let count = async |session: &Session| -> Result<i64> {
                make_beside(session, &schema, false).await?;
                session.begin(BEGIN, &[]).await?;
                take_row(session).await?;
                // Not safe for two at once, as a migration.
                let counted = "CREATE TABLE IF NOT EXISTS @counted (number bigint)";
                session.batch(counted).await?;
                let number = session
                    .query("SELECT number FROM @counted", &[])
                    .await?
                    .len() as i64;
                let insert = "INSERT INTO @counted (number) VALUES ($1)";
                session.query(insert, &values![number]).await?;
                session.commit(&[]).await?;
                Ok(number)
            };
            let numbers: Vec<i64> = thread::scope(|scope| {
                let counting: Vec<_> = (0..PROCESSES)
                    .map(|_| {
                        scope.spawn(|| {
                            let server = server();
                            let work =
                                async { count(&server.connect(Scope::AllSpaces).await?).await };
                            server.block_on(work).unwrap()
                        })
                    })
                    .collect();
                counting
                    .into_iter()
                    .map(|each| each.join().unwrap())
                    .collect()
            });
            let mut sorted = numbers.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..PROCESSES).collect::<Vec<_>>(), "{numbers:?}");
            let server = server();
            let sql = format!("DROP SCHEMA \"{schema}\" CASCADE");
            let drop = async { server.connect(Scope::AllSpaces).await?.batch(&sql).await };
            server.block_on(drop).unwrap();
        }
    }
}
