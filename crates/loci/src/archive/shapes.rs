//! Records as exports write them: their fields under readable names. What is none or empty is left
//! out.

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use loci_core::{
    Access, Citation, CitationKind, ContentHash, Delivery, EnrichmentStatus, FileProblem,
    FileProblemKind, FileStamp, Link, Memory, MemoryId, Name, NoteFile, Period, Place, Relation,
    Space, Thread, Tier, TunnelEnd, Visibility,
};
use loci_vault::FileCopy;
use serde::{Deserialize, Serialize};

use super::words::{Moment, Word};
use super::{Note, NoteBytes};

/// The largest number that is taken where others count on from it, so that nobody comes to the end
/// of numbers.
pub const COUNTED_MAX: u64 = 1 << 62;

/// How many records of each kind there are.
pub type Counts = BTreeMap<String, u64>;

/// A line but the first.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    Memory(Box<MemoryShape>),
    NoteFolder(FolderShape),
    NoteFile(Box<NoteShape>),
    Fact(Box<FactShape>),
    Tunnel(Box<TunnelShape>),
    Setting(SettingShape),
    SourceFile(Box<SourceShape>),
    CacheEntry(CacheShape),
    Decision(DecisionShape),
    KeyedAnswer(Box<AnswerShape>),
    End(EndShape),
}

type InSpace = Word<Space>;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryShape {
    pub space: InSpace,
    pub id: Word<MemoryId>,
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
    pub tier: Word<Tier>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadShape>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Word<MemoryId>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enrichment: Option<Word<EnrichmentStatus>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkShape>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub citations: Vec<CitationShape>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<AccessShape>,
    pub delivery: Word<Delivery>,
    pub origin: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_by: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_admin: bool,
    pub visibility: Word<Visibility>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<Word<MemoryId>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forgotten_at: Option<Moment>,
    pub created_at: Moment,
    pub updated_at: Moment,
    pub revision: u64,
    pub content: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThreadShape {
    name: String,
    position: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkShape {
    target: Word<MemoryId>,
    relation: Word<Relation>,
    /// Wider than it is, so that it is written exactly.
    similarity: f64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CitationShape {
    kind: Word<CitationKind>,
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
pub struct AccessShape {
    count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<Moment>,
}

impl From<&Memory> for MemoryShape {
    fn from(memory: &Memory) -> Self {
        let memory = memory.clone();
        let link = |link: Link| LinkShape {
            target: Word(link.target),
            relation: Word(link.relation),
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
            CitationShape {
                kind: Word(kind),
                reference,
                locator,
                pin,
                excerpt,
            }
        };
        let Access { count, last } = memory.access;
        MemoryShape {
            space: Word(memory.space),
            id: Word(memory.id),
            title: memory.title,
            collection: memory.place.collection,
            section: memory.place.section,
            kind: memory.kind,
            summary: memory.summary,
            tags: memory.tags,
            weight: memory.weight,
            tier: Word(memory.tier),
            thread: memory
                .thread
                .map(|Thread { name, position }| ThreadShape { name, position }),
            source: memory.source.map(Word),
            enrichment: memory.enrichment.map(Word),
            links: memory.links.into_iter().map(link).collect(),
            citations: memory.citations.into_iter().map(citation).collect(),
            attributes: memory.attributes,
            access: (memory.access != Access::default()).then(|| AccessShape {
                count,
                last: last.map(Moment),
            }),
            delivery: Word(memory.delivery),
            origin: memory.origin,
            owner: memory.owner,
            actor: memory.actor,
            updated_by: memory.updated_by,
            by_admin: memory.by_admin,
            visibility: Word(memory.visibility),
            supersedes: memory.supersedes.map(Word),
            expires_at: memory.expires_at.map(Moment),
            forgotten_at: memory.forgotten_at.map(Moment),
            created_at: Moment(memory.created_at),
            updated_at: Moment(memory.updated_at),
            revision: memory.revision,
            content: memory.content,
        }
    }
}

impl TryFrom<MemoryShape> for Memory {
    type Error = &'static str;

    fn try_from(shape: MemoryShape) -> Result<Self, &'static str> {
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
        let link = |link: LinkShape| Link {
            target: link.target.0,
            relation: link.relation.0,
            similarity: link.similarity as f32,
        };
        let citation = |citation: CitationShape| {
            let CitationShape {
                kind: Word(kind),
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
        let access = |access: AccessShape| Access {
            count: access.count,
            last: access.last.map(|last| last.0),
        };
        let memory = Memory {
            space: shape.space.0,
            id: shape.id.0,
            content: shape.content,
            title: shape.title,
            place: Place {
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
                .map(|ThreadShape { name, position }| Thread { name, position }),
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
        // No store keeps others, and infinite ones have no text.
        memory
            .check_numbers()
            .map_err(|_| "a weight is not from 0 to 1, or a similarity not from -1 to 1")?;
        Ok(memory)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FolderShape {
    pub space: InSpace,
    pub identity: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoteShape {
    pub space: InSpace,
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<KnownShape>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FileShape>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownShape {
    bytes: u64,
    modified_nanoseconds: i64,
    is_settled: bool,
    hash: Word<ContentHash>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<Word<MemoryId>>,
    says_id: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    links: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<ProblemShape>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing_since: Option<Moment>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProblemShape {
    kind: Word<FileProblemKind>,
    message: String,
}

/// Neither text nor base64: it is beside the export.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileShape {
    #[serde(skip_serializing_if = "Option::is_none")]
    modified_nanoseconds: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

impl From<Note> for NoteShape {
    fn from(note: Note) -> Self {
        let known = |file: NoteFile| KnownShape {
            bytes: file.stamp.bytes,
            modified_nanoseconds: file.stamp.modified_nanoseconds,
            is_settled: file.is_settled,
            hash: Word(file.hash),
            memory: file.memory.map(Word),
            says_id: file.says_id,
            links: file.links,
            problem: file
                .problem
                .map(|FileProblem { kind, message }| ProblemShape {
                    kind: Word(kind),
                    message,
                }),
            missing_since: file.missing_since.map(Moment),
        };
        let file = |bytes: NoteBytes| match bytes {
            NoteBytes::Beside => FileShape {
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
                FileShape {
                    modified_nanoseconds: Some(modified_nanoseconds),
                    text,
                    base64,
                }
            }
        };
        NoteShape {
            space: Word(note.space),
            path: note.path,
            known: note.known.map(|file| known(*file)),
            file: note.file.map(file),
        }
    }
}

impl TryFrom<NoteShape> for Note {
    type Error = &'static str;

    fn try_from(
        NoteShape {
            space: Word(space),
            path,
            known,
            file,
        }: NoteShape,
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
            |FileShape {
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
pub struct FactShape {
    pub space: InSpace,
    pub id: String,
    pub subject: NameShape,
    pub predicate: NameShape,
    pub object: NameShape,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_from: Option<PeriodShape>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_to: Option<PeriodShape>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    pub created_at: Moment,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NameShape {
    key: String,
    spelling: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeriodShape {
    first: Moment,
    last: Moment,
}

impl From<Name> for NameShape {
    fn from(Name { key, spelling }: Name) -> Self {
        NameShape { key, spelling }
    }
}

impl From<NameShape> for Name {
    fn from(NameShape { key, spelling }: NameShape) -> Self {
        Name { key, spelling }
    }
}

impl From<Period> for PeriodShape {
    fn from(Period { first, last }: Period) -> Self {
        PeriodShape {
            first: Moment(first),
            last: Moment(last),
        }
    }
}

impl From<PeriodShape> for Period {
    fn from(PeriodShape { first, last }: PeriodShape) -> Self {
        Period {
            first: first.0,
            last: last.0,
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TunnelShape {
    pub space: InSpace,
    pub id: String,
    pub source: EndOfTunnel,
    pub target: EndOfTunnel,
    pub label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    pub is_common: bool,
    pub created_at: Moment,
    pub updated_at: Moment,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndOfTunnel {
    #[serde(skip_serializing_if = "Option::is_none")]
    collection: Option<String>,
    section: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<Word<MemoryId>>,
}

impl From<TunnelEnd> for EndOfTunnel {
    fn from(
        TunnelEnd {
            collection,
            section,
            memory,
        }: TunnelEnd,
    ) -> Self {
        EndOfTunnel {
            collection,
            section,
            memory: memory.map(Word),
        }
    }
}

impl From<EndOfTunnel> for TunnelEnd {
    fn from(
        EndOfTunnel {
            collection,
            section,
            memory,
        }: EndOfTunnel,
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
pub struct SettingShape {
    pub space: InSpace,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    pub name: String,
    pub value: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceShape {
    pub space: InSpace,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    pub path: String,
    pub root: String,
    pub format: String,
    pub bytes: u64,
    pub modified_nanoseconds: i64,
    pub bytes_read: u64,
    pub hash: Word<ContentHash>,
    pub parts: u64,
    pub is_pending: bool,
    pub is_whole: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheShape {
    pub space: InSpace,
    pub id: Word<MemoryId>,
    pub owner: String,
    pub query: String,
    pub response: String,
    pub created_at: Moment,
    pub expires_at: Moment,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecisionShape {
    pub space: InSpace,
    pub owner: String,
    pub key: String,
    pub value: String,
    pub created_at: Moment,
    pub updated_at: Moment,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Moment>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerShape {
    pub space: InSpace,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    pub origin: String,
    pub operation: String,
    pub key: String,
    pub request: Word<ContentHash>,
    pub answer: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memories: Vec<Word<MemoryId>>,
    pub created_at: Moment,
    pub expires_at: Moment,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndShape {
    pub records: Counts,
}
