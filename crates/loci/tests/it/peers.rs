//! `loci import --from`: what other memory systems keep. What their packages really write is tried in
//! `loci-peers`.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::program::{Place, call};

const GRAPH: &str = r#"{"type":"entity","name":"Orla","entityType":"person","observations":["Orla keeps the lantern in shed 41.","The key lies under the third stone."]}
{"type":"relation","from":"Orla","to":"Harbour","relationType":"works at"}
not a line
{"type":"relation","from":"Orla","to":"Harbour","relationType":"works at"}"#;

fn without_model(mut counts: Value) -> Value {
    let counts = counts.as_object_mut().map(|counts| {
        counts.remove("pending_embeddings");
        counts.remove("notices");
        counts.remove("batch");
        counts.remove("samples");
        counts.clone()
    });
    counts.map_or(Value::Null, Value::Object)
}

#[test]
fn a_file_of_the_reference_server_is_told_by_its_content_and_comes_once() {
    let place = Place::new();
    let file = place.write("memory.jsonl", GRAPH);
    let file = file.to_str().unwrap();
    let counts = |stored: u64, present: u64| {
        json!({
            "from": "server-memory", "stored": stored, "present": present, "updated": 0, "tunnels": 0, "refused": 0,
            "left_out": {"lines that are no JSON object": 1, "relations that were said before": 1},
        })
    };
    let mut dry = counts(4, 0);
    dry["dry_run"] = json!(true);
    assert_eq!(
        without_model(place.json(&["import", file, "--dry-run"])),
        dry
    );
    assert_eq!(without_model(place.json(&["import", file])), counts(4, 0));
    assert_eq!(without_model(place.json(&["import", file])), counts(0, 4));
    let found = place.rows(&["search", "lantern"]);
    assert_eq!(
        found[0]["memory"]["content"],
        "Orla keeps the lantern in shed 41."
    );
    assert_eq!(found[0]["memory"]["type"], "person");
    let named = place.run(&["import", file]).succeeded().stderr;
    assert!(named.contains("line 3"), "{named}");
}

#[test]
fn what_changed_there_later_comes_and_what_changed_here_stays() {
    let place = Place::new();
    let memory = |text: &str, updated_at: &str| {
        json!({"results": [{
            "id": "a", "memory": text, "user_id": "orla", "created_at": "2024-01-01T10:00:00Z",
            "updated_at": updated_at, "metadata": {"tags": ["tea"], "title": "Tea"},
        }]})
        .to_string()
    };
    let import = |text: &str, updated_at: &str| {
        let file = place.write("mem0.json", memory(text, updated_at));
        without_model(place.json(&["import", file.to_str().unwrap()]))
    };
    assert_eq!(
        import("Tea is at four.", "2024-01-01T10:00:00Z")["stored"],
        1
    );
    let listed = place.rows(&["list"]);
    let id = listed[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(listed[0]["tags"], json!(["tea"]));
    assert_eq!(
        import("Tea is at five.", "2024-02-01T10:00:00Z")["updated"],
        1
    );
    assert_eq!(place.json(&["show", &id])["content"], "Tea is at five.");
    // It changes there again, long before the import.
    assert_eq!(
        import("Tea is at six.", "2024-03-01T10:00:00Z")["updated"],
        1
    );
    assert_eq!(place.json(&["show", &id])["content"], "Tea is at six.");
    // What is changed here is later than any of these.
    let own = json!({"id": id, "content": "Tea is at seven."});
    call(&place, "mememory", "update", &own);
    assert_eq!(
        import("Tea is at eight.", "2024-04-01T10:00:00Z")["updated"],
        0
    );
    assert_eq!(place.json(&["show", &id])["content"], "Tea is at seven.");
    // What was forgotten here stays so.
    place.run(&["forget", &id]).succeeded();
    let again = import("Tea is at nine.", "2024-05-01T10:00:00Z");
    assert_eq!(
        (&again["stored"], &again["updated"]),
        (&json!(0), &json!(0))
    );
}

#[test]
fn an_import_is_taken_back_and_can_come_again() {
    let place = Place::new();
    place.run(&["add", "My own note."]).succeeded();
    let graph = place.write("memory.jsonl", GRAPH);
    let graph = graph.to_str().unwrap();
    let told = place.run(&["import", graph]).succeeded().stdout;
    let id = told.trim().rsplit(' ').next().unwrap().to_owned();
    assert!(told.contains(&format!("loci undo {id}")), "{told}");
    let listed = place.json(&["undo", "--list"])["imports"].clone();
    assert_eq!(
        (
            &listed[0]["batch"],
            &listed[0]["from"],
            &listed[0]["records"]
        ),
        // The memories, the relation, and that the entity exists.
        (&json!(id), &json!("server-memory"), &json!(4))
    );
    let counts = |changed: Value| {
        json!({
            "batch": id, "memories": 2 - changed.as_array().unwrap().len(), "restored": 0, "facts": 2,
            "tunnels": 0, "decisions": 0, "settings": 0, "source_files": 0, "gone": 0,
            "changed": changed.as_array().unwrap().len(), "changed_ids": changed, "stays": {},
        })
    };
    let mut dry = counts(json!([]));
    dry["dry_run"] = json!(true);
    assert_eq!(place.json(&["undo", &id, "--dry-run"]), dry);
    // No terminal is there to ask at.
    let asked = place.run(&["undo", &id]);
    assert!(asked.stderr.contains("--yes"), "{}", asked.stderr);
    // A memory that was forgotten and brought back is as it was.
    let found = place.rows(&["search", "lantern"]);
    let kept = found[0]["memory"]["id"].as_str().unwrap().to_owned();
    place.run(&["forget", &kept]).succeeded();
    place.run(&["unforget", &kept]).succeeded();
    assert_eq!(place.json(&["undo", &id, "--yes"]), counts(json!([])));
    let left = place.rows(&["list"]);
    assert_eq!(left.as_array().unwrap().len(), 1, "{left}");
    let again = place.run(&["undo", &id, "--yes"]);
    assert!(again.stderr.contains("--list"), "{}", again.stderr);
    assert_eq!(place.json(&["undo", "--list"]), json!({"imports": []}));
    assert_eq!(place.json(&["import", graph])["stored"], 4);
    // Neither the audit log nor an export takes the notes for something else.
    let audit = place.run(&["audit", "--json"]).succeeded().stdout;
    assert!(audit.contains("\"undo\""), "{audit}");
    let exported = place.run(&["export", "-"]).succeeded().stdout;
    assert!(!exported.contains("imports"), "{exported}");
}

#[test]
fn a_text_that_an_import_replaced_comes_back() {
    let place = Place::new();
    let import = |text: &str, updated_at: &str| {
        let memory = json!([{"id": "a", "memory": text, "created_at": "2024-01-01T10:00:00Z", "updated_at": updated_at}]);
        let file = place.write("mem0.json", memory.to_string());
        place.json(&["import", file.to_str().unwrap()])
    };
    import("Tea is at four.", "2024-01-01T10:00:00Z");
    let updated = import("Tea is at five.", "2024-02-01T10:00:00Z");
    let id = updated["batch"].as_str().unwrap();
    let undone = place.json(&["undo", id, "--yes"]);
    assert_eq!(
        (&undone["restored"], &undone["memories"]),
        (&json!(1), &json!(0))
    );
    let listed = place.rows(&["list"]);
    assert_eq!(listed[0]["content"], "Tea is at four.");
    // With its time, so that the same export updates it again.
    assert_eq!(
        import("Tea is at five.", "2024-02-01T10:00:00Z")["updated"],
        1
    );
    assert_eq!(place.rows(&["list"])[0]["content"], "Tea is at five.");
}

#[test]
fn secrets_are_removed_and_what_expired_there_is_hidden_here() {
    let place = Place::new();
    let key = ["ghp", "_", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"].concat();
    let memories = json!([
        {"id": "a", "memory": format!("The key is {key} for now."), "created_at": "2024-01-01"},
        {"id": "b", "memory": "The old shed is open.", "created_at": "2024-01-01", "expiration_date": "2024-05-01"},
    ]);
    let file = place.write("export.json", memories.to_string());
    let counts = place.json(&["import", file.to_str().unwrap()]);
    assert_eq!(counts["stored"], 2);
    let listed = place.rows(&["list"]);
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    let content = listed[0]["content"].as_str().unwrap();
    assert!(
        content.starts_with("The key is ") && !content.contains(&key),
        "{content}"
    );
    let exported = place.run(&["export", "-"]).succeeded().stdout;
    let hidden = exported
        .lines()
        .find(|line| line.contains("old shed"))
        .unwrap();
    let hidden: Value = serde_json::from_str(hidden).unwrap();
    let hidden = &hidden["memory"];
    assert!(hidden["forgotten_at"].is_string(), "{hidden}");
    assert!(hidden["expires_at"].is_null(), "{hidden}");
}

#[test]
fn what_cannot_be_read_is_named_and_a_folder_of_another_is_no_store() {
    let place = Place::new();
    let broken = place.write("broken.db", b"SQLite format 3\0 and no more".repeat(8));
    for (arguments, expected) in [
        (
            &["import", "--from", "claude-mem", "/nowhere"][..],
            "/nowhere does not exist",
        ),
        (
            &["import", "--from", "claude-mem", broken.to_str().unwrap()],
            "cannot be read",
        ),
        (
            &[
                "import",
                "--from",
                "mempalace",
                place.write("x/y", "").parent().unwrap().to_str().unwrap(),
            ],
            "chroma.sqlite3",
        ),
        (
            &[
                "import",
                "--from",
                "mem0",
                "--zone",
                "Middle/Earth",
                broken.to_str().unwrap(),
            ],
            "Europe/Berlin",
        ),
    ] {
        let outcome = place.run(arguments);
        assert_eq!(outcome.code, 2, "{arguments:?}: {}", outcome.stderr);
        assert!(
            outcome.stderr.contains(expected),
            "{arguments:?}: {}",
            outcome.stderr
        );
    }
    assert_eq!(place.json(&["import", "--detect"]), json!({"found": []}));
    let home = place.write("home/.claude-mem/claude-mem.db", "SQLite format 3\0");
    assert!(fs::metadata(home).is_ok());
}

#[test]
fn notes_of_basic_memory_become_memories_with_links_and_facts() {
    let place = Place::new();
    let long = "word ".repeat(200);
    let wall = format!(
        "---\ntitle: Wall\ntype: note\npermalink: main/wall\ntags: [lime]\n---\n\n\
         - [rule] @effective[2026-01-01,2026-06-01) {long}\n- part of it\n- \"part of\" [[Harbour]]\n"
    );
    place.write("notes/wall.md", &wall);
    let harbour = "---\ntitle: Harbour\ntype: guide\npermalink: main/harbour\n---\nThe harbour.";
    let file = place.write("notes/sub/harbour.md", harbour);
    let folder = file.ancestors().nth(2).unwrap().to_str().unwrap();
    let counts = without_model(place.json(&["import", folder]));
    assert_eq!(
        (&counts["from"], &counts["stored"]),
        (&json!("basic-memory"), &json!(4))
    );
    assert_eq!(counts["refused"], 0, "a fact is not refused for its length");
    let again = without_model(place.json(&["import", folder]));
    assert_eq!(
        (&again["stored"], &again["present"]),
        (&json!(0), &json!(4))
    );
    let found = place.json(&["search", "lime"]);
    let memory = &found["results"][0]["memory"];
    assert_eq!(memory["content"], wall);
    let exported = place.run(&["export", "-"]).succeeded().stdout;
    let line = exported
        .lines()
        .find(|line| line.contains("main/wall"))
        .unwrap();
    let line: Value = serde_json::from_str(line).unwrap();
    assert_eq!(
        line["memory"]["links"].as_array().unwrap().len(),
        1,
        "{line}"
    );
}

/// The samples lie beside the repository; where they are missing, nothing is tried, and a line says so.
#[test]
fn the_archive_of_a_store_brings_what_the_store_brings() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/peers");
    let Ok(entries) = fs::read_dir(&samples) else {
        eprintln!("SKIPPED: there are no samples in {}", samples.display());
        return;
    };
    let archives = entries.map(|entry| entry.unwrap().path());
    for archive in archives.filter(|path| path.extension().is_some_and(|ending| ending == "zip")) {
        let place = Place::new();
        let folder = tempfile::tempdir().unwrap();
        let file = fs::File::open(&archive).unwrap();
        let mut unpacked = zip::ZipArchive::new(file).unwrap();
        unpacked.extract(folder.path()).unwrap();
        // The only file or folder at the top, as far as there is one.
        let mut store = folder.path().to_owned();
        while let Ok(entries) = fs::read_dir(&store)
            && let [only] = &entries.map(Result::unwrap).collect::<Vec<_>>()[..]
        {
            store = only.path();
        }
        let counts = |path: &Path| {
            without_model(place.json(&["import", path.to_str().unwrap(), "--dry-run"]))
        };
        let brought = counts(&archive);
        assert_eq!(brought, counts(&store), "{}", archive.display());
        assert_ne!(brought["stored"], 0, "{}", archive.display());
    }
}

/// Writes a zip archive with these files.
fn archive(place: &Place, name: &str, files: &[(&str, String)]) -> std::path::PathBuf {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, text) in files {
        archive
            .start_file(*name, zip::write::SimpleFileOptions::default())
            .unwrap();
        archive.write_all(text.as_bytes()).unwrap();
    }
    place.write(name, archive.finish().unwrap().into_inner())
}

#[test]
fn the_archive_of_claude_ai_brings_its_memory_projects_and_conversations() {
    let place = Place::new();
    let message = |sender: &str, text: &str| json!({"sender": sender, "text": text, "created_at": "2026-01-01T10:00:00Z"});
    let conversation = json!([{
        "uuid": "c1", "name": "", "created_at": "2026-01-01T10:00:00Z",
        "chat_messages": [message("human", "Where is the lantern?"), message("assistant", "In shed 41.")],
    }]);
    let project = json!({
        "uuid": "p1", "name": "Harbour", "description": "", "prompt_template": "Answer in one sentence.",
        "created_at": "2026-01-01T10:00:00Z", "docs": [{"uuid": "d1", "filename": "tides.md", "content": "High tide is at four."}],
    });
    let memories = json!([{
        "conversations_memory": "Orla is a harbour master.", "project_memories": {"p1": "The wall is of lime.", "p2": null},
        "account_uuid": "a1",
    }]);
    for name in ["export.zip", "again.zip"] {
        let folder = if name == "export.zip" {
            ""
        } else {
            "data-2026/"
        };
        let files = [
            ("conversations.json", conversation.to_string()),
            ("memories.json", memories.to_string()),
            ("projects/p1.json", project.to_string()),
            ("users.json", "[]".to_owned()),
        ];
        let names = files
            .iter()
            .map(|(name, _)| format!("{folder}{name}"))
            .collect::<Vec<_>>();
        let files: Vec<(&str, String)> = names
            .iter()
            .map(String::as_str)
            .zip(files.into_iter().map(|(_, text)| text))
            .collect();
        let file = archive(&place, name, &files);
        let counts = without_model(place.json(&["import", file.to_str().unwrap()]));
        assert_eq!(counts["from"], "claude-ai", "{counts}");
        let stored = if folder.is_empty() { 4 } else { 0 };
        assert_eq!(counts["stored"], stored, "{counts}");
        assert_eq!(counts["left_out"], json!({}));
        if folder.is_empty() {
            assert_eq!(counts["conversations"]["drawers"]["added"], 2, "{counts}");
        }
    }
    let found = place.json(&["search", "lime wall"]);
    assert_eq!(found["results"][0]["memory"]["project"], "Harbour");
}

#[test]
fn the_archive_of_chatgpt_brings_what_it_remembers() {
    let place = Place::new();
    let node = |id: &str, parent: Value, message: Value| json!({"id": id, "parent": parent, "children": [], "message": message});
    let said = |id: &str, role: &str, recipient: &str, content: Value| {
        json!({
            "id": id, "author": {"role": role}, "recipient": recipient, "create_time": 1_767_225_600.5, "content": content,
            "metadata": {},
        })
    };
    let text = |text: &str| json!({"content_type": "text", "parts": [text]});
    let about = |text: &str| json!({"content_type": "user_editable_context", "user_profile": text, "user_instructions": ""});
    let mut hidden = said("m0", "user", "all", about("I keep lanterns."));
    hidden["metadata"]["is_visually_hidden_from_conversation"] = json!(true);
    let conversation = |id: &str, nodes: Vec<Value>| {
        let nodes: serde_json::Map<String, Value> = nodes
            .into_iter()
            .map(|node| (node["id"].as_str().unwrap().to_owned(), node))
            .collect();
        json!({"conversation_id": id, "title": null, "create_time": 1_767_225_600, "mapping": nodes})
    };
    let first = conversation(
        "c1",
        vec![
            node("root", Value::Null, Value::Null),
            node("n0", json!("root"), hidden),
            node(
                "n1",
                json!("n0"),
                said("m1", "user", "all", text("I like tea.")),
            ),
            node(
                "n2",
                json!("n1"),
                said("m2", "assistant", "bio", text("User likes tea.")),
            ),
            node(
                "n3",
                json!("n2"),
                said("m3", "tool", "all", text("Model set context updated.")),
            ),
            node(
                "n4",
                json!("n3"),
                said("m4", "assistant", "all", text("Noted.")),
            ),
        ],
    );
    let mut later = said("m5", "user", "all", about("I keep two lanterns."));
    later["create_time"] = json!(1_767_225_700);
    let second = conversation("c2", vec![node("n5", Value::Null, later)]);
    let file = archive(
        &place,
        "chatgpt.zip",
        &[
            ("conversations-000.json", json!([first]).to_string()),
            ("conversations-001.json", json!([second]).to_string()),
            ("chat.html", "<html>".to_owned()),
        ],
    );
    let file = file.to_str().unwrap();
    let dry = without_model(place.json(&["import", file, "--dry-run"]));
    assert_eq!(
        (&dry["from"], &dry["stored"]),
        (&json!("chatgpt"), &json!(2)),
        "{dry}"
    );
    let counts = without_model(place.json(&["import", file]));
    assert_eq!(
        (
            &counts["stored"],
            &counts["conversations"]["drawers"]["added"]
        ),
        (&json!(2), &json!(2)),
        "{counts}"
    );
    let again = without_model(place.json(&["import", file]));
    assert_eq!(
        (&again["stored"], &again["present"]),
        (&json!(0), &json!(2)),
        "{again}"
    );
    let listed = place.json(&["list"]).to_string();
    assert!(
        listed.contains("User likes tea.") && listed.contains("two lanterns"),
        "{listed}"
    );
    assert!(!listed.contains("I keep lanterns."), "{listed}");
}

#[test]
fn what_the_originals_kept_goes_on_under_its_id_and_owner() {
    let place = Place::new();
    let date = |text: &str| json!({"$date": text});
    let document = |id: &str, tier: &str| {
        json!({
            "_id": {"$oid": id}, "user_id": "orla", "tier": tier, "content": format!("The tide of {tier} is high."),
            "memory_type": "fact", "message_type": "human", "conversation_id": "c1", "enrichment_status": "completed",
            "importance": 0.25, "summary": "tides", "expires_at": date("2126-01-01T00:00:00Z"),
            "created_at": date("2026-01-01T10:00:00Z"), "updated_at": date("2026-01-01T10:00:00Z"),
        })
    };
    let documents = [
        document("65a000000000000000000001", "ltm"),
        document("65a000000000000000000002", "stm"),
        json!({
            "_id": {"$oid": "65a000000000000000000003"}, "user_id": "orla", "key": "editor", "value": "vim",
            "created_at": date("2026-01-01T10:00:00Z"),
        }),
    ];
    let lines: Vec<String> = documents.iter().map(Value::to_string).collect();
    let file = place.write("memories.json", lines.join("\n"));
    let import = || without_model(place.json(&["import", file.to_str().unwrap()]));
    let counts = import();
    assert_eq!(
        (&counts["from"], &counts["stored"]),
        (&json!("memory-mcp"), &json!(3)),
        "{counts}"
    );
    assert_eq!(import()["present"], 3);
    let exported = place.run(&["export", "-"]).succeeded().stdout;
    let record = |part: &str| -> Value {
        let line = exported.lines().find(|line| line.contains(part)).unwrap();
        serde_json::from_str(line).unwrap()
    };
    let memory = &record("65a000000000000000000001")["memory"];
    assert_eq!(memory["id"], "65a000000000000000000001");
    assert_eq!(memory["owner"], "orla");
    assert_eq!(memory["visibility"], "private");
    assert_eq!(memory["origin"], "memory-mcp");
    assert_eq!(memory["weight"], 0.25);
    assert_eq!(memory["summary"], "tides");
    assert_eq!(
        record("65a000000000000000000002")["memory"]["thread"]["name"],
        "c1"
    );
    assert_eq!(record("vim")["decision"]["owner"], "orla");
}
