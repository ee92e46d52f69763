//! Lists that go on from a number while others write.

use std::collections::{BTreeMap, BTreeSet};

use loci_core::{Batch, Change, CollectionFilter, FilingOrder, Filter, MemoryId, Space};

use super::calls::{add, commit};
use super::examples::{filed_in, filter, memory};
use super::store::MakeStore;
use crate::random::Random;

/// The lists that are tried.
const LISTS: u64 = 12;
const MEMORIES: usize = 30;

pub(super) fn a_list_in_parts_shows_each_memory_once(make: MakeStore<'_>) {
    let store = &*make();
    for seed in 0..LISTS {
        let wing = format!("wing {seed}");
        let filter = Filter {
            collections: CollectionFilter::Only(wing.clone()),
            ..filter()
        };
        let mut random = Random::new(seed);
        let mut number = 0;
        let mut file = || {
            number += 1;
            let id = format!("{seed}-{number:03}");
            add(store, &filed_in(Some(&wing), "fact", memory(&id)));
            id
        };
        let mut here: BTreeSet<String> = (0..MEMORIES).map(|_| file()).collect();
        let from_the_start = here.clone();
        let mut removed = BTreeSet::new();
        let order = match seed % 2 {
            0 => FilingOrder::FirstFirst,
            _ => FilingOrder::LastFirst,
        };
        let (mut beyond, mut listed) = (None, BTreeMap::<String, usize>::new());
        loop {
            let limit = 1 + random.below(5);
            let part = store.list_beyond(&filter, order, beyond, limit);
            let part = part.expect("the store can be read");
            let numbers: Vec<u64> = part.iter().map(|(number, _)| *number).collect();
            let in_order = match order {
                FilingOrder::FirstFirst => numbers.is_sorted_by(|one, next| one < next),
                FilingOrder::LastFirst => numbers.is_sorted_by(|one, next| one > next),
            };
            assert!(in_order, "seed {seed}: {numbers:?}");
            for (_, memory) in &part {
                *listed.entry(memory.id.to_string()).or_default() += 1;
            }
            let Some((last, _)) = part.last() else {
                break;
            };
            beyond = Some(*last);
            // Others file and remove, also the memory that the list goes on from.
            if listed.len() < 2 * MEMORIES {
                for _ in 0..random.below(3) {
                    here.insert(file());
                }
            }
            for _ in 0..random.below(3) {
                let place = random.below(here.len());
                let Some(id) = here.iter().nth(place).cloned() else {
                    break;
                };
                let delete = Change::Delete {
                    id: MemoryId::new(&*id),
                    revision: 1,
                };
                commit(store, Batch::new(Space::default(), vec![delete]));
                here.remove(&id);
                removed.insert(id);
            }
        }
        assert!(
            listed.values().all(|times| *times == 1),
            "seed {seed}: {listed:?}"
        );
        for id in from_the_start.difference(&removed) {
            assert!(
                listed.contains_key(id),
                "seed {seed}: {id} is not in {listed:?}"
            );
        }
    }
}
