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
    place.run(&["restore", &id, "99"]).failed(2, "these are");
    place.run(&["diff", &id, "99"]).failed(2, "loci history");
    place
        .run(&["history", "nothing-here"])
        .failed(3, "nothing-here");
    place
        .run(&["undo", "0000000000000001", "--yes"])
        .failed(3, "no change");
    place.run(&["undo"]).failed(2, "--session");
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
        .failed(2, "history_days");
    place
        .run(&["list", "--as-of", "2999-01-01"])
        .failed(2, "future");
    place.run(&["list", "--as-of", "then"]).failed(2, "--as-of");
}
