//! Values in another field or cell than their names: `name: x`, `value: …`.

use std::ops::Range;

use crate::lines::{has_long_word, is_title};
use crate::tables::{NAMING, VALUES};
use crate::value_position::{Announcement, NEAR_MAX, ValuePosition, blanks, elements, has_digit};
use crate::work;

/// Maximum bytes between a value and its name in the field after it.
const BACK_MAX: usize = 600;

/// Returns the place of the next cell of a table, after a cell with the name.
pub fn cell(text: &str, name: &Range<usize>, at: usize) -> Option<ValuePosition> {
    let bytes = text.as_bytes();
    let rest = &bytes[at..bytes.len().min(at + 40)];
    if !rest.contains(&b'|') {
        return None;
    }
    let rest = rest.iter().position(|byte| matches!(byte, b'|' | b'\n'))?;
    if bytes[at + rest] != b'|' {
        return None;
    }
    let before = &text[text.floor_char_boundary(name.start.saturating_sub(NEAR_MAX))..name.start];
    let line = before.rsplit('\n').next().unwrap_or_default();
    let is_cell = line.trim_start().starts_with(['|', '+', '-', '>']) && line.contains('|');
    // Without a line at the edge, it could also be a command that another reads.
    let is_first = is_title(text, name);
    let value = at + rest + 1;
    let value = value + blanks(bytes, value);
    match (is_cell, is_first) {
        (true, _) => Some(ValuePosition::new(value, Announcement::Direct)),
        (false, true) => Some(ValuePosition::new(value, Announcement::Entry)),
        _ => None,
    }
}

/// Returns true if a quoted word is the name of a field: `"name": "x", "value": …`.
pub fn is_field(text: &str, at: usize) -> bool {
    let rest = text[at..].trim_start_matches(['"', '\'', '`']);
    let end = rest
        .find(|next: char| !next.is_ascii_alphabetic() && next != '_')
        .unwrap_or(rest.len());
    let after = rest[end..].trim_start_matches(['"', '\'', '`', ' ', '\\']);
    (after.starts_with(':') && !rest[end..].starts_with(':'))
        || (after.starts_with('=') && VALUES.contains(&rest[..end].to_ascii_lowercase().as_str()))
}

/// Returns the place of a value that is the field of an object with the name: `name: {"value": …}`.
pub fn nested_field(text: &str, at: usize) -> Option<usize> {
    const INDENT_MAX: usize = 40;
    if !matches!(text.as_bytes().get(at), Some(b'{' | b'\n' | b'\r')) {
        return None;
    }
    let rest = &text[at..text.floor_char_boundary(text.len().min(at + NEAR_MAX))];
    let field = rest.trim_start_matches(['{', '"', '\'', '\\', ' ', '\t', '\r', '\n']);
    let length = field.find(|letter: char| !letter.is_ascii_alphabetic())?;
    let is_value = VALUES
        .iter()
        .any(|value| value.eq_ignore_ascii_case(&field[..length]));
    let value = field[length..]
        .trim_start_matches(['"', '\'', '\\', ' '])
        .strip_prefix([':', '=']);
    let value = value.filter(|_| is_value && rest.len() - field.len() <= INDENT_MAX)?;
    let value = value.trim_start_matches([' ', '\t']);
    Some(at + rest.len() - value.len())
}

/// Returns the place of the value in another field than the name: `name: x`, `value: …`, or the
/// other way round.
pub fn other_field(text: &str, name: &Range<usize>) -> Option<usize> {
    // The name of a property of the secret: `password.algorithm`.
    if text[name.end..].starts_with('.') {
        return None;
    }
    let from = text.floor_char_boundary(name.start.saturating_sub(40));
    let before =
        text[from..name.start].trim_end_matches(['"', '\'', ' ', '=', ':', '>', '(', '\\']);
    // The path of a parameter: `/prod/`.
    let before = before
        .rfind([' ', '"', '\'', '=', ':'])
        .map_or(before, |at| {
            let is_path = before[at + 1..].starts_with('/');
            if is_path {
                before[..at].trim_end_matches(['"', '\'', ' ', '=', ':'])
            } else {
                before
            }
        });
    if before.len() == name.start - from {
        return None;
    }
    let before = [before, before_words(before)]
        .into_iter()
        .find(|before| NAMING.contains(&last_word(before).to_ascii_lowercase().as_str()))?;
    let naming = last_word(before);
    next_field(text, name, naming)
        .or_else(|| former_field(text, from + before.len() - naming.len()))
}

fn last_word(text: &str) -> &str {
    let mut words = text.rsplit(|letter: char| !letter.is_ascii_alphabetic());
    words.next().unwrap_or_default()
}

/// Returns the text before the words of a name in quotes, without the signs at its end.
fn before_words(before: &str) -> &str {
    let is_of_words = |letter: char| letter.is_alphanumeric() || " _-".contains(letter);
    let words = before.trim_end_matches(is_of_words);
    words.trim_end_matches(['"', '\'', ' ', '=', ':', '>', '(', '\\'])
}

fn next_field(text: &str, name: &Range<usize>, naming: &str) -> Option<usize> {
    let window = &text[name.end..text.floor_char_boundary(text.len().min(name.end + NEAR_MAX))];
    if !has_digit(window.as_bytes()) && !has_long_word(window.as_bytes()) {
        return None;
    }
    let end = window
        .find(['}', ';'])
        .into_iter()
        .chain(window.find("\n\n"))
        .min();
    let window = &window[..end.unwrap_or(window.len())];
    let is_letter = |letter: char| letter.is_ascii_alphabetic() || letter == '_';
    let mut at = 0;
    for word in window.split_inclusive(|letter: char| !is_letter(letter)) {
        let letters = word.trim_end_matches(|letter: char| !is_letter(letter));
        let (word_at, word_end) = (at, at + letters.len());
        at += word.len();
        let lower = letters.to_ascii_lowercase();
        // The name of an element that ends, as in `</name>`, is not that of another field.
        let tag = window[..word_at]
            .rfind(['<', '>'])
            .map(|tag| &window[tag..]);
        if lower == "name" && naming != "type" && !tag.is_some_and(|tag| tag.starts_with("</")) {
            return None;
        }
        // A part of the name of a resource or of a path is not a field.
        let is_part = window[..word_at].ends_with([':', '/', '.']);
        if !is_part && VALUES.contains(&lower.as_str()) {
            let rest = &window[word_end..];
            let value = rest.trim_start_matches(['"', '\'', ' ', '\\']);
            if let Some(value) = value.strip_prefix(['=', ':', '>']) {
                let value = value.trim_start_matches([' ', '\t']);
                if !value.starts_with("\"\"") && !value.starts_with("''") {
                    return Some(elements(text, name.end + window.len() - value.len()));
                }
            }
        }
    }
    None
}

/// Returns the place of the value in the field before the word at `naming`, in the same element,
/// object or item.
fn former_field(text: &str, naming: usize) -> Option<usize> {
    let from = text.floor_char_boundary(naming.saturating_sub(BACK_MAX));
    let before = &text[from..naming];
    let start = before
        .rfind(['{', '}', ';', '<', '>'])
        .map_or(0, |at| at + 1);
    let start = before.rfind("\n\n").map_or(start, |at| start.max(at));
    // A field starts its item, or is the one after its first.
    let start = before.rfind("- ").map_or(start, |at| start.max(at));
    let object = &before[start..];
    let is_letter = |letter: char| letter.is_ascii_alphabetic() || letter == '_';
    let (mut at, mut value_at) = (0, None);
    for word in object.split_inclusive(|letter: char| !is_letter(letter)) {
        let letters = word.trim_end_matches(|letter: char| !is_letter(letter));
        if VALUES
            .iter()
            .any(|value| value.eq_ignore_ascii_case(letters))
        {
            let rest = object[at + letters.len()..].trim_start_matches(['"', '\'', ' ', '\\']);
            let value = rest.strip_prefix(['=', ':']);
            let value = value.map(|value| value.trim_start_matches([' ', '\t']));
            value_at = value.map(|value| object.len() - value.len()).or(value_at);
        }
        at += word.len();
    }
    work::read(object.len());
    let at = value_at?;
    Some(from + start + at)
}
