//! The value that holds where the first one says nothing, or that a call makes of a text.

use crate::passwords::is_strong_password;
use crate::random::{is_random, is_short_random, is_uuid};
use crate::tables::CONSTRUCTORS;
use crate::value::{Value, value};
use crate::value_position::matching;

/// Signs between a reference and the value that holds without it.
const SIGNS: &[&str] = &[" || ", " ?? ", " or ", " ?: ", " // "];

/// Returns the value after or in the first one: `process.env.KEY || "value"`, `${KEY:-value}`,
/// `String::from("value")`, `$(echo value)`.
pub fn after(text: &str, first: &Value) -> Option<Value> {
    let bytes = text.as_bytes();
    let word = text.get(first.range.clone())?;
    if let Some(name) = word.strip_prefix("${") {
        return in_braces(name, first.range.start + 2);
    }
    if first.is_quoted {
        return None;
    }
    let end = first.range.end;
    if word.ends_with(['(', '=']) && is_constructor(word) {
        let is_secret = |value: &Value| {
            let text = text.get(value.range.clone()).unwrap_or_default();
            let is_key = is_random(text) || is_short_random(text) || is_uuid(text.as_bytes());
            value.is_quoted && (is_key || is_strong_password(text))
        };
        return value(bytes, end).filter(is_secret);
    }
    if matches!(word, "$(echo" | "$(printf") {
        return value(bytes, end + 1);
    }
    let end = end + matching(bytes, end, 3, |byte| b")]\"'".contains(&byte));
    let rest = text.get(end..)?;
    let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign))?;
    value(bytes, end + sign.len()).filter(|value| value.is_quoted)
}

/// Returns the value after the name of a variable in braces.
fn in_braces(name: &str, start: usize) -> Option<Value> {
    // Spring has a single colon after the name of a setting, others after a kind: `${env:KEY}`.
    let is_setting = |(name, _): &(&str, &str)| {
        name.contains(['_', '.']) || !name.bytes().any(|byte| byte.is_ascii_lowercase())
    };
    let shell = [":-", ":="]
        .iter()
        .find_map(|sign| Some(name.find(sign)? + sign.len()));
    let spring = || Some(name.split_once(':').filter(is_setting)?.0.len() + 1);
    let at = shell.or_else(spring)?;
    let length = name[at..].find('}').unwrap_or(name.len() - at);
    (length > 0).then(|| Value {
        range: start + at..start + at + length,
        is_quoted: true,
    })
}

/// Returns true if a call makes a value of its argument, e.g. `String::from(` or `Field(default=`.
fn is_constructor(call: &str) -> bool {
    let name = call.split('(').next().unwrap_or_default();
    let word = name.rsplit([':', '.', '!', '&']).next().unwrap_or_default();
    let is_word = |known: &&str| known.eq_ignore_ascii_case(word);
    call.contains('(') && CONSTRUCTORS.iter().any(is_word)
}
