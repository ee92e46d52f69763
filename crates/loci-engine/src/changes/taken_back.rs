//! The changes that a caller takes back, and what became of the memories, facts and tunnels.

use loci_core::{
    ChangeQuery, Error, ErrorCode, Memory, MemoryId, RecordKind, Result, Space, Timestamp,
};

use crate::memories::history::ChangeNote;

/// The most changes that one call takes back.
pub(crate) const CHANGES_MAX: usize = 100_000;

/// The changes to take back, which match all conditions. At least one must be given beside the
/// time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangesMeant {
    /// The changes of the call with this number.
    pub call: Option<u64>,
    /// The changes of this session of a program.
    pub session: Option<String>,
    /// The changes of this program.
    pub program: Option<String>,
    /// The changes by this user; `anonymous` for callers without a name.
    pub by: Option<String>,
    /// The changes with the token of this id.
    pub token: Option<String>,
    /// Only changes at this time or later.
    pub since: Option<Timestamp>,
}

/// The outcome for each memory, fact and tunnel whose changes were taken back, or would be.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TakenBack {
    /// The number of changes that matched.
    pub changes: usize,
    /// Memories that the changes stored, which are forgotten now: `loci unforget` brings them back.
    pub forgotten: Vec<MemoryId>,
    /// Memories that are again what they were before.
    pub restored: Vec<MemoryId>,
    /// Memories that were in that state already.
    pub unchanged: Vec<MemoryId>,
    /// Memories that stay, because another change came later, or because the caller may not change
    /// them.
    pub stands: Vec<StandingMemory>,
    /// Facts and tunnels, with what became of each.
    pub records: Vec<TakenRecord>,
}

/// A memory that stays as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct StandingMemory {
    /// The memory.
    pub memory: Memory,
    /// The later change; `None` if it is not known.
    pub later: Option<ChangeNote>,
    /// Why it stays, as part of a sentence.
    pub reason: String,
}

/// A fact or a tunnel that a call changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedRecord {
    /// Its kind.
    pub kind: RecordKind,
    /// Its id.
    pub id: String,
    /// The record in few words.
    pub label: String,
}

/// A fact or a tunnel whose changes were taken back, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenRecord {
    /// The record.
    pub record: ChangedRecord,
    /// The outcome.
    pub outcome: RecordOutcome,
}

/// The outcome of taking back the changes of a fact or a tunnel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordOutcome {
    /// The changes stored it: a fact is taken back now, as one that never held, and a tunnel is
    /// deleted. Both come back if this is taken back.
    Removed,
    /// It is again what it was before.
    Restored,
    /// It was in that state already.
    Unchanged,
    /// It stays as it is.
    Stands {
        /// The later change, if one is the reason.
        later: Option<ChangeNote>,
        /// Why it stays, as part of a sentence.
        reason: String,
    },
}

impl ChangesMeant {
    /// Returns the query for the changes.
    pub(crate) fn query(&self, space: &Space) -> ChangeQuery {
        let ChangesMeant {
            call,
            session,
            program,
            by,
            token,
            since,
        } = self.clone();
        ChangeQuery {
            space: space.clone(),
            since,
            by,
            program,
            session,
            token,
            call,
            after: None,
            limit: 0,
        }
    }

    /// Fails if no condition is given beside the time.
    pub(crate) fn check(&self) -> Result<()> {
        let names = [&self.session, &self.program, &self.by, &self.token];
        if self.call.is_some() || names.iter().any(|it| it.is_some()) {
            return Ok(());
        }
        let message = "name what to take back: a change, a session, a program, a user or a token";
        Err(Error::new(ErrorCode::InvalidArgument, message))
    }
}

/// Returns the error for more changes than one call takes back.
pub(crate) fn too_many() -> Error {
    let message = format!(
        "more than {CHANGES_MAX} changes match; take them back in parts, with a later time"
    );
    Error::about_argument(ErrorCode::InvalidArgument, "since", message)
}
