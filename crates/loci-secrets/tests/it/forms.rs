//! Texts with a secret in the forms of shells, files, programs and languages, and texts of the same
//! kinds without one.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::generator::{ALPHANUMERIC, BASE64, DIGITS, Draw, HEX, LOWER, UPPER, WORD};

const FORMS: &str = include_str!("forms.txt");
const INNOCENTS: &str = include_str!("innocents.txt");
/// Texts of each form, with other secrets.
const DRAWS: u64 = 4;
const INNOCENT_TEXTS: u64 = 4_000;

/// Returns the lines of a file of forms without its comments.
pub fn lines(file: &'static str) -> impl Iterator<Item = &'static str> {
    file.lines()
        .filter(|line| !line.is_empty() && !line.starts_with("# "))
}

/// Replaces the escapes of a form.
pub fn unescaped(form: &str) -> String {
    let (mut text, mut characters) = (String::new(), form.chars());
    while let Some(character) = characters.next() {
        let escaped = match character {
            '\\' => characters.next(),
            _ => None,
        };
        text.push(match escaped {
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('e') => '\u{1b}',
            Some('a') => '\u{1}',
            Some('z') => '\u{200b}',
            Some('s') => '\u{ad}',
            Some('b') => '\u{a0}',
            Some(other) => other,
            None => character,
        });
    }
    text
}

/// Draws the characters for `*20h` and the like in a pattern.
pub fn drawn(draw: &mut Draw, pattern: &str) -> String {
    let mut parts = pattern.split('*');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let (count, rest) = part.split_at(digits);
        let Ok(count) = count.parse() else {
            text = text + "*" + part;
            continue;
        };
        let (alphabet, rest) = match rest.as_bytes().first() {
            Some(b'h') => (HEX, &rest[1..]),
            Some(b'l') => (LOWER, &rest[1..]),
            Some(b'U') => (UPPER, &rest[1..]),
            Some(b'w') => (WORD, &rest[1..]),
            Some(b'b') => (BASE64, &rest[1..]),
            Some(b'd') => (DIGITS, &rest[1..]),
            _ => (ALPHANUMERIC, rest),
        };
        text += &draw.text(alphabet, count);
        text += rest;
    }
    text
}

/// Draws a secret.
fn secret(draw: &mut Draw, kind: &str) -> String {
    const WORDS: &[&str] = &[
        "harbor", "violin", "copper", "meadow", "lantern", "pickle", "walnut", "glacier", "ribbon",
        "tunnel", "saddle", "orchid",
    ];
    let words =
        |draw: &mut Draw, count: usize| (0..count).map(|_| draw.pick(WORDS)).collect::<Vec<_>>();
    match kind {
        "password" => {
            let symbol = draw.pick(&["", "!", "#", "+", "?"]);
            draw.text(ALPHANUMERIC, 9) + "7k" + symbol + &draw.text(ALPHANUMERIC, 4)
        }
        "word" => {
            let word = draw.pick(&["Sunny", "Garden", "tiger", "Kaktus", "Montag"]);
            word.to_owned() + &draw.text("2468", 4) + draw.pick(&["", "!", "#"])
        }
        "key" => draw.text(ALPHANUMERIC, 40),
        "hex" => draw.text(HEX, 32),
        "uuid" => [8, 4, 4, 4, 12]
            .map(|length| draw.text(HEX, length))
            .join("-"),
        "base64" => STANDARD.encode(draw.text(BASE64, 32)),
        "basic" => STANDARD.encode("ann:".to_owned() + &draw.text(ALPHANUMERIC, 14)),
        "pem" => {
            let begin = ["-----BEGIN RSA PRIVATE", " KEY-----\n"].concat();
            STANDARD.encode(begin + &draw.text(BASE64, 200))
        }
        "pin" => draw.text("13579", 4),
        "phrase" => words(draw, 12).join(" "),
        "chain" => words(draw, 4).join("-"),
        pattern => drawn(draw, pattern),
    }
}

/// The whole secret goes, and nothing else.
#[test]
fn secrets_of_all_forms_are_found_and_the_text_around_them_stays() {
    let (mut kind, mut all, mut wrong) = ("", 0, Vec::new());
    for (number, line) in (0..).zip(lines(FORMS)) {
        if let Some(name) = line.strip_suffix(":.") {
            kind = name;
            continue;
        }
        let form = format!("First line\n{}\nlast line", unescaped(line));
        for turn in 0..DRAWS {
            let secret = secret(&mut Draw::new(number * DRAWS + turn), kind);
            let (before, after) = form.split_once('@').unwrap();
            let [before, after] = [before, after].map(|part| part.replace('\u{1}', "@"));
            let text = [before.as_str(), &secret, &after].concat();
            let redacted = loci_secrets::redact(&text);
            let left = redacted.text.strip_prefix(before.as_str());
            let mark = left.and_then(|left| left.strip_suffix(after.as_str()));
            all += 1;
            if !mark.is_some_and(|mark| mark.starts_with("[redacted: ") && mark.ends_with(']')) {
                wrong.push((text.clone(), redacted.text.into_owned()));
            }
        }
    }
    assert!(
        wrong.len() * 100 <= all,
        "{} of {all}: {wrong:#?}",
        wrong.len()
    );
}

#[test]
fn texts_of_the_same_kinds_without_a_secret_stay() {
    let forms: Vec<&str> = lines(INNOCENTS).collect();
    let mut changed = Vec::new();
    for (number, form) in (0..INNOCENT_TEXTS).zip(forms.iter().cycle()) {
        let draw = &mut Draw::new(1 << 40 | number);
        let digits = unescaped(form).replace('\u{1}', "@");
        let digits: String = digits
            .chars()
            .map(|character| match character {
                '#' => char::from(b'0' + draw.number(10) as u8),
                _ => character,
            })
            .collect();
        let text = format!("First line\n{}\nlast line", drawn(draw, &digits));
        let redacted = loci_secrets::redact(&text);
        if redacted.text != text {
            changed.push((text.clone(), redacted.text.into_owned()));
        }
    }
    assert!(changed.is_empty(), "{}: {changed:#?}", changed.len());
}
