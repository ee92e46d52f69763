//! The seam to archives: everything that a store holds, one thing after the other.

use crate::{
    CacheEntry, Decision, Fact, IdempotentReply, Memory, NoteFile, Result, SourceFile, Space,
    Timestamp, Tunnel,
};

/// One thing that a store holds for a space, whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Archived {
    /// The space.
    pub space: Space,
    /// The thing.
    pub record: Record,
}

/// What an archive holds: all that somebody filed, and what is known of where it came from. Not in
/// it are what is derived from it (passages, terms, vectors, counts), who may call (tokens), what
/// was called (the audit log), and work under way (leases, jobs: a memory whose enrichment is
/// pending gets a new one).
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// A memory, with how often it was returned; forgotten ones too. What replaces it is derived,
    /// and left out.
    Memory(Box<Memory>),
    /// The [identity](crate::FolderScan::identity) of the folder of notes.
    NoteFolder(String),
    /// What is known of a file of notes. The file itself is not the store's.
    NoteFile(Box<NoteFile>),
    /// A fact of the knowledge graph.
    Fact(Box<Fact>),
    /// A tie between two places.
    Tunnel(Box<Tunnel>),
    /// What was settled under a name.
    Setting {
        /// Whose; nobody's, if none.
        owner: Option<String>,
        /// The name.
        name: String,
        /// The value.
        value: String,
    },
    /// What is known of a file that memories were made from.
    SourceFile(Box<SourceFile>),
    /// An answer that a user may want again; its vector is derived and left out.
    CacheEntry(Box<CacheEntry>),
    /// A choice of a user.
    Decision(Box<Decision>),
    /// What was answered under a key.
    KeyedAnswer(Box<IdempotentReply>),
}

impl Record {
    /// Whose it is, and the tool set whose wipe would remove it: none, if that of any would. What
    /// nobody owns, and what no wipe removes, is nobody's.
    pub fn whose(&self) -> Option<(&str, Option<&str>)> {
        // Stands for no tool set: a wipe of one alone leaves tunnels and settings.
        const NO_ORIGIN: &str = "";
        let (owner, origin) = match self {
            Record::Memory(memory) => (memory.owner.as_deref(), Some(&*memory.origin)),
            Record::KeyedAnswer(answer) => (answer.owner.as_deref(), Some(&*answer.origin)),
            Record::Tunnel(tunnel) => (tunnel.owner.as_deref(), Some(NO_ORIGIN)),
            Record::Setting { owner, .. } => (owner.as_deref(), Some(NO_ORIGIN)),
            Record::CacheEntry(entry) => (Some(&*entry.owner), None),
            Record::Decision(decision) => (Some(&*decision.owner), None),
            Record::NoteFolder(_)
            | Record::NoteFile(_)
            | Record::Fact(_)
            | Record::SourceFile(_) => return None,
        };
        owner.map(|owner| (owner, origin))
    }
}

/// Hands out what a store holds.
pub trait ArchiveStore: Send + Sync {
    /// Gives everything to `visit`, as of one moment, whatever others write meanwhile: space by
    /// space in the order of names, in each the kinds in the order of [`Record`], and of a kind
    /// memories, facts in the order in which they came into the store; note files, tunnels,
    /// settings, source files, cache entries, decisions and kept answers in the order of their keys
    /// (nobody's and no collection's first). What is softly deleted, and what has expired at `now`,
    /// is left out, and taken off the tunnels that name it; so are answers that hold its text.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read; the first error of `visit`, after which nothing
    /// more is given.
    fn archive(&self, now: Timestamp, visit: &mut dyn FnMut(Archived) -> Result<()>) -> Result<()>;
}
