//! Imports an export, part by part.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use loci_core::limits::IMPORT_BATCH_BYTES;
use loci_core::{
    Archived, Error, ErrorCode, Expect, Memory, MemoryId, NoteFile, NoteFolder, Record, Space,
};
use loci_engine::{ImportBatch, ImportReport, NOTE_KIND, Parts};
use loci_vault::{RestoredFile, VaultFolder};
use serde_json::{Value, json};

use super::markdown::GLOBAL;
use super::shapes::{Counts, Line};
use super::{Entry, NOTE_FILE_BYTES_MAX, Note, NoteBytes, Notice, Part, REFUSALS_TOLD, Refusals};

/// The largest number of records that are stored together.
const BATCH_RECORDS: usize = 1_000;

/// An import in progress: its waiting records and its counts.
pub struct Importer<'a> {
    parts: &'a Parts<'a>,
    notes: &'a VaultFolder,
    notice: Notice<'a>,
    /// The reason why no notes can be imported and the remedy, if there is one.
    away: Option<String>,
    records: Vec<Archived>,
    /// The position of each record in the export.
    places: Vec<String>,
    files: Vec<(String, Note)>,
    bytes: usize,
    brought: ImportReport,
    /// The parts that were read, by kind.
    read: Counts,
    /// The counts that the end of the export states, once it was read.
    end: Option<Counts>,
    refused: Refusals,
    /// The number of invalid parts, whose kind is unknown.
    unread: u64,
    /// True if what was forgotten is stored, too.
    again: bool,
    are_followed: bool,
    batch: Option<&'a ImportBatch>,
    written: u64,
    same: u64,
    /// The paths of notes where another file is, or the file of another memory.
    others: BTreeSet<String>,
    /// The former and current paths of notes that have another one here.
    moved: Vec<(String, String)>,
    /// The paths of notes in the index whose files are neither in the export nor in the folder.
    missing: Vec<String>,
    /// The digests of memories in the export whose files may follow.
    said: HashMap<MemoryId, u64>,
    /// The paths of notes whose memories were changed or removed before their files came.
    changed: Vec<String>,
}

/// The decision whether a file of notes may be placed in the folder.
enum Admission {
    No,
    /// The file already belongs to its memory, or to none.
    Yes,
    /// Only if its memory has this state when the file is placed.
    If(Expect),
}

/// A file of notes that may be placed in the folder.
struct AdmittedNote {
    place: String,
    note: Note,
    expect: Option<Expect>,
}

impl<'a> Importer<'a> {
    /// Starts an import. With `away`, the reason why no note can be stored and the remedy, it stops
    /// at the first note. Without `waits`, it does not wait for the model.
    pub fn new(
        parts: &'a Parts<'a>,
        notes: &'a VaultFolder,
        away: Option<String>,
        waits: bool,
        notice: Notice<'a>,
    ) -> Self {
        let mut brought = ImportReport::default();
        brought.by_words_alone = !waits;
        Importer {
            parts,
            notes,
            notice,
            away,
            records: Vec::new(),
            places: Vec::new(),
            files: Vec::new(),
            bytes: 0,
            brought,
            read: Counts::new(),
            end: None,
            refused: Refusals::default(),
            unread: 0,
            again: false,
            are_followed: false,
            batch: None,
            written: 0,
            same: 0,
            others: BTreeSet::new(),
            moved: Vec::new(),
            missing: Vec::new(),
            said: HashMap::new(),
            changed: Vec::new(),
        }
    }

    /// Makes it a dry run, which stores nothing, and counts what would be stored.
    #[must_use]
    pub fn dry(mut self) -> Self {
        self.brought.is_dry_run = true;
        self
    }

    /// Makes it store what was forgotten or wiped here, too, if `again` is true.
    #[must_use]
    pub fn again(self, again: bool) -> Self {
        Importer { again, ..self }
    }

    /// Makes agents follow the memories that sessions start with at once, if `are_followed` is true.
    #[must_use]
    pub fn followed(self, are_followed: bool) -> Self {
        Importer {
            are_followed,
            ..self
        }
    }

    /// Makes it note in the batch what it brings, so that it can be taken back.
    #[must_use]
    pub fn in_batch(self, batch: &'a ImportBatch) -> Self {
        Importer {
            batch: Some(batch),
            ..self
        }
    }

    /// Returns the number of records stored so far.
    pub fn stored(&self) -> u64 {
        self.brought.stored
    }

    /// Takes the next part of an export. Reports and counts a part that is invalid or cannot be
    /// stored.
    ///
    /// # Errors
    /// If the store or the folder of notes does not answer, or there are notes while the folder is
    /// missing, with the number of stored records.
    pub fn take(
        &mut self,
        Part {
            place,
            bytes,
            entry,
        }: Part,
    ) -> Result<(), Error> {
        let waiting = self.records.len() + self.files.len();
        if waiting >= BATCH_RECORDS || (waiting > 0 && self.bytes + bytes > IMPORT_BATCH_BYTES) {
            self.store()?;
        }
        match entry {
            _ if self.end.is_some() => self.refuse(&place, "comes after the end of the export"),
            Err(problem) => {
                self.unread += 1;
                self.refuse(&place, &problem.to_string());
            }
            Ok(Entry::End(counts)) => self.end = Some(counts),
            Ok(Entry::Record(archived)) => {
                self.count(Line::from(&archived).kind());
                self.bytes += bytes;
                if let Record::Memory(memory) = &archived.record
                    && archived.space == Space::default()
                    && memory.kind == NOTE_KIND
                {
                    self.said.insert(memory.id.clone(), digest(memory));
                }
                self.records.push(archived);
                self.places.push(place);
            }
            Ok(Entry::Note(_)) if let Some(why) = &self.away => {
                return Err(self.stopped(Error::invalid("file", why)));
            }
            Ok(Entry::Note(file)) => {
                self.count("note_file");
                self.bytes += bytes;
                self.files.push((place, file));
            }
        }
        Ok(())
    }

    /// Stores the waiting records and files.
    ///
    /// # Errors
    /// As for [`take`](Importer::take).
    pub fn store(&mut self) -> Result<(), Error> {
        self.bytes = 0;
        let (records, places) = (
            std::mem::take(&mut self.records),
            std::mem::take(&mut self.places),
        );
        self.bring(&records, &places)?;
        let files = std::mem::take(&mut self.files);
        if files.is_empty() {
            return Ok(());
        }
        // The lock lasts until the memories of the new files are recorded, so that no process
        // indexes them before.
        let lock = (!self.brought.is_dry_run).then(|| self.notes.lock());
        let _lock = lock.transpose().map_err(|error| self.stopped(error))?;
        let mut admitted = Vec::new();
        for (place, note) in files {
            match self.admits(&note) {
                Ok(Admission::No) => {}
                Ok(Admission::Yes) => admitted.push(AdmittedNote {
                    place,
                    note,
                    expect: None,
                }),
                Ok(Admission::If(expect)) => admitted.push(AdmittedNote {
                    place,
                    note,
                    expect: Some(expect),
                }),
                Err(error) if error.code == ErrorCode::InvalidArgument => {
                    self.refuse(&place, &error.message);
                }
                Err(error) => return Err(self.stopped(error)),
            }
        }
        let admitted = self.expect(admitted).map_err(|error| self.stopped(error))?;
        let (mut rows, mut places) = (Vec::new(), Vec::new());
        for AdmittedNote { place, note, .. } in admitted {
            match self.place(&note) {
                Ok(true) => {
                    rows.extend(note.known.map(|known| row(&note.space, *known)));
                    places.resize(rows.len(), place);
                }
                Ok(false) => {}
                Err(error) if error.code == ErrorCode::InvalidArgument => {
                    self.refuse(&place, &error.message);
                }
                Err(error) => {
                    self.bring(&rows, &places)?;
                    return Err(self.stopped(error));
                }
            }
        }
        self.bring(&rows, &places)
    }

    /// Decides whether a file of notes may be placed, as far as that can be told without the
    /// folder. A change or removal of its memory before the file came takes precedence.
    fn admits(&mut self, note: &Note) -> Result<Admission, Error> {
        VaultFolder::check_path(&note.path)?;
        if note.space != Space::default() {
            let problem = format!(
                "is of the space {}; the folder of notes is that of {}",
                note.space,
                Space::default()
            );
            return if note.file.is_some() {
                Err(Error::invalid("file", problem))
            } else {
                Ok(Admission::Yes)
            };
        }
        if let Some(NoteBytes::Inline(copy)) = &note.file
            && copy.bytes.len() as u64 > NOTE_FILE_BYTES_MAX
        {
            return Err(Error::invalid(
                "file",
                format!("has more than {NOTE_FILE_BYTES_MAX} bytes, as no note has"),
            ));
        }
        if let Some(NoteBytes::Beside) = note.file {
            return Err(Error::invalid(
                "file",
                "has neither `text` nor `base64`; is it a part of another export?",
            ));
        }
        let Some(id) = memory_of(note) else {
            return Ok(Admission::Yes);
        };
        Ok(match self.parts.imports().known_note(id)? {
            (_, Some(now)) if now != note.path => {
                self.moved.push((note.path.clone(), now));
                Admission::No
            }
            (_, Some(_)) => Admission::Yes,
            (memory, None) => match (self.said.get(id), memory) {
                // A dry run did not store it.
                (Some(_), None) if self.brought.is_dry_run => Admission::Yes,
                (None, None) => Admission::If(Expect::Absent),
                (Some(said), Some(memory)) if *said == digest(&memory) => {
                    Admission::If(Expect::Revision(memory.revision))
                }
                _ => {
                    self.changed.push(note.path.clone());
                    Admission::No
                }
            },
        })
    }

    /// Records the memories of the files that will be placed, and drops files whose memories were
    /// changed just now.
    fn expect(&mut self, admitted: Vec<AdmittedNote>) -> Result<Vec<AdmittedNote>, Error> {
        if self.brought.is_dry_run {
            return Ok(admitted);
        }
        let expectation = |it: &AdmittedNote| Some((it.note.known.clone()?, it.expect?));
        let expected: Vec<_> = admitted.iter().map(expectation).collect();
        let files: Vec<_> = expected
            .iter()
            .flatten()
            .map(|(file, expect)| (&**file, *expect))
            .collect();
        let mut holds = self.parts.imports().expect_notes(&files)?.into_iter();
        let mut left = Vec::new();
        for (it, expected) in admitted.into_iter().zip(&expected) {
            if expected.is_none() || holds.next() == Some(true) {
                left.push(it);
            } else {
                self.changed.push(it.note.path);
            }
        }
        Ok(left)
    }

    /// Places a file of notes in the folder; returns true if its index entry is valid there.
    fn place(&mut self, note: &Note) -> Result<bool, Error> {
        if let Some(NoteBytes::Inline(copy)) = &note.file {
            let placed = if self.brought.is_dry_run {
                self.notes.compare_copy(&note.path, copy)?
            } else {
                self.notes.put_copy(&note.path, copy)?
            };
            let count = match placed {
                RestoredFile::New => Some(&mut self.written),
                RestoredFile::Same => Some(&mut self.same),
                RestoredFile::Other => None,
            };
            if let Some(count) = count {
                *count += 1;
                return Ok(true);
            }
            self.others.insert(note.path.clone());
        }
        // The folder holds no notes of other spaces.
        let memory = memory_of(note).filter(|_| note.space == Space::default());
        memory.map_or(Ok(true), |memory| self.is_file_of(&note.path, memory))
    }

    /// Returns true if the file at that path may be this memory. If it is missing or another note,
    /// the memory stays without a file.
    fn is_file_of(&mut self, path: &str, memory: &MemoryId) -> Result<bool, Error> {
        // Without the folder, its files are unknown.
        let found = self
            .notes
            .identity()?
            .map_or(Ok(None), |_| self.notes.read(path))?;
        let Some(found) = found else {
            self.missing.push(path.to_owned());
            return Ok(false);
        };
        Ok(found
            .content
            .is_some_and(|content| content.note.id.as_ref().is_none_or(|id| id == memory)))
    }

    fn bring(&mut self, records: &[Archived], places: &[String]) -> Result<(), Error> {
        if records.is_empty() {
            return Ok(());
        }
        let outcome = self
            .parts
            .imports()
            .again(self.again)
            .followed(self.are_followed)
            .in_batch(self.batch)
            .import_records(records, &mut self.brought);
        for (number, error) in std::mem::take(&mut self.brought.refused) {
            let place = places
                .get(number)
                .map_or("the end", String::as_str)
                .to_owned();
            self.refuse(&place, &format!("is not stored: {}", error.message));
        }
        self.others.extend(std::mem::take(&mut self.brought.others));
        outcome.map_err(|error| self.stopped(error))
    }

    fn count(&mut self, kind: &str) {
        *self.read.entry(kind.to_owned()).or_default() += 1;
    }

    fn refuse(&mut self, place: &str, problem: &str) {
        self.refused.add(place, problem, self.notice);
    }

    fn stopped(&self, error: Error) -> Error {
        if self.brought.is_dry_run {
            return error;
        }
        let ImportReport {
            stored, present, ..
        } = &self.brought;
        let message = format!(
            "{}; {stored} records are stored now and {present} were there already; import it again to go on",
            error.message
        );
        error.with_message(message)
    }

    /// Returns the outcome as JSON.
    pub fn value(&self) -> Value {
        let moved = self
            .moved
            .iter()
            .map(|(path, now)| json!({"path": path, "now": now}));
        json!({
            "stored": self.brought.stored,
            "present": self.brought.present,
            "forgotten": self.brought.forgotten,
            "refused": self.refused.count,
            "notes": {
                "written": self.written,
                "same": self.same,
                "others": self.others,
                "moved": moved.collect::<Vec<_>>(),
                "missing": self.missing,
                "changed": self.changed,
            },
        })
    }

    /// Returns the outcome as a sentence.
    pub fn text(&self) -> String {
        let ImportReport {
            stored,
            present,
            forgotten,
            ..
        } = &self.brought;
        format!(
            "stored {stored}, already there {present}, refused {}, files of notes {}{}",
            self.refused.count,
            self.written,
            stay_forgotten(*forgotten)
        )
    }

    /// Checks that the export was imported completely.
    ///
    /// # Errors
    /// A message that lists the problems.
    pub fn verdict(&self) -> Result<(), String> {
        for path in self.others.iter().take(REFUSALS_TOLD as usize) {
            (self.notice)(&format!(
                "note: another file is in the place of the note {path}, or it is another memory, and stays"
            ));
        }
        for (path, now) in self.moved.iter().take(REFUSALS_TOLD as usize) {
            (self.notice)(&format!(
                "note: the note {path} is {now} now, and stays as it is there"
            ));
        }
        for path in self.missing.iter().take(REFUSALS_TOLD as usize) {
            (self.notice)(&format!(
                "note: the file of the note {path} is not there; its text is a memory without a file"
            ));
        }
        for path in self.changed.iter().take(REFUSALS_TOLD as usize) {
            (self.notice)(&format!(
                "note: the note {path} was changed or removed here before its file came, and stays so, without a file"
            ));
        }
        let mut problems = Vec::new();
        if self.refused.count > 0 {
            problems.push(format!("{} records were refused", self.refused.count));
        }
        match &self.end {
            None => problems.push("the export is cut off: it has no end".to_owned()),
            Some(said) => problems.extend(self.difference(said)),
        }
        if problems.is_empty() {
            return Ok(());
        }
        let rest = if self.brought.is_dry_run {
            "would be stored"
        } else {
            "is stored"
        };
        Err(format!(
            "{}; everything else {rest}",
            problems.join(", and ")
        ))
    }

    /// Describes how the parts read differ from the counts that the export states; `None` if the
    /// invalid parts may explain it.
    fn difference(&self, said: &Counts) -> Option<String> {
        let kinds: BTreeSet<&String> = said.keys().chain(self.read.keys()).collect();
        let counts = kinds.into_iter().map(|kind| {
            let [said, read] =
                [said, &self.read].map(|counts| counts.get(kind).copied().unwrap_or_default());
            (kind, said, read)
        });
        let differing: Vec<_> = counts.filter(|(_, said, read)| said != read).collect();
        let lacking = differing.iter().fold(0, |sum: u64, (_, said, read)| {
            sum.saturating_add(said.saturating_sub(*read))
        });
        if lacking <= self.unread && differing.iter().all(|(_, said, read)| read < said) {
            return None;
        }
        let differing: Vec<String> = differing
            .into_iter()
            .map(|(kind, said, read)| format!("{read} of {said} of the kind {kind}"))
            .collect();
        Some(format!(
            "the export is not whole: there are {}",
            differing.join(", ")
        ))
    }
}

/// Returns the rest of a sentence that says how many texts stay forgotten; empty for none.
pub fn stay_forgotten(count: u64) -> String {
    match count {
        0 => String::new(),
        1 => ", stays forgotten 1 (--again stores it)".to_owned(),
        count => format!(", stay forgotten {count} (--again stores them)"),
    }
}

/// Returns the memory of a file of notes, unless the file is missing.
fn memory_of(note: &Note) -> Option<&MemoryId> {
    note.known
        .as_ref()
        .filter(|known| known.missing_since.is_none())?
        .memory
        .as_ref()
}

fn row(space: &Space, known: NoteFile) -> Archived {
    Archived {
        space: space.clone(),
        record: Record::NoteFile(Box::new(known)),
    }
}

/// Returns a digest of the fields that a note's file can express, to detect changes since an
/// export.
fn digest(memory: &Memory) -> u64 {
    let mut hasher = DefaultHasher::new();
    let Memory {
        content,
        title,
        tags,
        forgotten_at,
        location: place,
        delivery,
        ..
    } = memory;
    let collection = place.collection.as_deref().filter(|name| *name != GLOBAL);
    (
        content,
        title,
        tags,
        forgotten_at,
        collection,
        &place.section,
        delivery.name(),
    )
        .hash(&mut hasher);
    hasher.finish()
}
