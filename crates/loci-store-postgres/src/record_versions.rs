//! Statements over the former states of facts and tunnels.

use loci_core::limits::VERSIONS_MAX;
use loci_core::{ANONYMOUS, ChangeQuery, RecordKind, RecordVersion, Space, Timestamp};
use loci_index::record_states::{RECORD_VERSION, encode_record_state};

use crate::failure::Result;
use crate::session::Session;
use crate::transaction::Transaction;
use crate::value::values;

/// The rows of `@record_version AS t` whose change came before `$2`, but for the ones after a version that goes
/// later, as a clock that jumped back leaves them: no change is left out between two others.
pub(crate) const DUE: &str = "changed_at < $2 AND NOT EXISTS (\
    SELECT 1 FROM @record_version AS o WHERE o.space = $1 AND o.kind = t.kind \
    AND o.id = t.id AND o.number < t.number \
    AND o.changed_at > t.changed_at)";

/// Keeps a version of a record; number 0 stands for the next one.
pub(crate) fn put(transaction: &mut Transaction<'_>, version: &RecordVersion) {
    let RecordVersion {
        space: _,
        kind,
        id,
        owner,
        number,
        state,
        change,
    } = version;
    let name = transaction.name();
    transaction.queue(
        "INSERT INTO @record_version (space, kind, id, owner, number, state, changed_at, changed_by, tool, program, \
         session, token, call) \
         SELECT $1, $2, $3, $4, CASE WHEN $5::bigint <> 0 THEN $5 ELSE 1 + coalesce(max(v.number), 0) END, \
         $6, $7, $8, $9, $10, $11, $12, $13 \
         FROM @record_version AS v WHERE v.space = $1 AND v.kind = $2 AND v.id = $3 \
         ON CONFLICT (space, kind, id, number) \
         DO UPDATE SET owner = excluded.owner, state = excluded.state, changed_at = excluded.changed_at, \
         changed_by = excluded.changed_by, tool = excluded.tool, program = excluded.program, \
         session = excluded.session, token = excluded.token, call = excluded.call",
        values![
            name,
            kind.name(),
            id,
            owner,
            number.cast_signed(),
            state.as_ref().map(encode_record_state),
            change.at,
            &change.by,
            &change.tool,
            &change.program,
            &change.session,
            &change.token,
            change.call.cast_signed(),
        ],
    );
    transaction.queue(
        "DELETE FROM @record_version WHERE space = $1 AND kind = $2 AND id = $3 AND number <= (\
         SELECT v.number FROM @record_version AS v WHERE v.space = $1 AND v.kind = $2 AND v.id = $3 \
         ORDER BY v.number DESC LIMIT 1 OFFSET $4)",
        values![name, kind.name(), id, VERSIONS_MAX],
    );
}

/// Removes the versions of records of a kind.
pub(crate) fn delete(transaction: &mut Transaction<'_>, kind: RecordKind, ids: &[String]) {
    transaction.queue(
        "DELETE FROM @record_version WHERE space = $1 AND kind = $2 AND id = ANY($3)",
        values![transaction.name(), kind.name(), ids],
    );
}

/// Removes the versions of a user's tunnels, and puts the pseudonym, if there is one, in the place of
/// the user's name on the others, from which program, session and token go, too.
pub(crate) fn wipe(transaction: &mut Transaction<'_>, owner: &str, pseudonym: Option<&str>) {
    let name = transaction.name();
    transaction.queue(
        "DELETE FROM @record_version WHERE space = $1 AND owner = $2 AND kind <> 'fact'",
        values![name, owner],
    );
    for sql in [
        "UPDATE @record_version SET owner = $3 WHERE space = $1 AND owner = $2",
        "UPDATE @record_version SET changed_by = $3, program = NULL, session = NULL, token = NULL \
         WHERE space = $1 AND changed_by = $2",
    ] {
        transaction.queue(sql, values![name, owner, pseudonym]);
    }
}

/// Returns the versions of a record, latest first.
pub(crate) async fn of_record(
    session: &Session,
    space: &Space,
    kind: RecordKind,
    id: &str,
) -> Result<Vec<RecordVersion>> {
    let sql = format!(
        "SELECT {RECORD_VERSION} FROM @record_version AS v WHERE v.space = $1 AND v.kind = $2 AND v.id = $3 \
         ORDER BY v.number DESC"
    );
    session
        .records(&sql, &values![space, kind.name(), id])
        .await
}

/// Returns the changes that match a query, latest first.
pub(crate) async fn changes(session: &Session, query: &ChangeQuery) -> Result<Vec<RecordVersion>> {
    let sql = format!(
        "SELECT {RECORD_VERSION} FROM @record_version AS v WHERE v.space = $1 AND v.changed_at >= $2 \
         AND ($3::text IS NULL OR coalesce(v.changed_by, '{ANONYMOUS}') = $3) \
         AND ($4::text IS NULL OR v.program = $4) AND ($5::text IS NULL OR v.session = $5) \
         AND ($6::text IS NULL OR v.token = $6) AND ($7::bigint IS NULL OR v.call = $7) \
         ORDER BY v.changed_at DESC, v.kind DESC, v.id DESC, v.number DESC LIMIT $8"
    );
    let values = values![
        &query.space,
        query.since.unwrap_or(Timestamp::MIN),
        &query.by,
        &query.program,
        &query.session,
        &query.token,
        query.call.map(u64::cast_signed),
        query.limit
    ];
    session.records(&sql, &values).await
}
