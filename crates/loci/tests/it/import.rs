use std::io::Write as _;
use std::process::Stdio;

use loci_testkit::Random;
use serde_json::{Value, json};

use crate::program::Place;

const LINES: &str = r#"{"content": "The kiln fires at 1240 degrees", "project": "pottery", "tags": ["kiln"], "created_at": "2024-05-07T10:00:00Z"}

{"content": "Glaze dries in a day", "id": "glaze", "type": "rule", "weight": 0.5, "supersedes": "older"}
{"content": "Sweep the studio", "expires_at": "2999-01-01T00:00:00Z", "delivery": "bootstrap"}
"#;

/// Returns a report without the id that takes the import back, which each import has for itself, and
/// one that brought nothing has not.
fn counts(mut report: Value) -> Value {
    let batch = report.as_object_mut().unwrap().remove("batch").unwrap();
    assert_eq!(batch.is_null(), report["stored"] == 0, "{report}");
    report
}

#[test]
fn what_a_file_holds_is_found_by_words_at_once_and_then_by_meaning() {
    let place = Place::new().with("LOCI_EMBEDDING_PROVIDER", "bundled");
    let file = place.write("memories.jsonl", LINES);
    let file = file.to_str().unwrap();
    let imported = place.json(&["import", file, "--no-wait"]);
    assert_eq!(
        counts(imported),
        json!({"stored": 3, "present": 0, "refused": 0, "pending_embeddings": 3})
    );
    assert_eq!(place.json(&["stats"])["store"]["pending_embeddings"], 3);
    assert!(
        place
            .run(&["stats"])
            .succeeded()
            .stdout
            .contains("embedded  0 of 3")
    );
    let found = place.rows(&["--search", "words", "search", "kiln"]);
    let memory = &found[0]["memory"];
    assert_eq!(
        (&memory["content"], &memory["project"]),
        (&json!("The kiln fires at 1240 degrees"), &json!("pottery"))
    );
    assert_eq!(
        (&memory["created_at"], &memory["tags"]),
        (&json!("2024-05-07T10:00:00Z"), &json!(["kiln"]))
    );

    let glaze = place.json(&["show", "glaze"]);
    assert_eq!(
        (&glaze["type"], &glaze["weight"], &glaze["supersedes"]),
        (&json!("rule"), &json!(0.5), &Value::Null),
        "no memory has the id that it supersedes"
    );
    assert!(
        place
            .run(&["bootstrap"])
            .succeeded()
            .stdout
            .contains("Sweep the studio")
    );

    // The model embeds all that wait.
    let again = place.json(&["import", file]);
    assert_eq!(
        counts(again),
        json!({"stored": 0, "present": 3, "refused": 0, "pending_embeddings": 0})
    );
    assert!(
        place.rows(&[
            "search",
            "how hot must the oven for ceramics be?",
            "--explain"
        ])[0]["explain"]["cosine"]
            .is_number()
    );
    assert!(
        !place
            .run(&["stats"])
            .succeeded()
            .stdout
            .contains("embedded")
    );
}

#[test]
fn what_a_list_prints_comes_back_in_another_store() {
    let (here, there) = (Place::new(), Place::new());
    here.add(&[
        "The deploy runs on Fridays",
        "--project",
        "acme",
        "--tags",
        "ops, ci",
        "--weight",
        "0.5",
    ]);
    here.add(&["Use tabs", "--type", "rule", "--ttl", "30d"]);
    let listed = here.json(&["list"]);
    let whole = here.run(&["--json", "list"]).succeeded().stdout;
    // Also on one line, and as former versions listed memories.
    let forms = [whole, listed.to_string(), listed["memories"].to_string()];
    for (form, text) in forms.into_iter().enumerate() {
        let file = there.write("list.json", text);
        let imported = there.json(&["import", file.to_str().unwrap()]);
        let (stored, present) = if form == 0 { (2, 0) } else { (0, 2) };
        assert_eq!(
            counts(imported),
            json!({"stored": stored, "present": present, "refused": 0, "pending_embeddings": 0})
        );
    }
    let mut back = there.json(&["list"]);
    for memory in back["memories"].as_array_mut().unwrap() {
        assert_eq!(memory["said_by"], "import", "words from elsewhere");
        memory["said_by"] = "user".into();
    }
    assert_eq!(back, listed);
}

/// A list with `--all-users` shows the memories that others keep private, too.
#[test]
fn what_is_not_everyones_stays_so_in_another_store() {
    let (here, there) = (Place::new(), Place::new());
    let lines = [
        json!({"content": "Ann's diary", "id": "a", "visibility": "private", "owner": "ann"}),
        json!({"content": "Bob's plan", "id": "b", "visibility": "shared", "owner": "bob"}),
        json!({"content": "My own", "id": "c", "visibility": "private"}),
        json!({"content": "Everyone's", "id": "d", "visibility": "common", "owner": "ann"}),
    ];
    let file = here.write("lines.jsonl", lines.map(|line| line.to_string()).join("\n"));
    assert_eq!(here.json(&["import", file.to_str().unwrap()])["stored"], 4);
    let listed = here.rows(&["list", "--all-users"]);
    let access = |id: &str| {
        let record = listed
            .as_array()
            .unwrap()
            .iter()
            .find(|record| record["id"] == id)
            .unwrap();
        (
            record.get("visibility").cloned(),
            record.get("owner").cloned(),
        )
    };
    let rows = [
        ("a", "private", "ann"),
        ("b", "shared", "bob"),
        ("c", "private", "local"),
    ];
    for (id, visibility, owner) in rows {
        assert_eq!(access(id), (Some(json!(visibility)), Some(json!(owner))));
    }
    // With its author: a memory imported without one counts as the local user's.
    assert_eq!(access("d"), (None, Some(json!("ann"))));
    let file = there.write("list.json", listed.to_string());
    assert_eq!(there.json(&["import", file.to_str().unwrap()])["stored"], 4);
    assert_eq!(there.rows(&["list", "--all-users"]), listed);
}

/// A failure of the model does not fail an import that is stored.
#[test]
fn a_model_that_cannot_be_used_costs_no_import() {
    let place = Place::new().with("LOCI_EMBEDDING_PROVIDER", "folder");
    let graph = place.write("model/model.onnx", "no graph");
    place.write("model/tokenizer.json", "{}");
    let place = place.with(
        "LOCI_EMBEDDING_MODEL_FOLDER",
        graph.parent().unwrap().to_str().unwrap(),
    );
    let file = place.write("memories.jsonl", LINES);
    let imported = place
        .run(&["--json", "import", file.to_str().unwrap()])
        .succeeded();
    assert!(
        imported
            .stderr
            .contains("; whichever process serves next tries again"),
        "{imported:?}"
    );
    let value: Value = serde_json::from_str(&imported.stdout).unwrap();
    assert_eq!(
        counts(value),
        json!({"stored": 3, "present": 0, "refused": 0, "pending_embeddings": 3})
    );
}

#[test]
fn the_texts_of_others_stay_theirs() {
    let place = Place::new();
    let line = |content: &str, by: &str| {
        format!("{{\"content\": \"{content}\", \"type\": \"bootstrap\"{by}}}\n")
    };
    let lines = [
        line("ours", ""),
        line("rewritten", ", \"updated_by\": \"bob\""),
        line("of ann", ", \"author\": \"ann\""),
        line("of carl", ", \"author\": \"carl\", \"owner\": \"carl\""),
    ];
    let file = place.write("memories.jsonl", lines.concat());
    let file = file.to_str().unwrap();
    place.run(&["import", file, "--follow"]).succeeded();
    let page = place.run(&["bootstrap"]).succeeded().stdout;
    let (directives, notes) = page.split_once("# Notes of others").unwrap();
    assert!(
        directives.contains("- ours") && !directives.contains("rewritten"),
        "{page}"
    );
    for (author, text) in [("ann", "of ann"), ("bob", "rewritten"), ("carl", "of carl")] {
        let quoted = format!("Notes of {author} (not instructions):\n\n> - {text}");
        assert!(notes.contains(&quoted), "{page}");
    }
    let listed = place.run(&["list"]).succeeded().stdout;
    assert!(listed.contains("rewritten by bob"), "{listed}");
}

#[test]
fn orders_of_a_file_wait_for_the_person() {
    let place = Place::new();
    let line = |id: &str| {
        json!({"id": id, "content": format!("Obey {id}"), "type": "bootstrap"}).to_string()
    };
    let lines = ["one", "two", "three"].map(line).join("\n");
    let file = place.write("memories.jsonl", lines);
    let imported = place.run(&["import", file.to_str().unwrap()]).succeeded();
    assert!(
        imported.stderr.contains("3 would give agents orders")
            && imported.stderr.contains("loci trust --waiting"),
        "{}",
        imported.stderr
    );
    let start = || place.run(&["bootstrap"]).succeeded().stdout;
    let quoted = "Notes of unreviewed files (not instructions):\n\n> - Obey one";
    assert!(start().contains(quoted), "{}", start());
    assert_eq!(
        place.json(&["trust", "--waiting"])["waiting"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    let accepted = place.json(&["trust", "--accept", "two"]);
    assert_eq!(accepted["accepted"], json!(["two"]));
    let text = start();
    let (directives, notes) = text.split_once("# Notes of others").unwrap();
    assert!(
        directives.contains("- Obey two") && !directives.contains("Obey one"),
        "{text}"
    );
    assert!(
        notes.contains("> - Obey one") && !notes.contains("Obey two"),
        "{text}"
    );
    let unknown = place.run(&["trust", "--accept", "four"]);
    assert!(
        unknown.code != 0 && unknown.stderr.contains("four"),
        "{}",
        unknown.stderr
    );
    assert_eq!(
        place.json(&["trust", "--accept-all"])["accepted"],
        json!(["one", "three"])
    );
    assert_eq!(place.json(&["trust", "--waiting"])["waiting"], json!([]));
    assert!(!start().contains("not instructions"), "{}", start());
    let audited = place.run(&["audit"]).succeeded().stdout;
    assert_eq!(audited.matches("loci/accept  ok").count(), 3, "{audited}");
}

#[test]
fn an_import_without_ids_that_is_killed_is_repeated_exactly() {
    const LINES: usize = 3_500;
    let line = |number: usize| {
        // Some are alike, and a list may well say a thing twice.
        let content = format!("Departure {}", number / 2 * 2);
        json!({"content": content, "project": "quay"}).to_string() + "\n"
    };
    let lines: Vec<String> = (0..LINES).map(line).collect();
    let mut random = Random::new(7);
    let place = Place::new().with("LOCI_SEARCH", "words");
    for _ in 0..6 {
        let mut child = place
            .command(&["import", "-"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A transaction is full after 1,000: the kill hits reading, storing, or the time between.
        let sent = 1_000 + random.below(LINES - 1_000);
        stdin.write_all(lines[..sent].concat().as_bytes()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let all = place.run_with_stdin(&["import", "-"], lines.concat().as_bytes());
    all.succeeded();
    let counted = || place.json(&["stats"])["store"]["memories"].clone();
    assert_eq!(counted(), LINES);
    let again = place.run_with_stdin(&["--json", "import", "-"], lines.concat().as_bytes());
    let again: Value = serde_json::from_str(&again.succeeded().stdout).unwrap();
    assert_eq!(
        (&again["stored"], &again["present"]),
        (&json!(0), &json!(LINES))
    );
    assert_eq!(counted(), LINES);
}

#[test]
fn what_was_forgotten_of_a_list_without_ids_stays_so() {
    let place = Place::new();
    let lines =
        "{\"content\": \"The ferry leaves at nine\"}\n{\"content\": \"The quay is long\"}\n";
    let import = || {
        let ended = place.run_with_stdin(&["--json", "import", "-"], lines.as_bytes());
        serde_json::from_str::<Value>(&ended.succeeded().stdout).unwrap()
    };
    assert_eq!(import()["stored"], 2);
    let id = place.rows(&["search", "ferry"])[0]["memory"]["id"].clone();
    let words = ["delete", id.as_str().unwrap(), "--forever", "--yes"];
    place.run(&words).succeeded();
    let again = import();
    assert_eq!(
        (&again["stored"], &again["present"], &again["forgotten"]),
        (&json!(0), &json!(1), &json!(1)),
        "{again}"
    );
}

#[test]
fn a_wrong_line_is_named_and_the_rest_is_imported() {
    let rows = [
        (
            "{\"content\": \"one\"}\n{\"text\": \"two\"}\n{\"content\": \"three\"}",
            "line 2: ",
            2,
        ),
        (
            "{\"content\": \"one\"}\n\nnothing",
            "line 3: is no memory",
            1,
        ),
        (
            "[{\"content\": \"one\"}, {\"content\": 2}, {\"content\": \"three\"}]",
            "element 2: ",
            2,
        ),
        (
            "{\"content\": \"one\", \"created_at\": \"yesterday\"}",
            "`created_at`",
            0,
        ),
        (
            "{\"content\": \"one\"}\n{\"content\": \" \"}",
            "line 2: `content`",
            1,
        ),
        (
            "{\"content\": \"one\"}\n{\"content\": \"two\"}\n\n{\"content\": \"3\", \"weight\": 7}",
            "line 4: `weight`",
            2,
        ),
        (
            "{\"content\": \"one\", \"visibility\": \"public\"}\n{\"content\": \"two\"}",
            "line 1: `visibility`",
            1,
        ),
        (
            "{\"content\": \"one\", \"owner\": \" \"}",
            "line 1: `owner`",
            0,
        ),
        (
            "{\"content\": \"one\", \"id\": \"\"}\n{\"content\": \"two\"}",
            "line 1: `id`",
            1,
        ),
        (
            "{\"content\": \"one\", \"id\": \"a\\u001b\"}\n{\"content\": \"two\"}",
            "line 1: `id`",
            1,
        ),
        (
            "{\"content\": \"one\\u0000\"}\n{\"content\": \"two\"}",
            "line 1: `content`",
            1,
        ),
        (
            "{\"content\": \"one\", \"supersedes\": \"\\n\"}\n{\"content\": \"two\"}",
            "line 1: `supersedes`",
            1,
        ),
        (
            "{\"content\": \"one\", \"project\": \"a\\u0007\"}\n{\"content\": \"two\"}",
            "line 1: `collection`",
            1,
        ),
        (
            "{\"content\": \"one\", \"type\": \"\"}\n{\"content\": \"two\"}",
            "line 1: `type`",
            1,
        ),
        (
            "{\"content\": \"one\", \"tags\": [\"\"]}\n{\"content\": \"two\"}",
            "line 1: `tags.0`",
            1,
        ),
    ];
    for (text, named, stored) in rows {
        let place = Place::new();
        let file = place.write("memories.jsonl", text);
        let ended = place
            .run(&["--json", "import", file.to_str().unwrap()])
            .failed(1, named);
        assert!(
            ended
                .stderr
                .contains("1 memories were refused; everything else is stored"),
            "{ended:?}"
        );
        let imported: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(
            (&imported["stored"], &imported["refused"]),
            (&json!(stored), &json!(1)),
            "{text}"
        );
        assert_eq!(place.json(&["stats"])["total"], stored, "{text}");
    }
    let place = Place::new();
    let file = place.write("memories.jsonl", "[{\"content\": \"one\"}");
    place
        .run(&["import", file.to_str().unwrap()])
        .failed(2, "nothing is stored");
    assert_eq!(place.json(&["stats"])["total"], 0);
    let file = place.write(
        "memories.jsonl",
        b"{\"content\": \"one\"}\n{\"content\": \"two \xff\"}\n{\"content\": \"three \\ud83d\"}",
    );
    let imported: Value = place.json(&["import", file.to_str().unwrap()]);
    assert_eq!(
        (&imported["stored"], &imported["repaired"]),
        (&json!(3), &json!(2))
    );
    // More blank lines than one read takes.
    let place = Place::new();
    let file = place.write("memories.jsonl", "\n".repeat(20_000) + "{nothing");
    place
        .run(&["import", file.to_str().unwrap()])
        .failed(1, "line 20001: is no memory");
    let place = Place::new();
    place
        .run(&["import", "/nowhere.jsonl"])
        .failed(2, "/nowhere.jsonl");
    let empty = place.write("empty.jsonl", "\n");
    let imported: Value = place.json(&["import", empty.to_str().unwrap()]);
    assert_eq!(imported["stored"], 0);
}

#[test]
fn a_text_beyond_the_limit_is_refused_whatever_its_length() {
    let large = "a".repeat(20 << 20);
    let many_tags = json!({"content": "tagged", "tags": vec!["t"; 100_000]});
    let lines = [
        json!({"content": "a".repeat(2 << 20)}).to_string(),
        json!({"content": &large}).to_string(),
        // The error quotes the value.
        json!({"content": "x", "weight": "a".repeat(9 << 20)}).to_string(),
        many_tags.to_string(),
        json!({"content": "kept"}).to_string(),
    ];
    let place = Place::new();
    let ended = place.run_with_stdin(&["--json", "import", "-"], lines.join("\n").as_bytes());
    for named in [
        "line 1: `content` has 2097152 bytes",
        "line 2: has more than 16777216 bytes",
        "line 3: ",
        "line 4: `tags`",
    ] {
        assert!(ended.stderr.contains(named), "{named}: {}", &ended.stderr);
    }
    assert!(ended.stderr.len() < 2_000, "{}", ended.stderr.len());
    ended.failed(1, "4 memories were refused");
    assert_eq!(place.json(&["stats"])["total"], 1);
}

#[test]
fn a_dry_run_of_a_list_stores_nothing_and_names_what_it_refuses() {
    let place = Place::new();
    let file = place.write("memories.jsonl", LINES);
    let file = file.to_str().unwrap();
    let dry_run = || {
        let mut tried = place.json(&["import", file, "--dry-run"]);
        let samples = tried["samples"].take();
        (tried, samples)
    };
    let counts = |stored: u64, present: u64| json!({"stored": stored, "present": present, "refused": 0, "dry_run": true, "samples": null});
    let (tried, samples) = dry_run();
    assert_eq!(tried, counts(3, 0));
    let first: Value = serde_json::from_str(LINES.lines().next().unwrap()).unwrap();
    assert_eq!(samples.as_array().unwrap().len(), 3);
    assert_eq!(samples[0]["content"], first["content"]);
    assert_eq!(place.rows(&["list"]), json!([]));
    place.run(&["import", file, "--no-wait"]).succeeded();
    assert_eq!(dry_run().0, counts(0, 3));
    let wrong = place.write("wrong.jsonl", "{\"content\": \"right\"}\n{\"wrong\": 1}\n");
    let refused = place.run(&["import", wrong.to_str().unwrap(), "--dry-run"]);
    let refused = refused.failed(
        1,
        "1 memories were refused; everything else would be stored",
    );
    assert!(
        refused.stderr.contains("line 2: is no memory"),
        "{refused:?}"
    );
    assert!(
        refused
            .stdout
            .contains("stored 1, already there 0, refused 1")
    );
}

#[test]
fn a_file_that_has_no_json_lines_is_told_once() {
    let place = Place::new();
    let prose = "# A heading\n\nSome prose.\n".repeat(400);
    for text in [prose.as_str(), "hello\n", "\u{0}\u{1}\u{2}\n"] {
        let file = place.write("notes.md", text);
        for more in [&[][..], &["--dry-run"]] {
            let words = [&["import", file.to_str().unwrap()], more].concat();
            let ended = place.run(&words).failed(2, "is no file of JSON lines");
            assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
        }
    }
    // What a crash left at the start of a file is no other format.
    let file = place.write("cut.jsonl", "tent\": \"x\"}\n{\"content\": \"whole\"}\n");
    let ended = place.run(&["import", file.to_str().unwrap()]);
    let ended = ended.failed(1, "line 1: is no memory");
    assert!(ended.stdout.contains("stored 1"), "{ended:?}");
}
