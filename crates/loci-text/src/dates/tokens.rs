//! Splits a text into the words, numbers and signs of expressions of time.

use super::calendar::Unit;

/// One word, number or sign.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    pub start: usize,
    pub end: usize,
    pub kind: Kind,
    /// True if it starts with a capital letter.
    pub capital: bool,
}

/// The role of a token in an expression of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A number; `digits` is 0 for a number word, `ordinal` distinguishes "7th" from "7".
    Number {
        value: u32,
        digits: usize,
        ordinal: bool,
    },
    /// The month, and true if its name is written in full.
    Month(i8, bool),
    /// The weekday (0 is Monday), and true if its name is written in full.
    Weekday(i8, bool),
    Unit(Unit),
    /// The first month of the season.
    Season(i8),
    /// A word that refers to an unspecific time.
    Vague,
    /// Any other word of the table.
    Word(&'static str),
    /// A sign other than white space; a dash of any length is '-'.
    Sign(char),
    /// A word or number that is part of no expression.
    Other,
}

/// The words of expressions of time, folded and sorted.
const WORDS: &[(&str, Kind)] = &[
    ("a", Kind::Word("a")),
    ("after", Kind::Word("after")),
    ("afternoon", Kind::Vague),
    ("ago", Kind::Vague),
    ("am", Kind::Word("am")),
    ("an", Kind::Word("an")),
    ("and", Kind::Word("and")),
    ("apr", Kind::Month(4, false)),
    ("april", Kind::Month(4, true)),
    ("around", Kind::Word("around")),
    ("aug", Kind::Month(8, false)),
    ("august", Kind::Month(8, true)),
    ("autumn", Kind::Season(9)),
    ("before", Kind::Word("before")),
    ("beginning", Kind::Word("early")),
    ("between", Kind::Word("between")),
    ("by", Kind::Word("by")),
    ("century", Kind::Vague),
    ("coming", Kind::Word("next")),
    ("couple", Kind::Word("few")),
    ("current", Kind::Word("this")),
    ("daily", Kind::Vague),
    ("day", Kind::Unit(Unit::Day)),
    ("days", Kind::Unit(Unit::Day)),
    ("dec", Kind::Month(12, false)),
    ("decade", Kind::Unit(Unit::Decade)),
    ("decades", Kind::Unit(Unit::Decade)),
    ("december", Kind::Month(12, true)),
    ("during", Kind::Word("during")),
    ("each", Kind::Word("every")),
    ("early", Kind::Word("early")),
    ("eight", number(8)),
    ("eleven", number(11)),
    ("end", Kind::Word("end")),
    ("evening", Kind::Vague),
    ("every", Kind::Word("every")),
    ("fall", Kind::Season(9)),
    ("feb", Kind::Month(2, false)),
    ("february", Kind::Month(2, true)),
    ("few", Kind::Word("few")),
    ("five", number(5)),
    ("four", number(4)),
    ("fri", Kind::Weekday(4, false)),
    ("friday", Kind::Weekday(4, true)),
    ("from", Kind::Word("from")),
    ("hour", Kind::Unit(Unit::Short)),
    ("hours", Kind::Unit(Unit::Short)),
    ("in", Kind::Word("in")),
    ("jan", Kind::Month(1, false)),
    ("january", Kind::Month(1, true)),
    ("jul", Kind::Month(7, false)),
    ("july", Kind::Month(7, true)),
    ("jun", Kind::Month(6, false)),
    ("june", Kind::Month(6, true)),
    ("last", Kind::Word("last")),
    ("late", Kind::Word("late")),
    ("lately", Kind::Vague),
    ("mar", Kind::Month(3, false)),
    ("march", Kind::Month(3, true)),
    ("may", Kind::Month(5, true)),
    ("mid", Kind::Word("mid")),
    ("middle", Kind::Word("mid")),
    ("midnight", Kind::Vague),
    ("minute", Kind::Unit(Unit::Short)),
    ("minutes", Kind::Unit(Unit::Short)),
    ("mon", Kind::Weekday(0, false)),
    ("monday", Kind::Weekday(0, true)),
    ("month", Kind::Unit(Unit::Month)),
    ("monthly", Kind::Vague),
    ("months", Kind::Unit(Unit::Month)),
    ("morning", Kind::Vague),
    ("next", Kind::Word("next")),
    ("night", Kind::Word("night")),
    ("nine", number(9)),
    ("noon", Kind::Vague),
    ("nov", Kind::Month(11, false)),
    ("november", Kind::Month(11, true)),
    ("nowadays", Kind::Vague),
    ("oct", Kind::Month(10, false)),
    ("october", Kind::Month(10, true)),
    ("of", Kind::Word("of")),
    ("on", Kind::Word("on")),
    ("one", number(1)),
    ("past", Kind::Word("last")),
    ("pm", Kind::Word("am")),
    ("previous", Kind::Word("last")),
    ("recently", Kind::Vague),
    ("sat", Kind::Weekday(5, false)),
    ("saturday", Kind::Weekday(5, true)),
    ("second", Kind::Unit(Unit::Short)),
    ("seconds", Kind::Unit(Unit::Short)),
    ("sep", Kind::Month(9, false)),
    ("sept", Kind::Month(9, false)),
    ("september", Kind::Month(9, true)),
    ("seven", number(7)),
    ("several", Kind::Word("few")),
    ("since", Kind::Word("since")),
    ("six", number(6)),
    ("some", Kind::Word("few")),
    ("soon", Kind::Vague),
    ("spring", Kind::Season(3)),
    ("summer", Kind::Season(6)),
    ("sun", Kind::Weekday(6, false)),
    ("sunday", Kind::Weekday(6, true)),
    ("ten", number(10)),
    ("the", Kind::Word("the")),
    ("this", Kind::Word("this")),
    ("three", number(3)),
    ("through", Kind::Word("to")),
    ("thu", Kind::Weekday(3, false)),
    ("thursday", Kind::Weekday(3, true)),
    ("till", Kind::Word("to")),
    ("to", Kind::Word("to")),
    ("today", Kind::Word("today")),
    ("tomorrow", Kind::Word("tomorrow")),
    ("tonight", Kind::Word("today")),
    ("tue", Kind::Weekday(1, false)),
    ("tuesday", Kind::Weekday(1, true)),
    ("twelve", number(12)),
    ("two", number(2)),
    ("until", Kind::Word("to")),
    ("wed", Kind::Weekday(2, false)),
    ("wednesday", Kind::Weekday(2, true)),
    ("week", Kind::Unit(Unit::Week)),
    ("weekend", Kind::Unit(Unit::Weekend)),
    ("weekends", Kind::Unit(Unit::Weekend)),
    ("weekly", Kind::Vague),
    ("weeks", Kind::Unit(Unit::Week)),
    ("winter", Kind::Season(12)),
    ("year", Kind::Unit(Unit::Year)),
    ("yearly", Kind::Vague),
    ("years", Kind::Unit(Unit::Year)),
    ("yesterday", Kind::Word("yesterday")),
];
/// The length in bytes of the longest word above.
const WORD_BYTES_MAX: usize = 9;

const fn number(value: u32) -> Kind {
    Kind::Number {
        value,
        digits: 0,
        ordinal: false,
    }
}

/// Returns the tokens of a text; white space is skipped.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::with_capacity(text.len() / 5);
    let mut start = 0;
    while let Some(&byte) = bytes.get(start) {
        let (end, kind) = if byte.is_ascii_digit() {
            number_at(text, start)
        } else if byte.is_ascii_alphabetic() {
            let end = end_of(bytes, start, u8::is_ascii_alphabetic);
            (end, word(&bytes[start..end]))
        } else if byte.is_ascii() {
            (start + 1, Kind::Sign(char::from(byte)))
        } else {
            other_at(text, start)
        };
        if !byte.is_ascii_whitespace() {
            tokens.push(Token {
                start,
                end,
                kind,
                capital: byte.is_ascii_uppercase(),
            });
        }
        start = end;
    }
    tokens
}

fn end_of(bytes: &[u8], start: usize, belongs: impl Fn(&u8) -> bool) -> usize {
    start
        + bytes[start..]
            .iter()
            .take_while(|byte| belongs(byte))
            .count()
}

fn word(word: &[u8]) -> Kind {
    let mut buffer = [0; WORD_BYTES_MAX];
    let Some(folded) = buffer.get_mut(..word.len()) else {
        return Kind::Other;
    };
    folded.copy_from_slice(word);
    folded.make_ascii_lowercase();
    let place = WORDS.binary_search_by(|(word, _)| word.as_bytes().cmp(folded));
    place.map_or(Kind::Other, |place| WORDS[place].1)
}

/// Parses digits with an ordinal suffix or the `s` of a decade. Digits in a longer word (`sha2023`,
/// `5km`) are not a number.
fn number_at(text: &str, start: usize) -> (usize, Kind) {
    let bytes = text.as_bytes();
    let end = end_of(bytes, start, u8::is_ascii_digit);
    let letters = end_of(bytes, end, u8::is_ascii_alphabetic);
    let glued_before = text[..start]
        .chars()
        .next_back()
        .is_some_and(|before| before == '_' || before.is_ascii_alphabetic());
    let Ok(value) = text[start..end].parse() else {
        return (letters, Kind::Other);
    };
    let number = |ordinal| Kind::Number {
        value,
        digits: end - start,
        ordinal,
    };
    let ending = &bytes[end..letters];
    match ending {
        _ if glued_before || bytes.get(letters) == Some(&b'_') => (letters, Kind::Other),
        // The letter before a time of day ends a date.
        b"" | b"T" => (end, number(false)),
        _ if [b"st", b"nd", b"rd", b"th"]
            .iter()
            .any(|ordinal| ending.eq_ignore_ascii_case(*ordinal)) =>
        {
            (letters, number(true))
        }
        b"am" | b"pm" | b"AM" | b"PM" => (letters, Kind::Vague),
        b"s" if value % 10 == 0 && (1900..2100).contains(&value) => (letters, number(true)),
        _ => (letters, Kind::Other),
    }
}

/// Parses a dash, a sign of East Asian dates, or a stretch of other characters beyond ASCII.
fn other_at(text: &str, start: usize) -> (usize, Kind) {
    let rest = &text[start..];
    let single = |character| match character {
        '\u{2010}'..='\u{2015}' => Some(Kind::Sign('-')),
        '年' | '년' => Some(Kind::Sign('年')),
        '月' | '월' => Some(Kind::Sign('月')),
        '日' | '일' | '号' => Some(Kind::Sign('日')),
        _ => None,
    };
    let first = rest.chars().next().unwrap_or_default();
    if let Some(kind) = single(first) {
        return (start + first.len_utf8(), kind);
    }
    let end = rest
        .find(|character: char| character.is_ascii() || single(character).is_some())
        .unwrap_or(rest.len());
    (start + end, Kind::Other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_sorted_and_fits_the_buffer() {
        assert!(WORDS.is_sorted_by_key(|(word, _)| word));
        assert!(WORDS.iter().all(|(word, _)| word.len() <= WORD_BYTES_MAX));
    }
}
