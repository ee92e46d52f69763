//! The second wall between spaces: policies of row security, which let a transaction meet the rows
//! of the space that it has declared, whatever its statements say.

use loci_core::Error;

use crate::definitions::{self, DefinitionKind};
use crate::failure::Result;
use crate::migration_lock::{self, BEGIN};
use crate::options::Options;
use crate::session::Session;
use crate::value::values;

/// The name of the policy of each table.
pub(crate) const POLICY: &str = "loci_space";

/// The degree to which the tables of a store keep the spaces apart by themselves.
#[derive(Debug, Clone, Default)]
pub(crate) struct RowSecurityStatus {
    /// True if a table of the schema does, so that transactions must declare their scopes.
    pub(crate) is_on: bool,
    /// The tables that do not, or not for their owner.
    pub(crate) open: Vec<String>,
    /// The tables without the policy: where row security is on, no statement meets a row of these.
    pub(crate) without_policy: Vec<String>,
    /// True if the role owns the tables, so that it may change this.
    pub(crate) is_owned: bool,
}

/// The columns of a query over the tables of a schema, `c`, from which a wall is read.
pub(crate) const COLUMNS: &str = "coalesce(bool_or(c.relrowsecurity), false), \
    coalesce(array_agg(c.relname::text ORDER BY c.relname) \
        FILTER (WHERE NOT (c.relrowsecurity AND c.relforcerowsecurity)), '{}'), \
    coalesce(array_agg(c.relname::text ORDER BY c.relname) FILTER (WHERE NOT EXISTS (\
        SELECT 1 FROM pg_policy AS p WHERE p.polrelid = c.oid AND p.polname = 'loci_space')), '{}'), \
    coalesce(bool_and(pg_has_role(c.relowner, 'USAGE')), true)";

/// The tables with policies; `$1` is the schema.
pub(crate) const TABLES: &str = "pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace \
    WHERE n.nspname = $1 AND c.relkind IN ('r', 'p') AND NOT c.relispartition";

impl RowSecurityStatus {
    /// The number of the columns of a wall.
    pub(crate) const COLUMNS: usize = 4;

    /// Reads the columns of a wall, which start at a number.
    pub(crate) fn read(row: &tokio_postgres::Row, first: usize) -> Result<Self> {
        let ours = |names: Vec<String>| names.into_iter().filter(|name| is_ours(name)).collect();
        Ok(RowSecurityStatus {
            is_on: row.try_get(first)?,
            open: ours(row.try_get(first + 1)?),
            without_policy: ours(row.try_get(first + 2)?),
            is_owned: row.try_get(first + 3)?,
        })
    }

    /// Looks at the tables of a schema.
    pub(crate) async fn look(session: &Session, schema: &str) -> Result<Self> {
        let sql = format!("SELECT {COLUMNS} FROM {TABLES}");
        let row = session.query_one(&sql, &values![schema]).await?;
        row.map_or(Ok(RowSecurityStatus::default()), |row| {
            RowSecurityStatus::read(&row, 0)
        })
    }

    /// Returns the tables in which row security is missing although others have it.
    pub(crate) fn gaps(&self) -> &[String] {
        if self.is_on { &self.open } else { &[] }
    }

    /// Returns the statements that turn it on in every table, each a message of its own.
    pub(crate) fn closing(&self) -> Vec<String> {
        let statements = self.open.iter().map(|table| {
            format!("ALTER TABLE @{table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")
        });
        statements.collect()
    }
}

/// Returns true if loci made the table.
fn is_ours(name: &str) -> bool {
    let mut all = definitions::all().into_iter();
    name == "migration" || all.any(|it| it.kind == DefinitionKind::Table && it.name == name)
}

/// Turns row security on in the tables where it is off, if the options ask for it.
pub(crate) async fn prepare(
    session: &Session,
    options: &Options,
    wall: &RowSecurityStatus,
) -> Result<()> {
    let schema = &options.schema;
    if wall.is_on && !wall.without_policy.is_empty() {
        let tables = wall.without_policy.join(", ");
        return Err(Error::unavailable(format!(
            "row security is on in the schema `{schema}`, and these tables lack the policy {POLICY}: {tables}; as \
             their owner turn it off (docs/postgres.md), run `loci doctor --fix`, and turn it on again"
        ))
        .into());
    }
    if !options.row_security || wall.open.is_empty() {
        return Ok(());
    }
    if !options.migrates || !wall.is_owned {
        let reason = if wall.is_owned {
            "`store_migrate` is `never`"
        } else {
            "this role does not own them"
        };
        return Err(Error::unavailable(format!(
            "`store_row_security` is true, and row security is off in {} tables of the schema `{schema}`; {reason}: as \
             their owner, run in psql: {}",
            wall.open.len(),
            statement(schema)
        ))
        .into());
    }
    close(session, schema).await?;
    Ok(())
}

/// Returns the statement for psql that turns row security on in every table of a schema.
pub(crate) fn statement(schema: &str) -> String {
    format!(
        "SELECT format('ALTER TABLE %I.%I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', schemaname, tablename) \
         FROM pg_tables WHERE schemaname = '{schema}' \\gexec"
    )
}

/// Turns row security on in the tables where it is off; returns these.
pub(crate) async fn close(session: &Session, schema: &str) -> Result<Vec<String>> {
    // Each table waits for the transactions that use it, and others wait behind. Where a writer and
    // this wait for each other, the server ends one, which starts again.
    migration_lock::make(session, schema).await?;
    let begin = format!("{BEGIN}; SET LOCAL lock_timeout = '10s'");
    session.begin(&begin, &[]).await?;
    let outcome = async {
        migration_lock::take(session).await?;
        let wall = RowSecurityStatus::look(session, schema).await?;
        session.messages(&wall.closing()).await?;
        Ok(wall.open)
    };
    let closed = match outcome.await {
        Ok(closed) => closed,
        Err(failure) => {
            session.roll_back().await?;
            return Err(failure);
        }
    };
    session.commit(&[]).await?;
    session.note_wall(true);
    Ok(closed)
}

/// Makes the policies that are missing, and turns row security on where it is off although others have
/// it; returns what it did, in words.
pub(crate) async fn repair(session: &Session, schema: &str) -> Result<Vec<String>> {
    let mut done = Vec::new();
    let wall = RowSecurityStatus::look(session, schema).await?;
    for (table, sql) in definitions::policies() {
        if wall.without_policy.contains(&table) {
            session.batch(&sql).await?;
            done.push(format!("made the policy of the table {table}"));
        }
    }
    if !wall.gaps().is_empty() {
        for table in close(session, schema).await? {
            done.push(format!("turned row security on in the table {table}"));
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use loci_core::Space;
    use loci_testkit::postgres::plain_server_url;

    use super::*;
    use crate::scope::Scope;
    use crate::server::Server;
    use crate::transaction::Needs;

    /// The statements forget the space; the scope is that of the call.
    #[test]
    fn work_stays_in_the_scope_of_its_call() {
        let mut options = Options::new(plain_server_url());
        options.schema = format!("scopes_{}", std::process::id());
        options.allows_unsafe = true;
        options.row_security = true;
        let server = Server::new(options).unwrap();
        let spaces = ["one", "two"].map(|name| Space::parse("space", name).unwrap());
        for space in &spaces {
            let touch = server.write(space, &Needs::default(), async |transaction| {
                transaction.keep_row();
                Ok(())
            });
            touch.unwrap();
        }
        let of_store = vec![String::new()];
        let names = |rows: Vec<tokio_postgres::Row>| -> Result<Vec<String>> {
            rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
        };
        let sql = "SELECT space FROM @space ORDER BY space";
        let read =
            |scope| server.read(scope, async |session| names(session.query(sql, &[]).await?));
        let together = |scope| {
            server.read_snapshot(scope, async |session| {
                let statements = [(sql.to_owned(), Vec::new())];
                names(session.pipeline(&statements).await?.remove(0).0)
            })
        };
        for space in &spaces {
            let own = Ok(vec![space.to_string()]);
            assert_eq!(read(Scope::Space(space)), own);
            assert_eq!(together(Scope::Space(space)), own);
        }
        assert_eq!(read(Scope::Store), Ok(of_store));
        assert_eq!(read(Scope::AllSpaces).map(|all| all.len()), Ok(3));
        let insert = "INSERT INTO @writer (space, writer) VALUES ('two', 1)";
        let refused = server.write(&spaces[0], &Needs::default(), async |transaction| {
            transaction.queue(insert, Vec::new());
            Ok(())
        });
        let refused = Error::from(refused.unwrap_err());
        assert!(refused.message.contains("row-level security"), "{refused}");
        let refused = server.read(&spaces[0], async |session| {
            session.write(insert, &[]).await.map(drop)
        });
        assert!(refused.is_err());
        // The failure has left the connection as it was.
        assert!(read(Scope::AllSpaces).is_ok());
        let schema = &server.options().schema;
        let sql = format!("DROP SCHEMA \"{schema}\" CASCADE");
        let drop = async { server.connect(Scope::AllSpaces).await?.batch(&sql).await };
        server.block_on(drop).unwrap();
    }
}
