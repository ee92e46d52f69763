//! The database that a write-ahead log belongs to.
//!
//! SQLite lays a log over whichever database it finds beside it. Where another was put in its
//! place, by an accident or by a restore by hand, both are lost. So a small file beside the log
//! notes the store, and it is compared with the database before SQLite opens either.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

use crate::connection::{Access, Database, checkpoint};
use crate::key::StoreKey;
use crate::opening::files::{has_bytes, log_of};
use crate::opening::folder;
use crate::opening::open_error::{BYTES_MIN, DATABASE, IDENTITY_FILE, OpenError};
use crate::writer::is_fault;

/// Its length in bytes, at most.
const BYTES_MAX: u64 = 1_024;

/// The notes in the file. `inode` has the numbers of the database and of the file itself: in a
/// folder that was copied with its log both have other ones, in a folder in which only the database
/// was replaced only the database has. 0 where files have no numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct IdentityFile {
    store: StoreId,
    schema: i64,
    database_inode: u64,
    own_inode: u64,
}

/// Tells one store from others: the CRC-32 of its secret, of which it gives nothing away that
/// helps. Copies have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoreId(u32);

impl StoreId {
    /// As a number, for another file that notes it.
    pub(crate) fn number(self) -> u64 {
        u64::from(self.0)
    }

    /// The store that this connection is open to.
    pub(crate) fn of(connection: &Connection) -> rusqlite::Result<Self> {
        let secret: Vec<u8> =
            connection.query_row("SELECT bytes FROM secret", [], |row| row.get(0))?;
        Ok(StoreId(crc32fast::hash(&secret)))
    }

    /// The store in the database file, whatever its log says, and the version of its schema. None
    /// if the file is a database, but of no store.
    ///
    /// # Errors
    /// The file cannot be read as a database.
    pub(crate) fn in_file(
        database: &Path,
        key: Option<&StoreKey>,
    ) -> rusqlite::Result<Option<(Self, i64)>> {
        let database = Database::new(database.to_owned(), Duration::ZERO).with_key(key.cloned());
        let connection = Database {
            access: Access::Immutable,
            ..database
        }
        .open()?;
        let schema = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        let has_secret =
            "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'secret'";
        if connection.query_row(has_secret, [], |row| row.get::<_, i64>(0))? == 0 {
            return Ok(None);
        }
        Ok(Some((StoreId::of(&connection)?, schema)))
    }
}

impl IdentityFile {
    /// The notes in the file of the folder; none if there is no file that can be read.
    fn read(folder: &Path) -> Option<Self> {
        let path = folder.join(IDENTITY_FILE);
        let mut text = String::new();
        // A pipe or a device would not end.
        path.symlink_metadata().ok().filter(Metadata::is_file)?;
        File::open(path)
            .ok()?
            .take(BYTES_MAX)
            .read_to_string(&mut text)
            .ok()?;
        let mut words = text.split_ascii_whitespace();
        let mut named = |name: &str| (words.next() == Some(name)).then(|| words.next()).flatten();
        Some(IdentityFile {
            store: StoreId(u32::from_str_radix(named("store")?, 16).ok()?),
            schema: named("schema")?.parse().ok()?,
            database_inode: named("database")?.parse().ok()?,
            own_inode: named("this")?.parse().ok()?,
        })
    }

    /// Returns whether the file is the one that was written, and not a copy.
    fn is_original(&self, folder: &Path) -> bool {
        inode_of(&folder.join(IDENTITY_FILE)) == self.own_inode
    }

    /// Returns whether the database was replaced in a folder that was not copied.
    fn is_replaced(&self, folder: &Path) -> bool {
        self.is_original(folder) && inode_of(&folder.join(DATABASE)) != self.database_inode
    }

    fn write(mut self, folder: &Path) -> io::Result<()> {
        let unfinished = folder.join(format!("{IDENTITY_FILE}.{}", std::process::id()));
        let mut file = folder::create_file(&unfinished)?;
        self.own_inode = inode(&file.metadata()?);
        let IdentityFile {
            store: StoreId(store),
            schema,
            database_inode,
            own_inode,
        } = self;
        let text = format!(
            "store {store:08x}\nschema {schema}\ndatabase {database_inode}\nthis {own_inode}\n"
        );
        file.set_len(0)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&unfinished, folder.join(IDENTITY_FILE))?;
        folder::flush(folder)
    }
}

/// The number of the file at that path; 0 without a number.
fn inode_of(path: &Path) -> u64 {
    path.metadata().map_or(0, |metadata| inode(&metadata))
}

#[cfg(unix)]
fn inode(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_metadata: &Metadata) -> u64 {
    0
}

/// Looks whether the log in the folder belongs to the database, before SQLite opens them. Where
/// there is no log, a database that was put there is as good as any, and the note of another is
/// removed.
///
/// # Errors
/// [`OpenError::ForeignLog`] if it belongs to another. Nothing was changed.
pub(crate) fn compare(folder: &Path, key: Option<&StoreKey>) -> Result<(), OpenError> {
    let database = folder.join(DATABASE);
    let Some(noted) = IdentityFile::read(folder) else {
        return Ok(());
    };
    // Others tell of a database that is cut off, or damaged; its log may have what is damaged in
    // it.
    if database.metadata().map_or(0, |metadata| metadata.len()) < BYTES_MIN {
        return Ok(());
    }
    let Ok(found) = StoreId::in_file(&database, key) else {
        return Ok(());
    };
    let is_it = found.is_some_and(|(store, schema)| store == noted.store && schema >= noted.schema);
    if is_it && !noted.is_replaced(folder) {
        return Ok(());
    }
    if has_bytes(&log_of(&database)) {
        return Err(OpenError::ForeignLog { database });
    }
    let file = folder.join(IDENTITY_FILE);
    match fs::remove_file(&file) {
        // Another process found the same.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(|error| OpenError::from_io(&error, &file)),
    }
}

/// Notes the store that this connection is open to. That waits for another start where the database
/// file does not say everything yet, because it is being read: the log must not be older than the
/// note. A damaged database has no note.
///
/// # Errors
/// [`OpenError::Io`] if the disk failed, because it is unclear then what of the log is on it: the
/// writing thread would write on. The next start takes up what the last connection moved into the
/// database when it closed.
pub(crate) fn record(
    folder: &Path,
    connection: &Connection,
    key: Option<&StoreKey>,
) -> Result<(), OpenError> {
    let database = folder.join(DATABASE);
    let schema = connection.pragma_query_value(None, "user_version", |row| row.get(0));
    let (Ok(store), Ok(schema)) = (StoreId::of(connection), schema) else {
        return Ok(());
    };
    let database_inode = inode_of(&database);
    let is_noted = IdentityFile::read(folder).is_some_and(|noted| {
        (noted.store, noted.schema) == (store, schema)
            && noted.database_inode == database_inode
            && noted.is_original(folder)
    });
    if is_noted {
        return Ok(());
    }
    let is_in_file =
        || matches!(StoreId::in_file(&database, key), Ok(Some(found)) if found == (store, schema));
    // Of another failure the next look tells.
    if !is_in_file()
        && let Err(error) = checkpoint(connection)
        && is_fault(&error)
    {
        return Err(OpenError::from_database(&error, &database));
    }
    if is_in_file()
        && let Err(error) = (IdentityFile {
            store,
            schema,
            database_inode,
            own_inode: 0,
        })
        .write(folder)
    {
        tracing::warn!(
            "{} cannot be written: {error}",
            folder.join(IDENTITY_FILE).display()
        );
    }
    Ok(())
}
