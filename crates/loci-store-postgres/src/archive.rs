//! Everything that a store holds, in order, each space as of one moment.

use std::collections::HashSet;

use loci_core::{
    Archived, CacheEntry, Memory, MemoryId, Record, Result, Space, Timestamp, Tombstone, Tunnel,
};
use loci_index::records::{DECISION, REPLY, TUNNEL};
use tokio_postgres::Row;

use crate::failure::{self, Failure};
use crate::row::{WHOLE_COLUMNS, WHOLE_TABLES, read_whole};
use crate::scope::Scope;
use crate::server::Server;
use crate::session::Session;
use crate::value::{read_record, values};
use crate::{cache_entries, facts, notes, read, settings, source_files, tombstones};

/// Rows that are read at once.
const PAGE: usize = 500;

/// Passes everything to `visit`.
pub(crate) fn all(
    server: &Server,
    now: Timestamp,
    visit: &mut dyn FnMut(Archived) -> Result<()>,
) -> Result<()> {
    for space in server.read(Scope::AllSpaces, read::spaces)? {
        // No second attempt: what was passed cannot be taken back.
        let session = server.block_on(async {
            let session = server.session((&space).into()).await?;
            session.begin(BEGIN, &[]).await?;
            Ok::<_, Failure>(session)
        })?;
        of_space(server, &session, &space, now, visit)?;
        server.block_on(session.roll_back())?;
    }
    Ok(())
}

const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// Reads a part before it passes it, so that `visit` may use the store, too.
fn of_space(
    server: &Server,
    session: &Session,
    space: &Space,
    now: Timestamp,
    visit: &mut dyn FnMut(Archived) -> Result<()>,
) -> Result<()> {
    let mut give = |records: Vec<Record>| -> Result<()> {
        records.into_iter().try_for_each(|record| {
            let space = space.clone();
            visit(Archived { space, record })
        })
    };
    let mut archived = HashSet::new();
    let (mut last, mut is_through) = (0_i64, false);
    while !is_through {
        let (memories, next) = server.block_on(memories(session, space, now, last))?;
        is_through = memories.len() < PAGE;
        last = next;
        archived.extend(memories.iter().map(|memory| memory.id.clone()));
        let records = memories.into_iter().map(Box::new).map(Record::Memory);
        give(records.collect())?;
    }
    give(server.block_on(besides_memories(session, space, &archived))?)?;
    let mut records = server.block_on(of_users(session, space, now))?;
    records.retain(|record| match record {
        Record::IdempotentReply(reply) => reply.memories.iter().all(|id| archived.contains(id)),
        _ => true,
    });
    give(records)?;
    let mut last: Option<Tombstone> = None;
    loop {
        let page = tombstones::page(session, space, last.as_ref(), PAGE);
        let page = server.block_on(page)?;
        let is_through = page.len() < PAGE;
        last = page.last().cloned();
        let records = page.into_iter().map(Box::new).map(Record::Tombstone);
        give(records.collect())?;
        if is_through {
            return Ok(());
        }
    }
}

/// Returns a page of memories after a row, and its last row.
async fn memories(
    session: &Session,
    space: &Space,
    now: Timestamp,
    after: i64,
) -> failure::Result<(Vec<Memory>, i64)> {
    let sql = format!(
        "SELECT {WHOLE_COLUMNS}, NULL::text, m.row FROM {WHOLE_TABLES} WHERE m.space = $1 AND m.row > $3 \
         AND m.deleted_at IS NULL AND (m.expires_at IS NULL OR m.expires_at > $2) ORDER BY m.row LIMIT $4"
    );
    let rows = session
        .query(&sql, &values![space, now, after, PAGE])
        .await?;
    let last = rows.last().map(|row| row.try_get("row")).transpose()?;
    let memories = rows
        .iter()
        .map(read_whole)
        .collect::<failure::Result<_>>()?;
    Ok((memories, last.unwrap_or(after)))
}

/// Returns what is neither a memory nor a user's.
async fn besides_memories(
    session: &Session,
    space: &Space,
    archived: &HashSet<MemoryId>,
) -> failure::Result<Vec<Record>> {
    let mut records = Vec::new();
    let folder = notes::folder(session, space).await?;
    records.extend(folder.map(Record::NoteFolder));
    for file in notes::all(session, space).await? {
        records.push(Record::NoteFile(Box::new(file)));
    }
    let tables = "@fact AS f WHERE f.space = $1 ORDER BY f.row";
    for row in select(session, space, facts::COLUMNS, tables).await? {
        records.push(Record::Fact(Box::new(read_record(&row)?)));
    }
    let tables = "@tunnel WHERE space = $1 ORDER BY id";
    for row in select(session, space, TUNNEL, tables).await? {
        let mut tunnel = read_record::<Tunnel>(&row)?;
        for end in [&mut tunnel.source, &mut tunnel.target] {
            end.memory = end.memory.take().filter(|id| archived.contains(id));
        }
        records.push(Record::Tunnel(Box::new(tunnel)));
    }
    let tables = "@setting WHERE space = $1 ORDER BY owner NULLS FIRST, name";
    for row in select(session, space, settings::COLUMNS, tables).await? {
        let (owner, name, value) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        records.push(Record::Setting { owner, name, value });
    }
    let tables = "@source_file WHERE space = $1 ORDER BY machine, collection NULLS FIRST, path";
    for row in select(session, space, source_files::COLUMNS, tables).await? {
        records.push(Record::SourceFile(Box::new(read_record(&row)?)));
    }
    Ok(records)
}

/// Returns what belongs to users.
async fn of_users(
    session: &Session,
    space: &Space,
    now: Timestamp,
) -> failure::Result<Vec<Record>> {
    let mut records = Vec::new();
    let read = async |columns: &str, rest: &str| {
        let sql = format!("SELECT {columns} FROM {rest}");
        session.query(&sql, &values![space, now]).await
    };
    let rest = "@cache_entry WHERE space = $1 AND expires_at > $2 ORDER BY id";
    for row in read(cache_entries::COLUMNS, rest).await? {
        records.push(Record::CacheEntry(Box::new(CacheEntry {
            vector: None,
            ..read_record(&row)?
        })));
    }
    let rest = "@decision WHERE space = $1 AND (expires_at IS NULL OR expires_at > $2) ORDER BY owner, key";
    for row in read(DECISION, rest).await? {
        records.push(Record::Decision(Box::new(read_record(&row)?)));
    }
    let rest =
        "@reply WHERE space = $1 AND expires_at > $2 ORDER BY owner NULLS FIRST, operation, key";
    for row in read(REPLY, rest).await? {
        records.push(Record::IdempotentReply(Box::new(read_record(&row)?)));
    }
    Ok(records)
}

async fn select(
    session: &Session,
    space: &Space,
    columns: &str,
    rest: &str,
) -> failure::Result<Vec<Row>> {
    let sql = format!("SELECT {columns} FROM {rest}");
    session.query(&sql, &values![space]).await
}
