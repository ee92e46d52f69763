//! Secrets that are recognized by the name of their assignment: `api_key = "…"`, `"password": "…"`,
//! `--token …`, `ENV NAME …`, "the password is …".

use std::ops::Range;

use crate::SecretMatch;
use crate::alphabet::is_boundary;
use crate::code::{is_computed, is_identifier, is_name_path, is_snake};
use crate::columns;
use crate::default_value;
use crate::languages::Meaning;
use crate::names::{Family, family_in};
use crate::passwords::{is_name_of_method, is_password, is_reference, is_strong_password, is_term};
use crate::random::{is_random, is_short_random, is_uuid};
use crate::value::{self, Value, value};
use crate::value_position::{self, Announcement, ValuePosition};
use crate::{JUDGED_MAX, work};
use crate::{announcement, positions, sentence};

/// Maximum bytes of a name before and after the part that says what it is.
const NAME_BEFORE_MAX: usize = 64;
const NAME_AFTER_MAX: usize = 32;
/// Maximum bytes of the ending of a word in another language.
const ENDING_MAX: usize = 18;
/// Bytes before a name that are read for the words before it.
const BEFORE_MAX: usize = 32;
/// Bytes before a name that are read for the marks of its line.
const LINE_MAX: usize = 120;
/// Minimum bytes of a password that is an entry of a file with its name.
const ENTRY_MIN: usize = 8;
/// Minimum words of a phrase that is a password, and of one that is called a password.
const PHRASE_MIN: usize = 4;

/// Finds the values that are assigned to the name around `hit`, if they are secret; returns the end
/// of the text that was read, 0 without a value.
pub fn secrets(text: &str, hit: Range<usize>, found: &mut Vec<SecretMatch>) -> usize {
    let Some(name) = name_around(text, hit) else {
        return 0;
    };
    let place = announcement::after(text, &name);
    let family = || {
        let before =
            &text[text.floor_char_boundary(name.start.saturating_sub(BEFORE_MAX))..name.start];
        family_in(before, &text[name.clone()])
    };
    if let Some(place) = place {
        let has_value = is_plausible(text, place.at);
        if !has_value && !columns::is_header(text, &name) {
            return 0;
        }
        let Some(family) = family() else { return 0 };
        let operator = text.get(name.end..place.operator_end).unwrap_or_default();
        let family = match family {
            Family::Outcome if is_of_login(text, &name, operator) => Family::Password,
            family => family,
        };
        let (secret, end) = Assignment {
            text,
            family,
            name: name.clone(),
            operator,
            place,
        }
        .secret();
        if secret.is_some() {
            found.extend(secret);
            return end;
        }
        if columns::is_header(text, &name) {
            return end.max(columns::secrets(text, &name, family, found));
        }
        return end;
    }
    if (sentence::before(text, &name).is_some() || piped(text, &name).is_some())
        && let Some(family) = family()
    {
        let end = value_before(text, &name, family, found);
        if end > 0 {
            return end;
        }
    }
    if columns::is_header(text, &name)
        && let Some(family) = family()
    {
        return columns::secrets(text, &name, family, found);
    }
    0
}

/// Returns true if a name such as `pass` is surely that of a password, not of an outcome: in an option,
/// a setting, or after the name of a user.
fn is_of_login(text: &str, name: &Range<usize>, operator: &str) -> bool {
    let from = text.floor_char_boundary(name.start.saturating_sub(BEFORE_MAX));
    let before = text[from..name.start].to_ascii_lowercase();
    operator == "="
        || text[name.clone()].starts_with('-')
        || ["user", "login", "email"]
            .iter()
            .any(|part| before.contains(part))
}

/// Returns true if a secret can be at this place: what follows has a digit, a long word, a phrase, or
/// a symbol in quotes. This is cheaper than to read the value.
fn is_plausible(text: &str, at: usize) -> bool {
    const NEAR_MAX: usize = 64;
    const WORD_MIN: usize = 15;
    let bytes = text.as_bytes();
    let near = &bytes[at.min(bytes.len())..bytes.len().min(at + NEAR_MAX)];
    if value_position::has_digit(near) {
        return true;
    }
    let is_of = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/_-".contains(byte);
    let mut length = 0;
    let is_long = near.iter().any(|byte| {
        length = if is_of(byte) { length + 1 } else { 0 };
        length >= WORD_MIN
    });
    let is_quoted = matches!(near, [b'"' | b'\'' | b'`' | b'\\', ..]);
    let word = near
        .split(u8::is_ascii_whitespace)
        .next()
        .unwrap_or_default();
    let part = if is_quoted { near } else { word };
    is_long
        || part.iter().skip(1).any(|byte| b"!@#$%^?~".contains(byte))
        || (is_quoted && part.iter().any(|byte| b"*+&".contains(byte)))
        || value::phrase(text, at, PHRASE_MIN).is_some()
}

/// Finds the value after a name in another language than English.
pub fn foreign_secrets(
    text: &str,
    hit: Range<usize>,
    meaning: Meaning,
    found: &mut Vec<SecretMatch>,
) -> usize {
    let bytes = text.as_bytes();
    let is_within = hit.start > 0
        && bytes[hit.start].is_ascii_alphabetic()
        && bytes[hit.start - 1].is_ascii_lowercase()
        && !is_boundary(bytes, hit.start);
    if is_within {
        return 0;
    }
    // Endings of cases and parts of names: `пароля`, `Passwortes`, `db_passwort_neu`.
    let rest = &text[hit.end..text.floor_char_boundary(text.len().min(hit.end + ENDING_MAX))];
    let is_ideographic = text[hit.clone()].chars().any(|letter| letter >= '\u{2e80}');
    let is_ending = |letter: char| {
        (letter.is_alphabetic() && (letter < '\u{2e80}'))
            || matches!(letter, '_' | '-')
            || letter.is_ascii_digit()
    };
    let ending = if is_ideographic {
        0
    } else {
        rest.find(|letter| !is_ending(letter)).unwrap_or(rest.len())
    };
    let name = hit.start..hit.end + ending;
    let family = match meaning {
        Meaning::Password => Family::Password,
        Meaning::Key => Family::Random("api-key"),
        Meaning::Pin => Family::Pin,
    };
    let Some(place) = announcement::after_foreign(text, &name) else {
        if columns::is_header(text, &name) {
            return columns::secrets(text, &name, family, found);
        }
        return value_before(text, &name, family, found);
    };
    let operator = text.get(name.end..place.operator_end).unwrap_or_default();
    let (secret, end) = Assignment {
        text,
        family,
        name: name.clone(),
        operator,
        place,
    }
    .secret();
    if secret.is_none() {
        return end.max(value_before(text, &name, family, found));
    }
    found.extend(secret);
    end
}

/// Returns what a command prints for the one with the name: `echo … | tool secret put NAME`.
fn piped(text: &str, name: &Range<usize>) -> Option<Range<usize>> {
    let from = text.floor_char_boundary(name.start.saturating_sub(BEFORE_MAX));
    text[from..name.start].contains("| ").then_some(())?;
    positions::echoed(text, name.clone())
}

/// Finds the value that a sentence names afterwards; returns the end of the name, 0 without a value.
fn value_before(
    text: &str,
    name: &Range<usize>,
    family: Family,
    found: &mut Vec<SecretMatch>,
) -> usize {
    let is_secret = |range: &Range<usize>| is_secret_before(&text[range.clone()], family);
    let range = sentence::before(text, name)
        .filter(is_secret)
        .or_else(|| piped(text, name).filter(is_secret));
    let Some(range) = range else { return 0 };
    found.push((range, "password"));
    name.end
}

/// Returns the name around a part of a name.
fn name_around(text: &str, hit: Range<usize>) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let before = &bytes[hit.start.saturating_sub(NAME_BEFORE_MAX)..hit.start];
    let mut start = hit.start - before.iter().rev().take_while(|byte| is_name(byte)).count();
    // The `n` of `\n` is not a part of the name.
    if start > 0 && bytes[start - 1] == b'\\' && matches!(bytes[start], b'n' | b'r' | b't') {
        start += 1;
    }
    let after = &bytes[hit.end..bytes.len().min(hit.end + NAME_AFTER_MAX)];
    let is_after = |byte: &&u8| is_name(byte) && **byte != b'.';
    let mut end = hit.end + after.iter().take_while(is_after).count();
    // The arrow of `name->value` and `name -> value`.
    if bytes[end - 1] == b'-' && bytes.get(end) == Some(&b'>') && end > hit.end {
        end -= 1;
    }
    // The end of emphasized text of Markdown.
    while end > hit.end && bytes[end - 1] == b'_' {
        end -= 1;
    }
    work::read(end - start);
    (start <= hit.start).then_some(start..end)
}

/// Returns true if a value is a secret that a sentence names afterwards.
fn is_secret_before(value: &str, family: Family) -> bool {
    !value.contains("[redacted")
        && !value.contains(';')
        && !value.contains("://")
        && match family {
            Family::Password | Family::Phrase => is_strong_password(value) || is_random(value),
            Family::Random(_) => is_random(value) || is_uuid(value.as_bytes()),
            Family::KeyId => is_random(value),
            _ => false,
        }
}

/// The assignment of a value to the name of a secret.
struct Assignment<'a> {
    text: &'a str,
    family: Family,
    name: Range<usize>,
    /// The characters between the name and the value.
    operator: &'a str,
    place: ValuePosition,
}

impl Assignment<'_> {
    /// Returns the secret, and the end of the text that was read.
    fn secret(&self) -> (Option<SecretMatch>, usize) {
        if self.family == Family::Phrase
            && self.place.how != Announcement::Blank
            && let Some(range) = value::phrase(self.text, self.place.at, PHRASE_MIN)
        {
            let end = range.end;
            return (Some((range, "passphrase")), end);
        }
        let Some(value) = self.value() else {
            return (None, 0);
        };
        let (value, kind) = match (self.kind(&value), default_value::after(self.text, &value)) {
            (None, Some(default)) => {
                let kind = self.kind(&default);
                (default, kind)
            }
            (kind, _) => (value, kind),
        };
        let end = value.range.end;
        let secret = kind.map(|kind| {
            let mut end = value::whole_end(self.text.as_bytes(), &value);
            // The end of the bold text of Markdown that started before the name.
            if !value.is_quoted && self.is_bold() && self.text.as_bytes()[..end].ends_with(b"**") {
                end -= 2;
            }
            (value.range.start..self.text.ceil_char_boundary(end), kind)
        });
        (secret, end)
    }

    /// Returns true if the name is a part of the name of a resource, as in `arn:aws:…:secret:…`.
    fn is_in_resource_name(&self) -> bool {
        let from = self
            .text
            .floor_char_boundary(self.name.start.saturating_sub(LINE_MAX));
        let is_end = |letter: char| letter.is_whitespace() || "\"'`=(".contains(letter);
        let word = self.text[from..self.name.start].rsplit(is_end).next();
        word.is_some_and(|word| word.starts_with("arn:"))
    }

    /// Returns true if the name is in bold text of Markdown, which may end after the value.
    fn is_bold(&self) -> bool {
        let from = self
            .text
            .floor_char_boundary(self.name.start.saturating_sub(LINE_MAX));
        let line = self.text[from..self.name.start].rsplit('\n').next();
        line.is_some_and(|line| line.matches("**").count() % 2 == 1)
    }

    fn value(&self) -> Option<Value> {
        let at = self.place.at;
        match self.family {
            Family::Pair => value::pair(self.text, at).or_else(|| value(self.text.as_bytes(), at)),
            Family::Scheme => {
                // The scheme before the value: `Token`, `ApiKey`, `SSWS`.
                let rest = self.text.get(at..)?;
                let rest = rest
                    .strip_prefix(['f', 'b', 'r'])
                    .filter(|rest| rest.starts_with(['"', '\'']))
                    .unwrap_or(rest)
                    .trim_start_matches(['"', '\'', '`', '\\']);
                let scheme = rest
                    .bytes()
                    .take(32)
                    .take_while(|byte| byte.is_ascii_alphabetic() || *byte == b'-')
                    .count();
                let value_at = self.text.len() - rest.len() + scheme;
                let gap = value_position::blanks(self.text.as_bytes(), value_at);
                let parameter = ["key=", "token=", "Credential="]
                    .iter()
                    .find(|name| rest[scheme..].trim_start().starts_with(**name));
                match (scheme, gap) {
                    (0, _) | (_, 0) => value(self.text.as_bytes(), at),
                    _ => value(
                        self.text.as_bytes(),
                        value_at + gap + parameter.map_or(0, |name| name.len()),
                    ),
                }
            }
            _ => self.unwrapped(value(self.text.as_bytes(), at)?),
        }
    }

    /// Returns what is in the brackets of a value, if it is random; else they are of a template.
    /// Maven writes encrypted passwords between single braces.
    fn unwrapped(&self, whole: Value) -> Option<Value> {
        let text = self.text.get(whole.range.clone())?;
        let brackets = [("{{", "}}"), ("[", "]"), ("(", ")")];
        let inner = brackets.iter().find_map(|(open, close)| {
            let inner = text.strip_prefix(open)?.strip_suffix(close)?;
            let is_secret = is_random(inner) || is_uuid(inner.as_bytes());
            is_secret.then_some((open.len(), inner.len()))
        });
        let Some((open, length)) = inner.filter(|_| !whole.is_quoted) else {
            return Some(whole);
        };
        let start = whole.range.start + open;
        Some(Value {
            range: start..start + length,
            ..whole
        })
    }

    fn kind(&self, value: &Value) -> Option<&'static str> {
        let (is_quoted, end) = (value.is_quoted, value.range.end);
        let value = self.text.get(value.range.clone())?;
        let value = &value[..value.floor_char_boundary(JUDGED_MAX)];
        if value.contains("[redacted")
            || value.contains("://")
            || self.is_in_resource_name()
            || is_reference(value)
            || (!is_quoted && self.family != Family::Pin && self.is_code(value))
        {
            return None;
        }
        let how = self.place.how;
        if how == Announcement::Line && !value::is_alone(self.text.as_bytes(), end) {
            return None;
        }
        if matches!(
            how,
            Announcement::Line | Announcement::Blank | Announcement::Entry
        ) && (is_snake(value)
            || (value.starts_with('-') && !is_random(value))
            || is_computed(value))
        {
            return None;
        }
        let is_password = |value: &str| is_password_in(how, value, is_quoted);
        let is_key = |value: &str| {
            is_random(value)
                || (how == Announcement::Direct && is_short_random(value))
                || ((how != Announcement::Blank || is_quoted) && is_uuid(value.as_bytes()))
        };
        match self.family {
            Family::Outcome if is_quoted && self.operator.contains([':', '=']) => {
                is_password(value).then_some("password")
            }
            Family::Outcome => {
                let is_result = self.operator.starts_with([' ', ')']) || self.operator.is_empty();
                // A result has no symbols, and is no word in quotes that a command sets.
                let is_entry =
                    how == Announcement::Entry && value.contains(['!', '@', '#', '$', '%', '^']);
                let is_set = how == Announcement::Direct && is_quoted && is_password(value);
                (is_set || ((!is_result || is_entry) && is_strong_password(value)))
                    .then_some("password")
            }
            Family::Password | Family::Phrase => is_password(value).then_some("password"),
            Family::Pair if is_random(value) => Some("credential"),
            Family::Pair => is_strong_password(value).then_some("password"),
            Family::KeyId if is_key_id(value) => None,
            Family::KeyId => is_random(value).then_some("api-key"),
            Family::Pin => {
                let is_pin = (4..=8).contains(&value.len())
                    && value.bytes().all(|byte| byte.is_ascii_digit());
                (is_pin && how != Announcement::Line).then_some("pin")
            }
            Family::Random("signature" | "cookie") => is_random(value).then_some("signature"),
            // A secret that people chose may be shorter than one of a program.
            Family::Random("secret")
                if how == Announcement::Direct
                    && matches!(self.operator.trim(), "=" | ":")
                    && value.is_ascii()
                    && !value.contains('%')
                    && is_strong_password(value) =>
            {
                Some("secret")
            }
            Family::Random(kind) => is_key(value).then_some(kind),
            Family::Scheme => {
                (how == Announcement::Direct && is_key(value)).then_some("credential")
            }
        }
    }

    /// Returns true if an unquoted value is a part of a program or a template.
    fn is_code(&self, value: &str) -> bool {
        let is_compared = self.operator.contains("==");
        // Settings mostly have no spaces before the `=`, and a word with a number is a password
        // there.
        let is_spaced = self.operator.contains([' ', '\t']) && self.operator.contains('=');
        is_compared
            || value.starts_with('!')
            || is_computed(value)
            || is_name_path(value)
            || is_identifier(value, is_spaced)
    }
}

/// Returns true if a value is a compound of words and numbers that names no method: `hunter2-otter`.
fn is_compound(value: &str) -> bool {
    const COMPOUND_MIN: usize = 10;
    value.len() >= COMPOUND_MIN
        && value.contains('-')
        && !value.contains(['.', '/', '_', '+'])
        && !is_term(value)
        && !value.split('-').any(is_name_of_method)
}

/// Returns true if a value is a password in the place where a name announces it.
fn is_password_in(how: Announcement, value: &str, is_quoted: bool) -> bool {
    let is_free = |is_name: bool| !is_term(value) && !is_identifier(value, is_name);
    is_random(value)
        || match how {
            Announcement::Direct => {
                is_password(value, is_quoted) && !is_name_of_method(value) || is_word_chain(value)
            }
            Announcement::Sentence => is_password(value, false) && is_free(false),
            Announcement::Blank if is_quoted => is_password(value, true) && !is_term(value),
            Announcement::Line if is_quoted && !value.contains(' ') => {
                is_password(value, false) && is_free(true)
            }
            Announcement::Entry => {
                value.len() >= ENTRY_MIN
                    && is_password(value, is_quoted)
                    && (is_free(true) || is_compound(value))
            }
            Announcement::Blank | Announcement::Line => is_strong_password(value),
        }
}

/// Returns true if a value is a chain of words that was made as a password:
/// `correct-horse-battery-staple`.
fn is_word_chain(value: &str) -> bool {
    const NAMES: &[&str] = &[
        "password", "passwd", "secret", "key", "token", "my", "your", "db", "user", "admin", "the",
        "not", "name", "value", "reset", "new", "file", "app", "service", "example", "to", "for",
        "of", "in", "is", "a", "change",
    ];
    let separator = if value.contains('-') { '-' } else { '.' };
    let words = || value.split(separator);
    words().count() >= PHRASE_MIN
        && words().all(|word| {
            word.len() >= 3
                && word.bytes().all(|byte| byte.is_ascii_lowercase())
                && !NAMES.contains(&word)
        })
}

/// Returns true if a value is the id of a key as GPG writes it: the last 16 of its 40 digits, or
/// all.
fn is_key_id(value: &str) -> bool {
    let digits = value.strip_prefix("0x").unwrap_or(value);
    matches!(digits.len(), 16 | 40)
        && digits
            .bytes()
            .all(|byte| byte.is_ascii_digit() || (b'A'..=b'F').contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str, hit: Range<usize>) -> Option<SecretMatch> {
        let mut found = Vec::new();
        secrets(text, hit, &mut found);
        found.pop()
    }

    #[test]
    fn values_are_found_where_languages_put_them() {
        let value = ["q7Xw2PzL", "9vKd4TnB", "e5Rg"].concat();
        for form in [
            "API_KEY=@",
            "export API_KEY='@'",
            "\"api_key\": \"@\"",
            "{\\\"api_key\\\": \\\"@\\\"}",
            ":api_key => \"@\"",
            "api_key := \"@\"",
            "const apiKey: string = '@';",
            "config[\"api_key\"] = \"@\"",
            "client.set_api_key(\"@\")",
            "headers.set(\"X-Api-Key\", \"@\")",
            "X-Api-Key: @",
            "tool --api-key @ --verbose",
            "https://host/path?api_key=@&page=2",
            "<apiKey>@</apiKey>",
            "api_key = b\"@\"",
        ] {
            let text = form.replace('@', &value);
            let at = text.to_ascii_lowercase().find("key").unwrap();
            let found =
                secret(&text, at..at + 3).map(|(range, kind)| (text[range].to_owned(), kind));
            assert_eq!(found, Some((value.clone(), "api-key")), "{form}");
        }
    }

    #[test]
    fn what_is_compared_or_computed_is_left() {
        for text in [
            "if a.key > q7Xw2PzL9vKd4TnBe5Rg",
            "password: String,",
            "password = get_password2(user)",
            "\"password\": \"At least 8 characters\"",
            "PASSWORD=${DB_PASSWORD2}",
            "password = config.password2",
            "token != null",
            "password: bytes):",
            "if (password == other9value) {",
            "passwd = layer1+layer2",
            "password = parameter1;",
            "f(password=new_password1)",
            "secret_key = winreg.EnumKey64Value",
            "token: !GetAtt9Xq2w7Lp4Zr8Kd",
            "(PKCS_15_TOKEN, \"pkcs-9-at-pkcs15q7w\")",
        ] {
            let lower = text.to_ascii_lowercase();
            let at = ["key", "passw", "token"]
                .iter()
                .find_map(|part| lower.find(part))
                .unwrap();
            assert_eq!(secret(text, at..at + 3), None, "{text}");
        }
    }
}
