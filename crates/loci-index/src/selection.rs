//! A filter as comparisons of integers.

use std::ops::RangeInclusive;

use loci_core::{
    CollectionFilter, Delivery, Filter, Forgotten, OwnerFilter, Tier, Timestamp, Visibility,
};

use super::interner::{Interner, Name};
use super::threads::Threads;
use super::{END_OF_TIME, NONE, RecordRef, Traits};

/// A compiled filter, but for its moment and its rule on superseded memories.
#[derive(Debug)]
pub(crate) struct Selection {
    space: Name,
    everything: bool,
    shared: bool,
    subject: Option<Name>,
    /// None: what is the subject's counts as its own, whatever its origin.
    own_origin: Option<Name>,
    owners: Owners,
    /// None: all.
    origins: Option<Vec<Name>>,
    /// None: all.
    programs: Option<Vec<Name>>,
    /// A bit for each.
    tiers: u8,
    /// Of what is kept apart, only that of this origin.
    unlisted_origin: Option<Name>,
    thread: Option<Name>,
    /// When they were first stored; none: whenever.
    created: Option<RangeInclusive<Timestamp>>,
    collections: Collections,
    /// None: all.
    sections: Option<Vec<Name>>,
    /// None: all.
    kinds: Option<Vec<Name>>,
    tags: Vec<Name>,
    delivery: Option<Delivery>,
    forgotten: Forgotten,
}

/// The filter on owners.
#[derive(Debug)]
enum Owners {
    Any,
    Only(Option<Name>),
    AnyOf(Vec<Option<Name>>),
}

/// The filter on collections. A name that nothing bears admits nothing.
#[derive(Debug)]
enum Collections {
    Any,
    Global,
    AnyNamed,
    Only(Option<Name>),
    GlobalAnd(Option<Name>),
    AnyOf(Vec<Option<Name>>),
}

impl Selection {
    /// The filter in numbers; none if it can admit nothing, because nothing bears a name that it
    /// asks for.
    pub(crate) fn compile(filter: &Filter, names: &Interner) -> Option<Self> {
        let collections = match &filter.collections {
            CollectionFilter::Any => Collections::Any,
            CollectionFilter::Global => Collections::Global,
            CollectionFilter::AnyNamed => Collections::AnyNamed,
            CollectionFilter::Only(name) => Collections::Only(names.find(name)),
            CollectionFilter::GlobalAnd(name) => Collections::GlobalAnd(names.find(name)),
            CollectionFilter::AnyOf(any_of) => Collections::AnyOf(found(any_of, names)),
        };
        let owners = match &filter.owner {
            OwnerFilter::Any => Owners::Any,
            OwnerFilter::Only(owner) => Owners::Only(Some(names.find(owner)?)),
            OwnerFilter::Nobody => Owners::Only(None),
            OwnerFilter::AnyOf(any_of) => Owners::AnyOf(found(any_of, names)),
        };
        let thread = match &filter.thread {
            Some(thread) => Some(names.find(thread)?),
            None => None,
        };
        let unlisted_origin = filter
            .unlisted_origin
            .as_deref()
            .and_then(|origin| names.find(origin));
        // Nothing that is kept apart is of an origin that nothing bears.
        let hides_apart = filter.unlisted_origin.is_some() && unlisted_origin.is_none();
        let reader = &filter.reader;
        let own_origin = reader
            .own_origin
            .as_deref()
            .and_then(|origin| names.find(origin));
        // Of an origin that nothing bears, nothing is anyone's own.
        let owns_nothing = reader.own_origin.is_some() && own_origin.is_none();
        let subject = reader.subject.as_deref().filter(|_| !owns_nothing);
        let tiers = if filter.tiers.is_empty() {
            &Tier::ALL[..]
        } else {
            &filter.tiers
        };
        let created =
            (filter.created_from.is_some() || filter.created_until.is_some()).then(|| {
                filter.created_from.unwrap_or(Timestamp::MIN)
                    ..=filter.created_until.unwrap_or(END_OF_TIME)
            });
        let any_of = |all: &[String]| any_of(all, names);
        Some(Selection {
            space: names.find(filter.space.as_str())?,
            everything: reader.everything,
            shared: reader.shared,
            subject: subject.and_then(|subject| names.find(subject)),
            own_origin,
            owners,
            origins: any_of(&filter.origins),
            programs: any_of(&filter.programs),
            tiers: tiers
                .iter()
                .filter(|tier| !(hides_apart && **tier == Tier::Unlisted))
                .fold(0, |bits, tier| bits | bit(*tier)),
            unlisted_origin,
            thread,
            created,
            collections,
            sections: any_of(&filter.sections),
            kinds: any_of(&filter.kinds),
            tags: filter
                .tags
                .iter()
                .map(|tag| names.find(tag))
                .collect::<Option<_>>()?,
            delivery: filter.delivery,
            forgotten: filter.forgotten,
        })
    }

    /// Returns whether it hides what it replaces from the caller, whatever else the filter asks
    /// for.
    pub(crate) fn is_live_successor(&self, memory: &Traits, moment: Timestamp) -> bool {
        !memory.is_forgotten && self.is_live_and_readable(memory, moment)
    }

    /// Returns whether the caller may know about it at all.
    pub(crate) fn is_live_and_readable(&self, memory: &Traits, moment: Timestamp) -> bool {
        memory.space == self.space
            && memory.expires_at > moment
            && (self.everything
                || memory.visibility == Visibility::Common
                || (memory.visibility == Visibility::Shared && self.shared)
                || memory.owner.is_none()
                || (memory.owner == self.subject
                    && self.own_origin.is_none_or(|origin| memory.origin == origin)))
    }

    /// Returns whether it has what else the filter asks for.
    pub(crate) fn admits(
        &self,
        memory: &Traits,
        record: &RecordRef<'_>,
        threads: &Threads,
    ) -> bool {
        let collection = match (&self.collections, memory.collection) {
            (Collections::Any, _)
            | (Collections::Global | Collections::GlobalAnd(_), None)
            | (Collections::AnyNamed, Some(_)) => true,
            (Collections::Only(name) | Collections::GlobalAnd(name), Some(collection)) => {
                *name == Some(collection)
            }
            (Collections::AnyOf(any_of), collection) => any_of.contains(&collection),
            _ => false,
        };
        collection
            && self
                .sections
                .as_ref()
                .is_none_or(|sections| sections.contains(&memory.section))
            && self
                .kinds
                .as_ref()
                .is_none_or(|kinds| kinds.contains(&memory.kind))
            && self
                .delivery
                .is_none_or(|delivery| memory.delivery == delivery)
            && self.tiers & bit(memory.tier) != 0
            && (memory.tier != Tier::Unlisted
                || self
                    .unlisted_origin
                    .is_none_or(|origin| memory.origin == origin))
            && self.thread.is_none_or(|name| {
                record.fixed.thread != NONE && threads.name(record.fixed.thread) == Some(name)
            })
            && self.forgotten.admits(memory.is_forgotten)
            && self
                .origins
                .as_ref()
                .is_none_or(|origins| origins.contains(&memory.origin))
            && self.programs.as_ref().is_none_or(|programs| {
                memory
                    .program
                    .is_some_and(|program| programs.contains(&program))
            })
            && match &self.owners {
                Owners::Any => true,
                Owners::Only(owner) => memory.owner == *owner,
                Owners::AnyOf(owners) => owners.contains(&memory.owner),
            }
            && self
                .created
                .as_ref()
                .is_none_or(|range| range.contains(&record.fixed.created_at))
            && self.tags.iter().all(|tag| record.has_tag(*tag))
    }
}

/// Returns the names of a list, which admits everything if it is empty. Names that nothing bears are
/// left out.
fn any_of(all: &[String], names: &Interner) -> Option<Vec<Name>> {
    let found = all.iter().filter_map(|name| names.find(name));
    (!all.is_empty()).then(|| found.collect())
}

/// Returns the names that something bears; a name that nothing bears admits nothing.
fn found(any_of: &[Option<String>], names: &Interner) -> Vec<Option<Name>> {
    let name = |name: &Option<String>| match name {
        None => Some(None),
        Some(name) => names.find(name).map(Some),
    };
    any_of.iter().filter_map(name).collect()
}

/// The place of a tier in a set of tiers.
fn bit(tier: Tier) -> u8 {
    1 << tier as u8
}
