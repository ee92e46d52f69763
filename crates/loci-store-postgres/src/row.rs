//! Rows of the `memory` table as records.

use loci_core::{EnrichmentStatus, Memory, MemoryId, Tier, Timestamp, Visibility};
use loci_index::StoredMemory;
use loci_index::codec::{encode_attributes, encode_citations, encode_links};
use loci_index::records::{ReadColumns, StoredRecord, noted};
use tokio_postgres::Row;

use crate::failure::Result;
use crate::value::{Columns, Value, digest, values};

/// The columns of a [`Memory`], of [`WHOLE_TABLES`].
pub(crate) const WHOLE_COLUMNS: &str = "m.space, m.id, m.content, m.title, m.collection, m.section, m.kind, \
    m.summary, m.tags, m.weight, m.tier, m.thread, m.position, m.source, m.enrichment, m.links, m.citations, \
    m.attributes, a.count, a.last, m.delivery, m.origin, m.owner, m.actor, m.updated_by, m.by_admin, m.said_by, \
    m.program, m.session, m.visibility, m.supersedes, m.expires_at, m.forgotten_at, m.created_at, m.updated_at, m.revision";
/// The tables of a whole memory.
pub(crate) const WHOLE_TABLES: &str =
    "@memory AS m LEFT JOIN @access AS a ON a.space = $1 AND a.memory = m.row";

/// Returns the memory in a row, with the id of the memory that supersedes it, which is the column
/// after [`WHOLE_COLUMNS`].
pub(crate) fn read_whole(row: &Row) -> Result<Memory> {
    let mut columns = Columns::of(row);
    let memory = Memory::read(&mut columns)?;
    Ok(Memory {
        superseded_by: columns.id_or_null()?,
        ..memory
    })
}

/// Returns the same with the number of the row, which is the next column.
pub(crate) fn read_numbered(row: &Row) -> Result<(u64, Memory)> {
    let mut columns = Columns::of(row);
    let memory = Memory::read(&mut columns)?;
    let superseded_by = columns.id_or_null()?;
    let number = columns.number()?;
    let memory = Memory {
        superseded_by,
        ..memory
    };
    Ok((number, memory))
}

/// The columns of `@memory` that [`written`] gives values for, after `space` and `row`.
pub(crate) const WRITTEN_COLUMNS: [&str; 34] = [
    "id",
    "collection",
    "section",
    "kind",
    "weight",
    "tier",
    "delivery",
    "origin",
    "owner",
    "actor",
    "updated_by",
    "by_admin",
    "said_by",
    "program",
    "session",
    "visibility",
    "supersedes",
    "source",
    "thread",
    "thread_key",
    "position",
    "enrichment",
    "expires_at",
    "created_at",
    "updated_at",
    "forgotten_at",
    "revision",
    "title",
    "tags",
    "summary",
    "links",
    "attributes",
    "citations",
    "content",
];

/// Returns the values of a memory for its space and row, then for [`WRITTEN_COLUMNS`].
pub(crate) fn written(memory: &Memory, row: i64) -> Vec<Value> {
    let thread = memory.thread.as_ref();
    values![
        &memory.space,
        row,
        &memory.id,
        &memory.location.collection,
        &memory.location.section,
        &memory.kind,
        memory.weight,
        memory.tier.name(),
        memory.delivery.name(),
        &memory.origin,
        &memory.owner,
        &memory.actor,
        &memory.updated_by,
        memory.by_admin,
        noted(memory.provenance.said_by),
        &memory.provenance.program,
        &memory.provenance.session,
        memory.visibility.name(),
        memory.supersedes.as_ref(),
        memory.source.as_ref(),
        thread.map(|thread| thread.name.as_str()),
        thread.map(|thread| digest(&[Some(&thread.name)])),
        thread.map(|thread| thread.position.cast_signed()),
        memory.enrichment.map(EnrichmentStatus::name),
        memory.expires_at,
        memory.created_at,
        memory.updated_at,
        memory.forgotten_at,
        memory.revision.cast_signed(),
        &memory.title,
        memory.tags.as_slice(),
        &memory.summary,
        encode_links(&memory.links),
        encode_attributes(&memory.attributes),
        encode_citations(&memory.citations),
        &memory.content,
    ]
}

/// The columns of a [`StoredMemory`], of `@memory AS m`.
pub(crate) const STORED_COLUMNS: &str = "m.row, m.space, m.id, m.collection, m.section, m.kind, m.tags, m.weight, \
    m.delivery, m.origin, m.program, m.owner, m.visibility, m.supersedes, CASE WHEN m.supersedes IS NOT NULL THEN \
    (SELECT t.row FROM @memory AS t WHERE t.space = $1 AND t.id = m.supersedes) END, m.expires_at, \
    m.forgotten_at IS NOT NULL, m.created_at, m.updated_at, m.tier, m.source, m.thread, m.position";

/// Returns the row number, and the properties that the index needs of the memory, borrowed from the
/// row.
pub(crate) fn read_stored(row: &Row) -> Result<(i64, StoredMemory<'_>)> {
    StoredMemory::read(&mut Columns::of(row))
}

/// A memory with an id, as far as a change needs to know it.
#[derive(Debug, Clone)]
pub(crate) struct ExistingMemory {
    pub(crate) id: MemoryId,
    pub(crate) row: i64,
    pub(crate) revision: u64,
    /// Since when it is soft-deleted: it keeps the id, and is gone for everything else.
    pub(crate) deleted_at: Option<Timestamp>,
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) owner: Option<String>,
    pub(crate) visibility: Visibility,
    pub(crate) source: Option<MemoryId>,
    pub(crate) place: Place,
}

/// The columns of `@memory AS m` that [`ExistingMemory::read`] reads.
pub(crate) const FOUND_COLUMNS: &str = "m.id, m.row, m.revision, m.deleted_at, m.expires_at, m.source, m.owner, \
    m.visibility, m.visibility, m.owner, m.collection, m.section, m.kind, m.tier, m.origin, \
    m.forgotten_at IS NOT NULL";

impl ExistingMemory {
    pub(crate) fn read(row: &Row) -> Result<Self> {
        let mut columns = Columns::of(row);
        Ok(ExistingMemory {
            id: columns.id()?,
            row: columns.take()?,
            revision: columns.number()?,
            deleted_at: columns.time_or_null()?,
            expires_at: columns.time_or_null()?,
            source: columns.id_or_null()?,
            owner: columns.take()?,
            visibility: columns.named(Visibility::from_name)?,
            place: Place::read(&mut columns)?,
        })
    }

    pub(crate) fn of(memory: &Memory, row: i64) -> Self {
        let mut place = Place {
            visibility: memory.visibility,
            owner: None,
            collection: memory.location.collection.clone(),
            section: memory.location.section.clone(),
            kind: memory.kind.clone(),
            tier: memory.tier,
            origin: memory.origin.clone(),
            is_forgotten: memory.forgotten_at.is_some(),
        };
        place.set_reader(memory.owner.as_deref(), memory.visibility);
        ExistingMemory {
            id: memory.id.clone(),
            row,
            revision: memory.revision,
            deleted_at: None,
            expires_at: memory.expires_at,
            owner: memory.owner.clone(),
            visibility: memory.visibility,
            source: memory.source.clone(),
            place,
        }
    }

    /// Returns true if the memory is there, with this revision.
    pub(crate) fn has(&self, revision: u64) -> bool {
        self.deleted_at.is_none() && self.revision == revision
    }

    /// Returns the place that the memory is counted in: `None` if every read has to look at it,
    /// because it expires or is soft-deleted.
    pub(crate) fn counted(&self) -> Option<&Place> {
        (self.expires_at.is_none() && self.deleted_at.is_none()).then_some(&self.place)
    }
}

/// A place and kind that memories are counted by, with those who may read them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    visibility: Visibility,
    owner: Option<String>,
    collection: Option<String>,
    section: String,
    kind: String,
    tier: Tier,
    origin: String,
    is_forgotten: bool,
}

/// The columns of `@memory AS m` that [`Place::read`] reads; `@place_count` has them by these names,
/// but `is_forgotten`.
pub(crate) const PLACE_COLUMNS: &str =
    "m.visibility, m.owner, m.collection, m.section, m.kind, m.tier, m.origin";

impl Place {
    /// Returns the place in the next columns, [`PLACE_COLUMNS`] and whether the memory is forgotten.
    pub(crate) fn read(columns: &mut Columns<'_>) -> Result<Self> {
        let visibility = columns.named(Visibility::from_name)?;
        let owner: Option<String> = columns.take()?;
        let mut place = Place {
            visibility,
            owner: None,
            collection: columns.take()?,
            section: columns.take()?,
            kind: columns.take()?,
            tier: columns.named(Tier::from_name)?,
            origin: columns.take()?,
            is_forgotten: columns.take()?,
        };
        place.set_reader(owner.as_deref(), visibility);
        Ok(place)
    }

    /// All callers may read what is common or has no owner, in whosever name it is.
    pub(crate) fn set_reader(&mut self, owner: Option<&str>, visibility: Visibility) {
        self.visibility = if owner.is_some() {
            visibility
        } else {
            Visibility::Common
        };
        self.owner = owner
            .filter(|_| visibility != Visibility::Common)
            .map(str::to_owned);
    }

    pub(crate) fn is_forgotten(&self) -> bool {
        self.is_forgotten
    }

    /// Returns the key of the place in `@place_count`.
    pub(crate) fn key(&self) -> Vec<u8> {
        digest(&[
            Some(self.visibility.name()),
            self.owner.as_deref(),
            self.collection.as_deref(),
            Some(&self.section),
            Some(&self.kind),
            Some(self.tier.name()),
            Some(&self.origin),
            self.is_forgotten.then_some(""),
        ])
    }

    /// Returns the values of a row of `@place_count` for this many memories.
    pub(crate) fn values(&self, space: &str, memories: i64) -> Vec<Value> {
        let Place {
            visibility,
            owner,
            collection,
            section,
            kind,
            tier,
            origin,
            is_forgotten,
        } = self;
        values![
            space,
            self.key(),
            visibility.name(),
            owner,
            collection,
            section,
            kind,
            tier.name(),
            origin,
            *is_forgotten,
            memories,
        ]
    }
}
