//! Databases of SQLite of other programs, read from a copy, so that nothing changes there, also while the
//! program runs.
//!
//! ```
//! let folder = tempfile::tempdir()?;
//! let file = folder.path().join("notes.txt");
//! std::fs::write(&file, "no database")?;
//! assert!(!loci_databases::is_database(&file));
//! assert!(loci_databases::Database::copied(&file).is_err());
//! # Ok::<(), std::io::Error>(())
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test may panic"))]

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rusqlite::{Connection, OpenFlags, Row};
use tempfile::TempDir;

/// The first bytes of every database of SQLite.
const MARK: &[u8; 16] = b"SQLite format 3\0";
/// The byte of the header that says how the database is written, and its value for a database with a
/// write-ahead log (<https://www.sqlite.org/fileformat.html>, 1.3.3).
const WRITE_VERSION: (usize, u8) = (18, 2);
/// The names of the files beside a database that hold a part of its content.
const COMPANIONS: [&str; 2] = ["-wal", "-journal"];

/// The reason why a database cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The file is no database of SQLite.
    #[error("{0} is no database of SQLite")]
    Form(String),
    /// A file cannot be read or copied.
    #[error("{file} cannot be read: {source}")]
    File {
        /// The path of the file.
        file: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The database is damaged, or of another form.
    #[error("{file} is a database that cannot be read: {source}")]
    Content {
        /// The path of the database.
        file: String,
        /// The error of SQLite.
        source: rusqlite::Error,
    },
}

/// The result of reading a database.
pub type Result<T> = std::result::Result<T, DatabaseError>;

/// A copy of a database with its log, in a folder that is removed when the last of its users is dropped.
#[derive(Clone)]
pub struct Database(Rc<DatabaseCopy>);

struct DatabaseCopy {
    connection: Connection,
    file: String,
    misses_log: bool,
    _folder: TempDir,
}

thread_local! {
    /// The copies that were made while [`copied_once`] runs.
    static COPIES: RefCell<Option<Vec<(PathBuf, Database)>>> = const { RefCell::new(None) };
}

/// Runs a work in which each database is copied only once, e.g. while peers are asked one after the other
/// whose it is: a database may have gigabytes.
pub fn copied_once<T>(work: impl FnOnce() -> T) -> T {
    COPIES.set(Some(Vec::new()));
    let outcome = work();
    COPIES.set(None);
    outcome
}

/// Returns true if the file is a database of SQLite, or the empty beginning of one with a log.
pub fn is_database(file: &Path) -> bool {
    header(file).is_ok_and(|header| header.starts_with(MARK))
}

/// Returns the file beside a database with its write-ahead log, if there is one: what its program stored
/// last may be only there.
pub fn log_of(file: &Path) -> Option<PathBuf> {
    let log = beside(file, COMPANIONS[0]);
    let metadata = log.symlink_metadata().ok()?;
    metadata.is_file().then_some(log)
}

fn header(file: &Path) -> io::Result<[u8; 100]> {
    let mut header = [0; 100];
    File::open(file)?.read_exact(&mut header)?;
    Ok(header)
}

fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    file.with_file_name(name)
}

impl Database {
    /// Copies a database with its write-ahead log or its journal, and opens the copy, because the
    /// main file without them is empty, or an older state without an error, and because a reader
    /// would leave files beside the owner's.
    ///
    /// # Errors
    /// If a file cannot be read or copied, or is no database.
    pub fn copied(file: &Path) -> Result<Self> {
        let known = COPIES.with_borrow(|copies| {
            let mut copies = copies.iter().flatten();
            let (_, known) = copies.find(|(path, _)| path == file)?;
            Some(known.clone())
        });
        if let Some(known) = known {
            return Ok(known);
        }
        let copy = Self::new_copy(file)?;
        COPIES.with_borrow_mut(|copies| {
            if let Some(copies) = copies {
                copies.push((file.to_owned(), copy.clone()));
            }
        });
        Ok(copy)
    }

    fn new_copy(file: &Path) -> Result<Self> {
        let shown = file.display().to_string();
        let unreadable = |source| DatabaseError::File {
            file: shown.clone(),
            source,
        };
        let header = header(file).map_err(unreadable)?;
        if !header.starts_with(MARK) {
            return Err(DatabaseError::Form(shown));
        }
        let folder = tempfile::Builder::new()
            .prefix("loci-import-")
            .tempdir()
            .map_err(unreadable)?;
        let copy = folder.path().join("copy.db");
        fs::copy(file, &copy).map_err(unreadable)?;
        let mut has_log = false;
        for ending in COMPANIONS {
            let companion = beside(file, ending);
            // A pipe would be waited for.
            if !companion.is_file() {
                continue;
            }
            match fs::copy(companion, beside(&copy, ending)) {
                Ok(bytes) => has_log |= ending == COMPANIONS[0] && bytes > 0,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(unreadable(error)),
            }
        }
        let database = |source| DatabaseError::Content {
            file: shown.clone(),
            source,
        };
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&copy, flags).map_err(database)?;
        // The schema of a stranger's database runs no function of ours.
        connection
            .execute_batch("PRAGMA trusted_schema = OFF; PRAGMA query_only = ON;")
            .map_err(database)?;
        let (place, with_log) = WRITE_VERSION;
        Ok(Database(Rc::new(DatabaseCopy {
            connection,
            misses_log: header[place] == with_log && !has_log,
            file: shown,
            _folder: folder,
        })))
    }

    /// Returns the notice for a reader if the header speaks of a write-ahead log that is not beside the
    /// database. A program that stops in good order removes its log, so that nothing need be
    /// missing.
    pub fn notice(&self) -> Option<String> {
        let file = &self.0.file;
        self.0.misses_log.then(|| {
            format!(
                "no {file}-wal is beside {file}: if the file was copied while its program ran, copy that one, too, \
                 since what was stored last is in it"
            )
        })
    }

    fn failed(&self, source: rusqlite::Error) -> DatabaseError {
        DatabaseError::Content {
            file: self.0.file.clone(),
            source,
        }
    }

    /// Returns the columns of a table; an empty list if there is no such table.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn columns(&self, table: &str) -> Result<Vec<String>> {
        let mut statement = self
            .0
            .connection
            .prepare("SELECT name FROM pragma_table_info(?1)")
            .map_err(|error| self.failed(error))?;
        let names = statement
            .query_map([table], |row| row.get(0))
            .and_then(Iterator::collect);
        names.map_err(|error| self.failed(error))
    }

    /// Returns true if all these tables exist.
    ///
    /// # Errors
    /// As for [`columns`](Database::columns).
    pub fn has(&self, tables: &[&str]) -> Result<bool> {
        for table in tables {
            if self.columns(table)?.is_empty() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Runs a query and passes each row to `visit`.
    ///
    /// # Errors
    /// If the database cannot be read; the first error of `visit`.
    pub fn rows<E: From<DatabaseError>>(
        &self,
        query: &str,
        parameters: &[&dyn rusqlite::ToSql],
        mut visit: impl FnMut(&Cells<'_, '_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let mut statement = self
            .0
            .connection
            .prepare_cached(query)
            .map_err(|error| self.failed(error))?;
        let mut rows = statement
            .query(parameters)
            .map_err(|error| self.failed(error))?;
        while let Some(row) = rows.next().map_err(|error| self.failed(error))? {
            visit(&Cells { row })?;
        }
        Ok(())
    }
}

/// A row, whose cells are read by their names. A column that this version of the peer does not have,
/// and a cell of another type, read as nothing.
pub struct Cells<'a, 'b> {
    row: &'a Row<'b>,
}

impl Cells<'_, '_> {
    /// Returns a text, byte for byte; `None` for NULL and for bytes that are not UTF-8.
    pub fn text(&self, column: &str) -> Option<String> {
        match self.row.get_ref(column).ok()? {
            rusqlite::types::ValueRef::Text(bytes) | rusqlite::types::ValueRef::Blob(bytes) => {
                String::from_utf8(bytes.to_vec()).ok()
            }
            rusqlite::types::ValueRef::Integer(number) => Some(number.to_string()),
            rusqlite::types::ValueRef::Real(number) => Some(number.to_string()),
            rusqlite::types::ValueRef::Null => None,
        }
    }

    /// Returns a text that is not blank.
    pub fn filled(&self, column: &str) -> Option<String> {
        self.text(column).filter(|text| !text.trim().is_empty())
    }

    /// Returns a whole number.
    pub fn number(&self, column: &str) -> Option<i64> {
        self.row.get(column).ok()
    }

    /// Returns a number.
    pub fn real(&self, column: &str) -> Option<f64> {
        self.row.get(column).ok()
    }

    /// Returns bytes.
    pub fn bytes(&self, column: &str) -> Option<Vec<u8>> {
        match self.row.get_ref(column).ok()? {
            rusqlite::types::ValueRef::Blob(bytes) | rusqlite::types::ValueRef::Text(bytes) => {
                Some(bytes.to_vec())
            }
            _ => None,
        }
    }
}
