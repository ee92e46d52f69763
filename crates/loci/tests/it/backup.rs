use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::program::{Place, mode};

/// The offset of the schema version in an SQLite file.
const USER_VERSION_OFFSET: u64 = 60;

/// A running `loci mcp`; killed when dropped.
struct Agent {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    calls: u32,
}

impl Agent {
    fn start(place: &Place, dialect: &str) -> Self {
        let mut child = place
            .command(&["mcp", dialect])
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (
            child.stdin.take().unwrap(),
            BufReader::new(child.stdout.take().unwrap()),
        );
        Agent {
            child,
            stdin,
            stdout,
            calls: 0,
        }
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.calls += 1;
        let params = json!({"name": tool, "arguments": arguments, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }});
        let request =
            json!({"jsonrpc": "2.0", "id": self.calls, "method": "tools/call", "params": params});
        writeln!(self.stdin, "{request}").unwrap();
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        let reply: Value = serde_json::from_str(&line).unwrap();
        assert!(reply["result"]["structuredContent"].is_object(), "{line}");
        reply["result"]["structuredContent"].clone()
    }

    fn remember(&mut self, text: &str) -> String {
        self.call("remember", &json!({"content": text}))["id"]
            .as_str()
            .unwrap()
            .to_owned()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Returns every file below a folder except locks, with its bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_none_or(|end| end != "lock" && end != "db-shm")
            {
                found.insert(
                    path.strip_prefix(folder).unwrap().to_owned(),
                    fs::read(&path).unwrap(),
                );
            }
        }
    }
    found
}

/// Returns the contents of all memories.
fn contents(place: &Place) -> BTreeSet<String> {
    let listed = place.rows(&["list", "--limit", "1000"]);
    listed
        .as_array()
        .unwrap()
        .iter()
        .map(|memory| memory["content"].as_str().unwrap().to_owned())
        .collect()
}

fn set<const N: usize>(texts: [&str; N]) -> BTreeSet<String> {
    texts.map(str::to_owned).into()
}

#[track_caller]
fn is_healthy(place: &Place) {
    let report = place.rows(&["doctor"]);
    for row in report.as_array().unwrap() {
        assert_ne!(row["verdict"], "fail", "{report:#}");
    }
}

/// Makes a store with memories and notes, and its backup.
fn backed_up(place: &Place) -> PathBuf {
    place.add(&["The deploy runs on Fridays"]);
    place.write(
        "data/vault/recipes/tea.md",
        "---\ntags: [tea]\n---\n# Tea\nThree minutes.\n",
    );
    place.write("data/vault/pictures/tea.png", b"\x89PNG\0\xff");
    place.write("data/vault/.obsidian/app.json", "{}");
    place.run(&["vault", "reconcile"]).succeeded();
    let file = place.path("backup.tar");
    place.run(&["backup", text(&file)]).succeeded();
    file
}

#[test]
fn what_was_acknowledged_before_a_backup_is_in_it() {
    const WRITERS: usize = 3;
    let (here, there) = (Place::new(), Place::new());
    let (stop, acknowledged, more) = (
        AtomicBool::new(false),
        Mutex::new(Vec::new()),
        Condvar::new(),
    );
    let (first, second) = (there.path("1.tar"), there.path("2.tar"));
    let wait_for = |count: usize| {
        let ids = more
            .wait_while(acknowledged.lock().unwrap(), |ids: &mut Vec<String>| {
                ids.len() < count
            })
            .unwrap();
        ids.clone()
    };
    let (before_first, before_second) = thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (stop, acknowledged, more, here) = (&stop, &acknowledged, &more, &here);
            scope.spawn(move || {
                let mut agent = Agent::start(here, "mememory");
                for number in 0.. {
                    let id = agent.remember(&format!("Bead {number} of string {writer}"));
                    acknowledged.lock().unwrap().push(id);
                    more.notify_all();
                    if stop.load(Ordering::SeqCst) {
                        break;
                    }
                }
            });
        }
        let before_first = wait_for(20);
        let backed_up = here.json(&["backup", text(&first)]);
        assert!(
            backed_up["memories"].as_u64().unwrap() >= before_first.len() as u64,
            "{backed_up}"
        );
        let before_second = wait_for(before_first.len() + 20);
        here.run(&["backup", text(&second)]).succeeded();
        stop.store(true, Ordering::SeqCst);
        (before_first, before_second)
    });
    #[cfg(unix)]
    assert_eq!(mode(&first), 0o600);
    let left: Vec<_> = fs::read_dir(there.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
    for (file, expected) in [(&first, before_first), (&second, before_second)] {
        let restored = Place::new();
        restored.run(&["restore", text(file)]).succeeded();
        is_healthy(&restored);
        let listed = restored.rows(&["list", "--limit", "1000"]);
        let ids: BTreeSet<_> = listed
            .as_array()
            .unwrap()
            .iter()
            .map(|memory| memory["id"].as_str().unwrap())
            .collect();
        let lost: Vec<_> = expected
            .iter()
            .filter(|id| !ids.contains(id.as_str()))
            .collect();
        assert!(lost.is_empty(), "{lost:?} of {}", expected.len());
    }
    is_healthy(&here);
}

#[test]
fn a_backup_comes_back_in_an_empty_folder() {
    let (here, there) = (Place::new(), Place::new());
    let file = backed_up(&here);
    let token = here.json(&["token", "create", "--subject", "ann"]);
    place_is_refused(&here, &file);
    let restored = there.json(&["restore", text(&file)]);
    assert_eq!(
        (&restored["memories"], &restored["notes"]),
        (&json!(2), &json!(2)),
        "{restored}"
    );
    assert_eq!(restored["replaced"], Value::Null);
    // No note counts as changed: each file has the text that is known, though a new time of change.
    let report = there.rows(&["doctor"]);
    let notes = report
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["check"] == "notes")
        .unwrap();
    assert_eq!(notes["verdict"], "ok", "{report:#}");
    assert_eq!(contents(&there), contents(&here));
    let files = files(&there.data());
    assert_eq!(files[Path::new("vault/pictures/tea.png")], b"\x89PNG\0\xff");
    assert!(
        !files
            .keys()
            .any(|path| path.starts_with("vault/.obsidian") || path.starts_with("restoring"))
    );
    // The index knows each note as the same memory as before.
    let reconciled = there.json(&["vault", "reconcile"]);
    assert_eq!(
        (&reconciled["indexed"], &reconciled["removed"]),
        (&json!(0), &json!(0)),
        "{reconciled}"
    );
    is_healthy(&there);
    #[cfg(unix)]
    for path in ["loci.db", "vault/recipes/tea.md"] {
        assert_eq!(mode(&there.data().join(path)), 0o600, "{path}");
    }
    // Secrets are not in the backup, nor are later records.
    let bytes = fs::read(&file).unwrap();
    let secret = token["token"].as_str().unwrap().as_bytes();
    assert!(!bytes.windows(secret.len()).any(|window| window == secret));
    assert_eq!(there.rows(&["token", "list"]), json!([]));
}

/// Asserts that a backup is never overwritten.
fn place_is_refused(place: &Place, file: &Path) {
    let before = fs::read(file).unwrap();
    place
        .run(&["backup", text(file)])
        .failed(2, "is there already");
    place
        .run(&["backup", text(&place.path("nowhere/backup.tar"))])
        .failed(2, "nowhere");
    assert_eq!(fs::read(file).unwrap(), before);
}

#[test]
fn what_is_there_is_replaced_only_if_that_is_wanted_and_comes_back() {
    let place = Place::new();
    let file = backed_up(&place);
    place.add(&["Something later"]);
    place.write("data/vault/later.md", "# Later\n");
    place.write("data/vault/recipes/tea.md", "# Tea\nFour minutes.\n");
    place.run(&["vault", "reconcile"]).succeeded();
    let before = files(&place.data());
    let refused = place
        .run(&["restore", text(&file)])
        .failed(2, "has a database already");
    assert!(refused.stderr.contains("--replace"), "{refused:?}");
    assert_eq!(files(&place.data()), before);

    let restored = place.json(&["restore", text(&file), "--replace"]);
    let replaced = PathBuf::from(restored["replaced"].as_str().unwrap());
    let all = contents(&place);
    assert!(
        all.contains("The deploy runs on Fridays") && !all.contains("Something later"),
        "{all:?}"
    );
    assert!(!place.data().join("vault/later.md").exists());
    assert_eq!(
        fs::read_to_string(replaced.join("vault/later.md")).unwrap(),
        "# Later\n"
    );
    assert_eq!(
        fs::read_to_string(replaced.join("vault/recipes/tea.md")).unwrap(),
        "# Tea\nFour minutes.\n"
    );
    assert!(
        !replaced.join("vault/pictures").exists(),
        "what is the same stays"
    );
    assert!(
        place.data().join("vault/.obsidian/app.json").exists(),
        "what is hidden is somebody else's"
    );
    is_healthy(&place);
    #[cfg(unix)]
    assert_eq!(mode(&replaced), 0o700);

    // The way back: the former database, with its log.
    let back = place.json(&["restore", text(&replaced.join("loci.db")), "--replace"]);
    assert_eq!(back["moment"], Value::Null);
    assert!(contents(&place).contains("Something later"));
}

#[test]
fn notes_that_are_not_in_the_backup_are_not_swept_away() {
    let (here, there) = (Place::new(), Place::new());
    let file = backed_up(&here);
    there.write(
        "data/vault/recipes/tea.md",
        "---\ntags: [tea]\n---\n# Tea\nThree minutes.\n",
    );
    let own = there.write("data/vault/own.md", "# Own\n");
    there.run(&["restore", text(&file)]).failed(2, "own.md");
    assert!(!there.data().join("loci.db").exists());
    fs::remove_file(own).unwrap();
    // An identical note is not a conflict.
    there.run(&["restore", text(&file)]).succeeded();
    is_healthy(&there);
}

#[test]
fn a_store_that_somebody_uses_is_not_replaced() {
    let place = Place::new();
    let file = backed_up(&place);
    let mut agent = Agent::start(&place, "mememory");
    agent.remember("It is running");
    place
        .run(&["restore", text(&file), "--replace"])
        .failed(4, text(&place.data().canonicalize().unwrap()));
    agent.remember("It still is");
    drop(agent);
    assert!(contents(&place).contains("It still is"));
}

#[test]
fn a_damaged_backup_touches_nothing() {
    let place = Place::new();
    let file = backed_up(&place);
    place.add(&["Something later"]);
    let whole = fs::read(&file).unwrap();
    let before = files(&place.data());
    let damaged = place.path("damaged.tar");
    let refused = |bytes: &[u8], words: &str| {
        fs::write(&damaged, bytes).unwrap();
        let ended = place
            .run(&["restore", text(&damaged), "--replace"])
            .failed(2, words);
        assert!(!ended.stderr.contains("Fridays"), "{ended:?}");
        assert_eq!(files(&place.data()), before);
    };
    // Each part of the file; the tests of its module try every byte of a small one.
    for place in (0..whole.len()).step_by(whole.len() / 40) {
        let mut bytes = whole.clone();
        bytes[place] ^= 4;
        refused(&bytes, "damaged");
    }
    for length in [
        0,
        1,
        512,
        whole.len() / 2,
        whole.len() - 1_536,
        whole.len() - 1,
    ] {
        refused(&whole[..length], "damaged");
    }
    place
        .run(&["restore", text(&place.path("nothing.tar")), "--replace"])
        .failed(2, "nothing.tar");
    place
        .run(&["restore", text(&place.data()), "--replace"])
        .failed(2, "cannot be read");
    assert_eq!(files(&place.data()), before);
}

#[test]
fn what_is_no_backup_is_not_quoted() {
    let place = Place::new();
    place.add(&[&"The deploy runs on Fridays. ".repeat(40)]);
    let export = place.path("all.jsonl");
    place.run(&["export", text(&export)]).succeeded();
    let lines = fs::read_to_string(&export).unwrap();
    let (_, memories) = lines.split_once('\n').unwrap();
    for (file, words) in [
        (export, "loci import"),
        (place.write("other.jsonl", memories), "no backup of loci"),
    ] {
        let ended = place
            .run(&["restore", text(&file), "--replace"])
            .failed(2, words);
        for content in ["Fridays", "memory"] {
            assert!(!ended.stderr.contains(content), "{ended:?}");
        }
    }
}

/// As if a drive were not mounted, or mounted elsewhere.
#[test]
fn no_backup_is_made_without_the_notes() {
    let place = Place::new();
    backed_up(&place);
    let (vault, away) = (place.data().join("vault"), place.path("away"));
    let file = place.path("later.tar");
    fs::rename(&vault, &away).unwrap();
    place
        .run(&["backup", text(&file)])
        .failed(2, "--accept-missing");
    fs::create_dir(&vault).unwrap();
    place
        .run(&["backup", text(&file)])
        .failed(2, "--accept-missing");
    fs::remove_dir(&vault).unwrap();
    assert!(!file.exists());
    fs::rename(&away, &vault).unwrap();
    assert_eq!(place.json(&["backup", text(&file)])["notes"], 2);
    fs::remove_dir_all(&vault).unwrap();
    place
        .run(&["vault", "reconcile", "--accept-missing"])
        .succeeded();
    assert_eq!(
        place.json(&["backup", text(&place.path("last.tar"))])["notes"],
        0
    );
}

#[test]
fn a_database_that_cannot_be_used_is_not_taken() {
    let (here, there) = (Place::new(), Place::new());
    here.add(&["The deploy runs on Fridays"]);
    let database = there.path("copy.db");
    fs::copy(here.data().join("loci.db"), &database).unwrap();
    let mut file = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(&database)
        .unwrap();
    file.seek(SeekFrom::Start(USER_VERSION_OFFSET)).unwrap();
    file.write_all(&[0, 0, 0x27, 0x10]).unwrap();
    there
        .run(&["restore", text(&database)])
        .failed(5, "schema 10000");
    // A database of another program.
    file.seek(SeekFrom::Start(USER_VERSION_OFFSET + 8)).unwrap();
    file.write_all(b"noci").unwrap();
    there
        .run(&["restore", text(&database)])
        .failed(5, "not a database of loci");
    // A corrupt database of loci.
    fs::copy(here.data().join("loci.db"), &database).unwrap();
    let mut bytes = Vec::new();
    fs::File::open(&database)
        .unwrap()
        .read_to_end(&mut bytes)
        .unwrap();
    let place = bytes
        .windows(6)
        .position(|window| window == b"Friday")
        .unwrap();
    bytes[place] = b'f';
    fs::write(&database, bytes).unwrap();
    there
        .run(&["restore", text(&database)])
        .failed(5, "is damaged");
    assert!(!there.data().join("loci.db").exists() && !there.data().join("restoring").exists());
}

/// A database that a process is writing cannot be copied as a valid one.
#[test]
fn a_database_in_use_is_not_copied() {
    let (here, there) = (Place::new(), Place::new());
    let mut agent = Agent::start(&here, "mememory");
    agent.remember("The deploy runs on Fridays");
    let database = here.data().join("loci.db");
    let refused = there
        .run(&["restore", text(&database)])
        .failed(4, "loci backup");
    assert!(refused.stderr.contains(text(&here.data())), "{refused:?}");
    assert!(!there.data().join("loci.db").exists());
    drop(agent);
    there.run(&["restore", text(&database)]).succeeded();
    assert_eq!(contents(&there), contents(&here));
    // Into the folder of the database itself.
    there
        .run(&["restore", text(&there.data().join("loci.db")), "--replace"])
        .succeeded();
    assert_eq!(contents(&there), contents(&here));
}

/// Each backup would contain all earlier ones.
#[test]
fn no_backup_goes_among_the_notes() {
    let place = Place::new();
    place.add(&["a"]);
    place.write("data/vault/folder/note.md", "# Note\n");
    let before = files(&place.data().join("vault"));
    for name in [
        "data/vault/backup.tar",
        "data/vault/folder/backup.tar",
        "data/backups/../vault/backup.tar",
    ] {
        fs::create_dir_all(place.data().join("backups")).unwrap();
        place
            .run(&["backup", text(&place.path(name))])
            .failed(2, "the folder of notes");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(place.data().join("vault"), place.path("link")).unwrap();
        place
            .run(&["backup", text(&place.path("link/backup.tar"))])
            .failed(2, "the folder of notes");
    }
    assert_eq!(files(&place.data().join("vault")), before);
    place
        .run(&["backup", text(&place.data().join("backups/backup.tar"))])
        .succeeded();
}

/// One process completes the restore, and the others use its result.
#[test]
fn several_at_once_end_a_restore_that_was_cut_off() {
    let place = Place::new();
    place.add(&["The deploy runs on Fridays"]);
    let database = fs::read(place.data().join("loci.db")).unwrap();
    let swap =
        json!({"replaced": "backups/replaced-1", "notes": place.data().join("vault"), "aside": []});
    for round in 0..15 {
        place.write("data/restoring/loci.db", &database);
        for number in 0..20 {
            place.write(
                &format!("data/restoring/vault/{number}.md"),
                format!("# Note of round {round}\n"),
            );
        }
        place.write("data/restoring/decided.json", swap.to_string());
        let children: Vec<_> = (0..6)
            .map(|_| place.command(&["stats"]).spawn().unwrap())
            .collect();
        let ends: Vec<_> = children.into_iter().map(crate::program::ended).collect();
        assert!(
            ends.iter().all(|ended| ended.code == 0),
            "round {round}: {ends:?}"
        );
        assert!(!place.data().join("restoring").exists());
    }
}

/// A backup that no restore accepts is useless.
#[test]
fn no_backup_is_made_of_a_damaged_database() {
    let place = Place::new();
    place.add(&["The deploy runs on Fridays"]);
    let database = place.data().join("loci.db");
    let mut bytes = fs::read(&database).unwrap();
    let at = bytes
        .windows(6)
        .position(|window| window == b"Friday")
        .unwrap();
    bytes[at] = b'f';
    fs::write(&database, bytes).unwrap();
    let refused = place
        .run(&["backup", text(&place.path("backup.tar"))])
        .failed(5, "damaged");
    assert!(refused.stderr.contains("loci doctor --fix"), "{refused:?}");
    assert!(!place.path("backup.tar").exists());
}

/// After a kill at any instant, the next command finds the old store or the new one.
#[test]
fn a_restore_that_is_killed_leaves_the_old_store_or_the_new_one() {
    type HasCome = Box<dyn Fn() -> bool>;
    let place = Place::new();
    let file = backed_up(&place);
    for number in 0..20 {
        place.write(
            &format!("data/vault/many/{number}.md"),
            format!("# Note {number}\nbefore\n"),
        );
    }
    place.run(&["vault", "reconcile"]).succeeded();
    let large = place.path("large.tar");
    place.run(&["backup", text(&large)]).succeeded();
    let (old, new) = (set(["Only in the old store"]), contents(&place));
    place
        .run(&["restore", text(&file), "--replace"])
        .succeeded();
    for id in place.rows(&["list"]).as_array().unwrap() {
        place.run(&["forget", id["id"].as_str().unwrap()]);
    }
    fs::remove_dir_all(place.data()).unwrap();
    place.add(&["Only in the old store"]);
    let old_file = place.path("old.tar");
    place.run(&["backup", text(&old_file)]).succeeded();

    let data = place.data();
    let is_there = |path: &'static str| {
        let path = data.join(path);
        move || path.exists()
    };
    let is_away = |path: &'static str| {
        let path = data.join(path);
        move || !path.exists()
    };
    let moments: [(&str, HasCome); 8] = [
        ("unpacking begins", Box::new(is_there("restoring"))),
        (
            "the database is unpacked",
            Box::new(is_there("restoring/loci.db")),
        ),
        (
            "it is decided",
            Box::new(is_there("restoring/decided.json")),
        ),
        ("the old database is away", Box::new(is_away("loci.db"))),
        (
            "the first note is there",
            Box::new(is_there("vault/many/0.md")),
        ),
        (
            "some notes are there",
            Box::new(is_there("vault/many/5.md")),
        ),
        (
            "the last note is there",
            Box::new(is_there("vault/recipes/tea.md")),
        ),
        ("at once", Box::new(|| true)),
    ];
    let mut outcomes = BTreeMap::new();
    for (moment, has_come) in &moments {
        for _ in 0..4 {
            let mut child = place
                .command(&["restore", text(&large), "--replace"])
                .spawn()
                .unwrap();
            // The process may have ended before it is observed.
            while !has_come() && child.try_wait().unwrap().is_none() {
                std::hint::spin_loop();
            }
            let _ = child.kill();
            child.wait().unwrap();
            let now = contents(&place);
            assert!(now == old || now == new, "{moment}: {now:?}");
            let notes = files(&place.data().join("vault")).len();
            assert_eq!(notes, if now == new { 22 } else { 0 }, "{moment}");
            is_healthy(&place);
            *outcomes.entry(now == new).or_insert(0) += 1;
            // The next restore removes the files of an undecided one.
            place
                .run(&["restore", text(&old_file), "--replace"])
                .succeeded();
            assert_eq!(contents(&place), old);
            assert!(!place.data().join("restoring").exists());
        }
    }
    assert_eq!(outcomes.len(), 2, "both happen: {outcomes:?}");
}

/// Mounts a file system there, if that is allowed.
#[cfg(target_os = "linux")]
pub fn mounted(folder: &Path, options: &str) -> bool {
    let mut mount = std::process::Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", options, "none", text(folder)]);
    mount
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The disk had space when the backup started, and fills up before its end.
#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_fills_up_meanwhile_costs_nothing() {
    let place = Place::new();
    place.add(&["a"]);
    place.write("data/vault/large.bin", vec![7; 48 << 20]);
    let small = place.path("small");
    fs::create_dir(&small).unwrap();
    if !mounted(&small, "size=100m") {
        eprintln!("SKIPPED: no file system can be mounted here, so that no disk is full");
        return;
    }
    fs::write(small.join("old.tar"), "an earlier backup").unwrap();
    fs::write(small.join("filling"), vec![1; 24 << 20]).unwrap();
    let mut child = place
        .command(&["backup", text(&small.join("new.tar"))])
        .spawn()
        .unwrap();
    let drafts = || {
        fs::read_dir(&small)
            .unwrap()
            .filter(|entry| {
                entry
                    .as_ref()
                    .unwrap()
                    .path()
                    .extension()
                    .is_some_and(|end| end == "part")
            })
            .count()
    };
    while drafts() == 0 && child.try_wait().unwrap().is_none() {
        std::hint::spin_loop();
    }
    let mut filling = fs::OpenOptions::new()
        .append(true)
        .open(small.join("filling"))
        .unwrap();
    while filling.write_all(&vec![1; 1 << 20]).is_ok() {}
    drop(filling);
    let ended = crate::program::ended(child);
    let left: Vec<_> = files(&small)
        .into_iter()
        .filter(|(path, _)| path != Path::new("filling"))
        .collect();
    fs::remove_file(small.join("filling")).unwrap();
    let again = place.run(&["backup", text(&small.join("new.tar"))]);
    assert!(
        std::process::Command::new("umount")
            .arg(&small)
            .status()
            .unwrap()
            .success()
    );
    let refused = ended.failed(2, "No space left");
    assert!(refused.stderr.contains("new.tar"), "{refused:?}");
    assert_eq!(
        left,
        [(PathBuf::from("old.tar"), b"an earlier backup".to_vec())]
    );
    again.succeeded();
}

/// A full disk changes nothing. Only root may mount a small one.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_costs_nothing() {
    let place = Place::new();
    let file = backed_up(&place);
    let small = place.path("small");
    fs::create_dir(&small).unwrap();
    if !mounted(&small, "size=20m") {
        eprintln!("SKIPPED: no file system can be mounted here, so that no disk is full");
        return;
    }
    fs::write(small.join("filling"), vec![1; 19 << 20]).unwrap();
    let data = small.join("data");
    let backup = place.run(&["backup", text(&small.join("backup.tar"))]);
    let restore = place.run(&["--data", text(&data), "restore", text(&file)]);
    let left: Vec<_> = files(&small).into_keys().collect();
    fs::remove_file(small.join("filling")).unwrap();
    let again = place.run(&["--data", text(&data), "restore", text(&file)]);
    assert!(
        std::process::Command::new("umount")
            .arg(&small)
            .status()
            .unwrap()
            .success()
    );
    backup.failed(2, "free some space");
    restore.failed(2, "free some space");
    assert_eq!(left, [Path::new("filling")]);
    again.succeeded();
}
