//! The conversion of note files to memories, and the update of their index.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::{slice, thread};

use loci_core::{
    Batch, Caller, Change, Condition, Delivery, Error, ErrorCode, Expect, FRONTMATTER, FileProblem,
    FileProblemKind, FileStamp, LOCAL, Link, Memory, MemoryId, Note, NoteContent, NoteFile,
    Passage, Relation, Result, SaidBy, Space, Tier, Timestamp, Vector, Visibility, limits,
};
use loci_text::indexed;
use uuid::Uuid;

use super::folder_state::FolderState;
use super::standing::{WEIGHT, weighed};
use super::{Notes, everything};
use crate::authors::hold_changed_orders;
use crate::check;
use crate::engine::SearchMode;
use crate::memories::remember::{Embedding, named_collection};
use crate::wakeup::catch_panic;

/// The [kind](Memory::kind) of every note.
pub const NOTE_KIND: &str = "note";
/// The number of items from which several threads share the work, and the maximum number of
/// threads.
const SHARED_MIN: usize = 32;
const THREADS_MAX: usize = 4;
/// Attempts at one change during concurrent changes of the same memories. Each failure means that
/// another writer succeeded.
const ATTEMPTS_MAX: usize = 100;

/// A file that was read, and the changes that follow from it in one transaction.
#[derive(Debug, Clone)]
pub(crate) struct FileUpdate {
    /// The new row of the file.
    pub(crate) row: NoteFile,
    /// True if the store has this row already.
    pub(crate) is_known: bool,
    /// The content of the file; `None` leaves the memory as it is.
    pub(crate) content: Option<NoteContent>,
    /// True if no note had the id of the memory before. A memory that has it is another one, unless
    /// it equals the file in everything.
    pub(crate) is_new: bool,
    /// Changes of the rows of other files.
    pub(crate) others: Vec<Change>,
    /// A memory that lost its file, unless another file of the same transaction has it.
    pub(crate) left: Option<MemoryId>,
}

impl FileUpdate {
    /// Creates a reading that changes only the row of the file.
    pub(super) fn of(row: NoteFile) -> Self {
        FileUpdate {
            row,
            is_known: false,
            content: None,
            is_new: false,
            others: Vec::new(),
            left: None,
        }
    }

    /// Returns the memory that is written.
    fn written(&self) -> Option<&MemoryId> {
        self.row.memory.as_ref().filter(|_| self.content.is_some())
    }

    /// Gives it another memory, because its id is taken.
    fn part(&mut self) {
        self.row.memory = Some(self.left.take().unwrap_or_else(new_id));
        self.row.says_id = false;
        self.row.problem.get_or_insert_with(duplicate_uid);
        self.is_new = false;
    }
}

/// The vectors of a text that was embedded before its note was written.
#[derive(Debug, Clone, Default)]
pub(crate) struct TextVectors {
    title: Option<String>,
    content: String,
    vectors: Vec<Vector>,
    /// The writer of the text; `None` if nothing was embedded.
    writer: Option<Caller>,
}

/// Returns a text in the form in which a file with it will be read.
pub(crate) fn note_body(text: &str) -> String {
    let mut body = text.replace("\r\n", "\n");
    // "\r\r\n" becomes "\r\n" again.
    while body.contains("\r\n") {
        body = body.replace("\r\n", "\n");
    }
    body.truncate(body.trim_end_matches(['\r', '\n']).len());
    body
}

/// The problem of a file whose `uid` belongs to another note or memory.
pub(super) fn duplicate_uid() -> FileProblem {
    let message = "its `uid` is that of another note or memory; it is indexed under an id of its own; remove the `uid` \
                   if both are to stay, or the copy";
    FileProblem {
        kind: FileProblemKind::DuplicateUid,
        message: message.to_owned(),
    }
}

pub(super) fn new_id() -> MemoryId {
    MemoryId::new(Uuid::now_v7().to_string())
}

/// Returns the modification time of the file, limited to the current time.
fn modified(stamp: FileStamp, now: Timestamp) -> Timestamp {
    Timestamp::from_microseconds(stamp.modified_nanoseconds.div_euclid(1_000)).min(now)
}

/// Returns the memory of a note. Fields that its file does not contain stay as they were: weight, as
/// long as its standing is the same, owner, superseded memory, links.
pub(crate) fn memory_of(
    row: &NoteFile,
    content: &NoteContent,
    known: Option<&Memory>,
    new: Memory,
) -> Memory {
    let note = &content.note;
    let now = new.created_at;
    let modified = modified(row.stamp, now);
    let past = |said: Option<Timestamp>| said.filter(|said| *said <= now);
    let title = title(note, &row.path);
    // A memory must have a text.
    let text = if note.body.trim().is_empty() {
        title.clone()
    } else {
        note.body.clone()
    };
    let is_same_text = known.is_some_and(|known| known.content == text);
    let said = past(note.updated_at);
    let created_at = past(note.created_at)
        .or(known.map(|known| known.created_at))
        .unwrap_or_else(|| said.map_or(modified, |said| said.min(modified)));
    // People who edit a text by hand seldom update `updated_at`.
    let updated_at = match (said, known) {
        (said, None) => said.unwrap_or(modified),
        (Some(said), Some(known)) if said > known.updated_at => said,
        (_, Some(known)) if is_same_text => known.updated_at,
        (_, Some(known)) => modified.max(known.updated_at),
    };
    let was_forgotten_at = known.and_then(|known| known.forgotten_at);
    let forgotten_at = if row
        .problem
        .as_ref()
        .is_some_and(|problem| problem.kind == FileProblemKind::BrokenFrontmatter)
    {
        // A typo in the frontmatter must not restore a forgotten note, and the frontmatter may mark
        // it as deleted since.
        was_forgotten_at.or(note.is_out_of_sight().then_some(modified))
    } else {
        let since = || {
            past(note.deleted_at)
                .or(was_forgotten_at)
                .unwrap_or(modified)
        };
        note.is_out_of_sight().then(since)
    };
    let base = known.cloned().unwrap_or(new);
    let mut memory = Memory {
        content: text,
        title: Some(title),
        kind: NOTE_KIND.to_owned(),
        tags: tags(content),
        tier: Tier::LongTerm,
        delivery: if note.always_load {
            Delivery::Bootstrap
        } else {
            Delivery::OnDemand
        },
        visibility: Visibility::Common,
        summary: base.summary.filter(|_| is_same_text),
        attributes: with_values(base.attributes, content),
        forgotten_at,
        created_at,
        updated_at: updated_at.max(created_at),
        ..base
    };
    if !is_same_text {
        note_edit(&mut memory);
    }
    // Only the local user can mark a note as always loaded; no tool does.
    memory.by_admin |=
        note.always_load && known.is_none_or(|known| known.delivery != Delivery::Bootstrap);
    let name = |name: &Option<String>| {
        name.clone()
            .filter(|name| check::name("name", name).is_ok())
    };
    memory.location.collection = named_collection(name(&note.collection));
    memory.location.section = name(&note.section).unwrap_or_else(|| NOTE_KIND.to_owned());
    hold_changed_orders(weighed(memory, row, note, known), known)
}

/// Notes that the text of a memory was written in its file. Only the local user can write the file,
/// which may still have words of others, e.g. in a folder that is synchronised.
fn note_edit(memory: &mut Memory) {
    memory.updated_by = memory
        .owner
        .as_deref()
        .filter(|owner| *owner != LOCAL)
        .map(|_| LOCAL.to_owned());
    memory.by_admin = true;
    memory.provenance.said_by = memory.provenance.said_by.least(SaidBy::File);
}

/// Applies `work` to each item and returns the results in order. Several threads share many items.
pub(crate) fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<Vec<R>> + Sync,
) -> Result<Vec<R>> {
    let all = |items: &[T]| -> Result<Vec<R>> {
        let mut made = Vec::new();
        for item in items {
            made.extend(work(item)?);
        }
        Ok(made)
    };
    if items.len() < SHARED_MIN {
        return all(items);
    }
    let threads = thread::available_parallelism()
        .map_or(1, usize::from)
        .min(THREADS_MAX);
    thread::scope(|scope| {
        let parts = items.chunks(items.len().div_ceil(threads));
        let running: Vec<_> = parts.map(|part| scope.spawn(|| all(part))).collect();
        let mut made = Vec::new();
        for thread in running {
            made.extend(
                thread
                    .join()
                    .unwrap_or_else(|_| Err(Error::internal("a text could not be analysed")))?,
            );
        }
        Ok(made)
    })
}

/// Returns the title of a note, or the name of its file, as one line of permitted characters.
fn title(note: &Note, path: &str) -> String {
    let file = path.rsplit_once('/').map_or(path, |(_, file)| file);
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let candidates = [note.title.as_deref().unwrap_or_default(), stem, file];
    let line = |title: &str| -> String {
        let printable = |character: char| {
            if character.is_control() {
                ' '
            } else {
                character
            }
        };
        title
            .chars()
            .take(limits::NAME_CHARACTERS_MAX)
            .map(printable)
            .collect()
    };
    let mut lines = candidates.into_iter().map(line);
    lines
        .find(|title| !title.trim().is_empty())
        .unwrap_or_else(|| NOTE_KIND.to_owned())
}

/// Returns the tags of the frontmatter and the tags of the text, up to the limit of a memory.
fn tags(content: &NoteContent) -> Vec<String> {
    let mut tags: Vec<String> = Vec::new();
    for tag in content.note.tags.iter().chain(&content.text_tags) {
        if tags.len() < limits::TAGS_MAX && check::tag("tag", tag).is_ok() && !tags.contains(tag) {
            tags.push(tag.clone());
        }
    }
    tags
}

/// Returns the attributes with the other values of the frontmatter, each with a line end: without
/// one, a date would be taken for that of the note.
fn with_values(
    mut attributes: BTreeMap<String, String>,
    content: &NoteContent,
) -> BTreeMap<String, String> {
    let lines = content.values.iter().map(|value| format!("{value}\n"));
    let values: String = lines.collect();
    if values.is_empty() {
        attributes.remove(FRONTMATTER);
    } else {
        attributes.insert(FRONTMATTER.to_owned(), values);
    }
    attributes
}

impl Notes<'_> {
    /// Returns the memories with these ids, in any state.
    fn known(&self, ids: &[MemoryId]) -> Result<HashMap<MemoryId, Memory>> {
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let memories = self.store.get_all(&everything(), ids)?;
        Ok(memories
            .into_iter()
            .map(|memory| (memory.id.clone(), memory))
            .collect())
    }

    /// Embeds a text before it is written as a note.
    pub(crate) fn embed_ahead(
        &self,
        title: Option<&str>,
        content: &str,
    ) -> (Embedding, TextVectors) {
        let mut passages = indexed::of_text(content, &[], &[], self.clock.now());
        let (embedding, _) = self.models.embed_at_once(title, content, &mut passages);
        let vectors = passages
            .into_iter()
            .filter_map(|passage| passage.vector)
            .collect();
        let (title, writer) = (title.map(str::to_owned), Some(self.caller.caller.clone()));
        (
            embedding,
            TextVectors {
                title,
                content: content.to_owned(),
                vectors,
                writer,
            },
        )
    }

    /// Creates the memory of a new note.
    pub(crate) fn new_note(&self, folder: &FolderState, id: MemoryId) -> Memory {
        let new = Memory::new(Space::default(), id, "", NOTE_KIND, self.clock.now());
        Memory {
            weight: WEIGHT,
            origin: folder.origin.to_owned(),
            ..new
        }
    }

    /// Returns the changes that store a note, and keep the text that it had; none if it equals the
    /// known one.
    pub(crate) fn put_note(
        &self,
        mut note: Memory,
        known: Option<&Memory>,
        embedded: &TextVectors,
    ) -> Result<Vec<Change>> {
        if known == Some(&note) {
            return Ok(Vec::new());
        }
        let former = known.and_then(|known| self.access.kept(Some(known), &note));
        let is_new = known.is_none();
        let passages = self.passages_anew(&note, known, embedded)?;
        let expect = known.map_or(Expect::Absent, |known| Expect::Revision(known.revision));
        note.revision = known.map_or(1, |known| known.revision + 1);
        let put = Change::Put {
            memory: Box::new(note.clone()),
            passages,
            expect,
        };
        // What is found in the folder was there before.
        let is_written = is_new && !self.caller.trail.tool().is_empty();
        let before = is_written.then(|| self.access.kept(None, &note)).flatten();
        Ok(former.into_iter().chain([put]).chain(before).collect())
    }

    /// Gives passages the stored vectors of a memory whose text is the same to the model.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub(crate) fn keep_vectors(&self, memory: &Memory, passages: &mut [Passage]) -> Result<()> {
        let vectors =
            self.store
                .vectors(&memory.space, &memory.id, self.models.active().model())?;
        set_vectors(passages, vectors);
        Ok(())
    }

    /// Returns the passages of a note, or `None` if the stored ones are up to date. Vectors of an
    /// unchanged text are kept.
    fn passages_anew(
        &self,
        note: &Memory,
        known: Option<&Memory>,
        embedded: &TextVectors,
    ) -> Result<Option<Vec<Passage>>> {
        let metadata = note.metadata();
        let is_same_text =
            known.is_some_and(|known| known.content == note.content && known.title == note.title);
        let is_as_stored =
            |known: &Memory| known.updated_at == note.updated_at && known.metadata() == metadata;
        if is_same_text && known.is_some_and(is_as_stored) {
            return Ok(None);
        }
        let mut passages = indexed::passages(note);
        if embedded.content == note.content && embedded.title == note.title {
            set_vectors(&mut passages, embedded.vectors.clone());
        } else if is_same_text {
            self.keep_vectors(note, &mut passages)?;
        }
        Ok(Some(passages))
    }

    /// Commits changes that can be rebuilt from the files, and wakes the embedding thread for
    /// passages without a vector.
    pub(crate) fn commit_notes(&self, changes: Vec<Change>) -> Result<()> {
        self.commit_notes_if(None, changes)
    }

    /// Does the same, if this condition holds.
    pub(super) fn commit_notes_if(
        &self,
        condition: Option<Condition>,
        changes: Vec<Change>,
    ) -> Result<()> {
        if condition.is_none() && changes.is_empty() {
            return Ok(());
        }
        // A pass over many files takes longer than the lease of the machine lasts.
        if let Some(folder) = self.folder {
            self.keep(folder)?;
        }
        let waits = |change: &Change| match change {
            Change::Put {
                passages: Some(passages),
                ..
            } => passages.iter().any(|passage| passage.vector.is_none()),
            _ => false,
        };
        let waits = self.search_mode != SearchMode::Words && changes.iter().any(waits);
        self.store.commit_rebuildable(Batch {
            space: Space::default(),
            conditions: Vec::from_iter(condition),
            changes,
        })?;
        if waits {
            self.to_embed.ring();
        }
        Ok(())
    }

    /// Indexes these readings: together, or else one by one, so that a faulty file does not block
    /// the others.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written.
    pub(super) fn index_all(
        &self,
        folder: &FolderState,
        readings: &mut [FileUpdate],
    ) -> Result<()> {
        let none = TextVectors::default();
        match catch_panic(|| self.try_index(folder, readings, &none)) {
            Err(error) if !error.is_unavailable() => {}
            outcome => return outcome,
        }
        for reading in readings {
            match catch_panic(|| self.index(folder, reading, &none)) {
                Err(error) if !error.is_unavailable() => {
                    tracing::warn!(%error, "a note is not indexed");
                }
                outcome => outcome?,
            }
        }
        Ok(())
    }

    /// Indexes one reading. If its id is taken, the reading gets another one.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written.
    pub(super) fn index(
        &self,
        folder: &FolderState,
        reading: &mut FileUpdate,
        embedded: &TextVectors,
    ) -> Result<()> {
        let mut vacancies = 0;
        for _ in 1..ATTEMPTS_MAX {
            match self.try_index(folder, slice::from_ref(reading), embedded) {
                Err(error) if error.code == ErrorCode::Conflict => {}
                outcome => return outcome,
            }
            let Some(id) = reading.written() else {
                continue;
            };
            let is_there = self.store.get(&Space::default(), id)?.is_some();
            vacancies += usize::from(!is_there);
            // An id that no visible memory has belongs to a soft-deleted one until a sweep removes
            // it.
            if (reading.is_new && is_there) || vacancies == 2 {
                reading.part();
            }
        }
        self.try_index(folder, slice::from_ref(reading), embedded)
    }

    fn try_index(
        &self,
        folder: &FolderState,
        readings: &[FileUpdate],
        embedded: &TextVectors,
    ) -> Result<()> {
        let ids: Vec<MemoryId> = readings
            .iter()
            .flat_map(|reading| reading.written().into_iter().chain(&reading.left))
            .cloned()
            .collect();
        let known = self.known(&ids)?;
        let written: HashSet<&MemoryId> = readings.iter().filter_map(FileUpdate::written).collect();
        let changes_of = |reading: &FileUpdate| {
            let mut changes = reading.others.clone();
            if let (Some(id), Some(content)) = (&reading.row.memory, &reading.content) {
                let known = known.get(id);
                let mut note = memory_of(
                    &reading.row,
                    content,
                    known,
                    self.new_note(folder, id.clone()),
                );
                let is_new_text = known.is_none_or(|known| known.content != note.content);
                if let Some(writer) = embedded
                    .writer
                    .as_ref()
                    .filter(|_| is_new_text && embedded.content == note.content)
                {
                    // The file has what the writer wrote.
                    note.provenance =
                        known.map_or_else(|| writer.provenance(), |known| known.provenance.clone());
                    note.set_writer(writer);
                }
                // A memory that equals the file in everything had lost its file, and has it again.
                if reading.is_new && known.is_some_and(|known| *known != note) {
                    return Err(Error::new(
                        ErrorCode::Conflict,
                        "the id of a note is that of another memory",
                    ));
                }
                changes.extend(self.put_note(note, known, embedded)?);
            }
            let left = reading
                .left
                .as_ref()
                .filter(|id| !written.contains(id))
                .and_then(|id| known.get(id));
            changes.extend(left.map(|memory| Change::Delete {
                id: memory.id.clone(),
                revision: memory.revision,
            }));
            if !reading.is_known {
                changes.push(Change::PutNoteFile(Box::new(reading.row.clone())));
            }
            Ok(changes)
        };
        self.commit_notes(in_parallel(readings, changes_of)?)
    }

    /// Links notes to the notes that their texts name.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be written.
    pub(super) fn link_notes(&self, links: &[(MemoryId, Vec<MemoryId>)]) -> Result<()> {
        let ids: Vec<MemoryId> = links.iter().map(|(id, _)| id.clone()).collect();
        let attempt = || {
            let known = self.known(&ids)?;
            let mut changes = Vec::new();
            for (id, targets) in links {
                let Some(known) = known.get(id) else { continue };
                let mut note = known.clone();
                note.links.retain(|link| link.relation != Relation::LinksTo);
                let link = |target: &MemoryId| Link {
                    target: target.clone(),
                    relation: Relation::LinksTo,
                    similarity: 1.0,
                };
                note.links.splice(0..0, targets.iter().map(link));
                changes.extend(self.put_note(note, Some(known), &TextVectors::default())?);
            }
            self.commit_notes(changes)
        };
        for _ in 1..ATTEMPTS_MAX {
            match attempt() {
                Err(error) if error.code == ErrorCode::Conflict => {}
                outcome => return outcome,
            }
        }
        attempt()
    }
}

/// Gives passages their vectors, if there is one for each.
fn set_vectors(passages: &mut [Passage], vectors: Vec<Vector>) {
    if vectors.len() == passages.len() {
        for (passage, vector) in passages.iter_mut().zip(vectors) {
            passage.vector = Some(vector);
        }
    }
}
