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
    /// Only memories that belong to this owner, whoever else may read them.
    pub owner: Option<String>,
    /// Only memories of this tier.
    pub tier: Option<Tier>,
    /// Only memories first stored at this moment or later.
    pub created_from: Option<Timestamp>,
    /// Only memories first stored at this moment or earlier.
    pub created_until: Option<Timestamp>,
    /// Which collections.
    pub collections: CollectionFilter,
    /// Only these sections; all, if empty.
    pub sections: Vec<String>,
    /// Only memories that carry every one of these tags.
    pub tags: Vec<String>,
    /// Only memories with this delivery.
    pub delivery: Option<Delivery>,
    /// What to do with memories that another one replaces.
    pub superseded: Superseded,
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
            (CollectionFilter::Only(name) | CollectionFilter::GlobalAnd(name), Some(collection)) => name == collection,
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

impl Filter {
    /// Everything in a space that this reader may read, of either tier, alive at that moment,
    /// superseded or not.
    pub fn of(space: Space, reader: Reader, live_at: Timestamp) -> Self {
        Filter {
            space,
            reader,
            live_at,
            owner: None,
            tier: None,
            created_from: None,
            created_until: None,
            collections: CollectionFilter::Any,
            sections: Vec::new(),
            tags: Vec::new(),
            delivery: None,
            superseded: Superseded::Show,
        }
    }

    /// Whether a memory passes everything but the rule on superseded ones, which needs to see
    /// the other memories: that rule is the store's.
    pub fn admits(&self, memory: &Memory) -> bool {
        memory.space == self.space
            && self.reader.may_read(memory.owner.as_deref(), memory.visibility)
            && memory.is_live(self.live_at)
            && (self.owner.is_none() || self.owner == memory.owner)
            && self.tier.is_none_or(|tier| memory.tier == tier)
            && self.created_from.is_none_or(|from| memory.created_at >= from)
            && self.created_until.is_none_or(|until| memory.created_at <= until)
            && self.collections.admits(memory.place.collection.as_deref())
            && (self.sections.is_empty() || self.sections.contains(&memory.place.section))
            && self.tags.iter().all(|tag| memory.tags.contains(tag))
            && self.delivery.is_none_or(|delivery| memory.delivery == delivery)
    }

    /// Whether `successor` hides what it supersedes from this query's caller.
    pub fn is_live_successor(&self, successor: &Memory) -> bool {
        successor.space == self.space
            && successor.is_live(self.live_at)
            && self.reader.may_read(successor.owner.as_deref(), successor.visibility)
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
