//! Filing the parts that were read from a source file.

mod filing;
mod plan;

use std::collections::{BTreeMap, HashSet};

use loci_core::{
    Batch, Change, CollectionFilter, Error, Filter, Forgotten, Memory, MemoryId, Page, Result,
    SOURCE_MACHINE, SourceFile, Timestamp, Visibility,
};

use crate::check;
use crate::sources::Sources;
use filing::SourceFiler;

pub use loci_core::SOURCE_FILE;

/// A part of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct SourcePart {
    /// The conversation that it belongs to, or the [thread](SourceFile::thread) of the file.
    pub thread: String,
    /// Its position in the thread, from 0.
    pub position: u64,
    /// The text, byte for byte.
    pub content: String,
    /// The section in which it is filed.
    pub section: String,
    /// The kind of the memory.
    pub kind: String,
    /// The title, if it has one.
    pub title: Option<String>,
    /// Its other attributes; [`SOURCE_FILE`] and [`SOURCE_MACHINE`] are
    /// added.
    pub attributes: BTreeMap<String, String>,
    /// The time at which it was said or written; the time of filing if `None`.
    pub created_at: Option<Timestamp>,
}

/// The result of reading a file.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadSource {
    /// The new state of the file.
    pub file: SourceFile,
    /// The state when the file was read; `None` if there was no state.
    pub before: Option<SourceFile>,
    /// The path that it had before, if it was moved: the memories filed from that path move along,
    /// and its state is removed.
    pub moved_from: Option<String>,
    /// The visibility of new memories. Memories filed before keep theirs.
    pub visibility: Visibility,
    /// The parts, in the order of the file. If the file is [whole](SourceFile::is_whole), they are
    /// all of its parts: memories that were filed from it and match no part any more are removed.
    /// These are found by the threads of the parts, and by the [thread](SourceFile::thread) of the
    /// file.
    /// Otherwise the parts continue where reading stopped ([`SourceFile::parts`] counts those
    /// before them), or start again if none precede them, and a thread is the same in whichever
    /// file it is read.
    pub parts: Vec<SourcePart>,
    /// True if the next call files more of the same reading, of a file that is not whole: the state
    /// of the file stays as it is until the last call, so that if the process ends in between, the
    /// whole reading is repeated.
    pub has_more: bool,
}

impl ReadSource {
    /// Returns true if the parts continue where reading stopped.
    fn goes_on(&self) -> bool {
        !self.file.is_whole && self.file.parts > self.parts.len() as u64
    }

    /// Returns the thread that the file had before it was moved; `None` if it was not moved.
    fn thread_before(&self) -> Option<String> {
        let path = self.moved_from.as_ref()?;
        Some(SourceFile::thread_of(&self.file.machine, path))
    }

    /// # Errors
    /// `invalid_argument` or `too_large` for a part beyond the limits, `invalid_argument` for a
    /// file of another machine than this one.
    fn check(&self, this_machine: &str) -> Result<()> {
        let SourceFile {
            machine,
            collection,
            path,
            root,
            format,
            ..
        } = &self.file;
        if machine != this_machine {
            return Err(Error::invalid(
                "machine",
                "must be the machine that reads the file",
            ));
        }
        collection
            .as_deref()
            .map_or(Ok(()), |collection| check::name("collection", collection))?;
        [("path", path), ("root", root)]
            .into_iter()
            .try_for_each(|(name, path)| check::reference(name, path))?;
        check::name("format", format)?;
        for (index, part) in self.parts.iter().enumerate() {
            let SourcePart {
                thread,
                position: _,
                content,
                section,
                kind,
                title,
                attributes,
                created_at: _,
            } = part;
            let named = |name: &str| format!("parts.{index}.{name}");
            check::content(&named("content"), content)?;
            check::reference(&named("thread"), thread)?;
            let names = [
                ("section", Some(section)),
                ("kind", Some(kind)),
                ("title", title.as_ref()),
            ];
            for (name, value) in names
                .into_iter()
                .filter_map(|(name, value)| Some((name, value?)))
            {
                check::name(&named(name), value)?;
            }
            attributes
                .iter()
                .try_for_each(|(name, value)| check::reference(&named(name), value))?;
        }
        Ok(())
    }
}

/// The result of filing a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SourceCounts {
    /// New parts.
    pub added: u64,
    /// Parts that were filed before.
    pub kept: u64,
    /// Parts that were filed before and are removed.
    pub removed: u64,
    /// Parts that are not filed, because their texts were forgotten.
    pub forgotten: u64,
}

/// Makes the id of a part from its file, the part, and a number that distinguishes it from others
/// with the same text and section: in a whole file, the count of those before it; otherwise its
/// position. If that id is taken (by a memory of an earlier file of that name, which moved with the
/// file), larger numbers are tried.
pub type SourceId<'a> = &'a dyn Fn(&SourceFile, &SourcePart, u64) -> MemoryId;

impl Sources<'_> {
    /// Files the parts of a file as memories of the caller, which words find at once and meaning
    /// finds after [`embed_pending`](crate::Background::embed_pending) has embedded them. A part
    /// whose thread and text were filed from this file before is the same memory, whatever its
    /// position and section were; a part with the same text elsewhere is another one. A text that
    /// was forgotten is not filed, except by [`again`](crate::Sources::again). Commits
    /// everything, with the state of the file, in one transaction. A large file takes several, with
    /// the state in the last, so that reading it again adds no duplicate. Durable when it returns;
    /// writes nothing if nothing changes.
    ///
    /// # Errors
    /// `conflict` if another process read the file since (read its state again), or the caller's
    /// data was wiped; `invalid_argument` or `too_large` for a part beyond the limits;
    /// `unavailable` if the store cannot be written.
    pub fn file_source(&self, id_of: SourceId<'_>, read: ReadSource) -> Result<SourceCounts> {
        let outcome = self.file_sources(id_of, vec![read])?.pop();
        outcome.unwrap_or_else(|| Err(Error::internal("a file was filed without an outcome")))
    }

    /// Files several files like [`file_source`](crate::Sources::file_source), small ones together
    /// in as few transactions as possible, each whole file in one. Returns the result of each, in
    /// order; a file that fails does not stop the others.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written; the files filed until then stay.
    pub fn file_sources(
        &self,
        id_of: SourceId<'_>,
        reads: Vec<ReadSource>,
    ) -> Result<Vec<Result<SourceCounts>>> {
        SourceFiler::new(self, id_of)?.file(&reads)
    }

    /// Returns the result that [`file_source`](crate::Sources::file_source) would have. Writes
    /// nothing.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for a part beyond the limits; `unavailable` if the store
    /// cannot be read.
    pub fn preview_source(&self, id_of: SourceId<'_>, read: &ReadSource) -> Result<SourceCounts> {
        read.check(self.machine)?;
        Ok(SourceFiler::new(self, id_of)?.plan(read, 0)?.filed(read))
    }

    /// Returns the ids of memories that the caller may read, forgotten ones too.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn known_ids(&self, ids: &[MemoryId]) -> Result<HashSet<MemoryId>> {
        let filter = Filter {
            forgotten: Forgotten::Show,
            ..self.access.filter(CollectionFilter::Any)
        };
        let known = self.store.locations_of(&filter, ids)?;
        Ok(known.into_iter().map(|(id, _)| id).collect())
    }

    /// Returns the texts that were filed from other files in the thread of a file, in whichever collection,
    /// forgotten ones too.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn said_elsewhere(&self, file: &SourceFile, thread: &str) -> Result<Vec<String>> {
        let filter = Filter {
            thread: Some(thread.to_owned()),
            forgotten: Forgotten::Show,
            ..self.access.filter(CollectionFilter::Any)
        };
        let all = Page {
            offset: 0,
            limit: usize::MAX,
        };
        let is_of = |memory: &Memory| {
            let machine = memory.attributes.get(SOURCE_MACHINE);
            memory.attributes.get(SOURCE_FILE) == Some(&file.path)
                && machine.map_or("", String::as_str) == file.machine
        };
        let said = self.store.list(&filter, all)?.into_iter();
        Ok(said
            .filter(|memory| !is_of(memory))
            .map(|memory| memory.content)
            .collect())
    }

    /// Records the new state of a file, e.g. another modification time; its memories stay as they
    /// are.
    ///
    /// # Errors
    /// `conflict` if another process read the file since; `unavailable` if the store cannot be
    /// written.
    pub fn note_source(&self, before: &SourceFile, file: SourceFile) -> Result<()> {
        let put = Change::PutSourceFile {
            file: Box::new(file),
            expect: Some(Box::new(before.clone())),
        };
        self.store
            .commit(Batch::new(self.caller.space.clone(), vec![put]))
    }

    /// Returns the state of a file; `None` if it was not read into that collection.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn source_file(&self, collection: Option<&str>, path: &str) -> Result<Option<SourceFile>> {
        self.store
            .source_file(&self.caller.space, self.machine, collection, path)
    }

    /// Returns the state of a file in every collection, the global one first, then in the order of
    /// collections.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn sources_at(&self, path: &str) -> Result<Vec<SourceFile>> {
        self.store
            .sources_at(&self.caller.space, self.machine, path)
    }

    /// Returns all files that were read into a collection, by path.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn source_files(&self, collection: Option<&str>) -> Result<Vec<SourceFile>> {
        self.store
            .source_files(&self.caller.space, self.machine, collection)
    }

    /// Returns at most `limit` files that have more to read.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn pending_sources(&self, limit: usize) -> Result<Vec<SourceFile>> {
        self.store
            .pending_sources(&self.caller.space, self.machine, limit)
    }
}
