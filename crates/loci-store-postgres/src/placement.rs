//! The place of a space on a cluster with Citus, and how it gets elsewhere.
//!
//! Citus hashes the name of a space, and gives each range of hashes a shard of every table, all on one
//! worker. So spaces share a shard, and move together, until one is isolated, i.e. has a range to itself.

use loci_core::{Error, Placement, Space, Transfer, on_no_cluster};
use tokio_postgres::error::SqlState;

use crate::distribution;
use crate::failure::Result;
use crate::options::Options;
use crate::scope::Scope;
use crate::server::Server;
use crate::session::Session;
use crate::value::{literal, values};

/// A place as Citus names it.
struct CitusPlacement {
    placement: Placement,
    host: String,
    port: i32,
}

/// Returns the place of a space.
pub(crate) fn of(server: &Server, space: &Space) -> Result<Placement, Error> {
    let found = server.read(Scope::AllSpaces, async |session| find(session, space).await)?;
    Ok(found.placement)
}

/// Gives a space a shard of its own, unless it has one; returns its place then. Writers of its former shard
/// wait: Citus (14.0.1, on PostgreSQL 18) can do it beside them as well, but never ends while rows are updated,
/// because the subscription of the new shard refuses each update for its replica identity.
pub(crate) fn isolate(server: &Server, space: &Space) -> Result<Placement, Error> {
    let found = server.read(Scope::AllSpaces, async |session| find(session, space).await)?;
    if !found.placement.is_alone {
        transferred(server, space, async |session| {
            let table = session.qualify("@space");
            format!(
                "SELECT isolate_tenant_to_new_shard({}::regclass, {}::text, 'CASCADE', shard_transfer_mode => {})",
                literal(&table),
                literal(space.as_str()),
                mode(Transfer::Blocking)
            )
        })?;
    }
    of(server, space)
}

/// Moves the shards of a space to a worker, unless they are there; returns its place then.
pub(crate) fn move_to(
    server: &Server,
    space: &Space,
    worker: &str,
    transfer: Transfer,
) -> Result<Placement, Error> {
    let found = server.read(Scope::AllSpaces, async |session| find(session, space).await)?;
    let Placement {
        shard,
        worker: current,
        workers,
        ..
    } = &found.placement;
    if !workers.iter().any(|name| name == worker) {
        let workers = workers.join(", ");
        return Err(Error::invalid(
            "WORKER",
            format!("must be one of {workers}; `{worker}` is none that may have spaces"),
        ));
    }
    if current != worker {
        if transfer == Transfer::Online {
            let refusal =
                async |session: &Session| check_replicable(session, server.options()).await;
            server.read(Scope::AllSpaces, refusal)?;
        }
        let (host, port) = worker.rsplit_once(':').unwrap_or((worker, ""));
        transferred(server, space, async |_| {
            format!(
                "SELECT citus_move_shard_placement({shard}, {}, {}, {}, {port}, {})",
                literal(&found.host),
                found.port,
                literal(host),
                mode(transfer)
            )
        })?;
    }
    of(server, space)
}

/// Fails if rows that change while they are copied cannot be replicated: PostgreSQL does so as the owner of a table, and not
/// at all where row security binds that role. Citus would try it without end.
async fn check_replicable(session: &Session, options: &Options) -> Result<()> {
    let sql = "SELECT 1 FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace \
        JOIN pg_roles AS r ON r.oid = c.relowner \
        WHERE n.nspname = $1 AND c.relforcerowsecurity AND NOT (r.rolsuper OR r.rolbypassrls) LIMIT 1";
    let bound = session.query_one(sql, &values![&options.schema]).await?;
    if bound.is_none() {
        return Ok(());
    }
    let text = "has row security, which binds the owner of its tables, so that rows that change while \
        they are copied cannot be replicated: add --block-writes";
    Err(Error::invalid("store", text).into())
}

/// Runs a statement of Citus that copies shards, outside of a transaction, as the copying itself needs.
fn transferred(
    server: &Server,
    space: &Space,
    statement: impl AsyncFn(&Session) -> String,
) -> Result<(), Error> {
    let done = server.block_on(async {
        let session = server.session(Scope::AllSpaces).await?;
        let schema = &server.options().schema;
        distribution::let_rows_be_replicated(&session, schema).await?;
        let sql = statement(&session).await;
        session.batch(&sql).await
    });
    server.forget_place(space);
    done.map_err(|failure| {
        if failure.is_undeclared() {
            return Error::invalid(
                "store",
                "has a role that row security binds, so that Citus cannot copy its rows: give the URL of a superuser, or \
                 of an owner of the tables with BYPASSRLS, for this command (--store)",
            );
        }
        if failure.state() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) {
            return Error::invalid(
                "store",
                "has a role that does not own the tables: give the URL of their owner, or of a superuser, for this command \
                 (--store)",
            );
        }
        failure.into()
    })
}

/// Returns the mode of a transfer in the words of Citus.
fn mode(transfer: Transfer) -> &'static str {
    match transfer {
        Transfer::Online => "'auto'",
        Transfer::Blocking => "'block_writes'",
    }
}

async fn find(session: &Session, space: &Space) -> Result<CitusPlacement> {
    if !session.is_distributed() {
        return Err(on_no_cluster().into());
    }
    // A space that has no rows has a place as well, which is that of its name.
    let is_there = "SELECT 1 FROM @space WHERE space = $1";
    if session
        .query_one(is_there, &values![space.as_str()])
        .await?
        .is_none()
    {
        let text = format!("there is no space `{space}`: nothing was ever stored in it");
        return Err(Error::not_found(text).into());
    }
    let sql = "WITH place AS (SELECT s.shardid, s.shardminvalue, s.shardmaxvalue, t.colocationid, n.nodename, n.nodeport \
            FROM pg_dist_shard AS s JOIN pg_dist_partition AS t ON t.logicalrelid = s.logicalrelid \
            JOIN pg_dist_placement AS p ON p.shardid = s.shardid \
            JOIN pg_dist_node AS n ON n.groupid = p.groupid AND n.noderole = 'primary' \
            WHERE s.shardid = get_shard_id_for_distribution_column($1::text::regclass, $2::text)), \
        shards AS (SELECT string_agg(quote_literal(c.relnamespace::regnamespace || '.' || c.relname || '_' || s.shardid), ', ') AS names \
            FROM place AS i JOIN pg_dist_partition AS t ON t.colocationid = i.colocationid \
            JOIN pg_dist_shard AS s ON s.logicalrelid = t.logicalrelid AND s.shardminvalue = i.shardminvalue \
            JOIN pg_class AS c ON c.oid = t.logicalrelid) \
        SELECT i.shardid, i.shardminvalue = i.shardmaxvalue, i.nodename, i.nodeport, r.success, r.result, \
            (SELECT array_agg(n.nodename || ':' || n.nodeport ORDER BY n.nodename, n.nodeport) FROM pg_dist_node AS n \
                WHERE n.shouldhaveshards AND n.isactive AND n.noderole = 'primary') \
        FROM place AS i, shards AS s, master_run_on_worker(ARRAY[i.nodename], ARRAY[i.nodeport], \
            ARRAY['SELECT sum(pg_total_relation_size(name)) FROM unnest(ARRAY[' || s.names || ']::regclass[]) AS name'], \
            false) AS r";
    let table = session.qualify("@space");
    let row = session
        .query_one(sql, &values![&table, space.as_str()])
        .await?;
    let row =
        row.ok_or_else(|| Error::unavailable("the cluster does not say where the space lies"))?;
    let shard: i64 = row.try_get(0)?;
    let (host, port): (String, i32) = (row.try_get(2)?, row.try_get(3)?);
    let (has_answered, told): (bool, String) = (row.try_get(4)?, row.try_get(5)?);
    let Some(bytes) = told.parse().ok().filter(|_| has_answered) else {
        let text = format!("the space lies on {host}:{port}, which does not answer: {told}");
        return Err(Error::unavailable(text).into());
    };
    let placement = Placement {
        worker: format!("{host}:{port}"),
        shard: shard.cast_unsigned(),
        is_alone: row.try_get(1)?,
        bytes,
        workers: row.try_get(6)?,
    };
    Ok(CitusPlacement {
        placement,
        host,
        port,
    })
}
