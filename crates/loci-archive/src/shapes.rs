//! The serde forms of records in exports: their fields under readable names, without empty values.

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use loci_core::{
    Access, Citation, CitationKind, ContentHash, Delivery, EnrichmentStatus, FileProblem,
    FileProblemKind, FileStamp, Link, Location, Memory, MemoryId, Name, NoteFile, Period, Relation,
    Space, Thread, Tier, TunnelEnd, Visibility,
};
use loci_vault::FileCopy;
use serde::{Deserialize, Serialize};

use super::words::{AsText, ExportTimestamp};
use super::{Note, NoteBytes};

/// The largest accepted start of a counter, so that it cannot overflow.
pub const COUNTED_MAX: u64 = 1 << 62;

/// The number of records of each kind.
pub type Counts = BTreeMap<String, u64>;

/// Any line but the first.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    Memory(Box<ExportMemory>),
    NoteFolder(ExportFolder),
    NoteFile(Box<ExportNote>),
    Fact(Box<ExportFact>),
    Tunnel(Box<ExportTunnel>),
    Setting(ExportSetting),
    SourceFile(Box<ExportSource>),
    CacheEntry(ExportCachedAnswer),
    Decision(ExportDecision),
    KeyedAnswer(Box<ExportIdempotentReply>),
    End(ExportEnd),
}

type InSpace = AsText<Space>;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportMemory {
    pub space: InSpace,
    pub id: AsText<MemoryId>,
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
    pub tier: AsText<Tier>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<ExportThread>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<AsText<MemoryId>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enrichment: Option<AsText<EnrichmentStatus>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<ExportLink>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub citations: Vec<ExportCitation>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<ExportAccess>,
    pub delivery: AsText<Delivery>,
    pub origin: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_by: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_admin: bool,
    pub visibility: AsText<Visibility>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<AsText<MemoryId>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<ExportTimestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forgotten_at: Option<ExportTimestamp>,
    pub created_at: ExportTimestamp,
    pub updated_at: ExportTimestamp,
    pub revision: u64,
    pub content: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportThread {
    name: String,
    position: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportLink {
    target: AsText<MemoryId>,
    relation: AsText<Relation>,
    /// Wider than the stored type, so that it is written exactly.
    similarity: f64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportCitation {
    kind: AsText<CitationKind>,
    reference: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    locator: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    excerpt: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportAccess {
    count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<ExportTimestamp>,
}

impl From<&Memory> for ExportMemory {
    fn from(memory: &Memory) -> Self {
        let memory = memory.clone();
        let link = |link: Link| ExportLink {
            target: AsText(link.target),
            relation: AsText(link.relation),
            similarity: f64::from(link.similarity),
        };
        let citation = |citation: Citation| {
            let Citation {
                kind,
                reference,
                locator,
                pin,
                excerpt,
            } = citation;
            ExportCitation {
                kind: AsText(kind),
                reference,
                locator,
                pin,
                excerpt,
            }
        };
        let Access { count, last } = memory.access;
        ExportMemory {
            space: AsText(memory.space),
            id: AsText(memory.id),
            title: memory.title,
            collection: memory.location.collection,
            section: memory.location.section,
            kind: memory.kind,
            summary: memory.summary,
            tags: memory.tags,
            weight: memory.weight,
            tier: AsText(memory.tier),
            thread: memory
                .thread
                .map(|Thread { name, position }| ExportThread { name, position }),
            source: memory.source.map(AsText),
            enrichment: memory.enrichment.map(AsText),
            links: memory.links.into_iter().map(link).collect(),
            citations: memory.citations.into_iter().map(citation).collect(),
            attributes: memory.attributes,
            access: (memory.access != Access::default()).then(|| ExportAccess {
                count,
                last: last.map(ExportTimestamp),
            }),
            delivery: AsText(memory.delivery),
            origin: memory.origin,
            owner: memory.owner,
            actor: memory.actor,
            updated_by: memory.updated_by,
            by_admin: memory.by_admin,
            visibility: AsText(memory.visibility),
            supersedes: memory.supersedes.map(AsText),
            expires_at: memory.expires_at.map(ExportTimestamp),
            forgotten_at: memory.forgotten_at.map(ExportTimestamp),
            created_at: ExportTimestamp(memory.created_at),
            updated_at: ExportTimestamp(memory.updated_at),
            revision: memory.revision,
            content: memory.content,
        }
    }
}

impl TryFrom<ExportMemory> for Memory {
    type Error = &'static str;

    fn try_from(shape: ExportMemory) -> Result<Self, &'static str> {
        if shape.revision > COUNTED_MAX {
            return Err("its `revision` is larger than any can be");
        }
        if shape
            .thread
            .as_ref()
            .is_some_and(|thread| thread.position > COUNTED_MAX)
        {
            return Err("the `position` in its `thread` is larger than any can be");
        }
        let link = |link: ExportLink| Link {
            target: link.target.0,
            relation: link.relation.0,
            similarity: link.similarity as f32,
        };
        let citation = |citation: ExportCitation| {
            let ExportCitation {
                kind: AsText(kind),
                reference,
                locator,
                pin,
                excerpt,
            } = citation;
            Citation {
                kind,
                reference,
                locator,
                pin,
                excerpt,
            }
        };
        let access = |access: ExportAccess| Access {
            count: access.count,
            last: access.last.map(|last| last.0),
        };
        let memory = Memory {
            space: shape.space.0,
            id: shape.id.0,
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
            tier: shape.tier.0,
            thread: shape
                .thread
                .map(|ExportThread { name, position }| Thread { name, position }),
            source: shape.source.map(|source| source.0),
            enrichment: shape.enrichment.map(|status| status.0),
            links: shape.links.into_iter().map(link).collect(),
            citations: shape.citations.into_iter().map(citation).collect(),
            attributes: shape.attributes,
            access: shape.access.map(access).unwrap_or_default(),
            delivery: shape.delivery.0,
            origin: shape.origin,
            owner: shape.owner,
            actor: shape.actor,
            updated_by: shape.updated_by,
            by_admin: shape.by_admin,
            visibility: shape.visibility.0,
            supersedes: shape.supersedes.map(|id| id.0),
            superseded_by: None,
            expires_at: shape.expires_at.map(|at| at.0),
            forgotten_at: shape.forgotten_at.map(|at| at.0),
            created_at: shape.created_at.0,
            updated_at: shape.updated_at.0,
            revision: shape.revision,
        };
        // No store keeps other values, and infinite ones have no text.
        memory
            .check_numbers()
            .map_err(|_| "a weight is not from 0 to 1, or a similarity not from -1 to 1")?;
        Ok(memory)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportFolder {
    pub space: InSpace,
    pub identity: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportNote {
    pub space: InSpace,
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<ExportKnownNote>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<ExportFile>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportKnownNote {
    bytes: u64,
    modified_nanoseconds: i64,
    is_settled: bool,
    hash: AsText<ContentHash>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<AsText<MemoryId>>,
    says_id: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    links: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<ExportProblem>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing_since: Option<ExportTimestamp>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportProblem {
    kind: AsText<FileProblemKind>,
    message: String,
}

/// A file with neither text nor base64 lies next to the export.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportFile {
    #[serde(skip_serializing_if = "Option::is_none")]
    modified_nanoseconds: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

impl From<Note> for ExportNote {
    fn from(note: Note) -> Self {
        let known = |file: NoteFile| ExportKnownNote {
            bytes: file.stamp.bytes,
            modified_nanoseconds: file.stamp.modified_nanoseconds,
            is_settled: file.is_settled,
            hash: AsText(file.hash),
            memory: file.memory.map(AsText),
            says_id: file.says_id,
            links: file.links,
            problem: file
                .problem
                .map(|FileProblem { kind, message }| ExportProblem {
                    kind: AsText(kind),
                    message,
                }),
            missing_since: file.missing_since.map(ExportTimestamp),
        };
        let file = |bytes: NoteBytes| match bytes {
            NoteBytes::Beside => ExportFile {
                modified_nanoseconds: None,
                text: None,
                base64: None,
            },
            NoteBytes::Inline(FileCopy {
                bytes,
                modified_nanoseconds,
            }) => {
                let (text, base64) = match String::from_utf8(bytes) {
                    Ok(text) => (Some(text), None),
                    Err(error) => (None, Some(BASE64_STANDARD.encode(error.as_bytes()))),
                };
                ExportFile {
                    modified_nanoseconds: Some(modified_nanoseconds),
                    text,
                    base64,
                }
            }
        };
        ExportNote {
            space: AsText(note.space),
            path: note.path,
            known: note.known.map(|file| known(*file)),
            file: note.file.map(file),
        }
    }
}

impl TryFrom<ExportNote> for Note {
    type Error = &'static str;

    fn try_from(
        ExportNote {
            space: AsText(space),
            path,
            known,
            file,
        }: ExportNote,
    ) -> Result<Self, &'static str> {
        let known = known.map(|known| {
            Box::new(NoteFile {
                path: path.clone(),
                stamp: FileStamp {
                    bytes: known.bytes,
                    modified_nanoseconds: known.modified_nanoseconds,
                },
                is_settled: known.is_settled,
                hash: known.hash.0,
                memory: known.memory.map(|id| id.0),
                says_id: known.says_id,
                links: known.links,
                problem: known.problem.map(|problem| FileProblem {
                    kind: problem.kind.0,
                    message: problem.message,
                }),
                missing_since: known.missing_since.map(|since| since.0),
            })
        });
        let file = file.map(
            |ExportFile {
                 modified_nanoseconds,
                 text,
                 base64,
             }| {
                let bytes = match (text, base64) {
                    (None, None) => return Ok(NoteBytes::Beside),
                    (Some(text), None) => text.into_bytes(),
                    (None, Some(base64)) => BASE64_STANDARD
                        .decode(base64)
                        .map_err(|_| "its `base64` is none")?,
                    (Some(_), Some(_)) => return Err("it has `text` and `base64`"),
                };
                let modified_nanoseconds =
                    modified_nanoseconds.ok_or("its file has no `modified_nanoseconds`")?;
                Ok(NoteBytes::Inline(FileCopy {
                    bytes,
                    modified_nanoseconds,
                }))
            },
        );
        Ok(Note {
            space,
            path,
            known,
            file: file.transpose()?,
        })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportFact {
    pub space: InSpace,
    pub id: String,
    pub subject: ExportName,
    pub predicate: ExportName,
    pub object: ExportName,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_from: Option<ExportPeriod>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_to: Option<ExportPeriod>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    pub created_at: ExportTimestamp,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportName {
    key: String,
    spelling: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportPeriod {
    first: ExportTimestamp,
    last: ExportTimestamp,
}

impl From<Name> for ExportName {
    fn from(Name { key, spelling }: Name) -> Self {
        ExportName { key, spelling }
    }
}

impl From<ExportName> for Name {
    fn from(ExportName { key, spelling }: ExportName) -> Self {
        Name { key, spelling }
    }
}

impl From<Period> for ExportPeriod {
    fn from(Period { first, last }: Period) -> Self {
        ExportPeriod {
            first: ExportTimestamp(first),
            last: ExportTimestamp(last),
        }
    }
}

impl From<ExportPeriod> for Period {
    fn from(ExportPeriod { first, last }: ExportPeriod) -> Self {
        Period {
            first: first.0,
            last: last.0,
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportTunnel {
    pub space: InSpace,
    pub id: String,
    pub source: ExportTunnelEnd,
    pub target: ExportTunnelEnd,
    pub label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    pub is_common: bool,
    pub created_at: ExportTimestamp,
    pub updated_at: ExportTimestamp,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportTunnelEnd {
    #[serde(skip_serializing_if = "Option::is_none")]
    collection: Option<String>,
    section: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<AsText<MemoryId>>,
}

impl From<TunnelEnd> for ExportTunnelEnd {
    fn from(
        TunnelEnd {
            collection,
            section,
            memory,
        }: TunnelEnd,
    ) -> Self {
        ExportTunnelEnd {
            collection,
            section,
            memory: memory.map(AsText),
        }
    }
}

impl From<ExportTunnelEnd> for TunnelEnd {
    fn from(
        ExportTunnelEnd {
            collection,
            section,
            memory,
        }: ExportTunnelEnd,
    ) -> Self {
        TunnelEnd {
            collection,
            section,
            memory: memory.map(|id| id.0),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportSetting {
    pub space: InSpace,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    pub name: String,
    pub value: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportSource {
    pub space: InSpace,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    pub path: String,
    pub root: String,
    pub format: String,
    pub bytes: u64,
    pub modified_nanoseconds: i64,
    pub bytes_read: u64,
    pub hash: AsText<ContentHash>,
    pub parts: u64,
    pub is_pending: bool,
    pub is_whole: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportCachedAnswer {
    pub space: InSpace,
    pub id: AsText<MemoryId>,
    pub owner: String,
    pub query: String,
    pub response: String,
    pub created_at: ExportTimestamp,
    pub expires_at: ExportTimestamp,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportDecision {
    pub space: InSpace,
    pub owner: String,
    pub key: String,
    pub value: String,
    pub created_at: ExportTimestamp,
    pub updated_at: ExportTimestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<ExportTimestamp>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportIdempotentReply {
    pub space: InSpace,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    pub origin: String,
    pub operation: String,
    pub key: String,
    pub request: AsText<ContentHash>,
    pub answer: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memories: Vec<AsText<MemoryId>>,
    pub created_at: ExportTimestamp,
    pub expires_at: ExportTimestamp,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportEnd {
    pub records: Counts,
}
