//! Texts of memories on a terminal, which obeys some characters and hides others.

use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};

use crate::program::Place;

/// A text that clears the screen, sets the title, overwrites a line, reverses the order of
/// characters, and hides a sentence.
const HOSTILE: &str = "pay\u{1b}[2J\u{1b}]0;title\u{7} over\rwritten \u{9b}31m red\u{8}\u{7f} \u{202e}txt.exe\u{2066} \
                       zero\u{200b}width\u{feff} \u{e0068}\u{e0069} end";
/// The same for names, which have no control characters.
const NAME: &str = "ac\u{202e}me\u{200b}\u{2067}\u{e0041}";

/// Runs a command with a terminal as stdout; returns the output on it and on stderr.
fn on_terminal(place: &Place, arguments: &[&str]) -> (i32, String) {
    on_terminal_with(place, arguments, false)
}

/// Runs the same, with the terminal as stdin, too, if `reads` is set.
fn on_terminal_with(place: &Place, arguments: &[&str], reads: bool) -> (i32, String) {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let path = PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes()));
    let slave = File::options().read(true).write(true).open(path).unwrap();
    let mut command = place.command(arguments);
    if reads {
        command.stdin(Stdio::from(slave.try_clone().unwrap()));
    }
    let child = command.stdout(Stdio::from(slave)).spawn().unwrap();
    // The command holds the terminal, too.
    drop(command);
    let mut terminal = File::from(terminal);
    let mut shown = Vec::new();
    let mut buffer = [0; 4096];
    // Reading fails when the other side is closed.
    while let Ok(count @ 1..) = terminal.read(&mut buffer) {
        shown.extend_from_slice(&buffer[..count]);
    }
    let output = child.wait_with_output().unwrap();
    shown.extend_from_slice(&output.stderr);
    (
        output.status.code().unwrap_or(-1),
        String::from_utf8(shown).unwrap(),
    )
}

fn is_hidden(character: char) -> bool {
    let is_bidi = "\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}\u{200e}\u{200f}\u{61c}";
    let is_layout = matches!(character, '\n' | '\t');
    (character.is_control() && !is_layout)
        || is_bidi.contains(character)
        || "\u{200b}\u{feff}".contains(character)
        || ('\u{e0000}'..='\u{e007f}').contains(&character)
}

/// The marks that loci itself writes.
const MARKS: [&str; 4] = ["\u{1b}[1m", "\u{1b}[2m", "\u{1b}[1;33m", "\u{1b}[0m"];

#[track_caller]
fn assert_visible(text: &str, arguments: &[&str]) {
    // A terminal ends lines in this way.
    let mut text = text.replace("\r\n", "\n");
    for mark in MARKS {
        text = text.replace(mark, "");
    }
    let hidden = text.chars().find(|character| is_hidden(*character));
    assert_eq!(hidden, None, "{arguments:?}: {text:?}");
}

/// Makes a store with the hostile text in every field that takes it.
fn hostile() -> Place {
    let place = Place::new().with("TERM", "xterm");
    let memory = |id: &str, kind: &str| json!({"id": id, "content": HOSTILE, "type": kind, "project": NAME, "tags": [NAME], "owner": NAME});
    let global =
        json!({"id": "global one", "content": HOSTILE, "type": "rule", "delivery": "bootstrap"});
    let lines = [
        memory("m-1", "fact"),
        memory(&format!("m-2 {NAME}"), NAME),
        global,
    ];
    let lines = lines.map(|line| line.to_string()).join("\n");
    place
        .run_with_stdin(&["import", "-"], lines.as_bytes())
        .succeeded();
    let call = |dialect: &str, tool: &str, arguments: Value| {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": tool, "arguments": arguments, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }}});
        place
            .run_with_stdin(&["mcp", dialect], format!("{request}\n").as_bytes())
            .succeeded();
    };
    call(
        "memory-mcp",
        "recall_memory",
        json!({"user_id": NAME, "query": HOSTILE}),
    );
    call(
        "memory-mcp",
        "recall_memory",
        json!({"user_id": NAME, "query": HOSTILE, "limit": "many"}),
    );
    call(
        "mempalace",
        "mempalace_add_drawer",
        json!({"wing": "w", "room": "r", "content": HOSTILE}),
    );
    place.write(
        "data/vault/a\u{1b}[2J\u{202e}.md",
        format!("---\ntitle: \"{NAME}\"\n---\n{HOSTILE}"),
    );
    place.write("data/vault/b\u{1b}.md", "---\nbroken: [\n---\ntext");
    place.run(&["vault", "reconcile"]).succeeded();
    place
        .run(&["token", "create", "--subject", NAME])
        .succeeded();
    place.write("project/a\u{1b}[2J\u{202e}.md", HOSTILE);
    place
}

#[test]
fn no_command_has_a_terminal_obey_a_memory() {
    let place = hostile();
    let project = place.path("project");
    let project = project.to_str().unwrap();
    let refused = place.write(
        "refused.jsonl",
        json!({"content": "x", "type": HOSTILE, HOSTILE: 1}).to_string(),
    );
    let gone = format!("unheard {HOSTILE}").replace('\0', "");
    let commands: &[&[&str]] = &[
        &["list"],
        &["search", "pay", "--explain"],
        &["show", "m-1"],
        &["bootstrap"],
        &["bootstrap", "--project", NAME],
        &["stats"],
        &["vault", "status"],
        &["vault", "check"],
        &["token", "list"],
        &["audit"],
        &["config"],
        &["doctor"],
        &["palace", "wake-up"],
        &["palace", "compress"],
        &["palace", "mine", project, "--dry-run"],
        &["palace", "mine", project],
        &["import", refused.to_str().unwrap()],
        &["show", &gone],
        &["forget", &gone],
        &["palace", "mine", &gone],
        &["--log", "trace", "list"],
    ];
    for arguments in commands {
        let (_, shown) = on_terminal(&place, arguments);
        assert_visible(&shown, arguments);
        let json = [&["--json"], *arguments].concat();
        let (_, shown) = on_terminal(&place, &json);
        assert_visible(&shown, &json);
        // A pipe may end at a terminal.
        let piped = place.run(arguments);
        assert_visible(&(piped.stdout + &piped.stderr), arguments);
    }
    for arguments in [
        &["export", "-"][..],
        &["list"],
        &["search", "pay"],
        &["show", "m-1"],
        &["bootstrap"],
    ] {
        let (code, shown) = on_terminal(&place, arguments);
        assert_eq!(code, 0, "{shown}");
        assert!(
            shown.contains("pay") && shown.contains("end"),
            "{arguments:?} shows the text: {shown}"
        );
        assert_visible(&shown, arguments);
    }
    let listed = on_terminal(&place, &["list"]).1;
    assert!(
        listed.contains(r"pay\u{1b}[2J\u{1b}]0;title\u{7} over\u{d}written \u{9b}31m"),
        "{listed}"
    );
    // A memory can be named by its listed id.
    let id = format!("m-2 {NAME}");
    let (code, shown) = on_terminal(
        &place,
        &["forget", r"m-2 ac\u{202e}me\u{200b}\u{2067}\u{e0041}"],
    );
    assert_eq!(code, 0, "{shown}");
    place.run(&["show", &id]).failed(3, "m-2");
}

#[test]
fn a_terminal_gets_short_ids_times_ago_and_marks() {
    let place = Place::new().with("TERM", "xterm");
    let id = place.add(&["The deploy runs on Fridays", "--project", "acme"]);
    let short = &id[id.len() - 8..];
    let (code, shown) = on_terminal(&place, &["list"]);
    let line = format!("\u{1b}[1m{short}\u{1b}[0m  fact  project acme  \u{1b}[2mjust now\u{1b}[0m");
    assert!(code == 0 && shown.contains(&line), "{shown:?}");
    let (_, found) = on_terminal(&place, &["search", "deploys"]);
    assert!(
        found.contains("The \u{1b}[1;33mdeploy\u{1b}[0m runs on Fridays"),
        "{found:?}"
    );
    let (_, whole) = on_terminal(&place, &["show", short]);
    assert!(
        whole.contains(&id) && whole.contains("just now (20"),
        "{whole:?}"
    );
    let piped = place.run(&["list"]).succeeded().stdout;
    assert!(
        piped.starts_with(&id) && piped.contains("Z\n") && !piped.contains('\u{1b}'),
        "{piped:?}"
    );
    for (variable, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let plain = Place::new().with("TERM", "xterm").with(variable, value);
        let id = plain.add(&["The deploy runs on Fridays"]);
        let (_, shown) = on_terminal(&plain, &["search", "deploy"]);
        assert!(
            shown.contains(&id[id.len() - 8..]) && !shown.contains('\u{1b}'),
            "{shown:?}"
        );
    }
    // Every command takes the short id.
    let rows: [&[&str]; 6] = [
        &["show", short],
        &["forget", short],
        &["unforget", short],
        &["add", "The deploy runs on Mondays", "--supersedes", short],
        &["audit", "--record", short],
        &["delete", short, "--forever", "--yes"],
    ];
    for words in rows {
        let ended = place.run(words).succeeded();
        let text = ended.stdout + &ended.stderr;
        assert!(
            text.contains(&id) || words.contains(&"add"),
            "{words:?}: {text}"
        );
    }
}

#[test]
fn raw_text_goes_into_a_pipe_alone() {
    let place = hostile();
    let raw = place.run(&["--raw", "show", "m-1"]).succeeded().stdout;
    assert!(raw.contains(HOSTILE), "{raw:?}");
    let (code, shown) = on_terminal(&place, &["--raw", "show", "m-1"]);
    assert_eq!(code, 2, "{shown}");
    assert!(
        shown.contains("a terminal obeys") && !shown.contains("pay"),
        "{shown}"
    );
    // JSON has the same text on every output.
    for shown in [
        on_terminal(&place, &["--json", "show", "m-1"]).1,
        place.run(&["--json", "show", "m-1"]).stdout,
    ] {
        assert_visible(&shown, &["--json", "show"]);
        assert_eq!(
            serde_json::from_str::<Value>(&shown).unwrap()["content"],
            HOSTILE
        );
    }
    // An export has it, too, and an import restores it byte for byte.
    let file = place.path("all.jsonl");
    place.run(&["export", file.to_str().unwrap()]).succeeded();
    let there = Place::new();
    there.run(&["import", file.to_str().unwrap()]).succeeded();
    assert_eq!(there.json(&["show", "m-1"])["content"], HOSTILE);
}

/// Calls a tool as a client of that name does.
fn call_as(place: &Place, client: &str) {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
    "name": "stats", "arguments": {}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": client, "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }}});
    place
        .run_with_stdin(&["mcp", "mememory"], format!("{request}\n").as_bytes())
        .succeeded();
}

#[test]
fn loci_alone_says_what_is_there_and_the_next_step() {
    // No program of this machine may count as a host.
    let place = Place::new().with("PATH", "/nowhere");
    let shows = |expected: &[&str]| {
        let (code, text) = on_terminal_with(&place, &[], true);
        assert_eq!(code, 0, "{text}");
        assert!(text.lines().count() <= 12, "{text}");
        for words in expected {
            assert!(text.contains(words), "{text} should say {words}");
        }
    };
    shows(&["none yet", "none is found", "`loci connect HOST`"]);
    assert!(!place.data().exists(), "a look makes no data folder");
    std::fs::create_dir_all(place.path(".codex")).unwrap();
    shows(&["Codex", "not connected", "next      `loci connect` "]);
    place.run(&["connect", "codex"]).succeeded();
    place.add(&["Use tabs", "--project", "acme"]);
    shows(&[
        "1 in 1 project",
        "connected (mememory), has not called yet",
        "start Codex again",
    ]);
    let doctor = || place.run(&["doctor"]).stdout;
    assert!(
        doctor().contains("no call recorded yet: Codex"),
        "{}",
        doctor()
    );
    call_as(&place, "codex-mcp-client");
    shows(&["last called just now", "`loci search QUESTION`"]);
    assert!(!doctor().contains("no call recorded"), "{}", doctor());

    // In a pipe it is the usage, as it is with any argument.
    let piped = place.run(&[]);
    assert!(
        piped.code == 2 && piped.stderr.contains("Usage: loci"),
        "{piped:?}"
    );
    let (code, text) = on_terminal_with(&place, &["--json"], true);
    assert!(code == 2 && text.contains("Usage: loci"), "{text}");
}

#[test]
fn a_client_is_a_file_that_no_call_waits_for() {
    let place = Place::new();
    for client in ["codex-mcp-client", "../../evil\u{1b}[2J", ""] {
        call_as(&place, client);
        call_as(&place, client);
    }
    let files: Vec<_> = std::fs::read_dir(place.data().join("clients"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(files.len(), 3, "{files:?}");
    for file in files {
        let value: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        assert_eq!(
            (&value["dialect"], &value["transport"]),
            (&json!("mememory"), &json!("stdio"))
        );
    }
    let found = place.run(&["doctor"]);
    assert!(!found.stdout.contains("clients"), "{}", found.stdout);
}
