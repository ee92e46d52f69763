//! Secrets whose form is more than a prefix.

use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use crate::alphabet::{Alphabet, is_boundary};
use crate::passwords::{is_option_value, is_placeholder_password, is_reference};
use crate::random::{is_placeholder, is_random, is_uuid};
use crate::{SecretMatch, work};

/// Maximum bytes of a secret that are read.
const REACH_MAX: usize = 16 << 10;
/// Maximum bytes of the header of a JSON web token.
const HEADER_MAX: usize = 2 << 10;
/// Maximum bytes of a user's name and password in a URL.
const USER_INFO_MAX: usize = 512;

/// Returns the longest run of the alphabet from `at` on, up to [`REACH_MAX`].
fn run(bytes: &[u8], at: usize, alphabet: Alphabet) -> Range<usize> {
    let rest = &bytes[at.min(bytes.len())..bytes.len().min(at + REACH_MAX)];
    let length = rest.iter().take_while(|byte| alphabet.has(**byte)).count();
    work::read(length);
    at..at + length
}

/// Returns the longest run of the alphabet before `at`, up to about `max` bytes, without the digits
/// of an escape such as `%20`.
fn run_back(bytes: &[u8], at: usize, alphabet: Alphabet, max: usize) -> Range<usize> {
    let before = &bytes[at.saturating_sub(max + 2)..at];
    after_escape(
        bytes,
        at - before
            .iter()
            .rev()
            .take_while(|byte| alphabet.has(**byte))
            .count(),
    )..at
}

/// Returns the start of a word after an escape such as `%20`, if `start` is within that escape.
fn after_escape(bytes: &[u8], start: usize) -> usize {
    let is_escape = start > 0 && bytes[start - 1] == b'%';
    let digits = bytes.get(start..start + 2).unwrap_or_default();
    if is_escape && digits.len() == 2 && digits.iter().all(u8::is_ascii_hexdigit) {
        start + 2
    } else {
        start
    }
}

/// Finds a private key in PEM, from its first line to its last: `hit` is `-----BEGIN `.
pub fn private_key(text: &str, hit: Range<usize>) -> Option<SecretMatch> {
    const FRAME: &str = "-----";
    const BODY_MIN: usize = 40;
    let rest = &text[hit.end..];
    let label_end = rest[..rest.floor_char_boundary(64)].find(FRAME)?;
    let label = &rest[..label_end];
    if !label.contains("PRIVATE KEY") && !label.contains("Static key") {
        return None;
    }
    let body_at = hit.end + label_end + FRAME.len();
    let body = &text[body_at..];
    let length = body.find(FRAME).unwrap_or(body.len());
    let end = if body[length..].starts_with("-----END ") {
        let last = &body[length + FRAME.len()..];
        let closed = last[..last.floor_char_boundary(64)].find(FRAME);
        body_at + length + closed.map_or(FRAME.len(), |closed| FRAME.len() + closed + FRAME.len())
    } else {
        // A truncated key ends with its last line of base64.
        let is_of_key = |line: &&str| {
            let line = line.trim();
            line.len() >= 16
                && line
                    .bytes()
                    .all(|byte| Alphabet::Base64.has(byte) || byte == b'\\')
                || line.is_empty()
                || line.starts_with("Proc-Type")
                || line.starts_with("DEK-Info")
        };
        let lines = body[..length].split_inclusive('\n').enumerate();
        let of_key = lines.take_while(|(number, line)| {
            (*number == 0 && line.trim().is_empty()) || is_of_key(line)
        });
        body_at + of_key.map(|(_, line)| line.len()).sum::<usize>()
    };
    let characters = text[body_at..end]
        .bytes()
        .filter(u8::is_ascii_alphanumeric)
        .take(BODY_MIN)
        .count();
    let is_shown = text[body_at..end].contains("...") || text[body_at..end].contains('\u{2026}');
    let end = text[..end].trim_end().len();
    (characters == BODY_MIN && !is_shown).then_some((hit.start..end, "private-key"))
}

/// Finds a JSON web token: three parts, the first of which names the algorithm. Also returns the
/// end of the part that was read.
pub fn json_web_token(text: &str, hit: Range<usize>) -> (Option<SecretMatch>, usize) {
    let bytes = text.as_bytes();
    if !is_boundary(bytes, hit.start) {
        return (None, 0);
    }
    let header = run(
        &bytes[..bytes.len().min(hit.start + HEADER_MAX)],
        hit.start,
        Alphabet::Word,
    );
    let token = || {
        let dot = |at: usize| (bytes.get(at) == Some(&b'.')).then_some(at + 1);
        let claims = run(bytes, dot(header.end)?, Alphabet::Word);
        let signature = run(bytes, dot(claims.end)?, Alphabet::Word);
        let decoded = URL_SAFE_NO_PAD.decode(&bytes[header.clone()]).ok()?;
        let decoded = String::from_utf8(decoded).ok()?;
        let is_header = decoded.starts_with('{')
            && decoded.trim_end().ends_with('}')
            && decoded.contains("\"alg\"");
        (is_header && claims.len() >= 8 && signature.len() >= 16)
            .then_some((header.start..signature.end, "jwt"))
    };
    (token(), header.end)
}

/// Finds the password of a URL, as in `postgres://user:password@host/`, or the token in its place:
/// `hit` is `://`.
pub fn url_password(text: &str, hit: Range<usize>) -> Option<SecretMatch> {
    let bytes = text.as_bytes();
    let scheme = run_back(bytes, hit.start, Alphabet::Dotted, 32);
    if !bytes[scheme.clone()].iter().any(u8::is_ascii_alphabetic) {
        return None;
    }
    let rest = &bytes[hit.end..bytes.len().min(hit.end + USER_INFO_MAX)];
    let is_end = |byte: &u8| {
        byte.is_ascii_whitespace() || b"\"'`<>\\|".contains(byte) || byte.is_ascii_control()
    };
    let url = &rest[..rest.iter().position(is_end).unwrap_or(rest.len())];
    let authority = &url[..url
        .iter()
        .position(|byte| b"/?#".contains(byte))
        .unwrap_or(url.len())];
    let colon_in = |part: &[u8]| part.iter().position(|byte| *byte == b':');
    let at = if let Some(at) = authority.iter().rposition(|byte| *byte == b'@') {
        at
    } else {
        // A password may contain the signs that end the name of a host, which has a number
        // after its colon.
        let after = &authority[colon_in(authority)? + 1..];
        let is_port = after.iter().all(u8::is_ascii_digit);
        let at = url
            .iter()
            .position(|byte| *byte == b'@')
            .filter(|_| !is_port)?;
        let is_host = |byte: &u8| byte.is_ascii_alphanumeric() || b".-".contains(byte);
        url.get(at + 1).filter(|byte| is_host(byte)).map(|_| at)?
    };
    let is_host_known = at + 1 < url.len();
    let Some(colon) = colon_in(&url[..at]) else {
        let token = text.get(hit.end..hit.end + at)?;
        let is_public = url[at..].windows(6).any(|part| part == b"sentry");
        return (is_host_known && is_random(token) && !is_public)
            .then_some((hit.end..hit.end + at, "url-token"));
    };
    let user = text.get(hit.end..hit.end + colon)?;
    let range = hit.end + colon + 1..hit.end + at;
    let password = text.get(range.clone())?;
    // Some services take a token as the name, with any password.
    if is_host_known && is_random(user) && !password.starts_with("[redacted") {
        return Some((hit.end..hit.end + at, "url-token"));
    }
    (password.len() >= 3
        && is_host_known
        && !is_placeholder_password(password)
        && !is_reference(password)
        && !password.starts_with("[redacted"))
    .then_some((range, "password"))
}

/// Finds the password of an Oracle URL: `hit` is `thin:`.
pub fn thin_password(text: &str, hit: Range<usize>) -> Option<SecretMatch> {
    let rest = &text[hit.end..text.floor_char_boundary(text.len().min(hit.end + USER_INFO_MAX))];
    let (user, rest) = rest.split_once('/')?;
    let password = &rest[..rest.find('@')?];
    let begin = hit.end + user.len() + 1;
    let is_user = !user.is_empty()
        && user
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_$#".contains(&byte));
    (is_user && is_option_value(password) && !password.contains(char::is_whitespace))
        .then_some((begin..begin + password.len(), "password"))
}

/// Finds the password of a line of `.pgpass`: `hit` is the port.
pub fn pgpass(text: &str, hit: Range<usize>) -> Option<SecretMatch> {
    let from = text.floor_char_boundary(hit.start.saturating_sub(128));
    let host = text[from..hit.start]
        .rsplit(['\n', ' ', '`', '"', '\''])
        .next()?;
    let rest = &text[hit.end..text.floor_char_boundary(text.len().min(hit.end + USER_INFO_MAX))];
    let line = rest.split(['\n', '\r', '`']).next()?;
    let mut fields = line.splitn(3, ':');
    let (database, user, password) = (fields.next()?, fields.next()?, fields.next()?);
    let is_name = |name: &str| !name.is_empty() && !name.contains([' ', '/', '@']);
    let password = password.split(' ').next()?.trim_end_matches(['"', '\'']);
    let begin = hit.end + database.len() + user.len() + 2;
    (is_name(host) && is_name(database) && is_name(user) && is_option_value(password))
        .then_some((begin..begin + password.len(), "password"))
}

/// Finds the hash of a password, as in `htpasswd` and `/etc/shadow`: `hit` is its method.
pub fn password_hash(text: &str, hit: Range<usize>) -> Option<SecretMatch> {
    const HASH_MIN: usize = 22;
    let bytes = text.as_bytes();
    let is_of = |byte: &u8| byte.is_ascii_alphanumeric() || b"./+$=,_-".contains(byte);
    let rest = &bytes[hit.end..bytes.len().min(hit.end + 256)];
    let length = rest.iter().take_while(|byte| is_of(byte)).count();
    work::read(length);
    let length = rest[..length]
        .iter()
        .rposition(|byte| !b".,".contains(byte))
        .map_or(0, |last| last + 1);
    let last = rest[..length]
        .rsplit(|byte| *byte == b'$')
        .next()
        .unwrap_or_default();
    let secret = text.get(hit.end..hit.end + length)?;
    // A hash contains letters in a row by chance, but not the words of a placeholder.
    let is_shown = ["...", "xxxx", "XXXX", "example", "your"]
        .iter()
        .any(|part| secret.contains(part));
    (last.len() >= HASH_MIN && !is_shown && last.iter().any(u8::is_ascii_digit))
        .then_some((hit.start..hit.end + length, "password-hash"))
}

/// Finds a private key in base64: `hit` is the beginning of its first line in that encoding.
pub fn encoded_private_key(text: &str, hit: Range<usize>) -> Option<SecretMatch> {
    const LABEL_MAX: usize = 64;
    let bytes = text.as_bytes();
    if !is_boundary(bytes, hit.start) {
        return None;
    }
    let range = run(bytes, hit.start, Alphabet::Base64);
    let begin = &bytes[range.start..range.end.min(range.start + LABEL_MAX)];
    let decoded = STANDARD.decode(&begin[..begin.len() / 4 * 4]).ok()?;
    let is_private = decoded.windows(11).any(|part| part == b"PRIVATE KEY");
    (is_private && range.len() > LABEL_MAX).then_some((range, "private-key"))
}

/// Finds the values of a secret of Kubernetes: `hit` is `kind: Secret`.
pub fn kubernetes(text: &str, hit: Range<usize>, found: &mut Vec<SecretMatch>) {
    const LINES_MAX: usize = 200;
    if text[hit.end..].starts_with(|next: char| next.is_alphanumeric()) {
        return;
    }
    let from = text[..hit.start].rfind("\n---").map_or(0, |at| at + 4);
    let from = text.floor_char_boundary(from.max(hit.start.saturating_sub(REACH_MAX)));
    let (mut at, mut data): (usize, Option<usize>) = (from, None);
    for line in text[from..].split_inclusive('\n').take(LINES_MAX) {
        let begin = at;
        at += line.len();
        work::read(line.len());
        let content = line.trim();
        let indent = line.len() - line.trim_start().len();
        if begin > hit.end && (content == "---" || content.starts_with("```")) {
            break;
        }
        if matches!(content, "data:" | "stringData:") {
            data = Some(indent);
            continue;
        }
        if data.is_some_and(|data| indent <= data) && !content.is_empty() {
            data = None;
        }
        let Some((name, value)) = content.split_once(": ").filter(|_| data.is_some()) else {
            continue;
        };
        let value = value.trim().trim_matches(['"', '\'']);
        let is_secret = value.len() >= 4
            && !name.starts_with('#')
            && !value.contains([' ', '<', '{'])
            && !value.starts_with("[redacted")
            && !is_reference(value)
            && !is_placeholder(value);
        if is_secret {
            let value_at = begin + line.rfind(value).unwrap_or_default();
            found.push((value_at..value_at + value.len(), "secret"));
        }
    }
}

/// Finds the private members of a key in JSON: `hit` is the member with its type.
pub fn json_web_key(text: &str, hit: Range<usize>, found: &mut Vec<SecretMatch>) {
    let start = text.floor_char_boundary(hit.start.saturating_sub(4096));
    let start = text[start..hit.start]
        .rfind('{')
        .map_or(hit.start, |at| start + at);
    let object = &text[start..text.floor_char_boundary(text.len().min(hit.end + 4096))];
    let object = &object[..object.find('}').unwrap_or(object.len())];
    work::read(object.len());
    for name in ["d", "k", "p", "q", "dp", "dq", "qi"] {
        let Some(at) = object.find(&format!("\"{name}\"")) else {
            continue;
        };
        let rest = object[at + name.len() + 2..].trim_start_matches([' ', ':', '"', '\n']);
        let value = &rest[..rest.find('"').unwrap_or_default()];
        if value.len() >= 16 && value.bytes().all(|byte| Alphabet::Word.has(byte)) {
            let begin = start + object.len() - rest.len();
            found.push((begin..begin + value.len(), "private-key"));
        }
    }
}

/// Finds the private lines of a key of PuTTY: `hit` is the word before their number.
pub fn putty_key(text: &str, hit: Range<usize>) -> Option<SecretMatch> {
    let line_end = hit.end + text[hit.end..].find('\n')? + 1;
    let lines = text[line_end..].split_inclusive('\n');
    let of_key = lines.take(64).take_while(|line| {
        line.trim().len() >= 8 && line.trim().bytes().all(|byte| Alphabet::Base64.has(byte))
    });
    let length: usize = of_key.map(str::len).sum();
    let end = line_end + text[line_end..line_end + length].trim_end().len();
    (length >= 16).then_some((line_end..end, "private-key"))
}

/// Finds a personal token of Airtable: `hit` is its prefix, before an id, a full stop and the secret.
pub fn airtable(text: &str, hit: Range<usize>) -> Option<SecretMatch> {
    const ID: usize = 14;
    let bytes = text.as_bytes();
    if bytes.get(hit.end + ID) != Some(&b'.') || !is_boundary(bytes, hit.start) {
        return None;
    }
    let id = run(&bytes[..hit.end + ID], hit.end, Alphabet::Alphanumeric);
    let secret = run(bytes, hit.end + ID + 1, Alphabet::Hex);
    (id.len() == ID && secret.len() == 64).then_some((hit.start..secret.end, "airtable-token"))
}

/// Finds the token of an `Authorization` header after `Bearer` or `Token`.
pub fn bearer(text: &str, hit: Range<usize>) -> Option<SecretMatch> {
    let bytes = text.as_bytes();
    let rest = &bytes[hit.end..bytes.len().min(hit.end + REACH_MAX)];
    let length = rest
        .iter()
        .take_while(|byte| Alphabet::Base64.has(**byte) || matches!(byte, b'.' | b'~'))
        .count();
    // A token may contain full stops, but does not end with one.
    let length = rest[..length]
        .iter()
        .rposition(|byte| *byte != b'.')
        .map_or(0, |last| last + 1);
    let begin = if rest.starts_with(b"token=") {
        6.min(length)
    } else {
        0
    };
    let range = hit.end + begin..hit.end + length;
    let token = text.get(range.clone())?;
    (is_random(token) || is_uuid(token.as_bytes())).then_some((range, "bearer-token"))
}

/// Finds the credentials of an `Authorization` header after `Basic`: base64 of a user's name and
/// password.
pub fn basic(text: &str, hit: Range<usize>) -> Option<SecretMatch> {
    let range = run(text.as_bytes(), hit.end, Alphabet::Base64);
    let decoded = STANDARD.decode(&text.as_bytes()[range.clone()]).ok()?;
    let decoded = String::from_utf8(decoded).ok()?;
    let (user, password) = decoded.split_once(':')?;
    let is_text = !decoded.chars().any(char::is_control) && decoded.len() >= 6;
    (is_text && user.len() + password.len() >= 6 && !is_placeholder_password(password))
        .then_some((range, "basic-credentials"))
}

/// Finds the token of a Telegram bot: `hit` is the `:AA` in its middle.
pub fn telegram(text: &str, hit: Range<usize>) -> Option<SecretMatch> {
    let bytes = text.as_bytes();
    let before = &bytes[hit.start.saturating_sub(12)..hit.start];
    let start = hit.start
        - before
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
    let digits = hit.start - after_escape(bytes, start).min(hit.start);
    let tail = run(bytes, hit.end, Alphabet::Word);
    let is_found =
        (8..=10).contains(&digits) && tail.len() == 33 && !is_placeholder(&text[tail.clone()]);
    is_found.then_some((hit.start - digits..tail.end, "telegram-bot-token"))
}

/// Finds a Mailchimp key: `hit` is the `-us` before the number of its data centre.
pub fn mailchimp(text: &str, hit: Range<usize>) -> Option<SecretMatch> {
    let bytes = text.as_bytes();
    let key = run_back(bytes, hit.start, Alphabet::Hex, 33);
    let tail = run(bytes, hit.end, Alphabet::Alphanumeric);
    let is_number =
        (1..=2).contains(&tail.len()) && bytes[tail.clone()].iter().all(u8::is_ascii_digit);
    (key.len() == 32 && is_number).then_some((key.start..tail.end, "mailchimp-key"))
}

/// Finds a New Relic licence key: `hit` is the `NRAL` at its end.
pub fn new_relic(text: &str, hit: Range<usize>) -> Option<SecretMatch> {
    let key = run_back(text.as_bytes(), hit.start, Alphabet::Hex, 37);
    (key.len() == 36).then_some((key.start..hit.end, "new-relic-key"))
}

/// Finds a Terraform Cloud token: `hit` is the `.atlasv1.` in its middle.
pub fn terraform(text: &str, hit: Range<usize>) -> Option<SecretMatch> {
    let bytes = text.as_bytes();
    let (begin, tail) = (
        run_back(bytes, hit.start, Alphabet::Alphanumeric, 15),
        run(bytes, hit.end, Alphabet::Word),
    );
    (begin.len() == 14 && tail.len() >= 40).then_some((begin.start..tail.end, "terraform-token"))
}

/// Finds a client secret of an Azure application: `hit` is the `8Q~` after its first three
/// characters.
pub fn azure_secret(text: &str, hit: Range<usize>) -> Option<SecretMatch> {
    let bytes = text.as_bytes();
    let is_of = |byte: &u8| Alphabet::Dotted.has(*byte) || *byte == b'~';
    let start = hit.start.checked_sub(3)?;
    let tail = bytes[hit.end..]
        .iter()
        .take(64)
        .take_while(|byte| is_of(byte))
        .count();
    let tail = text[hit.end..hit.end + tail].trim_end_matches('.').len();
    let is_found = bytes[start..hit.start].iter().all(is_of)
        && is_boundary(bytes, start)
        && (31..=36).contains(&tail);
    is_found.then_some((start..hit.end + tail, "azure-client-secret"))
}

/// Finds the signature of a URL to Azure storage: `hit` is `sig=`.
pub fn azure_signature(text: &str, hit: Range<usize>) -> Option<SecretMatch> {
    let bytes = text.as_bytes();
    let before = bytes.get(hit.start.checked_sub(1)?)?;
    let rest = &bytes[hit.end..bytes.len().min(hit.end + 128)];
    let length = rest
        .iter()
        .take_while(|byte| Alphabet::Base64.has(**byte) || **byte == b'%')
        .count();
    let found = text.get(hit.end..hit.end + length)?;
    (matches!(before, b'?' | b'&' | b';')
        && length >= 43
        && (found.ends_with("%3D") || found.ends_with("%3d") || found.ends_with('=')))
    .then_some((hit.end..hit.end + length, "azure-signature"))
}

/// Finds a key of Azure that has the signature of its service: `hit` is that, before six characters of
/// a checksum, or between 52 and 26 others.
pub fn azure_key(text: &str, hit: Range<usize>) -> Option<SecretMatch> {
    const BODY_MIN: usize = 38;
    const BODY_MAX: usize = 90;
    let bytes = text.as_bytes();
    let is_of = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let before = &bytes[hit.start.saturating_sub(BODY_MAX)..hit.start];
    let body = before.iter().rev().take_while(|byte| is_of(byte)).count();
    let after = &bytes[hit.end..bytes.len().min(hit.end + BODY_MAX)];
    let tail = after.iter().take_while(|byte| is_of(byte)).count();
    work::read(body + tail);
    let length = if text[hit.clone()].starts_with("JQQJ") {
        (52, 26)
    } else {
        (body, 6)
    };
    let padding = after[tail..]
        .iter()
        .take(2)
        .take_while(|byte| **byte == b'=')
        .count();
    let end = hit.end + tail + padding;
    ((body, tail) == length && body >= BODY_MIN).then_some((hit.start - body..end, "azure-key"))
}

/// Finds a token of Braintree: `hit` is its beginning, before the kind of the account, the account and
/// the secret.
pub fn braintree(text: &str, hit: Range<usize>) -> Option<SecretMatch> {
    let bytes = text.as_bytes();
    let kind = run(bytes, hit.end, Alphabet::Lower);
    let account = run(bytes, kind.end + 1, Alphabet::Lower);
    let secret = run(bytes, account.end + 1, Alphabet::Hex);
    let is_parted = [kind.end, account.end].map(|at| bytes.get(at)) == [Some(&b'$'); 2];
    (is_parted && account.len() == 16 && secret.len() == 32)
        .then_some((hit.start..secret.end, "braintree-token"))
}

/// Finds the secret part of a webhook of Teams: `hit` is the part before it.
pub fn teams_webhook(text: &str, hit: Range<usize>) -> Option<SecretMatch> {
    let rest = &text[hit.end..text.floor_char_boundary(text.len().min(hit.end + 256))];
    let is_of = |letter: char| letter.is_ascii_alphanumeric() || "-_@/".contains(letter);
    let length = rest.find(|letter| !is_of(letter)).unwrap_or(rest.len());
    let secret = rest[..length].split("/IncomingWebhook/").nth(1)?;
    (secret.len() >= 32 && !is_placeholder(secret))
        .then_some((hit.end..hit.end + length, "teams-webhook"))
}

/// Finds the secret part of a webhook URL: `hit` is the part before it.
pub fn webhook(text: &str, hit: Range<usize>, kind: &'static str) -> Option<SecretMatch> {
    let bytes = text.as_bytes();
    let rest = &bytes[hit.end..bytes.len().min(hit.end + 256)];
    let length = rest
        .iter()
        .take_while(|byte| Alphabet::Word.has(**byte) || **byte == b'/')
        .count();
    let last = rest[..length].iter().rposition(|byte| *byte == b'/')?;
    let secret = text.get(hit.end + last + 1..hit.end + length)?;
    // The last part of a webhook of Zapier is short.
    let path = text.get(hit.end..hit.end + length)?.trim_end_matches('/');
    let is_secret = match kind {
        "webhook" => path.len() >= 14 && path.bytes().any(|byte| byte.is_ascii_digit()),
        _ => secret.len() >= 20 && !is_placeholder(secret),
    };
    is_secret.then_some((hit.end..hit.end + path.len(), kind))
}

/// Finds the token of a Discord bot: three parts, the first of which is a user id in base64. `hit`
/// is its prefix.
pub fn discord(text: &str, hit: Range<usize>) -> Option<SecretMatch> {
    let bytes = text.as_bytes();
    let limit = bytes.len().min(hit.start + 100);
    let part = |at: usize| {
        let rest = bytes.get(at..limit).unwrap_or_default();
        at..at
            + rest
                .iter()
                .take_while(|byte| Alphabet::Word.has(**byte))
                .count()
    };
    let first = part(hit.start);
    work::read(first.len());
    if !(22..=30).contains(&first.len()) || bytes.get(first.end) != Some(&b'.') {
        return None;
    }
    let second = part(first.end + 1);
    if second.len() != 6 || bytes.get(second.end) != Some(&b'.') {
        return None;
    }
    let third = part(second.end + 1);
    (27..=40)
        .contains(&third.len())
        .then_some((first.start..third.end, "discord-token"))
}
