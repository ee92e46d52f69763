//! A second reading of a text, without the escapes that programs put between a name and its value
//! or into a secret: colours of terminals, `\u003d`, `&quot;`, `%3D`, characters without width,
//! continued lines.

use std::ops::Range;

use crate::work;

/// The beginnings of escapes for which a text is read a second time, in any case, with the bytes of
/// which one has to follow. The single escapes `\n` and `\"` are not among them, because the first
/// reading understands them.
const BEGINNINGS: &[(&[&str], &str)] = &[
    // Colours of terminals, and their remains without the escape character.
    (&["\u{1b}[", "\u{9b}"], "0123456789m;?k"),
    (&["\u{1b}]", "\u{1b}("], "0123456789b"),
    (&["[m"], "=: \"'\n"),
    (
        &["[0m", "[39m", "[22m", "\\033[", "\\x1b", "\\e[", "^[["],
        "",
    ),
    // Characters without width.
    (&["\u{ad}"], LETTERS),
    (&["\u{ad}"], ":=\"' _-"),
    (
        &[
            "\u{200b}", "\u{200c}", "\u{200d}", "\u{200e}", "\u{200f}", "\u{2060}", "\u{feff}",
        ],
        "",
    ),
    // Strings of programs.
    (&["\\u"], "0123456789abcf{"),
    (&["\\x"], "2357"),
    (&["\\/"], LETTERS),
    // Markdown that an editor wrote.
    (&["\\_"], LETTERS),
    (&["\\075", "\\\\\"", "\\\\'"], ""),
    // Continued lines of shells.
    (
        &[
            " \\\n", "=\\\n", ":\\\n", " \\\r\n", "=\\\r\n", " `\n", " ^\n", " `\r\n", " ^\r\n",
        ],
        "",
    ),
    // Pages and addresses.
    (&["&#"], "0123456789x"),
    (
        &[
            "&quot;", "&apos;", "&amp;", "&lt;", "&gt;", "&equals;", "&colon;", "&nbsp;",
        ],
        "",
    ),
    (&["%3a", "%3d", "%22", "%26", "%20", "%0a"], ""),
];
/// Letters and digits, in either case.
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz0123456789+";

/// Returns the beginnings of the escapes for which a text is read a second time, in any case.
pub fn beginnings() -> impl Iterator<Item = String> {
    BEGINNINGS.iter().flat_map(|(beginnings, next)| {
        beginnings.iter().flat_map(move |beginning| {
            let whole = next.is_empty().then(|| (*beginning).to_owned());
            let longer = next.chars().map(move |next| format!("{beginning}{next}"));
            whole.into_iter().chain(longer)
        })
    })
}

/// Names of characters in pages.
const ENTITIES: [(&str, char); 17] = [
    ("quot;", '"'),
    ("apos;", '\''),
    ("amp;", '&'),
    ("equals;", '='),
    ("colon;", ':'),
    ("nbsp;", ' '),
    ("lt;", '<'),
    ("gt;", '>'),
    ("commat;", '@'),
    ("sol;", '/'),
    ("percnt;", '%'),
    ("num;", '#'),
    ("excl;", '!'),
    ("plus;", '+'),
    ("dollar;", '$'),
    ("lowbar;", '_'),
    ("shy;", '\u{ad}'),
];
/// Maximum bytes of the sequence of a terminal that names a link.
const LINK_MAX: usize = 2048;

/// A text without its escapes, and where its parts were.
#[derive(Debug, Default)]
pub struct View {
    /// The text without its escapes.
    pub text: String,
    /// The parts that were copied or replaced, in order.
    parts: Vec<Part>,
}

/// A part of a view: a copy, or one character instead of an escape.
#[derive(Debug, Clone, Copy)]
struct Part {
    /// Where it is in the view.
    at: usize,
    /// Where it was.
    from: usize,
    /// The bytes that it had there.
    length: usize,
    is_copy: bool,
}

impl View {
    /// Returns the view of a text; `None` if it has no escapes.
    pub fn of(text: &str) -> Option<View> {
        let bytes = text.as_bytes();
        let mut view = View::default();
        let (mut at, mut copied) = (0, 0);
        work::read(bytes.len());
        while let Some(distance) = bytes[at..].iter().position(|byte| is_first(*byte)) {
            at += distance;
            let Some((length, character)) = escape(text, at) else {
                at += 1;
                continue;
            };
            view.copy(text, copied..at);
            if let Some(character) = character {
                view.parts.push(Part {
                    at: view.text.len(),
                    from: at,
                    length,
                    is_copy: false,
                });
                view.text.push(character);
            }
            at += length;
            copied = at;
        }
        if copied == 0 {
            return None;
        }
        view.copy(text, copied..bytes.len());
        Some(view)
    }

    fn copy(&mut self, text: &str, range: Range<usize>) {
        if !range.is_empty() {
            self.parts.push(Part {
                at: self.text.len(),
                from: range.start,
                length: range.len(),
                is_copy: true,
            });
            self.text.push_str(&text[range]);
        }
    }

    /// Returns the range in the text that a range of the view was made from.
    pub fn source(&self, range: Range<usize>) -> Range<usize> {
        let part = |at: usize| {
            let following = self.parts.partition_point(|part| part.at <= at);
            following.checked_sub(1).map(|place| self.parts[place])
        };
        let start = part(range.start).map_or(0, |part| {
            part.from
                + if part.is_copy {
                    range.start - part.at
                } else {
                    0
                }
        });
        // The end follows the last byte, because an escape after that is not a part of the range.
        let end = part(range.end.saturating_sub(1)).map_or(start, |part| {
            part.from
                + if part.is_copy {
                    range.end - part.at
                } else {
                    part.length
                }
        });
        start..end.max(start)
    }
}

/// Returns true for the bytes with which an escape can start.
const fn is_first(byte: u8) -> bool {
    const FIRST: [bool; 256] = {
        let (mut first, mut at) = ([false; 256], 0);
        let bytes = b"\\%&\x1b[^`\xc2\xcc\xcd\xe1\xe2\xef";
        while at < bytes.len() {
            first[bytes[at] as usize] = true;
            at += 1;
        }
        first
    };
    FIRST[byte as usize]
}

/// Returns the bytes of the escape at this place, and its character if it has one.
fn escape(text: &str, at: usize) -> Option<(usize, Option<char>)> {
    let bytes = text.as_bytes();
    match bytes[at] {
        b'\\' => match backslash(text, at)? {
            // The sequence after the escape of its first character.
            (length, Some('\u{1b}')) => {
                Some((length - 1 + sequence(&bytes[at + length - 1..]), None))
            }
            other => Some(other),
        },
        b'%' => {
            let digits = bytes.get(at + 1..at + 3)?;
            let byte = hexadecimal(digits)?;
            let character = char::from_u32(byte).filter(char::is_ascii)?;
            Some((3, Some(character)))
        }
        b'&' => entity(&bytes[at + 1..]).map(|(length, character)| (length + 1, Some(character))),
        0x1b => Some((sequence(&bytes[at..]), None)),
        b'[' => colour(&bytes[at + 1..]).map(|length| (length + 1, None)),
        b'^' if bytes[at + 1..].starts_with(b"[[") => {
            colour(&bytes[at + 3..]).map(|length| (length + 3, None))
        }
        b'`' | b'^' => {
            // A continued line of PowerShell and of the command prompt, after a blank.
            let rest = &bytes[at + 1..];
            let line = rest.strip_prefix(b"\r").unwrap_or(rest).strip_prefix(b"\n");
            let line = line.filter(|_| at > 0 && bytes[at - 1] == b' ')?;
            Some((bytes.len() - at - line.len() + blanks(line), None))
        }
        0xc2 | 0xcd | 0xcc | 0xe1 | 0xe2 | 0xef => {
            let character = text.get(at..)?.chars().next()?;
            if is_without_width(character) {
                return Some((character.len_utf8(), None));
            }
            (character == '\u{9b}')
                .then(|| colour(&bytes[at + 2..]).map(|length| (length + 2, None)))
                .flatten()
        }
        _ => None,
    }
}

fn is_without_width(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{2069}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

/// Returns the value of hexadecimal digits.
fn hexadecimal(digits: &[u8]) -> Option<u32> {
    let is_known =
        !digits.is_empty() && digits.len() <= 6 && digits.iter().all(u8::is_ascii_hexdigit);
    let digits = std::str::from_utf8(digits).ok().filter(|_| is_known)?;
    u32::from_str_radix(digits, 16).ok()
}

fn blanks(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count()
}

/// Reads an escape of a string, or a continued line.
fn backslash(text: &str, at: usize) -> Option<(usize, Option<char>)> {
    let bytes = &text.as_bytes()[at..];
    let of_code = |digits: Range<usize>, length: usize| {
        let code = hexadecimal(bytes.get(digits)?)?;
        Some((length, Some(char::from_u32(code)?)))
    };
    match bytes.get(1)? {
        b'u' if bytes.get(2) == Some(&b'{') => {
            let digits = bytes
                .iter()
                .skip(3)
                .take(6)
                .take_while(|byte| byte.is_ascii_hexdigit())
                .count();
            (bytes.get(3 + digits) == Some(&b'}'))
                .then(|| of_code(3..3 + digits, 4 + digits))
                .flatten()
        }
        b'u' => {
            let high = hexadecimal(bytes.get(2..6)?)?;
            let low = bytes
                .get(8..12)
                .filter(|_| bytes[6..].starts_with(b"\\u"))
                .and_then(hexadecimal);
            match (high, low) {
                (0xd800..=0xdbff, Some(low @ 0xdc00..=0xdfff)) => Some((
                    12,
                    char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)),
                )),
                _ => Some((6, Some(char::from_u32(high)?))),
            }
        }
        b'U' => of_code(4..10, 10).filter(|_| bytes[2..].starts_with(b"00")),
        b'x' => of_code(2..4, 4),
        b'0' if bytes[1..].starts_with(b"033") => Some((4, Some('\u{1b}'))),
        b'0' if bytes[1..].starts_with(b"075") => Some((4, Some('='))),
        b'e' if bytes.get(2) == Some(&b'[') => Some((2, Some('\u{1b}'))),
        b'n' => Some((2, Some('\n'))),
        b'r' => Some((2, Some('\r'))),
        b't' => Some((2, Some('\t'))),
        b'"' => Some((2, Some('"'))),
        b'\'' => Some((2, Some('\''))),
        b'/' => Some((2, Some('/'))),
        b'_' => Some((2, Some('_'))),
        b'\\' => Some((2, Some('\\'))),
        b'\n' => Some((2 + blanks(&bytes[2..]), None)),
        b'\r' if bytes.get(2) == Some(&b'\n') => Some((3 + blanks(&bytes[3..]), None)),
        _ => None,
    }
}

/// Reads the name or the number of a character in a page, after its `&`.
pub fn entity(rest: &[u8]) -> Option<(usize, char)> {
    if let Some(number) = rest.strip_prefix(b"#") {
        let end = number.iter().take(8).position(|byte| *byte == b';')?;
        let digits = std::str::from_utf8(&number[..end]).ok()?;
        let code = match digits.strip_prefix(['x', 'X']) {
            Some(digits) => hexadecimal(digits.as_bytes())?,
            None => digits.parse().ok()?,
        };
        return Some((
            end + 2,
            char::from_u32(code).filter(|character| *character != '\0')?,
        ));
    }
    let is_named = |(name, _): &&(&str, char)| rest.starts_with(name.as_bytes());
    ENTITIES
        .iter()
        .find(is_named)
        .map(|(name, character)| (name.len(), *character))
}

/// Returns the bytes of a sequence of a terminal, which starts with the escape character.
fn sequence(bytes: &[u8]) -> usize {
    match bytes.get(1) {
        Some(b'[') => {
            let is_within = |byte: &&u8| (0x20..0x40).contains(*byte);
            let within = bytes[2..].iter().take(32).take_while(is_within).count();
            2 + within
                + usize::from(
                    bytes
                        .get(2 + within)
                        .is_some_and(|last| (0x40..0x7f).contains(last)),
                )
        }
        Some(b']') => {
            let rest = &bytes[2..bytes.len().min(2 + LINK_MAX)];
            let is_end = |at: &usize| rest[*at] == 0x07 || rest[*at..].starts_with(b"\x1b\\");
            match (0..rest.len())
                .find(|at| is_end(at) || rest[*at] == b'\n')
                .filter(is_end)
            {
                Some(end) if rest[end] == 0x07 => 2 + end + 1,
                Some(end) => 2 + end + 2,
                None => 2,
            }
        }
        Some(b'(' | b')') if bytes.get(2).is_some_and(u8::is_ascii) => 3,
        _ => 1,
    }
}

/// Returns the bytes of a colour without the escape character and the bracket before it: `31m`.
pub fn colour(bytes: &[u8]) -> Option<usize> {
    let digits = bytes
        .iter()
        .take(24)
        .take_while(|byte| byte.is_ascii_digit() || **byte == b';')
        .count();
    (bytes.get(digits) == Some(&b'm')).then_some(digits + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read() {
        for (text, expected) in [
            ("a\u{1b}[1;31mb\u{1b}[0mc", "abc"),
            (
                "a\u{1b}]8;;https://host.test\u{7}b\u{1b}]8;;\u{1b}\\c",
                "abc",
            ),
            ("a[31mb[0mc", "abc"),
            ("a\\u003db\\x3dc\\u{3d}d\\075e", "a=b=c=d=e"),
            ("\\ud83d\\ude00\\u00e9", "\u{1f600}\u{e9}"),
            ("a&quot;b&#61;c&#x3D;d&amp;e", "a\"b=c=d&e"),
            ("a%3Db%20c%zz", "a=b c%zz"),
            ("a\u{200b}b\u{ad}c\u{feff}", "abc"),
            ("a \\\n  b \\\r\n\tc `\n  d", "a b c d"),
            ("\\\\\"a\\\"", "\\\"a\""),
        ] {
            assert_eq!(
                View::of(text).map(|view| view.text).as_deref(),
                Some(expected),
                "{text:?}"
            );
        }
        for text in ["", "a", "a & b", "100 %", "[2]", "\\d+", "a`b"] {
            assert!(View::of(text).is_none(), "{text}");
        }
    }

    #[test]
    fn a_range_of_a_view_is_of_what_it_was_made_from() {
        let text = "k\\u003d\u{1b}[31mse\u{200b}cret\u{1b}[0m.";
        let view = View::of(text).unwrap();
        assert_eq!(view.text, "k=secret.");
        assert_eq!(&text[view.source(2..8)], "se\u{200b}cret");
        assert_eq!(&text[view.source(1..2)], "\\u003d");
        assert_eq!(&text[view.source(0..9)], text);
    }
}
