//! Statements over answers that are kept under their callers' keys.

use loci_core::limits::{KEYED_ANSWERS_BYTES_MAX, KEYED_ANSWERS_MAX};
use loci_core::{IdempotentReply, Space, Timestamp};
use rusqlite::{Connection, params};

use crate::failure::{Result, conflict};
use crate::statements::filter_sql::bound;
use crate::statements::row::{none_broken, read_one};
use loci_index::codec::encode_names;
use loci_index::records::{REPLY, StoredRecord};

/// The condition that a row is as it was written.
pub(crate) const HOLDS: &str = "checksum IS loci_checksum(row, space, owner, origin, operation, key, request, \
     created_at, expires_at, bytes, memories, answer)";

/// The columns of a reply.
pub(crate) fn columns() -> String {
    format!("{HOLDS}, {REPLY}")
}

/// Keeps an answer, in the place of one that had expired when it was made, and removes the oldest
/// that are too many with it. Nothing is kept if a memory is gone whose text it holds.
pub(crate) fn keep(connection: &Connection, answer: &IdempotentReply) -> Result<()> {
    let IdempotentReply {
        space,
        owner,
        origin,
        operation,
        key,
        request,
        answer,
        memories,
        created_at,
        expires_at,
    } = answer;
    let memories: Vec<_> = memories.iter().map(|id| id.as_str().to_owned()).collect();
    let memories = encode_names(&memories);
    if connection.prepare_cached(IS_GONE)?.exists(params![
        space.as_str(),
        memories,
        created_at.microseconds()
    ])? {
        return Ok(());
    }
    let broken = format!(
        "SELECT 1 FROM keyed_answer
         WHERE space = ?1 AND ifnull(owner, 0) = ifnull(?2, 0) AND operation = ?3 AND key = ?4 AND NOT {HOLDS}"
    );
    let whose = params![space.as_str(), owner, operation, key];
    none_broken(connection, &broken, whose, IdempotentReply::NOUN, operation)?;
    let sql = format!(
        "INSERT INTO keyed_answer ({REPLY}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
         ON CONFLICT (space, ifnull(owner, 0), operation, key) DO UPDATE
         SET origin = excluded.origin, request = excluded.request, created_at = excluded.created_at,
             expires_at = excluded.expires_at, memories = excluded.memories, answer = excluded.answer
         WHERE expires_at <= excluded.created_at"
    );
    let kept = connection.prepare_cached(&sql)?.execute(params![
        space.as_str(),
        owner,
        origin,
        operation,
        key,
        request.0,
        answer,
        memories,
        created_at.microseconds(),
        expires_at.microseconds(),
    ])?;
    if kept == 0 {
        return Err(conflict(
            "the key of this call was used by another call first; call again",
        ));
    }
    let mut excess = connection.prepare_cached(EXCEEDS)?;
    let mut oldest = connection.prepare_cached(REMOVE_OLDEST)?;
    let limits = params![
        space.as_str(),
        owner,
        bound(KEYED_ANSWERS_MAX),
        bound(KEYED_ANSWERS_BYTES_MAX)
    ];
    while excess.exists(limits)?
        && oldest.execute(params![space.as_str(), owner, operation, key])? > 0
    {}
    Ok(())
}

/// The condition that one of the memories `?2` of a space is not there, or no longer at the moment
/// `?3`.
pub(crate) const IS_GONE: &str = "SELECT 1 FROM json_each(?2) WHERE NOT EXISTS (
    SELECT 1 FROM memory WHERE space = ?1 AND id = value AND deleted_at IS NULL AND forgotten_at IS NULL
        AND (expires_at IS NULL OR expires_at > ?3))";
/// The condition that an owner has more than `?3` answers, or answers of more than `?4` bytes. The
/// total is kept by triggers.
pub(crate) const EXCEEDS: &str = "SELECT 1 FROM keyed_answer_total
    WHERE space = ?1 AND owner = ifnull(?2, 0) AND (answers > ?3 OR bytes > ?4)";
/// Removes an owner's oldest answer but for that of this operation and key.
pub(crate) const REMOVE_OLDEST: &str = "DELETE FROM keyed_answer WHERE row = (
    SELECT row FROM keyed_answer
    WHERE space = ?1 AND ifnull(owner, 0) = ifnull(?2, 0) AND NOT (operation = ?3 AND key = ?4)
    ORDER BY created_at, operation, key LIMIT 1)";

pub(crate) fn find(
    connection: &Connection,
    space: &Space,
    owner: Option<&str>,
    operation: &str,
    key: &str,
    now: Timestamp,
) -> Result<Option<IdempotentReply>> {
    let key = params![space.as_str(), owner, operation, key, now.microseconds()];
    read_one(connection, &find_sql(), key)
}

pub(crate) fn find_sql() -> String {
    format!(
        "SELECT {} FROM keyed_answer
         WHERE space = ?1 AND ifnull(owner, 0) = ifnull(?2, 0) AND operation = ?3 AND key = ?4
             AND (expires_at > ?5 OR NOT {HOLDS})",
        columns()
    )
}
