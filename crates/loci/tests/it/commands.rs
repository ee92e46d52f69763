use std::io::Read;

use serde_json::{Value, json};

use crate::program::{Place, ended, list_in};

#[test]
fn a_memory_from_its_beginning_to_its_end() {
    let place = Place::new();
    let id = place.add(&[
        "The deploy runs on Fridays",
        "--project",
        "acme",
        "--tags",
        "ops, ci",
        "--weight",
        "0.5",
    ]);
    let other = place.add(&["Use tabs", "--type", "rule"]);

    let shown = place.json(&["show", &id]);
    assert_eq!(shown["content"], "The deploy runs on Fridays");
    assert_eq!(
        (shown["project"].as_str(), shown["type"].as_str()),
        (Some("acme"), Some("fact"))
    );
    assert_eq!(shown["tags"], serde_json::json!(["ops", "ci"]));
    let text = place.run(&["show", &id]).succeeded().stdout;
    assert!(
        text.starts_with(&id) && text.ends_with("    The deploy runs on Fridays\n"),
        "{text}"
    );

    let ids = |arguments: &[&str]| -> Vec<String> {
        let list = place.rows(arguments);
        list.as_array()
            .unwrap()
            .iter()
            .map(|record| record["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let (id, other) = (id.as_str(), other.as_str());
    assert_eq!(ids(&["list"]), [other, id]);
    assert_eq!(ids(&["list", "--project", "acme"]), [id]);
    assert_eq!(ids(&["list", "--project", "global"]), [other]);
    assert_eq!(ids(&["list", "--tags", "ci,ops"]), [id]);
    assert_eq!(ids(&["list", "--type", "rule"]), [other]);
    assert_eq!(ids(&["list", "--limit", "1", "--offset", "1"]), [id]);

    let stats = place.json(&["stats"]);
    assert_eq!(stats["total"], 2);
    assert!(stats["store"]["index_bytes"].as_u64().unwrap() > 0);
    assert!(
        place
            .run(&["stats"])
            .succeeded()
            .stdout
            .contains("memories  2")
    );
    let forgot = place.run(&["forget", id]).succeeded();
    assert_eq!(
        (forgot.stdout.as_str(), forgot.stderr.contains(id)),
        ("", true)
    );
    place.run(&["show", id]).failed(3, id);
    place.run(&["forget", "nothing"]).failed(3, "nothing");
}

#[test]
fn a_search_says_why() {
    let place = Place::new();
    let id = place.add(&["The deploy runs on Fridays", "--project", "acme"]);
    place.add(&["Use tabs", "--type", "rule"]);
    let hits = place.rows(&["search", "when is the deploy?", "--explain"]);
    assert_eq!(hits.as_array().unwrap().len(), 1);
    assert_eq!(hits[0]["memory"]["id"], id.as_str());
    assert!(hits[0]["explain"]["bm25"].as_f64().unwrap() > 0.0);
    assert!(hits[0]["strength"].as_f64().unwrap() > 0.3, "{hits}");
    let text = place
        .run(&["search", "deploy", "--explain"])
        .succeeded()
        .stdout;
    for word in [
        "relevance",
        "bm25",
        "cosine",
        "weight",
        "age",
        "score",
        "strength",
    ] {
        assert!(text.contains(word), "{text} should name {word}");
    }
    assert_eq!(
        place.rows(&["search", "deploy", "--project", "other"]),
        serde_json::json!([])
    );
    let none = place.run(&["search", "zebra"]).succeeded();
    assert!(
        none.stdout.is_empty() && none.stderr.ends_with("nothing was found\n"),
        "{}",
        none.stderr
    );
}

/// The command finds what `recall` finds in the same scope, in the same order, and says what it
/// looked at.
#[test]
fn a_search_says_what_it_looked_at() {
    let place = Place::new();
    for (text, project) in [
        ("The deploy runs on Fridays", "acme"),
        ("The deploy of the shop runs at noon", "shop"),
    ] {
        place.add(&[text, "--project", project]);
    }
    place.add(&["Ask Anna about the deploy"]);
    place.add(&["Each deploy has a name", "--weight", "0.9"]);
    let rows = [
        (
            &[][..],
            "looked everywhere: at the global memories and at 2 projects",
            4,
        ),
        (
            &["--project", "global"],
            "looked at the global memories, not at 2 memories of 2 projects",
            2,
        ),
        (
            &["--project", "acme"],
            "looked at the project acme and the global memories, not at 1 memory of 1 project",
            3,
        ),
    ];
    for (scope, words, found) in rows {
        let ended = place
            .run(&[&["--json", "search", "deploy"], scope].concat())
            .succeeded();
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
        let hits = list_in(&serde_json::from_str(&ended.stdout).unwrap());
        assert_eq!(hits.as_array().unwrap().len(), found, "{words}");
        for (place_of_hit, hit) in hits.as_array().unwrap().iter().enumerate() {
            let id = hit["memory"]["id"].as_str().unwrap();
            let why = place.json(&[&["why", "deploy", id], scope].concat());
            assert_eq!(
                (why["cause"].as_str(), why["place"].as_u64()),
                (Some("shown"), Some(place_of_hit as u64 + 1)),
                "{why}"
            );
        }
    }
}

#[test]
fn a_missing_memory_is_explained() {
    let place = Place::new();
    let id = place.add(&["The deploy runs on Fridays", "--project", "acme"]);
    let why = |arguments: &[&str]| place.run(&[&["why", "deploy"], arguments].concat());
    let text = why(&[&id, "--project", "global"]).succeeded().stdout;
    assert!(
        text.contains("\nIt is in the project `acme`, where it would be number 1, and the search looked at the global memories only.\n\
                       Ask in that project: `loci search --project acme`, or `recall` with `project` = `acme`.\n"),
        "{text}"
    );
    // A part of the id is enough, as for every command.
    let text = why(&[&id[id.len() - 8..]]).succeeded().stdout;
    assert!(
        text.contains("The question finds it: it is number 1 of at most 5."),
        "{text}"
    );
    assert!(text.contains("only with `project` = `acme`"), "{text}");
    why(&["0123456789"]).failed(3, "0123456789");
    why(&[&id, "--limit", "0"]).failed(2, "--limit");
}

#[test]
fn a_project_that_is_not_there_is_told_with_near_names() {
    let place = Place::new();
    let id = place.add(&["The deploy runs on Fridays", "--project", "acme"]);
    for command in [&["--json", "list"][..], &["--json", "search", "deploy"]] {
        let found = |project| {
            place
                .run(&[command, &["--project", project]].concat())
                .succeeded()
        };
        let meant = found("Acme");
        assert!(meant.stdout.contains(&id), "{}", meant.stdout);
        assert!(
            meant
                .stderr
                .contains("there is no project `Acme`; it was read as `acme`"),
            "{}",
            meant.stderr
        );
        let near = found("acne");
        assert!(near.stdout.contains(": []"), "{}", near.stdout);
        assert!(
            near.stderr
                .contains("there is no project `acne`; these sound alike: `acme`"),
            "{}",
            near.stderr
        );
    }
}

#[test]
fn equal_texts_are_found_once() {
    let place = Place::new();
    place.add(&["The deploy runs on Fridays", "--project", "acme"]);
    place.add(&["The deploy  runs on Fridays", "--project", "shop"]);
    let hits = place.rows(&["search", "when is the deploy?"]);
    assert_eq!(
        (
            hits.as_array().unwrap().len(),
            hits[0]["times_said"].as_u64()
        ),
        (1, Some(2))
    );
    let text = place.run(&["search", "deploy"]).succeeded().stdout;
    assert!(text.contains("found 2 times"), "{text}");
}

#[test]
fn a_limit_beyond_the_greatest_is_no_secret() {
    let place = Place::new();
    place.add_all((0..1_001).map(|number| format!("Bead number {number}")));
    let listed = place
        .run(&["--json", "list", "--limit", "5000"])
        .succeeded();
    let value: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(list_in(&value).as_array().unwrap().len(), 1_000);
    assert_eq!(value["more"], "--offset 1000");
    assert!(
        listed.stderr.contains("--limit 5000 counts as 1000"),
        "{}",
        listed.stderr
    );
    assert!(
        listed.stderr.contains("there are more: --offset 1000"),
        "{}",
        listed.stderr
    );
    let found = place
        .run(&["--json", "search", "bead", "--limit", "500"])
        .succeeded();
    let value: Value = serde_json::from_str(&found.stdout).unwrap();
    assert_eq!(list_in(&value).as_array().unwrap().len(), 100);
    assert_eq!(value["more"], Value::Null);
    assert!(
        found.stderr.contains("--limit 500 counts as 100"),
        "{}",
        found.stderr
    );
    let exact = place
        .run(&["list", "--limit", "1000", "--offset", "1"])
        .succeeded();
    assert!(!exact.stderr.contains("counts as"), "{}", exact.stderr);
}

#[test]
fn text_comes_from_stdin_byte_for_byte() {
    let place = Place::new();
    let text = "  first\r\n\tsecond \u{1f980}\n\n";
    let added = place
        .run_with_stdin(&["add", "-"], text.as_bytes())
        .succeeded();
    assert_eq!(place.json(&["show", added.stdout.trim()])["content"], text);
}

#[test]
fn what_cannot_be_stored_is_refused_by_name() {
    let place = Place::new();
    let long = "x".repeat((1 << 20) + 1);
    let rows: [(&[&str], &[u8], i32, &str); 11] = [
        (&["add", ""], b"", 2, "`content`"),
        (&["add", " \n"], b"", 2, "`content`"),
        (&["add", "-"], b"a\0b", 2, "NUL"),
        (&["add", "-"], b"\xff", 2, "UTF-8"),
        (&["add", "-"], long.as_bytes(), 2, "1048577"),
        (&["add", "a", "--type", "poem"], b"", 2, "type"),
        (&["add", "a", "--ttl", "soon"], b"", 2, "`ttl`"),
        (&["add", "a", "--weight", "2"], b"", 2, "weight"),
        (&["add", "a", "--project", " "], b"", 2, "`project`"),
        (&["add", "a", "--supersedes", "nothing"], b"", 3, "nothing"),
        (&["add", "a", "--tags", "\u{7}"], b"", 2, "`tags.0`"),
    ];
    for (arguments, stdin, code, words) in rows {
        place.run_with_stdin(arguments, stdin).failed(code, words);
    }
    assert_eq!(place.rows(&["list"]), serde_json::json!([]));
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    let place = Place::new().with_store();
    let rows: [(&[&str], &str); 15] = [
        (&[], "Usage"),
        (&["dance"], "dance"),
        (&["mcp", "klingon"], "mememory"),
        (&["search", ""], "`query`"),
        (&["search", "a", "--limit", "0"], "--limit"),
        (
            &["search", "a", "--limit", "abc"],
            "'--limit <NUMBER>': give a whole number from 1 on",
        ),
        (&["list", "--limit", "-5"], "give a whole number from 1 on"),
        (&["list", "--limit", "1.5"], "give a whole number from 1 on"),
        (&["list", "--offset", "x"], "give a whole number from 0 on"),
        (&["add", "a", "--weight", "high"], "a number such as 0.5"),
        (&["palace", "wake-up", "--tokens", "9"], "from 100 to 9500"),
        (&["show", " "], "`id`"),
        (&["forget", ""], "`id`"),
        (&["bootstrap", "--projekt", "a"], "--projekt"),
        (
            &[
                "token",
                "create",
                "--subject",
                "ann",
                "--scopes",
                "everything",
            ],
            "admin",
        ),
    ];
    for (arguments, words) in rows {
        place.run(arguments).failed(2, words);
    }
}

#[test]
fn a_session_begins_with_the_bootstrap() {
    let place = Place::new().with_store();
    let empty = place.run(&["bootstrap"]).succeeded();
    assert_eq!(empty.stdout, "");
    place.add(&["Use tabs", "--type", "rule", "--bootstrap"]);
    place.add(&[
        "Ship on Fridays",
        "--type",
        "bootstrap",
        "--project",
        "acme",
    ]);
    let global = place.run(&["bootstrap"]).succeeded().stdout;
    assert!(
        global.contains("- Use tabs") && !global.contains("Fridays"),
        "{global}"
    );
    let project = place.json(&["bootstrap", "--project", "acme"]);
    assert!(
        project["markdown"]
            .as_str()
            .unwrap()
            .contains("- Ship on Fridays")
    );
    assert_eq!(project["memories"], 2);
}

#[test]
fn a_token_from_its_beginning_to_its_end() {
    let place = Place::new();
    let created = place.json(&[
        "token",
        "create",
        "--subject",
        "ann",
        "--scopes",
        "read",
        "--expires",
        "30d",
    ]);
    let (id, secret) = (
        created["id"].as_str().unwrap(),
        created["token"].as_str().unwrap(),
    );
    assert!(
        secret.starts_with("loci_") && secret.len() == 77,
        "{secret}"
    );
    let plain = place
        .run(&["token", "create", "--subject", "bob"])
        .succeeded();
    assert_eq!(plain.stdout.trim().len(), 77);

    let listed = place.run(&["token", "list"]).succeeded().stdout;
    assert!(
        listed.contains(id) && listed.contains("ann") && listed.contains("expires 20"),
        "{listed}"
    );
    assert!(
        !listed.contains(secret) && !listed.contains("loci_"),
        "{listed}"
    );
    place.run(&["token", "revoke", id]).succeeded();
    let tokens = place.rows(&["token", "list"]);
    assert_eq!(
        (tokens[0]["valid"].as_bool(), tokens[1]["valid"].as_bool()),
        (Some(false), Some(true))
    );
    place
        .run(&["token", "revoke", "nothing"])
        .failed(3, "nothing");
    place
        .run(&["token", "create", "--subject", "ann", "--expires", "soon"])
        .failed(2, "--expires");
    place
        .run(&["token", "create", "--subject", " "])
        .failed(2, "`subject`");
    for reserved in ["anonymous", "wiped-0123456789abcdef0123456789abcdef"] {
        place
            .run(&["token", "create", "--subject", reserved])
            .failed(2, "stands for callers without a name");
    }
}

#[test]
fn scripts_and_pages_are_made_without_a_store() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(
            place
                .run(&["completions", shell])
                .succeeded()
                .stdout
                .contains("loci")
        );
    }
    assert!(
        place
            .run(&["man"])
            .succeeded()
            .stdout
            .contains(".TH loci 1")
    );
    let notices = place.run(&["notices"]).succeeded().stdout;
    for of in [
        "all-MiniLM-L6-v2",
        "\nrusqlite 0.",
        "\ntokio 1.",
        "Permission is hereby granted, free of charge",
    ] {
        assert!(notices.contains(of), "{of}");
    }
    let pages = place.path("pages");
    place
        .run(&["man", "--out", pages.to_str().unwrap()])
        .succeeded();
    assert!(pages.join("loci-token-create.1").exists());
    assert!(!place.data().exists());
}

#[test]
fn a_reader_that_leaves_is_no_failure_to_talk_about() {
    let place = Place::new();
    // More than the buffer of a pipe.
    place
        .run_with_stdin(&["add", "-"], "many words ".repeat(50_000).as_bytes())
        .succeeded();
    let mut child = place.command(&["list"]).spawn().unwrap();
    let mut first = [0; 1];
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut first).unwrap();
    drop(stdout);
    assert_eq!(ended(child).stderr, "");
}

#[test]
fn a_reader_trusts_authors_until_told_otherwise() {
    let place = Place::new().with_store();
    let trusted = |arguments: &[&str]| {
        place
            .run(&[&["trust"], arguments].concat())
            .succeeded()
            .stdout
    };
    assert_eq!(trusted(&[]), "");
    assert_eq!(trusted(&["bob", "ann"]), "ann\nbob\n");
    assert_eq!(trusted(&["ann"]), "ann\nbob\n");
    assert_eq!(
        trusted(&["--reader", "carl"]),
        "",
        "each reader has its own"
    );
    assert_eq!(trusted(&["--space", "team"]), "", "in each space");
    assert_eq!(trusted(&["bob", "--remove"]), "ann\n");
    place.run(&["trust", "--remove"]).failed(2, "--remove");
    place.run(&["trust", " "]).failed(2, "author");
}

/// Returns the tools that `loci mcp` lists with these arguments.
fn listed_tools(arguments: &[&str]) -> Vec<Value> {
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }}});
    let arguments = [&["mcp"], arguments].concat();
    let listed = Place::new().run_with_stdin(&arguments, format!("{list}\n").as_bytes());
    let reply: Value = serde_json::from_str(&listed.succeeded().stdout).unwrap();
    reply["result"]["tools"].as_array().unwrap().clone()
}

#[test]
fn a_host_that_names_no_tool_set_has_mememory() {
    let tools = listed_tools(&[]);
    assert!(
        tools.iter().any(|tool| tool["name"] == "remember"),
        "{tools:?}"
    );
}

#[test]
fn a_host_may_have_tools_in_another_form() {
    let tools = listed_tools(&["engram", "--compact", "--prefix", "work"]);
    let has = |name: &str| tools.iter().any(|tool| tool["name"] == name);
    assert!(
        has("work_store_memory") && !has("store_memory"),
        "{tools:?}"
    );
    for tool in &tools {
        assert_eq!(tool.get("outputSchema"), None);
    }
    Place::new()
        .run(&["mcp", "engram", "--prefix", "my work"])
        .failed(2, "must be 1 to 32 letters");
}
