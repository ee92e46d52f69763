//! Who called what, and how it went. Never what a memory holds.

use crate::{ErrorCode, Result, Space, Timestamp};

/// One call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// The space that the caller was in.
    pub space: Space,
    /// When the call began.
    pub at: Timestamp,
    /// For whom it was made: who called, or the user whom an argument named; none for an anonymous
    /// caller.
    pub user: Option<String>,
    /// Who called, if that was somebody else than the user.
    pub caller: Option<String>,
    /// The tool set that it came through.
    pub dialect: String,
    /// The tool.
    pub tool: String,
    /// What kind of thing it does, such as `memory:write`.
    pub operation: String,
    /// How long it took, in microseconds.
    pub duration_microseconds: u64,
    /// The text of the query, if it had one, cut to a length.
    pub query: Option<String>,
    /// How many results it had, if it returns results.
    pub results: Option<u64>,
    /// Why it failed; none if it did not.
    pub failure: Option<AuditFailure>,
    /// The records that it read by their ids, stored, changed or deleted, in the order in which it
    /// came to them, each once: at most [`AUDIT_RECORDS_MAX`](crate::limits::AUDIT_RECORDS_MAX).
    pub records: Vec<AuditRecord>,
    /// How many more there were.
    pub further_records: u64,
}

/// A record that a call came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// Its id: of a memory, a fact, a tunnel or a decision.
    pub id: String,
    /// The act of the call on it.
    pub verb: RecordVerb,
    /// Whether a [wipe](crate::Store::wipe) of the user would have removed it then. What the user
    /// did to others stays in the log.
    pub is_own: bool,
}

/// The acts of a call on a record, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RecordVerb {
    /// It read the record, whose id it knew.
    Read,
    /// It changed the record.
    Changed,
    /// It stored the record.
    Stored,
    /// It deleted the record, softly or for good.
    Deleted,
}

impl RecordVerb {
    /// Every verb, weakest first.
    pub const ALL: [RecordVerb; 4] = [
        RecordVerb::Read,
        RecordVerb::Changed,
        RecordVerb::Stored,
        RecordVerb::Deleted,
    ];

    /// The word for it in stores and for people.
    pub const fn name(self) -> &'static str {
        match self {
            RecordVerb::Read => "read",
            RecordVerb::Changed => "changed",
            RecordVerb::Stored => "stored",
            RecordVerb::Deleted => "deleted",
        }
    }

    /// The verb with that name.
    pub fn from_name(name: &str) -> Option<Self> {
        RecordVerb::ALL.into_iter().find(|verb| verb.name() == name)
    }
}

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditFailure {
    /// The kind.
    pub code: ErrorCode,
    /// The message; where it could quote what the caller sent, the name of the argument alone.
    pub message: Option<String>,
}

/// Which entries to read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditQuery {
    /// Only those of this space.
    pub space: Option<Space>,
    /// Only those of this user.
    pub user: Option<String>,
    /// Only those of this tool.
    pub tool: Option<String>,
    /// Only those that name the record with this id.
    pub record: Option<String>,
    /// Only those of this moment or later.
    pub since: Option<Timestamp>,
    /// Only those with a higher number, the first of these; if none, the last ones.
    pub after: Option<u64>,
    /// How many at most.
    pub limit: usize,
}

/// Keeps the audit log.
pub trait AuditStore: Send + Sync {
    /// Adds entries in their order; durable when it returns. Entries of a user whose data was wiped
    /// after their moment, all of it or that of their tool set, are left out.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written.
    fn append_audit(&self, entries: &[AuditEntry]) -> Result<()>;

    /// Entries with their numbers, in their order. Numbers rise as entries are added, and none is
    /// given twice, not even when its entry was removed.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn audit(&self, query: &AuditQuery) -> Result<Vec<(u64, AuditEntry)>>;
}
