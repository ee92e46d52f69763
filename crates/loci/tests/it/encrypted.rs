//! `loci encrypt` and `loci decrypt`: the ways to the key, the errors without one, backups.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::program::{Place, call};
use crate::servers::Server;

const FACT: &str = "The lighthouse keeper paints the northern railing green";
const PASSPHRASE: &str = "seven grey herons wade";

/// The variable of the key file.
const KEY_FILE: &str = "LOCI_ENCRYPTION_KEY_FILE";

/// A store with a memory, encrypted with a key file; returns the recovery key as well.
pub fn encrypted() -> (Place, String) {
    let place = Place::new();
    place.add(&[FACT]);
    let told = place.json(&["encrypt", "--key-file", "loci.key"]);
    assert_eq!(told["ways"], json!(["key-file", "recovery"]));
    let recovery = told["recovery_key"].as_str().unwrap().to_owned();
    (place, recovery)
}

/// The same, with the key file named to each command.
pub fn encrypted_with_key() -> (Place, String) {
    let (place, recovery) = encrypted();
    let file = place.path("loci.key");
    (place.with(KEY_FILE, file.to_str().unwrap()), recovery)
}

fn texts(place: &Place) -> Vec<String> {
    let listed = place.rows(&["list", "--limit", "100"]);
    let text = |memory: &Value| memory["content"].as_str().unwrap().to_owned();
    listed.as_array().unwrap().iter().map(text).collect()
}

fn head(file: &Path) -> Vec<u8> {
    fs::read(file).unwrap()[..16].to_vec()
}

#[test]
fn a_store_is_encrypted_and_put_back_into_the_clear() {
    let (place, _) = encrypted();
    let database = place.data().join("loci.db");
    assert_ne!(head(&database), b"SQLite format 3\0");
    let locked = place.run(&["list"]).failed(8, "is encrypted");
    for words in [
        "a key file or the recovery key",
        "LOCI_ENCRYPTION_KEY_FILE",
        "loci encrypt --recover",
    ] {
        assert!(locked.stderr.contains(words), "{}", locked.stderr);
    }
    let wrong = place.write("wrong.key", "not the bytes of the key");
    let wrong = place.with(KEY_FILE, wrong.to_str().unwrap());
    wrong
        .run(&["search", "railing"])
        .failed(8, "is not its key file");
    wrong.run(&["doctor"]).failed(8, "");
    let key = wrong.path("loci.key");
    let place = wrong.with(KEY_FILE, key.to_str().unwrap());
    assert_eq!(texts(&place), [FACT]);
    let found = place.rows(&["search", "northern railing"]);
    assert!(found[0].to_string().contains(FACT), "{found}");
    let stats = place.json(&["stats"]);
    assert_eq!(
        stats["store"]["encrypted"]["opens_with"],
        json!(["a key file", "the recovery key"])
    );
    let doctor = place.json(&["doctor"]);
    let checks = doctor["checks"].as_array().unwrap();
    let row = checks.iter().find(|row| row["check"] == "encryption");
    assert_eq!(row.unwrap()["verdict"], "ok", "{doctor}");
    place.run(&["encrypt"]).failed(2, "is encrypted already");
    place.add(&["The second fact is filed under a key."]);
    place.run(&["decrypt"]).succeeded();
    assert_eq!(head(&database), b"SQLite format 3\0");
    let place = place.with(KEY_FILE, "");
    assert_eq!(texts(&place).len(), 2);
    assert!(!place.data().join("encryption.json").exists());
    place.run(&["decrypt"]).failed(8, "is not encrypted");
}

#[test]
fn ways_are_added_taken_away_and_survive_a_rotation() {
    let (place, recovery) = encrypted_with_key();
    // Another way, with which the key file is needed no more.
    let place = place.with("LOCI_PASSPHRASE", PASSPHRASE);
    let told = place.json(&["encrypt", "--passphrase"]);
    assert_eq!(told["ways"], json!(["key-file", "passphrase", "recovery"]));
    assert_eq!(told["recovery_key"], Value::Null);
    let place = place.with(KEY_FILE, "");
    assert_eq!(texts(&place), [FACT]);
    place.json(&["encrypt", "--remove-way", "key-file"]);
    place
        .run(&["encrypt", "--remove-way", "passphrase"])
        .failed(2, "no way but the recovery key");
    let before = head(&place.data().join("loci.db"));
    let told = place.json(&["encrypt", "--rotate"]);
    assert_eq!(told["ways"], json!(["passphrase", "recovery"]));
    assert_ne!(head(&place.data().join("loci.db")), before);
    assert_eq!(texts(&place), [FACT]);
    // The recovery key of the former key opens nothing.
    let rotated = told["recovery_key"].as_str().unwrap().to_owned();
    let place = place.with("LOCI_PASSPHRASE", "");
    let place = place.with("LOCI_RECOVERY_KEY", &recovery);
    place.run(&["list"]).failed(8, "is that of another store");
    let place = place.with("LOCI_RECOVERY_KEY", &rotated[1..]);
    place.run(&["list"]).failed(8, "mistyped");
    let place = place.with("LOCI_RECOVERY_KEY", &rotated.to_lowercase());
    assert_eq!(texts(&place), [FACT]);
    // It gives the store another way.
    let told = place.json(&["encrypt", "--recover", "--key-file", "other.key"]);
    assert_eq!(told["ways"], json!(["key-file", "passphrase", "recovery"]));
    let other = place.path("other.key");
    let place = place.with("LOCI_RECOVERY_KEY", "");
    let place = place.with(KEY_FILE, other.to_str().unwrap());
    assert_eq!(texts(&place), [FACT]);
    let told = place.json(&["encrypt", "--new-recovery-key"]);
    let place = place.with(KEY_FILE, "").with("LOCI_RECOVERY_KEY", &rotated);
    place.run(&["list"]).failed(8, "another store");
    let place = place.with("LOCI_RECOVERY_KEY", told["recovery_key"].as_str().unwrap());
    assert_eq!(texts(&place), [FACT]);
}

#[test]
fn a_store_of_the_first_form_goes_on_until_it_is_encrypted_with_a_new_key() {
    let [first_code, code] = ["HMAC-SHA-512", "HMAC-SHA-256"];
    let version = |place: &Place| -> Value {
        let file = fs::read(place.data().join("encryption.json")).unwrap();
        serde_json::from_slice::<Value>(&file).unwrap()["version"].clone()
    };
    let codes = |place: &Place| place.json(&["stats"])["store"]["encrypted"]["pages"].clone();
    let (place, _) = encrypted_with_key();
    assert_eq!(version(&place), 2);
    assert_eq!(codes(&place), code);
    let file = fs::read_to_string(place.data().join("encryption.json")).unwrap();
    fs::remove_dir_all(place.data()).unwrap();
    fs::create_dir_all(place.data()).unwrap();
    let first = file.replace("\"version\": 2", "\"version\": 1");
    fs::write(place.data().join("encryption.json"), first).unwrap();
    place.add(&[FACT]);
    assert_eq!(codes(&place), first_code);
    // Another way changes no page.
    let place = place.with("LOCI_PASSPHRASE", PASSPHRASE);
    place.json(&["encrypt", "--passphrase"]);
    assert_eq!(
        (version(&place), codes(&place)),
        (json!(1), first_code.into())
    );
    assert_eq!(texts(&place), [FACT]);
    place.run(&["doctor"]).succeeded();
    place.run(&["backup", "first.loci-backup"]).succeeded();
    place.json(&["encrypt", "--rotate"]);
    assert_eq!((version(&place), codes(&place)), (json!(2), code.into()));
    assert_eq!(texts(&place), [FACT]);
    // A backup of before has its own.
    place
        .run(&["restore", "first.loci-backup", "--replace"])
        .succeeded();
    assert_eq!(
        (version(&place), codes(&place)),
        (json!(1), first_code.into())
    );
    assert_eq!(texts(&place), [FACT]);
}

#[test]
fn the_page_of_an_encrypted_store_opens_without_a_question() {
    let (place, _) = encrypted_with_key();
    let mut server = Server::start(&place, &[]);
    let secret = fs::read_to_string(place.data().join("token")).unwrap();
    let link = place.run(&["page", "--print"]).succeeded().stdout;
    assert!(link.contains("code="), "{link}");
    for path in ["/api/v1/home", "/api/v1/search?q=northern+railing"] {
        let (status, reply) = server.get(Some(secret.trim()), path);
        assert_eq!(status, 200, "{path}: {reply}");
        assert!(reply.contains("paints the northern"), "{path}: {reply}");
    }
    server.kill();
    let place = place.with(KEY_FILE, "");
    place.run(&["page", "--print"]).failed(8, "is encrypted");
}

#[test]
fn what_cannot_be_encrypted_says_why() {
    let place = Place::new();
    place.add(&[FACT]);
    let in_data = place.data().join("loci.key");
    place
        .run(&["encrypt", "--key-file", in_data.to_str().unwrap()])
        .failed(2, "beside what it opens");
    place.write("short.key", "abc");
    place
        .run(&["encrypt", "--key-file", "short.key"])
        .failed(2, "too short");
    place
        .run(&["encrypt", "--passphrase"])
        .failed(2, "no terminal to ask");
    place
        .run(&["encrypt", "--rotate"])
        .failed(2, "is not encrypted");
    assert_eq!(texts(&place), [FACT]);
    // A process that uses the store.
    let mut agent = place
        .command(&["mcp", "mememory"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }}});
    let mut stdin = agent.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, format!("{request}\n").as_bytes()).unwrap();
    let mut stdout = std::io::BufReader::new(agent.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut stdout, &mut line).unwrap();
    place
        .run(&["encrypt", "--key-file", "loci.key"])
        .failed(4, "has");
    drop(stdin);
    agent.wait().unwrap();
    assert_eq!(texts(&place), [FACT]);
    let on_server = place.with("LOCI_STORE", "postgres://nobody@127.0.0.1:1/none");
    on_server
        .run(&["encrypt"])
        .failed(2, "whose disk is the place to encrypt");
}

#[test]
fn a_backup_of_an_encrypted_store_opens_with_its_ways_on_another_machine() {
    let (place, recovery) = encrypted_with_key();
    call(
        &place,
        "vault",
        "memory_append",
        &json!({"title": "Tide", "body": "The tide table hangs beside the lamp."}),
    );
    place.run(&["backup", "b.tar"]).succeeded();
    let bytes = fs::read(place.path("b.tar")).unwrap();
    assert!(bytes.starts_with(b"loci sealed backup"));
    for text in ["lighthouse", "tide table", "Tide.md", "SQLite format"] {
        let is_there = bytes
            .windows(text.len())
            .any(|part| part == text.as_bytes());
        assert!(!is_there, "{text}");
    }
    let other = Place::new();
    fs::copy(place.path("b.tar"), other.path("b.tar")).unwrap();
    other.run(&["restore", "b.tar"]).failed(8, "is encrypted");
    let other = other.with("LOCI_RECOVERY_KEY", &recovery);
    other.run(&["restore", "b.tar"]).succeeded();
    assert_eq!(texts(&other).len(), 2);
    let other = other.with("LOCI_RECOVERY_KEY", "");
    other.run(&["list"]).failed(8, "is encrypted");
    // A database by itself, and one that is kept from before.
    let other = other.with("LOCI_RECOVERY_KEY", &recovery);
    let replaced = other.run(&["restore", "b.tar", "--replace"]).succeeded();
    assert!(replaced.stdout.contains("what was there"), "{replaced:?}");
    let kept = fs::read_dir(other.data().join("backups")).unwrap();
    let kept = kept.last().unwrap().unwrap().path();
    assert!(kept.join("encryption.json").exists(), "{kept:?}");
    other.add(&["One more than the backup has."]);
    let database = kept.join("loci.db");
    other
        .run(&["restore", database.to_str().unwrap(), "--replace"])
        .succeeded();
    assert_eq!(texts(&other).len(), 2);
    // One in the clear takes the key away, and says so.
    let clear = Place::new();
    clear.add(&["In the clear."]);
    clear.run(&["backup", "c.tar"]).succeeded();
    fs::copy(clear.path("c.tar"), other.path("c.tar")).unwrap();
    let told = other.run(&["restore", "c.tar", "--replace"]).succeeded();
    assert!(told.stderr.contains("is in the clear"), "{told:?}");
    assert_eq!(
        texts(&other.with("LOCI_RECOVERY_KEY", "")),
        ["In the clear."]
    );
}

/// The program that stands in for `secret-tool`, which keeps secrets in files.
#[cfg(target_os = "linux")]
const SECRET_TOOL: &str = "#!/bin/sh\n\
    kept=$(dirname \"$0\")/kept-$(eval echo \\${$#})\n\
    case $1 in\n\
    store) cat > \"$kept\" ;;\n\
    lookup) [ -e \"$kept\" ] && cat \"$kept\" ;;\n\
    clear) rm -f \"$kept\" ;;\n\
    esac\n";

#[cfg(target_os = "linux")]
#[test]
fn the_keyring_opens_the_store_without_a_question() {
    use std::os::unix::fs::PermissionsExt;

    let place = Place::new();
    place.add(&[FACT]);
    let none = place.with("PATH", "/nowhere");
    none.run(&["encrypt"])
        .failed(2, "name another way: --key-file FILE or --passphrase");
    let tool = none.write("bin/secret-tool", SECRET_TOOL);
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", none.path("bin").display());
    let place = none.with("PATH", &path);
    let told = place.json(&["encrypt"]);
    assert_eq!(told["ways"], json!(["keyring", "recovery"]));
    assert_eq!(texts(&place), [FACT]);
    let recalled = call(
        &place,
        "mememory",
        "recall",
        &json!({"query": "northern railing"}),
    );
    assert!(recalled.to_string().contains(FACT), "{recalled}");
    let rotated = place.json(&["encrypt", "--rotate"]);
    assert_eq!(rotated["ways"], json!(["keyring", "recovery"]));
    assert_eq!(texts(&place), [FACT]);
    let kept = || {
        let files = fs::read_dir(place.path("bin")).unwrap();
        files
            .filter(|file| {
                let name = file.as_ref().unwrap().file_name();
                name.to_string_lossy().starts_with("kept-")
            })
            .count()
    };
    assert_eq!(kept(), 1);
    place.run(&["decrypt"]).succeeded();
    assert_eq!(kept(), 0);
}
