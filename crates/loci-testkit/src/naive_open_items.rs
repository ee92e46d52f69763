//! What people should decide, in a map, and the memories as they were examined for it.

use std::cmp::Reverse;
use std::collections::HashSet;

use loci_core::{
    Examined, ExaminedUntil, Filter, OpenItem, OpenItemStore, Partition, Result, Space, ToExamine,
};

use crate::NaiveStore;
use crate::naive_store::{Key, Record, State};

impl State {
    /// Returns the memories of a partition that are not as they were examined by these rules, the
    /// last filed one first.
    pub(crate) fn unexamined(&self, partition: &Partition, rules: u32) -> Vec<&Record> {
        let records = self.records.iter().filter(|(key, record)| {
            partition.contains(&key.0)
                && record.deleted_at.is_none()
                && self.examined.get(*key) != Some(&(rules, (*record).clone()))
        });
        let mut records: Vec<&Record> = records.map(|(_, record)| record).collect();
        records.sort_by_key(|record| Reverse(record.filing));
        records
    }

    /// Removes the items of a memory, also of pairs.
    pub(crate) fn close_items(&mut self, (space, id): &Key) {
        self.remove_items(|of, item| {
            of == space && (item.memory == *id || item.other.as_ref() == Some(id))
        });
    }

    /// Removes items, and has the memories of the pairs among them examined again.
    fn remove_items(&mut self, is_meant: impl Fn(&Space, &OpenItem) -> bool) {
        let examined = &mut self.examined;
        self.open_items.retain(|(space, _), item| {
            let is_meant = is_meant(space, item);
            if let Some(other) = item.other.as_ref().filter(|_| is_meant) {
                for end in [&item.memory, other] {
                    examined.remove(&(space.clone(), end.clone()));
                }
            }
            !is_meant
        });
    }
}

impl OpenItemStore for NaiveStore {
    fn to_examine(
        &self,
        partition: &Partition,
        rules: u32,
        limit: usize,
    ) -> Result<Option<ToExamine>> {
        let state = self.state();
        let found = state.unexamined(partition, rules).into_iter().take(limit);
        let memories: Vec<Key> = found
            .map(|record| (record.memory.space.clone(), record.memory.id.clone()))
            .collect();
        let until = ExaminedUntil {
            rules,
            change: 0,
            row: 0,
        };
        Ok((!memories.is_empty()).then_some(ToExamine {
            memories,
            until,
            is_backlog: false,
        }))
    }

    fn put_examined(
        &self,
        _: &Partition,
        until: Option<ExaminedUntil>,
        examined: &[Examined],
    ) -> Result<()> {
        let mut state = self.state();
        let found = examined.iter().flat_map(|examined| &examined.items);
        let found: HashSet<&str> = found.map(|item| item.key.as_str()).collect();
        let key_of = |examined: &Examined| (examined.space.clone(), examined.memory.clone());
        let former: Vec<_> = examined
            .iter()
            .map(|examined| state.examined.get(&key_of(examined)).cloned())
            .collect();
        for examined in examined {
            let id = &examined.memory;
            let is_gone = |item: &OpenItem| {
                let is_other = item.other.as_ref() == Some(id);
                let held = examined.as_older.as_ref().filter(|_| is_other);
                item.memory == *id || held.is_some_and(|held| !held.contains(&item.key))
            };
            state.remove_items(|space, item| {
                *space == examined.space
                    && is_gone(item)
                    && examined.kinds.contains(&item.kind)
                    && !found.contains(item.key.as_str())
            });
        }
        for (examined, former) in examined.iter().zip(former) {
            let key = key_of(examined);
            for item in &examined.items {
                let key = (examined.space.clone(), item.key.clone());
                state.open_items.insert(key, item.clone());
            }
            let record = state
                .records
                .get(&key)
                .filter(|_| examined.as_older.is_some());
            // Its own lost pairs are no reason to look at it again: it was looked at just now.
            match (until, record.cloned(), former) {
                (Some(until), Some(record), _) => {
                    state.examined.insert(key, (until.rules, record));
                }
                (_, _, Some(former)) => {
                    state.examined.insert(key, former);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn open_items(&self, filter: &Filter, limit: usize) -> Result<Vec<OpenItem>> {
        let state = self.state();
        let admitted = state.admitted(filter);
        let holds = |item: &OpenItem| {
            admitted.iter().any(|record| {
                record.memory.id == item.memory && record.memory.revision == item.revision
            })
        };
        let items = state.open_items.iter();
        let items = items.filter(|((space, _), item)| *space == filter.space && holds(item));
        let mut items: Vec<OpenItem> = items.map(|(_, item)| item.clone()).collect();
        items.sort_by(|a, b| (Reverse(a.certainty), &a.key).cmp(&(Reverse(b.certainty), &b.key)));
        items.truncate(limit);
        Ok(items)
    }
}
