//! Secrets in the column of a table whose header names them, in Markdown, CSV and the output of
//! databases.

use std::ops::Range;

use crate::code::is_snake;
use crate::names::Family;
use crate::passwords::{is_password, is_reference, is_term};
use crate::random::{is_random, is_uuid};
use crate::{SecretMatch, work};

/// Maximum bytes of a header.
const HEADER_MAX: usize = 400;
/// Maximum rows of a table that are read.
const ROWS_MAX: usize = 200;
/// Maximum words in the name of a column.
const NAME_WORDS_MAX: usize = 3;

/// Returns true if a name can be in the header of a table: it stands between separators.
pub fn is_header(text: &str, name: &Range<usize>) -> bool {
    let bytes = text.as_bytes();
    let is_separator = |byte: u8| matches!(byte, b'|' | b',' | b'\t' | b';');
    let after = bytes[name.end..]
        .iter()
        .take(40)
        .find(|byte| !matches!(byte, b' ' | b'"' | b'\r'));
    let before = bytes[..name.start]
        .iter()
        .rev()
        .take(24)
        .find(|byte| !matches!(byte, b' ' | b'"'));
    match (before.copied(), after.copied()) {
        (_, Some(b'|')) => true,
        (Some(before), None | Some(b'\n')) => is_separator(before),
        (None | Some(b'\n'), Some(after)) => is_separator(after),
        (Some(before), Some(after)) => is_separator(before) && is_separator(after),
        _ => false,
    }
}

/// Finds the secrets in the column that the name is the header of; returns the end of the text that
/// was read, 0 without a table.
pub fn secrets(
    text: &str,
    name: &Range<usize>,
    family: Family,
    found: &mut Vec<SecretMatch>,
) -> usize {
    rows(text, name, family, found).unwrap_or(0)
}

fn rows(
    text: &str,
    name: &Range<usize>,
    family: Family,
    found: &mut Vec<SecretMatch>,
) -> Option<usize> {
    let bytes = text.as_bytes();
    let before = &bytes[name.start.saturating_sub(HEADER_MAX)..name.start];
    let start = name.start
        - before
            .iter()
            .rev()
            .position(|byte| *byte == b'\n')
            .unwrap_or(before.len());
    let length = bytes[name.end..]
        .iter()
        .take(HEADER_MAX)
        .position(|byte| *byte == b'\n')?;
    let header = text.get(start..name.end + length)?;
    work::read(header.len());
    let separator = ['|', '\t', ';', ',']
        .into_iter()
        .find(|separator| header.contains(*separator))?;
    let is_name = |cell: &str| {
        cell.split_whitespace().count() <= NAME_WORDS_MAX && !cell.contains([':', '=', '(', '{'])
    };
    let is_list = header
        .trim_matches([' ', '\r', separator])
        .matches(separator)
        .count()
        == 0;
    let cells = header.trim_end().matches(separator).count();
    if is_list
        || !header.split(separator).all(is_name)
        || (separator == ',' && header.contains(", "))
    {
        return None;
    }
    let column = header[..name.start - start].matches(separator).count();
    let mut at = name.end + length + 1;
    for _ in 0..ROWS_MAX {
        let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
        let end = rest.find('\n').unwrap_or(rest.len()).min(4 * HEADER_MAX);
        let row = &rest[..rest.floor_char_boundary(end)];
        work::read(row.len());
        let is_rule = !row.is_empty() && row.bytes().all(|byte| b"-|+: =\r".contains(&byte));
        if !is_rule {
            if row.trim_end().matches(separator).count() != cells {
                break;
            }
            let cell = row.split(separator).nth(column)?;
            let value = cell.trim().trim_matches(['"', '\'', '`']);
            if is_secret(value, family) {
                let begin = at + (value.as_ptr() as usize - row.as_ptr() as usize);
                found.push((begin..begin + value.len(), kind(family)));
            }
        }
        at += row.len() + 1;
    }
    Some(at.min(text.len()))
}

fn is_secret(value: &str, family: Family) -> bool {
    let is_free = !value.contains("[redacted")
        && !is_snake(value)
        && !value.contains("://")
        && !is_reference(value)
        && !value.contains(' ');
    is_free
        && match family {
            Family::Password | Family::Outcome | Family::Phrase => {
                (is_password(value, false) && !is_term(value)) || is_random(value)
            }
            Family::Pin => {
                (4..=8).contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_digit())
            }
            Family::Random(_) => is_random(value) || is_uuid(value.as_bytes()),
            Family::KeyId | Family::Scheme => is_random(value),
            Family::Pair => false,
        }
}

const fn kind(family: Family) -> &'static str {
    match family {
        Family::Random(kind) => kind,
        Family::Pin => "pin",
        Family::KeyId => "api-key",
        _ => "password",
    }
}
