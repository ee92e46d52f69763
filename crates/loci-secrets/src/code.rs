//! Distinguishes values from names, paths and expressions of programs.

use crate::random::{is_random, is_word, rises, words_share};

/// Returns true if it is a file path.
pub fn is_path(value: &str) -> bool {
    ["/", "./", "../", "~/"]
        .iter()
        .any(|prefix| value.starts_with(prefix))
        || (value.contains('/') && value.contains('.'))
        || is_path_of_words(value)
        || value
            .as_bytes()
            .get(1..3)
            .is_some_and(|drive| drive == b":\\")
}

/// Returns true if all parts between the slashes of a value are words, with a short number at most.
fn is_path_of_words(value: &str) -> bool {
    let is_part = |part: &str| {
        let stem = part.trim_end_matches(|last: char| last.is_ascii_digit());
        let has_words = |word: &str| word.len() < 4 || is_word(word.as_bytes());
        part.len() - stem.len() <= 2
            && stem
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'-' | b'_'))
            && stem.split(['-', '_']).all(has_words)
    };
    value.contains('/') && value.split('/').all(is_part)
}

/// Returns true if an unquoted value is a field in a program: `config.password`.
pub fn is_field(value: &str) -> bool {
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
        is_name(first) && rest.split('.').all(is_name) && !value.split('.').any(is_random)
    })
}

/// Returns true if a value is a name of lower-case words with underscores, e.g. `aes_256_set_key`.
pub fn is_snake(value: &str) -> bool {
    const WORD_MAX: usize = 12;
    let is_of = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    value.contains('_')
        && value.bytes().all(is_of)
        && value.split('_').all(|word| word.len() <= WORD_MAX)
}

/// Returns true if an unquoted value is a name in a program, or an expression of such names:
/// `new_password1`, `layer1+layer2`. A single word with digits may also be a password: it is a name
/// only if `is_word_name`.
pub fn is_identifier(value: &str, is_word_name: bool) -> bool {
    const DIGITS_MAX: usize = 2;
    /// Minimum letters of a name that would have words.
    const RANDOM_MIN: usize = 12;
    let value = value.trim_end_matches(';');
    let parts = || value.split(['+', '-', '*', '/', '?']);
    let is_name = |part: &str| {
        let stem = part.trim_end_matches(|last: char| last.is_ascii_digit());
        let letters = stem
            .bytes()
            .all(|byte| byte.is_ascii_alphabetic() || byte == b'_');
        let is_compound = stem.trim_matches('_').contains('_')
            || (stem.starts_with(|first: char| first.is_ascii_lowercase())
                && (1..=stem.len() * 3 / 10).contains(&rises(stem.as_bytes()))
                && (stem.len() < RANDOM_MIN || words_share(stem.as_bytes()) >= 0.5));
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
        "f32", "f64",
    ];
    let digits = suffixes
        .iter()
        .find_map(|suffix| value.strip_suffix(suffix))
        .unwrap_or(value)
        .trim_end_matches(['u', 'U', 'l', 'L']);
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
}
