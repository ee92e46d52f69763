//! The distribution of the tables over the nodes of a cluster by space
//! (`docs/adr/0117-a-store-on-citus.md`).

use crate::citus::{APART, KEPT_APART, OF_STORE};
use crate::definitions::{self, DefinitionKind};
use crate::failure::Result;
use crate::session::Session;
use crate::value::values;

/// Returns true if the database has the extension.
pub(crate) async fn is_there(session: &Session) -> Result<bool> {
    let sql = "SELECT 1 FROM pg_extension WHERE extname = 'citus'";
    Ok(session.query_one(sql, &[]).await?.is_some())
}

/// Returns true if the coordinator has shards itself, as a cluster of one node does.
pub(crate) async fn has_shards_on_coordinator(session: &Session) -> Result<bool> {
    let sql = "SELECT 1 FROM pg_dist_node WHERE groupid = 0 AND shouldhaveshards";
    Ok(session.query_one(sql, &[]).await?.is_some())
}

/// Lets the transaction change tables one shard after the other: else Citus opens several connections to
/// each worker, and refuses to distribute a table afterwards.
pub(crate) async fn go_in_sequence(session: &Session) -> Result<()> {
    session
        .batch("SET LOCAL citus.multi_shard_modify_mode = 'sequential'")
        .await
}

/// Distributes the tables that are not yet, within a transaction that goes in sequence; returns their
/// number.
pub(crate) async fn distribute(session: &Session, schema: &str) -> Result<usize> {
    let sql = "SELECT c.relname::text FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace \
        WHERE n.nspname = $1 AND c.relkind = 'r' \
        AND c.oid NOT IN (SELECT logicalrelid FROM pg_dist_partition) ORDER BY c.relname <> 'space', c.relname";
    let mut tables = Vec::new();
    for row in session.query(sql, &values![schema]).await? {
        tables.push(row.try_get::<_, String>(0)?);
    }
    let all = definitions::all();
    let is_ours = |name: &String| {
        let mut tables = all.iter().filter(|it| it.kind == DefinitionKind::Table);
        tables.any(|it| it.name == *name)
    };
    tables.retain(|name| is_ours(name) && !OF_STORE.contains(&&**name));
    for name in &tables {
        if KEPT_APART.contains(&&**name) {
            set_apart(session, name).await?;
        }
        let others = if name == "space" {
            "none".to_owned()
        } else {
            session.qualify("@space")
        };
        let sql =
            "SELECT create_distributed_table($1::text::regclass, 'space', colocate_with => $2)";
        let table = session.qualify(&format!("@{name}"));
        session.query(sql, &values![&table, &others]).await?;
    }
    session.note_distribution(true);
    let_rows_be_replicated(session, schema).await?;
    Ok(tables.len())
}

/// Lets the rows of tables without a primary key be replicated while they change, because a shard is copied
/// so to another worker.
pub(crate) async fn let_rows_be_replicated(session: &Session, schema: &str) -> Result<()> {
    let sql = "SELECT c.relname::text FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace \
        JOIN pg_dist_partition AS p ON p.logicalrelid = c.oid \
        WHERE n.nspname = $1 AND c.relreplident = 'd' AND NOT EXISTS (\
            SELECT 1 FROM pg_constraint AS k WHERE k.conrelid = c.oid AND k.contype = 'p')";
    for row in session.query(sql, &values![schema]).await? {
        let table: String = row.try_get(0)?;
        let sql = format!("ALTER TABLE @{table} REPLICA IDENTITY FULL");
        session.batch(&sql).await?;
    }
    Ok(())
}

/// Moves the rows of the whole store to a table of their own.
async fn set_apart(session: &Session, name: &str) -> Result<()> {
    session
        .batch(&format!(
            "CREATE TABLE @{APART}{name} (LIKE @{name} INCLUDING ALL); \
             INSERT INTO @{APART}{name} SELECT * FROM @{name} WHERE space = ''; \
             DELETE FROM @{name} WHERE space = ''"
        ))
        .await
}
