//! Statements over the former versions of memories.

use loci_core::limits::VERSIONS_MAX;
use loci_core::{ANONYMOUS, ChangeQuery, Filter, MemoryId, Space, Timestamp, Version};
use rusqlite::types::Value;
use rusqlite::{Connection, named_params, params};

use crate::failure::Result;
use crate::statements::filter_sql::{Conditions, bound, parameters};
use crate::statements::row::read_all;
use crate::statements::write::{REMOVE_VERSIONS, find};
use loci_index::codec::{encode_names, encode_properties};
use loci_index::records::VERSION;

/// The condition that a row of `version AS v` is as it was written.
macro_rules! holds {
    () => {
        "v.checksum IS loci_checksum(v.row, v.memory, v.id, v.revision, v.collection, v.section, v.title, v.tags, \
         v.updated_by, v.updated_at, v.content, v.properties, v.changed_at, v.changed_by, v.tool, v.program, \
         v.session, v.token, v.call)"
    };
}

/// The columns of a version, of `version AS v`, with this expression for the id of its memory: `m.id`, or
/// `v.id` without its memory, which is a part of that.
pub(crate) fn columns(id: &str) -> String {
    format!("{}, {id}, {VERSION}", holds!())
}

/// The characters at the end of a memory's id that its versions have.
const ID_CHARACTERS: usize = 8;

/// Returns the end of a memory's id, by which salvage tells the memory from a later one in its row: each
/// stored memory has a version, and most ids have 36 characters.
fn end_of(id: &str) -> &str {
    let mut ends = id.char_indices().rev().skip(ID_CHARACTERS - 1);
    &id[ends.next().map_or(0, |(start, _)| start)..]
}

/// The rows of `version` whose change came before `?1`, but for the ones after a version that goes later,
/// as a clock that jumped back leaves them: a version without a text has that of the next one.
pub(crate) const DUE: &str = "changed_at < ?1 AND NOT EXISTS (
    SELECT 1 FROM version AS o WHERE o.memory = version.memory AND o.revision < version.revision
        AND o.changed_at > version.changed_at)";
/// Removes those beyond the newest `?2`.
const EVICT: &str = "DELETE FROM version WHERE memory = ?1 AND revision <= (
    SELECT revision FROM version WHERE memory = ?1 ORDER BY revision DESC LIMIT 1 OFFSET ?2)";
/// Puts the pseudonym `?4` in the place of a user's name on the versions that the user wrote, of
/// memories of any origin or that of `?3`, but for damaged ones: a change would give them a checksum
/// that holds.
pub(crate) const REWRITTEN: &str = concat!(
    "UPDATE version AS v SET updated_by = ?4 WHERE v.updated_by = ?2 AND ",
    holds!(),
    " AND EXISTS (SELECT 1 FROM memory AS m WHERE m.row = v.memory AND m.space = ?1 AND (?3 IS NULL OR m.origin = ?3))"
);
/// Does the same on the versions of memories of others that the user changed, and takes program,
/// session and token from them.
pub(crate) const CHANGES_REWRITTEN: &str = concat!(
    "UPDATE version AS v SET changed_by = ?4, program = NULL, session = NULL, token = NULL
    WHERE v.changed_by = ?2 AND ",
    holds!(),
    " AND EXISTS (SELECT 1 FROM memory AS m WHERE m.row = v.memory AND m.space = ?1 AND (?3 IS NULL OR m.origin = ?3))"
);
/// Takes program, session and token from what the owner changed of the memory of row `?1`, which
/// stays after a wipe of its owner.
pub(crate) const LEFT_BY_OWNER: &str = concat!(
    "UPDATE version AS v SET program = NULL, session = NULL, token = NULL WHERE v.memory = ?1
    AND v.changed_by IS NULL AND ",
    holds!()
);
/// Removes the damaged versions that the user wrote.
pub(crate) const WIPED_DAMAGE: &str =
    "DELETE FROM version WHERE updated_by = ?2 AND EXISTS (
        SELECT 1 FROM memory AS m WHERE m.row = version.memory AND m.space = ?1 AND (?3 IS NULL OR m.origin = ?3))";
/// Removes the damaged versions that the user ended.
pub(crate) const WIPED_DAMAGED_CHANGES: &str =
    "DELETE FROM version WHERE changed_by = ?2 AND EXISTS (
        SELECT 1 FROM memory AS m WHERE m.row = version.memory AND m.space = ?1 AND (?3 IS NULL OR m.origin = ?3))";

pub(crate) fn put(connection: &Connection, space: &Space, version: &Version) -> Result<()> {
    let Some(found) = find(connection, space, &version.memory)?.filter(|it| !it.is_deleted) else {
        return Ok(());
    };
    let sql = "INSERT INTO version (memory, id, revision, collection, section, title, tags, updated_by, updated_at, \
         content, properties, changed_at, changed_by, tool, program, session, token, call)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
        ON CONFLICT (memory, revision) DO UPDATE SET collection = excluded.collection, section = excluded.section,
            title = excluded.title, tags = excluded.tags, updated_by = excluded.updated_by,
            updated_at = excluded.updated_at, content = excluded.content, properties = excluded.properties,
            changed_at = excluded.changed_at, changed_by = excluded.changed_by, tool = excluded.tool,
            program = excluded.program, session = excluded.session, token = excluded.token, call = excluded.call";
    let change = version.change.as_ref();
    connection.prepare_cached(sql)?.execute(params![
        found.row,
        end_of(version.memory.as_str()),
        version.revision.cast_signed(),
        version.location.collection,
        version.location.section,
        version.title,
        encode_names(&version.tags),
        version.updated_by,
        version.updated_at.microseconds(),
        version.content,
        version.properties.as_ref().map(encode_properties),
        change.map(|change| change.at.microseconds()),
        change.map(|change| &change.by),
        change.map(|change| &change.tool),
        change.map(|change| &change.program),
        change.map(|change| &change.session),
        change.map(|change| &change.token),
        change.map(|change| change.call.cast_signed()),
    ])?;
    // The time before a memory was stored is its first version.
    if version.is_before_all() {
        return Ok(());
    }
    connection
        .prepare_cached(EVICT)?
        .execute([found.row, VERSIONS_MAX as i64])?;
    Ok(())
}

/// Removes the versions of a memory.
pub(crate) fn delete(connection: &Connection, space: &Space, id: &MemoryId) -> Result<()> {
    if let Some(found) = find(connection, space, id)? {
        connection
            .prepare_cached(REMOVE_VERSIONS)?
            .execute([found.row])?;
    }
    Ok(())
}

/// The versions of a memory, latest first.
pub(crate) fn of_memory(
    connection: &Connection,
    space: &Space,
    id: &MemoryId,
) -> Result<Vec<Version>> {
    read_all(connection, &of_memory_sql(), [space.as_str(), id.as_str()])
}

pub(crate) fn of_memory_sql() -> String {
    format!(
        "SELECT {} FROM memory AS m JOIN version AS v ON v.memory = m.row
        WHERE m.space = ?1 AND m.id = ?2 ORDER BY v.revision DESC",
        columns("m.id")
    )
}

/// The changes that match a query, latest first.
pub(crate) fn changes(connection: &Connection, query: &ChangeQuery) -> Result<Vec<Version>> {
    let after = query.after.as_ref();
    read_all(
        connection,
        &changes_sql(),
        named_params! {
            ":space": query.space.as_str(),
            ":since": query.since.map_or(i64::MIN, Timestamp::microseconds),
            ":by": query.by,
            ":program": query.program,
            ":session": query.session,
            ":token": query.token,
            ":call": query.call.map(u64::cast_signed),
            ":at": after.map(|(at, ..)| at.microseconds()),
            ":id": after.map(|(_, id, _)| id.as_str()),
            ":revision": after.map(|(.., revision)| revision.cast_signed()),
            ":limit": bound(query.limit),
            ":anonymous": ANONYMOUS,
        },
    )
}

pub(crate) fn changes_sql() -> String {
    format!(
        "SELECT {} FROM version AS v CROSS JOIN memory AS m ON m.row = v.memory
        WHERE v.changed_at >= :since AND v.changed_at <= coalesce(:at, 9223372036854775807)
            AND m.space = :space AND m.deleted_at IS NULL
            AND (:by IS NULL OR coalesce(v.changed_by, m.owner, :anonymous) = :by)
            AND (:program IS NULL OR v.program = :program) AND (:session IS NULL OR v.session = :session)
            AND (:token IS NULL OR v.token = :token) AND (:call IS NULL OR v.call = :call)
            AND (:at IS NULL OR (v.changed_at, m.id, v.revision) < (:at, :id, :revision))
        ORDER BY v.changed_at DESC, m.id DESC, v.revision DESC LIMIT :limit",
        columns("m.id")
    )
}

/// The ids of the memories that pass the filter and have versions, in order.
pub(crate) fn ids(
    connection: &Connection,
    filter: &Filter,
    after: Option<&MemoryId>,
    limit: usize,
) -> Result<Vec<MemoryId>> {
    let Conditions {
        sql, mut values, ..
    } = Conditions::of(filter);
    let sql = format!(
        "SELECT m.id FROM (SELECT DISTINCT memory FROM version) AS known
            CROSS JOIN memory AS m ON m.row = known.memory
        WHERE m.id > :after AND {sql} ORDER BY m.id LIMIT :limit"
    );
    let after = after.map_or("", MemoryId::as_str).to_owned();
    values.push((":after", Value::from(after)));
    values.push((":limit", bound(limit)));
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_and_then(&*parameters(&values), |row| {
        Ok(MemoryId::new(row.get::<_, String>(0)?))
    })?;
    rows.collect()
}
