//! `loci import` of what hosts remember in files of their own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::program::Place;

const INDEX: &str = "# Memory\n\n- The tide table of the harbour is in the blue folder.\n";
const RULES: &str = "# Rules\n\nThe lantern is lit with matches, never with a lighter.\n";

const SECRET: &str = "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";

/// A home with the memory of Claude Code and a project with files of several hosts.
fn furnished() -> Place {
    let place = Place::new();
    let shop = place.path("src/shop");
    fs::create_dir_all(&shop).unwrap();
    let session = json!({
        "type": "user", "sessionId": "0c", "cwd": shop.canonicalize().unwrap(), "uuid": "1",
        "message": {"role": "user", "content": "Where is the table?"},
    });
    place.write(".claude/CLAUDE.md", RULES);
    place.write(".claude/projects/-elsewhere/memory/MEMORY.md", INDEX);
    place.write(
        ".claude/projects/-elsewhere/0c.jsonl",
        format!("{session}\n"),
    );
    place.write(
        ".codex/memories/MEMORY.md",
        "Codex learned that the pier has nine lamps.\n",
    );
    place.write("src/shop/.gitignore", "CLAUDE.local.md\n.cursor\n");
    place.write(
        "src/shop/CLAUDE.md",
        "# Shop\n\nPrices are in pence.\n\n<!-- loci:begin -->\n## Memory\n\nCall recall.\n<!-- loci:end -->\n",
    );
    place.write("src/shop/CLAUDE.local.md", "My till is number seven.\n");
    place.write(
        "src/shop/.cursor/rules/style.mdc",
        "---\nalwaysApply: true\n---\nWrite short sentences.\n",
    );
    place
}

/// The bytes of every file below a folder.
fn bytes_below(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                found.insert(path.clone(), fs::read(&path).unwrap());
            }
        }
    }
    found
}

fn counts(report: &Value) -> [u64; 3] {
    ["added", "kept", "removed"].map(|key| report["drawers"][key].as_u64().unwrap())
}

/// The texts that are stored, with their project, in the order of the texts.
fn texts(place: &Place) -> Vec<(String, Value)> {
    let rows = place.rows(&["list", "--limit", "100"]);
    let mut texts: Vec<(String, Value)> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (
                row["content"].as_str().unwrap().to_owned(),
                row["project"].clone(),
            )
        })
        .collect();
    texts.sort_by(|(one, _), (other, _)| one.cmp(other));
    texts
}

#[test]
fn hosts_are_found_and_their_memory_comes_once() {
    let place = furnished();
    let before = bytes_below(&place.path(".claude"));
    let found = place.json(&["import", "--detect"]);
    let named: Vec<&str> = found["found"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["from"].as_str().unwrap())
        .collect();
    assert_eq!(named, ["claude-code", "codex"]);
    let folder = place.path(".claude").canonicalize().unwrap();
    assert_eq!(found["found"][0]["path"], json!(folder));
    // In the folder of a project, it counts, too.
    let mut command = place.command(&["--json", "import", "--detect"]);
    command.current_dir(place.path("src/shop"));
    let told = crate::program::ended(command.spawn().unwrap())
        .succeeded()
        .stdout;
    assert!(
        told.contains("\"from\":\"cursor\"") || told.contains("\"from\": \"cursor\""),
        "{told}"
    );

    let folder = folder.to_str().unwrap();
    let dry = place.json(&["import", folder, "--dry-run"]);
    assert_eq!(counts(&dry), [2, 0, 0], "{dry}");
    // The folder tells the host.
    let first = place.json(&["import", folder]);
    assert_eq!(
        (counts(&first), &first["from"]),
        ([2, 0, 0], &json!("claude-code"))
    );
    assert_eq!(first["wings"], json!(["global", "shop"]));
    assert_eq!(
        texts(&place),
        [
            (INDEX.to_owned(), json!("shop")),
            (RULES.to_owned(), Value::Null),
        ]
    );
    let again = place.json(&["import", "--from", "claude-code", folder]);
    assert_eq!(counts(&again), [0, 2, 0], "{again}");
    assert_eq!(again["batch"], Value::Null);
    assert_eq!(bytes_below(&place.path(".claude")), before);
    // `memories` is also the name of the folder of Anthropic's memory tool.
    let codex = place.path(".codex/memories");
    let codex = place.json(&["import", codex.to_str().unwrap()]);
    assert_eq!(
        (counts(&codex), &codex["from"]),
        ([1, 0, 0], &json!("codex"))
    );
}

#[test]
fn what_changed_there_is_read_again_and_what_was_deleted_goes_with_sync() {
    let place = furnished();
    let claude = place.path(".claude");
    let claude = claude.to_str().unwrap();
    place.run(&["import", claude]).succeeded();
    place.write(".claude/CLAUDE.md", RULES.replace("matches", "a taper"));
    let changed = place.json(&["import", claude]);
    assert_eq!(counts(&changed), [1, 1, 1], "{changed}");
    assert!(texts(&place)[1].0.contains("a taper"));
    // A forgotten text stays forgotten, although its file is read again.
    let found = place.rows(&["search", "tide table harbour"]);
    let id = found[0]["memory"]["id"].as_str().unwrap().to_owned();
    place.run(&["forget", &id]).succeeded();
    let file = ".claude/projects/-elsewhere/memory/MEMORY.md";
    place.write(file, format!("{INDEX}\n"));
    place.run(&["import", claude]).succeeded();
    assert!(
        texts(&place)
            .iter()
            .all(|(text, _)| !text.contains("tide table"))
    );
    fs::remove_file(place.path(".claude/CLAUDE.md")).unwrap();
    let gone = place.json(&["import", claude]);
    assert_eq!((counts(&gone)[2], &gone["gone"]), (0, &json!(1)));
    place.run(&["palace", "sync", "--apply"]).succeeded();
    assert_eq!(texts(&place), []);
}

#[test]
fn an_import_of_a_hosts_memory_is_taken_back_and_can_come_again() {
    let place = furnished();
    place.run(&["add", "My own note."]).succeeded();
    let claude = place.path(".claude");
    let claude = claude.to_str().unwrap();
    let told = place.run(&["import", claude]).succeeded().stdout;
    let id = told.trim().rsplit(' ').next().unwrap().to_owned();
    let undone = place.json(&["undo", &id, "--yes"]);
    assert_eq!(
        (
            &undone["memories"],
            &undone["source_files"],
            &undone["changed"]
        ),
        (&json!(2), &json!(2), &json!(0)),
        "{undone}"
    );
    assert_eq!(texts(&place), [("My own note.".to_owned(), Value::Null)]);
    let again = place.json(&["import", claude]);
    assert_eq!(counts(&again), [2, 0, 0], "{again}");
    // A later import replaced a text, which is counted, because it does not come back.
    place.write(".claude/CLAUDE.md", RULES.replace("matches", "a taper"));
    let second = place.json(&["import", claude]);
    let undone = place.json(&["undo", second["batch"].as_str().unwrap(), "--yes"]);
    assert_eq!(
        (&undone["memories"], &undone["stays"]),
        (&json!(1), &json!({"former_part": 1})),
        "{undone}"
    );
    assert_eq!(counts(&place.json(&["import", claude])), [1, 1, 0]);
}

#[test]
fn what_was_deleted_here_comes_only_if_the_person_says_so_and_goes_with_that_import() {
    let place = furnished();
    let claude = place.path(".claude");
    let claude = claude.to_str().unwrap();
    place.run(&["import", claude]).succeeded();
    let rows = place.rows(&["search", "tide table harbour"]);
    let id = rows[0]["memory"]["id"].as_str().unwrap().to_owned();
    place
        .run(&["delete", &id, "--forever", "--yes"])
        .succeeded();
    assert_eq!(counts(&place.json(&["import", claude]))[0], 0);
    let again = place.json(&["import", claude, "--again"]);
    assert_eq!(counts(&again), [1, 1, 0], "{again}");
    let batch = again["batch"].as_str().unwrap();
    place.run(&["undo", batch, "--yes"]).succeeded();
    let then = place.json(&["import", claude]);
    assert_eq!(counts(&then)[0], 0, "{then}");
    assert_eq!(texts(&place), [(RULES.to_owned(), Value::Null)]);
}

#[test]
fn the_files_of_a_project_are_in_its_wing_whatever_git_ignores() {
    let place = furnished();
    let shop = place.path("src/shop");
    let shop = shop.to_str().unwrap();
    let filed = place.json(&["import", "--from", "claude-code", shop]);
    assert_eq!(
        (counts(&filed), &filed["wings"]),
        ([2, 0, 0], &json!(["shop"]))
    );
    let cursor = place.json(&["import", "--from", "cursor", shop]);
    assert_eq!(counts(&cursor), [1, 0, 0], "{cursor}");
    let stored = texts(&place);
    assert!(
        stored.iter().all(|(text, project)| {
            // The block of loci in the file does not count.
            project == "shop" && !text.contains("Call recall")
        }),
        "{stored:?}"
    );
    // Neither the rules of git nor the mining of the project touch them.
    let synced = place.json(&["palace", "sync", "--apply"]);
    assert_eq!(synced["removed_drawers"], 0, "{synced}");
    let mined = place.json(&["palace", "mine", shop]);
    assert_eq!(
        mined["passed_over"]["filed_as_memory_of_a_host"], 1,
        "{mined}"
    );
    assert_eq!(mined["ignored"], 0);
    assert_eq!(texts(&place), stored);
    place
        .run(&["import", "--from", "goose", shop])
        .failed(2, ".goosehints");
    place
        .run(&["import", "--from", "goose", "nowhere"])
        .failed(2, "nowhere");
}

#[test]
fn a_file_that_is_no_text_is_named_and_the_others_come() {
    let place = furnished();
    place.write(".claude/rules/broken.md", b"\x7fELF\x00\x01");
    place.write(".claude/rules/long.md", "x".repeat(11 << 20));
    place.write(
        ".claude/rules/key.md",
        format!("The key is ghp_{SECRET}.\n"),
    );
    let claude = place.path(".claude");
    let report = place.json(&["import", claude.to_str().unwrap()]);
    assert_eq!(counts(&report), [3, 0, 0], "{report}");
    let passed_over = report["passed_over"].as_object().unwrap();
    let passed: u64 = passed_over.values().filter_map(Value::as_u64).sum();
    assert_eq!(passed, 2, "{report}");
    assert_eq!(passed_over["too_large"], 1);
    assert_eq!(report["redacted"]["github-token"], 1);
    assert!(texts(&place).iter().all(|(text, _)| !text.contains(SECRET)));
}
