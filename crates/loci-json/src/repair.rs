//! The repair of a text that is nearly JSON.
//!
//! - Half of a surrogate pair, and bytes that are no UTF-8, become U+FFFD.
//! - A raw control character in a string is escaped; a run of NUL becomes one U+FFFD.
//! - A backslash that escapes nothing known stands for itself.
//! - `NaN`, `Infinity`, `undefined`, `None` and numbers beyond the range become `null`; `True` and
//!   `False` become `true` and `false`; a number in another notation becomes the same number.
//! - Commas before a closing bracket go.
//! - Between values, byte order marks and control characters count as white space.
//! - What is nested too deeply becomes a string with its text.

use std::io::Write;

use serde_json::Number;

/// The deepest nesting that is kept, below the 128 levels that `serde_json` reads, so that a value may
/// be put into some others.
pub const NESTING_MAX: usize = 120;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const REPLACEMENT: &str = "\u{fffd}";

/// The words for no number and for nothing, in lower case.
const NOTHING: [&str; 6] = ["inf", "infinity", "nan", "none", "null", "undefined"];

/// The end of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The text is one value and nothing else.
    Whole,
    /// As [`Whole`](End::Whole), but the text may end before the value does, which is closed then.
    Cut,
    /// Anything may follow the value.
    Open,
}

/// A text after its repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// The value as valid JSON.
    pub text: Vec<u8>,
    /// The number of places that were repaired.
    pub count: u64,
    /// The number of bytes of the text up to the end of the value.
    pub end: usize,
}

/// Repairs the value that a text starts with; `None` if it cannot be repaired. Takes a time that
/// grows with the length of the text.
pub fn repair(text: &[u8], end: End) -> Option<Repair> {
    let mut scanner = Scanner {
        text,
        at: 0,
        out: Vec::with_capacity(text.len()),
        count: 0,
        open: Vec::new(),
        is_closing: end == End::Cut,
    };
    scanner.value()?;
    let after = scanner.at;
    scanner.skip_blank();
    (end == End::Open || scanner.at == text.len()).then_some(Repair {
        text: scanner.out,
        count: scanner.count,
        end: after,
    })
}

/// The kinds of text that may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Value,
    /// A value or, if nothing stands before it, the end of an array.
    Element,
    /// A key, or the end of an object.
    Key,
    Colon,
    /// A comma, or the end of an array or object.
    Comma,
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    out: Vec<u8>,
    count: u64,
    /// The brackets that are open.
    open: Vec<u8>,
    /// True if what is open at the end of the text is closed.
    is_closing: bool,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn emit(&mut self, byte: u8) {
        self.out.push(byte);
        self.at += 1;
    }

    /// Copies one value in its repaired form.
    fn value(&mut self) -> Option<()> {
        let (mut next, mut has_comma) = (Next::Value, false);
        loop {
            self.skip_blank();
            let Some(byte) = self.peek() else {
                return self.close(next);
            };
            match (next, byte) {
                (Next::Element, b']') | (Next::Key, b'}') | (Next::Comma, b'}' | b']') => {
                    self.count += u64::from(has_comma);
                    has_comma = false;
                    self.shut(byte)?;
                    next = Next::Comma;
                }
                (Next::Comma, b',') => {
                    self.at += 1;
                    has_comma = true;
                    next = if self.open.last() == Some(&b'{') {
                        Next::Key
                    } else {
                        Next::Element
                    };
                }
                // Two commas in a row.
                (Next::Key | Next::Element, b',') if has_comma => {
                    self.at += 1;
                    self.count += 1;
                }
                (Next::Key, b'"') => {
                    self.comma(&mut has_comma);
                    self.string()?;
                    next = Next::Colon;
                }
                (Next::Colon, b':') => {
                    self.emit(b':');
                    next = Next::Value;
                }
                (Next::Value | Next::Element, _) => {
                    self.comma(&mut has_comma);
                    next = self.begin(byte)?;
                }
                _ => return None,
            }
            if self.open.is_empty() && next == Next::Comma {
                return Some(());
            }
        }
    }

    fn comma(&mut self, has_comma: &mut bool) {
        if std::mem::take(has_comma) {
            self.out.push(b',');
        }
    }

    /// Starts a value with this byte; returns what may come after it.
    fn begin(&mut self, byte: u8) -> Option<Next> {
        match byte {
            b'{' | b'[' if self.open.len() >= NESTING_MAX => self.deep()?,
            b'{' | b'[' => {
                self.open.push(byte);
                self.emit(byte);
                return Some(if byte == b'{' {
                    Next::Key
                } else {
                    Next::Element
                });
            }
            b'"' => self.string()?,
            _ => self.word()?,
        }
        Some(Next::Comma)
    }

    /// Ends an array or an object; `None` if the other one is open.
    fn shut(&mut self, byte: u8) -> Option<()> {
        let opened = if byte == b'}' { b'{' } else { b'[' };
        (self.open.pop()? == opened).then(|| self.emit(byte))
    }

    /// Closes everything at the end of the text, if it may be cut off.
    fn close(&mut self, next: Next) -> Option<()> {
        if !self.is_closing || self.open.is_empty() {
            return None;
        }
        match next {
            Next::Value => self.out.extend_from_slice(b"null"),
            Next::Colon => self.out.extend_from_slice(b":null"),
            Next::Element | Next::Key | Next::Comma => {}
        }
        while let Some(bracket) = self.open.pop() {
            self.out.push(if bracket == b'{' { b'}' } else { b']' });
        }
        self.count += 1;
        Some(())
    }

    fn skip_blank(&mut self) {
        while let Some(byte) = self.peek() {
            let rest = &self.text[self.at..];
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                0..=0x20 | 0x7f => {
                    let control = |byte: &&u8| matches!(byte, 0..=0x20 | 0x7f);
                    self.at += rest.iter().take_while(control).count();
                    self.count += 1;
                }
                _ if rest.starts_with(BYTE_ORDER_MARK) => {
                    self.at += BYTE_ORDER_MARK.len();
                    self.count += 1;
                }
                _ => return,
            }
        }
    }

    /// Copies a string, from its first quote to its last.
    fn string(&mut self) -> Option<()> {
        self.emit(b'"');
        loop {
            let rest = &self.text[self.at..];
            let is_plain = |byte: &&u8| !matches!(byte, 0..=0x1f | b'"' | b'\\');
            let plain = rest.iter().take_while(is_plain).count();
            for chunk in rest[..plain].utf8_chunks() {
                self.out.extend_from_slice(chunk.valid().as_bytes());
                if !chunk.invalid().is_empty() {
                    self.out.extend_from_slice(REPLACEMENT.as_bytes());
                    self.count += 1;
                }
            }
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.emit(b'"');
                    return Some(());
                }
                Some(b'\\') => self.escape(),
                Some(0) => {
                    let nul = |byte: &&u8| **byte == 0;
                    self.at += self.text[self.at..].iter().take_while(nul).count();
                    self.out.extend_from_slice(REPLACEMENT.as_bytes());
                    self.count += 1;
                }
                Some(control) => {
                    // A vector takes every byte.
                    let _ = write!(self.out, "\\u{control:04x}");
                    self.at += 1;
                    self.count += 1;
                }
                None if self.is_closing => {
                    self.out.push(b'"');
                    return Some(());
                }
                None => return None,
            }
        }
    }

    /// Copies an escape sequence, which starts with a backslash.
    fn escape(&mut self) {
        match self.text.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.emit(b'\\');
                let escaped = self.text[self.at];
                self.emit(escaped);
            }
            Some(b'u') => {
                let unit = self.unit(self.at);
                let is_pair = matches!(unit, Some(0xd800..=0xdbff))
                    && matches!(self.unit(self.at + 6), Some(0xdc00..=0xdfff));
                match unit {
                    Some(0xd800..=0xdfff) if !is_pair => {
                        self.out.extend_from_slice(REPLACEMENT.as_bytes());
                        self.at += 6;
                        self.count += 1;
                    }
                    Some(_) => {
                        let length = if is_pair { 12 } else { 6 };
                        let escape = &self.text[self.at..self.at + length];
                        self.out.extend_from_slice(escape);
                        self.at += length;
                    }
                    None => self.backslash(),
                }
            }
            // The text ends in the middle of the sequence.
            None => self.at += 1,
            Some(_) => self.backslash(),
        }
    }

    /// Writes a backslash that escapes nothing known.
    fn backslash(&mut self) {
        self.out.extend_from_slice(b"\\\\");
        self.at += 1;
        self.count += 1;
    }

    /// Returns the UTF-16 unit that the six bytes `\uXXXX` at a place stand for.
    fn unit(&self, at: usize) -> Option<u16> {
        let hex = self.text.get(at..at + 6)?.strip_prefix(b"\\u")?;
        let is_hex = hex.iter().all(u8::is_ascii_hexdigit);
        let hex = str::from_utf8(hex).ok().filter(|_| is_hex)?;
        u16::from_str_radix(hex, 16).ok()
    }

    /// Copies a number or another word.
    fn word(&mut self) -> Option<()> {
        let is_of_word = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+-._".contains(byte);
        let rest = &self.text[self.at..];
        let word = &rest[..rest.iter().take_while(is_of_word).count()];
        self.at += word.len();
        if serde_json::from_slice::<Number>(word).is_ok()
            || [&b"true"[..], b"false", b"null"].contains(&word)
        {
            self.out.extend_from_slice(word);
            return Some(());
        }
        let text = str::from_utf8(word).ok()?.to_ascii_lowercase();
        let is_cut = self.is_closing && self.at == self.text.len();
        let unsigned = text.trim_start_matches(['+', '-']);
        let number = text.parse::<f64>().ok().and_then(Number::from_f64);
        let said = match (number, text.as_str()) {
            (Some(number), _) => number.to_string(),
            (None, "true" | "false") => text,
            _ if is_cut
                || NOTHING.contains(&unsigned)
                || unsigned.starts_with(|first: char| first.is_ascii_digit()) =>
            {
                "null".to_owned()
            }
            _ => return None,
        };
        self.out.extend_from_slice(said.as_bytes());
        self.count += 1;
        Some(())
    }

    /// Copies an array or object that is nested too deeply, as a string.
    fn deep(&mut self) -> Option<()> {
        let rest = &self.text[self.at..];
        let (mut depth, mut is_string, mut is_escaped) = (0_usize, false, false);
        let mut length = None;
        for (place, byte) in rest.iter().enumerate() {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' if is_string => is_escaped = true,
                b'"' => is_string = !is_string,
                b'{' | b'[' if !is_string => depth += 1,
                b'}' | b']' if !is_string => {
                    depth -= 1;
                    if depth == 0 {
                        length = Some(place + 1);
                        break;
                    }
                }
                _ => {}
            }
        }
        let length = length.or(self.is_closing.then_some(rest.len()))?;
        let text = String::from_utf8_lossy(&rest[..length]);
        serde_json::to_writer(&mut self.out, &text).ok()?;
        self.at += length;
        self.count += 1;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn repaired(text: &[u8], end: End) -> Option<(String, u64)> {
        let repair = repair(text, end)?;
        serde_json::from_slice::<Value>(&repair.text).expect("valid JSON");
        Some((String::from_utf8(repair.text).expect("UTF-8"), repair.count))
    }

    #[test]
    fn what_is_nearly_json_becomes_json() {
        let rows: [(&[u8], &str, u64); 24] = [
            (b"[1]", "[1]", 0),
            (br#""\ud83d\ude00""#, r#""\ud83d\ude00""#, 0),
            (br#""a\ud83d""#, "\"a\u{fffd}\"", 1),
            (
                br#""\ude00\ud83d\ud83d\ude00""#,
                "\"\u{fffd}\u{fffd}\\ud83d\\ude00\"",
                2,
            ),
            (br#""\uD83Dx\u0041""#, "\"\u{fffd}x\\u0041\"", 1),
            (br#""\u12""#, r#""\\u12""#, 1),
            (br#""\x C:\dir""#, r#""\\x C:\\dir""#, 2),
            (b"\"a\tb\nc\"", r#""a\u0009b\u000ac""#, 2),
            (b"\"a\0\0\0b\"", "\"a\u{fffd}b\"", 1),
            (b"\"a\xffb\xf0\x9f\"", "\"a\u{fffd}b\u{fffd}\"", 2),
            (b"[NaN, -Infinity, Infinity]", "[null,null,null]", 3),
            (b"{\"a\": undefined}", r#"{"a":null}"#, 1),
            (b"[True, False, None]", "[true,false,null]", 3),
            (b"[1e999, -1e999]", "[null,null]", 2),
            (b"[+1, .5, 1., 0x1f]", "[1.0,0.5,1.0,null]", 4),
            (b"[1, 2,]", "[1,2]", 1),
            (b"{\"a\": 1,,}", r#"{"a":1}"#, 2),
            (b"[1,, 2]", "[1,2]", 1),
            (b"\xef\xbb\xbf[1]\0\0\0", "[1]", 2),
            (b"\0\0{\"a\"\0:\x01 1}", r#"{"a":1}"#, 3),
            (b"[]", "[]", 0),
            (b"{}", "{}", 0),
            (b" 12 ", "12", 0),
            (br#""""#, r#""""#, 0),
        ];
        for (text, expected, count) in rows {
            assert_eq!(
                repaired(text, End::Whole),
                Some((expected.to_owned(), count)),
                "{}",
                text.escape_ascii()
            );
        }
        let none: [&[u8]; 14] = [
            b"",
            b"hello",
            b"[1",
            b"{\"a\"}",
            b"{1: 2}",
            b"[1}",
            b"]",
            b"[1] 2",
            b"\"a",
            b"{,}",
            b"[,1]",
            b"'a'",
            b"{\"a\": tea}",
            b"1 2",
        ];
        for text in none {
            assert_eq!(repaired(text, End::Whole), None, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn what_is_cut_off_is_closed() {
        for (text, expected) in [
            (r#"{"a": "tea at fo"#, r#"{"a":"tea at fo"}"#),
            (r#"{"a": "tea\"#, r#"{"a":"tea"}"#),
            (r#"{"a": "tea\u00"#, r#"{"a":"tea\\u00"}"#),
            (r#"{"a": [1, {"b": tr"#, r#"{"a":[1,{"b":null}]}"#),
            (r#"{"a": [1, "#, r#"{"a":[1]}"#),
            (r#"{"a": 12"#, r#"{"a":12}"#),
            (r#"{"a""#, r#"{"a":null}"#),
            (r#"{"a"#, r#"{"a":null}"#),
            ("[", "[]"),
        ] {
            let found = repaired(text.as_bytes(), End::Cut).map(|(found, _)| found);
            assert_eq!(found.as_deref(), Some(expected), "{text}");
        }
        assert_eq!(repaired(b"", End::Cut), None);
        assert_eq!(repaired(b"[1}", End::Cut), None);
    }

    #[test]
    fn what_follows_a_value_may_be_left() {
        let found = repair(b" {\"a\": NaN,} {", End::Open).map(|repair| repair.end);
        assert_eq!(found, Some(12));
    }

    #[test]
    fn deep_nesting_becomes_a_text() {
        for levels in [NESTING_MAX, NESTING_MAX + 1, 100_000] {
            let text = "[".repeat(levels) + "\"x\"" + &"]".repeat(levels);
            let (found, count) = repaired(text.as_bytes(), End::Whole).expect("repaired");
            assert!(found.contains('x'));
            assert_eq!(count, u64::from(levels > NESTING_MAX), "{levels}");
        }
        let open = "[".repeat(200);
        assert!(repaired(open.as_bytes(), End::Cut).is_some());
        assert_eq!(repaired(open.as_bytes(), End::Whole), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_repaired_to_json_or_not_at_all(bytes in proptest::collection::vec(
            prop_oneof![4 => proptest::sample::select(b"{}[],:\"\\u0d8ntNaIf1e.- \n\0".to_vec()), 1 => any::<u8>()], 0..60)) {
            for end in [End::Whole, End::Cut, End::Open] {
                repaired(&bytes, end);
            }
        }

        #[test]
        fn valid_json_is_repaired_to_itself(bytes in proptest::collection::vec(
            proptest::sample::select(b"{}[],:\"a1 ".to_vec()), 0..12)) {
            if let Ok(value) = serde_json::from_slice::<Value>(&bytes) {
                let (text, count) = repaired(&bytes, End::Whole).expect("repaired");
                prop_assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), value);
                prop_assert_eq!(count, 0);
            }
        }
    }
}
