//! Secrets that have their place in a command, a statement or a call: `rabbitmqctl add_user ann …`,
//! `IDENTIFIED BY '…'`, `HTTPBasicAuth("ann", "…")`.

use std::ops::Range;

use crate::SecretMatch;
use crate::passwords::{is_option_value, is_strong_password};
use crate::random::{is_random, is_uuid};
use crate::value::value;
use crate::work;

/// Maximum bytes of a command, a statement or a call that are read.
const READ_MAX: usize = 300;

/// A word with a secret at a place after it.
#[derive(Debug, Clone, Copy)]
pub struct Position {
    pub kind: &'static str,
    /// The word, in any case.
    pub word: &'static str,
    /// The arguments between the word and the secret.
    pub skip: usize,
    pub shape: Shape,
}

/// The form of the arguments after a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Words of a command.
    Command,
    /// The same, with a random secret.
    Token,
    /// Arguments of a call, the secret in quotes.
    Call,
    /// The argument of the `echo` before the word, on the same line.
    Echo,
}

macro_rules! positions {
    ($($kind:literal: $($word:literal)+, $skip:expr, $shape:ident;)+) => {
        /// All such words.
        pub static POSITIONS: &[Position] = &[
            $($(Position { kind: $kind, word: $word, skip: $skip, shape: Shape::$shape },)+)+
        ];
    };
}

positions! {
    // Commands.
    "password": "rabbitmqctl add_user " "rabbitmqctl change_password " "wpa_passphrase " "net user " "emqx_ctl users add "
        "security set-keychain-password " "networksetup -setairportnetwork en0 " "vncpasswd " "pveum passwd "
        "influx user password -n " "mosquitto_passwd -b pw " "aerospike-users add ", 1, Command;
    "password": "htpasswd -b " "htpasswd -bc " "htpasswd -cb " "htpasswd -bB " "htpasswd -Bb " "htpasswd -bBc "
        "htpasswd -cbB " "htpasswd -bm " "mosquitto_passwd -b ", 2, Command;
    "password": "htpasswd -nb " "htpasswd -nbB " "htpasswd -bnB " "htpasswd -bn " "htpasswd -nbm ", 1, Command;
    "password": "rclone obscure " "bw unlock " "ansible-vault encrypt_string " "neo4j-admin set-initial-password "
        "neo4j-admin dbms set-initial-password " "grafana-cli admin reset-admin-password " "grafana cli admin reset-admin-password "
        "openssl passwd -6 " "openssl passwd -1 " "openssl passwd -5 " "openssl passwd -apr1 " "openssl passwd " "mkpasswd "
        "config set requirepass " "config set masterauth " "iwconfig key " "adb shell input text "
        "set-initial-password ", 0, Command;
    "password": "bw login " "lpass login " "mc alias set minio ", 1, Command;
    "secret": "mc alias set " "mc config host add ", 3, Command;
    "token": "cargo login " "vault login " "snyk auth " "ngrok authtoken " "ngrok config add-authtoken " "gh auth token "
        "cloudflared service install " "wandb login " "huggingface-cli login --token " "hf auth login --token "
        "doppler configure set token " "netlify login " "fly auth token " "npm token revoke " "expo login --token "
        "tailscale up --authkey " "tailscale up --auth-key=" "zerotier-cli join " "railway login " "jf c add " "pm2 link "
        "sentry-cli login --auth-token " "k3s agent --token " "kubeadm join --token " "docker swarm join --token ", 0, Token;
    "password": "/user:", 1, Command;
    "token": "poetry config pypi-token.pypi " "poetry config pypi-token." "git config --global github.token "
        "composer config -g github-oauth.github.com " "composer config github-oauth.github.com " "pulumi config set --secret "
        "npm config set " "pm2 link ", 1, Token;
    // Statements of databases and devices.
    "password": "identified by " "identified by password " "_password by " "sha2_password as " "encrypted password "
        "with password " "login password " "set password = " "password = password(" "old_password(" "password expire by ", 0, Command;
    "password": "snmp-server community " "neighbor password " "key-string 7 " "key-string " "enable secret 0 "
        "enable password 7 " "enable password " "enable secret " "secret 5 " "secret 9 " "password 7 " "password 0 "
        "tacacs-server key " "radius-server key " "encrypted-password " "ppp chap password 0 " "pre-shared-key address "
        "authentication-key 1 md5 " "message-digest-key 1 md5 " "auth-password " "priv-password ", 0, Command;
    // Calls.
    "password": "httpbasicauth(" "httpdigestauth(" "basicauth(" "basic_auth(" "networkcredential(" "usernamepasswordcredentials("
        "credentials(" "passwordauthentication(" "sp_addlogin " "auth=(" "auth: [" ".login(" ".auth(" "withcredentials(" "plaincredentials("
        "usernamepasswordauthenticationtoken(" "aws_credentials(" "authtuple(" "basicauthcredentials(" "plain_auth(", 1, Call;
    "password": "getconnection(" "mysqli(" "mysql_connect(" "mysqli_connect(" "pdo(" "ftp_login(" "plainauth(" "createuser(" "dbi->connect(", 2, Call;
    "password": "convertto-securestring " "convertto-securestring -string " "sendkeys(" "securestring(" "keyboard.type(", 0, Call;
    // Passwords that a command reads from another.
    "password": "sudo -s" "sudo --stdin" "--password-stdin" "passwd --stdin" "| chpasswd" "|chpasswd" "--pass-stdin"
        "| su -c" "-passin stdin" "--passphrase-fd 0" "-p $(cat)" "| smbpasswd" "--password-from-stdin" "| cryptsetup"
        "| gpg --batch", 0, Echo;
    "token": "--with-token" "--token-stdin", 0, Echo;
}

/// Finds the secret after the word at `hit`.
pub fn secret(text: &str, hit: Range<usize>, position: &Position) -> Option<SecretMatch> {
    let is_within = hit.start > 0
        && position
            .word
            .starts_with(|first: char| first.is_ascii_alphabetic())
        && text.as_bytes()[hit.start - 1].is_ascii_lowercase()
        && position.shape != Shape::Call;
    if is_within {
        return None;
    }
    let range = match position.shape {
        Shape::Command | Shape::Token => argument(text, hit.end, position.skip)?,
        Shape::Call => quoted(text, hit.end, position.skip)?,
        Shape::Echo => echoed(text, hit)?,
    };
    let secret = text.get(range.clone())?;
    let is_secret = match position.shape {
        Shape::Token => is_random(secret) || is_uuid(secret.as_bytes()),
        Shape::Call => is_option_value(secret) && !secret.contains(' '),
        // Words of sentences can stand after these words too.
        _ => {
            is_strong_password(secret)
                || is_random(secret)
                || (is_option_value(secret) && secret.bytes().any(|byte| byte.is_ascii_digit()))
        }
    };
    (is_secret && !secret.contains("[redacted") && !crate::passwords::is_term(secret))
        .then_some((range, position.kind))
}

/// Returns an argument of a command after `skip` others, without flags and quotes.
fn argument(text: &str, mut at: usize, skip: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let limit = bytes.len().min(at + READ_MAX);
    let mut skipped = 0;
    loop {
        while at < limit && matches!(bytes[at], b' ' | b'\t' | b'(') {
            at += 1;
        }
        if at >= limit || bytes[at] == b'\n' {
            return None;
        }
        let range = match bytes[at] {
            b'"' | b'\'' | b'\\' | b'`' => value(bytes, at)?.range,
            _ => {
                let is_end = |byte: &u8| byte.is_ascii_whitespace() || b"\"';|&<>)`".contains(byte);
                let length = bytes[at..limit]
                    .iter()
                    .position(is_end)
                    .unwrap_or(limit - at);
                at..at + length
            }
        };
        work::read(range.len());
        let is_flag = bytes.get(range.start) == Some(&b'-') && range.start == at;
        if !is_flag && skipped == skip {
            let word = text.get(range.clone())?;
            let end = range.start + word.trim_end_matches([',', '.', ';', '\\']).len();
            return Some(range.start..end);
        }
        skipped += usize::from(!is_flag);
        at = range.end.max(at + 1);
        at += usize::from(matches!(bytes.get(at), Some(b'"' | b'\'' | b'`')));
    }
}

/// Returns the argument of a call after `skip` others, if it is in quotes.
fn quoted(text: &str, mut at: usize, skip: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let limit = bytes.len().min(at + READ_MAX);
    let mut skipped = 0;
    while at < limit {
        match bytes[at] {
            b'"' | b'\'' | b'`' => {
                let range = value(bytes, at)?.range;
                if skipped == skip {
                    return Some(range);
                }
                at = range.end + 1;
            }
            b',' => {
                skipped += 1;
                at += 1;
            }
            b')' | b';' | b'\n' | b']' => return None,
            b'-' if skip == 0 => return None,
            _ => at += 1,
        }
    }
    None
}

/// Returns what an `echo` or `printf` before a pipe prints, or the text of a here-string.
pub fn echoed(text: &str, hit: Range<usize>) -> Option<Range<usize>> {
    let after = text[hit.end..].split('\n').next().unwrap_or_default();
    let after = &after[..after.floor_char_boundary(READ_MAX)];
    if let Some(at) = after.find("<<<") {
        return argument(text, hit.end + at + 3, 0).and_then(|range| without_user(text, range));
    }
    let from = text.floor_char_boundary(hit.start.saturating_sub(READ_MAX));
    let before = text[from..hit.start]
        .rsplit('\n')
        .next()
        .unwrap_or_default();
    let at = ["echo ", "printf ", "Write-Output ", "print "]
        .iter()
        .filter_map(|word| Some(before.rfind(word)? + word.len()))
        .max()?;
    let is_format = before[at..]
        .trim_start_matches(['"', '\''])
        .starts_with('%');
    let range = argument(text, hit.start - before.len() + at, usize::from(is_format))?;
    let is_piped = text
        .get(range.end..hit.end)
        .is_some_and(|between| between.contains('|'))
        || text[hit.clone()].contains("stdin");
    let range = (range.end <= hit.start && is_piped).then_some(range)?;
    without_user(text, range)
}

/// Returns the part of `user:password` after the user; `None` for an address, which has a rule of its
/// own.
fn without_user(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let pair = text.get(range.clone())?;
    let user = pair.split_once(':').map_or(0, |(user, _)| user.len() + 1);
    (!pair.contains("://")).then_some(range.start + user..range.end)
}
