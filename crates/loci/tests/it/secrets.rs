//! Secrets in mined, written and stored texts. Those used here are put together when a test runs.

use std::fs;

use serde_json::{Value, json};

use crate::program::{Place, call};

fn token() -> String {
    ["ghp", "_", &"9aZ3".repeat(9)].concat()
}

fn private_key() -> String {
    let dashes = "-".repeat(5);
    let body = "q7Xw2PzL9vKd4TnBe5RgYh8c".repeat(3);
    format!("{dashes}BEGIN PRIVATE KEY{dashes}\n{body}\n{body}\n{dashes}END PRIVATE KEY{dashes}\n")
}

/// Returns an export, with the content and the attributes of every memory.
fn exported(place: &Place) -> String {
    place.run(&["export", "-"]).succeeded().stdout
}

/// Returns true if the files of the store contain the secret.
fn holds(place: &Place, secret: &str) -> bool {
    let files = fs::read_dir(place.data())
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.is_file());
    let contains = |bytes: &[u8]| {
        bytes
            .windows(secret.len())
            .any(|window| window == secret.as_bytes())
    };
    files
        .into_iter()
        .any(|path| contains(&fs::read(path).unwrap()))
}

fn project(place: &Place) -> String {
    place.write("project/.env", "HIDDEN=1\n");
    place.write(
        "project/deploy.md",
        format!("# Deploy\n\nexport GITHUB_TOKEN={}\n", token()),
    );
    place.write(
        "project/keys.md",
        format!("# Key\n\n{}\n# After\n\nThe end.\n", private_key()),
    );
    place.write(
        "project/notes.md",
        "# Notes\n\nseen <private>by no one\nelse</private> here\n",
    );
    place.write("project/plain.md", "# Plain\n\nNothing to hide.\n");
    place.path("project").to_str().unwrap().to_owned()
}

#[test]
fn what_is_mined_is_stored_without_its_secrets() {
    let place = Place::new();
    let root = project(&place);
    let dry = place.json(&["palace", "mine", &root, "--dry-run"]);
    let mined = place.json(&["palace", "mine", &root]);
    let counts = json!({"github-token": 1, "private": 1, "private-key": 1});
    assert_eq!((&dry["redacted"], &mined["redacted"]), (&counts, &counts));
    let export = exported(&place);
    assert!(
        export.contains("GITHUB_TOKEN=[redacted: github-token]") && export.contains("seen  here"),
        "{export}"
    );
    assert!(
        export.contains("\"redacted\":\"github-token 1\""),
        "{export}"
    );
    for secret in [token().as_str(), "q7Xw2PzL9vKd4TnB", "by no one"] {
        assert!(
            !export.contains(secret) && !holds(&place, secret),
            "{secret}"
        );
    }
    // The line numbers are the file's.
    let after = export
        .lines()
        .find(|line| line.contains("The end."))
        .unwrap();
    let lines: Value =
        serde_json::from_str::<Value>(after).unwrap()["memory"]["attributes"]["lines"].clone();
    let range = lines.as_str().unwrap().to_owned();
    assert!(range.ends_with("-10"), "{range}");
    let stats = place.json(&["stats"]);
    assert_eq!(stats["redacted"], counts);
    assert!(
        place
            .run(&["stats"])
            .succeeded()
            .stdout
            .contains("redacted: github-token 1, private 1, private-key 1")
    );

    // Reading it again finds the same drawers.
    let again = place.json(&["palace", "mine", &root, "--reread"]);
    assert_eq!(
        (&again["drawers"]["added"], &again["drawers"]["removed"]),
        (&json!(0), &json!(0))
    );
    let text = place
        .run(&["palace", "mine", &root, "--reread"])
        .succeeded()
        .stdout;
    assert!(
        text.contains(
            "redacted  github-token 1, private 1, private-key 1; --verbatim keeps such secrets"
        ),
        "{text}"
    );
}

#[test]
fn verbatim_keeps_everything_until_doctor_takes_it_out() {
    let place = Place::new();
    let root = project(&place);
    let mined = place.json(&["palace", "mine", &root, "--verbatim"]);
    assert_eq!(mined["redacted"], json!({}));
    place.add(&[&format!("the key is {}", token())]);
    place.write(
        "data/vault/note.md",
        format!("# Note\n\nAPI_TOKEN={}\n", token()),
    );
    assert!(exported(&place).contains("by no one") && holds(&place, &token()));

    let looked = place.run(&["--json", "doctor", "--secrets"]).succeeded();
    assert!(!looked.stdout.contains(&token()), "{}", looked.stdout);
    let looked: Value = serde_json::from_str(&looked.stdout).unwrap();
    assert_eq!(
        looked["secrets"],
        json!({"github-token": 3, "private": 1, "private-key": 1})
    );
    let holders = |value: &Value| -> Vec<String> {
        let mut holders: Vec<String> = value["found"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["holder"].as_str().unwrap().to_owned())
            .collect();
        holders.sort();
        holders
    };
    assert_eq!(
        holders(&looked),
        ["memory", "memory", "memory", "memory", "note"]
    );
    assert_eq!(looked["redacted"], 0);
    place
        .run(&["doctor", "--secrets", "--redact"])
        .failed(2, "--yes");
    assert!(exported(&place).contains("by no one"));

    let redacted = place.json(&["doctor", "--secrets", "--redact", "--yes"]);
    assert_eq!(redacted["redacted"], 4);
    for secret in ["q7Xw2PzL9vKd4TnB", "by no one"] {
        assert!(
            !exported(&place).contains(secret) && !holds(&place, secret),
            "{secret}"
        );
    }
    let left = place.json(&["doctor", "--secrets"]);
    assert_eq!(holders(&left), ["note"]);
    assert_eq!(left["found"][0]["id"], "note.md");
    // Mining it again, without the secrets, finds the rewritten drawers.
    let again = place.json(&["palace", "mine", &root, "--reread"]);
    assert_eq!(
        (&again["drawers"]["added"], &again["drawers"]["removed"]),
        (&json!(0), &json!(0)),
        "{again}"
    );
}

#[test]
fn the_setting_decides_what_is_redacted() {
    let secret = token();
    for (setting, of_files, of_tools) in [
        ("mined", true, false),
        ("all", true, true),
        ("none", false, false),
    ] {
        let place = Place::new().with("LOCI_REDACT_SECRETS", setting);
        place.write("project/a.md", format!("of a file: {secret}\n"));
        place.json(&["palace", "mine", place.path("project").to_str().unwrap()]);
        let added = place
            .run(&["add", &format!("of a tool: {secret}")])
            .succeeded();
        let params = json!({"name": "recall", "arguments": {"query": format!("where is {secret}")}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        place
            .run_with_stdin(&["mcp", "mememory"], format!("{call}\n").as_bytes())
            .succeeded();
        let export = exported(&place);
        let is_redacted = |what: &str| !export.contains(&format!("{what}: {secret}"));
        assert_eq!(
            (is_redacted("of a file"), is_redacted("of a tool")),
            (of_files, of_tools),
            "{setting}"
        );
        assert_eq!(
            added
                .stderr
                .contains("secrets were taken out before anything was stored: github-token 1"),
            of_tools
        );
        let audit = place.run(&["--json", "audit"]).succeeded().stdout;
        assert!(audit.contains("where is "), "{audit}");
        assert_eq!(audit.contains(&secret), !of_tools, "{setting}: {audit}");
        assert_eq!(holds(&place, &secret), !of_tools, "{setting}");
    }
}

#[test]
fn names_that_hold_a_secret_are_refused_and_no_reply_holds_one() {
    let secret = token();
    let name = format!("of {secret}");
    let place = Place::new().with("LOCI_REDACT_SECRETS", "all");
    let message = json!([{"role": "user", "content": "hello"}]);
    for (dialect, tool, argument, arguments) in [
        (
            "mempalace",
            "mempalace_add_drawer",
            "wing",
            json!({"wing": name, "room": "r", "content": "c"}),
        ),
        (
            "mempalace",
            "mempalace_add_drawer",
            "room",
            json!({"wing": "w", "room": name, "content": "c"}),
        ),
        (
            "mempalace",
            "mempalace_diary_write",
            "agent_name",
            json!({"agent_name": name, "entry": "e"}),
        ),
        (
            "mememory",
            "remember",
            "project",
            json!({"content": "c", "project": name}),
        ),
        (
            "engram",
            "store_memory",
            "scope",
            json!({"content": "c", "scope": name, "source": "user-said", "category": "gotcha"}),
        ),
        (
            "memory-mcp",
            "store_memory",
            "conversation_id",
            json!({"user_id": "ann", "conversation_id": name, "messages": message}),
        ),
        (
            "vault",
            "memory_append",
            "idempotency_key",
            json!({"title": "t", "body": "b", "idempotency_key": name}),
        ),
    ] {
        let reply = call(&place, dialect, tool, &arguments);
        let text = reply.to_string();
        assert!(
            reply["isError"] == true && text.contains(&format!("`{argument}` holds a secret")),
            "{text}"
        );
        assert!(!text.contains(&secret), "{text}");
    }
    let drawer = json!({"wing": "w", "room": "r", "content": "tagged"});
    let drawer = call(&place, "mempalace", "mempalace_add_drawer", &drawer);
    let drawer = &drawer["structuredContent"]["drawer_id"];
    let entry = json!({"agent_name": "a", "entry": "e", "topic": name});
    let reply = call(&place, "mempalace", "mempalace_diary_write", &entry);
    assert_eq!(
        reply["structuredContent"]["topic"], "of [redacted: github-token]",
        "{reply}"
    );
    let wing = json!({"drawer_id": drawer, "wing": name});
    let reply = call(&place, "mempalace", "mempalace_update_drawer", &wing);
    assert!(
        reply.to_string().contains("`wing` holds a secret"),
        "{reply}"
    );
    let content = json!({"drawer_id": drawer, "content": format!("now {secret}")});
    let reply = call(&place, "mempalace", "mempalace_update_drawer", &content).to_string();
    assert!(
        reply.contains("taken out before anything was stored: github-token 1"),
        "{reply}"
    );
    let note = json!({"title": format!("t {secret}"), "body": "b", "idempotency_key": "one"});
    for _ in 0..2 {
        let reply = call(&place, "vault", "memory_append", &note);
        assert_eq!(
            reply["structuredContent"]["title"], "t [redacted: github-token]",
            "{reply}"
        );
        assert!(!reply.to_string().contains(&secret), "{reply}");
    }
    assert!(!exported(&place).contains(&secret) && !holds(&place, &secret));
}

#[test]
fn files_about_marks_of_what_is_private_are_mined_whole() {
    let place = Place::new();
    let text = "# Log\n\nname: <private>\nhost: `<private>`\n\nafter `</private>` it\n\n<private>hidden</private>\n";
    place.write("project/log.md", text);
    let mined = place.json(&["palace", "mine", place.path("project").to_str().unwrap()]);
    assert_eq!(mined["redacted"], json!({"private": 1}));
    let export = exported(&place);
    assert!(
        export.contains("after `</private>` it") && !export.contains("hidden"),
        "{export}"
    );
    // A closing tag that stayed is not a secret for the doctor either.
    assert_eq!(place.json(&["doctor", "--secrets"])["secrets"], json!({}));
}

#[test]
fn hooks_save_what_was_said_without_its_secrets() {
    let secret = token();
    let said = |text: &str| {
        let message = json!({"role": "user", "content": text});
        format!(
            "{}\n",
            json!({"type": "user", "message": message, "sessionId": "s"})
        )
    };
    for is_verbatim in [false, true] {
        let place = Place::new();
        let lines = [
            said(&format!("my key is {secret}")),
            said("<private>all of it</private>"),
        ]
        .concat();
        let transcript = place.write("session.jsonl", lines);
        let input = json!({"transcript_path": transcript, "cwd": place.path("")}).to_string();
        let arguments = ["hook", "run", "--host", "claude-code", "--event", "stop"];
        let verbatim: &[&str] = if is_verbatim { &["--verbatim"] } else { &[] };
        place
            .run_with_stdin(&[&arguments, verbatim].concat(), input.as_bytes())
            .succeeded();
        let export = exported(&place);
        for secret in [secret.as_str(), "all of it"] {
            assert_eq!(export.contains(secret), is_verbatim, "{secret}");
        }
        assert_eq!(
            export.contains("my key is [redacted: github-token]"),
            !is_verbatim
        );
    }
}
