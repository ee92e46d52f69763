//! Changes that a person was told of are in the audit log, even if loci is killed at once.

use std::io::Read;

use serde_json::{Value, json};

use crate::program::Place;
use crate::servers::Server;

/// Returns the names of the calls in the audit log, as another process reads them.
fn logged(place: &Place) -> Vec<String> {
    let entries = place.json(&["audit", "--limit", "100"]);
    let name = |entry: &Value| entry["tool_name"].as_str().unwrap().to_owned();
    entries.as_array().unwrap().iter().map(name).collect()
}

#[test]
fn a_change_on_the_page_is_logged_when_it_is_acknowledged() {
    let add_fact = json!({"subject": "kiln", "predicate": "stands in", "object": "the yard"});
    // The path, its fields besides the memory, and the name in the log.
    let rows = [
        (
            "/selected/move",
            json!({"wing": "bread", "room": "oven"}),
            "move",
        ),
        ("/selected/tag", json!({"add": "new"}), "tag"),
        ("/selected/share", json!({"shared": true}), "share"),
        ("/selected/forget", json!({}), "forget"),
        ("/selected/delete", json!({"confirmed": true}), "delete"),
        ("/memory/ID/pin", json!({"pinned": true}), "pin"),
        (
            "/memory/ID/edit",
            json!({"content": "another text", "revision": 1}),
            "edit",
        ),
        (
            "/review/dismiss",
            json!({"item": "0123456789abcdef"}),
            "dismiss",
        ),
        ("/time/add", add_fact, "add_fact"),
        (
            "/keep/run",
            json!({"task": "make_token", "subject": "ann", "scope": ["read"]}),
            "token_create",
        ),
    ];
    for (path, mut fields, tool) in rows {
        let place = Place::new();
        let id = place.add(&["the kiln fires at 1240 degrees"]);
        let server = Server::start(&place, &[]);
        let secret = std::fs::read_to_string(place.data().join("token")).unwrap();
        let path = path.replace("ID", &id);
        if path.starts_with("/selected") {
            fields["id"] = json!([id]);
        }
        let (status, reply) = server.change(secret.trim(), &path, &fields);
        // The drop kills the server without a chance to write anything.
        drop(server);
        assert_eq!(status, 200, "{path}: {reply}");
        let entries = logged(&place);
        assert!(entries.contains(&tool.to_owned()), "{path}: {entries:?}");
    }
}

#[test]
fn a_change_by_a_command_is_logged_when_it_is_acknowledged() {
    let rows: [(&[&str], &str); 9] = [
        (&["add", "a text"], "remember"),
        (&["forget", "ID"], "forget"),
        (&["forget", "--where", "--type", "fact", "--yes"], "forget"),
        (&["unforget", "ID"], "unforget"),
        (&["trust", "bob"], "trust"),
        (
            &["token", "create", "--subject", "ann", "--scopes", "read"],
            "token create",
        ),
        (&["import", "FILE"], "import"),
        (&["palace", "mine", "FOLDER"], "palace mine"),
        (&["palace", "sync", "FOLDER", "--apply"], "palace sync"),
    ];
    for (words, tool) in rows {
        let place = Place::new();
        let id = place.add(&["the kiln fires at 1240 degrees"]);
        let file = place.write("import.jsonl", r#"{"content": "imported"}"#);
        let folder = place.path("project");
        place.write("project/notes.md", "# Glaze\n\nCeladon is green.\n");
        let words: Vec<String> = words
            .iter()
            .map(|word| match *word {
                "ID" => id.clone(),
                "FILE" => file.to_str().unwrap().to_owned(),
                "FOLDER" => folder.to_str().unwrap().to_owned(),
                word => word.to_owned(),
            })
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut child = place
            .command(&[&["--json"], &words[..]].concat())
            .spawn()
            .unwrap();
        // It is killed at the first byte of its answer.
        let answered = child.stdout.take().unwrap().read(&mut [0]).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(answered, 1, "{words:?}");
        let entries = logged(&place);
        assert!(
            entries[1..].contains(&tool.to_owned()),
            "{words:?}: {entries:?}"
        );
    }
}

#[test]
fn a_command_that_fails_is_logged_as_well() {
    let place = Place::new();
    place
        .run(&["token", "revoke", "nothing"])
        .failed(3, "no token named");
    let entries = place.json(&["audit"]);
    assert_eq!(entries[0]["tool_name"], "token revoke");
    assert_eq!(entries[0]["metadata"]["error_code"], "not_found");
}
