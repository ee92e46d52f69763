//! Finds the place of the value that a name announces.

use std::ops::Range;

use crate::fields::{cell, is_field, other_field};
use crate::languages;
use crate::sentence::after_blank;
use crate::value_position::{
    BLANKS_MAX, How, NEAR_MAX, SENTENCE_MAX, ValuePosition, after_note, blanks, dash, elements,
    has_digit, matching, next_line, operator,
};

/// Returns the place of the value of a name.
pub fn after(text: &str, name: &Range<usize>) -> Option<ValuePosition> {
    let bytes = text.as_bytes();
    let mut at = name.end + matching(bytes, name.end, 6, |byte| b"\"'`]\\*".contains(&byte));
    let gap = blanks(bytes, at);
    let closers_end = at;
    at += gap;
    // In a sentence, the value has a digit, but for phrases.
    let is_sentence = closers_end == name.end
        && gap > 0
        && bytes.get(at).is_some_and(u8::is_ascii_alphabetic)
        && bytes[name.start] != b'-';
    if is_sentence && !has_digit(&bytes[at..bytes.len().min(at + 2 * SENTENCE_MAX)]) {
        let word = &bytes[name.clone()];
        let phrase = b"phrase";
        if !word
            .windows(phrase.len())
            .any(|part| part.eq_ignore_ascii_case(phrase))
        {
            return None;
        }
    }
    if gap > 0 && bytes.get(at) == Some(&b'(') {
        at = after_note(bytes, at).unwrap_or(at);
    }
    if operator(bytes, at) > 0 {
        return after_operator(text, name, at, at > name.end && gap > 0);
    }
    if bytes.get(at) == Some(&b'<') {
        let here = at + 3 + blanks(bytes, at + 3);
        let is_here_string = bytes[at..].starts_with(b"<<<");
        let end = if is_here_string {
            here
        } else {
            elements(text, at)
        };
        return (end > at).then(|| ValuePosition::new(end, How::Direct));
    }
    // A call or a list, with the value in quotes: `set("api_key", "value")`.
    let is_list = bytes.get(at) == Some(&b',') && bytes[..at].trim_ascii_end().ends_with(b"\"")
        || bytes.get(at) == Some(&b',') && matches!(bytes[at - 1], b'\'' | b'`');
    if is_list || bytes.get(at) == Some(&b'(') {
        let value = at + 1 + matching(bytes, at + 1, BLANKS_MAX, |byte| byte.is_ascii_whitespace());
        if matches!(bytes.get(value), Some(b'"' | b'\'' | b'`')) && !is_field(text, value) {
            return Some(ValuePosition::new(value, How::Direct));
        }
    }
    if let Some(value) = cell(text, name, at) {
        return Some(ValuePosition::new(value, How::Direct));
    }
    let is_word = bytes
        .get(at)
        .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte >= 0x80);
    if (!is_word || closers_end > name.end)
        && let Some(value) = other_field(text, name)
    {
        return Some(ValuePosition::new(value, How::Direct));
    }
    if gap == 0 {
        return None;
    }
    after_blank(text, name, at)
}

fn after_operator(
    text: &str,
    name: &Range<usize>,
    mut at: usize,
    is_spaced: bool,
) -> Option<ValuePosition> {
    let bytes = text.as_bytes();
    // `<password>value</password>` or `<p name="password">value</p>`, but not `a.key > value`.
    if bytes[at] == b'>' && (is_spaced || !is_in_tag(bytes, name.start)) {
        return None;
    }
    // `password: str = "value"`
    if bytes[at] == b':' && operator(bytes, at) == 1 {
        let is_type = |byte: u8| byte.is_ascii_alphanumeric() || b" _&<>[]:'|?.,".contains(&byte);
        let typed = matching(bytes, at + 1, BLANKS_MAX, is_type);
        let end = at + 1 + typed;
        let is_annotated = bytes[end - 1] == b' '
            || matches!(bytes.get(end + 1), Some(b'"' | b'\'' | b'b' | b'r'));
        let word = text.get(at + 1..end).unwrap_or_default().trim();
        if typed > 0
            && bytes.get(end) == Some(&b'=')
            && is_annotated
            && !word.is_empty()
            && !word.ends_with('\'')
        {
            at = end;
        }
    }
    at += operator(bytes, at);
    let end = at;
    at += blanks(bytes, at);
    at += matching(bytes, at, 2, |byte| byte == b'*');
    at += blanks(bytes, at);
    // The type of a value in YAML.
    if bytes[at..].starts_with(b"!!") {
        at += matching(bytes, at, 10, |byte| {
            byte.is_ascii_lowercase() || byte == b'!'
        });
        at += blanks(bytes, at);
    }
    at = elements(text, at);
    let place = next_line(text, at).unwrap_or(ValuePosition::new(at, How::Direct));
    Some(ValuePosition {
        operator_end: end,
        ..place
    })
}

/// Returns true if a name is the name of an element or in the quotes of one of its attributes.
fn is_in_tag(bytes: &[u8], start: usize) -> bool {
    let before = &bytes[start.saturating_sub(NEAR_MAX)..start];
    let Some(open) = before
        .iter()
        .rposition(|byte| matches!(byte, b'<' | b'>' | b'\n'))
    else {
        return false;
    };
    let between = &before[open + 1..];
    before[open] == b'<'
        && (between.is_empty()
            || between.ends_with(b"\"")
            || between.ends_with(b"'")
            || between.ends_with(b":"))
}

/// Returns the place of the value after a name in another language.
pub fn after_foreign(text: &str, name: &Range<usize>) -> Option<ValuePosition> {
    let bytes = text.as_bytes();
    let closers = matching(bytes, name.end, 6, |byte| b"\"'`]\\*".contains(&byte));
    let mut at = name.end + closers;
    at += blanks(bytes, at);
    if bytes.get(at) == Some(&b'(') {
        at = after_note(bytes, at).unwrap_or(at);
    }
    if operator(bytes, at) > 0 {
        return after_operator(text, name, at, at > name.end && bytes[at - 1] == b' ');
    }
    if bytes.get(at) == Some(&b'<') {
        let end = elements(text, at);
        return (end > at).then(|| ValuePosition::new(end, How::Direct));
    }
    if let Some(value) = cell(text, name, at) {
        return Some(ValuePosition::new(value, How::Direct));
    }
    // "das Passwort für den Server ist …"
    let mut word = at;
    for _ in 0..6 {
        let rest = text.get(word..text.floor_char_boundary(text.len().min(word + SENTENCE_MAX)))?;
        if let Some(length) = languages::verb(rest) {
            return Some(ValuePosition::new(word + length, How::Sentence));
        }
        let is_end =
            |letter: char| letter.is_whitespace() || ",;.\u{3002}\u{ff0c}".contains(letter);
        let Some(end) = rest.find(is_end) else { break };
        if rest[..end].ends_with([':', '\u{ff1a}']) {
            let value = word + end;
            return Some(ValuePosition::new(
                value + blanks(bytes, value),
                How::Sentence,
            ));
        }
        let gap = blanks(bytes, word + end);
        if gap == 0 || word + end + gap > at + SENTENCE_MAX {
            break;
        }
        word += end + gap;
    }
    let value = at + dash(bytes, at);
    (at > name.end + closers).then(|| ValuePosition::new(value, How::Blank))
}
