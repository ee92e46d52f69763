//! Records that belong to a user: cached answers, idempotent replies, decisions and the audit log,
//! and their wipe; and tokens.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use loci_core::limits::{KEYED_ANSWERS_BYTES_MAX, KEYED_ANSWERS_MAX};
use loci_core::{
    AuditEntry, AuditQuery, AuditStore, CacheEntry, CacheStore, DailyCount, DailyQuery, Decision,
    DecisionStore, Error, IdempotencyStore, IdempotentReply, Memory, MemoryId, QueryVector, Result,
    Space, StatusCount, Tier, Timestamp, Token, TokenHash, TokenStore, Visibility, WipeCounts,
    check_texts,
};

use crate::NaiveStore;
use crate::naive_search::vector_cosine;
use crate::naive_store::{Key, State, conflict, of_batch};

/// Space, owner, operation and key of a reply.
pub(crate) type AnswerKey = (Space, Option<String>, String, String);

/// Space, day and names of a count of calls.
pub(crate) type CountKey = (Space, i64, [String; 5]);

/// The record of a wipe of a user's data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wipe {
    /// The latest time of these wipes.
    pub(crate) at: Timestamp,
    /// The version after the last one.
    version: u64,
}

/// Returns true if a change of a memory removes the read access of a user.
pub(crate) fn is_withdrawn(before: &Memory, after: &Memory) -> bool {
    let is_everyones =
        |memory: &Memory| memory.owner.is_none() || memory.visibility == Visibility::Common;
    let is_narrower = is_everyones(before)
        || (before.visibility, after.visibility) == (Visibility::Shared, Visibility::Private);
    !is_everyones(after) && (is_narrower || before.owner != after.owner)
}

impl State {
    /// Returns the wipes of an owner's data of this origin, or of any origin for `None`.
    fn wipes_of(
        &self,
        space: &Space,
        owner: &str,
        origin: Option<&str>,
    ) -> impl Iterator<Item = &Wipe> {
        let concerns =
            move |wiped: Option<&str>| wiped.is_none() || origin.is_none() || wiped == origin;
        let wipes = self.wipes.iter().filter(move |((of_space, of, wiped), _)| {
            of_space == space && of == owner && concerns(wiped.as_deref())
        });
        wipes.map(|(_, wipe)| wipe)
    }

    pub(crate) fn not_wiped(
        &self,
        space: &Space,
        owner: &str,
        origin: Option<&str>,
        since: u64,
    ) -> Result<()> {
        if self
            .wipes_of(space, owner, origin)
            .any(|wipe| wipe.version > since)
        {
            return Err(conflict(
                "the data of this user was wiped meanwhile; call again",
            ));
        }
        Ok(())
    }

    pub(crate) fn census(&self, space: &Space, owner: &str, now: Timestamp) -> Vec<StatusCount> {
        let mut counts = BTreeMap::new();
        for memory in self.shown().map(|record| &record.memory) {
            let is_owned = memory.space == *space && memory.owner.as_deref() == Some(owner);
            let is_there = memory.is_live(now) && memory.forgotten_at.is_none();
            let is_counted =
                memory.is_of_conversation() && Tier::OF_CONVERSATIONS.contains(&memory.tier);
            if is_owned && is_there && is_counted {
                *counts.entry((memory.tier, memory.enrichment)).or_insert(0) += 1;
            }
        }
        counts
            .into_iter()
            .map(|((tier, enrichment), memories)| StatusCount {
                tier,
                enrichment,
                memories,
            })
            .collect()
    }

    pub(crate) fn made_from(
        &self,
        space: &Space,
        owner: &str,
        sources: &[MemoryId],
    ) -> Vec<MemoryId> {
        let owned = self.shown().map(|record| &record.memory);
        let owned =
            owned.filter(|memory| memory.space == *space && memory.owner.as_deref() == Some(owner));
        let made = owned.filter(|memory| {
            memory
                .source
                .as_ref()
                .is_some_and(|source| sources.contains(source))
        });
        made.map(|memory| memory.id.clone()).collect()
    }

    /// Adds a call to the counts of its day.
    fn count(&mut self, entry: &AuditEntry) {
        let count = DailyCount::of(entry);
        let key = (
            entry.space.clone(),
            count.day,
            count.key().map(str::to_owned),
        );
        match self.daily.get_mut(&key) {
            Some(sum) => sum.add(&count),
            None => drop(self.daily.insert(key, count)),
        }
    }

    pub(crate) fn wipe(
        &mut self,
        space: &Space,
        owner: &str,
        origin: Option<&str>,
        pseudonym: Option<&str>,
        now: Timestamp,
    ) -> WipeCounts {
        let (mut removed, mut left) = (Vec::new(), Vec::new());
        for (key, record) in &mut self.records {
            let memory = &mut record.memory;
            let is_meant = origin.is_none_or(|origin| memory.origin == origin);
            if memory.space != *space || !is_meant {
                continue;
            }
            if memory.owner.as_deref() == Some(owner) {
                if memory.goes_with_owner() {
                    removed.push(key.clone());
                    continue;
                }
                left.push(key.clone());
                (memory.owner, memory.actor) = (pseudonym.map(str::to_owned), None);
                (memory.provenance.program, memory.provenance.session) = (None, None);
                memory.revision += 1;
            }
            if let Some(pseudonym) = pseudonym
                && memory.updated_by.as_deref() == Some(owner)
            {
                memory.updated_by = Some(pseudonym.to_owned());
                memory.revision += 1;
            }
        }
        for key in &removed {
            self.remove(key);
        }
        for (key, versions) in &mut self.versions {
            if !left.contains(key) {
                continue;
            }
            for change in versions.values_mut().filter_map(|it| it.change.as_mut()) {
                if change.by.is_none() {
                    (change.program, change.session, change.token) = (None, None, None);
                }
            }
        }
        for (key, versions) in &mut self.versions {
            let is_meant = self.records.get(key).is_some_and(|record| {
                record.memory.space == *space
                    && origin.is_none_or(|origin| record.memory.origin == origin)
            });
            let Some(pseudonym) = pseudonym.filter(|_| is_meant) else {
                continue;
            };
            for version in versions.values_mut() {
                if version.updated_by.as_deref() == Some(owner) {
                    version.updated_by = Some(pseudonym.to_owned());
                }
                if let Some(change) = &mut version.change
                    && change.by.as_deref() == Some(owner)
                {
                    change.by = Some(pseudonym.to_owned());
                    (change.program, change.session, change.token) = (None, None, None);
                }
            }
        }
        let before = (self.cache.len(), self.decisions.len());
        self.cache
            .retain(|_, entry| entry.space != *space || entry.owner != owner);
        let is_meant = |entry: &AuditEntry| {
            entry.space == *space && origin.is_none_or(|origin| entry.dialect == origin)
        };
        let audit_entries = self.wipe_calls(space, owner, origin, pseudonym);
        self.daily.retain(|(of, _, [user, via, ..]), _| {
            of != space || user != owner || origin.is_some_and(|origin| via != origin)
        });
        for entry in self.audit.values_mut().filter(|entry| is_meant(entry)) {
            entry.caller.take_if(|caller| caller == owner);
        }
        self.decisions
            .retain(|_, decision| decision.space != *space || decision.owner != owner);
        self.answers.retain(|_, answer| {
            let is_meant = origin.is_none_or(|origin| answer.origin == origin);
            !is_meant || answer.space != *space || answer.owner.as_deref() != Some(owner)
        });
        if origin.is_none() {
            self.graph.forget_owner(space, owner, pseudonym);
            self.settings
                .retain(|(of, by, _), _| of != space || by.as_deref() != Some(owner));
        }
        self.version += 1;
        let key = (space.clone(), owner.to_owned(), origin.map(str::to_owned));
        let earlier = self.wipes.get(&key).map_or(now, |wipe| wipe.at);
        self.wipes.insert(
            key,
            Wipe {
                at: now.max(earlier),
                version: self.version,
            },
        );
        WipeCounts {
            memories: removed.len() as u64,
            cache_entries: (before.0 - self.cache.len()) as u64,
            audit_entries,
            decisions: (before.1 - self.decisions.len()) as u64,
        }
    }

    /// Removes the audit entries of an owner, or keeps them under the pseudonym if they changed
    /// records of others. Returns the number of entries.
    fn wipe_calls(
        &mut self,
        space: &Space,
        owner: &str,
        origin: Option<&str>,
        pseudonym: Option<&str>,
    ) -> u64 {
        let is_meant = |entry: &AuditEntry| {
            entry.space == *space && origin.is_none_or(|origin| entry.dialect == origin)
        };
        let of_owner: Vec<u64> = self
            .audit
            .iter()
            .filter(|(_, entry)| is_meant(entry) && entry.user.as_deref() == Some(owner))
            .map(|(number, _)| *number)
            .collect();
        for number in &of_owner {
            let Some(mut entry) = self.audit.remove(number) else {
                continue;
            };
            entry
                .records
                .retain(|record| !record.is_own && record.verb.is_change());
            if let Some(pseudonym) = pseudonym.filter(|_| !entry.records.is_empty()) {
                (entry.user, entry.caller) = (Some(pseudonym.to_owned()), None);
                (entry.query, entry.results, entry.further_records) = (None, None, 0);
                (entry.client, entry.session, entry.reply_tokens) = (None, None, None);
                if let Some(failure) = &mut entry.failure {
                    failure.message = None;
                }
                self.audit.insert(*number, entry);
            }
        }
        of_owner.len() as u64
    }

    pub(crate) fn put_reply(&mut self, space: &Space, answer: &IdempotentReply) -> Result<()> {
        of_batch(space, &answer.space, "an answer")?;
        let is_live = |id: &MemoryId| {
            self.records
                .get(&(space.clone(), id.clone()))
                .is_some_and(|record| {
                    let is_hidden =
                        record.deleted_at.is_some() || record.memory.forgotten_at.is_some();
                    !is_hidden && record.memory.is_live(answer.created_at)
                })
        };
        if !answer.memories.iter().all(is_live) {
            return Ok(());
        }
        let key = (
            space.clone(),
            answer.owner.clone(),
            answer.operation.clone(),
            answer.key.clone(),
        );
        if self
            .answers
            .get(&key)
            .is_some_and(|before| before.expires_at > answer.created_at)
        {
            return Err(conflict(
                "there is an answer under this key already; read it",
            ));
        }
        self.answers.insert(key.clone(), answer.clone());
        loop {
            let own: Vec<_> = self
                .answers
                .iter()
                .filter(|((of, owner, ..), _)| of == space && *owner == key.1)
                .collect();
            let bytes: usize = own.iter().map(|(_, kept)| kept.answer.len()).sum();
            if own.len() <= KEYED_ANSWERS_MAX && bytes <= KEYED_ANSWERS_BYTES_MAX {
                return Ok(());
            }
            let others = own.into_iter().filter(|(of, _)| **of != key);
            let Some((oldest, _)) = others.min_by_key(|(of, kept)| (kept.created_at, *of)) else {
                return Ok(());
            };
            let oldest = oldest.clone();
            self.answers.remove(&oldest);
        }
    }

    /// Removes the replies that contain the text of a memory, except the replies of `spared`.
    pub(crate) fn end_answers(&mut self, (space, id): &Key, spared: Option<&str>) {
        self.answers.retain(|_, answer| {
            let is_spared = spared.is_some() && answer.owner.as_deref() == spared;
            is_spared || answer.space != *space || !answer.memories.contains(id)
        });
    }

    pub(crate) fn put_cache_entry(&mut self, entry: &CacheEntry, since: u64) -> Result<()> {
        self.not_wiped(&entry.space, &entry.owner, None, since)?;
        let key = (entry.space.clone(), entry.id.clone());
        if self.cache.contains_key(&key) {
            return Err(conflict(format!(
                "there is a cache entry `{}` already",
                entry.id
            )));
        }
        self.cache.insert(key, entry.clone());
        Ok(())
    }

    fn live_entries(
        &self,
        space: &Space,
        owner: &str,
        now: Timestamp,
    ) -> impl Iterator<Item = &CacheEntry> {
        let is_owned = move |entry: &&CacheEntry| entry.space == *space && entry.owner == owner;
        self.cache
            .values()
            .filter(is_owned)
            .filter(move |entry| entry.expires_at > now)
    }
}

impl CacheStore for NaiveStore {
    fn put_cache_entry(&self, entry: &CacheEntry, since: u64) -> Result<()> {
        entry.check()?;
        let mut state = self.state();
        state.put_cache_entry(entry, since)?;
        let is_replaced = |other: &CacheEntry| {
            (&other.space, &other.owner, &other.query) == (&entry.space, &entry.owner, &entry.query)
                && other.id != entry.id
        };
        state.cache.retain(|_, other| !is_replaced(other));
        Ok(())
    }

    fn nearest_cache_entries(
        &self,
        space: &Space,
        owner: &str,
        query: &str,
        vector: Option<&QueryVector>,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<(CacheEntry, f32)>> {
        let state = self.state();
        let scored = state.live_entries(space, owner, now).filter_map(|entry| {
            let same_words = entry.query == query;
            let cosine = if same_words {
                1.0
            } else {
                vector_cosine(vector?, entry.vector.as_ref()?)?
            };
            Some((same_words, cosine, entry))
        });
        let mut nearest: Vec<_> = scored.collect();
        nearest.sort_by(|left, right| {
            let near = right
                .0
                .cmp(&left.0)
                .then_with(|| right.1.total_cmp(&left.1));
            let order = |entry: &CacheEntry| (entry.created_at, Reverse(entry.id.clone()));
            near.then_with(|| order(right.2).cmp(&order(left.2)))
        });
        Ok(nearest
            .into_iter()
            .take(limit)
            .map(|(_, cosine, entry)| (entry.clone(), cosine))
            .collect())
    }

    fn cached_queries(
        &self,
        space: &Space,
        owner: &str,
        now: Timestamp,
    ) -> Result<Vec<(MemoryId, String)>> {
        let state = self.state();
        Ok(state
            .live_entries(space, owner, now)
            .map(|entry| (entry.id.clone(), entry.query.clone()))
            .collect())
    }

    fn delete_cache_entries(&self, space: &Space, owner: &str, ids: &[MemoryId]) -> Result<u64> {
        let mut state = self.state();
        let before = state.cache.len();
        state.cache.retain(|_, entry| {
            entry.space != *space || entry.owner != owner || !ids.contains(&entry.id)
        });
        Ok((before - state.cache.len()) as u64)
    }
}

impl IdempotencyStore for NaiveStore {
    fn idempotent_reply(
        &self,
        space: &Space,
        owner: Option<&str>,
        operation: &str,
        key: &str,
        now: Timestamp,
    ) -> Result<Option<IdempotentReply>> {
        let key = (
            space.clone(),
            owner.map(str::to_owned),
            operation.to_owned(),
            key.to_owned(),
        );
        Ok(self
            .state()
            .answers
            .get(&key)
            .filter(|answer| answer.expires_at > now)
            .cloned())
    }
}

impl DecisionStore for NaiveStore {
    fn put_decision(&self, decision: &Decision, since: u64) -> Result<bool> {
        decision.check()?;
        let mut state = self.state();
        state.not_wiped(&decision.space, &decision.owner, None, since)?;
        let key = (
            decision.space.clone(),
            decision.owner.clone(),
            decision.key.clone(),
        );
        let before = state
            .decisions
            .get(&key)
            .filter(|before| is_alive(before, decision.updated_at));
        let is_new = before.is_none();
        let created_at = before.map_or(decision.created_at, |before| before.created_at);
        state.decisions.insert(
            key,
            Decision {
                created_at,
                ..decision.clone()
            },
        );
        Ok(is_new)
    }

    fn decision(
        &self,
        space: &Space,
        owner: &str,
        key: &str,
        now: Timestamp,
    ) -> Result<Option<Decision>> {
        let state = self.state();
        let found = state
            .decisions
            .get(&(space.clone(), owner.to_owned(), key.to_owned()));
        Ok(found.filter(|decision| is_alive(decision, now)).cloned())
    }
}

pub(crate) fn is_alive(decision: &Decision, now: Timestamp) -> bool {
    decision
        .expires_at
        .is_none_or(|expires_at| expires_at > now)
}

impl AuditStore for NaiveStore {
    fn append_audit(&self, entries: &[AuditEntry]) -> Result<()> {
        entries.iter().try_for_each(AuditEntry::check)?;
        let mut state = self.state();
        for entry in entries {
            let is_wiped = |user: &String| {
                state
                    .wipes_of(&entry.space, user, Some(&entry.dialect))
                    .any(|wipe| wipe.at > entry.at)
            };
            if !entry.user.as_ref().is_some_and(is_wiped) {
                state.last_audit_number += 1;
                let number = state.last_audit_number;
                let kept = AuditEntry {
                    further_stored: 0,
                    ..entry.clone()
                };
                state.audit.insert(number, kept);
                state.count(entry);
            }
        }
        Ok(())
    }

    fn audit(&self, query: &AuditQuery) -> Result<Vec<(u64, AuditEntry)>> {
        let state = self.state();
        let passes = |number: u64, entry: &AuditEntry| {
            entry.space == query.space
                && (query.user.is_none() || query.user == entry.user)
                && query.tool.as_ref().is_none_or(|tool| entry.tool == *tool)
                && query
                    .record
                    .as_ref()
                    .is_none_or(|id| entry.records.iter().any(|record| record.id == *id))
                && query.since.is_none_or(|since| entry.at >= since)
                && (query.client.is_none() || query.client == entry.client)
                && query.after.is_none_or(|after| number > after)
                && query.before.is_none_or(|before| number < before)
        };
        let passing = state
            .audit
            .iter()
            .filter(|(number, entry)| passes(**number, entry));
        let mut found: Vec<_> = passing
            .map(|(number, entry)| (*number, entry.clone()))
            .collect();
        match query.after {
            Some(_) => found.truncate(query.limit),
            None => drop(found.drain(..found.len().saturating_sub(query.limit))),
        }
        Ok(found)
    }

    fn audited_spaces(&self) -> Result<Vec<Space>> {
        let spaces: BTreeSet<Space> = self
            .state()
            .audit
            .values()
            .map(|entry| entry.space.clone())
            .collect();
        Ok(spaces.into_iter().collect())
    }

    fn daily(&self, query: &DailyQuery) -> Result<Vec<DailyCount>> {
        let state = self.state();
        let is_asked = |(space, day, key): &CountKey| {
            *space == query.space
                && (query.from..=query.until).contains(day)
                && query.user.as_ref().is_none_or(|user| key[0] == *user)
        };
        let counts = state.daily.iter().filter(|(key, _)| is_asked(key));
        Ok(counts.map(|(_, count)| count.clone()).collect())
    }
}

impl TokenStore for NaiveStore {
    fn add_token(&self, token: &Token) -> Result<()> {
        token.check()?;
        let mut state = self.state();
        if state.tokens.iter().any(|other| {
            let is_same_family =
                family_of(other).is_some_and(|family| Some(family) == family_of(token));
            other.id == token.id || other.hash == token.hash || is_same_family
        }) {
            let message = format!(
                "a token named `{}`, or with the same secret, exists; choose another",
                token.id
            );
            return Err(conflict(message));
        }
        state.tokens.push(token.clone());
        Ok(())
    }

    fn tokens(&self) -> Result<Vec<Token>> {
        let mut tokens = self.state().tokens.clone();
        tokens.sort_by(|left, right| {
            left.created_at
                .cmp(&right.created_at)
                .then_with(|| left.id.cmp(&right.id))
        });
        Ok(tokens)
    }

    fn token_by_hash(&self, hash: &TokenHash) -> Result<Option<Token>> {
        Ok(self
            .state()
            .tokens
            .iter()
            .find(|token| token.hash == *hash)
            .cloned())
    }

    fn token_by_family(&self, family: &TokenHash) -> Result<Option<Token>> {
        let state = self.state();
        let mut tokens = state.tokens.iter();
        Ok(tokens
            .find(|token| family_of(token) == Some(*family))
            .cloned())
    }

    fn renew_token(&self, secret: &TokenHash, renewed: &Token) -> Result<bool> {
        let Some(grant) = &renewed.grant else {
            return Ok(false);
        };
        renewed.check()?;
        let mut state = self.state();
        let is_taken = state
            .tokens
            .iter()
            .any(|token| token.hash == renewed.hash && token.id != renewed.id);
        let found = state.tokens.iter_mut().find(|token| {
            let now = token.grant.as_ref().map(|grant| grant.secret);
            token.id == renewed.id && now == Some(*secret) && token.revoked_at.is_none()
        });
        let Some(token) = found else {
            return Ok(false);
        };
        if is_taken {
            return Err(conflict(
                "a token with the same secret exists; make another".to_owned(),
            ));
        }
        token.hash = renewed.hash;
        token.expires_at = renewed.expires_at;
        if let Some(kept) = &mut token.grant {
            kept.secret = grant.secret;
            kept.renewable_until = grant.renewable_until;
            kept.code.clone_from(&grant.code);
        }
        Ok(true)
    }

    fn remove_ended_grants(&self, before: Timestamp) -> Result<u64> {
        let tokens = &mut self.state().tokens;
        let count = tokens.len();
        tokens.retain(|token| {
            let grant = token.grant.as_ref();
            grant.is_none_or(|grant| grant.renewable_until >= before)
        });
        Ok((count - tokens.len()) as u64)
    }

    fn revoke_token(&self, id: &str, now: Timestamp) -> Result<()> {
        let mut state = self.state();
        let is_meant = |token: &Token| {
            let parent = token.grant.as_ref().map(|grant| grant.parent.as_str());
            token.id == id || parent == Some(id)
        };
        let mut is_known = false;
        for token in state.tokens.iter_mut().filter(|token| is_meant(token)) {
            token.revoked_at.get_or_insert(now);
            is_known = true;
        }
        if is_known {
            return Ok(());
        }
        Err(Error::not_found(format!(
            "there is no token named `{id}`; list the tokens"
        )))
    }

    fn remove_tokens(&self, subject: &str) -> Result<u64> {
        check_texts([("subject", Some(subject))])?;
        let mut state = self.state();
        let before = state.tokens.len();
        state.tokens.retain(|token| token.subject != subject);
        Ok((before - state.tokens.len()) as u64)
    }
}

fn family_of(token: &Token) -> Option<TokenHash> {
    token.grant.as_ref().map(|grant| grant.family)
}
