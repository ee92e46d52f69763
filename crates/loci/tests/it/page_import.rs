//! The import on the page, of files of other memory systems and of hostile ones.

use std::io::{Cursor, Write};

use serde_json::{Value, json};
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use crate::acknowledged::{Scene, body};

/// Returns an archive of these files.
fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in files {
        archive
            .start_file(*name, SimpleFileOptions::default())
            .unwrap();
        archive.write_all(text).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// Returns an archive of a few megabytes whose files have more than 4 GiB of zeros.
fn swollen() -> Vec<u8> {
    let zeros = vec![0; 64 << 20];
    let one = archive(&[("0.jsonl", &zeros)]);
    let mut one = ZipArchive::new(Cursor::new(one)).unwrap();
    let mut all = ZipWriter::new(Cursor::new(Vec::new()));
    for number in 0..65 {
        let file = one.by_index_raw(0).unwrap();
        all.raw_copy_file_rename(file, format!("{number}.jsonl"))
            .unwrap();
    }
    all.finish().unwrap().into_inner()
}

/// The fields before a file.
type Fields<'a> = &'a [(&'a str, &'a str)];

/// Counts what an import would do; returns the answer.
fn tried(scene: &Scene, fields: Fields<'_>, name: &str, file: &[u8]) -> Value {
    let (status, reply) = scene.upload_file(fields, name, file);
    assert_eq!(status, 200, "{reply}");
    body(&reply)
}

/// Makes a change that is answered with a view.
fn changed(scene: &Scene, path: &str, fields: Value) -> Value {
    let (status, reply) = scene.change(path, fields);
    assert_eq!(status, 200, "{path}: {reply}");
    body(&reply)
}

fn texts(scene: &Scene) -> Vec<String> {
    let memories = scene.place.rows(&["list", "--limit", "100"]);
    let text = |memory: &Value| memory["content"].as_str().unwrap().to_owned();
    let mut texts: Vec<String> = memories.as_array().unwrap().iter().map(text).collect();
    texts.sort();
    texts
}

const ENTITY: &str = "{\"type\":\"entity\",\"name\":\"Ada\",\"entityType\":\"person\",\"observations\":\
                      [\"writes programs\",\"likes whist\"]}\nno JSON\n";

#[test]
fn the_page_imports_what_the_command_imports_and_takes_it_back() {
    let scene = Scene::with(&[]);
    let before = texts(&scene);
    let note = "---\ntitle: Kiln\npermalink: main/kiln\n---\n\n- [method] fires at 1240 #kiln\n";
    let mem0 = json!({"results": [{
        "id": "7", "memory": "the glaze is celadon", "hash": "a3", "created_at": "2026-01-02T03:04:05",
        "user_id": "ann",
    }]});
    let mem0 = mem0.to_string();
    let folder = archive(&[
        ("vault/notes/Kiln.md", note.as_bytes()),
        ("vault/.bmignore", b"*.tmp\n"),
    ]);
    let rows: [(&str, Fields<'_>, &str, Vec<u8>, &str); 4] = [
        (
            "server-memory",
            &[],
            "memory.jsonl",
            ENTITY.into(),
            "writes programs",
        ),
        (
            "server-memory",
            &[],
            "without an ending",
            archive(&[("memory.jsonl", ENTITY.as_bytes())]),
            "likes whist",
        ),
        (
            "mem0",
            &[("zone", "Asia/Tokyo")],
            "../export of mem0.json",
            mem0.into(),
            "the glaze is celadon",
        ),
        (
            "basic-memory",
            &[("system", "basic-memory"), ("zone", "UTC")],
            "vault.zip",
            folder,
            "- [method] fires at 1240 #kiln",
        ),
    ];
    for (system, fields, name, file, text) in rows {
        let tried = tried(&scene, fields, name, &file);
        assert_eq!(tried["system"], system, "{tried}");
        let stored = tried["counts"]["stored"].as_u64().unwrap();
        assert!(stored > 0, "{tried}");
        let samples = tried["samples"].as_array().unwrap();
        let is_shown = |sample: &Value| sample["content"].as_str().unwrap().contains(text);
        assert!(samples.iter().any(is_shown), "{text}: {tried}");
        assert_eq!(tried["batch"], Value::Null);
        assert_eq!(texts(&scene), before, "a dry run stores nothing");
        let mut reference = json!({"upload": tried["upload"]});
        for (name, value) in fields {
            reference[*name] = json!(value);
        }
        let ran = changed(&scene, "/settings/import/run", reference);
        assert_eq!(ran["counts"]["stored"], stored, "{ran}");
        assert_eq!(ran["samples"], json!([]));
        assert!(texts(&scene).iter().any(|stored| stored.contains(text)));
        let undone = changed(
            &scene,
            "/settings/import/undo",
            json!({"batch": ran["batch"]}),
        );
        assert_eq!(undone["said"]["succeeded"], true, "{undone}");
        assert_eq!(texts(&scene), before, "{system}");
    }
    let tried = tried(&scene, &[], "memory.jsonl", ENTITY.as_bytes());
    assert_eq!(
        tried["left_out"],
        json!({"lines that are no JSON object": 1})
    );
}

#[test]
fn a_hostile_file_ends_in_words_and_stores_nothing() {
    let scene = Scene::with(&[]);
    scene.place.run(&["add", "Stored before."]).succeeded();
    let before = texts(&scene);
    let whole = archive(&[("memory.jsonl", ENTITY.as_bytes())]);
    let escaping = archive(&[("../../escaped.jsonl", ENTITY.as_bytes())]);
    let strange = archive(&[("a.txt", b"one"), ("b.txt", b"two")]);
    let swollen = swollen();
    assert!(swollen.len() < 16 << 20, "{}", swollen.len());
    let mut encrypted = whole.clone();
    // The flag of encryption, in the head of the file and in the directory.
    encrypted[6] |= 1;
    let directory = encrypted.windows(4).position(|part| part == b"PK\x01\x02");
    encrypted[directory.unwrap() + 8] |= 1;
    let list: Fields<'_> = &[];
    let rows: [(&str, Fields<'_>, &[u8], &str); 7] = [
        (
            "more than fits",
            list,
            &swollen,
            "its files have more than 4294967296 bytes in all; unpack it yourself",
        ),
        ("cut", list, &whole[..whole.len() - 30], "cannot be read"),
        ("path", list, &escaping, "no path within an archive"),
        ("password", list, &encrypted, "cannot be read"),
        ("other files", list, &strange, "neither a single file"),
        (
            "another system",
            &[("system", "claude-mem")],
            ENTITY.as_bytes(),
            "the file",
        ),
        (
            "a zone",
            &[("system", "server-memory"), ("zone", "Nowhere/None")],
            ENTITY.as_bytes(),
            "is no time zone",
        ),
    ];
    for (what, fields, file, words) in rows {
        let tried = tried(&scene, fields, "a file", file);
        let said = tried["said"]["text"].as_str().unwrap();
        assert!(said.contains(words), "{what}: {tried}");
        assert!(!said.contains("uploads"), "{what}: {said}");
        assert_eq!(
            (&tried["upload"], &tried["counts"]),
            (&Value::Null, &Value::Null),
            "{what}: {tried}"
        );
        assert_eq!(tried["said"]["succeeded"], false, "{what}");
    }
    assert_eq!(texts(&scene), before);
    assert!(!scene.place.path("escaped.jsonl").exists());
    let left = std::fs::read_dir(scene.place.data().join("uploads")).unwrap();
    assert_eq!(left.count(), 0, "what cannot be imported is removed");
}

#[test]
fn conversations_of_an_export_that_is_sent_twice_are_filed_once() {
    let scene = Scene::with(&[]);
    let said = |id: &str, sender: &str, text: &str| {
        json!({
            "uuid": id, "sender": sender, "text": text, "created_at": "2026-01-02T03:04:05Z",
            "content": [{"type": "text", "text": text}], "attachments": [], "files": [],
        })
    };
    let conversations = json!([{
        "uuid": "c1", "name": "Glaze", "created_at": "2026-01-02T03:04:05Z",
        "updated_at": "2026-01-02T03:05:05Z", "account": {"uuid": "a"},
        "chat_messages": [said("m1", "human", "how hot is it"), said("m2", "assistant", "It is hot.")],
    }]);
    let conversations = conversations.to_string();
    let export = archive(&[
        ("users.json", b"[{\"uuid\": \"a\"}]"),
        ("conversations.json", conversations.as_bytes()),
        (
            "memories.json",
            b"[{\"conversations_memory\": \"Ann likes celadon.\"}]",
        ),
    ]);
    let before = texts(&scene);
    let (mut found, mut batches) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let tried = tried(&scene, &[], "data.zip", &export);
        let ran = changed(
            &scene,
            "/settings/import/run",
            json!({"upload": tried["upload"]}),
        );
        assert_eq!(ran["system"], "claude-ai", "{ran}");
        found.push(texts(&scene));
        batches.push(ran["batch"].clone());
    }
    assert!(found[0].contains(&"It is hot.".to_owned()), "{found:?}");
    assert_eq!(found[0], found[1]);
    assert_eq!(batches[1], Value::Null, "the second one brought nothing");
    let undone = changed(
        &scene,
        "/settings/import/undo",
        json!({"batch": batches[0]}),
    );
    assert_eq!(undone["said"]["succeeded"], true, "{undone}");
    assert_eq!(texts(&scene), before, "the conversations go, too");
}
