//! A process that is killed at any moment leaves every note as the old or the new text.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use loci_core::{Note, NoteFolder};
use loci_vault::VaultFolder;

use crate::processes::{as_child, heard, start_child, tell_parent};
use crate::{Random, create, files, note, read, said, vault};

const WRITES: usize = 500;
const NOTES: usize = 4;
/// The longest time between an answer and the kill: longer than a write takes.
const DELAY_MICROSECONDS: usize = 3_000;

/// The maximum time to wait for a write to start.
const PATIENCE: Duration = Duration::from_secs(5);

/// Returns a text that shows if it is complete.
fn text(version: usize) -> String {
    let lines = 1 + version * 37 % 400;
    format!(
        "version {version} of {lines}\n{}",
        format!("line of {version}\n").repeat(lines)
    )
}

fn version(body: &str) -> usize {
    let number = body
        .strip_prefix("version ")
        .and_then(|rest| rest.split(' ').next())
        .and_then(|word| word.parse().ok());
    let version = number.unwrap_or_else(|| panic!("this is no version: {body:?}"));
    assert_eq!(body, text(version).trim_end(), "a text is not whole");
    version
}

#[test]
fn a_killed_process_leaves_every_note_whole() {
    let place = tempfile::tempdir().unwrap();
    let seed = 20_261_121;
    println!("seed {seed}");
    let mut random = Random(seed);
    for number in 0..NOTES {
        create(
            &vault(place.path()),
            &note(number, &format!("kept {number}"), &text(0)),
        );
    }
    // The last acknowledged version of each note.
    let mut answered: BTreeMap<String, usize> = (0..NOTES)
        .map(|number| (format!("kept-{number}.md"), 0))
        .collect();
    let (mut writes, mut rounds, mut leftovers) = (0, 0, 0);
    while writes < WRITES {
        rounds += 1;
        let mut child = start_child(
            "kill::child_that_writes_until_killed",
            place.path(),
            &writes.to_string(),
        );
        let limit = 1 + random.below(20);
        let mut answers = 0;
        for line in heard(&mut child) {
            let (path, version) = line.rsplit_once(' ').unwrap();
            answered.insert(path.to_owned(), version.parse().unwrap());
            writes += 1;
            answers += 1;
            if answers == limit && rounds % 2 == 0 {
                // In the middle of a write, as far as this process can see.
                let start = Instant::now();
                while start.elapsed() < PATIENCE && !is_writing(place.path()) {}
                child.kill().unwrap();
            } else if answers == limit {
                let delay = Duration::from_micros(random.below(DELAY_MICROSECONDS) as u64);
                let start = Instant::now();
                while start.elapsed() < delay {
                    std::hint::spin_loop();
                }
                child.kill().unwrap();
            }
        }
        assert!(answers >= limit, "the process ended by itself");
        child.wait().unwrap();
        // One more write may have been under way.
        writes += 1;
        leftovers += files(place.path())
            .iter()
            .filter(|name| name.starts_with('.'))
            .count();
        check(&vault(place.path()), &mut answered);
        assert!(
            files(place.path())
                .iter()
                .all(|name| !name.starts_with('.') && !name.starts_with("recovered"))
        );
    }
    println!("{rounds} kills, {leftovers} temporary files were left and cleared");
    assert!(leftovers > 0, "no kill came in the middle of a write");
}

/// True if there is a temporary file. Names may disappear during the listing.
fn is_writing(place: &Path) -> bool {
    let mut entries = std::fs::read_dir(place.join("notes")).unwrap().flatten();
    entries.any(|entry| entry.file_name().to_string_lossy().starts_with(".loci-"))
}

/// Checks that every note is the acknowledged version, or the one after it.
fn check(vault: &VaultFolder, answered: &mut BTreeMap<String, usize>) {
    let lock = vault.lock().unwrap();
    let scan = vault.scan().unwrap();
    assert!(
        answered
            .keys()
            .all(|path| scan.files.iter().any(|(file, _)| file == path)),
        "a note is lost"
    );
    for (path, _) in &scan.files {
        let version = version(&said(&read(vault, path)).body);
        if let Some(answered) = answered.get_mut(path) {
            assert!(
                (*answered..=*answered + 1).contains(&version),
                "{path}: {version} after {answered}"
            );
            // The next process may write this note without an answer as well.
            *answered = version;
        }
    }
    drop(lock);
}

#[test]
fn child_that_writes_until_killed() {
    let Some((place, begin)) = as_child() else {
        return;
    };
    let begin: usize = begin.parse().unwrap();
    let vault = vault(&place);
    for number in begin.. {
        let lock = vault.lock().unwrap();
        let (path, version) = if number % 5 == 0 {
            let version = 1_000 + number;
            (
                create(
                    &vault,
                    &note(version, &format!("new {number}"), &text(version)),
                ),
                version,
            )
        } else {
            let path = format!("kept-{}.md", number % NOTES);
            let read = read(&vault, &path);
            let version = version(&said(&read).body) + 1;
            vault
                .rewrite(
                    &path,
                    &read.hash,
                    &Note {
                        body: text(version),
                        ..said(&read).clone()
                    },
                )
                .unwrap();
            (path, version)
        };
        drop(lock);
        tell_parent(&format!("{path} {version}"));
    }
}
