//! The archive and the import of the naive store.

use std::collections::BTreeMap;

use loci_core::{
    ArchiveStore, Archived, CacheEntry, Expect, Memory, MemoryId, NoteFile, Passage, Record,
    Result, Space, Timestamp,
};

use crate::NaiveStore;
use crate::naive_store::{State, conflict, of_batch};
use crate::naive_users::is_alive;

impl ArchiveStore for NaiveStore {
    fn archive(&self, now: Timestamp, visit: &mut dyn FnMut(Archived) -> Result<()>) -> Result<()> {
        // Visits a copy, since `visit` may write.
        let state = self.state().clone();
        state.archived(now).into_iter().try_for_each(visit)
    }
}

impl State {
    /// Stores a record of an archive, unless it exists.
    pub(crate) fn bring_back(
        &mut self,
        space: &Space,
        record: &Record,
        passages: &[Passage],
        since: u64,
        now: Timestamp,
    ) -> Result<()> {
        if let Some((owner, origin)) = record.whose() {
            self.not_wiped(space, owner, origin, since)?;
        }
        match record {
            Record::Memory(memory) => {
                let key = (space.clone(), memory.id.clone());
                if self
                    .records
                    .get(&key)
                    .is_some_and(|found| found.deleted_at.is_some())
                {
                    self.remove(&key);
                }
                self.put(space, memory, Some(&passages.to_vec()), Expect::Absent)?;
                if let Some(stored) = self.records.get_mut(&key) {
                    stored.memory.access = memory.access;
                }
                Ok(())
            }
            Record::NoteFolder(identity) => {
                insert_new(&mut self.note_folders, space.clone(), identity)
            }
            Record::NoteFile(file) => {
                let key = (space.clone(), file.path.clone());
                let is_missing = |file: &NoteFile| file.missing_since.is_some();
                if self.note_files.get(&key).is_some_and(is_missing) && !is_missing(file) {
                    self.note_files.remove(&key);
                }
                insert_new(&mut self.note_files, key, &**file)
            }
            Record::Fact(fact) => self.put_fact(space, fact),
            Record::Tunnel(tunnel) => self.put_tunnel(space, tunnel, None),
            Record::Setting { owner, name, value } => insert_new(
                &mut self.settings,
                (space.clone(), owner.clone(), name.clone()),
                value,
            ),
            Record::SourceFile(file) => self.put_source_file(space, file, None),
            Record::CacheEntry(entry) => {
                of_batch(space, &entry.space, "a cached answer")?;
                self.put_cache_entry(entry, since)
            }
            Record::Decision(decision) => {
                of_batch(space, &decision.space, "a decision")?;
                let key = (space.clone(), decision.owner.clone(), decision.key.clone());
                if self
                    .decisions
                    .get(&key)
                    .is_some_and(|found| !is_alive(found, now))
                {
                    self.decisions.remove(&key);
                }
                insert_new(&mut self.decisions, key, &**decision)
            }
            Record::IdempotentReply(answer) => self.put_reply(space, answer),
            Record::Tombstone(tombstone) => {
                let key = (space.clone(), tombstone.text, tombstone.memory);
                insert_new(&mut self.tombstones, key, &**tombstone)
            }
        }
    }

    fn archived(&self, now: Timestamp) -> Vec<Archived> {
        let mut all = Vec::new();
        let mut add = |space: &Space, record| {
            all.push(Archived {
                space: space.clone(),
                record,
            });
        };
        for memory in self.memories(now) {
            let space = memory.space.clone();
            add(&space, Record::Memory(Box::new(memory)));
        }
        for (space, identity) in &self.note_folders {
            add(space, Record::NoteFolder(identity.clone()));
        }
        for ((space, _), file) in &self.note_files {
            add(space, Record::NoteFile(Box::new(file.clone())));
        }
        for fact in self.graph.filed() {
            let space = fact.space.clone();
            add(&space, Record::Fact(Box::new(fact)));
        }
        for tunnel in self.graph.tunnels() {
            let mut tunnel = tunnel.clone();
            for end in [&mut tunnel.source, &mut tunnel.target] {
                end.memory
                    .take_if(|id| !self.is_archived(&tunnel.space, id, now));
            }
            add(&tunnel.space.clone(), Record::Tunnel(Box::new(tunnel)));
        }
        for ((space, owner, name), value) in &self.settings {
            add(
                space,
                Record::Setting {
                    owner: owner.clone(),
                    name: name.clone(),
                    value: value.clone(),
                },
            );
        }
        let mut sources: Vec<_> = self.source_files.iter().collect();
        sources.sort_by_key(|((_, machine, path, collection), _)| (machine, collection, path));
        for ((space, ..), file) in sources {
            add(space, Record::SourceFile(Box::new(file.clone())));
        }
        for entry in self.cache.values().filter(|entry| entry.expires_at > now) {
            add(
                &entry.space,
                Record::CacheEntry(Box::new(CacheEntry {
                    vector: None,
                    ..entry.clone()
                })),
            );
        }
        for decision in self
            .decisions
            .values()
            .filter(|decision| decision.expires_at.is_none_or(|at| at > now))
        {
            add(
                &decision.space,
                Record::Decision(Box::new(decision.clone())),
            );
        }
        for answer in self
            .answers
            .values()
            .filter(|answer| answer.expires_at > now)
        {
            if !answer
                .memories
                .iter()
                .all(|id| self.is_archived(&answer.space, id, now))
            {
                continue;
            }
            add(
                &answer.space,
                Record::IdempotentReply(Box::new(answer.clone())),
            );
        }
        for ((space, ..), tombstone) in &self.tombstones {
            add(space, Record::Tombstone(Box::new(tombstone.clone())));
        }
        // A stable sort: the kinds of each space keep their order.
        all.sort_by(|left, right| left.space.cmp(&right.space));
        all
    }

    /// Returns the memories of all spaces for the archive, in the order of insertion.
    fn memories(&self, now: Timestamp) -> Vec<Memory> {
        let mut records: Vec<_> = self
            .shown()
            .filter(|record| record.memory.is_live(now))
            .collect();
        records.sort_by_key(|record| record.filing);
        records
            .into_iter()
            .map(|record| Memory {
                superseded_by: None,
                ..record.memory.clone()
            })
            .collect()
    }

    fn is_archived(&self, space: &Space, id: &MemoryId, now: Timestamp) -> bool {
        let record = self.records.get(&(space.clone(), id.clone()));
        record.is_some_and(|record| record.deleted_at.is_none() && record.memory.is_live(now))
    }
}

fn insert_new<K: Ord, V: Clone>(map: &mut BTreeMap<K, V>, key: K, value: &V) -> Result<()> {
    if map.contains_key(&key) {
        return Err(conflict("this is there already, and stays"));
    }
    map.insert(key, value.clone());
    Ok(())
}
