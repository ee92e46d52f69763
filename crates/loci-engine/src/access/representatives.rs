//! Memories that stand behind another one, which says the same: whom a reader sees in their place
//! (`docs/adr/0113-repeats-stand-behind-one-memory.md`).

use std::collections::{BTreeMap, HashMap, HashSet};

use loci_core::{
    Change, CollectionFilter, Expect, Filter, Link, Memory, MemoryId, Reader, Relation, Result,
    Superseded, Tier, Timestamp,
};

use super::Access;
use crate::open_items::item_key;
use crate::orders::is_directive;

/// The most steps from a memory to the one that stands for it: through memories that stand behind
/// others themselves, and through memories that others replaced.
const STEPS_MAX: usize = 16;

/// Returns the key of the texts of a memory and of the one that it stands behind, by which the mark
/// holds: if either changes, the memory is back in sight.
pub(crate) fn mark_key(representative: &Memory, memory: &Memory) -> String {
    let title = |memory: &Memory| memory.title.clone().unwrap_or_default();
    let of = [
        &title(representative),
        &representative.content,
        &title(memory),
        &memory.content,
    ];
    item_key("stands_behind", &of.map(String::as_str))
}

/// Returns true if the mark of a memory holds, which names this other one.
fn is_marked_behind(memory: &Memory, representative: &Memory) -> bool {
    memory
        .stands_behind()
        .is_some_and(|(key, id)| id == representative.id && key == mark_key(representative, memory))
}

impl Access<'_> {
    /// Returns for each of these memories the one that stands for it, for this caller; none for a
    /// memory that stands for itself. The mark of a memory holds while neither text changes and the
    /// other memory is live, remembered and readable; where that one was replaced since, it is the one
    /// that replaced it last. A less trusted memory never stands for a more trusted one.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub(crate) fn representatives(
        &self,
        memories: &[Memory],
    ) -> Result<HashMap<MemoryId, MemoryId>> {
        let marked = |memory: &&Memory| memory.forgotten_at.is_none() && !is_directive(memory);
        let marked: Vec<&Memory> = memories.iter().filter(marked).collect();
        let mut known: HashMap<MemoryId, Option<Memory>> = HashMap::new();
        let mut paths: Vec<(&Memory, Memory, HashSet<MemoryId>)> = marked
            .iter()
            .filter(|memory| memory.stands_behind().is_some())
            .map(|memory| {
                (
                    *memory,
                    (*memory).clone(),
                    HashSet::from([memory.id.clone()]),
                )
            })
            .collect();
        let filter = Filter {
            superseded: Superseded::Show,
            tiers: vec![Tier::LongTerm],
            ..self.filter(CollectionFilter::Any)
        };
        let mut found = HashMap::new();
        for _ in 0..STEPS_MAX {
            if paths.is_empty() {
                break;
            }
            let wanted: HashSet<MemoryId> = paths
                .iter()
                .filter_map(|(_, at, _)| next_of(at))
                .filter(|id| !known.contains_key(id))
                .collect();
            let wanted: Vec<MemoryId> = wanted.into_iter().collect();
            let read = self.store.get_all(&filter, &wanted)?;
            known.extend(wanted.into_iter().map(|id| (id, None)));
            known.extend(
                read.into_iter()
                    .map(|memory| (memory.id.clone(), Some(memory))),
            );
            let mut further = Vec::new();
            for (memory, at, mut seen) in paths {
                let next = next_of(&at).and_then(|id| known.get(&id).cloned().flatten());
                match next.filter(|next| holds(memory, &at, next)) {
                    Some(next) if seen.insert(next.id.clone()) => {
                        further.push((memory, next, seen));
                    }
                    // A circle: nothing stands for it.
                    Some(_) => {}
                    None if at.id == memory.id || at.superseded_by.is_some() => {}
                    None if at.said_by() > memory.said_by() => {}
                    None => {
                        found.insert(memory.id.clone(), at.id.clone());
                    }
                }
            }
            paths = further;
        }
        Ok(found)
    }

    /// Removes the memories that another one stands for, which this caller may read, and summaries of
    /// a language model.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub(crate) fn without_represented(&self, memories: &mut Vec<Memory>) -> Result<()> {
        let found = self.representatives(memories)?;
        memories.retain(|memory| !memory.is_summary() && !found.contains_key(&memory.id));
        Ok(())
    }

    /// Returns the memories that this one stands for, for this caller, and their summaries.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub(crate) fn represented_by(&self, memory: &Memory) -> Result<Vec<Memory>> {
        let filter = Filter {
            superseded: Superseded::Show,
            ..self.filter(CollectionFilter::Any)
        };
        let (mut chain, mut linked) = (vec![memory.clone()], Vec::new());
        while let Some(at) = chain.last() {
            linked.extend(targets(at));
            let older = at.supersedes.clone().filter(|_| chain.len() < STEPS_MAX);
            let older: Vec<MemoryId> = older.into_iter().collect();
            match self.store.get_all(&filter, &older)?.pop() {
                Some(older) if chain.iter().all(|known| known.id != older.id) => chain.push(older),
                _ => break,
            }
        }
        let mut seen = HashSet::new();
        linked.retain(|id| seen.insert(id.clone()));
        let mut memories = self.store.get_all(&filter, &linked)?;
        let found = self.representatives(&memories)?;
        memories.retain(|one| found.get(&one.id) == Some(&memory.id));
        Ok(memories)
    }

    /// Returns the removal of the summaries that have words of a text which these changes remove,
    /// replace or put out of sight.
    pub(super) fn summaries_to_remove(&self, changes: &[Change]) -> Result<Vec<Change>> {
        let space = &self.caller.space;
        let mut touched: Vec<Memory> = Vec::new();
        let mut ids: Vec<MemoryId> = Vec::new();
        for change in changes {
            match change {
                Change::Delete { id, .. } => ids.push(id.clone()),
                Change::Put { memory, expect, .. }
                    if *expect != Expect::Absent && is_in_group(memory) =>
                {
                    let before = self.store.get(space, &memory.id)?;
                    touched.extend(before.filter(|before| {
                        let goes = memory.forgotten_at.is_some() && before.forgotten_at.is_none();
                        goes || before.content != memory.content
                    }));
                }
                _ => {}
            }
        }
        if !ids.is_empty() {
            let everything = Filter::of(space.clone(), Reader::everything(), Timestamp::MIN);
            touched.extend(self.store.get_all(&everything, &ids)?);
        }
        touched.retain(|memory| is_in_group(memory) && !memory.is_summary());
        let mut removals: BTreeMap<MemoryId, Change> = BTreeMap::new();
        for memory in touched {
            let behind = memory.stands_behind().map(|(_, id)| id);
            let head = behind.map(|id| self.store.get(space, &id)).transpose()?;
            let heads = head.flatten().into_iter().chain([memory.clone()]);
            for target in heads.flat_map(|head| targets(&head)) {
                let Some(summary) = self.store.get(space, &target)? else {
                    continue;
                };
                let cites =
                    |link: &Link| link.relation == Relation::Summarises && link.target == memory.id;
                if summary.is_summary() && summary.links.iter().any(cites) {
                    let (id, revision) = (target.clone(), summary.revision);
                    removals.insert(target, Change::Delete { id, revision });
                }
            }
        }
        for change in changes {
            if let Change::Delete { id, .. } | Change::Undelete { id, .. } = change {
                removals.remove(id);
            }
        }
        Ok(removals.into_values().collect())
    }
}

/// Returns the memories that this one is linked to as their representative.
fn targets(head: &Memory) -> Vec<MemoryId> {
    let links = head.links.iter();
    let links = links.filter(|link| link.relation == Relation::StandsFor);
    links.map(|link| link.target.clone()).collect()
}

/// Returns true if a memory stands behind another one, or for others.
fn is_in_group(memory: &Memory) -> bool {
    let is_head = |link: &Link| link.relation == Relation::StandsFor;
    memory.stands_behind().is_some() || memory.links.iter().any(is_head)
}

/// Returns the memory to which the one at hand points: the one that replaced it, or that it is marked
/// to stand behind.
fn next_of(at: &Memory) -> Option<MemoryId> {
    let behind = || at.stands_behind().map(|(_, id)| id);
    at.superseded_by.clone().or_else(behind)
}

/// Returns true if the next step of a path holds, which started at `memory`. What was said again after
/// an older text was replaced is not replaced with it.
fn holds(memory: &Memory, at: &Memory, next: &Memory) -> bool {
    if at.superseded_by.as_ref() == Some(&next.id) {
        next.created_at >= memory.created_at
    } else {
        is_marked_behind(at, next)
    }
}
