//! Files the conversations of one transcript, some at a time, while it is read.

use std::collections::{HashMap, HashSet};
use std::io;
use std::mem;
use std::path::Path;

use loci_core::{ContentHash, Error, MemoryId, SourceFile, Visibility};
use loci_engine::{ReadSource, SourcePart};
use loci_mine::conversation::{
    self, Beginning, Conversation, Format, LeftOut, Mark, Transcript, TranscriptReading,
};

use super::parts::{bytes_said, id_of, is_known_by_time, parts_of};
use super::{NEVER, Reader, TranscriptReport, Transcripts};
use crate::transcript_backlog::{self, SHARED};

/// The parts and bytes of conversations that are filed in one call, beyond which no other
/// conversation is added.
const TOGETHER_PARTS: usize = 256;
const TOGETHER_BYTES: usize = 1 << 20;
/// The bytes of messages in one line above which they are left to the background while a caller
/// waits.
pub(super) const BYTES_SAID_IN_HASTE: usize = 512 << 10;

/// A transcript that is being filed.
pub(super) struct Filing<'a, 'r> {
    reader: &'r Reader<'a>,
    transcripts: &'r Transcripts<'r>,
    file: SourceFile,
    before: Option<SourceFile>,
    moved_from: Option<String>,
    /// The number of parts before these, in a file that is read on.
    counted: u64,
    waiting: Vec<SourcePart>,
    bytes: usize,
    /// The ids of the parts so far that are the same in every transcript.
    seen: HashSet<MemoryId>,
    told: &'r mut TranscriptReport,
}

impl<'a, 'r> Filing<'a, 'r> {
    /// Starts to file the transcript at a path.
    pub(super) fn new(
        reader: &'r Reader<'a>,
        transcripts: &'r Transcripts<'r>,
        path: &str,
        (before, moved): (Option<SourceFile>, Option<SourceFile>),
        told: &'r mut TranscriptReport,
    ) -> Self {
        let known = before.as_ref().or(moved.as_ref());
        let counted = known.map_or(0, |known| known.parts);
        let file = SourceFile {
            machine: reader.parts.sources().machine().to_owned(),
            collection: reader.collection.clone(),
            path: path.to_owned(),
            root: transcripts.root.to_owned(),
            format: String::new(),
            stamp: NEVER,
            bytes_read: 0,
            hash: ContentHash([0; 32]),
            parts: 0,
            is_pending: true,
            // Messages stay filed, even if a program rewrites its transcript.
            is_whole: false,
        };
        Filing {
            reader,
            transcripts,
            file,
            before,
            moved_from: moved.map(|file| file.path),
            counted,
            waiting: Vec::new(),
            bytes: 0,
            seen: HashSet::new(),
            told,
        }
    }

    /// Reads a transcript, and files its conversations as they come; `None` if it is no transcript.
    pub(super) fn read(
        &mut self,
        path: &Path,
        mark: Option<Mark>,
        bytes_max: u64,
    ) -> loci_core::Result<Option<TranscriptReading>> {
        let mut failed = None;
        let reading = conversation::read_each(path, mark, bytes_max, &mut |beginning, found| {
            self.take(beginning, found).map_err(|error| {
                let message = error.message.clone();
                failed = Some(error);
                io::Error::other(message)
            })
        });
        match failed {
            Some(error) => Err(error),
            None => reading.map_err(|error| self.unreadable(&error)),
        }
    }

    /// Reads a transcript while a caller waits: a part that is too large is left to the background.
    pub(super) fn read_in_haste(
        &mut self,
        path: &Path,
        mark: Option<Mark>,
        bytes_max: u64,
    ) -> loci_core::Result<Option<TranscriptReading>> {
        let reading = conversation::read(path, mark, bytes_max);
        let Some(mut reading) = reading.map_err(|error| self.unreadable(&error))? else {
            return Ok(None);
        };
        let conversations = mem::take(&mut reading.transcript.conversations);
        if bytes_said(&conversations) > BYTES_SAID_IN_HASTE {
            reading.is_from_start = false;
            reading.transcript = Transcript {
                mark: mark.unwrap_or_else(Mark::start),
                has_more: true,
                broken: 0,
                repairs: 0,
                left_out: LeftOut::default(),
                ..reading.transcript
            };
            return Ok(Some(reading));
        }
        let beginning = Beginning {
            format: reading.transcript.format,
            is_from_start: reading.is_from_start,
        };
        for conversation in conversations {
            self.take(beginning, conversation)?;
        }
        Ok(Some(reading))
    }

    fn unreadable(&self, error: &io::Error) -> Error {
        Error::unavailable(format!("{} cannot be read: {error}", self.file.path))
    }

    /// Takes a conversation, or the next part of one, and files those before it if they are many.
    pub(super) fn take(
        &mut self,
        beginning: Beginning,
        conversation: Conversation,
    ) -> loci_core::Result<()> {
        self.begin(beginning);
        let (parts, is_verbatim) = (self.reader.parts, self.transcripts.is_verbatim);
        let redact = |text: &str| crate::redacted(parts, text, is_verbatim).into_owned();
        let made = parts_of(&self.file, self.counted, conversation, &redact);
        self.told.redacted.add_all(&made.redacted);
        self.told.repairs += made.repairs;
        // A conversation that comes twice is matched with its drawers, so these are filed first.
        let is_known = made
            .parts
            .first()
            .is_some_and(|first| self.waiting.iter().any(|part| part.thread == first.thread));
        if is_known || self.waiting.len() >= TOGETHER_PARTS || self.bytes >= TOGETHER_BYTES {
            self.put(true)?;
        }
        self.file.parts += made.parts.len() as u64;
        self.bytes += made
            .parts
            .iter()
            .map(|part| part.content.len())
            .sum::<usize>();
        self.waiting.extend(made.parts);
        Ok(())
    }

    /// Notes the form; in a file that is read again, nothing was counted before.
    fn begin(&mut self, beginning: Beginning) {
        if !self.file.format.is_empty() {
            return;
        }
        beginning.format.name().clone_into(&mut self.file.format);
        if beginning.is_from_start {
            self.counted = 0;
        }
        self.file.parts = self.counted;
    }

    /// Files the rest, with the state of the file after its reading; returns that.
    pub(super) fn finish(
        mut self,
        transcript: &Transcript,
        is_from_start: bool,
        was_read: bool,
    ) -> loci_core::Result<SourceFile> {
        self.begin(Beginning {
            format: transcript.format,
            is_from_start,
        });
        let (mark, has_more) = (transcript.mark, transcript.has_more);
        self.file.bytes_read = mark.bytes;
        self.file.hash = mark.hash;
        // Until it is read to its end: if this process ends, another one goes on.
        self.file.is_pending = has_more;
        self.file.stamp = if has_more { NEVER } else { transcript.stamp };
        if has_more && !self.transcripts.is_dry {
            let (parts, is_shared) = (self.reader.parts, self.transcripts.is_shared);
            transcript_backlog::name(parts, SHARED, &self.file.path, is_shared)?;
        }
        self.told.was_read |= was_read;
        self.told.count(transcript);
        self.put(false)?;
        Ok(self.file)
    }

    /// Files what waits.
    fn put(&mut self, has_more: bool) -> loci_core::Result<()> {
        let mut parts = mem::take(&mut self.waiting);
        self.bytes = 0;
        self.keep_new(&mut parts)?;
        let visibility = if self.transcripts.is_shared {
            Visibility::Common
        } else {
            Visibility::Private
        };
        let read = ReadSource {
            file: self.file.clone(),
            before: self.before.clone(),
            moved_from: self.moved_from.clone(),
            visibility,
            parts,
            has_more,
        };
        let sources = self.reader.parts.sources();
        let sources = sources
            .again(self.transcripts.files_again)
            .in_batch(self.reader.batch);
        let filed = if self.transcripts.is_dry {
            sources.preview_source(&id_of, &read)?
        } else {
            sources.file_source(&id_of, read)?
        };
        self.told.filed.added += filed.added;
        self.told.filed.forgotten += filed.forgotten;
        Ok(())
    }

    /// Removes the parts that are filed already, from whichever transcript: one that goes on from
    /// another starts with a copy of that, and a chat of Cursor may be in two places.
    fn keep_new(&mut self, parts: &mut Vec<SourcePart>) -> loci_core::Result<()> {
        if self.file.format == Format::Cursor.name() {
            self.keep_unfiled_elsewhere(parts)?;
        }
        let file = &self.file;
        let known_by_time = |part: &SourcePart| is_known_by_time(file, part);
        let ids = parts.iter().filter(|part| known_by_time(part));
        let ids: Vec<MemoryId> = ids.map(|part| id_of(file, part, part.position)).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let known = self.reader.parts.sources().known_ids(&ids)?;
        let seen = &mut self.seen;
        parts.retain(|part| {
            if !known_by_time(part) {
                return true;
            }
            let id = id_of(file, part, part.position);
            !known.contains(&id) && seen.insert(id)
        });
        Ok(())
    }

    /// Removes the parts whose texts were filed from another file of the same chat, in whichever wing, as often
    /// as they stand there.
    fn keep_unfiled_elsewhere(&self, parts: &mut Vec<SourcePart>) -> loci_core::Result<()> {
        let mut elsewhere: HashMap<String, HashMap<String, u64>> = HashMap::new();
        for SourcePart { thread, .. } in parts.iter() {
            if *thread != self.file.thread() && !elsewhere.contains_key(thread) {
                let texts = self
                    .reader
                    .parts
                    .sources()
                    .said_elsewhere(&self.file, thread)?;
                let counts = elsewhere.entry(thread.clone()).or_default();
                for text in texts {
                    *counts.entry(text).or_default() += 1;
                }
            }
        }
        parts.retain(|part| {
            let counts = elsewhere.get_mut(&part.thread);
            match counts.and_then(|counts| counts.get_mut(&part.content)) {
                Some(count @ 1..) => {
                    *count -= 1;
                    false
                }
                _ => true,
            }
        });
        Ok(())
    }
}
