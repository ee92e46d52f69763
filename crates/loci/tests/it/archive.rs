//! `loci export` and `loci import`, in both directions.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::program::Place;

/// Calls tools of a dialect in one process; returns their replies.
fn call(place: &Place, dialect: &str, calls: &[(&str, Value)]) -> Vec<Value> {
    let mut lines = String::new();
    for (number, (tool, arguments)) in calls.iter().enumerate() {
        let params = json!({"name": tool, "arguments": arguments, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }});
        lines += &format!(
            "{}\n",
            json!({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
        );
    }
    let ended = place
        .run_with_stdin(&["mcp", dialect], lines.as_bytes())
        .succeeded();
    let mut replies: Vec<Value> = ended
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    replies.sort_by_key(|reply| reply["id"].as_u64());
    assert_eq!(replies.len(), calls.len(), "{ended:?}");
    let result = |mut reply: Value| {
        assert_ne!(reply["result"]["isError"], json!(true), "{reply}");
        reply["result"].take()
    };
    replies.into_iter().map(result).collect()
}

/// Puts an old file among the notes, so that no process waits for the end of its writing.
fn put_note(place: &Place, path: &str, bytes: &[u8]) {
    let path = place.write(&format!("data/vault/{path}"), bytes);
    let modified = UNIX_EPOCH + Duration::from_nanos(1_700_000_000_123_456_789);
    File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_modified(modified)
        .unwrap();
}

fn filled() -> Place {
    let place = Place::new();
    place.add(&[
        "The deploy runs on Fridays",
        "--project",
        "acme",
        "--tags",
        "ops, ci",
        "--weight",
        "0.3",
    ]);
    let id = place.add(&["Use tabs\r\n\r\n---\n  and no end", "--type", "rule"]);
    call(
        &place,
        "mememory",
        &[("forget", json!({"id": place.add(&["Gone"])}))],
    );
    let later = json!({"content": "Use spaces \u{2028}", "supersedes": id});
    call(&place, "mememory", &[("remember", later)]);
    let fact = |object: &str| {
        (
            "mempalace_kg_add",
            json!({"subject": "Ann", "predicate": "keeps", "object": object}),
        )
    };
    call(&place, "mempalace", &[fact("bees"), fact("wasps")]);
    put_note(
        &place,
        "Tea.md",
        b"---\nuid: 019aa3c4-5f0e-7000-8000-000000000001\ntags: [tea]\n---\nTea at four. [[deep]]\n",
    );
    put_note(
        &place,
        "a/deep.md",
        "no frontmatter, CR LF\r\nand 日本".as_bytes(),
    );
    put_note(&place, "odd.md", b"\xff\xfe no text");
    place.run(&["vault", "reconcile"]).succeeded();
    place
}

/// Returns an export without the moment in its first line.
fn export(place: &Place) -> String {
    let ended = place.run(&["export", "-"]).succeeded();
    assert_eq!(ended.stderr, "");
    let (header, rest) = ended.stdout.split_once('\n').unwrap();
    assert!(
        header.starts_with(r#"{"loci":"export","version":1,"exported_at":""#),
        "{header}"
    );
    to_microseconds(rest)
}

/// Returns the text with times of files to the microsecond: the digits below tell apart changes, and
/// a file that was put back was changed.
fn to_microseconds(text: &str) -> String {
    const TIME: &str = "\"modified_nanoseconds\":";
    let mut parts = text.split(TIME);
    let mut left = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(0);
        let (time, rest) = part.split_at(end);
        left += TIME;
        left += &time[..end.saturating_sub(3)];
        left += "000";
        left += rest;
    }
    left
}

fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(
                files(&entry.path())
                    .into_iter()
                    .map(|file| format!("{name}/{file}")),
            );
        } else {
            found.push(name);
        }
    }
    found.sort();
    found
}

#[test]
fn everything_comes_back_from_both_formats() {
    let here = filled();
    let before = export(&here);
    let end: Value = serde_json::from_str(before.lines().last().unwrap()).unwrap();
    assert_eq!(
        end,
        json!({"end": {"records": {"fact": 2, "memory": 5, "note_file": 3, "tombstone": 2}}})
    );
    let (file, folder) = (here.path("all.jsonl"), here.path("all"));
    let exported = here.json(&["export", file.to_str().unwrap()]);
    assert_eq!(
        exported,
        json!({"exported": {"fact": 2, "memory": 5, "note_file": 3, "tombstone": 2}, "left_out": []})
    );
    here.run(&["export", "--format", "markdown", folder.to_str().unwrap()])
        .succeeded();
    let markdown = files(&folder);
    for name in [
        "notes/Tea.md",
        "notes/a/deep.md",
        "notes/odd.md",
        "records.jsonl",
    ] {
        assert!(markdown.contains(&name.to_owned()), "{markdown:?}");
    }
    assert_eq!(
        markdown
            .iter()
            .filter(|name| name.starts_with("main/"))
            .count(),
        5,
        "{markdown:?}"
    );
    assert!(
        markdown
            .iter()
            .any(|name| name.starts_with("main/acme/fact/the-deploy-runs-on-fridays-"))
    );

    for from in [&file, &folder] {
        let there = Place::new();
        let imported = there.json(&["import", from.to_str().unwrap()]);
        assert_eq!(
            (
                &imported["stored"],
                &imported["present"],
                &imported["refused"],
                &imported["notes"]["written"]
            ),
            (&json!(12), &json!(0), &json!(0), &json!(3)),
            "{imported}"
        );
        assert_eq!(export(&there), before, "{}", from.display());
        for note in ["Tea.md", "a/deep.md", "odd.md"] {
            let bytes = |place: &Place| fs::read(place.data().join("vault").join(note)).unwrap();
            assert_eq!(bytes(&there), bytes(&here), "{note}");
        }
        assert_eq!(there.rows(&["list"]), here.rows(&["list"]));
        let check = |place: &Place| place.run(&["--json", "vault", "check"]).stdout;
        assert_eq!(check(&there), check(&here));
        assert_eq!(
            there.json(&["vault", "status"])["notes"],
            here.json(&["vault", "status"])["notes"]
        );
        // The second import finds everything present.
        let again = there.json(&["import", from.to_str().unwrap()]);
        assert_eq!(
            (&again["stored"], &again["present"], &again["notes"]["same"]),
            (&json!(0), &json!(12), &json!(3)),
            "{again}"
        );
        assert_eq!(export(&there), before, "{}", from.display());
    }
}

#[test]
fn what_is_there_stays_and_is_named() {
    let here = filled();
    let file = here.path("all.jsonl");
    here.run(&["export", file.to_str().unwrap()]).succeeded();
    let there = Place::new();
    put_note(
        &there,
        "Tea.md",
        b"---\nuid: 019aa3c4-5f0e-7000-8000-000000000002\n---\nmy own tea",
    );
    put_note(&there, "a/deep.md", b"written anew");
    let imported = there.json(&["import", file.to_str().unwrap()]);
    assert_eq!(
        imported["notes"]["others"],
        json!(["Tea.md", "a/deep.md"]),
        "{imported}"
    );
    let text = |note: &str| fs::read_to_string(there.data().join("vault").join(note)).unwrap();
    assert!(text("Tea.md").ends_with("my own tea") && text("a/deep.md") == "written anew");
    // A note with another identity is a separate one, and the text of the first is not lost.
    let listed = there.rows(&["list"]).to_string();
    for words in ["my own tea", "Tea at four", "written anew"] {
        assert!(listed.contains(words), "{words}: {listed}");
    }
    assert!(
        !listed.contains("no frontmatter"),
        "its file says something else by now: {listed}"
    );
}

#[test]
fn an_export_that_is_not_whole_is_told() {
    let here = filled();
    let whole = here.run(&["export", "-"]).succeeded().stdout;
    let lines: Vec<&str> = whole.lines().collect();
    let import = |text: &str| {
        let there = Place::new().with_store();
        let ended = there.run_with_stdin(&["--json", "import", "-"], text.as_bytes());
        let memories = there.json(&["stats"])["store"]["memories"]
            .as_u64()
            .unwrap();
        (ended, memories)
    };
    let (ended, memories) = import(&whole);
    assert_eq!((ended.code, memories), (0, 5), "{ended:?}");
    let (ended, memories) = import(&lines[..4].join("\n"));
    ended.failed(1, "cut off");
    assert_eq!(memories, 3);
    let without_one = [&lines[..2], &lines[3..]].concat().join("\n");
    import(&without_one)
        .0
        .failed(1, "4 of 5 of the kind memory");
    let damaged = [&lines[..2], &["{\"memory\":{}}"], &lines[3..]]
        .concat()
        .join("\n");
    let (ended, memories) = import(&damaged);
    assert!(
        ended
            .stderr
            .contains("line 3 is no record that this loci knows"),
        "{ended:?}"
    );
    ended.failed(1, "1 records were refused");
    assert_eq!(memories, 4);
    // An empty record does not hide a missing one.
    let damaged_without_one = [&lines[..2], &["{\"memory\":{}}"], &lines[4..]]
        .concat()
        .join("\n");
    let ended = import(&damaged_without_one)
        .0
        .failed(1, "3 of 5 of the kind memory");
    assert!(ended.stderr.contains("1 records were refused"), "{ended:?}");
    let newer = whole.replacen("\"version\":1", "\"version\":2", 1);
    let (ended, memories) = import(&newer);
    ended.failed(2, "version 2");
    assert_eq!(memories, 0);
    import(&format!("{whole}{}", lines[1]))
        .0
        .failed(1, "refused");
    // A path that leads outside is refused, and the rest is imported.
    let out = whole.replacen("\"path\":\"Tea.md\"", "\"path\":\"../Tea.md\"", 1);
    import(&out).0.failed(1, "refused");
}

/// Returns an export of these lines, with its head and its counts.
fn with_lines(lines: &[Value]) -> String {
    let mut counts = serde_json::Map::new();
    for line in lines {
        let kind = line.as_object().unwrap().keys().next().unwrap();
        let count = counts.get(kind).and_then(Value::as_u64).unwrap_or_default();
        counts.insert(kind.clone(), json!(count + 1));
    }
    let head = json!({"loci": "export", "version": 1, "exported_at": 0});
    let end = json!({"end": {"records": counts}});
    [&[head], lines, &[end]]
        .concat()
        .iter()
        .fold(String::new(), |text, line| text + &format!("{line}\n"))
}

fn note_line(space: &str, path: &str) -> Value {
    json!({"note_file": {"space": space, "path": path, "file": {"modified_nanoseconds": 0, "text": "text"}}})
}

#[test]
fn a_note_that_cannot_be_written_is_named_and_the_rest_goes_on() {
    let known = json!({"bytes": 1, "modified_nanoseconds": 0, "is_settled": true, "hash": "0".repeat(64), "says_id": false});
    let long = format!("{}.md", "z".repeat(300));
    let lines = [
        note_line("main", "before.md"),
        note_line("main", &long),
        note_line("other", "q.md"),
        json!({"note_file": {"space": "main", "path": "../../etc/x.md", "known": known}}),
        note_line("main", "after.md"),
    ];
    let there = Place::new();
    let ended = there.run_with_stdin(&["import", "-"], with_lines(&lines).as_bytes());
    for words in [
        &format!("line 3 `path` leads to {long}"),
        "line 4 `file` is of the space other",
        "line 5 `path` must lead",
    ] {
        assert!(ended.stderr.contains(words), "{words}: {ended:?}");
    }
    ended.failed(1, "3 records were refused");
    assert_eq!(
        files(&there.data().join("vault")),
        ["after.md", "before.md"]
    );
    // The state of a file that cannot be placed is not stored either, so that the export does not
    // fail.
    assert!(export(&there).contains("after.md"));
}

/// Returns the lines of an export in a fixed order, since a deleted record comes back as the last
/// one.
fn sorted(export: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = export.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn a_note_that_was_deleted_comes_back_as_the_memory_that_it_was() {
    for is_looked_at in [true, false] {
        let place = filled();
        let file = place.path("all.jsonl");
        place.run(&["export", file.to_str().unwrap()]).succeeded();
        let before = export(&place);
        for note in ["Tea.md", "a/deep.md"] {
            fs::remove_file(place.data().join("vault").join(note)).unwrap();
        }
        if is_looked_at {
            place.run(&["vault", "reconcile"]).succeeded();
        }
        let imported = place.json(&["import", file.to_str().unwrap()]);
        assert_eq!(imported["notes"]["written"], 2, "{imported}");
        assert_eq!(
            sorted(&export(&place)),
            sorted(&before),
            "looked at: {is_looked_at}"
        );
    }
}

#[test]
fn a_note_that_was_renamed_since_is_no_second_one() {
    for is_looked_at in [true, false] {
        let place = filled();
        let file = place.path("all.jsonl");
        place.run(&["export", file.to_str().unwrap()]).succeeded();
        let vault = place.data().join("vault");
        fs::rename(vault.join("Tea.md"), vault.join("a/Tea time.md")).unwrap();
        fs::rename(vault.join("a/deep.md"), vault.join("deep.md")).unwrap();
        if is_looked_at {
            place.run(&["vault", "reconcile"]).succeeded();
        }
        let ended = place
            .run(&["--json", "import", file.to_str().unwrap()])
            .succeeded();
        assert!(
            ended.stderr.contains("Tea.md is a/Tea time.md now"),
            "{ended:?}"
        );
        let imported: Value = serde_json::from_str(&ended.stdout).unwrap();
        let moved = json!([{"path": "Tea.md", "now": "a/Tea time.md"}, {"path": "a/deep.md", "now": "deep.md"}]);
        assert_eq!(
            imported["notes"]["moved"], moved,
            "looked at: {is_looked_at}: {imported}"
        );
        assert_eq!(files(&vault), ["a/Tea time.md", "deep.md", "odd.md"]);
        assert_eq!(place.json(&["stats"])["store"]["memories"], 5);
    }
}

/// Files of notes are placed one by one, and their state is stored after that: an interruption
/// between the two. No file can be placed while the folder is itself a file.
#[test]
fn an_import_that_was_cut_off_between_files_and_records_goes_on() {
    let here = filled();
    let whole = here.run(&["export", "-"]).succeeded().stdout;
    let before = export(&here);
    let notes = ["Tea.md", "a/deep.md"];
    for (placed, is_looked_at) in
        (0..=notes.len()).flat_map(|placed| [(placed, true), (placed, false)])
    {
        let there = Place::new();
        let vault = there.write("data/vault", "no folder");
        there
            .run_with_stdin(&["import", "-"], whole.as_bytes())
            .failed(4, "import it again to go on");
        fs::remove_file(vault).unwrap();
        // The last ones first, since links to names that do not exist yet would be changed twice.
        for note in notes.iter().rev().take(placed) {
            put_note(
                &there,
                note,
                &fs::read(here.data().join("vault").join(note)).unwrap(),
            );
        }
        if is_looked_at {
            there.run(&["vault", "reconcile"]).succeeded();
        }
        there
            .run_with_stdin(&["import", "-"], whole.as_bytes())
            .succeeded();
        let context = format!("placed: {placed}, looked at: {is_looked_at}");
        assert_eq!(sorted(&export(&there)), sorted(&before), "{context}");
        // No work is left.
        let again = there.json(&["vault", "reconcile"]);
        assert_eq!(
            (&again["indexed"], &again["removed"]),
            (&json!(0), &json!(0)),
            "{context}: {again}"
        );
    }
}

/// A caller that changes a note before its file has come changes only the store, and the file does
/// not undo it.
#[test]
fn what_was_said_of_a_note_before_its_file_came_stays() {
    let here = filled();
    for name in ["Kept.md", "Old.md", "Wrong.md"] {
        put_note(
            &here,
            name,
            format!("{name} as it was exported\n").as_bytes(),
        );
    }
    here.run(&["vault", "reconcile"]).succeeded();
    let whole = here.run(&["export", "-"]).succeeded().stdout;
    let listed = here.rows(&["list", "--limit", "100"]);
    let id = |name: &str| {
        let of_note = |memory: &&Value| memory["content"].as_str().unwrap().starts_with(name);
        listed.as_array().unwrap().iter().find(of_note).unwrap()["id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let [kept, old, wrong] = ["Kept", "Old", "Wrong"].map(id);
    let there = Place::new();
    let without_files: Vec<&str> = whole
        .lines()
        .filter(|line| !line.contains(r#"{"note_file""#))
        .collect();
    assert!(without_files.len() < whole.lines().count());
    let ended = there.run_with_stdin(&["import", "-"], without_files.join("\n").as_bytes());
    ended.failed(1, "of the kind note_file");
    call(&there, "vault", &[("memory_forget", json!({"id": old}))]);
    call(
        &there,
        "mememory",
        &[(
            "update",
            json!({"id": kept, "content": "Kept, and said anew"}),
        )],
    );
    call(&there, "mememory", &[("forget", json!({"id": wrong}))]);
    // A removed memory comes back with an export that contains it.
    let ended = there
        .run_with_stdin(&["--json", "import", "-"], whole.as_bytes())
        .succeeded();
    let imported: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(
        imported["notes"]["changed"],
        json!(["Kept.md", "Old.md"]),
        "{imported}"
    );
    assert!(
        ended
            .stderr
            .contains("Old.md was changed or removed here before its file came"),
        "{ended:?}"
    );
    assert_eq!(
        files(&there.data().join("vault")),
        ["Tea.md", "Wrong.md", "a/deep.md", "odd.md"]
    );
    for is_looked_at in [false, true] {
        if is_looked_at {
            there.run(&["vault", "reconcile"]).succeeded();
        }
        assert!(
            there
                .run(&["show", &kept])
                .succeeded()
                .stdout
                .contains("said anew")
        );
        let listed = there.run(&["list", "--limit", "100"]).succeeded().stdout;
        assert!(
            !listed.contains(&old) && listed.contains(&wrong),
            "{listed}"
        );
    }
}

/// As in a synced folder, where each side has made memories of the same files.
#[test]
fn a_file_that_is_another_memory_here_stays_that_one() {
    let [here, there] = [(), ()].map(|()| {
        let place = Place::new();
        put_note(&place, "tea.md", b"Tea at four, every day.\n");
        put_note(&place, "plan.md", b"See [[tea]].\n");
        place.run(&["vault", "reconcile"]).succeeded();
        place
    });
    let (whole, before) = (
        here.run(&["export", "-"]).succeeded().stdout,
        export(&there),
    );
    for stored in [2, 0] {
        let ended = there
            .run_with_stdin(&["--json", "import", "-"], whole.as_bytes())
            .succeeded();
        let imported: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(
            (&imported["stored"], &imported["notes"]["same"]),
            (&json!(stored), &json!(2)),
            "{imported}"
        );
        assert_eq!(
            imported["notes"]["others"],
            json!(["plan.md", "tea.md"]),
            "{imported}"
        );
        assert!(
            ended
                .stderr
                .contains("tea.md, or it is another memory, and stays"),
            "{ended:?}"
        );
        let after = export(&there);
        for line in before.lines().filter(|line| !line.contains("\"end\"")) {
            assert!(after.contains(line), "{line}: {after}");
        }
    }
}

#[test]
fn an_import_of_notes_stops_while_the_notes_are_away() {
    let place = filled();
    let file = place.path("all.jsonl");
    place.run(&["export", file.to_str().unwrap()]).succeeded();
    let (vault, away) = (place.data().join("vault"), place.path("away"));
    let before = export(&place);
    fs::rename(&vault, &away).unwrap();
    let import = || place.run(&["import", file.to_str().unwrap()]);
    let ended = import().failed(2, "is not there");
    assert!(
        ended.stderr.contains("0 records are stored now"),
        "{ended:?}"
    );
    assert!(!vault.exists());
    // Other records may come.
    let setting = json!({"setting": {"space": "main", "name": "n", "value": "v"}});
    place
        .run_with_stdin(&["import", "-"], with_lines(&[setting]).as_bytes())
        .succeeded();
    assert!(!vault.exists());
    fs::rename(&away, &vault).unwrap();
    import().succeeded();
    let after = export(&place);
    for line in before.lines().filter(|line| !line.contains("\"end\"")) {
        assert!(after.contains(line), "{line}: {after}");
    }
}

/// The database was lost, and the recovered one has only one of the notes.
#[test]
fn a_note_of_which_nothing_is_known_is_no_new_one_before_an_import() {
    let here = Place::new();
    put_note(&here, "a.md", b"The first of two notes.\n");
    put_note(&here, "b.md", b"The second of two notes.\n");
    here.run(&["vault", "reconcile"]).succeeded();
    let whole = here.run(&["export", "-"]).succeeded().stdout;
    let there = Place::new();
    let first: Vec<&str> = whole
        .lines()
        .filter(|line| !line.contains("b.md") && !line.contains("second"))
        .collect();
    there
        .run_with_stdin(&["import", "-"], first.join("\n").as_bytes())
        .failed(1, "not whole");
    put_note(&there, "b.md", b"The second one, edited.\n");
    there
        .run_with_stdin(&["import", "-"], whole.as_bytes())
        .succeeded();
    let listed = there.rows(&["list"]).to_string();
    assert!(
        listed.contains("edited") && !listed.contains("second of two"),
        "{listed}"
    );
    assert_eq!(there.json(&["stats"])["store"]["memories"], 2);
}

#[test]
fn a_note_without_its_file_is_named_where_there_is_no_folder_either() {
    let here = filled();
    let whole = here.run(&["export", "-"]).succeeded().stdout;
    let without_files = whole.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        line.get_mut("note_file")
            .map(|note| note.as_object_mut().unwrap().remove("file"));
        line
    });
    let lines: Vec<String> = without_files.map(|line| line.to_string()).collect();
    let there = Place::new();
    let ended = there
        .run_with_stdin(&["--json", "import", "-"], lines.join("\n").as_bytes())
        .succeeded();
    let imported: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(
        imported["notes"]["missing"],
        json!(["Tea.md", "a/deep.md"]),
        "{imported}"
    );
}

/// File names that are not text, which no path can express.
#[cfg(target_os = "linux")]
#[test]
fn what_an_export_cannot_hold_is_named() {
    use std::os::unix::ffi::OsStrExt;
    let place = filled();
    let vault = place.data().join("vault");
    fs::write(
        vault.join(std::ffi::OsStr::from_bytes(b"\xff tea.md")),
        "tea",
    )
    .unwrap();
    let folder = vault.join(std::ffi::OsStr::from_bytes(b"\xfe cake"));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("cake.md"), "cake").unwrap();
    std::os::unix::fs::symlink(
        place.write("ext/of another.md", "text").parent().unwrap(),
        vault.join("shared"),
    )
    .unwrap();
    for target in ["-", place.path("all.jsonl").to_str().unwrap()] {
        let ended = place.run(&["export", target]).failed(1, "3 of");
        for words in [
            "\u{fffd} tea.md",
            "the notes in the folder \"\u{fffd} cake\"",
            "the folder \"shared\", which is a link",
        ] {
            assert!(ended.stderr.contains(words), "{words}: {ended:?}");
        }
    }
}

#[test]
fn an_export_undoes_a_soft_deletion_when_asked() {
    let place = Place::new();
    let messages = json!([{"role": "human", "content": "I keep bees"}]);
    let store = json!({"user_id": "ann", "conversation_id": "c", "messages": messages});
    call(&place, "memory-mcp", &[("store_memory", store)]);
    let before = export(&place);
    let whole = place.run(&["export", "-"]).succeeded().stdout;
    let first: Value = serde_json::from_str(before.lines().next().unwrap()).unwrap();
    let delete = json!({"user_id": "ann", "memory_id": first["memory"]["id"]});
    call(&place, "memory-mcp", &[("delete_memory", delete)]);
    let after = export(&place);
    assert_ne!(after, before);
    let ended = place.run_with_stdin(&["import", "-"], whole.as_bytes());
    let said = ended.succeeded().stdout;
    assert!(said.contains("forgotten 1 (--again"), "{said}");
    assert_eq!(export(&place), after);
    place
        .run_with_stdin(&["import", "--again", "-"], whole.as_bytes())
        .succeeded();
    assert_eq!(sorted(&export(&place)), sorted(&before));
}

/// An endpoint that accepts connections and never replies.
#[test]
fn an_import_without_waiting_asks_no_model() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let there = Place::new()
        .with("LOCI_EMBEDDING_PROVIDER", "http")
        .with("LOCI_EMBEDDING_URL", &url)
        .with("LOCI_EMBEDDING_MODEL", "m");
    let entry = |number: u64| {
        json!({"cache_entry": {
            "space": "main", "id": format!("c{number}"), "owner": "local", "query": format!("why {number}?"),
            "response": "because", "created_at": "2026-01-01T00:00:00Z", "expires_at": "2999-01-01T00:00:00Z",
        }})
    };
    let lines: Vec<Value> = (0..12).map(entry).collect();
    there
        .run_with_stdin(&["import", "--no-wait", "-"], with_lines(&lines).as_bytes())
        .succeeded();
    listener.set_nonblocking(true).unwrap();
    assert_eq!(
        listener.accept().map(|_| ()).unwrap_err().kind(),
        std::io::ErrorKind::WouldBlock
    );
}

#[test]
fn nothing_is_exported_among_the_notes() {
    let place = filled();
    for (folder, name) in [
        ("data/vault", "folder of notes"),
        ("data/vault/deep", "folder of notes"),
        ("data", "data folder"),
    ] {
        let target = place.path(folder).join("new");
        let target = target.to_str().unwrap();
        place
            .run(&["export", "--format", "markdown", target])
            .failed(2, name);
        place.run(&["export", target]).failed(2, name);
        // The same folder by a relative path.
        let mut relative = place.command(&["export", "new"]);
        fs::create_dir_all(place.path(folder)).unwrap();
        crate::program::ended(relative.current_dir(place.path(folder)).spawn().unwrap())
            .failed(2, name);
    }
    assert!(!place.path("data/new").exists() && !place.path("data/vault/new").exists());
}

#[test]
fn nothing_is_written_over() {
    let place = filled();
    let file = place.write("there.jsonl", "mine");
    let name = file.to_str().unwrap();
    place.run(&["export", name]).failed(2, "there already");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    let folder = file.parent().unwrap().to_str().unwrap();
    place
        .run(&["export", "--format", "markdown", folder])
        .failed(2, "empty");
    place
        .run(&["export", "--format", "markdown", "-"])
        .failed(2, "name a folder");
    let away = place.path("unheard/of.jsonl");
    place
        .run(&["export", away.to_str().unwrap()])
        .failed(1, "cannot be written");
    place
        .run(&["import", away.to_str().unwrap()])
        .failed(2, "cannot be read");
    place
        .run(&["import", folder])
        .failed(2, "no export of loci");
    let new = place.path("new.jsonl");
    place.run(&["export", new.to_str().unwrap()]).succeeded();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(
            fs::metadata(&new).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
    let left = files(new.parent().unwrap());
    assert!(
        !left.iter().any(|name| name.contains(".loci-export-")),
        "{left:?}"
    );
}

/// Returns a memory of an export with this value in one of its fields.
fn memory_line(id: &str, field: &str, value: Value) -> Value {
    let mut memory = json!({
        "space": "main", "id": id, "section": "fact", "kind": "fact", "weight": 1.0, "tier": "long_term",
        "delivery": "on_demand", "origin": "mememory", "visibility": "common", "created_at": 0, "updated_at": 0,
        "revision": 1, "content": "text",
    });
    memory[field] = value;
    json!({"memory": memory})
}

#[test]
fn an_export_passes_the_limits_of_calls_line_by_line() {
    let rows = [
        ("id", json!("")),
        ("id", json!("a".repeat(513))),
        ("id", json!("a\u{1b}[31m")),
        ("content", json!("a\0")),
        ("content", json!("a".repeat(2 << 20))),
        ("tags", json!(vec!["t"; 100_000])),
        ("title", json!("\u{7}")),
        ("attributes", json!({"room": "\0"})),
        ("citations", json!([{"kind": "file", "reference": ""}])),
        ("section", json!("")),
    ];
    let mut lines: Vec<Value> = rows
        .iter()
        .map(|(field, value)| memory_line("m", field, value.clone()))
        .collect();
    lines.push(memory_line("kept", "content", json!("kept")));
    lines.push(json!({"fact": {
        "space": "main", "id": "", "subject": {"key": "a", "spelling": "a"}, "created_at": 0,
        "predicate": {"key": "b", "spelling": "b"}, "object": {"key": "c", "spelling": "c"},
    }}));
    let there = Place::new();
    let file = there.write("all.jsonl", with_lines(&lines));
    let ended = there.run(&["--json", "import", file.to_str().unwrap()]);
    for (number, (field, _)) in (2..).zip(&rows) {
        let named = format!("line {number} is not stored: `{field}");
        assert!(ended.stderr.contains(&named), "{named}: {ended:?}");
    }
    ended
        .failed(1, "11 records were refused")
        .failed(1, "line 13 is not stored: `id`");
    assert_eq!(there.rows(&["list"]).as_array().unwrap().len(), 1);

    // The same with a folder.
    let here = Place::new();
    here.add(&["The kiln fires"]);
    let folder = here.path("all");
    here.run(&["export", "--format", "markdown", folder.to_str().unwrap()])
        .succeeded();
    let file = folder.join(
        files(&folder)
            .iter()
            .find(|name| name.starts_with("main/"))
            .unwrap(),
    );
    let text = fs::read_to_string(&file).unwrap();
    fs::write(
        file.with_file_name("copy.md"),
        text.replace("The kiln", "A\0"),
    )
    .unwrap();
    let ended = here
        .run(&["import", folder.to_str().unwrap()])
        .failed(1, "1 records were refused");
    assert!(
        ended.stderr.contains("copy.md is not stored: `content`"),
        "{ended:?}"
    );
}

#[test]
fn a_line_is_read_to_a_bound() {
    let large = with_lines(&[
        memory_line("m", "content", json!("a".repeat(20 << 20))),
        memory_line("n", "kind", json!("rule")),
    ]);
    let there = Place::new();
    let ended = there.run_with_stdin(&["import", "-"], large.as_bytes());
    ended
        .failed(1, "line 2 has more than 16777216 bytes")
        .failed(1, "1 records were refused");
    assert_eq!(there.json(&["stats"])["store"]["memories"], 1);
    // A file of notes may be as long, within its own limits.
    let note = |bytes: usize| {
        json!({"note_file": {"space": "main", "path": "a.md", "file": {
            "modified_nanoseconds": 0, "text": "a".repeat(bytes),
        }}})
    };
    let there = Place::new();
    let lines = with_lines(&[note((16 << 20) - 1), note((16 << 20) + 1)]);
    there
        .run_with_stdin(&["import", "-"], lines.as_bytes())
        .failed(1, "line 3 `file` has more than 16777216 bytes");
    assert_eq!(
        fs::metadata(there.data().join("vault/a.md")).unwrap().len(),
        (16 << 20) - 1
    );
}

#[test]
fn a_dry_run_stores_nothing_and_counts_what_an_import_stores() {
    let (here, there) = (filled(), Place::new());
    let file = here.path("export.jsonl");
    let file = file.to_str().unwrap();
    here.run(&["export", file]).succeeded();
    let counted =
        |value: &Value| ["stored", "present", "refused", "notes"].map(|field| value[field].clone());
    there.add(&["Something else", "--project", "acme"]);
    for is_repeated in [false, true] {
        let before = there.run(&["list"]).stdout;
        let tried = there.json(&["import", file, "--dry-run"]);
        assert_eq!(tried["dry_run"], json!(true));
        assert_eq!(there.run(&["list"]).stdout, before, "nothing is stored");
        assert_eq!(tried["stored"] == json!(0), is_repeated, "{tried}");
        let written = fs::read_dir(there.path("data/vault")).into_iter().flatten();
        assert_eq!(written.count() > 0, is_repeated, "no note is written");
        let imported = there.json(&["import", file, "--no-wait"]);
        assert_eq!(counted(&tried), counted(&imported));
    }
    let text = there.run(&["import", file, "--dry-run"]).succeeded().stdout;
    assert!(text.starts_with("nothing was stored"), "{text}");
}
