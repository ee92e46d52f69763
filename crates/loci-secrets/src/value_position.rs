//! The place of a value, and what may stand before it: blanks, operators, elements, the end of a line.

use crate::tables::ELEMENTS;

/// Maximum blanks between a name, the operator and the value.
pub const BLANKS_MAX: usize = 40;

/// Maximum bytes between a name and its value in a sentence, a cell or a pair of fields.
pub const NEAR_MAX: usize = 240;

/// Maximum bytes between a name and the operator in a sentence.
pub const SENTENCE_MAX: usize = 80;

/// The way in which a name announces its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Announcement {
    /// By an operator, a call, an option or another field.
    Direct,
    /// By a blank only.
    Blank,
    /// By a blank, the name and the value being all of their line.
    Entry,
    /// By a sentence, e.g. "the password is".
    Sentence,
    /// At the end of the line before, or as the title of a section.
    Line,
}

/// The place of a value, before its quotes.
#[derive(Debug, Clone, Copy)]
pub struct ValuePosition {
    pub at: usize,
    pub how: Announcement,
    /// The end of the operator.
    pub operator_end: usize,
}

impl ValuePosition {
    pub fn new(at: usize, how: Announcement) -> Self {
        ValuePosition {
            at,
            how,
            operator_end: at,
        }
    }
}

pub fn matching(bytes: &[u8], at: usize, max: usize, is_of: fn(u8) -> bool) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter()
        .take(max)
        .take_while(|byte| is_of(**byte))
        .count()
}

/// Returns true if there is a digit, which a password mostly has; does not stop at the first one, so
/// that it takes several bytes at once.
pub fn has_digit(bytes: &[u8]) -> bool {
    bytes
        .iter()
        .fold(false, |has, byte| has | byte.is_ascii_digit())
}

/// Returns the bytes of blanks of any width.
pub fn blanks(bytes: &[u8], at: usize) -> usize {
    let mut end = at;
    while end - at < BLANKS_MAX {
        end += match bytes.get(end..).unwrap_or_default() {
            [b' ' | b'\t', ..] => 1,
            [0xc2, 0xa0, ..] => 2,
            [0xe2, 0x80, 0xaf, ..] | [0xe3, 0x80, 0x80, ..] => 3,
            _ => break,
        };
    }
    end - at
}

/// Returns the bytes of an operator between a name and its value.
pub fn operator(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at..).unwrap_or_default() {
        // The wide colon and the wide equals sign, and arrows.
        [0xef, 0xbc, 0x9a | 0x9d, ..] | [0xe2, 0x86 | 0x87, 0x92, ..] => 3,
        [b'-', b'>', b' ', ..] | [b'<', b'-', b' ', ..] | [b'?' | b'+', b'=', ..] => 2,
        _ => matching(bytes, at, 3, |byte| matches!(byte, b'=' | b':' | b'>')),
    }
}

/// Returns the bytes of a dash, an arrow or another sign between a name and its value, with the
/// blanks after it.
pub fn dash(bytes: &[u8], at: usize) -> usize {
    let end = match bytes.get(at..).unwrap_or_default() {
        // The point of a pair in Lisp.
        [b'-' | b'~', b' ', ..] | [b'.', b' ', b'"', ..] => at + 1,
        // Punctuation, arrows, mathematical and other signs.
        [0xe2, 0x80 | 0x86 | 0x87 | 0x96..=0x9f, _, ..] => at + 3,
        _ => return 0,
    };
    let gap = blanks(bytes, end);
    if gap > 0 { end + gap - at } else { 0 }
}

/// Returns the end of the number of a name, with the blanks after it, before an operator: `#2:`.
pub fn after_number(bytes: &[u8], at: usize) -> Option<usize> {
    let digits = at + usize::from(bytes.get(at) == Some(&b'#'));
    let length = matching(bytes, digits, 3, |byte| byte.is_ascii_digit());
    let end = digits + length;
    let end = end + blanks(bytes, end);
    (length > 0 && operator(bytes, end) > 0).then_some(end)
}

/// Returns the end of a note in parentheses after a name, with the blanks after that:
/// `password (staging): …`.
pub fn after_note(bytes: &[u8], at: usize) -> Option<usize> {
    let length = matching(bytes, at + 1, 40, |byte| {
        !matches!(byte, b')' | b'\n' | b'(' | b'"')
    });
    let end = at + length + 2;
    (bytes.get(at + 1 + length) == Some(&b')')).then(|| end + blanks(bytes, end))
}

/// Returns the end of the marks of Markdown, wikis and elements that end a bold or another emphasized
/// text, if a blank, a quote or the end of the line follows.
pub fn after_emphasis(bytes: &[u8], at: usize) -> usize {
    let end = at + matching(bytes, at, 3, |byte| matches!(byte, b'*' | b'_'));
    match bytes.get(end) {
        None | Some(b' ' | b'\t' | b'\r' | b'\n' | b'`' | b'"' | b'\'') => end,
        _ => at + matching(bytes, at, 2, |byte| byte == b'*'),
    }
}

/// Returns the end of the elements at this position, e.g. `</b> <code>`.
pub fn elements(text: &str, mut at: usize) -> usize {
    let bytes = text.as_bytes();
    for _ in 0..4 {
        let begin = at + matching(bytes, at, 8, |byte| byte.is_ascii_whitespace());
        let Some(rest) = text.get(begin..).filter(|rest| rest.starts_with('<')) else {
            break;
        };
        if rest.starts_with("<![CDATA[") {
            return begin + 9;
        }
        let name = rest[1..].trim_start_matches('/');
        let letters = name.bytes().take_while(u8::is_ascii_alphanumeric).count();
        let Some(end) = rest.bytes().take(NEAR_MAX).position(|byte| byte == b'>') else {
            break;
        };
        if !ELEMENTS.contains(&name[..letters].to_ascii_lowercase().as_str()) {
            break;
        }
        at = begin + end + 1;
    }
    at
}

/// Returns the place of a value on the next line, if this is the end of a line or the beginning of a
/// block.
pub fn next_line(text: &str, at: usize) -> Option<ValuePosition> {
    const OPENINGS: &[&str] = &[
        "", "|", ">", "|-", ">-", "|+", ">+", "\\", "`", "^", "\"\"\"", "'''", "@\"", "@'", "(",
        "r\"", "\"",
    ];
    let line_end = |at: usize| {
        text.as_bytes()[at..]
            .iter()
            .take(NEAR_MAX)
            .position(|byte| *byte == b'\n')
    };
    let mut end = at + line_end(at)?;
    let opening = text.get(at..end)?.trim();
    if !OPENINGS.contains(&opening) && !opening.starts_with("<<") && !opening.starts_with("```") {
        return None;
    }
    let mut line = end + 1;
    for _ in 0..3 {
        let Some(length) = line_end(line) else { break };
        let content = text.get(line..line + length)?.trim();
        let is_rule = content.len() > 2 && content.bytes().all(|byte| b"-=~".contains(&byte));
        if !(content.is_empty() || content.starts_with("```") || content == "\"" || is_rule) {
            break;
        }
        end = line + length;
        line = end + 1;
    }
    let bytes = text.as_bytes();
    line += matching(bytes, line, BLANKS_MAX, |byte| matches!(byte, b' ' | b'\t'));
    if matches!(
        bytes.get(line..line + 2),
        Some(b"- " | b"+ " | b"> " | b"* " | b": ")
    ) {
        line += 2 + blanks(bytes, line + 2);
    }
    // In YAML, such a block has nothing but the value.
    let how = if opening.starts_with(['|', '>']) {
        Announcement::Direct
    } else {
        Announcement::Line
    };
    Some(ValuePosition::new(elements(text, line), how))
}
