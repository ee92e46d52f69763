//! Lifting tombstones, so that texts that were removed for good may be filed again.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use loci_core::{
    Change, ContentHash, Error, ErrorCode, FileStamp, KeyedHash, MemoryId, Record, Result, Salt,
    Scope, SourceFile, Tombstone,
};

use crate::memories::Memories;
use crate::memories::forget_where::ForgetConditions;
use crate::tombstones::{PART, hash_of_id, hash_of_source};

/// A stamp that no file has.
const NEVER: FileStamp = FileStamp {
    bytes: 0,
    modified_nanoseconds: i64::MIN,
};

/// The result of lifting tombstones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LiftReport {
    /// The memories whose texts may be filed again.
    pub memories: u64,
    /// The files of this machine that they were made from, which are read again by the next reading
    /// of their folders.
    pub files: u64,
}

impl Memories<'_> {
    /// Lifts what holds against the text of a memory that had this id and was removed for good. The
    /// text does not come back by that, but may: the file that it came from is read again. Durable
    /// when it returns.
    ///
    /// # Errors
    /// `forbidden` without the scope `admin`; `not_found` if nothing with this id was forgotten;
    /// `unavailable` if the store cannot be written.
    pub fn lift(&self, id: &MemoryId) -> Result<LiftReport> {
        let salts = self.tombstones.salts(&self.caller.space)?;
        let ids: Vec<KeyedHash> = salts.iter().map(|salt| hash_of_id(salt, id)).collect();
        let lifted = self.lift_those(|tombstone| ids.contains(&tombstone.memory))?;
        if lifted.memories == 0 {
            return Err(Error::not_found(format!(
                "nothing with the id {id} was forgotten here"
            )));
        }
        Ok(lifted)
    }

    /// Lifts what holds against the texts of all memories that were removed for good and match.
    /// Tombstones know only files and times: a condition on sections, tags, a conversation or the time
    /// of storing matches none, and one on collections matches the tombstones of files that were read into
    /// them.
    ///
    /// # Errors
    /// `forbidden` without the scope `admin`; `unavailable` if the store cannot be written.
    pub fn lift_where(&self, which: &ForgetConditions) -> Result<LiftReport> {
        let ForgetConditions {
            collections,
            sections,
            tags,
            source,
            conversation,
            created_before,
            forgotten_from,
        } = which;
        let is_unknown = !sections.is_empty() || !tags.is_empty() || conversation.is_some();
        if is_unknown || created_before.is_some() {
            return Ok(LiftReport::default());
        }
        let salts = self.tombstones.salts(&self.caller.space)?;
        let sources: Option<HashSet<KeyedHash>> = if collections.is_none() && source.is_none() {
            None
        } else {
            let is_meant = |file: &SourceFile| {
                let collection = file.collection.as_deref();
                collections.as_ref().is_none_or(|it| it.admits(collection))
                    && source
                        .as_ref()
                        .is_none_or(|source| Path::new(&file.path).starts_with(source))
            };
            let files = self.source_files()?;
            let mut paths: Vec<String> = files
                .into_iter()
                .filter(is_meant)
                .map(|file| file.path)
                .collect();
            if collections.is_none() {
                paths.extend(source.clone());
            }
            let mut hashes = HashSet::new();
            for salt in &salts {
                for path in &paths {
                    hashes.extend(self.hashes_of_file(*salt, path));
                }
            }
            Some(hashes)
        };
        self.lift_those(|tombstone| {
            tombstone.is_removed
                // Neither a wipe nor the mark of a file.
                && tombstone.memory != tombstone.text
                && forgotten_from.is_none_or(|from| tombstone.forgotten_at >= from)
                && sources
                    .as_ref()
                    .is_none_or(|sources| tombstone.source.is_some_and(|it| sources.contains(&it)))
        })
    }

    /// Lifts the tombstones that match, with all others of the same texts, and has the files that
    /// the texts came from read again.
    fn lift_those(&self, mut matches: impl FnMut(&Tombstone) -> bool) -> Result<LiftReport> {
        if !self.caller.principal.scopes.allow(Scope::Admin) {
            let message = "only an `admin` brings back what was removed for good";
            return Err(Error::new(ErrorCode::Forbidden, message));
        }
        let salts = self.tombstones.salts(&self.caller.space)?;
        let mut texts: BTreeSet<KeyedHash> = BTreeSet::new();
        self.tombstones.each(&self.caller.space, |tombstone| {
            if matches(tombstone) {
                texts.insert(tombstone.text);
            }
        })?;
        if texts.is_empty() {
            return Ok(LiftReport::default());
        }
        let (mut memories, mut sources) = (HashSet::new(), HashSet::new());
        self.tombstones.each(&self.caller.space, |tombstone| {
            if texts.contains(&tombstone.text) {
                memories.insert(tombstone.memory);
                sources.extend(tombstone.source);
            }
        })?;
        // The other remains of these memories: their lines, and their texts for other owners.
        self.tombstones.each(&self.caller.space, |tombstone| {
            if memories.contains(&tombstone.memory) {
                texts.insert(tombstone.text);
            }
        })?;
        let files = self.source_files()?;
        let texts: Vec<KeyedHash> = texts.into_iter().collect();
        for part in texts.chunks(PART) {
            let texts = part.to_vec();
            self.access
                .commit(vec![Change::DeleteTombstones { texts }])?;
        }
        Ok(LiftReport {
            memories: memories.len() as u64,
            files: self.read_anew(files, &salts, &sources)?,
        })
    }

    /// Has the files that have one of these hashes read again; returns their number.
    fn read_anew(
        &self,
        files: Vec<SourceFile>,
        salts: &[Salt],
        sources: &HashSet<KeyedHash>,
    ) -> Result<u64> {
        let mut count = 0;
        for file in files {
            let is_meant = salts.iter().any(|salt| {
                let hashes = self.hashes_of_file(*salt, &file.path);
                hashes.iter().any(|hash| sources.contains(hash))
            });
            if !is_meant {
                continue;
            }
            let hash = ContentHash([0; 32]);
            let (bytes_read, parts) = if file.is_whole {
                (file.bytes_read, file.parts)
            } else {
                (0, 0)
            };
            let anew = SourceFile {
                stamp: NEVER,
                bytes_read,
                hash,
                parts,
                ..file.clone()
            };
            let put = Change::PutSourceFile {
                file: Box::new(anew),
                expect: Some(Box::new(file)),
            };
            match self.access.commit(vec![put]) {
                // Another process reads it just now.
                Err(error) if error.code == ErrorCode::Conflict => {}
                outcome => {
                    outcome?;
                    count += 1;
                }
            }
        }
        Ok(count)
    }

    /// Returns the hashes that a file of this machine may have. A store that was moved to a server
    /// has tombstones of files without a machine.
    fn hashes_of_file(&self, salt: Salt, path: &str) -> [KeyedHash; 2] {
        [self.machine, ""].map(|machine| hash_of_source(&salt, machine, path))
    }

    /// Returns the files of this machine in all collections, also in collections that have no
    /// memory any more. Reads all of the store, which no caller of a tool waits for.
    fn source_files(&self) -> Result<Vec<SourceFile>> {
        let mut files = Vec::new();
        self.store.archive(self.clock.now(), &mut |archived| {
            if let Record::SourceFile(file) = archived.record
                && archived.space == self.caller.space
                && file.machine == self.machine
            {
                files.push(*file);
            }
            Ok(())
        })?;
        Ok(files)
    }
}
