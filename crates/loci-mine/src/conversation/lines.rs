//! Forms that are a value a line, which are read line by line and, if they grow, on from where they
//! were left.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use loci_json::Records;
use serde_json::Value;

use super::claude_code::{self, ClaudeCode};
use super::codex::{self, Codex};
use super::codex_fork::Fork;
use super::copilot_cli;
use super::cursor::{self, Cursor};
use super::gemini_cli::{self, GeminiCli};
use super::kimi;
use super::kimi_wire::{self, KimiCode};
use super::pi;
use super::session::Session;
use super::vscode::{self, VsCode};
use super::{
    BYTE_ORDER_MARK, Conversation, ConversationReader, Format, GROWING_BYTES_MAX, Mark, Source,
    Transcript, TranscriptReading, Utterance, VALUE_BYTES_MAX, WHOLE_BYTES_MAX,
};

/// Lines at the beginning of a file of which one must tell the form.
const HEAD_LINES_MAX: usize = 64;
/// Lines before that one which may be broken.
const HEAD_BROKEN_MAX: usize = 32;
/// Bytes at the beginning of a file within which it names a folder, if it names one.
const FOLDER_BYTES_MAX: u64 = 1 << 20;

/// Bytes at the end of a file in which its last message is looked for.
const TAIL_BYTES_MAX: u64 = 1 << 20;

/// Reads such a file; none if it is of no such form.
pub(super) fn read(
    source: &mut Source<'_>,
    mark: Option<Mark>,
    bytes_max: u64,
) -> io::Result<Option<TranscriptReading>> {
    read_with(source, mark, bytes_max, Fork::of)
}

/// Reads all of such a file, with the copy at the beginning of a fork.
fn read_all(source: &mut Source<'_>) -> io::Result<Option<TranscriptReading>> {
    read_with(source, None, u64::MAX, |_| None)
}

fn read_with(
    source: &mut Source<'_>,
    mark: Option<Mark>,
    bytes_max: u64,
    fork_of: fn(&Value) -> Option<Fork>,
) -> io::Result<Option<TranscriptReading>> {
    let Some(Head {
        format,
        mut gather,
        value: first,
    }) = head(source)?
    else {
        return Ok(None);
    };
    source.check_size(if format.grows() {
        GROWING_BYTES_MAX
    } else {
        WHOLE_BYTES_MAX
    })?;
    let start = match mark {
        Some(mark) if format.grows() && source.begins_with(mark)? => mark.bytes,
        _ => 0,
    };
    let fork = Some(&first)
        .filter(|_| start == 0 && format == Format::Codex)
        .and_then(fork_of);
    // A copy at the beginning is told from the rest in one reading.
    let bytes_max = if format.grows() && fork.is_none() {
        bytes_max
    } else {
        u64::MAX
    };
    if start > 0 {
        gather.resume(&first);
    }
    let taken = take_lines(source, start, bytes_max, gather.as_mut())?;
    let (mut conversations, tally) = gather.finish();
    if let Some(fork) = fork
        && let Some(parent) = fork.file(source.path)
        && let Some(mut parent) = Source::open(&parent)?
        && let Some(parent) = read_all(&mut parent)?
    {
        for conversation in &mut conversations {
            fork.remove_copy(&parent.transcript.conversations, conversation);
        }
    }
    let conversations = conversations
        .into_iter()
        .filter(|found| *found != Conversation::default())
        .collect();
    let transcript = Transcript {
        format,
        conversations,
        stamp: source.stamp,
        mark: source.mark(taken.end)?,
        has_more: taken.has_more,
        broken: taken.broken + tally.broken,
        repairs: taken.repairs,
        attachments: tally.attachments,
        left_out: tally.left_out,
        notice: tally.notice,
    };
    Ok(Some(TranscriptReading {
        transcript,
        is_from_start: start == 0,
    }))
}

/// The extent to which lines were taken.
struct LineExtent {
    end: u64,
    has_more: bool,
    broken: u64,
    repairs: u64,
}

/// Takes the lines from `start` on, of about `bytes_max` bytes.
fn take_lines(
    source: &mut Source<'_>,
    start: u64,
    bytes_max: u64,
    gather: &mut dyn ConversationReader,
) -> io::Result<LineExtent> {
    let mut taken = LineExtent {
        end: start,
        has_more: false,
        broken: 0,
        repairs: 0,
    };
    let mut lines = Lines {
        input: BufReader::new(source.from(start)?),
        line: Vec::new(),
    };
    while let Some(line) = lines.next()? {
        let found = line.records();
        // A line that is still being written is read when it is whole.
        if !line.is_ended && found.is_broken {
            break;
        }
        if taken.end > start && taken.end - start + line.bytes > bytes_max {
            taken.has_more = true;
            break;
        }
        taken.end += line.bytes;
        taken.broken += u64::from(found.is_broken);
        taken.repairs += found.repairs;
        found.values.iter().for_each(|value| gather.take(value));
    }
    Ok(taken)
}

/// The first folder that such a file names at its beginning.
pub(super) fn folder(source: &mut Source<'_>) -> io::Result<Option<String>> {
    let Some(Head { mut gather, .. }) = head(source)? else {
        return Ok(None);
    };
    let mut lines = Lines {
        input: BufReader::new(source.from(0)?.take(FOLDER_BYTES_MAX)),
        line: Vec::new(),
    };
    while gather.folder().is_none()
        && let Some(line) = lines.next()?
    {
        for value in line.records().values {
            gather.take(&value);
        }
    }
    Ok(gather.folder().map(str::to_owned))
}

/// The last message in the last part of such a file, behind its first `from` bytes.
pub(super) fn last_said(source: &mut Source<'_>, from: u64) -> io::Result<Option<Utterance>> {
    // Its messages do not tell the form by themselves.
    let is_of_gemini_cli = head(source)?.is_some_and(|head| head.format == Format::GeminiCli);
    let path = source.path;
    let start = source.bytes.saturating_sub(TAIL_BYTES_MAX).max(from);
    let mut tail = Vec::new();
    source.from(start)?.read_to_end(&mut tail)?;
    Ok(tail.rsplit(|byte| *byte == b'\n').find_map(|line| {
        // The first line may start before this part, and the last may not be whole yet.
        let (value, _) = loci_json::from_slice(trimmed(line)).ok()?;
        let mut gather: Box<dyn ConversationReader> = if is_of_gemini_cli {
            Box::new(GeminiCli::default())
        } else {
            form_of(&value, path)?.1
        };
        gather.take(&value);
        gather.finish().0.pop()?.messages.pop()
    }))
}

/// The beginning of a file.
struct Head {
    format: Format,
    gather: Box<dyn ConversationReader>,
    /// The value that tells the form.
    value: Value,
}

/// The form of the file, what gathers it, and the first value that tells the form. A file whose lines
/// are all broken is of the form that its first line would be of if it were whole.
fn head(source: &mut Source<'_>) -> io::Result<Option<Head>> {
    let path = source.path;
    let mut lines = Lines {
        input: BufReader::new(source.from(0)?.take(VALUE_BYTES_MAX)),
        line: Vec::new(),
    };
    // A list that goes on beyond what is read at once is a document, which may have gigabytes in one line.
    let beginning = lines.input.fill_buf()?;
    if beginning.first() == Some(&b'[') && !beginning.contains(&b'\n') {
        return Ok(None);
    }
    let (mut broken, mut cut) = (0, None);
    for number in 0..HEAD_LINES_MAX {
        let Some(line) = lines.next()? else { break };
        let found = line.records();
        for value in found.values {
            if let Some((format, gather)) = form_of(&value, path) {
                return Ok(Some(Head {
                    format,
                    gather,
                    value,
                }));
            }
        }
        if found.is_broken && number == 0 && line.text.first() == Some(&b'{') {
            cut = loci_json::from_cut_slice::<Value>(line.text).ok();
        }
        broken += usize::from(found.is_broken);
        if broken > HEAD_BROKEN_MAX {
            break;
        }
    }
    // A document is read as one, also if it was cut off.
    let cut = cut.and_then(|(value, _)| Some((form_of(&value, path)?, value)));
    Ok(cut
        .filter(|((format, _), _)| format.grows())
        .map(|((format, gather), value)| Head {
            format,
            gather,
            value,
        }))
}

/// The form that has such a line, and what gathers it.
fn form_of(line: &Value, path: &Path) -> Option<(Format, Box<dyn ConversationReader>)> {
    if claude_code::tells(line) {
        Some((Format::ClaudeCode, Box::new(ClaudeCode::default())))
    } else if codex::tells(line) {
        Some((Format::Codex, Box::new(Codex::default())))
    } else if copilot_cli::tells(line) {
        Some((Format::CopilotCli, Box::new(Session::of(copilot_cli::take))))
    } else if gemini_cli::tells(line) {
        Some((Format::GeminiCli, Box::new(GeminiCli::default())))
    } else if cursor::tells(line) {
        Some((Format::Cursor, Box::new(Cursor::new(path))))
    } else if pi::tells(line) {
        Some((Format::Pi, Box::new(Session::of(pi::take))))
    } else if kimi::tells(line) {
        Some((Format::Kimi, Box::new(Session::of(kimi::take))))
    } else if kimi_wire::tells(line) {
        Some((Format::Kimi, Box::new(KimiCode::new(path))))
    } else if kimi_wire::tells_of_cli(line, path) {
        let take = kimi_wire::take_of_cli;
        Some((Format::Kimi, Box::new(Session::of(take))))
    } else if vscode::tells_line(line) {
        Some((Format::VsCode, Box::new(VsCode::default())))
    } else {
        None
    }
}

/// The lines of a file.
struct Lines<R> {
    input: R,
    line: Vec<u8>,
}

/// A line.
struct Line<'a> {
    /// Its content without white space around it; of one that is too long, its beginning.
    text: &'a [u8],
    /// Its number of bytes, with its end.
    bytes: u64,
    /// True if its end is there.
    is_ended: bool,
}

impl<R: BufRead> Lines<R> {
    fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.line.clear();
        let (mut bytes, mut is_ended) = (0, false);
        while !is_ended {
            let part = self.input.fill_buf()?;
            if part.is_empty() {
                break;
            }
            let end = part.iter().position(|byte| *byte == b'\n');
            let count = end.map_or(part.len(), |end| end + 1);
            if bytes <= VALUE_BYTES_MAX {
                self.line.extend_from_slice(&part[..count]);
            }
            self.input.consume(count);
            bytes += count as u64;
            is_ended = end.is_some();
        }
        let text = trimmed(&self.line);
        Ok((bytes > 0).then_some(Line {
            text,
            bytes,
            is_ended,
        }))
    }
}

impl Line<'_> {
    /// The objects in it.
    fn records(&self) -> Records {
        if self.bytes > VALUE_BYTES_MAX {
            return Records {
                is_broken: true,
                ..Records::default()
            };
        }
        loci_json::records(self.text)
    }
}

fn trimmed(text: &[u8]) -> &[u8] {
    text.strip_prefix(BYTE_ORDER_MARK)
        .unwrap_or(text)
        .trim_ascii()
}
