//! Counts of the memories that a filter admits, by what a filter can ask for.

use std::collections::BTreeMap;

use loci_core::{FacetCounts, Filter, day_of};

use super::Index;
use super::interner::{Interner, Name};

/// Memories by the number of a name, 0 for no name. A list is faster than a map, because the look at
/// each memory is then an addition.
struct Tally(Vec<u64>);

impl Tally {
    fn new(names: &Interner) -> Self {
        Tally(vec![0; names.len() + 1])
    }

    fn add(&mut self, name: Option<Name>) {
        if let Some(count) = self.0.get_mut(Name::number(name) as usize) {
            *count += 1;
        }
    }

    /// Returns the names that were counted, with their numbers of memories.
    fn with_absence(self, names: &Interner) -> BTreeMap<Option<String>, u64> {
        let counted = (0..).zip(self.0).filter(|(_, count)| *count > 0);
        let named = counted.map(|(number, count)| {
            let name = Name::of_number(number).and_then(|name| names.text(name));
            (name.map(|name| name.to_string()), count)
        });
        named.collect()
    }

    fn of_names(self, names: &Interner) -> BTreeMap<String, u64> {
        let counted = self.with_absence(names).into_iter();
        counted
            .filter_map(|(name, count)| Some((name?, count)))
            .collect()
    }
}

impl Index {
    /// Returns the numbers of memories that the filter admits, by each value of what a filter can
    /// ask for.
    pub fn facet_counts(&self, filter: &Filter) -> FacetCounts {
        let view = self.view(filter);
        let tally = || Tally::new(&self.names);
        let (mut collections, mut sections, mut kinds) = (tally(), tally(), tally());
        let (mut tags, mut owners, mut origins) = (tally(), tally(), tally());
        let mut programs = tally();
        let mut days: BTreeMap<i64, u64> = BTreeMap::new();
        // Memories of one day lie together mostly.
        let mut last_day = (0, 0);
        let mut memories = 0;
        for number in view.memories.iter() {
            let created_at = if let Some(own) = self.own(number) {
                let Some(record) = &self.records[own] else {
                    continue;
                };
                record.tags.iter().for_each(|tag| tags.add(Some(*tag)));
                record.fixed.created_at
            } else {
                let Some((created_at, of_memory)) = self.base.glance(number) else {
                    continue;
                };
                of_memory.for_each(|tag| tags.add(Some(tag)));
                created_at
            };
            let traits = self.traits(number);
            memories += 1;
            collections.add(traits.collection);
            sections.add(Some(traits.section));
            kinds.add(Some(traits.kind));
            owners.add(traits.owner);
            origins.add(Some(traits.origin));
            programs.add(traits.program);
            let day = day_of(created_at);
            if day != last_day.0 {
                *days.entry(last_day.0).or_default() += last_day.1;
                last_day = (day, 0);
            }
            last_day.1 += 1;
        }
        *days.entry(last_day.0).or_default() += last_day.1;
        days.retain(|_, count| *count > 0);
        FacetCounts {
            memories,
            collections: collections.with_absence(&self.names),
            sections: sections.of_names(&self.names),
            kinds: kinds.of_names(&self.names),
            tags: tags.of_names(&self.names),
            owners: owners.with_absence(&self.names),
            origins: origins.of_names(&self.names),
            programs: programs.of_names(&self.names),
            days,
        }
    }
}
