//! A store on a read-only disk.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::doctor::write_into_log;
use crate::program::Place;

/// Makes the disk of the data folder read-only; returns true on success.
fn is_read_only_now(place: &Place) -> bool {
    Command::new("mount")
        .args(["-o", "remount,ro"])
        .arg(place.data())
        .status()
        .unwrap()
        .success()
}

/// Runs each command that reads, and checks its output.
fn check(place: &Place, memories: usize, note: &str) {
    let said = |arguments: &[&str], words: &str| {
        let ended = place.run(arguments).succeeded();
        assert!(
            ended.stdout.contains(words) && ended.stderr.contains(note),
            "{arguments:?}: {ended:?}"
        );
        let notes = ended.stderr.lines();
        // A search says where it looked, too.
        let notes = notes.filter(|line| !line.starts_with("looked "));
        assert_eq!(notes.count(), 1, "{arguments:?}: {ended:?}");
    };
    let listed = place.rows(&["list"]);
    assert_eq!(listed.as_array().unwrap().len(), memories);
    let (id, content) = (
        listed[0]["id"].as_str().unwrap(),
        listed[0]["content"].as_str().unwrap(),
    );
    said(&["search", content], content);
    said(&["why", content, id], id);
    said(&["show", id], content);
    said(&["stats"], &format!("memories  {memories}"));
    said(&["export", "all.jsonl"], "exported");
    said(
        &["backup", "all.tar"],
        &format!("backed up {memories} memories and 1 files of notes"),
    );
    let lines = fs::read_to_string(place.path("all.jsonl")).unwrap();
    assert!(
        lines.contains(content) && lines.contains("# A note"),
        "{lines}"
    );
    place
        .run(&["doctor", "--salvage", "salvaged.jsonl"])
        .succeeded();
    assert!(
        fs::read_to_string(place.path("salvaged.jsonl"))
            .unwrap()
            .contains(content)
    );
    let report = place.run(&["--json", "doctor"]);
    let rows: Value = serde_json::from_str(&report.stdout).unwrap_or_else(|_| panic!("{report:?}"));
    let verdict = |check: &str| {
        rows["checks"]
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["check"] == check)
            .unwrap()["verdict"]
            .clone()
    };
    assert_eq!(
        (report.code, verdict("database"), verdict("writing")),
        (4, "ok".into(), "fail".into()),
        "{rows}"
    );
    // A restored copy is complete.
    let other = Place::new();
    other
        .run(&["restore", place.path("all.tar").to_str().unwrap()])
        .succeeded();
    assert_eq!(other.rows(&["list"]), listed);
}

#[test]
fn a_store_on_a_read_only_disk_can_be_read_by_every_command_that_reads() {
    for has_log in [false, true] {
        let place = Place::new();
        fs::create_dir(place.data()).unwrap();
        if !crate::backup::mounted(&place.data(), "size=64m,mode=0700") {
            eprintln!("SKIPPED: no file system can be mounted here, so that none is read-only");
            return;
        }
        place.write("data/vault/note.md", "# A note\n");
        let id = place.add(&["The kiln is hot"]);
        place.run(&["vault", "reconcile"]).succeeded();
        if has_log {
            write_into_log(&place);
        }
        let checked = is_read_only_now(&place).then(|| {
            std::panic::catch_unwind(|| {
                let (memories, copied) = if has_log {
                    (6, "from a copy")
                } else {
                    (2, "as it is\n")
                };
                check(&place, memories, copied);
                for (arguments, words) in [
                    (&["add", "more"][..], "cannot be written: make it writable"),
                    (&["forget", "x"], "there is no memory"),
                    (
                        &["mcp", "mememory"],
                        "`export` and `backup` read it as it is",
                    ),
                    (
                        &["serve", "--bind", "127.0.0.1:0"],
                        "`export` and `backup` read it as it is",
                    ),
                ] {
                    let ended = place.run(arguments);
                    assert!(
                        ended.code != 0 && ended.stderr.contains(words),
                        "{arguments:?}: {ended:?}"
                    );
                }
                place
                    .run(&["forget", &id])
                    .failed(4, "the database cannot be written");
            })
        });
        assert!(
            Command::new("umount")
                .arg(place.data())
                .status()
                .unwrap()
                .success()
        );
        match checked {
            None => eprintln!("SKIPPED: the disk cannot be made read-only"),
            Some(checked) => checked.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        }
    }
}
