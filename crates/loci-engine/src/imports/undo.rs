//! Taking an import back.

use std::collections::{BTreeMap, HashMap, HashSet};

use loci_core::{
    Batch, Change, Condition, Decision, Error, ErrorCode, Expect, Fact, Memory, MemoryId, Period,
    Principal, RecordVerb, Result, SourceFile, Space, Timestamp, Tunnel, Version,
};
use loci_text::indexed;

use crate::engine::SearchMode;
use crate::imports::Imports;
use crate::imports::batch::{
    ListedBatch, digest, digest_of, end_of, fields_of, named, part_name, state_of,
};
use crate::memories::versions::with_texts;
use crate::notes::NOTE_KIND;
use crate::tombstones::everything;

/// The most records that one transaction takes back, so that another caller's write never waits long.
const RECORDS_AT_ONCE: usize = 250;
/// The most passes, while other writers change the records between a read and their removal.
const PASSES_MAX: usize = 100;
/// The most records that a report names.
const NAMED_MAX: usize = 20;

/// The counts of an import that was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UndoReport {
    /// Memories that were removed.
    pub memories: u64,
    /// Memories whose former texts are back.
    pub restored: u64,
    /// Facts that were removed.
    pub facts: u64,
    /// Tunnels that were removed.
    pub tunnels: u64,
    /// Decisions that were removed.
    pub decisions: u64,
    /// Settings that were removed.
    pub settings: u64,
    /// States of source files that were removed, so that they are read again.
    pub source_files: u64,
    /// Records that were gone already, e.g. because a person deleted them since.
    pub gone: u64,
    /// Records that were changed since, which stay.
    pub changed: u64,
    /// The ids of the first ones of these, or their keys.
    pub changed_ids: Vec<String>,
    /// Records of kinds that are never taken back, by their kinds.
    pub stays: BTreeMap<String, u64>,
}

impl UndoReport {
    fn keep(&mut self, id: &str) {
        self.changed += 1;
        if self.changed_ids.len() < NAMED_MAX {
            self.changed_ids.push(id.to_owned());
        }
    }

    fn add(&mut self, other: UndoReport) {
        let UndoReport {
            memories,
            restored,
            facts,
            tunnels,
            decisions,
            settings,
            source_files,
            gone,
            changed,
            changed_ids,
            stays,
        } = other;
        self.memories += memories;
        self.restored += restored;
        self.facts += facts;
        self.tunnels += tunnels;
        self.decisions += decisions;
        self.settings += settings;
        self.source_files += source_files;
        self.gone += gone;
        self.changed += changed;
        let left = NAMED_MAX.saturating_sub(self.changed_ids.len());
        self.changed_ids.extend(changed_ids.into_iter().take(left));
        for (kind, count) in stays {
            *self.stays.entry(kind).or_default() += count;
        }
    }
}

/// The changes that take some records back.
#[derive(Default)]
struct Reversal {
    conditions: Vec<Condition>,
    changes: Vec<Change>,
    /// Facts that go, with their ends.
    facts: Vec<(String, Option<Period>)>,
    /// Memories that a person had forgotten before the import.
    forgotten: Vec<Memory>,
    /// They are no part of a transaction.
    decisions: Vec<Decision>,
    noted: Vec<(RecordVerb, String)>,
    report: UndoReport,
}

impl Reversal {
    fn remove_fact(&mut self, fact: Option<&Fact>, (end, id): (&str, &str)) {
        match fact {
            None => self.report.gone += 1,
            Some(fact) if end_of(fact.valid_to) == end => {
                self.report.facts += 1;
                self.facts.push((id.to_owned(), fact.valid_to));
                self.noted.push((RecordVerb::Deleted, id.to_owned()));
            }
            Some(_) => self.report.keep(id),
        }
    }

    fn forget_source(&mut self, known: Option<SourceFile>) {
        match known.map(Box::new) {
            None => self.report.gone += 1,
            Some(expect) => {
                self.report.source_files += 1;
                self.changes.push(Change::DeleteSourceFile { expect });
            }
        }
    }

    fn remove_tunnel(&mut self, tunnel: Option<&Tunnel>, (updated_at, id): (&str, &str)) {
        match tunnel {
            None => self.report.gone += 1,
            Some(it) if it.updated_at.microseconds().to_string() == updated_at => {
                self.report.tunnels += 1;
                let id = id.to_owned();
                self.noted.push((RecordVerb::Deleted, id.clone()));
                self.changes.push(Change::DeleteTunnel { id });
            }
            Some(_) => self.report.keep(id),
        }
    }
}

/// The records that are named by some notes, as they are now.
struct Current {
    memories: HashMap<MemoryId, Memory>,
    facts: HashMap<String, Fact>,
    tunnels: HashMap<String, Tunnel>,
}

impl Imports<'_> {
    /// Takes a batch back, the last record first: removes what it brought, and restores the texts that
    /// it replaced. Records that were changed since stay, and so do notes. Nothing stops the same import from bringing
    /// the records again, but what was forgotten before it, or since, stays forgotten. A call that was
    /// cut off is continued by the next one. With `is_dry_run`, it only counts.
    ///
    /// # Errors
    /// `forbidden` for every caller but the local user; `not_found` for an unknown batch, e.g. one that
    /// was taken back; `corrupt` if a record is damaged; `conflict` if other writers were faster each
    /// time; `unavailable` if the store does not answer. Then a part may have been taken back.
    pub fn undo(&self, id: &str, is_dry_run: bool) -> Result<UndoReport> {
        if self.caller.principal != Principal::local() {
            let message = "only the person at this machine takes an import back, with `loci undo`";
            return Err(Error::new(ErrorCode::Forbidden, message));
        }
        let batch = self.listed()?.into_iter().find(|it| it.info.id == id);
        let batch = batch.ok_or_else(|| {
            Error::not_found(format!(
                "there is no import {id} to take back; `loci undo --list` lists imports, and `loci history` changes"
            ))
        })?;
        let mut report = UndoReport::default();
        let mut outcome = Ok(());
        for space in &batch.spaces {
            outcome = self.undo_in(&batch, space, is_dry_run, &mut report);
            if outcome.is_err() {
                break;
            }
        }
        if report.restored > 0 && !is_dry_run && self.search_mode != SearchMode::Words {
            self.to_embed.ring();
        }
        outcome?;
        if !is_dry_run {
            self.change_list(|listed| listed.retain(|it| it.info.id != id))?;
        }
        Ok(report)
    }

    fn undo_in(
        &self,
        batch: &ListedBatch,
        space: &Space,
        is_dry_run: bool,
        report: &mut UndoReport,
    ) -> Result<()> {
        for number in (0..self.part_count(space, &batch.info.id)?).rev() {
            let name = part_name(&batch.info.id, number);
            let mut notes = self.part(space, &batch.info.id, number)?;
            let mut passes = 0;
            while let Some(now) = notes.take() {
                let (rest, some) = split(&now);
                let reversal = self.reversal(batch, space, &some)?;
                if is_dry_run {
                    report.add(reversal.report);
                    notes = (!rest.is_empty()).then_some(rest);
                    continue;
                }
                match self.take_back(space, &name, &now, &rest, reversal) {
                    Ok(done) => {
                        report.add(done);
                        passes = 0;
                    }
                    Err(error) if error.code == ErrorCode::Conflict && passes < PASSES_MAX => {
                        passes += 1;
                    }
                    Err(error) => return Err(error),
                }
                notes = self.part(space, &batch.info.id, number)?;
            }
        }
        Ok(())
    }

    /// Commits a reversal with the notes that are left of the part.
    fn take_back(
        &self,
        space: &Space,
        name: &str,
        notes: &str,
        rest: &str,
        reversal: Reversal,
    ) -> Result<UndoReport> {
        let Reversal {
            mut conditions,
            mut changes,
            facts,
            forgotten,
            decisions,
            noted,
            report,
        } = reversal;
        let owner = self.caller.principal.subject.clone();
        let since = self.store.version(space)?;
        for decision in &decisions {
            self.store.put_decision(decision, since)?;
        }
        if !facts.is_empty() {
            changes.push(Change::DeleteFacts { facts });
        }
        if *space == self.caller.space {
            changes.extend(self.tombstones.put(&forgotten, true)?);
        }
        conditions.push(Condition::SettingIs {
            owner: owner.clone(),
            name: name.to_owned(),
            value: Some(notes.to_owned()),
        });
        let name = name.to_owned();
        changes.push(if rest.is_empty() {
            Change::DeleteSetting { owner, name }
        } else {
            let value = rest.to_owned();
            Change::PutSetting { owner, name, value }
        });
        self.store.commit(Batch {
            space: space.clone(),
            conditions,
            changes,
        })?;
        for (verb, id) in noted {
            self.caller.note_record(verb, &id, None);
        }
        Ok(report)
    }

    /// Returns the changes that take back what these notes name.
    fn reversal(&self, batch: &ListedBatch, space: &Space, notes: &[&str]) -> Result<Reversal> {
        let notes: Vec<Vec<String>> = notes.iter().map(|line| fields_of(line)).collect();
        let current = self.current(space, &notes)?;
        let salt = &*batch.salt;
        let mut reversal = Reversal::default();
        for note in notes.iter().rev() {
            let note: Vec<&str> = note.iter().map(String::as_str).collect();
            match note[..] {
                [kind @ ("m" | "a"), digest, id] => {
                    let memory = current.memories.get(&MemoryId::new(id));
                    let goes = self.remove_memory(memory, (salt, digest, id), &mut reversal)?;
                    let was_forgotten = goes && kind == "a";
                    reversal
                        .forgotten
                        .extend(memory.filter(|_| was_forgotten).cloned());
                }
                ["u", digest, revision, id] => {
                    let memory = current.memories.get(&MemoryId::new(id));
                    self.restore(memory, (salt, digest, id), revision, &mut reversal)?;
                }
                ["f", end, id] => reversal.remove_fact(current.facts.get(id), (end, id)),
                ["t", updated_at, id] => {
                    reversal.remove_tunnel(current.tunnels.get(id), (updated_at, id));
                }
                ["d", digest, owner, key] => {
                    self.remove_decision(space, (salt, digest), (owner, key), &mut reversal)?;
                }
                ["s", digest, owner, name] => {
                    let owner = owner.strip_prefix('=').map(str::to_owned);
                    self.remove_setting(space, (salt, digest), (owner, name), &mut reversal)?;
                }
                ["p", digest, machine, collection, path] => {
                    let collection = collection.strip_prefix('=');
                    let known = self.store.source_file(space, machine, collection, path)?;
                    let is_same = |file: &SourceFile| state_of(salt, file) == digest;
                    match known.map(Box::new) {
                        None => reversal.report.gone += 1,
                        Some(expect) if is_same(&expect) => {
                            reversal.report.source_files += 1;
                            reversal.changes.push(Change::DeleteSourceFile { expect });
                        }
                        Some(_) => reversal.report.keep(path),
                    }
                }
                ["r", machine, collection, path] => {
                    // It goes whatever it is by now, so that the file is read again as a whole.
                    let collection = collection.strip_prefix('=');
                    let known = self.store.source_file(space, machine, collection, path)?;
                    reversal.forget_source(known);
                }
                ["x", kind] => {
                    let stays = &mut reversal.report.stays;
                    *stays.entry(kind.to_owned()).or_default() += 1;
                }
                _ => {
                    let message = format!(
                        "the notes of the import {} are of a newer loci; take it back with that",
                        batch.info.id
                    );
                    return Err(Error::new(ErrorCode::Conflict, message));
                }
            }
        }
        Ok(reversal)
    }

    fn current(&self, space: &Space, notes: &[Vec<String>]) -> Result<Current> {
        let named = |kinds: &[&str]| -> Vec<&String> {
            let of_kind = notes.iter().filter(|note| {
                let kind = note.first();
                kind.is_some_and(|kind| kinds.contains(&kind.as_str()))
            });
            of_kind.filter_map(|note| note.last()).collect()
        };
        let ids: Vec<MemoryId> = named(&["m", "a", "u"])
            .into_iter()
            .map(MemoryId::new)
            .collect();
        let facts: Vec<String> = named(&["f"]).into_iter().cloned().collect();
        let tunnels = match named(&["t"])[..] {
            [] => Vec::new(),
            _ => self.store.tunnels(space)?,
        };
        let memories = self.store.get_all(&everything(space), &ids)?;
        let by_id = |memory: Memory| (memory.id.clone(), memory);
        Ok(Current {
            memories: memories.into_iter().map(by_id).collect(),
            facts: self
                .store
                .facts_with_ids(space, &facts)?
                .into_iter()
                .map(|fact| (fact.id.clone(), fact))
                .collect(),
            tunnels: tunnels.into_iter().map(|it| (it.id.clone(), it)).collect(),
        })
    }

    /// Removes a memory unless it was changed; returns true if it goes.
    fn remove_memory(
        &self,
        memory: Option<&Memory>,
        (salt, digest, id): (&str, &str, &str),
        reversal: &mut Reversal,
    ) -> Result<bool> {
        let Some(memory) = memory else {
            reversal.report.gone += 1;
            return Ok(false);
        };
        if digest_of(salt, memory) != digest || self.is_note(memory)? {
            reversal.report.keep(id);
            return Ok(false);
        }
        let id = memory.id.clone();
        reversal
            .noted
            .push((RecordVerb::Deleted, id.as_str().to_owned()));
        reversal
            .conditions
            .push(Condition::NotNote { id: id.clone() });
        reversal.changes.push(Change::Delete {
            id,
            revision: memory.revision,
        });
        reversal.report.memories += 1;
        Ok(true)
    }

    /// Brings the text back that a memory had before the import, unless it was changed since.
    fn restore(
        &self,
        memory: Option<&Memory>,
        (salt, digest, id): (&str, &str, &str),
        revision: &str,
        reversal: &mut Reversal,
    ) -> Result<()> {
        let Some(memory) = memory else {
            reversal.report.gone += 1;
            return Ok(());
        };
        let before: u64 = revision.parse().unwrap_or_default();
        // The import was cut off before it changed the text.
        if memory.revision == before {
            return Ok(());
        }
        let is_as_updated =
            memory.revision == before.saturating_add(1) || digest_of(salt, memory) == digest;
        let versions = self.store.versions(&memory.space, &memory.id)?;
        let former = with_texts(memory, versions)
            .into_iter()
            .find(|it| it.revision == before);
        let former = former.filter(|_| is_as_updated && memory.forgotten_at.is_none());
        let Some(former) = former.filter(|_| !self.is_note(memory).unwrap_or(true)) else {
            reversal.report.keep(id);
            return Ok(());
        };
        let restored = restored(memory, former);
        reversal.conditions.push(Condition::NotNote {
            id: memory.id.clone(),
        });
        reversal.changes.push(Change::Put {
            passages: Some(indexed::passages(&restored)),
            memory: Box::new(restored),
            expect: Expect::Revision(memory.revision),
        });
        reversal.noted.push((RecordVerb::Changed, id.to_owned()));
        reversal.report.restored += 1;
        Ok(())
    }

    fn is_note(&self, memory: &Memory) -> Result<bool> {
        let file = self.store.note_file_of(&memory.space, &memory.id)?;
        Ok(memory.kind == NOTE_KIND || file.is_some())
    }

    fn remove_decision(
        &self,
        space: &Space,
        (salt, said): (&str, &str),
        (owner, key): (&str, &str),
        reversal: &mut Reversal,
    ) -> Result<()> {
        let now = self.clock.now();
        match self.store.decision(space, owner, key, now)? {
            None => reversal.report.gone += 1,
            Some(decision) if digest(salt, &[Some(&decision.value)]) == said => {
                // No store removes one before a sweep; no read returns an expired one, which is replaced
                // by an import.
                reversal.decisions.push(Decision {
                    value: String::new(),
                    expires_at: Some(now),
                    ..decision
                });
                reversal.noted.push((RecordVerb::Deleted, key.to_owned()));
                reversal.report.decisions += 1;
            }
            Some(_) => reversal.report.keep(key),
        }
        Ok(())
    }

    fn remove_setting(
        &self,
        space: &Space,
        (salt, said): (&str, &str),
        (owner, name): (Option<String>, &str),
        reversal: &mut Reversal,
    ) -> Result<()> {
        match self.store.setting(space, owner.as_deref(), name)? {
            None => reversal.report.gone += 1,
            Some(value) if digest(salt, &[Some(&value)]) == said => {
                let name = name.to_owned();
                reversal.conditions.push(Condition::SettingIs {
                    owner: owner.clone(),
                    name: name.clone(),
                    value: Some(value),
                });
                reversal.changes.push(Change::DeleteSetting { owner, name });
                reversal.report.settings += 1;
            }
            Some(_) => reversal
                .report
                .keep(&format!("{}{name}", named(owner.as_deref()))),
        }
        Ok(())
    }
}

/// Returns the notes that stay, and the last ones, in order: as many as a transaction takes back, and
/// each record once, because its state is read before.
fn split(notes: &str) -> (String, Vec<&str>) {
    let lines: Vec<&str> = notes.lines().collect();
    let mut seen = HashSet::new();
    let is_new = |line: &&&str| {
        let key = line.rsplit('\t').next().unwrap_or_default();
        line.starts_with("x\t") || seen.insert(key.to_owned())
    };
    let taken = lines.iter().rev().take(RECORDS_AT_ONCE);
    let taken = taken.take_while(is_new).count();
    let (rest, some) = lines.split_at(lines.len() - taken);
    (rest.join("\n"), some.to_vec())
}

/// Returns a memory with its former text.
fn restored(memory: &Memory, former: Version) -> Memory {
    let updated_at: Timestamp = former.updated_at;
    Memory {
        content: former.content.unwrap_or_else(|| memory.content.clone()),
        title: former.title,
        updated_by: former.updated_by,
        updated_at,
        // It belongs to the text that goes, and no version says whether an admin wrote it.
        summary: None,
        by_admin: false,
        revision: memory.revision + 1,
        ..memory.clone()
    }
}
