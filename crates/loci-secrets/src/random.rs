//! Heuristics that distinguish random values from other text of people and programs.

use std::sync::OnceLock;

use crate::patterns::{Pattern, Patterns};
use crate::tables::{FOLLOWERS, PLACEHOLDERS, TEMPLATE_SIGNS};
use crate::work;

/// Minimum letters and digits of a random value.
const RANDOM_CHARACTERS_MIN: usize = 16;

/// Minimum bits per character of a random value.
const ENTROPY_MIN: f64 = 2.8;

/// Minimum changes between letters and digits of a random value that has parts like words by chance.
const CHANGES_MIN: usize = 6;

/// Maximum share of words in a random value.
pub const WORDS_MAX: f64 = 0.5;

/// Returns true if the value is a placeholder, a reference, or a sequence such as `1234`.
pub fn is_placeholder(value: &str) -> bool {
    static PARTS: OnceLock<Patterns<()>> = OnceLock::new();
    let parts = PARTS.get_or_init(|| {
        let parts = PLACEHOLDERS.iter().map(|part| Pattern {
            text: (*part).into(),
            is_exact: false,
            rule: (),
        });
        Patterns::new(parts.collect())
    });
    let mut has_part = false;
    parts.search(value, |(), _| has_part = true);
    let is_sign = |byte: u8| matches!(byte, b'<' | b'{' | b'}' | b'$');
    has_part
        || (value.bytes().any(is_sign) && TEMPLATE_SIGNS.iter().any(|sign| value.contains(sign)))
        || value.starts_with(['$', '%', '#', '@', '{', '['])
        || (value.starts_with("__") && value.ends_with("__"))
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
        && (words_share(bytes) < WORDS_MAX || changes(bytes) >= CHANGES_MIN)
        && !is_uuid(bytes)
        && !value.contains("://")
        && !is_public(value)
        && !is_placeholder(value)
}

/// Returns true if a value that is surely one of a program is random though it is short: it changes
/// between letters and digits like no name.
pub fn is_short_random(value: &str) -> bool {
    const CHARACTERS_MIN: usize = 12;
    const SHORT_CHANGES_MIN: usize = 4;
    const SHORT_WORDS_MAX: f64 = 0.2;
    let bytes = value.as_bytes();
    bytes.len() >= CHARACTERS_MIN
        && bytes.iter().all(u8::is_ascii_alphanumeric)
        && changes(bytes) >= SHORT_CHANGES_MIN
        && words_share(bytes) < SHORT_WORDS_MAX
        && !is_placeholder(value)
}

/// Returns how often a letter follows a digit or the other way round.
fn changes(bytes: &[u8]) -> usize {
    let is_change = |pair: &&[u8]| {
        let [is_first, is_second] = [pair[0], pair[1]].map(|byte| byte.is_ascii_digit());
        is_first != is_second && pair.iter().all(u8::is_ascii_alphanumeric)
    };
    bytes.windows(2).filter(is_change).count()
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
    rises(bytes) * 8 >= bytes.len()
}

/// Returns how often upper case follows lower case.
pub fn rises(bytes: &[u8]) -> usize {
    let pairs = bytes.windows(2);
    let is_rise = |pair: &&[u8]| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase();
    pairs.filter(is_rise).count()
}

/// Returns true if most characters equal or follow the one before: `aaaa`, `1234`, `abcd`, `0000`.
fn is_monotonous(bytes: &[u8]) -> bool {
    let follows = |pair: &[u8]| {
        let (first, second) = (pair[0], pair[1]);
        first == second || first.wrapping_add(1) == second || second.wrapping_add(1) == first
    };
    let followers = bytes.windows(2).filter(|pair| follows(pair)).count();
    bytes.len() >= 6 && followers * 2 > bytes.len()
}

/// Returns the share of a value's letters and digits in words of at least four letters.
pub fn words_share(bytes: &[u8]) -> f64 {
    let (mut in_words, mut begin) = (0, 0);
    for end in 1..=bytes.len() {
        if end == bytes.len() || is_word_break(bytes[end - 1], bytes[end], end - begin) {
            if is_word(&bytes[begin..end]) && has_pairs_of_words(&bytes[begin..end]) {
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

/// Returns true if the pairs of letters are pairs in words, one aside in a long one.
fn has_pairs_of_words(letters: &[u8]) -> bool {
    const LONG_MIN: usize = 8;
    let is_strange = |pair: &&[u8]| {
        let [first, second] = [pair[0], pair[1]].map(|letter| letter.to_ascii_lowercase());
        let followers = FOLLOWERS.get(usize::from(first.wrapping_sub(b'a')));
        !followers.is_some_and(|followers| followers.as_bytes().contains(&second))
    };
    let strange = letters.windows(2).filter(is_strange).count();
    strange <= usize::from(letters.len() >= LONG_MIN)
}

/// Returns true if a word of this number of letters ends between two bytes.
fn is_word_break(before: u8, after: u8, letters: usize) -> bool {
    !before.is_ascii_alphabetic()
        || !after.is_ascii_alphabetic()
        || (before.is_ascii_lowercase() && after.is_ascii_uppercase())
        // A word in upper case ends where lower case starts.
        || (before.is_ascii_uppercase() && after.is_ascii_lowercase() && letters > 1)
}

fn is_vowel(byte: u8) -> bool {
    b"aeiouy".contains(&byte.to_ascii_lowercase())
}

/// Returns true if letters read like a word: with vowels, and few consonants in a row.
pub fn is_word(letters: &[u8]) -> bool {
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

/// Returns true if it is a UUID.
pub fn is_uuid(bytes: &[u8]) -> bool {
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
}
