//! Converts lines of an export to records and back.

use loci_core::{
    Archived, CacheEntry, Decision, Fact, FileStamp, IdempotentReply, Memory, Record, SourceFile,
    Tunnel,
};

use super::shapes::{
    ExportCachedAnswer, ExportDecision, ExportFact, ExportFolder, ExportIdempotentReply,
    ExportMemory, ExportSetting, ExportSource, ExportTunnel, Line,
};
use super::words::{AsText, ExportTimestamp};
use super::{Entry, Note};

impl Line {
    /// Returns the kind, as the line names it.
    pub fn kind(&self) -> &'static str {
        match self {
            Line::Memory(_) => "memory",
            Line::NoteFolder(_) => "note_folder",
            Line::NoteFile(_) => "note_file",
            Line::Fact(_) => "fact",
            Line::Tunnel(_) => "tunnel",
            Line::Setting(_) => "setting",
            Line::SourceFile(_) => "source_file",
            Line::CacheEntry(_) => "cache_entry",
            Line::Decision(_) => "decision",
            Line::KeyedAnswer(_) => "keyed_answer",
            Line::End(_) => "end",
        }
    }
}

impl From<&Archived> for Line {
    fn from(Archived { space, record }: &Archived) -> Self {
        let space = AsText(space.clone());
        match record.clone() {
            Record::Memory(memory) => Line::Memory(Box::new(ExportMemory::from(&*memory))),
            Record::NoteFolder(identity) => Line::NoteFolder(ExportFolder { space, identity }),
            Record::NoteFile(file) => {
                let note = Note {
                    space: space.0,
                    path: file.path.clone(),
                    known: Some(file),
                    file: None,
                };
                Line::NoteFile(Box::new(note.into()))
            }
            Record::Fact(fact) => Line::Fact(Box::new((*fact).into())),
            Record::Tunnel(tunnel) => Line::Tunnel(Box::new((*tunnel).into())),
            Record::Setting { owner, name, value } => Line::Setting(ExportSetting {
                space,
                owner,
                name,
                value,
            }),
            Record::SourceFile(file) => {
                let SourceFile {
                    collection,
                    path,
                    root,
                    format,
                    stamp,
                    bytes_read,
                    hash,
                    parts,
                    is_pending,
                    is_whole,
                } = *file;
                let FileStamp {
                    bytes,
                    modified_nanoseconds,
                } = stamp;
                let hash = AsText(hash);
                Line::SourceFile(Box::new(ExportSource {
                    space,
                    collection,
                    path,
                    root,
                    format,
                    bytes,
                    modified_nanoseconds,
                    bytes_read,
                    hash,
                    parts,
                    is_pending,
                    is_whole,
                }))
            }
            Record::CacheEntry(entry) => {
                let CacheEntry {
                    space: _,
                    id,
                    owner,
                    query,
                    response,
                    vector: _,
                    created_at,
                    expires_at,
                } = *entry;
                let (created_at, expires_at) =
                    (ExportTimestamp(created_at), ExportTimestamp(expires_at));
                Line::CacheEntry(ExportCachedAnswer {
                    space,
                    id: AsText(id),
                    owner,
                    query,
                    response,
                    created_at,
                    expires_at,
                })
            }
            Record::Decision(decision) => {
                let Decision {
                    space: _,
                    owner,
                    key,
                    value,
                    created_at,
                    updated_at,
                    expires_at,
                } = *decision;
                let (created_at, updated_at) =
                    (ExportTimestamp(created_at), ExportTimestamp(updated_at));
                let expires_at = expires_at.map(ExportTimestamp);
                Line::Decision(ExportDecision {
                    space,
                    owner,
                    key,
                    value,
                    created_at,
                    updated_at,
                    expires_at,
                })
            }
            Record::KeyedAnswer(kept) => Line::KeyedAnswer(Box::new((*kept).into())),
        }
    }
}

impl From<IdempotentReply> for ExportIdempotentReply {
    fn from(kept: IdempotentReply) -> Self {
        ExportIdempotentReply {
            space: AsText(kept.space),
            owner: kept.owner,
            origin: kept.origin,
            operation: kept.operation,
            key: kept.key,
            request: AsText(kept.request),
            answer: kept.answer,
            memories: kept.memories.into_iter().map(AsText).collect(),
            created_at: ExportTimestamp(kept.created_at),
            expires_at: ExportTimestamp(kept.expires_at),
        }
    }
}

impl From<Fact> for ExportFact {
    fn from(fact: Fact) -> Self {
        ExportFact {
            space: AsText(fact.space),
            id: fact.id,
            subject: fact.subject.into(),
            predicate: fact.predicate.into(),
            object: fact.object.into(),
            valid_from: fact.valid_from.map(Into::into),
            valid_to: fact.valid_to.map(Into::into),
            source: fact.source,
            created_at: ExportTimestamp(fact.created_at),
        }
    }
}

impl From<Tunnel> for ExportTunnel {
    fn from(tunnel: Tunnel) -> Self {
        ExportTunnel {
            space: AsText(tunnel.space),
            id: tunnel.id,
            source: tunnel.source.into(),
            target: tunnel.target.into(),
            label: tunnel.label,
            owner: tunnel.owner,
            is_common: tunnel.is_common,
            created_at: ExportTimestamp(tunnel.created_at),
            updated_at: ExportTimestamp(tunnel.updated_at),
        }
    }
}

impl TryFrom<Line> for Entry {
    type Error = &'static str;

    fn try_from(line: Line) -> Result<Self, &'static str> {
        let (space, record) = match line {
            Line::Memory(shape) => {
                let memory = Memory::try_from(*shape)?;
                (memory.space.clone(), Record::Memory(Box::new(memory)))
            }
            Line::NoteFolder(ExportFolder { space, identity }) => {
                (space.0, Record::NoteFolder(identity))
            }
            Line::NoteFile(shape) => return Note::try_from(*shape).map(Entry::Note),
            Line::Fact(shape) => (shape.space.0.clone(), Record::Fact(Box::new(fact(*shape)))),
            Line::Tunnel(shape) => (
                shape.space.0.clone(),
                Record::Tunnel(Box::new(tunnel(*shape))),
            ),
            Line::Setting(ExportSetting {
                space,
                owner,
                name,
                value,
            }) => (space.0, Record::Setting { owner, name, value }),
            Line::SourceFile(shape) => (
                shape.space.0.clone(),
                Record::SourceFile(Box::new(source_file(*shape))),
            ),
            Line::CacheEntry(ExportCachedAnswer {
                space,
                id,
                owner,
                query,
                response,
                created_at,
                expires_at,
            }) => {
                let (created_at, expires_at) = (created_at.0, expires_at.0);
                let space = space.0;
                let entry = CacheEntry {
                    space,
                    id: id.0,
                    owner,
                    query,
                    response,
                    vector: None,
                    created_at,
                    expires_at,
                };
                (entry.space.clone(), Record::CacheEntry(Box::new(entry)))
            }
            Line::Decision(ExportDecision {
                space,
                owner,
                key,
                value,
                created_at,
                updated_at,
                expires_at,
            }) => {
                let (created_at, updated_at) = (created_at.0, updated_at.0);
                let (space, expires_at) = (space.0, expires_at.map(|at| at.0));
                let decision = Decision {
                    space,
                    owner,
                    key,
                    value,
                    created_at,
                    updated_at,
                    expires_at,
                };
                (decision.space.clone(), Record::Decision(Box::new(decision)))
            }
            Line::KeyedAnswer(shape) => (
                shape.space.0.clone(),
                Record::KeyedAnswer(Box::new(keyed_answer(*shape))),
            ),
            Line::End(end) => return Ok(Entry::End(end.records)),
        };
        Ok(Entry::Record(Archived { space, record }))
    }
}

fn fact(shape: ExportFact) -> Fact {
    Fact {
        space: shape.space.0,
        id: shape.id,
        subject: shape.subject.into(),
        predicate: shape.predicate.into(),
        object: shape.object.into(),
        valid_from: shape.valid_from.map(Into::into),
        valid_to: shape.valid_to.map(Into::into),
        source: shape.source,
        created_at: shape.created_at.0,
    }
}

fn tunnel(shape: ExportTunnel) -> Tunnel {
    Tunnel {
        space: shape.space.0,
        id: shape.id,
        source: shape.source.into(),
        target: shape.target.into(),
        label: shape.label,
        owner: shape.owner,
        is_common: shape.is_common,
        created_at: shape.created_at.0,
        updated_at: shape.updated_at.0,
    }
}

fn source_file(shape: ExportSource) -> SourceFile {
    SourceFile {
        collection: shape.collection,
        path: shape.path,
        root: shape.root,
        format: shape.format,
        stamp: FileStamp {
            bytes: shape.bytes,
            modified_nanoseconds: shape.modified_nanoseconds,
        },
        bytes_read: shape.bytes_read,
        hash: shape.hash.0,
        parts: shape.parts,
        is_pending: shape.is_pending,
        is_whole: shape.is_whole,
    }
}

fn keyed_answer(shape: ExportIdempotentReply) -> IdempotentReply {
    IdempotentReply {
        space: shape.space.0,
        owner: shape.owner,
        origin: shape.origin,
        operation: shape.operation,
        key: shape.key,
        request: shape.request.0,
        answer: shape.answer,
        memories: shape.memories.into_iter().map(|id| id.0).collect(),
        created_at: shape.created_at.0,
        expires_at: shape.expires_at.0,
    }
}
