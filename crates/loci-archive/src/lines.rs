//! Exports as JSON lines: a header, one line for each record, and a last line with their counts.

use std::io::{self, BufRead, Read, Write};

use loci_core::{Archived, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::serde_as;

use super::entry_problem::EntryProblem;
use super::shapes::{Counts, ExportEnd, Line};
use super::text_forms::Rfc3339Time;
use super::{Entry, Note, Part};

/// The version of the format.
const VERSION: u64 = 1;
/// The value of `loci` in the header of an export.
const NAME: &str = "export";
/// The largest length of a line in bytes: more than the largest memory needs in its longest
/// encoding.
pub(super) const LINE_BYTES_MAX: u64 = 16 << 20;
/// The largest length in bytes of a line of [`LARGE_KINDS`]: more than the largest file of notes.
const LARGE_LINE_BYTES_MAX: u64 = 128 << 20;
/// The beginnings of lines that may be large: a file of notes, and an idempotent reply.
const LARGE_KINDS: [&[u8]; 2] = [b"{\"note_file\":", b"{\"keyed_answer\":"];

#[serde_as]
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    loci: String,
    version: u64,
    #[serde_as(as = "Rfc3339Time")]
    exported_at: Timestamp,
}

/// Writes an export.
pub struct JsonLines<W> {
    write: W,
    /// The moment for the header, until it is written.
    begin: Option<Timestamp>,
    counts: Counts,
}

impl<W: Write> JsonLines<W> {
    /// Starts an export as of that moment. Writes nothing yet.
    pub fn as_of(write: W, moment: Timestamp) -> Self {
        JsonLines {
            write,
            begin: Some(moment),
            counts: Counts::new(),
        }
    }

    /// Adds a record; of a file of notes, its index entry.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&mut self, archived: &Archived) -> io::Result<()> {
        self.write_line(&Line::from(archived))
    }

    /// Adds a file of notes.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_note(&mut self, note: Note) -> io::Result<()> {
        self.write_line(&Line::NoteFile(Box::new(note.into())))
    }

    /// Counts a record that is written elsewhere.
    pub fn count(&mut self, kind: &str) {
        *self.counts.entry(kind.to_owned()).or_default() += 1;
    }

    /// Returns the number of records of each kind so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Writes the last line, without which the export counts as cut off.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.write_header()?;
        self.put(&Line::End(ExportEnd {
            records: self.counts.clone(),
        }))?;
        self.write.flush()?;
        Ok(self.write)
    }

    fn write_line(&mut self, line: &Line) -> io::Result<()> {
        self.write_header()?;
        self.count(line.kind());
        self.put(line)
    }

    fn write_header(&mut self) -> io::Result<()> {
        let Some(moment) = self.begin.take() else {
            return Ok(());
        };
        self.put(&Header {
            loci: NAME.to_owned(),
            version: VERSION,
            exported_at: moment,
        })
    }

    fn put(&mut self, line: &impl Serialize) -> io::Result<()> {
        self.write.write_all(json(line)?.as_bytes())?;
        self.write.write_all(b"\n")
    }
}

/// Returns a value as JSON on one line, also for readers that take more characters for line ends
/// than JSON does.
///
/// # Errors
/// If it cannot be serialized.
pub fn json(value: &impl Serialize) -> io::Result<String> {
    let json = serde_json::to_string(value)?;
    let is_escaped = |character: char| {
        matches!(
            character,
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}'
        )
    };
    if !json.contains(is_escaped) {
        return Ok(json);
    }
    // These characters can only be within strings.
    let escaped = |text: String, character: char| {
        if is_escaped(character) {
            text + &format!("\\u{:04x}", u32::from(character))
        } else {
            text + character.encode_utf8(&mut [0; 4])
        }
    };
    Ok(json
        .chars()
        .fold(String::with_capacity(json.len() + 16), escaped))
}

/// The bytes of the first line that suffice to recognise a file.
pub const HEAD_BYTES: u64 = 4 << 10;

/// Returns true if the first line of a file is the header of an export of any version.
pub fn begins_archive(line: &[u8]) -> bool {
    serde_json::from_slice(line).is_ok_and(|value: Value| value.get("loci").is_some())
}

/// Reads an export line by line.
pub struct Lines<R> {
    input: R,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    /// Reads the first line.
    ///
    /// # Errors
    /// If it cannot be read; within, why this loci cannot read the file as an export.
    pub fn open(input: R) -> io::Result<Result<Self, String>> {
        let mut lines = Lines { input, number: 0 };
        Ok(match lines.line()? {
            Some(Ok(line)) => check_header(&line).map(|()| lines),
            _ => Err("is no export of loci".to_owned()),
        })
    }

    /// Reads lines without a header, after that number of lines.
    pub fn after(input: R, number: u64) -> Self {
        Lines { input, number }
    }

    /// Returns the number of the last line read.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Reads the next line that is not blank. `None` at the end.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(&mut self) -> io::Result<Option<Part>> {
        loop {
            let line = match self.line()? {
                None => return Ok(None),
                Some(Ok(line)) if line.trim_ascii().is_empty() => continue,
                Some(line) => line,
            };
            let place = format!("line {}", self.number);
            let bytes = line.as_ref().map_or(0, Vec::len);
            return Ok(Some(Part {
                place,
                bytes,
                entry: line.and_then(|line| entry(&line)),
            }));
        }
    }

    /// Reads the next line, with its line end; skips a too long line and returns the problem.
    /// `None` at the end.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn line(&mut self) -> io::Result<Option<Result<Vec<u8>, EntryProblem>>> {
        self.number += 1;
        let mut line = Vec::new();
        let is_cut =
            |line: &[u8], bytes_max| line.len() as u64 == bytes_max && !line.ends_with(b"\n");
        if (&mut self.input)
            .take(LINE_BYTES_MAX)
            .read_until(b'\n', &mut line)?
            == 0
        {
            return Ok(None);
        }
        let mut bytes_max = LINE_BYTES_MAX;
        if is_cut(&line, bytes_max) && LARGE_KINDS.iter().any(|kind| line.starts_with(kind)) {
            bytes_max = LARGE_LINE_BYTES_MAX;
            (&mut self.input)
                .take(bytes_max - LINE_BYTES_MAX)
                .read_until(b'\n', &mut line)?;
        }
        if is_cut(&line, bytes_max) {
            self.input.skip_until(b'\n')?;
            let noun = "record";
            return Ok(Some(Err(EntryProblem::TooLarge { bytes_max, noun })));
        }
        Ok(Some(Ok(line)))
    }
}

fn check_header(line: &[u8]) -> Result<(), String> {
    let Ok(value) = serde_json::from_slice::<Value>(line) else {
        return Err("is no export of loci".to_owned());
    };
    match value.get("version").and_then(Value::as_u64) {
        Some(VERSION) => {}
        Some(version) => {
            return Err(format!(
                "is an export of version {version}; this loci reads version {VERSION}; import it with the loci that \
                 made it, or with a newer one"
            ));
        }
        None => return Err("is an export without a version: its first line is damaged".to_owned()),
    }
    let header: Result<Header, _> = serde_json::from_value(value);
    match header {
        Ok(header) if header.loci == NAME => Ok(()),
        _ => Err("is no export that this loci knows: its first line is damaged".to_owned()),
    }
}

/// Parses a line.
fn entry(line: &[u8]) -> Result<Entry, EntryProblem> {
    let line: Line = serde_json::from_str(str::from_utf8(line)?)?;
    Ok(Entry::try_from(line)?)
}
