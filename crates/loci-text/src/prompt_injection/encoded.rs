//! Passages of a text that are another text in an encoding.

use std::ops::Range;

use data_encoding::{BASE64_NOPAD, HEXLOWER_PERMISSIVE};

/// The fewest characters of a passage in base64, or in hexadecimal digits.
const CHARACTERS_MIN: usize = 16;
/// The fewest characters of a line from which a passage in base64 goes on in the next line.
const WRAPPED_MIN: usize = 56;
/// The fewest escapes of a line that is read without them.
const ESCAPES_MIN: usize = 4;
/// The most bytes of an escape, e.g. `&#x1d422;`.
const ESCAPE_BYTES_MAX: usize = 10;
/// The names of characters in HTML that stand in texts in the clear.
const NAMED: [(&str, char); 6] = [
    ("&nbsp;", ' '),
    ("&amp;", '&'),
    ("&lt;", '<'),
    ("&gt;", '>'),
    ("&quot;", '"'),
    ("&shy;", '\u{ad}'),
];
/// Words by which a line is known whose letters are moved by 13, or in reverse.
const MOVED: &str = "vafgehpgvba";
const REVERSED: &str = "noitcurtsni";

/// Returns the passages that decode to a text, with what they decode to.
pub(super) fn passages(text: &str) -> Vec<(Range<usize>, String)> {
    let mut passages = base64(text);
    passages.extend(hexadecimal(text));
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let range = at..at + line.len();
        at = range.end;
        passages.extend(unescaped(line).map(|decoded| (range.clone(), decoded)));
        if has(line, MOVED) {
            passages.push((range.clone(), line.chars().map(moved).collect()));
        }
        if has(line, REVERSED) {
            passages.push((range, line.chars().rev().collect()));
        }
    }
    passages
}

fn has(line: &str, word: &str) -> bool {
    let (line, word) = (line.as_bytes(), word.as_bytes());
    line.windows(word.len())
        .any(|part| part.eq_ignore_ascii_case(word))
}

fn moved(character: char) -> char {
    let within = |first: u8, letter: u8| char::from(first + (letter - first + 13) % 26);
    match u8::try_from(character) {
        Ok(letter @ b'a'..=b'z') => within(b'a', letter),
        Ok(letter @ b'A'..=b'Z') => within(b'A', letter),
        _ => character,
    }
}

/// Returns bytes as a text, if most of it can be read. Some programs write two bytes for each letter.
fn readable(bytes: &[u8]) -> Option<String> {
    let bytes: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != 0).collect();
    let text = String::from_utf8_lossy(&bytes);
    let is_odd =
        |one: char| one == char::REPLACEMENT_CHARACTER || one.is_control() && !one.is_whitespace();
    let odd = text.chars().filter(|one| is_odd(*one)).count();
    (odd * 10 <= text.chars().count()).then(|| text.into_owned())
}

fn base64(text: &str) -> Vec<(Range<usize>, String)> {
    let bytes = text.as_bytes();
    let is_digit =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
    let mut passages = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !is_digit(bytes[at]) {
            at += 1;
            continue;
        }
        let start = at;
        let (mut digits, mut line) = (Vec::new(), 0);
        while at < bytes.len() {
            let byte = bytes[at];
            if is_digit(byte) {
                digits.push(match byte {
                    b'-' => b'+',
                    b'_' => b'/',
                    byte => byte,
                });
                line += 1;
            } else if matches!(byte, b'\n' | b'\r') && (line >= WRAPPED_MIN || line == 0) {
                line = 0;
            } else {
                break;
            }
            at += 1;
        }
        digits.truncate(digits.len() / 4 * 4 + [0, 0, 2, 3][digits.len() % 4]);
        if digits.len() < CHARACTERS_MIN {
            continue;
        }
        // The last digits may have bits too many.
        let whole = digits.len() / 4 * 4;
        let decoded = BASE64_NOPAD.decode(&digits);
        let decoded = decoded.or_else(|_| BASE64_NOPAD.decode(&digits[..whole]));
        let decoded = decoded.ok().and_then(|decoded| readable(&decoded));
        passages.extend(decoded.map(|decoded| (start..at, decoded)));
    }
    passages
}

fn hexadecimal(text: &str) -> Vec<(Range<usize>, String)> {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_hexdigit);
    let mut passages = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !is_digit(at) || !is_digit(at + 1) {
            at += 1;
            continue;
        }
        let (start, mut end, mut digits) = (at, at, Vec::new());
        while is_digit(at) && is_digit(at + 1) {
            digits.extend([bytes[at], bytes[at + 1]]);
            end = at + 2;
            at = end + between(&bytes[end..]);
        }
        at = end;
        if digits.len() >= CHARACTERS_MIN {
            let decoded = HEXLOWER_PERMISSIVE.decode(&digits).ok();
            let decoded = decoded.and_then(|decoded| readable(&decoded));
            passages.extend(decoded.map(|decoded| (start..end, decoded)));
        }
    }
    passages
}

/// Returns the bytes of what stands between two bytes in hexadecimal digits.
fn between(bytes: &[u8]) -> usize {
    const MARKS: [&[u8]; 8] = [b"\\x", b"0x", b", 0x", b",0x", b" 0x", b" ", b":", b"-"];
    let found = MARKS.iter().find(|mark| bytes.starts_with(mark));
    found.map_or(0, |mark| mark.len())
}

/// Returns a line without its escapes, if it has several.
fn unescaped(line: &str) -> Option<String> {
    if !line.contains(['%', '&', '\\']) {
        return None;
    }
    // Escapes of a URL stand for bytes, of which several may make a letter.
    let mut decoded: Vec<u8> = Vec::with_capacity(line.len());
    let (mut escapes, mut at) = (0, 0);
    while let Some(character) = line[at..].chars().next() {
        let rest = &line[at..line.floor_char_boundary(at + ESCAPE_BYTES_MAX)];
        let mut buffer = [0; 4];
        if let Some(byte) = percent(rest) {
            decoded.push(byte);
            at += 3;
            escapes += 1;
        } else if let Some((escaped, length)) = escape(rest) {
            decoded.extend(escaped.encode_utf8(&mut buffer).bytes());
            at += length;
            escapes += 1;
        } else {
            decoded.extend(character.encode_utf8(&mut buffer).bytes());
            // The words of a parameter are no part of the address.
            if matches!(character, '=' | '?') {
                decoded.push(b' ');
            }
            at += character.len_utf8();
        }
    }
    (escapes >= ESCAPES_MIN).then(|| String::from_utf8_lossy(&decoded).into_owned())
}

fn percent(rest: &str) -> Option<u8> {
    let digits = rest.strip_prefix('%')?.get(..2)?;
    let is_of_digits = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_of_digits.then(|| u8::from_str_radix(digits, 16).ok())?
}

/// Returns the character of an escape in HTML or in a string of a program, and its bytes.
fn escape(rest: &str) -> Option<(char, usize)> {
    if let Some((name, character)) = NAMED.iter().find(|(name, _)| rest.starts_with(name)) {
        return Some((*character, name.len()));
    }
    let (digits, radix, length) = if let Some(code) = rest.strip_prefix("&#") {
        let end = code.find(';')?;
        match code[..end].strip_prefix(['x', 'X']) {
            Some(digits) => (digits, 16, end + 3),
            None => (&code[..end], 10, end + 3),
        }
    } else if let Some(code) = rest.strip_prefix("\\u{") {
        let end = code.find('}')?;
        (&code[..end], 16, end + 4)
    } else {
        (rest.strip_prefix("\\u")?.get(..4)?, 16, 6)
    };
    let character = char::from_u32(u32::from_str_radix(digits, radix).ok()?)?;
    Some((character, length))
}
