//! The serde forms of records in exports: their fields under readable names, without empty values.

mod notes;

use std::collections::BTreeMap;

use loci_core::{
    Access, CacheEntry, Citation, CitationKind, ContentHash, Decision, Delivery, EnrichmentStatus,
    Fact, FileProblem, IdempotentReply, Link, Location, Memory, MemoryId, Name, Period, Provenance,
    Relation, SaidBy, Space, Thread, Tier, Timestamp, Tunnel, TunnelEnd, Vector, Visibility,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_with::{DeserializeAs, SerializeAs, serde_as};

use notes::ProblemForm;

use super::entry_problem::ValueProblem;
use super::text_forms::{AsText, Rfc3339Time};

pub use notes::ExportNote;

/// The largest accepted start of a counter, so that it cannot overflow.
pub const COUNTED_MAX: u64 = 1 << 62;

/// The number of records of each kind.
pub type Counts = BTreeMap<String, u64>;

/// Any line but the first.
#[serde_as]
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    Memory(Box<ExportMemory>),
    NoteFolder(ExportFolder),
    NoteFile(Box<ExportNote>),
    Fact(#[serde_as(as = "Box<FactForm>")] Box<Fact>),
    Tunnel(#[serde_as(as = "Box<TunnelForm>")] Box<Tunnel>),
    Setting(ExportSetting),
    SourceFile(Box<ExportSource>),
    CacheEntry(#[serde_as(as = "Box<CacheEntryForm>")] Box<CacheEntry>),
    Decision(#[serde_as(as = "Box<DecisionForm>")] Box<Decision>),
    #[serde(rename = "keyed_answer")]
    IdempotentReply(#[serde_as(as = "Box<IdempotentReplyForm>")] Box<IdempotentReply>),
    Tombstone(ExportTombstone),
    End(ExportEnd),
}

/// Forms of types of `loci-core`, which has no serde: each names the fields of its type, so that
/// the compiler compares them.
macro_rules! forms {
    ($($form:ident => $type:ty),+) => {
        $(impl SerializeAs<$type> for $form {
            fn serialize_as<S: Serializer>(value: &$type, serializer: S) -> Result<S::Ok, S::Error> {
                $form::serialize(value, serializer)
            }
        }

        impl<'de> DeserializeAs<'de, $type> for $form {
            fn deserialize_as<D: Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                $form::deserialize(deserializer)
            }
        })+
    };
}

forms! {
    ThreadForm => Thread,
    LinkForm => Link,
    CitationForm => Citation,
    AccessForm => Access,
    ProblemForm => FileProblem,
    FactForm => Fact,
    NameForm => Name,
    PeriodForm => Period,
    TunnelForm => Tunnel,
    TunnelEndForm => TunnelEnd,
    CacheEntryForm => CacheEntry,
    DecisionForm => Decision,
    IdempotentReplyForm => IdempotentReply
}

#[serde_as]
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportMemory {
    #[serde_as(as = "AsText")]
    pub space: Space,
    #[serde_as(as = "AsText")]
    pub id: MemoryId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    pub section: String,
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    pub weight: f64,
    #[serde_as(as = "AsText")]
    pub tier: Tier,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde_as(as = "Option<ThreadForm>")]
    pub thread: Option<Thread>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde_as(as = "Option<AsText>")]
    pub source: Option<MemoryId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde_as(as = "Option<AsText>")]
    pub enrichment: Option<EnrichmentStatus>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde_as(as = "Vec<LinkForm>")]
    pub links: Vec<Link>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde_as(as = "Vec<CitationForm>")]
    pub citations: Vec<Citation>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde_as(as = "Option<AccessForm>")]
    pub access: Option<Access>,
    #[serde_as(as = "AsText")]
    pub delivery: Delivery,
    pub origin: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_by: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_admin: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde_as(as = "Option<AsText>")]
    pub said_by: Option<SaidBy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde_as(as = "AsText")]
    pub visibility: Visibility,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde_as(as = "Option<AsText>")]
    pub supersedes: Option<MemoryId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde_as(as = "Option<Rfc3339Time>")]
    pub expires_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde_as(as = "Option<Rfc3339Time>")]
    pub forgotten_at: Option<Timestamp>,
    #[serde_as(as = "Rfc3339Time")]
    pub created_at: Timestamp,
    #[serde_as(as = "Rfc3339Time")]
    pub updated_at: Timestamp,
    pub revision: u64,
    pub content: String,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Thread", deny_unknown_fields)]
pub struct ThreadForm {
    name: String,
    position: u64,
}

#[serde_as]
#[derive(Serialize, Deserialize)]
#[serde(remote = "Link", deny_unknown_fields)]
pub struct LinkForm {
    #[serde_as(as = "AsText")]
    target: MemoryId,
    #[serde_as(as = "AsText")]
    relation: Relation,
    #[serde_as(as = "WidenedNumber")]
    similarity: f32,
}

#[serde_as]
#[derive(Serialize, Deserialize)]
#[serde(remote = "Citation", deny_unknown_fields)]
pub struct CitationForm {
    #[serde_as(as = "AsText")]
    kind: CitationKind,
    reference: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    locator: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    excerpt: Option<String>,
}

#[serde_as]
#[derive(Serialize, Deserialize)]
#[serde(remote = "Access", deny_unknown_fields)]
pub struct AccessForm {
    count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde_as(as = "Option<Rfc3339Time>")]
    last: Option<Timestamp>,
}

impl From<&Memory> for ExportMemory {
    fn from(memory: &Memory) -> Self {
        let memory = memory.clone();
        ExportMemory {
            space: memory.space,
            id: memory.id,
            title: memory.title,
            collection: memory.location.collection,
            section: memory.location.section,
            kind: memory.kind,
            summary: memory.summary,
            tags: memory.tags,
            weight: memory.weight,
            tier: memory.tier,
            thread: memory.thread,
            source: memory.source,
            enrichment: memory.enrichment,
            links: memory.links,
            citations: memory.citations,
            attributes: memory.attributes,
            access: (memory.access != Access::default()).then_some(memory.access),
            delivery: memory.delivery,
            origin: memory.origin,
            owner: memory.owner,
            actor: memory.actor,
            updated_by: memory.updated_by,
            by_admin: memory.by_admin,
            said_by: Some(memory.provenance.said_by).filter(|said_by| *said_by != SaidBy::Unknown),
            program: memory.provenance.program,
            session: memory.provenance.session,
            visibility: memory.visibility,
            supersedes: memory.supersedes,
            expires_at: memory.expires_at,
            forgotten_at: memory.forgotten_at,
            created_at: memory.created_at,
            updated_at: memory.updated_at,
            revision: memory.revision,
            content: memory.content,
        }
    }
}

impl TryFrom<ExportMemory> for Memory {
    type Error = ValueProblem;

    fn try_from(shape: ExportMemory) -> Result<Self, ValueProblem> {
        if shape.revision > COUNTED_MAX {
            return Err("its `revision` is larger than any can be".into());
        }
        if shape
            .thread
            .as_ref()
            .is_some_and(|thread| thread.position > COUNTED_MAX)
        {
            return Err("the `position` in its `thread` is larger than any can be".into());
        }
        let memory = Memory {
            space: shape.space,
            id: shape.id,
            content: shape.content,
            title: shape.title,
            location: Location {
                collection: shape.collection,
                section: shape.section,
            },
            kind: shape.kind,
            summary: shape.summary,
            tags: shape.tags,
            weight: shape.weight,
            tier: shape.tier,
            thread: shape.thread,
            source: shape.source,
            enrichment: shape.enrichment,
            links: shape.links,
            citations: shape.citations,
            attributes: shape.attributes,
            access: shape.access.unwrap_or_default(),
            delivery: shape.delivery,
            origin: shape.origin,
            owner: shape.owner,
            actor: shape.actor,
            updated_by: shape.updated_by,
            by_admin: shape.by_admin,
            provenance: Provenance {
                said_by: shape.said_by.unwrap_or_default(),
                program: shape.program,
                session: shape.session,
            },
            visibility: shape.visibility,
            supersedes: shape.supersedes,
            superseded_by: None,
            expires_at: shape.expires_at,
            forgotten_at: shape.forgotten_at,
            created_at: shape.created_at,
            updated_at: shape.updated_at,
            revision: shape.revision,
        };
        // No store keeps other values, and infinite ones have no text.
        memory.check_numbers()?;
        Ok(memory)
    }
}

#[serde_as]
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportFolder {
    #[serde_as(as = "AsText")]
    pub space: Space,
    pub identity: String,
}

#[serde_as]
#[derive(Serialize, Deserialize)]
#[serde(remote = "Fact", deny_unknown_fields)]
pub struct FactForm {
    #[serde_as(as = "AsText")]
    space: Space,
    id: String,
    #[serde_as(as = "NameForm")]
    subject: Name,
    #[serde_as(as = "NameForm")]
    predicate: Name,
    #[serde_as(as = "NameForm")]
    object: Name,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde_as(as = "Option<PeriodForm>")]
    valid_from: Option<Period>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde_as(as = "Option<PeriodForm>")]
    valid_to: Option<Period>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<String>,
    #[serde_as(as = "Rfc3339Time")]
    created_at: Timestamp,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Name", deny_unknown_fields)]
pub struct NameForm {
    key: String,
    spelling: String,
}

#[serde_as]
#[derive(Serialize, Deserialize)]
#[serde(remote = "Period", deny_unknown_fields)]
pub struct PeriodForm {
    #[serde_as(as = "Rfc3339Time")]
    first: Timestamp,
    #[serde_as(as = "Rfc3339Time")]
    last: Timestamp,
}

#[serde_as]
#[derive(Serialize, Deserialize)]
#[serde(remote = "Tunnel", deny_unknown_fields)]
pub struct TunnelForm {
    #[serde_as(as = "AsText")]
    space: Space,
    id: String,
    #[serde_as(as = "TunnelEndForm")]
    source: TunnelEnd,
    #[serde_as(as = "TunnelEndForm")]
    target: TunnelEnd,
    label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    is_common: bool,
    #[serde_as(as = "Rfc3339Time")]
    created_at: Timestamp,
    #[serde_as(as = "Rfc3339Time")]
    updated_at: Timestamp,
}

#[serde_as]
#[derive(Serialize, Deserialize)]
#[serde(remote = "TunnelEnd", deny_unknown_fields)]
pub struct TunnelEndForm {
    #[serde(skip_serializing_if = "Option::is_none")]
    collection: Option<String>,
    section: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde_as(as = "Option<AsText>")]
    memory: Option<MemoryId>,
}

#[serde_as]
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportSetting {
    #[serde_as(as = "AsText")]
    pub space: Space,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    pub name: String,
    pub value: String,
}

#[serde_as]
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportSource {
    #[serde_as(as = "AsText")]
    pub space: Space,
    /// Left out for the machine that the store lies on, which older exports do not name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub machine: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    pub path: String,
    pub root: String,
    pub format: String,
    pub bytes: u64,
    pub modified_nanoseconds: i64,
    pub bytes_read: u64,
    #[serde_as(as = "AsText")]
    pub hash: ContentHash,
    pub parts: u64,
    pub is_pending: bool,
    pub is_whole: bool,
}

#[serde_as]
#[derive(Serialize, Deserialize)]
#[serde(remote = "CacheEntry", deny_unknown_fields)]
pub struct CacheEntryForm {
    #[serde_as(as = "AsText")]
    space: Space,
    #[serde_as(as = "AsText")]
    id: MemoryId,
    owner: String,
    query: String,
    response: String,
    #[serde(skip)]
    vector: Option<Vector>,
    #[serde_as(as = "Rfc3339Time")]
    created_at: Timestamp,
    #[serde_as(as = "Rfc3339Time")]
    expires_at: Timestamp,
}

#[serde_as]
#[derive(Serialize, Deserialize)]
#[serde(remote = "Decision", deny_unknown_fields)]
pub struct DecisionForm {
    #[serde_as(as = "AsText")]
    space: Space,
    owner: String,
    key: String,
    value: String,
    #[serde_as(as = "Rfc3339Time")]
    created_at: Timestamp,
    #[serde_as(as = "Rfc3339Time")]
    updated_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde_as(as = "Option<Rfc3339Time>")]
    expires_at: Option<Timestamp>,
}

#[serde_as]
#[derive(Serialize, Deserialize)]
#[serde(remote = "IdempotentReply", deny_unknown_fields)]
pub struct IdempotentReplyForm {
    #[serde_as(as = "AsText")]
    space: Space,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    origin: String,
    operation: String,
    key: String,
    #[serde_as(as = "AsText")]
    request: ContentHash,
    answer: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde_as(as = "Vec<AsText>")]
    memories: Vec<MemoryId>,
    #[serde_as(as = "Rfc3339Time")]
    created_at: Timestamp,
    #[serde_as(as = "Rfc3339Time")]
    expires_at: Timestamp,
}

#[serde_as]
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportTombstone {
    #[serde_as(as = "AsText")]
    pub space: Space,
    /// As hexadecimal digits.
    pub salt: String,
    #[serde_as(as = "AsText")]
    pub text: ContentHash,
    #[serde_as(as = "AsText")]
    pub memory: ContentHash,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde_as(as = "Option<AsText>")]
    pub source: Option<ContentHash>,
    #[serde_as(as = "Rfc3339Time")]
    pub forgotten_at: Timestamp,
    pub is_removed: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportEnd {
    pub records: Counts,
}

/// A number that is written with the digits of a wider type, so that it is exact.
struct WidenedNumber;

impl SerializeAs<f32> for WidenedNumber {
    fn serialize_as<S: Serializer>(value: &f32, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(f64::from(*value))
    }
}

impl<'de> DeserializeAs<'de, f32> for WidenedNumber {
    fn deserialize_as<D: Deserializer<'de>>(deserializer: D) -> Result<f32, D::Error> {
        f64::deserialize(deserializer).map(|value| value as f32)
    }
}
