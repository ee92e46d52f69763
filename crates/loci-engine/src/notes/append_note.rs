//! Writing a note: first the file, then its index.

use loci_core::{
    Change, CreateOutcome, Error, ErrorCode, FileSnapshot, Memory, MemoryId, Note, NoteContent,
    NoteFile, RecordVerb, Result, Space,
};
use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

use crate::check;
use crate::idempotency::KeyedRequest;
use crate::memories::remember::{Embedding, distinct, not_wiped};
use crate::notes::folder_state::FolderState;
use crate::notes::{Extent, Notes, READING, TextVectors, memory_of, note_body};

/// A note to write.
pub struct AppendNote<'a> {
    /// The title, which gives the file its name: 1 to 256 characters.
    pub title: String,
    /// The text.
    pub body: String,
    /// Tags; repeated ones count once.
    pub tags: Vec<String>,
    /// The caller's idempotency key, if it has one.
    pub keyed: Option<KeyedNote<'a>>,
}

/// An idempotency key for a note. Two requests under it are equal if they would write the same
/// note.
#[derive(Clone, Copy)]
pub struct KeyedNote<'a> {
    /// As [`KeyedRequest::operation`].
    pub operation: &'a str,
    /// As [`KeyedRequest::key`].
    pub key: &'a str,
    /// Formats the answer that is stored under the key.
    pub answer: &'a dyn Fn(&Memory) -> String,
}

/// The result of writing a note; durable when this exists.
#[derive(Debug, Clone, PartialEq)]
pub enum AppendOutcome {
    /// The note was written and indexed.
    New(Box<Memory>, Embedding),
    /// The note was written, and is found after the next reconciliation: the index cannot be
    /// written now, for this reason.
    Unindexed(Box<Memory>, String),
    /// The note was written before under the same key: the answer of that call.
    Before(String),
}

impl Notes<'_> {
    /// Writes a note of the kind `note` into the folder of notes, with common visibility in its
    /// space. Its links are known after the next reconciliation.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` if an argument exceeds its limits (`title`, `body`,
    /// `tags`, `idempotency_key`); `conflict` if the key was used for another request; `forbidden`
    /// outside the default space; `unavailable` if there is no folder of notes, it is away, or it
    /// or the store cannot be written.
    pub fn append(&self, request: AppendNote<'_>) -> Result<AppendOutcome> {
        let since = self.store.version(&self.caller.space)?;
        if self.caller.space != Space::default() {
            let message = format!("notes are kept in the space `{}` alone", Space::default());
            return Err(Error::new(ErrorCode::Forbidden, message));
        }
        let keyed = request.keyed;
        let mut note = self.new_file(request.title, request.body, request.tags)?;
        let folder = self.folder.ok_or_else(|| self.no_folder())?;
        let request = request_of(&note);
        let answer = keyed.map(|keyed| keyed.answer);
        let keyed = keyed.map(|KeyedNote { operation, key, .. }| KeyedRequest {
            operation,
            key,
            request: &request,
        });
        let kept = || {
            keyed
                .as_ref()
                .map_or(Ok(None), |keyed| self.idempotency.kept(keyed))
        };
        if let Some(before) = kept()? {
            return Ok(AppendOutcome::Before(before.answer));
        }
        // Before taking the lock, for which others wait.
        let (embedding, embedded) = self.embed_ahead(note.title.as_deref(), &note.body);

        let _lock = self.lock(folder)?;
        // Another caller may have been faster.
        if let Some(before) = kept()? {
            return Ok(AppendOutcome::Before(before.answer));
        }
        let is_other_folder = self.is_other_folder(folder)?;
        let now = self.note_time();
        (note.created_at, note.updated_at) = (Some(now), Some(now));
        let (path, read) = self.create_note(folder, note, keyed.as_ref())?;
        let mut changes = Vec::new();
        if is_other_folder {
            let identity = folder.files.identity().ok().flatten();
            let (_, is_read_anew) = self.noted_folder()?;
            let reading = if is_read_anew { "" } else { READING };
            changes.extend(identity.map(|identity| Change::PutNoteFolder {
                identity: identity + reading,
            }));
        }
        let written = WrittenNote::of(folder, path, read, changes)?;
        // The reply contains only the caller's own text, so it depends on no memory.
        let keep = |note: &Memory| {
            Some(
                self.idempotency
                    .keep(keyed.as_ref()?, answer?(note), Vec::new()),
            )
        };
        let (note, failure) = self.index_written(since, &written, &embedded, keep);
        self.caller
            .note_record(RecordVerb::Stored, note.id.as_str(), Some(false));
        let note = Box::new(note);
        Ok(match failure {
            None => AppendOutcome::New(note, embedding),
            Some(error) => {
                tracing::warn!(%error, "a note is written and not indexed yet");
                folder.bell.ring();
                AppendOutcome::Unindexed(note, error.message)
            }
        })
    }

    /// Returns a note with this title, text and tags, without their secrets, if these are valid.
    fn new_file(&self, title: String, body: String, tags: Vec<String>) -> Result<Note> {
        let title = self.redaction.redacted_text(title);
        let body = self.redaction.redacted_text(body);
        let tags: Vec<String> = tags
            .into_iter()
            .map(|tag| self.redaction.redacted_text(tag))
            .collect();
        check::name("title", &title)?;
        check::content("body", &body)?;
        check::tags("tags", &tags)?;
        Ok(Note {
            title: Some(title),
            body: note_body(&body),
            tags: bare(&tags)?,
            ..Note::default()
        })
    }

    /// Indexes a note that was just written, with the change that `keep` returns; also returns the
    /// error if the index cannot be written now.
    fn index_written(
        &self,
        since: u64,
        written: &WrittenNote<'_>,
        embedded: &TextVectors,
        keep: impl Fn(&Memory) -> Option<Change>,
    ) -> (Memory, Option<Error>) {
        let WrittenNote {
            folder,
            id,
            row,
            content,
            changes,
        } = written;
        let attempt = |is_named: bool| {
            let known = self.store.get(&Space::default(), id);
            let before = known.as_ref().ok().and_then(Option::as_ref);
            let mut note = memory_of(row, content, before, self.new_note(folder, id.clone()));
            let (mut condition, mut changes) = (None, changes.clone());
            note.by_admin = false;
            if is_named {
                if note.owner.is_none() {
                    note.owner.clone_from(&self.caller.principal.subject);
                    note.actor.clone_from(&self.caller.principal.actor);
                    self.caller.origin.clone_into(&mut note.origin);
                }
                // The file has what the caller wrote.
                note.provenance = before.map_or_else(
                    || self.caller.provenance(),
                    |before| before.provenance.clone(),
                );
                note.set_writer(&self.caller);
                condition = not_wiped(&note, since);
                changes.extend(keep(&note));
            }
            changes.push(Change::PutNoteFile(Box::new(row.clone())));
            let put = known.and_then(|known| self.put_note(note.clone(), known.as_ref(), embedded));
            let committed = put.and_then(|put| {
                changes.extend(put);
                self.commit_notes_if(condition, changes)
            });
            (note, committed.err())
        };
        let is_conflict = |failure: &Option<Error>| {
            failure
                .as_ref()
                .is_some_and(|it| it.code == ErrorCode::Conflict)
        };
        let (mut note, mut failure) = attempt(true);
        if is_conflict(&failure) {
            // Another process may have changed it since.
            (note, failure) = attempt(true);
        }
        if is_conflict(&failure) && self.is_wiped(&note, since) {
            // The note stays without the name of its writer.
            (note, failure) = attempt(false);
        }
        (note, failure)
    }

    /// Reports whether the data of a note's writer was wiped since then.
    fn is_wiped(&self, note: &Memory, since: u64) -> bool {
        let relied_on = self.commit_notes_if(not_wiped(note, since), Vec::new());
        relied_on.is_err_and(|error| error.code == ErrorCode::Conflict)
    }

    /// Reports whether the folder differs from the recorded one.
    ///
    /// # Errors
    /// `unavailable` if it is away: a note written now would be in another place when it is back.
    fn is_other_folder(&self, folder: &FolderState) -> Result<bool> {
        let (space, identity) = (Space::default(), folder.files.identity()?);
        let (noted, _) = self.noted_folder()?;
        if identity.is_some() && identity == noted {
            return Ok(false);
        }
        let away = folder.unavailable_reason(
            &self.store.note_files(&space)?,
            &folder.files.scan()?,
            noted.as_ref(),
        );
        // A caller does not learn the path of the folder.
        away.map_or(Ok(true), |_| {
            let message = "the folder of notes is away; nothing was written; if its notes are gone for good: `loci \
                           vault reconcile --accept-missing`";
            Err(Error::unavailable(message))
        })
    }

    /// Creates the file, or finds the one that an earlier attempt under the same key created.
    fn create_note(
        &self,
        folder: &FolderState,
        mut note: Note,
        keyed: Option<&KeyedRequest<'_>>,
    ) -> Result<(String, FileSnapshot)> {
        note.id = Some(self.note_id(keyed));
        match folder.files.create(&note, keyed.is_some())? {
            CreateOutcome::New(path, read) => Ok((path, read)),
            CreateOutcome::Existing(path, read) => {
                let says = |note: &Note| (note.title.clone(), note.body.clone(), note.tags.clone());
                let written = read.content.as_ref().map(|content| &content.note);
                if written.is_some_and(|written| self.is_key_alive(written)) {
                    if written.is_some_and(|written| says(written) == says(&note)) {
                        // A reconciliation may have indexed it since, perhaps under another name.
                        self.reconcile_folder(folder, Extent::Everything, Some(&path))?;
                        return Ok((path, read));
                    }
                    let message = "`idempotency_key` was used for another note, or the note has changed since; take a \
                                   key of its own for each";
                    return Err(Error::new(ErrorCode::Conflict, message));
                }
                note.id = Some(self.note_id(None));
                match folder.files.create(&note, false)? {
                    CreateOutcome::New(path, read) | CreateOutcome::Existing(path, read) => {
                        Ok((path, read))
                    }
                }
            }
        }
    }

    /// Returns a UUID of version 7 ([RFC
    /// 9562](https://www.rfc-editor.org/rfc/rfc9562#name-uuid-version-7)). Under a key, its random
    /// bits are always the same, so that a file created under the key is recognised; the time is
    /// not.
    fn note_id(&self, keyed: Option<&KeyedRequest<'_>>) -> MemoryId {
        let Some(keyed) = keyed else {
            return MemoryId::new(Uuid::now_v7().to_string());
        };
        let subject = self.caller.principal.subject.as_deref();
        let mut hasher = Sha256::new()
            .chain_update("a note under a key")
            .chain_update([u8::from(subject.is_some())]);
        for part in [
            self.caller.space.as_str(),
            subject.unwrap_or_default(),
            keyed.operation,
            keyed.key,
        ] {
            // The length marks the end of a part.
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let mut bits = [0; 10];
        bits.copy_from_slice(&hasher.finalize()[..10]);
        let milliseconds =
            u64::try_from(self.clock.now().microseconds().div_euclid(1_000)).unwrap_or_default();
        MemoryId::new(
            Builder::from_unix_timestamp_millis(milliseconds, &bits)
                .into_uuid()
                .to_string(),
        )
    }

    /// Reports whether the key under which a note was created has not expired yet.
    fn is_key_alive(&self, note: &Note) -> bool {
        let made = note
            .id
            .as_ref()
            .and_then(|id| Uuid::try_parse(id.as_str()).ok()?.get_timestamp());
        let age = self.clock.now().microseconds() / 1_000_000
            - made.map_or(0, |made| made.to_unix().0.cast_signed());
        age < i64::try_from(self.policy.idempotent_reply_ttl_seconds).unwrap_or(i64::MAX)
    }
}

/// A note whose file is written.
struct WrittenNote<'a> {
    folder: &'a FolderState,
    id: MemoryId,
    row: NoteFile,
    content: NoteContent,
    /// Other changes to store.
    changes: Vec<Change>,
}

impl<'a> WrittenNote<'a> {
    fn of(
        folder: &'a FolderState,
        path: String,
        read: FileSnapshot,
        changes: Vec<Change>,
    ) -> Result<Self> {
        let FileSnapshot {
            stamp,
            is_settled: _,
            hash,
            content,
            problem,
        } = read;
        let content = content.filter(|_| problem.is_none());
        let content = content
            .ok_or_else(|| Error::internal("a note that was just written cannot be read"))?;
        let id = content
            .note
            .id
            .clone()
            .ok_or_else(|| Error::internal("a note was written without its id"))?;
        // The next reconciliation reads it again, for its links and the links of others to it.
        let (is_settled, links) = (false, Vec::new());
        let memory = Some(id.clone());
        let row = NoteFile {
            path,
            stamp,
            is_settled,
            hash,
            memory,
            says_id: true,
            links,
            problem: None,
            missing_since: None,
        };
        Ok(WrittenNote {
            folder,
            id,
            row,
            content,
            changes,
        })
    }
}

/// Returns the requested note in a form for comparison.
fn request_of(note: &Note) -> String {
    let mut request = String::new();
    for part in note.title.iter().chain([&note.body]).chain(&note.tags) {
        // The length marks the end of a part.
        request.push_str(&format!("{}:{part}", part.len()));
    }
    request
}

/// Returns the distinct tags in the form of frontmatter.
fn bare(tags: &[String]) -> Result<Vec<String>> {
    let bare = |(number, tag): (usize, &String)| {
        let bare = tag.trim().trim_start_matches('#').trim();
        check::tag(&format!("tags.{number}"), bare).map(|()| bare.to_owned())
    };
    tags.iter()
        .enumerate()
        .map(bare)
        .collect::<Result<_>>()
        .map(distinct)
}
