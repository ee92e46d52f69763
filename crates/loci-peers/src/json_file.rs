//! Files of JSON of others, whole or a document on each line.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use serde_json::{Map, Value};

use crate::{Outlet, PeerError, Result};

/// The largest size of a document that is read as a whole.
const DOCUMENT_BYTES_MAX: u64 = 256 << 20;
/// The largest size of a line, or of an element of a list.
const LINE_BYTES_MAX: u64 = 16 << 20;

fn unreadable(path: &Path) -> impl Fn(std::io::Error) -> PeerError + '_ {
    |source| PeerError::File {
        file: path.display().to_string(),
        source,
    }
}

/// Reads a file that is one document.
///
/// # Errors
/// If it cannot be read, is larger than 256 MiB, or is no JSON.
pub fn document(path: &Path) -> Result<Value> {
    let mut text = Vec::new();
    File::open(path)
        .and_then(|file| file.take(DOCUMENT_BYTES_MAX + 1).read_to_end(&mut text))
        .map_err(unreadable(path))?;
    if text.len() as u64 > DOCUMENT_BYTES_MAX {
        return Err(PeerError::Form(format!(
            "{} is one document of more than {DOCUMENT_BYTES_MAX} bytes; export it in parts",
            path.display()
        )));
    }
    let (value, _) = loci_json::from_slice(&text)
        .map_err(|error| PeerError::Form(format!("{} is no JSON: {error}", path.display())))?;
    Ok(value)
}

/// A line of a file.
pub enum Line {
    /// An object.
    Object(Map<String, Value>),
    /// A line that is no object, or too long, with its number from 1.
    Broken(u64),
}

/// Passes each line of a file to `visit`; blank lines and a byte order mark are passed over.
///
/// # Errors
/// If the file cannot be read; the first error of `visit`.
pub fn lines(path: &Path, mut visit: impl FnMut(Line) -> Result<()>) -> Result<()> {
    let file = File::open(path).map_err(unreadable(path))?;
    let mut input = BufReader::new(file);
    for number in 1_u64.. {
        let mut line = Vec::new();
        let read = (&mut input)
            .take(LINE_BYTES_MAX)
            .read_until(b'\n', &mut line)
            .map_err(unreadable(path))?;
        if read == 0 {
            return Ok(());
        }
        if read as u64 == LINE_BYTES_MAX && line.last() != Some(&b'\n') {
            input.skip_until(b'\n').map_err(unreadable(path))?;
            visit(Line::Broken(number))?;
            continue;
        }
        let text = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&line);
        if text.trim_ascii().is_empty() {
            continue;
        }
        visit(match loci_json::from_slice(text) {
            Ok((Value::Object(object), _)) => Line::Object(object),
            _ => Line::Broken(number),
        })?;
    }
    Ok(())
}

/// Passes each object of a file to `visit`: the lines of a file of JSON lines, or the elements of a
/// list, of which only one is in memory.
///
/// # Errors
/// As for [`lines`]; if a list has no end, after its elements.
pub fn objects(path: &Path, visit: impl FnMut(Line) -> Result<()>) -> Result<()> {
    if head(path).trim_start().starts_with('[') {
        elements(path, visit)
    } else {
        lines(path, visit)
    }
}

/// Passes each page of a file to `put`: the file if it is one page, otherwise its objects. Other
/// lines are counted as left out.
///
/// # Errors
/// As for [`document`] and [`objects`].
pub(crate) fn pages(
    path: &Path,
    is_one: bool,
    outlet: &mut Outlet<'_>,
    mut put: impl FnMut(&Map<String, Value>, &mut Outlet<'_>) -> Result<()>,
) -> Result<()> {
    if is_one {
        return match document(path)? {
            Value::Object(page) => put(&page, outlet),
            _ => Ok(()),
        };
    }
    objects(path, |line| match line {
        Line::Object(page) => put(&page, outlet),
        Line::Broken(_) => {
            outlet.report.leave_out("lines that are no JSON object");
            Ok(())
        }
    })
}

/// Passes each element of a list to `visit`; the number of a broken one is its place, from 1.
fn elements(path: &Path, mut visit: impl FnMut(Line) -> Result<()>) -> Result<()> {
    let file = File::open(path).map_err(unreadable(path))?;
    let mut scanner = Scanner::default();
    for byte in BufReader::new(file).bytes() {
        let Some(element) = scanner.take(byte.map_err(unreadable(path))?) else {
            continue;
        };
        visit(match loci_json::from_slice(&element) {
            Ok((Value::Object(object), _)) => Line::Object(object),
            _ => Line::Broken(scanner.number),
        })?;
    }
    if scanner.is_over {
        return Ok(());
    }
    Err(PeerError::Form(format!(
        "{} ends in the middle of its list, after {} elements: it is cut",
        path.display(),
        scanner.number
    )))
}

/// Tells the elements of a list apart.
#[derive(Default)]
struct Scanner {
    element: Vec<u8>,
    /// The number of elements so far.
    number: u64,
    /// The brackets that are open: in the list itself one.
    depth: usize,
    is_text: bool,
    is_escaped: bool,
    /// True after the end of the list.
    is_over: bool,
}

impl Scanner {
    /// Takes the next byte; returns an element that ends before it. Of one that is too long, the
    /// end is missing.
    fn take(&mut self, byte: u8) -> Option<Vec<u8>> {
        if self.is_over {
            return None;
        }
        let is_end = !self.is_text && self.depth == 1 && matches!(byte, b',' | b']');
        if self.is_text {
            self.is_text = byte != b'"' || self.is_escaped;
            self.is_escaped = byte == b'\\' && !self.is_escaped;
        } else {
            self.is_text = byte == b'"';
            match byte {
                b'[' | b'{' => self.depth += 1,
                b']' | b'}' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            // The bracket of the list itself is no part of an element.
            if self.depth == 1 && byte == b'[' && self.number == 0 && self.element.is_empty() {
                return None;
            }
        }
        if is_end {
            self.is_over = byte == b']';
            let element = std::mem::take(&mut self.element);
            let is_blank = element.trim_ascii().is_empty();
            self.number += u64::from(!is_blank);
            return (!is_blank).then_some(element);
        }
        if self.depth > 0 && self.element.len() < LINE_BYTES_MAX as usize {
            self.element.push(byte);
        }
        None
    }
}

/// Returns the first object of a file, as [`objects`] finds it; `None` if the file has none, or cannot
/// be read.
pub fn first_object(path: &Path) -> Option<Map<String, Value>> {
    let mut first = None;
    let look = |line| match line {
        Line::Object(object) => {
            first = Some(object);
            Err(PeerError::Stopped(String::new()))
        }
        Line::Broken(_) => Ok(()),
    };
    if path.is_file() {
        let _ = objects(path, look);
    }
    first
}

/// Returns the start of a file, at most 64 KiB; blank if it cannot be read.
pub fn head(path: &Path) -> String {
    const HEAD_BYTES: u64 = 64 << 10;
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    let text = read.map(|_| String::from_utf8_lossy(&head).into_owned());
    let text = text.unwrap_or_default();
    text.trim_start_matches('\u{feff}').to_owned()
}

/// Returns the first of these keys whose value is a text that is not blank.
pub fn text<'a>(object: &'a Map<String, Value>, keys: &[&str]) -> Option<&'a str> {
    keys.iter()
        .find_map(|key| object.get(*key)?.as_str())
        .filter(|text| !text.trim().is_empty())
}

/// Returns the texts of a list.
pub fn texts(value: Option<&Value>) -> Vec<String> {
    let list = value.and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .filter(|text| !text.trim().is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what is told of a file: `n` is a broken line or element, and an error is at the end.
    fn told(content: &str) -> (Vec<String>, bool) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        let mut told = Vec::new();
        let outcome = objects(file.path(), |line| {
            told.push(match line {
                Line::Object(object) => Value::Object(object).to_string(),
                Line::Broken(number) => number.to_string(),
            });
            Ok(())
        });
        (told, outcome.is_ok())
    }

    #[test]
    fn lists_and_lines_are_read_element_by_element() {
        for (content, expected, is_whole) in [
            ("[]", &[][..], true),
            (
                " [ {\"a\": [1, \"]\\\"\"]} , 7, {} ] and more",
                &["{\"a\":[1,\"]\\\"\"]}", "2", "{}"],
                true,
            ),
            ("\u{feff}[[1],{\"a\":{}}]", &["1", "{\"a\":{}}"], true),
            ("[{\"a\":1},{\"b\":", &["{\"a\":1}"], false),
            (
                "{\"a\":1}\n\nno\n{\"b\":2}\n",
                &["{\"a\":1}", "3", "{\"b\":2}"],
                true,
            ),
            ("", &[], true),
        ] {
            let expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
            assert_eq!(told(content), (expected, is_whole), "{content}");
        }
    }
}
