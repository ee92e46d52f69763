//! The filter of a query. It applies before scoring, so the top `k` results are always the top `k`
//! that the caller may read.

use crate::{Delivery, Memory, Reader, Space, Tier, Timestamp};

/// A filter for memories. A memory must match all conditions; soft-deleted memories never match.
///
/// ```
/// use loci_core::{Filter, Memory, MemoryId, Reader, Space, Timestamp, Visibility};
///
/// let now = Timestamp::from_microseconds(0);
/// let mut memory = Memory::new(Space::default(), MemoryId::new("tea-1"), "At four.", "fact", now);
/// memory.owner = Some("ann".to_owned());
/// memory.visibility = Visibility::Private;
///
/// // Every condition counts, and the access rule is one, so that no reader needs a second check.
/// let all_of = |reader| Filter::of(Space::default(), reader, now);
/// assert!(all_of(Reader::of(Some("ann"))).admits(&memory));
/// assert!(!all_of(Reader::of(Some("bob"))).admits(&memory));
///
/// let tagged = Filter {
///     tags: vec!["habits".to_owned()],
///     ..all_of(Reader::of(Some("ann")))
/// };
/// assert!(!tagged.admits(&memory));
/// memory.tags.push("habits".to_owned());
/// assert!(tagged.admits(&memory));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    /// The space to search.
    pub space: Space,
    /// The access rule.
    pub reader: Reader,
    /// Only memories that have not expired at this time.
    pub live_at: Timestamp,
    /// The owner of the memories, independent of who else may read them.
    pub owner: OwnerFilter,
    /// Only memories that came in through one of these tool sets; all if empty.
    pub origins: Vec<String>,
    /// Only memories that one of these programs filed; all if empty.
    pub programs: Vec<String>,
    /// Only memories of these tiers; all tiers if empty.
    pub tiers: Vec<Tier>,
    /// Of the [unlisted](Tier::Unlisted) memories, only the ones that came in through this tool
    /// set.
    pub unlisted_origin: Option<String>,
    /// Only memories of this [thread](crate::Thread), of any owner.
    pub thread: Option<String>,
    /// Only memories first stored at or after this time.
    pub created_from: Option<Timestamp>,
    /// Only memories first stored at or before this time.
    pub created_until: Option<Timestamp>,
    /// The collections to search.
    pub collections: CollectionFilter,
    /// Only these sections; all sections if empty.
    pub sections: Vec<String>,
    /// Only these kinds; all kinds if empty.
    pub kinds: Vec<String>,
    /// Only memories that have every one of these tags.
    pub tags: Vec<String>,
    /// Only memories with this delivery.
    pub delivery: Option<Delivery>,
    /// The handling of superseded memories.
    pub superseded: Superseded,
    /// The handling of forgotten memories.
    pub forgotten: Forgotten,
}

/// The owners whose memories match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnerFilter {
    /// Memories of any owner.
    Any,
    /// Memories of this owner.
    Only(String),
    /// Memories without an owner.
    Nobody,
    /// Memories of one of these owners; `None` is nobody.
    AnyOf(Vec<Option<String>>),
}

impl OwnerFilter {
    /// Returns the filter for the memories of this subject; for an anonymous caller, of the
    /// memories without an owner.
    pub fn of(subject: Option<&str>) -> Self {
        subject.map_or(OwnerFilter::Nobody, |subject| {
            OwnerFilter::Only(subject.to_owned())
        })
    }

    /// Returns true if a memory of this owner matches.
    pub fn admits(&self, owner: Option<&str>) -> bool {
        match self {
            OwnerFilter::Any => true,
            OwnerFilter::Only(name) => owner == Some(name),
            OwnerFilter::Nobody => owner.is_none(),
            OwnerFilter::AnyOf(owners) => owners.iter().any(|any_of| any_of.as_deref() == owner),
        }
    }
}

/// The collections that match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CollectionFilter {
    /// All memories.
    Any,
    /// Memories without a collection.
    Global,
    /// Memories with any collection.
    AnyNamed,
    /// Memories of this collection.
    Only(String),
    /// Memories of this collection and memories without one.
    GlobalAnd(String),
    /// Memories of one of these collections; `None` is global.
    AnyOf(Vec<Option<String>>),
}

impl CollectionFilter {
    /// Returns true if a memory of this collection matches.
    pub fn admits(&self, collection: Option<&str>) -> bool {
        match (self, collection) {
            (CollectionFilter::Any, _)
            | (CollectionFilter::Global | CollectionFilter::GlobalAnd(_), None)
            | (CollectionFilter::AnyNamed, Some(_)) => true,
            (
                CollectionFilter::Only(name) | CollectionFilter::GlobalAnd(name),
                Some(collection),
            ) => name == collection,
            (CollectionFilter::AnyOf(names), collection) => {
                names.iter().any(|name| name.as_deref() == collection)
            }
            _ => false,
        }
    }
}

/// The handling of a memory that a live memory readable by the caller supersedes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Superseded {
    /// Leaves it out, as a search does.
    Hide,
    /// Returns it, as a listing does.
    Show,
}

/// The handling of a memory that was [forgotten](Memory::forgotten_at).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forgotten {
    /// Leaves it out, as reads do by default.
    Hide,
    /// Returns it.
    Show,
    /// Returns no other memory, as for bringing memories back.
    Only,
}

impl Forgotten {
    /// Returns true if a memory matches that is forgotten or not, as given.
    pub fn admits(self, is_forgotten: bool) -> bool {
        match self {
            Forgotten::Hide => !is_forgotten,
            Forgotten::Show => true,
            Forgotten::Only => is_forgotten,
        }
    }
}

impl Filter {
    /// Returns a filter for all memories of a space that this reader may read, of every tier and
    /// live at that time, including superseded and forgotten ones.
    pub fn of(space: Space, reader: Reader, live_at: Timestamp) -> Self {
        Filter {
            space,
            reader,
            live_at,
            owner: OwnerFilter::Any,
            origins: Vec::new(),
            programs: Vec::new(),
            tiers: Vec::new(),
            unlisted_origin: None,
            thread: None,
            created_from: None,
            created_until: None,
            collections: CollectionFilter::Any,
            sections: Vec::new(),
            kinds: Vec::new(),
            tags: Vec::new(),
            delivery: None,
            superseded: Superseded::Show,
            forgotten: Forgotten::Show,
        }
    }

    /// Returns true if it asks for nothing but what a caller may read and wants to see of some places
    /// and kinds, so that counts of places answer it.
    pub fn asks_for_places_only(&self) -> bool {
        // All fields by name, because a new condition is then thought of here.
        let Filter {
            space: _,
            reader: _,
            live_at: _,
            owner,
            origins,
            programs,
            tiers: _,
            unlisted_origin: _,
            thread,
            created_from,
            created_until,
            collections: _,
            sections: _,
            kinds: _,
            tags,
            delivery,
            superseded,
            forgotten: _,
        } = self;
        *owner == OwnerFilter::Any
            && origins.is_empty()
            && programs.is_empty()
            && thread.is_none()
            && created_from.is_none()
            && created_until.is_none()
            && tags.is_empty()
            && delivery.is_none()
            && *superseded == Superseded::Show
    }

    /// Returns true if a memory matches all conditions but the one on superseded memories. The
    /// store checks that one, because it depends on other memories.
    pub fn admits(&self, memory: &Memory) -> bool {
        memory.space == self.space
            && self.reader.may_read(memory)
            && memory.is_live(self.live_at)
            && self.owner.admits(memory.owner.as_deref())
            && (self.origins.is_empty() || self.origins.contains(&memory.origin))
            && (self.programs.is_empty()
                || memory
                    .provenance
                    .program
                    .as_ref()
                    .is_some_and(|program| self.programs.contains(program)))
            && (self.tiers.is_empty() || self.tiers.contains(&memory.tier))
            && (memory.tier != Tier::Unlisted
                || self
                    .unlisted_origin
                    .as_ref()
                    .is_none_or(|origin| memory.origin == *origin))
            && self.thread.as_ref().is_none_or(|name| {
                memory
                    .thread
                    .as_ref()
                    .is_some_and(|thread| thread.name == *name)
            })
            && self
                .created_from
                .is_none_or(|from| memory.created_at >= from)
            && self
                .created_until
                .is_none_or(|until| memory.created_at <= until)
            && self
                .collections
                .admits(memory.location.collection.as_deref())
            && (self.sections.is_empty() || self.sections.contains(&memory.location.section))
            && (self.kinds.is_empty() || self.kinds.contains(&memory.kind))
            && self.tags.iter().all(|tag| memory.tags.contains(tag))
            && self
                .delivery
                .is_none_or(|delivery| memory.delivery == delivery)
            && self.forgotten.admits(memory.forgotten_at.is_some())
    }

    /// Returns true if `successor` hides the memory that it supersedes from the reader of this
    /// query: it is live, readable and not forgotten, even if the query returns forgotten memories.
    pub fn is_live_successor(&self, successor: &Memory) -> bool {
        successor.space == self.space
            && successor.is_live(self.live_at)
            && successor.forgotten_at.is_none()
            && self.reader.may_read(successor)
    }
}

/// A page of a listing (offset pagination).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// The number of records to skip.
    pub offset: usize,
    /// The maximum number of records to return.
    pub limit: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryId;

    #[test]
    fn what_is_forgotten_passes_if_asked_for_and_replaces_nothing() {
        let now = Timestamp::from_microseconds(0);
        let remembered = Memory::new(Space::default(), MemoryId::new("m"), "text", "fact", now);
        let showing = Filter::of(Space::default(), Reader::everything(), now);
        let hiding = Filter {
            forgotten: Forgotten::Hide,
            ..showing.clone()
        };
        let only = Filter {
            forgotten: Forgotten::Only,
            ..showing.clone()
        };
        // Returns which of the filters that hide it, show it and want only it admit the memory, and
        // if all three count it as a live successor.
        let outcome = |memory: &Memory| {
            let filters = [&hiding, &showing, &only];
            let counts = filters.map(|filter| filter.is_live_successor(memory));
            assert_eq!(counts, [counts[0]; 3]);
            (filters.map(|filter| filter.admits(memory)), counts[0])
        };
        assert_eq!(outcome(&remembered), ([true, true, false], true));
        for moment in [Timestamp::MIN, now, now.plus_seconds(1)] {
            let forgotten = Memory {
                forgotten_at: Some(moment),
                ..remembered.clone()
            };
            assert_eq!(
                outcome(&forgotten),
                ([false, true, true], false),
                "whatever the moment"
            );
        }
    }
}
