//! Files of JSON of others, whole or a document on each line.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use serde_json::{Map, Value};

use crate::json_walk::{Lists, Step, VALUE_BYTES_MAX, first, unreadable, walk};
use crate::{Outlet, PeerError, Result};

/// The largest size of a line.
const LINE_BYTES_MAX: u64 = VALUE_BYTES_MAX as u64;

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

/// Passes each page of a file to `put`: its objects or, if it is one page, that in parts: an element of the
/// lists at a time, and what stands beside them. Other lines are counted as left out.
///
/// # Errors
/// As for [`walk`] and [`objects`].
pub(crate) fn pages(
    path: &Path,
    lists: Lists<'_>,
    outlet: &mut Outlet<'_>,
    mut put: impl FnMut(&Map<String, Value>, &mut Outlet<'_>) -> Result<()>,
) -> Result<()> {
    if !is_one_document(path) {
        return objects(path, |line| match line {
            Line::Object(page) => put(&page, outlet),
            Line::Broken(_) => {
                outlet.report.leave_out("lines that are no JSON object");
                Ok(())
            }
        });
    }
    let (mut rest, mut list) = (Map::new(), None);
    walk(path, lists, |steps, value| {
        let value = value.unwrap_or_default();
        match steps {
            [.., Step::Key(name), Step::Place(_)] => {
                list = Some(name.clone());
                put(&page_of(name, vec![value]), outlet)
            }
            [.., Step::Key(name)] => {
                rest.insert(name.clone(), value);
                Ok(())
            }
            _ => Ok(()),
        }
    })?;
    if let Some(list) = list {
        rest.extend(page_of(&list, Vec::new()));
    }
    if rest.is_empty() {
        return Ok(());
    }
    put(&rest, outlet)
}

/// Returns true if a file is one object over several lines, or on a line that is too long.
fn is_one_document(path: &Path) -> bool {
    let mut is_line_broken = false;
    let _ = lines(path, |line| {
        is_line_broken = matches!(line, Line::Broken(_));
        Err(PeerError::Stopped(String::new()))
    });
    is_line_broken && head(path).trim_start().starts_with('{')
}

/// Returns a page with only these elements.
fn page_of(list: &str, elements: Vec<Value>) -> Map<String, Value> {
    Map::from_iter([(list.to_owned(), Value::Array(elements))])
}

/// Returns the first page of a file: its first object or, if it is one page, that with the first element
/// of a list.
pub(crate) fn first_page(path: &Path, lists: Lists<'_>) -> Option<Map<String, Value>> {
    if !is_one_document(path) {
        return first_object(path);
    }
    first(path, lists, |steps, value| match steps {
        [.., Step::Key(name), Step::Place(_)] => Some(page_of(name, vec![value])),
        _ => None,
    })
}

/// Passes each element of a list to `visit`; the number of a broken one is its place, from 1.
fn elements(path: &Path, mut visit: impl FnMut(Line) -> Result<()>) -> Result<()> {
    walk(path, &[&["*"]], |steps, value| {
        visit(match (steps, value) {
            (_, Some(Value::Object(object))) => Line::Object(object),
            ([Step::Place(place)], _) => Line::Broken(place + 1),
            _ => Line::Broken(1),
        })
    })?;
    Ok(())
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
