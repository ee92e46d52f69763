//! Heuristics that distinguish passwords from other text of people and programs.

use crate::code::{is_computed, is_field, is_identifier, is_name_path, is_path};
use crate::random::{WORDS_MAX, is_placeholder, is_random, is_uuid, is_word, words_share};
use crate::tables::{NUMBERED_TERMS, PASSWORD_WORDS, REFERENCES, SENTENCE_WORDS, TERMS};

/// Minimum bytes of a password.
const PASSWORD_CHARACTERS_MIN: usize = 6;

/// Returns true if a value says where a secret is instead of being one, or is encrypted.
pub fn is_reference(value: &str) -> bool {
    let first = value
        .bytes()
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let begins = |beginning: &&str| {
        let start = value.as_bytes().get(..beginning.len());
        beginning.as_bytes()[0] == first
            && start.is_some_and(|start| start.eq_ignore_ascii_case(beginning.as_bytes()))
    };
    REFERENCES.iter().any(begins)
        || is_path_with_scheme(value)
        // Ciphertexts of sealed secrets.
        || (value.len() > 250 && value.starts_with("Ag"))
}

/// Returns true if a value is a path in a manager of secrets that a scheme names: `k8s:secret/db#password`.
fn is_path_with_scheme(value: &str) -> bool {
    const SCHEME_MAX: usize = 16;
    let is_of_path =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_/.#-".contains(&byte);
    value.split_once(':').is_some_and(|(scheme, path)| {
        (2..=SCHEME_MAX).contains(&scheme.len())
            && scheme.bytes().all(|byte| is_of_path(byte) && byte != b'/')
            && path.contains('/')
            && path.bytes().all(is_of_path)
            && !is_random(path)
    })
}

/// Returns true if a value is the name of a method, a format or a version.
pub fn is_term(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let lower = lower.trim_matches(|end: char| !end.is_ascii_alphanumeric());
    let number = lower.strip_prefix('v').unwrap_or(lower);
    let is_version = number
        .bytes()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'x' | b'/'));
    let unit = number.trim_start_matches(|digit: char| digit.is_ascii_digit() || digit == '-');
    let is_measure = unit.len() < number.len()
        && unit.bytes().all(|byte| byte.is_ascii_alphabetic())
        && (unit.len() <= 3 || is_word(unit.as_bytes()));
    is_name_of_method(lower) || is_version || is_measure
}

/// Returns true if a value is the name of a method, a type or a format: `sha-256`, `varchar255`.
pub fn is_name_of_method(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let stem = lower.trim_end_matches(|last: char| last.is_ascii_digit());
    TERMS.contains(&lower.as_str())
        || (lower.len() - stem.len() <= 4 && NUMBERED_TERMS.contains(&stem))
}

/// Returns true if a word of lower case is a word of sentences.
pub fn is_word_of_sentence(word: &str) -> bool {
    SENTENCE_WORDS.contains(&word)
}

/// Returns true if a value is surely a password, even where a sentence could go on: with several
/// kinds of characters, and not a name or a term.
pub fn is_strong_password(value: &str) -> bool {
    const CHARACTERS_MIN: usize = 8;
    let has = |is: fn(&u8) -> bool| usize::from(value.bytes().any(|byte| is(&byte)));
    let symbol = |byte: &u8| b"!@#$%^&*+?~".contains(byte);
    let kinds = has(u8::is_ascii_lowercase) + has(u8::is_ascii_uppercase) + has(u8::is_ascii_digit);
    let symbols = usize::from(value.bytes().any(|byte| symbol(&byte)));
    value.len() >= CHARACTERS_MIN
        && kinds + symbols >= 3
        && is_password(value, false)
        && !is_term(value)
        && !is_identifier(value, true)
        && !is_name_path(value)
        && !is_computed(value)
        && !value.contains(['(', ')', '{', '}', '<', '>', '=', '/', '\\'])
        && (symbols > 0 || words_share(value.as_bytes()) < WORDS_MAX)
}

/// Returns true if a value in the place of a secret in a command is one: not a flag, a path, a name
/// or a reference.
pub fn is_option_value(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    let is_name = value
        .bytes()
        .all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    let is_plain = value.bytes().all(|byte| byte.is_ascii_lowercase());
    (4..=256).contains(&value.len())
        && has(u8::is_ascii_alphanumeric)
        && !is_name
        && !(is_plain && (value.len() < 5 || is_word(value.as_bytes())))
        && (!value.to_ascii_lowercase().contains("passw") || has(u8::is_ascii_digit))
        && !value.starts_with(['-', '&', '|', '>', '='])
        && !value.contains("://")
        && !value.contains("[redacted")
        && !is_placeholder_password(value)
        && !is_reference(value)
        && !is_path(value)
        && !is_uuid(value.as_bytes())
        && !is_name_path(value)
}

/// Returns true if a value is a password of a person or a program: not a word, a path, a number or
/// code. It has a letter and a digit; in quotes, a symbol between its letters may replace the
/// digit.
pub fn is_password(value: &str, is_quoted: bool) -> bool {
    let bytes = value.as_bytes();
    let has = |is: fn(&u8) -> bool| bytes.iter().any(is);
    // Labels in forms have a star or an exclamation mark after the word.
    let inner = value.trim_matches(|end: char| end.is_ascii_punctuation());
    let has_symbol = value.is_ascii() && inner.bytes().any(|byte| b"!@#$%^&*+?~".contains(&byte));
    bytes.len() >= PASSWORD_CHARACTERS_MIN
        && bytes.len() <= 256
        && has(u8::is_ascii_alphabetic)
        && (has(u8::is_ascii_digit) || (is_quoted && has_symbol) || is_mixed(inner))
        && !has(u8::is_ascii_whitespace)
        && !is_placeholder_password(value)
        && !is_path(value)
        && !is_uuid(bytes)
        && (is_quoted || !is_field(value))
}

/// Returns true if a value has a symbol between letters of both cases that are no words.
fn is_mixed(value: &str) -> bool {
    const CHARACTERS_MIN: usize = 8;
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    value.len() >= CHARACTERS_MIN
        && value.is_ascii()
        && has(|byte| b"!@#$%^?~".contains(byte))
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_uppercase)
        && !has(|byte| b"=(){}[]<>/:,;|\\".contains(byte))
        && words_share(value.as_bytes()) < WORDS_MAX
}

/// Returns true if a value in the place of a password is a placeholder.
pub fn is_placeholder_password(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let stem = lower.trim_end_matches(|last: char| last.is_ascii_digit());
    PASSWORD_WORDS.contains(&lower.as_str())
        || (PASSWORD_WORDS.contains(&stem) && lower.len() - stem.len() <= 3)
        || is_placeholder(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_told_from_code_and_words() {
        for (value, is_quoted, expected) in [
            ("hunter2", false, true),
            ("Tr0ub4dor&3", true, true),
            ("s3cret!", false, true),
            ("string", false, false),
            ("config.password2", false, false),
            ("tests/ui/a1.rs", true, false),
            ("${DB_PASSWORD1}", true, false),
            ("/run/secrets/db1", true, false),
            ("password", true, false),
            ("password1", true, false),
            ("12345678", true, false),
            ("Tr0ub4dor&3", false, true),
            ("correct&horse", true, true),
            ("correct&horse", false, false),
            ("Contraseña*", true, false),
            ("Passwort!", true, false),
            ("host[:port]", true, false),
        ] {
            assert_eq!(is_password(value, is_quoted), expected, "{value}");
        }
    }
}
