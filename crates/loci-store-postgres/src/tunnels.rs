//! Statements over the tunnels between places.

use loci_core::{Space, Tunnel};
use loci_index::records::TUNNEL;

use crate::failure::{Result, conflict};
use crate::session::Session;
use crate::transaction::Transaction;
use crate::value::{read_record, values};

pub(crate) async fn put(
    transaction: &mut Transaction<'_>,
    tunnel: &Tunnel,
    expect: Option<&Tunnel>,
) -> Result<()> {
    let sql = format!("SELECT {TUNNEL} FROM @tunnel WHERE space = $1 AND id = $2");
    let values = values![transaction.name(), &tunnel.id];
    let found = transaction.query(&sql, values).await?.pop();
    if found.as_ref().map(read_record).transpose()?.as_ref() != expect {
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
    let set: Vec<_> = TUNNEL
        .split(", ")
        .skip(2)
        .map(|column| format!("{0} = excluded.{0}", column.trim()))
        .collect();
    transaction.insert_rows(
        &format!("INSERT INTO @tunnel ({TUNNEL})"),
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
    let sql = format!("SELECT {TUNNEL} FROM @tunnel WHERE space = $1 ORDER BY created_at, id");
    session.records(&sql, &values![space]).await
}
