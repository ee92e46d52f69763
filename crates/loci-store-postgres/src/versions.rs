//! Statements over the former versions of memories.

use loci_core::limits::VERSIONS_MAX;
use loci_core::{ANONYMOUS, ChangeQuery, Filter, MemoryId, Space, Timestamp, Version};
use loci_index::codec::encode_properties;
use loci_index::records::VERSION;

use crate::failure::Result;
use crate::filter::Conditions;
use crate::session::Session;
use crate::transaction::Transaction;
use crate::value::values;

/// The rows of `@version AS t` whose change came before `$2`, but for the ones after a version that goes later,
/// as a clock that jumped back leaves them: a version without a text has that of the next one.
pub(crate) const DUE: &str = "changed_at < $2 AND NOT EXISTS (\
    SELECT 1 FROM @version AS o WHERE o.space = $1 AND o.memory = t.memory \
    AND o.revision < t.revision AND o.changed_at > t.changed_at)";

/// Keeps a version of a memory, if that exists.
pub(crate) async fn put(transaction: &mut Transaction<'_>, version: &Version) -> Result<()> {
    let found = transaction.find(&version.memory).await?;
    let Some(found) = found.filter(|found| found.deleted_at.is_none()) else {
        return Ok(());
    };
    let name = transaction.name();
    let change = version.change.as_ref();
    transaction.queue(
        "INSERT INTO @version (space, memory, revision, collection, section, title, tags, updated_by, updated_at, \
         content, properties, changed_at, changed_by, tool, program, session, token, call) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) \
         ON CONFLICT (space, memory, revision) \
         DO UPDATE SET collection = excluded.collection, section = excluded.section, title = excluded.title, \
         tags = excluded.tags, updated_by = excluded.updated_by, updated_at = excluded.updated_at, \
         content = excluded.content, properties = excluded.properties, changed_at = excluded.changed_at, \
         changed_by = excluded.changed_by, tool = excluded.tool, program = excluded.program, \
         session = excluded.session, token = excluded.token, call = excluded.call",
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
            version.properties.as_ref().map(encode_properties),
            change.map(|change| change.at),
            change.and_then(|change| change.by.clone()),
            change.map(|change| change.tool.clone()),
            change.and_then(|change| change.program.clone()),
            change.and_then(|change| change.session.clone()),
            change.and_then(|change| change.token.clone()),
            change.map(|change| change.call.cast_signed()),
        ],
    );
    // The time before a memory was stored is its first version.
    if version.is_before_all() {
        return Ok(());
    }
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

/// Does the same on the versions that the user ended, and takes program, session and token from them.
pub(crate) fn leave_pseudonym_on_changes(
    transaction: &mut Transaction<'_>,
    owner: &str,
    origin: Option<&str>,
    pseudonym: &str,
) {
    transaction.queue(
        "UPDATE @version AS v SET changed_by = $4, program = NULL, session = NULL, token = NULL \
         WHERE v.space = $1 AND v.changed_by = $2 AND EXISTS (\
         SELECT 1 FROM @memory AS m WHERE m.space = $1 AND m.row = v.memory \
         AND ($3::text IS NULL OR m.origin = $3))",
        values![transaction.name(), owner, origin, pseudonym],
    );
}

/// Takes program, session and token from what the owner of these memories changed of them, which stay
/// after a wipe of that owner.
pub(crate) fn forget_programs(transaction: &mut Transaction<'_>, rows: Vec<i64>) {
    transaction.queue(
        "UPDATE @version SET program = NULL, session = NULL, token = NULL \
         WHERE space = $1 AND memory = ANY($2) AND changed_by IS NULL",
        values![transaction.name(), rows],
    );
}

/// Returns the changes that match a query, latest first.
pub(crate) async fn changes(session: &Session, query: &ChangeQuery) -> Result<Vec<Version>> {
    let after = query.after.as_ref();
    let sql = format!(
        "SELECT m.id, {VERSION} FROM @version AS v JOIN @memory AS m ON m.space = $1 AND m.row = v.memory \
         WHERE v.space = $1 AND v.changed_at >= $2 AND v.changed_at <= $3 AND m.deleted_at IS NULL \
         AND ($4::text IS NULL OR coalesce(v.changed_by, m.owner, '{ANONYMOUS}') = $4) \
         AND ($5::text IS NULL OR v.program = $5) AND ($6::text IS NULL OR v.session = $6) \
         AND ($7::text IS NULL OR v.token = $7) AND ($8::bigint IS NULL OR v.call = $8) \
         AND ($9::text IS NULL OR (v.changed_at, m.id, v.revision) < ($3, $9, $10::bigint)) \
         ORDER BY v.changed_at DESC, m.id DESC, v.revision DESC LIMIT $11"
    );
    let values = values![
        &query.space,
        query.since.unwrap_or(Timestamp::MIN),
        after.map_or(Timestamp::from_microseconds(i64::MAX), |(at, ..)| *at),
        &query.by,
        &query.program,
        &query.session,
        &query.token,
        query.call.map(u64::cast_signed),
        after.map(|(_, id, _)| id.as_str()),
        after.map(|(.., revision)| revision.cast_signed()),
        query.limit
    ];
    session.records(&sql, &values).await
}

/// Returns the versions of a memory, latest first.
pub(crate) async fn of_memory(
    session: &Session,
    space: &Space,
    id: &MemoryId,
) -> Result<Vec<Version>> {
    let sql = format!(
        "SELECT m.id, {VERSION} FROM @memory AS m JOIN @version AS v ON v.space = $1 AND v.memory = m.row \
         WHERE m.space = $1 AND m.id = $2 ORDER BY v.revision DESC"
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
