//! The bytes of secrets, and where they can start.

/// The bytes of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alphabet {
    /// Letters and digits.
    Alphanumeric,
    /// Upper-case letters and digits.
    Upper,
    /// Lower-case letters and digits.
    Lower,
    /// Hexadecimal digits in either case.
    Hex,
    /// Letters, digits, `_` and `-`.
    Word,
    /// Letters, digits, `_`, `-` and `.`.
    Dotted,
    /// Letters, digits, `_`, `-`, `+`, `/` and `=`.
    Base64,
}

impl Alphabet {
    /// Returns true if it contains the byte.
    pub fn has(self, byte: u8) -> bool {
        match self {
            Alphabet::Alphanumeric => byte.is_ascii_alphanumeric(),
            Alphabet::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Alphabet::Lower => byte.is_ascii_lowercase() || byte.is_ascii_digit(),
            Alphabet::Hex => byte.is_ascii_hexdigit(),
            Alphabet::Word => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Alphabet::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
            Alphabet::Base64 => {
                byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'/' | b'=')
            }
        }
    }
}

/// Returns true if a word can start here: not within another, but after an escape such as `\n` or
/// `%20`.
pub fn is_boundary(bytes: &[u8], at: usize) -> bool {
    let before = |distance: usize| at.checked_sub(distance).map(|place| bytes[place]);
    let Some(last) = before(1) else { return true };
    if !last.is_ascii_alphanumeric() && !matches!(last, b'+') {
        return true;
    }
    (before(2) == Some(b'\\') && matches!(last, b'n' | b'r' | b't'))
        || (before(3) == Some(b'%')
            && last.is_ascii_hexdigit()
            && before(2).is_some_and(|byte| byte.is_ascii_hexdigit()))
}
