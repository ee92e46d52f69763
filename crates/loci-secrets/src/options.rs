//! Secrets in the options of command lines: `mysql -p…`, `curl -u user:…`.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::SecretMatch;
use crate::cookies;
use crate::passwords::{is_option_value, is_password};
use crate::random::is_random;
use crate::value::value;
use crate::work;

/// Maximum bytes of a command before an option.
const COMMAND_MAX: usize = 400;

/// The form in which an option gives its secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `-p value` or `-p=value`.
    Next,
    /// `-pvalue`.
    Joined,
    /// Both of these.
    Either,
    /// `-u user:value`, or another separator.
    After(char),
    /// `-b 'name=value'`.
    Cookies,
}

/// An option with a secret, of some programs.
#[derive(Debug)]
pub struct CommandOption {
    /// The programs, each with the words that have to follow in the command; none for any program.
    pub programs: &'static [&'static str],
    pub option: &'static str,
    pub form: Form,
}

macro_rules! options {
    ($($programs:expr, $($option:literal)+, $form:expr;)+) => {
        /// All options with secrets that do not name them.
        pub static OPTIONS: &[CommandOption] = &[
            $($(CommandOption { programs: &$programs, option: $option, form: $form },)+)+
        ];
    };
}

options! {
    // Databases.
    ["mysql", "mysqldump", "mysqladmin", "mysqlimport", "mysqlshow", "mysqlcheck", "mysqlsh", "mysqlslap", "mariadb", "mariadb-dump", "mariadb-admin", "mycli", "mydumper", "myloader", "mysqlpump", "mysqlbinlog", "mysql_upgrade"], "-p", Form::Joined;
    ["mongo", "mongosh", "mongodump", "mongorestore", "mongoexport", "mongoimport", "mongostat", "cqlsh", "cypher-shell", "hdbsql", "beeline", "couchbase-cli", "cbbackup", "cbq", "influx", "arangosh", "exaplus", "nodetool", "sqoop"], "-p", Form::Next;
    ["mycli", "mydumper", "mysqlsh"], "-p", Form::Next;
    ["sqlcmd", "bcp", "osql", "isql", "tsql", "p4", "snowsql", "fisql"], "-P", Form::Either;
    ["redis-cli", "valkey-cli", "keydb-cli", "redis-benchmark"], "-a", Form::Next;
    ["vsql", "nzsql", "dmsql"], "-w", Form::Next;
    ["sqlplus", "rman", "expdp", "impdp", "exp", "imp", "sqlldr", "sql"], "", Form::After('/');
    // Registries and hosts of code.
    ["docker login", "podman login", "nerdctl login", "buildah login", "skopeo login", "helm login", "oras login", "crane login", "oc login", "az login", "az sql", "az vm", "az postgres", "az mysql", "ibmcloud login", "cf login", "twine upload", "rad login", "regctl login", "singularity login", "apptainer login", "glab login", "ccloud login", "heroku login", "jf login", "jfrog rt", "wp login", "argocd login", "kubectl login", "bosh login", "fly login", "nx login", "pscale login", "civo login", "docker-compose login"], "-p" "-t", Form::Next;
    ["gh secret"], "--body" "-b", Form::Next;
    ["nuget push", "nuget setapikey", "dotnet push", "gem push", "choco push", "helm push"], "-k" "-ApiKey" "-apikey", Form::Next;
    ["vercel", "vc", "flyctl", "fly", "doppler", "surge", "netlify", "ng"], "-t", Form::Next;
    ["svn", "hg", "mvn"], "-password", Form::Next;
    // Shells and files of other machines.
    ["sshpass"], "-p", Form::Either;
    ["plink", "pscp", "psftp", "putty", "kitty", "klink"], "-pw", Form::Next;
    ["smbclient", "rpcclient", "smbcacls", "smbget", "smbtree", "net", "nmblookup", "wmic", "winexe", "smbspool"], "-U" "--user", Form::After('%');
    ["lftp", "ncftp", "ncftpput", "ncftpget"], "-u", Form::After(',');
    ["ncftp", "ncftpput", "ncftpget", "rdesktop", "rcon", "mcrcon", "netexec", "nxc", "crackmapexec", "cme", "smbmap", "evil-winrm", "bloodhound-python", "psexec", "paexec", "wmiexec", "ldapdomaindump", "xfreerdp", "wlfreerdp", "racadm", "sshuttle"], "-p", Form::Next;
    ["xfreerdp", "xfreerdp3", "wlfreerdp", "mstsc", "signtool", "schtasks", "psexec"], "/p", Form::Next;
    ["schtasks"], "/rp", Form::Next;
    ["cmdkey", "runas", "net", "wmic", "xfreerdp"], "/pass" "/password", Form::Next;
    ["ipmitool", "bmc-info", "ipmipower"], "-P" "-p", Form::Next;
    ["snmpget", "snmpwalk", "snmpset", "snmpbulkwalk", "snmptranslate", "snmptrap", "snmptable"], "-A" "-X" "-c", Form::Next;
    ["kinit", "ktpass", "msktutil"], "-pass" "-w", Form::Next;
    ["x11vnc"], "-passwd", Form::Next;
    // Directories and messages.
    ["ldapsearch", "ldapmodify", "ldapadd", "ldapdelete", "ldappasswd", "ldapwhoami", "ldapcompare", "ldapmodrdn", "ldapexop", "dsconf", "dsidm", "ldapvi", "slappasswd"], "-w", Form::Either;
    ["ldappasswd", "slappasswd"], "-s" "-a", Form::Next;
    ["mosquitto_pub", "mosquitto_sub", "mosquitto_rr", "mqttui", "mqttx"], "-P", Form::Next;
    ["kcat", "rabbitmqadmin", "amqp-publish", "amqp-consume"], "-p", Form::Next;
    ["swaks"], "-ap" "-auth-password", Form::Next;
    ["sendemail", "sendEmail"], "-xp", Form::Next;
    // Archives, keys and certificates.
    ["zip", "unzip", "zipinfo", "zipcloak"], "-P", Form::Either;
    ["7z", "7za", "7zz", "7zr", "rar", "unrar", "arj"], "-p" "-hp", Form::Joined;
    ["openssl"], "-k" "-K", Form::Next;
    ["ssh-keygen", "ssh-add", "dropbearkey"], "-N" "-P", Form::Next;
    ["keytool", "jarsigner", "apksigner", "keystore", "zipalign"], "-storepass" "-keypass" "-srcstorepass" "-deststorepass" "-srckeypass" "-destkeypass" "-new", Form::Next;
    ["certutil", "pk12util", "security", "importpfx", "osslsigncode", "nss"], "-p" "-w" "-W" "-P" "-K" "-pass", Form::Next;
    ["mcrypt", "ccrypt", "ccdecrypt", "gpg-preset-passphrase"], "-k" "-K", Form::Next;
    ["cryptsetup", "steghide", "outguess"], "-p" "-k", Form::Next;
    ["pdftk"], "input_pw" "user_pw" "owner_pw", Form::Next;
    ["pdftotext", "pdfinfo", "pdftoppm", "qpdf"], "-upw" "-opw", Form::Next;
    ["altool", "notarytool", "stapler", "fastlane"], "-p", Form::Next;
    ["htpasswd", "doveadm", "mkpasswd", "useradd", "usermod"], "-p", Form::Next;
    ["grafana-cli", "wp", "drush", "knife", "winrs", "winrm"], "-P" "-p" "-x", Form::Either;
    // Requests.
    ["curl", "wget", "nuclei", "siege", "hurl", "restish", "curlie", "ab", "oha", "hey", "wrk", "elasticdump", "httping", "http-prompt"], "-u" "-U" "--user" "--proxy-user", Form::After(':');
    ["http", "https", "xh", "xhs", "httpie", "hey"], "-a" "--auth", Form::After(':');
    [], "-u" "--user" "--creds" "--src-creds" "--dest-creds" "--credentials" "--basic-auth" "--http-auth", Form::After(':');
    ["curl", "wget", "http", "xh", "curlie", "sqlmap", "wfuzz", "ffuf", "gobuster", "nikto", "wpscan", "yt-dlp"], "-b" "--cookie" "--cookies" "--cookie-string", Form::Cookies;
    ["curl"], "--pass" "--proxy-pass" "--oauth2-bearer" "--key-pass" "--tlspassword", Form::Next;
    [], "-U", Form::After('%');
    // OpenSSL names the kind of a password before it.
    [], "-passin" "-passout" "-pass" "-password", Form::After(':');
}

/// Returns the patterns of all options, and of the programs whose first argument has a secret, each
/// with the character before it.
pub fn patterns() -> impl Iterator<Item = String> {
    let of_row = |row: &'static CommandOption| match row.option {
        "" => row.programs,
        _ => std::slice::from_ref(&row.option),
    };
    let names: BTreeSet<&str> = OPTIONS.iter().flat_map(of_row).copied().collect();
    let patterns = |name| [" ", "\"", "'", "\t", "\n"].map(|before| [before, name].concat());
    names.into_iter().flat_map(patterns)
}

/// Finds the secrets of the option at `hit`, which starts with the character before it.
pub fn secrets(text: &str, hit: Range<usize>, found: &mut Vec<SecretMatch>) {
    let option = &text[hit.start + 1..hit.end];
    let mut command = None;
    for row in OPTIONS {
        let is_option = match row.option {
            "" => row.programs.contains(&option),
            name => name == option,
        };
        if !is_option {
            continue;
        }
        let before = found.len();
        row.form.read(text, &hit, found);
        if found.len() == before {
            continue;
        }
        let is_of_program = row.option.is_empty() || row.programs.is_empty() || {
            let command = command.get_or_insert_with(|| words(command_before(text, hit.start)));
            let is_of = |program: &&str| has_program(command, program);
            row.programs.iter().any(is_of)
        };
        if is_of_program {
            return;
        }
        found.truncate(before);
    }
}

/// Returns the text of a command before a position, with the lines that it continues.
fn command_before(text: &str, at: usize) -> &str {
    let from = text.floor_char_boundary(at.saturating_sub(COMMAND_MAX));
    let before = &text[from..at];
    work::read(before.len());
    let ends = before.char_indices().rev().find(|(place, character)| {
        let line = before[..*place].trim_end_matches([' ', '\r']);
        match character {
            '\n' => {
                !line.ends_with(['\\', '`', '^', ',', '[', '-'])
                    && !before[place + 1..].trim_start().starts_with("- ")
            }
            ';' | '|' => true,
            '&' => line.ends_with('&'),
            _ => false,
        }
    });
    ends.map_or(before, |(place, _)| &before[place + 1..])
}

/// Returns the words of a command, of programs without their folders.
fn words(command: &str) -> Vec<&str> {
    let is_end = |letter: char| letter.is_whitespace() || "\"'`,[](=$".contains(letter);
    let name = |word: &'_ str| -> usize { word.rfind(['/', '\\']).map_or(0, |at| at + 1) };
    let words = command
        .split(is_end)
        .filter(|word| !word.is_empty())
        .map(|word| {
            let word = &word[name(word)..];
            let ends = [".exe", ".py"]
                .iter()
                .find_map(|end| word.strip_suffix(end));
            ends.unwrap_or(word)
        });
    words.collect()
}

/// Returns true if a command has the words of a program, in their order.
fn has_program(command: &[&str], program: &str) -> bool {
    let mut words = command.iter();
    program
        .split(' ')
        .all(|part| words.any(|word| word.eq_ignore_ascii_case(part)))
}

impl Form {
    fn read(self, text: &str, hit: &Range<usize>, found: &mut Vec<SecretMatch>) {
        match self {
            Form::Next => found.extend(next(text, hit.end).and_then(|at| password(text, at))),
            Form::Joined => found.extend(joined(text, hit.end).and_then(|at| password(text, at))),
            Form::Either => {
                let at = next(text, hit.end).or_else(|| joined(text, hit.end));
                found.extend(at.and_then(|at| password(text, at)));
            }
            Form::After(separator) => {
                let at = next(text, hit.end).or_else(|| joined(text, hit.end));
                let option = &text[hit.start + 1..hit.end];
                found.extend(at.and_then(|at| after(text, at, separator, option)));
            }
            Form::Cookies => {
                if let Some(at) = next(text, hit.end) {
                    cookies::pairs(text, at, found);
                }
            }
        }
    }
}

/// Returns the start of the argument after an option: after a blank, an equals sign, a colon, or in
/// the next quotes.
fn next(text: &str, end: usize) -> Option<usize> {
    let rest = &text[end..];
    let after = rest.strip_prefix(['"', '\'']).map_or(rest, |rest| {
        rest.trim_start().strip_prefix(',').unwrap_or(rest)
    });
    let after = after.strip_prefix(['=', ':']).unwrap_or(after);
    if after.len() == rest.len() && !rest.starts_with([' ', '\t', '\\', '\n']) {
        return None;
    }
    // A line of a list that continues on the next: `- -p` and `- value`.
    let value = after.trim_start_matches([' ', '\t']);
    let value = match value
        .strip_prefix(['\\', '`', '^'])
        .unwrap_or(value)
        .trim_start_matches('\r')
        .strip_prefix('\n')
    {
        Some(line) => line
            .trim_start_matches([' ', '\t'])
            .trim_start_matches("- "),
        None => value,
    };
    Some(text.len() - value.len())
}

/// Returns the start of a value that is a part of its option.
fn joined(text: &str, end: usize) -> Option<usize> {
    text[end..]
        .starts_with(|next: char| !next.is_whitespace() && !"\"=-".contains(next))
        .then_some(end)
}

fn password(text: &str, at: usize) -> Option<SecretMatch> {
    let range = argument(text, at)?;
    let value = &text[range.clone()];
    is_option_value(value).then_some((range, "password"))
}

/// Finds the password after the first separator of an argument.
fn after(text: &str, at: usize, separator: char, option: &str) -> Option<SecretMatch> {
    let range = argument(text, at)?;
    let (user, password) = text[range.clone()].split_once(separator)?;
    if option.starts_with("-pass") && user != "pass" {
        return None;
    }
    // The program of a database gives the host after the password.
    let length = if separator == '/' {
        password.rfind('@').unwrap_or(password.len())
    } else {
        password.len()
    };
    let password = &password[..length];
    let begin = range.start + user.len() + separator.len_utf8();
    let is_known = !matches!(option, "-u" | "-U" | "--user")
        || is_password(password, false)
        || is_random(password);
    let is_number = password.bytes().all(|byte| byte.is_ascii_digit());
    let is_secret = is_known
        && !is_number
        && !user.is_empty()
        && !user.contains("//")
        && is_option_value(password);
    is_secret.then_some((begin..begin + length, "password"))
}

/// Returns the argument of a command at this position, without its quotes.
fn argument(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    if matches!(bytes.get(at), Some(b'"' | b'\'' | b'\\')) {
        return value(bytes, at).map(|value| value.range);
    }
    let is_end = |byte: &u8| {
        byte.is_ascii_whitespace() || byte.is_ascii_control() || b"\"'`;|<>".contains(byte)
    };
    let rest = &bytes[at..bytes.len().min(at + COMMAND_MAX)];
    let length = rest.iter().position(is_end).unwrap_or(rest.len());
    work::read(length);
    let length = rest[..length]
        .iter()
        .rposition(|byte| !matches!(byte, b',' | b')' | b'.'))
        .map_or(0, |last| last + 1);
    text.get(at..at + length).map(|_| at..at + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_words_of_the_command() {
        for (command, program, expected) in [
            ("sudo /usr/bin/mysql -u root", "mysql", true),
            ("\"mysql\", \"-u\"", "mysql", true),
            ("docker -v login", "docker login", true),
            ("docker run", "docker login", false),
            ("C:\\tools\\plink.exe -ssh", "plink", true),
            ("mysqlx", "mysql", false),
        ] {
            assert_eq!(has_program(&words(command), program), expected, "{command}");
        }
    }

    #[test]
    fn a_command_ends_with_its_line() {
        let text = "ls\nmysql -u a \\\n  -p";
        assert_eq!(command_before(text, text.len()), "mysql -u a \\\n  -p");
        assert_eq!(command_before("a | b -p", 8), " b -p");
        assert_eq!(command_before("a && b -p", 9), " b -p");
    }
}
