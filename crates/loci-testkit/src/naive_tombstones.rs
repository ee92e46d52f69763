//! Tombstones, in a map.

use std::collections::BTreeSet;

use loci_core::limits::TOMBSTONES_MAX;
use loci_core::{KeyedHash, Result, Salt, Space, Timestamp, Tombstone, TombstoneStore};

use crate::NaiveStore;
use crate::naive_store::State;

/// Space, hash of the text and hash of the id.
pub(crate) type TombstoneKey = (Space, KeyedHash, KeyedHash);

fn key(space: &Space, tombstone: &Tombstone) -> TombstoneKey {
    (space.clone(), tombstone.text, tombstone.memory)
}

impl State {
    pub(crate) fn put_tombstones(&mut self, space: &Space, tombstones: &[Tombstone]) {
        for tombstone in tombstones {
            self.tombstones
                .insert(key(space, tombstone), tombstone.clone());
        }
        let mut ages: Vec<(Timestamp, TombstoneKey)> = self
            .tombstones_in(space)
            .map(|tombstone| (tombstone.forgotten_at, key(space, tombstone)))
            .collect();
        ages.sort_unstable();
        let excess = ages.len().saturating_sub(TOMBSTONES_MAX);
        for (_, key) in ages.drain(..excess) {
            self.tombstones.remove(&key);
        }
    }

    pub(crate) fn delete_tombstones(&mut self, space: &Space, texts: &[KeyedHash]) {
        self.tombstones
            .retain(|(of, text, _), _| of != space || !texts.contains(text));
    }

    fn tombstones_in(&self, space: &Space) -> impl Iterator<Item = &Tombstone> {
        self.tombstones
            .iter()
            .filter(move |((of, ..), _)| of == space)
            .map(|(_, tombstone)| tombstone)
    }
}

impl TombstoneStore for NaiveStore {
    fn tombstone_salts(&self, space: &Space) -> Result<Vec<Salt>> {
        let state = self.state();
        let salts = state.tombstones_in(space).map(|tombstone| tombstone.salt);
        Ok(salts.collect::<BTreeSet<_>>().into_iter().collect())
    }

    fn tombstones_of(&self, space: &Space, texts: &[KeyedHash]) -> Result<Vec<Tombstone>> {
        let state = self.state();
        let found = state.tombstones_in(space);
        Ok(found
            .filter(|tombstone| texts.contains(&tombstone.text))
            .cloned()
            .collect())
    }

    fn tombstones(
        &self,
        space: &Space,
        after: Option<&Tombstone>,
        limit: usize,
    ) -> Result<Vec<Tombstone>> {
        let state = self.state();
        let is_after = |tombstone: &&Tombstone| {
            after.is_none_or(|after| key(space, tombstone) > key(space, after))
        };
        let found = state.tombstones_in(space);
        Ok(found.filter(is_after).take(limit).cloned().collect())
    }
}
