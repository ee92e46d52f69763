//! Secrets that are recognized by the name of their assignment: `api_key = "…"`, `"password": "…"`,
//! `--token …`.

use std::ops::Range;

use crate::random::{is_computed, is_identifier, is_name_path, is_password, is_random};
use crate::special::Found;
use crate::{JUDGED_MAX, work};

/// Parts of names of secrets; each occurrence is checked.
pub const NAME_PARTS: [&str; 9] = [
    "key",
    "token",
    "secret",
    "passw",
    "passphrase",
    "passcode",
    "pwd",
    "credential",
    "auth",
];
/// The same, but only at the end of a name.
pub const NAME_PART_PASS: &str = "pass";

/// Maximum bytes of a name before and after that part.
const NAME_BEFORE_MAX: usize = 64;
const NAME_AFTER_MAX: usize = 32;
/// Maximum spaces between a name, the operator and the value.
const SPACES_MAX: usize = 40;
/// Maximum bytes of a value.
const VALUE_MAX: usize = 4096;

/// The kind of value that a name indicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Password,
    /// A password or, as in `PASS: TestServer2`, a result of a test.
    Outcome,
    Random(&'static str),
    /// A key, or the id of a key in GPG and git.
    KeyId,
}

/// Returns the value that is assigned to the name around `hit`, with its kind, if it is a secret;
/// and the end of the checked value; 0 without a value.
pub fn secret(text: &str, hit: Range<usize>) -> (Option<Found>, usize) {
    let Some(assignment) = Assignment::around(text, hit) else {
        return (None, 0);
    };
    (assignment.secret(), assignment.value.end)
}

/// The assignment of a value to the name of a secret.
struct Assignment<'a> {
    text: &'a str,
    family: Family,
    value: Range<usize>,
    is_quoted: bool,
    /// The characters between the name and the value.
    operator: &'a str,
}

impl<'a> Assignment<'a> {
    fn around(text: &'a str, hit: Range<usize>) -> Option<Self> {
        let bytes = text.as_bytes();
        let is_name =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        let before = &bytes[hit.start.saturating_sub(NAME_BEFORE_MAX)..hit.start];
        let mut start = hit.start - before.iter().rev().take_while(|byte| is_name(byte)).count();
        // The `n` of `\n` is not a part of the name.
        if start > 0 && bytes[start - 1] == b'\\' && matches!(bytes[start], b'n' | b'r' | b't') {
            start += 1;
        }
        let after = &bytes[hit.end..bytes.len().min(hit.end + NAME_AFTER_MAX)];
        let end = hit.end
            + after
                .iter()
                .take_while(|byte| is_name(byte) && **byte != b'.')
                .count();
        work::read(end - start);
        let name = text.get(start..end)?;
        let value_at = value_start(bytes, start, end, name)?;
        let family = family(name)?;
        let (value, is_quoted) = value(bytes, value_at)?;
        Some(Assignment {
            text,
            family,
            value,
            is_quoted,
            operator: text.get(end..value_at)?,
        })
    }

    fn secret(&self) -> Option<Found> {
        let value = self.text.get(self.value.clone())?;
        let value = &value[..value.floor_char_boundary(JUDGED_MAX)];
        if value.contains("[redacted")
            || value.contains("://")
            || (!self.is_quoted && self.is_code(value))
        {
            return None;
        }
        let kind = match self.family {
            Family::Outcome if !self.is_quoted || !self.operator.contains([':', '=']) => {
                return None;
            }
            Family::Password | Family::Outcome => {
                (is_password(value, self.is_quoted) || is_random(value)).then_some("password")?
            }
            Family::KeyId if is_key_id(value) => return None,
            Family::KeyId => is_random(value).then_some("api-key")?,
            Family::Random(kind) => is_random(value).then_some(kind)?,
        };
        Some((self.value.clone(), kind))
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

/// Returns the start of the value that is assigned to a name, before its quote.
fn value_start(bytes: &[u8], start: usize, end: usize, name: &str) -> Option<usize> {
    let is_space = |byte: u8| matches!(byte, b' ' | b'\t');
    let spaces = |at: usize| {
        bytes[at..]
            .iter()
            .take(SPACES_MAX)
            .take_while(|byte| is_space(**byte))
            .count()
    };
    let mut at = end;
    at += bytes[at..]
        .iter()
        .take(4)
        .take_while(|byte| matches!(byte, b'"' | b'\'' | b'`' | b']' | b'\\'))
        .count();
    let gap = spaces(at);
    at += gap;
    let operator = bytes[at..]
        .iter()
        .take(3)
        .take_while(|byte| matches!(byte, b'=' | b':' | b'>'))
        .count();
    if operator > 0 {
        // `<password>value</password>`, but not `a.key > value`.
        if bytes[at] == b'>' && (gap > 0 || start == 0 || bytes[start - 1] != b'<') {
            return None;
        }
        // `password: str = "value"`
        if bytes[at] == b':' && operator == 1 {
            let rest = &bytes[at + 1..bytes.len().min(at + 1 + SPACES_MAX)];
            let is_type =
                |byte: &u8| byte.is_ascii_alphanumeric() || b" _&<>[]:'|?.".contains(byte);
            let typed = rest.iter().take_while(|byte| is_type(byte)).count();
            if typed > 0 && rest.get(typed) == Some(&b'=') {
                at += 1 + typed;
            }
        }
        let operator = bytes[at..]
            .iter()
            .take(3)
            .take_while(|byte| matches!(byte, b'=' | b':' | b'>'))
            .count();
        at += operator;
        return Some(at + spaces(at));
    }
    // A call or a list, with the value in quotes: `set("api_key", "value")`.
    let is_list = bytes.get(at) == Some(&b',') && matches!(bytes[at - 1], b'"' | b'\'' | b'`');
    if is_list || bytes.get(at) == Some(&b'(') {
        at += 1;
        at += spaces(at);
        return matches!(bytes.get(at), Some(b'"' | b'\'' | b'`')).then_some(at);
    }
    // `--token value`
    if gap > 0 && name.starts_with("--") {
        return Some(at);
    }
    // `machine host login name password value`, on one or several lines.
    if gap > 0 && name.eq_ignore_ascii_case("password") {
        let before = &bytes[start.saturating_sub(200)..start];
        let has_login = before.windows(6).any(|window| window == b"login ");
        return has_login.then_some(at);
    }
    None
}

/// Returns the value at this position without its quotes, and true if it has quotes.
fn value(bytes: &[u8], mut at: usize) -> Option<(Range<usize>, bool)> {
    // Prefixes of strings in Python and Rust.
    if matches!(bytes.get(at), Some(b'b' | b'r' | b'f' | b'u'))
        && matches!(bytes.get(at + 1), Some(b'"' | b'\''))
    {
        at += 1;
    }
    let quotes = bytes
        .get(at..)?
        .iter()
        .take(4)
        .take_while(|byte| matches!(byte, b'"' | b'\'' | b'`' | b'\\'))
        .count();
    let limit = bytes.len().min(at + quotes + VALUE_MAX);
    let begin = at + quotes;
    let rest = &bytes[begin..limit];
    if quotes > 0 {
        let quote = bytes[begin - 1];
        let length = rest
            .iter()
            .position(|byte| *byte == quote || matches!(byte, b'\n' | b'\\'));
        work::read(length.unwrap_or(rest.len()));
        let length = length?;
        return (rest[length] != b'\n').then_some((begin..begin + length, true));
    }
    let (mut length, mut open) = (0, 0_usize);
    while length < rest.len() {
        let next = rest.get(length + 1).copied();
        let is_last =
            next.is_none_or(|next| next.is_ascii_whitespace() || b"\"'`,;)]}<".contains(&next));
        let is_end = match rest[length] {
            byte if byte.is_ascii_whitespace() || byte.is_ascii_control() => true,
            b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b'|' => true,
            b')' | b']' | b'}' if open == 0 => true,
            b'.' => is_last,
            b',' | b';' | b'&' => is_last || begins_assignment(&rest[length + 1..]),
            _ => false,
        };
        if is_end {
            break;
        }
        match rest[length] {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open -= 1,
            _ => {}
        }
        length += 1;
    }
    work::read(length);
    (length > 0).then_some((begin..begin + length, false))
}

/// Returns true if the text continues with `name=` or `name:`.
fn begins_assignment(rest: &[u8]) -> bool {
    let name = rest
        .iter()
        .take(40)
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b' '))
        .count();
    work::read(name);
    name > 0 && matches!(rest.get(name), Some(b'=' | b':'))
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

/// Returns the words of a name in lower case: `dbApiKey_2` is `db`, `api`, `key`, `2`.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = b' ';
    for byte in name.bytes() {
        let is_break = !byte.is_ascii_alphanumeric()
            || !before.is_ascii_alphanumeric()
            || (before.is_ascii_lowercase() && byte.is_ascii_uppercase())
            || before.is_ascii_digit() != byte.is_ascii_digit();
        if byte.is_ascii_alphanumeric() {
            if is_break || words.is_empty() {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.push(char::from(byte.to_ascii_lowercase()));
            }
        }
        before = byte;
    }
    words
}

/// Words that may follow the word that names a secret.
const AFTER: [&str; 22] = [
    "base",
    "value",
    "string",
    "data",
    "prod",
    "production",
    "dev",
    "test",
    "staging",
    "live",
    "old",
    "new",
    "primary",
    "secondary",
    "text",
    "plain",
    "default",
    "raw",
    "hex",
    "env",
    "main",
    "current",
];
/// Words in names of values that need not be secret.
const OPEN: [&str; 57] = [
    "public",
    "pub",
    "publishable",
    "foreign",
    "sort",
    "partition",
    "cache",
    "idempotency",
    "index",
    "unique",
    "site",
    "csrf",
    "xsrf",
    "next",
    "page",
    "continuation",
    "sync",
    "cancel",
    "cancellation",
    "hash",
    "sha",
    "sha1",
    "sha256",
    "sha512",
    "md5",
    "digest",
    "checksum",
    "integrity",
    "fingerprint",
    "thumbprint",
    "commit",
    "etag",
    "lookup",
    "object",
    "routing",
    "row",
    "map",
    "group",
    "query",
    "translation",
    "react",
    "press",
    "storage_key",
    "i18n",
    "cursor",
    "nonce",
    "dedup",
    "design",
    "token_type",
    "image",
    "file",
    "layer",
    "resume",
    "tree",
    "revision",
    "message",
    "websocket",
];
/// Ends of words that mean a key and no other word, as in `apikey`.
const KEYS: [&str; 13] = [
    "apikey",
    "secretkey",
    "accesskey",
    "privatekey",
    "masterkey",
    "encryptionkey",
    "authkey",
    "signingkey",
    "accountkey",
    "sharedkey",
    "servicekey",
    "storagekey",
    "licensekey",
];

/// Returns the kind of value that the name indicates; `None` if it need not be secret.
fn family(name: &str) -> Option<Family> {
    let words = words(name);
    if words.iter().any(|word| OPEN.contains(&word.as_str())) {
        return None;
    }
    let is_after =
        |word: &str| AFTER.contains(&word) || word.bytes().all(|byte| byte.is_ascii_digit());
    let last = words.iter().rposition(|word| !is_after(word))?;
    let word = words[last].as_str();
    let word = word
        .strip_suffix('s')
        .filter(|word| !word.ends_with('s'))
        .unwrap_or(word);
    let ends_with = |ends: &[&str]| ends.iter().any(|end| word.ends_with(end));
    let has = |part: &str| words.iter().any(|word| word == part);
    // Keys of tables, keys of files in a store, and ids of signed assemblies are not secret.
    let before = |distance: usize| last.checked_sub(distance).map(|at| words[at].as_str());
    let is_open = match word {
        "key" => before(1) == Some("primary") || (before(1) == Some("3") && before(2) == Some("s")),
        "token" => before(1) == Some("key"),
        _ => false,
    };
    if is_open {
        return None;
    }
    if words.len() == 1 && word == "pass" {
        return Some(Family::Outcome);
    }
    if ends_with(&[
        "password",
        "passwd",
        "passwrd",
        "pwd",
        "passphrase",
        "passcode",
    ]) || ["pass", "dbpass", "userpass", "psw"].contains(&word)
    {
        return Some(Family::Password);
    }
    if words.iter().any(|word| word == "aws") && words.iter().any(|word| word.contains("secret")) {
        return Some(Family::Random("aws-secret-key"));
    }
    if word == "accountkey" || (has("account") && word == "key") {
        return Some(Family::Random("azure-storage-key"));
    }
    if ends_with(&["secret"]) {
        return Some(Family::Random("secret"));
    }
    if ends_with(&["token"]) {
        return Some(Family::Random("token"));
    }
    if ends_with(&["credential"]) || word == "auth" {
        return Some(Family::Random("credential"));
    }
    let is_private = has("private") || word == "privatekey";
    let is_signing = ["signing", "gpg", "pgp"].iter().any(|part| has(part)) || word == "signingkey";
    let is_key = (word == "key" && words.len() > 1) || ends_with(&KEYS);
    let kind = if is_private { "private-key" } else { "api-key" };
    is_key.then_some(if is_signing && !is_private {
        Family::KeyId
    } else {
        Family::Random(kind)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_their_values_are() {
        for (name, expected) in [
            ("api_key", Some(Family::Random("api-key"))),
            ("apiKey", Some(Family::Random("api-key"))),
            ("OPENAI_APIKEY", Some(Family::Random("api-key"))),
            ("key", None),
            ("monkey", None),
            ("public_key", None),
            ("SECRET_KEY_BASE", Some(Family::Random("api-key"))),
            (
                "aws_secret_access_key",
                Some(Family::Random("aws-secret-key")),
            ),
            ("client-secret", Some(Family::Random("secret"))),
            ("csrf_token", None),
            ("githubToken2", Some(Family::Random("token"))),
            ("PGPASSWORD", Some(Family::Password)),
            ("DB_PASS", Some(Family::Password)),
            ("bypass", None),
            ("password_hash", None),
            ("tokenizer", None),
            ("pass", Some(Family::Outcome)),
            ("signing_key", Some(Family::KeyId)),
            ("primaryKey", None),
            ("primary_api_key", Some(Family::Random("api-key"))),
            ("s3_key", None),
            ("keyToken", None),
        ] {
            assert_eq!(family(name), expected, "{name}");
        }
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
            let found = secret(&text, at..at + 3)
                .0
                .map(|(range, kind)| (text[range].to_owned(), kind));
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
            assert_eq!(secret(text, at..at + 3).0, None, "{text}");
        }
    }
}
