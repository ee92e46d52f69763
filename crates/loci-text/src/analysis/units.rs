//! Splits a text into units, the smallest stretches that are analysed in the same way in any
//! context. Code that compares texts word by word (a quoted phrase) must split them in the same
//! way.

use super::fold::{is_unspaced, is_word_character};

/// A unit of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit<'a> {
    /// Letters and digits, with apostrophes between letters (`don't`) and commas between groups of
    /// three digits (`1,000`).
    Word(&'a str),
    /// Characters of scripts without spaces.
    Run(&'a str),
}

impl<'a> Unit<'a> {
    pub(crate) fn text(self) -> &'a str {
        match self {
            Unit::Word(text) | Unit::Run(text) => text,
        }
    }
}

/// Returns the units of a width-folded text and the bytes at which they start.
pub(crate) fn units(text: &str) -> impl Iterator<Item = (usize, Unit<'_>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].find(is_word_character)?;
        let rest = &text[start..];
        let first = rest.chars().next()?;
        let unit = if is_unspaced(first) {
            let belongs = |character| {
                is_word_character(character) && (is_unspaced(character) || is_mark(character))
            };
            Unit::Run(
                &rest[..rest
                    .find(|character| !belongs(character))
                    .unwrap_or(rest.len())],
            )
        } else {
            Unit::Word(&rest[..word_end(rest)])
        };
        at = start + unit.text().len();
        Some((start, unit))
    })
}

/// Returns true for marks, which belong to the character before them.
fn is_mark(character: char) -> bool {
    !character.is_ascii() && !character.is_alphanumeric()
}

fn word_end(text: &str) -> usize {
    let mut before = ' ';
    for (at, character) in text.char_indices() {
        let belongs = match character {
            '\'' | '\u{2019}' => {
                let after = text[at + character.len_utf8()..].chars().next();
                before.is_alphabetic()
                    && after.is_some_and(|after| after.is_alphabetic() && !is_unspaced(after))
            }
            // The letter between a date and a time of day.
            'T' if at > 1 && is_two_digits(&text.as_bytes()[at - 2..]) => {
                !is_two_digits(&text.as_bytes()[at + 1..])
            }
            ',' => before.is_ascii_digit() && is_group_of_digits(&text.as_bytes()[at + 1..]),
            _ => is_word_character(character) && !is_unspaced(character),
        };
        if !belongs {
            return at;
        }
        before = character;
    }
    text.len()
}

fn is_two_digits(bytes: &[u8]) -> bool {
    bytes.len() >= 2 && bytes[..2].iter().all(u8::is_ascii_digit)
}

/// Returns true for exactly three digits.
fn is_group_of_digits(bytes: &[u8]) -> bool {
    bytes.len() >= 3
        && bytes[..3].iter().all(u8::is_ascii_digit)
        && !bytes.get(3).is_some_and(u8::is_ascii_digit)
}

/// Splits a word where lower case turns to upper case (`camelCase`, `HTTPServer`) and between
/// letters and digits (`sha256`, `utf8String`). A word in which letters and digits alternate
/// (hashes, `k8s`) stays whole; the prefix of hexadecimal numbers (`0x`) or versions (`v`) and the
/// suffix of an ordinal (`7th`) are removed.
pub(super) fn parts(word: &str) -> Vec<&str> {
    let bytes = word.as_bytes();
    let digits = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if let Some(number) = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"))
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_hexdigit())
    {
        return vec![number];
    }
    if let Some(version) = word.strip_prefix(['v', 'V'])
        && !version.is_empty()
        && version.bytes().all(|byte| byte.is_ascii_digit())
    {
        return vec![version];
    }
    if digits > 0
        && ["st", "nd", "rd", "th"]
            .iter()
            .any(|ending| bytes[digits..].eq_ignore_ascii_case(ending.as_bytes()))
    {
        return vec![&word[..digits]];
    }
    let borders = borders(word);
    let digit_borders = borders
        .iter()
        .filter(|(_, is_digit_border)| *is_digit_border)
        .count();
    let is_mixed_case = word.contains(char::is_uppercase) && word.contains(char::is_lowercase);
    let is_hash = digit_borders > 1 && bytes.iter().all(u8::is_ascii_hexdigit);
    if digit_borders > 2 || digit_borders == 2 && (is_hash || !is_mixed_case) {
        return vec![word];
    }
    let ends = borders.iter().map(|(at, _)| *at).chain([word.len()]);
    let starts = std::iter::once(0).chain(borders.iter().map(|(at, _)| *at));
    starts
        .zip(ends)
        .map(|(start, end)| &word[start..end])
        .collect()
}

/// Returns the bytes before which a part starts, and true where letters meet digits.
fn borders(word: &str) -> Vec<(usize, bool)> {
    let kind = |character: char| (character.is_numeric(), character.is_uppercase());
    let mut borders = Vec::new();
    let mut characters = word.char_indices().peekable();
    let Some((_, mut before)) = characters.next() else {
        return borders;
    };
    while let Some((at, here)) = characters.next() {
        let next_is_lower = characters
            .peek()
            .is_some_and(|(_, next)| next.is_lowercase());
        let ((digit_before, upper_before), (digit, upper)) = (kind(before), kind(here));
        if digit_before != digit && here != ',' && before != ',' {
            borders.push((at, true));
        } else if !digit
            && upper
            && (!upper_before && before.is_alphabetic() || upper_before && next_is_lower)
        {
            borders.push((at, false));
        }
        before = here;
    }
    borders
}
