//! Files of JSON of others, whole or a document on each line.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use serde_json::{Map, Value};

use crate::{PeerError, Result};

/// The largest size of a document that is read as a whole.
const DOCUMENT_BYTES_MAX: u64 = 256 << 20;
/// The largest size of a line.
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
