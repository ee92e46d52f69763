//! Forms that are one JSON document: an array, whose elements are read one after another, so that
//! one that is broken spoils no other and never more than one is in memory; or a single object, as
//! if it were in an array.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use loci_json::Records;
use serde_json::Value;

use super::chat_gpt::{self, ChatGpt};
use super::claude_ai::{self, ClaudeAi};
use super::cline::{self, Cline};
use super::codex::{self, Codex};
use super::gemini_cli::{self, GeminiCli, Log};
use super::opencode::{self, OpenCode};
use super::slack::{self, Slack};
use super::vscode::{self, VsCode};
use super::{
    BYTE_ORDER_MARK, Beginning, Conversation, ConversationReader, Format, GROWING_BYTES_MAX,
    Source, Take, VALUE_BYTES_MAX, WHOLE_BYTES_MAX, Whole,
};

/// Elements at the beginning of which one must tell the form.
const HEAD_ELEMENTS_MAX: u64 = 16;

/// Reads such a file; none if it is of no such form.
pub(super) fn read(source: &mut Source<'_>, take: &mut Take<'_>) -> io::Result<Option<Whole>> {
    let path = source.path;
    // A file that is too large is an error only if it may be of such a form.
    let (size, whole_size) = (
        source.check_size(GROWING_BYTES_MAX),
        source.check_size(WHOLE_BYTES_MAX),
    );
    let mut whole_size = Some(whole_size);
    let input = BufReader::new(source.from(0)?.take(GROWING_BYTES_MAX));
    let Some(mut elements) = Elements::new(input)? else {
        return Ok(None);
    };
    size?;
    let mut form: Option<(Format, Box<dyn ConversationReader>)> = None;
    let (mut broken, mut repairs) = (0, 0);
    while let Some(element) = elements.next()? {
        broken += u64::from(element.is_broken);
        repairs += element.repairs;
        for value in &element.values {
            if form.is_none() {
                form = form_of(value, path);
            }
            let Some((format, gather)) = &mut form else {
                broken += 1;
                continue;
            };
            if let Some(size) = whole_size.take().filter(|_| !is_read_in_parts(*format)) {
                size?;
            }
            gather.take(value);
            pass_on(*format, gather.finished(), take)?;
        }
        if form.is_none() && broken >= HEAD_ELEMENTS_MAX {
            return Ok(None);
        }
    }
    let Some((format, gather)) = form else {
        return Ok(None);
    };
    let (rest, mut tally) = gather.finish();
    pass_on(format, rest, take)?;
    tally.broken += broken;
    Ok(Some(Whole {
        format,
        repairs,
        tally,
    }))
}

/// Returns true if an element of a form is a conversation by itself, so that it is passed on before the next
/// one is read.
fn is_read_in_parts(format: Format) -> bool {
    matches!(format, Format::ClaudeAi | Format::ChatGpt)
}

/// Passes on the conversations in which something was said.
fn pass_on(
    format: Format,
    conversations: Vec<Conversation>,
    take: &mut Take<'_>,
) -> io::Result<()> {
    let beginning = Beginning {
        format,
        is_from_start: true,
    };
    let mut said = conversations
        .into_iter()
        .filter(|found| !found.messages.is_empty());
    said.try_for_each(|conversation| take(beginning, conversation))
}

/// The form that has such an element, and what gathers it.
fn form_of(value: &Value, path: &Path) -> Option<(Format, Box<dyn ConversationReader>)> {
    if chat_gpt::tells(value) {
        Some((Format::ChatGpt, Box::new(ChatGpt::default())))
    } else if claude_ai::tells(value) {
        Some((Format::ClaudeAi, Box::new(ClaudeAi::default())))
    } else if slack::tells(value) {
        Some((Format::Slack, Box::new(Slack::new(path))))
    } else if codex::tells_document(value) {
        Some((Format::Codex, Box::new(Codex::default())))
    } else if opencode::tells(value) {
        Some((Format::OpenCode, Box::new(OpenCode::new(path))))
    } else if gemini_cli::tells(value) {
        Some((Format::GeminiCli, Box::new(GeminiCli::default())))
    } else if gemini_cli::tells_log(value) {
        Some((Format::GeminiCli, Box::new(Log::default())))
    } else if vscode::tells(value) {
        Some((Format::VsCode, Box::new(VsCode::default())))
    } else if cline::tells(value) {
        Some((Format::Cline, Box::new(Cline::default())))
    } else {
        None
    }
}

/// The elements of an array, without a look at what is in them but strings and brackets.
struct Elements<R> {
    input: R,
    element: Vec<u8>,
    /// True if it is a single object, which ends with the file.
    is_object: bool,
    is_at_end: bool,
}

impl<R: BufRead> Elements<R> {
    /// None if the file starts with neither an array nor an object.
    fn new(mut input: R) -> io::Result<Option<Self>> {
        if input.fill_buf()?.starts_with(BYTE_ORDER_MARK) {
            input.consume(BYTE_ORDER_MARK.len());
        }
        loop {
            let part = input.fill_buf()?;
            let blank = part.len() - part.trim_ascii_start().len();
            let first = part.get(blank).copied();
            let is_end = part.is_empty();
            input.consume(blank);
            let is_object = match first {
                Some(b'[') => false,
                Some(b'{') => true,
                None if !is_end => continue,
                _ => return Ok(None),
            };
            input.consume(usize::from(!is_object));
            return Ok(Some(Elements {
                input,
                element: Vec::new(),
                is_object,
                is_at_end: false,
            }));
        }
    }

    /// Returns the next element: a value, or the objects in it if it is broken. The last one may be
    /// cut off.
    fn next(&mut self) -> io::Result<Option<Records>> {
        self.element.clear();
        let (mut depth, mut is_string, mut is_escaped) = (0_u64, false, false);
        let mut end = None;
        while end.is_none() && !self.is_at_end {
            let part = self.input.fill_buf()?;
            for (place, byte) in part.iter().enumerate() {
                match byte {
                    _ if is_escaped => is_escaped = false,
                    b'\\' if is_string => is_escaped = true,
                    b'"' => is_string = !is_string,
                    _ if is_string => {}
                    b'{' | b'[' => depth += 1,
                    b',' | b']' if depth == 0 && !self.is_object => {
                        end = Some(place);
                        break;
                    }
                    b'}' | b']' => depth = depth.saturating_sub(1),
                    _ => {}
                }
            }
            self.is_at_end = part.is_empty() || end.is_some_and(|end| part[end] == b']');
            let count = end.unwrap_or(part.len());
            if self.element.len() as u64 <= VALUE_BYTES_MAX {
                self.element.extend_from_slice(&part[..count]);
            }
            self.input.consume(count + usize::from(end.is_some()));
        }
        if self.is_at_end && self.element.trim_ascii().is_empty() {
            return Ok(None);
        }
        let is_too_long = self.element.len() as u64 > VALUE_BYTES_MAX;
        Ok(Some(if is_too_long {
            Records {
                is_broken: true,
                ..Records::default()
            }
        } else {
            self.records()
        }))
    }

    fn records(&self) -> Records {
        let read = if self.is_at_end {
            loci_json::from_cut_slice(&self.element)
        } else {
            loci_json::from_slice(&self.element)
        };
        if let Ok((value, repairs)) = read {
            return Records {
                values: vec![value],
                repairs,
                is_broken: false,
            };
        }
        // A quotation mark that is missing joins it with the elements that follow.
        let (values, repairs) = loci_json::among(&self.element);
        Records {
            values,
            repairs,
            is_broken: true,
        }
    }
}
