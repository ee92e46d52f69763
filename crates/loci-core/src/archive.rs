//! The interface to archives: it streams every record that a store holds.

use crate::{
    CacheEntry, Decision, Fact, IdempotentReply, Memory, NoteFile, Result, SourceFile, Space,
    Timestamp, Tombstone, Tunnel,
};

/// One complete record that a store holds for a space.
#[derive(Debug, Clone, PartialEq)]
pub struct Archived {
    /// The space.
    pub space: Space,
    /// The record.
    pub record: Record,
}

/// A record of an archive: something that was stored, or a note on the file it came from. An
/// archive leaves out derived data (passages, terms, vectors, counts), tokens, the audit log, and
/// work in progress (leases and jobs; a memory whose enrichment is pending gets a new job).
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// A memory, forgotten or not, with its access count. `superseded_by` is derived and left out.
    Memory(Box<Memory>),
    /// The [identity](crate::FolderScan::identity) of the folder of notes.
    NoteFolder(String),
    /// The recorded state of a note file. The file itself is not in the store.
    NoteFile(Box<NoteFile>),
    /// A fact of the knowledge graph.
    Fact(Box<Fact>),
    /// A link between two places.
    Tunnel(Box<Tunnel>),
    /// A setting under a name.
    Setting {
        /// The owner; `None` for a setting without an owner.
        owner: Option<String>,
        /// The name.
        name: String,
        /// The value.
        value: String,
    },
    /// The recorded state of a file that memories were made from.
    SourceFile(Box<SourceFile>),
    /// A cached answer of a user; its vector is derived and left out.
    CacheEntry(Box<CacheEntry>),
    /// A decision of a user.
    Decision(Box<Decision>),
    /// A reply kept under an idempotency key.
    IdempotentReply(Box<IdempotentReply>),
    /// The remains of a text that was forgotten. It comes after the memories, because a tombstone
    /// keeps a memory with its text out of the store.
    Tombstone(Box<Tombstone>),
}

impl Record {
    /// Returns the owner and the tool set whose wipe would remove the record, or the owner's name
    /// from it. The tool set is `None` if a wipe of any one would. Returns `None` if the record
    /// has no owner or no wipe changes it.
    pub fn whose(&self) -> Option<(&str, Option<&str>)> {
        // The empty name matches no tool set: a wipe of a single tool set leaves facts, tunnels and
        // settings.
        const NO_ORIGIN: &str = "";
        let (owner, origin) = match self {
            Record::Memory(memory) => (memory.owner.as_deref(), Some(&*memory.origin)),
            Record::IdempotentReply(answer) => (answer.owner.as_deref(), Some(&*answer.origin)),
            Record::Fact(fact) => (fact.author.as_deref(), Some(NO_ORIGIN)),
            Record::Tunnel(tunnel) => (tunnel.owner.as_deref(), Some(NO_ORIGIN)),
            Record::Setting { owner, .. } => (owner.as_deref(), Some(NO_ORIGIN)),
            Record::CacheEntry(entry) => (Some(&*entry.owner), None),
            Record::Decision(decision) => (Some(&*decision.owner), None),
            Record::NoteFolder(_)
            | Record::NoteFile(_)
            | Record::SourceFile(_)
            | Record::Tombstone(_) => return None,
        };
        owner.map(|owner| (owner, origin))
    }
}

/// Streams every record that a store holds.
pub trait ArchiveStore: Send + Sync {
    /// Passes every record to `visit`, each space from one consistent snapshot, while other
    /// processes may write. The order is by name of the space, then by kind in the order of
    /// [`Record`]. Memories and facts follow in insertion order; note files, tunnels, settings,
    /// source files, cache entries, decisions, kept replies and tombstones in the order of their keys (records
    /// without an owner or a collection first). Leaves out memories that are soft-deleted or have
    /// expired at `now`, removes them from the tunnels that name them, and leaves out replies that
    /// hold their text.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read; the first error of `visit`, which ends the
    /// iteration.
    fn archive(&self, now: Timestamp, visit: &mut dyn FnMut(Archived) -> Result<()>) -> Result<()>;
}
