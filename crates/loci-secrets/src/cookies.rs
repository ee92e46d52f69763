//! Secrets in cookies.

use std::ops::Range;

use crate::passwords::is_reference;
use crate::random::{is_random, is_uuid};
use crate::value_position::blanks;
use crate::{SecretMatch, work};

/// Maximum bytes of a list of cookies that are read.
const COOKIES_MAX: usize = 4096;
/// Parts of names of cookies with which a person is signed in.
const SESSIONS: &[&str] = &[
    "sess",
    "sid",
    "auth",
    "token",
    "jwt",
    "login",
    "remember",
    "csrf",
    "xsrf",
    "secret",
    "key",
    "user",
    "credential",
    "sso",
    "ticket",
    "identity",
    "signed",
];

/// Finds the secrets in a header or a variable with cookies: `hit` is the word `cookie`.
pub fn header(text: &str, hit: Range<usize>, found: &mut Vec<SecretMatch>) {
    let bytes = text.as_bytes();
    let mut at = hit.end;
    at += bytes[at..]
        .iter()
        .take(24)
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        .count();
    at += bytes[at..]
        .iter()
        .take(4)
        .take_while(|byte| b"\"'`\\]".contains(byte))
        .count();
    at += blanks(bytes, at);
    at += match bytes.get(at) {
        Some(b':' | b'=') => 1 + usize::from(bytes.get(at + 1) == Some(&b'>')),
        Some(b',' | b'(') => 1,
        Some(b'"' | b'\'') => 0,
        _ => return,
    };
    at += blanks(bytes, at);
    if bytes[at..].starts_with(b"\n") || bytes[at..].starts_with(b"\r\n") {
        return;
    }
    pairs(text, at, found);
}

/// Finds the secret values of a list such as `name=value; name=value`, in quotes, brackets or to the
/// end of the line.
pub fn pairs(text: &str, at: usize, found: &mut Vec<SecretMatch>) {
    let bytes = text.as_bytes();
    let limit = bytes.len().min(at + COOKIES_MAX);
    let (open, close) = match bytes.get(at) {
        Some(quote @ (b'"' | b'\'' | b'`')) => (at + 1, *quote),
        Some(b'{') => (at + 1, b'}'),
        Some(b'[') => (at + 1, b']'),
        Some(b'\\') => (at + 2, b'\\'),
        _ => (at, b'\n'),
    };
    let Some(rest) = bytes.get(open..limit) else {
        return;
    };
    let length = rest
        .iter()
        .position(|byte| *byte == close || *byte == b'\n')
        .unwrap_or(rest.len());
    work::read(length);
    let end = open + length;
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.$".contains(byte);
    let mut at = open;
    while at < end {
        let name = bytes[at..end]
            .iter()
            .take_while(|byte| is_name(byte))
            .count();
        if name == 0 {
            at += 1;
            continue;
        }
        let mut value = at + name;
        value += bytes[value..end]
            .iter()
            .take(2)
            .take_while(|byte| b"\"'".contains(byte))
            .count();
        value += blanks(bytes, value);
        let is_assigned = value < end && matches!(bytes[value], b'=' | b':');
        if !is_assigned {
            at += name;
            continue;
        }
        value += 1;
        value += blanks(bytes, value);
        value += bytes[value.min(end)..end]
            .iter()
            .take(2)
            .take_while(|byte| b"\"'".contains(byte))
            .count();
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || b";,\"'}`".contains(byte);
        let value = value.min(end);
        let length = bytes[value..end]
            .iter()
            .position(is_end)
            .unwrap_or(end - value);
        let range = value..value + length;
        if let (Some(name), Some(secret)) = (text.get(at..at + name), text.get(range.clone()))
            && is_secret(name, secret)
        {
            found.push((range, "cookie"));
        }
        at = value + length;
    }
}

/// Returns true if the value of a cookie signs a person in.
fn is_secret(name: &str, value: &str) -> bool {
    if value.contains("[redacted") || is_reference(value) {
        return false;
    }
    // Cookies have their values in the escapes of addresses.
    let plain: String = value
        .split('%')
        .enumerate()
        .map(|(number, part)| match number {
            0 => part,
            _ => part.get(2..).unwrap_or_default(),
        })
        .collect();
    let lower = name.to_ascii_lowercase();
    let is_session = SESSIONS.iter().any(|part| lower.contains(part));
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    let is_mixed = value.len() >= 12 && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    is_random(&plain)
        || (is_session
            && (is_uuid(value.as_bytes()) || (is_mixed && !crate::random::is_placeholder(value))))
}

/// Finds the value in a line of a file of cookies: `hit` is the field before the path.
pub fn line(text: &str, hit: Range<usize>, found: &mut Vec<SecretMatch>) {
    let rest = &text[hit.end..text.floor_char_boundary(text.len().min(hit.end + COOKIES_MAX))];
    let row = &rest[..rest.find('\n').unwrap_or(rest.len())];
    let fields: Vec<&str> = row.trim_end().split('\t').collect();
    if let [path, secure, expiry, name, value] = fields[..]
        && path.starts_with('/')
        && matches!(secure, "TRUE" | "FALSE")
        && expiry.bytes().all(|byte| byte.is_ascii_digit())
        && is_secret(name, value)
    {
        let begin = hit.end + row.trim_end().len() - value.len();
        found.push((begin..begin + value.len(), "cookie"));
    }
}
