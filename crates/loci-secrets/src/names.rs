//! The names of secrets, and what each says of its value.

/// Parts of names of secrets; each occurrence is checked.
pub const PARTS: &[&str] = &[
    "key",
    "token",
    "secret",
    "passw",
    "passphrase",
    "pass phrase",
    "passcode",
    "pwd",
    "credential",
    "auth",
    "sessid",
    "connect.sid",
    "seed phrase",
    "recovery phrase",
    "seed words",
    "mnemonic",
    "amz-signature",
    "goog-signature",
];
/// The same, but only at the end of a name.
pub const ENDS: &[&str] = &["pass", "pin", "psk", "creds", "pword", "pswd", "pat"];
/// The same with the character after it, because the name is short.
pub const SHORT_ENDS: &[&str] = &[
    "pw=", "pw:", "pw\"", "pw'", "pw`", "pw ", "pw_", "pw)", "pw]", "pw|", "pw,", "pw>", "pw\n",
];

/// The kind of value that a name indicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// A password.
    Password,
    /// A password or, as in `PASS: TestServer2`, a result of a test.
    Outcome,
    /// A random value, or a UUID as some services give it.
    Random(&'static str),
    /// A key, or the id of a key in GPG and git.
    KeyId,
    /// A number of four to eight digits.
    Pin,
    /// A password, or several words.
    Phrase,
    /// A user's name and a password.
    Pair,
    /// A scheme and a random value: `Authorization: Token …`.
    Scheme,
}

/// Words before "key" that say nothing of a secret.
const KEY_WORDS: &[&str] = words! {
    "the" "this" "that" "its" "his" "her" "their" "your" "our" "any" "each" "every" "some" "all" "one" "two"
    "new" "old" "same" "other" "another" "first" "second" "last" "main" "only" "right" "wrong" "correct" "exact"
    "given" "missing" "duplicate" "unknown" "invalid" "unused" "default" "with" "without" "for" "from" "into"
    "and" "not" "per" "via" "has" "have" "get" "use" "used" "using" "add" "set" "press" "pressed" "enter" "escape"
    "tab" "shift" "ctrl" "alt" "cmd" "arrow" "space" "hot" "string" "integer" "number" "dict" "json" "yaml" "config"
    "registry" "table" "column" "record" "document" "item" "node" "entry" "bucket" "shard" "join" "natural"
    "surrogate" "composite" "compound" "candidate" "host" "blob" "redis" "store" "storage" "lock" "data" "sha"
    "type" "name" "value" "field" "label" "metric" "trace" "span" "topic" "queue" "event" "job" "task" "state"
    "answer" "low" "turn" "musical" "piano" "build" "artifact" "result" "attribute" "property" "locale" "issue"
    "version" "release" "dedupe" "deduplication" "memo" "memoization" "fallback" "where" "which" "when" "what"
};

/// Maximum words of a name that are read.
const WORDS_MAX: usize = 16;

/// Returns true for words that may follow the word that names a secret.
fn is_after(word: &str) -> bool {
    matches!(
        word,
        "base"
            | "ident"
            | "value"
            | "string"
            | "data"
            | "prod"
            | "production"
            | "dev"
            | "test"
            | "staging"
            | "live"
            | "old"
            | "new"
            | "primary"
            | "secondary"
            | "text"
            | "plain"
            | "default"
            | "raw"
            | "hex"
            | "env"
            | "main"
            | "current"
    ) || word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns true for words in names of values that need not be secret.
fn is_open(word: &str) -> bool {
    matches!(
        word,
        "public"
            | "pub"
            | "publishable"
            | "foreign"
            | "sort"
            | "partition"
            | "cache"
            | "idempotency"
            | "index"
            | "unique"
            | "site"
            | "csrf"
            | "xsrf"
            | "next"
            | "page"
            | "continuation"
            | "sync"
            | "cancel"
            | "cancellation"
            | "hash"
            | "sha"
            | "sha1"
            | "sha256"
            | "sha512"
            | "md5"
            | "digest"
            | "checksum"
            | "integrity"
            | "fingerprint"
            | "thumbprint"
            | "commit"
            | "etag"
            | "lookup"
            | "object"
            | "routing"
            | "row"
            | "map"
            | "group"
            | "query"
            | "translation"
            | "react"
            | "press"
            | "i18n"
            | "cursor"
            | "nonce"
            | "dedup"
            | "design"
            | "image"
            | "file"
            | "layer"
            | "resume"
            | "tree"
            | "revision"
            | "message"
            | "websocket"
            | "socket"
    )
}

/// Returns true for words before "key" or "token", with a blank between, that make a name of a
/// secret: "API key".
fn is_before(word: &str) -> bool {
    matches!(
        word,
        "api"
            | "secret"
            | "access"
            | "private"
            | "master"
            | "encryption"
            | "auth"
            | "signing"
            | "account"
            | "shared"
            | "service"
            | "storage"
            | "license"
            | "subscription"
            | "admin"
            | "deploy"
            | "webhook"
            | "app"
            | "application"
            | "client"
            | "bearer"
            | "refresh"
            | "session"
            | "bot"
            | "security"
            | "wep"
            | "wpa"
            | "wifi"
            | "activation"
            | "search"
            | "sdk"
            | "ca"
            | "project"
            | "workspace"
            | "organization"
            | "team"
            | "server"
            | "database"
            | "write"
            | "ingest"
            | "management"
            | "integration"
            | "personal"
            | "provider"
    )
}

/// Returns true for words before "pass" that make it a password.
fn is_holder(word: &str) -> bool {
    matches!(
        word,
        "sudo"
            | "root"
            | "admin"
            | "user"
            | "wifi"
            | "db"
            | "database"
            | "mail"
            | "smtp"
            | "ftp"
            | "ssh"
            | "login"
            | "my"
    )
}

/// Returns true for a word before "key" that can be the name of a service, as in "the weather key": the
/// key is secret if it is random.
fn is_owner(word: &str) -> bool {
    const LETTERS_MIN: usize = 3;
    word.len() >= LETTERS_MIN
        && word.bytes().all(|byte| byte.is_ascii_alphabetic())
        && !is_open(word)
        && !KEY_WORDS.contains(&word)
}

/// Returns true for names in the query of an address whose values are secret if they are random.
fn is_of_query(name: &str) -> bool {
    matches!(
        name,
        "key"
            | "sig"
            | "signature"
            | "sid"
            | "session"
            | "ticket"
            | "code_verifier"
            | "hmac"
            | "auth"
    )
}

/// Returns the kind of value of a name with the word before it, as in `API key`, or of a name in
/// the query of an address.
pub fn family_in(before: &str, name: &str) -> Option<Family> {
    if before.ends_with(['?', '&']) && is_of_query(&name.to_ascii_lowercase()) {
        return Some(Family::Random("api-key"));
    }
    if name.trim_start_matches('-').eq_ignore_ascii_case("key") && name.starts_with('-') {
        return Some(Family::Random("api-key"));
    }
    let found = family(name);
    let is_word = name.bytes().all(|byte| byte.is_ascii_alphabetic());
    let Some(before) = before.strip_suffix(' ').filter(|_| is_word) else {
        return found;
    };
    let is_of = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
    let length = before.bytes().rev().take_while(|byte| is_of(byte)).count();
    let word = before[before.len() - length..].to_ascii_lowercase();
    match found {
        Some(Family::Outcome) if is_holder(&word) => Some(Family::Password),
        None if is_before(&word) => family(&format!("{word}_{name}")),
        None if name.eq_ignore_ascii_case("key") && is_owner(&word) => {
            Some(Family::Random("api-key"))
        }
        Some(Family::Random(_)) if is_open(&word) => None,
        found => found,
    }
}

/// Returns the kind of value that the name indicates; `None` if it need not be secret.
pub fn family(name: &str) -> Option<Family> {
    let lower = name.to_ascii_lowercase();
    let (words, count) = words(name, &lower);
    let words = &words[..count];
    if words.iter().any(|word| is_open(word)) {
        return None;
    }
    let last = words.iter().rposition(|word| !is_after(word))?;
    let word = words[last];
    let word = word
        .strip_suffix('s')
        .filter(|word| !word.ends_with('s'))
        .unwrap_or(word);
    // Keys of tables, keys of files in a store, and ids of signed assemblies are not secret.
    let before = |distance: usize| last.checked_sub(distance).map(|at| words[at]);
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
    family_of_word(word, words).or_else(|| family_of_end(word, words))
}

/// Ends of words that mean a password.
const PASSWORDS: &[&str] = words! { "password" "passwd" "passwrd" "pwd" "passphrase" "passcode" };
/// Ends of words that mean a key and no other word, as in `apikey`.
const KEYS: &[&str] = words! {
    "apikey" "secretkey" "accesskey" "privatekey" "masterkey" "encryptionkey"
    "authkey" "signingkey" "accountkey" "sharedkey" "servicekey" "storagekey" "licensekey"
};

/// Returns the kind of value of names that end with a word, which may be a part of a longer one:
/// `dbpassword`.
fn family_of_end(word: &str, words: &[&str]) -> Option<Family> {
    let ends_with = |ends: &[&str]| ends.iter().any(|end| word.ends_with(end));
    let has = |part: &str| words.contains(&part);
    if ends_with(PASSWORDS) {
        return Some(Family::Password);
    }
    if has("aws") && words.iter().any(|word| word.contains("secret")) {
        return Some(Family::Random("aws-secret-key"));
    }
    if word == "accountkey" || (has("account") && word == "key") {
        return Some(Family::Random("azure-storage-key"));
    }
    for (end, kind) in [
        ("secret", "secret"),
        ("token", "token"),
        ("credential", "credential"),
    ] {
        if word.ends_with(end) {
            return Some(Family::Random(kind));
        }
    }
    let is_key = (word == "key" && words.len() > 1) || ends_with(KEYS);
    let is_private = has("private") || word == "privatekey";
    let is_signing = has("signing") || has("gpg") || has("pgp") || word == "signingkey";
    is_key.then_some(match (is_private, is_signing) {
        (true, _) => Family::Random("private-key"),
        (false, true) => Family::KeyId,
        (false, false) => Family::Random("api-key"),
    })
}

/// Returns the kind of value of names that are one word.
fn family_of_word(word: &str, words: &[&str]) -> Option<Family> {
    let has = |part: &str| words.contains(&part);
    match word {
        "pin" | "pincode" => Some(Family::Pin),
        "mnemonic" | "passphrase" => Some(Family::Phrase),
        "phrase" if ["seed", "recovery", "pass", "secret"].into_iter().any(has) => {
            Some(Family::Phrase)
        }
        "word" if has("seed") => Some(Family::Phrase),
        "cred" | "auth" => Some(Family::Pair),
        "pat" if words.len() > 1 => Some(Family::Random("token")),
        "credential" if words.len() == 1 => Some(Family::Pair),
        "authorization" => Some(Family::Scheme),

        "pass" | "dbpass" | "userpass" | "psw" | "pw" | "psk" | "pword" | "pswd"
        | "requirepass" | "bindpw" | "rootpw" | "storepass" | "keypass" | "masterauth" => {
            Some(Family::Password)
        }
        "phpsessid" | "jsessionid" | "sessid" => Some(Family::Random("cookie")),
        "sid" if has("connect") => Some(Family::Random("cookie")),
        "signature" if has("amz") || has("goog") => Some(Family::Random("signature")),
        _ => None,
    }
}

/// Returns the words of a name in lower case, and their number: `dbApiKey_2` is `db`, `api`, `key`,
/// `2`. Of a longer name, the last words count.
fn words<'a>(name: &str, lower: &'a str) -> ([&'a str; WORDS_MAX], usize) {
    let (mut words, mut count, mut begin) = ([""; WORDS_MAX], 0, 0);
    let bytes = name.as_bytes();
    for end in 1..=bytes.len() {
        let before = bytes[end - 1];
        let next = bytes.get(end).copied().unwrap_or_default();
        let is_break = !next.is_ascii_alphanumeric()
            || !before.is_ascii_alphanumeric()
            || (before.is_ascii_lowercase() && next.is_ascii_uppercase())
            || before.is_ascii_digit() != next.is_ascii_digit();
        if is_break {
            if before.is_ascii_alphanumeric() {
                if count == WORDS_MAX {
                    words.rotate_left(1);
                    count -= 1;
                }
                words[count] = lower.get(begin..end).unwrap_or_default();
                count += 1;
            }
            begin = end;
        }
    }
    (words, count)
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
            ("CARD_PIN", Some(Family::Pin)),
            ("seed_phrase", Some(Family::Phrase)),
            ("wpa_psk", Some(Family::Password)),
            ("Authorization", Some(Family::Scheme)),
            ("signing_key", Some(Family::KeyId)),
            ("primaryKey", None),
            ("primary_api_key", Some(Family::Random("api-key"))),
            ("s3_key", None),
            ("keyToken", None),
        ] {
            assert_eq!(family(name), expected, "{name}");
        }
    }
}
