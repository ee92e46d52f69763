//! Statements over the former versions of memories.

use loci_core::limits::VERSIONS_MAX;
use loci_core::{Filter, MemoryId, Space, Version};
use loci_index::records::VERSION;

use crate::failure::Result;
use crate::filter::Conditions;
use crate::session::Session;
use crate::transaction::Transaction;
use crate::value::values;

/// Keeps a version of a memory, if that exists.
pub(crate) async fn put(transaction: &mut Transaction<'_>, version: &Version) -> Result<()> {
    let found = transaction.find(&version.memory).await?;
    let Some(found) = found.filter(|found| found.deleted_at.is_none()) else {
        return Ok(());
    };
    let name = transaction.name();
    transaction.queue(
        "INSERT INTO @version (space, memory, revision, collection, section, title, tags, updated_by, updated_at, \
         content) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (space, memory, revision) \
         DO UPDATE SET collection = excluded.collection, section = excluded.section, title = excluded.title, \
         tags = excluded.tags, updated_by = excluded.updated_by, updated_at = excluded.updated_at, \
         content = excluded.content",
        values![
            name,
            found.row,
            version.revision.cast_signed(),
            &version.location.collection,
            &version.location.section,
            &version.title,
            version.tags.as_slice(),
            &version.updated_by,
            version.updated_at,
            &version.content,
        ],
    );
    transaction.queue(
        "DELETE FROM @version WHERE space = $1 AND memory = $2 AND revision <= (\
         SELECT v.revision FROM @version AS v WHERE v.space = $1 AND v.memory = $2 \
         ORDER BY v.revision DESC LIMIT 1 OFFSET $3)",
        values![name, found.row, VERSIONS_MAX],
    );
    Ok(())
}

/// Removes the versions of a memory.
pub(crate) async fn delete(transaction: &mut Transaction<'_>, id: &MemoryId) -> Result<()> {
    if let Some(found) = transaction.find(id).await? {
        transaction.queue(
            "DELETE FROM @version WHERE space = $1 AND memory = $2",
            values![transaction.name(), found.row],
        );
    }
    Ok(())
}

/// Puts the pseudonym in the place of a user's name on the versions that the user wrote, of memories
/// of any tool set or of one.
pub(crate) fn leave_pseudonym(
    transaction: &mut Transaction<'_>,
    owner: &str,
    origin: Option<&str>,
    pseudonym: &str,
) {
    transaction.queue(
        "UPDATE @version AS v SET updated_by = $4 WHERE v.space = $1 AND v.updated_by = $2 AND EXISTS (\
         SELECT 1 FROM @memory AS m WHERE m.space = $1 AND m.row = v.memory \
         AND ($3::text IS NULL OR m.origin = $3))",
        values![transaction.name(), owner, origin, pseudonym],
    );
}

/// Returns the versions of a memory, latest first.
pub(crate) async fn of_memory(
    session: &Session,
    space: &Space,
    id: &MemoryId,
) -> Result<Vec<Version>> {
    let sql = format!(
        "SELECT m.id, {VERSION} FROM @memory AS m JOIN @version AS v ON v.space = $1 AND v.memory = m.row \
         WHERE m.space = $1 AND m.id = $2 AND m.deleted_at IS NULL ORDER BY v.revision DESC"
    );
    session.records(&sql, &values![space, id]).await
}

/// Returns the ids of the memories that match a filter and have versions, in order.
pub(crate) async fn ids(
    session: &Session,
    filter: &Filter,
    after: Option<&MemoryId>,
    limit: usize,
) -> Result<Vec<MemoryId>> {
    let mut conditions = Conditions::of(filter);
    let after = conditions.bind(after.map_or("", MemoryId::as_str));
    let limit = conditions.bind(limit);
    let sql = format!(
        "SELECT m.id FROM @memory AS m WHERE {} AND m.id > {after} AND m.row IN (\
         SELECT v.memory FROM @version AS v WHERE v.space = $1) ORDER BY m.id LIMIT {limit}",
        conditions.sql
    );
    let rows = session.query(&sql, &conditions.values).await?;
    rows.iter()
        .map(|row| Ok(MemoryId::new(row.try_get::<_, String>(0)?)))
        .collect()
}
