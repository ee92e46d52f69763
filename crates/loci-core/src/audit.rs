//! The audit log: which caller called which tool, and with what outcome. It never holds the text of
//! a memory.

use crate::names::names;
use crate::{DailyCount, DailyQuery, ErrorCode, Result, Space, Timestamp};

/// The [client](AuditEntry::client) of the calls that the command line makes.
pub const COMMAND_LINE: &str = "command line";

/// One logged call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// The space that the caller was in.
    pub space: Space,
    /// The time at which the call started.
    pub at: Timestamp,
    /// The user for whom the call was made: the caller, or the user that an argument named; `None`
    /// for an anonymous caller.
    pub user: Option<String>,
    /// The caller, if it is not the user.
    pub caller: Option<String>,
    /// The name of the program that called: the one that an MCP client gives itself, the name of
    /// the host whose hook it was, or [`COMMAND_LINE`]; `None` if it gave none. At most
    /// [`CLIENT_NAME_CHARACTERS_MAX`](crate::limits::CLIENT_NAME_CHARACTERS_MAX) characters.
    pub client: Option<String>,
    /// The session of the client, if it has one: that of the [caller](crate::Caller::session), or
    /// for a hook that of the host. At most
    /// [`SESSION_BYTES_MAX`](crate::limits::SESSION_BYTES_MAX) bytes.
    pub session: Option<String>,
    /// The tool set of the call.
    pub dialect: String,
    /// The tool.
    pub tool: String,
    /// The kind of operation, e.g. `memory:write`.
    pub operation: String,
    /// The duration of the call, in microseconds.
    pub duration_microseconds: u64,
    /// The text of the query, if there was one, truncated.
    pub query: Option<String>,
    /// The number of results, if the call returns results: 0 for a search whose results are all too
    /// weak to answer, which are then only among the records.
    pub results: Option<u64>,
    /// About how many tokens the text of the reply has; `None` if there was none.
    pub reply_tokens: Option<u64>,
    /// The failure; `None` if the call succeeded.
    pub failure: Option<AuditFailure>,
    /// The records that the call returned from a search, read by id, stored, changed or deleted, in
    /// the order of access and without duplicates; at most [`AUDIT_RECORDS_MAX`](crate::limits::AUDIT_RECORDS_MAX).
    pub records: Vec<AuditRecord>,
    /// The number of further records.
    pub further_records: u64,
    /// The number of these that the call stored. Only the [counts](crate::DailyCount) of the day keep it:
    /// 0 in an entry that was read.
    pub further_stored: u64,
}

/// A record that a call accessed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// The id of a memory, a fact, a tunnel or a decision.
    pub id: String,
    /// The operation on the record.
    pub verb: RecordVerb,
    /// True if a [wipe](crate::Store::wipe) of the user would have removed the record at that time.
    /// Operations on the records of others stay in the log after a wipe.
    pub is_own: bool,
}

/// The operations of a call on a record, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RecordVerb {
    /// The call found the record by a search, and returned it.
    Returned,
    /// The call read the record by its id.
    Read,
    /// The call changed the record.
    Changed,
    /// The call stored the record.
    Stored,
    /// The call deleted the record, by a soft or a permanent delete.
    Deleted,
}

names! {
    /// Every verb, weakest first.
    RecordVerb, "in stores and messages" {
        Returned = "returned",
        Read = "read",
        Changed = "changed",
        Stored = "stored",
        Deleted = "deleted",
    }
}

impl RecordVerb {
    /// Returns true if the call did something to the record. Only such records stay in the log
    /// after a wipe.
    pub const fn is_change(self) -> bool {
        !matches!(self, RecordVerb::Returned | RecordVerb::Read)
    }
}

/// The reason why a call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditFailure {
    /// The error code.
    pub code: ErrorCode,
    /// The message. If it could quote input of the caller, it holds only the name of the argument.
    pub message: Option<String>,
}

/// The filter for reading the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditQuery {
    /// The space of the entries.
    pub space: Space,
    /// Only entries of this user.
    pub user: Option<String>,
    /// Only entries of this tool.
    pub tool: Option<String>,
    /// Only entries of calls by this client.
    pub client: Option<String>,
    /// Only entries that name the record with this id.
    pub record: Option<String>,
    /// Only entries at or after this time.
    pub since: Option<Timestamp>,
    /// Only the first entries of the space with a higher number; if `None`, the last entries.
    pub after: Option<u64>,
    /// Only entries with a lower number, so that the log can be read page by page from its end.
    pub before: Option<u64>,
    /// The maximum number of entries.
    pub limit: usize,
}

/// Keeps the audit log.
pub trait AuditStore: Send + Sync {
    /// Appends entries in order, and adds them to the [counts](AuditStore::daily) of their days in
    /// the same transaction; they are durable when the method returns. Skips entries of a user
    /// whose data, or whose data of the entry's tool set, was wiped after the time of the entry.
    ///
    /// # Errors
    /// `invalid_argument` if an entry fails its [check](AuditEntry::check); then none is appended.
    /// `unavailable` if the store cannot be written.
    fn append_audit(&self, entries: &[AuditEntry]) -> Result<()>;

    /// Returns entries of one space with their numbers, in order. In each space, numbers rise from
    /// 1 on as entries are added, perhaps with gaps, and are never reused, not even after an entry
    /// was removed. Two spaces may use the same numbers.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn audit(&self, query: &AuditQuery) -> Result<Vec<(u64, AuditEntry)>>;

    /// Returns the spaces that have entries, in the order of their names. May read all entries.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn audited_spaces(&self) -> Result<Vec<Space>>;

    /// Returns the counts of calls by day, user, tool set, client, tool and outcome, in this order.
    /// They outlive the entries that they count, until a [sweep](crate::Store::sweep) or a
    /// [wipe](crate::Store::wipe) of the user removes them.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn daily(&self, query: &DailyQuery) -> Result<Vec<DailyCount>>;
}
