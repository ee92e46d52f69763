//! Tables of words by which secrets are distinguished from other values.

/// Writes a list of words without commas.
macro_rules! words {
    ($($word:literal)+) => { &[$($word),+] };
}

/// Parts of placeholders, which readers are to replace by a secret.
pub const PLACEHOLDERS: &[&str] = words! {
    "your" "example" "changeme" "change-me" "change_me" "placeholder" "dummy" "sample" "redacted" "replace"
    "insert" "todo" "fake" "mock" "xxxx" "***" "..." "\u{2026}" "\u{2022}" "process.env" "environ" "getenv"
    "secrets." "env." "required" "min:" "notreal" "not-a-" "not_a_" "lorem" "foobar"
    "deadbeef" "undefined"
};
/// Signs of templates, which are in placeholders too.
pub const TEMPLATE_SIGNS: &[&str] = words! { "${" "{{" "}}" "$(" "<" };

/// Placeholders for passwords in documentation.
pub const PASSWORD_WORDS: &[&str] = words! {
    "password" "passwd" "passw0rd" "pass" "pwd" "secret" "user" "username" "token" "foo" "bar" "baz" "test"
    "none"
};

/// Beginnings of values that say where a secret is, or that are encrypted.
pub const REFERENCES: &[&str] = words! {
    "$" "op:" "vault:" "vault." "env:" "env(" "env[" "file:" "ssm:" "secretsmanager:" "arn:" "ref+" "keyring:"
    "keychain:" "kv:" "akv:" "gcp:" "gsm:" "conjur:" "bws:" "lpass:" "secret:" "secrets:" "secret/"
    "credstash:" "awssm:" "aws-sm:" "azure-kv:" "enc(" "enc[" "enc:" "{cipher}" "process.env" "import.meta"
    "os.environ" "os.getenv" "system.getenv" "std::env" "cmd:" "exec:" "command:" "var." "local." "data."
    "module." "projects/" "secrets/" "@microsoft.keyvault" "aqicah" "doppler:" "infisical:" "bitwarden:"
    "1password:" "sops:" "chamber:" "configmap:" "azurekeyvault" "params." "inputs." "vars." "config."
    "settings." "self." "this." "-----begin pub" "-----begin cert" "/run/" "sealed:" "age:" "akeyless:"
    "keepass:" "pass show" "$ansible_vault" "secretref:" "secretkeyref:" "dpapi:" "crypt:" "encrypted:"
    "gaaaaab" "dotenvx:" "k8s:" "sm:" "azurekv:" "sealed-secrets"
};

/// Words with numbers that are names of methods and formats, not passwords.
pub const TERMS: &[&str] = words! {
    "sha1" "sha224" "sha256" "sha384" "sha512" "sha3" "sha-1" "sha-256" "sha-384" "sha-512" "sha3-256" "md4"
    "md5" "base16" "base32" "base58" "base64" "base64url" "utf8" "utf16" "utf-8" "utf-16" "argon2" "argon2i"
    "argon2d" "argon2id" "pbkdf2" "bcrypt2" "oauth1" "oauth2" "oauth2.0" "http1" "http2" "http/2" "ipv4"
    "ipv6" "x509" "x.509" "rsa1024" "rsa2048" "rsa4096" "rsa-2048" "rsa-4096" "aes128" "aes192" "aes256"
    "aes-128" "aes-192" "aes-256" "aes-256-gcm" "aes-128-gcm" "aes-256-cbc" "aes-128-cbc" "aes256-gcm"
    "chacha20" "chacha20-poly1305" "xchacha20" "ed25519" "ed448" "secp256k1" "secp256r1" "p-256" "p-384"
    "p-521" "prime256v1" "curve25519" "x25519" "hs256" "hs384" "hs512" "rs256" "rs384" "rs512" "es256" "es384"
    "es512" "ps256" "win32" "win64" "python2" "python3" "crc32" "log4j2" "uuidv4" "uuidv7" "uuid4" "iso8601"
    "rfc3339" "rfc4226" "rfc6238" "rfc6749" "rfc7519" "pkcs1" "pkcs7" "pkcs8" "pkcs11" "pkcs12" "pkcs#8"
    "pkcs#12" "tls1.2" "tls1.3" "tlsv1.2" "tlsv1.3" "ssl3" "ntlmv2" "smbv3" "ldap3" "psycopg2" "mysql8"
    "mysql5" "postgres14" "postgres15" "postgres16" "postgres17" "redis7" "fido2" "u2f" "webauthn2" "totp6"
    "java8" "java11" "java17" "java21" "es2015" "es2020" "es2022" "scram-sha-256" "scram-sha-1"
    "scram-sha-512" "hmac-sha1" "hmac-sha256" "hmac-sha512" "md5crypt" "sha512crypt" "sha256crypt" "bearer1"
    "version1" "version2"
};

/// Words that make such a name with any number.
pub const NUMBERED_TERMS: &[&str] = words! {
    "varchar" "nvarchar" "char" "nchar" "varbinary" "binary" "decimal" "numeric" "int" "uint" "float" "string"
    "text" "bytes" "byte" "bit" "bits" "utf" "sha" "sha-" "md" "aes" "aes-" "rsa" "rsa-" "es" "hs" "rs" "base"
    "oauth" "http" "ipv" "tls" "ssl" "pkcs" "crc" "python" "java" "node" "php" "rfc" "iso" "win"
};

/// Words of sentences, which are not in phrases that are passwords.
pub const SENTENCE_WORDS: &[&str] = words! {
    "the" "and" "for" "are" "was" "not" "your" "must" "with" "from" "enter" "please" "should" "will" "has"
    "its" "our" "but" "than" "into" "may" "been" "were" "which" "used" "using" "does" "also" "password"
    "passphrase" "confirm" "again" "required" "here" "least" "words" "characters"
};

/// Fields whose value is a name, so that the value is in the next field.
pub const NAMING: &[&str] = words! {
    "name" "key" "parameterkey" "variable" "var" "property" "field" "id" "setting" "option" "type" "label"
    "header" "attribute" "entry" "secret"
};

/// Fields with the value of a name in another field.
pub const VALUES: &[&str] = words! {
    "value" "val" "string" "content" "default" "default_value" "defaultvalue" "parametervalue" "plaintext"
    "stringvalue" "secret_data" "text" "password" "secret" "secretstring"
};

/// Elements of pages and documents around a value.
pub const ELEMENTS: &[&str] = words! {
    "b" "strong" "i" "em" "code" "kbd" "pre" "span" "td" "th" "dd" "dt" "string" "value" "p" "tt" "li" "name"
    "key" "data" "div" "label" "br" "h1" "h2" "h3" "h4" "h5" "h6" "u" "mark" "samp" "var" "small" "font"
    "summary" "details"
};

/// Verbs between a name and its value in a sentence.
pub const VERBS: &[&str] = words! {
    "is" "was" "are" "=" "reads" "equals" "becomes" "remains" "ist" "lautet" "est" "es" "è" "é"
};

/// Words between such a verb and the value.
pub const ADVERBS: &[&str] = words! {
    "now" "still" "just" "currently" "set" "changed" "reset" "to" "simply" "again" "always" "actually"
    "called" "literally" "also"
};

/// Options with the value of the name before them, without their dashes.
pub const FLAGS: &[&str] = words! {
    "value" "body" "secret-string" "plaintext" "string-value" "secret-value" "text" "data"
};

/// Functions that make a value of the text in quotes that they take.
pub const CONSTRUCTORS: &[&str] = words! {
    "from" "new" "some" "ok" "str" "string" "secret" "secretstr" "secretstring" "securestring" "sensitive" "field"
    "dict" "value" "bytes" "encode" "decode" "b64decode" "atob" "frombase64string" "default" "just" "of" "valueof"
};

/// Verbs of sentences that give a name its value.
pub const SETTING_VERBS: &[&str] = words! {
    "set" "sets" "setting" "change" "changed" "changing" "reset" "update" "updated" "rotated" "switch" "switched"
    "setze" "setzt" "gesetzt" "geändert" "ändere" "stelle" "gestellt"
};

/// Words before a name that is set to the value after it.
pub const COMMANDS: &[&str] = words! {
    "env" "arg" "set" "setx" "setenv" "export" "passenv" "config" "configure" "-gx" "-x" "-ux" "put" "add"
};

/// The letters that follow each letter of the alphabet in words, measured in programs and their
/// documentation: other pairs are less than 2 of 10,000 there.
pub const FOLLOWERS: &[&str] = words! {
    "abcdefgiklmnprstuvwxy" "abcdefijlmoprstuy" "abcdefhiklmnoprstuvy" "abcdefgilmnoprstuvwy"
    "abcdefghiklmnopqrstuvwxy" "abcdefilnorstuy" "aeghilmnorstu" "adeilmorstuy" "abcdefgklmnoprstvxz" "aeou"
    "aeilnost" "acdefgiklmnopstuvy" "abcdeilmopstu" "abcdefghijklmnoprstuvwy" "abcdefgiklmnoprstuvwxy"
    "acdefghiklmnoprstuy" "u" "abcdefgiklmnoprstuvwy" "acdefghiklmnopqrstuvwy" "abcdefghilmnoprstuwxy"
    "abcdefgilmnoprst" "aeio" "aehilnors" "aceipt" "aceilmnopst" "aeiz"
};
