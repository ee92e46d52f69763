//! Finds the place of the value that a name announces.

use std::ops::Range;

use crate::fields::{cell, is_field, nested_field, other_field};
use crate::languages;
use crate::lines::{has_sign, is_end_of_line, is_title};
use crate::sentence::{after_blank, is_after_user, next_sentence, uncertain};
use crate::value_position::{
    Announcement, BLANKS_MAX, NEAR_MAX, SENTENCE_MAX, ValuePosition, after_emphasis, after_note,
    after_number, blanks, dash, elements, matching, next_line, operator,
};

/// Returns the place of the value of a name.
pub fn after(text: &str, name: &Range<usize>) -> Option<ValuePosition> {
    let bytes = text.as_bytes();
    let mut at = name.end + matching(bytes, name.end, 6, |byte| b"\"'`]\\*_".contains(&byte));
    at += end_mark(bytes, at);
    let gap = blanks(bytes, at);
    let closers_end = at;
    at += gap;
    // In a sentence, the value has a digit, but for phrases.
    let is_sentence = closers_end == name.end
        && gap > 0
        && bytes.get(at).is_some_and(u8::is_ascii_alphabetic)
        && bytes[name.start] != b'-';
    if matches!(bytes.get(name.end), Some(b'.' | b','))
        && let Some(place) = next_sentence(text, name.end)
    {
        return Some(place);
    }
    if gap == 0 && bytes.get(at).is_some_and(|byte| *byte >= 0x80) && operator(bytes, at) == 0 {
        let rest = &text[at..text.floor_char_boundary(text.len().min(at + SENTENCE_MAX))];
        let length = languages::verb(rest)?;
        return Some(ValuePosition::new(at + length, Announcement::Sentence));
    }
    if is_sentence
        && !has_sign(&bytes[at..bytes.len().min(at + 2 * SENTENCE_MAX)])
        && !text[name.clone()].to_ascii_lowercase().contains("phrase")
    {
        return None;
    }
    let noted = (gap > 0 && bytes.get(at) == Some(&b'('))
        .then(|| after_note(bytes, at))
        .flatten();
    at = noted.unwrap_or(at);
    if gap > 0 {
        at = after_number(bytes, at).unwrap_or(at);
    }
    if operator(bytes, at) > 0 {
        return after_operator(text, name, at, at > name.end && gap > 0);
    }
    if is_end_of_line(bytes, at) && is_title(text, name) {
        return next_line(text, at);
    }
    if let Some(value) = in_tag(text, name, closers_end) {
        return Some(ValuePosition::new(value, Announcement::Direct));
    }
    if bytes.get(at) == Some(&b'<')
        && let Some(place) = after_bracket(text, at, gap > 0)
    {
        return Some(place);
    }
    if let Some(value) = in_list(text, at) {
        return Some(ValuePosition::new(value, Announcement::Direct));
    }
    if let Some(place) = cell(text, name, at) {
        return Some(place);
    }
    let is_word = bytes
        .get(at)
        .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte >= 0x80);
    if (!is_word || closers_end > name.end)
        && let Some(value) = other_field(text, name)
    {
        return Some(ValuePosition::new(value, Announcement::Direct));
    }
    if gap == 0 && noted.is_none() {
        return None;
    }
    after_blank(text, name, at, closers_end > name.end)
}

/// Returns the place of the value after an element that ends, after `<<<`, or between `<` and `>`.
fn after_bracket(text: &str, at: usize, is_spaced: bool) -> Option<ValuePosition> {
    let bytes = text.as_bytes();
    if bytes[at..].starts_with(b"<<<") {
        let value = at + 3 + blanks(bytes, at + 3);
        return Some(ValuePosition::new(value, Announcement::Direct));
    }
    let end = elements(text, at);
    if end == at {
        let place = ValuePosition::new(at + 1, uncertain(bytes, at + 1));
        return is_spaced.then_some(place);
    }
    let end = end + blanks(bytes, end);
    let end = elements(text, end + operator(bytes, end));
    let end = end + blanks(bytes, end);
    let place = next_line(text, end);
    Some(place.unwrap_or(ValuePosition::new(end, Announcement::Direct)))
}

/// Returns the place of a value in quotes in a call or a list: `set("api_key", "value")`.
fn in_list(text: &str, at: usize) -> Option<usize> {
    const NAMED: &[&str] = &["default=", "value=", "default: ", "value: "];
    let bytes = text.as_bytes();
    let is_list = bytes.get(at) == Some(&b',')
        && (bytes[..at].trim_ascii_end().ends_with(b"\"") || matches!(bytes[at - 1], b'\'' | b'`'));
    if !is_list && bytes.get(at) != Some(&b'(') {
        return None;
    }
    let value = at + 1 + matching(bytes, at + 1, BLANKS_MAX, |byte| byte.is_ascii_whitespace());
    let is_here = |word: &&&str| bytes[value..].starts_with(word.as_bytes());
    let value = value + NAMED.iter().find(is_here).map_or(0, |word| word.len());
    let is_quoted = matches!(bytes.get(value), Some(b'"' | b'\'' | b'`'));
    (is_quoted && !is_field(text, value)).then_some(value)
}

/// Returns the bytes of the mark of a forum that ends bold text: `[/b]`.
fn end_mark(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at..).unwrap_or_default() {
        [b'[', b'/', _, b']', ..] => 4,
        _ => 0,
    }
}

/// Returns the place of the value of an element that the name is the name of, after its attributes or
/// in one of them: `<apiKey type="text">value</apiKey>`, `<password value="…"/>`.
fn in_tag(text: &str, name: &Range<usize>, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    if at != name.end || !bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
        return None;
    }
    let before = &bytes[name.start.saturating_sub(24)..name.start];
    let prefix = before.rsplit(|byte| *byte == b'<').next()?;
    let is_prefix = prefix.is_empty()
        || (prefix.ends_with(b":")
            && prefix[..prefix.len() - 1]
                .iter()
                .all(u8::is_ascii_alphanumeric));
    if !is_prefix || prefix.len() == before.len() {
        return None;
    }
    let rest = &text[at..text.floor_char_boundary(text.len().min(at + NEAR_MAX))];
    let tag = &rest[..rest.find('<').unwrap_or(rest.len())];
    for attribute in [
        " value=",
        " val=",
        ":value=",
        ":val=",
        " content=",
        " text=",
    ] {
        if let Some(value) = tag.find(attribute) {
            return Some(at + value + attribute.len());
        }
    }
    let end = tag.find('>').filter(|end| !tag[..*end].ends_with('/'))?;
    Some(elements(text, at + end + 1))
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
    at = after_emphasis(bytes, at);
    at += blanks(bytes, at);
    // The type of a value in YAML.
    if bytes[at..].starts_with(b"!!") {
        at += matching(bytes, at, 10, |byte| {
            byte.is_ascii_lowercase() || byte == b'!'
        });
        at += blanks(bytes, at);
    }
    at = elements(text, at);
    at += blanks(bytes, at);
    if let Some(value) = nested_field(text, at) {
        return Some(ValuePosition {
            operator_end: end,
            ..ValuePosition::new(value, Announcement::Direct)
        });
    }
    let place = next_line(text, at).unwrap_or(ValuePosition::new(at, Announcement::Direct));
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
    if bytes.get(at) == Some(&b'(')
        && let Some(end) = after_note(bytes, at)
        && operator(bytes, end) > 0
    {
        at = end;
    }
    if is_end_of_line(bytes, at) && is_title(text, name) {
        return next_line(text, at);
    }
    if operator(bytes, at) > 0 {
        return after_operator(text, name, at, at > name.end && bytes[at - 1] == b' ');
    }
    if let Some(value) = in_tag(text, name, name.end + closers) {
        return Some(ValuePosition::new(value, Announcement::Direct));
    }
    if bytes.get(at) == Some(&b'<') {
        return after_bracket(text, at, false);
    }
    if let Some(place) = cell(text, name, at) {
        return Some(place);
    }
    if closers > 0
        && let Some(value) = other_field(text, name)
    {
        return Some(ValuePosition::new(value, Announcement::Direct));
    }
    if at > name.end && is_after_user(text, name) {
        return Some(ValuePosition::new(at, Announcement::Direct));
    }
    // "das Passwort für den Server ist …"
    let mut word = at;
    for _ in 0..6 {
        let rest = text.get(word..text.floor_char_boundary(text.len().min(word + SENTENCE_MAX)))?;
        if let Some(length) = languages::verb(rest) {
            return Some(ValuePosition::new(word + length, Announcement::Sentence));
        }
        let is_end =
            |letter: char| letter.is_whitespace() || ",;.\u{3002}\u{ff0c}".contains(letter);
        let Some(end) = rest.find(is_end) else { break };
        if rest[..end].ends_with([':', '\u{ff1a}']) {
            let value = word + end;
            return Some(ValuePosition::new(
                value + blanks(bytes, value),
                Announcement::Sentence,
            ));
        }
        let gap = blanks(bytes, word + end);
        if gap == 0 || word + end + gap > at + SENTENCE_MAX {
            break;
        }
        word += end + gap;
    }
    let value = at + dash(bytes, at);
    (at > name.end + closers).then(|| ValuePosition::new(value, Announcement::Blank))
}
