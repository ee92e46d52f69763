//! The checksum of a row: the function `loci_checksum` of the schema.
//!
//! CRC-32 (IEEE 802.3), which finds every run of flipped bits up to 32 long. Each value comes after
//! its type and its length, so that no two rows of values are the same bytes.

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;

/// The name by which the schema calls it.
const NAME: &str = "loci_checksum";

/// Gives the connection the function, without which it can write no row.
pub(crate) fn register(connection: &Connection) -> rusqlite::Result<()> {
    // Innocuous, because the schema may not call anything else (`trusted_schema`).
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function(NAME, -1, flags, |context| {
        Ok(of((0..context.len()).map(|column| context.get_raw(column))))
    })
}

/// The checksum of these values, in the order of the columns.
pub(crate) fn of<'a>(values: impl Iterator<Item = ValueRef<'a>>) -> i64 {
    let mut hasher = crc32fast::Hasher::new();
    for value in values {
        let mut update = |kind: u8, bytes: &[u8]| {
            let mut head = [kind; 9];
            head[1..].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
            hasher.update(&head);
            hasher.update(bytes);
        };
        match value {
            ValueRef::Null => update(0, &[]),
            ValueRef::Integer(number) => update(1, &number.to_le_bytes()),
            ValueRef::Real(number) => update(2, &number.to_bits().to_le_bytes()),
            ValueRef::Text(bytes) => update(3, bytes),
            ValueRef::Blob(bytes) => update(4, bytes),
        }
    }
    i64::from(hasher.finalize())
}

#[cfg(test)]
mod tests;
