//! Makes texts safe to show: characters that a terminal obeys or does not show are escaped.

use std::fmt::{self, Display, Formatter, Write};

pub use loci_core::characters::is_hidden;

/// A value whose text is shown with every hidden character escaped as `\u{1b}`. Line feeds (with or
/// without a carriage return before them) and tabs are layout, and stay.
pub struct Escaped<T>(pub T);

/// The same on one line: line feeds and tabs are escaped, too.
pub struct OneLine<T>(pub T);

impl<T: Display> Display for Escaped<T> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let mut writer = Escaper {
            formatter,
            is_layout: |character| matches!(character, '\n' | '\t'),
            before: '\n',
            held: false,
        };
        write!(writer, "{}", self.0)?;
        writer.finish()
    }
}

impl<T: Display> Display for OneLine<T> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let mut writer = Escaper {
            formatter,
            is_layout: |_| false,
            before: '\n',
            held: false,
        };
        write!(writer, "{}", self.0)?;
        writer.finish()
    }
}

/// Escapes hidden characters in JSON text as JSON does, which can only occur in its strings.
pub fn json(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_hidden(character) && character != '\n' {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing into a string does not fail.
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(character);
        }
    }
    escaped
}

/// Returns the original of a text that a user copied from an output: each `\u{1b}` as its
/// character.
pub fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\\u{") {
        plain += before;
        let character = after.split_once('}').and_then(|(digits, after)| {
            let character = u32::from_str_radix(digits, 16)
                .ok()
                .and_then(char::from_u32)?;
            Some((character, after))
        });
        if let Some((character, after)) = character {
            plain.push(character);
            rest = after;
        } else {
            plain += "\\u{";
            rest = after;
        }
    }
    plain + rest
}

/// Returns true for joiners and selectors, which change the look of the character before them:
/// emoji and many scripts need them.
fn is_joiner(character: char) -> bool {
    matches!(character, '\u{200c}' | '\u{200d}')
}

fn is_selector(character: char) -> bool {
    matches!(character, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

struct Escaper<'a, 'b> {
    formatter: &'a mut Formatter<'b>,
    is_layout: fn(char) -> bool,
    /// The previous character.
    before: char,
    /// True if a carriage return waits for the next character.
    held: bool,
}

impl Escaper<'_, '_> {
    fn finish(mut self) -> fmt::Result {
        self.release(None)
    }

    fn release(&mut self, after: Option<char>) -> fmt::Result {
        if !std::mem::take(&mut self.held) {
            return Ok(());
        }
        let is_line_end = after == Some('\n') && (self.is_layout)('\n');
        self.formatter
            .write_str(if is_line_end { "\r" } else { "\\u{d}" })
    }

    /// Returns true if the character is visible, or changes one that is.
    fn is_shown(&self, character: char) -> bool {
        let follows = |is_kind: fn(char) -> bool| !self.before.is_ascii() && !is_kind(self.before);
        if is_joiner(character) {
            follows(is_joiner)
        } else if is_selector(character) {
            follows(is_selector)
        } else {
            !is_hidden(character) || (self.is_layout)(character)
        }
    }
}

impl Write for Escaper<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            self.release(Some(character))?;
            if character == '\r' {
                self.held = true;
            } else if self.is_shown(character) {
                self.formatter.write_char(character)?;
            } else {
                write!(self.formatter, "{}", character.escape_unicode())?;
            }
            self.before = character;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text that is written character by character.
    struct Pieces<'a>(&'a str);

    impl Display for Pieces<'_> {
        fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
            self.0
                .chars()
                .try_for_each(|character| write!(formatter, "{character}"))
        }
    }

    #[test]
    fn what_is_hidden_is_written_out() {
        let rows = [
            (
                "plain\n\ttext\r\n日本 é",
                "plain\n\ttext\r\n日本 é",
                "plain\\u{a}\\u{9}text\\u{d}\\u{a}日本 é",
            ),
            (
                "\u{1b}[2J\u{7}\u{8}",
                "\\u{1b}[2J\\u{7}\\u{8}",
                "\\u{1b}[2J\\u{7}\\u{8}",
            ),
            (
                "over\rwritten\r",
                "over\\u{d}written\\u{d}",
                "over\\u{d}written\\u{d}",
            ),
            ("\u{9b}31m\u{7f}", "\\u{9b}31m\\u{7f}", "\\u{9b}31m\\u{7f}"),
            (
                "\u{202e}txt\u{2066}\u{61c}\u{200f}",
                "\\u{202e}txt\\u{2066}\\u{61c}\\u{200f}",
                "\\u{202e}txt\\u{2066}\\u{61c}\\u{200f}",
            ),
            (
                "a\u{200b}b\u{feff}\u{e0041}",
                "a\\u{200b}b\\u{feff}\\u{e0041}",
                "a\\u{200b}b\\u{feff}\\u{e0041}",
            ),
            // Joiners stay between visible characters that need them; in ASCII and in runs they may
            // hide data.
            (
                "❤\u{fe0f}\u{200d}🔥 نمی\u{200c}خواهم",
                "❤\u{fe0f}\u{200d}🔥 نمی\u{200c}خواهم",
                "❤\u{fe0f}\u{200d}🔥 نمی\u{200c}خواهم",
            ),
            (
                "a\u{200d}b\u{fe0f}",
                "a\\u{200d}b\\u{fe0f}",
                "a\\u{200d}b\\u{fe0f}",
            ),
            (
                "😀\u{e0101}\u{e0102}",
                "😀\u{e0101}\\u{e0102}",
                "😀\u{e0101}\\u{e0102}",
            ),
        ];
        for (text, visible, line) in rows {
            assert_eq!(Escaped(text).to_string(), visible, "{text:?}");
            assert_eq!(OneLine(text).to_string(), line, "{text:?}");
            assert_eq!(Escaped(Pieces(text)).to_string(), visible, "{text:?}");
            assert_eq!(unescaped(&OneLine(text).to_string()), text);
        }
        assert_eq!(
            unescaped(r"\u{zz} \u{110000} \u{41} \u{"),
            r"\u{zz} \u{110000} A \u{"
        );
    }

    #[test]
    fn json_says_the_same_without_hidden_characters() {
        let value = serde_json::json!({"a\u{202e}": "\u{1b}\u{9b}31m \u{e0041} \u{7f}\n é😀"});
        let text = json(&format!("{value:#}"));
        assert!(
            !text.contains(|character: char| is_hidden(character) && character != '\n'),
            "{text}"
        );
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap(),
            value
        );
    }

    proptest::proptest! {
        #[test]
        fn nothing_hidden_is_left_of_any_text(text in "\\PC*|.*|[\\x00-\\x1f\u{80}-\u{a0}\u{2000}-\u{2070}\u{e0000}-\u{e01ff}a\\r\\n]*") {
            let shown = Escaped(&text).to_string().replace("\r\n", "\n");
            proptest::prop_assert!(!shown.contains(|character: char| is_hidden(character) && !"\n\t".contains(character)));
            let line = OneLine(&text).to_string();
            proptest::prop_assert!(!line.contains(is_hidden));
        }
    }
}
