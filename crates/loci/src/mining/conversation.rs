//! What was said in conversations as drawers, a message each.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use loci_core::{Caller, ErrorCode, FileStamp, SourceFile, limits};
use loci_engine::{Engine, ReadSource, SourceFiled, SourcePart, check, kind_of};
use loci_mine::conversation::{self, Conversation, Mark, Reading};
use loci_mine::project;

use super::{Report, id_of, settled};
use crate::exit::{Exit, Failure};
use crate::progress::Progress;

/// The room of what was said.
pub const ROOM: &str = "conversations";
/// The attribute that says who said it.
const SPEAKER: &str = "speaker";
/// The speakers that every conversation with a model has: others are worth a title.
const USUAL_SPEAKERS: [&str; 2] = ["user", "assistant"];
/// Bytes of a growing transcript that are read at a time.
const BYTES_AT_A_TIME: u64 = 4 << 20;
/// Attempts at a file that other processes read at the same time.
const ATTEMPTS_MAX: usize = 5;
/// Files that one round of the background reads on, at most.
const PENDING_AT_A_TIME: usize = 16;

/// Whose conversations, and how far to read.
pub struct Transcripts<'a> {
    /// The wing.
    pub wing: &'a str,
    /// The absolute path of the folder that they are in.
    pub root: &'a str,
    /// Whether to say only what would be done.
    pub is_dry: bool,
    /// When to leave the rest to whichever process comes to it.
    pub until: Option<Instant>,
}

/// What came of one transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Told {
    /// What became of its drawers.
    pub filed: SourceFiled,
    /// What was no message.
    pub broken: u64,
    /// Whether there was anything new to read.
    pub was_read: bool,
    /// Whether there is more to read, for whichever process comes to it.
    pub is_pending: bool,
}

/// Files the transcripts of a folder, or of a file. None, where one is no transcript.
///
/// # Errors
/// [`Exit::Usage`] if the folder cannot be read; what cannot be filed is in the report.
pub fn mine(engine: &Engine, transcripts: &Transcripts<'_>, progress: &Progress) -> Result<Report, Failure> {
    let root = Path::new(transcripts.root);
    let files = if root.is_file() {
        vec![root.to_owned()]
    } else {
        let walked = project::walk(root)
            .map_err(|error| Failure::new(Exit::Usage, format!("{} cannot be read: {error}", transcripts.root)))?;
        walked.files.into_iter().map(|(path, _)| path).collect()
    };
    let mut report = Report { files: files.len() as u64, ..Report::default() };
    progress.begin(files.len() as u64);
    for path in files.iter().filter_map(|path| path.to_str()) {
        match file(engine, transcripts, path) {
            Ok(None) => report.pass_over("no_transcript"),
            Ok(Some(told)) => {
                report.add(told.filed);
                report.broken += told.broken;
                if told.was_read { report.read += 1 } else { report.unchanged += 1 }
            }
            Err(error) => report.failed.push((path.to_owned(), error.message)),
        }
        progress.advance(1);
    }
    Ok(report)
}

/// Files what is new in one transcript; none if it is no transcript.
///
/// # Errors
/// `unavailable` if the file cannot be read or the store not be written; `conflict` if others read it all the time.
pub fn file(engine: &Engine, transcripts: &Transcripts<'_>, path: &str) -> loci_core::Result<Option<Told>> {
    let caller = super::caller();
    let mut told = Told::default();
    let mut attempts = 0;
    loop {
        let before = engine.source_file(&caller, Some(transcripts.wing), path)?;
        match step(engine, &caller, transcripts, path, before, &mut told) {
            Ok(Some(true)) if transcripts.is_dry => return Ok(Some(told)),
            Ok(Some(true)) => {}
            Ok(Some(false)) => return Ok(Some(told)),
            Ok(None) => return Ok(None),
            // Another process has read on meanwhile: go on from there.
            Err(error) if error.code == ErrorCode::Conflict && attempts < ATTEMPTS_MAX => attempts += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Goes on with what others left unread; how many files there were.
///
/// # Errors
/// `unavailable` if the store cannot be used.
pub fn read_on(engine: &Engine) -> loci_core::Result<usize> {
    let pending = engine.pending_sources(&super::caller(), PENDING_AT_A_TIME)?;
    for source in &pending {
        let wing = source.collection.as_deref().unwrap_or_default();
        let transcripts = Transcripts { wing, root: &source.root, is_dry: false, until: None };
        if let Err(error) = file(engine, &transcripts, &source.path) {
            // It may be gone by now. Nobody waits for it for ever.
            tracing::warn!(%error, "a transcript cannot be read on");
            let file = SourceFile { is_pending: false, ..source.clone() };
            let before = Some(source.clone());
            let left = ReadSource { file, before, moved_from: None, parts: Vec::new() };
            engine.file_source(&super::caller(), &id_of, left)?;
        }
    }
    Ok(pending.len())
}

/// Reads and files one part; whether there may be more. None if the file is no transcript.
fn step(
    engine: &Engine,
    caller: &Caller,
    transcripts: &Transcripts<'_>,
    path: &str,
    before: Option<SourceFile>,
    told: &mut Told,
) -> loci_core::Result<Option<bool>> {
    let unreadable = |error: std::io::Error| loci_core::Error::unavailable(format!("{path} cannot be read: {error}"));
    if let Some(known) = before.as_ref().filter(|known| !known.is_pending)
        && project::stamp(Path::new(path)).map_err(unreadable)? == known.stamp
    {
        return Ok(Some(false));
    }
    let mark = before.as_ref().map(|known| Mark { bytes: known.bytes_read, hash: known.hash });
    let Some(reading) = conversation::read(Path::new(path), mark, BYTES_AT_A_TIME).map_err(unreadable)? else {
        return Ok(None);
    };
    let Reading { transcript, is_from_start } = reading;
    let is_new = mark.is_none_or(|mark| mark != transcript.mark);
    // Of a file that grows, what was read before counts; one that is read anew begins anew.
    let counted = before.as_ref().filter(|_| !is_from_start).map_or(0, |known| known.parts);
    let parts = parts(path, counted, &transcript.conversations);
    let is_late = transcripts.until.is_some_and(|until| until <= Instant::now());
    let stamp = if transcript.has_more { NEVER } else { settled(transcript.stamp, engine.now()) };
    let file = SourceFile {
        collection: Some(transcripts.wing.to_owned()),
        path: path.to_owned(),
        root: transcripts.root.to_owned(),
        format: transcript.format.name().to_owned(),
        stamp,
        bytes_read: transcript.mark.bytes,
        hash: transcript.mark.hash,
        parts: counted + parts.len() as u64,
        // Until it is read to its end: whatever ends this process, another goes on with it.
        is_pending: transcript.has_more,
        // What was said stays said, even if a program rewrites its transcript.
        is_whole: false,
    };
    told.was_read |= is_new;
    told.broken += transcript.broken;
    told.is_pending = transcript.has_more;
    let read = ReadSource { file, before, moved_from: None, parts };
    let filed = if transcripts.is_dry {
        engine.preview_source(caller, &id_of, &read)?
    } else {
        engine.file_source(caller, &id_of, read)?
    };
    told.filed.added += filed.added;
    told.filed.kept += filed.kept;
    Ok(Some(transcript.has_more && !is_late))
}

/// A stamp that no file has.
const NEVER: FileStamp = FileStamp { bytes: 0, modified_nanoseconds: i64::MIN };

/// A drawer for each message, and for each piece of one that is too long for a drawer.
fn parts(path: &str, counted: u64, conversations: &[Conversation]) -> Vec<SourcePart> {
    let mut parts = Vec::new();
    for conversation in conversations {
        let thread = if conversation.id.is_empty() { path.to_owned() } else { format!("{path}#{}", conversation.id) };
        let mut position = if conversation.id.is_empty() { counted } else { 0 };
        for said in &conversation.messages {
            for content in pieces(&said.text) {
                let speaker = said.speaker.clone();
                parts.push(SourcePart {
                    thread: thread.clone(),
                    position,
                    content: content.to_owned(),
                    section: ROOM.to_owned(),
                    kind: kind(content),
                    title: is_title(&speaker).then(|| speaker.clone()),
                    attributes: BTreeMap::from([(SPEAKER.to_owned(), speaker)]),
                    created_at: said.at,
                });
                position += 1;
            }
        }
    }
    parts
}

/// Whether the name of a speaker says something that is worth finding.
fn is_title(speaker: &str) -> bool {
    !USUAL_SPEAKERS.contains(&speaker) && check::name("speaker", speaker).is_ok()
}

/// The text, or where it is too long the pieces that are together the text. What is blank is none.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    let pieces = std::iter::from_fn(move || {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(limits::CONTENT_BYTES_MAX));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    });
    pieces.filter(|piece| !piece.trim().is_empty() && !piece.contains('\0'))
}

/// What a message is, where the local rules find that it is something worth a name.
fn kind(text: &str) -> String {
    match kind_of(text) {
        "question" | "task" | "other" => "drawer".to_owned(),
        kind => kind.to_owned(),
    }
}
