//! The forms that the rows of our tables have, by which a record is recognized as a row of one.

use std::collections::BTreeSet;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, params};

use super::dbdata::PageRecord;
use crate::failure::{Result, damaged};
use crate::integrity::checksum;

/// The forms of all tables whose rows carry checksums.
#[derive(Debug)]
pub(crate) struct RowFormats(Vec<RowFormat>);

/// The form of the rows of one table.
#[derive(Debug)]
pub(crate) struct RowFormat {
    pub(crate) name: String,
    /// True if its rows have numbers; else its rows are in the pages of an index.
    pub(crate) has_row_numbers: bool,
    /// In the order of the record.
    columns: Vec<Column>,
    /// The values that the checksum covers.
    summed: Vec<ChecksumInput>,
    /// The columns that rows from before they were added lack, in their order, with the schema that
    /// added each and what it is for those.
    added: Vec<(u8, usize, ValueRef<'static>)>,
}

#[derive(Debug)]
struct Column {
    name: String,
    kind: String,
    may_be_null: bool,
    /// True if it is the number of the row, in whose place the record has nothing.
    is_row_number: bool,
    is_generated: bool,
}

#[derive(Debug)]
enum ChecksumInput {
    Column(usize),
    Text(String),
}

/// A row whose checksum holds.
#[derive(Debug)]
pub(crate) struct Row<'a> {
    pub(crate) format: &'a RowFormat,
    /// In the order of the table's columns.
    pub(crate) values: Vec<ValueRef<'a>>,
}

const CHECKSUM: &str = "checksum";
/// The columns that a schema after the first with checksums added to a table, by the number of the
/// schema, and what they are for rows from before.
const ADDED: [(u8, &str, &str, ValueRef<'static>); 20] = [
    (8, "keyed_answer", "memories", ValueRef::Text(b"[]")),
    (9, "memory", "updated_by", ValueRef::Null),
    (9, "memory", "by_admin", ValueRef::Integer(0)),
    (11, "source_file", "machine", ValueRef::Text(b"")),
    (12, "audit", "client", ValueRef::Null),
    (12, "audit", "session", ValueRef::Null),
    (12, "audit", "reply_tokens", ValueRef::Null),
    (15, "fact", "author", ValueRef::Null),
    (19, "memory", "said_by", ValueRef::Null),
    (19, "memory", "program", ValueRef::Null),
    (19, "memory", "session", ValueRef::Null),
    (18, "token", "client_id", ValueRef::Null),
    (18, "token", "client", ValueRef::Null),
    (18, "token", "resource", ValueRef::Null),
    (18, "token", "parent", ValueRef::Null),
    (18, "token", "family", ValueRef::Null),
    (18, "token", "secret", ValueRef::Null),
    (18, "token", "renewable_until", ValueRef::Null),
    (18, "token", "redirect_uri", ValueRef::Null),
    (18, "token", "challenge", ValueRef::Null),
];

impl RowFormats {
    /// Returns the row formats of the schema that this connection has.
    pub(crate) fn of(connection: &Connection) -> Result<Self> {
        let sql = "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql LIKE '%loci_checksum(%'";
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        let mut tables = Vec::new();
        while let Some(row) = rows.next()? {
            tables.push(RowFormat::of(
                connection,
                row.get(0)?,
                &row.get::<_, String>(1)?,
            )?);
        }
        Ok(RowFormats(tables))
    }

    pub(crate) fn find(&self, name: &str) -> Option<&RowFormat> {
        self.0.iter().find(|table| table.name == name)
    }

    /// The row that a record is, if it is one of these tables and its checksum holds.
    pub(crate) fn row<'a>(&'a self, record: &'a PageRecord) -> Option<Row<'a>> {
        let values: Vec<_> = record.values.iter().map(ValueRef::from).collect();
        self.0
            .iter()
            .find_map(|table| table.row(record.row, &values))
    }
}

impl RowFormat {
    fn of(connection: &Connection, name: String, sql: &str) -> Result<Self> {
        let has_row_numbers = !sql.contains("WITHOUT ROWID");
        // A virtual generated column (2) is not in the record. A key comes first where rows have no
        // numbers; our tables name its columns first, in its order.
        let query = "SELECT name, type, \"notnull\", pk, hidden, (SELECT count(*) FROM pragma_table_xinfo(?1) WHERE pk)
            FROM pragma_table_xinfo(?1) WHERE hidden <> 2 ORDER BY cid";
        let mut statement = connection.prepare_cached(query)?;
        let columns = statement.query_map(params![name], |row| {
            let (kind, is_key): (String, bool) = (row.get(1)?, row.get(3)?);
            let is_row_number =
                has_row_numbers && is_key && kind == "INTEGER" && row.get::<_, i64>(5)? == 1;
            Ok(Column {
                name: row.get(0)?,
                may_be_null: !row.get::<_, bool>(2)?
                    && (!is_key || has_row_numbers && !is_row_number),
                kind,
                is_row_number,
                is_generated: row.get::<_, i64>(4)? != 0,
            })
        })?;
        let columns = columns.collect::<rusqlite::Result<Vec<_>>>()?;
        let list = sql
            .split_once("loci_checksum(")
            .and_then(|(_, rest)| rest.split_once(')'))
            .ok_or_else(damaged)?
            .0;
        let summed =
            list.split(',')
                .map(str::trim)
                .map(|argument| match argument.strip_prefix('\'') {
                    Some(text) => Some(ChecksumInput::Text(text.trim_end_matches('\'').to_owned())),
                    None => columns
                        .iter()
                        .position(|column| column.name == argument)
                        .map(ChecksumInput::Column),
                });
        let summed = summed.collect::<Option<_>>().ok_or_else(damaged)?;
        let added = columns.iter().enumerate().filter_map(|(place, column)| {
            let added = ADDED
                .iter()
                .find(|added| (added.1, added.2) == (name.as_str(), column.name.as_str()))?;
            Some((added.0, place, added.3))
        });
        let added = added.collect();
        Ok(RowFormat {
            name,
            has_row_numbers,
            columns,
            summed,
            added,
        })
    }

    /// The statement that gives the table a row, unless it has one with this key.
    pub(crate) fn insertion(&self) -> String {
        let written = self.columns.iter().filter(|column| !column.is_generated);
        let names: Vec<_> = written.map(|column| column.name.as_str()).collect();
        let (names, marks) = (names.join(", "), vec!["?"; names.len()].join(", "));
        format!(
            "INSERT OR IGNORE INTO {} ({names}) VALUES ({marks})",
            self.name
        )
    }

    fn row<'a>(&'a self, number: Option<i64>, values: &[ValueRef<'a>]) -> Option<Row<'a>> {
        if number.is_some() != self.has_row_numbers {
            return None;
        }
        let lacking: BTreeSet<_> = self.added.iter().map(|(schema, ..)| *schema).collect();
        for schema in lacking {
            // A row from before that schema has none of what came later either.
            let added = self.added.iter().filter(|added| added.0 >= schema);
            let added: Vec<_> = added.map(|(_, place, value)| (*place, *value)).collect();
            if values.len() + added.len() == self.columns.len() {
                let mut whole = values.to_vec();
                for (place, value) in &added {
                    whole.insert(*place, *value);
                }
                return self.whole_row(number, &whole, &added);
            }
        }
        self.whole_row(number, values, &[])
    }

    /// The row with these values, but one that its checksum is not of.
    fn whole_row<'a>(
        &'a self,
        number: Option<i64>,
        values: &[ValueRef<'a>],
        added: &[(usize, ValueRef<'static>)],
    ) -> Option<Row<'a>> {
        if values.len() != self.columns.len() {
            return None;
        }
        let values = self
            .columns
            .iter()
            .zip(values)
            .map(|(column, value)| column.value(*value, number));
        let values = values.collect::<Option<Vec<_>>>()?;
        let is_added = |column: &usize| added.iter().any(|(place, _)| place == column);
        let is_summed = |summed: &&ChecksumInput| !matches!(summed, ChecksumInput::Column(column) if is_added(column));
        let summed = self
            .summed
            .iter()
            .filter(is_summed)
            .map(|summed| match summed {
                ChecksumInput::Column(column) => values.get(*column).copied(),
                ChecksumInput::Text(text) => Some(ValueRef::Text(text.as_bytes())),
            });
        let sum = checksum::of(summed.collect::<Option<Vec<_>>>()?.into_iter());
        let row = Row {
            format: self,
            values,
        };
        (row.number(CHECKSUM) == Some(sum)).then_some(row)
    }
}

impl Column {
    /// The value that the record's value stands for, if it is one for this column.
    fn value<'a>(&self, value: ValueRef<'a>, row: Option<i64>) -> Option<ValueRef<'a>> {
        match (self.kind.as_str(), value) {
            (_, ValueRef::Null) if self.is_row_number => row.map(ValueRef::Integer),
            (_, ValueRef::Null) => self.may_be_null.then_some(ValueRef::Null),
            // A fraction that is whole may be kept as a whole number.
            ("REAL", ValueRef::Integer(number)) => Some(ValueRef::Real(number as f64)),
            ("INTEGER", ValueRef::Integer(_)) if !self.is_row_number => Some(value),
            ("REAL", ValueRef::Real(_)) | ("BLOB", ValueRef::Blob(_)) | ("ANY", _) => Some(value),
            ("TEXT", ValueRef::Text(bytes)) => std::str::from_utf8(bytes).is_ok().then_some(value),
            _ => None,
        }
    }
}

impl<'a> Row<'a> {
    /// The whole number in that column, if there is one.
    pub(crate) fn number(&self, column: &str) -> Option<i64> {
        let place = self
            .format
            .columns
            .iter()
            .position(|other| other.name == column)?;
        self.values.get(place)?.as_i64().ok()
    }

    /// Returns the values that the [insertion](RowFormat::insertion) of the row needs, in its
    /// order.
    pub(crate) fn written(&self) -> impl Iterator<Item = ValueRef<'a>> {
        let pairs = self.format.columns.iter().zip(&self.values);
        pairs
            .filter(|(column, _)| !column.is_generated)
            .map(|(_, value)| *value)
    }

    /// By what is found newer of two with one key.
    pub(crate) fn age(&self) -> i64 {
        ["revision", "updated_at", "created_at"]
            .iter()
            .find_map(|column| self.number(column))
            .unwrap_or(0)
    }
}

#[cfg(test)]
impl RowFormats {
    /// That of any two tables whose columns may hold the same values, the checksums differ.
    pub(crate) fn assert_rows_are_told_apart(&self) {
        let may_be = |a: &Column, b: &Column| {
            a.is_row_number == b.is_row_number
                && (a.kind == b.kind || [&a.kind, &b.kind].contains(&&"ANY".to_owned()))
        };
        let texts = |table: &RowFormat| -> Vec<String> {
            let text = |summed: &ChecksumInput| match summed {
                ChecksumInput::Text(text) => Some(text.clone()),
                ChecksumInput::Column(_) => None,
            };
            table.summed.iter().filter_map(text).collect()
        };
        assert!(self.0.len() > 20);
        for (place, one) in self.0.iter().enumerate() {
            for other in &self.0[..place] {
                let are_alike = one.has_row_numbers == other.has_row_numbers
                    && one.columns.len() == other.columns.len()
                    && one
                        .columns
                        .iter()
                        .zip(&other.columns)
                        .all(|(a, b)| may_be(a, b));
                assert!(
                    !are_alike || texts(one) != texts(other),
                    "{} and {}",
                    one.name,
                    other.name
                );
            }
        }
    }
}
