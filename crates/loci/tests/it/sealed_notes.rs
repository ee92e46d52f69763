//! `loci encrypt --notes`: notes that loci alone reads, and back.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::encrypted::encrypted_with_key;
use crate::program::{Place, call};

const WORDS: [&str; 3] = ["quarrymen", "lanterns", "scaffold"];

fn append(place: &Place, title: &str, body: &str) -> Value {
    let arguments = json!({"title": title, "body": body});
    call(place, "vault", "memory_append", &arguments)
}

/// The files of the vault, with their bytes.
fn files(place: &Place) -> Vec<(PathBuf, Vec<u8>)> {
    fn below(folder: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                below(&entry.path(), found);
            } else {
                found.push((entry.path(), fs::read(entry.path()).unwrap()));
            }
        }
    }
    let mut found = Vec::new();
    below(&place.data().join("vault"), &mut found);
    found.sort();
    found
}

/// The words that are in any of the files.
fn shown(place: &Place) -> Vec<&'static str> {
    let files = files(place);
    let mut shown = WORDS.to_vec();
    shown.retain(|word| {
        let mut bytes = files
            .iter()
            .flat_map(|(_, bytes)| bytes.windows(word.len()));
        bytes.any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
    });
    shown
}

fn found(place: &Place, query: &str) -> String {
    place.rows(&["search", query]).to_string()
}

/// A store with three notes, sealed.
fn sealed() -> Place {
    let (place, _) = encrypted_with_key();
    append(&place, "Night shift", "The quarrymen carry lanterns.");
    append(&place, "Day shift", "A scaffold stands at the gate.");
    assert_eq!(shown(&place), WORDS);
    let told = place.json(&["encrypt", "--notes", "sealed"]);
    assert_eq!(
        (&told["notes"], &told["notes_written"]),
        (&json!("sealed"), &json!(2)),
        "{told}"
    );
    assert_eq!(shown(&place), [""; 0]);
    place
}

/// The row about encryption, and whether anything is wrong with the notes.
fn doctor(place: &Place) -> (String, Vec<Value>) {
    let told = place.json(&["doctor"]);
    let checks = told["checks"].as_array().unwrap().iter();
    let rows: Vec<Value> = checks
        .filter(|row| row["check"] == "encryption" || row["check"] == "notes")
        .cloned()
        .collect();
    let warned = rows.iter().filter(|row| row["verdict"] != "ok").cloned();
    (json!(rows).to_string(), warned.collect())
}

#[test]
fn sealed_notes_are_found_read_and_changed() {
    let place = sealed();
    assert!(found(&place, "quarrymen lanterns").contains("carry lanterns"));
    let (rows, warned) = doctor(&place);
    assert!(rows.contains("notes are sealed"), "{rows}");
    assert_eq!(warned, Vec::<Value>::new());
    // A look at the files finds nothing new.
    let reconciled = place.json(&["vault", "reconcile"]);
    for key in ["added", "updated", "changed", "indexed"] {
        let count = reconciled.get(key).and_then(Value::as_u64).unwrap_or(0);
        assert_eq!(count, 0, "{reconciled}");
    }
    // New notes and changed ones are sealed.
    append(&place, "Evening", "More quarrymen and a scaffold.");
    append(&place, "Night shift", "Their lanterns are lit at dusk.");
    assert_eq!(shown(&place), [""; 0]);
    let read = call(
        &place,
        "vault",
        "memory_search",
        &json!({"query": "lanterns lit at dusk"}),
    );
    assert!(read.to_string().contains("lit at dusk"), "{read}");
    // What another program puts there is a note, of which doctor tells until it is sealed.
    fs::write(
        place.data().join("vault/dropped.md"),
        "---\nuid: 019aa3c4-5f0e-7000-8000-00000000abcd\n---\nA scaffold of the rivals.\n",
    )
    .unwrap();
    place.run(&["vault", "reconcile"]).succeeded();
    assert!(found(&place, "scaffold of the rivals").contains("rivals"));
    assert_eq!(shown(&place), ["scaffold"]);
    let (_, warned) = doctor(&place);
    assert!(
        json!(warned).to_string().contains("dropped.md"),
        "{warned:?}"
    );
    place.json(&["encrypt", "--notes", "sealed"]);
    assert_eq!(shown(&place), [""; 0]);
    assert_eq!(doctor(&place).1, Vec::<Value>::new());
}

#[test]
fn sealed_notes_outlive_rotations_backups_and_exports() {
    let place = sealed();
    place.run(&["backup", "b.tar"]).succeeded();
    let before = files(&place);
    place.json(&["encrypt", "--rotate"]);
    assert_eq!(files(&place), before, "the key of notes is the same");
    assert!(found(&place, "quarrymen").contains("lanterns"));
    append(&place, "After", "The scaffold is gone.");
    assert_eq!(shown(&place), [""; 0]);
    assert_eq!(doctor(&place).1, Vec::<Value>::new());
    // Another store has no key to files that stay where they are.
    let data = place.data();
    let migrate = ["migrate", "--from", data.to_str().unwrap(), "--to", "other"];
    place
        .run(&migrate)
        .failed(2, "put them into the clear first");
    assert!(!place.path("other").exists());
    // Exports are for people.
    place.run(&["export", "all.jsonl"]).succeeded();
    let exported = fs::read_to_string(place.path("all.jsonl")).unwrap();
    assert!(exported.contains("carry lanterns"), "{exported}");
    place
        .run(&["export", "out", "--format", "markdown"])
        .succeeded();
    let out = fs::read_dir(place.path("out")).unwrap().count();
    assert!(out > 0);
    // On another machine, with the key file of the backup.
    let other = Place::new();
    fs::copy(place.path("b.tar"), other.path("b.tar")).unwrap();
    fs::copy(place.path("loci.key"), other.path("loci.key")).unwrap();
    let key = other.path("loci.key");
    let other = other.with("LOCI_ENCRYPTION_KEY_FILE", key.to_str().unwrap());
    other.run(&["restore", "b.tar"]).succeeded();
    assert_eq!(shown(&other), [""; 0]);
    assert!(found(&other, "quarrymen").contains("lanterns"));
    let (rows, warned) = doctor(&other);
    assert!(rows.contains("notes are sealed"), "{rows}");
    assert_eq!(warned, Vec::<Value>::new());
}

#[test]
fn sealed_notes_come_back_into_the_clear() {
    let place = sealed();
    let told = place.json(&["encrypt", "--notes", "clear"]);
    assert_eq!(told["notes"], "clear");
    assert_eq!(shown(&place), WORDS);
    append(&place, "Evening", "Another scaffold.");
    let told = place.json(&["encrypt", "--notes", "clear"]);
    assert_eq!(told["notes_written"], 0, "{told}");
    // A file of another key stays as it is, and a sealed one that turns up later is read.
    place.json(&["encrypt", "--notes", "sealed"]);
    let (path, away) = files(&place).swap_remove(0);
    fs::remove_file(&path).unwrap();
    let stranger = sealed();
    let (_, bytes) = files(&stranger).swap_remove(0);
    let strange = place.data().join("vault/strange.md");
    fs::write(&strange, &bytes).unwrap();
    let cleared = place.run(&["encrypt", "--notes", "clear"]);
    assert!(
        cleared
            .stderr
            .contains("strange.md stays as it is: it is sealed")
    );
    cleared.succeeded();
    assert_eq!(fs::read(&strange).unwrap(), bytes);
    fs::write(&path, &away).unwrap();
    place.run(&["vault", "reconcile"]).succeeded();
    assert!(found(&place, "quarrymen lanterns scaffold").contains("scaffold"));
    place.run(&["decrypt"]).succeeded();
    assert_eq!(fs::read(&strange).unwrap(), bytes);
    fs::remove_file(&strange).unwrap();
    let place = place.with("LOCI_ENCRYPTION_KEY_FILE", "");
    assert!(found(&place, "quarrymen").contains("lanterns"));
    assert_eq!(doctor(&place).1, Vec::<Value>::new());
    // Also after the store was put back into the clear, and encrypted again.
    fs::write(&path, &away).unwrap();
    assert!(place.data().join("encryption-former.json").exists());
    place.json(&["encrypt", "--key-file", "loci.key"]);
    let key = place.path("loci.key");
    let place = place.with("LOCI_ENCRYPTION_KEY_FILE", key.to_str().unwrap());
    place.json(&["encrypt", "--notes", "clear"]);
    assert_ne!(fs::read(&path).unwrap(), away);
    assert_eq!(shown(&place), WORDS);
    place.run(&["decrypt"]).succeeded();
    let place = place.with("LOCI_ENCRYPTION_KEY_FILE", "");
    // In one go, from a store in the clear.
    place.json(&["encrypt", "--key-file", "other.key", "--notes", "sealed"]);
    assert_eq!(shown(&place), [""; 0]);
}
