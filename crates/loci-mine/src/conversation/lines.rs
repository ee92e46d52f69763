//! Forms that are a value a line, which are read line by line and, if they grow, on from where they
//! were left.

use std::io::{self, BufRead, BufReader, Read};

use serde_json::Value;

use super::claude_code::{self, ClaudeCode};
use super::codex::{self, Codex};
use super::gemini_cli::{self, GeminiCli};
use super::{
    BYTE_ORDER_MARK, Conversation, Format, GROWING_BYTES_MAX, Gather, Mark, Reading, Said, Source,
    Transcript, VALUE_BYTES_MAX, WHOLE_BYTES_MAX,
};

/// Lines at the beginning of a file of which one must tell the form.
const HEAD_LINES_MAX: usize = 64;
/// Lines before that one which may be broken.
const HEAD_BROKEN_MAX: usize = 8;
/// Bytes at the beginning of a file within which it names a folder, if it names one.
const FOLDER_BYTES_MAX: u64 = 1 << 20;

/// Bytes at the end of a file in which its last message is looked for.
const TAIL_BYTES_MAX: u64 = 1 << 20;

/// Reads such a file; none if it is of no such form.
pub(super) fn read(
    source: &mut Source<'_>,
    mark: Option<Mark>,
    bytes_max: u64,
) -> io::Result<Option<Reading>> {
    let Some((format, mut gather)) = head(source)? else {
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
    let bytes_max = if format.grows() { bytes_max } else { u64::MAX };
    let (mut end, mut broken, mut has_more) = (start, 0, false);
    let mut lines = Lines {
        input: BufReader::new(source.from(start)?),
        line: Vec::new(),
    };
    while let Some(line) = lines.next()? {
        let (objects, is_broken) = line.objects();
        // What is still being written is read when it is whole.
        if !line.is_ended && is_broken {
            break;
        }
        if end > start && end - start + line.bytes > bytes_max {
            has_more = true;
            break;
        }
        end += line.bytes;
        broken += u64::from(is_broken)
            + objects
                .iter()
                .map(|object| gather.take(object))
                .sum::<u64>();
    }
    let conversations = gather
        .conversations()
        .into_iter()
        .filter(|found| *found != Conversation::default())
        .collect();
    let (stamp, mark) = (source.stamp, source.mark(end)?);
    let transcript = Transcript {
        format,
        conversations,
        stamp,
        mark,
        has_more,
        broken,
    };
    Ok(Some(Reading {
        transcript,
        is_from_start: start == 0,
    }))
}

/// The first folder that such a file names at its beginning.
pub(super) fn folder(source: &mut Source<'_>) -> io::Result<Option<String>> {
    let Some((_, mut gather)) = head(source)? else {
        return Ok(None);
    };
    let mut lines = Lines {
        input: BufReader::new(source.from(0)?.take(FOLDER_BYTES_MAX)),
        line: Vec::new(),
    };
    while gather.folder().is_none()
        && let Some(line) = lines.next()?
    {
        for object in line.objects().0 {
            gather.take(&object);
        }
    }
    Ok(gather.folder().map(str::to_owned))
}

/// The last message in the last part of such a file, behind its first `from` bytes.
pub(super) fn last_said(source: &mut Source<'_>, from: u64) -> io::Result<Option<Said>> {
    // Its messages alone do not tell the form.
    let is_of_gemini_cli = matches!(head(source)?, Some((Format::GeminiCli, _)));
    let start = source.stamp.bytes.saturating_sub(TAIL_BYTES_MAX).max(from);
    let mut tail = Vec::new();
    source.from(start)?.read_to_end(&mut tail)?;
    Ok(tail.rsplit(|byte| *byte == b'\n').find_map(|line| {
        // The first line may begin before this part, and the last may not be whole yet.
        let value = serde_json::from_slice(trimmed(line)).ok()?;
        let mut gather: Box<dyn Gather> = if is_of_gemini_cli {
            Box::new(GeminiCli::default())
        } else {
            form_of(&value)?.1
        };
        gather.take(&value);
        gather.conversations().pop()?.messages.pop()
    }))
}

/// The form of the file, and what gathers it.
fn head(source: &mut Source<'_>) -> io::Result<Option<(Format, Box<dyn Gather>)>> {
    let mut lines = Lines {
        input: BufReader::new(source.from(0)?.take(VALUE_BYTES_MAX)),
        line: Vec::new(),
    };
    let mut broken = 0;
    for _ in 0..HEAD_LINES_MAX {
        let Some(line) = lines.next()? else { break };
        let (objects, is_broken) = line.objects();
        if let Some(form) = objects.iter().find_map(form_of) {
            return Ok(Some(form));
        }
        broken += usize::from(is_broken);
        if broken > HEAD_BROKEN_MAX {
            break;
        }
    }
    Ok(None)
}

/// The form that has such a line, and what gathers it.
fn form_of(line: &Value) -> Option<(Format, Box<dyn Gather>)> {
    if claude_code::tells(line) {
        Some((Format::ClaudeCode, Box::new(ClaudeCode::default())))
    } else if codex::tells(line) {
        Some((Format::Codex, Box::new(Codex::default())))
    } else if gemini_cli::tells(line) {
        Some((Format::GeminiCli, Box::new(GeminiCli::default())))
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
    /// What is in it, but for white space around it; of one that is too long, its beginning.
    text: &'a [u8],
    /// How many bytes it has, with its end.
    bytes: u64,
    /// Whether its end is there.
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
    /// The objects in it: one, or several if two programs wrote at the same time. And whether
    /// anything follows, or stands there instead, that is none.
    fn objects(&self) -> (Vec<Value>, bool) {
        let (mut objects, mut rest) = (Vec::new(), self.text);
        if self.bytes > VALUE_BYTES_MAX {
            return (objects, true);
        }
        while rest.first() == Some(&b'{') {
            let mut values = serde_json::Deserializer::from_slice(rest).into_iter();
            let Some(Ok(value)) = values.next() else {
                break;
            };
            objects.push(value);
            rest = trimmed(&rest[values.byte_offset()..]);
        }
        (objects, !rest.is_empty())
    }
}

fn trimmed(text: &[u8]) -> &[u8] {
    text.strip_prefix(BYTE_ORDER_MARK)
        .unwrap_or(text)
        .trim_ascii()
}
