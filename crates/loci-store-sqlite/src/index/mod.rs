//! The index in memory: what a search needs of every memory, as numbers.
//!
//! It is a cache of the database and can be thrown away at any time. Memories and passages have
//! small numbers here ("numbers" and "slots"); names are interned, so that a filter compares
//! integers.

mod names;
mod search;
mod selection;

use std::collections::HashMap;
use std::sync::Arc;

use loci_core::{Delivery, Memory, ModelId, Tier, Timestamp, Visibility};
use loci_search::index::{Postings, Vectors};

use names::{Name, Names};

/// No memory: where a slot is free or a memory replaces none.
const NONE: u32 = u32::MAX;
/// Dead slots that may always wait for the next purge of the postings.
const DEAD_MIN: usize = 1_024;

/// A passage as the database holds it.
#[derive(Debug)]
pub(crate) struct StoredPassage<'a> {
    /// Its terms with their counts.
    pub(crate) terms: Vec<(&'a str, u32)>,
    /// Its vector, if it has one.
    pub(crate) vector: Option<StoredVector<'a>>,
}

/// A vector as the database holds it.
#[derive(Debug)]
pub(crate) struct StoredVector<'a> {
    /// The model's row.
    pub(crate) model: i64,
    pub(crate) scale: f32,
    pub(crate) values: &'a [i8],
}

/// What a search knows of all memories.
#[derive(Debug, Default)]
pub(crate) struct Index {
    names: Names,
    /// By number: what the filter looks at, kept narrow because every search reads all of it.
    traits: Vec<Traits>,
    /// By number: the rest. None where the number is free.
    records: Vec<Option<Record>>,
    free_numbers: Vec<u32>,
    /// Database row to number.
    rows: HashMap<i64, u32>,
    spaces: HashMap<Name, SpaceIds>,
    /// By slot: the number of the passage's memory, [`NONE`] where it is dead or free.
    owners: Vec<u32>,
    free_slots: Vec<u32>,
    dead_slots: Vec<u32>,
    postings: Postings,
    models: Vec<Model>,
}

/// What the filter looks at.
#[derive(Debug, Clone, Copy)]
struct Traits {
    /// `None` where the number is free.
    space: Option<Name>,
    owner: Option<Name>,
    collection: Option<Name>,
    section: Name,
    /// The number of the memory that this one replaces, [`NONE`] if there is none in the index.
    replaces: u32,
    visibility: Visibility,
    delivery: Delivery,
    tier: Tier,
    /// The end of time, if never.
    expires_at: Timestamp,
}

/// What a search needs only of some memories.
#[derive(Debug)]
struct Record {
    id: Arc<str>,
    supersedes: Option<Arc<str>>,
    source: Option<Arc<str>>,
    tags: Box<[Name]>,
    /// Its passages, in order.
    slots: Vec<u32>,
    weight: f64,
    created_at: Timestamp,
    updated_at: Timestamp,
}

/// The ids of a space, needed to know who replaces whom.
#[derive(Debug, Default)]
struct SpaceIds {
    numbers: HashMap<Arc<str>, u32>,
    /// By the id that they replace, which may not exist.
    successors: HashMap<Arc<str>, Vec<u32>>,
}

#[derive(Debug)]
struct Model {
    row: i64,
    id: ModelId,
    vectors: Vectors,
}

impl Index {
    /// Makes a model known. Its row never means another one.
    pub(crate) fn add_model(&mut self, row: i64, id: ModelId) {
        if self.models.iter().all(|model| model.row != row) {
            self.models.push(Model { row, id, vectors: Vectors::default() });
        }
    }

    /// Adds the memory of that row, which must not be there, without its passages. What only
    /// [`read_whole`](crate::row::read_whole) reads is not looked at.
    pub(crate) fn insert(&mut self, row: i64, memory: &Memory) {
        let space = self.names.intern(memory.space.as_str());
        let id: Arc<str> = memory.id.as_str().into();
        let supersedes: Option<Arc<str>> = memory.supersedes.as_ref().map(|target| target.as_str().into());
        let number = self.free_numbers.pop().unwrap_or_else(|| {
            self.records.push(None);
            self.records.len() as u32 - 1
        });
        let ids = self.spaces.entry(space).or_default();
        ids.numbers.insert(Arc::clone(&id), number);
        let replaces = supersedes.as_ref().map_or(NONE, |target| {
            ids.successors.entry(Arc::clone(target)).or_default().push(number);
            ids.numbers.get(target).copied().unwrap_or(NONE)
        });
        let traits = Traits {
            space: Some(space),
            owner: memory.owner.as_deref().map(|owner| self.names.intern(owner)),
            collection: memory.place.collection.as_deref().map(|collection| self.names.intern(collection)),
            section: self.names.intern(&memory.place.section),
            replaces,
            visibility: memory.visibility,
            delivery: memory.delivery,
            tier: memory.tier,
            expires_at: memory.expires_at.unwrap_or(Timestamp::from_microseconds(i64::MAX)),
        };
        for successor in ids.successors.get(&id).into_iter().flatten().filter(|successor| **successor != number) {
            self.traits[*successor as usize].replaces = number;
        }
        match self.traits.get_mut(number as usize) {
            Some(free) => *free = traits,
            None => self.traits.push(traits),
        }
        let tags = memory.tags.iter().map(|tag| self.names.intern(tag)).collect();
        self.records[number as usize] = Some(Record {
            id,
            supersedes,
            source: memory.source.as_ref().map(|source| source.as_str().into()),
            tags,
            slots: Vec::new(),
            weight: memory.weight,
            created_at: memory.created_at,
            updated_at: memory.updated_at,
        });
        self.rows.insert(row, number);
    }

    /// Adds the next passage of the memory of that row; nothing if there is no such memory.
    pub(crate) fn add_passage(&mut self, row: i64, passage: StoredPassage<'_>) {
        let Some(number) = self.rows.get(&row).copied() else { return };
        let Some(record) = &mut self.records[number as usize] else { return };
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.owners.push(NONE);
            self.owners.len() as u32 - 1
        });
        self.owners[slot as usize] = number;
        record.slots.push(slot);
        self.postings.insert(slot, passage.terms);
        if let Some(vector) = passage.vector
            && let Some(model) = self.models.iter_mut().find(|model| model.row == vector.model)
        {
            if model.vectors.is_empty() {
                model.vectors = Vectors::new(vector.values.len());
            }
            model.vectors.set(slot, vector.scale, vector.values);
        }
    }

    /// Takes the memory of that row away, if it is there.
    pub(crate) fn remove(&mut self, row: i64) {
        let Some(number) = self.rows.remove(&row) else { return };
        let Some(record) = self.records[number as usize].take() else { return };
        let space = self.traits[number as usize].space.take();
        self.free_numbers.push(number);
        if let Some(ids) = space.and_then(|space| self.spaces.get_mut(&space)) {
            ids.numbers.remove(&record.id);
            if let Some(target) = &record.supersedes
                && let Some(successors) = ids.successors.get_mut(target)
            {
                successors.retain(|successor| *successor != number);
                if successors.is_empty() {
                    ids.successors.remove(target);
                }
            }
            for successor in ids.successors.get(&record.id).into_iter().flatten() {
                self.traits[*successor as usize].replaces = NONE;
            }
        }
        for slot in &record.slots {
            self.owners[*slot as usize] = NONE;
            self.models.iter_mut().for_each(|model| model.vectors.clear(*slot));
        }
        self.dead_slots.extend(record.slots);
        if self.dead_slots.len() > DEAD_MIN.max(self.owners.len() / 4) {
            self.purge();
        }
    }

    /// Makes dead slots free. Its cost is spread over the many removals before it.
    fn purge(&mut self) {
        self.postings.purge(|slot| self.owners[slot as usize] == NONE);
        self.free_slots.append(&mut self.dead_slots);
        for model in self.models.iter_mut().filter(|model| model.vectors.is_empty()) {
            model.vectors = Vectors::default();
        }
    }

    /// Gives back memory that growing has reserved, after a load.
    pub(crate) fn shrink(&mut self) {
        self.postings.shrink();
        self.traits.shrink_to_fit();
        self.records.shrink_to_fit();
        self.owners.shrink_to_fit();
        self.models.iter_mut().for_each(|model| model.vectors.shrink());
    }

    /// Bytes that it holds in memory, about.
    pub(crate) fn bytes(&self) -> usize {
        // An entry of a hash map with its control byte, and an id shared by two maps and a record.
        const ROW: usize = size_of::<(i64, u32)>() + 1;
        const ID: usize = size_of::<(Arc<str>, u32)>() + 1 + 16 + 36;
        let vectors: usize = self.models.iter().map(|model| model.vectors.bytes()).sum();
        let memories = self.traits.capacity() * size_of::<Traits>()
            + self.records.capacity() * size_of::<Option<Record>>()
            + self.rows.capacity() * (ROW + ID);
        let slots = self.owners.capacity() + self.dead_slots.capacity() + self.free_slots.capacity();
        vectors + memories + slots * size_of::<u32>() * 2 + self.postings.bytes()
    }
}
