//! Former versions of memories: what each was before a change, and who made that change.

use std::collections::BTreeMap;

use crate::{
    ANONYMOUS, Citation, Delivery, Filter, Location, Memory, MemoryId, RecordKind, RecordVersion,
    Result, SaidBy, Space, Timestamp, Visibility,
};

/// A former version of a memory: its state before a change, and the change.
#[derive(Debug, Clone, PartialEq)]
pub struct Version {
    /// The memory.
    pub memory: MemoryId,
    /// The last revision of the memory in this state; 0 for the time before it was stored.
    pub revision: u64,
    /// The text; `None` if the change left it, so that it is the one of the next version, or of the
    /// memory itself.
    pub content: Option<String>,
    /// The title, if it had one.
    pub title: Option<String>,
    /// The tags that it had then.
    pub tags: Vec<String>,
    /// The place in which it was filed then.
    pub location: Location,
    /// The subject who wrote the text, as in [`Memory::updated_by`].
    pub updated_by: Option<String>,
    /// The time at which the text was written.
    pub updated_at: Timestamp,
    /// The other properties that people change; `None` if it is not known, because the version was kept
    /// by a loci that kept only texts, or if the memory was not stored yet.
    pub properties: Option<Properties>,
    /// The change that ended the state; `None` if it is not known, because the version was kept by a
    /// loci that did not note it.
    pub change: Option<ChangeMark>,
}

/// The properties of a memory that people change, beside its text, title, tags and place.
#[derive(Debug, Clone, PartialEq)]
pub struct Properties {
    /// Its kind.
    pub kind: String,
    /// Its weight, 0 to 1.
    pub weight: f64,
    /// Its summary.
    pub summary: Option<String>,
    /// The delivery: at the start of every session, or only by a search.
    pub delivery: Delivery,
    /// The access rights of users other than the owner.
    pub visibility: Visibility,
    /// The time at which it expires.
    pub expires_at: Option<Timestamp>,
    /// The time at which it was forgotten.
    pub forgotten_at: Option<Timestamp>,
    /// The memory that it superseded.
    pub supersedes: Option<MemoryId>,
    /// True if an administrator wrote the text.
    pub by_admin: bool,
    /// Who said the text.
    pub said_by: SaidBy,
    /// Its citations.
    pub citations: Vec<Citation>,
    /// Its attributes.
    pub attributes: BTreeMap<String, String>,
}

/// Who changed a memory, when, and in which call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeMark {
    /// The time of the change.
    pub at: Timestamp,
    /// The subject who made it, if that is not the owner of the memory; [`ANONYMOUS`] for an
    /// anonymous caller.
    pub by: Option<String>,
    /// The tool of the call, as in [`AuditEntry::tool`](crate::AuditEntry::tool); empty for what no
    /// call did, e.g. an edit in the folder of notes.
    pub tool: String,
    /// The program that called, as in [`AuditEntry::client`](crate::AuditEntry::client).
    pub program: Option<String>,
    /// The session of that program.
    pub session: Option<String>,
    /// The public id of the token of the caller.
    pub token: Option<String>,
    /// The number of the call, which all its changes share. Later calls have higher ones.
    pub call: u64,
}

impl ChangeMark {
    /// Returns the name of the subject who made the change to a memory of this owner.
    pub fn subject<'a>(&'a self, owner: Option<&'a str>) -> &'a str {
        self.by.as_deref().or(owner).unwrap_or(ANONYMOUS)
    }
}

impl Version {
    /// Returns the memory as it is, as a version that no change has ended.
    pub fn of(memory: &Memory) -> Self {
        Version {
            memory: memory.id.clone(),
            revision: memory.revision,
            content: Some(memory.content.clone()),
            title: memory.title.clone(),
            tags: memory.tags.clone(),
            location: memory.location.clone(),
            updated_by: memory.updated_by.clone(),
            updated_at: memory.updated_at,
            properties: Some(Properties::of(memory)),
            change: None,
        }
    }

    /// Returns the time before a memory was stored, as a version.
    pub fn before(memory: &Memory) -> Self {
        Version {
            memory: memory.id.clone(),
            revision: 0,
            content: None,
            title: None,
            tags: Vec::new(),
            location: Location {
                collection: None,
                section: String::new(),
            },
            updated_by: None,
            updated_at: memory.created_at,
            properties: None,
            change: None,
        }
    }

    /// Returns true for the time before the memory was stored.
    pub fn is_before_all(&self) -> bool {
        self.revision == 0
    }

    /// Returns the memory with what the version has; everything else stays, and so does the text if
    /// the version has none.
    pub fn applied_to(&self, memory: &Memory) -> Memory {
        let mut memory = Memory {
            content: self.content.as_ref().unwrap_or(&memory.content).clone(),
            title: self.title.clone(),
            tags: self.tags.clone(),
            location: self.location.clone(),
            updated_by: self.updated_by.clone(),
            updated_at: self.updated_at,
            ..memory.clone()
        };
        if let Some(properties) = &self.properties {
            properties.clone().write_to(&mut memory);
        }
        memory
    }
}

impl Properties {
    /// Returns the properties of a memory.
    pub fn of(memory: &Memory) -> Self {
        Properties {
            kind: memory.kind.clone(),
            weight: memory.weight,
            summary: memory.summary.clone(),
            delivery: memory.delivery,
            visibility: memory.visibility,
            expires_at: memory.expires_at,
            forgotten_at: memory.forgotten_at,
            supersedes: memory.supersedes.clone(),
            by_admin: memory.by_admin,
            said_by: memory.provenance.said_by,
            citations: memory.citations.clone(),
            attributes: memory.attributes.clone(),
        }
    }

    fn write_to(self, memory: &mut Memory) {
        let Properties {
            kind,
            weight,
            summary,
            delivery,
            visibility,
            expires_at,
            forgotten_at,
            supersedes,
            by_admin,
            said_by,
            citations,
            attributes,
        } = self;
        (memory.kind, memory.weight, memory.summary) = (kind, weight, summary);
        (memory.delivery, memory.visibility) = (delivery, visibility);
        (memory.expires_at, memory.forgotten_at) = (expires_at, forgotten_at);
        (memory.supersedes, memory.by_admin) = (supersedes, by_admin);
        memory.provenance.said_by = said_by;
        (memory.citations, memory.attributes) = (citations, attributes);
    }
}

/// A filter for changes. A change must match all conditions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangeQuery {
    /// The space of the memories.
    pub space: Space,
    /// Only changes at this time or later.
    pub since: Option<Timestamp>,
    /// Only changes by this subject; [`ANONYMOUS`] for anonymous callers.
    pub by: Option<String>,
    /// Only changes by this program.
    pub program: Option<String>,
    /// Only changes in this session.
    pub session: Option<String>,
    /// Only changes with the token of this id.
    pub token: Option<String>,
    /// Only changes of the call with this number.
    pub call: Option<u64>,
    /// Only changes that come after the one at this time, of this memory and this revision.
    pub after: Option<(Timestamp, MemoryId, u64)>,
    /// The most changes to return.
    pub limit: usize,
}

/// Keeps former versions: of memories, which [`Change::PutVersion`](crate::Change::PutVersion) adds and
/// which go with their memory, and of facts and tunnels, which
/// [`Change::PutRecordVersion`](crate::Change::PutRecordVersion) adds. No search and no list shows them.
pub trait VersionStore: Send + Sync {
    /// Returns the kept versions of a memory, latest first, for any reader, also of a soft-deleted one;
    /// none if the memory does not exist.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn versions(&self, space: &Space, id: &MemoryId) -> Result<Vec<Version>>;

    /// Returns at most `limit` ids of memories with kept versions that match the filter, in order,
    /// after the id `after`. May read all versions.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn ids_with_versions(
        &self,
        filter: &Filter,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<MemoryId>>;

    /// Returns the kept versions whose change is noted and matches the query, for any reader: the
    /// latest change first, of one moment in the descending order of memory and revision. Versions
    /// of soft-deleted memories are left out.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn changes(&self, query: &ChangeQuery) -> Result<Vec<Version>>;

    /// Returns the kept versions of a fact or a tunnel, latest first; none if there are none. They
    /// outlast a tunnel that was deleted, until a [sweep](crate::Store::sweep).
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn record_versions(
        &self,
        space: &Space,
        kind: RecordKind,
        id: &str,
    ) -> Result<Vec<RecordVersion>>;

    /// Returns the kept versions of facts and tunnels whose change matches the query, latest change
    /// first, of one moment in the descending order of kind, id and number. The place
    /// [`after`](ChangeQuery::after) has no effect: it is one among memories.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn record_changes(&self, query: &ChangeQuery) -> Result<Vec<RecordVersion>>;
}
