//! The knowledge graph: facts that relate two entities, each with a validity interval.
//!
//! Facts are common to everyone in their space: they have an author, and no owner.

use crate::{ANONYMOUS, MemoryId, Result, Space, Timestamp};

const MICROSECONDS_PER_DAY: i64 = 86_400_000_000;

/// A time as it was given: a moment, or a day, which spans its first to its last microsecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Period {
    /// Its first moment.
    pub first: Timestamp,
    /// Its last moment, never before the first.
    pub last: Timestamp,
}

impl Period {
    /// Returns the moment at which a validity that ends with this period is over. A moment ends what
    /// holds until then, and belongs to what starts with it. A day, or a longer time, ends with its
    /// last microsecond, so that what ends with it is over at midnight (UTC). The last microsecond of
    /// a day counts as the end of that day, also where it was given as a moment.
    ///
    /// ```
    /// # use loci_core::{Period, Timestamp};
    /// let at = Timestamp::from_microseconds;
    /// let moment = Period { first: at(7), last: at(7) };
    /// assert_eq!(moment.end(), at(7));
    /// let day = Period { first: at(0), last: at(86_399_999_999) };
    /// assert_eq!(day.end(), at(86_400_000_000));
    /// ```
    pub fn end(self) -> Timestamp {
        let next = self.last.microseconds().saturating_add(1);
        if next.rem_euclid(MICROSECONDS_PER_DAY) == 0 {
            Timestamp::from_microseconds(next)
        } else {
            self.last
        }
    }

    /// Returns the greatest `last` of a period whose [end](Period::end) is not after that moment, by
    /// which a store compares the ends that it keeps.
    pub fn last_over_at(moment: Timestamp) -> Timestamp {
        let next = moment.microseconds().saturating_add(1);
        if next.rem_euclid(MICROSECONDS_PER_DAY) == 0 {
            Timestamp::from_microseconds(moment.microseconds().saturating_sub(1))
        } else {
            moment
        }
    }
}

/// The name of an entity or a relation of the graph.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Name {
    /// The normalised name: names with the same key are the same entity or relation.
    pub key: String,
    /// The spelling. Stores keep the first spelling of a key, separately for entities and for
    /// relations, and ignore another one on writing.
    pub spelling: String,
}

/// A fact: subject, predicate, object and validity interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// The space that holds it.
    pub space: Space,
    /// Its id, unique in the space.
    pub id: String,
    /// The subject.
    pub subject: Name,
    /// The relation.
    pub predicate: Name,
    /// The object.
    pub object: Name,
    /// The start of its validity, from the first moment on; `None` if it has always held.
    pub valid_from: Option<Period>,
    /// The end of its validity, up to and without the moment [`Period::end`]; `None` if it is open.
    pub valid_to: Option<Period>,
    /// The source, as its author named it.
    pub source: Option<String>,
    /// The subject who asserted it; [`ANONYMOUS`] for an anonymous caller. `None` if that is not
    /// known, because it was stored before facts had authors, or because of a wipe without a
    /// pseudonym. A change of its end leaves the author.
    pub author: Option<String>,
    /// The time at which it was stored.
    pub created_at: Timestamp,
}

impl Fact {
    /// Returns the author of a fact that this subject asserts; `None` is an anonymous caller.
    ///
    /// ```
    /// # use loci_core::Fact;
    /// assert_eq!(Fact::author_of(Some("ann")).as_deref(), Some("ann"));
    /// assert_eq!(Fact::author_of(None).as_deref(), Some("anonymous"));
    /// ```
    pub fn author_of(subject: Option<&str>) -> Option<String> {
        Some(subject.unwrap_or(ANONYMOUS).to_owned())
    }

    /// Returns true if the fact held at any moment of the period.
    pub fn holds_in(&self, period: Period) -> bool {
        self.valid_from.is_none_or(|from| from.first <= period.last)
            && self.is_open_after(period.first)
    }

    /// Returns true if the end is open or after that moment.
    pub fn is_open_after(&self, moment: Timestamp) -> bool {
        self.valid_to.is_none_or(|to| to.end() > moment)
    }

    /// Returns true if the fact starts after that moment.
    pub fn begins_after(&self, moment: Timestamp) -> bool {
        self.valid_from.is_some_and(|from| from.first > moment)
    }
}

/// The role of an entity in a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The entity is the subject.
    Outgoing,
    /// The entity is the object.
    Incoming,
    /// The entity is the subject or the object.
    Both,
}

/// The place of a fact in the order in which [`FactStore::facts`] returns them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FactPlace {
    /// The first moment of its validity; `None` comes first.
    pub valid_from: Option<Timestamp>,
    /// The time at which it was stored.
    pub created_at: Timestamp,
    /// Its id.
    pub id: String,
}

impl FactPlace {
    /// Returns the place of a fact.
    pub fn of(fact: &Fact) -> Self {
        FactPlace {
            valid_from: fact.valid_from.map(|from| from.first),
            created_at: fact.created_at,
            id: fact.id.clone(),
        }
    }
}

/// A filter for facts. A fact must match all conditions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactQuery {
    /// The space.
    pub space: Space,
    /// Only facts in which the entity with this key has this role.
    pub entity: Option<(String, Direction)>,
    /// Only facts with these keys of subject, predicate and object.
    pub triple: Option<[String; 3]>,
    /// Only facts with these keys of subject and predicate.
    pub relation: Option<[String; 2]>,
    /// Only facts that held at any moment of this period.
    pub as_of: Option<Period>,
    /// Only facts that come after this place in the order.
    pub beyond: Option<FactPlace>,
    /// The number of matches to skip.
    pub offset: usize,
    /// The maximum number of facts to return.
    pub limit: usize,
}

/// The size of a knowledge graph.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FactCounts {
    /// The number of entities that are subject or object of a fact.
    pub entities: u64,
    /// The number of facts.
    pub facts: u64,
    /// The number of facts whose end is open or after the given moment.
    pub open: u64,
    /// The number of facts that start after the given moment.
    pub to_come: u64,
    /// The spellings of all relations, in the order of their keys.
    pub predicates: Vec<String>,
}

/// A filter for entities. An entity must match all conditions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityQuery {
    /// The space.
    pub space: Space,
    /// Only entities whose keys contain this text; all if it is empty.
    pub text: String,
    /// Only facts that held at any moment of this period count.
    pub as_of: Period,
    /// The moment that tells current facts from past ones.
    pub now: Timestamp,
    /// The maximum number of entities to return.
    pub limit: usize,
}

/// An entity with the numbers of the facts that it is subject or object of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    /// Its name.
    pub name: Name,
    /// The facts that hold at the moment that was asked for.
    pub current: u64,
    /// The facts that were over by then.
    pub past: u64,
}

impl Entity {
    /// Returns the number of its facts that have begun.
    pub fn facts(&self) -> u64 {
        self.current + self.past
    }
}

/// Keeps facts. [`Store::commit`](crate::Store::commit) writes them. A [wipe](crate::Store::wipe) of
/// all the data of a subject replaces it as the author of its facts, which stay.
pub trait FactStore: Send + Sync {
    /// Returns the facts that match, ordered by the first moment of `valid_from` (those without one
    /// first), then by `created_at`, then by id.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn facts(&self, query: &FactQuery) -> Result<Vec<Fact>>;

    /// Returns the facts with these ids, in the order of the ids, without an id that no fact has.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn facts_with_ids(&self, space: &Space, ids: &[String]) -> Result<Vec<Fact>>;

    /// Returns entities with the numbers of their facts, the ones with most facts first, ties in the
    /// order of their keys. A fact of an entity about itself is one fact. The cost is proportional to
    /// the number of facts of the space.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn entities(&self, query: &EntityQuery) -> Result<Vec<Entity>>;

    /// Returns the size of the graph of a space at `now`. The cost is at most proportional to the
    /// number of facts that ended before `now` or start after it.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn fact_counts(&self, space: &Space, now: Timestamp) -> Result<FactCounts>;
}

/// One end of a [`Tunnel`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TunnelEnd {
    /// The collection; `None` is global.
    pub collection: Option<String>,
    /// The section within it.
    pub section: String,
    /// The memory at that place that is linked, if any. Stores clear it when that memory is
    /// removed, not when it moves to another place.
    pub memory: Option<MemoryId>,
}

/// A link that a caller made between two places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tunnel {
    /// The space that holds it.
    pub space: Space,
    /// Its id, unique in the space.
    pub id: String,
    /// One end.
    pub source: TunnelEnd,
    /// The other end. The order has no meaning: a pair of places has one tunnel.
    pub target: TunnelEnd,
    /// The reason for the link; empty if the caller gave no reason.
    pub label: String,
    /// The user who made it; `None` if the caller was anonymous.
    pub owner: Option<String>,
    /// True if everyone in the space sees it. Otherwise only its owner does, because other users
    /// may not know the names of its ends.
    pub is_common: bool,
    /// The creation time.
    pub created_at: Timestamp,
    /// The time of the last change.
    pub updated_at: Timestamp,
}

/// Keeps tunnels. [`Store::commit`](crate::Store::commit) writes them. A [wipe](crate::Store::wipe)
/// of all the data of an owner removes the owner's tunnels that are not common, and clears the
/// owner of the others.
pub trait TunnelStore: Send + Sync {
    /// Returns all tunnels of a space, ordered by `created_at`, then by id.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    fn tunnels(&self, space: &Space) -> Result<Vec<Tunnel>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_belongs_to_what_holds_and_the_end_to_the_next() {
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
            author: None,
            created_at: at(0),
        };
        let (from, to) = (Some(period(10, 19)), Some(period(39, 39)));
        let day_end = MICROSECONDS_PER_DAY - 1;
        let day = Some(period(0, day_end));
        let rows = [
            (fact(from, to), [false, true, true, true, false, false]),
            (fact(None, to), [true, true, true, true, false, false]),
            (fact(from, None), [false, true, true, true, true, true]),
            (fact(None, day), [true, true, true, true, true, true]),
            (fact(to, None), [false, false, false, false, true, true]),
            (fact(None, None), [true; 6]),
        ];
        let asked = [
            period(0, 9),
            period(0, 10),
            period(10, 10),
            period(38, 38),
            period(39, 39),
            period(39, 99),
        ];
        for (fact, expected) in rows {
            assert_eq!(
                asked.map(|period| fact.holds_in(period)),
                expected,
                "{fact:?}"
            );
        }
        let (ends_with_the_day, next) = (
            fact(None, day),
            fact(Some(period(day_end + 1, day_end + 1)), None),
        );
        for moment in [day_end - 1, day_end, day_end + 1, day_end + 2] {
            let asked = period(moment, moment);
            let (before, after) = (ends_with_the_day.holds_in(asked), next.holds_in(asked));
            assert_eq!(
                (before, after),
                (moment <= day_end, moment > day_end),
                "{moment}"
            );
        }
        assert!(fact(from, to).is_open_after(at(38)) && !fact(from, to).is_open_after(at(39)));
        assert!(fact(from, None).is_open_after(at(i64::MAX)));
        assert!(fact(from, to).begins_after(at(9)) && !fact(from, to).begins_after(at(10)));
        assert!(!fact(None, to).begins_after(at(i64::MIN)));
    }

    /// Stores compare the last moments of ends, and must find what [`Period::end`] says.
    #[test]
    fn what_is_over_is_told_by_the_last_moment_of_its_end() {
        let at = Timestamp::from_microseconds;
        let days = [-1, 0, 1].map(|day| day * MICROSECONDS_PER_DAY);
        let near = || {
            days.iter()
                .flat_map(|day| (-2..=2).map(move |step| at(day + step)))
        };
        for last in near().chain([Timestamp::MIN, at(i64::MAX)]) {
            let end = Period { first: last, last }.end();
            for moment in near().chain([Timestamp::MIN, at(i64::MAX)]) {
                assert_eq!(
                    last <= Period::last_over_at(moment),
                    end <= moment,
                    "{last:?} {moment:?}"
                );
            }
        }
    }
}
