//! Statements over what people should decide, and over the memories that were examined for it.

use loci_core::{Examined, ExaminedUntil, Filter, MemoryId, OpenItem, Space, ToExamine};
use loci_index::records::OPEN_ITEM;
use tokio_postgres::Row;

use crate::failure::Result;
use crate::filter::Conditions;
use crate::session::Session;
use crate::transaction::Transaction;
use crate::value::{Columns, values};

/// The changes that one step looks at.
const CHANGES_READ: usize = 2_000;

/// A row that has a memory examined again: of no revision, so that no reader sees it, and with a
/// memory that there is not as the other one of a pair, by which the rows are found.
const AGAIN: &str = "INSERT INTO @open_item (space, key, memory, revision, kind, other, certainty)";

/// Returns the names of the spaces that may have memories to examine, in order.
pub(crate) async fn spaces_to_examine(session: &Session, rules: u32) -> Result<Vec<String>> {
    let sql = "SELECT s.space FROM @space AS s LEFT JOIN @examined AS e ON e.space = s.space \
        WHERE s.space <> '' AND (e.space IS NULL OR e.rules <> $1 OR e.change <> s.version OR e.row > 0 \
        OR EXISTS (SELECT 1 FROM @open_item AS o WHERE o.space = s.space AND o.other = '')) \
        ORDER BY s.space";
    let rows = session.query(sql, &values![i64::from(rules)]).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

/// Returns the place that was reached by these rules; without one, or if the log of changes does not
/// reach back to it, the end of all memories, and true. `None` if there is no such space.
async fn place(
    session: &Session,
    space: &Space,
    rules: u32,
) -> Result<Option<(ExaminedUntil, bool)>> {
    let sql = "SELECT s.version, s.trimmed, e.rules, e.change, e.row FROM @space AS s \
        LEFT JOIN @examined AS e ON e.space = $1 WHERE s.space = $1";
    let Some(row) = session.query_one(sql, &values![space]).await? else {
        return Ok(None);
    };
    let mut columns = Columns::of(&row);
    let (last, trimmed): (i64, i64) = (columns.take()?, columns.take()?);
    let of: Option<i64> = columns.take()?;
    let change: Option<i64> = columns.take()?;
    let row: Option<i64> = columns.take()?;
    let kept = change.zip(row).filter(|(change, _)| {
        of == Some(i64::from(rules)) && trimmed <= *change && *change <= last
    });
    let (change, row) = kept.unwrap_or((last, i64::MAX));
    Ok(Some((ExaminedUntil { rules, change, row }, kept.is_none())))
}

pub(crate) async fn to_examine(
    session: &Session,
    space: &Space,
    rules: u32,
    limit: usize,
) -> Result<Option<ToExamine>> {
    let Some((mut until, is_new)) = place(session, space, rules).await? else {
        return Ok(None);
    };
    let before = until;
    let sql = "SELECT number, memory FROM @change WHERE space = $1 AND number > $2 ORDER BY number LIMIT $3";
    let mut found: Vec<i64> = Vec::new();
    for change in session
        .query(sql, &values![space, until.change, CHANGES_READ])
        .await?
    {
        let mut columns = Columns::of(&change);
        let number: i64 = columns.take()?;
        let row: i64 = columns.take()?;
        // A memory before the place comes with the others there.
        let is_due = row >= until.row && row != 0;
        if is_due && !found.contains(&row) {
            if found.len() == limit {
                break;
            }
            found.push(row);
        }
        until.change = number;
    }
    let mut memories = again(session, space, limit - found.len()).await?;
    if found.is_empty() && memories.is_empty() && until.row > 0 {
        let sql = "SELECT row FROM @memory WHERE space = $1 AND row < $2 AND deleted_at IS NULL \
            ORDER BY row DESC LIMIT $3";
        let rows = session
            .query(sql, &values![space, until.row, limit])
            .await?;
        for row in &rows {
            found.push(row.try_get(0)?);
        }
        until.row = if found.len() < limit {
            0
        } else {
            found.last().copied().unwrap_or(0)
        };
    }
    if !found.is_empty() {
        let sql = "SELECT id FROM @memory WHERE space = $1 AND row = ANY($2) ORDER BY row";
        for row in session.query(sql, &values![space, found]).await? {
            let id = MemoryId::new(row.try_get::<_, String>(0)?);
            if memories.iter().all(|(_, known)| *known != id) {
                memories.push((space.clone(), id));
            }
        }
    }
    // The place is kept now and then, so that the log still reaches back to it, and at the end, so
    // that the space is not asked again.
    let moves = is_new || until != before;
    let is_backlog = until.row != before.row;
    Ok((!memories.is_empty() || moves).then_some(ToExamine {
        memories,
        until,
        is_backlog,
    }))
}

/// Returns memories that lost a pair, and are to be examined again.
async fn again(session: &Session, space: &Space, limit: usize) -> Result<Vec<(Space, MemoryId)>> {
    if limit == 0 {
        return Ok(Vec::new());
    }
    let sql = "SELECT memory FROM @open_item WHERE space = $1 AND other = '' LIMIT $2";
    let rows = session.query(sql, &values![space, limit]).await?;
    let memory = |row: &Row| Ok((space.clone(), MemoryId::new(row.try_get::<_, String>(0)?)));
    rows.iter().map(memory).collect()
}

pub(crate) fn put_examined(
    transaction: &mut Transaction<'_>,
    until: Option<ExaminedUntil>,
    examined: &[Examined],
) {
    let name = transaction.name();
    remove_lost(transaction, examined);
    for item in examined.iter().flat_map(|examined| &examined.items) {
        let other = item.other.as_ref().map(|id| id.as_str().to_owned());
        transaction.queue(
            &format!(
                "INSERT INTO @open_item (space, {OPEN_ITEM}) VALUES ($1, $2, $3, $4, $5, $6, $7) \
                 ON CONFLICT (space, key) DO UPDATE SET memory = excluded.memory, revision = excluded.revision, \
                 kind = excluded.kind, other = excluded.other, certainty = excluded.certainty"
            ),
            values![
                name,
                &item.key,
                &item.memory,
                item.revision.cast_signed(),
                &item.kind,
                &other,
                item.certainty
            ],
        );
    }
    let is_whole = |examined: &&Examined| examined.as_older.is_some();
    let again = examined.iter().filter(is_whole);
    let again: Vec<String> = again
        .map(|examined| format!("~{}", examined.memory.as_str()))
        .collect();
    transaction.queue(
        "DELETE FROM @open_item WHERE space = $1 AND key = ANY($2)",
        values![name, again.as_slice()],
    );
    if let Some(until) = until {
        transaction.queue(
            "INSERT INTO @examined (space, rules, change, row) VALUES ($1, $2, $3, $4) ON CONFLICT (space) \
             DO UPDATE SET rules = excluded.rules, change = excluded.change, row = excluded.row",
            values![name, i64::from(until.rules), until.change, until.row],
        );
    }
}

/// Removes the items that were not found again, and has the other memories of the pairs among them
/// examined again.
fn remove_lost(transaction: &mut Transaction<'_>, examined: &[Examined]) {
    let name = transaction.name();
    let found = examined.iter().flat_map(|examined| &examined.items);
    let found: Vec<String> = found.map(|item| item.key.clone()).collect();
    for Examined {
        memory,
        kinds,
        as_older,
        ..
    } in examined
    {
        for [end, left] in [["memory", "other"], ["other", "memory"]] {
            let held = match (end, as_older) {
                ("memory", _) => &[][..],
                (_, Some(held)) => held,
                (_, None) => continue,
            };
            let held = [held, &found].concat();
            let gone = format!("space = $1 AND {end} = $2 AND kind = ANY($3) AND key <> ALL($4)");
            for sql in [
                format!(
                    "{AGAIN} SELECT space, '~' || {left}, {left}, 0, 'again', '', 0 FROM @open_item \
                     WHERE {gone} AND other <> '' ON CONFLICT DO NOTHING"
                ),
                format!("DELETE FROM @open_item WHERE {gone}"),
            ] {
                let held = held.as_slice();
                transaction.queue(&sql, values![name, memory, kinds.as_slice(), held]);
            }
        }
    }
}

/// Removes the items of memories, also of pairs, of which the other memories are examined again.
pub(crate) fn delete(transaction: &mut Transaction<'_>, memories: &[MemoryId]) {
    for [end, left] in [["memory", "other"], ["other", "memory"]] {
        transaction.queue(
            &format!(
                "{AGAIN} SELECT space, '~' || {left}, {left}, 0, 'again', '', 0 FROM @open_item \
                 WHERE space = $1 AND {end} = ANY($2) AND other <> '' ON CONFLICT DO NOTHING"
            ),
            values![transaction.name(), memories],
        );
    }
    for end in ["memory", "other"] {
        transaction.queue(
            &format!("DELETE FROM @open_item WHERE space = $1 AND {end} = ANY($2)"),
            values![transaction.name(), memories],
        );
    }
}

/// Returns the items whose memory matches the filter and is as it was examined.
pub(crate) async fn list(
    session: &Session,
    filter: &Filter,
    limit: usize,
) -> Result<Vec<OpenItem>> {
    let mut conditions = Conditions::of(filter);
    let limit = conditions.bind(limit);
    let sql = format!(
        "SELECT o.key, o.memory, o.revision, o.kind, o.other, o.certainty FROM @open_item AS o \
         JOIN @memory AS m ON m.id = o.memory \
         WHERE o.space = $1 AND m.revision = o.revision AND {} ORDER BY o.certainty DESC, o.key LIMIT {limit}",
        conditions.sql
    );
    session.records(&sql, &conditions.values).await
}
