//! The examination of memories for what people should decide: the items that the page shows under
//! *Review* (`docs/adr/0092-open-items-are-kept-in-a-table.md`).

use std::collections::{BTreeMap, HashMap};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use loci_core::limits::OPEN_ITEMS_MAX;
use loci_core::{
    Caller, CitationKind, CollectionFilter, Examined, FilingOrder, Filter, Memory, MemoryId,
    OpenItem, Page, Partition, Result, SOURCE_FILE, SOURCE_PATH, Space, Timestamp, ToExamine, Work,
};
use loci_text::prompt_injection::Order;

use crate::call::System;
use crate::engine::Engine;
use crate::open_items::{ItemKind, item_key};
use crate::orders::{all_orders_in, is_directive, orders_in};
use crate::search::pairs::{PairRelation, PairsAround};

/// The version of the rules of the examination. A new one has all memories examined again.
const RULES: u32 = 2;
/// The memories that one step examines, so that it takes a fraction of a second.
const EXAMINED_AT_ONCE: usize = 16;
/// The memories that were never examined, in so many of the first rows of a store, that are examined
/// while a person waits; of more, the background does all.
const BACKLOG_MAX: i64 = 32;
/// The memories whose files one step looks at.
const FILES_AT_ONCE: usize = 200;
/// Seconds between two rounds of looks at all files.
const FILES_PAUSE_SECONDS: i64 = 60;
/// The cosine similarity from which two memories are duplicates.
pub(crate) const DUPLICATE_FROM: f32 = 0.92;

impl Engine {
    /// Examines some of the memories that changed since they were examined, or never were, and keeps
    /// what people should decide about them. Returns the number of steps; if it is not 0, there may
    /// be more. Any number of processes may run it on one store; one at a time examines in a
    /// partition.
    ///
    /// # Errors
    /// `unavailable` if the store does not answer, or is not ready to search.
    pub fn examine(&self) -> Result<usize> {
        self.examine_some(EXAMINED_AT_ONCE, |_| true)
    }

    fn examine_some(&self, at_once: usize, is_due: impl Fn(&ToExamine) -> bool) -> Result<usize> {
        let examine = |partition: &Partition| {
            let next = self.store.to_examine(partition, RULES, at_once)?;
            match next.filter(&is_due) {
                Some(next) => self.examine_next(partition, next),
                None => Ok(0),
            }
        };
        self.leases()
            .in_turn(&self.rounds.examining, Work::Examine(RULES), examine)
    }

    /// Examines memories as [`examine`](Self::examine) does, until nothing is left or this time is
    /// over. Returns true if nothing is left.
    ///
    /// # Errors
    /// As for [`examine`](Self::examine).
    pub fn examine_for(&self, limit: Duration) -> Result<bool> {
        self.examine_one_by_one(limit, |_| true)
    }

    /// Examines what changed since the last step of the background, until nothing is left or this time
    /// is over, because a person waits for what was just decided. What was never examined waits for
    /// the background, unless it is little.
    ///
    /// # Errors
    /// As for [`examine`](Self::examine).
    pub fn examine_changes_for(&self, limit: Duration) -> Result<()> {
        let is_due = |next: &ToExamine| !next.is_backlog || next.until.row <= BACKLOG_MAX;
        self.examine_one_by_one(limit, is_due).map(drop)
    }

    /// Returns true if every memory was examined as it is now.
    ///
    /// # Errors
    /// `unavailable` if the store does not answer.
    pub fn is_examined(&self) -> Result<bool> {
        let is_left = |partition: &Partition| {
            let next = self.store.to_examine(partition, RULES, 1)?;
            Ok(next.is_some_and(|next| !next.memories.is_empty()))
        };
        Ok(!self.leases().is_any_left(Work::Examine(RULES), is_left)?)
    }

    fn examine_one_by_one(
        &self,
        limit: Duration,
        is_due: impl Fn(&ToExamine) -> bool,
    ) -> Result<bool> {
        let begun = Instant::now();
        while self.examine_some(1, &is_due)? > 0 {
            if begun.elapsed() >= limit {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn examine_next(&self, partition: &Partition, next: ToExamine) -> Result<usize> {
        let mut by_space: BTreeMap<Space, Vec<MemoryId>> = BTreeMap::new();
        for (space, id) in next.memories {
            by_space.entry(space).or_default().push(id);
        }
        let mut examined = Vec::new();
        for (space, ids) in by_space {
            examined.extend(self.examine_memories(&space, &ids)?);
        }
        self.store
            .put_examined(partition, Some(next.until), &examined)?;
        Ok(1)
    }

    /// Returns the kinds of items that this engine can find: without a source tree, it knows of no
    /// file whether it is there.
    fn kinds(&self) -> Vec<String> {
        let can_find = |kind: &ItemKind| *kind != ItemKind::Stale || self.source_tree.is_some();
        let kinds = ItemKind::ALL.into_iter().filter(can_find);
        kinds.map(|kind| kind.name().to_owned()).collect()
    }

    /// Returns the parts that see every memory of a space.
    fn seeing_all(&self, space: &Space) -> System<'_> {
        self.system(&Caller {
            space: space.clone(),
            all_users: true,
            ..Caller::local()
        })
    }

    /// Returns the items of memories, and the pairs of newer memories with these.
    fn examine_memories(&self, space: &Space, ids: &[MemoryId]) -> Result<Vec<Examined>> {
        let system = self.seeing_all(space);
        let filter = system.access().filter(CollectionFilter::Any);
        let found = self.store.get_all(&filter, ids)?;
        let mut items: HashMap<MemoryId, Vec<OpenItem>> =
            ids.iter().map(|id| (id.clone(), Vec::new())).collect();
        for held in system.secrets().secrets_among(&found)? {
            if let Some(memory) = found.iter().find(|memory| memory.id == held.memory) {
                let of = [memory.id.as_str(), &held.redactions.to_string()];
                let item = item(memory, ItemKind::Secret, &of);
                items.entry(memory.id.clone()).or_default().push(item);
            }
        }
        for (id, item) in stale_items(&system, &found)? {
            items.entry(id).or_default().push(item);
        }
        let mut around = Vec::new();
        let mut as_older: HashMap<MemoryId, Vec<String>> = HashMap::new();
        for memory in &found {
            let own = items.entry(memory.id.clone()).or_default();
            own.extend(arrived(memory));
            own.extend(order(memory));
            own.extend(directive(memory));
            let PairsAround { pairs, newer } =
                system.search().pairs_around(memory, DUPLICATE_FROM)?;
            around.extend(pairs);
            let keys = newer.into_iter().map(|(relation, newer)| {
                let of = [memory.id.as_str(), newer.as_str()];
                item_key(kind_of(relation).name(), &of)
            });
            as_older.insert(memory.id.clone(), keys.collect());
        }
        let mut further: HashMap<MemoryId, Vec<OpenItem>> = HashMap::new();
        for (newer, pairs) in around {
            let pairs = pairs.iter().map(|pair| {
                let kind = kind_of(pair.relation);
                OpenItem {
                    other: Some(pair.older.id.clone()),
                    certainty: (pair.certainty * 1_000.0).round() as i64,
                    ..item(&newer, kind, &[pair.older.id.as_str(), newer.id.as_str()])
                }
            });
            match items.get_mut(&newer.id) {
                // Found from several sides.
                Some(own) => add_new(own, pairs),
                None => add_new(further.entry(newer.id.clone()).or_default(), pairs),
            }
        }
        let examined = |memory, items, kinds: &[String], as_older| Examined {
            space: space.clone(),
            memory,
            kinds: kinds.to_vec(),
            items,
            as_older,
        };
        let kinds = self.kinds();
        let of_pairs = ItemKind::ALL.into_iter().filter(|kind| kind.is_of_pairs());
        let of_pairs: Vec<String> = of_pairs.map(|kind| kind.name().to_owned()).collect();
        let own = items.into_iter();
        let own = own.map(|(memory, items)| {
            let held = as_older.remove(&memory).unwrap_or_default();
            examined(memory, items, &kinds, Some(held))
        });
        let further = further.into_iter();
        let further = further.map(|(memory, items)| examined(memory, items, &of_pairs, None));
        Ok(own.chain(further).collect())
    }

    /// Looks at the files of some memories of the default space, which may be gone or changed
    /// although nothing in the store was; returns true if there are further memories in this round.
    /// A minute passes between two rounds. Writes only if something is not as it was.
    ///
    /// # Errors
    /// `unavailable` if the store or the rules of a project cannot be read.
    pub fn examine_files(&self) -> Result<bool> {
        if self.source_tree.is_none() {
            return Ok(false);
        }
        let space = Space::default();
        let system = self.seeing_all(&space);
        let filter = system.access().filter(CollectionFilter::Any);
        let mut look = self
            .rounds
            .files
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        if look.offset == 0 {
            let rests =
                |ended: Timestamp| (ended..ended.plus_seconds(FILES_PAUSE_SECONDS)).contains(&now);
            if look.ended_at.is_some_and(rests) {
                return Ok(false);
            }
            look.known = self.known_stale(&filter)?;
        }
        let page = Page {
            offset: look.offset,
            limit: FILES_AT_ONCE,
        };
        let memories = self
            .store
            .list_by_insertion(&filter, FilingOrder::FirstFirst, page)?;
        let is_last = memories.len() < FILES_AT_ONCE;
        look.offset = if is_last {
            0
        } else {
            look.offset + memories.len()
        };
        look.ended_at = is_last.then_some(now);
        let with_files: Vec<Memory> = memories.into_iter().filter(has_files).collect();
        let mut stale: HashMap<MemoryId, Vec<OpenItem>> = HashMap::new();
        for (id, item) in stale_items(&system, &with_files)? {
            stale.entry(id).or_default().push(item);
        }
        let mut changed = Vec::new();
        for memory in with_files {
            let items = stale.remove(&memory.id).unwrap_or_default();
            let keys = sorted_keys(&items);
            let known = look.known.get(&memory.id);
            if known.map_or(&[][..], Vec::as_slice) != keys {
                changed.push(Examined {
                    space: space.clone(),
                    memory: memory.id,
                    kinds: vec![ItemKind::Stale.name().to_owned()],
                    items,
                    as_older: None,
                });
            }
        }
        if !changed.is_empty() {
            let partition = self.store.partition_of(&space);
            self.store.put_examined(&partition, None, &changed)?;
        }
        Ok(!is_last)
    }

    /// Returns the keys of the items of files that the store has.
    fn known_stale(&self, filter: &Filter) -> Result<HashMap<MemoryId, Vec<String>>> {
        let mut known: HashMap<MemoryId, Vec<String>> = HashMap::new();
        let items = self.store.open_items(filter, OPEN_ITEMS_MAX)?;
        for item in items {
            if item.kind == ItemKind::Stale.name() {
                known.entry(item.memory).or_default().push(item.key);
            }
        }
        for keys in known.values_mut() {
            keys.sort();
        }
        Ok(known)
    }
}

fn kind_of(relation: PairRelation) -> ItemKind {
    match relation {
        PairRelation::Contradiction => ItemKind::Contradiction,
        PairRelation::Duplicate => ItemKind::Duplicate,
    }
}

/// Returns the items of memories whose files are gone or changed.
fn stale_items(system: &System<'_>, memories: &[Memory]) -> Result<Vec<(MemoryId, OpenItem)>> {
    let stale = system.sources().find_stale(memories)?;
    let items = stale.into_iter().filter_map(|stale| {
        let memory = memories.iter().find(|memory| memory.id == stale.memory)?;
        let state = stale.staleness.name();
        let of = [memory.id.as_str(), stale.path.as_str(), state];
        Some((stale.memory, item(memory, ItemKind::Stale, &of)))
    });
    Ok(items.collect())
}

/// Adds the items that are not there yet.
fn add_new(items: &mut Vec<OpenItem>, further: impl Iterator<Item = OpenItem>) {
    for item in further {
        if items.iter().all(|known| known.key != item.key) {
            items.push(item);
        }
    }
}

fn sorted_keys(items: &[OpenItem]) -> Vec<String> {
    let mut keys: Vec<String> = items.iter().map(|item| item.key.clone()).collect();
    keys.sort();
    keys
}

fn item(memory: &Memory, kind: ItemKind, of: &[&str]) -> OpenItem {
    OpenItem {
        memory: memory.id.clone(),
        revision: memory.revision,
        kind: kind.name().to_owned(),
        key: item_key(kind.name(), of),
        other: None,
        certainty: 0,
    }
}

/// Returns true if a memory names files.
fn has_files(memory: &Memory) -> bool {
    let is_file = |key: &str| memory.attributes.contains_key(key);
    let mut citations = memory.citations.iter();
    is_file(SOURCE_FILE)
        || is_file(SOURCE_PATH)
        || citations.any(|citation| citation.kind == CitationKind::File)
}

fn arrived(memory: &Memory) -> Option<OpenItem> {
    let of = [memory.id.as_str(), &memory.content];
    memory
        .is_unreviewed()
        .then(|| item(memory, ItemKind::Arrived, &of))
}

fn order(memory: &Memory) -> Option<OpenItem> {
    let key = order_key_of(memory, &orders_in(memory))?;
    Some(OpenItem {
        key,
        ..item(memory, ItemKind::Order, &[])
    })
}

/// Returns the key of the item of a text that gives agents orders, whether it is a directive or not.
pub(crate) fn order_key(memory: &Memory) -> Option<String> {
    order_key_of(memory, &all_orders_in(memory))
}

/// Returns the key of the item of these orders, `None` without any. All of them are in it, because an
/// order that a person let pass must not cover another one.
fn order_key_of(memory: &Memory, orders: &[Order]) -> Option<String> {
    let sentences = orders.iter().map(|order| order.sentence.as_str());
    let of: Vec<&str> = std::iter::once(memory.id.as_str())
        .chain(sentences)
        .collect();
    (of.len() > 1).then(|| item_key(ItemKind::Order.name(), &of))
}

/// Returns the key of the item of a directive.
pub(crate) fn directive_key(memory: &Memory) -> String {
    item_key(
        ItemKind::Directive.name(),
        &[memory.id.as_str(), memory.writer()],
    )
}

/// Returns the item of a directive, whoever wrote it: whether a reader takes it is found out when
/// the reader looks.
fn directive(memory: &Memory) -> Option<OpenItem> {
    let is_meant = is_directive(memory) && !memory.is_unreviewed();
    let of = [memory.id.as_str(), memory.writer()];
    is_meant.then(|| item(memory, ItemKind::Directive, &of))
}
