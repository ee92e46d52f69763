//! Writes YAML scalars, plain if every parser reads them as the same text.

use std::fmt::Write;

/// Words that some YAML parser does not read as text.
const RESERVED: [&str; 10] = [
    "null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan",
];

/// Returns a text as a scalar. In a list with brackets, fewer texts can be plain.
pub(super) fn written(text: &str, in_brackets: bool) -> String {
    if is_plain(text, in_brackets) {
        text.to_owned()
    } else {
        quoted(text)
    }
}

/// Returns an id as a scalar: like a text, except that a UUID is plain, because its hyphens
/// distinguish it from a number.
pub(super) fn written_id(id: &str) -> String {
    let is_uuid = id.len() == 36
        && id.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    if is_uuid {
        id.to_owned()
    } else {
        written(id, false)
    }
}

fn is_plain(text: &str, in_brackets: bool) -> bool {
    let is_harmless = |character: char| {
        character.is_alphanumeric()
            || matches!(
                character,
                ' ' | '_' | '-' | '/' | '.' | '\'' | '(' | ')' | '+' | '!' | '?' | '&'
            )
            || character == ',' && !in_brackets
    };
    text.starts_with(char::is_alphabetic)
        && text.chars().all(is_harmless)
        && !text.ends_with(' ')
        && !RESERVED.contains(&text.to_lowercase().as_str())
}

/// Returns the text in double quotation marks, on one line. Characters that could be lost or change
/// the display of other text are escaped.
fn quoted(text: &str) -> String {
    let mut written = String::with_capacity(text.len() + 2);
    written.push('"');
    for character in text.chars() {
        let code = u32::from(character);
        match character {
            '"' | '\\' => written.extend(['\\', character]),
            '\n' => written.push_str("\\n"),
            '\t' => written.push_str("\\t"),
            '\r' => written.push_str("\\r"),
            _ if !must_escape(character) => written.push(character),
            _ if code <= 0xff => _ = write!(written, "\\x{code:02x}"),
            _ if code <= 0xffff => _ = write!(written, "\\u{code:04x}"),
            _ => _ = write!(written, "\\U{code:08x}"),
        }
    }
    written.push('"');
    written
}

/// Returns true for control characters, Unicode line ends, direction marks, the byte order mark,
/// and noncharacters.
fn must_escape(character: char) -> bool {
    let code = u32::from(character);
    character.is_control()
        || matches!(code, 0x2028..=0x202e | 0x2066..=0x2069 | 0x200e | 0x200f | 0xfeff | 0xfdd0..=0xfdef)
        || code & 0xfffe == 0xfffe
}
