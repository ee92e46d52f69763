//! The files of a store that is kept in a folder, for the commands that work on them while the store
//! is closed: backup, restore, salvage, rebuild.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::{Archived, Problem, ProblemKind, RepairStep, Result, Timestamp};

/// Receives the records of an archive, one after the other.
pub type VisitRecord<'a> = dyn FnMut(Archived) -> Result<()> + 'a;

/// The files of one store. Only stores in files have them.
pub trait StoreFiles: Send + Sync {
    /// The folder that they are in.
    fn folder(&self) -> &Path;

    /// The file that holds the records.
    fn database(&self) -> PathBuf;

    /// The file beside it that may hold commits which the database does not have yet.
    fn log(&self) -> PathBuf;

    /// The files that belong to one state of the store, in the order in which they must be moved
    /// away: the first that is gone makes the others harmless.
    fn state(&self) -> Vec<PathBuf>;

    /// Files or folders that are made again where they are missing, and must not outlive the
    /// database.
    fn caches(&self) -> Vec<PathBuf>;

    /// The file that says that a restore was decided and is not done yet: while it is there, the
    /// store does not open.
    fn restore_mark(&self) -> PathBuf;

    /// The kind of the file system that the folder is on; none where the system does not tell.
    fn file_system(&self) -> Option<String>;

    /// Takes the files for this process only: no process has the store open, and a process that
    /// opens it later waits, and is refused after a while.
    ///
    /// # Errors
    /// [`OpenFault::InUse`] at once if a process has the store open; the fault of the folder.
    fn lock_exclusive(&self) -> Result<Box<dyn FilesLock>, OpenError>;

    /// Returns whether a process has ever had a store open in the folder.
    fn was_opened(&self) -> bool;

    /// The other processes that have the store open, as far as the system tells.
    fn holders(&self) -> Vec<Holder>;

    /// Returns whether the database is there and so corrupt that it does not open.
    fn is_corrupt(&self) -> bool;

    /// Checks a copy of a database that lies on its own, and moves into it what its log may hold.
    ///
    /// # Errors
    /// It is not a database of loci, or of a newer one, or cannot be read.
    fn inspect(&self, copy: &Path) -> Result<InspectionReport, OpenError>;

    /// Gives the records that are whole to `visit`, whatever else is corrupt, in the order of
    /// [`ArchiveStore::archive`](crate::ArchiveStore::archive), which also says what is left out at
    /// `now`. Changes no file; no process may change them while it runs.
    ///
    /// # Errors
    /// `unavailable` if the files cannot be read; the first error of `visit`.
    fn salvage(&self, now: Timestamp, visit: &mut VisitRecord<'_>) -> Result<SalvageReport>;

    /// Makes a fresh database, the file `fresh`, from all rows that are whole. Changes no other
    /// file; no process may change them while it runs.
    ///
    /// # Errors
    /// `unavailable` if the files cannot be read, or the fresh one cannot be written.
    fn rebuild(&self, fresh: &Path, now: Timestamp) -> Result<RebuildReport>;
}

/// Keeps every other process out of the files of a store while it lives.
pub trait FilesLock: Send {}

/// A process that has a file of a store open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The number of the process.
    pub process: u32,
    /// The name of its program, as the system cuts it.
    pub command: String,
    /// True if it holds a lock by which no other process can write.
    pub keeps_others_out: bool,
}

impl fmt::Display for Holder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} (process {})",
            self.command.escape_debug(),
            self.process
        )
    }
}

/// A database that no process uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InspectionReport {
    /// The version of its schema.
    pub schema: i64,
    /// The memories in it that are not soft-deleted.
    pub memories: u64,
    /// The problems that a check found.
    pub problems: Vec<Problem>,
}

/// The outcome of a salvage.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SalvageReport {
    /// Records that were handed out; rows, if a rebuild found them.
    pub records: u64,
    /// Rows that were found more than once and left out, the older ones if they differ.
    pub repeated: u64,
    /// The known losses, in words; at most 1,000. Ids and keys may be in them, never contents.
    pub lost: Vec<String>,
    /// The number of further losses.
    pub lost_more: u64,
    /// The damage that was found, in words; at most 1,000.
    pub damage: Vec<String>,
    /// The number of further faults.
    pub damage_more: u64,
}

impl SalvageReport {
    /// Returns whether nothing is wrong, so that nothing can be lost.
    pub fn is_whole(&self) -> bool {
        self.lost.is_empty() && self.damage.is_empty()
    }
}

/// The outcome of a rebuild.
#[derive(Debug)]
pub struct RebuildReport {
    /// The rows that were found, of all tables, and the losses.
    pub salvaged: SalvageReport,
    /// Repairs of derived data in the fresh database.
    pub repaired: Vec<RepairStep>,
    /// Problems that the fresh database still has.
    pub problems: Vec<Problem>,
    /// Memories in the fresh database that are not soft-deleted.
    pub memories: u64,
}

impl RebuildReport {
    /// Returns whether the fresh database may take the place of the corrupt one: it is sound, and
    /// the corrupt one was a database of loci.
    pub fn is_usable(&self) -> bool {
        let is_sound = |problem: &Problem| problem.kind != ProblemKind::Damaged;
        self.salvaged.records > 0 && self.problems.iter().all(is_sound)
    }
}

/// A store does not open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenError {
    /// The kind of the fault.
    pub fault: OpenFault,
    /// The fault and the remedy, for people.
    pub message: String,
}

/// The kinds of faults for which a store does not open, as far as callers tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenFault {
    /// Another process has the store open, and this needs it for itself.
    InUse,
    /// The place of the store cannot be written.
    ReadOnly,
    /// The disk with the store is full.
    Full,
    /// A restore into the place was decided and is not done yet.
    Restoring,
    /// The store is encrypted, and its key is not there.
    Locked,
    /// The database is corrupt.
    Corrupt,
    /// The database is newer, or does not go with the files beside it.
    Database,
    /// Another fault of the place: locked, of another user, out of reach.
    Place,
}

impl fmt::Display for OpenError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for OpenError {}
