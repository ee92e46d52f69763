//! The assignment of files to memories.

use loci_core::{
    Change, ContentHash, FileProblemKind, FileSnapshot, MemoryId, NoteContent, NoteFile,
};

use super::Reconciliation;
use crate::notes::index::new_id;

/// Minimum bytes of text for which two files with the same content count as one that moved. Shorter
/// texts are empty or the beginning of a template.
const TELLING_BYTES_MIN: usize = 16;

/// The memory of a file, and how it was determined.
#[derive(Debug)]
pub(super) struct Identity {
    pub(super) id: MemoryId,
    /// True if the file itself contains the id.
    pub(super) says_id: bool,
    /// True if it contains the id of another note.
    pub(super) is_duplicate: bool,
    /// True if the memory belonged to another file, which is gone.
    pub(super) is_moved: bool,
    /// Changes of the rows of other files.
    pub(super) others: Vec<Change>,
}

impl Identity {
    fn new(id: MemoryId, says_id: bool) -> Self {
        Identity {
            id,
            says_id,
            is_duplicate: false,
            is_moved: false,
            others: Vec::new(),
        }
    }
}

impl Reconciliation<'_> {
    /// Determines the memory of a file with this content: that of its `uid`, unless another
    /// existing file contains the same one; otherwise its known memory, or that of a file with the
    /// same content that has just gone; otherwise a new one.
    pub(super) fn identify(
        &mut self,
        path: &str,
        content: &NoteContent,
        hash: ContentHash,
    ) -> Identity {
        let own = self.row(path).and_then(|row| row.memory.clone());
        let said = content
            .note
            .id
            .clone()
            .filter(|id| MemoryId::parse("uid", id.as_str()).is_ok());
        let Some(uid) = said else {
            let is_telling = content.note.body.trim().len() >= TELLING_BYTES_MIN;
            return match own {
                Some(own) => Identity::new(own, false),
                None => match self.gone_with(path, hash).filter(|_| is_telling) {
                    Some((other, id)) => self.moved(&other, Identity::new(id, false)),
                    None => Identity::new(new_id(), false),
                },
            };
        };
        let identity = Identity::new(uid, true);
        if own.as_ref() == Some(&identity.id) {
            return identity;
        }
        match self.holders.get(&identity.id).cloned() {
            None => identity,
            Some(other) if !self.is_there(&other) && !self.is_hidden(&other) => {
                self.moved(&other, identity)
            }
            Some(other) if !self.says(&other, &identity.id) => self.displacing(&other, identity),
            Some(_) => Identity {
                is_duplicate: true,
                ..Identity::new(own.unwrap_or_else(new_id), false)
            },
        }
    }

    /// Returns a file with this content that has just gone, with its memory; preferably one of the
    /// same name.
    fn gone_with(&self, path: &str, hash: ContentHash) -> Option<(String, MemoryId)> {
        let name = |path: &str| path.rsplit('/').next().map(str::to_owned);
        let memory = |other: &String| {
            let id = self.row(other)?.memory.clone()?;
            (self.holders.get(&id) == Some(other)).then(|| (other.clone(), id))
        };
        let gone = self.gone.get(&hash)?.iter().filter_map(memory);
        gone.min_by_key(|(other, _)| (name(other) != name(path), other.clone()))
    }

    fn moved(&mut self, other: &str, mut identity: Identity) -> Identity {
        self.after.insert(other.to_owned(), None);
        identity.others.push(Change::DeleteNoteFile {
            path: other.to_owned(),
        });
        identity.is_moved = true;
        identity
    }

    /// Returns true if the other file itself contains this id.
    fn says(&self, other: &str, id: &MemoryId) -> bool {
        let said = self.row(other).is_some_and(|row| row.says_id);
        if !self.waiting.contains(other) {
            return said;
        }
        match self.folder.files.read(other).ok().flatten() {
            Some(FileSnapshot {
                content: Some(content),
                ..
            }) => content.note.id.as_ref() == Some(id),
            Some(FileSnapshot {
                problem: Some(problem),
                ..
            }) if problem.kind != FileProblemKind::Unreadable => false,
            _ => said,
        }
    }

    /// Takes the id from a file that does not contain it; that file gets another one.
    fn displacing(&mut self, other: &str, mut identity: Identity) -> Identity {
        if let Some(row) = self.row(other).cloned() {
            let row = NoteFile {
                memory: None,
                is_settled: false,
                ..row
            };
            self.after.insert(other.to_owned(), Some(row.clone()));
            identity.others.push(Change::PutNoteFile(Box::new(row)));
        }
        if self.is_there(other) && self.waiting.insert(other.to_owned()) {
            self.queue.push_back(other.to_owned());
        }
        identity
    }
}
