//! Converts lines of an export to records and back.

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use loci_core::{Archived, ContentHash, FileStamp, Memory, Record, SourceFile, Space, Tombstone};

use super::shapes::{
    ExportFolder, ExportMemory, ExportSetting, ExportSource, ExportTombstone, Line,
};
use super::{Entry, Note};
use crate::entry_problem::ValueProblem;

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
            Line::IdempotentReply(_) => "keyed_answer",
            Line::Tombstone(_) => "tombstone",
            Line::End(_) => "end",
        }
    }
}

impl From<&Archived> for Line {
    fn from(Archived { space, record }: &Archived) -> Self {
        let space = space.clone();
        match record.clone() {
            Record::Memory(memory) => Line::Memory(Box::new(ExportMemory::from(&*memory))),
            Record::NoteFolder(identity) => Line::NoteFolder(ExportFolder { space, identity }),
            Record::NoteFile(file) => {
                let note = Note {
                    space,
                    path: file.path.clone(),
                    known: Some(file),
                    file: None,
                };
                Line::NoteFile(Box::new(note.into()))
            }
            Record::Fact(fact) => Line::Fact(fact),
            Record::Tunnel(tunnel) => Line::Tunnel(tunnel),
            Record::Setting { owner, name, value } => Line::Setting(ExportSetting {
                space,
                owner,
                name,
                value,
            }),
            Record::SourceFile(file) => Line::SourceFile(Box::new(ExportSource::of(space, *file))),
            Record::CacheEntry(entry) => Line::CacheEntry(entry),
            Record::Decision(decision) => Line::Decision(decision),
            Record::IdempotentReply(reply) => Line::IdempotentReply(reply),
            Record::Tombstone(tombstone) => Line::Tombstone(ExportTombstone::of(space, &tombstone)),
        }
    }
}

impl TryFrom<Line> for Entry {
    type Error = ValueProblem;

    fn try_from(line: Line) -> Result<Self, ValueProblem> {
        let (space, record) = match line {
            Line::Memory(shape) => {
                let memory = Memory::try_from(*shape)?;
                (memory.space.clone(), Record::Memory(Box::new(memory)))
            }
            Line::NoteFolder(ExportFolder { space, identity }) => {
                (space, Record::NoteFolder(identity))
            }
            Line::NoteFile(shape) => return Note::try_from(*shape).map(Entry::Note),
            Line::Fact(fact) => (fact.space.clone(), Record::Fact(fact)),
            Line::Tunnel(tunnel) => (tunnel.space.clone(), Record::Tunnel(tunnel)),
            Line::Setting(ExportSetting {
                space,
                owner,
                name,
                value,
            }) => (space, Record::Setting { owner, name, value }),
            Line::SourceFile(shape) => {
                let (space, file) = shape.into_parts();
                (space, Record::SourceFile(Box::new(file)))
            }
            Line::CacheEntry(entry) => (entry.space.clone(), Record::CacheEntry(entry)),
            Line::Decision(decision) => (decision.space.clone(), Record::Decision(decision)),
            Line::IdempotentReply(reply) => (reply.space.clone(), Record::IdempotentReply(reply)),
            Line::Tombstone(shape) => {
                let (space, tombstone) = shape.into_parts()?;
                (space, Record::Tombstone(Box::new(tombstone)))
            }
            Line::End(end) => return Ok(Entry::End(end.records)),
        };
        Ok(Entry::Record(Archived { space, record }))
    }
}

impl ExportSource {
    fn of(space: Space, file: SourceFile) -> Self {
        ExportSource {
            space,
            machine: file.machine,
            collection: file.collection,
            path: file.path,
            root: file.root,
            format: file.format,
            bytes: file.stamp.bytes,
            modified_nanoseconds: file.stamp.modified_nanoseconds,
            bytes_read: file.bytes_read,
            hash: file.hash,
            parts: file.parts,
            is_pending: file.is_pending,
            is_whole: file.is_whole,
        }
    }

    fn into_parts(self) -> (Space, SourceFile) {
        let file = SourceFile {
            machine: self.machine,
            collection: self.collection,
            path: self.path,
            root: self.root,
            format: self.format,
            stamp: FileStamp {
                bytes: self.bytes,
                modified_nanoseconds: self.modified_nanoseconds,
            },
            bytes_read: self.bytes_read,
            hash: self.hash,
            parts: self.parts,
            is_pending: self.is_pending,
            is_whole: self.is_whole,
        };
        (self.space, file)
    }
}

impl ExportTombstone {
    fn of(space: Space, tombstone: &Tombstone) -> Self {
        ExportTombstone {
            space,
            salt: HEXLOWER.encode(&tombstone.salt),
            text: ContentHash(tombstone.text),
            memory: ContentHash(tombstone.memory),
            source: tombstone.source.map(ContentHash),
            forgotten_at: tombstone.forgotten_at,
            is_removed: tombstone.is_removed,
        }
    }

    fn into_parts(self) -> Result<(Space, Tombstone), ValueProblem> {
        let salt = HEXLOWER_PERMISSIVE.decode(self.salt.as_bytes()).ok();
        let salt = salt.and_then(|salt| salt.try_into().ok());
        let tombstone = Tombstone {
            salt: salt.ok_or("its salt is no 32 hexadecimal digits")?,
            text: self.text.0,
            memory: self.memory.0,
            source: self.source.map(|source| source.0),
            forgotten_at: self.forgotten_at,
            is_removed: self.is_removed,
        };
        Ok((self.space, tombstone))
    }
}
