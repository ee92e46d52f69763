//! Leaving out what was forgotten here of an archive.

use std::collections::{BTreeMap, HashSet};

use loci_core::{Archived, Batch, Change, Memory, MemoryId, Result, Space};

use crate::imports::Imports;
use crate::imports::batch::ImportBatch;
use crate::imports::import_records::{ImportReport, memory};
use crate::notes::NOTE_KIND;

impl<'a> Imports<'a> {
    /// Returns the same imports; if `stores_again` is true, they store texts that were forgotten,
    /// too, and lift their tombstones.
    #[must_use]
    pub fn again(self, stores_again: bool) -> Self {
        Imports {
            stores_again,
            ..self
        }
    }

    /// Returns the same imports, which note in the batch what they bring, if there is one.
    #[must_use]
    pub fn in_batch(self, batch: Option<&'a ImportBatch>) -> Self {
        Imports { batch, ..self }
    }

    /// Returns the same imports; if `are_followed` is true, agents follow the memories that sessions
    /// start with at once, because the person who imports them said so.
    #[must_use]
    pub fn followed(self, are_followed: bool) -> Self {
        Imports {
            are_followed,
            ..self
        }
    }

    /// Returns the numbers of the records that were forgotten or wiped in this store. If they are to
    /// be stored again, it lifts their tombstones, and returns an empty set, but adds the memories among them to
    /// `again`.
    pub(super) fn forgotten(
        &self,
        records: &[Archived],
        brought: &ImportReport,
        again: &mut HashSet<MemoryId>,
    ) -> Result<HashSet<usize>> {
        let mut spaces: BTreeMap<&Space, Vec<usize>> = BTreeMap::new();
        for (number, archived) in records.iter().enumerate() {
            spaces.entry(&archived.space).or_default().push(number);
        }
        let mut forgotten = HashSet::new();
        for (space, numbers) in spaces {
            let salts = self.tombstones.salts(space)?;
            if salts.is_empty() {
                continue;
            }
            let (mut texts, mut memories) = (Vec::new(), Vec::new());
            for number in numbers {
                match memory(&records[number]) {
                    // The file of a note is its truth.
                    Some(memory) if memory.kind == NOTE_KIND => {}
                    Some(memory) => memories.push((number, memory)),
                    None if self.stores_again => {}
                    None => {
                        let record = &records[number].record;
                        if self.tombstones.is_wiped(space, &salts, record)? {
                            forgotten.insert(number);
                        }
                    }
                }
            }
            let asked: Vec<&Memory> = memories.iter().map(|(_, memory)| *memory).collect();
            let found = self.tombstones.among(space, &salts, &asked)?;
            for ((number, memory), hashes) in memories.into_iter().zip(found) {
                if hashes.is_empty() {
                    continue;
                }
                if self.stores_again {
                    again.insert(memory.id.clone());
                } else {
                    forgotten.insert(number);
                }
                texts.extend(hashes);
            }
            if self.stores_again && !texts.is_empty() && !brought.is_dry_run {
                self.store.commit(Batch::new(
                    space.clone(),
                    vec![Change::DeleteTombstones { texts }],
                ))?;
            }
        }
        Ok(forgotten)
    }
}
