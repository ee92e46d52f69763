//! The values under keys that are not loci's: other names of a note, its author, its source.

use loci_core::limits::REFERENCE_INDEXED_BYTES_MAX;

use super::entries::Entry;
use super::keys::{self, Key};
use super::value::Value;
use crate::text::LINK_BYTES_MAX;

/// The most bytes of all values together, because every passage of the note has them among its
/// words.
const BYTES_MAX: usize = 1_024;
/// Keys for other names of a note, in lower case.
const ALIASES: [&str; 2] = ["aliases", "alias"];
/// Keys that say how a note looks, in lower case.
const LOOKS: [&str; 2] = ["cssclasses", "cssclass"];

/// The most other names of a note that links may use.
const ALIASES_MAX: usize = 32;

/// Returns the other names of a note in the order of the file, each once and in one line. A longer
/// name than a link may have is passed over.
pub(super) fn aliases(entries: &[Entry]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let entries = entries.iter().filter(|entry| is_in(&ALIASES, entry));
    for text in entries.flat_map(texts) {
        let name = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let is_name = !name.is_empty() && name.len() < LINK_BYTES_MAX && !name.contains('\0');
        if is_name && !names.contains(&name) && names.len() < ALIASES_MAX {
            names.push(name);
        }
    }
    names
}

/// Returns the texts of the foreign values: other names of the note first, then the others in the
/// order of the file, each once and in one line. Truths and values without a letter or digit say
/// nothing; a long value is cut.
pub(super) fn of(entries: &[Entry]) -> Vec<String> {
    let (aliases, others): (Vec<&Entry>, Vec<&Entry>) = entries
        .iter()
        .filter(|entry| !is_in(&LOOKS, entry))
        .partition(|entry| is_in(&ALIASES, entry));
    let mut values = Vec::new();
    let mut bytes = 0;
    for text in aliases.into_iter().chain(others).flat_map(texts) {
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut line = words.join(" ");
        line.truncate(line.floor_char_boundary(REFERENCE_INDEXED_BYTES_MAX));
        if !says_something(&line) || values.contains(&line) {
            continue;
        }
        bytes += line.len() + 1;
        if bytes > BYTES_MAX {
            break;
        }
        values.push(line);
    }
    values
}

fn is_in(names: &[&str], entry: &Entry) -> bool {
    names
        .iter()
        .any(|name| entry.name.eq_ignore_ascii_case(name))
}

/// Returns the texts of an entry that no field of a note has.
fn texts(entry: &Entry) -> Vec<&str> {
    match (entry.key, &entry.value) {
        (None, Value::Text(text)) => vec![text.as_str()],
        // The list of tags under a second name.
        (None, Value::List { items, .. }) => items
            .iter()
            .filter_map(|item| item.text.as_deref())
            .collect(),
        (None, _) => entry.texts.iter().map(String::as_str).collect(),
        // People have states of their own.
        (Some(Key::Status), Value::Text(text)) if !keys::is_known_status(text) => {
            vec![text.as_str()]
        }
        (Some(_), _) => Vec::new(),
    }
}

fn says_something(line: &str) -> bool {
    let is_truth = ["true", "false", "yes", "no", "on", "off"]
        .iter()
        .any(|word| line.eq_ignore_ascii_case(word));
    !is_truth && !line.contains('\0') && line.contains(char::is_alphanumeric)
}
