//! Numbers among the arguments, which are refused in words.

use std::str::FromStr;

/// Parses a number of things.
///
/// # Errors
/// What to give instead.
pub fn count(text: &str) -> Result<u32, String> {
    parsed(text, |count| *count >= 1, "give a whole number from 1 on")
}

/// Parses a number of things to skip.
///
/// # Errors
/// What to give instead.
pub fn offset(text: &str) -> Result<u32, String> {
    parsed(text, |_| true, "give a whole number from 0 on")
}

/// Parses the number of an entry of the audit log.
///
/// # Errors
/// What to give instead.
pub fn entry(text: &str) -> Result<u64, String> {
    parsed(
        text,
        |_| true,
        "give the number of an entry, as lists show it",
    )
}

/// Parses a budget of tokens for the start of a session.
///
/// # Errors
/// What to give instead.
pub fn tokens(text: &str) -> Result<u32, String> {
    let range = 100..=9_500;
    parsed(
        text,
        |tokens| range.contains(tokens),
        "give a whole number from 100 to 9500",
    )
}

/// Parses a weight, whose range the tool checks.
///
/// # Errors
/// What to give instead.
pub fn weight(text: &str) -> Result<f64, String> {
    parsed(text, |_| true, "give a number such as 0.5")
}

fn parsed<T: FromStr>(text: &str, is_valid: impl Fn(&T) -> bool, words: &str) -> Result<T, String> {
    let number = text.parse().ok().filter(is_valid);
    number.ok_or_else(|| words.to_owned())
}
