//! The index that a store searches: the properties, words and vectors of every memory, as numbers.
//!
//! It is a cache of the store and can be dropped at any time. The crate reads no database: a store
//! feeds it with rows and changes, and asks it for candidates.
//!
//! # Numbers instead of texts
//!
//! A search looks at every memory of a space, so each property that a filter compares is a small
//! number, and a set of memories is a bit for each of them.
//!
//! - A *row* is the number of a memory in the database. It never changes.
//! - A *number* is the place of a memory in the index. It is given again when the memory goes,
//!   because bits and arrays are then without gaps.
//! - A *slot* is the place of a passage in the postings and the vectors. A memory has a chain of
//!   slots, in the order of its passages (`slots.rs`). The slot of a removed passage is given again
//!   only when a purge has taken it out of all postings.
//! - A *name* is a number for a text that many memories share, e.g. an owner or a tag (`interner.rs`).
//! - A *thread* is a number for a conversation or a file, with its memories by position
//!   (`threads.rs`).
//!
//! # A segment, and what changed since
//!
//! To load a million memories from tables takes seconds, and each process would hold a copy. So
//! the index of one moment may lie in a segment: a file that is never changed and that all processes
//! map ([`structures::segment`]). Each part of the index has two halves. The *base* is the
//! segment's, read-only and sorted, found by binary search. The *own* half is in memory and has all
//! later changes. The segment's numbers come first, the own ones after them, so that one comparison
//! tells which half has a number:
//!
//! ```text
//! number   0 .. 9,999            10,000 .. 10,041
//!          memories of the base  memories stored since
//! gone     0 0 1 0 0 ..          -
//! ```
//!
//! A memory of the base that was changed or removed is marked in `gone`; a changed one is inserted
//! as a new one. When much has changed, the store writes the next segment (`write.rs`). That is when
//! everything is renumbered: what is gone is left out, and names and threads are sorted again.
//!
//! # Views
//!
//! The memories that a filter admits are a *view* (`views.rs`): the bits of the memories and of
//! their slots, and the sum of their lengths, which BM25 needs. A view is kept for the next query
//! with the same filter and follows every change, so that a search starts with its candidates
//! counted, e.g. for an agent that asks the same project ten times in a session.
//!
//! # Purges
//!
//! To take a passage out of the postings costs a look at each list, so a removed one stays there,
//! outside all views, until enough have gathered. A purge then goes through all lists, a few with
//! each change (`settle`), because no write should wait for a whole one.
//!
//! ```
//! let index = loci_index::Index::default();
//! assert_eq!(index.memories(), 0);
//! ```

mod base;
pub mod codec;
mod context;
mod facet_counts;
mod hubness;
mod ids;
mod interner;
mod loads;
pub mod record_states;
pub mod records;
mod rows;
mod search;
mod selection;
mod slots;
pub mod sql;
pub mod structures;
#[cfg(test)]
mod tests;
mod texts;
mod threads;
mod views;
mod write;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use loci_core::{Delivery, ModelId, Tier, Timestamp, Visibility};

use crate::structures::Bits;
use base::{Base, RecordFields, RecordRef};
use hubness::Hubs;
use ids::Id;
use interner::{Interner, Name};
pub use loads::{LoadCounter, LoadedFrom};
use rows::Rows;
use slots::{Chain, Slots};
pub use texts::{StoredPassage, StoredVector, Texts};
use threads::{ThreadKey, ThreadMember, Threads};
use views::Views;

/// No number: where a slot is free, a memory replaces none or is in no thread.
const NONE: u32 = u32::MAX;
const END_OF_TIME: Timestamp = Timestamp::from_microseconds(i64::MAX);
/// Dead slots that may always wait for the next purge of the postings.
const DEAD_MIN: usize = 1_024;
/// Postings that a purge looks at after a change: well below a millisecond's work.
const PURGE_POSTINGS: usize = 20_000;
/// And for each passage that came or died: with fewer than 125 terms in each, a purge is through
/// before a quarter of the slots have died again.
const PURGE_POSTINGS_PER_PASSAGE: usize = 500;

/// A memory as the index takes it, borrowed from where it was read.
#[derive(Debug)]
pub struct StoredMemory<'a> {
    /// The space that holds it.
    pub space: &'a str,
    /// Its id.
    pub id: &'a str,
    /// Its collection; none if it is global.
    pub collection: Option<&'a str>,
    /// Its section.
    pub section: &'a str,
    /// Its kind.
    pub kind: &'a str,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its importance.
    pub weight: f64,
    /// The time at which a session is told about the memory.
    pub delivery: Delivery,
    /// The dialect that stored it.
    pub origin: &'a str,
    /// The program that filed it; none if that is not known.
    pub program: Option<&'a str>,
    /// Its owner; none if the caller was anonymous.
    pub owner: Option<&'a str>,
    /// Who may read it.
    pub visibility: Visibility,
    /// The id of the memory that it replaces.
    pub supersedes: Option<&'a str>,
    /// The row of the memory with that id, if there is one.
    pub replaces: Option<i64>,
    /// When it expires.
    pub expires_at: Option<Timestamp>,
    /// True if it is soft-deleted as a note.
    pub is_forgotten: bool,
    /// The creation time.
    pub created_at: Timestamp,
    /// The time of the last change.
    pub updated_at: Timestamp,
    /// Its tier.
    pub tier: Tier,
    /// The id of the memory that it was made from.
    pub source: Option<&'a str>,
    /// Its thread, and its position there.
    pub thread: Option<(&'a str, u64)>,
}

/// The index over all memories of a store.
///
/// ```
/// use loci_core::{
///     CandidateQuery, Delivery, Filter, MemoryId, Reader, Space, Tier, Timestamp, Visibility,
/// };
/// use loci_index::{Index, StoredMemory, StoredPassage};
///
/// let memory = |id| StoredMemory {
///     space: "main",
///     id,
///     collection: Some("tea"),
///     section: "habits",
///     kind: "fact",
///     tags: Vec::new(),
///     weight: 0.5,
///     delivery: Delivery::OnDemand,
///     origin: "mememory",
///     program: None,
///     owner: None,
///     visibility: Visibility::Common,
///     supersedes: None,
///     replaces: None,
///     expires_at: None,
///     is_forgotten: false,
///     created_at: Timestamp::from_microseconds(0),
///     updated_at: Timestamp::from_microseconds(0),
///     tier: Tier::LongTerm,
///     source: None,
///     thread: None,
/// };
/// let mut index = Index::default();
/// for (row, id, term) in [(1, "kettle", "water"), (2, "pot", "leaf")] {
///     index.insert(row, &memory(id));
///     index.add_passage(row, StoredPassage { terms: vec![(term, 1)], vectors: Vec::new() });
/// }
///
/// let now = Timestamp::from_microseconds(1);
/// let filter = Filter::of(Space::default(), Reader::of(None), now);
/// let terms = ["leaf".to_owned()];
/// let query = CandidateQuery { terms: &terms, ..CandidateQuery::of(&filter, 10) };
/// let found = index.candidates(&query);
/// assert_eq!(found.hits[0].id, MemoryId::new("pot"));
///
/// // The next search no longer finds a memory that is removed.
/// index.remove(2);
/// assert!(index.candidates(&query).hits.is_empty());
/// ```
#[derive(Debug, Default)]
pub struct Index {
    /// The memories of a segment, which have the first numbers.
    base: Base,
    /// The memories of the segment that were removed since.
    gone: Bits,
    /// The memories that are replaced now, by number.
    replacing: HashMap<u32, u32>,
    names: Interner,
    /// By number after the segment's, as the records: the fields that the filter looks at. They are
    /// few because a new view looks at all memories.
    traits: Vec<Traits>,
    /// By number: the rest. None where the number is free.
    records: Vec<Option<Record>>,
    free_numbers: Vec<u32>,
    rows: Rows,
    /// By space and the id that they replace, which may not exist.
    successors: HashMap<Name, HashMap<Id, Vec<u32>>>,
    /// The memories that expire, by when.
    expiries: BTreeSet<(Timestamp, u32)>,
    threads: Threads,
    slots: Slots,
    texts: Texts,
    views: Mutex<Views>,
    hubs: Hubs,
    /// Memories that views may have to admit or not any more.
    touched: Vec<u32>,
}

/// The fields that the filter looks at.
#[derive(Debug, Clone, Copy)]
struct Traits {
    space: Name,
    origin: Name,
    program: Option<Name>,
    owner: Option<Name>,
    collection: Option<Name>,
    section: Name,
    kind: Name,
    /// The number of the memory that this one replaces, or [`NONE`] if the index has no such
    /// memory.
    replaces: u32,
    visibility: Visibility,
    delivery: Delivery,
    tier: Tier,
    is_forgotten: bool,
    /// The end of time, if never.
    expires_at: Timestamp,
}

impl Traits {
    /// The traits of no memory, which no filter admits.
    const NONE: Traits = Traits {
        space: Name::NEVER,
        origin: Name::NEVER,
        program: None,
        owner: Some(Name::NEVER),
        collection: None,
        section: Name::NEVER,
        kind: Name::NEVER,
        replaces: NONE,
        visibility: Visibility::Private,
        delivery: Delivery::OnDemand,
        tier: Tier::Unlisted,
        is_forgotten: true,
        expires_at: Timestamp::MIN,
    };
}

/// The fields that a search needs of few memories.
#[derive(Debug)]
struct Record {
    fixed: RecordFields,
    id: Id,
    supersedes: Option<Box<Id>>,
    source: Option<Box<Id>>,
    tags: Box<[Name]>,
}

impl Index {
    /// Makes a model known. Its row never means another one.
    pub fn add_model(&mut self, row: i64, id: ModelId) {
        self.texts.add_model(row, id);
    }

    /// Returns whether damage was found in a segment since it was opened: then results may be wrong.
    pub fn is_damaged(&self) -> bool {
        self.texts.is_damaged()
    }

    /// Gives the memory of its segment back to the system, if a part lies in one. The next search
    /// reads it from the system's cache of the file.
    pub fn release(&self) {
        self.texts.release();
    }

    /// The numbers of memories that came and that went since the segment was written; without a
    /// segment, since the start.
    pub fn changed(&self) -> (usize, usize) {
        (
            self.records.len() - self.free_numbers.len(),
            self.gone.count(),
        )
    }

    /// The last row of a memory that it has; 0, if it has none.
    pub fn last_row(&self) -> i64 {
        let of_base = self
            .base
            .len()
            .checked_sub(1)
            .map(|last| self.base.row(last as u32));
        self.rows
            .all()
            .map(|(row, _)| row)
            .chain(of_base)
            .max()
            .unwrap_or_default()
    }

    /// The number of memories in it.
    pub fn memories(&self) -> usize {
        let (came, went) = self.changed();
        self.base.len() - went + came
    }

    /// Takes over the passages of a load, which has given no other ones: by slot, the row of the
    /// memory of each.
    pub fn adopt(&mut self, texts: Texts, rows: &[i64]) {
        self.texts = texts;
        for row in rows {
            let number = self.rows.get(*row);
            match number.and_then(|number| self.records[number as usize].as_mut().zip(Some(number)))
            {
                Some((record, number)) => {
                    self.slots.append(&mut record.fixed.passages, number);
                }
                None => self.texts.clear(self.slots.append_dead()),
            }
        }
    }

    /// The number after the last.
    fn numbers(&self) -> u32 {
        (self.base.len() + self.records.len()) as u32
    }

    /// The place of a number among those in memory.
    fn own(&self, number: u32) -> Option<usize> {
        (number as usize).checked_sub(self.base.len())
    }

    /// The number of the memory of that row.
    fn number_of(&self, row: i64) -> Option<u32> {
        self.rows.get(row).or_else(|| {
            self.base
                .find(row)
                .filter(|number| !self.gone.contains(*number))
        })
    }

    /// The fields that the filter looks at, of a memory that is there.
    fn traits(&self, number: u32) -> Traits {
        let Some(own) = self.own(number) else {
            let traits = self.base.traits(number).unwrap_or(Traits::NONE);
            if self.replacing.is_empty() {
                return traits;
            }
            let replaces = self
                .replacing
                .get(&number)
                .copied()
                .unwrap_or(traits.replaces);
            return Traits { replaces, ..traits };
        };
        self.traits[own]
    }

    /// The other fields of the memory; `None` if there is no memory of that number.
    fn record(&self, number: u32) -> Option<RecordRef<'_>> {
        match self.own(number) {
            Some(own) => self.records[own].as_ref().map(RecordRef::of),
            None if self.gone.contains(number) => None,
            None => self.base.record(number),
        }
    }

    fn set_replaces(&mut self, number: u32, replaces: u32) {
        match self.own(number) {
            Some(own) => self.traits[own].replaces = replaces,
            None => {
                self.replacing.insert(number, replaces);
            }
        }
    }

    /// Adds the memory of that row, which must not be there, without its passages.
    pub fn insert(&mut self, row: i64, memory: &StoredMemory<'_>) {
        let number = self.free_numbers.pop().unwrap_or_else(|| self.numbers());
        self.rows.insert(row, number);
        let (space, id) = (self.names.intern(memory.space), Id::new(memory.id));
        let owner = memory.owner.map(|owner| self.names.intern(owner));
        let traits = Traits {
            space,
            origin: self.names.intern(memory.origin),
            program: memory.program.map(|program| self.names.intern(program)),
            owner,
            collection: memory
                .collection
                .map(|collection| self.names.intern(collection)),
            section: self.names.intern(memory.section),
            kind: self.names.intern(memory.kind),
            replaces: self.join_successors(space, &id, number, memory),
            visibility: memory.visibility,
            delivery: memory.delivery,
            tier: memory.tier,
            is_forgotten: memory.is_forgotten,
            expires_at: memory.expires_at.unwrap_or(END_OF_TIME),
        };
        if memory.expires_at.is_some() {
            self.expiries.insert((traits.expires_at, number));
        }
        let boxed = |id: &str| Box::new(Id::new(id));
        let position = memory.thread.map_or(0, |(_, position)| position);
        let fixed = RecordFields {
            passages: Chain::EMPTY,
            thread: memory.thread.map_or(NONE, |(name, position)| {
                let name = self.names.intern(name);
                self.threads.insert(
                    ThreadKey { space, owner, name },
                    ThreadMember { position, number },
                )
            }),
            position,
            weight: memory.weight,
            created_at: memory.created_at,
            updated_at: memory.updated_at,
        };
        let record = Record {
            fixed,
            id,
            supersedes: memory.supersedes.map(boxed),
            source: memory.source.map(boxed),
            tags: memory
                .tags
                .iter()
                .map(|tag| self.names.intern(tag))
                .collect(),
        };
        if let Some(own) = self.own(number).filter(|own| *own < self.records.len()) {
            self.traits[own] = traits;
            self.records[own] = Some(record);
        } else {
            self.traits.push(traits);
            self.records.push(Some(record));
        }
        self.touch([number, traits.replaces]);
    }

    /// Makes it known what the new memory replaces, and by what it is replaced; returns the former.
    fn join_successors(
        &mut self,
        space: Name,
        id: &Id,
        number: u32,
        memory: &StoredMemory<'_>,
    ) -> u32 {
        if let Some(target) = memory.supersedes {
            self.successors
                .entry(space)
                .or_default()
                .entry(Id::new(target))
                .or_default()
                .push(number);
        }
        for successor in self
            .successors_of(space, id)
            .into_iter()
            .filter(|successor| *successor != number)
        {
            self.set_replaces(successor, number);
        }
        memory
            .replaces
            .and_then(|row| self.number_of(row))
            .unwrap_or(NONE)
    }

    /// The memories that replace this one.
    fn successors(&self, number: u32) -> Vec<u32> {
        let Some(record) = self.record(number) else {
            return Vec::new();
        };
        self.successors_of(self.traits(number).space, &record.id())
    }

    /// The memories that replace the one of this space and id.
    fn successors_of(&self, space: Name, id: &Id) -> Vec<u32> {
        let mut successors = self.base.successors(space, id);
        successors.retain(|number| !self.gone.contains(*number));
        let own = self
            .successors
            .get(&space)
            .and_then(|successors| successors.get(id));
        successors.extend(own.into_iter().flatten());
        successors
    }

    /// The slots of a memory's passages, in order.
    fn slots_of(&self, number: u32) -> impl Iterator<Item = u32> + '_ {
        let passages = self
            .record(number)
            .map_or(Chain::EMPTY, |record| record.fixed.passages);
        self.slots.of(passages)
    }

    /// Notes that views have to look at these memories again.
    fn touch(&mut self, numbers: [u32; 2]) {
        if !self
            .views
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .is_empty()
        {
            self.touched
                .extend(numbers.into_iter().filter(|number| *number != NONE));
        }
    }

    /// Adds the next passage of the memory of that row; nothing if there is no such memory.
    pub fn add_passage(&mut self, row: i64, passage: StoredPassage<'_>) {
        let Some(number) = self.rows.get(row) else {
            return;
        };
        let Some(record) = self.own(number).and_then(|own| self.records[own].as_mut()) else {
            return;
        };
        let slot = self.slots.append(&mut record.fixed.passages, number);
        self.texts.insert(slot, passage);
    }

    /// Takes the memory of that row away, if it is there.
    pub fn remove(&mut self, row: i64) {
        let Some(number) = self.number_of(row) else {
            return;
        };
        self.take_out(number);
        let Some(record) = self.record(number) else {
            return;
        };
        let (fixed, id, supersedes) = (record.fixed, record.id(), record.supersedes());
        let traits = self.traits(number);
        for successor in self.successors_of(traits.space, &id) {
            self.set_replaces(successor, NONE);
        }
        if let Some(own) = self.own(number) {
            self.rows.remove(row);
            self.records[own] = None;
            self.free_numbers.push(number);
            self.expiries.remove(&(traits.expires_at, number));
            if let Some(target) = supersedes
                && let Some(successors) = self.successors.get_mut(&traits.space)
                && let Some(rest) = successors.get_mut(&target)
            {
                rest.retain(|successor| *successor != number);
                if rest.is_empty() {
                    successors.remove(&target);
                }
            }
        } else {
            self.gone.insert(number);
            self.replacing.remove(&number);
        }
        if fixed.thread != NONE {
            self.threads.remove(
                fixed.thread,
                ThreadMember {
                    position: fixed.position,
                    number,
                },
            );
        }
        self.touch([traits.replaces, NONE]);
        for slot in self.slots.of(fixed.passages) {
            self.texts.clear(slot);
            self.hubs.forget(slot);
        }
        self.slots.remove(fixed.passages);
    }

    /// Ends a round of changes: the views follow them, and the postings get rid of some that are
    /// dead.
    pub fn settle(&mut self) {
        let changed = self.slots.take_changed();
        self.settle_views();
        self.texts.release_empty();
        if !self.texts.postings.is_purging() {
            if self.slots.dead().len() <= DEAD_MIN.max(self.slots.len() / 4) {
                return;
            }
            self.texts
                .postings
                .begin_purge(self.slots.dead().iter().copied());
            self.slots.begin_purge();
        }
        if let Some(purged) = self
            .texts
            .postings
            .purge_step(PURGE_POSTINGS + PURGE_POSTINGS_PER_PASSAGE * changed)
        {
            self.slots.end_purge(purged);
        }
    }

    /// Gives back memory that growing has reserved, after a load; the passages have done so.
    pub fn shrink(&mut self) {
        self.traits.shrink_to_fit();
        self.records.shrink_to_fit();
        self.threads.shrink();
        self.slots.shrink();
    }

    /// Returns the number of passages that it has.
    pub fn passages(&self) -> usize {
        self.slots.in_postings()
    }

    /// Bytes that it holds in memory, about.
    pub fn bytes(&self) -> usize {
        // An entry of a tree, whose nodes are two thirds full.
        const EXPIRY: usize = size_of::<(Timestamp, u32)>() * 3 / 2;
        const SUCCESSOR: usize = size_of::<(Id, Vec<u32>)>() + size_of::<[u32; 4]>() + 1;
        let boxed = |id: &Option<Box<Id>>| {
            id.as_ref()
                .map_or(0, |id| size_of::<Id>() + id.heap_bytes())
        };
        let heap = |record: &Record| {
            let ids = record.id.heap_bytes() + boxed(&record.supersedes) + boxed(&record.source);
            ids + record.tags.len() * size_of::<Name>()
        };
        let successors: usize = self.successors.values().map(HashMap::capacity).sum();
        let memories = self.traits.capacity() * size_of::<Traits>()
            + self.records.capacity() * size_of::<Option<Record>>()
            + self.records.iter().flatten().map(heap).sum::<usize>()
            + self.free_numbers.capacity() * size_of::<u32>();
        memories
            + self.gone.bytes()
            + self.replacing.capacity() * (size_of::<(u32, u32)>() + 1)
            + self.texts.bytes()
            + self.names.bytes()
            + self.rows.bytes()
            + successors * SUCCESSOR
            + self.expiries.len() * EXPIRY
            + self.threads.bytes()
            + self.slots.bytes()
            + self.hubs.bytes()
            + self
                .views
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .bytes()
    }
}
