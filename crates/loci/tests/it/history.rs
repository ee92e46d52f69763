//! The history of memories, and the way back, by the commands.

use serde_json::{Value, json};

use crate::program::{Place, call};

fn recall_text(place: &Place, id: &str) -> String {
    let shown = place.json(&["show", id]);
    shown["content"].as_str().unwrap().to_owned()
}

fn update(place: &Place, id: &str, content: &str) {
    let reply = call(
        place,
        "mememory",
        "update",
        &json!({"id": id, "content": content}),
    );
    assert_ne!(reply["isError"], true, "{reply}");
}

/// The versions of a memory: the number, the tool and what changed of each.
fn versions(place: &Place, id: &str) -> Vec<(u64, String, Vec<String>)> {
    let history = place.json(&["history", id]);
    let words = |value: &Value| -> Vec<String> {
        let words = value.as_array().unwrap().iter();
        words.map(|it| it.as_str().unwrap().to_owned()).collect()
    };
    let version = |it: &Value| {
        let tool = it["tool"].as_str().unwrap_or_default().to_owned();
        (it["version"].as_u64().unwrap(), tool, words(&it["changed"]))
    };
    history["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(version)
        .collect()
}

#[test]
fn a_version_is_listed_compared_and_brought_back() {
    let place = Place::new();
    let id = place.add(&["The ferry leaves at seven", "--tags", "travel"]);
    update(&place, &id, "The ferry leaves at eight\nfrom pier two");
    place.run(&["forget", &id]).succeeded();
    place.run(&["unforget", &id]).succeeded();
    let row = |version: u64, tool: &str, changed: &[&str]| {
        let changed = changed.iter().map(|it| (*it).to_owned()).collect();
        (version, tool.to_owned(), changed)
    };
    assert_eq!(
        versions(&place, &id),
        [
            row(4, "unforget", &["brought back"]),
            row(3, "forget", &["forgotten"]),
            row(2, "update", &["text"]),
            row(1, "remember", &[]),
        ]
    );
    let text = place
        .run(&["history", &id[id.len() - 8..]])
        .succeeded()
        .stdout;
    assert!(text.contains("you by update in t"), "{text}");
    assert!(text.contains("stored"), "{text}");
    let diff = place.run(&["diff", &id, "1", "2"]).succeeded().stdout;
    for line in [
        "version 1 → 2: text\n",
        "- The ferry leaves at seven\n",
        "+ from pier two\n",
    ] {
        assert!(diff.contains(line), "{diff}");
    }
    let compared = place.json(&["diff", &id]);
    assert_eq!(compared["changed"], json!(["brought back"]));
    assert_eq!(compared["from"]["version"], 3);
    let restored = place.json(&["restore", &id, "1"]);
    assert_eq!(restored["content"], "The ferry leaves at seven");
    assert_eq!(versions(&place, &id)[0], row(5, "restore", &["text"]));
    // The change that restored it is taken back by its number.
    let change = place.json(&["history"])["changes"][0]["change"].clone();
    let change = change.as_str().unwrap();
    let dry = place.json(&["undo", change, "--dry-run"]);
    assert_eq!(
        (&dry["restored"], &dry["dry_run"]),
        (&json!([id]), &json!(true))
    );
    assert_eq!(recall_text(&place, &id), "The ferry leaves at seven");
    place.run(&["undo", change]).failed(2, "--yes");
    place.run(&["undo", change, "--yes"]).succeeded();
    assert!(recall_text(&place, &id).starts_with("The ferry leaves at eight"));
    place
        .run(&["restore", &id, "99"])
        .failed(2, "`VERSION` is no version");
    place.run(&["diff", &id, "99"]).failed(2, "loci history");
    place
        .run(&["history", "nothing-here"])
        .failed(3, "nothing-here");
    place
        .run(&["undo", "0000000000000001", "--yes"])
        .failed(3, "no change");
    for alone in [
        &["undo"][..],
        &["undo", "--since", "1h"],
        &["undo", "--yes"],
    ] {
        for way in ["--session", "--client", "--by", "--token", "ID"] {
            place.run(alone).failed(2, way);
        }
    }
}

#[test]
fn what_a_program_did_is_taken_back_days_later_but_for_later_changes() {
    let place = Place::new();
    let ids = ["one", "two"].map(|text| place.add(&[text]));
    update(&place, &ids[0], "one, but worse");
    update(&place, &ids[1], "two, but worse");
    let stored = call(
        &place,
        "mememory",
        "remember",
        &json!({"content": "The moon is made of cheese"}),
    );
    let new = stored["structuredContent"]["id"].as_str().unwrap();
    // A person decides about one of them.
    place.run(&["forget", &ids[1]]).succeeded();
    let client = ["undo", "--client", "t", "--yes"];
    let taken = place.json(&client);
    assert_eq!(taken["forgotten"], json!([new]));
    assert_eq!(taken["restored"], json!([ids[0]]));
    assert_eq!(taken["stands"][0]["id"], json!(ids[1]));
    assert_eq!(taken["stands"][0]["later"]["tool"], "forget");
    assert_eq!(recall_text(&place, &ids[0]), "one");
    place.run(&["show", new]).failed(3, new);
    let text = place.run(&client).succeeded().stdout;
    assert!(text.contains("it was changed later"), "{text}");
    // Another store or a time without changes has nothing to take back.
    let future = "2999-01-01";
    place
        .run(&["undo", "--client", "t", "--since", future, "--yes"])
        .failed(3, "no change");
    place
        .run(&["undo", "--by", "local", "--since", "soon"])
        .failed(2, "--since");
}

#[test]
fn what_was_known_is_asked_with_its_time() {
    let place = Place::new();
    let id = place.add(&["The ferry leaves at seven"]);
    let first = place.json(&["history", &id])["versions"][0]["at"].clone();
    let first = first.as_str().unwrap();
    update(&place, &id, "The ferry leaves at eight");
    let late = place.add(&["The ferry is blue"]);
    place.run(&["forget", &id]).succeeded();
    let shown = place.json(&["show", &id, "--as-of", first]);
    assert_eq!(shown["content"], "The ferry leaves at seven");
    let found = place.json(&["search", "when does the ferry leave?", "--as-of", first]);
    let texts: Vec<&Value> = found["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| &hit["memory"]["content"])
        .collect();
    assert_eq!(texts, ["The ferry leaves at seven"]);
    let listed = place.json(&["list", "--as-of", first]);
    assert_eq!(listed["memories"].as_array().unwrap().len(), 1, "{listed}");
    place
        .run(&["show", &late, "--as-of", first])
        .failed(3, "was not there");
    place
        .run(&["show", &id, "--as-of", "90d"])
        .failed(2, "`--as-of` lies before what is kept: `history_days`");
    for command in [&["list"][..], &["search", "ferry"], &["show", &late]] {
        let future = [command, &["--as-of", "2999-01-01"]].concat();
        place.run(&future).failed(2, "`--as-of` lies in the future");
    }
    place.run(&["list", "--as-of", "then"]).failed(2, "--as-of");
}

/// The structured reply to a call of mempalace's tool set.
fn graph(place: &Place, tool: &str, arguments: &Value) -> Value {
    let reply = call(place, "mempalace", tool, arguments);
    assert_ne!(reply["isError"], true, "{reply}");
    reply["structuredContent"].clone()
}

#[test]
fn facts_and_tunnels_have_a_history_and_a_way_back() {
    let place = Place::new();
    let fact = json!({"subject": "Ada", "predicate": "works at", "object": "Acme"});
    let added = graph(&place, "mempalace_kg_add", &fact);
    let id = added["triple_id"].as_str().unwrap();
    for room in ["design", "tests"] {
        let drawer = json!({"wing": "api", "room": room, "content": room});
        graph(&place, "mempalace_add_drawer", &drawer);
    }
    let ends = json!({"source_wing": "api", "source_room": "design", "target_wing": "api", "target_room": "tests",
        "label": "covers"});
    let tunnel = graph(&place, "mempalace_create_tunnel", &ends);
    let tunnel = tunnel["tunnel_id"].as_str().unwrap();
    let end =
        json!({"subject": "Ada", "predicate": "works at", "object": "Acme", "ended": "2026-01-31"});
    graph(&place, "mempalace_kg_invalidate", &end);
    graph(
        &place,
        "mempalace_delete_tunnel",
        &json!({"tunnel_id": tunnel}),
    );

    let history = place.json(&["history", id]);
    assert_eq!(history["kind"], "fact");
    let versions = history["versions"].as_array().unwrap();
    let row = |it: &Value| {
        (
            it["changed"].clone(),
            it["fact"]["valid_to"].clone(),
            it["stored"].clone(),
        )
    };
    let rows: Vec<_> = versions.iter().map(row).collect();
    assert_eq!(
        rows,
        [
            (json!(["ended"]), json!("2026-01-31"), json!(false)),
            (json!([]), Value::Null, json!(true)),
        ]
    );
    assert_eq!(versions[0]["tool"], "mempalace_kg_invalidate");
    let text = place.run(&["history", tunnel]).succeeded().stdout;
    assert!(text.contains("deleted\n      (deleted)"), "{text}");
    assert!(text.contains("api/design ↔ api/tests: covers"), "{text}");
    let diff = place.run(&["diff", id]).succeeded().stdout;
    assert!(diff.contains("ended\n- Ada works at Acme\n+ "), "{diff}");
    let number = versions[1]["version"].to_string();
    let restored = place.json(&["restore", id, &number]);
    assert_eq!(restored["changed"], json!(["open again"]));

    // A call that deleted a tunnel is found by its number and taken back.
    let changes = place.json(&["history"])["changes"].clone();
    let of_tunnel = changes.as_array().unwrap().iter();
    let mut of_tunnel = of_tunnel.filter(|it| it["tunnels"] == json!([tunnel]));
    let change = of_tunnel.next().unwrap()["change"]
        .as_str()
        .unwrap()
        .to_owned();
    let dry = place.json(&["undo", &change, "--dry-run"]);
    assert_eq!(dry["records"][0]["outcome"], "restored", "{dry}");
    let said = place.run(&["undo", &change, "--yes"]).succeeded().stdout;
    assert!(
        said.contains("tunnel api/design ↔ api/tests: restored"),
        "{said}"
    );
    let tunnels = graph(&place, "mempalace_list_tunnels", &json!({}));
    assert_eq!(tunnels["tunnels"][0]["label"], "covers", "{tunnels}");

    // All that the program did: the fact and the tunnel go, and so do the drawers.
    let taken = place.json(&["undo", "--client", "t", "--since", "1h", "--dry-run"]);
    assert_eq!(taken["forgotten"].as_array().unwrap().len(), 2, "{taken}");
    assert_eq!(
        taken["records"][0]["outcome"], "stands",
        "a person changed it later"
    );
    place.run(&["history", "t_missing"]).failed(3, "t_missing");
    place
        .run(&["restore", id, "99"])
        .failed(2, "`VERSION` is no version");
}
