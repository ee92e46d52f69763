//! The commands with a store on a PostgreSQL server.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use loci_testkit::postgres::{Server, Setup};
use serde_json::{Value, json};

use crate::program::Place;

/// The URL of a server that keeps what it acknowledges: the program works with no other.
fn url() -> &'static str {
    static SERVER: OnceLock<Server> = OnceLock::new();
    let setup = Setup {
        fsync: true,
        ..Setup::default()
    };
    &SERVER.get_or_init(|| Server::start(&setup)).url
}

/// Returns the name of a schema that is not there yet. It goes with the server.
pub fn schema() -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    format!("commands_{}", NUMBER.fetch_add(1, Ordering::Relaxed))
}

/// Returns a machine whose store is in this schema.
pub fn machine(schema: &str) -> Place {
    Place::new()
        .with("LOCI_STORE", url())
        .with("LOCI_STORE_SCHEMA", schema)
}

/// Calls tools of a dialect in one process; returns the messages.
fn call(place: &Place, dialect: &str, calls: &[(&str, Value)]) -> Vec<Value> {
    let mut child = place
        .command(&["mcp", dialect])
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut lines = BufReader::new(stdout).lines();
    let mut replies = Vec::new();
    for (number, (method, params)) in (1..).zip(calls) {
        let mut params = params.clone();
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let request = json!({"jsonrpc": "2.0", "id": number, "method": method, "params": params});
        writeln!(stdin, "{request}").unwrap();
        let line = lines.next().unwrap().unwrap();
        replies.push(serde_json::from_str(&line).unwrap());
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
    replies
}

fn tool(name: &str, arguments: Value) -> (&'static str, Value) {
    ("tools/call", json!({"name": name, "arguments": arguments}))
}

#[test]
fn machines_share_what_their_agents_file() {
    let schema = schema();
    let (one, other) = (machine(&schema), machine(&schema));
    let id = one.add(&["Tea is at four."]);
    let found = other.rows(&["search", "tea"]);
    assert!(found.to_string().contains(&id), "{found}");
    let replies = call(&other, "engram", &[tool("get_memory", json!({"id": id}))]);
    assert!(
        replies[0].to_string().contains("Tea is at four."),
        "{replies:?}"
    );
    assert!(one.json(&["stats"]).to_string().contains(&schema));
    let doctor = other.run(&["doctor"]).succeeded().stdout;
    for subject in ["server", "durability", "pooler", "server clock", "writing"] {
        assert!(doctor.contains(&format!("ok    {subject}")), "{doctor}");
    }
    other.run(&["reindex"]).succeeded();
    other.run(&["forget", &id]).succeeded();
    assert!(!one.run(&["list"]).succeeded().stdout.contains("Tea"));
    let refused = one.run(&["doctor", "--salvage", "rescued.jsonl"]);
    refused.failed(2, "works on the files of a store");
}

/// Only a cluster has workers that a space could lie on.
#[test]
fn spaces_lie_in_one_place_without_a_cluster() {
    let schema = schema();
    for place in [Place::new(), machine(&schema)] {
        place.add(&["Tea is at four."]);
        for command in [
            &["show", "main"] as &[&str],
            &["isolate", "main"],
            &["move", "main", "127.0.0.1:5432"],
        ] {
            let command = [&["space"], command].concat();
            place.run(&command).failed(2, "no cluster with Citus");
        }
    }
}

#[test]
fn notes_are_kept_where_their_folder_is_named() {
    let schema = schema();
    let (keeper, other) = (machine(&schema), machine(&schema));
    keeper.write("notes/tea.md", "# Tea\n\nTea is at four.\n");
    let notes = keeper.path("notes");
    keeper
        .run(&["--vault", notes.to_str().unwrap(), "vault", "reconcile"])
        .succeeded();
    let found = call(
        &other,
        "vault",
        &[
            tool("memory_search", json!({"query": "when is tea?"})),
            tool(
                "memory_append",
                json!({"title": "Milk", "content": "Milk is at five."}),
            ),
        ],
    );
    assert!(
        found[0].to_string().contains("Tea is at four."),
        "{found:?}"
    );
    let kept = "the notes are kept by ";
    assert!(found[1].to_string().contains(kept), "{found:?}");
    assert!(!other.data().join("vault").exists());
    other
        .run(&["vault", "reconcile"])
        .failed(2, "name one with --vault");
    other.write("notes/tea.md", "# Tea\n\nTea is at five.\n");
    let second = other.path("notes");
    other
        .run(&["--vault", second.to_str().unwrap(), "vault", "reconcile"])
        .failed(4, kept);
}

/// Two machines have a checkout of a project at the same path, as `/srv/shop` may be, with other
/// files in it.
#[test]
fn a_machine_leaves_the_files_of_another_alone() {
    let schema = schema();
    let shop = tempfile::tempdir().unwrap();
    let mine = |name: &str, text: &str| {
        let machine = machine(&schema);
        for old in fs::read_dir(shop.path()).unwrap() {
            fs::remove_file(old.unwrap().path()).unwrap();
        }
        fs::write(shop.path().join(name), text).unwrap();
        let shop = shop.path().to_str().unwrap();
        machine
            .run(&["palace", "mine", shop, "--wing", "shop"])
            .succeeded();
        machine
    };
    let one = mine(
        "kiln.md",
        "The kiln of the shop is fired on Monday, and nobody opens it before Tuesday.",
    );
    let other = mine(
        "glaze.md",
        "The glaze of the shop is made of ash, and needs cone ten to melt well.",
    );
    let path = shop.path().to_str().unwrap();
    other.run(&["palace", "sync", path, "--apply"]).succeeded();
    for text in ["The kiln of the shop", "The glaze of the shop"] {
        let found = one.rows(&["list"]).to_string();
        assert!(found.contains(text), "{text}: {found}");
    }
    one.run(&["palace", "sync", path, "--apply"]).succeeded();
    let left = other.rows(&["list"]).to_string();
    assert!(
        left.contains("The glaze") && !left.contains("The kiln"),
        "{left}"
    );
}

/// Fills a store in files with records of several kinds.
fn fill(place: &Place) {
    for number in 0..30 {
        place.add(&[
            &format!("The kiln {number} is fired on Monday."),
            "--tags",
            "kiln",
        ]);
    }
    let replies = call(
        place,
        "mempalace",
        &[
            tool(
                "mempalace_kg_add",
                json!({"subject": "Ann", "predicate": "owns", "object": "kiln"}),
            ),
            // What it was before goes with it.
            tool(
                "mempalace_kg_invalidate",
                json!({"subject": "Ann", "predicate": "owns", "object": "kiln"}),
            ),
            tool(
                "mempalace_add_drawer",
                json!({"wing": "pottery", "room": "glaze", "content": "Ash glaze needs cone 10."}),
            ),
        ],
    );
    for reply in &replies {
        assert!(reply["result"]["structuredContent"].is_object(), "{reply}");
    }
    place
        .run(&["token", "create", "--subject", "ann"])
        .succeeded();
    // The former text of the note is kept, and goes with it.
    for hour in ["four", "five"] {
        place.write("data/vault/tea.md", format!("# Tea\n\nTea is at {hour}.\n"));
        place.run(&["vault", "reconcile"]).succeeded();
    }
    // What is deleted softly comes back by `loci unforget`, there as here.
    let messages = json!([{"role": "human", "content": "We drink the tea on the boat"}]);
    let stored = json!({"user_id": "local", "conversation_id": "trip", "messages": messages});
    let delete = json!({"user_id": "local", "conversation": "trip", "confirm": true});
    let calls = [tool("store_memory", stored), tool("delete_memory", delete)];
    let replies = call(place, "memory-mcp", &calls);
    let deleted = &replies[1]["result"]["structuredContent"]["deleted_count"];
    assert_eq!(deleted, &json!(1), "{replies:?}");
}

/// Checks that the message that was deleted softly would come back, and who deleted it.
fn has_deleted(place: &Place, data: &str) {
    let words = [
        "--data",
        data,
        "unforget",
        "--where",
        "--conversation",
        "trip",
    ];
    let seen = place.json(&words);
    assert_eq!(seen["memories"], json!(1), "{seen}");
    let changes = place.json(&["--data", data, "history"])["changes"].to_string();
    assert!(changes.contains("delete_memory"), "{changes}");
}

#[test]
fn a_store_moves_to_a_server_and_back() {
    let place = Place::new().with("LOCI_EMBEDDING_PROVIDER", "bundled");
    fill(&place);
    let place = place
        .with("LOCI_STORE_SCHEMA", &schema())
        .with("LOCI_EMBEDDING_PROVIDER", "none");
    let (data, back) = (place.data(), place.path("back"));
    let (data, back) = (data.to_str().unwrap(), back.to_str().unwrap());
    let moved = place.json(&["migrate", "--from", data, "--to", url()]);
    assert_eq!(moved["equal"], json!(true), "{moved}");
    assert!(moved["copied"]["records"].as_u64() >= Some(33), "{moved}");
    assert_eq!(moved["copied"]["tokens"], json!(1));
    assert!(
        moved["copied"]["audit_entries"].as_u64() >= Some(32),
        "{moved}"
    );
    let again = place.json(&["migrate", "--from", data, "--to", url()]);
    assert_eq!(again["copied"]["records"], json!(0));
    assert_eq!(
        (&again["equal"], &again["compared"]),
        (&json!(true), &moved["compared"])
    );
    let returned = place.json(&["migrate", "--from", url(), "--to", back]);
    assert_eq!(returned["equal"], json!(true), "{returned}");
    let checked = place.json(&["migrate", "--check", "--from", data, "--to", back]);
    assert_eq!(checked["equal"], json!(true), "{checked}");
    place.run(&["--data", back, "doctor"]).succeeded();
    has_deleted(&place, back);

    place.run(&["--data", back, "add", "One more."]).succeeded();
    // The memory, the time before it as a version, and the call.
    let more = place.json(&["migrate", "--check", "--from", data, "--to", back]);
    assert_eq!(
        (&more["differing"], &more["further"]),
        (&json!(0), &json!(3))
    );
    let less = place.run(&["migrate", "--check", "--from", back, "--to", data]);
    assert!(less.stderr.contains("is missing"), "{less:?}");
    less.failed(1, "3 of ");
    for (from, to, code, text) in [
        (data, data, 2, "name the same store"),
        ("nothing", url(), 2, "there is no store in"),
        (
            "mysql://a:secret@b/c",
            url(),
            2,
            "after --from is a URL of the kind mysql://",
        ),
        (
            data,
            "postgres://a:secret@127.0.0.1:1/c",
            4,
            "cannot be reached",
        ),
    ] {
        let refused = place.run(&["migrate", "--from", from, "--to", to]);
        assert!(!refused.stderr.contains("secret"), "{refused:?}");
        refused.failed(code, text);
    }
}

#[test]
fn a_backup_goes_into_either_kind_of_store() {
    let files = Place::new();
    fill(&files);
    let backup = files.path("files.tar");
    let backup = backup.to_str().unwrap();
    files.run(&["backup", backup]).succeeded();
    let server = machine(&schema());
    let vault = server.path("notes");
    let vault = vault.to_str().unwrap();
    server
        .run(&["--vault", vault, "restore", backup])
        .succeeded();
    assert!(server.path("notes/tea.md").is_file());
    let found = server.rows(&["search", "ash glaze"]).to_string();
    assert!(found.contains("cone 10"), "{found}");
    server.run(&["restore", backup]).failed(2, "is not empty");
    // Sealed notes come into the clear there, because the server has no key to them.
    let sealed = Place::new();
    fill(&sealed);
    sealed.json(&["encrypt", "--key-file", "loci.key", "--notes", "sealed"]);
    let key = sealed.path("loci.key");
    let sealed = sealed.with("LOCI_ENCRYPTION_KEY_FILE", key.to_str().unwrap());
    sealed.run(&["backup", "sealed.tar"]).succeeded();
    let other = machine(&schema()).with("LOCI_ENCRYPTION_KEY_FILE", key.to_str().unwrap());
    let (backup_of_sealed, notes) = (sealed.path("sealed.tar"), other.path("notes"));
    let (backup_of_sealed, notes) = (backup_of_sealed.to_str().unwrap(), notes.to_str().unwrap());
    other
        .run(&["--vault", notes, "restore", backup_of_sealed])
        .succeeded();
    let tea = fs::read_to_string(other.path("notes/tea.md")).unwrap();
    assert!(tea.contains("Tea is at five."), "{tea}");
    server
        .run(&["restore", backup, "--replace"])
        .failed(2, "--replace works on files alone");

    let second = server.path("server.tar");
    let second = second.to_str().unwrap();
    server
        .run(&["--vault", vault, "backup", second])
        .succeeded();
    let third = Place::new();
    third.run(&["restore", second]).succeeded();
    third.run(&["doctor"]).succeeded();
    assert!(third.data().join("vault/tea.md").is_file());
    let (one, other) = (files.data(), third.data());
    let (one, other) = (one.to_str().unwrap(), other.to_str().unwrap());
    let compared = third.json(&["migrate", "--check", "--from", one, "--to", other]);
    assert_eq!(compared["differing"], json!(0), "{compared}");
    has_deleted(&third, other);

    let export = server.path("all.jsonl");
    let export = export.to_str().unwrap();
    server.run(&["export", export]).succeeded();
    machine(&schema())
        .run(&["import", export])
        .failed(2, "name one with --vault");
}

#[test]
fn tools_are_listed_while_the_server_is_away() {
    let place = Place::new().with("LOCI_STORE", "postgres://loci:secret@127.0.0.1:1/loci");
    let replies = call(
        &place,
        "mememory",
        &[
            ("tools/list", json!({})),
            tool("remember", json!({"content": "Tea is at four."})),
        ],
    );
    assert!(replies[0]["result"]["tools"].is_array(), "{replies:?}");
    let failure = replies[1].to_string();
    assert!(
        failure.contains("unavailable")
            && failure.contains("the store cannot be reached; PostgreSQL"),
        "{failure}"
    );
    assert!(!failure.contains("secret"), "{failure}");
    let doctor = place.run(&["doctor"]);
    assert!(doctor.stdout.contains("fail  server"), "{doctor:?}");
    assert_eq!(doctor.code, 4);
}

#[test]
fn a_server_whose_store_only_reads_is_not_ready() {
    let server = Server::start(&Setup {
        fsync: true,
        ..Setup::default()
    });
    let place = Place::new().with("LOCI_STORE", &server.url);
    place.add(&["Tea is at four."]);
    let loci = crate::servers::Server::start(&place, &[]);
    let assert_ready = |status: u16, words: &str| {
        let (code, reply) = loci.get(None, "/readyz");
        assert!(code == status && reply.ends_with(words), "{code} {reply}");
    };
    assert_ready(200, "ok\n");
    server.become_standby();
    assert_ready(503, "not ready: the store can only be read\n");
    let doctor = place.run(&["doctor", "--server", &loci.url()]);
    assert!(doctor.stdout.contains("takes no writes"), "{doctor:?}");
    server.become_primary();
    assert_ready(200, "ok\n");
}

/// The server logs a connection that breaks off: with `debug1` always.
#[test]
fn commands_take_leave_of_the_server() {
    let server = Server::start(&Setup {
        fsync: true,
        settings: vec![("log_min_messages".to_owned(), "debug1".to_owned())],
        ..Setup::default()
    });
    let place = Place::new().with("LOCI_STORE", &server.url);
    place.run(&["add", "Tea is at four."]).succeeded();
    place.run(&["search", "tea"]).succeeded();
    call(
        &place,
        "mememory",
        &[tool("recall", json!({"query": "tea"}))],
    );
    place.run(&["doctor"]).succeeded();
    let log = server.log();
    for broken in ["could not receive data", "unexpected EOF"] {
        assert!(!log.contains(broken), "{log}");
    }
}

/// The longest time that a command may take, whatever a standby does.
const COMMAND_MAX: Duration = Duration::from_secs(30);

/// `LOCI_TEST_COMMIT_SECONDS` is the time after which a commit is given up, 2 if it is not set.
#[test]
fn every_command_ends_while_a_standby_does_not_answer() {
    let seconds = std::env::var("LOCI_TEST_COMMIT_SECONDS").unwrap_or_else(|_| "2".to_owned());
    let server = Server::start(&Setup {
        fsync: true,
        ..Setup::default()
    });
    let machine = || {
        Place::new()
            .with("LOCI_STORE", &server.url)
            .with("LOCI_STORE_COMMIT_SECONDS", &seconds)
    };
    let first = machine();
    let id = first.add(&["Tea is at four."]);
    let token = first.json(&["token", "create", "--subject", "ann"]);
    let token = token["id"].as_str().unwrap();
    let standby = server.start_standby(None);
    server.require_standby();
    first.run(&["doctor"]).succeeded();
    standby.freeze();
    let name = "walreceiver at 127.0.0.1 (last heard of ";
    let seen = first.run(&["doctor"]);
    let rows: Vec<&str> = seen.stdout.lines().collect();
    assert!(
        rows[2].starts_with("fail  standbys") && rows[2].contains(name),
        "{seen:?}"
    );
    let commands: [&[&str]; 18] = [
        &["doctor"],
        &["doctor", "--fix"],
        &["list"],
        &["search", "tea"],
        &["show", &id],
        &["stats"],
        &["audit"],
        &["token", "list"],
        &["export", "export.jsonl"],
        &["backup", "backup.tar"],
        &["add", "Milk is at five."],
        &["forget", &id],
        &["import", "in.jsonl"],
        &["token", "create", "--subject", "bob"],
        &["token", "revoke", token],
        &["reindex"],
        &["palace", "mine", "shop", "--wing", "shop"],
        &["bootstrap"],
    ];
    std::thread::scope(|scope| {
        for arguments in commands {
            let place = machine();
            place.write("in.jsonl", r#"{"content": "Bread is at six."}"#);
            place.write("shop/kiln.md", "The kiln of the shop is fired on Monday.");
            scope.spawn(move || {
                let begun = Instant::now();
                let ended = place.run(arguments);
                let took = begun.elapsed();
                eprintln!(
                    "{arguments:?} took {took:?}: {}{}",
                    ended.stdout, ended.stderr
                );
                assert!(took < COMMAND_MAX, "{arguments:?} took {took:?}");
            });
        }
    });
    standby.thaw();
    first.add(&["Water is at six."]);
}
