//! What a line says of the name and the value on it.

use std::ops::Range;

use crate::value_position::has_digit;

/// Maximum bytes of a line that are read for its end.
const LINE_MAX: usize = 320;

/// Returns true if a line ends here.
pub fn is_end_of_line(bytes: &[u8], at: usize) -> bool {
    matches!(
        bytes.get(at..).unwrap_or_default(),
        [b'\n', ..] | [b'\r', b'\n', ..]
    )
}

/// Returns true if a line that ends with the name is a title, a term or an item of a list, not the
/// end of a line of a sentence.
pub fn is_title(text: &str, name: &Range<usize>) -> bool {
    const TITLE_MAX: usize = 48;
    const NAME_MAX: usize = 40;
    const WORDS_MAX: usize = 4;
    let from = text.floor_char_boundary(name.start.saturating_sub(TITLE_MAX));
    let before = &text[from..name.start];
    let line = match before.rsplit_once('\n') {
        Some((_, line)) => line,
        None if from == 0 => before,
        None => return false,
    };
    // The cell of a table.
    let line = line.rsplit('|').next().unwrap_or(line);
    let is_plain = |letter: char| {
        letter.is_alphanumeric() || letter.is_whitespace() || "#*_`>-+[].\"'/".contains(letter)
    };
    // A longer name is a line of base64.
    name.len() <= NAME_MAX
        && line.chars().all(is_plain)
        && line.split_whitespace().count() <= WORDS_MAX
}

/// Returns true if the line ends with the word at this place.
pub fn is_last(text: &str, at: usize) -> bool {
    let rest = &text[at..text.floor_char_boundary(text.len().min(at + LINE_MAX))];
    let line = rest.split('\n').next().unwrap_or_default();
    !line.trim_end().contains([' ', '\t'])
}

/// Returns true if a password or a key can be here.
pub fn has_sign(bytes: &[u8]) -> bool {
    has_digit(bytes) || has_long_word(bytes) || bytes.iter().any(|byte| b"!@#$%^~".contains(byte))
}

/// Returns true if a key without digits can be here.
pub fn has_long_word(bytes: &[u8]) -> bool {
    const LONG_MIN: usize = 12;
    bytes.iter().any(|byte| b"!@#$%^~".contains(byte))
        || bytes
            .split(|byte| !byte.is_ascii_alphanumeric())
            .any(|word| word.len() >= LONG_MIN)
}
