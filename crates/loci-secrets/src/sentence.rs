//! Values that follow their names after a blank only: of options, in files of logins, in sentences.

use std::ops::Range;

use crate::languages;
use crate::lines::{is_last, is_title};
use crate::random::is_uuid;
use crate::tables::{ADVERBS, COMMANDS, FLAGS, SETTING_VERBS, VERBS};
use crate::value_position::{
    Announcement, SENTENCE_MAX, ValuePosition, blanks, dash, has_digit, matching, next_line,
    operator,
};

/// Returns the place of a value after a blank: of an option, in a file of logins, in a sentence.
/// `is_marked` says that the name is in quotes, backticks or bold.
pub fn after_blank(
    text: &str,
    name: &Range<usize>,
    at: usize,
    is_marked: bool,
) -> Option<ValuePosition> {
    let bytes = text.as_bytes();
    if let Some(value) = after_flag(text, at) {
        return Some(ValuePosition::new(value, Announcement::Direct));
    }
    let word = &text[name.clone()];
    let before = name.start.checked_sub(1).map(|place| bytes[place]);
    let is_option = word.starts_with("--")
        || (word.starts_with('-')
            && word.len() > 4
            && before.is_some_and(|before| b" \t\"'".contains(&before)));
    if is_option {
        return Some(ValuePosition::new(at, Announcement::Direct));
    }
    // `machine host login name password value`, on one or several lines.
    if word.eq_ignore_ascii_case("password") {
        let before = &bytes[name.start.saturating_sub(200)..name.start];
        if before.windows(6).any(|window| window == b"login ") || is_after_user(text, name) {
            return Some(ValuePosition::new(at, Announcement::Direct));
        }
    }
    if is_command(text, name) {
        return Some(ValuePosition::new(at, Announcement::Direct));
    }
    if let Some(value) = set_to(text, name, at) {
        return Some(ValuePosition::new(value, Announcement::Sentence));
    }
    if is_entry(text, name, at) || (is_marked && is_title(text, name) && is_last(text, at)) {
        return Some(ValuePosition::new(at, Announcement::Entry));
    }
    let adverb = adverb(text, at);
    if adverb > 0 {
        return Some(ValuePosition::new(at + adverb, Announcement::Sentence));
    }
    let dash = dash(bytes, at);
    let at = at + dash;
    let rest = &bytes[at..bytes.len().min(at + 64)];
    let length = rest
        .iter()
        .position(u8::is_ascii_whitespace)
        .unwrap_or(rest.len());
    if rest[..length].iter().any(u8::is_ascii_digit) || is_long_quotation(&rest[..length]) {
        let how = if dash > 0 {
            uncertain(bytes, at)
        } else {
            Announcement::Blank
        };
        return Some(ValuePosition::new(at, how));
    }
    if bytes.get(at).is_some_and(|byte| *byte >= 0x80)
        && let rest = &text[at..text.floor_char_boundary(text.len().min(at + SENTENCE_MAX))]
        && let Some(length) = languages::verb(rest)
    {
        return Some(ValuePosition::new(at + length, Announcement::Sentence));
    }
    if let Some(value) = modal(text, at) {
        return Some(ValuePosition::new(value, Announcement::Blank));
    }
    let value = sentence(text, at)?;
    Some(next_line(text, value).unwrap_or(ValuePosition::new(value, Announcement::Sentence)))
}

/// Returns the place of the value after a verb that also says what a secret must be like.
fn modal(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    [
        "would be ",
        "will be ",
        "should be ",
        "must be ",
        "can be ",
        "has to be ",
    ]
    .iter()
    .find(|verb| rest.starts_with(**verb))
    .map(|verb| at + verb.len())
}

/// Returns the place of the value in the next sentence: "my token. It's …".
pub fn next_sentence(text: &str, at: usize) -> Option<ValuePosition> {
    const BEGINNINGS: &[&str] = &[
        ". It's ",
        ". It is ",
        ", it's ",
        ", it is ",
        ". It\u{2019}s ",
        ", it\u{2019}s ",
        ". Here it is: ",
        ", here it is: ",
        ". Es ist ",
        ", es ist ",
        ". Er lautet ",
        ". Es lautet ",
    ];
    let rest = text.get(at..)?;
    let beginning = BEGINNINGS
        .iter()
        .find(|beginning| rest.starts_with(**beginning))?;
    Some(ValuePosition::new(
        at + beginning.len(),
        Announcement::Sentence,
    ))
}

/// Returns how a name announces a value after a sign that could also be that of a sentence: a UUID is a
/// value.
pub fn uncertain(bytes: &[u8], at: usize) -> Announcement {
    const UUID: usize = 36;
    match bytes.get(at..at + UUID) {
        Some(word) if is_uuid(word) => Announcement::Sentence,
        _ => Announcement::Blank,
    }
}

/// Returns true for a word in quotes that is as long as a key.
fn is_long_quotation(word: &[u8]) -> bool {
    const LONG_MIN: usize = 16;
    word.len() > LONG_MIN && matches!(word.first(), Some(b'"' | b'\'' | b'`'))
}

/// Returns true if the word "user" or the like and a name stand before: `user ann password …`.
pub fn is_after_user(text: &str, name: &Range<usize>) -> bool {
    const USERS: &[&str] = &[
        "user",
        "username",
        "login",
        "account",
        "benutzer",
        "benutzername",
        "utilisateur",
        "usuario",
        "utente",
        "gebruiker",
    ];
    let from = text.floor_char_boundary(name.start.saturating_sub(80));
    let mut words = text[from..name.start].split_ascii_whitespace().rev();
    let is_name = words.next().is_some_and(|word| word.len() > 1);
    let user = words
        .next()
        .unwrap_or_default()
        .trim_end_matches([':', '=']);
    is_name && USERS.iter().any(|known| known.eq_ignore_ascii_case(user))
}

/// Returns the place of the value of an option that says nothing else: `--value …`.
fn after_flag(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?.strip_prefix("--")?;
    let length = rest.find([' ', '='])?;
    FLAGS
        .contains(&&rest[..length])
        .then_some(at + 2 + length + 1)
}

/// Returns the place of the value after "to", if the words before the name say that it is set.
fn set_to(text: &str, name: &Range<usize>, at: usize) -> Option<usize> {
    const BEFORE_MAX: usize = 64;
    let rest = text.get(at..)?;
    let to = ["to ", "auf "].iter().find(|to| rest.starts_with(**to))?;
    let from = text.floor_char_boundary(name.start.saturating_sub(BEFORE_MAX));
    let before = text[from..name.start].rsplit(['.', '\n']).next()?;
    let is_set = |word: &str| {
        SETTING_VERBS
            .iter()
            .any(|verb| word.eq_ignore_ascii_case(verb))
    };
    before
        .split(|letter: char| !letter.is_alphanumeric())
        .any(is_set)
        .then(|| at + to.len())
}

/// Returns true if a name and the value after its blank are all of their line.
fn is_entry(text: &str, name: &Range<usize>, at: usize) -> bool {
    let from = text.floor_char_boundary(name.start.saturating_sub(24));
    let before = text[from..name.start].rsplit_once('\n');
    let before = before.map_or((from == 0).then_some(&text[..name.start]), |(_, line)| {
        Some(line)
    });
    let is_first = before.is_some_and(|line| {
        let line = line.trim_start_matches(['-', '*', '+', ' ', '\t', ';', '#', '>']);
        matches!(line, "" | "\"" | "'" | "set " | "(" | ":" | "`")
    });
    is_first && is_last(text, at)
}

/// Returns the length of an adverb of another language between a name and its value.
fn adverb(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    [
        "now ",
        "jetzt ",
        "nun ",
        "ahora ",
        "maintenant ",
        "agora ",
        "ora ",
    ]
    .iter()
    .find(|adverb| rest.starts_with(**adverb))
    .map_or(0, |adverb| adverb.len())
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
        at += usize::from(bytes.get(at) == Some(&b'('));
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
        let arrow = operator(bytes, at);
        if arrow > 1 {
            return Some(at + arrow + blanks(bytes, at + arrow));
        }
    }
    None
}

/// Returns the word before a name that the text calls so: "use … as the password", "als Passwort".
pub fn before(text: &str, name: &Range<usize>) -> Option<Range<usize>> {
    const LINKS: &[&str] = &[
        " as ", " is the ", " is my ", " is our ", " als ", " comme ", " como ", " come ",
        " jako ", " som ", " как ", " як ",
    ];
    const WORDS_MAX: usize = 4;
    let from = text.floor_char_boundary(name.start.saturating_sub(128));
    let before = &text[from..name.start];
    if !has_digit(before.as_bytes()) {
        return None;
    }
    // The words of the name, and the link before them.
    let is_of_name = |letter: char| letter.is_alphanumeric() || " -_`\"'".contains(letter);
    let words = before
        .rfind(|letter| !is_of_name(letter))
        .map_or(0, |at| before.ceil_char_boundary(at + 1));
    let link = |(blank, _): (usize, &str)| {
        let rest = &before[blank..];
        let is_quoted = before[..blank].ends_with(['"', '\'', '`']);
        let is_link = LINKS.iter().any(|link| rest.starts_with(*link))
            || (is_quoted && rest.starts_with(" for "));
        is_link.then_some(blank)
    };
    // A link can end with the sign before the name.
    let from_sign = before.floor_char_boundary(words.saturating_sub(1));
    let blanks = before[from_sign..].rmatch_indices(' ');
    let blanks = blanks.map(|(at, blank)| (from_sign + at, blank));
    let value_end = blanks.take(WORDS_MAX + 2).find_map(link)?;
    let value = before[..value_end].trim_end_matches(['"', '\'', '`']);
    let start =
        value.rfind(|letter: char| letter.is_ascii_whitespace() || "\"'`(".contains(letter))? + 1;
    Some(from + start..from + value.len())
}
