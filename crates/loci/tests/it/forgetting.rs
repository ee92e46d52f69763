use serde_json::json;

use crate::program::{Place, call};

#[test]
fn a_forgotten_memory_comes_back_by_a_part_of_its_id() {
    let place = Place::new();
    let id = place.add(&["The deploy runs on Fridays", "--project", "acme"]);
    let untouched = place.run(&["unforget", &id]).succeeded();
    assert!(
        untouched.stderr.contains("was not forgotten"),
        "{}",
        untouched.stderr
    );
    place
        .run(&["forget", "--where", "--project", "acme", "--yes"])
        .succeeded();
    place.run(&["show", &id]).failed(3, &id);
    let again = place.run(&["forget", &id]).succeeded();
    assert!(again.stderr.contains("was forgotten before"), "{again:?}");
    let part = &id[id.len() - 8..];
    let back = place.run(&["unforget", part]).succeeded();
    assert!(back.stderr.contains(&format!("{id} is back")));
    assert_eq!(
        place.json(&["show", &id])["content"],
        "The deploy runs on Fridays"
    );
    assert_eq!(
        place.json(&["unforget", &id]),
        json!({"id": id, "unforgotten": false})
    );
    let forgot = place.run(&["forget", part]).succeeded();
    assert!(
        forgot.stderr.contains(&format!("loci unforget {id}")),
        "{forgot:?}"
    );
    place.run(&["show", &id]).failed(3, &id);
    place.run(&["unforget", &id]).succeeded();
    assert_eq!(
        place.json(&["forget", &id]),
        json!({"id": id, "forgotten": true})
    );
    let deleted = place.json(&["delete", part, "--forever", "--yes"]);
    assert_eq!(deleted, json!({"deleted": [id], "forgotten": []}));
    // The memory is gone; what held against its text goes, too.
    assert_eq!(
        place.json(&["unforget", &id]),
        json!({"id": id, "unforgotten": false, "lifted": 1})
    );
    place.run(&["unforget", &id]).failed(3, "deleted for good");
    let log = place.rows(&["audit", "--record", &id]);
    let calls: Vec<String> = log
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            format!(
                "{}/{} {}",
                entry["dialect"].as_str().unwrap(),
                entry["tool_name"].as_str().unwrap(),
                entry["records"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .find(|record| record["id"] == id.as_str())
                    .unwrap()["verb"]
                    .as_str()
                    .unwrap()
            )
        })
        .collect();
    assert_eq!(
        calls,
        [
            "mememory/remember stored",
            "loci/unforget read",
            "loci/forget deleted",
            "loci/forget read",
            "loci/unforget changed",
            "loci/unforget read",
            "loci/forget deleted",
            "loci/unforget changed",
            "loci/forget deleted",
            "loci/delete deleted",
        ]
    );
}

#[test]
fn what_is_deleted_for_good_is_said_before() {
    let place = Place::new();
    let id = place.add(&["The deploy runs on Fridays"]);
    place.write(
        "data/vault/tea.md",
        "---\nstatus: active\n---\nTea at four\n",
    );
    place.run(&["vault", "reconcile"]).succeeded();
    for words in [&["delete", &id][..], &["delete", &id, "--yes"]] {
        place
            .run(words)
            .failed(2, "add --forever")
            .failed(2, "loci forget ID");
    }
    let asked = place.run(&["delete", &id, "--forever"]);
    asked
        .failed(2, "The deploy runs on Fridays")
        .failed(2, "add --yes");
    place.run(&["show", &id]).succeeded();
    place.write("talk/a.jsonl", said("The lamp is green.", "a"));
    let mine = ["palace", "mine", "talk", "--mode", "convos", "--wing", "w"];
    place.run(&mine).succeeded();
    let lamp = place.add(&["The lamp is green.", "--again"]);
    let note = place.rows(&["search", "tea at four"])[0]["memory"]["id"].clone();
    let words = [
        "delete",
        &lamp,
        note.as_str().unwrap(),
        "--forever",
        "--yes",
    ];
    let deleted = place.run(&[&["--json"], &words[..]].concat()).succeeded();
    for part in [
        "The lamp is green.",
        "goes with it: 1 copy of its text from files",
        "a note: it is forgotten, and its file stays",
    ] {
        assert!(deleted.stderr.contains(part), "{part} in {deleted:?}");
    }
    let value: serde_json::Value = serde_json::from_str(&deleted.stdout).unwrap();
    assert_eq!(value, json!({"deleted": [lamp], "forgotten": [note]}));
    assert_eq!(place.json(&["stats"])["total"], 1);
    let text = std::fs::read_to_string(place.path("data/vault/tea.md")).unwrap();
    assert!(text.contains("status: deleted"), "{text}");
}

#[test]
fn what_matches_is_counted_forgotten_and_brought_back() {
    let place = Place::new();
    for number in 0..12 {
        place.add(&[
            &format!("text {number}"),
            "--project",
            "Acme Inc",
            "--tags",
            "old,ops",
        ]);
    }
    let other = place.add(&["Use tabs", "--tags", "ops"]);
    let before = place.rows(&["list", "--limit", "50"]);
    let conditions = [
        "--where",
        "--project",
        "acme inc",
        "--tag",
        "ops",
        "--tag",
        "old",
    ];
    let dry = place
        .run(&[&["forget"], &conditions[..]].concat())
        .succeeded();
    assert_eq!(dry.stdout.lines().count(), 10, "{}", dry.stdout);
    for said in [
        "read as `Acme Inc`",
        "12 memories would be forgotten",
        "2 are not shown",
        "--yes",
    ] {
        assert!(dry.stderr.contains(said), "{said} in {}", dry.stderr);
    }
    assert_eq!(place.rows(&["list", "--limit", "50"]), before);
    let value = place.json(&[&["forget"], &conditions[..]].concat());
    assert_eq!(
        (&value["dry_run"], &value["memories"]),
        (&json!(true), &json!(12))
    );
    assert_eq!(value["first"].as_array().unwrap().len(), 10);

    let forgot = place.json(&[&["forget"], &conditions[..], &["--yes"]].concat());
    assert_eq!(
        (&forgot["forgotten"], &forgot["of_others"], &forgot["kept"]),
        (&json!(12), &json!(0), &json!([]))
    );
    let left = place.rows(&["list"]);
    assert_eq!(
        (left.as_array().unwrap().len(), &left[0]["id"]),
        (1, &json!(other))
    );
    let undo = forgot["undo"].as_str().unwrap();
    assert!(
        undo.starts_with("loci unforget --where --project 'Acme Inc' --tags ops,old --since "),
        "{undo}"
    );
    let words = loci_words(undo);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let dry = place.run(&words[..words.len() - 1]).succeeded();
    assert!(
        dry.stderr.contains("12 memories would be brought back"),
        "{}",
        dry.stderr
    );
    let back = place.json(&words);
    assert_eq!(back["unforgotten"], 12);
    assert_eq!(place.rows(&["list", "--limit", "50"]), before);
    let none = place
        .run(&[&["unforget"], &conditions[..]].concat())
        .succeeded();
    assert!(none.stderr.contains("no memory matches"), "{}", none.stderr);
}

/// Returns a line of a transcript of Claude Code.
fn said(text: &str, session: &str) -> String {
    let event = json!({
        "type": "user",
        "message": {"role": "user", "content": text},
        "sessionId": session,
        "cwd": "/srv/orchard",
    });
    format!("{event}\n")
}

#[test]
fn what_was_said_and_forgotten_comes_back_only_when_asked_for() {
    let place = Place::new();
    let (plum, pear) = ("The plum tree is ill.", "The pear tree is well.");
    place.write("talk/a.jsonl", said(plum, "a") + &said(pear, "a"));
    place.write("talk/fork.jsonl", said(plum, "b"));
    let mine = |more: &[&str]| {
        let words = ["palace", "mine", "talk", "--mode", "convos", "--wing", "w"];
        place.json(&[&words[..], more].concat())["drawers"].clone()
    };
    let texts = || -> Vec<String> {
        let all = place.rows(&["list"]);
        let texts = all.as_array().unwrap().iter();
        let mut texts: Vec<String> = texts
            .map(|it| it["content"].as_str().unwrap().to_owned())
            .collect();
        texts.sort();
        texts
    };
    let id_of = |text: &str| {
        let all = place.rows(&["list"]);
        let mut all = all.as_array().unwrap().iter();
        let found = all.find(|it| it["content"] == text).unwrap();
        found["id"].as_str().unwrap().to_owned()
    };
    mine(&[]);
    let archive = place.path("all.jsonl");
    let archive = archive.to_str().unwrap();
    place.run(&["export", archive]).succeeded();
    let id = id_of(plum);
    let for_good = ["--forever", "--yes"];
    place
        .run(&[&["delete", &id], &for_good[..]].concat())
        .succeeded();
    assert_eq!(texts(), [pear]);
    // Rewritten under another session, with more in it.
    place.write(
        "talk/a.jsonl",
        said(plum, "c") + &said(pear, "c") + &said("Yes.", "c"),
    );
    let drawers = mine(&[]);
    assert!(drawers["forgotten"].as_u64().unwrap() > 0, "{drawers}");
    let ended = place.run(&[
        "palace", "mine", "talk", "--mode", "convos", "--wing", "w", "--reread",
    ]);
    assert!(
        ended.stdout.contains("stay forgotten; --again"),
        "{ended:?}"
    );
    assert!(!texts().contains(&plum.to_owned()));
    let imported = place.json(&["import", archive]);
    assert!(imported["forgotten"].as_u64().unwrap() > 0, "{imported}");
    assert!(!texts().contains(&plum.to_owned()));
    // An archive of now takes what holds along.
    let now = place.path("now.jsonl");
    place.run(&["export", now.to_str().unwrap()]).succeeded();
    let there = Place::new();
    there.run(&["import", now.to_str().unwrap()]).succeeded();
    let list = place.write(
        "list.json",
        json!([{"content": plum, "visibility": "private"}]).to_string(),
    );
    let list = list.to_str().unwrap();
    assert_eq!(there.json(&["import", list])["forgotten"], 1);
    assert_eq!(there.json(&["import", "--again", list])["stored"], 1);
    // Lifted, it is read again without a change of the file.
    assert_eq!(place.json(&["unforget", &id])["unforgotten"], false);
    mine(&[]);
    assert!(texts().contains(&plum.to_owned()));
    place
        .run(&[&["delete", &id_of(plum)], &for_good[..]].concat())
        .succeeded();
    mine(&["--again"]);
    assert!(texts().contains(&plum.to_owned()));
}

/// Returns the arguments in a command that loci printed.
fn loci_words(command: &str) -> Vec<String> {
    let words = command.split('\'').enumerate();
    let words = words.flat_map(|(index, part)| {
        if index % 2 == 1 {
            vec![part.to_owned()]
        } else {
            part.split_whitespace().map(str::to_owned).collect()
        }
    });
    words.skip(1).collect()
}

#[test]
fn what_was_made_from_a_file_is_forgotten_with_its_folder() {
    let place = Place::new();
    place.write("project/docs/a.md", "# One\n\nThe harbour opens at six.\n");
    place.write("project/src/b.md", "# Two\n\nThe tower is painted white.\n");
    place.run(&["palace", "mine", "project"]).succeeded();
    let count = |arguments: &[&str]| place.json(arguments)["memories"].as_u64().unwrap();
    assert_eq!(count(&["forget", "--where", "--source", "project"]), 2);
    assert_eq!(
        count(&["forget", "--where", "--source", "project/docs/a.md"]),
        1
    );
    let absent = place.path("project/doc");
    let absent = absent.to_str().unwrap();
    assert_eq!(count(&["forget", "--where", "--source", absent]), 0);
    std::fs::remove_file(place.path("project/docs/a.md")).unwrap();
    let forgot = place.json(&["forget", "--where", "--source", "project/docs", "--yes"]);
    assert_eq!(forgot["forgotten"], 1);
    assert_eq!(place.json(&["stats"])["total"], 1);
    place.run(&["palace", "mine", "project"]).succeeded();
    assert_eq!(place.json(&["stats"])["total"], 1);
}

#[test]
fn a_note_is_forgotten_and_brought_back_in_its_file() {
    let place = Place::new();
    let file = place.write(
        "data/vault/tea.md",
        "---\nmood: calm # so\n---\nTea at four\n",
    );
    place.run(&["vault", "reconcile"]).succeeded();
    let forgot = place.json(&["forget", "--where", "--project", "global", "--yes"]);
    assert_eq!(forgot["forgotten"], 1);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("status: deleted"), "{text}");
    assert_eq!(place.json(&["stats"])["total"], 0);
    let back = place.json(&["unforget", "--where", "--since", "1h", "--yes"]);
    assert_eq!(back["unforgotten"], 1);
    let text = std::fs::read_to_string(&file).unwrap();
    for line in ["status: active", "mood: calm # so", "Tea at four"] {
        assert!(text.contains(line), "{line} in {text}");
    }
    assert_eq!(place.json(&["stats"])["total"], 1);

    std::fs::write(&file, text.replace("mood:", "mood: [")).unwrap();
    let kept = place.run(&[
        "--json",
        "forget",
        "--where",
        "--project",
        "global",
        "--yes",
    ]);
    let kept = kept.failed(1, "the note was not changed");
    assert!(kept.stdout.contains("\"forgotten\": 0"), "{}", kept.stdout);
}

#[test]
fn conditions_that_make_no_sense_are_refused() {
    let place = Place::new();
    place.add(&["Use tabs"]);
    let rows: [(&[&str], &str); 15] = [
        (&["forget"], "<ID>"),
        (&["forget", "--where"], "--where needs a condition"),
        (&["forget", "--where", "--yes"], "--where needs a condition"),
        (&["unforget", "--where"], "--since"),
        (
            &["forget", "abc", "--where", "--project", "x"],
            "cannot be used with",
        ),
        (&["forget", "abc", "--yes"], "cannot be used with"),
        (&["forget", "abc", "--project", "x"], "cannot be used with"),
        (&["unforget", "abc", "--since", "1h"], "cannot be used with"),
        (&["forget", "--yes"], "--where"),
        (&["forget", "--where", "--source", "absent"], "absent"),
        (&["forget", "--project", "x"], "--where"),
        (&["forget", "--where", "--since", "1h"], "--since"),
        (&["forget", "--where", "--before", "someday"], "--before"),
        (&["unforget", "--where", "--since", "someday"], "--since"),
        (&["forget", "--where", "--tags", ""], "tags"),
    ];
    for (arguments, said) in rows {
        place.run(arguments).failed(2, said);
    }
    assert_eq!(place.json(&["stats"])["total"], 1);
    assert_eq!(
        place.json(&["forget", "--where", "--before", "2000-01-01"])["memories"],
        0
    );
}

#[test]
fn what_an_agent_deleted_comes_back() {
    let place = Place::new();
    let talk = |name: &str, text: &str| {
        let messages = json!([{"role": "human", "content": text}]);
        let arguments = json!({"user_id": "local", "conversation": name, "messages": messages});
        call(&place, "memory-mcp", "store_memory", &arguments)["structuredContent"]["stm_ids"][0]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let tea = talk("trip", "We drink the tea at four o'clock on the boat");
    talk("trip", "yes");
    talk("home", "no");
    let delete = |which: serde_json::Value| {
        let mut arguments = json!({"user_id": "local"});
        for (name, value) in which.as_object().unwrap() {
            arguments[name] = value.clone();
        }
        call(&place, "memory-mcp", "delete_memory", &arguments)["structuredContent"].clone()
    };
    let back = |deleted: &serde_json::Value, count: u64| {
        let notice = deleted["notice"].as_str().unwrap();
        let command = notice.split('`').nth(1).unwrap().strip_prefix("loci ");
        let words: Vec<&str> = command.unwrap().split(' ').collect();
        let value = place.json(&words);
        assert_eq!(value["unforgotten"], json!(count), "{notice}: {value}");
    };
    let deleted = delete(json!({"conversation": "trip", "confirm": true}));
    assert_eq!(deleted["deleted_count"], 3);
    let seen = place.json(&["unforget", "--where", "--conversation", "trip"]);
    assert_eq!(
        (&seen["memories"], &seen["dry_run"]),
        (&json!(3), &json!(true))
    );
    back(&deleted, 3);
    let deleted = delete(json!({"memory_id": tea}));
    let notice = deleted["notice"].as_str().unwrap();
    assert!(
        notice.contains(&format!("`loci unforget {tea}`")),
        "{notice}"
    );
    let why = place.json(&["why", "when is the tea", &tea]);
    assert_eq!(why["cause"], "deleted", "{why}");
    let value = place.json(&["unforget", &tea[tea.len() - 8..]]);
    assert_eq!(value, json!({"id": tea, "unforgotten": true}));
    let found = place.rows(&["search", "when is the tea"]);
    assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
    place
        .run(&["unforget", &tea])
        .failed(3, "no forgotten memory");
    place
        .run(&["unforget", "--where", "--conversation", "home"])
        .succeeded();
    place
        .run(&["unforget", &tea, "--conversation", "home"])
        .failed(2, "--conversation");
}
