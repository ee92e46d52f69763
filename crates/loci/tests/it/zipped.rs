//! Zip archives in the place of the folders that are in them.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::program::Place;

/// Writes an archive of these files.
fn archive(place: &Place, name: &str, files: &[(&str, String)]) -> PathBuf {
    let path = place.path(name);
    let mut archive = ZipWriter::new(File::create(&path).unwrap());
    for (name, text) in files {
        archive
            .start_file(*name, SimpleFileOptions::default())
            .unwrap();
        archive.write_all(text.as_bytes()).unwrap();
    }
    archive.finish().unwrap();
    path
}

/// Writes an archive of all files in a folder.
fn archive_of_folder(place: &Place, name: &str, folder: &Path) {
    let mut files = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                let name = path.strip_prefix(folder.parent().unwrap()).unwrap();
                let text = std::fs::read_to_string(&path).unwrap();
                files.push((name.to_str().unwrap().to_owned(), text));
            }
        }
    }
    let files: Vec<(&str, String)> = files
        .iter()
        .map(|(name, text)| (name.as_str(), text.clone()))
        .collect();
    archive(place, name, &files);
}

fn chat_gpt(messages: &[&str]) -> String {
    let mut mapping =
        json!({"root": {"id": "root", "parent": null, "children": [], "message": null}});
    let mut parent = "root".to_owned();
    for (number, text) in messages.iter().enumerate() {
        let id = format!("m{number}");
        let role = if number % 2 == 0 { "user" } else { "assistant" };
        mapping[&parent]["children"] = json!([id]);
        mapping[&id] = json!({"id": id, "parent": parent, "children": [], "message": {
            "id": id, "author": {"role": role}, "create_time": 1_767_225_600.0,
            "content": {"content_type": "text", "parts": [text]}, "recipient": "all", "metadata": {},
        }});
        parent = id;
    }
    json!([{"id": "c1", "title": "Harbour", "create_time": 1_767_225_600.0, "current_node": parent, "mapping": mapping}])
        .to_string()
}

fn claude_ai() -> String {
    json!([{"uuid": "u1", "name": "Tower", "created_at": "2026-01-01T00:00:00Z", "chat_messages": [
        {"uuid": "a", "sender": "human", "created_at": "2026-01-01T00:00:00Z", "text": "what colour has the tower?"},
        {"uuid": "b", "sender": "assistant", "created_at": "2026-01-01T00:00:01Z", "text": "the tower is white"},
    ]}])
    .to_string()
}

fn mine(place: &Place, path: &str) -> Value {
    place.json(&[
        "palace", "mine", path, "--mode", "convos", "--wing", "talks",
    ])
}

fn total(place: &Place) -> u64 {
    place.json(&["stats"])["total"].as_u64().unwrap()
}

#[test]
fn an_export_is_filed_out_of_its_archive_once() {
    let place = Place::new();
    let export = |messages: &[&str]| {
        archive(
            &place,
            "chatgpt.zip",
            &[
                ("conversations.json", chat_gpt(messages)),
                ("user.json", "{}".to_owned()),
                ("chat.html", "<html>".to_owned()),
                ("file-1.png", "png".to_owned()),
            ],
        )
    };
    let first = ["when does the harbour open?", "the harbour opens at six"];
    let path = export(&first);
    let dry = place.json(&[
        "palace",
        "mine",
        "chatgpt.zip",
        "--mode",
        "convos",
        "--dry-run",
    ]);
    assert_eq!((&dry["drawers"]["added"], total(&place)), (&json!(2), 0));
    let report = mine(&place, "chatgpt.zip");
    assert_eq!(
        (
            &report["files"],
            &report["read"],
            &report["drawers"]["added"]
        ),
        (&json!(4), &json!(1), &json!(2)),
        "{report}"
    );
    assert_eq!(report["passed_over"], json!({"no_transcript": 3}));
    let again = mine(&place, "chatgpt.zip");
    assert_eq!((&again["drawers"]["added"], total(&place)), (&json!(0), 2));

    // A later export has more, and one under another name has the same.
    export(&[&first[..], &["and when does it close?"]].concat());
    assert_eq!(mine(&place, "chatgpt.zip")["drawers"]["added"], 1);
    std::fs::copy(&path, place.path("chatgpt (1).zip")).unwrap();
    assert_eq!(mine(&place, "chatgpt (1).zip")["drawers"]["added"], 0);
    assert_eq!(mine(&place, "chatgpt.zip")["drawers"]["added"], 0);
    assert_eq!(total(&place), 3);
    let of_archive = place.json(&["forget", "--where", "--source", "chatgpt.zip"]);
    assert_eq!(of_archive["memories"], 3, "{of_archive}");
    assert_eq!(of_archive["first"][0]["source_file"], "conversations.json");
}

#[test]
fn archives_of_other_services_and_folders_are_filed() {
    let place = Place::new();
    archive(
        &place,
        "data-2026-01-01.zip",
        &[
            ("conversations.json", claude_ai()),
            ("users.json", "[]".to_owned()),
            ("projects/u.json", "{}".to_owned()),
        ],
    );
    let report = place.json(&["palace", "mine", "data-2026-01-01.zip", "--mode", "convos"]);
    assert_eq!(report["drawers"]["added"], 2, "{report}");
    let day = json!([{"type": "message", "user": "U1", "ts": "1767225600.000100", "text": "the slack tower"}]);
    archive(
        &place,
        "slack.zip",
        &[
            (
                "users.json",
                json!([{"id": "U1", "name": "ann", "real_name": "Ann"}]).to_string(),
            ),
            ("general/2026-01-01.json", day.to_string()),
        ],
    );
    let report = mine(&place, "slack.zip");
    assert_eq!(report["drawers"]["added"], 1, "{report}");
    let listed = place.rows(&["search", "slack tower"]).to_string();
    assert!(listed.contains("Ann"), "{listed}");
}

#[test]
fn a_damaged_archive_is_named() {
    let place = Place::new();
    let path = archive(
        &place,
        "whole.zip",
        &[("conversations.json", chat_gpt(&["a", "b"]))],
    );
    let bytes = std::fs::read(path).unwrap();
    place.write("cut.zip", &bytes[..bytes.len() / 2]);
    place.write("text.zip", "no archive");
    archive(
        &place,
        "leading-out.zip",
        &[("../../out.json", "[]".to_owned())],
    );
    for name in ["cut.zip", "text.zip", "leading-out.zip"] {
        for arguments in [
            &["palace", "mine", name, "--mode", "convos"][..],
            &["import", name],
        ] {
            let ended = place.run(arguments);
            assert!(ended.code != 0, "{ended:?}");
            ended.failed(2, name);
        }
    }
    assert_eq!(total(&place), 0);
    assert!(!place.path("out.json").exists());
}

#[test]
fn an_archive_of_an_export_of_loci_comes_back() {
    let place = Place::new();
    place.add(&["The deploy runs on Fridays", "--project", "acme"]);
    place.add(&["Use tabs"]);
    place.run(&["export", "all.jsonl"]).succeeded();
    place
        .run(&["export", "folder", "--format", "markdown"])
        .succeeded();
    let lines = std::fs::read_to_string(place.path("all.jsonl")).unwrap();
    archive(&place, "lines.zip", &[("all.jsonl", lines.clone())]);
    archive_of_folder(&place, "folder.zip", &place.path("folder"));
    archive(
        &place,
        "two.zip",
        &[("a.jsonl", lines.clone()), ("b.jsonl", lines)],
    );
    for name in ["lines.zip", "folder.zip"] {
        let other = Place::new();
        std::fs::copy(place.path(name), other.path(name)).unwrap();
        other.run(&["import", name]).succeeded();
        assert_eq!(total(&other), 2, "{name}");
        other.run(&["import", name]).succeeded();
        assert_eq!(total(&other), 2, "{name}");
    }
    place
        .run(&["import", "two.zip"])
        .failed(2, "loci palace mine --mode convos");
}

#[test]
fn the_conversations_of_an_export_go_with_the_import_that_brought_them() {
    let place = Place::new();
    let said = ["when does the harbour open?", "the harbour opens at six"];
    archive(
        &place,
        "chatgpt.zip",
        &[
            ("conversations.json", chat_gpt(&said)),
            ("user.json", "{}".to_owned()),
        ],
    );
    let import = |more: &[&str]| {
        let imported =
            place.json(&[&["import", "--from", "chatgpt", "chatgpt.zip"], more].concat());
        let conversations = &imported["conversations"];
        let counts = [&conversations["drawers"]["added"], &conversations["read"]]
            .map(|count| count.as_u64().unwrap());
        (counts, imported["batch"].as_str().map(str::to_owned))
    };
    let undo = |batch: Option<String>| {
        let undone = place.json(&["undo", &batch.unwrap(), "--yes"]);
        ["memories", "source_files", "changed", "gone"].map(|name| undone[name].as_u64().unwrap())
    };
    let (counts, batch) = import(&[]);
    assert_eq!((counts, total(&place)), ([2, 1], 2));
    assert_eq!(import(&[]), ([0, 0], None), "nothing is filed twice");
    assert_eq!(undo(batch), [2, 1, 0, 0]);
    assert_eq!(total(&place), 0);
    let (counts, _) = import(&[]);
    assert_eq!(
        (counts, total(&place)),
        ([2, 1], 2),
        "the file is read again"
    );
    let rows = place.rows(&["search", "harbour opens at six"]);
    let id = rows[0]["memory"]["id"].as_str().unwrap().to_owned();
    place
        .run(&["delete", &id, "--forever", "--yes"])
        .succeeded();
    assert_eq!(import(&[]), ([0, 0], None));
    let (counts, batch) = import(&["--again"]);
    assert_eq!((counts[0], total(&place)), (1, 2));
    assert_eq!(undo(batch), [1, 1, 0, 0]);
    // The state of the file went with what came again, and the word of the person holds.
    assert_eq!(import(&[]).0, [0, 1]);
    assert_eq!(total(&place), 1);
}
