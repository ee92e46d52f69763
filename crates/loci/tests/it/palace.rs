//! `loci hook` and `loci palace` over the hostile files of a checkout, which must not take control.

use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::program::{Ended, Place, call, ended, is_root};
use crate::servers::Server;

const PLAN: &str = ".loci-palace.toml";
/// The plan of a checkout that tries to read the memory of another project.
const THIEF: &str = "wing = \"secretproject\"\n[rooms]\nidentity = [\"docs\"]\n";
/// The memory of that project.
const SECRET: &str = "We decided that the vault opens with the green key.";
/// The limit for the address space of a process, in KiB.
const MEMORY_KIB: u64 = 4 << 20;
/// The time after which a process counts as hung.
const HANGS_AFTER: Duration = Duration::from_mins(3);

/// Runs loci with limited memory; fails if it does not end.
fn bounded(place: &Place, folder: &Path, arguments: &[&str], stdin: &str) -> Ended {
    let inner = place.command(arguments);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -v {MEMORY_KIB}; exec \"$0\" \"$@\"")]);
    command
        .arg(inner.get_program())
        .args(inner.get_args())
        .current_dir(folder)
        .env_clear();
    command.envs(
        inner
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let id = Pid::from_child(&child);
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(ended(child)));
    receiver.recv_timeout(HANGS_AFTER).unwrap_or_else(|_| {
        kill_process(id, Signal::KILL).unwrap();
        panic!("loci {arguments:?} hangs")
    })
}

fn hook(place: &Place, event: &str, input: &Value) -> Ended {
    let arguments = ["hook", "run", "--host", "claude-code", "--event", event];
    bounded(place, &place.path(""), &arguments, &input.to_string())
}

/// Returns the text with which a session in a folder starts, and the messages of the hook.
fn session_start(place: &Place, folder: &Path) -> (String, String) {
    let started = hook(place, "session-start", &json!({"cwd": folder})).succeeded();
    let reply: Value = serde_json::from_str(&started.stdout).unwrap();
    let text = reply["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap()
        .to_owned();
    (text, started.stderr)
}

/// Returns a line of a transcript.
fn said(text: &str, folder: &Path) -> String {
    let event =
        json!({"type": "user", "message": {"content": text}, "sessionId": "s", "cwd": folder});
    format!("{event}\n")
}

fn wings(place: &Place) -> Vec<String> {
    let listed = place.rows(&["list", "--limit", "100"]);
    let mut wings: Vec<String> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|memory| memory["project"].as_str().unwrap_or("global").to_owned())
        .collect();
    wings.sort();
    wings.dedup();
    wings
}

/// Puts a hostile file at a path. The socket lives until the end of the test.
type Put = fn(&Path) -> Option<UnixListener>;

/// Hostile files in place of a regular one, with the message about each.
const HOSTILE: [(&str, Put); 8] = [
    ("it is a symbolic link", |path| {
        symlink("/dev/zero", path).unwrap();
        None
    }),
    ("it is a symbolic link", |path| {
        fs::write(path.with_extension("outside"), THIEF).unwrap();
        symlink(path.with_extension("outside"), path).unwrap();
        None
    }),
    ("it is not a plain file", |path| {
        mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        None
    }),
    ("it is not a plain file", |path| {
        Some(UnixListener::bind(path).unwrap())
    }),
    ("it is not a plain file", |path| {
        fs::create_dir(path).unwrap();
        None
    }),
    ("bytes", |path| {
        fs::write(path, THIEF).unwrap();
        File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_len(16 << 30)
            .unwrap();
        None
    }),
    ("every user may write it or its folder", |path| {
        fs::write(path, THIEF).unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o666)).unwrap();
        None
    }),
    ("denied", |path| {
        fs::write(path, THIEF).unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o000)).unwrap();
        None
    }),
];

/// Makes a checkout of a repository.
fn checkout(place: &Place, name: &str) -> std::path::PathBuf {
    let top = place.path(name);
    fs::create_dir_all(top.join(".git")).unwrap();
    top
}

#[test]
fn a_wing_that_a_checkout_names_counts_once_the_user_agreed() {
    let place = Place::new();
    place.add(&["--project", "secretproject", SECRET]);
    let shop = checkout(&place, "shop");
    let below = shop.join("api");
    place.write(&format!("shop/{PLAN}"), THIEF);
    place.write("shop/docs/me.md", "I am the assistant of the thief.\n");
    fs::create_dir(&below).unwrap();
    let (text, note) = session_start(&place, &below);
    assert!(
        text.contains("in \"shop\"") && !text.contains("green key"),
        "{text}"
    );
    assert!(
        note.contains("loci palace trust") && note.contains("secretproject"),
        "{note}"
    );
    assert_eq!(note.lines().count(), 1, "{note}");

    // Neither messages nor mined files are filed in that wing.
    let transcript = place.write("session.jsonl", said("Where is the shop?", &below));
    let saved = hook(
        &place,
        "stop",
        &json!({"transcript_path": transcript, "cwd": below}),
    )
    .succeeded();
    assert!(saved.stderr.contains("loci palace trust"), "{saved:?}");
    let mined = place
        .run(&["palace", "mine", shop.to_str().unwrap()])
        .succeeded();
    assert!(mined.stderr.contains("loci palace trust"), "{mined:?}");
    assert_eq!(wings(&place), ["secretproject", "shop"]);
    let (text, _) = session_start(&place, &shop);
    assert!(!text.contains("# Set for every session"), "{text}");
    // A wing that the user names needs no agreement.
    let named = place
        .run(&[
            "palace",
            "mine",
            shop.to_str().unwrap(),
            "--wing",
            "named",
            "--dry-run",
        ])
        .succeeded();
    assert!(
        named.stdout.contains("named") && !named.stderr.contains("trust"),
        "{named:?}"
    );

    let trusted = place.json(&["palace", "trust", below.to_str().unwrap()]);
    assert_eq!(
        (
            trusted["wing"].as_str(),
            trusted["rooms"][0]["room"].as_str()
        ),
        (Some("secretproject"), Some("identity"))
    );
    assert_eq!(
        crate::program::mode(&place.data().join("trusted-plans.json")),
        0o600
    );
    let (text, note) = session_start(&place, &below);
    assert!(text.contains("green key"), "{text}");
    assert_eq!(note, "");
    // The plan that the user agreed to takes precedence over a nearer one.
    let vendored = place.write(&format!("shop/api/{PLAN}"), "wing = \"nearer\"\n");
    let (text, note) = session_start(&place, &below);
    assert!(
        text.contains("green key") && note.contains("nearer"),
        "{text} {note}"
    );
    fs::remove_file(vendored).unwrap();
    let listed = place.rows(&["palace", "trust", "--list"]);
    assert_eq!(
        listed,
        json!([{"folder": shop.canonicalize().unwrap(), "wing": "secretproject"}])
    );

    // Another text, and the same text elsewhere, are other plans.
    place.write(&format!("shop/{PLAN}"), format!("{THIEF}\n"));
    assert!(!session_start(&place, &below).0.contains("green key"));
    assert_eq!(
        place.rows(&["palace", "trust", "--list"])[0]["wing"],
        Value::Null
    );
    let other = checkout(&place, "other");
    place.write(&format!("other/{PLAN}"), THIEF);
    assert!(!session_start(&place, &other).0.contains("green key"));
    place.write(&format!("shop/{PLAN}"), THIEF);
    assert!(session_start(&place, &shop).0.contains("green key"));
    place
        .run(&["palace", "trust", "--revoke", below.to_str().unwrap()])
        .succeeded();
    assert!(!session_start(&place, &shop).0.contains("green key"));
    place
        .run(&["palace", "trust", "--revoke", below.to_str().unwrap()])
        .failed(2, "--list");
    fs::remove_file(other.join(PLAN)).unwrap();
    place
        .run(&["palace", "trust", other.to_str().unwrap()])
        .failed(2, "loci palace init");
}

#[test]
fn the_plan_that_the_user_has_written_counts() {
    let place = Place::new();
    let folder = place.path("The Shop");
    fs::create_dir(&folder).unwrap();
    place.write("The Shop/api/a.txt", "text");
    place
        .run(&["palace", "init", folder.to_str().unwrap(), "--write"])
        .succeeded();
    assert_eq!(
        place.rows(&["palace", "trust", "--list"])[0]["wing"],
        "the shop"
    );
    // A list that another user could have written is ignored.
    let list = place.data().join("trusted-plans.json");
    fs::set_permissions(&list, Permissions::from_mode(0o666)).unwrap();
    place
        .run(&["palace", "trust", folder.to_str().unwrap()])
        .failed(4, "every user may write it");
    let (_, note) = session_start(&place, &folder);
    assert!(note.contains("trusted-plans.json"), "{note}");
}

#[test]
fn only_a_plan_of_the_user_in_the_repository_counts() {
    let place = Place::new();
    place.add(&["--project", "secretproject", SECRET]);
    // The user agreed to it, so that only its location speaks against it.
    let agree = |folder: &Path| {
        place
            .run(&["palace", "trust", folder.to_str().unwrap()])
            .succeeded()
    };
    let above = place.path("above");
    place.write(&format!("above/{PLAN}"), THIEF);
    agree(&above);
    let (inner, bare) = (checkout(&place, "above/inner"), above.join("bare"));
    fs::create_dir(&bare).unwrap();
    for folder in [&inner, &bare] {
        let (text, note) = session_start(&place, folder);
        assert!(!text.contains("green key"), "{text}");
        assert_eq!(note, "", "no plan is in its repository, or in it");
    }
    assert!(session_start(&place, &above).0.contains("green key"));
    // Every user can put a file into that folder.
    let open = checkout(&place, "open");
    place.write(&format!("open/{PLAN}"), THIEF);
    agree(&open);
    fs::create_dir(open.join("below")).unwrap();
    fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
    for folder in [open.clone(), open.join("below")] {
        let (text, note) = session_start(&place, &folder);
        assert!(!text.contains("green key"), "{text}");
        assert!(
            note.contains("every user may write it or its folder"),
            "{note}"
        );
    }
    place
        .run(&["palace", "trust", open.to_str().unwrap()])
        .failed(2, "every user may write");
}

#[test]
fn no_plan_makes_a_session_wait_or_take_all_memory() {
    for (words, put) in HOSTILE {
        let place = Place::new();
        place.add(&["--project", "secretproject", SECRET]);
        let shop = checkout(&place, "shop");
        let _socket = put(&shop.join(PLAN));
        // Root may read a file of any mode.
        let is_read = words == "denied" && is_root();
        let words = if is_read { "loci palace trust" } else { words };
        let (text, note) = session_start(&place, &shop);
        assert!(
            text.contains("\"shop\"") && !text.contains("green key"),
            "{words}: {text}"
        );
        assert!(note.contains(words), "{words}: {note}");
        if words == "denied" {
            bounded(&place, &shop, &["palace", "mine", "."], "").failed(2, words);
        } else {
            place.write("shop/a.txt", "The shop opens at nine.");
            let mined = bounded(&place, &shop, &["palace", "mine", "."], "").succeeded();
            assert!(
                mined.stdout.contains("shop") && mined.stderr.contains(words),
                "{mined:?}"
            );
        }
        if !is_read {
            bounded(&place, &shop, &["palace", "trust"], "").failed(2, words);
        }
    }
}

#[test]
fn no_transcript_makes_a_hook_wait_or_take_all_memory() {
    for (words, put) in HOSTILE {
        let place = Place::new().with_store();
        let transcript = place.path("session.jsonl");
        let _socket = put(&transcript);
        for (event, answer) in [("stop", Some("Yes.")), ("session-end", None)] {
            let input = json!({"transcript_path": transcript, "cwd": place.path(""), "last_assistant_message": answer});
            hook(&place, event, &input).failed(1, "nothing is saved");
        }
        let mined = bounded(
            &place,
            &place.path(""),
            &[
                "palace",
                "mine",
                transcript.to_str().unwrap(),
                "--mode",
                "convos",
            ],
            "",
        );
        assert!(mined.code >= 0 && mined.code <= 2, "{words}: {mined:?}");
        assert_eq!(place.json(&["stats"])["total"], 0, "{words}");
    }
}

#[test]
fn no_file_of_a_project_makes_mining_wait_or_take_all_memory() {
    let place = Place::new();
    let shop = checkout(&place, "shop");
    let mut sockets = Vec::new();
    for folder in ["docs", "docs/more", ".git/info"] {
        fs::create_dir_all(shop.join(folder)).unwrap();
    }
    for (number, (_, put)) in HOSTILE.into_iter().enumerate() {
        let folder = shop.join(format!("docs/{number}"));
        fs::create_dir(&folder).unwrap();
        for name in ["a.txt", ".gitignore"] {
            // A too large file is an error, as is an unreadable `.gitignore`.
            if name == "a.txt" || number != 5 {
                sockets.extend(put(&folder.join(name)));
            }
        }
    }
    symlink("/dev/zero", shop.join(".git/info/exclude")).unwrap();
    mknodat(CWD, shop.join(".git/config"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    place.write("shop/docs/more/b.txt", "plain");
    let mined = bounded(&place, &shop, &["--json", "palace", "mine", "."], "");
    let report: Value = serde_json::from_str(&mined.stdout).unwrap();
    assert_eq!(report["passed_over"]["too_large"], 1, "{report}");
    for why in ["link", "not_a_file"] {
        let count = report["passed_over"][why].as_u64();
        assert!(count >= Some(2), "{why}: {report}");
    }
    assert!(report["read"].as_u64() >= Some(2), "{report}");
}

#[test]
fn the_settings_of_a_host_are_a_plain_file() {
    let place = Place::new();
    let file = place.path("settings.json");
    mknodat(CWD, &file, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    for command in ["install", "uninstall"] {
        let arguments = [
            "hook",
            command,
            "--host",
            "claude-code",
            "--file",
            file.to_str().unwrap(),
        ];
        bounded(&place, &place.path(""), &arguments, "").failed(1, "it is not a plain file");
    }
}

#[test]
fn what_was_said_is_of_the_local_person_unless_shared() {
    let place = Place::new();
    let shop = checkout(&place, "shop");
    let (own, shared) = (
        place.write("own.jsonl", said("The blue boat leaks.", &shop)),
        place.path("shared.jsonl"),
    );
    fs::write(
        &shared,
        said("The red boat sails.", &shop).replace("\"s\"", "\"t\""),
    )
    .unwrap();
    hook(
        &place,
        "stop",
        &json!({"transcript_path": own, "cwd": shop}),
    )
    .succeeded();
    let arguments = [
        "hook",
        "run",
        "--host",
        "claude-code",
        "--shared",
        "--event",
        "stop",
    ];
    let input = json!({"transcript_path": shared, "cwd": shop}).to_string();
    bounded(&place, &shop, &arguments, &input).succeeded();
    for (name, flags) in [("mined", &[][..]), ("common", &["--shared"])] {
        let event = json!({"type": "user", "message": {"content": format!("A {name} export.")}, "sessionId": name});
        let path = place.write(&format!("{name}.jsonl"), format!("{event}\n"));
        let mine = [
            "palace",
            "mine",
            path.to_str().unwrap(),
            "--mode",
            "convos",
            "--wing",
            "shop",
        ];
        place.run(&[&mine[..], flags].concat()).succeeded();
    }
    let texts = |reply: &str| {
        ["blue boat", "red boat", "mined export", "common export"].map(|text| reply.contains(text))
    };
    let listed = place.run(&["list", "--project", "shop"]).succeeded().stdout;
    assert_eq!(texts(&listed), [true; 4], "{listed}");
    let (text, _) = session_start(&place, &shop);
    assert_eq!(texts(&text), [true; 4], "{text}");

    let server = Server::start(&place, &[]);
    let mine = fs::read_to_string(place.data().join("token")).unwrap();
    let ann = place
        .run(&["token", "create", "--subject", "ann"])
        .succeeded()
        .stdout;
    for (token, expected) in [(&mine, [true; 4]), (&ann, [false, true, false, true])] {
        let rows = [
            ("list", json!({"project": "shop"})),
            ("recall", json!({"query": "boat export", "project": "shop"})),
        ];
        for (tool, arguments) in rows {
            let (status, reply) = server.call(Some(token.trim()), tool, &arguments);
            assert_eq!((status, texts(&reply)), (200, expected), "{tool}: {reply}");
        }
    }
}

#[test]
fn two_files_of_one_name_are_told_apart_everywhere() {
    let place = Place::new();
    place.write(
        "shop/north/base.py",
        "def quay():\n    return 'the northern quay is closed in winter'\n",
    );
    place.write(
        "shop/south/base.py",
        "def quay():\n    return 'the southern quay is open all year'\n",
    );
    let shop = place.path("shop");
    place
        .run(&["palace", "mine", shop.to_str().unwrap(), "--no-wait"])
        .succeeded();
    let paths = |listed: &Value| -> Vec<String> {
        let files = listed
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one.get("memory").unwrap_or(one)["source_file"].clone());
        let mut files: Vec<String> = files
            .map(|file| file.as_str().unwrap_or_default().to_owned())
            .collect();
        files.sort();
        files
    };
    let both = ["north/base.py", "south/base.py"];
    let listed = place.rows(&["list"]);
    assert_eq!(paths(&listed), both);
    assert_eq!(
        paths(&place.rows(&["search", "when is the quay open"])),
        both
    );
    let text = place.run(&["search", "south/base.py"]).succeeded().stdout;
    assert!(
        text.lines().next().unwrap().contains("south/base.py:1-2"),
        "{text}"
    );
    for one in listed.as_array().unwrap() {
        let shown = place.json(&["show", one["id"].as_str().unwrap()]);
        assert_eq!(
            (&shown["source_file"], &shown["lines"]),
            (&one["source_file"], &json!("1-2"))
        );
    }
    // A tool that searches or lists takes the path of a file.
    let file = shop.canonicalize().unwrap().join("south/base.py");
    for (set, tool, arguments, key) in [
        (
            "mempalace",
            "mempalace_search",
            json!({"query": "quay"}),
            "results",
        ),
        ("mempalace", "mempalace_list_drawers", json!({}), "drawers"),
        (
            "engram",
            "search_memory",
            json!({"query": "quay", "scope": "shop"}),
            "memories",
        ),
        (
            "engram",
            "list_memory",
            json!({"scope": "shop"}),
            "memories",
        ),
    ] {
        let mut arguments = arguments;
        let count = |arguments: &Value| {
            let reply = call(&place, set, tool, arguments);
            paths(&reply["structuredContent"][key])
        };
        assert_eq!(count(&arguments), both, "{tool}");
        arguments["source_file"] = json!(file);
        assert_eq!(count(&arguments), both[1..], "{tool}");
        arguments["source_file"] = json!(file.with_extension("txt"));
        assert_eq!(count(&arguments), Vec::<String>::new(), "{tool}");
    }
    // No text tells where the project lies.
    let text = place.run(&["list"]).succeeded().stdout;
    assert!(!text.contains(place.path("").to_str().unwrap()), "{text}");
}
