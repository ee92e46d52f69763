//! Values that follow their names after a blank only: of options, in files of logins, in sentences.

use std::ops::Range;

use crate::tables::{ADVERBS, COMMANDS, VERBS};
use crate::value_position::{
    How, SENTENCE_MAX, ValuePosition, blanks, dash, has_digit, matching, next_line, operator,
};

/// Returns the place of a value after a blank: of an option, in a file of logins, in a sentence.
pub fn after_blank(text: &str, name: &Range<usize>, at: usize) -> Option<ValuePosition> {
    let bytes = text.as_bytes();
    let word = &text[name.clone()];
    let before = name.start.checked_sub(1).map(|place| bytes[place]);
    let is_option = word.starts_with("--")
        || (word.starts_with('-')
            && word.len() > 4
            && before.is_some_and(|before| b" \t\"'".contains(&before)));
    if is_option {
        return Some(ValuePosition::new(at, How::Direct));
    }
    // `machine host login name password value`, on one or several lines.
    if word.eq_ignore_ascii_case("password") {
        let before = &bytes[name.start.saturating_sub(200)..name.start];
        if before.windows(6).any(|window| window == b"login ") {
            return Some(ValuePosition::new(at, How::Direct));
        }
    }
    if is_command(text, name) {
        return Some(ValuePosition::new(at, How::Direct));
    }
    let at = at + dash(bytes, at);
    let rest = &bytes[at..bytes.len().min(at + 64)];
    let length = rest
        .iter()
        .position(u8::is_ascii_whitespace)
        .unwrap_or(rest.len());
    if rest[..length].iter().any(u8::is_ascii_digit) {
        return Some(ValuePosition::new(at, How::Blank));
    }
    let value = sentence(text, at)?;
    Some(next_line(text, value).unwrap_or(ValuePosition::new(value, How::Sentence)))
}

/// Returns true if a name is in a command or a line that sets it: `ENV NAME value`.
fn is_command(text: &str, name: &Range<usize>) -> bool {
    let from = text.floor_char_boundary(name.start.saturating_sub(48));
    let before = text[from..name.start]
        .strip_suffix([' ', '\t'])
        .unwrap_or_default();
    let word = before
        .rsplit(|letter: char| letter.is_whitespace() || letter == '`')
        .next()
        .unwrap_or_default();
    COMMANDS
        .iter()
        .any(|command| word.eq_ignore_ascii_case(command))
        || (text[name.clone()].eq_ignore_ascii_case("requirepass") && before.is_empty())
}

/// Returns the place of a value after a verb, at most some words further: "for the cluster is".
pub fn sentence(text: &str, mut at: usize) -> Option<usize> {
    const WORDS_MAX: usize = 7;
    let bytes = text.as_bytes();
    let limit = bytes.len().min(at + SENTENCE_MAX);
    let word_end = |at: usize| {
        at + matching(bytes, at, limit.saturating_sub(at), |byte| {
            byte.is_ascii_alphanumeric() || byte >= 0x80 || b"_'-/.@=".contains(&byte)
        })
    };
    for _ in 0..WORDS_MAX {
        let end = word_end(at);
        let word = text.get(at..end)?;
        if end == at || end >= limit {
            return None;
        }
        if word == "set" || word == "changed" || VERBS.contains(&word) {
            let mut value = end + blanks(bytes, end);
            while let Some(adverb) = text
                .get(value..word_end(value))
                .filter(|word| ADVERBS.contains(word))
            {
                value += adverb.len() + blanks(bytes, value + adverb.len());
            }
            value += operator(bytes, value);
            return Some(value + blanks(bytes, value));
        }
        if operator(bytes, end) == 1 && bytes[end] == b':' {
            return Some(end + 1 + blanks(bytes, end + 1));
        }
        let gap = blanks(bytes, end);
        if gap == 0 {
            return None;
        }
        at = end + gap;
    }
    None
}

/// Returns the word before a name that the text calls so: "use … as the password".
pub fn before(text: &str, name: &Range<usize>) -> Option<Range<usize>> {
    const LINKS: &[&str] = &[
        " as the ",
        " as ",
        " as a ",
        " as our ",
        " as my ",
        " as your ",
        " is the ",
        " is my ",
        " is our ",
    ];
    let from = text.floor_char_boundary(name.start.saturating_sub(96));
    let before = &text[from..name.start];
    if !has_digit(before.as_bytes()) {
        return None;
    }
    let value = LINKS.iter().find_map(|link| before.strip_suffix(link))?;
    let value = value.trim_end_matches(['"', '\'', '`']);
    let start =
        value.rfind(|letter: char| letter.is_ascii_whitespace() || "\"'`(".contains(letter))? + 1;
    Some(from + start..from + value.len())
}
