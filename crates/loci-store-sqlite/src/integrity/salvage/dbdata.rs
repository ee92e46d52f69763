//! SQLite's own reader of single pages: the virtual tables `sqlite_dbdata` and `sqlite_dbptr`
//! (`vendor/sqlite/dbdata.c`).
//!
//! `sqlite_dbdata` gives a row for each field of each record in a page, `sqlite_dbptr` one for each
//! child of a page. Neither trusts a byte of the page. Both ask a SQL function for the page, so that
//! no build flag of SQLite is needed.
//!
//! This module contains one `unsafe` call, which registers the two tables.

#![expect(
    unsafe_code,
    reason = "SQLite registers virtual tables that are written in C through a C function alone"
)]

use std::ffi::{c_char, c_int};
use std::ptr;
use std::sync::Arc;

use rusqlite::functions::FunctionFlags;
use rusqlite::types::Value;
use rusqlite::{Connection, ErrorCode, Row, Rows, ffi};

use super::database_file::DatabaseFile;
use crate::failure::Result;

/// The SQL function that returns the page of a number, NULL where it cannot be read, and the number
/// of pages for 0.
const PAGE_FUNCTION: &str = "loci_page";

unsafe extern "C" {
    /// Registers the virtual tables with a connection; `message` and `routines` are not used.
    fn sqlite3_dbdata_init(
        database: *mut ffi::sqlite3,
        message: *mut *mut c_char,
        routines: *const ffi::sqlite3_api_routines,
    ) -> c_int;
}

/// A record of a page: a row of a table, or an entry of an index.
#[derive(Debug)]
pub(crate) struct PageRecord {
    /// The number of the row, in pages of tables with row numbers.
    pub(crate) row: Option<i64>,
    /// The fields, in their order.
    pub(crate) values: Vec<Value>,
}

/// Reads the pages of one database file through SQLite's virtual tables.
#[derive(Debug)]
pub(crate) struct PageReader(Connection);

impl PageReader {
    /// A reader of the pages of this file.
    pub(crate) fn new(file: Arc<DatabaseFile>) -> Result<Self> {
        let connection = Connection::open_in_memory()?;
        register(&connection)?;
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DIRECTONLY;
        connection.create_scalar_function(PAGE_FUNCTION, 1, flags, move |context| {
            Ok(match context.get::<i64>(0)? {
                0 => Value::Integer(i64::from(file.pages)),
                number => u32::try_from(number)
                    .ok()
                    .and_then(|number| file.read(number))
                    .map_or(Value::Null, Value::Blob),
            })
        })?;
        Ok(PageReader(connection))
    }

    /// The records of a page, as far as the page can be read. A record whose own bytes are corrupt
    /// has fewer or other fields; a corrupt position or length of a record may hide those after it.
    pub(crate) fn records(&self, page: u32) -> Result<Vec<PageRecord>> {
        let sql = "SELECT cell, field, value FROM sqlite_dbdata('loci_page()') WHERE pgno = ?1";
        let mut statement = self.0.prepare_cached(sql)?;
        let mut fields = statement.query([page])?;
        let mut records: Vec<PageRecord> = Vec::new();
        let mut last = None;
        while let Some(field) = next(&mut fields)? {
            let (cell, number): (i64, i64) = (field.get(0)?, field.get(1)?);
            if last != Some(cell) {
                last = Some(cell);
                records.push(PageRecord {
                    row: None,
                    values: Vec::new(),
                });
            }
            let Some(record) = records.last_mut() else {
                continue;
            };
            match number {
                -1 => record.row = field.get(2)?,
                _ => record.values.push(value(field)?),
            }
        }
        Ok(records)
    }

    /// The pages that this page of a tree points to; none for a leaf or any other page.
    pub(crate) fn children(&self, page: u32) -> Result<Vec<u32>> {
        let sql = "SELECT child FROM sqlite_dbptr('loci_page()') WHERE pgno = ?1 AND child > 0";
        let mut statement = self.0.prepare_cached(sql)?;
        let children = statement.query_map([page], |row| row.get(0))?;
        Ok(children.collect::<rusqlite::Result<_>>()?)
    }
}

/// The next field; none, too, where a corrupt length asks for more memory than SQLite allocates.
fn next<'a>(fields: &'a mut Rows<'_>) -> rusqlite::Result<Option<&'a Row<'a>>> {
    match fields.next() {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::OutOfMemory) => Ok(None),
        field => field,
    }
}

/// A field as it is; a text that is not UTF-8 as bytes, because no column of ours has one.
fn value(field: &Row<'_>) -> rusqlite::Result<Value> {
    let value = field.get_ref(2)?;
    Ok(Value::try_from(value)
        .unwrap_or_else(|_| Value::Blob(value.as_bytes().unwrap_or_default().to_vec())))
}

fn register(connection: &Connection) -> rusqlite::Result<()> {
    // SAFETY: `handle` is the open handle of `connection`, which is borrowed and so stays open
    // during the call. The C function registers two modules with it, whose methods are static, and
    // uses neither of the other arguments, which may be null. It was compiled against the header of
    // the SQLite that is linked (`build.rs`).
    let code = unsafe { sqlite3_dbdata_init(connection.handle(), ptr::null_mut(), ptr::null()) };
    match code {
        ffi::SQLITE_OK => Ok(()),
        code => Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    /// The CRC-32 of `vendor/sqlite/dbdata.c`, of SQLite 3.47.
    const CRC_32: u32 = 0x164f_944e;

    #[test]
    fn the_vendored_file_is_unchanged() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/vendor/sqlite/dbdata.c");
        assert_eq!(crc32fast::hash(&fs::read(path).unwrap()), CRC_32);
    }
}
