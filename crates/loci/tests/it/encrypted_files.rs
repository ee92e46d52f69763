//! Without its key, no words of an encrypted store are in any file.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::encrypted::encrypted_with_key;
use crate::program::{Place, call};
use crate::servers::Server;

/// The words of the texts that are filed. No two texts have four in a row in common with another
/// text on the machine.
const WORDS: [&str; 20] = [
    "amber", "bollard", "cistern", "dovetail", "ember", "fathom", "gantry", "harrow", "ingot",
    "jetty", "kelp", "lantern", "mortar", "nettle", "oakum", "pewter", "quarry", "rudder",
    "scupper", "thimble",
];

/// The text of a number: the words from another place on and in other steps.
fn text(number: usize) -> String {
    // Steps that lead through all words.
    const STEPS: [usize; 8] = [1, 3, 7, 9, 11, 13, 17, 19];
    let step = STEPS[number % STEPS.len()];
    let words = (0..12).map(|place| WORDS[(number * 5 + place * step) % WORDS.len()]);
    words.collect::<Vec<_>>().join(" ")
}

/// Four words in a row of each text.
fn fours(texts: usize) -> BTreeSet<String> {
    let of = |number| {
        let text = text(number);
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        words
            .windows(4)
            .map(|four| four.join(" "))
            .collect::<Vec<_>>()
    };
    (0..texts).flat_map(of).collect()
}

/// All files below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files(&path, found),
            Ok(kind) if kind.is_file() => found.push(path),
            _ => {}
        }
    }
}

/// The files below these folders that hold four words of a text, in any case of letters.
fn leaks(folders: &[PathBuf], fours: &BTreeSet<String>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in folders {
        files(folder, &mut found);
    }
    found.retain(|file| {
        if file.components().any(|part| part.as_os_str() == "vault") {
            return false;
        }
        let bytes = fs::read(file).unwrap_or_default().to_ascii_lowercase();
        // Whatever stands between the words.
        let shown: Vec<u8> = bytes
            .iter()
            .map(|byte| {
                if byte.is_ascii_alphanumeric() {
                    *byte
                } else {
                    b' '
                }
            })
            .collect();
        let shown = String::from_utf8(shown).unwrap();
        let words: Vec<&str> = shown.split_ascii_whitespace().collect();
        words.windows(4).any(|four| {
            four.iter().all(|word| WORDS.contains(word)) && fours.contains(&four.join(" "))
        })
    });
    found
}

/// Files a text through each set of tools; returns how many there are.
fn file_texts(call: &dyn Fn(&str, &str, Value) -> Value) -> usize {
    let mut number = 0;
    let mut next = || {
        number += 1;
        text(number - 1)
    };
    let kept = call(
        "mememory",
        "remember",
        json!({"content": next(), "tags": "quay"}),
    );
    let id = kept["id"].as_str().unwrap().to_owned();
    // The text before stays as a version.
    call("mememory", "update", json!({"id": id, "content": next()}));
    call(
        "engram",
        "store_memory",
        json!({"content": next(), "scope": "quay", "source": "user-said", "category": "decision"}),
    );
    call(
        "mempalace",
        "mempalace_add_drawer",
        json!({"wing": "harbour", "room": "quay", "content": next()}),
    );
    call(
        "mempalace",
        "mempalace_diary_write",
        json!({"agent_name": "ann", "entry": next()}),
    );
    call(
        "mempalace",
        "mempalace_kg_add",
        json!({"subject": "Pier", "predicate": "is made of", "object": next()}),
    );
    call(
        "memory-mcp",
        "store_memory",
        json!({"user_id": "local", "messages": [{"role": "human", "content": next()}]}),
    );
    call(
        "memory-mcp",
        "store_cache",
        json!({"user_id": "local", "query": next(), "response": next()}),
    );
    call(
        "memory-mcp",
        "store_decision",
        json!({"user_id": "local", "key": "pier", "value": next()}),
    );
    call(
        "reference",
        "create_entities",
        json!({"entities": [{"name": "Pier", "entityType": "place", "observations": [next()]}]}),
    );
    call(
        "anthropic",
        "memory",
        json!({"command": "create", "path": "/memories/pier.txt", "file_text": next()}),
    );
    // A note is a file in the clear; what the store keeps of it is not.
    call(
        "vault",
        "memory_append",
        json!({"title": "Pier", "body": next(), "idempotency_key": "pier"}),
    );
    number
}

/// Uploads a file to be imported, and leaves it there.
fn upload(server: &Server, secret: &str, file: &str) {
    let form = format!(
        "--X\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.jsonl\"\r\n\r\n{file}\r\n--X--\r\n"
    );
    let headers = format!(
        "Authorization: Bearer {secret}\r\nContent-Type: multipart/form-data; boundary=X\r\n"
    );
    let (status, reply) = server.post("/api/v1/settings/import", &headers, form);
    assert_eq!(status, 200, "{reply}");
}

#[test]
fn no_four_words_of_a_text_are_in_any_file() {
    let (place, _) = encrypted_with_key();
    let temporary = place.path("tmp");
    fs::create_dir(&temporary).unwrap();
    let place = place
        .with("TMPDIR", temporary.to_str().unwrap())
        .with("LOCI_INDEX_FILE_MEMORIES", "1");
    let server = Server::start(&place, &[]);
    let secret = fs::read_to_string(place.data().join("token")).unwrap();
    let secret = secret.trim();
    let count = file_texts(&|set, tool, arguments| server.call_in(set, secret, tool, &arguments));
    let fours = fours(count + 1);
    let folders = [place.data(), temporary];
    let none = |when: &str| {
        assert_eq!(leaks(&folders, &fours), Vec::<PathBuf>::new(), "{when}");
    };
    // While the server has everything open: log, index, locks.
    none("after the texts were filed");
    for question in [text(0), text(3), text(7)] {
        let found = place.rows(&["search", &question]);
        assert!(!found.as_array().unwrap().is_empty(), "{question}");
    }
    let input = json!({"session_id": "a", "prompt": text(2), "cwd": place.path("")});
    for event in ["prompt", "session-start"] {
        let arguments = ["hook", "run", "--host", "codex", "--event", event];
        place
            .run_with_stdin(&arguments, input.to_string().as_bytes())
            .succeeded();
    }
    none("after searches and hooks");
    let line = json!({"content": text(count)}).to_string();
    upload(&server, secret, &line);
    none("after an upload");
    let file: Value =
        serde_json::from_slice(&fs::read(place.data().join("encryption.json")).unwrap()).unwrap();
    let in_memory = Path::new("/dev/shm").join(format!("loci-{}", file["key"].as_str().unwrap()));
    let uploads = std::slice::from_ref(&in_memory);
    assert_eq!(leaks(uploads, &fours).len(), 1, "it waits in memory");
    fs::remove_dir_all(in_memory).unwrap();
    let import = place.write("lines.jsonl", &line);
    place.run(&["import", import.to_str().unwrap()]).succeeded();
    let backups = place.data().join("backups");
    fs::create_dir_all(&backups).unwrap();
    let backup = backups.join("b.tar");
    place.run(&["backup", backup.to_str().unwrap()]).succeeded();
    drop(server);
    place.run(&["doctor", "--fix"]);
    place.run(&["encrypt", "--rotate"]).succeeded();
    none("after a backup, a look and a rotation");
    // The search finds what is there: the same in the clear.
    place.run(&["decrypt"]).succeeded();
    assert!(leaks(&folders, &fours).contains(&place.data().join("loci.db")));
}

/// What the socket of hooks carries is sealed: a process in between reads no words.
#[test]
fn the_socket_of_hooks_carries_no_words() {
    use std::io::{Read, Write};
    use std::net::Shutdown;
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::sync::{Arc, Mutex};
    use std::time::{Duration, Instant};

    let (place, _) = encrypted_with_key();
    call(&place, "mememory", "remember", &json!({"content": text(1)}));
    let server = Server::start(&place, &[]);
    let run = place.data().join("run");
    // The server makes it beside its start.
    let started = Instant::now();
    let socket = loop {
        let files = fs::read_dir(&run).into_iter().flatten().flatten();
        let mut paths = files.map(|entry| entry.path());
        if let Some(path) = paths.find(|path| path.extension().is_some_and(|end| end == "socket")) {
            break path;
        }
        assert!(started.elapsed() < Duration::from_mins(1));
        std::thread::yield_now();
    };
    // In the place of the socket, one that passes on and keeps what goes through.
    let behind = run.join("behind");
    fs::rename(&socket, &behind).unwrap();
    let listener = UnixListener::bind(&socket).unwrap();
    let passed = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&passed);
    let between = std::thread::spawn(move || {
        let (mut hook, _) = listener.accept().unwrap();
        let mut server = UnixStream::connect(&behind).unwrap();
        let mut bytes = Vec::new();
        hook.read_to_end(&mut bytes).unwrap();
        server.write_all(&bytes).unwrap();
        server.shutdown(Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        server.read_to_end(&mut answer).unwrap();
        let _ = hook.write_all(&answer);
        kept.lock().unwrap().extend([bytes, answer].concat());
    });
    let input = json!({"session_id": "a", "prompt": text(1), "cwd": place.path("")});
    let arguments = ["hook", "run", "--host", "codex", "--event", "prompt"];
    place.run_with_stdin(&arguments, input.to_string().as_bytes());
    between.join().unwrap();
    drop(server);
    let passed = passed.lock().unwrap();
    assert!(passed.len() > 100, "{}", passed.len());
    for word in ["bollard", "form", "prompt", "Surfaced"] {
        let is_there = passed
            .windows(word.len())
            .any(|part| part == word.as_bytes());
        assert!(!is_there, "{word}");
    }
    drop::<Place>(place);
}
