//! Data goes to stdout, messages to stderr. Nothing else in loci writes to either.
//!
//! Texts of memories may contain control sequences for terminals: all texts pass `Escaped` here, or
//! are JSON.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use loci_core::Timestamp;
use loci_dialects::mememory::Record;
use serde_json::Value;
use tracing_subscriber::fmt::MakeWriter;

use crate::escaped::{self, Escaped, OneLine};
use crate::exit::{Exit, Failure};

/// The lines and characters of a memory's text that a list shows on a terminal.
const LINES_LISTED_MAX: usize = 6;
const CHARACTERS_LISTED_MAX: usize = 400;

/// The output of a command.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    /// True if data is printed as JSON.
    pub json: bool,
    /// True if text is printed as it is, with hidden characters.
    pub is_raw: bool,
}

impl Output {
    /// Returns the output for `--json` and `--raw`.
    ///
    /// # Errors
    /// If stdout is a terminal and raw text is asked for.
    pub fn new(json: bool, is_raw: bool) -> Result<Self, Failure> {
        if is_raw && !json && io::stdout().is_terminal() {
            let message = "--raw prints control characters as they are, and a terminal obeys them; redirect the output \
                           into a file or a pipe, or leave --raw out";
            return Err(Failure::new(Exit::Usage, message));
        }
        Ok(Output { json, is_raw })
    }

    /// Prints the value if JSON is asked for, otherwise the text.
    ///
    /// # Errors
    /// If stdout is closed or full.
    pub fn either(self, value: &Value, text: impl Display) -> io::Result<()> {
        if self.json {
            print(format_args!("{}\n", escaped::json(&format!("{value:#}"))))
        } else {
            self.text(text)
        }
    }

    /// Writes a text with its hidden characters escaped, unless the output is raw.
    ///
    /// # Errors
    /// If stdout is closed or full.
    pub fn text(self, text: impl Display) -> io::Result<()> {
        if self.is_raw {
            print(text)
        } else {
            print(Escaped(text))
        }
    }
}

/// A writer to stdout for whole lines of JSON, which escapes what a terminal would obey.
pub struct JsonOutput<W>(pub W);

impl<W: Write> Write for JsonOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match str::from_utf8(bytes) {
            Ok(text) if io::stdout().is_terminal() => {
                self.0.write_all(escaped::json(text).as_bytes())?;
            }
            _ => self.0.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Prints data as it is: JSON, or text that loci itself wrote, for other programs.
///
/// # Errors
/// If stdout is closed or full.
pub fn print(text: impl Display) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    write!(stdout, "{text}")?;
    stdout.flush()
}

/// Prints a line for the user at the terminal.
pub fn status_line(words: impl Display) {
    // A closed stderr is not a failure: no one reads it.
    let _ = writeln!(io::stderr().lock(), "{}", Escaped(words));
}

/// Writes a message of a library to stderr, as [`status_line`] does.
pub fn notice(words: &str) {
    status_line(words);
}

/// Writes the lines of the log to stderr, with hidden characters made visible.
pub struct LogWriter;

impl Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write!(
            io::stderr().lock(),
            "{}",
            Escaped(String::from_utf8_lossy(bytes))
        )?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

impl MakeWriter<'_> for LogWriter {
    type Writer = LogWriter;

    fn make_writer(&self) -> LogWriter {
        LogWriter
    }
}

/// Returns the `--limit` that applies; prints a note if that is less than was asked for.
pub fn clamped(limit: u32, limit_max: usize) -> usize {
    let limit = limit as usize;
    if limit > limit_max {
        status_line(format_args!(
            "note: --limit {limit} counts as {limit_max}, the most for one call"
        ));
    }
    limit.min(limit_max)
}

/// Formats a number of things, such as `1 drawer` or `2 drawers`.
pub fn counted(count: u64, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{count} {noun}s")
    }
}

/// Formats a time as RFC 3339 in UTC, to the second.
pub fn moment(moment: Timestamp) -> String {
    jiff::Timestamp::from_second(moment.microseconds().div_euclid(1_000_000)).map_or_else(
        |_| moment.microseconds().to_string(),
        |moment| moment.to_string(),
    )
}

/// Formats a memory in a list for people: whole, as [`memory_text`] does; on a terminal, a long
/// text is cut.
pub fn listed_text(record: &Record) -> String {
    if io::stdout().is_terminal() {
        beginning(record)
    } else {
        memory_text(record)
    }
}

/// Formats a memory with at most [`LINES_LISTED_MAX`] lines and [`CHARACTERS_LISTED_MAX`]
/// characters of its text.
fn beginning(record: &Record) -> String {
    let content = record.content.trim_end();
    let by_lines = content
        .match_indices('\n')
        .nth(LINES_LISTED_MAX - 1)
        .map_or(content.len(), |(end, _)| end);
    let by_characters = content
        .char_indices()
        .nth(CHARACTERS_LISTED_MAX)
        .map_or(content.len(), |(end, _)| end);
    let end = by_lines.min(by_characters);
    if end == content.len() {
        return memory_text(record);
    }
    let left = content[end..].chars().count();
    let shown = Record {
        content: format!("{} …", content[..end].trim_end()),
        ..record.clone()
    };
    format!(
        "{}    {left} more characters: loci show {}\n",
        memory_text(&shown),
        OneLine(&record.id)
    )
}

/// Formats a memory for people: a head line, then the whole text, indented.
pub fn memory_text(record: &Record) -> String {
    let mut head = vec![record.id.clone(), record.r#type.clone()];
    head.push(record.project.as_ref().map_or_else(
        || "global".to_owned(),
        |project| format!("project {project}"),
    ));
    // The time to the second.
    head.push(
        record
            .updated_at
            .split(['.', 'Z'])
            .next()
            .unwrap_or_default()
            .to_owned()
            + "Z",
    );
    if !record.tags.is_empty() {
        head.push(format!("tags {}", record.tags.join(", ")));
    }
    if record.weight < 1.0 {
        head.push(format!("weight {}", record.weight));
    }
    if record.delivery.is_some() && record.r#type != "bootstrap" {
        head.push("bootstrap".to_owned());
    }
    for (word, value) in [
        ("expires", &record.expires_at),
        ("supersedes", &record.supersedes),
        ("superseded by", &record.superseded_by),
    ] {
        head.extend(value.as_ref().map(|value| format!("{word} {value}")));
    }
    head.extend(record.from_file.place());
    head.extend(
        record
            .authorship
            .author()
            .map(|author| format!("by {author}")),
    );
    head.extend(
        record
            .authorship
            .updated_by()
            .map(|writer| format!("rewritten by {writer}")),
    );
    let content = record.content.trim_end().replace('\n', "\n    ");
    format!("{}\n    {content}\n", OneLine(head.join("  ")))
}

#[cfg(test)]
mod tests {
    use loci_core::{Memory, MemoryId, Space};

    use super::*;

    #[test]
    fn a_long_text_is_cut_in_a_list() {
        let shown = |content: &str| {
            let id = MemoryId::parse("id", "m1").unwrap();
            let memory = Memory::new(
                Space::default(),
                id,
                content,
                "fact",
                Timestamp::from_microseconds(0),
            );
            let text = beginning(&Record::of(&loci_core::Caller::local(), memory));
            text.split_once('\n').unwrap().1.to_owned()
        };
        assert_eq!(shown("one\ntwo\n"), "    one\n    two\n");
        assert_eq!(
            shown(&"é".repeat(400)),
            format!("    {}\n", "é".repeat(400))
        );
        let cut = format!(
            "    {} …\n    7 more characters: loci show m1\n",
            "é".repeat(400)
        );
        assert_eq!(shown(&"é".repeat(407)), cut);
        let lines = "line\n".repeat(9);
        let cut = format!(
            "{}    line …\n    15 more characters: loci show m1\n",
            "    line\n".repeat(5)
        );
        assert_eq!(shown(&lines), cut);
    }
}
