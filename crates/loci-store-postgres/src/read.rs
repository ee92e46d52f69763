//! Reads that need no index: by id, by filter, counts.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::ops::Range;

use loci_core::{
    EnrichmentStatus, FilingOrder, Filter, Location, LocationCount, Memory, MemoryId, Page,
    SoftDeleted, SortKey, Sorting, Space, StatusCount, StoreSize, Tier, Timestamp,
};
use loci_index::codec::{damaged, decode_attributes};
use loci_index::records::ReadColumns;
use tokio_postgres::Row;

use crate::failure::Result;
use crate::filter::Conditions;
use crate::row::{WHOLE_COLUMNS, WHOLE_TABLES, read_numbered, read_whole};
use crate::session::{Session, Statement};
use crate::value::{Columns, digest, values};

pub(crate) async fn get_all(
    session: &Session,
    filter: &Filter,
    ids: &[MemoryId],
) -> Result<Vec<Memory>> {
    let (sql, values) = by_id_statement(filter, ids);
    let rows = session.query(&sql, &values).await?;
    Ok(in_order(by_id(&rows)?, ids))
}

/// Returns the statement that reads the memories with these ids, for [`by_id`].
pub(crate) fn by_id_statement(filter: &Filter, ids: &[MemoryId]) -> Statement {
    let mut conditions = Conditions::of(filter);
    let wanted = conditions.bind(ids);
    whole_statement(conditions, &format!("m.id = ANY({wanted})"))
}

/// Returns the statement that reads the memories of the first `limit` changes after one, for
/// [`by_id`].
pub(crate) fn changed_statement(filter: &Filter, after: i64, limit: i64) -> Statement {
    let mut conditions = Conditions::of(filter);
    let (after, limit) = (conditions.bind(after), conditions.bind(limit));
    whole_statement(
        conditions,
        &format!(
            "m.row = ANY(ARRAY(SELECT memory FROM @change \
             WHERE space = $1 AND number > {after} ORDER BY number LIMIT {limit}))"
        ),
    )
}

fn whole_statement(conditions: Conditions, these: &str) -> Statement {
    let sql = format!(
        "SELECT {WHOLE_COLUMNS}, ({}) FROM {WHOLE_TABLES} WHERE {} AND {these}",
        conditions.successor, conditions.sql
    );
    (sql, conditions.values)
}

/// Returns the memories of these rows by their ids.
pub(crate) fn by_id(rows: &[Row]) -> Result<HashMap<MemoryId, Memory>> {
    let memories = rows.iter().map(read_whole);
    memories
        .map(|memory| memory.map(|memory| (memory.id.clone(), memory)))
        .collect()
}

pub(crate) async fn locations_of(
    session: &Session,
    filter: &Filter,
    ids: &[MemoryId],
) -> Result<Vec<(MemoryId, Location)>> {
    let mut conditions = Conditions::of(filter);
    let wanted = conditions.bind(ids);
    let sql = format!(
        "SELECT m.id, m.collection, m.section FROM @memory AS m WHERE {} AND m.id = ANY({wanted})",
        conditions.sql
    );
    let mut by_id = HashMap::new();
    for row in session.query(&sql, &conditions.values).await? {
        let mut columns = Columns::of(&row);
        let id = columns.id()?;
        let location = Location {
            collection: columns.take()?,
            section: columns.take()?,
        };
        by_id.insert(id.clone(), (id, location));
    }
    Ok(in_order(by_id, ids))
}

/// Returns what was found, in the order in which it was asked for, each as often.
pub(crate) fn in_order<K: Eq + Hash, T: Clone>(found: HashMap<K, T>, asked: &[K]) -> Vec<T> {
    asked
        .iter()
        .filter_map(|key| found.get(key).cloned())
        .collect()
}

async fn read_all(session: &Session, sql: &str, conditions: &Conditions) -> Result<Vec<Memory>> {
    let rows = session.query(sql, &conditions.values).await?;
    rows.iter().map(read_whole).collect()
}

pub(crate) async fn ids_with(
    session: &Session,
    filter: &Filter,
    part: &str,
    limit: usize,
) -> Result<Vec<MemoryId>> {
    let mut conditions = Conditions::of(filter);
    let (part, limit) = (conditions.bind(part), conditions.bind(limit));
    let sql = format!(
        "SELECT m.id FROM @memory AS m WHERE {} AND {} ORDER BY m.id LIMIT {limit}",
        conditions.sql,
        has_part(&part)
    );
    let rows = session.query(&sql, &conditions.values).await?;
    ids(&rows)
}

/// Returns the condition that an id starts or ends with the part in this parameter. Compared as
/// bytes, not by LIKE: an id may hold its wildcards.
fn has_part(part: &str) -> String {
    format!("(starts_with(m.id, {part}) OR right(m.id, length({part})) = {part})")
}

fn ids(rows: &[Row]) -> Result<Vec<MemoryId>> {
    rows.iter()
        .map(|row| Ok(MemoryId::new(row.try_get::<_, String>(0)?)))
        .collect()
}

pub(crate) async fn attribute_values(
    session: &Session,
    filter: &Filter,
    name: &str,
) -> Result<Vec<(String, u64)>> {
    let mut conditions = Conditions::of(filter);
    // Few memories have the attribute, and only those are decoded.
    let quoted = conditions.bind(loci_index::codec::encode_name(name));
    let sql = format!(
        "SELECT m.attributes FROM @memory AS m WHERE {} AND strpos(m.attributes, {quoted}) > 0",
        conditions.sql
    );
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for row in session.query(&sql, &conditions.values).await? {
        if let Some(value) = decode_attributes(row.try_get(0)?)?.remove(name) {
            *counts.entry(value).or_default() += 1;
        }
    }
    Ok(counts.into_iter().collect())
}

pub(crate) async fn list(session: &Session, filter: &Filter, page: Page) -> Result<Vec<Memory>> {
    read_page(session, filter, page, "m.updated_at DESC, m.id").await
}

pub(crate) async fn list_by_insertion(
    session: &Session,
    filter: &Filter,
    order: FilingOrder,
    page: Page,
) -> Result<Vec<Memory>> {
    let order = match order {
        FilingOrder::FirstFirst => "m.row",
        FilingOrder::LastFirst => "m.row DESC",
    };
    read_page(session, filter, page, order).await
}

/// Returns a page of what matches, sorted, after a look at all of it. The server knows the length of a
/// text without reading it.
pub(crate) async fn list_sorted(
    session: &Session,
    filter: &Filter,
    sorting: Sorting,
    page: Page,
) -> Result<Vec<Memory>> {
    let [first, second] = match sorting.key {
        SortKey::Uses => ["coalesce(a.count, 0)", "0"],
        SortKey::LastUse => ["a.last IS NOT NULL", "coalesce(a.last, 0)"],
        SortKey::Size => ["octet_length(m.content)", "0"],
        SortKey::Kind => ["m.kind", "0"],
        SortKey::Program => ["coalesce(m.program, '')", "0"],
        SortKey::Update => ["m.updated_at", "0"],
    };
    let direction = if sorting.is_descending { " DESC" } else { "" };
    let mut conditions = Conditions::of(filter);
    let (limit, offset) = (conditions.bind(page.limit), conditions.bind(page.offset));
    let sql = format!(
        "SELECT {WHOLE_COLUMNS}, ({}) FROM (\
             SELECT m.row, {first} AS major, {second} AS minor FROM {WHOLE_TABLES} WHERE {} \
             ORDER BY 2{direction}, 3{direction}, m.row DESC LIMIT {limit} OFFSET {offset}\
         ) AS page JOIN @memory AS m ON m.space = $1 AND m.row = page.row \
         LEFT JOIN @access AS a ON a.space = $1 AND a.memory = m.row \
         ORDER BY page.major{direction}, page.minor{direction}, page.row DESC",
        conditions.successor, conditions.sql,
    );
    read_all(session, &sql, &conditions).await
}

pub(crate) async fn list_beyond(
    session: &Session,
    filter: &Filter,
    order: FilingOrder,
    beyond: Option<u64>,
    limit: usize,
) -> Result<Vec<(u64, Memory)>> {
    let (comparison, order) = match order {
        FilingOrder::FirstFirst => (">", "m.row"),
        FilingOrder::LastFirst => ("<", "m.row DESC"),
    };
    let mut conditions = Conditions::of(filter);
    let beyond = beyond.map(|row| {
        let row = conditions.bind(i64::try_from(row).unwrap_or(i64::MAX));
        format!(" AND m.row {comparison} {row}")
    });
    let limit = conditions.bind(limit);
    let sql = format!(
        "SELECT {WHOLE_COLUMNS}, ({}), m.row FROM (SELECT m.* FROM @memory AS m WHERE {}{} ORDER BY {order} LIMIT {limit}) AS m \
         LEFT JOIN @access AS a ON a.space = $1 AND a.memory = m.row ORDER BY {order}",
        conditions.successor,
        conditions.sql,
        beyond.unwrap_or_default(),
    );
    let rows = session.query(&sql, &conditions.values).await?;
    rows.iter().map(read_numbered).collect()
}

/// Returns a page of what matches. Only what is on it is joined.
async fn read_page(
    session: &Session,
    filter: &Filter,
    page: Page,
    order: &str,
) -> Result<Vec<Memory>> {
    let mut conditions = Conditions::of(filter);
    let (limit, offset) = (conditions.bind(page.limit), conditions.bind(page.offset));
    let sql = format!(
        "SELECT {WHOLE_COLUMNS}, ({}) FROM {} LEFT JOIN @access AS a ON a.space = $1 AND a.memory = m.row \
         ORDER BY {order}",
        conditions.successor,
        format_args!(
            "(SELECT m.* FROM @memory AS m WHERE {} ORDER BY {order} LIMIT {limit} OFFSET {offset}) AS m",
            conditions.sql
        ),
    );
    read_all(session, &sql, &conditions).await
}

/// Returns the memories that were soft-deleted at that time or later, the last ones first.
pub(crate) async fn soft_deleted(
    session: &Session,
    filter: &Filter,
    part: Option<&str>,
    deleted_from: Timestamp,
    page: Page,
) -> Result<Vec<SoftDeleted>> {
    let mut conditions = Conditions::of_deleted(filter);
    let deleted_from = conditions.bind(deleted_from);
    let (limit, offset) = (conditions.bind(page.limit), conditions.bind(page.offset));
    let of_part = part.map(|part| format!(" AND {}", has_part(&conditions.bind(part))));
    let sql = format!(
        "SELECT {WHOLE_COLUMNS}, ({}), m.deleted_at FROM {WHOLE_TABLES} \
         WHERE {} AND m.deleted_at >= {deleted_from}{} \
         ORDER BY m.deleted_at DESC, m.id LIMIT {limit} OFFSET {offset}",
        conditions.successor,
        conditions.sql,
        of_part.unwrap_or_default()
    );
    let rows = session.query(&sql, &conditions.values).await?;
    rows.iter()
        .map(|row| {
            Ok(SoftDeleted {
                memory: read_whole(row)?,
                deleted_at: Timestamp::from_microseconds(row.try_get("deleted_at")?),
            })
        })
        .collect()
}

pub(crate) async fn ids_of_texts(
    session: &Session,
    filter: &Filter,
    texts: &[&str],
) -> Result<Vec<MemoryId>> {
    let mut conditions = Conditions::of(filter);
    let texts: Vec<String> = texts.iter().map(ToString::to_string).collect();
    let texts = conditions.bind(texts);
    let sql = format!(
        "SELECT m.id FROM @memory AS m WHERE {} AND m.content = ANY({texts}) ORDER BY m.id",
        conditions.sql
    );
    let rows = session.query(&sql, &conditions.values).await?;
    ids(&rows)
}

pub(crate) async fn revisions(
    session: &Session,
    filter: &Filter,
    limit: usize,
) -> Result<Vec<(MemoryId, u64)>> {
    let mut conditions = Conditions::of(filter);
    let limit = conditions.bind(limit);
    let sql = format!(
        "SELECT m.id, m.revision FROM @memory AS m WHERE {} ORDER BY m.updated_at DESC, m.id LIMIT {limit}",
        conditions.sql
    );
    let rows = session.query(&sql, &conditions.values).await?;
    rows.iter()
        .map(|row| {
            let mut columns = Columns::of(row);
            Ok((columns.id()?, columns.number()?))
        })
        .collect()
}

/// Returns the ids of an owner's memories that were made from one of these.
pub(crate) async fn made_from(
    session: &Session,
    space: &Space,
    owner: &str,
    sources: &[MemoryId],
) -> Result<Vec<MemoryId>> {
    let sql = "SELECT id FROM @memory WHERE space = $1 AND source = ANY($3) AND owner = $2 AND deleted_at IS NULL \
        ORDER BY id";
    ids(&session.query(sql, &values![space, owner, sources]).await?)
}

pub(crate) async fn thread_end(
    session: &Session,
    space: &Space,
    owner: &str,
    thread: &str,
) -> Result<u64> {
    let sql = "SELECT coalesce(max(position) + 1, 0) FROM @memory WHERE space = $1 AND thread_key = $3 AND owner = $2";
    let values = values![space, owner, digest(&[Some(thread)])];
    let row = session.query_one(sql, &values).await?;
    row.map_or(Ok(0), |row| Columns::of(&row).number())
}

pub(crate) async fn accesses(
    session: &Session,
    space: &Space,
    ids: &[MemoryId],
) -> Result<Vec<u64>> {
    let sql = "SELECT m.id, a.count FROM @memory AS m JOIN @access AS a ON a.space = $1 AND a.memory = m.row \
        WHERE m.space = $1 AND m.id = ANY($2)";
    let mut counts = HashMap::new();
    for row in session.query(sql, &values![space, ids]).await? {
        let mut columns = Columns::of(&row);
        counts.insert(columns.id()?, columns.number()?);
    }
    Ok(ids
        .iter()
        .map(|id| counts.get(id).copied().unwrap_or(0))
        .collect())
}

pub(crate) async fn count_by_status(
    session: &Session,
    space: &Space,
    owner: &str,
    now: Timestamp,
) -> Result<Vec<StatusCount>> {
    let sql = "SELECT tier, enrichment, count(*) FROM @memory WHERE space = $1 AND owner = $2 \
        AND (tier = 'short_term' OR (tier = 'long_term' AND enrichment IS NOT NULL)) \
        AND (expires_at IS NULL OR expires_at > $3) AND deleted_at IS NULL AND forgotten_at IS NULL \
        GROUP BY tier, enrichment";
    let mut counts = Vec::new();
    for row in session.query(sql, &values![space, owner, now]).await? {
        let mut columns = Columns::of(&row);
        counts.push(StatusCount {
            tier: columns.named(Tier::from_name)?,
            enrichment: columns
                .take::<Option<&str>>()?
                .map(|name| EnrichmentStatus::from_name(name).ok_or_else(damaged))
                .transpose()?,
            memories: columns.number()?,
        });
    }
    counts.sort_unstable();
    Ok(counts)
}

/// Counts by the counts that the store keeps, where the filter asks for nothing else.
pub(crate) async fn count_by_location(
    session: &Session,
    filter: &Filter,
) -> Result<Vec<LocationCount>> {
    if !filter.asks_for_places_only() {
        return count_uncached(session, filter).await;
    }
    let conditions = Conditions::of(filter);
    let sql = format!(
        "SELECT collection, section, kind, sum(memories)::bigint FROM (\
             SELECT m.collection, m.section, m.kind, m.memories FROM (\
                 SELECT *, NULL::bigint AS expires_at, NULL::bigint AS deleted_at, \
                     CASE WHEN is_forgotten THEN 0 END AS forgotten_at FROM @place_count WHERE space = $1\
             ) AS m WHERE {0} \
             UNION ALL \
             SELECT m.collection, m.section, m.kind, 1 FROM @memory AS m WHERE m.expires_at > $2 AND {0}\
         ) AS c GROUP BY collection, section, kind ORDER BY {ORDER}",
        conditions.sql
    );
    read_counts(session, &sql, &conditions).await
}

/// Counts what was last returned at that time or later.
pub(crate) async fn count_used(
    session: &Session,
    filter: &Filter,
    since: Timestamp,
) -> Result<Vec<LocationCount>> {
    let mut conditions = Conditions::of(filter);
    let since = conditions.bind(since);
    let sql = format!(
        "SELECT collection, section, kind, count(*) FROM {WHOLE_TABLES} WHERE a.last >= {since} AND {} \
         GROUP BY collection, section, kind ORDER BY {ORDER}",
        conditions.sql
    );
    read_counts(session, &sql, &conditions).await
}

const ORDER: &str = "collection NULLS FIRST, section, kind";

/// Counts by a look at every memory.
pub(crate) async fn count_uncached(
    session: &Session,
    filter: &Filter,
) -> Result<Vec<LocationCount>> {
    let conditions = Conditions::of(filter);
    let sql = format!(
        "SELECT collection, section, kind, count(*) FROM @memory AS m WHERE {} \
         GROUP BY collection, section, kind ORDER BY {ORDER}",
        conditions.sql
    );
    read_counts(session, &sql, &conditions).await
}

async fn read_counts(
    session: &Session,
    sql: &str,
    conditions: &Conditions,
) -> Result<Vec<LocationCount>> {
    let rows = session.query(sql, &conditions.values).await?;
    rows.iter()
        .map(|row| {
            let mut columns = Columns::of(row);
            Ok(LocationCount {
                collection: columns.take()?,
                section: columns.take()?,
                kind: columns.take()?,
                memories: columns.number()?,
            })
        })
        .collect()
}

pub(crate) async fn passage_range(
    session: &Session,
    space: &Space,
    id: &MemoryId,
    passage: u32,
) -> Result<Option<Range<usize>>> {
    let sql = "SELECT p.first_byte, p.end_byte FROM @memory AS m \
        JOIN @passage AS p ON p.space = $1 AND p.memory = m.row AND p.position = $3 \
        WHERE m.space = $1 AND m.id = $2 AND m.deleted_at IS NULL";
    let values = values![space, id, i64::from(passage)];
    let Some(row) = session.query_one(sql, &values).await? else {
        return Ok(None);
    };
    let mut columns = Columns::of(&row);
    let mut byte =
        || -> Result<usize> { Ok(usize::try_from(columns.number()?).unwrap_or(usize::MAX)) };
    Ok(Some(byte()?..byte()?))
}

/// Returns all spaces, in order.
pub(crate) async fn spaces(session: &Session) -> Result<Vec<Space>> {
    let sql = "SELECT space FROM @space WHERE space <> '' ORDER BY space";
    let rows = session.query(sql, &[]).await?;
    rows.iter().map(|row| Columns::of(row).space()).collect()
}

pub(crate) async fn version(session: &Session, space: &Space) -> Result<u64> {
    let sql = "SELECT version FROM @space WHERE space = $1";
    let row = session.query_one(sql, &values![space]).await?;
    row.map_or(Ok(0), |row| Columns::of(&row).number())
}

pub(crate) async fn secret(session: &Session) -> Result<[u8; 32]> {
    let sql = "SELECT secret FROM @installation WHERE space = ''";
    let row = session.query_one(sql, &[]).await?;
    let row = row.ok_or_else(damaged)?;
    Columns::of(&row).array()
}

/// Returns the size of the store, over all spaces.
pub(crate) async fn size(session: &Session, schema: &str) -> Result<StoreSize> {
    let sql = "SELECT (SELECT count(*) FROM @memory), (SELECT count(*) FROM @passage)";
    let Some(row) = session.query_one(sql, &values![]).await? else {
        return Ok(StoreSize::default());
    };
    let mut columns = Columns::of(&row);
    Ok(StoreSize {
        memories: columns.number()?,
        passages: columns.number()?,
        disk_bytes: disk_bytes(session, schema).await?,
        ..StoreSize::default()
    })
}

pub(crate) async fn disk_bytes(session: &Session, schema: &str) -> Result<u64> {
    // Of a distributed table, this server has only the definition.
    let size = if session.is_distributed() {
        "CASE WHEN c.oid IN (SELECT logicalrelid FROM pg_dist_partition) \
            THEN citus_total_relation_size(c.oid) ELSE pg_total_relation_size(c.oid) END"
    } else {
        "pg_total_relation_size(c.oid)"
    };
    let sql = format!(
        "SELECT coalesce(sum({size}), 0)::bigint FROM pg_class AS c \
         JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r'"
    );
    match session.query_one(&sql, &values![schema]).await? {
        Some(row) => Columns::of(&row).number(),
        None => Ok(0),
    }
}
