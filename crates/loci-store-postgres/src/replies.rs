//! Statements over replies that are kept under idempotency keys.

use loci_core::limits::{KEYED_ANSWERS_BYTES_MAX, KEYED_ANSWERS_MAX};
use loci_core::{IdempotentReply, Space, Timestamp};
use loci_index::records::REPLY;

use crate::failure::{Result, conflict};
use crate::session::Session;
use crate::transaction::{Transaction, lower};
use crate::value::{digest, values};

fn key(owner: Option<&str>, operation: &str, key: &str) -> Vec<u8> {
    digest(&[owner, Some(operation), Some(key)])
}

/// Keeps a reply, in the place of one that had expired when it was made, and evicts the oldest that
/// are too many with it. Keeps nothing if a memory is gone whose text it holds.
pub(crate) async fn keep(transaction: &mut Transaction<'_>, reply: &IdempotentReply) -> Result<()> {
    transaction.find_all(&reply.memories).await?;
    for id in &reply.memories {
        let is_there = transaction.find(id).await?.is_some_and(|found| {
            found.deleted_at.is_none()
                && !found.place.is_forgotten()
                && found.expires_at.is_none_or(|at| at > reply.created_at)
        });
        if !is_there {
            return Ok(());
        }
    }
    let name = transaction.name();
    let owner = reply.owner.as_deref();
    let key = key(owner, &reply.operation, &reply.key);
    let kept = transaction
        .execute(
            &format!(
                "INSERT INTO @reply AS r (reply, bytes, {REPLY}) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
                 ON CONFLICT (space, reply) DO UPDATE SET bytes = excluded.bytes, origin = excluded.origin, \
                 request = excluded.request, answer = excluded.answer, memories = excluded.memories, \
                 created_at = excluded.created_at, expires_at = excluded.expires_at \
                 WHERE r.expires_at <= excluded.created_at"
            ),
            values![
                key.clone(),
                reply.answer.len(),
                name,
                owner,
                &reply.origin,
                &reply.operation,
                &reply.key,
                reply.request.0,
                &reply.answer,
                reply.memories.as_slice(),
                reply.created_at,
                reply.expires_at,
            ],
        )
        .await?;
    if kept == 0 {
        return Err(conflict(
            "the key of this call was used by another call first; call again",
        ));
    }
    lower(&mut transaction.row.expires_from, Some(reply.expires_at));
    transaction.queue(
        "DELETE FROM @reply_memory WHERE space = $1 AND reply = $2",
        values![name, key.clone()],
    );
    let mut memories = reply.memories.clone();
    memories.sort_unstable();
    memories.dedup();
    let rows = memories.iter().map(|id| values![name, id, key.clone()]);
    let rows = rows.collect();
    transaction.insert_rows("INSERT INTO @reply_memory (space, memory, reply)", rows, "");
    evict(transaction, owner, &key).await
}

/// Evicts the oldest replies of an owner beyond the limits, but never this one.
async fn evict(
    transaction: &mut Transaction<'_>,
    owner: Option<&str>,
    newest: &[u8],
) -> Result<()> {
    let name = transaction.name();
    let whose = "WHERE space = $1 AND owner IS NOT DISTINCT FROM $2";
    // An index has these columns, which only an equality can use.
    let whose = if owner.is_some() {
        whose.replace("IS NOT DISTINCT FROM", "=")
    } else {
        whose.replace("IS NOT DISTINCT FROM $2", "IS NULL AND $2::text IS NULL")
    };
    let sql = format!("SELECT count(*), coalesce(sum(bytes), 0)::bigint FROM @reply {whose}");
    let Some(row) = transaction.query(&sql, values![name, owner]).await?.pop() else {
        return Ok(());
    };
    let (mut replies, mut bytes): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    let exceeds = |replies: i64, bytes: i64| {
        replies > KEYED_ANSWERS_MAX as i64 || bytes > KEYED_ANSWERS_BYTES_MAX as i64
    };
    if !exceeds(replies, bytes) {
        return Ok(());
    }
    let sql = format!(
        "SELECT reply, bytes FROM @reply {whose} AND reply <> $3 ORDER BY created_at, operation, key"
    );
    let oldest = transaction
        .query(&sql, values![name, owner, newest.to_vec()])
        .await?;
    let mut evicted = Vec::new();
    for row in oldest {
        if !exceeds(replies, bytes) {
            break;
        }
        evicted.push(row.try_get::<_, Vec<u8>>(0)?);
        replies -= 1;
        bytes -= row.try_get::<_, i64>(1)?;
    }
    delete(transaction, evicted);
    Ok(())
}

/// Removes the replies with these keys.
pub(crate) fn delete(transaction: &mut Transaction<'_>, keys: Vec<Vec<u8>>) {
    for table in ["@reply", "@reply_memory"] {
        transaction.queue(
            &format!("DELETE FROM {table} WHERE space = $1 AND reply = ANY($2)"),
            values![transaction.name(), keys.clone()],
        );
    }
}

pub(crate) async fn find(
    session: &Session,
    space: &Space,
    owner: Option<&str>,
    operation: &str,
    name: &str,
    now: Timestamp,
) -> Result<Option<IdempotentReply>> {
    let sql =
        format!("SELECT {REPLY} FROM @reply WHERE space = $1 AND reply = $2 AND expires_at > $3");
    let values = values![space, key(owner, operation, name), now];
    session.record(&sql, &values).await
}
