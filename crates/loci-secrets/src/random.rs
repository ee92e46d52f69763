//! Heuristics that distinguish secrets from other text of people and programs.

use crate::work;

/// Minimum letters and digits of a random value.
const RANDOM_CHARACTERS_MIN: usize = 16;
/// Minimum bits per character of a random value.
const ENTROPY_MIN: f64 = 2.8;
/// Maximum share of words in a random value.
const WORDS_MAX: f64 = 0.5;
/// Minimum bytes of a password.
const PASSWORD_CHARACTERS_MIN: usize = 6;

/// Parts of placeholders, which readers are to replace by a secret.
const PLACEHOLDERS: [&str; 38] = [
    "your",
    "example",
    "changeme",
    "change-me",
    "change_me",
    "placeholder",
    "dummy",
    "sample",
    "redacted",
    "replace",
    "insert",
    "todo",
    "fake",
    "mock",
    "xxxx",
    "***",
    "...",
    "\u{2026}",
    "\u{2022}",
    "process.env",
    "environ",
    "getenv",
    "secrets.",
    "env.",
    "${",
    "{{",
    "}}",
    "$(",
    "<",
    "required",
    "min:",
    "notreal",
    "not-a-",
    "not_a_",
    "lorem",
    "foobar",
    "deadbeef",
    "undefined",
];
/// Placeholders for passwords in documentation.
const PASSWORD_WORDS: [&str; 14] = [
    "password", "passwd", "passw0rd", "pass", "pwd", "secret", "user", "username", "token", "foo",
    "bar", "baz", "test", "none",
];

/// Returns true if the value is a placeholder, a reference, or a sequence such as `1234`.
pub fn is_placeholder(value: &str) -> bool {
    work::read(value.len() * PLACEHOLDERS.len());
    let lower = value.to_ascii_lowercase();
    PLACEHOLDERS.iter().any(|part| lower.contains(part))
        || value.starts_with(['$', '%', '#', '@', '{', '['])
        || is_monotonous(value.as_bytes())
}

/// Returns true if a value looks random: long, of many characters, and not made of words.
pub fn is_random(value: &str) -> bool {
    work::read(value.len());
    let value = value.trim_end_matches('=');
    let bytes = value.as_bytes();
    let characters = bytes
        .iter()
        .filter(|byte| byte.is_ascii_alphanumeric())
        .count();
    let others = bytes.len() - characters;
    characters >= RANDOM_CHARACTERS_MIN
        && others * 5 <= bytes.len()
        && bytes.iter().any(u8::is_ascii_alphabetic)
        && (bytes.iter().any(u8::is_ascii_digit) || is_mixed(bytes))
        && entropy(bytes) >= ENTROPY_MIN
        && words_share(bytes) < WORDS_MAX
        && !is_uuid(bytes)
        && !value.contains("://")
        && !is_public(value)
        && !is_placeholder(value)
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
        && (has(u8::is_ascii_digit) || (is_quoted && has_symbol))
        && !has(u8::is_ascii_whitespace)
        && !is_placeholder_password(value)
        && !is_path(value)
        && !is_uuid(bytes)
        && (is_quoted || !is_field(value))
}

/// Returns true if a value in the place of a password is a placeholder.
pub fn is_placeholder_password(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let stem = lower.trim_end_matches(|last: char| last.is_ascii_digit());
    PASSWORD_WORDS.contains(&lower.as_str())
        || (PASSWORD_WORDS.contains(&stem) && lower.len() - stem.len() <= 3)
        || is_placeholder(value)
}

/// Returns the entropy in bits per byte, by the frequencies of the bytes.
fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in bytes {
        counts[usize::from(*byte)] += 1;
    }
    let total = bytes.len() as f64;
    let bits = |count: u32| {
        let share = f64::from(count) / total;
        -share * share.log2()
    };
    counts
        .into_iter()
        .filter(|count| *count > 0)
        .map(bits)
        .sum()
}

/// Returns true if the case changes more often than in names.
fn is_mixed(bytes: &[u8]) -> bool {
    let rises = bytes
        .windows(2)
        .filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
        .count();
    rises * 8 >= bytes.len()
}

/// Returns true if most characters equal or follow the one before: `aaaa`, `1234`, `abcd`, `0000`.
fn is_monotonous(bytes: &[u8]) -> bool {
    let follows = |pair: &[u8]| {
        let (first, second) = (pair[0].to_ascii_lowercase(), pair[1].to_ascii_lowercase());
        first == second || first.wrapping_add(1) == second || second.wrapping_add(1) == first
    };
    let followers = bytes.windows(2).filter(|pair| follows(pair)).count();
    bytes.len() >= 6 && followers * 2 > bytes.len()
}

/// Returns the share of a value's letters and digits in words of at least four letters.
fn words_share(bytes: &[u8]) -> f64 {
    let (mut in_words, mut begin) = (0, 0);
    for end in 1..=bytes.len() {
        if end == bytes.len() || is_word_break(bytes[end - 1], bytes[end], end - begin) {
            if is_word(&bytes[begin..end]) {
                in_words += end - begin;
            }
            begin = end;
        }
    }
    let all = bytes
        .iter()
        .filter(|byte| byte.is_ascii_alphanumeric())
        .count();
    in_words as f64 / all.max(1) as f64
}

/// Returns true if a word of this number of letters ends between two bytes.
fn is_word_break(before: u8, after: u8, letters: usize) -> bool {
    !before.is_ascii_alphabetic()
        || !after.is_ascii_alphabetic()
        || (before.is_ascii_lowercase() && after.is_ascii_uppercase())
        // A word in upper case ends where lower case begins.
        || (before.is_ascii_uppercase() && after.is_ascii_lowercase() && letters > 1)
}

fn is_vowel(byte: u8) -> bool {
    b"aeiouy".contains(&byte.to_ascii_lowercase())
}

/// Returns true if letters read like a word: with vowels, and few consonants in a row.
fn is_word(letters: &[u8]) -> bool {
    const CONSONANTS_MAX: usize = 4;
    if letters.len() < 4 || !letters[0].is_ascii_alphabetic() {
        return false;
    }
    let vowels = letters.iter().filter(|byte| is_vowel(**byte)).count();
    let longest = letters
        .split(|byte| is_vowel(*byte))
        .map(<[u8]>::len)
        .max()
        .unwrap_or(0);
    let longest_vowels = letters
        .split(|byte| !is_vowel(*byte))
        .map(<[u8]>::len)
        .max()
        .unwrap_or(0);
    vowels * 5 >= letters.len() && longest <= CONSONANTS_MAX && longest_vowels <= 3
}

fn is_uuid(bytes: &[u8]) -> bool {
    bytes.len() == 36
        && bytes.iter().enumerate().all(|(at, byte)| {
            if matches!(at, 8 | 13 | 18 | 23) {
                *byte == b'-'
            } else {
                byte.is_ascii_hexdigit()
            }
        })
}

/// Returns true if it is a public key or a checksum, in the forms of SSH, X.509 and integrity
/// hashes.
fn is_public(value: &str) -> bool {
    [
        "AAAAB3Nza",
        "AAAAC3Nza",
        "AAAAE2Vj",
        "MIIBIjAN",
        "MFkwEwYH",
        "MCowBQYD",
        "sha256-",
        "sha384-",
        "sha512-",
        "sha1-",
        "SHA256:",
    ]
    .iter()
    .any(|prefix| value.starts_with(prefix))
}

/// Returns true if it is a file path.
fn is_path(value: &str) -> bool {
    ["/", "./", "../", "~/"]
        .iter()
        .any(|prefix| value.starts_with(prefix))
        || (value.contains('/') && value.contains('.'))
        || value
            .as_bytes()
            .get(1..3)
            .is_some_and(|drive| drive == b":\\")
}

/// Returns true if an unquoted value is a field in a program: `config.password`.
fn is_field(value: &str) -> bool {
    let (name, rest) = split_name(value);
    !name.is_empty()
        && rest
            .strip_prefix(['.', '-'])
            .is_some_and(|rest| rest.starts_with(is_name_start))
}

/// Returns true if an unquoted value is a path of names in a program: `registry.EnumKey`.
pub fn is_name_path(value: &str) -> bool {
    let is_name = |part: &str| part.starts_with(is_name_start) && split_name(part).1.is_empty();
    value.split_once('.').is_some_and(|(first, rest)| {
        is_name(first) && !is_random(first) && rest.split('.').all(is_name)
    })
}

/// Returns true if an unquoted value is a name in a program, or an expression of such names:
/// `new_password1`, `layer1+layer2`. A single word with digits may also be a password: it is a name
/// only if `is_word_name`.
pub fn is_identifier(value: &str, is_word_name: bool) -> bool {
    const DIGITS_MAX: usize = 2;
    let value = value.trim_end_matches(';');
    let parts = || value.split(['+', '-', '*', '/', '?']);
    let is_name = |part: &str| {
        let stem = part.trim_end_matches(|last: char| last.is_ascii_digit());
        let letters = stem
            .bytes()
            .all(|byte| byte.is_ascii_alphabetic() || byte == b'_');
        let is_compound = stem.trim_matches('_').contains('_')
            || (stem.starts_with(|first: char| first.is_ascii_lowercase())
                && stem.bytes().any(|byte| byte.is_ascii_uppercase()));
        !stem.is_empty()
            && letters
            && part.len() - stem.len() <= DIGITS_MAX
            && (is_word_name || is_compound || parts().count() > 1)
            && (is_compound || stem.len() < 4 || is_word(stem.as_bytes()))
    };
    parts().all(is_name)
}

/// Returns true if an unquoted value is computed: a call, an index, a path, a pointer, a number.
pub fn is_computed(value: &str) -> bool {
    let value = value.strip_prefix("::").unwrap_or(value);
    let (name, rest) = split_name(value);
    let goes_on = ["(", "[", "::", "->", "!("]
        .iter()
        .any(|next| rest.starts_with(next));
    (goes_on && name.starts_with(is_name_start))
        || value.starts_with(['*', '&', '(', '|'])
        || is_number(value)
}

fn is_name_start(first: char) -> bool {
    first.is_ascii_alphabetic() || first == '_'
}

fn split_name(value: &str) -> (&str, &str) {
    let is_end = |character: char| !character.is_ascii_alphanumeric() && character != '_';
    value.split_at(value.find(is_end).unwrap_or(value.len()))
}

/// Returns true if it is a number in a program: `-12`, `0x1f`, `1_000u32`.
fn is_number(value: &str) -> bool {
    let value = value.trim_end_matches(';');
    let value = value.strip_prefix('-').unwrap_or(value);
    let is_hex = value.starts_with("0x") || value.starts_with("0X");
    let suffixes = [
        "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize",
        "f32", "f64", "L", "U",
    ];
    let digits = suffixes
        .iter()
        .find_map(|suffix| value.strip_suffix(suffix))
        .unwrap_or(value);
    let digits = if is_hex {
        digits.get(2..).unwrap_or_default()
    } else {
        digits
    };
    let is_digit = |byte: u8| {
        byte == b'_'
            || byte == b'.'
            || byte.is_ascii_digit()
            || (is_hex && byte.is_ascii_hexdigit())
    };
    !digits.is_empty() && digits.bytes().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_values_are_told_from_names() {
        for (value, expected) in [
            ("q7Xw2PzL9vKd4TnB", true),
            ("3f9a1c7be2d045886a0f", true),
            ("a-rather-long-name-of-a-cluster-1", false),
            ("getUserAccessTokenFromStore2", false),
            ("550e8400-e29b-41d4-a716-446655440000", false),
            ("abcdefghijklmnopqrstuvwxyz012345", false),
            ("0000000000000000000a", false),
            ("1234567890123456", false),
            ("your-key-goes-here-q7Xw2PzL9vKd4", false),
            ("", false),
        ] {
            assert_eq!(is_random(value), expected, "{value}");
        }
    }

    #[test]
    fn what_programs_compute_is_told_from_values() {
        for value in [
            "getPassword2()",
            "GUID::from_u128(0x1f)",
            "*const",
            "-1073741718i32",
            "0x3f2a",
            "1_000u32",
            "keys[2]",
        ] {
            assert!(is_computed(value), "{value}");
        }
        for value in [
            "hunter2",
            "3f9a1c7be2d045886a0f",
            "q7Xw2PzL9vKd4TnB",
            "a.b-c",
            "Tr0ub4dor&3",
        ] {
            assert!(!is_computed(value), "{value}");
        }
    }

    #[test]
    fn names_of_programs_are_told_from_words_with_numbers() {
        for (value, is_word_name, expected) in [
            ("new_password1", false, true),
            ("newPassword1", false, true),
            ("layer1+layer2", false, true),
            ("hunter2", false, false),
            ("hunter2", true, true),
            ("Winter2345", true, false),
            ("xK7pQ2", true, false),
            ("MyPass12", false, false),
        ] {
            assert_eq!(is_identifier(value, is_word_name), expected, "{value}");
        }
    }

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
