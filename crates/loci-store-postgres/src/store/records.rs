//! Implements, for a store on a server, the stores of everything besides memories.

use loci_core::{
    ArchiveStore, Archived, AuditEntry, AuditQuery, AuditStore, Batch, CacheEntry, CacheStore,
    ChangeQuery, DailyCount, DailyQuery, Decision, DecisionStore, Entity, EntityQuery, Examined,
    ExaminedUntil, Fact, FactCounts, FactQuery, FactStore, FailedJob, Filter, IdempotencyStore,
    IdempotentReply, Job, JobCounts, JobStore, KeyedHash, MemoryId, NoteFile, NoteStore, OpenItem,
    OpenItemStore, Partition, QueryVector, RecordKind, RecordVersion, Result, Salt, SettingStore,
    SourceFile, SourceStore, Space, Timestamp, ToExamine, Token, TokenHash, TokenStore, Tombstone,
    TombstoneStore, Tunnel, TunnelStore, Version, VersionStore, check_lease,
};

use super::{PostgresStore, space_of};
use crate::scope::Scope;
use crate::transaction::Needs;
use crate::{
    archive, audit, cache_entries, daily, decisions, facts, jobs, notes, open_items,
    record_versions, replies, settings, source_files, tokens, tombstones, tunnels, versions,
};

/// Returns what a write on behalf of an owner needs to know.
fn of_owner(owner: &str) -> Needs {
    Needs {
        owners: vec![owner.to_owned()],
        ..Needs::default()
    }
}

impl ArchiveStore for PostgresStore {
    fn archive(&self, now: Timestamp, visit: &mut dyn FnMut(Archived) -> Result<()>) -> Result<()> {
        archive::all(&self.server, now, visit)
    }
}

impl JobStore for PostgresStore {
    fn lease_jobs(
        &self,
        now: Timestamp,
        until: Timestamp,
        lease: &str,
        limit: usize,
    ) -> Result<Vec<Job>> {
        check_lease(now, until)?;
        jobs::lease_jobs(&self.server, now, until, lease, limit)
    }

    fn next_job_at(&self, now: Timestamp) -> Result<Option<Timestamp>> {
        self.server.read(Scope::AllSpaces, async |session| {
            jobs::next_at(session, now).await
        })
    }

    fn job_counts(&self) -> Result<JobCounts> {
        self.server.read(Scope::AllSpaces, async |session| {
            jobs::counts(session).await
        })
    }

    fn failed_jobs(&self, limit: usize) -> Result<Vec<FailedJob>> {
        jobs::failed(&self.server, limit)
    }
}

impl CacheStore for PostgresStore {
    fn put_cache_entry(&self, entry: &CacheEntry, since: u64) -> Result<()> {
        // Before the owner is looked for.
        entry.check()?;
        let needs = of_owner(&entry.owner);
        self.server
            .write(&entry.space, &needs, async |transaction| {
                cache_entries::replace(transaction, entry, since).await
            })?;
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
        self.server.read_snapshot(space, async |session| {
            cache_entries::nearest(session, space, owner, query, vector, now, limit).await
        })
    }

    fn cached_queries(
        &self,
        space: &Space,
        owner: &str,
        now: Timestamp,
    ) -> Result<Vec<(MemoryId, String)>> {
        self.server.read(space, async |session| {
            cache_entries::queries(session, space, owner, now).await
        })
    }

    fn delete_cache_entries(&self, space: &Space, owner: &str, ids: &[MemoryId]) -> Result<u64> {
        let deleted = self
            .server
            .write(space, &Needs::default(), async |transaction| {
                cache_entries::delete(transaction, owner, ids).await
            })?;
        Ok(deleted)
    }
}

impl OpenItemStore for PostgresStore {
    fn to_examine(
        &self,
        partition: &Partition,
        rules: u32,
        limit: usize,
    ) -> Result<Option<ToExamine>> {
        let space = space_of(partition)?;
        self.server.read(space, async |session| {
            open_items::to_examine(session, space, rules, limit).await
        })
    }

    fn put_examined(
        &self,
        partition: &Partition,
        until: Option<ExaminedUntil>,
        examined: &[Examined],
    ) -> Result<()> {
        let space = space_of(partition)?;
        let needs = Needs::default();
        self.server.write(space, &needs, async |transaction| {
            open_items::put_examined(transaction, until, examined);
            Ok(())
        })?;
        Ok(())
    }

    fn open_items(&self, filter: &Filter, limit: usize) -> Result<Vec<OpenItem>> {
        self.server.read(&filter.space, async |session| {
            open_items::list(session, filter, limit).await
        })
    }
}

impl TombstoneStore for PostgresStore {
    fn tombstone_salts(&self, space: &Space) -> Result<Vec<Salt>> {
        self.server.read(space, async |session| {
            tombstones::salts(session, space).await
        })
    }

    fn tombstones_of(&self, space: &Space, texts: &[KeyedHash]) -> Result<Vec<Tombstone>> {
        self.server.read(space, async |session| {
            tombstones::of_texts(session, space, texts).await
        })
    }

    fn tombstones(
        &self,
        space: &Space,
        after: Option<&Tombstone>,
        limit: usize,
    ) -> Result<Vec<Tombstone>> {
        self.server.read(space, async |session| {
            tombstones::page(session, space, after, limit).await
        })
    }
}

impl VersionStore for PostgresStore {
    fn versions(&self, space: &Space, id: &MemoryId) -> Result<Vec<Version>> {
        self.server.read(space, async |session| {
            versions::of_memory(session, space, id).await
        })
    }

    fn ids_with_versions(
        &self,
        filter: &Filter,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<MemoryId>> {
        self.server.read(&filter.space, async |session| {
            versions::ids(session, filter, after, limit).await
        })
    }

    fn changes(&self, query: &ChangeQuery) -> Result<Vec<Version>> {
        self.server.read(&query.space, async |session| {
            versions::changes(session, query).await
        })
    }

    fn record_versions(
        &self,
        space: &Space,
        kind: RecordKind,
        id: &str,
    ) -> Result<Vec<RecordVersion>> {
        self.server.read(space, async |session| {
            record_versions::of_record(session, space, kind, id).await
        })
    }

    fn record_changes(&self, query: &ChangeQuery) -> Result<Vec<RecordVersion>> {
        self.server.read(&query.space, async |session| {
            record_versions::changes(session, query).await
        })
    }
}

impl DecisionStore for PostgresStore {
    fn put_decision(&self, decision: &Decision, since: u64) -> Result<bool> {
        decision.check()?;
        let needs = of_owner(&decision.owner);
        let is_new = self
            .server
            .write(&decision.space, &needs, async |transaction| {
                decisions::put(transaction, decision, since).await
            })?;
        Ok(is_new)
    }

    fn decision(
        &self,
        space: &Space,
        owner: &str,
        key: &str,
        now: Timestamp,
    ) -> Result<Option<Decision>> {
        self.server.read(space, async |session| {
            decisions::get(session, space, owner, key, now).await
        })
    }
}

impl IdempotencyStore for PostgresStore {
    fn idempotent_reply(
        &self,
        space: &Space,
        owner: Option<&str>,
        operation: &str,
        key: &str,
        now: Timestamp,
    ) -> Result<Option<IdempotentReply>> {
        self.server.read(space, async |session| {
            replies::find(session, space, owner, operation, key, now).await
        })
    }
}

impl NoteStore for PostgresStore {
    fn note_files(&self, space: &Space) -> Result<Vec<NoteFile>> {
        self.server
            .read(space, async |session| notes::all(session, space).await)
    }

    fn note_file_of(&self, space: &Space, memory: &MemoryId) -> Result<Option<NoteFile>> {
        self.server.read(space, async |session| {
            notes::of_memory(session, space, memory).await
        })
    }

    fn notes_among(&self, filter: &Filter, limit: usize) -> Result<Vec<MemoryId>> {
        self.server.read(&filter.space, async |session| {
            notes::among(session, filter, limit).await
        })
    }

    fn note_folder(&self, space: &Space) -> Result<Option<String>> {
        self.server
            .read(space, async |session| notes::folder(session, space).await)
    }

    fn commit_rebuildable(&self, batch: Batch) -> Result<()> {
        self.groups.commit(&self.server, batch, true)
    }
}

impl FactStore for PostgresStore {
    fn facts(&self, query: &FactQuery) -> Result<Vec<Fact>> {
        self.server.read(&query.space, async |session| {
            facts::find(session, query).await
        })
    }

    fn facts_with_ids(&self, space: &Space, ids: &[String]) -> Result<Vec<Fact>> {
        self.server.read(space, async |session| {
            facts::with_ids(session, space, ids).await
        })
    }

    fn entities(&self, query: &EntityQuery) -> Result<Vec<Entity>> {
        self.server.read(&query.space, async |session| {
            facts::entities(session, query).await
        })
    }

    fn fact_counts(&self, space: &Space, now: Timestamp) -> Result<FactCounts> {
        self.server.read(space, async |session| {
            facts::counts(session, space, now).await
        })
    }
}

impl TunnelStore for PostgresStore {
    fn tunnels(&self, space: &Space) -> Result<Vec<Tunnel>> {
        self.server
            .read(space, async |session| tunnels::all(session, space).await)
    }
}

impl SettingStore for PostgresStore {
    fn setting(&self, space: &Space, owner: Option<&str>, name: &str) -> Result<Option<String>> {
        self.server.read(space, async |session| {
            settings::find(session, space, owner, name).await
        })
    }
}

impl SourceStore for PostgresStore {
    fn source_file(
        &self,
        space: &Space,
        machine: &str,
        collection: Option<&str>,
        path: &str,
    ) -> Result<Option<SourceFile>> {
        self.server.read(space, async |session| {
            source_files::find(session, space, machine, collection, path).await
        })
    }

    fn sources_at(&self, space: &Space, machine: &str, path: &str) -> Result<Vec<SourceFile>> {
        self.server.read(space, async |session| {
            source_files::at(session, space, machine, path).await
        })
    }

    fn source_files(
        &self,
        space: &Space,
        machine: &str,
        collection: Option<&str>,
    ) -> Result<Vec<SourceFile>> {
        self.server.read(space, async |session| {
            source_files::of_collection(session, space, machine, collection).await
        })
    }

    fn pending_sources(
        &self,
        space: &Space,
        machine: &str,
        limit: usize,
    ) -> Result<Vec<SourceFile>> {
        self.server.read(space, async |session| {
            source_files::pending(session, space, machine, limit).await
        })
    }
}

impl AuditStore for PostgresStore {
    fn append_audit(&self, entries: &[AuditEntry]) -> Result<()> {
        audit::append(&self.server, entries)
    }

    fn audit(&self, query: &AuditQuery) -> Result<Vec<(u64, AuditEntry)>> {
        self.server.read_snapshot(&query.space, async |session| {
            audit::read(session, query).await
        })
    }

    fn audited_spaces(&self) -> Result<Vec<Space>> {
        self.server.read(Scope::AllSpaces, async |session| {
            audit::spaces(session).await
        })
    }

    fn daily(&self, query: &DailyQuery) -> Result<Vec<DailyCount>> {
        self.server.read(&query.space, async |session| {
            daily::read(session, query).await
        })
    }
}

impl TokenStore for PostgresStore {
    fn add_token(&self, token: &Token) -> Result<()> {
        self.server
            .write_whole(async |transaction| tokens::add(transaction, token).await)?;
        Ok(())
    }

    fn tokens(&self) -> Result<Vec<Token>> {
        self.server
            .read(Scope::Store, async |session| tokens::all(session).await)
    }

    fn token_by_hash(&self, hash: &TokenHash) -> Result<Option<Token>> {
        self.server.read(Scope::Store, async |session| {
            tokens::by_hash(session, hash).await
        })
    }

    fn token_by_family(&self, family: &TokenHash) -> Result<Option<Token>> {
        self.server.read(Scope::Store, async |session| {
            tokens::by_family(session, family).await
        })
    }

    fn renew_token(&self, secret: &TokenHash, renewed: &Token) -> Result<bool> {
        let renewed = self
            .server
            .write_whole(async |transaction| tokens::renew(transaction, secret, renewed).await)?;
        Ok(renewed)
    }

    fn remove_ended_grants(&self, before: Timestamp) -> Result<u64> {
        let removed = self
            .server
            .write_whole(async |transaction| tokens::remove_ended(transaction, before).await)?;
        Ok(removed)
    }

    fn revoke_token(&self, id: &str, now: Timestamp) -> Result<()> {
        self.server
            .write_whole(async |transaction| tokens::revoke(transaction, id, now).await)?;
        Ok(())
    }

    fn remove_tokens(&self, subject: &str) -> Result<u64> {
        let removed = self
            .server
            .write_whole(async |transaction| tokens::remove_of(transaction, subject).await)?;
        Ok(removed)
    }
}
