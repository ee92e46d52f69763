//! Transcripts of conversations, as the programs in which they took place keep or export them.

mod chat_gpt;
mod citations;
mod claude_ai;
mod claude_code;
mod cline;
mod codex;
mod codex_fork;
mod copilot_cli;
mod cursor;
mod database;
mod document;
mod gemini_cli;
mod kimi;
mod kimi_wire;
mod lines;
mod marks;
mod opencode;
mod pi;
mod plain;
mod session;
mod slack;
mod slack_text;
mod stored_conversations;
mod value;
mod vscode;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use loci_core::{ContentHash, FileStamp, Timestamp};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::decoded::decoded;
use crate::plain_file::{self, Links, Refusal};
use crate::project::stamp_of;

pub use value::LeftOut;
use value::Tally;

/// Bytes of a line, or of an element of a document, beyond which it is broken.
const VALUE_BYTES_MAX: u64 = 64 << 20;
/// Bytes of a transcript that is read in parts, and of one that is read as a whole. A file may have any size
/// and take no room.
const GROWING_BYTES_MAX: u64 = 4 << 30;
const WHOLE_BYTES_MAX: u64 = 1 << 30;
/// The mark that some programs put before a text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Bytes before a mark that tell whether a file has changed there.
const MARK_BYTES: u64 = 4096;

/// Who keeps transcripts in that form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// Claude Code: a line of JSON for each event.
    ClaudeCode,
    /// Codex: the same, in another form, or until 2025 one JSON document of a session.
    Codex,
    /// GitHub Copilot CLI: a line of JSON for each event.
    CopilotCli,
    /// opencode: the head of a session with files beside it, the export of one, or a database of all.
    OpenCode,
    /// Gemini CLI: lines of JSON, or one JSON document of a session.
    GeminiCli,
    /// Cursor: a line of JSON for each message, or a database of all chats.
    Cursor,
    /// Cline, Kilo Code and Roo Code: an array of what the panel showed.
    Cline,
    /// The chat of VS Code: one JSON document of a session, or lines of its changes.
    VsCode,
    /// Kimi: a line of JSON for each message, or for each event.
    Kimi,
    /// pi: a line of JSON for each entry.
    Pi,
    /// The export of Claude.ai: an array of conversations.
    ClaudeAi,
    /// The export of ChatGPT: an array of conversations, each a tree of messages.
    ChatGpt,
    /// The export of Slack: a file of messages for each day in a folder for each channel.
    Slack,
    /// Text in which lines start with a speaker (`Ann: ...`) or with `>` for what a person says.
    Plain,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Utterance {
    /// Who said it: `user`, `assistant`, or a name.
    pub speaker: String,
    /// When; none if the transcript does not tell.
    pub at: Option<Timestamp>,
    /// The text, byte for byte.
    pub text: String,
}

/// A conversation, or the next part of one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Conversation {
    /// The id that tells it from others of its form, in this file and in later exports; empty if a
    /// file is one conversation, and `#` with its number in the file if it has no name that lasts.
    /// A branch of a tree of messages is a conversation of its own, which starts where it leaves
    /// the one before it.
    pub id: String,
    /// Its title, if it has one.
    pub title: Option<String>,
    /// The folder that the work was in, where the transcript tells.
    pub folder: Option<String>,
    /// Its messages, in order. Each text of a message that has several, with something else between
    /// them, is one.
    pub messages: Vec<Utterance>,
}

/// The conversations that were read from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    /// Its form.
    pub format: Format,
    /// The conversations in it.
    pub conversations: Vec<Conversation>,
    /// Its size and time.
    pub stamp: FileStamp,
    /// The part that was read, and the sign that it has not changed.
    pub mark: Mark,
    /// True if there is more to read now.
    pub has_more: bool,
    /// Lines or messages that are not of the form, and were passed over.
    pub broken: u64,
    /// Characters and values that are no valid JSON, and were [repaired](loci_json::repair()).
    pub repairs: u64,
    /// Attachments whose text is among the messages.
    pub attachments: u64,
    /// The numbers of other things in it, by kind.
    pub left_out: LeftOut,
    /// A notice for people about the file: that a log may be missing beside a database.
    pub notice: Option<String>,
}

/// The extent to which a file was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Its bytes up to the end of the last line that was read; all of a file that is one document.
    pub bytes: u64,
    /// SHA-256 of the last 4,096 of these bytes (of all, if they are fewer); of a document, of all
    /// its bytes.
    pub hash: ContentHash,
}

impl Mark {
    /// Nothing was read yet.
    pub fn start() -> Self {
        Mark {
            bytes: 0,
            hash: ContentHash(Sha256::digest([]).into()),
        }
    }
}

impl Format {
    /// Every form.
    pub const ALL: [Format; 14] = [
        Format::ClaudeCode,
        Format::Codex,
        Format::CopilotCli,
        Format::OpenCode,
        Format::GeminiCli,
        Format::Cursor,
        Format::Cline,
        Format::VsCode,
        Format::Kimi,
        Format::Pi,
        Format::ClaudeAi,
        Format::ChatGpt,
        Format::Slack,
        Format::Plain,
    ];

    /// The word for it in reports and stores.
    pub const fn name(self) -> &'static str {
        match self {
            Format::ClaudeCode => "claude-code",
            Format::Codex => "codex",
            Format::CopilotCli => "copilot-cli",
            Format::OpenCode => "opencode",
            Format::GeminiCli => "gemini-cli",
            Format::Cursor => "cursor",
            Format::Cline => "cline",
            Format::VsCode => "vscode",
            Format::Kimi => "kimi",
            Format::Pi => "pi",
            Format::ClaudeAi => "claude-ai",
            Format::ChatGpt => "chatgpt",
            Format::Slack => "slack",
            Format::Plain => "plain",
        }
    }

    /// The form with that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Returns whether such a file grows line by line, so that it can be read on from where it was
    /// left.
    pub const fn grows(self) -> bool {
        matches!(
            self,
            Format::ClaudeCode
                | Format::Codex
                | Format::CopilotCli
                | Format::Cursor
                | Format::Kimi
                | Format::Pi
        )
    }
}

/// A transcript, and where the reading started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptReading {
    /// The transcript that was read.
    pub transcript: Transcript,
    /// True if it was read from its beginning.
    pub is_from_start: bool,
}

/// The start of the reading of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beginning {
    /// The form of the transcript.
    pub format: Format,
    /// True if it is read from its beginning.
    pub is_from_start: bool,
}

/// Takes the conversations of a transcript, one after the other; an error ends the reading.
pub type Take<'a> = dyn FnMut(Beginning, Conversation) -> io::Result<()> + 'a;

/// Reads a transcript, on from `mark` where the file still starts with what was read then and its
/// form grows; else from its beginning (`is_from_start`). Reads at most about `bytes_max` bytes of
/// a form that grows: whole lines, and one at least. A line, or an element of a document, of more
/// than 64 MiB is broken. None if the file is no transcript of any form, or no plain file; links
/// are not followed.
///
/// # Errors
/// If it cannot be read; `FileTooLarge` for more than 4 GiB, for more than 1 GiB of a form that
/// is read as a whole, and for plain text of more than
/// [`SOURCE_FILE_BYTES_MAX`](loci_core::limits::SOURCE_FILE_BYTES_MAX).
pub fn read(
    path: &Path,
    mark: Option<Mark>,
    bytes_max: u64,
) -> io::Result<Option<TranscriptReading>> {
    let mut conversations = Vec::new();
    let reading = read_each(path, mark, bytes_max, &mut |_, conversation| {
        conversations.push(conversation);
        Ok(())
    })?;
    Ok(reading.map(|mut reading| {
        reading.transcript.conversations = conversations;
        reading
    }))
}

/// Reads a transcript like [`read`], and passes each conversation to `take` instead of returning it. Of a
/// database, and of the exports of Claude.ai and ChatGPT, only one is in memory.
///
/// # Errors
/// As for [`read`]; the first error of `take`. What was passed on before stands.
pub fn read_each(
    path: &Path,
    mark: Option<Mark>,
    bytes_max: u64,
    take: &mut Take<'_>,
) -> io::Result<Option<TranscriptReading>> {
    let Some(mut source) = Source::open(path)? else {
        return Ok(None);
    };
    if let Some(reading) = database::read(&source, take)? {
        return Ok(Some(reading));
    }
    if let Some(mut reading) = lines::read(&mut source, mark, bytes_max)? {
        let beginning = Beginning {
            format: reading.transcript.format,
            is_from_start: reading.is_from_start,
        };
        for conversation in std::mem::take(&mut reading.transcript.conversations) {
            take(beginning, conversation)?;
        }
        return Ok(Some(reading));
    }
    let whole = match document::read(&mut source, take)? {
        Some(whole) => Some(whole),
        None => plain::read(&mut source, take)?,
    };
    let Some(whole) = whole else {
        return Ok(None);
    };
    let bytes = source.bytes;
    let mark = if whole.format.grows() {
        source.mark(bytes)?
    } else {
        Mark {
            bytes,
            hash: source.hash(0..bytes)?,
        }
    };
    Ok(Some(whole.reading(source.stamp, mark)))
}

/// Returns the size and time by which a transcript is known: of a database with those of its log, because
/// what its program writes shows first there.
///
/// # Errors
/// If the system does not tell.
pub fn stamp(path: &Path) -> io::Result<FileStamp> {
    Ok(database::stamp(path, crate::project::stamp(path)?))
}

/// The first folder that a transcript of a line for each event names, which is where its work
/// started: the same, however much the file has grown. Of a session of Gemini CLI, Cline, Kimi or VS Code,
/// the folder that the program notes beside it; of Cursor, the one that the folder is named after. None if the first MiB names none, or it is no such file. Reads no
/// further than to that folder.
///
/// # Errors
/// If it cannot be read.
pub fn folder(path: &Path) -> io::Result<Option<String>> {
    let Some(mut source) = Source::open(path)? else {
        return Ok(None);
    };
    let named = lines::folder(&mut source)?;
    Ok(named
        .or_else(|| gemini_cli::project_folder(path))
        .or_else(|| cursor::project_folder(path))
        .or_else(|| vscode::project_folder(path))
        .or_else(|| kimi_wire::project_folder(path))
        .or_else(|| cline::project_folder(path)))
}

/// The id of the chat that a transcript has, if its program may keep that in a database, too; none for any
/// other file.
pub fn session(path: &Path) -> Option<String> {
    Some(cursor::session(path)).filter(|session| !session.is_empty())
}

/// The last message behind the first `from` bytes of a transcript of a line for each event, if the
/// model said it: the last of its texts, if it has several. None if a person spoke last, if the
/// last MiB of the file has no message, or if it is no such file.
///
/// # Errors
/// If it cannot be read.
pub fn last_answer(path: &Path, from: u64) -> io::Result<Option<String>> {
    let Some(mut source) = Source::open(path)? else {
        return Ok(None);
    };
    let last = lines::last_said(&mut source, from)?;
    Ok(last
        .filter(|said| said.speaker == "assistant")
        .map(|said| said.text))
}

/// Returns the words of the person in the prompt of a session: Gemini CLI puts what hooks said
/// before and after it. None if nothing is left.
pub fn prompt(text: &str) -> Option<&str> {
    gemini_cli::prompt(text)
}

/// Returns whether a file starts with what was read up to a mark or, of a form that does not grow,
/// is that.
///
/// # Errors
/// If it cannot be read.
pub fn goes_on(path: &Path, format: Format, mark: Mark) -> io::Result<bool> {
    let Some(mut source) = Source::open(path)? else {
        return Ok(false);
    };
    if format.grows() {
        return source.begins_with(mark);
    }
    Ok(source.bytes == mark.bytes
        && (source.mark(mark.bytes)? == mark || source.hash(0..mark.bytes)? == mark.hash))
}

/// A file as it was when its reading started: what is added later is not seen.
struct Source<'a> {
    /// In UTF-8.
    file: File,
    /// The number of bytes that it had.
    bytes: u64,
    path: &'a Path,
    stamp: FileStamp,
}

impl<'a> Source<'a> {
    /// None if it is no plain file.
    fn open(path: &'a Path) -> io::Result<Option<Self>> {
        let file = match plain_file::open(path, Links::Refused) {
            Err(error) if Refusal::of(&error).is_some() => return Ok(None),
            opened => opened?,
        };
        let stamp = stamp_of(&file.metadata()?);
        let (file, bytes) = decoded(file, stamp.bytes)?;
        Ok(Some(Source {
            file,
            bytes,
            path,
            stamp,
        }))
    }

    /// # Errors
    /// [`Refusal::TooLarge`] if it has more bytes.
    fn check_size(&self, bytes_max: u64) -> io::Result<()> {
        if self.bytes > bytes_max {
            Err(Refusal::TooLarge(bytes_max).into())
        } else {
            Ok(())
        }
    }

    /// Returns a reader of its content from there on.
    fn from(&mut self, start: u64) -> io::Result<io::Take<&mut File>> {
        self.file.seek(SeekFrom::Start(start))?;
        Ok((&mut self.file).take(self.bytes.saturating_sub(start)))
    }

    /// The SHA-256 of one of its parts.
    fn hash(&mut self, bytes: Range<u64>) -> io::Result<ContentHash> {
        let mut part = self.from(bytes.start)?.take(bytes.end - bytes.start);
        let mut hash = Sha256::new();
        let mut buffer = [0; 8192];
        loop {
            match part.read(&mut buffer)? {
                0 => return Ok(ContentHash(hash.finalize().into())),
                count => hash.update(&buffer[..count]),
            }
        }
    }

    /// Returns whether it still starts with what was read.
    fn begins_with(&mut self, mark: Mark) -> io::Result<bool> {
        Ok(mark.bytes <= self.bytes && self.mark(mark.bytes)? == mark)
    }

    /// The mark of what was read up to there.
    fn mark(&mut self, bytes: u64) -> io::Result<Mark> {
        Ok(Mark {
            bytes,
            hash: self.hash(bytes.saturating_sub(MARK_BYTES)..bytes)?,
        })
    }
}

/// The content of a file after its conversations were passed on.
struct Whole {
    format: Format,
    repairs: u64,
    tally: Tally,
}

impl Whole {
    /// Returns the reading of a file of that size and time, up to the mark.
    fn reading(self, stamp: FileStamp, mark: Mark) -> TranscriptReading {
        let transcript = Transcript {
            format: self.format,
            conversations: Vec::new(),
            stamp,
            mark,
            has_more: false,
            broken: self.tally.broken,
            repairs: self.repairs,
            attachments: self.tally.attachments,
            left_out: self.tally.left_out,
            notice: self.tally.notice,
        };
        TranscriptReading {
            transcript,
            is_from_start: true,
        }
    }
}

/// Takes the JSON values of a file, which are its lines or the elements of its array, one after
/// another.
trait ConversationReader {
    /// Takes one.
    fn take(&mut self, value: &Value);

    /// Takes what an earlier reading started with, where this one goes on.
    fn resume(&mut self, _head: &Value) {}

    /// The first folder that they name, of a form whose files are about one.
    fn folder(&self) -> Option<&str> {
        None
    }

    /// Hands out the conversations that nothing further changes; none of a form in which each value may.
    fn finished(&mut self) -> Vec<Conversation> {
        Vec::new()
    }

    /// The other conversations in all readings, and what was counted.
    fn finish(self: Box<Self>) -> (Vec<Conversation>, Tally);
}
