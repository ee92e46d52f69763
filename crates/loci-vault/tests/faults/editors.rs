//! Two processes of loci and a person with an editor change one note simultaneously.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;

use loci_core::{ErrorCode, Note, NoteFolder};
use loci_vault::VaultFolder;

use crate::processes::{as_child, heard, start_child, tell_parent};
use crate::{Random, Wall, create, files, note, read, said};

const UPDATES: usize = 60;

fn vault(place: &Path) -> VaultFolder {
    VaultFolder::new(place.join("notes"), place.join("lock"), Arc::new(Wall))
}

/// Returns the number of the last change by hand in a text, or 0 without such a change.
fn last_by_hand(body: &str) -> usize {
    body.lines()
        .filter_map(|line| line.strip_prefix("hand-")?.parse().ok())
        .max()
        .unwrap_or(0)
}

fn has(body: &str, line: &str) -> bool {
    body.lines().any(|said| said == line)
}

#[test]
fn no_update_is_lost_silently() {
    let place = tempfile::tempdir().unwrap();
    assert_eq!(
        create(&vault(place.path()), &note(1, "shared", "begin")),
        "shared.md"
    );
    let (tell, told) = mpsc::channel();
    let readers: Vec<_> = ["one", "two"]
        .map(|name| {
            let mut child = start_child("editors::child_that_adds_lines", place.path(), name);
            let tell = tell.clone();
            thread::spawn(move || {
                for line in heard(&mut child) {
                    tell.send(line).unwrap();
                }
                assert!(child.wait().unwrap().success());
            })
        })
        .into();
    drop(tell);
    // By hand: whenever the processes have added something, and often while they are about to add
    // more.
    let seed = 4;
    println!("seed {seed}");
    let mut random = Random(seed);
    let mut by_hand = Vec::new();
    // Acknowledged additions, with the last change by hand that each was based on.
    let mut added = BTreeMap::new();
    let mut tries = 0;
    for line in told {
        let [line, last, tried] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        added.insert(line.to_owned(), last.parse::<usize>().unwrap());
        tries += tried.parse::<usize>().unwrap();
        for _ in 0..random.below(3) {
            by_hand.push(edit(place.path(), by_hand.len() + 1, random.below(2) == 0));
        }
    }
    for reader in readers {
        reader.join().unwrap();
    }
    println!(
        "{} changes by hand, {} by loci in {tries} tries",
        by_hand.len(),
        added.len()
    );
    assert_eq!(added.len(), 2 * UPDATES);

    let last = said(&read(&vault(place.path()), "shared.md")).clone();
    drop(vault(place.path()).lock().unwrap());
    let recovered = recovered(place.path());
    println!("{} texts were put beside the note", recovered.len());
    for number in 1..=by_hand.len() {
        let line = format!("hand-{number}");
        let is_kept = has(&last.body, &line) || recovered.iter().any(|text| has(text, &line));
        assert!(
            is_kept,
            "the change {number} by hand is lost:\n{}",
            last.body
        );
    }
    for (line, base) in &added {
        // A person who saves an older text over the line removes it; no other write may, and no
        // later save.
        let was_overwritten = by_hand.get(*base).is_some_and(|text| !has(text, line));
        assert!(
            has(&last.body, line) || was_overwritten,
            "{line}, added after hand-{base}, is lost:\n{}",
            last.body
        );
    }
}

/// Reads the note, adds a line, and saves it, in place or by replacing the file; returns the saved
/// text.
fn edit(place: &Path, number: usize, is_in_place: bool) -> String {
    let path = place.join("notes/shared.md");
    let mut before = fs::read_to_string(&path).unwrap();
    let last = format!("hand-{}", number - 1);
    if number > 1 && !has(&before, &last) {
        // Loci has just exchanged the note, and must be about to notice that.
        let _lock = vault(place).lock().unwrap();
        before = fs::read_to_string(&path).unwrap();
        let is_kept = has(&before, &last) || recovered(place).iter().any(|text| has(text, &last));
        assert!(is_kept, "the change {last} is lost:\n{before}");
    }
    let text = format!("{before}hand-{number}\n");
    if is_in_place {
        fs::write(&path, &text).unwrap();
    } else {
        let temporary = place.join("notes/.shared.md.save");
        fs::write(&temporary, &text).unwrap();
        fs::rename(&temporary, &path).unwrap();
    }
    text
}

/// Returns the texts of the recovered files. A write to an open file in the very instant in which
/// loci exchanges it may end up under another name.
fn recovered(place: &Path) -> Vec<String> {
    let names = files(place)
        .into_iter()
        .filter(|name| name != "shared.md")
        .inspect(|name| {
            assert!(name.starts_with("recovered note"), "{name} is left");
        });
    names
        .map(|name| fs::read_to_string(place.join("notes").join(name)).unwrap())
        .collect()
}

#[test]
fn an_editor_that_pauses_loses_nothing() {
    let place = tempfile::tempdir().unwrap();
    let seed = 7;
    println!("seed {seed}");
    let mut random = Random(seed);
    let mut written = Vec::new();
    for round in 0..20 {
        let loci = vault(place.path());
        let path = create(&loci, &note(round, &format!("note {round}"), "begin"));
        let mut editor = OpenOptions::new()
            .append(true)
            .open(place.path().join("notes").join(&path))
            .unwrap();
        // In random order: the editor saves piece by piece, and loci changes the note in between.
        for step in 0..6 {
            match random.below(3) {
                0 => {
                    let line = format!("hand-{round}-{step}");
                    editor
                        .write_all(
                            format!(
                                "{line}
"
                            )
                            .as_bytes(),
                        )
                        .unwrap();
                    written.push(line);
                }
                1 => {
                    let _lock = loci.lock().unwrap();
                    let read = read(&loci, &path);
                    let note = said(&read).clone();
                    let body = format!(
                        "{}
loci-{step}",
                        note.body
                    );
                    loci.rewrite(&path, &read.hash, &Note { body, ..note })
                        .unwrap();
                }
                _ => drop(loci.lock().unwrap()),
            }
        }
        drop(loci);
        assert!(
            files(place.path())
                .iter()
                .all(|name| !name.starts_with('.')),
            "round {round}"
        );
    }
    let names = files(place.path()).into_iter();
    let texts: Vec<_> = names
        .map(|name| fs::read_to_string(place.path().join("notes").join(name)).unwrap())
        .collect();
    for line in written {
        assert!(texts.iter().any(|text| has(text, &line)), "{line} is lost");
    }
    assert!(
        files(place.path())
            .iter()
            .any(|name| name.starts_with("recovered note")),
        "nobody paused"
    );
}

#[test]
fn child_that_adds_lines() {
    let Some((place, name)) = as_child() else {
        return;
    };
    let vault = vault(&place);
    for number in 0..UPDATES {
        let line = format!("{name}-{number}");
        let mut tries = 0;
        let last = loop {
            let lock = vault.lock().unwrap();
            let read = read(&vault, "shared.md");
            tries += 1;
            // There is no content while the note is being written.
            let Some(content) = read.content else {
                continue;
            };
            let last = last_by_hand(&content.note.body);
            let note = Note {
                body: format!("{}\n{line}", content.note.body),
                ..content.note
            };
            let written = vault.rewrite("shared.md", &read.hash, &note);
            drop(lock);
            match written {
                Ok(_) => break last,
                Err(error) => assert_eq!(error.code, ErrorCode::Conflict, "{error}"),
            }
        };
        tell_parent(&format!("{line} {last} {tries}"));
    }
}
