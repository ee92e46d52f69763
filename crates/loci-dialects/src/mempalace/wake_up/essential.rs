//! The drawers of a wing that an agent reads first.

use std::collections::HashSet;

use loci_core::{CollectionFilter, FilingOrder, LocationCount, Memory, Result, Tier, Timestamp};
use loci_engine::{Browse, Parts, SOURCE_FILE, START_CHARACTERS};

use super::CONVERSATIONS;

/// The number of newest drawers to examine: of all, and of each of the first kinds in each room.
pub(super) const DRAWERS_LOOKED_AT: usize = 100;
/// Kinds that are fetched besides the newest drawers, each with its worth.
const KINDS_FIRST: [(&str, f64); 5] = [
    ("decision", 1.0),
    ("rule", 1.0),
    ("feedback", 0.9),
    ("preference", 0.9),
    ("fact", 0.8),
];
/// The worth of a drawer of another kind.
const OTHER_KIND: f64 = 0.5;
/// The share of its worth that a drawer loses per day, so that half is left after a year.
const DECAY_OF_DAY: f64 = 0.002;
/// The maximum number of characters read of a drawer.
const CHARACTERS_READ: usize = 4 * START_CHARACTERS;

/// Returns true if a memory was not filed by hand: it was read from a file or a conversation, or
/// made from another memory.
pub(super) fn was_read(memory: &Memory) -> bool {
    let is_of_file = memory.attributes.contains_key(SOURCE_FILE);
    is_of_file || memory.location.section == CONVERSATIONS || memory.source.is_some()
}

/// Returns the worth of a memory at the start of a session: it grows with kind, weight and access
/// count, and decays with age.
fn worth(memory: &Memory, now: Timestamp) -> f64 {
    let kind = KINDS_FIRST
        .iter()
        .find(|(kind, _)| *kind == memory.kind)
        .map_or(OTHER_KIND, |(_, counts)| *counts);
    let familiarity = 1.0 + (memory.access.count as f64).ln_1p();
    kind * memory.weight
        * familiarity
        * (-DECAY_OF_DAY * now.days_since(memory.updated_at).max(0.0)).exp()
}

/// Returns the drawers of a wing to show. Fetches the drawers of the first kinds by room and kind,
/// so that newer drawers of other kinds do not hide them.
pub(super) fn essential(
    parts: &Parts<'_>,
    from: &CollectionFilter,
    places: &[LocationCount],
    collection: Option<&str>,
    drawers_max: usize,
) -> Result<Vec<Memory>> {
    let is_first = |place: &&LocationCount| {
        let is_there = place.collection.as_deref() == collection && place.section != CONVERSATIONS;
        is_there && KINDS_FIRST.iter().any(|(kind, _)| *kind == place.kind)
    };
    let mut memories = Vec::new();
    for place in places.iter().filter(is_first) {
        memories.extend(newest(
            parts,
            from,
            Some(&place.section),
            &[&place.kind],
            DRAWERS_LOOKED_AT,
        )?);
    }
    memories.extend(newest(parts, from, None, &[], DRAWERS_LOOKED_AT)?);
    let now = parts.engine().now();
    memories.sort_by(|a, b| {
        let by_worth = || worth(b, now).total_cmp(&worth(a, now));
        was_read(a)
            .cmp(&was_read(b))
            .then_with(by_worth)
            .then_with(|| b.created_at.cmp(&a.created_at))
    });
    let mut seen = HashSet::new();
    memories.retain(|memory| seen.insert(memory.id.clone()));
    memories.truncate(drawers_max);
    Ok(memories)
}

/// Returns the newest memories that are not superseded.
pub(super) fn newest(
    parts: &Parts<'_>,
    from: &CollectionFilter,
    section: Option<&str>,
    kinds: &[&str],
    limit: usize,
) -> Result<Vec<Memory>> {
    let mut memories = parts
        .listings()
        .list_by_insertion(&newest_of(from, section, kinds, limit))?;
    memories.retain(|memory| memory.superseded_by.is_none());
    parts.listings().without_represented(&mut memories)?;
    Ok(memories)
}

pub(super) fn newest_of(
    from: &CollectionFilter,
    section: Option<&str>,
    kinds: &[&str],
    limit: usize,
) -> Browse {
    Browse {
        collections: from.clone(),
        sections: section.into_iter().map(str::to_owned).collect(),
        kinds: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
        tiers: vec![Tier::LongTerm],
        order: FilingOrder::LastFirst,
        offset: 0,
        limit,
        characters_max: Some(CHARACTERS_READ),
        ..Browse::default()
    }
}
