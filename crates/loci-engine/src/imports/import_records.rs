//! Imports the records of an archive.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use loci_core::{
    Archived, Batch, CacheEntry, Change, EnrichmentStatus, Error, ErrorCode, Expect, Fact,
    FactQuery, Filter, KeyedHash, Memory, MemoryId, NoteFile, Principal, Reader, Record,
    RecordVerb, Result, SOURCE_FILE, SourceFile, Space, Timestamp, Tunnel, limits,
};
use loci_text::indexed;

use crate::authors::{hold_orders, is_to_wait};
use crate::check;
use crate::engine::SearchMode;
use crate::imports::Imports;
use crate::imports::stored_vectors::StoredVectors;
use crate::memories::remember::named_collection;
use crate::notes::in_parallel;
use crate::sources::machine::note_machine;
use crate::wakeup::catch_panic;

/// The result of an import over all its calls; durable when a call returns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImportReport {
    /// Records that were stored.
    pub stored: u64,
    /// Records that were skipped because their id or key exists already.
    pub present: u64,
    /// Records that were skipped because they were forgotten or wiped here.
    pub forgotten: u64,
    /// Records that could not be stored, each with its index in the slice of its call, from 0, and
    /// the reason. The caller takes them out.
    pub refused: Vec<(usize, Error)>,
    /// Paths of note files that belong to other memories here than the records say, and keep them.
    /// The caller takes them out.
    pub others: Vec<String>,
    /// True if the model is not asked to embed the questions of cached answers, which only the same
    /// words then find for as long as they are kept. Set when the model first fails at a question.
    pub by_words_alone: bool,
    /// True if nothing is stored, and `stored` counts what would be. Only a commit finds some of the
    /// reasons to refuse a record, so that a dry run may refuse fewer.
    pub is_dry_run: bool,
    /// The version of each space before its first records were read.
    since: BTreeMap<Space, u64>,
}

/// The existing ids and keys, for the kinds of records that are read all at once.
#[derive(Default)]
struct ExistingRecords {
    memories: HashSet<(Space, MemoryId)>,
    tunnels: HashMap<Space, HashSet<String>>,
    /// By their paths.
    note_files: HashMap<Space, HashMap<String, NoteFile>>,
    cached: HashMap<(Space, String), HashSet<MemoryId>>,
    /// By the hashes of text and id.
    tombstones: HashSet<(Space, KeyedHash, KeyedHash)>,
}

impl ExistingRecords {
    /// Returns the path of a note whose file belongs to another memory here.
    fn other_note(&self, archived: &Archived) -> Option<String> {
        let Record::NoteFile(file) = &archived.record else {
            return None;
        };
        let row = self.note_files.get(&archived.space)?.get(&file.path)?;
        let memories = [row, &**file].map(|file| {
            file.memory
                .as_ref()
                .filter(|_| file.missing_since.is_none())
        });
        matches!(memories, [Some(here), Some(said)] if here != said).then(|| row.path.clone())
    }
}

/// Returns a filter for every memory of a space, expired and forgotten ones included.
fn everything(space: &Space) -> Filter {
    Filter::of(space.clone(), Reader::everything(), Timestamp::MIN)
}

impl Imports<'_> {
    /// Stores records of any space unchanged, with their ids, times, owners and revisions, in order
    /// and in as few transactions as possible. Existing records stay as they are; a record that
    /// exceeds the limits or cannot be stored is added to `brought`, and the import continues. A
    /// soft-deleted memory does not count as existing, and is removed permanently if a record has
    /// its id. Source files without a machine become files of the engine's machine. A tunnel to a
    /// missing memory leads to its location. A memory that sessions start with waits until a person
    /// [accepts](crate::Memories::accept) it. A record that was forgotten or wiped here is skipped,
    /// except by [`again`](Self::again). The collection `global`, and one with the name of the
    /// memory's conversation, become no collection.
    ///
    /// The state of a note file that exists replaces the stored state of one that is missing.
    ///
    /// Words find the memories at once, meaning after
    /// [`embed_pending`](crate::Background::embed_pending) has embedded them; memories with a
    /// pending enrichment are queued again. Data that was wiped since the first call with this
    /// `brought` that had records of its space is not restored. A caller that imports note files
    /// holds the lock of their folder, and has put the files there.
    ///
    /// # Errors
    /// `forbidden` for every caller but the local user; `too_large` for more than
    /// [`limits::IMPORT_MEMORIES_MAX`]; `unavailable` if the store does not answer: then some
    /// records are stored, and counted.
    pub fn import_records(&self, records: &[Archived], brought: &mut ImportReport) -> Result<()> {
        self.import_from(records, None, brought)
    }

    /// Stores records of another store, as [`import_records`](Self::import_records) does, with the
    /// vectors that it keeps for them, so that no text is embedded again.
    ///
    /// # Errors
    /// As for `import_records`; `unavailable`, too, if the other store cannot be read.
    pub fn copy_records(
        &self,
        records: &[Archived],
        from: &StoredVectors<'_>,
        brought: &mut ImportReport,
    ) -> Result<()> {
        self.import_from(records, Some(from), brought)
    }

    fn import_from(
        &self,
        records: &[Archived],
        from: Option<&StoredVectors<'_>>,
        brought: &mut ImportReport,
    ) -> Result<()> {
        if self.caller.principal != Principal::local() {
            let message = "only the person at this machine brings records back, with `loci import`";
            return Err(Error::new(ErrorCode::Forbidden, message));
        }
        if records.len() > limits::IMPORT_MEMORIES_MAX {
            let message = format!(
                "{} records at once; at most {}",
                records.len(),
                limits::IMPORT_MEMORIES_MAX
            );
            return Err(Error::new(ErrorCode::TooLarge, message));
        }
        for archived in records {
            if !brought.since.contains_key(&archived.space) {
                let version = self.store.version(&archived.space)?;
                brought.since.insert(archived.space.clone(), version);
            }
        }
        let stored = brought.stored;
        let mut known = self.known_memories(records.iter())?;
        let mut again = HashSet::new();
        // A copy of a store is as the store is.
        let forgotten = match from {
            Some(_) => HashSet::new(),
            None => self.forgotten(records, brought, &mut again)?,
        };
        let mut absent: Vec<(usize, Cow<'_, Archived>)> = Vec::with_capacity(records.len());
        for (number, archived) in records.iter().enumerate() {
            if let Err(error) = check::record(archived) {
                brought.refused.push((number, error));
            } else if self.is_there(archived, &mut known)? {
                brought.present += 1;
                brought.others.extend(known.other_note(archived));
            } else if forgotten.contains(&number) {
                brought.forgotten += 1;
            } else {
                let mut with_vector = match from {
                    Some(from) => from.with_vector(archived)?,
                    None => self.with_vector(archived, brought),
                };
                if from.is_none()
                    && !self.are_followed
                    && let Record::Memory(memory) = &with_vector.record
                    && is_to_wait(memory)
                    && let Record::Memory(memory) = &mut with_vector.to_mut().record
                {
                    hold_orders(memory);
                }
                absent.push((number, with_vector));
            }
        }
        if brought.is_dry_run {
            brought.stored += absent.len() as u64;
            return Ok(());
        }
        let outcome = absent
            .chunk_by(|(_, left), (_, right)| left.space == right.space)
            .try_for_each(|part| self.import_batch(part, (from, &again), brought));
        if brought.stored > stored && self.search_mode != SearchMode::Words {
            self.to_embed.ring();
        }
        outcome
    }

    /// Returns the memory with this id in the space of the notes, of any owner, and the path of its
    /// file; no path if it is not a note or its file is missing.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn known_note(&self, id: &MemoryId) -> Result<(Option<Memory>, Option<String>)> {
        let space = Space::default();
        let memory = self.store.get(&space, id)?;
        let file = self
            .store
            .note_file_of(&space, id)?
            .filter(|file| file.missing_since.is_none());
        Ok((memory, file.map(|file| file.path)))
    }

    /// Records note files that are about to be put into the folder of notes, whose lock the caller
    /// holds: if the process ends in between, a reconciliation matches the files that are there to
    /// these memories, and until then only the holder of the lock may change these. Returns for
    /// each whether its expectation holds; a file for which it does not is not recorded. Durable
    /// when it returns.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written; then none or some are recorded.
    pub fn expect_notes(&self, files: &[(&NoteFile, Expect)]) -> Result<Vec<bool>> {
        let commit = |files: &[(&NoteFile, Expect)]| {
            let change = |(file, expect): &(&NoteFile, Expect)| Change::ExpectNoteFile {
                file: Box::new((*file).clone()),
                expect: *expect,
            };
            let changes = files.iter().map(change).collect();
            match self.store.commit(Batch::new(Space::default(), changes)) {
                Err(error) if error.code == ErrorCode::Conflict => Ok(false),
                outcome => outcome.map(|()| true),
            }
        };
        if files.is_empty() || commit(files)? {
            return Ok(vec![true; files.len()]);
        }
        files
            .iter()
            .map(|file| commit(std::slice::from_ref(file)))
            .collect()
    }

    /// Returns the record to store: for a cached answer, with the vector by which its question is
    /// found.
    fn with_vector<'a>(
        &self,
        archived: &'a Archived,
        brought: &mut ImportReport,
    ) -> Cow<'a, Archived> {
        let Record::CacheEntry(entry) = &archived.record else {
            return Cow::Borrowed(archived);
        };
        if brought.by_words_alone || brought.is_dry_run {
            return Cow::Borrowed(archived);
        }
        let (vector, problem) = self.models.question_vector(&entry.query);
        // A model that is away is waited for only once.
        brought.by_words_alone = problem.is_some();
        let vector = vector.as_ref().map(crate::quantisation::quantise);
        let record = Record::CacheEntry(Box::new(CacheEntry {
            vector,
            ..(**entry).clone()
        }));
        Cow::Owned(Archived {
            space: archived.space.clone(),
            record,
        })
    }

    /// Commits records together; if that fails, in halves, so that one bad record does not stop the
    /// others.
    fn import_batch(
        &self,
        part: &[(usize, Cow<'_, Archived>)],
        (from, again): (Option<&StoredVectors<'_>>, &HashSet<MemoryId>),
        brought: &mut ImportReport,
    ) -> Result<()> {
        let Some((first, rest)) = part.split_first() else {
            return Ok(());
        };
        let since = brought.since[&first.1.space];
        let space = &first.1.space;
        let outcome = catch_panic(|| self.changes(part, from, since)).and_then(|mut changes| {
            if let Some(batch) = self.batch {
                changes.push(self.noted(batch, space, &changes, again)?);
            }
            self.store.commit(Batch::new(space.clone(), changes))
        });
        match outcome {
            Ok(()) => {
                self.batch.inspect(|batch| batch.advance(space));
                brought.stored += part.len() as u64;
                for (_, archived) in part {
                    self.note_stored(archived);
                }
                let is_pending =
                    |memory: &Memory| memory.enrichment == Some(EnrichmentStatus::Pending);
                if part
                    .iter()
                    .filter_map(|(_, archived)| memory(archived))
                    .any(is_pending)
                {
                    self.to_enrich.ring();
                }
                Ok(())
            }
            Err(error) if rest.is_empty() => self.note_failure(first.0, &first.1, error, brought),
            Err(error) if error.is_unavailable() => Err(error),
            Err(_) => {
                let (left, right) = part.split_at(part.len() / 2);
                self.import_batch(left, (from, again), brought)?;
                self.import_batch(right, (from, again), brought)
            }
        }
    }

    /// Adds a record that was stored to the trail of the call.
    fn note_stored(&self, archived: &Archived) {
        let verb = RecordVerb::Stored;
        match &archived.record {
            Record::Memory(memory) => self.caller.note(verb, memory),
            Record::Fact(fact) => self.caller.note_record(verb, &fact.id, Some(false)),
            Record::Tunnel(tunnel) => self.caller.note_record(verb, &tunnel.id, None),
            Record::Decision(decision) => self.caller.note_record(verb, &decision.key, None),
            // The audit log names no others.
            _ => {}
        }
    }

    /// Returns the changes that store these records; each leaves existing and wiped data as they
    /// are.
    fn changes(
        &self,
        part: &[(usize, Cow<'_, Archived>)],
        from: Option<&StoredVectors<'_>>,
        since: u64,
    ) -> Result<Vec<Change>> {
        let in_part: HashSet<&MemoryId> = part
            .iter()
            .filter_map(|(_, archived)| Some(&memory(archived)?.id))
            .collect();
        in_parallel(part, |(_, archived)| {
            let (mut passages, mut further, mut job) = (Vec::new(), Vec::new(), None);
            let record = match &archived.record {
                Record::Memory(memory) => {
                    let mut memory = memory.clone();
                    memory.location.collection =
                        named_collection(memory.location.collection.take());
                    // Archives of older versions have the name of a conversation there, too.
                    if memory.location.collection.as_deref() == memory.conversation() {
                        memory.location.collection = None;
                    }
                    // The parked job of one that failed is not in an archive: it is tried again.
                    if memory.enrichment == Some(EnrichmentStatus::Failed) {
                        memory.enrichment = Some(EnrichmentStatus::Pending);
                    }
                    self.note_machine_of_file(&mut memory);
                    let is_pending = memory.enrichment == Some(EnrichmentStatus::Pending);
                    passages = indexed::passages(&memory);
                    if let Some(from) = from {
                        further = from.add_to(&mut passages, &memory)?;
                    }
                    job = is_pending.then(|| Change::Enqueue {
                        memory: memory.id.clone(),
                        due_at: self.clock.now(),
                    });
                    Record::Memory(memory)
                }
                Record::Tunnel(tunnel) => {
                    Record::Tunnel(Box::new(self.with_ends_that_are_there(tunnel, &in_part)?))
                }
                Record::SourceFile(file) => {
                    Record::SourceFile(Box::new(self.on_its_machine(file).into_owned()))
                }
                other => other.clone(),
            };
            let change = Change::Import {
                record: Box::new(record),
                passages,
                since,
                now: self.clock.now(),
            };
            Ok([change].into_iter().chain(further).chain(job).collect())
        })
    }

    /// Returns the state of a source file with its machine. The archive of a store in files names
    /// none, and its files lay on the machine that imports it now.
    fn on_its_machine<'a>(&self, file: &'a SourceFile) -> Cow<'a, SourceFile> {
        if file.machine == self.machine || !file.machine.is_empty() {
            return Cow::Borrowed(file);
        }
        Cow::Owned(SourceFile {
            machine: self.machine.to_owned(),
            ..file.clone()
        })
    }

    /// Notes the machine of a memory's source file where the archive names none, and moves the
    /// memory to the thread that the file has on this machine.
    fn note_machine_of_file(&self, memory: &mut Memory) {
        let path = memory.attributes.get(SOURCE_FILE);
        let Some(path) = path.filter(|_| memory.source_machine().is_empty()) else {
            return;
        };
        if let Some(thread) = &mut memory.thread
            && let Some(part) = thread.name.strip_prefix(path)
            && (part.is_empty() || part.starts_with('#'))
        {
            thread.name = SourceFile::thread_of(self.machine, &thread.name);
        }
        note_machine(&mut memory.attributes, self.machine);
    }

    fn with_ends_that_are_there(
        &self,
        tunnel: &Tunnel,
        in_part: &HashSet<&MemoryId>,
    ) -> Result<Tunnel> {
        let mut tunnel = tunnel.clone();
        for end in [&mut tunnel.source, &mut tunnel.target] {
            if let Some(id) = end.memory.as_ref().filter(|id| !in_part.contains(id))
                && self.store.get(&tunnel.space, id)?.is_none()
            {
                end.memory = None;
            }
        }
        Ok(tunnel)
    }

    /// Counts a record that was not stored; another process may have stored it since.
    fn note_failure(
        &self,
        number: usize,
        archived: &Archived,
        error: Error,
        brought: &mut ImportReport,
    ) -> Result<()> {
        if error.is_unavailable() {
            return Err(error);
        }
        if self.is_there(
            archived,
            &mut self.known_memories(std::iter::once(archived))?,
        )? {
            brought.present += 1;
        } else {
            brought.refused.push((number, error));
        }
        Ok(())
    }

    /// Returns the memories and tombstones among these that exist.
    fn known_memories<'a>(
        &self,
        records: impl Iterator<Item = &'a Archived>,
    ) -> Result<ExistingRecords> {
        let mut ids: HashMap<&Space, Vec<MemoryId>> = HashMap::new();
        let mut texts: HashMap<&Space, Vec<KeyedHash>> = HashMap::new();
        for archived in records {
            match &archived.record {
                Record::Memory(memory) => {
                    let ids = ids.entry(&memory.space).or_default();
                    ids.push(memory.id.clone());
                }
                Record::Tombstone(tombstone) => {
                    let texts = texts.entry(&archived.space).or_default();
                    texts.push(tombstone.text);
                }
                _ => {}
            }
        }
        let mut known = ExistingRecords::default();
        for (space, texts) in texts {
            let found = self.store.tombstones_of(space, &texts)?.into_iter();
            known
                .tombstones
                .extend(found.map(|it| (space.clone(), it.text, it.memory)));
        }
        for (space, ids) in ids {
            let places = self.store.locations_of(&everything(space), &ids)?;
            known
                .memories
                .extend(places.into_iter().map(|(id, _)| (space.clone(), id)));
        }
        Ok(known)
    }

    /// Reports whether a record with this id or key exists.
    fn is_there(&self, archived: &Archived, known: &mut ExistingRecords) -> Result<bool> {
        let space = &archived.space;
        // An expired record keeps its id until it is swept.
        let ever = Timestamp::MIN;
        Ok(match &archived.record {
            Record::Memory(memory) => known.memories.contains(&(space.clone(), memory.id.clone())),
            Record::NoteFolder(_) => self.store.note_folder(space)?.is_some(),
            Record::NoteFile(file) => {
                let rows = || {
                    let rows = self.store.note_files(space)?;
                    Ok(rows
                        .into_iter()
                        .map(|row| (row.path.clone(), row))
                        .collect())
                };
                let row = gathered(&mut known.note_files, space.clone(), rows)?.get(&file.path);
                row.is_some_and(|row| row.missing_since.is_none() || file.missing_since.is_some())
            }
            Record::Fact(fact) => self.is_known_fact(space, fact)?,
            Record::Tunnel(tunnel) => {
                let ids = || {
                    Ok(self
                        .store
                        .tunnels(space)?
                        .into_iter()
                        .map(|tunnel| tunnel.id)
                        .collect())
                };
                gathered(&mut known.tunnels, space.clone(), ids)?.contains(&tunnel.id)
            }
            Record::Setting { owner, name, .. } => {
                self.store.setting(space, owner.as_deref(), name)?.is_some()
            }
            Record::SourceFile(file) => {
                let file = self.on_its_machine(file);
                let (machine, collection) = (&*file.machine, file.collection.as_deref());
                let known = self
                    .store
                    .source_file(space, machine, collection, &file.path)?;
                known.is_some()
            }
            Record::CacheEntry(entry) => {
                let ids = || {
                    let queries = self.store.cached_queries(space, &entry.owner, ever)?;
                    Ok(queries.into_iter().map(|(id, _)| id).collect())
                };
                gathered(&mut known.cached, (space.clone(), entry.owner.clone()), ids)?
                    .contains(&entry.id)
            }
            // An expired decision is replaced.
            Record::Decision(said) => self
                .store
                .decision(space, &said.owner, &said.key, self.clock.now())?
                .is_some(),
            Record::Tombstone(tombstone) => {
                let key = (space.clone(), tombstone.text, tombstone.memory);
                known.tombstones.contains(&key)
            }
            Record::IdempotentReply(kept) => {
                let owner = kept.owner.as_deref();
                self.store
                    .idempotent_reply(space, owner, &kept.operation, &kept.key, ever)?
                    .is_some()
            }
        })
    }

    /// Reports whether a fact with the same triple exists that has this id, is open like this one,
    /// or has the same start and end.
    fn is_known_fact(&self, space: &Space, fact: &Fact) -> Result<bool> {
        let triple = [&fact.subject, &fact.predicate, &fact.object].map(|name| name.key.clone());
        let query = FactQuery {
            space: space.clone(),
            entity: None,
            triple: Some(triple),
            relation: None,
            as_of: None,
            beyond: None,
            offset: 0,
            limit: usize::MAX,
        };
        let holds_as_long = |other: &Fact| {
            other.valid_to == fact.valid_to
                && (fact.valid_to.is_none() || other.valid_from == fact.valid_from)
        };
        let is_same = |other: &Fact| other.id == fact.id || holds_as_long(other);
        Ok(self.store.facts(&query)?.iter().any(is_same))
    }
}

/// Returns the known values of that key, and asks the store for them once.
fn gathered<K: std::hash::Hash + Eq, V>(
    known: &mut HashMap<K, V>,
    key: K,
    ask: impl FnOnce() -> Result<V>,
) -> Result<&V> {
    use std::collections::hash_map::Entry;
    match known.entry(key) {
        Entry::Occupied(entry) => Ok(entry.into_mut()),
        Entry::Vacant(entry) => Ok(entry.insert(ask()?)),
    }
}

pub(super) fn memory(archived: &Archived) -> Option<&Memory> {
    match &archived.record {
        Record::Memory(memory) => Some(memory),
        _ => None,
    }
}
