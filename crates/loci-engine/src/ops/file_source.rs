//! Filing what was read of a file.

mod filing;

use std::collections::BTreeMap;

pub use loci_core::SOURCE_FILE;
use loci_core::{
    Batch, Caller, Change, Error, MemoryId, Result, SourceFile, Timestamp, Visibility,
};

use crate::{Engine, check};
use filing::Filing;

/// A part of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct SourcePart {
    /// The conversation that it belongs to, or the path of the file.
    pub thread: String,
    /// The order in it, from 0.
    pub position: u64,
    /// The text, byte for byte.
    pub content: String,
    /// Where it is filed in the collection.
    pub section: String,
    /// The kind of its memories.
    pub kind: String,
    /// A title, if it has one.
    pub title: Option<String>,
    /// Further attributes, by name; [`SOURCE_FILE`] is added.
    pub attributes: BTreeMap<String, String>,
    /// When it was said or written; the moment of filing, if none.
    pub created_at: Option<Timestamp>,
}

/// The content that was read of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadSource {
    /// The state of the file now.
    pub file: SourceFile,
    /// The state when it was read; none if the file was new.
    pub before: Option<SourceFile>,
    /// The path that it had before, if it was moved: the memories of that path move along, and the
    /// state of that path is forgotten.
    pub moved_from: Option<String>,
    /// The visibility of the memories that are new. Earlier memories keep their visibility.
    pub visibility: Visibility,
    /// The parts, in the order of the file. Of a [whole](SourceFile::is_whole) one they are all of
    /// it: what was filed from it and is no part of it any more is removed; what was filed is found
    /// by the threads of the parts, and by the path of the file as a thread. Else they go on where
    /// the file was left ([`SourceFile::parts`] counts those before them), or begin again if none
    /// are before them; and a thread is the same in whichever file it is read.
    pub parts: Vec<SourcePart>,
    /// Whether the next call files more of the same reading, of a file that is not whole: what is
    /// known of the file stays what it was until the last one, so that whatever ends the process in
    /// between, it is all read again.
    pub has_more: bool,
}

impl ReadSource {
    /// Whether the parts go on where the file was left.
    fn goes_on(&self) -> bool {
        !self.file.is_whole && self.file.parts > self.parts.len() as u64
    }

    /// # Errors
    /// `invalid_argument` or `too_large` for a part beyond the limits.
    fn check(&self) -> Result<()> {
        let SourceFile {
            collection,
            path,
            root,
            format,
            ..
        } = &self.file;
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

/// The outcome of filing a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SourceFiled {
    /// Parts that are new.
    pub added: u64,
    /// Parts that were there.
    pub kept: u64,
    /// Parts that were there and are gone.
    pub removed: u64,
}

/// The id of a part: which file's, which part, and a number that tells it from others with the same
/// text and section. Of a whole file, that is how many of them are before it; else its position.
/// Where that id is taken (by what stood in a file of that name before, and was moved with it),
/// larger numbers are tried.
pub type SourceId<'a> = &'a dyn Fn(&SourceFile, &SourcePart, u64) -> MemoryId;

impl Engine {
    /// Files what was read: memories of the caller, found by their words at once and by their
    /// meaning when [`embed_pending`](Engine::embed_pending) has come to them. A part whose thread
    /// and text are filed from this file already is the same memory, whatever its position and
    /// section were; one that says the same elsewhere is another. All of it, and what is known of
    /// the file, in one step, unless it is large: then what is known of it last, so that reading it
    /// again adds nothing twice. Durable when it returns; nothing is written if nothing changes.
    ///
    /// # Errors
    /// `conflict` if another process read the file meanwhile (read what is known of it again), or
    /// the caller's data was wiped; `invalid_argument` or `too_large` for a part beyond the limits;
    /// `unavailable` if the store cannot be written.
    pub fn file_source(
        &self,
        caller: &Caller,
        id_of: SourceId<'_>,
        read: ReadSource,
    ) -> Result<SourceFiled> {
        let outcome = self.file_sources(caller, id_of, vec![read])?.pop();
        outcome.unwrap_or_else(|| Err(Error::internal("a file was filed without an outcome")))
    }

    /// The same for several files, small ones together in as few steps as may be, each whole file
    /// in one. Returns what came of each, in their order: one that fails holds up no other.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written: what was filed until then stays.
    pub fn file_sources(
        &self,
        caller: &Caller,
        id_of: SourceId<'_>,
        reads: Vec<ReadSource>,
    ) -> Result<Vec<Result<SourceFiled>>> {
        Filing::new(self, caller, id_of)?.file(&reads)
    }

    /// Returns what [`file_source`](Engine::file_source) would do. Writes nothing.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for a part beyond the limits; `unavailable` if the store
    /// cannot be read.
    pub fn preview_source(
        &self,
        caller: &Caller,
        id_of: SourceId<'_>,
        read: &ReadSource,
    ) -> Result<SourceFiled> {
        read.check()?;
        Ok(Filing::new(self, caller, id_of)?.plan(read, 0)?.filed(read))
    }

    /// Notes what is known of a file now, such as another time; what was filed of it stays as it
    /// is.
    ///
    /// # Errors
    /// `conflict` if another process read the file meanwhile; `unavailable` if the store cannot be
    /// written.
    pub fn note_source(
        &self,
        caller: &Caller,
        before: &SourceFile,
        file: SourceFile,
    ) -> Result<()> {
        let put = Change::PutSourceFile {
            file: Box::new(file),
            expect: Some(Box::new(before.clone())),
        };
        self.store.commit(Batch {
            space: caller.space.clone(),
            changes: vec![put],
        })
    }

    /// Returns the state of a file; none if it was not read into that collection.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn source_file(
        &self,
        caller: &Caller,
        collection: Option<&str>,
        path: &str,
    ) -> Result<Option<SourceFile>> {
        self.store.source_file(&caller.space, collection, path)
    }

    /// Returns the states of a file in all collections that it was read into, the global one first,
    /// then in their order.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn sources_at(&self, caller: &Caller, path: &str) -> Result<Vec<SourceFile>> {
        self.store.sources_at(&caller.space, path)
    }

    /// All files that were read into a collection, by path.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn source_files(
        &self,
        caller: &Caller,
        collection: Option<&str>,
    ) -> Result<Vec<SourceFile>> {
        self.store.source_files(&caller.space, collection)
    }

    /// Files of which there is more to read, at most `limit`.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn pending_sources(&self, caller: &Caller, limit: usize) -> Result<Vec<SourceFile>> {
        self.store.pending_sources(&caller.space, limit)
    }
}
