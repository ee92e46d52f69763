//! Implements, for a store in SQLite, the stores of everything besides memories.

use std::sync::Arc;

use loci_core::{
    ArchiveStore, Archived, AuditEntry, AuditQuery, AuditStore, Batch, CacheEntry, CacheStore,
    ChangeQuery, DailyCount, DailyQuery, Decision, DecisionStore, Entity, EntityQuery, Examined,
    ExaminedUntil, Fact, FactCounts, FactQuery, FactStore, FailedJob, Filter, IdempotencyStore,
    IdempotentReply, Job, JobCounts, JobStore, KeyedHash, MemoryId, NoteFile, NoteStore, OpenItem,
    OpenItemStore, Partition, QueryVector, RecordKind, RecordVersion, Result, Salt, SettingStore,
    SourceFile, SourceStore, Space, Timestamp, ToExamine, Token, TokenHash, TokenStore, Tombstone,
    TombstoneStore, Tunnel, TunnelStore, Version, VersionStore, check_lease,
};

use super::SqliteStore;
use crate::statements::{
    answers, archive, audit, batch, daily, decisions, facts, idempotent_replies, jobs, note_files,
    open_items, record_versions, settings, source_files, tokens, tombstones, tunnels, versions,
};

impl ArchiveStore for SqliteStore {
    fn archive(&self, now: Timestamp, visit: &mut dyn FnMut(Archived) -> Result<()>) -> Result<()> {
        self.read(|connection| archive::all(connection, now, visit))
    }
}

impl JobStore for SqliteStore {
    fn lease_jobs(
        &self,
        now: Timestamp,
        until: Timestamp,
        lease: &str,
        limit: usize,
    ) -> Result<Vec<Job>> {
        check_lease(now, until)?;
        // Looked at first, because even an empty write takes the lock of all processes.
        if !self.read(|connection| jobs::is_due(connection, now))? {
            return Ok(Vec::new());
        }
        let lease = lease.to_owned();
        self.write(move |connection| jobs::lease_jobs(connection, now, until, &lease, limit))
    }

    fn next_job_at(&self, now: Timestamp) -> Result<Option<Timestamp>> {
        self.read(|connection| jobs::next_at(connection, now))
    }

    fn job_counts(&self) -> Result<JobCounts> {
        self.read(jobs::counts)
    }

    fn failed_jobs(&self, limit: usize) -> Result<Vec<FailedJob>> {
        self.read(|connection| jobs::failed(connection, limit))
    }
}

impl CacheStore for SqliteStore {
    fn put_cache_entry(&self, entry: &CacheEntry, since: u64) -> Result<()> {
        let entry = entry.clone();
        self.write(move |connection| answers::replace(connection, &entry, since))
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
        let asked = answers::CacheLookup {
            space,
            owner,
            query,
            vector,
            now,
        };
        self.read(|connection| answers::nearest(connection, &asked, limit))
    }

    fn cached_queries(
        &self,
        space: &Space,
        owner: &str,
        now: Timestamp,
    ) -> Result<Vec<(MemoryId, String)>> {
        self.read(|connection| answers::queries(connection, space, owner, now))
    }

    fn delete_cache_entries(&self, space: &Space, owner: &str, ids: &[MemoryId]) -> Result<u64> {
        let ids: Arc<[MemoryId]> = ids.into();
        let (mut done, mut deleted) = (0, 0);
        while done < ids.len() {
            let (space, owner, ids) = (space.clone(), owner.to_owned(), Arc::clone(&ids));
            let part = self.write(move |connection| {
                answers::delete(connection, &space, &owner, &ids[done..])
            })?;
            done += part.0;
            deleted += part.1;
        }
        Ok(deleted)
    }
}

impl TombstoneStore for SqliteStore {
    fn tombstone_salts(&self, space: &Space) -> Result<Vec<Salt>> {
        self.read(|connection| tombstones::salts(connection, space))
    }

    fn tombstones_of(&self, space: &Space, texts: &[KeyedHash]) -> Result<Vec<Tombstone>> {
        self.read(|connection| tombstones::of_texts(connection, space, texts))
    }

    fn tombstones(
        &self,
        space: &Space,
        after: Option<&Tombstone>,
        limit: usize,
    ) -> Result<Vec<Tombstone>> {
        self.read(|connection| tombstones::page(connection, space, after, limit))
    }
}

impl VersionStore for SqliteStore {
    fn versions(&self, space: &Space, id: &MemoryId) -> Result<Vec<Version>> {
        self.read(|connection| versions::of_memory(connection, space, id))
    }

    fn ids_with_versions(
        &self,
        filter: &Filter,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<MemoryId>> {
        self.read(|connection| versions::ids(connection, filter, after, limit))
    }

    fn changes(&self, query: &ChangeQuery) -> Result<Vec<Version>> {
        self.read(|connection| versions::changes(connection, query))
    }

    fn record_versions(
        &self,
        space: &Space,
        kind: RecordKind,
        id: &str,
    ) -> Result<Vec<RecordVersion>> {
        self.read(|connection| record_versions::of_record(connection, space, kind, id))
    }

    fn record_changes(&self, query: &ChangeQuery) -> Result<Vec<RecordVersion>> {
        self.read(|connection| record_versions::changes(connection, query))
    }
}

impl DecisionStore for SqliteStore {
    fn put_decision(&self, decision: &Decision, since: u64) -> Result<bool> {
        let decision = decision.clone();
        self.write(move |connection| decisions::put(connection, &decision, since))
    }

    fn decision(
        &self,
        space: &Space,
        owner: &str,
        key: &str,
        now: Timestamp,
    ) -> Result<Option<Decision>> {
        self.read(|connection| decisions::find(connection, space, owner, key, now))
    }
}

impl IdempotencyStore for SqliteStore {
    fn idempotent_reply(
        &self,
        space: &Space,
        owner: Option<&str>,
        operation: &str,
        key: &str,
        now: Timestamp,
    ) -> Result<Option<IdempotentReply>> {
        self.read(|connection| {
            idempotent_replies::find(connection, space, owner, operation, key, now)
        })
    }
}

impl NoteStore for SqliteStore {
    fn note_files(&self, space: &Space) -> Result<Vec<NoteFile>> {
        self.read(|connection| note_files::all(connection, space))
    }

    fn note_file_of(&self, space: &Space, memory: &MemoryId) -> Result<Option<NoteFile>> {
        self.read(|connection| note_files::of_memory(connection, space, memory))
    }

    fn notes_among(&self, filter: &Filter, limit: usize) -> Result<Vec<MemoryId>> {
        self.read(|connection| note_files::among(connection, filter, limit))
    }

    fn note_folder(&self, space: &Space) -> Result<Option<String>> {
        self.read(|connection| note_files::folder(connection, space))
    }

    fn commit_rebuildable(&self, batch: Batch) -> Result<()> {
        self.opened_to_write()?
            .writer
            .run_unflushed(move |connection| batch::commit(connection, &batch))
    }
}

impl FactStore for SqliteStore {
    fn facts(&self, query: &FactQuery) -> Result<Vec<Fact>> {
        self.read(|connection| facts::find(connection, query))
    }

    fn facts_with_ids(&self, space: &Space, ids: &[String]) -> Result<Vec<Fact>> {
        self.read(|connection| facts::with_ids(connection, space, ids))
    }

    fn entities(&self, query: &EntityQuery) -> Result<Vec<Entity>> {
        self.read(|connection| facts::entities(connection, query))
    }

    fn fact_counts(&self, space: &Space, now: Timestamp) -> Result<FactCounts> {
        self.read(|connection| facts::counts(connection, space, now))
    }
}

impl TunnelStore for SqliteStore {
    fn tunnels(&self, space: &Space) -> Result<Vec<Tunnel>> {
        self.read(|connection| tunnels::all(connection, space))
    }
}

impl SettingStore for SqliteStore {
    fn setting(&self, space: &Space, owner: Option<&str>, name: &str) -> Result<Option<String>> {
        self.read(|connection| settings::find(connection, space, owner, name))
    }
}

impl SourceStore for SqliteStore {
    fn source_file(
        &self,
        space: &Space,
        machine: &str,
        collection: Option<&str>,
        path: &str,
    ) -> Result<Option<SourceFile>> {
        self.read(|connection| source_files::find(connection, space, machine, collection, path))
    }

    fn source_files(
        &self,
        space: &Space,
        machine: &str,
        collection: Option<&str>,
    ) -> Result<Vec<SourceFile>> {
        self.read(|connection| source_files::of_collection(connection, space, machine, collection))
    }

    fn sources_at(&self, space: &Space, machine: &str, path: &str) -> Result<Vec<SourceFile>> {
        self.read(|connection| source_files::at(connection, space, machine, path))
    }

    fn pending_sources(
        &self,
        space: &Space,
        machine: &str,
        limit: usize,
    ) -> Result<Vec<SourceFile>> {
        self.read(|connection| source_files::pending(connection, space, machine, limit))
    }
}

impl AuditStore for SqliteStore {
    fn append_audit(&self, entries: &[AuditEntry]) -> Result<()> {
        let entries = entries.to_vec();
        self.write(move |connection| audit::append(connection, &entries))
    }

    fn audit(&self, query: &AuditQuery) -> Result<Vec<(u64, AuditEntry)>> {
        self.read(|connection| audit::read(connection, query))
    }

    fn audited_spaces(&self) -> Result<Vec<Space>> {
        self.read(audit::spaces)
    }

    fn daily(&self, query: &DailyQuery) -> Result<Vec<DailyCount>> {
        self.read(|connection| daily::read(connection, query))
    }
}

impl OpenItemStore for SqliteStore {
    fn to_examine(&self, _: &Partition, rules: u32, limit: usize) -> Result<Option<ToExamine>> {
        self.read(|connection| open_items::to_examine(connection, rules, limit))
    }

    fn put_examined(
        &self,
        _: &Partition,
        until: Option<ExaminedUntil>,
        examined: &[Examined],
    ) -> Result<()> {
        let examined = examined.to_vec();
        self.write(move |connection| open_items::put_examined(connection, until, &examined))
    }

    fn open_items(&self, filter: &Filter, limit: usize) -> Result<Vec<OpenItem>> {
        self.read(|connection| open_items::list(connection, filter, limit))
    }
}

impl TokenStore for SqliteStore {
    fn add_token(&self, token: &Token) -> Result<()> {
        let token = token.clone();
        self.write(move |connection| tokens::add(connection, &token))
    }

    fn tokens(&self) -> Result<Vec<Token>> {
        self.read(tokens::all)
    }

    fn token_by_hash(&self, hash: &TokenHash) -> Result<Option<Token>> {
        self.read(|connection| tokens::by_hash(connection, hash))
    }

    fn token_by_family(&self, family: &TokenHash) -> Result<Option<Token>> {
        self.read(|connection| tokens::by_family(connection, family))
    }

    fn renew_token(&self, secret: &TokenHash, renewed: &Token) -> Result<bool> {
        let (secret, renewed) = (*secret, renewed.clone());
        self.write(move |connection| tokens::renew(connection, &secret, &renewed))
    }

    fn remove_ended_grants(&self, before: Timestamp) -> Result<u64> {
        self.write(move |connection| tokens::remove_ended(connection, before))
    }

    fn revoke_token(&self, id: &str, now: Timestamp) -> Result<()> {
        let id = id.to_owned();
        self.write(move |connection| tokens::revoke(connection, &id, now))
    }

    fn remove_tokens(&self, subject: &str) -> Result<u64> {
        let subject = subject.to_owned();
        self.write(move |connection| tokens::remove_of(connection, &subject))
    }
}
