//! Data goes to stdout, messages to stderr. Nothing else in loci writes to either.
//!
//! Texts of memories may contain control sequences for terminals: all texts pass `Escaped` here, or
//! are JSON.

use std::fmt::Display;
use std::io::{self, BufRead, IsTerminal, Write};

use loci_core::Timestamp;
use serde_json::{Value, json};
use tracing_subscriber::fmt::MakeWriter;

use crate::escaped::{self, Escaped};
use crate::exit::{Exit, Failure};

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

/// Asks the user at the terminal a question that `y` affirms.
///
/// # Errors
/// [`Exit::Usage`] if stdin is not a terminal; `flag` is what affirms it there.
pub fn is_confirmed(question: impl Display, flag: &str) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        let message = format!("stdin is not a terminal, so no one can be asked; add {flag}");
        return Err(Failure::new(Exit::Usage, message));
    }
    status_line(question);
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
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

/// Returns a list as JSON: an object with its parts under their noun, and under `more` the options with
/// which the same command shows what follows; null if nothing does.
pub fn listing(noun: &str, parts: impl IntoIterator<Item = Value>, more: Option<String>) -> Value {
    json!({noun: parts.into_iter().collect::<Value>(), "more": more})
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
