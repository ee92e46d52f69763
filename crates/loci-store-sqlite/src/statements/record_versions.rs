//! Statements over the former states of facts and tunnels.

use loci_core::limits::VERSIONS_MAX;
use loci_core::{ChangeQuery, RecordKind, RecordVersion, Space, Timestamp};
use loci_index::record_states::{RECORD_VERSION, encode_record_state};
use rusqlite::{Connection, named_params, params};

use crate::failure::Result;
use crate::statements::filter_sql::bound;
use crate::statements::row::read_all;

/// The condition that a row of `record_version AS v` is as it was written.
macro_rules! holds {
    () => {
        "v.checksum IS loci_checksum(v.row, v.space, v.kind, v.id, v.owner, v.number, v.state, v.changed_at, \
         v.changed_by, v.tool, v.program, v.session, v.token, v.call)"
    };
}

/// The columns of a version, of `record_version AS v`.
pub(crate) fn columns() -> String {
    format!("{}, {RECORD_VERSION}", holds!())
}

/// The rows of `record_version` whose change came before `?1`, but for the ones after a version that goes
/// later, as a clock that jumped back leaves them: no change is left out between two others.
pub(crate) const DUE: &str = "changed_at < ?1 AND NOT EXISTS (
    SELECT 1 FROM record_version AS o WHERE o.space = record_version.space AND o.kind = record_version.kind
        AND o.id = record_version.id AND o.number < record_version.number
        AND o.changed_at > record_version.changed_at)";
/// Removes those of the record beyond the newest `?4`.
pub(crate) const EVICT: &str =
    "DELETE FROM record_version WHERE space = ?1 AND kind = ?2 AND id = ?3 AND number <= (
    SELECT number FROM record_version WHERE space = ?1 AND kind = ?2 AND id = ?3
    ORDER BY number DESC LIMIT 1 OFFSET ?4)";
/// Removes the versions of a record.
pub(crate) const REMOVE: &str =
    "DELETE FROM record_version WHERE space = ?1 AND kind = ?2 AND id = ?3";
/// The versions of tunnels of a user, which go with the user, and so do those of damaged rows.
pub(crate) const WIPED: &str = concat!(
    "DELETE FROM record_version AS v WHERE v.space = ?1 AND v.owner = ?2 AND (v.kind <> 'fact' OR NOT ",
    holds!(),
    ")"
);
/// The damaged versions that a user ended.
pub(crate) const WIPED_DAMAGE: &str = concat!(
    "DELETE FROM record_version AS v WHERE v.space = ?1 AND v.changed_by = ?2 AND NOT ",
    holds!()
);
/// Puts the pseudonym `?3`, if there is one, in the place of the author of facts.
pub(crate) const DISOWNED: &str =
    "UPDATE record_version SET owner = ?3 WHERE space = ?1 AND owner = ?2";
/// Does the same with who changed facts and tunnels, and takes program, session and token from that.
pub(crate) const CHANGES_DISOWNED: &str = "UPDATE record_version
    SET changed_by = ?3, program = NULL, session = NULL, token = NULL WHERE space = ?1 AND changed_by = ?2";

pub(crate) fn put(connection: &Connection, version: &RecordVersion) -> Result<()> {
    let RecordVersion {
        space,
        kind,
        id,
        owner,
        number,
        state,
        change,
    } = version;
    let sql = "INSERT INTO record_version (space, kind, id, owner, number, state, changed_at, changed_by, tool, \
         program, session, token, call)
        VALUES (?1, ?2, ?3, ?4, CASE WHEN ?5 <> 0 THEN ?5 ELSE 1 + coalesce((
            SELECT max(number) FROM record_version WHERE space = ?1 AND kind = ?2 AND id = ?3), 0) END,
            ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
        ON CONFLICT (space, kind, id, number) DO UPDATE SET owner = excluded.owner, state = excluded.state,
            changed_at = excluded.changed_at, changed_by = excluded.changed_by, tool = excluded.tool,
            program = excluded.program, session = excluded.session, token = excluded.token, call = excluded.call";
    connection.prepare_cached(sql)?.execute(params![
        space.as_str(),
        kind.name(),
        id,
        owner,
        number.cast_signed(),
        state.as_ref().map(encode_record_state),
        change.at.microseconds(),
        change.by,
        change.tool,
        change.program,
        change.session,
        change.token,
        change.call.cast_signed(),
    ])?;
    connection.prepare_cached(EVICT)?.execute(params![
        space.as_str(),
        kind.name(),
        id,
        VERSIONS_MAX as i64
    ])?;
    Ok(())
}

/// Removes the versions of a record.
pub(crate) fn delete(
    connection: &Connection,
    space: &Space,
    kind: RecordKind,
    id: &str,
) -> Result<()> {
    connection
        .prepare_cached(REMOVE)?
        .execute([space.as_str(), kind.name(), id])?;
    Ok(())
}

/// The versions of a record, latest first.
pub(crate) fn of_record(
    connection: &Connection,
    space: &Space,
    kind: RecordKind,
    id: &str,
) -> Result<Vec<RecordVersion>> {
    read_all(
        connection,
        &of_record_sql(),
        [space.as_str(), kind.name(), id],
    )
}

pub(crate) fn of_record_sql() -> String {
    format!(
        "SELECT {} FROM record_version AS v WHERE v.space = ?1 AND v.kind = ?2 AND v.id = ?3 ORDER BY v.number DESC",
        columns()
    )
}

/// The changes that match a query, latest first.
pub(crate) fn changes(connection: &Connection, query: &ChangeQuery) -> Result<Vec<RecordVersion>> {
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
            ":limit": bound(query.limit),
            ":anonymous": loci_core::ANONYMOUS,
        },
    )
}

pub(crate) fn changes_sql() -> String {
    format!(
        "SELECT {} FROM record_version AS v WHERE v.changed_at >= :since AND +v.space = :space
            AND (:by IS NULL OR coalesce(v.changed_by, :anonymous) = :by)
            AND (:program IS NULL OR v.program = :program) AND (:session IS NULL OR v.session = :session)
            AND (:token IS NULL OR v.token = :token) AND (:call IS NULL OR v.call = :call)
        ORDER BY v.changed_at DESC, v.kind DESC, v.id DESC, v.number DESC LIMIT :limit",
        columns()
    )
}
