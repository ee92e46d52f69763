//! The knowledge graph: what is said to hold between two things, and from when to when.
//!
//! Facts are common to everyone in their space, and belong to nobody.

use crate::{MemoryId, Result, Space, Timestamp};

/// A time as it was given: a moment, or a day, which is the moments from its first to its last
/// microsecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Period {
    /// Its first moment.
    pub first: Timestamp,
    /// Its last one: not before the first.
    pub last: Timestamp,
}

/// A thing or a relation of the graph.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Name {
    /// What it is known by: names with the same key are one.
    pub key: String,
    /// How it is spelled. Stores keep the spelling that a key first came with, apart for things and
    /// for relations; another one is ignored on writing.
    pub spelling: String,
}

/// One fact: subject, predicate, object, and when that holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// The space that holds it.
    pub space: Space,
    /// Its id, unique in the space.
    pub id: String,
    /// What it is about.
    pub subject: Name,
    /// The relation.
    pub predicate: Name,
    /// What the subject stands in that relation to.
    pub object: Name,
    /// From when it holds: from the first moment on. Always, if none.
    pub valid_from: Option<Period>,
    /// Until when it holds: to the last moment, which belongs to it. For good, if none.
    pub valid_to: Option<Period>,
    /// Where it was read, as its writer named that.
    pub source: Option<String>,
    /// When it was stored.
    pub created_at: Timestamp,
}

impl Fact {
    /// Whether it held at any moment of the period.
    pub fn holds_in(&self, period: Period) -> bool {
        self.valid_from.is_none_or(|from| from.first <= period.last)
            && self.valid_to.is_none_or(|to| to.last >= period.first)
    }

    /// Whether its end is open, or lies after that moment.
    pub fn is_open_after(&self, moment: Timestamp) -> bool {
        self.valid_to.is_none_or(|to| to.last > moment)
    }

    /// Whether it begins after that moment.
    pub fn begins_after(&self, moment: Timestamp) -> bool {
        self.valid_from.is_some_and(|from| from.first > moment)
    }
}

/// The part that a thing plays in a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// It is the subject.
    Outgoing,
    /// It is the object.
    Incoming,
    /// Either.
    Both,
}

/// Which facts. All conditions hold together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactQuery {
    /// The space.
    pub space: Space,
    /// Facts in which this thing, named by its key, plays that part.
    pub entity: Option<(String, Direction)>,
    /// Facts with these keys of subject, predicate and object.
    pub triple: Option<[String; 3]>,
    /// Facts with these keys of subject and predicate.
    pub relation: Option<[String; 2]>,
    /// Facts that held at any moment of this period.
    pub as_of: Option<Period>,
    /// How many of them to skip.
    pub offset: usize,
    /// How many at most.
    pub limit: usize,
}

/// How much there is in a graph.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FactCounts {
    /// Things that are subject or object of a fact.
    pub entities: u64,
    /// Facts.
    pub facts: u64,
    /// Facts whose end is open, or lies after the moment that was asked about.
    pub open: u64,
    /// Those of them that begin after that moment.
    pub to_come: u64,
    /// The spellings of all relations, in the order of their keys.
    pub predicates: Vec<String>,
}

/// Keeps facts. They are written by [`Store::commit`](crate::Store::commit).
pub trait FactStore: Send + Sync {
    /// The facts that pass: by the first moment of `valid_from` (those without one first), then by
    /// `created_at`, then by id.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn facts(&self, query: &FactQuery) -> Result<Vec<Fact>>;

    /// How much there is in the graph of a space, at that moment. Costs by what ended before it,
    /// and what begins after it, at most.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn fact_counts(&self, space: &Space, now: Timestamp) -> Result<FactCounts>;
}

/// One end of a [`Tunnel`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TunnelEnd {
    /// The collection; none is global.
    pub collection: Option<String>,
    /// The section within it.
    pub section: String,
    /// The memory there that is meant, if one is. Stores take it off when that memory is removed,
    /// not when it goes elsewhere.
    pub memory: Option<MemoryId>,
}

/// A tie that somebody made between two places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tunnel {
    /// The space that holds it.
    pub space: Space,
    /// Its id, unique in the space.
    pub id: String,
    /// One end.
    pub source: TunnelEnd,
    /// The other one. The order says nothing: a pair of places has one tunnel.
    pub target: TunnelEnd,
    /// What ties them; empty if nobody said.
    pub label: String,
    /// Who made it; none if the caller was anonymous.
    pub owner: Option<String>,
    /// Whether everyone in the space sees it, or its owner alone: the names of its ends may be
    /// known to no other.
    pub is_common: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// Keeps tunnels. They are written by [`Store::commit`](crate::Store::commit); a
/// [wipe](crate::Store::wipe) of all that an owner has removes that owner's tunnels which are not
/// common, and takes the name off the others.
pub trait TunnelStore: Send + Sync {
    /// All tunnels of a space, by `created_at`, then by id.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn tunnels(&self, space: &Space) -> Result<Vec<Tunnel>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_belong_to_what_holds() {
        let at = Timestamp::from_microseconds;
        let period = |first, last| Period {
            first: at(first),
            last: at(last),
        };
        let name = |key: &str| Name {
            key: key.to_owned(),
            spelling: key.to_owned(),
        };
        let fact = |from: Option<Period>, to: Option<Period>| Fact {
            space: Space::default(),
            id: "t".to_owned(),
            subject: name("a"),
            predicate: name("knows"),
            object: name("b"),
            valid_from: from,
            valid_to: to,
            source: None,
            created_at: at(0),
        };
        let (from, to) = (Some(period(10, 19)), Some(period(30, 39)));
        let rows = [
            (fact(from, to), [false, true, true, true, true, true, false]),
            (fact(None, to), [true, true, true, true, true, true, false]),
            (
                fact(from, None),
                [false, true, true, true, true, true, true],
            ),
            (fact(None, None), [true; 7]),
        ];
        let asked = [
            period(0, 9),
            period(0, 10),
            period(10, 10),
            period(20, 29),
            period(39, 39),
            period(39, 99),
            period(40, 40),
        ];
        for (fact, expected) in rows {
            assert_eq!(
                asked.map(|period| fact.holds_in(period)),
                expected,
                "{fact:?}"
            );
        }
        assert!(fact(from, to).is_open_after(at(38)) && !fact(from, to).is_open_after(at(39)));
        assert!(fact(from, None).is_open_after(at(i64::MAX)));
        assert!(fact(from, to).begins_after(at(9)) && !fact(from, to).begins_after(at(10)));
        assert!(!fact(None, to).begins_after(at(i64::MIN)));
    }
}
