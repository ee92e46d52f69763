//! Which memories a query is about. The filter decides before anything is scored, so the best
//! `k` results are always the best `k` that the caller may read.

use crate::{Delivery, Memory, Reader, Space, Tier, Timestamp};

/// Which memories may be candidates. All conditions hold together; softly deleted memories never
/// pass.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    /// The space searched.
    pub space: Space,
    /// The access rule.
    pub reader: Reader,
    /// Only memories that have not expired at this moment.
    pub live_at: Timestamp,
    /// Whose memories, whoever else may read them.
    pub owner: OwnerFilter,
    /// Only memories that came in through this tool set.
    pub origin: Option<String>,
    /// Only memories of these tiers; of all, if empty.
    pub tiers: Vec<Tier>,
    /// Of the memories that are kept [apart](Tier::Unlisted), only those that came in through this
    /// tool set.
    pub apart_origin: Option<String>,
    /// Only memories of this [thread](crate::Thread), whoever's.
    pub thread: Option<String>,
    /// Only memories first stored at this moment or later.
    pub created_from: Option<Timestamp>,
    /// Only memories first stored at this moment or earlier.
    pub created_until: Option<Timestamp>,
    /// Which collections.
    pub collections: CollectionFilter,
    /// Only these sections; all, if empty.
    pub sections: Vec<String>,
    /// Only these kinds; all, if empty.
    pub kinds: Vec<String>,
    /// Only memories that carry every one of these tags.
    pub tags: Vec<String>,
    /// Only memories with this delivery.
    pub delivery: Option<Delivery>,
    /// What to do with memories that another one replaces.
    pub superseded: Superseded,
    /// What to do with memories that somebody forgot.
    pub forgotten: Forgotten,
}

/// Whose memories a query is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnerFilter {
    /// Everyone's.
    Any,
    /// Those of this owner.
    Only(String),
    /// Those that belong to nobody.
    Nobody,
}

impl OwnerFilter {
    /// What belongs to this subject; to nobody, for an anonymous caller.
    pub fn of(subject: Option<&str>) -> Self {
        subject.map_or(OwnerFilter::Nobody, |subject| {
            OwnerFilter::Only(subject.to_owned())
        })
    }

    /// Whether a memory of this owner passes.
    pub fn admits(&self, owner: Option<&str>) -> bool {
        match self {
            OwnerFilter::Any => true,
            OwnerFilter::Only(name) => owner == Some(name),
            OwnerFilter::Nobody => owner.is_none(),
        }
    }
}

/// Which collections a query is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CollectionFilter {
    /// All.
    Any,
    /// Memories without a collection.
    Global,
    /// Memories with a collection, whichever.
    AnyNamed,
    /// This collection alone.
    Only(String),
    /// This collection and the memories without one.
    GlobalAnd(String),
}

impl CollectionFilter {
    /// Whether a memory of this collection passes.
    pub fn admits(&self, collection: Option<&str>) -> bool {
        match (self, collection) {
            (CollectionFilter::Any, _)
            | (CollectionFilter::Global | CollectionFilter::GlobalAnd(_), None)
            | (CollectionFilter::AnyNamed, Some(_)) => true,
            (
                CollectionFilter::Only(name) | CollectionFilter::GlobalAnd(name),
                Some(collection),
            ) => name == collection,
            _ => false,
        }
    }
}

/// What to do with a memory while a live one that the caller may read replaces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Superseded {
    /// Leave it out: a search.
    Hide,
    /// Show it: a listing.
    Show,
}

/// What to do with a memory that was [forgotten](Memory::forgotten_at).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forgotten {
    /// Leave it out: everybody but those who ask for it.
    Hide,
    /// Show it.
    Show,
}

impl Filter {
    /// Everything in a space that this reader may read, of every tier, alive at that moment,
    /// superseded, forgotten or not.
    pub fn of(space: Space, reader: Reader, live_at: Timestamp) -> Self {
        Filter {
            space,
            reader,
            live_at,
            owner: OwnerFilter::Any,
            origin: None,
            tiers: Vec::new(),
            apart_origin: None,
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

    /// Whether a memory passes everything but the rule on superseded ones, which needs to see
    /// the other memories: that rule is the store's.
    pub fn admits(&self, memory: &Memory) -> bool {
        memory.space == self.space
            && self.reader.may_read(memory)
            && memory.is_live(self.live_at)
            && self.owner.admits(memory.owner.as_deref())
            && self
                .origin
                .as_ref()
                .is_none_or(|origin| memory.origin == *origin)
            && (self.tiers.is_empty() || self.tiers.contains(&memory.tier))
            && (memory.tier != Tier::Unlisted
                || self
                    .apart_origin
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
            && (self.forgotten == Forgotten::Show || memory.forgotten_at.is_none())
    }

    /// Whether `successor` hides what it supersedes from this query's caller: it is live, readable
    /// and not forgotten, whether or not the query asks for forgotten ones.
    pub fn is_live_successor(&self, successor: &Memory) -> bool {
        successor.space == self.space
            && successor.is_live(self.live_at)
            && successor.forgotten_at.is_none()
            && self.reader.may_read(successor)
    }
}

/// A part of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Records to skip.
    pub offset: usize,
    /// Records to return at most.
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
        // Whether the one that hides admits it, the one that shows admits it, and either counts it
        // as a successor.
        let outcome = |memory: &Memory| {
            let counts = [&hiding, &showing].map(|filter| filter.is_live_successor(memory));
            assert_eq!(counts[0], counts[1]);
            (hiding.admits(memory), showing.admits(memory), counts[0])
        };
        assert_eq!(outcome(&remembered), (true, true, true));
        for moment in [Timestamp::MIN, now, now.plus_seconds(1)] {
            let forgotten = Memory {
                forgotten_at: Some(moment),
                ..remembered.clone()
            };
            assert_eq!(
                outcome(&forgotten),
                (false, true, false),
                "whatever the moment"
            );
        }
    }
}
