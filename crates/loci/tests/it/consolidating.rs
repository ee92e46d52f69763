//! `loci consolidate`, on both stores, with a language model behind HTTP, and in the background.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::postgres::{machine, schema};
use crate::program::{Place, call};

const KEPT: &str = "The staging database of atlas is PostgreSQL 17 on db3 in Oslo";
const REPEATED: &str = "Note: the staging database of atlas is PostgreSQL 17 on db3 in Oslo";
const AGAIN: &str = "Remember that the staging database of atlas is PostgreSQL 17 on db3 in Oslo";
const OTHER: &str = "The staging database of atlas is PostgreSQL 16 on db3 in Oslo";
const QUESTION: &str = "staging database of atlas";

fn ids(found: &Value) -> Vec<String> {
    let found = found.as_array().unwrap().iter();
    let id = |hit: &Value| hit["memory"]["id"].as_str().unwrap().to_owned();
    found.map(id).collect()
}

/// Stores the texts; returns their ids.
fn stored(place: &Place, texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| place.add(&[text])).collect()
}

fn a_run_is_shown_undone_and_repeated(place: &Place) {
    let of = stored(place, &[KEPT, REPEATED, AGAIN, OTHER]);
    let before = place.json(&["list", "--limit", "10"]);
    let dry = place.json(&["consolidate", "--dry-run"]);
    assert_eq!((&dry["dry_run"], &dry["behind"]), (&json!(true), &json!(2)));
    assert_eq!(place.json(&["list", "--limit", "10"]), before);
    let done = place.json(&["consolidate"]);
    assert_eq!(done["put_behind"], dry["put_behind"]);
    let found = place.rows(&["search", QUESTION]);
    assert_eq!(ids(&found).len(), 2, "{found}");
    let mut hits = found.as_array().unwrap().iter();
    let hit = hits.find(|hit| hit["memory"]["id"] == of[0]).unwrap();
    assert_eq!(hit["times_said"], 3, "{found}");
    assert_eq!(ids(&place.rows(&["search", QUESTION, "--all"])).len(), 4);
    let recalled = call(place, "mememory", "recall", &json!({"query": QUESTION}));
    let recalled = recalled.to_string();
    assert!(
        recalled.contains(&of[0]) && recalled.contains(&of[3]),
        "{recalled}"
    );
    assert!(
        !recalled.contains(&of[1]) && !recalled.contains(&of[2]),
        "{recalled}"
    );
    let mut behind = vec![of[1].clone(), of[2].clone()];
    behind.sort();
    assert_eq!(place.json(&["show", &of[0]])["stands_for"], json!(behind));
    let shown = place.json(&["show", &of[1]]);
    assert_eq!(
        (&shown["stands_behind"], &shown["content"]),
        (&json!(of[0]), &json!(REPEATED))
    );
    let why = place.json(&["why", QUESTION, &of[1]]);
    assert_eq!(
        (&why["cause"], &why["instead"]),
        (&json!("stands_behind"), &json!(of[0]))
    );
    let again = place.json(&["consolidate"]);
    assert_eq!(
        (&again["behind"], &again["put_behind"]),
        (&json!(2), &json!([]))
    );
    let change = done["change"].as_str().unwrap();
    let taken = place.json(&["undo", change, "--yes"]);
    assert_eq!(taken["restored"].as_array().unwrap().len(), 2, "{taken}");
    assert_eq!(ids(&place.rows(&["search", QUESTION])).len(), 4);
    let left = place.run(&["consolidate"]).succeeded().stdout;
    assert!(
        left.contains("2 memories stay in sight, because you took the same back"),
        "{left}"
    );
    place.run(&["doctor"]).succeeded();
}

#[test]
fn a_run_is_shown_and_undone_in_files() {
    a_run_is_shown_undone_and_repeated(&Place::new());
}

#[test]
fn a_run_is_shown_and_undone_on_a_server() {
    a_run_is_shown_undone_and_repeated(&machine(&schema()));
}

#[test]
fn marks_go_with_a_backup_and_an_export() {
    let place = Place::new();
    let of = stored(&place, &[KEPT, REPEATED]);
    place.run(&["consolidate"]).succeeded();
    let file = place.path("all.jsonl");
    place.run(&["export", file.to_str().unwrap()]).succeeded();
    let other = Place::new();
    other
        .run(&["import", "--follow", file.to_str().unwrap()])
        .succeeded();
    assert_eq!(ids(&other.rows(&["search", QUESTION])), [of[0].clone()]);
    assert_eq!(other.json(&["show", &of[0]])["stands_for"], json!([of[1]]));
}

/// Answers chat completions on a port of this machine until the test ends; returns the address, and what
/// was asked.
fn chat_model() -> (String, Arc<Mutex<Vec<Value>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    let asked = Arc::<Mutex<Vec<Value>>>::default();
    let seen = Arc::clone(&asked);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut line, mut length) = (String::new(), 0);
            loop {
                line.clear();
                if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
                    break;
                }
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
            }
            let mut body = vec![0; length];
            if reader.read_exact(&mut body).is_err() {
                continue;
            }
            seen.lock()
                .unwrap()
                .push(serde_json::from_slice(&body).unwrap());
            let judged = json!({"importance": 0.9, "summary": "Atlas keeps its rehearsal tables with db3.", "memory_type": "fact"});
            let reply = json!({"choices": [{"message": {"role": "assistant", "content": judged.to_string()}}]}).to_string();
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                reply.len()
            );
            let _ = stream.write_all((head + &reply).as_bytes());
        }
    });
    (address, asked)
}

#[test]
fn a_language_model_writes_a_summary_that_is_no_result() {
    let (address, asked) = chat_model();
    let place = Place::new()
        .with("LOCI_LLM_URL", &address)
        .with("LOCI_LLM_MODEL", "scribe");
    let of = stored(&place, &[KEPT, REPEATED, AGAIN]);
    let done = place.json(&["consolidate"]);
    let summary = done["summaries"][0].as_str().unwrap().to_owned();
    let texts = {
        let asked = asked.lock().unwrap();
        assert_eq!(asked.len(), 1);
        asked[0]["messages"][1]["content"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    for text in [KEPT, REPEATED, AGAIN] {
        assert!(texts.contains(text), "{texts}");
    }
    let shown = place.json(&["show", &summary]);
    assert_eq!(
        shown["content"],
        "Atlas keeps its rehearsal tables with db3."
    );
    assert_eq!(shown["stands_behind"], of[0]);
    assert_eq!(
        shown["said_by"], "agent",
        "no more than the program that wrote it"
    );
    assert_eq!(place.json(&["show", &of[0]])["summaries"], json!([summary]));
    assert_eq!(
        ids(&place.rows(&["search", "rehearsal tables"])),
        [of[0].clone()]
    );
    // It goes with a source that is deleted.
    place
        .run(&["delete", &of[2], "--forever", "--yes"])
        .succeeded();
    place.run(&["show", &summary]).failed(3, "no memory");
}

#[test]
fn the_background_does_it_if_it_is_set() {
    let place = Place::new()
        .with("LOCI_CONSOLIDATE_HOURS", "24")
        .with("LOCI_MAINTENANCE_SECONDS", "1");
    let of = stored(&place, &[KEPT, REPEATED]);
    let mut server = place
        .command(&["mcp"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_mins(1);
    let is_behind = || place.json(&["show", &of[1]])["stands_behind"] == of[0];
    let mut is_done = is_behind();
    while !is_done && Instant::now() < until {
        is_done = is_behind();
    }
    drop(server.stdin.take());
    server.wait().unwrap();
    assert!(is_done, "nothing was consolidated");
    let history = place.run(&["history", "--limit", "1"]).succeeded().stdout;
    assert!(history.contains("consolidate"), "{history}");
}

#[test]
fn a_wrong_interval_is_refused() {
    let place = Place::new().with("LOCI_CONSOLIDATE_HOURS", "often");
    place.run(&["list"]).failed(2, "consolidate_hours");
}
