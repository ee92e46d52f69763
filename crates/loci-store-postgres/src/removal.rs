//! Removal: soft deletes, wipes of a user's data, and sweeps of expired rows.

use loci_core::{Filter, MemoryId, Sweep, Timestamp, WipeCounts, check_texts};

use crate::daily;
use crate::failure::Result;
use crate::filter::Conditions;
use crate::memories::{delete, hide, select};
use crate::record_versions;
use crate::replies;
use crate::row::ExistingMemory;
use crate::session::Session;
use crate::transaction::{Transaction, lower};
use crate::value::values;
use crate::versions;

/// Newest rows of the change log that a trim leaves. A process that is further behind loads its
/// index again, which costs about as much as reading that many changes.
const CHANGES_KEPT: i64 = 10_000;
/// Rows that one sweep removes at most, so that the writers of the space wait only shortly.
const ROWS_MAX: usize = 500;

/// Soft-deletes the memories that match, with those made from them; returns how many matched.
pub(crate) async fn soft_delete(
    transaction: &mut Transaction<'_>,
    filter: &Filter,
    id: Option<&MemoryId>,
    now: Timestamp,
    limit: usize,
) -> Result<usize> {
    let mut conditions = Conditions::of(filter);
    conditions.sql.push_str(
        " AND NOT EXISTS (SELECT 1 FROM @note_file AS f WHERE f.space = $1 AND f.memory = m.id \
         AND coalesce(f.missing_since, 0) = 0)",
    );
    if let Some(id) = id {
        let id = conditions.bind(id);
        conditions.sql.push_str(&format!(" AND m.id = {id}"));
    }
    let limit = conditions.bind(limit);
    // In the order of tiers, which has the memory made from a message before the message: so none
    // that matches is deleted with another and not counted.
    let condition = format!("{} ORDER BY m.tier LIMIT {limit}", conditions.sql);
    let matched = select(transaction, &condition, conditions.values).await?;
    let ids: Vec<MemoryId> = matched.iter().map(|found| found.id.clone()).collect();
    let condition = "m.space = $1 AND m.source = ANY($2) AND m.deleted_at IS NULL";
    let values = values![transaction.name(), ids.as_slice()];
    let mut hidden = matched.clone();
    for made in select(transaction, condition, values).await? {
        let is_of_one = matched
            .iter()
            .any(|found| made.source.as_ref() == Some(&found.id) && made.owner == found.owner);
        if is_of_one && hidden.iter().all(|found| found.row != made.row) {
            hidden.push(made);
        }
    }
    hide(transaction, &hidden, now);
    Ok(matched.len())
}

/// Removes the data of a user.
pub(crate) async fn wipe(
    transaction: &mut Transaction<'_>,
    owner: &str,
    origin: Option<&str>,
    pseudonym: Option<&str>,
    now: Timestamp,
) -> Result<WipeCounts> {
    check_texts([
        ("owner", Some(owner)),
        ("origin", origin),
        ("pseudonym", pseudonym),
    ])?;
    let mut wiped = WipeCounts::default();
    let whose = values![transaction.name(), owner, origin];
    let of_owner = "m.space = $1 AND m.owner = $2 AND ($3::text IS NULL OR m.origin = $3)";
    let goes = "(m.visibility <> 'common' OR m.tier = 'short_term' OR m.enrichment IS NOT NULL)";
    let condition = format!("{of_owner} AND {goes}");
    let gone = select(transaction, &condition, whose.clone()).await?;
    wiped.memories = gone.len() as u64;
    delete(transaction, &gone);
    let left = select(transaction, of_owner, whose.clone()).await?;
    let set = "owner = $3, actor = NULL, program = NULL, session = NULL";
    versions::forget_programs(transaction, left.iter().map(|found| found.row).collect());
    change(transaction, left, set, pseudonym);
    if let Some(pseudonym) = pseudonym {
        let condition =
            "m.space = $1 AND m.updated_by = $2 AND ($3::text IS NULL OR m.origin = $3)";
        let rewritten = select(transaction, condition, whose.clone()).await?;
        change(transaction, rewritten, "updated_by = $3", Some(pseudonym));
        versions::leave_pseudonym(transaction, owner, origin, pseudonym);
        versions::leave_pseudonym_on_changes(transaction, owner, origin, pseudonym);
        wiped.audit_entries += leave_pseudonym(transaction, owner, origin, pseudonym).await?;
    }
    let name = transaction.name();
    for (table, removed) in [
        ("@cache_entry", &mut wiped.cache_entries),
        ("@decision", &mut wiped.decisions),
    ] {
        let sql = format!("DELETE FROM {table} WHERE space = $1 AND owner = $2");
        *removed = transaction.execute(&sql, values![name, owner]).await?;
    }
    if origin.is_none() {
        for sql in [
            "DELETE FROM @tunnel WHERE space = $1 AND owner = $2 AND NOT is_common",
            "DELETE FROM @setting WHERE space = $1 AND owner = $2",
        ] {
            transaction.queue(sql, values![name, owner]);
        }
        for sql in [
            "UPDATE @tunnel SET owner = $3 WHERE space = $1 AND owner = $2",
            "UPDATE @fact SET author = $3 WHERE space = $1 AND author = $2",
        ] {
            transaction.queue(sql, values![name, owner, pseudonym]);
        }
        record_versions::wipe(transaction, owner, pseudonym);
    }
    wiped.audit_entries += delete_calls(transaction, owner, origin).await?;
    daily::wipe(transaction, owner, origin);
    let sql = "SELECT reply FROM @reply WHERE space = $1 AND owner = $2 AND ($3::text IS NULL OR origin = $3)";
    let rows = transaction.query(sql, whose.clone()).await?;
    let keys: Result<Vec<Vec<u8>>> = rows.iter().map(|row| Ok(row.try_get(0)?)).collect();
    replies::delete(transaction, keys?);
    transaction.queue(
        "UPDATE @audit SET caller = NULL WHERE space = $1 AND caller = $2 AND ($3::text IS NULL OR dialect = $3)",
        whose,
    );
    note_wipe(transaction, owner, origin, now);
    Ok(wiped)
}

/// Records a wipe.
fn note_wipe(transaction: &mut Transaction<'_>, owner: &str, origin: Option<&str>, now: Timestamp) {
    // A change of no memory: its number comes after all that was there before the wipe, even if
    // the user had no memory.
    transaction.record_other_change();
    lower(&mut transaction.row.wiped_from, Some(now));
    transaction.queue(
        "INSERT INTO @wipe AS w (space, owner, origin, at, number) VALUES ($1, $2, $3, $4, $5) \
         ON CONFLICT (space, owner, origin) DO UPDATE SET at = greatest(w.at, excluded.at), number = excluded.number",
        values![
            transaction.name(),
            owner,
            origin,
            now,
            transaction.newest_change()
        ],
    );
}

/// Changes a name of memories, `$3`, whose revision rises.
fn change(
    transaction: &mut Transaction<'_>,
    memories: Vec<ExistingMemory>,
    set: &str,
    name: Option<&str>,
) {
    if memories.is_empty() {
        return;
    }
    let rows: Vec<i64> = memories.iter().map(|found| found.row).collect();
    transaction.queue(
        &format!(
            "UPDATE @memory SET {set}, revision = revision + 1 WHERE space = $1 AND row = ANY($2)"
        ),
        values![transaction.name(), rows, name],
    );
    for found in memories {
        let mut after = found.clone();
        after.revision += 1;
        if set.starts_with("owner") {
            after.owner = name.map(str::to_owned);
            after.place.set_reader(name, after.visibility);
        }
        transaction.record_change(found.row);
        transaction.replace(&found.id, Some(&found), Some(after));
    }
}

/// Leaves a user's calls that did something to records which are not the user's own under the
/// pseudonym; returns how many these are.
async fn leave_pseudonym(
    transaction: &mut Transaction<'_>,
    owner: &str,
    origin: Option<&str>,
    pseudonym: &str,
) -> Result<u64> {
    let name = transaction.name();
    let sql = "UPDATE @audit AS a SET \"user\" = $4, caller = NULL, query = NULL, results = NULL, message = NULL, \
        client = NULL, session = NULL, reply_tokens = NULL \
        WHERE a.space = $1 AND a.\"user\" = $2 AND ($3::text IS NULL OR a.dialect = $3) AND EXISTS (\
        SELECT 1 FROM @audit_record AS r WHERE r.space = $1 AND r.entry = a.number AND NOT r.is_own \
        AND r.verb NOT IN ('returned', 'read'))";
    let calls = transaction
        .execute(sql, values![name, owner, origin, pseudonym])
        .await?;
    let of_pseudonym = "entry IN (SELECT number FROM @audit WHERE space = $1 AND \"user\" = $2)";
    transaction.queue(
        &format!(
            "DELETE FROM @audit_record WHERE space = $1 AND {of_pseudonym} AND (is_own OR verb IN ('returned', 'read'))"
        ),
        values![name, pseudonym],
    );
    transaction.queue(
        &format!(
            "UPDATE @audit_record SET further = 0 WHERE space = $1 AND further > 0 AND {of_pseudonym}"
        ),
        values![name, pseudonym],
    );
    Ok(calls)
}

/// Removes the calls of a user; returns how many these were.
async fn delete_calls(
    transaction: &mut Transaction<'_>,
    owner: &str,
    origin: Option<&str>,
) -> Result<u64> {
    let whose = values![transaction.name(), owner, origin];
    let calls = "\"user\" = $2 AND ($3::text IS NULL OR dialect = $3)";
    transaction.queue(
        &format!(
            "DELETE FROM @audit_record WHERE space = $1 AND entry IN \
             (SELECT number FROM @audit WHERE space = $1 AND {calls})"
        ),
        whose.clone(),
    );
    let sql = format!("DELETE FROM @audit WHERE space = $1 AND {calls}");
    transaction.execute(&sql, whose).await
}

/// The rows of a table that a sweep removes.
struct DueRows {
    table: &'static str,
    /// The columns that tell a row from others.
    key: &'static str,
    /// A condition on the time, `$2`, of the table `AS t`.
    condition: &'static str,
    /// The column of the time.
    order: &'static str,
    moment: Timestamp,
}

/// Returns the kinds of rows besides memories.
fn due(sweep: &Sweep) -> [DueRows; 8] {
    let due = |table, key, condition, order, moment| DueRows {
        table,
        key,
        condition,
        order,
        moment,
    };
    let (expired, expires) = ("expires_at <= $2", "expires_at");
    [
        due("@cache_entry", "id", expired, expires, sweep.expired_at),
        due("@decision", "decision", expired, expires, sweep.expired_at),
        due("@reply", "reply", expired, expires, sweep.expired_at),
        due(
            "@audit",
            "number",
            "at < $2 AND (\"user\" IS NULL OR \"user\" !~ '^wiped-.{32}$')",
            "at",
            sweep.audited_before,
        ),
        due("@wipe", "number", "at < $2", "at", sweep.wiped_before),
        // Its moments are days.
        due(
            "@daily",
            "day, \"user\", via, client, tool, outcome",
            "day < $2",
            "day",
            Timestamp::from_microseconds(sweep.counted_before),
        ),
        due(
            "@version",
            "memory, revision",
            versions::DUE,
            "changed_at",
            sweep.changed_before,
        ),
        due(
            "@record_version",
            "kind, id, number",
            record_versions::DUE,
            "changed_at",
            sweep.changed_before,
        ),
    ]
}

/// Removes what is due in a space; returns in how many steps.
pub(crate) async fn sweep(
    transaction: &mut Transaction<'_>,
    sweep: &Sweep,
    limit: usize,
) -> Result<usize> {
    let limit = limit.min(ROWS_MAX);
    let name = transaction.name();
    let mut steps = 0;
    for (column, moment) in [
        ("expires_at", sweep.expired_at),
        ("deleted_at", sweep.deleted_until),
    ] {
        let condition = format!("m.space = $1 AND m.{column} <= $2 ORDER BY m.{column} LIMIT $3");
        let gone = select(
            transaction,
            &condition,
            values![name, moment, limit - steps],
        )
        .await?;
        delete(transaction, &gone);
        steps += gone.len();
    }
    for due in due(sweep) {
        if steps == limit {
            return Ok(steps);
        }
        let DueRows {
            table,
            key,
            condition,
            order,
            moment,
        } = due;
        // Not by IN: with row security, Citus writes one of several columns wrongly for its worker.
        let is_same = key
            .split(", ")
            .map(|column| format!("g.{column} = d.{column}"));
        let is_same = is_same.collect::<Vec<_>>().join(" AND ");
        let sql = format!(
            "DELETE FROM {table} AS d WHERE d.space = $1 AND EXISTS (SELECT 1 FROM (\
             SELECT {key} FROM {table} AS t WHERE t.space = $1 AND {condition} ORDER BY {order} LIMIT $3\
             ) AS g WHERE {is_same})"
        );
        let removed = transaction
            .execute(&sql, values![name, moment, limit - steps])
            .await?;
        steps += removed as usize;
        let (of, other) = match table {
            "@reply" => ("@reply_memory", "reply"),
            "@audit" => ("@audit_record", "entry"),
            _ => continue,
        };
        if removed > 0 {
            transaction.queue(
                &format!(
                    "DELETE FROM {of} AS o WHERE o.space = $1 AND NOT EXISTS (\
                     SELECT 1 FROM {table} AS t WHERE t.space = $1 AND t.{key} = o.{other})"
                ),
                values![name],
            );
        }
    }
    if steps < limit && trim(transaction) {
        steps += 1;
    }
    if steps == 0 {
        set_bounds(transaction).await?;
    }
    Ok(steps)
}

/// Trims the change log once it is twice as long as what is kept; returns true if it did.
fn trim(transaction: &mut Transaction<'_>) -> bool {
    let until = transaction.newest_change() - CHANGES_KEPT;
    if until < transaction.row.trimmed + CHANGES_KEPT {
        return false;
    }
    let name = transaction.name();
    transaction.queue(
        "DELETE FROM @change WHERE space = $1 AND number <= $2",
        values![name, until],
    );
    transaction.queue("DELETE FROM @writer WHERE space = $1", values![name]);
    transaction.row.trimmed = until;
    true
}

/// Sets the bounds of times to the times of the rows that are left.
pub(crate) async fn set_bounds(transaction: &mut Transaction<'_>) -> Result<()> {
    let sql = "SELECT least((SELECT min(expires_at) FROM @memory WHERE space = $1), \
        (SELECT min(expires_at) FROM @cache_entry WHERE space = $1), \
        (SELECT min(expires_at) FROM @decision WHERE space = $1), \
        (SELECT min(expires_at) FROM @reply WHERE space = $1)), \
        (SELECT min(deleted_at) FROM @memory WHERE space = $1), \
        (SELECT min(at) FROM @audit WHERE space = $1 AND (\"user\" IS NULL OR \"user\" !~ '^wiped-.{32}$')), \
        (SELECT min(at) FROM @wipe WHERE space = $1)";
    let rows = transaction.query(sql, values![transaction.name()]).await?;
    for row in rows {
        let bounds = (
            row.try_get(0)?,
            row.try_get(1)?,
            row.try_get(2)?,
            row.try_get(3)?,
        );
        let space = &mut transaction.row;
        let before = (
            space.expires_from,
            space.deleted_from,
            space.audited_from,
            space.wiped_from,
        );
        if bounds != before {
            (
                space.expires_from,
                space.deleted_from,
                space.audited_from,
                space.wiped_from,
            ) = bounds;
            transaction.keep_row();
        }
    }
    Ok(())
}

/// Returns the spaces that may have something to sweep, in order.
pub(crate) async fn spaces_to_sweep(session: &Session, sweep: &Sweep) -> Result<Vec<String>> {
    let sql = "SELECT space FROM @space AS s WHERE space <> '' AND (expires_from <= $1 OR deleted_from <= $2 \
        OR audited_from < $3 OR wiped_from < $4 OR version - trimmed >= 2 * $5::bigint \
        OR EXISTS (SELECT 1 FROM @daily AS d WHERE d.space = s.space AND d.day < $6) \
        OR EXISTS (SELECT 1 FROM @version AS v WHERE v.space = s.space AND v.changed_at < $7) \
        OR EXISTS (SELECT 1 FROM @record_version AS v WHERE v.space = s.space AND v.changed_at < $7)) ORDER BY space";
    let values = values![
        sweep.expired_at,
        sweep.deleted_until,
        sweep.audited_before,
        sweep.wiped_before,
        CHANGES_KEPT,
        sweep.counted_before,
        sweep.changed_before
    ];
    let rows = session.query(sql, &values).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

/// Returns true if a space has something to sweep.
pub(crate) async fn needs_sweep(session: &Session, space: &str, sweep: &Sweep) -> Result<bool> {
    let exists = |table: &str, condition: &str, number: usize| {
        let condition = condition.replace("$2", &format!("${number}"));
        format!("EXISTS (SELECT 1 FROM {table} AS t WHERE t.space = $1 AND {condition})")
    };
    let mut conditions = vec![
        exists("@memory", "expires_at <= $2", 2),
        exists("@memory", "deleted_at <= $2", 3),
    ];
    let mut values = values![space, sweep.expired_at, sweep.deleted_until];
    for due in due(sweep) {
        values.push(due.moment.into());
        conditions.push(exists(due.table, due.condition, values.len()));
    }
    values.push(CHANGES_KEPT.into());
    let is_long = format!("version - trimmed >= 2 * ${}::bigint", values.len());
    conditions.push(exists("@space", &is_long, 1));
    let sql = format!("SELECT {}", conditions.join(" OR "));
    let row = session.query_one(&sql, &values).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?.unwrap_or(false))
}
