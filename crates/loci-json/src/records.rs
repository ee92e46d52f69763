//! The objects in a line, also behind other bytes.

use serde_json::{StreamDeserializer, Value, de::SliceRead};

use crate::repair::{End, repair};

/// The most attempts at an object behind other bytes, so that a line without any costs little.
const ATTEMPTS_MAX: usize = 64;

/// The objects of a line.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Records {
    /// The objects, in order.
    pub values: Vec<Value>,
    /// The number of repairs in them.
    pub repairs: u64,
    /// True if something in the line belongs to no object, as after a write that was cut off.
    pub is_broken: bool,
}

/// Returns the objects in a line: one, or several if two programs wrote at the same time. Behind
/// bytes that are no object, the search goes on at the next `{` that starts one and is followed by
/// another one or by the end of the line. Nothing is found in an array.
pub fn records(line: &[u8]) -> Records {
    // Nearly every line is one object, which is read once and by itself: a stream of values takes
    // 1.4 times as long.
    if line.first() == Some(&b'{')
        && let Ok(value) = serde_json::from_slice(line)
    {
        return Records {
            values: vec![value],
            ..Records::default()
        };
    }
    let mut found = Records::default();
    let mut rest = trimmed(line);
    while !rest.is_empty() {
        let taken = if rest.first() == Some(&b'{') {
            object(rest)
        } else {
            None
        };
        let next = taken.or_else(|| {
            found.is_broken = true;
            (rest.first() != Some(&b'['))
                .then(|| next_object(rest, &is_boundary))
                .flatten()
        });
        let Some((value, repairs, end)) = next else {
            break;
        };
        found.values.push(value);
        found.repairs += repairs;
        rest = trimmed(&rest[end..]);
    }
    found.is_broken |= found.values.is_empty() && !line.trim_ascii().is_empty();
    found
}

/// Returns the objects among bytes that are no element of an array, with the number of repairs in
/// them: behind each, another element or the end of the array follows.
pub fn among(bytes: &[u8]) -> (Vec<Value>, u64) {
    let (mut values, mut count, mut rest) = (Vec::new(), 0, bytes);
    let is_followed = |rest: &[u8]| is_boundary(rest) || matches!(rest[0], b',' | b']');
    while let Some((value, repairs, end)) = next_object(rest, &is_followed) {
        values.push(value);
        count += repairs;
        rest = &rest[end..];
    }
    (values, count)
}

/// An object, the number of repairs in it, and the bytes up to its end.
type Object = (Value, u64, usize);

/// Returns the object that the text starts with.
fn object(text: &[u8]) -> Option<Object> {
    let mut values: StreamDeserializer<'_, SliceRead<'_>, Value> =
        serde_json::Deserializer::from_slice(text).into_iter();
    if let Some(Ok(value)) = values.next() {
        return Some((value, 0, values.byte_offset()));
    }
    let repair = repair(text, End::Open)?;
    let value = serde_json::from_slice(&repair.text).ok()?;
    Some((value, repair.count, repair.end))
}

/// Returns the next object behind the first byte of a text that `is_followed` as it has to be.
fn next_object(text: &[u8], is_followed: &dyn Fn(&[u8]) -> bool) -> Option<Object> {
    let (mut at, mut attempts) = (1, 0);
    while let Some(place) = text.get(at..)?.iter().position(|byte| *byte == b'{') {
        at += place;
        let begins = text[at + 1..].trim_ascii_start().first() == Some(&b'"');
        if let Some((value, repairs, length)) = begins.then(|| object(&text[at..])).flatten() {
            let after = trimmed(&text[at + length..]);
            if after.is_empty() || is_followed(after) {
                return Some((value, repairs, at + length));
            }
            // It is a part of one that is broken.
            at += length;
            continue;
        }
        attempts += usize::from(begins);
        if attempts == ATTEMPTS_MAX {
            return None;
        }
        at += 1;
    }
    None
}

fn is_boundary(rest: &[u8]) -> bool {
    rest[0] == b'{'
}

/// Returns the text without what is blank around it, and without byte order marks and NUL.
fn trimmed(text: &[u8]) -> &[u8] {
    let is_blank = |byte: &u8| matches!(byte, 0 | b' ' | b'\t' | b'\r' | b'\n' | 0x0c);
    let mut text = text;
    loop {
        let rest = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let start = rest.iter().take_while(|byte| is_blank(byte)).count();
        if start == 0 && rest.len() == text.len() {
            break;
        }
        text = &rest[start..];
    }
    let end = text.iter().rev().take_while(|byte| is_blank(byte)).count();
    &text[..text.len() - end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_found_behind_what_is_none() {
        let whole = r#"{"t":"one","in":{"x":[1]}}"#;
        let rows = [
            (whole.to_owned(), 1, false),
            (format!("{whole}{whole}"), 2, false),
            (format!("{whole} and more"), 1, true),
            // Cut off at each kind of place, with the next one behind.
            (format!(r#"{{"t":"o{whole}"#), 1, true),
            (format!(r#"{{"t":"one","in":{{"x":[1{whole}"#), 1, true),
            (format!(r#"{{"t":"one","in":{{"x":[1]}}{whole}"#), 1, true),
            (format!(r#"{{"t":"one","i{whole}{whole}"#), 2, true),
            (format!("}}\"]}}{whole}"), 1, true),
            (format!("\0\0\0\0{whole}\0\0"), 1, false),
            (format!("\u{feff}{whole}"), 1, false),
            ("\0\0\0".to_owned(), 0, true),
            ("no JSON".to_owned(), 0, true),
            (format!("[{whole}]"), 0, true),
            (String::new(), 0, false),
            (r#"{"t":"\ud83d"}"#.to_owned(), 1, false),
        ];
        for (line, count, is_broken) in rows {
            let found = records(line.as_bytes());
            let last = found.values.iter().filter(|value| value["t"].is_string());
            assert_eq!(
                (last.count(), found.is_broken),
                (count, is_broken),
                "{line}"
            );
        }
    }

    #[test]
    fn elements_are_found_among_what_is_none() {
        let (found, repairs) = among(br#"{"a":"cut,{"b":1},{"c":NaN},{"d":"#);
        let found: Vec<String> = found.iter().map(Value::to_string).collect();
        assert_eq!(
            (found, repairs),
            (vec![r#"{"b":1}"#.to_owned(), r#"{"c":null}"#.to_owned()], 1)
        );
    }

    #[test]
    fn a_line_without_objects_costs_little() {
        for unit in ["{\"a", "{\"a\":", "{\"a\":[", "{ ", "{\"a\":[1],"] {
            records(unit.repeat(200_000).as_bytes());
        }
    }
}
