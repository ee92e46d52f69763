//! Secrets in stored records.

use std::collections::BTreeSet;

use loci_core::{
    Archived, AuditQuery, Batch, CacheEntry, Change, Clock, CollectionFilter, Decision, Error,
    ErrorCode, Expect, Filter, Memory, MemoryId, NoteFile, Principal, Reader, Record, RecordVerb,
    Redactions, Result, Space, Store, Timestamp,
};
use loci_text::indexed;

use crate::access::Access;
use crate::actor::Actor;
use crate::engine::Engine;
use crate::locks::Locks;
use crate::models::Models;
use crate::notes::Notes;
use crate::redaction::{Redaction, redact_parts};

/// The number of audit entries that are read at once.
const AUDIT_PAGE: usize = 1_000;
/// The number of memories with former versions that are read at once.
const VERSIONED_PAGE: usize = 500;

/// A stored record that contains secrets.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSecret {
    /// The space that holds it.
    pub space: Space,
    /// Its id: for a note the path of its file, for a decision its key, for a setting its name, for
    /// an audit entry its number. Secrets in it are replaced by their marks.
    pub id: String,
    /// The secrets in it.
    pub redactions: Redactions,
    /// The record.
    pub holder: SecretHolder,
}

/// The type of record that contains a secret, with the data that is needed to redact it.
#[derive(Debug, Clone, PartialEq)]
pub enum SecretHolder {
    /// A memory, which can be rewritten.
    Memory(MemoryId),
    /// The former versions of a memory, which can be removed.
    Versions(MemoryId),
    /// A decision, which can be rewritten.
    Decision(Box<Decision>),
    /// A cached answer, which can be removed.
    CachedAnswer {
        /// Its owner.
        owner: String,
        /// Its id.
        id: MemoryId,
    },
    /// A note, whose file must be edited.
    Note,
    /// A fact of the knowledge graph, which cannot be rewritten.
    Fact,
    /// The label of a tunnel, which creating the tunnel again can replace.
    Tunnel,
    /// The value of a setting.
    Setting,
    /// A stored reply under an idempotency key, which expires.
    KeptAnswer,
    /// The id or the location of a memory, which cannot be rewritten.
    Location,
    /// The key of a decision or of a stored reply, or the name of a setting, which cannot be
    /// rewritten.
    Key,
    /// The query of a call in the audit log, which cannot be rewritten.
    AuditQuery,
}

impl SecretHolder {
    /// Returns its name in reports.
    pub const fn name(&self) -> &'static str {
        match self {
            SecretHolder::Memory(_) => "memory",
            SecretHolder::Versions(_) => "former text",
            SecretHolder::Decision(_) => "decision",
            SecretHolder::CachedAnswer { .. } => "cached answer",
            SecretHolder::Note => "note",
            SecretHolder::Fact => "fact",
            SecretHolder::Tunnel => "tunnel",
            SecretHolder::Setting => "setting",
            SecretHolder::KeptAnswer => "kept answer",
            SecretHolder::Location => "location",
            SecretHolder::Key => "key",
            SecretHolder::AuditQuery => "audit query",
        }
    }

    /// Returns true if [`Secrets::redact_stored`](crate::Secrets::redact_stored) can remove the
    /// secret.
    pub const fn can_be_redacted(&self) -> bool {
        matches!(
            self,
            SecretHolder::Memory(_)
                | SecretHolder::Versions(_)
                | SecretHolder::Decision(_)
                | SecretHolder::CachedAnswer { .. }
        )
    }
}

/// A memory that contains secrets.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldSecrets {
    /// The memory.
    pub memory: MemoryId,
    /// The secrets in it.
    pub redactions: Redactions,
    /// True if it is a note, whose file must be edited.
    pub is_note: bool,
}

/// The search for secrets in stored texts, and their removal.
#[derive(Clone, Copy)]
pub struct Secrets<'a> {
    caller: Actor<'a>,
    store: &'a dyn Store,
    clock: &'a dyn Clock,
    redaction: &'a Redaction,
    locks: &'a Locks,
    access: Access<'a>,
    models: Models<'a>,
    notes: Notes<'a>,
}

impl Engine {
    /// Returns the search for secrets in stored texts, and their removal.
    pub(crate) fn secrets<'a>(&'a self, caller: Actor<'a>) -> Secrets<'a> {
        Secrets {
            caller,
            store: &*self.store,
            clock: &*self.clock,
            redaction: &self.redaction,
            locks: &self.locks,
            access: self.access(caller),
            models: self.models(),
            notes: self.notes(caller),
        }
    }
}

impl Secrets<'_> {
    fn check_local(&self) -> Result<()> {
        if self.caller.principal == Principal::local() {
            return Ok(());
        }
        let message = "only the person at this machine looks through everything, with `loci doctor --secrets`";
        Err(Error::new(ErrorCode::Forbidden, message))
    }

    /// Searches all stored records for secrets, in all spaces, including forgotten memories, but
    /// not soft-deleted or expired ones.
    ///
    /// # Errors
    /// `forbidden` for every caller but the local user; `unavailable` if the store cannot be read.
    pub fn find_secrets(&self) -> Result<Vec<StoredSecret>> {
        self.check_local()?;
        let mut found: Vec<StoredSecret> = Vec::new();
        let (now, mut spaces) = (self.clock.now(), BTreeSet::new());
        self.store.archive(now, &mut |Archived { space, record }| {
            if !spaces.contains(&space) {
                spaces.insert(space.clone());
            }
            if let Record::NoteFile(file) = &record {
                name_note(&mut found, &space, file);
                return Ok(());
            }
            let (holder, names) = names_of(&record);
            found.extend(self.stored_secret(
                &space,
                names.first().copied().unwrap_or_default(),
                holder,
                &names,
            ));
            if let Some((id, holder, texts)) = holder_of(record) {
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                found.extend(self.stored_secret(&space, &id, holder, &texts));
            }
            Ok(())
        })?;
        for space in &spaces {
            self.find_in_versions(space, now, &mut found)?;
        }
        for space in self.store.audited_spaces()? {
            self.find_in_audit(&space, &mut found)?;
        }
        Ok(found)
    }

    /// Adds the memories of a space whose former versions have secrets.
    fn find_in_versions(
        &self,
        space: &Space,
        now: Timestamp,
        found: &mut Vec<StoredSecret>,
    ) -> Result<()> {
        let filter = Filter::of(space.clone(), Reader::everything(), now);
        let mut after: Option<MemoryId> = None;
        loop {
            let ids = self
                .store
                .ids_with_versions(&filter, after.as_ref(), VERSIONED_PAGE)?;
            for id in &ids {
                let is_named = |stored: &StoredSecret| {
                    stored.space == *space && stored.holder == SecretHolder::Memory(id.clone())
                };
                // Its redaction removes them, too.
                if found.iter().any(is_named) {
                    continue;
                }
                let versions = self.store.versions(space, id)?;
                let texts = versions.iter().flat_map(|version| {
                    let title = version.title.as_deref();
                    let tags = version.tags.iter().map(String::as_str);
                    version
                        .content
                        .as_deref()
                        .into_iter()
                        .chain(title)
                        .chain(tags)
                });
                found.extend(self.stored_secret(
                    space,
                    id.as_str(),
                    SecretHolder::Versions(id.clone()),
                    &texts.collect::<Vec<_>>(),
                ));
            }
            if ids.len() < VERSIONED_PAGE {
                return Ok(());
            }
            after = ids.into_iter().next_back();
        }
    }

    /// Adds the secrets in the queries of a space in the audit log.
    fn find_in_audit(&self, space: &Space, found: &mut Vec<StoredSecret>) -> Result<()> {
        let mut after = Some(0);
        while let Some(last) = after {
            let query = AuditQuery {
                space: space.clone(),
                after: Some(last),
                limit: AUDIT_PAGE,
                ..AuditQuery::default()
            };
            let entries = self.store.audit(&query)?;
            for (number, entry) in &entries {
                let texts: Vec<&str> = entry.query.as_deref().into_iter().collect();
                found.extend(self.stored_secret(
                    space,
                    &number.to_string(),
                    SecretHolder::AuditQuery,
                    &texts,
                ));
            }
            after = entries
                .last()
                .map(|(number, _)| *number)
                .filter(|_| entries.len() == AUDIT_PAGE);
        }
        Ok(())
    }

    /// Returns the record with these texts if they contain secrets.
    fn stored_secret(
        &self,
        space: &Space,
        id: &str,
        holder: SecretHolder,
        texts: &[&str],
    ) -> Option<StoredSecret> {
        let mut redactions = Redactions::default();
        for text in texts {
            redactions.add_all(&self.redaction.redact_known(text).found());
        }
        let id = self.redaction.redact(id).text.into_owned();
        (!redactions.is_empty()).then(|| StoredSecret {
            space: space.clone(),
            id,
            redactions,
            holder,
        })
    }

    /// Returns the memories that contain secrets, which the caller has read.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn secrets_among(&self, memories: &[Memory]) -> Result<Vec<HeldSecrets>> {
        let mut found = Vec::new();
        for memory in memories {
            let mut redactions = Redactions::default();
            for text in texts_of(memory) {
                redactions.add_all(&self.redaction.redact_known(text).found());
            }
            if !redactions.is_empty() {
                found.push(HeldSecrets {
                    memory: memory.id.clone(),
                    redactions,
                    is_note: self.notes.is_note(memory)?,
                });
            }
        }
        Ok(found)
    }

    /// Rewrites a memory that the caller may change without its secrets. The old data is
    /// overwritten, so that there is no way back. Returns false if it contains none any more, or is
    /// a note. Durable when it returns.
    ///
    /// # Errors
    /// `not_found` if the caller can read no such memory, `forbidden` if it may only read it;
    /// `conflict` if other processes keep changing it; `unavailable` if the store cannot be
    /// written.
    pub fn redact(&self, id: &MemoryId) -> Result<bool> {
        self.access.writable(id)?;
        let is_redacted = self.redact_memory(&self.caller.space, id)?;
        if is_redacted {
            self.caller
                .note_record(RecordVerb::Changed, id.as_str(), None);
        }
        Ok(is_redacted)
    }

    /// Removes the secrets from a record: rewrites a memory or a decision with its derived data,
    /// and removes a cached answer. All former versions of a memory go with its secrets. Returns false if the record is of another type or does not
    /// exist any more. The old data is overwritten. Durable when it returns.
    ///
    /// # Errors
    /// `forbidden` for every caller but the local user; `conflict` if other processes keep changing
    /// it or its owner's data is wiped in between; `unavailable` if the store cannot be written.
    pub fn redact_stored(&self, found: &StoredSecret) -> Result<bool> {
        self.check_local()?;
        match &found.holder {
            SecretHolder::Memory(id) => self.redact_memory(&found.space, id),
            SecretHolder::Versions(id) => {
                if self.store.versions(&found.space, id)?.is_empty() {
                    return Ok(false);
                }
                self.store.commit(Batch::new(
                    found.space.clone(),
                    vec![Change::DeleteVersions { id: id.clone() }],
                ))?;
                Ok(true)
            }
            SecretHolder::Decision(decision) => {
                let since = self.store.version(&found.space)?;
                let value = self
                    .redaction
                    .redact_known(&decision.value)
                    .text
                    .into_owned();
                let redacted = Decision {
                    value,
                    updated_at: self.clock.now(),
                    ..(**decision).clone()
                };
                // A newer decision under the key must not be lost.
                let now = self.store.decision(
                    &found.space,
                    &decision.owner,
                    &decision.key,
                    self.clock.now(),
                )?;
                let is_same = now.is_some_and(|now| now.value == decision.value);
                if is_same {
                    self.store.put_decision(&redacted, since)?;
                }
                Ok(is_same)
            }
            SecretHolder::CachedAnswer { owner, id } => Ok(self.store.delete_cache_entries(
                &found.space,
                owner,
                std::slice::from_ref(id),
            )? > 0),
            _ => Ok(false),
        }
    }

    /// Rewrites a memory without its secrets; returns false if it contains none any more, does not
    /// exist, or is a note.
    fn redact_memory(&self, space: &Space, id: &MemoryId) -> Result<bool> {
        let is_redacted = self.locks.change(id, || {
            let Some(before) = self.store.get(space, id)? else {
                return Ok(false);
            };
            if self.notes.is_note(&before)? {
                return Ok(false);
            }
            let expect = Expect::Revision(before.revision);
            let mut memory = Memory {
                revision: before.revision + 1,
                ..before
            };
            let Memory {
                content,
                title,
                summary,
                tags,
                citations,
                attributes,
                ..
            } = &mut memory;
            let texts = std::iter::once(content)
                .chain(title)
                .chain(summary)
                .chain(tags);
            if redact_parts(texts, citations, attributes, |text| {
                self.redaction.redact_known(text)
            })
            .is_empty()
            {
                return Ok(false);
            }
            if memory.content.trim().is_empty() {
                "[redacted: private]".clone_into(&mut memory.content);
            }
            let passages = Some(indexed::passages(&memory));
            let put = Change::Put {
                memory: Box::new(memory),
                passages,
                expect,
            };
            self.store.commit(Batch::new(
                space.clone(),
                vec![put, Change::DeleteVersions { id: id.clone() }],
            ))?;
            Ok(true)
        })?;
        if is_redacted {
            self.models.embed_waiting();
        }
        Ok(is_redacted)
    }

    /// Returns the number of memories that the caller may read and that record redactions, and the
    /// sum of these redactions.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn redactions(&self) -> Result<(u64, Redactions)> {
        let filter = self.access.filter(CollectionFilter::Any);
        let (mut memories, mut sum) = (0, Redactions::default());
        for (text, count) in self
            .store
            .attribute_values(&filter, Redactions::ATTRIBUTE)?
        {
            let redactions = Redactions::from_text(&text);
            for (kind, each) in redactions.iter() {
                sum.add(kind, each * count);
            }
            memories += if redactions.is_empty() { 0 } else { count };
        }
        Ok((memories, sum))
    }
}

/// Marks the found memory of a note file as a note, with the path of the file.
fn name_note(found: &mut [StoredSecret], space: &Space, file: &NoteFile) {
    let is_it = |stored: &&mut StoredSecret| {
        stored.space == *space
            && matches!(&stored.holder, SecretHolder::Memory(id) if Some(id) == file.memory.as_ref())
    };
    if let Some(stored) = found.iter_mut().find(is_it) {
        stored.holder = SecretHolder::Note;
        stored.id.clone_from(&file.path);
    }
}

/// Returns the names of a record that cannot be rewritten, the one that identifies it first, and
/// their type.
fn names_of(record: &Record) -> (SecretHolder, Vec<&str>) {
    match record {
        Record::Memory(memory) => {
            let collection = memory.location.collection.as_deref();
            let names = std::iter::once(memory.id.as_str())
                .chain(collection)
                .chain([memory.location.section.as_str()]);
            (SecretHolder::Location, names.collect())
        }
        Record::Decision(decision) => (SecretHolder::Key, vec![&decision.key]),
        Record::Setting { name, .. } => (SecretHolder::Key, vec![name]),
        Record::IdempotentReply(answer) => (SecretHolder::Key, vec![&answer.key]),
        _ => (SecretHolder::Key, Vec::new()),
    }
}

/// Returns the texts of a memory.
fn texts_of(memory: &Memory) -> impl Iterator<Item = &str> {
    let cited = memory.citations.iter().flat_map(|citation| {
        let further = [&citation.locator, &citation.pin, &citation.excerpt];
        let further = further.into_iter().filter_map(|text| text.as_deref());
        std::iter::once(citation.reference.as_str()).chain(further)
    });
    let attributes = memory.attributes.iter();
    let attributes = attributes.filter(|(name, _)| *name != Redactions::ATTRIBUTE);
    std::iter::once(memory.content.as_str())
        .chain(memory.title.as_deref())
        .chain(memory.summary.as_deref())
        .chain(memory.tags.iter().map(String::as_str))
        .chain(cited)
        .chain(attributes.map(|(_, value)| value.as_str()))
}

/// Returns the name of a record, its type, and its texts; `None` if it has no texts of users.
fn holder_of(record: Record) -> Option<(String, SecretHolder, Vec<String>)> {
    Some(match record {
        Record::Memory(memory) => {
            let texts = texts_of(&memory).map(str::to_owned).collect();
            let id = memory.id;
            (id.to_string(), SecretHolder::Memory(id), texts)
        }
        Record::Decision(decision) => {
            let texts = vec![decision.value.clone()];
            (
                decision.key.clone(),
                SecretHolder::Decision(decision),
                texts,
            )
        }
        Record::CacheEntry(entry) => {
            let CacheEntry {
                id,
                owner,
                query,
                response,
                ..
            } = *entry;
            (
                id.to_string(),
                SecretHolder::CachedAnswer { owner, id },
                vec![query, response],
            )
        }
        Record::Fact(fact) => {
            let names = [fact.subject, fact.predicate, fact.object].map(|name| name.spelling);
            (
                fact.id,
                SecretHolder::Fact,
                names.into_iter().chain(fact.source).collect(),
            )
        }
        Record::Tunnel(tunnel) => (tunnel.id, SecretHolder::Tunnel, vec![tunnel.label]),
        Record::Setting { name, value, .. } => (name, SecretHolder::Setting, vec![value]),
        Record::IdempotentReply(answer) => {
            (answer.key, SecretHolder::KeptAnswer, vec![answer.answer])
        }
        Record::NoteFolder(_)
        | Record::NoteFile(_)
        | Record::SourceFile(_)
        | Record::Tombstone(_) => return None,
    })
}
