//! Documents of JSON that are larger than the memory of the machine, read value by value.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use serde_json::Value;

use crate::{PeerError, Result};

/// The largest size of a value that is read as a whole.
pub const VALUE_BYTES_MAX: usize = 16 << 20;
/// The number of bytes within which the first element of a list is looked for.
const SEARCHED_BYTES_MAX: u64 = 2 * VALUE_BYTES_MAX as u64;
/// The word for each element of a list, in the path of a list.
const EACH: &str = "*";
/// The most lists and objects that are open at once, with those that a pattern leads through.
const DEPTH_MAX: usize = 16;

/// A step on the way to a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The member of an object with this key.
    Key(String),
    /// The element of a list with this number, from 0.
    Place(u64),
}

/// The paths of elements that are read one by one, e.g. `["memories", "*"]`. Only what leads to them is
/// opened: each other value on the way is read as a whole.
pub type Lists<'a> = &'a [&'a [&'a str]];

/// Passes each value of a document to `visit`, with the way to it, in the order of the file; `None` for
/// one that is no JSON or too long. Returns true if one of the lists was there.
///
/// # Errors
/// If the file cannot be read; the first error of `visit`; if the document is cut or is no JSON, after the
/// values before that place.
pub fn walk(
    path: &Path,
    lists: Lists<'_>,
    visit: impl FnMut(&[Step], Option<Value>) -> Result<()>,
) -> Result<bool> {
    walk_within(path, lists, u64::MAX, visit)
}

/// Returns the first value of a document that `told` has a word for; `None` if no such value is near
/// its beginning, or it cannot be read.
pub fn first<T>(
    path: &Path,
    lists: Lists<'_>,
    mut told: impl FnMut(&[Step], Value) -> Option<T>,
) -> Option<T> {
    let mut found = None;
    if path.is_file() {
        let _ = walk_within(path, lists, SEARCHED_BYTES_MAX, |steps, value| {
            found = value.and_then(|value| told(steps, value));
            match found {
                Some(_) => Err(PeerError::Stopped(String::new())),
                None => Ok(()),
            }
        });
    }
    found
}

fn walk_within(
    path: &Path,
    lists: Lists<'_>,
    bytes_max: u64,
    mut visit: impl FnMut(&[Step], Option<Value>) -> Result<()>,
) -> Result<bool> {
    let mut input = BufReader::new(File::open(path).map_err(unreadable(path))?);
    let mut walker = Walker::new(lists);
    let mut bytes = 0_u64;
    loop {
        let part = input.fill_buf().map_err(unreadable(path))?;
        let part = match bytes {
            0 => part.strip_prefix("\u{feff}".as_bytes()).unwrap_or(part),
            _ => part,
        };
        if part.is_empty() || bytes >= bytes_max {
            break;
        }
        for (place, byte) in part.iter().enumerate() {
            let is_taken = walker.take(*byte, &mut visit)?;
            if !is_taken {
                let at = bytes + place as u64;
                let shown = path.display();
                let message = format!("{shown} is no JSON: byte {at} stands where none may");
                return Err(PeerError::Form(message));
            }
        }
        bytes += part.len() as u64;
        let count = input.buffer().len();
        input.consume(count);
    }
    walker.end(path, &mut visit)?;
    Ok(walker.list_count > 0)
}

/// Returns the error for a file that cannot be read.
pub fn unreadable(path: &Path) -> impl Fn(std::io::Error) -> PeerError + '_ {
    |source| PeerError::File {
        file: path.display().to_string(),
        source,
    }
}

/// The part of a document that comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Value,
    Key,
    Colon,
    Comma,
    Nothing,
}

/// Follows a document byte by byte.
struct Walker<'a> {
    lists: Lists<'a>,
    path: Vec<Step>,
    /// The open containers: of a list, the number of its elements so far.
    open: Vec<Option<u64>>,
    next: Next,
    /// True within a value, or a key.
    is_within: bool,
    taken: Vec<u8>,
    depth: usize,
    is_text: bool,
    is_escaped: bool,
    /// The number of values that were passed on.
    count: u64,
    /// The number of lists that were opened, whose values are passed on.
    list_count: u64,
}

impl<'a> Walker<'a> {
    fn new(lists: Lists<'a>) -> Self {
        Walker {
            lists,
            path: Vec::new(),
            open: Vec::new(),
            next: Next::Value,
            is_within: false,
            taken: Vec::new(),
            depth: 0,
            is_text: false,
            is_escaped: false,
            count: 0,
            list_count: 0,
        }
    }

    /// Takes the next byte; returns false if it may not stand there.
    fn take(
        &mut self,
        byte: u8,
        visit: &mut impl FnMut(&[Step], Option<Value>) -> Result<()>,
    ) -> Result<bool> {
        if self.is_within {
            if self.next == Next::Key {
                return Ok(self.take_key(byte));
            }
            if !self.ends_before(byte) {
                self.push(byte);
                return Ok(true);
            }
            self.pass_on(visit)?;
        } else if byte.is_ascii_whitespace() {
            return Ok(true);
        }
        Ok(match (self.next, byte) {
            (Next::Nothing, _) | (Next::Key, b',') => true,
            (Next::Value, b']') if matches!(self.open.last(), Some(Some(_))) => self.close(),
            (Next::Value, b',') => matches!(self.open.last(), Some(Some(_))),
            (Next::Value, _) => self.begin(byte),
            (Next::Key, b'"') => {
                self.is_within = true;
                true
            }
            (Next::Colon, b':') => {
                self.next = Next::Value;
                true
            }
            (Next::Key, b'}') | (Next::Comma, b'}' | b']') => self.close(),
            (Next::Comma, b',') => {
                let is_list = matches!(self.open.last(), Some(Some(_)));
                self.next = if is_list { Next::Value } else { Next::Key };
                true
            }
            _ => false,
        })
    }

    /// Takes a byte of a key; its end tells which one it is.
    fn take_key(&mut self, byte: u8) -> bool {
        if byte != b'"' || self.is_escaped {
            self.is_escaped = byte == b'\\' && !self.is_escaped;
            self.push(byte);
            return true;
        }
        let text = [b"\"", &*std::mem::take(&mut self.taken), b"\""].concat();
        let key = loci_json::from_slice::<String>(&text).map_or_else(
            |_| String::from_utf8_lossy(&text).into_owned(),
            |(key, _)| key,
        );
        self.path.push(Step::Key(key));
        (self.is_within, self.next) = (false, Next::Colon);
        true
    }

    /// Starts a value: one on the way to a list is opened.
    fn begin(&mut self, byte: u8) -> bool {
        if let Some(Some(count)) = self.open.last() {
            self.path.push(Step::Place(*count));
        }
        if matches!(byte, b'[' | b'{') && self.leads_on(byte) && self.open.len() < DEPTH_MAX {
            let is_list = byte == b'[';
            self.open.push(is_list.then_some(0));
            self.next = if is_list { Next::Value } else { Next::Key };
            self.list_count += u64::from(is_list && self.is_last_step());
            return true;
        }
        if self.ends_before(byte) {
            return false;
        }
        self.is_within = true;
        self.push(byte);
        true
    }

    /// Returns true if a byte is the first one after the value.
    fn ends_before(&mut self, byte: u8) -> bool {
        if self.is_text {
            self.is_text = byte != b'"' || self.is_escaped;
            self.is_escaped = byte == b'\\' && !self.is_escaped;
            return false;
        }
        match byte {
            b',' | b']' | b'}' if self.depth == 0 && !self.open.is_empty() => return true,
            b'[' | b'{' => self.depth += 1,
            b']' | b'}' => self.depth = self.depth.saturating_sub(1),
            b'"' => self.is_text = true,
            _ => {}
        }
        false
    }

    fn push(&mut self, byte: u8) {
        if self.taken.len() <= VALUE_BYTES_MAX {
            self.taken.push(byte);
        }
    }

    /// Returns true if a container of this kind at the present path is on the way to a list.
    fn leads_on(&self, byte: u8) -> bool {
        let mut ways = self.lists.iter().filter(|list| self.is_begun(list));
        ways.any(|list| (list[self.path.len()] == EACH) == (byte == b'['))
    }

    /// Returns true if the list at the present path is one whose elements are read one by one.
    fn is_last_step(&self) -> bool {
        let mut ways = self.lists.iter().filter(|list| self.is_begun(list));
        ways.any(|list| list.len() == self.path.len() + 1)
    }

    /// Returns true if the present path is the beginning of that of a list.
    fn is_begun(&self, list: &[&str]) -> bool {
        let mut steps = self.path.iter().zip(list);
        list.len() > self.path.len()
            && steps.all(|(step, name)| match step {
                Step::Key(key) => key == name,
                Step::Place(_) => *name == EACH,
            })
    }

    fn pass_on(
        &mut self,
        visit: &mut impl FnMut(&[Step], Option<Value>) -> Result<()>,
    ) -> Result<()> {
        let taken = std::mem::take(&mut self.taken);
        let value = if taken.len() > VALUE_BYTES_MAX {
            None
        } else {
            loci_json::from_slice(&taken).ok().map(|(value, _)| value)
        };
        self.count += 1;
        visit(&self.path, value)?;
        (self.is_within, self.depth) = (false, 0);
        self.end_value();
        Ok(())
    }

    fn close(&mut self) -> bool {
        self.open.pop();
        self.end_value();
        true
    }

    fn end_value(&mut self) {
        self.path.pop();
        self.next = match self.open.last_mut() {
            None => Next::Nothing,
            Some(count) => {
                if let Some(count) = count {
                    *count += 1;
                }
                Next::Comma
            }
        };
    }

    /// Takes the end of the file.
    fn end(
        &mut self,
        path: &Path,
        visit: &mut impl FnMut(&[Step], Option<Value>) -> Result<()>,
    ) -> Result<()> {
        if self.open.is_empty() {
            if self.is_within {
                self.pass_on(visit)?;
            }
            return Ok(());
        }
        Err(PeerError::Form(format!(
            "{} ends in the middle, after {} values: it is cut",
            path.display(),
            self.count
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(content: &str, lists: Lists<'_>) -> (Vec<String>, Option<bool>) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        let mut told = Vec::new();
        let outcome = walk(file.path(), lists, |steps, value| {
            let steps: Vec<String> = steps
                .iter()
                .map(|step| match step {
                    Step::Key(key) => key.clone(),
                    Step::Place(place) => place.to_string(),
                })
                .collect();
            let value = value.map_or("broken".to_owned(), |value| value.to_string());
            told.push(format!("{}={value}", steps.join(".")));
            Ok(())
        });
        (told, outcome.ok())
    }

    #[test]
    fn only_what_leads_to_a_list_is_opened() {
        let lists: Lists<'_> = &[&["results", "*"], &["*"], &["agents", "*", "messages", "*"]];
        for (content, expected, outcome) in [
            ("[]", &[][..], Some(true)),
            (
                " [ {\"a\": [1, \"]\\\"\"]} , 7, {} ] and more",
                &["0={\"a\":[1,\"]\\\"\"]}", "1=7", "2={}"],
                Some(true),
            ),
            (
                "\u{feff}{\"results\": [{\"id\":1}, nope, 2], \"more\": {\"a\": [1]}, \"x\": null}",
                &[
                    "results.0={\"id\":1}",
                    "results.1=broken",
                    "results.2=2",
                    "more={\"a\":[1]}",
                    "x=null",
                ],
                Some(true),
            ),
            (
                "{\"agents\":[{\"na\\\"me\":\"A\",\"messages\":[{\"m\":1},{\"m\":2}]},{\"messages\":[]}]}",
                &[
                    "agents.0.na\"me=\"A\"",
                    "agents.0.messages.0={\"m\":1}",
                    "agents.0.messages.1={\"m\":2}",
                ],
                Some(true),
            ),
            // A list in the place of an object, and the other way round.
            (
                "{\"results\":{\"id\":1}}",
                &["results={\"id\":1}"],
                Some(false),
            ),
            ("7", &["=7"], Some(false)),
            ("", &[], Some(false)),
            // It is cut: what came before was passed on.
            ("[{\"a\":1},{\"b\":", &["0={\"a\":1}"], None),
            ("{\"results\":[1", &[], None),
            ("{\"results\" 1}", &[], None),
        ] {
            let expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
            assert_eq!(told(content, lists), (expected, outcome), "{content}");
        }
    }

    #[test]
    fn a_value_that_is_too_long_is_broken_and_the_next_one_is_read() {
        let long = "x".repeat(VALUE_BYTES_MAX + 1);
        let (told, outcome) = told(&format!("[\"{long}\",2]"), &[&["*"]]);
        assert_eq!(
            (told, outcome),
            (vec!["0=broken".to_owned(), "1=2".to_owned()], Some(true))
        );
    }

    #[test]
    fn lists_in_lists_without_end_are_told() {
        let (told, outcome) = told(&"[".repeat(100_000), &[&["*"]]);
        assert_eq!((told, outcome), (Vec::new(), None));
    }
}
