//! Batches: each import notes what it brings, so that it can be taken back.
//!
//! The notes are settings of the importer. Each part is stored in the transaction that stores the records
//! which it names, so that neither is ever there without the other.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use loci_core::limits::IMPORT_BATCHES_MAX;
use loci_core::{
    Batch, Change, Expect, Memory, MemoryId, Record, Result, SOURCE_FILE, SourceFile, Space,
    Timestamp, Tunnel, TunnelEnd,
};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::imports::Imports;
use crate::notes::NOTE_KIND;

/// The name of the setting that lists the batches, and the first part of the names of their parts.
pub const BATCHES: &str = "imports";
/// The number of hexadecimal digits of the id of a batch.
const ID_DIGITS: usize = 8;
/// The number of bytes of a digest.
const DIGEST_BYTES: usize = 8;
/// The number of settings that one transaction removes.
const PARTS_REMOVED: usize = 64;

/// An import as it takes place.
#[derive(Debug)]
pub struct ImportBatch {
    info: BatchInfo,
    salt: String,
    /// The number of parts in each space.
    parts: Mutex<BTreeMap<Space, u64>>,
    /// The notes about source files that are stored: one for each file, however many transactions file it.
    files: Mutex<BTreeSet<String>>,
}

/// The change that notes what a transaction files from source files.
pub(crate) struct FileNotes {
    change: Change,
    files: BTreeSet<String>,
}

impl FileNotes {
    /// Returns the change, and the notes about files to [count](Imports::count_noted) when it is stored.
    pub(crate) fn into_parts(self) -> (Change, BTreeSet<String>) {
        (self.change, self.files)
    }
}

/// An import that can be taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchInfo {
    /// Its id, which [`undo`](Imports::undo) takes.
    pub id: String,
    /// The system whose records it brought, or the form of the file.
    pub from: String,
    /// The path that the person named.
    pub path: String,
    /// The time at which it started.
    pub started_at: Timestamp,
    /// The number of records that it brought or updated; `None` if it was cut off, or still runs.
    pub records: Option<u64>,
}

/// A batch as the list has it.
#[derive(Debug, Clone)]
pub(super) struct ListedBatch {
    pub(super) info: BatchInfo,
    pub(super) salt: String,
    pub(super) spaces: Vec<Space>,
}

impl ListedBatch {
    fn line(&self) -> String {
        let ListedBatch { info, salt, spaces } = self;
        let (started_at, records) = (
            info.started_at.microseconds().to_string(),
            info.records
                .map_or_else(String::new, |records| records.to_string()),
        );
        let mut fields = vec![
            &*info.id,
            salt,
            &started_at,
            &records,
            &info.from,
            &info.path,
        ];
        fields.extend(spaces.iter().map(Space::as_str));
        line_of(&fields)
    }

    /// Returns the batch of a line; `None` if no version that loci knows wrote it.
    fn of(line: &str) -> Option<Self> {
        let fields = fields_of(line);
        let [id, salt, started_at, records, from, path, spaces @ ..] = &*fields else {
            return None;
        };
        let spaces = spaces.iter().map(|space| Space::parse("space", space).ok());
        Some(ListedBatch {
            info: BatchInfo {
                id: id.clone(),
                from: from.clone(),
                path: path.clone(),
                started_at: Timestamp::from_microseconds(started_at.parse().ok()?),
                records: records.parse().ok(),
            },
            salt: salt.clone(),
            spaces: spaces.collect::<Option<_>>()?,
        })
    }
}

impl ImportBatch {
    /// Returns its id.
    pub fn id(&self) -> &str {
        &self.info.id
    }

    /// Returns true if it brought a record.
    pub fn has_brought(&self) -> bool {
        self.parts().values().any(|parts| *parts > 0)
    }

    fn parts(&self) -> MutexGuard<'_, BTreeMap<Space, u64>> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn files(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the part of this space is stored.
    pub(super) fn advance(&self, space: &Space) {
        *self.parts().entry(space.clone()).or_default() += 1;
    }

    /// Returns the note about a record, which a transaction stores; `was_forgotten` says that it
    /// was, and comes back because the person said so.
    pub(super) fn note_of(&self, record: &Record, was_forgotten: bool) -> String {
        let salt = &*self.salt;
        match record {
            Record::Memory(memory) if memory.kind == NOTE_KIND => line_of(&["x", "note"]),
            Record::Memory(memory) => {
                let kind = if was_forgotten { "a" } else { "m" };
                line_of(&[kind, &digest_of(salt, memory), memory.id.as_str()])
            }
            Record::Fact(fact) => line_of(&["f", &end_of(fact.valid_to), &fact.id]),
            Record::Tunnel(tunnel) => Self::note_of_tunnel(tunnel),
            Record::Decision(decision) => {
                let digest = digest(salt, &[Some(&decision.value)]);
                line_of(&["d", &digest, &decision.owner, &decision.key])
            }
            Record::Setting { owner, name, value } => {
                let digest = digest(salt, &[Some(value)]);
                line_of(&["s", &digest, &named(owner.as_deref()), name])
            }
            Record::SourceFile(file) => {
                let SourceFile {
                    machine,
                    collection,
                    path,
                    ..
                } = &**file;
                let collection = named(collection.as_deref());
                line_of(&["p", &state_of(salt, file), machine, &collection, path])
            }
            Record::NoteFile(_) | Record::NoteFolder(_) => line_of(&["x", "note_file"]),
            Record::CacheEntry(_) => line_of(&["x", "cache_entry"]),
            Record::IdempotentReply(_) => line_of(&["x", "keyed_answer"]),
            Record::Tombstone(_) => line_of(&["x", "tombstone"]),
        }
    }

    fn note_of_tunnel(tunnel: &Tunnel) -> String {
        let updated_at = tunnel.updated_at.microseconds().to_string();
        line_of(&["t", &updated_at, &tunnel.id])
    }
}

impl Imports<'_> {
    /// Starts a batch: imports that are [`in_batch`](Imports::in_batch) note what they bring. Nothing
    /// is stored before the first record. `from` is the system that the records come from.
    pub fn begin_batch(&self, from: &str, path: &str) -> ImportBatch {
        let salt = Uuid::now_v7().simple().to_string();
        // The time comes first, and what is random last.
        let random = Uuid::now_v7().simple().to_string();
        ImportBatch {
            info: BatchInfo {
                id: random[random.len() - ID_DIGITS..].to_owned(),
                from: from.to_owned(),
                path: path.to_owned(),
                started_at: self.clock.now(),
                records: None,
            },
            salt,
            parts: Mutex::default(),
            files: Mutex::default(),
        }
    }

    /// Returns the batches that can be taken back, the last one first.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn batches(&self) -> Result<Vec<BatchInfo>> {
        let listed = self.listed()?.into_iter().rev();
        Ok(listed.map(|batch| batch.info).collect())
    }

    /// Notes that a batch is whole, with the number of records that it brought or updated. A batch that brought nothing is not in
    /// the list.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written.
    pub fn finish_batch(&self, batch: &ImportBatch, records: u64) -> Result<()> {
        if batch.parts().is_empty() {
            return Ok(());
        }
        self.change_list(|listed| {
            listed.retain(|it| it.info.id != batch.info.id || batch.has_brought());
            for it in listed.iter_mut().filter(|it| it.info.id == batch.info.id) {
                it.info.records = Some(records);
            }
        })
    }

    /// Creates a tunnel, as [`create_tunnel`](crate::Graph::create_tunnel) does, and notes it in the
    /// batch. One between the two places that is there stays as it is; returns false then.
    ///
    /// # Errors
    /// As for `create_tunnel`.
    pub fn import_tunnel(
        &self,
        source: TunnelEnd,
        target: TunnelEnd,
        label: Option<&str>,
    ) -> Result<bool> {
        let space = &self.caller.space;
        let noted = |tunnel: &Tunnel| {
            let Some(batch) = self.batch else {
                return Ok(None);
            };
            let note = ImportBatch::note_of_tunnel(tunnel);
            self.part_of(batch, space, &note).map(Some)
        };
        // Before the lock of the tunnels is taken.
        self.batch
            .map_or(Ok(0), |batch| self.next_part(batch, space))?;
        let is_new = self.graph.add_tunnel(source, target, label, &noted)?;
        if is_new && let Some(batch) = self.batch {
            batch.advance(space);
        }
        Ok(is_new)
    }

    /// Notes that the texts of memories, which are as given, are about to become these: the way
    /// back is a former version. To be called before they are [updated](crate::Memories::update).
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written.
    pub fn note_updates(&self, updates: &[(&Memory, &str)]) -> Result<()> {
        let (Some(batch), false) = (self.batch, updates.is_empty()) else {
            return Ok(());
        };
        let space = &self.caller.space;
        let note = |(memory, text): &(&Memory, &str)| {
            let after = Memory {
                content: (*text).to_owned(),
                ..(*memory).clone()
            };
            let digest = digest_of(&batch.salt, &after);
            line_of(&[
                "u",
                &digest,
                &memory.revision.to_string(),
                memory.id.as_str(),
            ])
        };
        let notes: Vec<String> = updates.iter().map(note).collect();
        let part = self.part_of(batch, space, &notes.join("\n"))?;
        self.store.commit(Batch::new(space.clone(), vec![part]))?;
        batch.advance(space);
        Ok(())
    }

    /// Returns the change that notes what the changes of a transaction import. `again` has the ids of
    /// memories that were forgotten.
    pub(super) fn noted(
        &self,
        batch: &ImportBatch,
        space: &Space,
        changes: &[Change],
        again: &HashSet<MemoryId>,
    ) -> Result<Change> {
        let note = |change: &Change| match change {
            Change::Import { record, .. } => {
                let was_forgotten =
                    matches!(&**record, Record::Memory(memory) if again.contains(&memory.id));
                Some(batch.note_of(record, was_forgotten))
            }
            Change::Put { memory, .. } => {
                let was_forgotten = again.contains(&memory.id);
                Some(batch.note_of(&Record::Memory(memory.clone()), was_forgotten))
            }
            _ => None,
        };
        let notes: Vec<String> = changes.iter().filter_map(note).collect();
        self.part_of(batch, space, &notes.join("\n"))
    }

    /// Returns the change that notes what the changes of a transaction file from source files, if the
    /// imports are in a batch: new memories, removed ones, and the files, also those whose states stay as
    /// they were. `again` has the ids of memories that were forgotten.
    pub(crate) fn noted_of_files(
        &self,
        changes: &[Change],
        again: &[MemoryId],
    ) -> Result<Option<FileNotes>> {
        let Some(batch) = self.batch else {
            return Ok(None);
        };
        let note = |change: &Change| match change {
            Change::Put {
                memory,
                expect: Expect::Absent,
                ..
            } => {
                let was_forgotten = again.contains(&memory.id);
                Some(batch.note_of(&Record::Memory(memory.clone()), was_forgotten))
            }
            Change::Delete { .. } => Some(line_of(&["x", "former_part"])),
            _ => None,
        };
        let mut notes: Vec<String> = changes.iter().filter_map(note).collect();
        let mut files: BTreeSet<String> = changes.iter().filter_map(note_of_file).collect();
        files.retain(|file| !batch.files().contains(file));
        notes.extend(files.iter().cloned());
        if notes.is_empty() {
            return Ok(None);
        }
        let change = self.part_of(batch, &self.caller.space, &notes.join("\n"))?;
        Ok(Some(FileNotes { change, files }))
    }

    /// Counts the part that [`noted_of_files`](Self::noted_of_files) made, which is stored now.
    pub(crate) fn count_noted(&self, files: BTreeSet<String>) {
        if let Some(batch) = self.batch {
            batch.advance(&self.caller.space);
            batch.files().extend(files);
        }
    }

    /// Returns the change that stores the next part of a batch.
    fn part_of(&self, batch: &ImportBatch, space: &Space, notes: &str) -> Result<Change> {
        Ok(Change::PutSetting {
            owner: self.caller.principal.subject.clone(),
            name: part_name(&batch.info.id, self.next_part(batch, space)?),
            value: notes.to_owned(),
        })
    }

    /// Returns the number of the next part of a batch, which is in the list from then on.
    fn next_part(&self, batch: &ImportBatch, space: &Space) -> Result<u64> {
        let number = batch.parts().get(space).copied();
        if let Some(number) = number {
            return Ok(number);
        }
        self.list_batch(batch, space)?;
        batch.parts().insert(space.clone(), 0);
        Ok(0)
    }

    /// Adds a batch, or one more of its spaces, to the list; the oldest batches beyond the limit leave it.
    fn list_batch(&self, batch: &ImportBatch, space: &Space) -> Result<()> {
        let listed = self.listed()?;
        let is_new = listed.iter().all(|it| it.info.id != batch.info.id);
        let surplus = (listed.len() + usize::from(is_new)).saturating_sub(IMPORT_BATCHES_MAX);
        for old in &listed[..surplus] {
            for space in &old.spaces {
                self.remove_parts(space, &old.info.id)?;
            }
        }
        self.change_list(|now| {
            now.retain(|it| {
                let mut old = listed[..surplus].iter();
                old.all(|old| old.info.id != it.info.id)
            });
            match now.iter_mut().find(|it| it.info.id == batch.info.id) {
                Some(it) if it.spaces.contains(space) => {}
                Some(it) => it.spaces.push(space.clone()),
                None => now.push(ListedBatch {
                    info: batch.info.clone(),
                    salt: batch.salt.clone(),
                    spaces: vec![space.clone()],
                }),
            }
        })
    }

    /// Removes the notes of a batch in a space, the last part first, so that what is left is found.
    fn remove_parts(&self, space: &Space, id: &str) -> Result<()> {
        let owner = &self.caller.principal.subject;
        let numbers: Vec<u64> = (0..self.part_count(space, id)?).rev().collect();
        for some in numbers.chunks(PARTS_REMOVED) {
            let removal = |number: &u64| Change::DeleteSetting {
                owner: owner.clone(),
                name: part_name(id, *number),
            };
            let changes = some.iter().map(removal).collect();
            self.store.commit(Batch::new(space.clone(), changes))?;
        }
        Ok(())
    }

    /// Returns the number of parts of a batch in a space: they are numbered without gaps, and go from
    /// the last one on.
    pub(super) fn part_count(&self, space: &Space, id: &str) -> Result<u64> {
        let is_there = |number: u64| Ok(self.part(space, id, number)?.is_some());
        let mut above = 1;
        while is_there(above - 1)? {
            above *= 2;
        }
        // The part `below - 1` is there, and the part `above - 1` is not.
        let mut below = above / 2;
        while above - below > 1 {
            let middle = below.midpoint(above);
            if is_there(middle - 1)? {
                below = middle;
            } else {
                above = middle;
            }
        }
        Ok(below)
    }

    pub(super) fn part(&self, space: &Space, id: &str, number: u64) -> Result<Option<String>> {
        let owner = self.caller.principal.subject.as_deref();
        self.store.setting(space, owner, &part_name(id, number))
    }

    pub(super) fn listed(&self) -> Result<Vec<ListedBatch>> {
        let lines = self.settings.get(BATCHES)?.unwrap_or_default();
        Ok(lines.lines().filter_map(ListedBatch::of).collect())
    }

    pub(super) fn change_list(&self, change: impl Fn(&mut Vec<ListedBatch>)) -> Result<()> {
        self.settings.note(|draft| {
            let lines = draft.get(BATCHES)?.unwrap_or_default();
            let mut listed: Vec<ListedBatch> = lines.lines().filter_map(ListedBatch::of).collect();
            change(&mut listed);
            if listed.is_empty() {
                draft.remove(BATCHES);
                return Ok(());
            }
            let lines: Vec<String> = listed.iter().map(ListedBatch::line).collect();
            draft.put(BATCHES, lines.join("\n"))
        })
    }
}

/// Returns the note about the file that a change files something from, or notes the state of: it is read
/// again when that was taken back.
fn note_of_file(change: &Change) -> Option<String> {
    let (machine, collection, path) = match change {
        Change::Put {
            memory,
            expect: Expect::Absent,
            ..
        } => (
            memory.source_machine(),
            memory.location.collection.as_deref(),
            memory.attributes.get(SOURCE_FILE)?,
        ),
        Change::PutSourceFile { file, .. } => {
            (&*file.machine, file.collection.as_deref(), &file.path)
        }
        _ => return None,
    };
    Some(line_of(&["r", machine, &named(collection), path]))
}

/// Reports whether a setting is a note about an import, which belongs to its store.
pub fn is_note_of_import(setting: &str) -> bool {
    let rest = setting.strip_prefix(BATCHES);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

pub(super) fn part_name(id: &str, number: u64) -> String {
    format!("{BATCHES}/{id}/{number}")
}

/// Returns the digest of what people change of a memory; background work leaves it as it is.
pub(super) fn digest_of(salt: &str, memory: &Memory) -> String {
    let tags = memory.tags.join("\n");
    // The enrichment may find another section.
    let section = memory
        .enrichment
        .is_none()
        .then_some(&*memory.location.section);
    digest(
        salt,
        &[
            Some(&memory.content),
            memory.title.as_deref(),
            Some(&tags),
            memory.location.collection.as_deref(),
            section,
        ],
    )
}

/// Returns the digest of the state of a source file.
pub(super) fn state_of(salt: &str, file: &SourceFile) -> String {
    let hash = URL_SAFE_NO_PAD.encode(file.hash.0);
    let numbers = format!("{} {}", file.bytes_read, file.parts);
    digest(salt, &[Some(&hash), Some(&numbers)])
}

/// Returns a digest, salted because one of a short text would give the text away.
pub(super) fn digest(salt: &str, parts: &[Option<&str>]) -> String {
    let mut hash = Sha256::new();
    for part in [Some(salt)].iter().chain(parts) {
        let length = part.map_or(u64::MAX, |part| part.len() as u64);
        hash.update(length.to_be_bytes());
        hash.update(part.unwrap_or_default());
    }
    URL_SAFE_NO_PAD.encode(&hash.finalize()[..DIGEST_BYTES])
}

/// Returns the end of a fact for a note.
pub(super) fn end_of(valid_to: Option<loci_core::Period>) -> String {
    valid_to.map_or_else(String::new, |to| {
        format!("{} {}", to.first.microseconds(), to.last.microseconds())
    })
}

/// Returns a name that may be missing.
pub(super) fn named(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| format!("={name}"))
}

/// Returns a line of fields.
pub(super) fn line_of(fields: &[&str]) -> String {
    let escaped = |field: &&str| {
        field
            .replace('\\', "\\\\")
            .replace('\t', "\\t")
            .replace('\n', "\\n")
            .replace('\r', "\\r")
    };
    let fields: Vec<String> = fields.iter().map(escaped).collect();
    fields.join("\t")
}

/// Returns the fields of a line.
pub(super) fn fields_of(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        let character = match character {
            '\t' => {
                fields.push(String::new());
                continue;
            }
            '\\' => match characters.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some(other) => other,
                None => continue,
            },
            other => other,
        };
        if let Some(last) = fields.last_mut() {
            last.push(character);
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_gives_its_fields_back() {
        let rows: [&[&str]; 4] = [
            &["m", "0011", "id"],
            &["p", "", "a\tb", "\\", "c\nd\r", "\\t"],
            &[""],
            &["", ""],
        ];
        for fields in rows {
            let line = line_of(fields);
            assert!(!line.contains(['\n', '\r']), "{line:?}");
            assert_eq!(fields_of(&line), fields, "{line:?}");
        }
    }

    #[test]
    fn notes_are_told_by_their_names() {
        assert!(is_note_of_import("imports") && is_note_of_import("imports/0a/0"));
        assert!(!is_note_of_import("imports_of_tea") && !is_note_of_import("import"));
    }
}
