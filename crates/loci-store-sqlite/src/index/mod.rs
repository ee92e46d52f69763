//! The index in memory: what a search needs of every memory, as numbers.
//!
//! It is a cache of the database and can be thrown away at any time. Memories and passages have
//! small numbers here ("numbers" and "slots"); names are interned, so that a filter compares
//! integers. What a filter admits is kept as a view, which follows every change.

mod context;
mod ids;
mod names;
mod rows;
mod search;
mod selection;
mod slots;
#[cfg(test)]
mod tests;
mod texts;
mod threads;
mod views;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use loci_core::{Delivery, ModelId, Tier, Timestamp, Visibility};

use ids::Id;
use names::{Name, Names};
use rows::Rows;
use slots::{Chain, Slots};
pub(crate) use texts::{StoredPassage, StoredVector, Texts};
use threads::{Member, ThreadKey, Threads};
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

/// A memory as the index is told of it, borrowed from where it was read.
#[derive(Debug)]
pub(crate) struct StoredMemory<'a> {
    pub(crate) space: &'a str,
    pub(crate) id: &'a str,
    pub(crate) collection: Option<&'a str>,
    pub(crate) section: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) tags: Vec<String>,
    pub(crate) weight: f64,
    pub(crate) delivery: Delivery,
    pub(crate) origin: &'a str,
    pub(crate) owner: Option<&'a str>,
    pub(crate) visibility: Visibility,
    pub(crate) supersedes: Option<&'a str>,
    /// The row of the memory with that id, if there is one.
    pub(crate) replaces: Option<i64>,
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) is_forgotten: bool,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) tier: Tier,
    pub(crate) source: Option<&'a str>,
    pub(crate) thread: Option<(&'a str, u64)>,
}

/// What a search knows of all memories.
#[derive(Debug, Default)]
pub(crate) struct Index {
    names: Names,
    /// By number: what the filter looks at, kept narrow because a new view looks at all of it.
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
    /// Memories that views may have to admit or not any more.
    touched: Vec<u32>,
}

/// What the filter looks at.
#[derive(Debug, Clone, Copy)]
struct Traits {
    space: Name,
    origin: Name,
    owner: Option<Name>,
    collection: Option<Name>,
    section: Name,
    kind: Name,
    /// The number of the memory that this one replaces, [`NONE`] if there is none in the index.
    replaces: u32,
    visibility: Visibility,
    delivery: Delivery,
    tier: Tier,
    is_forgotten: bool,
    /// The end of time, if never.
    expires_at: Timestamp,
}

/// What a search needs only of some memories.
#[derive(Debug)]
struct Record {
    id: Id,
    supersedes: Option<Box<Id>>,
    source: Option<Box<Id>>,
    tags: Box<[Name]>,
    passages: Chain,
    /// [`NONE`], if it is in no thread.
    thread: u32,
    /// In the thread.
    position: u64,
    weight: f64,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl Index {
    /// Makes a model known. Its row never means another one.
    pub(crate) fn add_model(&mut self, row: i64, id: ModelId) {
        self.texts.add_model(row, id);
    }

    /// Takes over the passages of a load, which has given no other ones: by slot, the row of the memory
    /// of each.
    pub(crate) fn adopt(&mut self, texts: Texts, rows: &[i64]) {
        self.texts = texts;
        for row in rows {
            let number = self.rows.get(*row);
            match number.and_then(|number| self.records[number as usize].as_mut().zip(Some(number))) {
                Some((record, number)) => {
                    self.slots.append(&mut record.passages, number);
                }
                None => self.texts.clear(self.slots.append_dead()),
            }
        }
    }

    /// Adds the memory of that row, which must not be there, without its passages.
    pub(crate) fn insert(&mut self, row: i64, memory: &StoredMemory<'_>) {
        let number = self.free_numbers.pop().unwrap_or(self.records.len() as u32);
        self.rows.insert(row, number);
        let (space, id) = (self.names.intern(memory.space), Id::new(memory.id));
        let owner = memory.owner.map(|owner| self.names.intern(owner));
        let traits = Traits {
            space,
            origin: self.names.intern(memory.origin),
            owner,
            collection: memory.collection.map(|collection| self.names.intern(collection)),
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
        let record = Record {
            id,
            supersedes: memory.supersedes.map(boxed),
            source: memory.source.map(boxed),
            tags: memory.tags.iter().map(|tag| self.names.intern(tag)).collect(),
            passages: Chain::EMPTY,
            thread: memory.thread.map_or(NONE, |(name, position)| {
                let name = self.names.intern(name);
                self.threads.insert(ThreadKey { space, owner, name }, Member { position, number })
            }),
            position,
            weight: memory.weight,
            created_at: memory.created_at,
            updated_at: memory.updated_at,
        };
        if number as usize == self.records.len() {
            self.traits.push(traits);
            self.records.push(Some(record));
        } else {
            self.traits[number as usize] = traits;
            self.records[number as usize] = Some(record);
        }
        self.touch([number, traits.replaces]);
    }

    /// Makes it known what the new memory replaces, and by what it is replaced; returns the former.
    fn join_successors(&mut self, space: Name, id: &Id, number: u32, memory: &StoredMemory<'_>) -> u32 {
        if let Some(target) = memory.supersedes {
            self.successors.entry(space).or_default().entry(Id::new(target)).or_default().push(number);
        }
        let successors = self.successors.get(&space).and_then(|successors| successors.get(id));
        for successor in successors.into_iter().flatten().filter(|successor| **successor != number) {
            self.traits[*successor as usize].replaces = number;
        }
        memory.replaces.and_then(|row| self.rows.get(row)).unwrap_or(NONE)
    }

    /// The memories that replace this one.
    fn successors(&self, number: u32) -> &[u32] {
        let space = self.traits[number as usize].space;
        let successors = self.successors.get(&space).zip(self.records[number as usize].as_ref());
        successors.and_then(|(successors, record)| successors.get(&record.id)).map_or(&[], Vec::as_slice)
    }

    /// The slots of a memory's passages, in order.
    fn slots_of(&self, number: u32) -> impl Iterator<Item = u32> + '_ {
        let passages = self.records[number as usize].as_ref().map_or(Chain::EMPTY, |record| record.passages);
        self.slots.of(passages)
    }

    /// Notes that views have to look at these memories again.
    fn touch(&mut self, numbers: [u32; 2]) {
        if !self.views.get_mut().unwrap_or_else(PoisonError::into_inner).is_empty() {
            self.touched.extend(numbers.into_iter().filter(|number| *number != NONE));
        }
    }

    /// Adds the next passage of the memory of that row; nothing if there is no such memory.
    pub(crate) fn add_passage(&mut self, row: i64, passage: StoredPassage<'_>) {
        let Some(number) = self.rows.get(row) else { return };
        let Some(record) = &mut self.records[number as usize] else { return };
        let slot = self.slots.append(&mut record.passages, number);
        self.texts.insert(slot, passage);
    }

    /// Takes the memory of that row away, if it is there.
    pub(crate) fn remove(&mut self, row: i64) {
        let Some(number) = self.rows.remove(row) else { return };
        self.take_out(number);
        let Some(record) = self.records[number as usize].take() else { return };
        let traits = self.traits[number as usize];
        self.free_numbers.push(number);
        self.expiries.remove(&(traits.expires_at, number));
        if record.thread != NONE {
            self.threads.remove(record.thread, Member { position: record.position, number });
        }
        if let Some(successors) = self.successors.get_mut(&traits.space) {
            if let Some(target) = &record.supersedes
                && let Some(rest) = successors.get_mut(&**target)
            {
                rest.retain(|successor| *successor != number);
                if rest.is_empty() {
                    successors.remove(&**target);
                }
            }
            for successor in successors.get(&record.id).into_iter().flatten() {
                self.traits[*successor as usize].replaces = NONE;
            }
        }
        self.touch([traits.replaces, NONE]);
        for slot in self.slots.of(record.passages) {
            self.texts.clear(slot);
        }
        self.slots.remove(record.passages);
    }

    /// Ends a round of changes: the views follow them, and the postings get rid of some that are dead.
    pub(crate) fn settle(&mut self) {
        let changed = self.slots.take_changed();
        self.settle_views();
        self.texts.release_empty();
        if !self.texts.postings.is_purging() {
            if self.slots.dead().len() <= DEAD_MIN.max(self.slots.len() / 4) {
                return;
            }
            self.texts.postings.begin_purge(self.slots.dead().iter().copied());
            self.slots.begin_purge();
        }
        if let Some(purged) = self.texts.postings.purge_step(PURGE_POSTINGS + PURGE_POSTINGS_PER_PASSAGE * changed) {
            self.slots.end_purge(purged);
        }
    }

    /// Gives back memory that growing has reserved, after a load; the passages have done so.
    pub(crate) fn shrink(&mut self) {
        self.traits.shrink_to_fit();
        self.records.shrink_to_fit();
        self.threads.shrink();
        self.slots.shrink();
    }

    /// Bytes that it holds in memory, about.
    pub(crate) fn bytes(&self) -> usize {
        // An entry of a tree, whose nodes are two thirds full.
        const EXPIRY: usize = size_of::<(Timestamp, u32)>() * 3 / 2;
        const SUCCESSOR: usize = size_of::<(Id, Vec<u32>)>() + size_of::<[u32; 4]>() + 1;
        let boxed = |id: &Option<Box<Id>>| id.as_ref().map_or(0, |id| size_of::<Id>() + id.heap_bytes());
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
            + self.texts.bytes()
            + self.names.bytes()
            + self.rows.bytes()
            + successors * SUCCESSOR
            + self.expiries.len() * EXPIRY
            + self.threads.bytes()
            + self.slots.bytes()
            + self.views.lock().unwrap_or_else(PoisonError::into_inner).bytes()
    }
}
