//! The index of a store as a file, `index/segment` in its folder, which processes map instead of
//! loading their own.
//!
//! It is a copy of what is in the database as of one change, and is looked at with suspicion: it
//! counts only if it was made by this version, from this database, and from the changes that the
//! database still remembers. Who writes it holds the lock `index/lock`, writes `index/segment.new`
//! and gives it its name when it is whole. The program that removes it takes the new one away, too,
//! and so stops a thread that writes one from what was there before.
//!
//! That of an encrypted store is sealed in the file, and each process opens it into memory of its
//! own (`in_memory`).

use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, ErrorKind, Seek as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use loci_index::structures::segment::{Check, SectionWriter, Sections, Tag, u64_at};
use loci_keys::{open_stream, opened_bytes, seal_stream};
use rusqlite::{Connection, OptionalExtension};

use loci_index::Index;

use crate::connection::{Access, Database};
use crate::failure::Result;
use crate::key::StoreKey;
use crate::opening::identity::StoreId;
use crate::opening::{folder, reanalysis, schema};
use crate::statements::read;

/// The folder of the index in that of a store. It can be removed while no process has the store
/// open, and loses nothing.
pub const INDEX_FOLDER: &str = "index";
const SEGMENT: &str = "segment";
const NEW: &str = "segment.new";
const LOCK: &str = "lock";

/// The state of the store that the segment was made from.
const FACTS: Tag = Tag { kind: 64, part: 0 };
/// Changes that are compared with the database's, the newest first.
const COMPARED: i64 = 32;
/// The sum of a memory that is not there.
const GONE: i64 = -1;
/// Bytes of a segment that may be written in a second on the average, for what is deleted to go
/// from it.
const BYTES_PER_SECOND: u64 = 256 << 10;
/// The age that a segment reaches, however small it is, before it is written again for what was
/// deleted.
const AGE_MIN: Duration = Duration::from_mins(1);

/// The origin of a segment: the store, by which version, at which change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Facts {
    store: u64,
    schema: i64,
    analysis: i64,
    pub(crate) change: i64,
    /// The last row that a memory was in.
    last_row: i64,
    /// The newest of those changes: number, row of the memory, and its checksum.
    changes: Vec<[i64; 3]>,
}

impl Facts {
    /// Returns the facts of an index with all changes up to this one, and memories up to this row.
    pub(crate) fn of(
        connection: &Connection,
        change: i64,
        last_row: i64,
    ) -> rusqlite::Result<Self> {
        let sql =
            "SELECT number, memory FROM change WHERE number <= ?1 ORDER BY number DESC LIMIT ?2";
        let mut statement = connection.prepare_cached(sql)?;
        let rows = statement.query_map([change, COMPARED], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let rows = rows.collect::<rusqlite::Result<Vec<(i64, i64)>>>()?;
        let with_sum = |(number, row): (i64, i64)| Ok([number, row, checksum(connection, row)?]);
        Ok(Facts {
            store: StoreId::of(connection)?.number(),
            schema: schema::VERSION,
            analysis: reanalysis::VERSION,
            change,
            last_row,
            changes: rows
                .into_iter()
                .map(with_sum)
                .collect::<rusqlite::Result<_>>()?,
        })
    }

    fn bytes(&self) -> Vec<u8> {
        let Facts {
            store,
            schema,
            analysis,
            change,
            last_row,
            changes,
        } = self;
        let fixed = [store.cast_signed(), *schema, *analysis, *change, *last_row];
        fixed
            .into_iter()
            .chain(changes.iter().flatten().copied())
            .flat_map(i64::to_ne_bytes)
            .collect()
    }

    fn read(bytes: &[u8]) -> Self {
        let word = |index| u64_at(bytes, index).cast_signed();
        let count = (bytes.len() / 8).saturating_sub(5) / 3;
        let changes = (0..count)
            .map(|place| [0, 1, 2].map(|part| word(5 + place * 3 + part)))
            .collect();
        Facts {
            store: u64_at(bytes, 0),
            schema: word(1),
            analysis: word(2),
            change: word(3),
            last_row: word(4),
            changes,
        }
    }

    /// Returns whether the database is the one that the segment was made from, with the same past:
    /// a backup that was put in its place by hand may have other changes of the same numbers.
    fn hold(&self, connection: &Connection) -> rusqlite::Result<bool> {
        let is_ours = self.store == StoreId::of(connection)?.number()
            && (self.schema, self.analysis) == (schema::VERSION, reanalysis::VERSION);
        if !is_ours {
            return Ok(false);
        }
        let mut change =
            connection.prepare_cached("SELECT memory FROM change WHERE number = ?1")?;
        let mut changed =
            connection.prepare_cached("SELECT 1 FROM change WHERE number > ?1 AND memory = ?2")?;
        let mut same = 0;
        for [number, row, sum] in &self.changes {
            let found: Option<i64> = change.query_row([number], |row| row.get(0)).optional()?;
            match found {
                // Trimmed; the changes that count are newer.
                None => break,
                Some(found) if found != *row => return Ok(false),
                Some(_) => {}
            }
            if !changed.exists([self.change, *row])? {
                if checksum(connection, *row)? != *sum {
                    return Ok(false);
                }
                same += 1;
            }
        }
        // With nothing to compare, nothing is known about it.
        Ok(same > 0)
    }
}

fn checksum(connection: &Connection, row: i64) -> rusqlite::Result<i64> {
    let mut statement = connection.prepare_cached("SELECT checksum FROM memory WHERE row = ?1")?;
    Ok(statement
        .query_row([row], |row| row.get(0))
        .optional()?
        .unwrap_or(GONE))
}

/// The segment of a store: where it lies.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    folder: PathBuf,
    is_writable: bool,
    /// None if the store is not encrypted.
    key: Option<StoreKey>,
}

/// A new segment on its way, under the lock.
#[derive(Debug)]
pub(crate) struct Draft {
    folder: PathBuf,
    file: File,
    key: Option<StoreKey>,
    _lock: File,
}

impl Segment {
    /// That of the store with this database.
    pub(crate) fn of(database: &Database) -> Self {
        let folder = database
            .path
            .parent()
            .unwrap_or(Path::new(""))
            .join(INDEX_FOLDER);
        Segment {
            folder,
            is_writable: database.access == Access::ReadWrite,
            key: database.key.clone(),
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.join(SEGMENT)
    }

    fn file(&self) -> io::Result<File> {
        let path = self.path();
        // A pipe or a device cannot be mapped.
        if !path
            .symlink_metadata()
            .is_ok_and(|metadata| metadata.is_file())
        {
            return Err(ErrorKind::NotFound.into());
        }
        File::open(path)
    }

    fn sections(&self) -> io::Result<Sections> {
        let mut file = self.file()?;
        match &self.key {
            None => Sections::open(&file),
            Some(key) => Sections::open_filled(opened_length(&file)?, |mut memory| {
                open_stream(&key.index, &mut file, &mut memory)
            }),
        }
    }

    fn facts(&self) -> io::Result<Facts> {
        let mut file = self.file()?;
        let facts = match &self.key {
            None => Sections::read_one(&file, FACTS),
            Some(key) => {
                let length = opened_length(&file)?;
                let fill = |mut memory: &mut [u8]| open_stream(&key.index, &mut file, &mut memory);
                Sections::read_one_filled(length, fill, FACTS)
            }
        };
        facts.map(|bytes| Facts::read(&bytes))
    }

    /// The index in the segment, as of the change that comes with it. None, if there is no segment,
    /// or none that holds for this database.
    pub(crate) fn open(&self, connection: &Connection) -> Result<Option<(Index, i64)>> {
        let sections = match self.sections() {
            Ok(sections) => sections,
            Err(error) => {
                if error.kind() != ErrorKind::NotFound {
                    tracing::debug!("{} is not used: {error}", self.path().display());
                }
                return Ok(None);
            }
        };
        let facts = Facts::read(&sections.section(FACTS));
        if !facts.hold(connection)? {
            tracing::debug!(
                "{} is not used: it was made from another state",
                self.path().display()
            );
            return Ok(None);
        }
        Ok(Index::open(sections).map(|index| (index, facts.change)))
    }

    /// Returns whether there is a file.
    pub(crate) fn is_there(&self) -> bool {
        self.path().exists()
    }

    /// Returns whether there is something in it that was deleted or changed since, and it is old
    /// enough for its size to be written again for that.
    pub(crate) fn has_remains(&self, connection: &Connection) -> Result<bool> {
        let is_due = |metadata: Metadata| {
            let age = metadata.modified().ok()?.elapsed().ok()?;
            Some(age >= AGE_MIN.max(Duration::from_secs(metadata.len() / BYTES_PER_SECOND)))
        };
        // A clock that was put back tells no age.
        if !fs::metadata(self.path())
            .ok()
            .is_some_and(|metadata| is_due(metadata).unwrap_or(true))
        {
            return Ok(false);
        }
        let Ok(Facts {
            change, last_row, ..
        }) = self.facts()
        else {
            return Ok(true);
        };
        let sql = "SELECT 1 FROM change WHERE number > ?1 AND memory <= ?2";
        Ok(connection.prepare_cached(sql)?.exists([change, last_row])?
            || read::version(connection)? < change)
    }

    /// Starts a new segment. Rows that are read from the database from now on may be in it. None,
    /// if this process may not write, or another one is at it.
    pub(crate) fn draft(&self) -> io::Result<Option<Draft>> {
        if !self.is_writable || self.key.is_some() && !cfg!(target_os = "linux") {
            return Ok(None);
        }
        folder::create(&self.folder)?;
        let lock = folder::create_file(&self.folder.join(LOCK))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let path = self.folder.join(NEW);
        remove_file(&path)?;
        Ok(Some(Draft {
            folder: self.folder.clone(),
            file: folder::create_file(&path)?,
            key: self.key.clone(),
            _lock: lock,
        }))
    }

    /// Takes away all that was written, and stops a thread that writes one. A mapped file stays
    /// with those who have it.
    pub(crate) fn remove(&self) -> io::Result<()> {
        // First the new one, which could take the place of the other.
        remove_file(&self.folder.join(NEW))?;
        remove_file(&self.path())?;
        remove_file(&self.folder.join(NEW))
    }
}

impl Draft {
    /// Writes the index, and gives the file its name. False, if it was taken away since.
    ///
    /// # Errors
    /// The file cannot be written; [`ErrorKind::Interrupted`], if the store is being closed.
    /// Nothing is left there.
    pub(crate) fn write(
        self,
        index: &Index,
        facts: &Facts,
        is_ending: &Arc<AtomicBool>,
    ) -> io::Result<bool> {
        let new = self.folder.join(NEW);
        let written = (|| {
            let out = match self.key {
                Some(_) => in_memory()?,
                None => self.file.try_clone()?,
            };
            let mut out = SectionWriter::new(out, Arc::clone(is_ending))?;
            out.begin(FACTS, Check::AtOpen)?;
            out.write(&facts.bytes())?;
            index.write(&mut out)?;
            let mut written = out.finish()?;
            let Some(key) = &self.key else {
                return written.sync_all();
            };
            written.rewind()?;
            let mut sealed = &self.file;
            seal_stream(&key.index, &mut written, &mut sealed)?;
            sealed.sync_all()
        })();
        if let Err(error) = written {
            let _ = remove_file(&new);
            return Err(error);
        }
        if index.is_damaged() {
            remove_file(&new)?;
            return Ok(false);
        }
        match fs::rename(&new, self.folder.join(SEGMENT)) {
            Ok(()) => folder::flush(&self.folder).map(|()| true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => {
                let _ = remove_file(&new);
                Err(error)
            }
        }
    }
}

/// A file that lies in memory alone, and goes with its last user.
#[cfg(target_os = "linux")]
fn in_memory() -> io::Result<File> {
    use rustix::fs::{MemfdFlags, memfd_create};
    Ok(memfd_create("loci-index", MemfdFlags::CLOEXEC)?.into())
}

/// Other systems have no such file: each process loads the index of an encrypted store.
#[cfg(not(target_os = "linux"))]
fn in_memory() -> io::Result<File> {
    Err(ErrorKind::NotFound.into())
}

/// The bytes of a sealed file once it is opened.
fn opened_length(file: &File) -> io::Result<usize> {
    let length = opened_bytes(file.metadata()?.len());
    length
        .and_then(|length| usize::try_from(length).ok())
        .filter(|length| *length > 0)
        .ok_or_else(|| ErrorKind::InvalidData.into())
}

fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
