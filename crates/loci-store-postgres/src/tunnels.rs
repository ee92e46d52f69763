//! Statements over the tunnels between places.

use loci_core::{Space, Tunnel, TunnelEnd};
use tokio_postgres::Row;

use crate::failure::{Result, conflict};
use crate::session::Session;
use crate::transaction::Transaction;
use crate::value::{Columns, values};

/// The columns that [`read`] reads, in its order.
pub(crate) const COLUMNS: &str = "space, id, source_collection, source_section, source_memory, target_collection, \
    target_section, target_memory, label, owner, is_common, created_at, updated_at";

pub(crate) async fn put(
    transaction: &mut Transaction<'_>,
    tunnel: &Tunnel,
    expect: Option<&Tunnel>,
) -> Result<()> {
    let sql = format!("SELECT {COLUMNS} FROM @tunnel WHERE space = $1 AND id = $2");
    let values = values![transaction.name(), &tunnel.id];
    let found = transaction.query(&sql, values).await?.pop();
    if found.as_ref().map(read).transpose()?.as_ref() != expect {
        return Err(conflict(format!(
            "the tunnel `{}` changed meanwhile; read it again and retry",
            tunnel.id
        )));
    }
    let (source, target) = (&tunnel.source, &tunnel.target);
    for memory in [&source.memory, &target.memory].into_iter().flatten() {
        if transaction.find(memory).await?.is_none() {
            return Err(conflict(format!(
                "memory `{memory}` is gone, and no tunnel leads to it; read again and retry"
            )));
        }
    }
    let row = values![
        transaction.name(),
        &tunnel.id,
        &source.collection,
        &source.section,
        source.memory.as_ref(),
        &target.collection,
        &target.section,
        target.memory.as_ref(),
        &tunnel.label,
        &tunnel.owner,
        tunnel.is_common,
        tunnel.created_at,
        tunnel.updated_at,
    ];
    let set: Vec<_> = COLUMNS
        .split(", ")
        .skip(2)
        .map(|column| format!("{0} = excluded.{0}", column.trim()))
        .collect();
    transaction.insert_rows(
        &format!("INSERT INTO @tunnel ({COLUMNS})"),
        vec![row],
        &format!(" ON CONFLICT (space, id) DO UPDATE SET {}", set.join(", ")),
    );
    transaction.record_other_change();
    Ok(())
}

pub(crate) async fn delete(transaction: &mut Transaction<'_>, id: &str) -> Result<()> {
    let sql = "DELETE FROM @tunnel WHERE space = $1 AND id = $2";
    if transaction
        .execute(sql, values![transaction.name(), id])
        .await?
        == 0
    {
        return Err(conflict(format!(
            "the tunnel `{id}` is gone; read them again and retry"
        )));
    }
    transaction.record_other_change();
    Ok(())
}

pub(crate) async fn all(session: &Session, space: &Space) -> Result<Vec<Tunnel>> {
    let sql = format!("SELECT {COLUMNS} FROM @tunnel WHERE space = $1 ORDER BY created_at, id");
    let rows = session.query(&sql, &values![space]).await?;
    rows.iter().map(read).collect()
}

pub(crate) fn read(row: &Row) -> Result<Tunnel> {
    let mut columns = Columns::of(row);
    let end = |columns: &mut Columns<'_>| -> Result<TunnelEnd> {
        Ok(TunnelEnd {
            collection: columns.take()?,
            section: columns.take()?,
            memory: columns.id()?,
        })
    };
    Ok(Tunnel {
        space: columns.space()?,
        id: columns.take()?,
        source: end(&mut columns)?,
        target: end(&mut columns)?,
        label: columns.take()?,
        owner: columns.take()?,
        is_common: columns.take()?,
        created_at: columns.instant()?,
        updated_at: columns.instant()?,
    })
}
