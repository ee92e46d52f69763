//! Values in another field or cell than their names: `name: x`, `value: …`.

use std::ops::Range;

use crate::tables::{NAMING, VALUES};
use crate::value_position::{NEAR_MAX, blanks, has_digit};

/// Returns the place of the next cell of a table, after a cell with the name.
pub fn cell(text: &str, name: &Range<usize>, at: usize) -> Option<usize> {
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
    let value = at + rest + 1;
    is_cell.then(|| value + blanks(bytes, value))
}

/// Returns true if a quoted word is a field with the value of a name: `"name": "x", "value": …`.
pub fn is_field(text: &str, at: usize) -> bool {
    let rest = text[at..].trim_start_matches(['"', '\'', '`']);
    let end = rest
        .find(|next: char| !next.is_ascii_alphabetic() && next != '_')
        .unwrap_or(rest.len());
    let word = &rest[..end];
    VALUES.contains(&word.to_ascii_lowercase().as_str())
        && rest[end..]
            .trim_start_matches(['"', '\'', '`', ' ', '\\'])
            .starts_with([':', '='])
}

/// Returns the place of the value in another field than the name: `name: x`, `value: …`.
pub fn other_field(text: &str, name: &Range<usize>) -> Option<usize> {
    let from = text.floor_char_boundary(name.start.saturating_sub(40));
    let before =
        text[from..name.start].trim_end_matches(['"', '\'', ' ', '=', ':', '>', '(', '\\']);
    if before.len() == name.start - from {
        return None;
    }
    let naming = before
        .rsplit(|letter: char| !letter.is_ascii_alphabetic())
        .next()?;
    if !NAMING.contains(&naming.to_ascii_lowercase().as_str()) {
        return None;
    }
    let window = &text[name.end..text.floor_char_boundary(text.len().min(name.end + NEAR_MAX))];
    if !has_digit(window.as_bytes()) {
        return None;
    }
    let end = window
        .find(['}', ';'])
        .into_iter()
        .chain(window.find("\n\n"))
        .min();
    let window = &window[..end.unwrap_or(window.len())];
    let mut at = 0;
    for word in
        window.split_inclusive(|letter: char| !letter.is_ascii_alphabetic() && letter != '_')
    {
        let letters =
            word.trim_end_matches(|letter: char| !letter.is_ascii_alphabetic() && letter != '_');
        let word_end = at + letters.len();
        at += word.len();
        let lower = letters.to_ascii_lowercase();
        if lower == "name" && naming != "type" {
            return None;
        }
        if VALUES.contains(&lower.as_str()) {
            let rest = &window[word_end..];
            let value = rest.trim_start_matches(['"', '\'', ' ', '\\']);
            if let Some(value) = value.strip_prefix(['=', ':', '>']) {
                let value = value.trim_start_matches([' ', '\t']);
                return Some(name.end + window.len() - value.len());
            }
        }
    }
    None
}
