//! The pages of a database as they were last committed, whatever is corrupt in them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use loci_core::Error;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::key::StoreKey;
use crate::opening::files::{copy_with_log, has_bytes, log_of};
use crate::opening::open_error::DATABASE;
use crate::opening::schema;

/// Bytes of a page in every database that loci makes.
pub(crate) const PAGE_SIZE: usize = 4_096;
/// The first bytes of every SQLite database.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// Bytes of the header of a database, at the beginning of its first page.
const HEADER_BYTES: usize = 100;
/// Offsets in the header, in bytes: <https://www.sqlite.org/fileformat2.html#the_database_header>.
const PAGE_SIZE_AT: usize = 16;
const CHANGE_COUNTER_AT: usize = 24;
const PAGE_COUNT_AT: usize = 28;
const ENCODING_AT: usize = 56;
const SCHEMA_VERSION_AT: usize = 60;
const PAGE_COUNT_VALID_FOR_AT: usize = 92;
const RESERVED_AT: usize = 20;
/// The encoding UTF-8 in the header.
const UTF_8: u32 = 1;
/// Offsets and values of the numbers in the header that are the same in all databases of loci: the
/// schema format, no incremental vacuum, the encoding, and the application.
const FIXED_NUMBERS: [(usize, u32); 5] = [
    (44, 4),
    (52, 0),
    (ENCODING_AT, UTF_8),
    (64, 0),
    (68, schema::APPLICATION_ID as u32),
];

/// A database file without a write-ahead log.
#[derive(Debug)]
pub(crate) struct DatabaseFile {
    file: File,
    path: PathBuf,
    page_size: usize,
    /// The number of its pages; the last may be cut off.
    pub(crate) pages: u32,
    /// The number of pages that it had, by its header; `None` if the header is corrupt or does not
    /// say so.
    pub(crate) pages_expected: Option<u32>,
    /// The version of its schema, by its header; 0 if it has none.
    pub(crate) schema: i64,
    /// Why its beginning or its end is corrupt: the page, and the problem in words.
    pub(crate) problems: Vec<(u32, &'static str)>,
    key: Option<StoreKey>,
    /// Holds the copy that is read, if there had to be one.
    _copy: Option<TempDir>,
}

impl DatabaseFile {
    /// Opens the file. If a write-ahead log lies beside it, SQLite moves the commits that it
    /// recovers from the log into a copy of the database among the temporary files, and the copy is
    /// opened.
    ///
    /// # Errors
    /// `unavailable` if a file cannot be read or copied.
    pub(crate) fn open(database: &Path, key: Option<&StoreKey>) -> Result<Self, Error> {
        let failed = |error: io::Error| {
            Error::unavailable(format!(
                "{} cannot be read ({error}): check the disk and the space for temporary files, and try again",
                database.display()
            ))
        };
        if !has_bytes(&log_of(database)) {
            return DatabaseFile::of(database.to_owned(), key, None).map_err(failed);
        }
        let copy = copy_with_log(database).map_err(failed)?;
        let path = copy.path().join(DATABASE);
        move_log_into(&path, key).map_err(failed)?;
        DatabaseFile::of(path, key, Some(copy)).map_err(failed)
    }

    fn of(path: PathBuf, key: Option<&StoreKey>, copy: Option<TempDir>) -> io::Result<Self> {
        let mut file = File::open(&path)?;
        let bytes = file.metadata()?.len();
        let mut header = [0; HEADER_BYTES];
        // A header that cannot be read counts as one of zeros.
        let is_sound = read_header(&mut file, key, &mut header).is_ok() && is_sound(&header);
        let page_size = if is_sound && key.is_none() {
            page_size(&header)
        } else {
            PAGE_SIZE
        };
        let pages = u32::try_from(bytes.div_ceil(page_size as u64)).unwrap_or(u32::MAX);
        // SQLite trusts the number only if the commit that wrote it was the last one.
        let pages_expected = Some(number_at(&header, PAGE_COUNT_AT)).filter(|count| {
            let counter = number_at(&header, CHANGE_COUNTER_AT);
            is_sound && *count > 0 && counter == number_at(&header, PAGE_COUNT_VALID_FOR_AT)
        });
        let mut problems = Vec::new();
        if !is_sound {
            problems.push((1, "it does not begin as a database does"));
        }
        let has_just_begun = pages == 1 && [44, 60, 68].map(|at| number_at(&header, at)) == [0; 3];
        if is_sound && !has_fixed_values(&header, key) && !has_just_begun {
            problems.push((1, "its header is not what loci writes"));
        }
        if pages_expected.is_some_and(|expected| expected > pages) {
            problems.push((1, "it says that there are more pages"));
        }
        if !bytes.is_multiple_of(page_size as u64) {
            problems.push((pages, "the file ends within it"));
        }
        Ok(DatabaseFile {
            file,
            path,
            page_size,
            pages,
            pages_expected,
            schema: i64::from(number_at(&header, SCHEMA_VERSION_AT)),
            problems,
            key: key.cloned(),
            _copy: copy,
        })
    }

    /// Where the file is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether a page that is not in the file may have been there before the file was cut
    /// off.
    pub(crate) fn may_have_had(&self, number: u32) -> bool {
        number > self.pages
            && self
                .pages_expected
                .is_none_or(|expected| number <= expected)
    }

    /// Reads a page; `None` if the file ends before it or the disk does not return it. Bytes that
    /// are cut off of the last page are zeros. The first page always names UTF-8 as the encoding.
    pub(crate) fn read(&self, number: u32) -> Option<Vec<u8>> {
        let before = u64::from(number.checked_sub(1)?);
        if number > self.pages {
            return None;
        }
        let mut file = &self.file;
        file.seek(SeekFrom::Start(before * self.page_size as u64))
            .ok()?;
        let mut page = Vec::with_capacity(self.page_size);
        file.take(self.page_size as u64)
            .read_to_end(&mut page)
            .ok()?;
        page.resize(self.page_size, 0);
        if let Some(key) = &self.key {
            page = key.decrypt(number, page)?;
        }
        if number == 1 {
            page[ENCODING_AT..ENCODING_AT + 4].copy_from_slice(&UTF_8.to_be_bytes());
        }
        Some(page)
    }

    /// Returns the kind of the page, by its first byte, and the number of records in its header;
    /// none if it is not a page of a table or an index.
    pub(crate) fn kind(&self, number: u32) -> Option<(PageKind, usize)> {
        let page = self.read(number)?;
        let page = page.get(if number == 1 { HEADER_BYTES } else { 0 }..)?;
        let kind = match page.first()? {
            0x02 => PageKind::IndexInterior,
            0x05 => PageKind::TableInterior,
            0x0a => PageKind::IndexLeaf,
            0x0d => PageKind::TableLeaf,
            _ => return None,
        };
        let cells = usize::from(u16::from_be_bytes([*page.get(3)?, *page.get(4)?]));
        // A record takes at least 6 bytes: 2 for its position and 4 of its own.
        Some((kind, cells.min(page.len() / 6)))
    }
}

/// The kinds of pages of b-trees: <https://www.sqlite.org/fileformat2.html#b_tree_pages>.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageKind {
    IndexInterior,
    TableInterior,
    IndexLeaf,
    TableLeaf,
}

impl PageKind {
    /// Returns whether the page belongs to a tree whose rows have numbers.
    pub(crate) fn is_of_table(self) -> bool {
        matches!(self, PageKind::TableInterior | PageKind::TableLeaf)
    }
}

/// Lets SQLite move the commits in the log of this copy into it, which happens when its last
/// connection is closed. Where the header of the database is corrupt, and the log has no newer one,
/// SQLite does not look at the log: then a sound header takes its place.
fn move_log_into(database: &Path, key: Option<&StoreKey>) -> io::Result<()> {
    for has_new_header in [false, true] {
        if has_new_header {
            let mut file = OpenOptions::new().write(true).open(database)?;
            let is_empty = file.metadata()?.len() < PAGE_SIZE as u64;
            let page = first_page(key)?;
            // A page that is encrypted is whole or nothing.
            let bytes = if is_empty || key.is_some() {
                page.len()
            } else {
                HEADER_BYTES
            };
            file.write_all(&page[..bytes])?;
        }
        // The version of the schema is in the header, so that no definition has to be read.
        let opened = has_bytes(database)
            && connect(database, key)
                .and_then(|connection| {
                    connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))
                })
                .is_ok();
        if opened && !has_bytes(&log_of(database)) {
            break;
        }
    }
    Ok(())
}

/// The first page of a new database with a write-ahead log. Its number of pages counts as unknown.
fn first_page(key: Option<&StoreKey>) -> io::Result<Vec<u8>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join(DATABASE);
    connect(&path, key)
        .and_then(|connection| {
            connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA user_version = 0;")
        })
        .map_err(io::Error::other)?;
    let mut page = fs::read(path)?;
    page.resize(PAGE_SIZE, 0);
    if key.is_some() {
        return Ok(page);
    }
    page[PAGE_COUNT_VALID_FOR_AT..PAGE_COUNT_VALID_FOR_AT + 4].fill(0xff);
    Ok(page)
}

/// Reads the header, which is within the first page of an encrypted database.
fn read_header(
    file: &mut File,
    key: Option<&StoreKey>,
    header: &mut [u8; HEADER_BYTES],
) -> io::Result<()> {
    let Some(key) = key else {
        return file.read_exact(header);
    };
    let mut page = vec![0; PAGE_SIZE];
    file.read_exact(&mut page)?;
    let page = key.decrypt(1, page).unwrap_or_default();
    header.copy_from_slice(page.get(..HEADER_BYTES).ok_or(io::ErrorKind::InvalidData)?);
    Ok(())
}

fn connect(database: &Path, key: Option<&StoreKey>) -> rusqlite::Result<Connection> {
    let connection = Connection::open(database)?;
    if let Some(key) = key {
        key.apply(&connection)?;
    }
    Ok(connection)
}

fn is_sound(header: &[u8]) -> bool {
    header.starts_with(MAGIC)
        && page_size(header).is_power_of_two()
        && (512..=32_768).contains(&page_size(header))
}

/// Returns whether a header has the values that loci's have: a format with or without a write-ahead
/// log, the reserved bytes of pages, and SQLite's fractions of payload.
fn has_fixed_values(header: &[u8], key: Option<&StoreKey>) -> bool {
    let reserved = key.map_or(0, StoreKey::reserved);
    matches!(
        header[18..24],
        [1, 1, _, 64, 32, 32] | [2, 2, _, 64, 32, 32]
    ) && usize::from(header[RESERVED_AT]) == reserved
        && FIXED_NUMBERS
            .iter()
            .all(|(at, value)| number_at(header, *at) == *value)
}

fn page_size(header: &[u8]) -> usize {
    usize::from(u16::from_be_bytes([
        header[PAGE_SIZE_AT],
        header[PAGE_SIZE_AT + 1],
    ]))
}

/// The big-endian number of 32 bits at that offset; 0 if the bytes end before.
fn number_at(bytes: &[u8], offset: usize) -> u32 {
    bytes
        .get(offset..)
        .and_then(<[u8]>::first_chunk)
        .map_or(0, |bytes| u32::from_be_bytes(*bytes))
}
