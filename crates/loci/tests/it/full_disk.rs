//! A store on a disk that is full: all that reads works, and what was not written is told.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::doctor::write_into_log;
use crate::program::{Ended, Place};
use crate::servers::Server;

/// A disk of its own for the data folder of a place.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// None where no file system can be mounted, which it says.
    fn of(place: &Place) -> Option<Self> {
        fs::create_dir(place.data()).unwrap();
        if crate::backup::mounted(&place.data(), "size=16m,mode=0700") {
            return Some(SmallDisk(place.data()));
        }
        let skipped = "SKIPPED: no file system can be mounted here, so that no disk is full";
        let _ = writeln!(std::io::stderr(), "{skipped}");
        None
    }

    fn ballast(&self) -> PathBuf {
        self.0.join("ballast")
    }

    fn fill(&self) {
        let mut file = File::options()
            .create(true)
            .append(true)
            .open(self.ballast())
            .unwrap();
        for bytes in [1 << 20, 1 << 10, 1] {
            let bytes = vec![1; bytes];
            while file.write_all(&bytes).is_ok() {}
        }
    }

    fn make_room(&self) {
        fs::remove_file(self.ballast()).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// The commands that only read, with a word of their output.
fn reading(id: &str) -> Vec<(Vec<&str>, &str)> {
    vec![
        (vec!["search", "kiln"], "The kiln is hot"),
        (vec!["list"], "The kiln is hot"),
        (vec!["show", id], "The kiln is hot"),
        (vec!["stats"], "memories  "),
        (vec!["bootstrap"], "Read this first"),
        (vec!["palace", "wake-up"], ""),
        (vec!["palace", "compress"], ""),
        (vec!["audit"], "mememory/remember"),
        (vec!["audit", "--all"], "mememory/remember"),
        (vec!["export", "all.jsonl"], "exported"),
        (vec!["backup", "all.tar"], "backed up"),
        (vec!["token", "list"], ""),
        (vec!["trust"], ""),
        (vec!["vault", "status"], "notes        1"),
        (vec!["vault", "check"], ""),
    ]
}

/// Runs each command that reads, which says once that nothing is written, and the ones that write.
fn check_commands(place: &Place, id: &str) {
    for (arguments, words) in reading(id) {
        let ended = place.run(&arguments).succeeded();
        assert!(ended.stdout.contains(words), "{arguments:?}: {ended:?}");
        let note = "is on a full disk, and nothing is written";
        let notes = ended.stderr.matches(note).count();
        let warnings = ended.stderr.matches("WARN").count();
        assert_eq!((notes, warnings), (1, 0), "{arguments:?}: {ended:?}");
    }
    for arguments in [
        &["add", &"more ".repeat(4_000)][..],
        &["forget", id],
        &["reindex"],
        &["token", "create", "--subject", "ann"],
    ] {
        place.run(arguments).failed(4, "full");
    }
    let doctor = place.run(&["doctor"]);
    assert!(
        doctor.code == 4
            && doctor.stdout.contains("full")
            && doctor.stdout.contains("ok    database"),
        "{doctor:?}"
    );
}

fn filled(place: &Place) -> String {
    let id = place.add(&["The kiln is hot"]);
    place.add(&["Read this first", "--bootstrap"]);
    place.write("data/vault/note.md", "# A note\n");
    place.run(&["vault", "reconcile"]).succeeded();
    id
}

#[test]
fn a_store_on_a_full_disk_can_be_read_by_every_command_that_reads() {
    for has_log in [false, true] {
        let place = Place::new();
        let Some(disk) = SmallDisk::of(&place) else {
            return;
        };
        let id = filled(&place);
        let place = if has_log {
            write_into_log(&place);
            // As after a crash of the machine.
            fs::remove_file(place.data().join("loci.db-shm")).unwrap();
            // The same disk, as on many a laptop.
            let temporary = place.path("data/tmp");
            fs::create_dir(&temporary).unwrap();
            place.with("TMPDIR", temporary.to_str().unwrap())
        } else {
            place
        };
        disk.fill();
        check_commands(&place, &id);
        if !has_log {
            let arguments = ["migrate", "--from", "data", "--to", "copy"];
            place.run(&arguments).succeeded();
        }
        let names = fs::read_dir(place.data()).unwrap();
        let left = names.flatten().find(|entry| {
            let name = entry.file_name();
            Path::new(&name).extension().is_some_and(|end| end == "tmp")
        });
        assert!(left.is_none(), "{left:?}");
        disk.make_room();
        let before = place.rows(&["list"]);
        place.add(&["There is room"]);
        assert_eq!(
            place.rows(&["list"]).as_array().unwrap().len(),
            before.as_array().unwrap().len() + 1
        );
    }
}

/// What a hook of a host answers to an event.
fn hook(place: &Place, event: &str, input: &Value) -> Ended {
    let arguments = ["hook", "run", "--host", "codex", "--event", event];
    place.run_with_stdin(&arguments, input.to_string().as_bytes())
}

/// A tool is called over stdio once before the disk has room, and once after it.
fn lines(calls: &[(&str, Value)]) -> String {
    let line = |(number, (tool, arguments)): (usize, &(&str, Value))| {
        let params = json!({"name": tool, "arguments": arguments, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }});
        let call =
            json!({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params});
        format!("{call}\n")
    };
    calls.iter().enumerate().map(line).collect()
}

#[test]
fn hooks_and_tools_over_stdio_read_on_a_full_disk() {
    let place = Place::new();
    let Some(disk) = SmallDisk::of(&place) else {
        return;
    };
    filled(&place);
    disk.fill();
    let asked =
        json!({"session_id": "a", "prompt": "Is the kiln hot by now?", "cwd": place.path("")});
    let answered = hook(&place, "prompt", &asked).succeeded();
    assert!(
        answered.stdout.contains("The kiln is hot") && answered.stderr.contains("full disk"),
        "{answered:?}"
    );
    let started = json!({"session_id": "a", "source": "startup", "cwd": place.path("")});
    let answered = hook(&place, "session-start", &started).succeeded();
    assert!(answered.stdout.contains("Read this first"), "{answered:?}");

    let calls = [
        ("recall", json!({"query": "kiln"})),
        ("remember", json!({"content": "much ".repeat(4_000)})),
        ("list", json!({})),
    ];
    let ended = place
        .run_with_stdin(&["mcp", "mememory"], lines(&calls).as_bytes())
        .succeeded();
    let replies: HashMap<u64, Value> = ended
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|reply| (reply["id"].as_u64().unwrap(), reply["result"].clone()))
        .collect();
    for number in [0, 2] {
        assert_eq!(replies[&number]["isError"], json!(false), "{ended:?}");
    }
    let refused = &replies[&1];
    assert!(
        refused["isError"] == json!(true) && refused.to_string().contains("the disk is full"),
        "{refused}"
    );
}

/// Whether the server is started before the disk is full or after it.
#[test]
fn a_server_reads_on_a_full_disk_and_writes_once_there_is_room() {
    for starts_full in [false, true] {
        let place = Place::new();
        let Some(disk) = SmallDisk::of(&place) else {
            return;
        };
        let id = filled(&place);
        let token = place.json(&["token", "create", "--subject", "local"])["token"]
            .as_str()
            .unwrap()
            .to_owned();
        // Its token is made.
        drop(Server::start(&place, &[]));
        let server = if starts_full {
            disk.fill();
            Server::start(&place, &[])
        } else {
            let server = Server::start(&place, &[]);
            disk.fill();
            server
        };
        let much = "much ".repeat(4_000);
        assert_eq!(server.get(None, "/healthz").0, 200);
        let (status, body) = server.get(None, "/readyz");
        assert!(
            status == 503 && body.contains("the disk is full"),
            "{status} {body}"
        );
        place
            .run(&["doctor", "--server", &server.url()])
            .failed(1, "");
        for path in [
            "/api/v1/home",
            "/api/v1/search?q=kiln",
            "/api/v1/facts",
            "/api/v1/activity",
            "/",
        ] {
            let (status, body) = server.get(Some(&token), path);
            assert_eq!(status, 200, "{path}: {body}");
        }
        let found = server.call_in("mememory", &token, "recall", &json!({"query": "kiln"}));
        assert!(found.to_string().contains("The kiln is hot"), "{found}");
        let edit = json!({"content": much, "revision": 1});
        let (status, body) = server.change(&token, &format!("/memory/{id}/edit"), &edit);
        assert!(
            status == 503 && body.contains("the disk is full"),
            "{status} {body}"
        );
        // What cannot be written, e.g. the log of calls, is told once.
        for arguments in [
            &["search", "kiln"][..],
            &["show", &id],
            &["stats"],
            &["audit"],
        ] {
            let ended = place.run(arguments).succeeded();
            assert!(ended.stderr.lines().count() <= 1, "{ended:?}");
        }
        disk.make_room();
        let (status, body) = server.get(None, "/readyz");
        assert_eq!(status, 200, "{body}");
        server.call_in("mememory", &token, "remember", &json!({"content": much}));
    }
}
