//! Data to stdout, words to stderr. Nothing else in loci writes to either.

use std::fmt::Display;
use std::io::{self, Write};

use loci_core::Timestamp;
use loci_dialects::mememory::Record;
use serde_json::Value;

/// What a command prints to.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    /// Whether data is JSON.
    pub json: bool,
}

impl Output {
    /// The value if JSON is asked for, else the text.
    ///
    /// # Errors
    /// If stdout is closed or full.
    pub fn either(self, value: &Value, text: impl Display) -> io::Result<()> {
        if self.json { print(format_args!("{value:#}\n")) } else { print(text) }
    }
}

/// Data, as it is.
///
/// # Errors
/// If stdout is closed or full.
pub fn print(text: impl Display) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    write!(stdout, "{text}")?;
    stdout.flush()
}

/// A line for the person at the terminal.
pub fn note(words: impl Display) {
    // A closed stderr is no reason to fail: nobody listens.
    let _ = writeln!(io::stderr().lock(), "{words}");
}

/// A `--limit` as it counts; says so if that is less than was asked for.
pub fn clamped(limit: u32, limit_max: usize) -> usize {
    let limit = limit as usize;
    if limit > limit_max {
        note(format_args!("note: --limit {limit} counts as {limit_max}, the most for one call"));
    }
    limit.min(limit_max)
}

/// RFC 3339 in UTC, to the second.
pub fn moment(moment: Timestamp) -> String {
    jiff::Timestamp::from_second(moment.microseconds().div_euclid(1_000_000))
        .map_or_else(|_| moment.microseconds().to_string(), |moment| moment.to_string())
}

/// A memory for people: a head line, then the whole text, indented.
pub fn memory_text(record: &Record) -> String {
    let mut head = vec![record.id.clone(), record.r#type.clone()];
    head.push(record.project.as_ref().map_or_else(|| "global".to_owned(), |project| format!("project {project}")));
    // To the second.
    head.push(record.updated_at.split(['.', 'Z']).next().unwrap_or_default().to_owned() + "Z");
    if !record.tags.is_empty() {
        head.push(format!("tags {}", record.tags.join(", ")));
    }
    if record.weight < 1.0 {
        head.push(format!("weight {}", record.weight));
    }
    if record.delivery.is_some() && record.r#type != "bootstrap" {
        head.push("bootstrap".to_owned());
    }
    for (word, value) in
        [("expires", &record.expires_at), ("supersedes", &record.supersedes), ("superseded by", &record.superseded_by)]
    {
        head.extend(value.as_ref().map(|value| format!("{word} {value}")));
    }
    let content = record.content.trim_end().replace('\n', "\n    ");
    format!("{}\n    {content}\n", head.join("  "))
}
