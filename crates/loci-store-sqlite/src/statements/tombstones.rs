//! Statements over tombstones, and over the texts that they are about.

use loci_core::limits::TOMBSTONES_MAX;
use loci_core::{Filter, KeyedHash, MemoryId, Salt, Space, Tombstone};
use loci_index::codec::encode_names;
use loci_index::records::TOMBSTONE;
use rusqlite::types::Value;
use rusqlite::{Connection, params};

use crate::failure::{Result, conflict};
use crate::statements::change_feed::record_other_change;
use crate::statements::filter_sql::{Conditions, bound, parameters};
use crate::statements::row::read_all;

/// The columns of a tombstone.
pub(crate) fn columns() -> String {
    format!(
        "checksum IS loci_checksum(space, text, memory, salt, source, forgotten_at, is_removed), {TOMBSTONE}"
    )
}

/// The smallest salt of the space `?1` after `?2`.
pub(crate) const NEXT_SALT: &str =
    "SELECT salt FROM tombstone WHERE space = ?1 AND salt > ?2 ORDER BY salt LIMIT 1";

/// Removes the tombstones of the space `?1` beyond the `?2` newest.
pub(crate) const EVICT: &str = "DELETE FROM tombstone WHERE space = ?1 AND (text, memory) IN (
    SELECT text, memory FROM tombstone WHERE space = ?1 ORDER BY forgotten_at DESC, text DESC, memory DESC
    LIMIT -1 OFFSET ?2)";

pub(crate) fn put(connection: &Connection, space: &Space, tombstones: &[Tombstone]) -> Result<()> {
    put_at_most(connection, space, tombstones, TOMBSTONES_MAX)
}

fn put_at_most(
    connection: &Connection,
    space: &Space,
    tombstones: &[Tombstone],
    most: usize,
) -> Result<()> {
    insert(connection, space, tombstones)?;
    connection
        .prepare_cached(EVICT)?
        .execute(params![space.as_str(), bound(most)])?;
    record_other_change(connection)
}

fn insert(connection: &Connection, space: &Space, tombstones: &[Tombstone]) -> Result<()> {
    let sql = format!(
        "INSERT OR REPLACE INTO tombstone (space, {TOMBSTONE}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    for tombstone in tombstones {
        let Tombstone {
            salt,
            text,
            memory,
            source,
            forgotten_at,
            is_removed,
        } = tombstone;
        statement.execute(params![
            space.as_str(),
            text,
            memory,
            salt,
            source,
            forgotten_at.microseconds(),
            is_removed,
        ])?;
    }
    Ok(())
}

/// Stores a tombstone of an archive. The next one that is put evicts what is too much, because a
/// count for each record of an archive would cost too much.
pub(crate) fn import(connection: &Connection, space: &Space, tombstone: &Tombstone) -> Result<()> {
    let sql = "SELECT 1 FROM tombstone WHERE space = ?1 AND text = ?2 AND memory = ?3";
    let key = params![space.as_str(), tombstone.text, tombstone.memory];
    if connection.prepare_cached(sql)?.exists(key)? {
        return Err(conflict("there is this tombstone already; it stays"));
    }
    insert(connection, space, std::slice::from_ref(tombstone))?;
    record_other_change(connection)
}

pub(crate) fn delete(connection: &Connection, space: &Space, texts: &[KeyedHash]) -> Result<()> {
    let sql = "DELETE FROM tombstone WHERE space = ?1 AND text = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    for text in texts {
        statement.execute(params![space.as_str(), text])?;
    }
    record_other_change(connection)
}

/// The different salts of a space, in order.
pub(crate) fn salts(connection: &Connection, space: &Space) -> Result<Vec<Salt>> {
    let mut statement = connection.prepare_cached(NEXT_SALT)?;
    let mut salts: Vec<Salt> = Vec::new();
    loop {
        // Nothing is before all salts but the empty one.
        let last = salts.last().map_or(&[][..], |salt| &salt[..]);
        let mut rows = statement.query(params![space.as_str(), last])?;
        let Some(row) = rows.next()? else {
            return Ok(salts);
        };
        salts.push(row.get(0)?);
    }
}

/// Returns the tombstones with one of these hashes of texts, in the order of their keys.
pub(crate) fn of_texts(
    connection: &Connection,
    space: &Space,
    texts: &[KeyedHash],
) -> Result<Vec<Tombstone>> {
    let mut texts: Vec<&KeyedHash> = texts.iter().collect();
    texts.sort_unstable();
    texts.dedup();
    let sql = of_text_sql();
    let mut found = Vec::new();
    for text in texts {
        found.extend(read_all::<Tombstone>(
            connection,
            &sql,
            params![space.as_str(), text],
        )?);
    }
    Ok(found)
}

pub(crate) fn of_text_sql() -> String {
    format!(
        "SELECT {} FROM tombstone WHERE space = ?1 AND text = ?2 ORDER BY memory",
        columns()
    )
}

/// A page in the order of their keys.
pub(crate) fn page(
    connection: &Connection,
    space: &Space,
    after: Option<&Tombstone>,
    limit: usize,
) -> Result<Vec<Tombstone>> {
    let (text, memory) = after.map_or((&[][..], &[][..]), |after| (&after.text, &after.memory));
    let values = params![space.as_str(), text, memory, bound(limit)];
    read_all(connection, &page_sql(), values)
}

pub(crate) fn page_sql() -> String {
    format!(
        "SELECT {} FROM tombstone WHERE space = ?1 AND (text, memory) > (?2, ?3)
         ORDER BY text, memory LIMIT ?4",
        columns()
    )
}

/// The ids of the memories that pass the filter and have one of these texts, in order.
pub(crate) fn ids_of_texts(
    connection: &Connection,
    filter: &Filter,
    texts: &[&str],
) -> Result<Vec<MemoryId>> {
    let Conditions {
        sql, mut values, ..
    } = Conditions::of(filter);
    let sql = format!(
        "SELECT m.id FROM memory AS m JOIN content AS c ON c.memory = m.row
        WHERE c.text IN (SELECT value FROM json_each(:texts)) AND {sql} ORDER BY m.id"
    );
    let texts: Vec<String> = texts.iter().map(ToString::to_string).collect();
    values.push((":texts", Value::from(encode_names(&texts))));
    let mut statement = connection.prepare_cached(&sql)?;
    let ids = statement.query_map(&*parameters(&values), |row| {
        Ok(MemoryId::new(row.get::<_, String>(0)?))
    })?;
    Ok(ids.collect::<rusqlite::Result<_>>()?)
}

#[cfg(test)]
mod tests {
    use loci_core::Timestamp;

    use super::*;
    use crate::integrity::checksum;
    use crate::opening::schema;

    #[test]
    fn the_oldest_make_room() {
        let mut connection = Connection::open_in_memory().unwrap();
        checksum::register(&connection).unwrap();
        schema::migrate(&mut connection, &schema::migrations().unwrap()).unwrap();
        let space = Space::default();
        let buried = |byte: u8, at: i64| Tombstone {
            salt: [1; 16],
            text: [byte; 32],
            memory: [2; 32],
            source: None,
            forgotten_at: Timestamp::from_microseconds(at),
            is_removed: true,
        };
        let graves = [buried(1, 7), buried(2, 5), buried(3, 6)];
        put_at_most(&connection, &space, &graves, 3).unwrap();
        assert_eq!(page(&connection, &space, None, 9).unwrap(), graves);
        put_at_most(&connection, &space, &[buried(4, 8)], 2).unwrap();
        let left = page(&connection, &space, None, 9).unwrap();
        assert_eq!(left, [buried(1, 7), buried(4, 8)]);
    }
}
