//! Private records of others stay out of the local user's view, and of what its agents send on.

use serde_json::{Value, json};

use crate::program::Place;

/// Stores a private memory of another user, as an agent of that user does.
fn private_of_ann(place: &Place) -> String {
    let token = [
        "token",
        "create",
        "--subject",
        "ann",
        "--scopes",
        "read,write",
    ];
    let token = place.json(&token)["token"].as_str().unwrap().to_owned();
    let server = crate::servers::Server::start(place, &[]);
    let record = json!({"content": "the walrus sleeps at noon", "scope": "zoo",
        "source": "user-said", "category": "convention"});
    let stored = server.call_in("engram", &token, "store_memory", &record);
    stored["id"].as_str().unwrap().to_owned()
}

#[test]
fn names_in_a_store_without_other_users_hide_nothing() {
    let place = Place::new();
    let line = json!({"content": "the walrus sleeps", "visibility": "private", "owner": "ann"});
    let file = place.write("lines.jsonl", line.to_string());
    place.json(&["import", file.to_str().unwrap()]);
    let shown = |words: &[&str]| place.run(words).stdout.contains("walrus");
    assert!(shown(&["list"]));
    // A token makes a user, and a revoked one was one.
    let token = place.json(&["token", "create", "--subject", "ann"]);
    assert!(!shown(&["list"]) && shown(&["list", "--all-users"]));
    let id = token["id"].as_str().unwrap();
    place.run(&["token", "revoke", id]).succeeded();
    assert!(!shown(&["list"]));
}

#[test]
fn the_local_user_sees_what_others_keep_private_only_by_a_deliberate_step() {
    let place = Place::new();
    let id = private_of_ann(&place);
    place.add(&["the seal swims at noon"]);
    let begun = place.run(&["bootstrap"]);
    assert!(!begun.stdout.contains("walrus"), "{}", begun.stdout);
    let rows: [&[&str]; 4] = [
        &["search", "what happens at noon"],
        &["list"],
        &["show", &id],
        &["forget", "--where", "--project", "zoo"],
    ];
    for words in rows {
        let usual = place.run(words);
        let text = usual.stdout + &usual.stderr;
        assert!(!text.contains("walrus"), "{words:?}: {text}");
        let all = place.run(&[words, &["--all-users"]].concat()).succeeded();
        assert!(all.stdout.contains("walrus"), "{words:?}: {}", all.stdout);
    }
    // What is forgotten in bulk is not another user's.
    place
        .run(&["forget", "--where", "--project", "zoo", "--yes"])
        .succeeded();
    place.run(&["show", &id, "--all-users"]).succeeded();
    place.run(&["forget", &id]).failed(3, "no memory");
    // An agent on standard input, and the start of a session.
    let call = |tool: &str, arguments: Value| {
        let params = json!({"name": tool, "arguments": arguments, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let input = format!("{call}\n");
        let answer = place.run_with_stdin(&["mcp", "mememory"], input.as_bytes());
        answer.succeeded().stdout
    };
    for (tool, arguments) in [
        ("recall", json!({"query": "what happens at noon"})),
        ("list", json!({})),
    ] {
        let answer = call(tool, arguments);
        assert!(!answer.contains("walrus"), "{answer}");
    }
    for event in ["session-start", "prompt"] {
        let input = json!({"session_id": "s", "cwd": place.path(""), "transcript_path": null,
            "prompt": "what happens at noon?", "hook_event_name": event});
        let words = ["hook", "run", "--host", "claude-code", "--event", event];
        let shown = place.run_with_stdin(&words, input.to_string().as_bytes());
        assert!(
            !shown.stdout.contains("walrus"),
            "{event}: {}",
            shown.stdout
        );
    }
}
