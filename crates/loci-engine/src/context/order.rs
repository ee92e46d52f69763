//! The order that a person gives to what sessions start with.
//!
//! It is a setting of the reader, a list of ids, and no column of a memory. Who shares a store with
//! others orders the start of the own sessions and not of others', because the start is of the
//! reader anyway: it depends on what the reader may read and whom the reader trusts. As a setting it
//! is in both stores, in archives and in copies, and goes with its owner.
//!
//! A memory that is not in the list keeps the place that its type, weight and age give it, e.g. a new
//! rule comes after the older rules and before any feedback, whatever was moved.

use std::collections::{BTreeMap, HashMap, HashSet};

use loci_core::{CollectionFilter, Error, Memory, MemoryId, Result};

use super::Context;
use super::bootstrap::heading_of;

/// The setting with the ids, one a line.
const ORDER: &str = "bootstrap_order";

/// The memories that change places with each other in a collection: of one author whom the reader does
/// not trust, or of the others, under one heading.
type Group = (Option<String>, String);

/// A place at the start of sessions, among the memories under one heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BootstrapPlace {
    /// Before the neighbour above.
    Up,
    /// After the neighbour below.
    Down,
    /// Before this one.
    Before(MemoryId),
    /// After this one.
    After(MemoryId),
}

/// Puts the memories that the list names into its order: in the places that they have together, those
/// of each collection for themselves.
pub(super) fn arrange(memories: &mut [Memory], order: &str) {
    let rank: HashMap<&str, usize> = order.lines().zip(0..).collect();
    let mut places: BTreeMap<Option<&String>, Vec<usize>> = BTreeMap::new();
    for (place, memory) in memories.iter().enumerate() {
        if rank.contains_key(memory.id.as_str()) {
            let collection = memory.location.collection.as_ref();
            places.entry(collection).or_default().push(place);
        }
    }
    let places: Vec<Vec<usize>> = places.into_values().collect();
    for places in places {
        let mut named: Vec<Memory> = places
            .iter()
            .map(|place| memories[*place].clone())
            .collect();
        named.sort_by_key(|memory| rank.get(memory.id.as_str()));
        for (place, memory) in places.into_iter().zip(named) {
            memories[place] = memory;
        }
    }
}

impl Context<'_> {
    /// Puts memories into the order that the caller gave them.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub(super) fn arranged(&self, memories: &mut [Memory]) -> Result<()> {
        if memories.len() > 1
            && let Some(order) = self.settings.get(ORDER)?
        {
            arrange(memories, &order);
        }
        Ok(())
    }

    /// Moves a memory that sessions start with to another place under the same heading, for the
    /// caller's own sessions, and returns the way back. Durable when it returns.
    ///
    /// # Errors
    /// `not_found` if no session of the caller starts with the memory; `invalid_argument`
    /// (`direction`, or `other`) if there is no such place; `unavailable` if the store cannot be used.
    pub fn move_in_bootstrap(&self, id: &MemoryId, to: &BootstrapPlace) -> Result<BootstrapPlace> {
        let all = self.bootstrap_memories(CollectionFilter::Any)?;
        let Some(moved) = all.iter().find(|memory| memory.id == *id) else {
            let message = "no session of yours starts with this memory; pin it first";
            return Err(Error::not_found(message));
        };
        let trust = self.settings.trust()?;
        let collection = &moved.location.collection;
        let mut groups: Vec<(Group, Vec<&str>)> = Vec::new();
        for memory in all
            .iter()
            .filter(|memory| memory.location.collection == *collection)
        {
            let group = (trust.stranger(memory), heading_of(memory));
            match groups.iter_mut().find(|(named, _)| *named == group) {
                Some((_, ids)) => ids.push(memory.id.as_str()),
                None => groups.push((group, vec![memory.id.as_str()])),
            }
        }
        let mut back = None;
        for (_, ids) in &mut groups {
            if let Some(place) = ids.iter().position(|other| *other == id.as_str()) {
                back = Some(move_to(ids, place, to)?);
            }
        }
        let back = back.ok_or_else(|| Error::internal("a memory is in no group of its own"))?;
        let ordered: Vec<&str> = groups.into_iter().flat_map(|(_, ids)| ids).collect();
        // What sessions do not start with any more goes, so that the list does not grow for ever.
        let known: HashSet<&str> = all.iter().map(|memory| memory.id.as_str()).collect();
        self.settings.change(|draft| {
            let before = draft.get(ORDER)?.unwrap_or_default();
            let others = before
                .lines()
                .filter(|id| known.contains(id) && !ordered.contains(id));
            let order: Vec<&str> = others.chain(ordered.iter().copied()).collect();
            draft.put(ORDER, order.join("\n"))
        })?;
        Ok(back)
    }
}

/// Moves the id at a place of a list, and returns the way back.
fn move_to(ids: &mut Vec<&str>, place: usize, to: &BootstrapPlace) -> Result<BootstrapPlace> {
    let named = |other: &MemoryId| {
        let found = ids.iter().position(|id| *id == other.as_str());
        let problem = "is no other memory under the same heading at the start of your sessions";
        found
            .filter(|found| *found != place)
            .ok_or_else(|| Error::invalid("other", problem))
    };
    let nowhere = |end: &str| {
        let problem = format!("leads nowhere: the memory is the {end} one under its heading");
        Error::invalid("direction", problem)
    };
    // The place among the others, which are one fewer.
    let target = match to {
        BootstrapPlace::Up => place.checked_sub(1).ok_or_else(|| nowhere("first"))?,
        BootstrapPlace::Down if place + 1 < ids.len() => place + 1,
        BootstrapPlace::Down => return Err(nowhere("last")),
        BootstrapPlace::Before(other) => {
            let other = named(other)?;
            other - usize::from(other > place)
        }
        BootstrapPlace::After(other) => {
            let other = named(other)?;
            other + usize::from(other < place)
        }
    };
    let neighbour = |at: usize| MemoryId::new(ids[at]);
    let back = match place.checked_sub(1) {
        Some(before) => BootstrapPlace::After(neighbour(before)),
        None => BootstrapPlace::Before(neighbour(1)),
    };
    let id = ids.remove(place);
    ids.insert(target, id);
    Ok(back)
}

#[cfg(test)]
mod tests {
    use loci_core::{Location, Space, Timestamp};

    use super::*;

    fn memory(id: &str, collection: Option<&str>) -> Memory {
        let now = Timestamp::from_microseconds(0);
        let memory = Memory::new(Space::default(), MemoryId::new(id), id, "rule", now);
        Memory {
            location: Location {
                collection: collection.map(str::to_owned),
                ..memory.location.clone()
            },
            ..memory
        }
    }

    #[test]
    fn a_memory_goes_to_any_place_under_its_heading_and_back() {
        let id = |name: &str| MemoryId::new(name);
        let rows = [
            ("b", BootstrapPlace::Up, Some("b a c d")),
            ("a", BootstrapPlace::Up, None),
            ("c", BootstrapPlace::Down, Some("a b d c")),
            ("d", BootstrapPlace::Down, None),
            ("a", BootstrapPlace::Before(id("d")), Some("b c a d")),
            ("a", BootstrapPlace::After(id("d")), Some("b c d a")),
            ("d", BootstrapPlace::Before(id("b")), Some("a d b c")),
            ("d", BootstrapPlace::After(id("a")), Some("a d b c")),
            ("b", BootstrapPlace::Before(id("b")), None),
            ("b", BootstrapPlace::After(id("e")), None),
        ];
        for (name, to, expected) in rows {
            let mut ids = vec!["a", "b", "c", "d"];
            let place = |ids: &[&str]| ids.iter().position(|id| *id == name).unwrap();
            let at = place(&ids);
            let back = move_to(&mut ids, at, &to);
            assert_eq!(back.is_ok(), expected.is_some(), "{name} {to:?}");
            assert_eq!(
                ids.join(" "),
                expected.unwrap_or("a b c d"),
                "{name} {to:?}"
            );
            if let Ok(back) = back {
                let at = place(&ids);
                move_to(&mut ids, at, &back).unwrap();
                assert_eq!(ids.join(" "), "a b c d", "{name} {to:?}");
            }
        }
    }

    #[test]
    fn what_the_list_names_changes_places_and_the_rest_stays() {
        let rows = [
            ("", "a b c d e"),
            ("c\na", "c b a d e"),
            ("a\nc", "a b c d e"),
            // Each collection has places of its own.
            ("e\nd\nc\na", "c b a e d"),
            ("gone\nc\nb", "a c b d e"),
        ];
        for (order, expected) in rows {
            let mut memories = ["a", "b", "c"].map(|id| memory(id, None)).to_vec();
            memories.extend(["d", "e"].map(|id| memory(id, Some("shop"))));
            arrange(&mut memories, order);
            let ids: Vec<&str> = memories.iter().map(|memory| memory.id.as_str()).collect();
            assert_eq!(ids.join(" "), expected, "{order:?}");
        }
    }
}
