//! Reads the value that is assigned to a name.

use std::ops::Range;

use crate::passwords::is_word_of_sentence;
use crate::random::is_uuid;
use crate::work;

/// Maximum bytes of a value.
const VALUE_MAX: usize = 4096;
/// Maximum bytes of a line before a value that are read for its quotes.
const LINE_MAX: usize = 256;

/// A value in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// Where it is, without its quotes.
    pub range: Range<usize>,
    pub is_quoted: bool,
}

/// Returns the value at this position.
pub fn value(bytes: &[u8], mut at: usize) -> Option<Value> {
    // Prefixes of strings in Python, Rust, C#, SQL and PostgreSQL.
    if matches!(
        bytes.get(at),
        Some(b'b' | b'r' | b'f' | b'u' | b'N' | b'L' | b'E' | b'@' | b'$')
    ) && matches!(bytes.get(at + 1), Some(b'"' | b'\''))
    {
        at += 1;
    }
    if let Some(quote) = typographic_quote(bytes.get(at..)?) {
        let begin = at + quote;
        let rest = &bytes[begin..bytes.len().min(begin + VALUE_MAX)];
        let is_end = |at: &usize| rest[*at] == b'\n' || typographic_quote(&rest[*at..]).is_some();
        let end = (0..rest.len()).find(is_end);
        work::read(end.unwrap_or(rest.len()));
        if let Some(length) = end.filter(|end| rest[*end] != b'\n') {
            return Some(Value {
                range: begin..begin + length,
                is_quoted: true,
            });
        }
        return unquoted(rest, begin);
    }
    let quotes = bytes
        .get(at..)?
        .iter()
        .take(8)
        .take_while(|byte| matches!(byte, b'"' | b'\'' | b'`' | b'\\'))
        .count();
    let begin = at + quotes;
    let rest = &bytes[begin..bytes.len().min(begin + VALUE_MAX)];
    if quotes > 0 {
        let quote = bytes[begin - 1];
        let opening = &bytes[at..begin - 1];
        let escapes = opening
            .iter()
            .rev()
            .take_while(|byte| **byte == b'\\')
            .count();
        if let Some(length) = quoted(rest, quote, escapes) {
            let range = begin..begin + length;
            return Some(Value {
                range,
                is_quoted: true,
            });
        }
        // A value that is cut off has no second quote.
        return unquoted(rest, begin).filter(|_| quote != b'\\' || quotes == 1);
    }
    unquoted(rest, begin)
}

/// Returns the length of a value until its quote, which has no more backslashes than the first.
fn quoted(rest: &[u8], quote: u8, escapes: usize) -> Option<usize> {
    let mut at = 0;
    while at < rest.len() {
        match rest[at] {
            b'\n' => break,
            b'\\' => {
                let slashes = rest[at..].iter().take_while(|byte| **byte == b'\\').count();
                let is_quote = rest.get(at + slashes) == Some(&quote);
                if is_quote && (slashes <= escapes || (escapes == 0 && slashes % 2 == 0)) {
                    work::read(at);
                    return Some(if slashes <= escapes { at } else { at + slashes });
                }
                // A line of text that ends within the value: the quote is of something else.
                at += slashes + usize::from(is_quote);
            }
            byte if byte == quote => {
                work::read(at);
                return Some(at);
            }
            _ => at += 1,
        }
    }
    work::read(at);
    None
}

/// Returns the bytes of a quote of books, as in „word“, “word”, ‘word’, «word» and ‹word›.
const fn typographic_quote(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [0xc2, 0xab | 0xbb, ..] => Some(2),
        [0xe2, 0x80, 0x98..=0x9f | 0xb9 | 0xba, ..] => Some(3),
        _ => None,
    }
}

fn unquoted(rest: &[u8], begin: usize) -> Option<Value> {
    let (mut length, mut open) = (0, 0_usize);
    while length < rest.len() {
        let next = rest.get(length + 1).copied();
        let is_last =
            next.is_none_or(|next| next.is_ascii_whitespace() || b"\"'`,;)]}<|\\".contains(&next));
        let is_end = match rest[length] {
            byte if byte.is_ascii_whitespace() || byte.is_ascii_control() => true,
            b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b'|' => true,
            b')' | b']' | b'}' if open == 0 => true,
            b'.' | b':' => is_last,
            b'&' if crate::escapes::entity(&rest[length + 1..]).is_some() => true,
            b'%' if is_separator_escape(&rest[length + 1..]) => true,
            0xe2 if is_without_width(&rest[length..]) => true,
            0xc2 | 0xe2 if typographic_quote(&rest[length..]).is_some() => true,
            b'&' if next == Some(b'&') => true,
            b',' | b';' | b'&' => is_last || begins_assignment(&rest[length + 1..]),
            // Signs of Chinese and Japanese sentences, and blanks of other widths.
            // The marks of a terminal or a page after the value.
            b'[' if crate::escapes::colour(&rest[length + 1..]).is_some() => true,
            0xe3 if rest[length..].starts_with(b"\xe3\x80") => true,
            // Words of these languages follow without a blank.
            0xe3..=0xed if length > 0 && rest[..length].is_ascii() => true,
            0xef => matches!(
                rest.get(length + 1..length + 3),
                Some(b"\xbc\x8c" | b"\xbc\x9b" | b"\xbc\x81" | b"\xbc\x89")
            ),
            0xc2 => next == Some(0xa0),
            _ => false,
        };
        if is_end {
            break;
        }
        match rest[length] {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open -= 1,
            _ => {}
        }
        length += 1;
    }
    work::read(length);
    let range = begin..begin + length;
    (length > 0).then_some(Value {
        range,
        is_quoted: false,
    })
}

/// Returns true if a value of an address ends with these digits after a percent sign: of a line feed, a
/// blank, a quote, an ampersand, a semicolon or a bracket.
fn is_separator_escape(rest: &[u8]) -> bool {
    const DIGITS: &[&[u8]] = &[
        b"0a", b"0d", b"20", b"22", b"26", b"27", b"3b", b"3c", b"3e",
    ];
    let digits = rest.get(..2).unwrap_or_default();
    DIGITS
        .iter()
        .any(|known| digits.eq_ignore_ascii_case(known))
}

/// Returns true if a character without width is here.
fn is_without_width(rest: &[u8]) -> bool {
    matches!(rest, [0xe2, 0x80, 0x8b..=0x8f, ..] | [0xe2, 0x81, 0xa0, ..])
}

/// Returns the end of a value without quotes that goes on after a character that mostly ends one:
/// `aB3"xY7`, unless that quote was opened before.
pub fn whole_end(bytes: &[u8], value: &Value) -> usize {
    let end = value.range.end;
    let goes_on = |at: usize| bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric);
    let is_within = match bytes.get(end) {
        Some(quote @ (b'"' | b'\'' | b'`')) if !value.is_quoted && goes_on(end) => {
            let before = &bytes[end.saturating_sub(LINE_MAX)..value.range.start];
            let line = before
                .rsplit(|byte| *byte == b'\n')
                .next()
                .unwrap_or_default();
            line.split(|byte| byte == quote).count() % 2 == 1
        }
        Some(b'|' | b'>' | b')' | b']' | b'}') if !value.is_quoted => goes_on(end),
        _ => false,
    };
    if !is_within {
        return end;
    }
    let is_end = |byte: &u8| {
        byte.is_ascii_whitespace() || byte.is_ascii_control() || b"\"'`<>|\\,;)]}".contains(byte)
    };
    let rest = &bytes[end + 1..bytes.len().min(end + 1 + LINE_MAX)];
    end + 1 + rest.iter().position(is_end).unwrap_or(rest.len())
}

/// Returns true if the text continues with `name=` or `name:`.
fn begins_assignment(rest: &[u8]) -> bool {
    let name = rest
        .iter()
        .take(40)
        .take_while(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b' ' | b'.')
        })
        .count();
    work::read(name);
    name > 0 && matches!(rest.get(name), Some(b'=' | b':'))
}

/// Returns true if nothing follows a value on its line but quotes and separators.
pub fn is_alone(bytes: &[u8], end: usize) -> bool {
    let rest = &bytes[end..bytes.len().min(end + 16)];
    let is_closing = |byte: &&u8| {
        matches!(
            byte,
            b'"' | b'\'' | b'`' | b',' | b';' | b')' | b' ' | b'\r' | b'\t'
        )
    };
    matches!(
        rest.iter().find(|byte| !is_closing(byte)),
        None | Some(b'\n' | b'<')
    )
}

/// Returns the words of a phrase at this position: at least `min` words of lower case, separated by
/// blanks, commas or their numbers.
pub fn phrase(text: &str, at: usize, min: usize) -> Option<Range<usize>> {
    const WORDS_MAX: usize = 32;
    let rest = text.get(at..)?;
    let begin = at + rest.len()
        - rest
            .trim_start_matches(['"', '\'', '`', ' ', '[', '\\'])
            .len();
    let (mut end, mut words, mut place) = (begin, 0, begin);
    let bytes = text.as_bytes();
    while words < WORDS_MAX {
        let number = bytes[place..]
            .iter()
            .take(2)
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let is_number = number > 0 && matches!(bytes.get(place + number), Some(b'.' | b')' | b':'));
        if is_number {
            place += number + 1;
            place += bytes[place..]
                .iter()
                .take(2)
                .take_while(|byte| **byte == b' ')
                .count();
        }
        let letters = bytes[place..]
            .iter()
            .take(12)
            .take_while(|byte| byte.is_ascii_lowercase())
            .count();
        let word = &text[place..place + letters];
        if letters < 3 || is_word_of_sentence(word) {
            break;
        }
        words += 1;
        end = place + letters;
        let is_separator = |byte: &&u8| matches!(byte, b' ' | b',' | b'-' | b'"' | b'\'' | b'\n');
        let separators = bytes[end..].iter().take(4).take_while(is_separator).count();
        let is_line = bytes[end..end + separators].contains(&b'\n');
        if separators == 0
            || (is_line && !bytes.get(end + separators).is_some_and(u8::is_ascii_digit))
        {
            break;
        }
        place = end + separators;
    }
    work::read(end - begin);
    let is_end = bytes.get(end).is_none_or(|next| {
        !next.is_ascii_alphanumeric() && !matches!(next, b'_' | b'(' | b':' | b'=')
    });
    (words >= min && is_end).then_some(begin..end)
}

/// Returns the password of `user:password`, `user / password` or `user password` at this position.
pub fn pair(text: &str, at: usize) -> Option<Value> {
    let rest = text
        .get(at..)?
        .trim_start_matches(['"', '\'', '`', ' ', '\\']);
    let begin = text.len() - rest.len();
    let is_user =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'@');
    let user = rest.bytes().take(64).take_while(is_user).count();
    let rest = &text[begin + user..];
    let separated = rest.trim_start_matches(['"', '\'', '`', ' ']);
    let password = separated
        .strip_prefix([':', '/', ','])?
        .trim_start_matches([' ', '"', '\'', '`']);
    if user == 0 || is_uuid(&text.as_bytes()[begin..begin + user]) || password.starts_with('/') {
        return None;
    }
    value(text.as_bytes(), text.len() - password.len())
}
