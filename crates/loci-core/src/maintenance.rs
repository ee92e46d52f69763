//! The care of a store: checks, repairs, and copies for a backup.

use std::path::Path;

use crate::{Error, Placement, Result, Space, Store, Timestamp, TokenStore, Transfer};

/// A fault of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Its kind, by how it can be repaired.
    pub kind: ProblemKind,
    /// The fault in words, with the ids that it concerns, never with contents.
    pub text: String,
}

/// The kind of a [`Problem`], by how it can be repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemKind {
    /// A row that a caller filed is not as it was written, or cannot be read: only a backup has it.
    Damaged,
    /// An index, or rows that are derived from others: [`Maintenance::repair`] rebuilds them, or
    /// says that [`StoreFiles::rebuild`](crate::StoreFiles::rebuild) has to.
    Derived,
    /// A definition that loci did not make and the database holds: a table, an index, a trigger or
    /// a view. Users may add some to a database of their own; none comes in with a restore.
    Foreign,
}

/// An action of a repair, in words; as an error, an action that failed.
pub type RepairStep = std::result::Result<String, String>;

/// The outcome of a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// The repairs that it made, and the ones that it could not make.
    pub done: Vec<RepairStep>,
    /// True if the store has faults that only a rebuild mends.
    pub needs_rebuild: bool,
}

/// The counts of what [`Maintenance::reindex`] rebuilt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReindexCounts {
    /// Indexes of the database.
    pub indexes: usize,
    /// Memories whose passages and words were made from their texts.
    pub memories: usize,
    /// Corrupt texts, which were left as they are.
    pub damaged: usize,
    /// Passages whose vectors were dropped.
    pub vectors: usize,
}

/// A finding of a store about the server that it is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerCheck {
    /// The subject, in one or two words.
    pub subject: &'static str,
    /// The outcome of the check.
    pub outcome: CheckOutcome,
    /// The finding, with the remedy.
    pub text: String,
}

/// The outcome of a [`ServerCheck`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckOutcome {
    /// As it should be.
    Sound,
    /// It works, and may do harm one day.
    Doubtful,
    /// The store cannot be used.
    Faulty,
}

/// Returns the error of a store whose spaces lie in one place.
pub fn on_no_cluster() -> Error {
    Error::invalid(
        "store",
        "is on no cluster with Citus, so that all spaces lie in one place (docs/cluster.md)",
    )
}

/// The care of an open store, for its administrator.
pub trait Maintenance: Send + Sync {
    /// Returns whether the store is open only for reading, so that every write fails. One that was
    /// opened on a full disk can be written once that has room.
    fn is_read_only(&self) -> bool;

    /// Checks the whole store; returns the problems, none if it is sound. Analyses every text again
    /// and compares the outcome with what is stored.
    ///
    /// # Errors
    /// `unavailable` if the store cannot even be read.
    fn integrity_check(&self) -> Result<Vec<Problem>>;

    /// Checks the whole store, but takes passages, words and vectors for what they should be, which
    /// costs a small part of the time.
    ///
    /// # Errors
    /// `unavailable` if the store cannot even be read.
    fn structure_check(&self) -> Result<Vec<Problem>>;

    /// Repairs each [`ProblemKind::Derived`] problem that can be repaired in place. No row that a
    /// caller filed is changed; nothing is done where one is corrupt. Others may read and write
    /// while it runs.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read or written; earlier repairs stay done.
    fn repair(&self) -> Result<Repair>;

    /// Rebuilds all indexes, counts, passages and words, whether they are wrong or not. With
    /// `embeddings`, first drops the vectors of all texts, of every model: until they are embedded
    /// again, search finds those texts only by their words. Others may read and write while it
    /// runs.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read or written; what was rebuilt stays so.
    fn reindex(&self, embeddings: bool) -> Result<ReindexCounts>;

    /// Writes a row and removes it again, in a transaction that reaches the disk.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written now.
    fn check_write(&self) -> Result<()>;

    /// Checks the server that the store is on, and the connection to it, as far as one can be made;
    /// nothing for a store in files. Passes each finding to `tell` as soon as it is known. `now` is
    /// compared with the clock of the server.
    fn server_checks(&self, now: Timestamp, tell: &mut dyn FnMut(ServerCheck)) {
        let _ = (now, tell);
    }

    /// Returns where the rows of a space lie on a cluster.
    ///
    /// # Errors
    /// `invalid` if the store is on no cluster; `not_found` if the space has no rows; `unavailable` if
    /// the cluster cannot be asked.
    fn placement(&self, space: &Space) -> Result<Placement> {
        let _ = space;
        Err(on_no_cluster())
    }

    /// Gives a space a part of the tables that no other space is in; does nothing if it has one. Writers of
    /// its former part wait meanwhile, and are refused after ten seconds. Returns its place then.
    ///
    /// # Errors
    /// As [`Maintenance::placement`]; `unavailable` if the cluster refuses, with its reason. The rows are
    /// then where they were.
    fn isolate(&self, space: &Space) -> Result<Placement> {
        let _ = space;
        Err(on_no_cluster())
    }

    /// Moves a space to a server, `HOST:PORT`, with the others in its part of the tables; does nothing if it is
    /// there. Returns its place then.
    ///
    /// # Errors
    /// As [`Maintenance::isolate`]; `invalid` if no such server may have spaces.
    fn move_space(&self, space: &Space, worker: &str, transfer: Transfer) -> Result<Placement> {
        let _ = (space, worker, transfer);
        Err(on_no_cluster())
    }

    /// The store as of this moment, to be copied into a file.
    ///
    /// # Errors
    /// `invalid` if the store is not kept in files, with what to do instead; `unavailable` if it
    /// cannot be read.
    fn snapshot(&self) -> Result<Box<dyn Snapshot>> {
        Err(Error::invalid(
            "store",
            "is not kept in files: back it up with the tools of its server, or use `loci export`",
        ))
    }
}

/// A store as of one moment, whatever others write afterwards.
pub trait Snapshot: Send {
    /// Copies it into this file, which may exist and be empty. The copy is durable and whole by
    /// itself.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read or the file cannot be written.
    fn copy_to(&self, file: &Path) -> Result<()>;
}

/// An open store with all its seams.
pub trait OpenStore: Store + TokenStore + Maintenance {}

impl<T: Store + TokenStore + Maintenance> OpenStore for T {}
