//! The audit log and the queue as a user sees them.

use std::io::{BufRead, BufReader};

use loci_core::{
    AuditEntry, AuditQuery, AuditStore, Batch, Change, Clock, EnrichmentStatus, Expect, JobOutcome,
    JobStore, MemoryId, Space, Store, Timestamp, Visibility,
};
use loci_store_sqlite::{Options, SqliteStore};
use loci_testkit::FixedClock;
use loci_testkit::contract::{memory, passage};
use serde_json::{Value, json};

use crate::program::Place;

#[test]
fn calls_are_listed_and_filtered() {
    let place = Place::new();
    place.run(&["add", "a secret about tea"]).succeeded();
    place.run(&["stats"]).succeeded();
    place
        .run(&["add", "x", "--supersedes", "nothing"])
        .failed(3, "nothing");
    let entries = place.rows(&["audit"]);
    let seen: Vec<_> = entries
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (&entry["tool_name"], &entry["status"]))
        .collect();
    let expected = [
        ("remember", "success"),
        ("stats", "success"),
        ("remember", "error"),
    ];
    let expected = expected.map(|(tool, status)| (json!(tool), json!(status)));
    assert_eq!(
        seen,
        expected
            .iter()
            .map(|(tool, status)| (tool, status))
            .collect::<Vec<_>>()
    );
    assert!(
        entries
            .as_array()
            .unwrap()
            .iter()
            .all(|entry| entry["user_id"] == "local" && entry["client"] == "command line"),
        "{entries}"
    );
    let first = entries[0]["number"].as_u64().unwrap();
    assert!(entries[0]["metadata"]["reply_tokens"].is_u64(), "{entries}");
    assert_eq!(entries[2]["metadata"]["error_code"], "not_found");
    assert!(!entries.to_string().contains("tea"), "{entries}");
    let third = (first + 2).to_string();
    let rows: [(&[&str], usize); 9] = [
        (&["--client", "command line"], 3),
        (&["--client", "codex"], 0),
        (&["--before", &third, "--limit", "1"], 1),
        (&["--tool", "stats"], 1),
        (&["--user", "local"], 3),
        (&["--user", "ann"], 0),
        (&["--since", "1h"], 3),
        (&["--since", "2999-01-01"], 0),
        (&["--limit", "2"], 2),
    ];
    for (flags, count) in rows {
        let found = place.rows(&[&["audit"], flags].concat());
        assert_eq!(found.as_array().unwrap().len(), count, "{flags:?}");
    }
    let stored = &entries[0]["records"][0];
    assert_eq!(stored["verb"], "stored");
    let id = stored["id"].as_str().unwrap();
    assert_eq!(
        place
            .rows(&["audit", "--record", id])
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(place.rows(&["audit", "--record", "another"]), json!([]));
    let text = place.run(&["audit", "--record", id]).succeeded().stdout;
    assert!(text.contains(&format!("  stored {id}")), "{text}");
    let text = place
        .run(&["audit", "--tool", "remember"])
        .succeeded()
        .stdout;
    assert!(
        text.contains("mememory/remember") && text.contains("not_found"),
        "{text}"
    );
    place.run(&["forget", id]).succeeded();
    assert_eq!(
        place.rows(&["audit", "--record", id])[1]["records"][0]["verb"],
        "deleted"
    );
    place
        .run(&["audit", "--since", "yesterday"])
        .failed(2, "`--since` must be a day");
    place.run(&["audit", "--limit", "0"]).failed(2, "--limit");
}

#[test]
fn calls_are_listed_by_space_and_of_all_spaces() {
    let place = Place::new().with_store();
    place.run(&["stats"]).succeeded();
    {
        let store = SqliteStore::open(&place.data(), Options::default()).unwrap();
        let (_, of_main) = store.audit(&all()).unwrap().remove(0);
        let elsewhere = |tool: &str, seconds| AuditEntry {
            space: Space::parse("space", "other").unwrap(),
            at: of_main.at.plus_seconds(seconds),
            tool: tool.to_owned(),
            ..of_main.clone()
        };
        store
            .append_audit(&[elsewhere("before", -1), elsewhere("after", 1)])
            .unwrap();
    }
    for (flags, tools) in [
        (&[][..], &["stats"][..]),
        (&["--space", "main"], &["stats"]),
        (&["--space", "other"], &["before", "after"]),
        (&["--space", "nowhere"], &[]),
        (&["--all"], &["before", "stats", "after"]),
        (&["--all", "--limit", "2"], &["stats", "after"]),
        (&["--all", "--tool", "after"], &["after"]),
    ] {
        let found = place.rows(&[&["audit"], flags].concat());
        let found: Vec<_> = found
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["tool_name"].as_str().unwrap())
            .collect();
        assert_eq!(found, tools, "{flags:?}");
    }
    for (flags, problem) in [
        (["--all", "--follow"], "--follow"),
        (["--all", "--space=other"], "--space"),
        (["--space", " "], "`--space` must be"),
    ] {
        place
            .run(&[&["audit"][..], &flags].concat())
            .failed(2, problem);
    }
}

fn all() -> AuditQuery {
    AuditQuery {
        limit: 9,
        ..AuditQuery::default()
    }
}

#[test]
fn new_calls_are_followed() {
    let place = Place::new();
    place.run(&["add", "first"]).succeeded();
    let mut follower = place
        .command(&["--json", "audit", "--follow"])
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(next()["tool_name"], "remember");
    place.run(&["stats"]).succeeded();
    assert_eq!(next()["tool_name"], "stats");
    follower.kill().unwrap();
    follower.wait().unwrap();
}

#[test]
fn doctor_names_what_nobody_could_judge() {
    let place = Place::new().with_store();
    assert!(
        place
            .run(&["doctor"])
            .stdout
            .contains("0 memories wait for it, none failed")
    );
    {
        let store = SqliteStore::open(&place.data(), Options::default()).unwrap();
        let (visibility, enrichment) = (Visibility::Private, Some(EnrichmentStatus::Failed));
        let memory = loci_core::Memory {
            visibility,
            enrichment,
            ..memory("poison")
        };
        let now = FixedClock::new(Timestamp::from_microseconds(1)).now();
        let commit = |changes| {
            store.commit(Batch::new(Space::default(), changes)).unwrap();
        };
        let id = MemoryId::new("poison");
        let put = Change::Put {
            memory: Box::new(memory),
            passages: Some(vec![passage("poison")]),
            expect: Expect::Absent,
        };
        commit(vec![
            put,
            Change::Enqueue {
                memory: id,
                due_at: now,
            },
        ]);
        let job = store
            .lease_jobs(now, now.plus_seconds(9), "lease", 1)
            .unwrap()
            .pop()
            .unwrap();
        let outcome = JobOutcome::Failed {
            problem: "it is too strange".to_owned(),
        };
        commit(vec![Change::Settle { job, outcome }]);
    }
    // The passage above does not match the text.
    place.run(&["reindex"]).succeeded();
    let report = place.run(&["doctor"]).succeeded();
    assert!(
        report.stdout.contains("1 memory could not be judged"),
        "{report:?}"
    );
    assert!(
        report
            .stdout
            .contains("memory poison (attempts: 1): it is too strange"),
        "{report:?}"
    );
    let report = place.run(&["doctor", "--fix"]).succeeded();
    assert!(
        report
            .stdout
            .contains("done  enrichment    1 memories that could not be judged"),
        "{report:?}"
    );
    assert!(
        report
            .stdout
            .contains("1 memories wait for it, none failed"),
        "{report:?}"
    );
}
