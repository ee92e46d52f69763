use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use loci_core::{
    Batch, CandidateQuery, Candidates, Change, Error, ErrorCode, Expect, Filter, Memory, MemoryId, ModelId, Page,
    Passage, Result, Space, Store, StoreSize, Superseded, Tally, Timestamp, Token, TokenHash, TokenStore,
};

use crate::naive_search;

/// A store in a map. Every answer is computed from scratch, in the most obvious way.
#[derive(Debug, Default)]
pub struct NaiveStore {
    state: Mutex<State>,
}

type Key = (Space, MemoryId);

#[derive(Debug, Default, Clone)]
pub(crate) struct State {
    pub(crate) records: BTreeMap<Key, Record>,
    tokens: Vec<Token>,
    version: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) memory: Memory,
    pub(crate) passages: Vec<Passage>,
}

impl State {
    /// What the filter admits, the rule on superseded memories included, in the order of ids.
    pub(crate) fn admitted(&self, filter: &Filter) -> Vec<&Record> {
        let hidden = |memory: &Memory| {
            filter.superseded == Superseded::Hide
                && self.successors(memory).any(|successor| filter.is_live_successor(successor))
        };
        self.records.values().filter(|record| filter.admits(&record.memory) && !hidden(&record.memory)).collect()
    }

    fn successors<'a>(&'a self, memory: &'a Memory) -> impl Iterator<Item = &'a Memory> {
        self.records
            .values()
            .map(|record| &record.memory)
            .filter(|other| other.space == memory.space && other.supersedes.as_ref() == Some(&memory.id))
    }

    fn with_successor(&self, memory: &Memory, counts: impl Fn(&Memory) -> bool) -> Memory {
        let newest = self
            .successors(memory)
            .filter(|successor| counts(successor))
            .min_by(|left, right| right.created_at.cmp(&left.created_at).then_with(|| left.id.cmp(&right.id)));
        Memory { superseded_by: newest.map(|successor| successor.id.clone()), ..memory.clone() }
    }

    fn apply(&mut self, space: &Space, change: &Change) -> Result<()> {
        match change {
            Change::Put { memory, passages, expect } => self.put(space, memory, passages.as_ref(), *expect),
            Change::Delete { id, revision } => {
                let key = (space.clone(), id.clone());
                self.expect(&key, Expect::Revision(*revision))?;
                self.records.remove(&key);
                Ok(())
            }
            Change::Embed { id, revision, vectors } => {
                let Some(record) = self.records.get_mut(&(space.clone(), id.clone())) else { return Ok(()) };
                if record.memory.revision != *revision {
                    return Ok(());
                }
                if vectors.len() != record.passages.len() {
                    return Err(Error::internal("an embedding must bring one vector for each passage"));
                }
                for (passage, vector) in record.passages.iter_mut().zip(vectors) {
                    passage.vector = Some(vector.clone());
                }
                Ok(())
            }
        }
    }

    fn put(&mut self, space: &Space, memory: &Memory, passages: Option<&Vec<Passage>>, expect: Expect) -> Result<()> {
        if memory.space != *space {
            return Err(Error::internal("a memory must be in the space of its batch"));
        }
        let key = (space.clone(), memory.id.clone());
        self.expect(&key, expect)?;
        let mut record = Record {
            memory: Memory { superseded_by: None, ..memory.clone() },
            passages: passages.cloned().unwrap_or_default(),
        };
        if passages.is_none()
            && let Some(before) = self.records.remove(&key)
        {
            record.memory.content = before.memory.content;
            record.passages = before.passages;
        }
        self.records.insert(key, record);
        Ok(())
    }

    fn expect(&self, key: &Key, expect: Expect) -> Result<()> {
        let found = self.records.get(key).map(|record| record.memory.revision);
        let holds = match expect {
            Expect::Absent => found.is_none(),
            Expect::Revision(revision) => found == Some(revision),
        };
        if holds {
            return Ok(());
        }
        let message = format!("memory `{}` changed meanwhile; read it again and retry", key.1);
        Err(Error::new(ErrorCode::Conflict, message))
    }
}

impl NaiveStore {
    /// An empty store.
    pub fn new() -> Self {
        NaiveStore::default()
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for NaiveStore {
    fn commit(&self, batch: Batch) -> Result<()> {
        let mut state = self.state();
        let mut after = state.clone();
        for change in &batch.changes {
            after.apply(&batch.space, change)?;
        }
        after.version += 1;
        *state = after;
        Ok(())
    }

    fn get_all(&self, filter: &Filter, ids: &[MemoryId]) -> Result<Vec<Memory>> {
        let state = self.state();
        let admitted = state.admitted(filter);
        let found = ids.iter().filter_map(|id| admitted.iter().find(|record| record.memory.id == *id));
        let successor = |memory: &Memory| filter.is_live_successor(memory);
        Ok(found.map(|record| state.with_successor(&record.memory, successor)).collect())
    }

    fn list(&self, filter: &Filter, page: Page) -> Result<Vec<Memory>> {
        let state = self.state();
        let mut admitted = state.admitted(filter);
        admitted.sort_by(|left, right| {
            let (left, right) = (&left.memory, &right.memory);
            right.updated_at.cmp(&left.updated_at).then_with(|| left.id.cmp(&right.id))
        });
        let page = admitted.into_iter().skip(page.offset).take(page.limit);
        Ok(page
            .map(|record| state.with_successor(&record.memory, |successor| filter.is_live_successor(successor)))
            .collect())
    }

    fn tally(&self, filter: &Filter) -> Result<Vec<Tally>> {
        let state = self.state();
        let mut counts = BTreeMap::new();
        for record in state.admitted(filter) {
            let place = &record.memory.place;
            *counts.entry((place.collection.clone(), place.section.clone())).or_insert(0) += 1;
        }
        Ok(counts
            .into_iter()
            .map(|((collection, section), memories)| Tally { collection, section, memories })
            .collect())
    }

    fn candidates(&self, query: &CandidateQuery<'_>) -> Result<Candidates> {
        Ok(naive_search::candidates(&self.state(), query))
    }

    fn without_vector(&self, model: &ModelId, limit: usize) -> Result<Vec<(Space, MemoryId)>> {
        let state = self.state();
        let lacks = |passage: &Passage| passage.vector.as_ref().is_none_or(|vector| vector.model != *model);
        let keys = state.records.iter().filter(|(_, record)| record.passages.iter().any(lacks));
        Ok(keys.map(|(key, _)| key.clone()).take(limit).collect())
    }

    fn sweep(&self, now: Timestamp, limit: usize) -> Result<usize> {
        let mut state = self.state();
        let mut expired: Vec<_> = state
            .records
            .iter()
            .filter(|(_, record)| !record.memory.is_live(now))
            .map(|(key, record)| (record.memory.expires_at, key.clone()))
            .collect();
        expired.sort();
        expired.truncate(limit);
        for (_, key) in &expired {
            state.records.remove(key);
        }
        state.version += u64::from(!expired.is_empty());
        Ok(expired.len())
    }

    fn version(&self) -> Result<u64> {
        Ok(self.state().version)
    }

    fn size(&self) -> Result<StoreSize> {
        let state = self.state();
        let passages = state.records.values().map(|record| record.passages.len() as u64).sum();
        Ok(StoreSize { memories: state.records.len() as u64, passages, disk_bytes: 0, index_bytes: 0 })
    }
}

impl TokenStore for NaiveStore {
    fn add_token(&self, token: &Token) -> Result<()> {
        let mut state = self.state();
        if state.tokens.iter().any(|other| other.id == token.id || other.hash == token.hash) {
            let message = format!("a token named `{}`, or with the same secret, exists; choose another", token.id);
            return Err(Error::new(ErrorCode::Conflict, message));
        }
        state.tokens.push(token.clone());
        Ok(())
    }

    fn tokens(&self) -> Result<Vec<Token>> {
        let mut tokens = self.state().tokens.clone();
        tokens.sort_by(|left, right| left.created_at.cmp(&right.created_at).then_with(|| left.id.cmp(&right.id)));
        Ok(tokens)
    }

    fn token_by_hash(&self, hash: &TokenHash) -> Result<Option<Token>> {
        Ok(self.state().tokens.iter().find(|token| token.hash == *hash).cloned())
    }

    fn revoke_token(&self, id: &str, now: Timestamp) -> Result<()> {
        let mut state = self.state();
        let token = state.tokens.iter_mut().find(|token| token.id == id);
        let token =
            token.ok_or_else(|| Error::not_found(format!("there is no token named `{id}`; list the tokens")))?;
        token.revoked_at.get_or_insert(now);
        Ok(())
    }
}
