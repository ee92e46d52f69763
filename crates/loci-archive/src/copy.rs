//! Copies everything that one store holds into another one, of any kind, and compares the two.

mod deleted;

use std::collections::{BTreeSet, HashMap};

use data_encoding::HEXLOWER;
use loci_core::{
    Archived, AuditEntry, AuditQuery, Batch, Caller, Change, ChangeQuery, EnrichmentStatus, Error,
    ErrorCode, Filter, MemoryId, OpenStore, Reader, Record, RecordVersion, Result, SOURCE_MACHINE,
    SoftDeleted, Space, Timestamp, Version,
};
use loci_engine::{Engine, ImportReport, StoredVectors};
use sha2::{Digest, Sha256};

use crate::lines::json;
use crate::shapes::Line;
use crate::{Notice, Refusals};

/// The largest number of records that are stored together.
const BATCH_RECORDS: usize = 500;
/// The bytes of texts with which a batch is full, too.
const BATCH_BYTES: usize = 4 << 20;
/// The audit entries that are read and stored together.
const AUDIT_BATCH: usize = 1_000;
/// The memories with former versions whose ids are read together.
const VERSIONED_BATCH: usize = 500;
/// The largest number of differences that a comparison names.
const DIFFERENCES_NAMED: usize = 20;

/// The counts of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CopyReport {
    /// Records that were stored.
    pub records: u64,
    /// Records whose id or key was there already.
    pub present: u64,
    /// Records that the other store refused.
    pub refused: u64,
    /// Tokens that were stored.
    pub tokens: u64,
    /// Audit entries that were stored.
    pub audit: u64,
}

/// A copy in progress.
struct Copy<'a> {
    engine: &'a Engine,
    vectors: StoredVectors<'a>,
    notice: Notice<'a>,
    advance: &'a dyn Fn(u64),
    batch: Vec<Archived>,
    bytes: usize,
    report: ImportReport,
    refused: Refusals,
    spaces: BTreeSet<Space>,
}

/// Copies every record of a store, with vectors, former versions, tokens and the audit log, into the
/// store `to` of an engine. Records that are there already stay as they are, so that a copy that was cut off goes on
/// when it is repeated. Calls `advance` with the numbers of records that were read.
///
/// Not copied: leases, and work in progress, which starts again.
///
/// # Errors
/// `unavailable` if a store does not answer; what was copied by then stays.
pub fn copy(
    from: &dyn OpenStore,
    engine: &Engine,
    to: &dyn OpenStore,
    now: Timestamp,
    advance: &dyn Fn(u64),
    notice: Notice<'_>,
) -> Result<CopyReport> {
    let mut copy = Copy {
        engine,
        vectors: StoredVectors::of(from, now)?,
        notice,
        advance,
        batch: Vec::new(),
        bytes: 0,
        report: ImportReport::default(),
        refused: Refusals::default(),
        spaces: BTreeSet::new(),
    };
    from.archive(now, &mut |archived| copy.take(archived))?;
    copy.store()?;
    let spaces = deleted::spaces_of(from, &copy.spaces)?;
    for space in &spaces {
        copy_versions(from, to, space, now)?;
        copy.take_deleted(from, to, space, now)?;
        // Behind the deletions, whose marks are among them.
        copy_record_versions(from, to, space)?;
    }
    Ok(CopyReport {
        records: copy.report.stored,
        present: copy.report.present,
        refused: copy.refused.count,
        tokens: copy_tokens(from, to, now)?,
        audit: copy_audit(from, to)?,
    })
}

impl Copy<'_> {
    fn take(&mut self, archived: Archived) -> Result<()> {
        if let Record::Memory(memory) = &archived.record {
            self.bytes += memory.content.len();
        }
        if !self.spaces.contains(&archived.space) {
            self.spaces.insert(archived.space.clone());
        }
        self.batch.push(archived);
        if self.batch.len() >= BATCH_RECORDS || self.bytes >= BATCH_BYTES {
            self.store()?;
        }
        Ok(())
    }

    fn store(&mut self) -> Result<()> {
        self.bytes = 0;
        let batch = std::mem::take(&mut self.batch);
        self.engine
            .system(&Caller::local())
            .imports()
            .copy_records(&batch, &self.vectors, &mut self.report)?;
        for (number, error) in self.report.refused.drain(..) {
            let key = Key::of(&batch[number]);
            self.refused
                .add(&key.to_string(), &error.message, self.notice);
        }
        (self.advance)(batch.len() as u64);
        Ok(())
    }
}

/// Copies the former versions of the memories of a space.
fn copy_versions(
    from: &dyn OpenStore,
    to: &dyn OpenStore,
    space: &Space,
    now: Timestamp,
) -> Result<()> {
    let commit =
        |changes: &mut Vec<Change>| to.commit(Batch::new(space.clone(), std::mem::take(changes)));
    let (mut changes, mut bytes) = (Vec::new(), 0);
    versions(from, space, now, |versions| {
        let text = |version: &Version| version.content.as_ref().map_or(0, String::len);
        bytes += versions.iter().map(text).sum::<usize>();
        changes.extend(versions.into_iter().map(Box::new).map(Change::PutVersion));
        if changes.len() < BATCH_RECORDS && bytes < BATCH_BYTES {
            return Ok(());
        }
        bytes = 0;
        commit(&mut changes)
    })?;
    if changes.is_empty() {
        return Ok(());
    }
    commit(&mut changes)
}

/// Copies the former states of the facts and tunnels of a space.
fn copy_record_versions(from: &dyn OpenStore, to: &dyn OpenStore, space: &Space) -> Result<()> {
    let versions = record_versions(from, space)?;
    for some in versions.chunks(BATCH_RECORDS) {
        let put = |version: &RecordVersion| Change::PutRecordVersion(Box::new(version.clone()));
        let changes = some.iter().map(put).collect();
        to.commit(Batch::new(space.clone(), changes))?;
    }
    Ok(())
}

/// Returns the former states of the facts and tunnels of a space.
fn record_versions(store: &dyn OpenStore, space: &Space) -> Result<Vec<RecordVersion>> {
    store.record_changes(&ChangeQuery {
        space: space.clone(),
        limit: usize::MAX,
        ..ChangeQuery::default()
    })
}

/// Passes the former versions of the memories of a space on, one memory at a time.
fn versions(
    store: &dyn OpenStore,
    space: &Space,
    now: Timestamp,
    mut visit: impl FnMut(Vec<Version>) -> Result<()>,
) -> Result<()> {
    let filter = Filter::of(space.clone(), Reader::everything(), now);
    let mut after: Option<MemoryId> = None;
    loop {
        let ids = store.ids_with_versions(&filter, after.as_ref(), VERSIONED_BATCH)?;
        for id in &ids {
            visit(store.versions(space, id)?)?;
        }
        if ids.len() < VERSIONED_BATCH {
            return Ok(());
        }
        after = ids.into_iter().next_back();
    }
}

fn copy_tokens(from: &dyn OpenStore, to: &dyn OpenStore, now: Timestamp) -> Result<u64> {
    let mut stored = 0;
    for token in from.tokens()? {
        match to.token_by_hash(&token.hash)? {
            None => {
                to.add_token(&token)?;
                stored += 1;
            }
            Some(there) if token.revoked_at.is_some() && there.revoked_at.is_none() => {
                to.revoke_token(&token.id, token.revoked_at.unwrap_or(now))?;
            }
            Some(_) => {}
        }
    }
    Ok(stored)
}

fn copy_audit(from: &dyn OpenStore, to: &dyn OpenStore) -> Result<u64> {
    let mut stored = 0;
    for space in from.audited_spaces()? {
        let mut there: HashMap<Fingerprint, usize> = HashMap::new();
        audit(to, &space, |entries| {
            for entry in entries {
                *there.entry(fingerprint(&[&entry])).or_default() += 1;
            }
            Ok(())
        })?;
        audit(from, &space, |mut entries| {
            entries.retain(|entry| match there.get_mut(&fingerprint(&[entry])) {
                Some(count @ 1..) => {
                    *count -= 1;
                    false
                }
                _ => true,
            });
            stored += entries.len() as u64;
            to.append_audit(&entries)
        })?;
    }
    Ok(stored)
}

/// Passes the audit entries of a space on in their order, many at once.
fn audit(
    store: &dyn OpenStore,
    space: &Space,
    mut visit: impl FnMut(Vec<AuditEntry>) -> Result<()>,
) -> Result<()> {
    let mut query = AuditQuery {
        space: space.clone(),
        limit: AUDIT_BATCH,
        after: Some(0),
        ..AuditQuery::default()
    };
    loop {
        let entries = store.audit(&query)?;
        let Some((last, _)) = entries.last() else {
            return Ok(());
        };
        query.after = Some(*last);
        visit(entries.into_iter().map(|(_, entry)| entry).collect())?;
    }
}

/// The outcome of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Comparison {
    /// Records, tokens and audit entries of the first store.
    pub compared: u64,
    /// The number of records that the second store lacks, or has with other content.
    pub differing: u64,
    /// The first of those, with the difference.
    pub named: Vec<String>,
    /// The number of further records in the second store.
    pub further: u64,
}

impl Comparison {
    /// Returns whether both stores hold the same.
    pub fn is_equal(&self) -> bool {
        self.differing == 0 && self.further == 0
    }

    fn name(&mut self, key: &Key, difference: &str) {
        self.differing += 1;
        if self.named.len() < DIFFERENCES_NAMED {
            self.named.push(format!("{key} {difference}"));
        }
    }
}

/// Compares all that a [copy](fn@copy) copies: every record with the vectors and the former
/// versions of a memory, tokens, and the audit log. Files of `machine` count as files of the
/// machine that a store lies on, as which a copy takes them.
///
/// # Errors
/// `unavailable` if a store does not answer.
pub fn compare(
    one: &dyn OpenStore,
    other: &dyn OpenStore,
    machine: &str,
    now: Timestamp,
    advance: &dyn Fn(u64),
) -> Result<Comparison> {
    let mut known: HashMap<Key, Fingerprint> = HashMap::new();
    contents(one, machine, now, &mut |key, fingerprint| {
        advance(1);
        known.insert(key, fingerprint);
    })?;
    let mut comparison = Comparison {
        compared: known.len() as u64,
        ..Comparison::default()
    };
    contents(other, machine, now, &mut |key, fingerprint| {
        advance(1);
        match known.remove(&key) {
            None => comparison.further += 1,
            Some(known) if known != fingerprint => comparison.name(&key, "differs"),
            Some(_) => {}
        }
    })?;
    let mut missing: Vec<_> = known.into_keys().collect();
    missing.sort_unstable();
    for key in missing {
        comparison.name(&key, "is missing");
    }
    Ok(comparison)
}

type Fingerprint = [u8; 16];

/// Returns the beginning of a hash of values as they are printed for developers, which shows every
/// field.
fn fingerprint(values: &[&dyn std::fmt::Debug]) -> Fingerprint {
    let mut hasher = Sha256::new();
    for value in values {
        hasher.update(format!("{value:?}\0"));
    }
    let mut fingerprint = Fingerprint::default();
    fingerprint.copy_from_slice(&hasher.finalize()[..16]);
    fingerprint
}

/// Passes on every record, token and audit entry of a store.
fn contents(
    store: &dyn OpenStore,
    machine: &str,
    now: Timestamp,
    visit: &mut dyn FnMut(Key, Fingerprint),
) -> Result<()> {
    let vectors = StoredVectors::of(store, now)?;
    let mut spaces = BTreeSet::new();
    store.archive(now, &mut |archived| {
        if !spaces.contains(&archived.space) {
            spaces.insert(archived.space.clone());
        }
        let mut stored = Vec::new();
        if let Record::Memory(memory) = &archived.record {
            stored = vectors.of_memory(memory)?;
            stored.sort_by(|a, b| model_of(a).cmp(&model_of(b)));
        }
        let (key, line) = comparable(archived, machine)?;
        visit(key, fingerprint(&[&line, &stored]));
        Ok(())
    })?;
    for space in &deleted::spaces_of(store, &spaces)? {
        deleted::each(store, space, now, |deleted| {
            for SoftDeleted { memory, deleted_at } in deleted {
                let versions = store.versions(space, &memory.id)?;
                let archived = Archived {
                    space: space.clone(),
                    record: Record::Memory(Box::new(memory)),
                };
                let (key, line) = comparable(archived, machine)?;
                let key = Key {
                    kind: "deleted memory",
                    ..key
                };
                visit(key, fingerprint(&[&line, &deleted_at, &versions]));
            }
            Ok(())
        })?;
        visit_versions(store, space, now, visit)?;
    }
    for token in store.tokens()? {
        let key = Key::new(&token.space, "token", token.id.clone());
        visit(key, fingerprint(&[&token]));
    }
    for space in store.audited_spaces()? {
        let mut seen: HashMap<Fingerprint, u64> = HashMap::new();
        audit(store, &space, |entries| {
            for entry in entries {
                let of_entry = fingerprint(&[&entry]);
                let number = seen.entry(of_entry).or_default();
                *number += 1;
                let name = format!(
                    "{number} of {} at {} µs",
                    entry.tool,
                    entry.at.microseconds()
                );
                let key = Key {
                    of_entry: Some(of_entry),
                    ..Key::new(&space, "audit entry", name)
                };
                visit(key, of_entry);
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Returns the key of a record, and its line of an archive as a copy on another machine has it.
fn comparable(mut archived: Archived, machine: &str) -> Result<(Key, String)> {
    forget_machine(&mut archived.record, machine);
    if let Record::Memory(memory) = &mut archived.record
        && memory.enrichment == Some(EnrichmentStatus::Failed)
    {
        // A copy tries again what could not be judged.
        memory.enrichment = Some(EnrichmentStatus::Pending);
    }
    let key = Key::of(&archived);
    match json(&Line::from(&archived)) {
        Ok(line) => Ok((key, line)),
        Err(error) => {
            let message = format!("{key} cannot be compared: {error}");
            Err(Error::new(ErrorCode::Internal, message))
        }
    }
}

/// Passes on the former versions of memories, facts and tunnels of a space.
fn visit_versions(
    store: &dyn OpenStore,
    space: &Space,
    now: Timestamp,
    visit: &mut dyn FnMut(Key, Fingerprint),
) -> Result<()> {
    versions(store, space, now, |versions| {
        for version in versions {
            let name = format!("{} of {}", version.revision, version.memory);
            let key = Key::new(space, "former version", name);
            visit(key, fingerprint(&[&version]));
        }
        Ok(())
    })?;
    for version in record_versions(store, space)? {
        visit(Key::of_version(&version), fingerprint(&[&version]));
    }
    Ok(())
}

/// Makes the source file of a record one of the machine that the store lies on, if it is one of this
/// machine.
fn forget_machine(record: &mut Record, machine: &str) {
    match record {
        Record::SourceFile(file) if file.machine == machine => file.machine.clear(),
        Record::Memory(memory) if memory.source_machine() == machine => {
            memory.attributes.remove(SOURCE_MACHINE);
            if let Some(thread) = &mut memory.thread
                && let Some(path) = thread.name.strip_prefix(&format!("{machine}:"))
            {
                thread.name = path.to_owned();
            }
        }
        _ => {}
    }
}

fn model_of(vectors: &[loci_core::Vector]) -> Option<&str> {
    vectors.first().map(|vector| vector.model.as_str())
}

/// The kind and the name of something that a store holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Key {
    space: String,
    kind: &'static str,
    name: String,
    of_entry: Option<Fingerprint>,
}

impl std::fmt::Display for Key {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Key {
            space, kind, name, ..
        } = self;
        write!(formatter, "{kind} `{name}` in the space `{space}`")
    }
}

impl Key {
    fn new(space: &Space, kind: &'static str, name: String) -> Self {
        Key {
            space: space.to_string(),
            kind,
            name,
            of_entry: None,
        }
    }

    fn of_version(version: &RecordVersion) -> Self {
        let RecordVersion {
            number, kind, id, ..
        } = version;
        let name = format!("{number} of {} {id}", kind.name());
        Key::new(&version.space, "former state", name)
    }

    fn of(archived: &Archived) -> Self {
        let (kind, name) = match &archived.record {
            Record::Memory(memory) => ("memory", memory.id.to_string()),
            Record::NoteFolder(_) => ("folder of notes", String::new()),
            Record::NoteFile(file) => ("note file", file.path.clone()),
            Record::Fact(fact) => ("fact", fact.id.clone()),
            Record::Tunnel(tunnel) => ("tunnel", tunnel.id.clone()),
            Record::Setting { owner, name, .. } => ("setting", format!("{owner:?} {name}")),
            Record::SourceFile(file) => (
                "source file",
                format!("{} {:?} {}", file.machine, file.collection, file.path),
            ),
            Record::CacheEntry(entry) => ("cached answer", entry.id.to_string()),
            Record::Decision(decision) => {
                ("decision", format!("{} {}", decision.owner, decision.key))
            }
            Record::IdempotentReply(reply) => {
                let (owner, operation) = (&reply.owner, &reply.operation);
                ("reply", format!("{owner:?} {operation} {}", reply.key))
            }
            Record::Tombstone(tombstone) => {
                let (text, memory) = (&tombstone.text, &tombstone.memory);
                let hash = [HEXLOWER.encode(text), HEXLOWER.encode(memory)].concat();
                ("tombstone", hash)
            }
        };
        Key::new(&archived.space, kind, name)
    }
}
